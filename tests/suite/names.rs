//! Which names take the time: every figure of every name against a plain recount, on made lanes and real traces; the
//! table as text, JSON and CSV.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;
use stallscope::analysis::{Analysis, LayerId, NameTime, Options, Rules, Scope, percentile};
use stallscope::model::{LaneId, LaneKind, NameId, Role, SpanId};
use stallscope::time::TimeRange;

use crate::common;
use common::timeline::{MS, Maker, Scene};
use common::{repository, shared};

/// Length of the union of ranges, the slow way.
fn covered(mut ranges: Vec<TimeRange>) -> i64 {
    ranges.sort_unstable();
    let (mut sum, mut reach) = (0, i64::MIN);
    for r in ranges {
        sum += (r.end - r.start.max(reach)).max(0);
        reach = reach.max(r.end);
    }
    sum
}

/// The direct children of each span of a lane: a span's parent is the last earlier one that ends no earlier, of those
/// that have not ended when it starts.
fn children(analysis: &Analysis, lane: LaneId) -> BTreeMap<SpanId, Vec<TimeRange>> {
    let trace = analysis.trace();
    let mut open: Vec<(SpanId, TimeRange)> = Vec::new();
    let mut children: BTreeMap<SpanId, Vec<TimeRange>> = BTreeMap::new();
    for span in trace.lane_spans(lane) {
        let range = trace.spans().range(span);
        open.retain(|o| o.1.end > range.start);
        if let Some(parent) = open.iter().rev().find(|o| o.1.end >= range.end) {
            children.entry(parent.0).or_default().push(range);
        }
        open.push((span, range));
    }
    children
}

type Children = BTreeMap<LaneId, BTreeMap<SpanId, Vec<TimeRange>>>;

fn all_children(analysis: &Analysis) -> Children {
    let lanes = analysis.trace().lane_ids();
    lanes.map(|l| (l, children(analysis, l))).collect()
}

fn touches(range: TimeRange, window: TimeRange) -> bool {
    range.start < window.end && (range.start >= window.start || range.end > window.start)
}

/// The same rows by definition, span by span. Only for traces of one rank in which no two recorders have one thread.
fn recount(analysis: &Analysis, below: &Children, window: TimeRange) -> Vec<NameTime> {
    let trace = analysis.trace();
    let gpu = analysis.ranks().first().and_then(|r| r.gpu);
    let idle = gpu.map(|g| &analysis.gpus()[g].idle);
    let mut found: BTreeMap<(LayerId, NameId), (NameTime, Vec<i64>)> = BTreeMap::new();
    for (lane, children) in below {
        for span in trace.lane_spans(*lane) {
            let (range, layer) = (trace.spans().range(span), analysis.layers().of(span));
            if !touches(range, window) || layer == LayerId::RECORDER {
                continue;
            }
            let name = analysis.shared_name(trace.spans().name(span));
            let inside = range.clip(window);
            let clip = |r: &TimeRange| r.clip(window);
            let own = children
                .get(&span)
                .map_or(0, |c| covered(c.iter().map(clip).collect()));
            let (row, lengths) = found.entry((layer, name)).or_insert_with(|| {
                let row = NameTime {
                    name,
                    layer,
                    total: 0,
                    own: 0,
                    count: 0,
                    whole: 0,
                    p95: 0,
                    max: -1,
                    gpu_idle: idle.filter(|_| !layer.is_operation()).map(|_| 0),
                    longest: span,
                    layer_own: 0,
                };
                (row, Vec::new())
            });
            row.total += inside.len();
            row.own += inside.len() - own;
            row.count += 1;
            row.whole += range.len();
            if range.len() > row.max {
                (row.max, row.longest) = (range.len(), span);
            }
            if let (Some(sum), Some(idle)) = (&mut row.gpu_idle, idle) {
                *sum += idle.measure_in(inside);
            }
            lengths.push(range.len());
        }
    }
    let mut of_layer: BTreeMap<LayerId, i64> = BTreeMap::new();
    for ((layer, _), (row, _)) in &found {
        *of_layer.entry(*layer).or_default() += row.own;
    }
    let mut rows: Vec<NameTime> = found
        .into_values()
        .map(|(mut row, mut lengths)| {
            row.p95 = percentile(&mut lengths, 95).unwrap();
            row.layer_own = of_layer[&row.layer];
            row
        })
        .collect();
    rows.sort_by_key(|r| (std::cmp::Reverse(r.own), r.layer, r.name));
    rows
}

