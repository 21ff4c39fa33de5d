//! The level of detail as properties of random traces, and the geometry of the two claims to the nanosecond.

use crate::common::look;
use crate::common::timeline;

use look::{HEADER, Look, by_row};
use proptest::prelude::*;
use stallscope::model::Role;
use stallscope::time::TimeRange;
use stallscope::view::{
    DrawList, Hit, Item, Links, Mark, MarkKind, NodeId, NodeKind, Point, RowKind, RowState, Rows,
    SectionKind, Swatch, Target, Theme, Viewport,
};
use timeline::{MS, Maker, STEP, Scene, training_loop};

/// A thread with nested spans and a stream, from gaps and lengths.
fn random_scene(cpu: &[(i64, i64, u8)], gpu: &[(i64, i64)]) -> Scene {
    let mut m = Maker::new();
    let process = m.process(1, Role::Main, 0);
    let lane = m.thread(process, 1, "main", Role::Main);
    let other = m.thread(process, 2, "other", Role::Main);
    let gpus = m.gpu(0, 0, &[7, 8]);
    let (stream, copies) = (gpus[0], gpus[1]);
    let mut t = 0;
    for &(gap, len, kind) in cpu {
        t += gap;
        let (cat, name) = match kind % 4 {
            0 => ("user_annotation", "enumerate(DataLoader)#x.__next__"),
            1 => ("cuda_runtime", "cudaLaunchKernel"),
            2 => ("user_annotation", "forward"),
            _ => ("cpu_op", "aten::add"),
        };
        m.span(lane, cat, name, t, t + len);
        if kind >= 128 && len > 4 {
            m.span(lane, "cpu_op", "aten::inner", t + len / 4, t + len / 2);
        }
        t += len;
    }
    let mut t = 0;
    for (i, &(gap, len)) in gpu.iter().enumerate() {
        t += gap;
        m.span(stream, "kernel", "kernel", t, t + len);
        // Beside the first one and after it, some of them outlasting what they started in.
        m.span(copies, "gpu_memcpy", "copy", t + len / 2, t + len / 2 + gap);
        if i % 3 == 0 {
            m.span(other, "cpu_op", "aten::mul", t, t + len);
            m.span(other, "cpu_op", "aten::div", t + len / 2, t + 2 * len);
        }
        t += len;
    }
    Scene::new(m.b)
}

/// Busy time and number of spans of a row in a window, from the columns.
fn brute(scene: &Scene, leaf: u32, sub: u16, window: TimeRange) -> (i64, u64) {
    let row = &scene.rows.tree().lod().leaf(leaf).rows[usize::from(sub)];
    let mut out = (0, 0);
    for id in row.ids() {
        let r = scene.trace.spans().range(id);
        let shows = r.overlaps(window) || (r.is_empty() && window.contains(r.start));
        if shows {
            out.0 += r.clip(window).len();
            out.1 += 1;
        }
    }
    out
}

/// Time in a window at which any lane of a group is busy, from the columns.
fn brute_group(scene: &Scene, node: NodeId, window: TimeRange) -> i64 {
    let tree = scene.rows.tree();
    let mut ranges: Vec<TimeRange> = Vec::new();
    for leaf in tree.leaves_below(node) {
        for row in &tree.lod().leaf(leaf).rows {
            ranges.extend(row.ids().map(|id| scene.trace.spans().range(id)));
        }
    }
    ranges.sort_unstable();
    let (mut busy, mut reach) = (0, window.start);
    for r in ranges.iter().map(|r| r.clip(window)) {
        busy += (r.end - reach.max(r.start)).max(0);
        reach = reach.max(r.end);
    }
    busy
}

/// The same scene with all groups collapsed.
fn collapsed(scene: &Scene) -> Rows {
    let tree = scene.rows.tree();
    let mut state = RowState::default();
    for id in tree.ids().filter(|&id| tree.node(id).kind.is_group()) {
        state.set_collapsed(tree, id, true);
    }
    Rows::new(tree.clone(), &state)
}

