//! What can be read on a timeline: contrast of labels, what keeps out of them, the legend.

use crate::common::look;
use crate::common::timeline;

use look::{Look, by_row};
use stallscope::analysis::{LayerClass, Union};
use stallscope::model::{LaneKind, Role, SpanId};
use stallscope::time::TimeRange;
use stallscope::view::{
    DrawList, Font, Highlights, Item, LegendEntry, Links, Mark, MarkKind, Point, READABLE, Rect,
    Rgba, RowState, Rows, SectionKind, Swatch, Theme, contrast, label, legend, legend_height,
    legend_of,
};
use timeline::{MS, Maker, STEP, Scene, training_loop};

/// What is painted at a point by the rectangles of a list, arrows and outlines left out.
fn painted(list: &DrawList, at: Point) -> Rgba {
    let mut color = Rgba::hex(0);
    for section in list.sections.iter().filter(|s| s.clip.contains(at)) {
        for item in &section.items {
            color = match item {
                Item::Rect { rect, fill } if rect.contains(at) => fill.over(color),
                Item::Run { rect, fill, .. } if rect.contains(at) => fill.over(color),
                _ => color,
            };
        }
    }
    color
}

#[test]
fn labels_are_readable_whatever_is_faded() {
    let scene = training_loop(6);
    let kernel = scene.trace.spans().ids().find(|&id| {
        scene.trace.launch_of(id).is_some() && scene.trace.span_name(id).contains("softmax")
    });
    let kernel = kernel.expect("it has kernels");
    let links = Links::of(&scene.trace, &scene.analysis, kernel);
    let lod = scene.rows.tree().lod();
    let reads = vec![scene.span("read", 3), scene.span("read", 4)];
    let hits = Highlights::new(&scene.trace, &scene.analysis, lod, reads);
    let mut seen = 0;
    for dark in [true, false] {
        for case in 0..12 {
            let mut look = Look::new(&scene, 1_300.0).at(TimeRange::new(0, 12 * MS));
            look.dark = dark;
            match case {
                0 => {}
                1 => (look.links, look.hovered) = (Some(&links), Some(kernel)),
                2 => look.hits = Some(&hits),
                3 => {
                    look.hits = Some(&hits);
                    look = look.at(TimeRange::new(0, 4 * STEP));
                }
                n => look.only = Some(Swatch::ALL[n - 4]),
            }
            let list = look.draw(&scene);
            let canvas = [SectionKind::Lanes, SectionKind::Band];
            let sections = list.sections.iter().filter(|s| canvas.contains(&s.kind));
            for item in sections.flat_map(|s| &s.items) {
                let Item::Text(t) = item else { continue };
                if t.font != Font::Label || t.text.contains(" → GPU +") {
                    continue;
                }
                // Between the letters' feet and the lower edge, hatch lines and notches left out.
                let below = painted(&list, Point::new(t.at.x + 2.0, t.at.y));
                let ratio = contrast(t.color.over(below), below);
                assert!(ratio >= READABLE, "{}: {ratio:.2} in case {case}", t.text);
                seen += 1;
            }
        }
    }
    assert!(seen > 400, "only {seen} labels");
}

#[test]
fn dots_and_dashes_keep_out_of_labels() {
    let mut m = Maker::new();
    let process = m.process(1, Role::Main, 0);
    let lane = m.thread(process, 1, "main", Role::Main);
    let stream = m.gpu(0, 0, &[7])[0];
    m.span(lane, "user_annotation", "forward", 0, 10 * MS);
    let call = m.span(lane, "cuda_runtime", "cudaLaunchKernel", MS, 2 * MS);
    let kernel = m.span(stream, "kernel", "kernel", 2 * MS, 80 * MS);
    m.b.link_launch(call, kernel);
    m.span(lane, "user_annotation", "some_gypsy", 30 * MS, 60 * MS);
    m.span(
        lane,
        "cuda_runtime",
        "cudaStreamSynchronize",
        20 * MS,
        70 * MS,
    );
    let scene = Scene::new(m.b);
    let list = Look::new(&scene, 1_000.0).draw(&scene);
    let lanes = list
        .sections
        .iter()
        .filter(|s| s.kind == SectionKind::Lanes);
    let items: Vec<&Item> = lanes.flat_map(|s| &s.items).collect();
    for name in ["some_gypsy", "cudaStreamSynchronize"] {
        let (at, label) = items
            .iter()
            .enumerate()
            .find_map(|(i, item)| match item {
                Item::Text(t) if t.text.starts_with(name) => Some((i, t)),
                _ => None,
            })
            .expect("it is labelled");
        let width = label.text.chars().count() as f32 * label::MONO_ADVANCE;
        // Where letters reach below the line.
        let own = Rect::new(
            label.at.x,
            label.at.y + 3.5,
            label.at.x + width,
            label.at.y + 7.0,
        );
        let marks = |i: &&Item| match i {
            Item::Dots { rect, .. } | Item::Dashed { rect, .. } => !rect.clip(own).is_empty(),
            _ => false,
        };
        let last = items.iter().rposition(marks).expect("marks lie below it");
        let plate = |i: &Item| match i {
            Item::Rect { rect, .. } => {
                rect.x0 <= own.x0 && own.x1 <= rect.x1 && rect.y0 <= own.y0 && own.y1 <= rect.y1
            }
            _ => false,
        };
        let covered = items[last..at].iter().any(|i| plate(i));
        assert!(covered, "{name}");
    }
}

