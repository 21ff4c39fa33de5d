//! Who called: CPU spans against their GPU work by caller, and who made the calls that wait for the GPU.

use serde_json::Value;
use stallscope::analysis::{CallerKind, LagRow, NoArgs, SyncCaller};
use stallscope::model::{LaneId, Role, SyncScope};
use stallscope::time::TimeRange;

use crate::common::{self, report_of};
use common::timeline::{MS, Maker, Scene};
use common::{repository, shared};

struct Loop {
    m: Maker,
    main: LaneId,
    engine: LaneId,
    stream: LaneId,
}

impl Loop {
    fn new() -> Self {
        let mut m = Maker::new();
        let process = m.process(1, Role::Main, 0);
        let main = m.thread(process, 1, "main", Role::Main);
        let engine = m.thread(process, 2, "engine", Role::Autograd);
        let stream = m.gpu(0, 0, &[7])[0];
        Self {
            m,
            main,
            engine,
            stream,
        }
    }

    /// An op that launches a kernel of 2 ms, which begins 5 ms later.
    fn op(&mut self, lane: LaneId, name: &str, t: i64) {
        self.m.span(lane, "cpu_op", name, t, t + 100_000);
        self.m
            .span(lane, "cpu_op", "aten::inner", t + 10_000, t + 90_000);
        let call = "cudaLaunchKernel";
        let call = self
            .m
            .span(lane, "cuda_runtime", call, t + 20_000, t + 30_000);
        let from = t + 5 * MS;
        let op = self
            .m
            .span(self.stream, "kernel", "gemm", from, from + 2 * MS);
        self.m.b.link_launch(call, op);
    }
}

/// A forward with two modules, a backward whose work is on the engine's thread, an op beside them, and two reads of
/// values that wait.
fn scene() -> Scene {
    let mut l = Loop::new();
    let (main, engine) = (l.main, l.engine);
    let python = "python_function";
    l.m.span(main, python, "train.py(10): main", 0, 100 * MS);
    l.m.span(main, "user_annotation", "forward", MS, 30 * MS);
    for (i, t) in [2, 12].into_iter().enumerate() {
        let t = t * MS;
        let name = format!("nn.Module: Linear_{i}");
        l.m.span(main, python, &name, t, t + 8 * MS);
        l.m.span(
            main,
            python,
            "torch/nn/modules/linear.py(1): forward",
            t + 1,
            t + 8 * MS - 1,
        );
        l.op(main, "aten::linear", t + MS);
    }
    l.m.span(main, "user_annotation", "backward", 40 * MS, 60 * MS);
    let node = "autograd::engine::evaluate_function: AddmmBackward0";
    l.op(engine, node, 45 * MS);
    l.op(main, "aten::add", 65 * MS);
    for t in [70, 80] {
        let t = t * MS;
        l.m.span(main, python, "<built-in method item>", t, t + 3 * MS);
        l.m.span(main, "cpu_op", "aten::item", t + 1_000, t + 3 * MS - 1_000);
        l.m.span(
            main,
            "cpu_op",
            "aten::_local_scalar_dense",
            t + 2_000,
            t + 3 * MS - 2_000,
        );
        let call = "cudaStreamSynchronize";
        l.m.span(main, "cuda_runtime", call, t + MS, t + 2 * MS);
    }
    Scene::new(l.m.b)
}

/// Depth, name, spans, launched ns.
fn outline(scene: &Scene, rows: &[LagRow]) -> Vec<(u16, String, u64, i64)> {
    let name = |r: &LagRow| scene.trace.name(r.name).to_owned();
    rows.iter()
        .map(|r| (r.depth, name(r), r.count, r.gpu_launched))
        .collect()
}

#[test]
fn lag_goes_by_range_module_and_operator() {
    let scene = scene();
    let rows = scene.analysis.lag_rows(scene.trace.extent(), None);
    let node = "autograd::engine::evaluate_function: AddmmBackward0";
    let row = |depth, name: &str, count, ms| (depth, name.to_owned(), count, ms * MS);
    assert_eq!(
        outline(&scene, &rows),
        [
            row(0, "forward", 1, 4),
            row(1, "nn.Module: Linear_0", 1, 2),
            row(2, "aten::linear", 1, 2),
            row(1, "nn.Module: Linear_1", 1, 2),
            row(2, "aten::linear", 1, 2),
            row(0, "backward", 1, 2),
            row(1, node, 1, 2),
            row(0, "aten::add", 1, 2),
        ]
    );
    for row in &rows {
        let around = row.parent.map(|p| &rows[p]);
        assert_eq!(around.map_or(0, |a| a.depth + 1), row.depth);
        assert!(around.is_none_or(|a| a.is_parent && a.gpu_launched >= row.gpu_launched));
    }
    // A kernel begins 5 ms after its op and takes 2: the op of 0.1 ms is 6.9 ms ahead.
    assert_eq!(rows[2].median_lag, Some(6_900_000));
    assert_eq!(rows[2].kind, CallerKind::Op);
    // Only what starts in the window.
    let second = TimeRange::new(12 * MS, 30 * MS);
    let rows = scene.analysis.lag_rows(second, Some(0));
    assert_eq!(
        outline(&scene, &rows)[0],
        row(0, "nn.Module: Linear_1", 1, 2)
    );
    assert!(scene.analysis.lag_rows(second, Some(7)).is_empty());
}