fn check_rows(scene: &Scene, list: &DrawList, view: &Viewport) {
    let window = view.range();
    let marks = by_row(list, MarkKind::Plain);
    for (i, row) in scene.rows.rows().iter().enumerate() {
        let (busy, spans, inset) = match row.kind {
            RowKind::Lane { leaf, sub } => {
                let (busy, spans) = brute(scene, leaf, sub, window);
                (busy, Some(spans), 1.0)
            }
            RowKind::Summary => (brute_group(scene, row.node, window), None, 3.0),
            _ => continue,
        };
        let empty = Vec::new();
        let row_marks = marks.get(&u32::try_from(i).unwrap_or(0)).unwrap_or(&empty);
        // L7
        assert!(
            row_marks.len() <= view.width() as usize + 2,
            "row {i}: {} items on {} points",
            row_marks.len(),
            view.width()
        );
        // L8
        assert_eq!(
            row_marks.iter().map(|m| m.busy).sum::<i64>(),
            busy,
            "row {i}"
        );
        let drawn: u64 = row_marks.iter().map(|m| u64::from(m.count)).sum();
        assert!(spans.is_none_or(|n| n == drawn), "row {i}: {drawn}");
        let mut edge = f32::NEG_INFINITY;
        for m in row_marks {
            // L3: never over a drawn neighbour; positions are single floats, hence the tolerance.
            assert!(
                m.rect.x0 >= edge - 0.01,
                "row {i}: {m:?} starts before {edge}"
            );
            assert!(m.rect.x1 >= m.rect.x0 && m.rect.y1 > m.rect.y0);
            edge = m.rect.x1;
            let full = row.height - 2.0 * inset;
            let height = m.rect.height() / full;
            assert!((0.35..=1.001).contains(&height), "height {height}");
            if m.count == 1 {
                // L4: alone it keeps its colour and height.
                assert!((height - 1.0).abs() < 1e-3);
                assert_eq!(scene.analysis.layers().of(m.first), m.layer);
                // L2: its own rectangle where it is.
                let r = scene.trace.spans().range(m.first);
                if spans.is_none() {
                    // Of a group it adds what nothing before it covers.
                    assert!(m.busy <= r.clip(window).len(), "{m:?}");
                    continue;
                }
                let (x0, x1) = (view.x_clipped(r.start), view.x_clipped(r.end));
                if f64::from(x1 - x0) >= 3.0 {
                    // Past the canvas edge only that it goes on there counts: no border shows at the cut.
                    let seen = |x: f32| x.clamp(0.0, view.width());
                    let (drawn0, drawn1) = (m.rect.x0 - HEADER, m.rect.x1 - HEADER);
                    assert!((seen(drawn0) - seen(x0)).abs() < 0.01, "{m:?} {x0}");
                    assert!((seen(drawn1) - seen(x1)).abs() < 0.01, "{m:?} {x1}");
                }
            } else {
                let longest = m.longest(&scene.trace, &scene.analysis, &scene.rows);
                let dur = |id| scene.trace.spans().dur(id);
                let first = scene.trace.spans().start(m.first);
                assert!(dur(longest) >= dur(m.first));
                assert!(scene.trace.spans().start(longest) >= first);
            }
        }
    }
}

fn gaps_and_lengths() -> impl Strategy<Value = Vec<(i64, i64)>> {
    let gap = prop_oneof![4 => 0_i64..40, 2 => 0_i64..4_000, 1 => 0_i64..400_000];
    let len = prop_oneof![1 => Just(0_i64), 5 => 1_i64..60, 2 => 1_i64..9_000, 1 => 1_i64..300_000];
    proptest::collection::vec((gap, len), 1..900)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_are_bounded_and_add_up(
        spans in gaps_and_lengths(),
        kinds in proptest::collection::vec(any::<u8>(), 900),
        zooms in proptest::collection::vec((0.0_f32..1.0, 1.0_f64..30_000.0), 4),
        width in 50.0_f32..1_500.0,
    ) {
        let cpu: Vec<_> = spans.iter().zip(kinds).map(|(&(g, l), k)| (g, l, k)).collect();
        let gpu: Vec<_> = spans.iter().rev().copied().collect();
        let mut scene = random_scene(&cpu, &gpu);
        for (i, (at, zoom)) in zooms.into_iter().enumerate() {
            if i == 2 {
                scene.rows = collapsed(&scene);
            }
            let mut look = Look::new(&scene, width);
            look.view.zoom_at(at * width, zoom);
            let list = look.draw(&scene);
            check_rows(&scene, &list, &look.view);
        }
    }

    #[test]
    fn exposed_parts_never_vanish_and_add_up(
        spans in gaps_and_lengths(),
        zoom in 1.0_f64..3_000.0,
        at in 0.0_f32..1.0,
    ) {
        let cpu: Vec<_> = spans.iter().map(|&(g, l)| (g, l, 0)).collect();
        let gpu: Vec<_> = spans.iter().map(|&(g, l)| (l, g)).collect();
        let scene = random_scene(&cpu, &gpu);
        let mut look = Look::new(&scene, 700.0);
        look.view.zoom_at(at * 700.0, zoom);
        let list = look.draw(&scene);
        let window = look.view.range();
        let exposed = scene.analysis.ranks()[0].wait_exposed.measure_in(window);
        let marks = by_row(&list, MarkKind::Exposed);
        let sum: i64 = marks.values().flatten().map(|m| m.busy).sum();
        prop_assert_eq!(sum, exposed);
        for row in marks.values() {
            prop_assert!(row.len() <= 702);
            // Two parts that share a point share it; together they are at least two points wide.
            for pair in row.windows(2) {
                let gap = pair[1].rect.x0 - pair[0].rect.x1;
                prop_assert!(gap >= -0.01);
                prop_assert!(pair[0].rect.width() >= 1.99 || gap < 0.01);
            }
            if let Some(last) = row.last() {
                prop_assert!(last.rect.width() >= 1.99);
            }
        }
    }
}

