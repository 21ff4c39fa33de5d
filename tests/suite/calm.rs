//! Pictures that are calm: labels that nothing covers, many lanes on one screen, hues for names that no rule knows, axes that
//! few spans do not stretch.

use crate::common::{look, timeline};

use look::Look;
use stallscope::model::{Role, Trace};
use stallscope::time::TimeRange;
use stallscope::view::{
    Font, Item, MarkKind, Rect, RowState, Rows, SectionKind, Theme, contrast, dense_part, label,
};
use timeline::{MS, Maker, Scene, training_loop};

#[test]
fn nothing_covers_the_labels_of_the_band() {
    let scene = training_loop(12);
    let end = scene.trace.extent().end;
    let mut seen = 0;
    for part in [1, 2, 5, 9] {
        let list = Look::new(&scene, 1_200.0)
            .at(TimeRange::new(0, end / part))
            .draw(&scene);
        let band = list.sections.iter().filter(|s| s.kind == SectionKind::Band);
        for items in band.map(|s| &s.items) {
            for (i, item) in items.iter().enumerate() {
                let Item::Text(text) = item else {
                    continue;
                };
                if text.font != Font::Label {
                    continue;
                }
                seen += 1;
                let width = text.text.chars().count() as f32 * label::MONO_ADVANCE;
                let (x, y) = (text.at.x, text.at.y);
                let own = Rect::new(x, y - 4.0, x + width, y + 4.0);
                let over = items[i + 1..].iter().any(|later| match later {
                    Item::Rect { rect, .. } | Item::Hatch { rect, .. } => {
                        !rect.clip(own).is_empty()
                    }
                    _ => false,
                });
                assert!(!over, "{} is covered", text.text);
            }
        }
    }
    assert!(seen > 10, "{seen} labels");
}

#[test]
fn more_than_a_hundred_streams_fit_one_screen() {
    let mut m = Maker::new();
    let numbers: Vec<i64> = (0..130).collect();
    let mut t = 0;
    for lane in m.gpu(0, 0, &numbers) {
        m.span(lane, "kernel", "gemm", t, t + 5 * MS);
        t += MS;
    }
    let mut scene = Scene::new(m.b);
    let tree = scene.rows.tree().clone();
    let dense = RowState {
        dense: true,
        ..RowState::default()
    };
    scene.rows = Rows::new(tree.clone(), &dense);
    let rows = &scene.rows;
    assert!(rows.height() <= 560.0, "{} points", rows.height());
    let lanes = rows.rows().iter().filter(|r| rows.starts_lane(r));
    let heights: Vec<f32> = lanes.map(|r| r.height).collect();
    assert_eq!(heights.len(), 130);
    assert!(heights.iter().all(|h| (4.0..=8.0).contains(h)));
    let list = Look::new(&scene, 1_200.0).draw(&scene);
    let drawn = list.marks.iter().filter(|m| m.kind == MarkKind::Plain);
    let drawn: Vec<f32> = drawn.map(|m| m.rect.height()).collect();
    assert!(drawn.len() >= 130 && drawn.iter().all(|h| *h >= 1.0));
    let named = list.texts().any(|t| t.text == "stream 3");
    assert!(!named, "there is no room for names");
    let notes = list.lanes.iter().filter(|l| l.text.contains("stream"));
    assert_eq!(notes.count(), 130, "but readers get them");

    // One row of all streams.
    let mut state = RowState::default();
    let gpu = tree.ids().find(|&id| tree.node(id).title == "GPU 0");
    state.toggle(&tree, gpu.expect("there is one"));
    scene.rows = Rows::new(tree, &state);
    let list = Look::new(&scene, 1_200.0).draw(&scene);
    assert!(list.texts().any(|t| t.text == "GPU 0 · all streams"));
}

#[test]
fn names_that_no_rule_knows_have_hues_of_their_own() {
    let mut m = Maker::new();
    let main = m.process(1, Role::Main, 0);
    let lane = m.thread(main, 1, "browser", Role::Main);
    let names = [
        "RunTask 1",
        "RunTask 2",
        "Paint",
        "Layout",
        "ParseHTML",
        "Commit",
    ];
    for (name, i) in names.iter().zip(0..) {
        m.span(lane, "toplevel", name, i * MS, (i + 1) * MS);
    }
    let scene = Scene::new(m.b);
    for theme in Theme::ALL {
        let tones: Vec<_> = names.iter().map(|n| theme.of_name(n)).collect();
        assert_eq!(tones[0], tones[1], "numbers tell calls apart, not things");
        let mut distinct = tones.clone();
        distinct.sort_unstable_by_key(|c| c.0);
        distinct.dedup();
        assert!(distinct.len() >= 3, "{distinct:?}");
        let mut look = Look::new(&scene, 1_200.0);
        look.dark = theme.dark;
        let list = look.draw(&scene);
        let items = list.sections.iter().flat_map(|s| &s.items);
        let fills: Vec<_> = items
            .filter_map(|i| match i {
                Item::Rect { fill, .. } => Some(*fill),
                _ => None,
            })
            .collect();
        assert!(tones.iter().all(|t| fills.contains(t)), "{}", theme.name);
        for tone in tones {
            let text = theme.readable(tone, theme.text);
            assert!(contrast(tone, text) >= 4.5, "{tone:?} in {}", theme.name);
        }
    }
}

#[test]
fn few_spans_far_away_do_not_stretch_what_is_shown() {
    let made = |far: &[i64]| -> std::sync::Arc<Trace> {
        let mut m = Maker::new();
        let main = m.process(1, Role::Main, 0);
        let lane = m.thread(main, 1, "python", Role::Main);
        for i in 0..400 {
            m.span(lane, "cpu_op", "aten::add", i * MS, i * MS + MS / 2);
        }
        for &t in far {
            m.span(lane, "cpu_op", "aten::add", t, t + MS);
        }
        Scene::new(m.b).trace
    };
    assert_eq!(dense_part(&made(&[])), None);
    assert_eq!(dense_part(&made(&[800 * MS])), None, "twice as long");
    for far in [vec![100_000 * MS], vec![90_000 * MS, 1_000_000_000 * MS]] {
        let part = dense_part(&made(&far)).expect("stretched");
        // One in a hundred may be outside.
        assert!(part.outside >= far.len() as u64 && part.outside <= 4);
        assert!(part.range.len() > 390 * MS && part.range.end < 401 * MS);
    }
    // Many of them are no outliers.
    let many: Vec<i64> = (0..40).map(|i| (100_000 + i) * MS).collect();
    assert_eq!(dense_part(&made(&many)), None);
}
