//! Which thread is the loop, what it waited for, and what of its GPU's work was lost: small made files of two recorders.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use stallscope::analysis::{
    Analysis, EndHow, LayerId, NoArgs, Options, Rules, Scope, WaitKind, placed,
};
use stallscope::import::{OpenOptions, Progress, open};

use stallscope::time::about_ns;
use stallscope::view::{Item, Lod, NodeId, NodeKind, RowTree, SectionKind, Theme};

use crate::common::look::Look;
use crate::common::scratch;
use crate::common::timeline::Scene;

/// Unix time of the files' zero, µs.
const ZERO: i64 = 1_700_000_000_000_000;
const MS: i64 = 1_000_000;

/// A span of torch's file; times in ms.
fn span(cat: &str, name: &str, tid: i64, start: f64, end: f64) -> Value {
    json!({"ph": "X", "cat": cat, "name": name, "pid": 500, "tid": tid, "ts": ts(start), "dur": (end - start) * 1000.0})
}

fn ts(ms: f64) -> f64 {
    ZERO as f64 + ms * 1000.0
}

fn call(name: &str, tid: i64, start: f64, correlation: i64) -> Value {
    let mut call = span("cuda_runtime", name, tid, start, start + 0.01);
    call["args"] = json!({"correlation": correlation});
    call
}

fn kernel(stream: i64, start: f64, end: f64, correlation: i64) -> Value {
    json!({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": stream, "ts": ts(start),
        "dur": (end - start) * 1000.0,
        "args": {"device": 0, "stream": stream, "correlation": correlation}})
}

const NEXT: &str = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";

fn torch(folder: &Path, events: &[Value]) -> PathBuf {
    let path = folder.join("torch.json");
    let text = json!({"schemaVersion": 1, "baseTimeNanoseconds": 0, "traceEvents": events});
    std::fs::write(&path, text.to_string()).unwrap();
    path
}

/// A line of DFTracer's file of the same process; times in µs since the files' zero.
fn line(id: usize, name: &str, start: i64, end: i64) -> String {
    json!({"id": id, "name": name, "cat": "dataloader", "pid": 500, "tid": 500, "ts": ZERO + start,
        "dur": end - start, "ph": "X", "args": {"hhash": "h"}})
    .to_string()
}

fn analysed(paths: &[PathBuf]) -> Analysis {
    let options = OpenOptions::default();
    let loaded = open(paths, &options, &Progress::new()).unwrap();
    let rules = Rules::builtin();
    let trace = placed(Arc::new(loaded.trace), &rules, &NoArgs, &|| true);
    Analysis::with_args(trace, &rules, &Options::default(), &NoArgs, &|_| true).unwrap()
}

/// Exit code and output of the program.
fn stallscope(args: &[&str], paths: &[PathBuf]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    let out = command.args(args).args(paths).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    (out.status.code().unwrap(), text)
}

/// The groups and lanes of a training process, indented, what stands beside a group in brackets.
fn threads(analysis: &Analysis) -> Vec<String> {
    let lod = Arc::new(Lod::build(analysis.trace(), analysis));
    let tree = RowTree::new(analysis.trace(), analysis, lod);
    let nodes: Vec<_> = tree.ids().collect();
    let first = nodes
        .iter()
        .position(|&n| matches!(tree.node(n).kind, NodeKind::Process(_)));
    let of = |&id: &NodeId| {
        let node = tree.node(id);
        let note = match node.kind.is_group() && !node.note.is_empty() {
            true => format!(" ({})", node.note),
            false => String::new(),
        };
        format!(
            "{}{}{note}",
            "  ".repeat(usize::from(node.depth)),
            node.title
        )
    };
    nodes[first.unwrap()..].iter().map(of).collect()
}

