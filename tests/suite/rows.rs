//! The rows of the timeline: which lane goes where, and what pinning, hiding, filtering and collapsing do.

use crate::common::timeline;

use std::sync::Arc;

use stallscope::analysis::Cancelled;
use stallscope::model::{LaneKind, Role};
use stallscope::view::{
    HEADER_HEIGHT, Lod, NodeKind, ROW_HEIGHT, Row, RowKind, RowState, RowTree, Rows, SUMMARY_HEIGHT,
};
use timeline::{MS, Maker, Scene, training_loop};

/// Titles of the rows, indented by depth; sub-rows other than the first left out, collapsed groups with a "+".
fn titles(rows: &Rows) -> Vec<String> {
    let of = |row: &Row| {
        let node = rows.tree().node(row.node);
        let indent = "  ".repeat(usize::from(node.depth));
        match row.kind {
            RowKind::Lane { sub: 1.., .. } => None,
            RowKind::Summary => Some(format!("{indent}+ {}", node.title)),
            _ => Some(format!("{indent}{}", node.title)),
        }
    };
    rows.rows().iter().filter_map(of).collect()
}

fn with(scene: &Scene, change: impl FnOnce(&RowTree, &mut RowState)) -> Rows {
    let tree = scene.rows.tree();
    let mut state = RowState::default();
    change(tree, &mut state);
    Rows::new(tree.clone(), &state)
}

fn node(tree: &RowTree, title: &str) -> stallscope::view::NodeId {
    tree.ids()
        .find(|&id| tree.node(id).title == title)
        .unwrap_or_else(|| panic!("no row {title}"))
}

#[test]
fn lanes_come_in_order() {
    let scene = training_loop(3);
    assert_eq!(
        titles(&scene.rows),
        [
            "GPU 0",
            "  stream 7",
            "  stream 16",
            "Main process 839",
            "  main thread",
            "  CUDA API",
            "Workers (1)",
            "  worker 853",
            "Other threads (1)",
            "  thread 861 (pin_memory)",
            "+ 6 quiet threads",
        ]
    );
    let tree = scene.rows.tree();
    let note = |title| tree.node(node(tree, title)).note.as_str();
    assert_eq!(note("stream 7"), "compute");
    assert_eq!(note("stream 16"), "copies");
    assert_eq!(note("main thread"), "loop");
    assert_eq!(note("thread 861 (pin_memory)"), "pin memory");
}

#[test]
fn ranks_and_many_workers_are_grouped() {
    let mut m = Maker::new();
    for rank in 0..2 {
        let main = m.process(10 + rank, Role::Main, rank);
        let lane = m.thread(main, 10 + rank, "python", Role::Main);
        m.span(lane, "user_annotation", "forward", 0, 5 * MS);
        let gpu = m.gpu(i64::from(rank), rank, &[7]);
        m.span(gpu[0], "kernel", "k", 0, 5 * MS);
        // Pids out of order, and more than eight of them in one rank.
        for pid in (0..8 + rank).rev() {
            let pid = 100 * (rank + 1) + pid * 3;
            let worker = m.process(pid, Role::Worker, rank);
            let lane = m.thread(worker, pid, "python", Role::Worker);
            m.span(lane, "cpu_op", "aten::stack", 0, 4 * MS);
        }
    }
    let scene = Scene::new(m.b);
    let all = titles(&scene.rows);
    assert_eq!(all[..3], ["Rank 0", "  GPU 0", "    stream 7"]);
    let first = all.iter().position(|t| t == "  Workers (8)").expect("open");
    assert_eq!(all[first + 1], "    worker 100");
    assert_eq!(all[first + 8], "    worker 121");
    assert!(all.contains(&"  + Workers (9)".to_owned()), "{all:?}");
    let opened = with(&scene, |_, s| s.expand_all = true);
    assert!(titles(&opened).contains(&"    worker 224".to_owned()));
}