fn assert_same(analysis: &Analysis, below: &Children, window: TimeRange, of: &str) {
    let (wanted, got) = (
        recount(analysis, below, window),
        analysis.names(window, Scope::All),
    );
    for (wanted, got) in wanted.iter().zip(&got) {
        let name = analysis.trace().name(wanted.name);
        assert_eq!(wanted, got, "{of}: {name} in {window}");
    }
    assert_eq!(wanted.len(), got.len(), "{of} in {window}");
}

/// Windows of all sizes whose borders lie in spans, between them, and at their ends.
fn windows(analysis: &Analysis) -> Vec<TimeRange> {
    let trace = analysis.trace();
    let (all, spans) = (trace.extent(), trace.spans());
    let mut windows = vec![all, TimeRange::new(all.start, all.start)];
    let part = |i: i64| all.start + (i128::from(all.len()) * i128::from(i) / 97) as i64;
    for (a, b) in [(0, 50), (13, 14), (31, 96), (60, 61), (5, 90)] {
        windows.push(TimeRange::new(part(a), part(b)));
    }
    let n = u32::try_from(spans.len()).unwrap();
    for i in 1..5 {
        let (a, b) = (
            spans.range(SpanId(n / 7 * i)),
            spans.range(SpanId(n / 6 * i)),
        );
        windows.push(TimeRange::new(a.start.min(b.start), a.end.max(b.end)));
        windows.push(TimeRange::new(a.end.min(b.end), a.end.max(b.end)));
    }
    windows
}

fn analysis_of(path: &std::path::Path) -> Analysis {
    let loaded = common::open_with(path, 0).unwrap();
    let options = Options::default();
    Analysis::new(Arc::new(loaded.trace), &Rules::builtin(), &options, &|_| {
        true
    })
    .unwrap()
}

/// Real traces of one rank and one recorder: old and new PyTorch, with Python frames, MI300 and H100; DFTracer; Nsight.
const REAL: [&str; 7] = [
    "traces/torch/AMD-AGI-TraceLens__capture_traces_bs_32_rank0.json.gz",
    "traces/torch/AMD-AGI-TraceLens__h100_facebook_timesformer-base-finetuned-k400__1016002.json.gz",
    "traces/torch/AMD-AGI-TraceLens__mi300_resnet_act_checkpoint.json.gz",
    "traces/torch/facebookresearch-HolisticTraceAnalysis__ns_resolution_trace_rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "traces/torch/pytorch-kineto__resnet50_num_workers_0_worker0.1623143089861.pt.trace.json.gz",
    "traces/dftracer/LLNL-dftracer__dfanalyzer_test-trace.pfw.gz",
    "traces/nsight/2025.5.1_balinski-gomory_report11.sqlite",
];

#[test]
fn names_of_real_traces_are_those_of_a_recount() {
    for file in REAL {
        let Some(path) = shared(file) else {
            return;
        };
        let analysis = analysis_of(&path);
        assert!(analysis.ranks().len() < 2, "{file}");
        let below = all_children(&analysis);
        for window in windows(&analysis) {
            assert_same(&analysis, &below, window, file);
        }
    }
}