#[test]
fn time_that_is_not_recorded_is_hatched_on_band_and_stream() {
    let folder = scratch("loop_hatched");
    let mut events = steps(6, 500);
    events.retain(|e| e["cat"] != "kernel" || e["args"]["correlation"] != 3);
    let analysis = analysed(&[torch(&folder, &events)]);
    let hatches = |analysis: &Analysis| {
        let scene = Scene::of(Arc::clone(analysis.trace()));
        let list = Look::new(&scene, 1_000.0).draw(&scene);
        let color = Theme::dark().unrecorded.percent(45);
        let is_one = |i: &&Item| matches!(i, Item::Hatch { color: c, .. } if *c == color);
        let of = |kind: SectionKind| {
            let sections = list.sections.iter().filter(|s| s.kind == kind);
            let items = sections.flat_map(|s| &s.items);
            items.filter(is_one).count()
        };
        [of(SectionKind::Band), of(SectionKind::Lanes)]
    };
    let lost = hatches(&analysis);
    let whole = hatches(&analysed(&[torch(&folder, &steps(6, 500))]));
    assert_eq!([lost[0] - whole[0], lost[1] - whole[1]], [1, 1]);
}

#[test]
fn the_loop_can_be_named() {
    let folder = scratch("loop_named");
    let paths = [torch(&folder, &steps(6, 521))];
    let lane = |args: &[&str]| {
        let (code, out) = stallscope(args, &paths);
        assert_eq!(code, 0, "{out}");
        let report: Value = serde_json::from_str(&out).unwrap();
        report["ranks"]["0"]["loop"]["lane"].clone()
    };
    assert_eq!(lane(&["report", "--json"]), "C500.500");
    assert_eq!(
        lane(&["report", "--json", "--loop", "C500.521"]),
        "C500.521"
    );
    assert_eq!(stallscope(&["report", "--loop", "C1.1"], &paths).0, 2);
    // A stream of the GPU is a lane, and no loop.
    assert_eq!(stallscope(&["report", "--loop", "G0.7"], &paths).0, 2);
}

/// Steps of 10 ms: a wait of 4, a launch whose kernel runs for 5.
fn steps(n: i64, fetching: i64) -> Vec<Value> {
    steps_with(n, fetching, |_| 4.0)
}

fn steps_with(n: i64, fetching: i64, wait: impl Fn(i64) -> f64) -> Vec<Value> {
    let mut events = Vec::new();
    for k in 0..n {
        let at = 10.0 * k as f64;
        events.push(span(
            "user_annotation",
            &format!("ProfilerStep#{k}"),
            500,
            at,
            at + 10.0,
        ));
        events.push(span("user_annotation", NEXT, fetching, at, at + wait(k)));
        events.push(call("cudaLaunchKernel", 500, at + 4.1, k + 1));
        events.push(kernel(7, at + 4.2, at + 9.2, k + 1));
    }
    events
}

#[test]
fn the_thread_that_launches_is_the_loop_and_not_the_one_that_waits_longest() {
    let folder = scratch("loop_prefetch");
    let analysis = analysed(&[torch(&folder, &steps(6, 521))]);
    let rank = &analysis.ranks()[0];
    let key = |l| analysis.trace().lane(l).key.as_str();
    assert_eq!(rank.loop_lane.map(key), Some("C500.500"));
    assert!(rank.waits.all.is_empty());
    let [elsewhere] = rank.fetch_elsewhere[..] else {
        panic!("{:?}", rank.fetch_elsewhere);
    };
    assert_eq!(
        (key(elsewhere.lane), elsewhere.n, elsewhere.time),
        ("C500.521", 6, 24 * MS)
    );
    // In each step nothing of the loop is recorded behind its launch, which ends 4.11 ms after its start. There the GPU is
    // idle for 0.09 ms before its kernel and 0.8 ms behind it, as far as it is recorded: from the first kernel to the last.
    assert_eq!(rank.wait_bound, Some(5 * 90_000 + 5 * 800_000));
}