#[test]
fn annotations_and_python_frames_have_rows_of_their_own() {
    let mut m = Maker::new();
    let main = m.process(1, Role::Main, 0);
    let lane = m.thread(main, 1, "python", Role::Main);
    for depth in 0..7 {
        m.span(
            lane,
            "python_function",
            "train.py(7): step",
            depth * 1_000,
            9 * MS - depth * 1_000,
        );
    }
    m.span(lane, "user_annotation", "forward", MS, 2 * MS);
    m.span(lane, "cuda_runtime", "cudaLaunchKernel", MS + 10, MS + 20);
    let gpu = m.gpu(0, 0, &[7])[0];
    m.span(gpu, "kernel", "k", 2 * MS, 3 * MS);
    let stream = m.b.so_far().lane(gpu).stream;
    for (kind, name) in [
        (LaneKind::GpuSync, "stream 7 sync"),
        (LaneKind::GpuAnnotation, "stream 7 annotations"),
    ] {
        let mut lane = stallscope::model::Lane::new(m.source, kind, format!("G0.7 {name}"));
        lane.stream = stream;
        lane.name = name.to_owned();
        let lane = m.b.add_lane(lane);
        m.span(lane, "gpu_user_annotation", "forward", 2 * MS, 3 * MS);
    }
    let scene = Scene::new(m.b);
    assert_eq!(
        titles(&scene.rows),
        [
            "GPU 0",
            "  stream 7",
            "  + Annotations (2)",
            "Main process 1",
            "  main thread",
            "  CUDA API",
            "  + python frames",
        ]
    );
    // "forward" lies under seven frames in the model, but in the first row of its lane here.
    let row = scene
        .rows
        .of_span(&scene.trace, scene.span("forward", 0))
        .expect("shows");
    assert!(matches!(
        scene.rows.rows()[row].kind,
        RowKind::Lane { sub: 0, .. }
    ));
    let frame = scene.span("train.py(7): step", 3);
    let row = scene
        .rows
        .of_span(&scene.trace, frame)
        .expect("in the collapsed group");
    assert_eq!(scene.rows.rows()[row].kind, RowKind::Summary);
    let tree = scene.rows.tree();
    let opened = with(&scene, |t, s| s.toggle(t, node(t, "python frames")));
    let row = opened.of_span(&scene.trace, frame).expect("shows");
    assert!(matches!(
        opened.rows()[row].kind,
        RowKind::Lane { sub: 3, .. }
    ));
    assert!(matches!(
        tree.node(node(tree, "python frames")).kind,
        NodeKind::Frames(_)
    ));
}

#[test]
fn collapsing_pinning_hiding_and_filtering_change_rows() {
    let scene = training_loop(3);
    let collapsed = with(&scene, |t, s| s.toggle(t, node(t, "Main process 839")));
    assert!(titles(&collapsed).contains(&"+ Main process 839".to_owned()));
    assert!(!titles(&collapsed).contains(&"  main thread".to_owned()));
    assert!(collapsed.height() < scene.rows.height());

    let pinned = with(&scene, |t, s| {
        s.toggle_pin(t, node(t, "worker 853"));
        s.toggle_pin(t, node(t, "stream 7"));
    });
    let order: Vec<_> = pinned
        .pinned()
        .iter()
        .filter(|r| matches!(r.kind, RowKind::Lane { sub: 0, .. }))
        .map(|r| pinned.tree().node(r.node).title.as_str())
        .collect();
    assert_eq!(order, ["worker 853", "stream 7"]);
    assert!(pinned.pinned_height() > 3.0 * ROW_HEIGHT);

    let hidden = with(&scene, |t, s| s.hide(t, node(t, "Workers (1)")));
    assert!(titles(&hidden).iter().all(|t| !t.contains("orker")));
    assert_eq!(hidden.hidden_lanes(), 1);

    let filtered = with(&scene, |_, s| s.filter = "no such lane".to_owned());
    assert!(filtered.rows().is_empty());
    assert_eq!(filtered.hidden_lanes(), 12);
    let filtered = with(&scene, |_, s| s.filter = " THREAD 90 ".to_owned());
    let found = titles(&filtered);
    assert_eq!(found.len(), 7, "{found:?}");
    assert_eq!(found[0], "6 quiet threads");
    let group = with(&scene, |_, s| s.filter = "gpu 0".to_owned());
    assert_eq!(titles(&group), ["GPU 0", "  stream 7", "  stream 16"]);

    let only = with(&scene, |t, s| s.show_only(t, node(t, "stream 16")));
    assert_eq!(titles(&only), ["GPU 0", "  stream 16"]);
    let twice = with(&scene, |t, s| {
        s.show_only(t, node(t, "stream 16"));
        s.show_only(t, node(t, "stream 16"));
    });
    assert_eq!(titles(&twice), titles(&scene.rows));
    let shown = with(&scene, |t, s| s.reveal(t, node(t, "thread 903")));
    assert!(titles(&shown).contains(&"  thread 903".to_owned()));
}