#[test]
fn the_legend_has_what_occurs_and_nothing_else() {
    use LegendEntry::{Exposed, Hidden, OtherWait, Role as Of, Tail, Unrecorded};
    let entries = |scene: &Scene| legend_of(&scene.trace, &scene.analysis);
    let all = entries(&training_loop(4));
    let roles = [
        Swatch::GpuCompute,
        Swatch::GpuCopy,
        Swatch::Cpu,
        Swatch::Load,
        Swatch::Io,
        Swatch::Neutral,
    ];
    let mut expected: Vec<LegendEntry> = roles.map(Of).into();
    expected.extend([Exposed, Hidden, Unrecorded, Tail]);
    assert_eq!(all, expected);
    // The GPU works all the time: the wait is hidden, and nothing else is to be told.
    let busy = |wait_lane: usize| {
        let mut m = Maker::new();
        let process = m.process(1, Role::Main, 0);
        let main = m.thread(process, 1, "main", Role::Main);
        let other = m.thread(process, 2, "other", Role::Other);
        let stream = m.gpu(0, 0, &[7])[0];
        let wait = "enumerate(DataLoader)#x.__next__";
        for i in 0..4 {
            let t = i * 10 * MS;
            m.span(
                main,
                "user_annotation",
                &format!("ProfilerStep#{i}"),
                t,
                t + 10 * MS,
            );
            m.span(main, "user_annotation", wait, t + MS, t + 3 * MS);
            m.span(
                [main, other][wait_lane],
                "user_annotation",
                wait,
                t + 5 * MS,
                t + 6 * MS,
            );
        }
        m.span(stream, "kernel", "kernel", 0, 40 * MS);
        Scene::new(m.b)
    };
    let kernels_and_steps = [Of(Swatch::GpuCompute), Of(Swatch::Neutral)];
    let expected = [&kernels_and_steps[..], &[Hidden]].concat();
    assert_eq!(entries(&busy(0)), expected);
    let expected = [&kernels_and_steps[..], &[Hidden, OtherWait]].concat();
    assert_eq!(entries(&busy(1)), expected);
    // A narrow picture has more lines, not less entries.
    for width in [640.0, 1_920.0] {
        let list = legend(&Theme::light(), &all, width);
        assert_eq!(list.texts().count(), all.len());
        let height = legend_height(&all, width);
        assert_eq!(height > 30.0, width < 1_000.0);
        for t in list.texts() {
            let right = t.at.x + t.text.chars().count() as f32 * 5.8;
            assert!(right <= width && t.at.y + 5.5 <= height, "{}", t.text);
        }
    }
}

#[test]
fn the_legend_dims_waits_as_well() {
    let scene = training_loop(4);
    let loud = |only: Option<Swatch>| {
        let mut look = Look::new(&scene, 1_200.0);
        look.only = only;
        let list = look.draw(&scene);
        let wait = Theme::dark().swatch(Swatch::Wait);
        let items = list.sections.iter().flat_map(|s| &s.items);
        let full = |i: &&Item| matches!(i, Item::Rect { fill, .. } if *fill == wait);
        (
            items.filter(full).count(),
            by_row(&list, MarkKind::Exposed).values().flatten().count(),
        )
    };
    let (all, marks) = loud(None);
    assert!(all >= 6 && marks >= 3, "{all} {marks}");
    assert_eq!(loud(Some(Swatch::Wait)), (all, marks));
    assert_eq!(loud(Some(Swatch::Cpu)), (0, marks));
}