#[test]
fn one_microsecond_of_exposed_wait_shows_among_a_million_spans() {
    let mut m = Maker::new();
    let process = m.process(1, Role::Main, 0);
    let lane = m.thread(process, 1, "main", Role::Main);
    let stream = m.gpu(0, 0, &[7])[0];
    for i in 0..500_000_i64 {
        let t = i * 2_000;
        m.span(
            lane,
            "cpu_op",
            "aten::add",
            t + 300_000_000_000,
            t + 300_000_001_500,
        );
        let t = i * 2_000_000;
        if i == 250_000 {
            m.span(stream, "kernel", "late", t + 1_000, t + 2_000_000);
            let name = "enumerate(DataLoader)#x.__next__";
            m.span(lane, "user_annotation", name, t - 200_000, t + 1_000);
        } else {
            m.span(stream, "kernel", "kernel", t, t + 2_000_000);
        }
    }
    let scene = Scene::new(m.b);
    assert_eq!(scene.analysis.ranks()[0].wait_exposed.measure(), 1_000);
    let look = Look::new(&scene, 1_200.0);
    assert!(look.view.is_fit());
    let list = look.draw(&scene);
    let marks = by_row(&list, MarkKind::Exposed);
    let all: Vec<&Mark> = marks.values().flatten().collect();
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].busy, all[0].count), (1_000, 1));
    assert!(all[0].rect.width() >= 2.0);
    // It is drawn last of its lane, and on the band as well.
    let wait = Theme::dark().swatch(Swatch::Wait);
    let solid: Vec<_> = list
        .sections
        .iter()
        .flat_map(|s| &s.items)
        .filter_map(|i| match i {
            Item::Rect { rect, fill } if *fill == wait => Some(rect),
            _ => None,
        })
        .collect();
    assert_eq!(solid.len(), 2, "lane and band");
    assert!(solid.iter().all(|r| r.width() >= 2.0));
    // Level-of-detail memory.
    let per_span = scene.rows.tree().lod().heap_bytes() as f64 / 1e6;
    assert!(per_span <= 4.0, "{per_span} B per span");
}

#[test]
fn tails_end_where_the_last_kernel_ends() {
    let scene = training_loop(4);
    for (name, kernels) in [("forward", 40), ("backward", 80)] {
        let span = scene.span(name, 1);
        let calls: Vec<_> = scene.trace.launches().iter().collect();
        let ops: Vec<i64> = calls
            .iter()
            .filter(|l| {
                let start = scene.trace.spans().start(l.from);
                scene.trace.spans().range(span).contains(start)
            })
            .map(|l| scene.trace.spans().end(l.to))
            .collect();
        let last = *ops.iter().max().expect("it launches");
        let end = scene.trace.spans().end(span);
        assert_eq!(ops.len(), kernels, "{name}");
        // One nanosecond per point around either end.
        for (edge, right) in [(end, false), (last, true)] {
            let look = Look::new(&scene, 1_000.0).at(TimeRange::new(edge - 500, edge + 500));
            let list = look.draw(&scene);
            let tails: Vec<_> = list
                .targets
                .iter()
                .filter_map(|(rect, t)| match t {
                    Target::Tail(i) if scene.analysis.tails()[*i].span == span => Some(rect),
                    _ => None,
                })
                .collect();
            assert_eq!(tails.len(), 1, "{name}");
            let x = if right { tails[0].x1 } else { tails[0].x0 } - HEADER;
            assert_eq!(look.view.time_from_x(x), edge, "{name}");
            assert!((tails[0].height() - 8.0).abs() < 1e-3);
        }
    }
}