#[test]
fn rows_lie_below_each_other_and_are_found_by_position() {
    let scene = training_loop(3);
    let rows = &scene.rows;
    let mut y = 0.0;
    for (i, row) in rows.rows().iter().enumerate() {
        assert!(row.y >= y, "row {i} overlaps");
        let height = match row.kind {
            RowKind::Header => HEADER_HEIGHT,
            RowKind::Summary => SUMMARY_HEIGHT,
            _ => ROW_HEIGHT,
        };
        assert!((row.height - height).abs() < 1e-6);
        y = row.y + row.height;
        assert_eq!(rows.at(row.y), Some(i));
        assert_eq!(rows.at(row.y + row.height - 0.01), Some(i));
        assert_eq!(rows.visible(row.y + 1.0, row.y + 2.0), i..i + 1);
    }
    assert!((rows.height() - y).abs() < 1e-4);
    assert_eq!(rows.at(-1.0), None);
    assert_eq!(rows.at(y + 1.0), None);
    assert_eq!(rows.visible(0.0, 1e9), 0..rows.rows().len());
}

#[test]
fn every_span_has_exactly_one_place() {
    let scene = training_loop(3);
    let lod = scene.rows.tree().lod();
    let mut placed = 0;
    for (i, leaf) in lod.leaves().iter().enumerate() {
        for (sub, row) in leaf.rows.iter().enumerate() {
            for id in row.ids() {
                placed += 1;
                let place = lod.place(&scene.trace, id).expect("it has a place");
                assert_eq!(
                    place,
                    (u32::try_from(i).unwrap(), u16::try_from(sub).unwrap())
                );
            }
        }
    }
    assert_eq!(placed, scene.trace.spans().len());
    // Building is repeatable, whatever thread does what.
    let again = Lod::build(&scene.trace, &scene.analysis);
    let tree = RowTree::new(&scene.trace, &scene.analysis, Arc::new(again));
    assert_eq!(tree.nodes(), scene.rows.tree().nodes());
}

#[test]
fn thousands_of_partly_overlapping_spans_beside_api_calls_are_nested_at_once() {
    const SPANS: i64 = 20_000;
    let mut m = Maker::new();
    let process = m.process(1, Role::Main, 0);
    let lane = m.thread(process, 1, "main", Role::Main);
    for i in 0..SPANS {
        m.span(lane, "cpu_op", "aten::add", i, MS + i);
    }
    m.span(lane, "cuda_runtime", "cudaLaunchKernel", 0, 10);
    let begin = std::time::Instant::now();
    let scene = Scene::new(m.b);
    let took = begin.elapsed();
    let lod = scene.rows.tree().lod();
    let rows: Vec<usize> = lod.leaves().iter().map(|l| l.rows.len()).collect();
    assert_eq!(rows, [20_000, 1]);
    let leaf = &lod.leaves()[0];
    assert!(leaf.rows.iter().all(|r| r.len() == 1));
    // With a look at all open spans per span and row it took minutes.
    assert!(took.as_secs() < 30, "{took:?}");
}

#[test]
fn building_stops_when_told() {
    let scene = training_loop(3);
    for after in [0, 1, 4, 9] {
        let asked = std::sync::atomic::AtomicU32::new(0);
        let on = |_: u32| asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < after;
        let stopped = Lod::build_while(&scene.trace, &scene.analysis, &on);
        assert_eq!(stopped.err(), Some(Cancelled), "after {after}");
    }
}

#[test]
fn keys_of_lanes_are_those_of_kept_views() {
    let scene = training_loop(3);
    let tree = scene.rows.tree();
    let lanes = ["main thread", "CUDA API", "stream 7"];
    let keys = lanes.map(|t| tree.node(node(tree, t)).key.as_str());
    // Whoever changes one loses pins, hidden and collapsed lanes of users.
    assert_eq!(keys, ["0/C839.839/Cpu", "0/C839.839/Cpu/api", "0/G0.7/Gpu"]);
    let kinds = [
        (LaneKind::Cpu, "Cpu"),
        (LaneKind::Gpu, "Gpu"),
        (LaneKind::GpuAnnotation, "GpuAnnotation"),
        (LaneKind::GpuSync, "GpuSync"),
        (LaneKind::Overhead, "Overhead"),
        (LaneKind::Async, "Async"),
        (LaneKind::Recorder, "Recorder"),
    ];
    assert!(kinds.iter().all(|(kind, key)| kind.key() == *key));
}
