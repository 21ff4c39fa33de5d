//! The picture of before and after: what it marks is what the figures say, and each lane stands there twice.

use std::path::Path;
use std::sync::Arc;

use stallscope::analysis::Analysis;
use stallscope::analysis::compare::{Comparison, Recording};
use stallscope::export::png::{PngError, Sheet, render_comparison};
use stallscope::view::{
    CompareInput, CompareSide, DrawList, Item, Lod, RowTree, SectionKind, Theme, compare_picture,
};

use super::{analyse, compared};
use crate::common;

/// Both sides, open.
struct Open {
    analyses: [Analysis; 2],
    trees: [Arc<RowTree>; 2],
    recordings: [Recording; 2],
    found: Comparison,
}

impl Open {
    fn new(paths: [&Path; 2]) -> Self {
        let analyses = paths.map(|p| analyse(&[p.to_owned()], None));
        let tree = |a: &Analysis| {
            let lod = Arc::new(Lod::build(a.trace(), a));
            Arc::new(RowTree::new(a.trace(), a, lod))
        };
        let recordings = analyses.each_ref().map(|a| Recording::of(a, &[]));
        let [b, a] = &recordings;
        let found = compared(std::slice::from_ref(b), std::slice::from_ref(a));
        Self {
            trees: analyses.each_ref().map(tree),
            analyses,
            recordings,
            found,
        }
    }

    fn input<'a>(&'a self, theme: &'a Theme, steps: [Option<usize>; 2]) -> CompareInput<'a> {
        let side = |i: usize| CompareSide {
            trace: self.analyses[i].trace(),
            analysis: &self.analyses[i],
            tree: &self.trees[i],
            recording: &self.recordings[i],
            name: ["old.json", "new.json"][i],
        };
        CompareInput {
            sides: [side(0), side(1)],
            found: &self.found,
            rank: 0,
            steps,
            window: None,
            theme,
            width: 1_400.0,
            header_width: 232.0,
            pixels_per_point: 1.0,
        }
    }
}

fn texts(list: &DrawList) -> Vec<&str> {
    list.texts().map(|t| t.text.as_str()).collect()
}

/// Marks in a picture, and the parts that changed or seem to have.
fn marks(open: &Open) -> (usize, usize) {
    let theme = Theme::light();
    let list = compare_picture(&open.input(&theme, [None, None]))
        .unwrap()
        .list;
    let marked = texts(&list);
    let marked = marked.iter().filter(|t| t.starts_with(['▲', '▼']));
    let figures = open.found.ranks[0].figures.iter();
    let changed = figures.filter(|f| f.name.starts_with("part.") && f.answer.is_marked());
    (marked.count(), changed.count())
}

/// A sheet as wide as the pictures here.
fn sheet(scale: f32) -> Sheet {
    Sheet {
        width: 1_400,
        scale,
        ..Sheet::default()
    }
}

#[test]
fn the_samples_make_a_picture_in_both_themes() {
    let sample = |name: &str| common::repository("sample_traces").join(name);
    let paths = ["torch_0_workers.json.gz", "torch_4_workers.json.gz"].map(sample);
    let open = Open::new([&paths[0], &paths[1]]);
    // The loop runs ahead of the GPU: no part of a step is said to have changed.
    assert_eq!(marks(&open), (0, 0));
    for theme in Theme::ALL {
        let input = open.input(&theme, [None, None]);
        let list = compare_picture(&input).unwrap().list;
        let said = texts(&list);
        for text in ["Mean step", "before", "after", "exposed wait"] {
            assert!(said.contains(&text), "{text} is missing in {said:?}");
        }
        let sides = |word: &str| said.iter().filter(|t| **t == word).count();
        // Lanes, the mean step, all steps: each twice.
        assert!(
            sides("before") > 4 && sides("before") == sides("after"),
            "{said:?}"
        );
        let size = list.size;
        for section in &list.sections {
            for item in &section.items {
                if let Item::Rect { rect, .. } = item {
                    assert!(rect.y1 <= size.height + 0.5 && rect.y0 >= -0.5, "{rect:?}");
                }
            }
        }
        let png = render_comparison(&input, &sheet(1.0)).unwrap();
        assert_eq!(png.png, render_comparison(&input, &sheet(1.0)).unwrap().png);
        assert_eq!(png.layout.width, 1_400);
        assert!(matches!(
            render_comparison(&input, &sheet(9.0)),
            Err(PngError::Scale(_))
        ));
    }
    // Other steps than the typical ones.
    let theme = Theme::dark();
    let list = compare_picture(&open.input(&theme, [Some(0), Some(3)]))
        .unwrap()
        .list;
    let about = texts(&list)
        .into_iter()
        .find(|t| t.contains("old.json"))
        .unwrap();
    assert!(
        !about.contains("typical") && about.contains("11 of 12 steps"),
        "{about}"
    );
    assert!(compare_picture(&open.input(&theme, [Some(99), None])).is_none());
}