#[test]
fn a_fetch_without_a_body_at_the_end_is_no_batch() {
    let folder = scratch("loop_end");
    let mut events = steps(5, 500);
    events.push(span("user_annotation", NEXT, 500, 50.0, 57.0));
    let analysis = analysed(&[torch(&folder, &events)]);
    let waits = &analysis.ranks()[0].waits;
    assert_eq!(waits.batches().count(), 5);
    let last = waits.all.last().unwrap();
    assert_eq!(last.kind, WaitKind::End(EndHow::NoBody));
    let start_up = waits.start_up();
    assert_eq!(
        (start_up.runs, start_up.first, start_up.end),
        (1, 4 * MS, 7 * MS)
    );
    assert_eq!(waits.steady(), 16 * MS);
}

#[test]
fn two_records_of_one_loop_are_one_and_their_clocks_are_told() {
    let folder = scratch("loop_twin");
    // No two waits are alike: equal ones would fit at any distance.
    let wait = |k: i64| 1.0 + 0.2 * ((k * 7) % 12) as f64;
    let events = steps_with(12, 500, wait);
    for ahead in [0, 43_000] {
        let text: Vec<String> = (0..12_usize)
            .map(|k| {
                let at = 10_000 * k as i64 + ahead;
                let end = at + (wait(k as i64) * 1000.0).round() as i64;
                line(k, "fetch.iter", at - 5, end + 10)
            })
            .collect();
        let dft = folder.join(format!("ahead_{ahead}"));
        std::fs::create_dir_all(&dft).unwrap();
        std::fs::write(dft.join("run-app.pfw"), format!("[\n{}\n", text.join("\n"))).unwrap();
        let both = [torch(&folder, &events), dft];
        for paths in [both.clone(), [both[1].clone(), both[0].clone()]] {
            let analysis = analysed(&paths);
            assert_eq!(analysis.ranks().len(), 1);
            let rank = &analysis.ranks()[0];
            assert_eq!(rank.loop_lanes.len(), 2, "ahead {ahead}");
            assert_eq!(rank.waits.all.len(), 12);
            assert!(
                rank.waits
                    .all
                    .iter()
                    .all(|w| w.records == 2 && w.before.is_some())
            );
            // Work is counted, not recorders.
            let selection = analysis.selection(analysis.trace().extent(), Scope::All);
            let fetch = selection
                .rows
                .iter()
                .find(|r| r.layer == LayerId::FETCH)
                .unwrap();
            assert_eq!((fetch.count, fetch.sum), (12, rank.wait.measure()));
            let [clock] = analysis.identity().clocks() else {
                panic!("two recordings");
            };
            let [low, high] = clock.interval.unwrap();
            assert!(
                low <= ahead * 1000 && ahead * 1000 <= high && high - low < 30_000,
                "{clock:?}"
            );
            assert_eq!(clock.offset != 0, ahead != 0);
            let moved = analysis.notices().iter().any(|n| n.code == "clock_moved");
            assert_eq!(moved, ahead != 0);
            // Half of an interval of 15 µs, and what a microsecond's rounding adds.
            let within = |limit: &str| stallscope(&["check", "--max-clock-error", limit], &paths).0;
            assert_eq!((within("50us"), within("1us")), (0, 3));
            assert_eq!(
                clock.chip(),
                format!("±{}, 12 waits", about_ns((high - low + 1) / 2))
            );
            let main = ["Main process 500", "  main thread", "  CUDA API"];
            let other = [
                &format!("  by DFTracer ({})", clock.chip()),
                "    main thread",
            ];
            assert_eq!(threads(&analysis), [&main[..], &other].concat());
            let range = rank.wait_ranges.unwrap()[0];
            let exposed = rank.wait_exposed.measure();
            assert!(range[0] <= exposed && exposed <= range[1]);
        }
    }
}

