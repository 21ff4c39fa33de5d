//! Counters and instants: where their lanes are, and that what is drawn is exactly what was sampled.

use crate::common::timeline;

use proptest::prelude::*;
use stallscope::model::{ArgsRef, Counter, Instant, LaneId, ProcessId, Role};
use stallscope::time::TimeRange;
use stallscope::view::{
    DrawList, Item, LayoutInput, MarkKind, Metrics, NodeKind, Options, Rect, RowKind, Scroll,
    SectionKind, Size, Target, Theme, Viewport, instants_out_of_view, layout, value_at,
};
use timeline::{MS, Maker, Scene};

const HEADER: f32 = 200.0;
/// Space between a row's edges and what is drawn in it, points.
const INSET: f32 = 1.0;

fn draw(scene: &Scene, view: &Viewport) -> DrawList {
    layout(&LayoutInput {
        trace: &scene.trace,
        analysis: &scene.analysis,
        rows: &scene.rows,
        viewport: view,
        theme: &Theme::dark(),
        size: Size::new(view.width() + HEADER, 4_000.0),
        metrics: Metrics {
            header_width: HEADER,
            pixels_per_point: 1.0,
        },
        scroll: Scroll::default(),
        selection: None,
        selected: None,
        hovered: None,
        links: None,
        hits: None,
        options: Options::default(),
    })
}

fn counter(m: &mut Maker, process: Option<ProcessId>, name: &str, samples: &[(i64, f64)]) {
    m.b.add_counter(Counter {
        process,
        source: m.source,
        name: name.to_owned(),
        series: String::new(),
        times: samples.iter().map(|s| s.0).collect(),
        values: samples.iter().map(|s| s.1).collect(),
        ..Counter::default()
    });
}

fn instant(m: &mut Maker, lane: Option<LaneId>, name: &str, time: i64) {
    let name = m.b.intern(name);
    m.b.add_instant(Instant {
        time,
        lane,
        source: m.source,
        name,
        args: ArgsRef::NONE,
    });
}

/// A loop with a wait of 4 ms before each of `n` steps of 10 ms, and a stream.
fn base(n: i64) -> (Maker, ProcessId, LaneId) {
    let mut m = Maker::new();
    let process = m.process(1, Role::Main, 0);
    let lane = m.thread(process, 1, "main", Role::Main);
    let stream = m.gpu(0, 0, &[7])[0];
    for i in 0..n {
        let t = i * 10 * MS;
        let name = "enumerate(DataLoader)#x.__next__";
        m.span(lane, "user_annotation", name, t, t + 4 * MS);
        m.span(lane, "user_annotation", "forward", t + 4 * MS, t + 9 * MS);
        m.span(stream, "kernel", "kernel", t + 4 * MS, t + 10 * MS);
    }
    (m, process, lane)
}

/// Rectangles of the lanes in the colour of counters, above `y1` and below `y0`, with the given opacity.
fn rects(list: &DrawList, (y0, y1): (f32, f32), alpha: u8) -> Vec<Rect> {
    let color = Theme::dark().counter();
    list.sections
        .iter()
        .filter(|s| s.kind == SectionKind::Lanes)
        .flat_map(|s| &s.items)
        .filter_map(|i| match i {
            Item::Rect { rect, fill } => (fill.0[..3] == color.0[..3]
                && fill.0[3] == alpha
                && rect.y0 >= y0 - 0.01
                && rect.y1 <= y1 + 0.01)
                .then_some(*rect),
            _ => None,
        })
        .collect()
}

/// Where the row of a counter is on the picture, and its index.
fn counter_row(scene: &Scene, list: &DrawList) -> (f32, f32) {
    let rows = scene.rows.rows();
    let row = rows
        .iter()
        .find(|r| matches!(r.kind, RowKind::Counter(_)))
        .expect("a counter shows");
    let y = row.y + list.areas.lanes.y0;
    (y + INSET, y + row.height - INSET)
}