#[test]
fn names_of_the_samples_are_those_of_a_recount() {
    for sample in [
        "torch_0_workers.json.gz",
        "torch_real_rank1.json.gz",
        "dftracer_2_workers",
    ] {
        let analysis = analysis_of(&repository("sample_traces").join(sample));
        let below = all_children(&analysis);
        for window in windows(&analysis) {
            assert_same(&analysis, &below, window, sample);
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
    /// Spans that nest, cross, coincide and have no length, on lanes of several blocks.
    #[test]
    fn names_of_any_lane_are_those_of_a_recount(
        seed in proptest::prelude::any::<u64>(),
        n in 1_usize..5_000,
        length in 1_i64..400,
        ends in proptest::collection::vec((0_i64..6_000, 0_i64..6_000), 1..6),
    ) {
        let mut state = seed | 1;
        let mut random = |below: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as i64 % below.max(1)
        };
        let mut m = Maker::new();
        let process = m.process(1, Role::Main, 0);
        let lane = m.thread(process, 1, "main", Role::Main);
        let stream = m.gpu(0, 0, &[7])[0];
        for i in 0..n as i64 {
            let start = random(5_000);
            let call = ["", ", op_id = 5", ", seq = 2, op_id = 7"][random(3) as usize];
            let name = format!("aten::op_{}{call}", random(9));
            let long = if random(50) == 0 { 3_000 } else { length };
            m.span(lane, "cpu_op", &name, start, start + random(long));
            if i % 5 == 0 {
                let start = random(5_000);
                m.span(stream, "kernel", "kernel", start, start + random(40));
            }
        }
        let scene = Scene::new(m.b);
        let below = all_children(&scene.analysis);
        let t0 = scene.trace.extent().start;
        for (a, b) in ends {
            let window = TimeRange::new(t0 + a.min(b), t0 + a.max(b));
            assert_same(&scene.analysis, &below, window, "made");
        }
    }
}

/// A step that holds an op that launches; a kernel half under it; two recorders are not in it.
fn by_hand() -> Scene {
    let mut m = Maker::new();
    let process = m.process(1, Role::Main, 0);
    let lane = m.thread(process, 1, "main", Role::Main);
    let stream = m.gpu(0, 0, &[7])[0];
    for i in 0..2 {
        let t = i * 100 * MS;
        m.span(lane, "cpu_op", "outer", t, t + 50 * MS);
        m.span(lane, "cpu_op", "inner", t + 10 * MS, t + 30 * MS);
        m.span(
            lane,
            "cuda_runtime",
            "cudaLaunchKernel",
            t + 12 * MS,
            t + 13 * MS,
        );
        m.span(stream, "kernel", "gemm", t + 20 * MS, t + 60 * MS);
    }
    Scene::new(m.b)
}

#[test]
fn a_window_clips_totals_and_keeps_whole_lengths() {
    let scene = by_hand();
    let row = |rows: &[NameTime], name: &str| {
        let found = rows.iter().find(|r| scene.trace.name(r.name) == name);
        *found.unwrap_or_else(|| panic!("no {name}"))
    };
    let all = scene.analysis.names(scene.trace.extent(), Scope::All);
    let outer = row(&all, "outer");
    assert_eq!(
        (outer.total, outer.own, outer.count),
        (100 * MS, 60 * MS, 2)
    );
    let inner = row(&all, "inner");
    assert_eq!((inner.total, inner.own), (40 * MS, 38 * MS));
    let gemm = row(&all, "gemm");
    assert_eq!(
        (gemm.total, gemm.own, gemm.gpu_idle),
        (80 * MS, 80 * MS, None)
    );
    // From the middle of the first inner one to the middle of the second outer one.
    let window = TimeRange::new(20 * MS, 105 * MS);
    let cut = scene.analysis.names(window, Scope::All);
    let outer = row(&cut, "outer");
    assert_eq!((outer.total, outer.own), (35 * MS, 25 * MS));
    assert_eq!(
        (outer.count, outer.mean(), outer.max),
        (2, Some(50 * MS), 50 * MS)
    );
    // The GPU is idle from 60 to 120 ms: 5 ms of the second one are inside.
    assert_eq!(outer.gpu_idle, Some(5 * MS));
    let inner = row(&cut, "inner");
    assert_eq!((inner.total, inner.own, inner.count), (10 * MS, 10 * MS, 1));
    assert_eq!(scene.trace.spans().start(inner.longest), 10 * MS);
    assert!(
        cut.iter()
            .all(|r| scene.trace.name(r.name) != "cudaLaunchKernel")
    );
    // Shares of a layer add up.
    let ops: i64 = cut
        .iter()
        .filter(|r| r.layer == outer.layer)
        .map(|r| r.own)
        .sum();
    assert_eq!(ops, outer.layer_own);
}

#[test]
fn gpu_work_has_no_idle_time_of_its_gpu() {
    let analysis = analysis_of(&repository("sample_traces/torch_real_rank1.json.gz"));
    let trace = analysis.trace();
    let rows = analysis.names(trace.extent(), Scope::All);
    let lane = |r: &NameTime| trace.lane(trace.spans().lane(r.longest)).kind;
    assert!(rows.iter().any(|r| lane(r) == LaneKind::Gpu));
    for row in rows {
        let is_work = row.layer.is_operation();
        assert_eq!(row.gpu_idle.is_none(), is_work, "{}", trace.name(row.name));
    }
    // Without a GPU nobody knows.
    let analysis = analysis_of(&repository("sample_traces/dftracer_2_workers"));
    let rows = analysis.names(analysis.trace().extent(), Scope::All);
    assert!(!rows.is_empty() && rows.iter().all(|r| r.gpu_idle.is_none()));
}

fn report(args: &[&str]) -> (i32, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_stallscope"))
        .arg("report")
        .arg(repository("sample_traces/torch_real_rank1.json.gz"))
        .args(args)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        out.status.code().unwrap(),
        text(out.stdout),
        text(out.stderr),
    )
}