#[test]
fn arrows_lead_from_launches_to_kernels() {
    let scene = training_loop(4);
    let forward = scene.span("forward", 1);
    let links = Links::of(&scene.trace, &scene.analysis, forward);
    assert_eq!(
        (links.ops.len(), links.arrows.len(), links.more),
        (40, 40, 0)
    );
    let backward = scene.span("backward", 1);
    let links = Links::of(&scene.trace, &scene.analysis, backward);
    assert_eq!(
        (links.ops.len(), links.arrows.len(), links.more),
        (80, 50, 30)
    );
    let spans = scene.trace.spans();
    let first = links.ops.iter().map(|&o| spans.start(o)).min();
    let last = links.ops.iter().map(|&o| spans.end(o)).max();
    assert_eq!(links.arrows.first().map(|l| spans.start(l.to)), first);
    assert_eq!(links.arrows.last().map(|l| spans.end(l.to)), last);

    let mut look = Look::new(&scene, 1_200.0).at(TimeRange::new(STEP, 2 * STEP));
    look.links = Some(&links);
    let list = look.draw(&scene);
    let arrows: Vec<_> = list
        .sections
        .iter()
        .flat_map(|s| &s.items)
        .filter_map(|i| match i {
            Item::Arrow { from, to, .. } => Some((from, to)),
            _ => None,
        })
        .collect();
    // Calls are 0.65 points apart: not all 50 can be told apart.
    assert!((10..=20).contains(&arrows.len()), "{} arrows", arrows.len());
    let x = |t| look.view.x_from_time(t) as f32 + HEADER;
    let mut rest = links.arrows.iter();
    for (from, to) in &arrows {
        let own = rest.find(|link| {
            (from.x - x(spans.start(link.from))).abs() < 0.01
                && (to.x - x(spans.start(link.to))).abs() < 0.01
        });
        assert!(
            own.is_some(),
            "{from:?} to {to:?} is no link, or out of order"
        );
    }
    let ends = [links.arrows[0], links.arrows[49]].map(|l| x(spans.start(l.to)));
    assert!((arrows[0].1.x - ends[0]).abs() < 0.01);
    assert!((arrows[arrows.len() - 1].1.x - ends[1]).abs() < 0.01);
    for pair in arrows[..arrows.len() - 1].windows(2) {
        let (a, b) = (pair[1].0.x - pair[0].0.x, pair[1].1.x - pair[0].1.x);
        assert!(a.min(b) >= 3.0 || a.max(b) >= 24.0, "{a} and {b} apart");
    }
    let more = format!("+{} more", 80 - arrows.len());
    assert!(list.texts().any(|t| t.text == more), "no {more}");
    assert_eq!(list.stats.arrows_dropped, 80 - arrows.len() as u64);
    // Zoomed in, all show that D4 allows.
    let mut near = Look::new(&scene, 20_000.0).at(TimeRange::new(STEP, 2 * STEP));
    near.links = Some(&links);
    let all = near.draw(&scene);
    let all = all.sections.iter().flat_map(|s| &s.items);
    assert_eq!(all.filter(|i| matches!(i, Item::Arrow { .. })).count(), 50);
    // Linked kernels are marked, as one kind.
    let linked = by_row(&list, MarkKind::Linked);
    assert_eq!(linked.len(), 1);
    let drawn: u32 = linked.values().flatten().map(|m| m.count).sum();
    assert_eq!(drawn, 80);

    // Back from a kernel to its launch.
    let op = links.ops[7];
    let back = Links::of(&scene.trace, &scene.analysis, op);
    assert_eq!(back.arrows.len(), 1);
    assert_eq!(Some(back.arrows[0].from), scene.trace.launch_of(op));
    // Far away: a distance at the edge instead of a head.
    let call = spans.start(back.arrows[0].from);
    let mut near = Look::new(&scene, 1_200.0).at(TimeRange::new(call - 20_000, call + 20_000));
    near.links = Some(&back);
    let list = near.draw(&scene);
    assert!(
        list.texts()
            .any(|t| t.text.ends_with(" ms") && t.at.x > 1_300.0),
        "no distance"
    );
}