#[test]
fn each_wait_for_the_gpu_has_its_caller() {
    let scene = scene();
    let all = scene.trace.extent();
    let calls = scene.analysis.sync_calls(all);
    assert_eq!(calls.len(), 2);
    let by = scene.analysis.called_by(calls[0]);
    assert_eq!(by.as_deref(), Some("aten::item in train.py(10): main"));
    let found = scene.analysis.sync_callers(all, None, 10, &NoArgs);
    let [row] = &found.rows[..] else {
        panic!("{:?}", found.rows);
    };
    assert_eq!(
        row.names,
        ["train.py(10): main", "aten::item", "cudaStreamSynchronize"]
    );
    assert_eq!(
        (row.calls, row.time, row.kind),
        (2, 2 * MS, CallerKind::Call)
    );
    assert_eq!(row.short(80), "train.py(10): main › aten::item");
    assert_eq!(row.short(30), "train…y(10): main › aten::item");
    assert_eq!(found.lines().len(), 3);
    let found = scene.analysis.sync_callers(all, None, 1, &NoArgs);
    assert_eq!((found.calls.len(), found.left_out), (1, 1));
    assert!(
        scene
            .analysis
            .sync_callers(all, Some(7), 10, &NoArgs)
            .rows
            .is_empty()
    );
}

/// Calls, time, absorbed, and the bubbles that are known, of rows that nothing lies around.
fn totals<'a>(rows: impl Iterator<Item = &'a SyncCaller>) -> (u64, i64, i64, i64) {
    let add = |sum: (u64, i64, i64, i64), r: &SyncCaller| {
        let bubble = sum.3 + r.bubble.unwrap_or(0);
        (sum.0 + r.calls, sum.1 + r.time, sum.2 + r.absorbed, bubble)
    };
    rows.filter(|r| r.depth == 0).fold((0, 0, 0, 0), add)
}

#[test]
fn callers_of_a_real_trace_have_all_of_its_calls() {
    let name =
        "traces/torch/AMD-AGI-TraceLens__h100_google_owlv2-large-patch14-ensemble__1016001.json.gz";
    let Some(path) = shared(name) else {
        return;
    };
    let loaded = common::open_with(&path, 0).unwrap();
    let scene = Scene::of(std::sync::Arc::new(loaded.trace));
    let (analysis, all) = (&scene.analysis, scene.trace.extent());
    let found = analysis.sync_callers(all, None, usize::MAX, &NoArgs);
    // 82 calls come from three places.
    assert_eq!(found.rows.iter().filter(|r| r.depth == 0).count(), 3);
    let names = analysis.sync_names(found.calls.iter().map(|(_, call)| call));
    let sum = |f: fn(&stallscope::analysis::SyncNameRow) -> i64| names.iter().map(f).sum::<i64>();
    let by_name = (
        82,
        sum(|n| n.time),
        sum(|n| n.absorbed),
        sum(|n| n.bubble.unwrap_or(0)),
    );
    assert_eq!(totals(found.rows.iter()), by_name);
    assert_eq!(
        found.rows[0].names[0],
        "nn.Module: Owlv2ForObjectDetection_0"
    );
    assert_eq!(
        (found.rows[0].calls, found.rows[0].absorbed > 353 * MS),
        (5, true)
    );
    let copies = &found.rows[1];
    let place = "transformers/pipelines/base.py(1173): _ensure_tensor_on_device";
    assert_eq!(copies.names, [place, "aten::to", "cudaStreamSynchronize"]);
    // Without a named range the modules stand alone.
    let rows = analysis.lag_rows(all, None);
    assert_eq!(
        scene.trace.name(rows[0].name),
        "nn.Module: Owlv2ForObjectDetection_0"
    );
    assert_eq!((rows[0].depth, rows[0].count), (0, 5));
    // Each operation has a launch: what rows of one depth launched is at most all.
    let busy: i64 = rows
        .iter()
        .filter(|r| r.depth == 0)
        .map(|r| r.gpu_launched)
        .sum();
    let work = |s: &stallscope::model::SpanId| analysis.layers().of(*s).is_operation();
    let all: i64 = scene
        .trace
        .spans()
        .ids()
        .filter(work)
        .map(|s| scene.trace.spans().dur(s))
        .sum();
    assert!(busy <= all && busy > all * 99 / 100, "{busy} of {all}");
}

#[test]
fn call_stacks_in_args_name_callers_too() {
    let name = "traces/torch/pytorch-kineto__resnet50_num_workers_0_worker0.1623143089861.pt.trace.json.gz";
    let Some(path) = shared(name) else {
        return;
    };
    let text = report_of(path.to_str().unwrap(), &[]);
    assert!(
        text.contains("  resnet50_profiler_api.py(44): <module> › aten::to "),
        "{text}"
    );
    // In a range that was left by backward nothing of it is named: operators stand alone.
    assert!(text.contains("  CudnnConvolutionBackward "), "{text}");
}

