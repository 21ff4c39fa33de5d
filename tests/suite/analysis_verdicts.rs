//! Verdicts and predictions: what they leave out, where their evidence lies, what a step costs in a loop that runs ahead
//! of the GPU, loops that load by themselves, cut files, cancelling.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use stallscope::analysis::{
    Analysis, Basis, Cancelled, Found, GoOn, IssueKind, Missing, NoArgs, Options, Rules, Scope,
};
use stallscope::model::SpanId;
use stallscope::time::TimeRange;

use crate::common;
use crate::common::case;

use case::Case;
use common::{open_with, repository, scratch};

fn sample(name: &str) -> Analysis {
    let path = repository("sample_traces").join(name);
    analyse(&path)
}

fn analyse(path: &std::path::Path) -> Analysis {
    let trace = Arc::new(open_with(path, 1).unwrap().trace);
    Analysis::with_args(
        trace,
        &Rules::builtin(),
        &Options::default(),
        &NoArgs,
        &|_| true,
    )
    .unwrap()
}

fn built(case: &Value) -> Analysis {
    Case::parse(case).analyse().analysis
}

fn close(got: f64, want: f64, percent: f64, what: &str) {
    let off = (got / want - 1.0) * 100.0;
    assert!(
        off.abs() <= percent,
        "{what}: {got} instead of {want} ({off:+.2} %)"
    );
}

/// Loop on lane C of process 1, one GPU with one stream.
fn lanes() -> Value {
    json!([
        {"id": "C", "kind": "cpu", "pid": 1},
        {"id": "G", "kind": "gpu", "device": 0, "stream": 7}
    ])
}

/// A loop that blocks on the GPU in every second step: GPU work of 100 per step, without a gap but for 10 per two steps
/// in which the loop waits and the GPU is idle.
fn ahead() -> Value {
    let (mut spans, mut links) = (Vec::new(), Vec::new());
    let mut span = |id: String, lane: &str, layer: &str, a: i64, b: i64| {
        spans.push(json!([id, lane, layer, layer, a, b]));
    };
    for k in 0..6 {
        let t = 210 * k;
        let id = |what: &str| format!("{what}{k}");
        span(id("fa"), "C", "fetch", t, t + 10);
        span(id("la"), "C", "launch", t + 10, t + 11);
        span(id("fb"), "C", "fetch", t + 20, t + 30);
        span(id("lb"), "C", "launch", t + 30, t + 31);
        span(id("sy"), "C", "sync", t + 31, t + 210);
        span(id("ka"), "G", "gpu.compute", t + 10, t + 110);
        span(id("kb"), "G", "gpu.compute", t + 110, t + 210);
        links.push(json!(["launch", id("la"), id("ka")]));
        links.push(json!(["launch", id("lb"), id("kb")]));
    }
    // Three workers' worth of loading, so that there is something to predict from.
    let mut lanes = lanes();
    lanes.as_array_mut().unwrap().push(json!(
        {"id": "W", "kind": "cpu", "pid": 2, "role": "worker"}
    ));
    for k in 0..12 {
        spans.push(json!([
            format!("w{k}"),
            "W",
            "load",
            "item",
            100 * k,
            100 * k + 90
        ]));
    }
    json!({"lanes": lanes, "spans": spans, "links": links})
}

#[test]
fn a_step_costs_its_gpu_work_where_the_loop_runs_ahead() {
    let analysis = built(&ahead());
    let window = analysis.trace().extent();
    let rates = analysis.rates(0, window).unwrap();
    assert_eq!(rates.pace.basis, Basis::Drained);
    assert_eq!(rates.pace.steps, 11);
    // Neither the step of 20 nor that of 190.
    assert!((rates.costs.compute - 100.0).abs() < 1e-9, "{rates:?}");
    assert!((rates.pace.wait - 50.0 / 11.0).abs() < 1e-9, "{rates:?}");
    // What was measured, predicted, differs by the modelled wait alone.
    let now = rates.what_if(rates.workers, None, 0.0);
    let job = rates.job.time as f64 + 12.0 * (now.wait - rates.pace.wait);
    assert!((now.job - job).abs() < 1e-6, "{now:?} {job}");
}