#[test]
fn a_point_tells_what_lies_under_it() {
    let scene = training_loop(4);
    let look = Look::new(&scene, 1_200.0).at(TimeRange::new(0, 2 * STEP));
    let list = look.draw(&scene);
    let x = |ms: f64| look.view.x_from_time((ms * MS as f64) as i64) as f32 + HEADER;
    let row_of = |title: &str| {
        let tree = scene.rows.tree();
        let rows = scene.rows.rows();
        let row = rows
            .iter()
            .find(|r| tree.node(r.node).title == title)
            .expect("the row");
        row.y + row.height / 2.0 + list.areas.lanes.y0
    };
    let Hit::Mark(i) = list.hit(Point::new(x(20.0), row_of("worker 853"))) else {
        panic!("no span of the worker");
    };
    assert_eq!(scene.trace.span_name(list.marks[i].first), "item");
    assert_eq!(list.marks[i].count, 1);
    let hit = list.hit(Point::new(x(90.0), row_of("stream 7")));
    assert_eq!(hit, Hit::Empty);
    let hit = list.hit(Point::new(10.0, row_of("stream 7")));
    assert!(matches!(hit, Hit::Target(Target::Header(_))), "{hit:?}");
    let hit = list.hit(Point::new(x(130.0), list.areas.steps.y0 + 3.0));
    assert_eq!(hit, Hit::Target(Target::Step(0, 1)));
    let hit = list.hit(Point::new(x(130.0), 4.0));
    assert_eq!(hit, Hit::Target(Target::Ruler));
    let hit = list.hit(Point::new(x(160.0), list.areas.band.y1 - 6.0));
    assert_eq!(hit, Hit::Target(Target::Wait(1)));
    assert_eq!(list.hit(Point::new(-5.0, -5.0)), Hit::Nothing);
    // An exposed part is found before the wait that it is a part of.
    let wait = scene.span(
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
        0,
    );
    let row = scene.rows.of_span(&scene.trace, wait).expect("shows");
    let y = scene.rows.rows()[row].y + 9.0 + list.areas.lanes.y0;
    let Hit::Mark(i) = list.hit(Point::new(x(90.0), y)) else {
        panic!("no wait");
    };
    assert_eq!(list.marks[i].kind, MarkKind::Exposed);
    assert_eq!(list.marks[i].first, wait);
}

#[test]
fn lanes_tell_their_share_to_screen_readers() {
    let scene = training_loop(4);
    let look = Look::new(&scene, 1_200.0).at(TimeRange::new(0, STEP));
    let list = look.draw(&scene);
    let text = |start: &str| {
        list.lanes
            .iter()
            .find(|l| l.text.starts_with(start))
            .map(|l| l.text.as_str())
            .unwrap_or_default()
    };
    assert_eq!(text("stream 7"), "stream 7, GPU 0, busy 64 %, 120 spans");
    assert_eq!(
        text("worker 853"),
        "worker 853, Workers (1), busy 98 %, 14 spans"
    );
}

#[test]
fn a_trace_without_gpu_says_so_on_the_band() {
    let mut m = Maker::new();
    let process = m.process(1, Role::Main, 0);
    let lane = m.thread(process, 1, "main", Role::Main);
    for i in 0..5 {
        let t = i * 10 * MS;
        m.span(
            lane,
            "user_annotation",
            "enumerate(DataLoader)#x.__next__",
            t,
            t + 4 * MS,
        );
        m.span(lane, "user_annotation", "forward", t + 4 * MS, t + 9 * MS);
    }
    let scene = Scene::new(m.b);
    let list = Look::new(&scene, 1_200.0).draw(&scene);
    assert!(list.areas.band.height() >= 40.0);
    let said = list
        .texts()
        .any(|t| t.text.starts_with("No GPU events in this trace"));
    assert!(said, "the band is silent");
    assert!(list.texts().any(|t| t.text.contains("exposed: unknown")));
    assert!(by_row(&list, MarkKind::Exposed).is_empty());
    assert!(list.texts().all(|t| !t.text.starts_with("exposed wait")));
}