#[test]
fn time_behind_a_launch_without_its_kernel_is_neither_busy_nor_idle() {
    let folder = scratch("loop_lost");
    let mut events = steps(6, 500);
    // Of the third step the kernel's record is gone.
    events.retain(|e| e["cat"] != "kernel" || e["args"]["correlation"] != 3);
    let analysis = analysed(&[torch(&folder, &events)]);
    let gpu = &analysis.gpus()[0];
    assert_eq!((gpu.lost.kernel, gpu.lost.calls_kernel), (1, 6));
    // From the call at 24.1 ms to the next kernel of the stream at 34.2 ms.
    assert_eq!(gpu.not_recorded.measure(), 10_100_000);
    let window = analysis.trace().extent();
    let f = analysis.gpu_figures(0, window);
    assert_eq!(f.busy + f.idle + f.not_recorded + f.edge, window.len());
    assert_eq!(analysis.ranks()[0].wait_lost, 4 * MS);
    let notice = analysis
        .notices()
        .iter()
        .find(|n| n.code == "launches_lost");
    assert!(
        notice.unwrap().text.contains("1 of 6 kernel launches"),
        "{notice:?}"
    );
}

#[test]
fn calls_that_are_recorded_into_a_graph_lose_nothing() {
    let folder = scratch("loop_capture");
    let mut events = steps(6, 500);
    events.push(call("cudaStreamBeginCapture", 500, 61.0, 100));
    events.push(call("cudaLaunchKernel", 500, 61.1, 101));
    events.push(call("cudaStreamEndCapture", 500, 61.2, 102));
    let analysis = analysed(&[torch(&folder, &events)]);
    assert_eq!(analysis.gpus()[0].lost.lost(), 0);
}

#[test]
fn an_operation_that_outlasts_the_next_of_its_stream_is_not_believed() {
    let folder = scratch("loop_overrun");
    let mut events = steps(6, 500);
    for e in &mut events {
        if e["cat"] == "kernel" && e["args"]["correlation"] == 2 {
            e["dur"] = json!(25_000.0);
        }
    }
    let analysis = analysed(&[torch(&folder, &events)]);
    let gpu = &analysis.gpus()[0];
    assert_eq!((gpu.overruns.ops.len(), gpu.overruns.worst), (1, 15 * MS));
    assert_eq!(gpu.busy.measure(), 25 * MS);
    assert_eq!(gpu.not_recorded.measure(), 10 * MS);
}

/// What an epoch ends with is not done with a batch, whatever operators it runs: the last fetch delivered nothing.
#[test]
fn a_checkpoint_behind_an_epoch_does_not_hide_its_end() {
    let folder = scratch("checkpoint_behind_epoch");
    let mut events = Vec::new();
    for epoch in 0..2 {
        let zero = f64::from(epoch) * 100.0;
        events.push(span("cpu_op", "aten::empty", 500, zero, zero + 0.01));
        events.push(span(
            "cpu_op",
            "aten::random_",
            500,
            zero + 0.02,
            zero + 0.03,
        ));
        for k in 0..6 {
            let at = zero + 1.0 + f64::from(k) * 10.0;
            events.push(span("user_annotation", NEXT, 500, at, at + 2.0));
            events.push(span("cpu_op", "aten::addmm", 500, at + 2.5, at + 7.0));
        }
        events.push(span("user_annotation", NEXT, 500, zero + 61.0, zero + 61.5));
        events.push(span(
            "user_annotation",
            "checkpoint",
            500,
            zero + 62.0,
            zero + 90.0,
        ));
        events.push(span("cpu_op", "aten::copy_", 500, zero + 63.0, zero + 65.0));
    }
    let analysis = analysed(&[torch(&folder, &events)]);
    let waits = &analysis.ranks()[0].waits;
    let ends: Vec<usize> = (0..waits.all.len())
        .filter(|&i| waits.all[i].kind == WaitKind::End(EndHow::NoBody))
        .collect();
    assert_eq!(ends, [6, 13]);
    let firsts: Vec<usize> = (0..waits.all.len())
        .filter(|&i| waits.all[i].first)
        .collect();
    assert_eq!(firsts, [0, 7]);
}