#[test]
fn a_loop_that_blocks_each_step_keeps_the_median() {
    let (mut spans, mut links) = (Vec::new(), Vec::new());
    for k in 0..6_i64 {
        // One step takes longer for another reason.
        let (t, more) = (
            100 * k + if k > 2 { 400 } else { 0 },
            if k == 2 { 400 } else { 0 },
        );
        let mut span = |what: &str, lane: &str, layer: &str, name: &str, a: i64, b: i64| {
            spans.push(json!([
                format!("{what}{k}"),
                lane,
                layer,
                name,
                t + a,
                t + b
            ]));
        };
        span("f", "C", "fetch", "_SingleProcessDataLoaderIter", 0, 40);
        span("l", "C", "launch", "l", 40, 41);
        span("s", "C", "sync", "s", 41, 100 + more);
        span("k", "G", "gpu.compute", "k", 41, 95 + more);
        links.push(json!(["launch", format!("l{k}"), format!("k{k}")]));
    }
    let analysis = built(&json!({"lanes": lanes(), "spans": spans, "links": links}));
    let rates = analysis.rates(0, analysis.trace().extent()).unwrap();
    assert_eq!(rates.pace.basis, Basis::Median);
    // 100 - 40 of wait, exposed throughout.
    assert!((rates.costs.compute - 60.0).abs() < 1e-9, "{rates:?}");
    assert!(rates.load_from_waits && rates.workers == 0, "{rates:?}");
    assert!((rates.what_if(0, None, 0.0).step - 100.0).abs() < 1e-9);
}

#[test]
fn the_run_with_two_workers_predicts_the_one_without() {
    let two = sample("nsight_2_workers.sqlite");
    let rates = two.rates(0, two.trace().extent()).unwrap();
    let busy: i64 = two.step_rows(0, two.trace().extent()).0[1..]
        .iter()
        .filter_map(|s| s.launched)
        .sum();
    close(
        rates.costs.compute,
        busy as f64 / 11.0,
        1.0,
        "C and the GPU work of a step",
    );
    close(
        rates.what_if(2, None, 0.0).step,
        rates.pace.step,
        8.0,
        "as measured",
    );
    assert_eq!(rates.needed_workers, Some(4));
    let none = sample("torch_0_workers.json.gz");
    let alone = none.rates(0, none.trace().extent()).unwrap();
    assert!(alone.load_from_waits);
    close(
        alone.what_if(0, None, 0.0).step,
        alone.pace.step,
        0.1,
        "as measured",
    );
    close(
        rates.what_if(0, None, 0.0).step,
        alone.pace.step,
        // Collate is not recorded: the loop is taken to do what workers do between two batches.
        3.0,
        "the same loop without workers",
    );
    // Steps on the CPU's clock that come in pairs: the measured job is that of the measured workers.
    let run = sample("dftracer_2_workers");
    let rates = run.rates(0, run.trace().extent()).unwrap();
    close(
        rates.what_if(2, None, 0.0).job,
        rates.job.time as f64,
        2.5,
        "the job",
    );
}

#[test]
fn a_loop_that_loads_by_itself_is_told_so() {
    let alone = sample("torch_0_workers.json.gz");
    let extent = alone.trace().extent();
    assert!(alone.loads_by_itself(0));
    let verdict = alone.verdict(0, extent);
    assert_eq!(verdict.missing, [Missing::NoWorkers]);
    assert!(
        alone
            .missing_text(0, Missing::NoWorkers)
            .contains("num_workers=0")
    );
    assert!(verdict.issues[0].text.next.starts_with("Raise num_workers"));
    let workers = sample("torch_4_workers.json.gz");
    assert!(!workers.loads_by_itself(0));
    assert!(
        workers
            .missing_text(0, Missing::NoWorkers)
            .contains("not in this trace")
    );
}

/// Waits of a loop that loads by itself: 2 steps of 100, wait 60, in it decode 50 around resize 20, and collate 2.
fn loads_itself() -> Value {
    let next = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
    let (mut spans, mut links) = (Vec::new(), Vec::new());
    for k in 0..3_i64 {
        let t = 100 * k;
        let mut span = |what: &str, lane: &str, layer: &str, name: &str, a: i64, b: i64| {
            spans.push(json!([
                format!("{what}{k}"),
                lane,
                layer,
                name,
                t + a,
                t + b
            ]));
        };
        span("f", "C", "fetch", next, 0, 60);
        span("d", "C", "op", "decode", 1, 51);
        span("r", "C", "op", "resize", 10, 30);
        span("c", "C", "op", "collate", 52, 54);
        span("l", "C", "launch", "launch", 61, 62);
        span("x", "C", "op", "outside", 63, 90);
        span("k", "G", "gpu.compute", "kernel", 62, 99);
        links.push(json!(["launch", format!("l{k}"), format!("k{k}")]));
    }
    json!({"lanes": lanes(), "spans": spans, "links": links})
}