#[test]
fn an_empty_trace_is_laid_out_too() {
    let scene = Scene::new(stallscope::model::TraceBuilder::new());
    let list = Look::new(&scene, 500.0).draw(&scene);
    assert!(list.texts().any(|t| t.text.starts_with("No GPU events")));
    assert!(list.marks.is_empty());
    // No room at all.
    let mut look = Look::new(&scene, 1.0);
    look.height = 0.0;
    let _ = look.draw(&scene);
}

#[test]
fn collapsed_groups_cost_no_more_than_a_lane_and_show_exposed_waits() {
    const WORKERS: u32 = 96;
    let mut m = Maker::new();
    let process = m.process(1, Role::Main, 0);
    let lane = m.thread(process, 1, "main", Role::Main);
    let stream = m.gpu(0, 0, &[7])[0];
    let wait = "enumerate(DataLoader)#x.__next__";
    for i in 0..100 {
        let t = i * 10 * MS;
        // The GPU idles for the first two of three milliseconds.
        m.span(lane, "user_annotation", wait, t, t + 3 * MS);
        m.span(lane, "user_annotation", "forward", t + 3 * MS, t + 5 * MS);
        m.span(stream, "kernel", "kernel", t + 2 * MS, t + 10 * MS);
    }
    // torch records its own process only: then its file says whose the GPU is without any link.
    m.file("dftracer");
    for w in 0..WORKERS {
        let worker = m.process(100 + w, Role::Worker, 0);
        m.b.process_mut(worker).parent = Some("1".to_owned());
        let lane = m.thread(worker, 100 + w, "worker", Role::Worker);
        for i in 0..400_i64 {
            let t = i * 2_500_000 + i64::from(w) * 7_919;
            m.span(lane, "data_loader", "item", t, t + 20_000);
        }
    }
    let mut scene = Scene::new(m.b);
    scene.rows = collapsed(&scene);
    let look = Look::new(&scene, 1_000.0);
    let list = look.draw(&scene);
    check_rows(&scene, &list, &look.view);
    // Items, not only marks: labels and borders included.
    let row_of = |kind: fn(&NodeKind) -> bool| {
        let tree = scene.rows.tree();
        let found = |r: &stallscope::view::Row| kind(&tree.node(r.node).kind);
        scene.rows.rows().iter().position(found).expect("it shows")
    };
    let workers = &scene.rows.rows()[row_of(|k| *k == NodeKind::Workers)];
    assert_eq!(workers.kind, RowKind::Summary);
    let bar = (workers.y, workers.y + workers.height);
    let top = list.areas.lanes.y0;
    let inside = |r: &stallscope::view::Rect| r.y0 - top >= bar.0 && r.y1 - top <= bar.1;
    let lanes = list
        .sections
        .iter()
        .filter(|s| s.kind == SectionKind::Lanes);
    let items = lanes.flat_map(|s| &s.items).filter(|i| match i {
        Item::Rect { rect, .. } | Item::Run { rect, .. } | Item::Outline { rect, .. } => {
            inside(rect)
        }
        _ => false,
    });
    let items = items.count();
    assert!((100..=1_003).contains(&items), "{items} items");
    // The exposed two milliseconds of each wait but the first, which lies before the GPU's record.
    let main = row_of(|k| matches!(k, NodeKind::Process(_)));
    assert_eq!(scene.rows.rows()[main].kind, RowKind::Summary);
    let marks: Vec<&Mark> = list.marks_of(main, MarkKind::Exposed).collect();
    assert_eq!(marks.len(), 99);
    let busy: i64 = marks.iter().map(|m| m.busy).sum();
    assert_eq!(busy, scene.analysis.ranks()[0].wait_exposed.measure());
    assert!(marks.iter().all(|m| m.rect.width() >= 1.99));
    for (i, mark) in marks.iter().enumerate() {
        assert_eq!(mark.first, scene.span(wait, i + 1));
    }
    // So does the selected span.
    let mut look = Look::new(&scene, 1_000.0);
    look.selected = Some(scene.span("forward", 50));
    let list = look.draw(&scene);
    assert_eq!(list.marks_of(main, MarkKind::Selected).count(), 1);
    let said = |text: &str| list.lanes.iter().any(|l| l.text == text);
    assert!(
        said("Main process 1, busy 50 %, 1 lane"),
        "{:?}",
        list.lanes
    );
    assert!(list.lanes.iter().any(|l| l.text.ends_with("96 lanes")));
}