#[test]
fn reports_list_callers() {
    let file = repository("sample_traces/torch_0_workers.json.gz");
    let json = report_of(file.to_str().unwrap(), &["--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let lag = json["lag"].as_array().unwrap();
    assert!(
        lag.iter()
            .all(|r| r["depth"].is_u64() && r["name"].is_string())
    );
    assert!(lag.iter().any(|r| r["gpu_launched"].as_i64() > Some(0)));
    let callers = json["sync_callers"].as_array().unwrap();
    let calls = |r: &Value| r["calls"].as_u64().unwrap();
    let top = callers
        .iter()
        .filter(|r| r["depth"] == 0)
        .map(calls)
        .sum::<u64>();
    assert_eq!(top, json["syncs"].as_object().unwrap().len() as u64);
    let brief = report_of(file.to_str().unwrap(), &["--json", "--brief"]);
    let brief: Value = serde_json::from_str(&brief).unwrap();
    assert!(brief["lag"].is_null() && brief["sync_callers"].is_null());
}

/// The file says what the calls of [`scene`] waited for nowhere; this one does.
#[test]
fn a_call_with_a_known_scope_keeps_its_caller() {
    let mut l = Loop::new();
    l.op(l.main, "aten::add", MS);
    l.m.span(l.main, "user_annotation", "logging", 3 * MS, 20 * MS);
    let call = l.m.span(
        l.main,
        "cuda_runtime",
        "cudaStreamSynchronize",
        4 * MS,
        9 * MS,
    );
    let stream = l.m.b.so_far().lane(l.stream).stream.unwrap();
    l.m.b.set_sync_scope(call, SyncScope::Stream(stream));
    let scene = Scene::new(l.m.b);
    let found = scene
        .analysis
        .sync_callers(scene.trace.extent(), None, 10, &NoArgs);
    assert_eq!(found.rows[0].names, ["logging", "cudaStreamSynchronize"]);
    assert_eq!(found.rows[0].absorbed, 2 * MS);
    assert!(found.calls[0].1.known_scope);
}

/// Each row against its spans one by one.
#[test]
fn rows_have_what_their_spans_launched() {
    for sample in [
        "torch_real_rank1.json.gz",
        "torch_0_workers.json.gz",
        "nsight_2_workers.sqlite",
    ] {
        let path = repository("sample_traces").join(sample);
        let trace = common::open_with(&path, 0).unwrap().trace;
        let scene = Scene::of(std::sync::Arc::new(trace));
        let (analysis, spans) = (&scene.analysis, scene.trace.spans());
        let rows = analysis.lag_rows(scene.trace.extent(), None);
        let rule = analysis.options().own;
        let mut ops = 0;
        for name in scene.trace.names().iter().map(|n| n.0) {
            let of_name = |r: &&LagRow| r.name == name && r.kind == CallerKind::Op;
            let mine: Vec<&LagRow> = rows.iter().filter(of_name).collect();
            // Operators that lie in no other and launch on their own thread alone.
            let same = stallscope::analysis::OwnRule {
                threads: stallscope::analysis::Threads::Same,
                ..rule
            };
            let is_op = |s: stallscope::model::SpanId| {
                use stallscope::analysis::LayerId;
                let engine = scene.trace.span_name(s).starts_with("autograd::engine");
                let layer = analysis.layers().of(s);
                engine || matches!(layer, LayerId::OP | LayerId::SYNCOP | LayerId::RECOMPUTE)
            };
            let outer = |s: &stallscope::model::SpanId| {
                spans.name(*s) == name && is_op(*s) && analysis.callers(*s).op.is_none()
            };
            let figures = spans
                .ids()
                .filter(outer)
                .map(|s| analysis.span_figures(s, same));
            let launched: Vec<_> = figures.filter(|f| f.n_ops > 0).collect();
            let sum = |f: fn(&LagRow) -> i64| mine.iter().map(|r| f(r)).sum::<i64>();
            let name = scene.trace.name(name);
            if launched.is_empty() && mine.is_empty() {
                continue;
            }
            ops += mine.len();
            assert_eq!(
                mine.iter().map(|r| r.count).sum::<u64>(),
                launched.len() as u64,
                "{name}"
            );
            let wanted: i64 = launched.iter().map(|f| f.launched_sum).sum();
            assert_eq!(sum(|r| r.gpu_launched), wanted, "{name}");
            let during: i64 = launched.iter().map(|f| f.executed_during).sum();
            assert_eq!(sum(|r| r.gpu_during), during, "{name}");
            let most = launched.iter().filter_map(|f| f.lag).max();
            assert_eq!(mine.iter().filter_map(|r| r.max_lag).max(), most, "{name}");
        }
        assert!(ops > 0 || sample.starts_with("nsight"), "{sample}");
    }
}