#[test]
fn what_ran_inside_the_waits_is_named_by_its_own_time() {
    let analysis = built(&loads_itself());
    let verdict = analysis.verdict(0, analysis.trace().extent());
    assert_eq!(verdict.kind(), IssueKind::InputBound);
    let why = &verdict.issues[0].text.why;
    // Two steady steps; collate is less than a twentieth.
    assert!(
        why.contains("(self time): decode 60 ns, resize 40 ns"),
        "{why}"
    );
    assert!(
        !why.contains("collate") && !why.contains("outside"),
        "{why}"
    );
}

#[test]
fn steps_that_were_not_judged_are_named_with_their_waits() {
    let analysis = sample("nsight_2_workers.sqlite");
    let verdict = analysis.verdict(0, analysis.trace().extent());
    let [left] = &verdict.left_out[..] else {
        panic!("{:?}", verdict.left_out);
    };
    assert_eq!((left.label.as_str(), left.wait), ("step 0", 355_057_967));
    assert_eq!(left.place.unwrap().value, 355_057_967);
    assert_eq!(
        verdict.coverage,
        "Based on 11 of 12 steps; step 0 is left out: it includes the loader's start (355 ms, the longest wait of all)."
    );
    let values: Vec<i64> = verdict.issues[0].evidence.iter().map(|e| e.value).collect();
    let exposed: Vec<i64> = {
        let mut all: Vec<i64> = analysis.waits().iter().filter_map(|w| w.exposed).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        all[..3].to_vec()
    };
    assert_eq!(values, exposed);
}

#[test]
fn evidence_lies_inside_the_trace_and_counts_judged_time_only() {
    // The recorder's window begins 1,000 before the first span: the GPU was idle there, but no step was.
    let case = json!({
        "capture": [-1000, 200],
        "lanes": lanes(),
        "spans": [
            ["s0", "C", "step", "step 0", 0, 100], ["s1", "C", "step", "step 1", 100, 200],
            ["l0", "C", "launch", "l", 30, 31], ["l1", "C", "launch", "l", 140, 141],
            ["k0", "G", "gpu.compute", "k", 40, 100], ["k1", "G", "gpu.compute", "k", 150, 200]
        ],
        "links": [["launch", "l0", "k0"], ["launch", "l1", "k1"]]
    });
    let analysis = built(&case);
    assert_eq!(analysis.gpus()[0].record.start, -1000);
    let verdict = analysis.verdict(0, analysis.trace().extent());
    let issue = &verdict.issues[0];
    // Two gaps are no habit of launching slowly.
    assert_eq!((issue.kind, issue.value), (IssueKind::HostStall, 90));
    let got: Vec<(i64, i64, i64)> = issue
        .evidence
        .iter()
        .map(|e| (e.range.start, e.range.end, e.value))
        .collect();
    assert_eq!(got, [(100, 150, 50), (0, 40, 40)]);
}

#[test]
fn real_evidence_lies_inside_the_trace() {
    let analysis = sample("torch_real_rank1.json.gz");
    let extent = analysis.trace().extent();
    let verdict = analysis.verdict(0, extent);
    let all: Vec<_> = verdict.issues.iter().flat_map(|i| &i.evidence).collect();
    assert!(!all.is_empty());
    assert!(
        all.iter().all(|e| extent.covers(e.range) && e.value > 0),
        "{all:?}"
    );
}