#[test]
fn search_hits_keep_their_look_and_the_rest_fades() {
    let scene = training_loop(30);
    let hits: Vec<SpanId> = scene
        .trace
        .spans()
        .ids()
        .filter(|&id| scene.trace.span_name(id) == "read")
        .collect();
    let lod = scene.rows.tree().lod();
    let index = Highlights::new(&scene.trace, &scene.analysis, lod, hits.clone());
    assert_eq!(index.ids(), hits);
    let mut look = Look::new(&scene, 900.0);
    look.hits = Some(&index);
    let list = look.draw(&scene);
    let marks = by_row(&list, MarkKind::Hit);
    let drawn: u32 = marks.values().flatten().map(|m| m.count).sum();
    assert_eq!(drawn as usize, hits.len());
    assert!(
        marks
            .values()
            .flatten()
            .all(|m| m.rect.width() >= 2.0 - 1e-3)
    );
    let plain = Look::new(&scene, 900.0).draw(&scene);
    let alphas = |list: &DrawList| -> Vec<u8> {
        let lanes = list
            .sections
            .iter()
            .find(|s| s.kind == stallscope::view::SectionKind::Lanes);
        let compute = Theme::dark().fill(LayerClass::GpuCompute).0;
        lanes
            .map(|s| &s.items)
            .into_iter()
            .flatten()
            .filter_map(|i| match i {
                Item::Rect { fill, .. } if fill.0[..3] == compute[..3] => Some(fill.0[3]),
                _ => None,
            })
            .collect()
    };
    assert!(alphas(&plain).iter().all(|a| *a == 255));
    assert!(alphas(&list).iter().all(|a| *a == 51));
}

/// They once faded with everything else in a group, as if nothing in it had been found.
#[test]
fn search_hits_show_in_collapsed_groups() {
    let mut scene = training_loop(30);
    let tree = scene.rows.tree().clone();
    let spans = scene.trace.spans();
    let named = |name: &str| -> Vec<SpanId> {
        let ids = spans.ids().filter(|&id| scene.trace.span_name(id) == name);
        ids.collect()
    };
    for hits in [named("read"), named("read")[7..8].to_vec()] {
        let groups = tree.groups().map(|(node, leaves)| (node.0, leaves));
        let index = Highlights::new(&scene.trace, &scene.analysis, tree.lod(), hits.clone())
            .with_groups(&scene.trace, &scene.analysis, groups);
        let mut state = RowState::default();
        for id in tree.ids() {
            state.set_collapsed(&tree, id, true);
        }
        scene.rows = Rows::new(tree.clone(), &state);
        let mut look = Look::new(&scene, 900.0);
        look.hits = Some(&index);
        let list = look.draw(&scene);
        let marks = by_row(&list, MarkKind::Hit);
        let union = Union::new(hits.iter().map(|&id| spans.range(id)).collect());
        let busy: i64 = marks.values().flatten().map(|m| m.busy).sum();
        assert_eq!(busy, union.measure(), "one group holds all workers");
        assert_eq!(marks.len(), 1);
        let wide = |m: &Mark| m.rect.width() >= 2.0 - 1e-3;
        assert!(marks.values().flatten().all(wide));
    }
}

#[test]
fn the_selected_span_and_unfinished_spans_are_marked() {
    let mut m = Maker::new();
    let process = m.process(1, Role::Main, 0);
    let lane = m.thread(process, 1, "main", Role::Main);
    let open = m.span(lane, "cpu_op", "aten::open", 100, 100);
    m.b.mark_unfinished(open);
    m.span(lane, "cpu_op", "aten::inside", 200, 900);
    let gpu = m.gpu(0, 0, &[7])[0];
    m.span(gpu, "kernel", "k", 100, 900);
    let scene = Scene::new(m.b);
    assert_eq!(
        scene.trace.lane(stallscope::model::LaneId(0)).kind,
        LaneKind::Cpu
    );
    let mut look = Look::new(&scene, 800.0);
    look.selected = Some(scene.span("aten::inside", 0));
    let list = look.draw(&scene);
    let items = || list.sections.iter().flat_map(|s| &s.items);
    assert_eq!(
        items().filter(|i| matches!(i, Item::Fade { .. })).count(),
        1
    );
    assert_eq!(
        by_row(&list, MarkKind::Selected).values().flatten().count(),
        1
    );
}