#[test]
fn the_table_comes_as_text_json_and_csv() {
    let (code, text, _) = report(&["--by", "name", "--layer", "gpu", "--top", "3"]);
    assert_eq!(code, 0);
    assert!(text.contains("GPU compute (gpu.compute): "), "{text}");
    assert!(
        text.contains("--top N lists more") && !text.contains("CPU op"),
        "{text}"
    );
    assert!(!text.contains("GPU idle ms"), "work is never idle: {text}");

    let (_, json, _) = report(&["--by", "name", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let names = json["names"].as_array().unwrap();
    assert_eq!(json["left_out"], 0);
    let (_, csv, _) = report(&["--by", "name", "--csv"]);
    assert_eq!(csv.lines().count(), names.len() + 1);
    let head =
        "layer,name,self_ns,share,total_ns,count,mean_ns,p95_ns,max_ns,gpu_idle_ns,longest_ns";
    assert!(csv.starts_with(head), "{csv}");
    let analysis = analysis_of(&repository("sample_traces/torch_real_rank1.json.gz"));
    let rows = analysis.names(analysis.trace().extent(), Scope::All);
    assert_eq!(rows.len(), names.len());
    for name in names {
        let row = rows.iter().find(|r| {
            analysis.trace().name(r.name) == name["name"]
                && analysis.layers().info(r.layer).name == name["layer"].as_str().unwrap()
        });
        let row = row.unwrap();
        assert_eq!(
            (name["self"].as_i64(), name["total"].as_i64()),
            (Some(row.own), Some(row.total))
        );
        assert_eq!(name["longest_span"], row.longest.0);
    }
    let (code, _, err) = report(&["--by", "name", "--layer", "nothing"]);
    assert_eq!(code, 2);
    assert!(
        err.contains("There is no layer `nothing`; here are: "),
        "{err}"
    );
    assert_eq!(report(&["--top", "3"]).0, 2, "of nothing");
}