#[test]
fn ranks_that_share_a_gpu_have_their_own_exposed_waits() {
    let case = json!({
        "lanes": [
            {"id": "A", "kind": "cpu", "pid": 1, "rank": 0}, {"id": "B", "kind": "cpu", "pid": 2, "rank": 1},
            {"id": "G", "kind": "gpu", "device": 0, "stream": 7}
        ],
        "spans": [
            ["la", "A", "launch", "l", 0, 1], ["fa", "A", "fetch", "f", 10, 20],
            ["lb", "B", "launch", "l", 0, 1], ["fb", "B", "fetch", "f", 15, 35],
            ["ka", "G", "gpu.compute", "k", 0, 10], ["kb", "G", "gpu.compute", "k", 40, 50]
        ],
        "links": [["launch", "la", "ka"], ["launch", "lb", "kb"]]
    });
    let analysis = built(&case);
    let headline = |scope: Scope| {
        let gpus = analysis.selection(TimeRange::new(0, 50), scope).gpus;
        assert_eq!(gpus.len(), 1);
        (gpus[0].exposed_wait, gpus[0].busy, gpus[0].idle_other)
    };
    assert_eq!(headline(Scope::Rank(0)), (10, 20, 20));
    assert_eq!(headline(Scope::Rank(1)), (20, 20, 10));
    assert_eq!(headline(Scope::All), (25, 20, 5));
}

#[test]
fn a_call_leaves_its_bubble_on_the_gpu_that_it_waits_for() {
    let case = |device: i64| {
        json!({
            "lanes": [
                {"id": "C", "kind": "cpu", "pid": 1},
                {"id": "G0", "kind": "gpu", "device": 0, "stream": 7},
                {"id": "G1", "kind": "gpu", "device": 1, "stream": 7}
            ],
            "spans": [
                ["s0", "C", "step", "step 0", 0, 20], ["s1", "C", "step", "step 1", 20, 60],
                ["s2", "C", "step", "step 2", 60, 100],
                ["l", "C", "launch", "l", 1, 2], ["m", "C", "launch", "l", 3, 4],
                ["n", "C", "launch", "l", 49, 50], ["o", "C", "launch", "l", 89, 90], ["p", "C", "launch", "l", 69, 70],
                ["y", "C", "sync", "s", 24, 30, {"scope": "device", "device": device}],
                ["a", "G0", "gpu.compute", "k", 0, 10], ["b", "G0", "gpu.compute", "k", 22, 25],
                ["c", "G0", "gpu.compute", "k", 50, 60], ["d", "G0", "gpu.compute", "k", 90, 100],
                ["e", "G1", "gpu.compute", "k", 22, 30], ["f", "G1", "gpu.compute", "k", 70, 75]
            ],
            "links": [["launch", "l", "a"], ["launch", "l", "b"], ["launch", "n", "c"], ["launch", "o", "d"],
                ["launch", "m", "e"], ["launch", "p", "f"]]
        })
    };
    for (device, own) in [(0, 25), (1, 40)] {
        let analysis = built(&case(device));
        let extent = analysis.trace().extent();
        let call = analysis.sync_calls(extent)[0];
        assert_eq!(analysis.sync(call).bubble, Some(own), "GPU {device}");
    }
}

#[test]
fn a_steps_number_comes_from_the_rule_that_its_args_chose() {
    let text = r#"format = 1
[[rule]]
id = "second"
source = ["torch"]
name = 'it_(\d+)_(\d+)'
args = { kind = "x" }
layer = "step"
set = { step = "$2" }
[[rule]]
id = "first"
source = ["torch"]
name = 'it_(\d+)_(\d+)'
layer = "step"
set = { step = "$1" }
"#;
    let (rules, problems) = Rules::parse(text, "test");
    assert!(problems.is_empty(), "{problems:?}");
    let case = Case::parse(&json!({
        "lanes": lanes(),
        "spans": [["a", "C", null, "it_1_7", 0, 10], ["b", "C", null, "it_2_9", 10, 20]]
    }));
    let args = |spans: &[SpanId], _go_on: &GoOn<'_>, found: &mut Found<'_>| {
        for &span in spans {
            found(span, &|key| {
                (span.0 == 0 && key == "kind").then(|| "x".to_owned())
            });
        }
    };
    let trace = Arc::new(case.trace());
    let analysis =
        Analysis::with_args(trace, &rules, &Options::default(), &args, &|_| true).unwrap();
    let numbers: Vec<_> = analysis.ranks()[0].steps.iter().map(|s| s.number).collect();
    assert_eq!(numbers, [Some(7), Some(2)]);
}