#[test]
fn counters_go_to_their_process_or_gpu() {
    let (mut m, process, _) = base(3);
    counter(&mut m, Some(process), "memory", &[(0, 1.0)]);
    for i in 0..5 {
        m.b.add_counter(Counter {
            source: m.source,
            name: "GPU metrics, GPU 0".to_owned(),
            series: format!("metric {i}"),
            times: vec![0, MS],
            values: vec![1.0, 2.0],
            ..Counter::default()
        });
    }
    counter(&mut m, None, "disk", &[(0, 1.0)]);
    counter(&mut m, None, "never sampled", &[]);
    let scene = Scene::new(m.b);
    let tree = scene.rows.tree();
    let titles: Vec<String> = scene
        .rows
        .rows()
        .iter()
        .filter(|r| !matches!(r.kind, RowKind::Lane { sub: 1.., .. }))
        .map(|r| {
            let node = tree.node(r.node);
            let sign = if r.kind == RowKind::Summary { "+ " } else { "" };
            format!(
                "{}{sign}{}",
                "  ".repeat(usize::from(node.depth)),
                node.title
            )
        })
        .collect();
    assert_eq!(
        titles,
        [
            "GPU 0",
            "  stream 7",
            "  + Counters (5)",
            "Main process 1",
            "  main thread",
            "  Counters (1)",
            "    memory",
            "Counters (1)",
            "  disk",
        ]
    );
    let metric = tree.ids().find(|&id| tree.node(id).title == "metric 3");
    let metric = metric.expect("the series names it");
    assert!(matches!(tree.node(metric).kind, NodeKind::Counter(_)));
    // A lane has nothing to collapse.
    let mut state = stallscope::view::RowState::default();
    state.toggle(tree, metric);
    assert!(state.toggled.is_empty());
    // Pinned it shows above the others.
    state.toggle_pin(tree, metric);
    let rows = stallscope::view::Rows::new(tree.clone(), &state);
    assert_eq!(rows.pinned().len(), 1);
}

#[test]
fn the_header_tells_the_value_at_the_right_edge() {
    let (mut m, process, _) = base(3);
    let samples = [(5 * MS, 10.0), (12 * MS, 2.5e9), (20 * MS, 7.25)];
    counter(&mut m, Some(process), "memory", &samples);
    let scene = Scene::new(m.b);
    for (end, value) in [(4, "no value yet"), (11, "10"), (15, "2.5 G"), (29, "7.25")] {
        let mut view = Viewport::new(scene.trace.extent(), 1_000.0);
        view.zoom_to(TimeRange::new(0, end * MS), 0.0);
        let list = draw(&scene, &view);
        assert!(list.texts().any(|t| t.text == value), "{value} at {end} ms");
        let said = format!("memory, Counters (1), Main process 1, {value}");
        assert!(list.lanes.iter().any(|l| l.text == said), "{said}");
    }
}