#[test]
fn a_part_of_the_steps_shows_on_both_sides() {
    let sample = |name: &str| common::repository("sample_traces").join(name);
    let paths = ["torch_0_workers.json.gz", "torch_0_workers.json.gz"].map(sample);
    // Nothing can be said of one recording, but it can be drawn: here against a copy that is cut.
    let mut open = Open::new([&paths[0], &paths[1]]);
    open.recordings[1].ranks[0].rows.pop();
    let [b, a] = &open.recordings;
    open.found = compared(std::slice::from_ref(b), std::slice::from_ref(a));
    let theme = Theme::light();
    let mut input = open.input(&theme, [Some(2), Some(2)]);
    let all = compare_picture(&input).unwrap();
    assert!(all.reach > 0 && all.spans.iter().any(|s| s.0 == 0));
    // A column of each judged step.
    let columns = |side| all.steps.iter().filter(|s| s.1 == side).count();
    assert_eq!(
        (columns(0), columns(1)),
        (b.ranks[0].rows.len(), a.ranks[0].rows.len())
    );
    input.window = Some([all.reach / 4, all.reach / 8]);
    let part = compare_picture(&input).unwrap();
    assert!(part.reach == all.reach && part.list.size == all.list.size);
    // The same step on both sides is drawn alike.
    let of = |side| {
        let own = part.spans.iter().filter(|s| s.0 == side);
        own.map(|(_, m)| (m.first, m.count, m.rect.x0.round()))
            .collect::<Vec<_>>()
    };
    assert!(!of(0).is_empty() && of(0) == of(1), "{:?}", of(0));
}

#[test]
fn marks_are_what_the_figures_say() {
    let Some(folder) = common::shared("analysis/compare") else {
        return;
    };
    let mut all = 0;
    for pair in ["comp", "aa40", "noisy", "hint", "small", "ng", "og", "prog"] {
        let [a, b] = ["a", "b"].map(|s| folder.join(format!("{pair}_{s}.json.gz")));
        let (marked, changed) = marks(&Open::new([&a, &b]));
        assert_eq!(marked, changed, "{pair}");
        all += marked;
    }
    assert!(all >= 2, "{all}");
}

#[test]
fn texts_of_lanes_do_not_cover_each_other() {
    let Some(folder) = common::shared("analysis/compare") else {
        return;
    };
    let [a, b] = ["a", "b"].map(|s| folder.join(format!("og_{s}.json.gz")));
    let open = Open::new([&a, &b]);
    let theme = Theme::light();
    let list = compare_picture(&open.input(&theme, [None, None]))
        .unwrap()
        .list;
    let lanes = list
        .sections
        .iter()
        .filter(|s| s.kind == SectionKind::Lanes);
    let at = lanes.flat_map(|s| &s.items).filter_map(|i| match i {
        Item::Text(t) => Some((t.at.x.round() as i32, t.at.y.round() as i32)),
        _ => None,
    });
    let mut at: Vec<_> = at.collect();
    let all = at.len();
    at.sort_unstable();
    at.dedup();
    assert!(
        all > 4 && at.len() == all,
        "{all} texts at {} places",
        at.len()
    );
}

#[test]
fn a_lane_of_one_side_keeps_its_place() {
    let Some(folder) = common::shared("analysis/compare") else {
        return;
    };
    let [a, b] = ["a", "b"].map(|s| folder.join(format!("og_{s}.json.gz")));
    let theme = Theme::light();
    let open = Open::new([&a, &b]);
    let list = compare_picture(&open.input(&theme, [None, None]))
        .unwrap()
        .list;
    assert!(
        texts(&list).contains(&"not there after"),
        "{:?}",
        texts(&list)
    );
    let open = Open::new([&b, &a]);
    let list = compare_picture(&open.input(&theme, [None, None]))
        .unwrap()
        .list;
    assert!(texts(&list).contains(&"not there before"));
}