#[test]
fn a_cut_file_is_not_called_a_record_without_a_gpu() {
    let event = |name: &str, ts: i64, dur: i64| {
        format!(
            "{{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"{name}\",\"pid\":1,\"tid\":1,\"ts\":{ts},\"dur\":{dur}}}"
        )
    };
    let mut events = Vec::new();
    for k in 0..4 {
        events.push(event(&format!("ProfilerStep#{k}"), 100 * k, 100));
        events.push(event(
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            100 * k,
            60,
        ));
    }
    let whole = format!(
        "{{\"schemaVersion\":1,\"traceEvents\":[{}]}}",
        events.join(",")
    );
    let dir = scratch("cut-file");
    for (text, cut) in [(&whole[..], false), (&whole[..whole.len() - 2], true)] {
        let path = dir.join(format!("cut-{cut}.json"));
        std::fs::write(&path, text).unwrap();
        let analysis = analyse(&path);
        let verdict = analysis.verdict(0, analysis.trace().extent());
        assert_eq!(verdict.kind(), IssueKind::InputWait);
        assert!(verdict.missing.contains(&Missing::NoGpu));
        let said = analysis.missing_text(0, Missing::NoGpu);
        let issue = &verdict.issues[0].text;
        for text in [&said, &issue.why] {
            assert_eq!(text.contains("ends early"), cut, "{text}");
        }
        assert_eq!(said.contains("CUPTI"), !cut, "{said}");
        assert_eq!(
            issue.next.contains("Record the GPU"),
            !cut,
            "{}",
            issue.next
        );
    }
}

#[test]
fn spans_and_windows_of_a_report_are_those_of_its_window() {
    let mut case = ahead();
    case["window"] = json!([420, 840]);
    case["grid"] = json!(100);
    let report = Case::parse(&case).report();
    let keys: Vec<&String> = report["syncs"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["sy2", "sy3"]);
    let annotations = report["annotations"].as_object().unwrap();
    let mut keys: Vec<&str> = annotations.keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["fa2", "fa3", "fb2", "fb3"]);
    let rows = report["windows"].as_array().unwrap();
    let numbers: Vec<i64> = rows.iter().map(|w| w["window"].as_i64().unwrap()).collect();
    assert_eq!(numbers, [4, 5, 6, 7, 8]);
    let load: i64 = rows
        .iter()
        .map(|w| w["load"]["sum"].as_i64().unwrap())
        .sum();
    assert_eq!(
        (load, report["window_totals"]["load"]["sum"].as_i64()),
        (450, Some(450))
    );
    assert_eq!(report["window_totals"]["load"]["dfa_proc_max"], 450);
}

#[test]
fn too_many_windows_are_counted_as_they_would_be() {
    let analysis = built(&json!({"lanes": lanes(), "spans": [["a", "C", "op", "a", 0, 500_001]]}));
    assert_eq!(analysis.window_count(2, 0).unwrap(), 250_001);
    let error = analysis.window_count(1, 0).unwrap_err().to_string();
    assert!(
        error.starts_with("500001 windows are more than 500000"),
        "{error}"
    );
    let report = Case::parse(&json!({
        "lanes": lanes(), "grid": 1, "spans": [["a", "C", "op", "a", 0, 500_001]]
    }))
    .report();
    assert_eq!(report["windows_error"], error);
}

/// Wherever somebody cancels, the analysis ends without a result; and there are many such places within one lane.
#[test]
fn a_cancel_is_seen_within_lanes() {
    let mut spans = Vec::new();
    for k in 0..40_000_i64 {
        spans.push(json!([k, "C", "launch", "l", 3 * k, 3 * k + 1]));
        spans.push(json!([
            k + 1_000_000,
            "G",
            "gpu.compute",
            "k",
            3 * k + 1,
            3 * k + 3
        ]));
    }
    let case = Case::parse(&json!({"lanes": lanes(), "spans": spans}));
    let trace = Arc::new(case.trace());
    let (rules, options) = (Rules::builtin(), Options::default());
    let calls = AtomicU32::new(0);
    let cancelled_at = |at: u32| {
        calls.store(0, Ordering::Relaxed);
        let go_on = |_: u32| calls.fetch_add(1, Ordering::Relaxed) + 1 < at;
        Analysis::new(Arc::clone(&trace), &rules, &options, &go_on).err()
    };
    assert!(cancelled_at(u32::MAX).is_none());
    let all = calls.load(Ordering::Relaxed);
    assert!(all > 24, "only {all} looks");
    for at in 1..=all {
        assert_eq!(cancelled_at(at), Some(Cancelled), "at look {at} of {all}");
    }
}