#[test]
fn instants_are_below_their_lane_and_hide_nothing() {
    let (mut m, _, lane) = base(40);
    let times: Vec<i64> = (0..400 * MS).step_by(70_000).collect();
    for &t in &times {
        instant(&mut m, Some(lane), "[memory]", t);
    }
    instant(&mut m, None, "Record Window End", 395 * MS);
    let scene = Scene::new(m.b);
    let tree = scene.rows.tree();
    let rows = scene.rows.rows();
    let own = rows
        .iter()
        .position(|r| matches!(r.kind, RowKind::Instants(_)));
    let own = own.expect("a row");
    assert_eq!(tree.node(rows[own].node).title, "main thread");
    assert!(matches!(rows[own - 1].kind, RowKind::Lane { .. }));
    let last = rows.last().expect("rows");
    assert!(matches!(tree.node(last.node).kind, NodeKind::Instants(_)));
    for zoom in [1.0, 7.0, 60.0, 900.0] {
        let mut view = Viewport::new(scene.trace.extent(), 1_000.0);
        view.zoom_at(300.0, zoom);
        let list = draw(&scene, &view);
        let window = view.range();
        let all = || {
            list.targets.iter().filter_map(|(rect, t)| match t {
                Target::Instants { row, first, count } => Some((*rect, *row, *first, *count)),
                _ => None,
            })
        };
        let of = |lane: Option<LaneId>| {
            let lod = tree.lod().clone();
            all().filter(move |t| lod.instants()[t.1 as usize].lane == lane)
        };
        let drawn: u32 = of(Some(lane)).map(|t| t.3).sum();
        let inside = times.iter().filter(|&&t| window.contains(t)).count();
        assert_eq!(drawn as usize, inside, "zoom {zoom}");
        // Each begins where the one before ended.
        let row = of(Some(lane)).next().map(|t| t.1).expect("some show");
        let row = &tree.lod().instants()[row as usize];
        let mut next = row.before(&scene.trace, 0, window.start);
        for (rect, _, first, count) in of(Some(lane)) {
            assert_eq!(first as usize, next);
            next += count as usize;
            assert!(rect.width() >= 1.0);
            let exposed = list.marks.iter().filter(|m| m.kind == MarkKind::Exposed);
            let hidden = exposed.filter(|m| !m.rect.clip(rect).is_empty());
            assert_eq!(hidden.count(), 0);
        }
        assert!(of(Some(lane)).count() <= 1_000 / 6 + 2);
    }
}

fn samples() -> impl Strategy<Value = Vec<(i64, f64)>> {
    let gap = prop_oneof![4 => 1_i64..4_000, 1 => 1_i64..2_000_000];
    let value = prop_oneof![6 => 0.0..100.0_f64, 1 => 1e9..2e9_f64, 1 => -50.0..0.0_f64];
    proptest::collection::vec((gap, value), 1..4_000).prop_map(|steps| {
        let mut t = 0;
        let of = |(gap, value): (i64, f64)| {
            t += gap;
            (t, value)
        };
        steps.into_iter().map(of).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_pixel_shows_the_least_and_the_greatest_value(
        samples in samples(), at in 0.0_f32..1.0, zoom in 1.0_f64..5_000.0, width in 80.0_f32..900.0,
    ) {
        let width = width.round();
        let (mut m, process, _) = base(5);
        counter(&mut m, Some(process), "memory", &samples);
        let scene = Scene::new(m.b);
        let mut view = Viewport::new(scene.trace.extent(), width);
        view.zoom_at(at * width, zoom);
        let list = draw(&scene, &view);
        let (y0, y1) = counter_row(&scene, &list);
        let lines = rects(&list, (y0, y1), 255);
        let areas = rects(&list, (y0, y1), Theme::dark().counter().percent(30).0[3]);
        prop_assert!(lines.len() <= width as usize + 2 && areas.len() <= lines.len());
        // Brute force: all samples inside, and the value that holds from before.
        let counter = &scene.trace.counters()[0];
        let end = scene.trace.extent().end.max(samples[samples.len() - 1].0);
        let expected: Vec<Option<(f64, f64)>> = (0..width as usize)
            .map(|i| {
                let (a, b) = (view.time_from_x(i as f32), view.time_from_x(i as f32 + 1.0));
                if b > end {
                    return None;
                }
                let held = value_at(counter, a);
                let inside = samples.iter().filter(|s| a <= s.0 && s.0 < b).map(|s| s.1);
                let all: Vec<f64> = inside.chain(held).collect();
                let least = all.iter().copied().reduce(f64::min)?;
                Some((least, all.into_iter().reduce(f64::max)?))
            })
            .collect();
        let shown = expected.iter().flatten();
        let least = shown.clone().map(|v| v.0).fold(f64::INFINITY, f64::min);
        let most = shown.map(|v| v.1).fold(f64::NEG_INFINITY, f64::max);
        let from_zero = least >= 0.0 && (least <= most * 0.5 || least >= most);
        let low = if from_zero { 0.0 } else { least };
        let y = |v: f64| {
            let share = if most > low { (v - low) / (most - low) } else { 0.0 };
            y1 - (y1 - y0) * share as f32
        };
        for (i, expected) in expected.iter().enumerate() {
            let x = HEADER + i as f32 + 0.5;
            let line = lines.iter().find(|r| r.x0 <= x && x < r.x1);
            prop_assert_eq!(line.is_some(), expected.is_some(), "pixel {}", i);
            if let (Some(line), Some((least, most))) = (line, expected) {
                let top = y(*most).min(y1 - 1.0);
                let bottom = y(*least).max(top + 1.0);
                prop_assert!((line.y0 - top).abs() < 0.01, "{} {line:?} {top}", i);
                prop_assert!((line.y1 - bottom).abs() < 0.01, "{} {line:?} {bottom}", i);
            }
        }
    }
}

#[test]
fn without_spans_counters_and_instants_show() {
    let mut m = Maker::new();
    counter(
        &mut m,
        None,
        "memory",
        &[(5 * MS, 1.0), (30 * MS, 4.0), (90 * MS, 2.0)],
    );
    instant(&mut m, None, "start", 2 * MS);
    let scene = Scene::new(m.b);
    assert_eq!(scene.trace.extent(), TimeRange::new(2 * MS, 90 * MS + 1));
    let view = Viewport::new(scene.trace.extent(), 1_000.0);
    let list = draw(&scene, &view);
    let hit = |what: fn(&Target) -> bool| list.targets.iter().any(|t| what(&t.1));
    assert!(hit(|t| matches!(t, Target::Counter(0))));
    assert!(hit(|t| matches!(t, Target::Instants { count: 1, .. })));
    let (y0, y1) = counter_row(&scene, &list);
    assert!(
        list.sections
            .iter()
            .flat_map(|s| &s.items)
            .any(|i| match i {
                Item::Rect { rect, .. } => rect.y0 >= y0 && rect.y1 <= y1 && rect.width() > 100.0,
                _ => false,
            })
    );
    // One sample alone has some extent too.
    let mut m = Maker::new();
    counter(&mut m, None, "memory", &[(5 * MS, 1.0)]);
    let scene = Scene::new(m.b);
    assert_eq!(scene.trace.extent(), TimeRange::new(5 * MS, 5 * MS + 1));
    assert!(
        !draw(&scene, &Viewport::new(scene.trace.extent(), 1_000.0))
            .targets
            .is_empty()
    );
}

#[test]
fn instants_that_no_view_reaches_are_counted() {
    let outside = |times: &[i64], of_lane: bool| {
        let (mut m, _, lane) = base(10);
        for &t in times {
            instant(&mut m, of_lane.then_some(lane), "mark", t);
        }
        let scene = Scene::new(m.b);
        let count = instants_out_of_view(&scene.trace, scene.rows.tree().lod());
        let view = Viewport::new(scene.trace.extent(), 1_000.0);
        let list = draw(&scene, &view);
        let drawn: u32 = list
            .targets
            .iter()
            .map(|(_, t)| match t {
                Target::Instants { count, .. } => *count,
                _ => 0,
            })
            .sum();
        assert_eq!(u64::from(drawn) + count, times.len() as u64, "{times:?}");
        count
    };
    // The trace goes from 0 to 100 ms; a view reaches one millisecond further.
    assert_eq!(outside(&[MS, 50 * MS], false), 0);
    assert_eq!(outside(&[-5 * MS, 200 * MS], false), 2);
    assert_eq!(
        outside(&[100 * MS + 500_000], false),
        1,
        "no lane for that alone"
    );
    assert_eq!(
        outside(&[-5 * MS, MS, 100 * MS + 500_000, 200 * MS], false),
        2
    );
    assert_eq!(outside(&[-5 * MS, 100 * MS + 500_000], true), 1);
}
