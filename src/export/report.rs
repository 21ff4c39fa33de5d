//! The JSON report: every figure of an analysis under a stable path. Times are integer nanoseconds of trace time,
//! shares are rounded to six decimals, a missing figure is `null`.

use rustc_hash::FxHashSet;
use serde_json::{Map, Value, json};

use super::rows::{self, by_phase, object};
use crate::analysis::compare::Recording;
use crate::analysis::{
    Analysis, ColumnSummary, GapCause, GpuHow, LayerId, OwnRule, RankMeans, RateSet, Rates,
    StepRow, StepSource, Verdict, round6,
};
use crate::columns::{
    Column, LANE, Output, QUEUE, RANK, SPAN, STEP, STREAM_PAIR, SYNC, WHAT_IF, WORKER, column,
    shown,
};
use crate::model::LaneKind;
use crate::time::TimeRange;

/// Version of the report's paths.
pub const SCHEMA: u32 = 2;

/// Numbers of workers that the what-if table shows.
const WORKERS: [u32; 8] = [0, 1, 2, 3, 4, 6, 8, 16];

/// Figures of a step, in their order; others follow.
const STEP_ORDER: &str = "step first start time wait wait_exposed wait_hidden wait_unrecorded fetch in_sync gpu_busy \
    gpu_idle launched n_ops first_kernel gpu_lag";

/// Figures of a synchronising call, in their order; others follow.
const SYNC_ORDER: &str = "dur waited_ops absorbed absorbed_by_phase in_phase tail incomplete";

/// What a report holds.
#[derive(Clone, Debug, Default)]
pub struct ReportOptions {
    /// The window; `None` = the whole trace.
    pub window: Option<TimeRange>,
    /// Width of fixed windows, ns; `None` = no table of windows. Too many of them
    /// ([`Analysis::window_count`]) make the table an entry `windows_error`.
    pub grid: Option<i64>,
    /// Start of the first fixed window, ns; `None` = start of the trace.
    pub origin: Option<i64>,
    /// Headings and layers of that table; empty = fetch, load, compute, read, h2d.
    pub groups: Vec<(String, Vec<LayerId>)>,
    /// Leaves out lists by span and gap.
    pub light: bool,
    /// What happened while the files were read, as the caller prints it.
    pub notices: Vec<Value>,
    /// Which launches are a CPU span's own.
    pub own: OwnRule,
    /// What the files say of how they were recorded, for comparisons with later recordings.
    pub recorder: Vec<String>,
    /// Not all of the input was read.
    pub incomplete: bool,
    /// In `ranks` and `compare` the only rank, by its number; `None` = all.
    pub only: Option<u32>,
}

mod cause;
mod identity;
pub(in crate::export) mod job;
mod listed;
mod loops;
mod verdict;
mod windows;

pub use listed::Listed;
use listed::Lists;
pub use windows::fixed_window;

type Object = Map<String, Value>;

/// The cause of a wait of a rank, as the report has it at `ranks.*.loop.waits.*.cause`.
///
/// # Panics
/// If there is no such rank or wait.
#[must_use]
pub fn cause_of_wait(analysis: &Analysis, rank: usize, wait: usize) -> Value {
    let causes = analysis.causes(rank);
    cause::of_wait(causes, &causes.waits[wait])
}

/// What a rank's waiting comes from, as the report has it at `ranks.*.loop.cause`.
///
/// # Panics
/// If there is no such rank.
#[must_use]
pub fn cause_of_loop(analysis: &Analysis, rank: usize, window: TimeRange) -> Value {
    cause::of_loop(analysis, rank, window)
}

/// The report of a window, as a tree: of a long recording that takes many times the memory of the text.
#[must_use]
pub fn report(analysis: &Analysis, options: &ReportOptions) -> Value {
    listed(analysis, options).into_value()
}

/// The report of a window, to be written.
#[must_use]
pub fn listed<'a>(analysis: &'a Analysis, options: &'a ReportOptions) -> Listed<'a> {
    let mut lists = Lists::default();
    let trace = analysis.trace();
    let extent = trace.extent();
    let window = options.window.unwrap_or(extent);
    let mut gpus = Object::new();
    for (g, gpu) in analysis.gpus().iter().enumerate() {
        gpus.insert(
            gpu.key.clone(),
            gpu_json(analysis, g, window, options.light, &mut lists),
        );
    }
    let jobs = analysis.jobs(window);
    let mut verdicts: Vec<&Verdict> = jobs.iter().flat_map(|j| &j.ranks).collect();
    verdicts.sort_by_key(|v| v.rank);
    let mut ranks = Object::new();
    for &verdict in &verdicts {
        let number = analysis.ranks()[verdict.rank].rank;
        if options.only.is_none_or(|only| only == number) {
            let own = (&gpus, options.light);
            let value = rank_json(analysis, verdict, window, own, &mut lists);
            ranks.insert(number.to_string(), value);
        }
    }
    let anomalies: Object = ["negative_dur", "op_before_launch", "two_launches"]
        .iter()
        .filter_map(|&k| Some((k.to_owned(), (*trace.anomalies().get(k)?).into())))
        .collect();
    let irregular: Object = trace
        .anomalies()
        .iter()
        .filter(|(k, _)| !anomalies.contains_key(**k))
        .map(|(&k, &n)| (k.to_owned(), n.into()))
        .collect();
    let mut out = Object::new();
    let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
    put("schema", SCHEMA.into());
    put("sources", identity::sources(analysis));
    put("runs", identity::runs(analysis, &jobs));
    put("processes", identity::processes(analysis));
    put("clocks", identity::clocks(analysis));
    let own = analysis.notices().iter().map(identity::notice);
    put(
        "notices",
        options.notices.iter().cloned().chain(own).collect(),
    );
    put("window", json!([window.start, window.end]));
    put("t0", extent.start.into());
    put("t1", extent.end.into());
    put("n_spans", trace.counted_spans().into());
    put("anomalies", anomalies.into());
    put("irregular", irregular.into());
    put("gpu", gpus.into());
    put("job", job::only(analysis, &jobs));
    put("ranks", ranks.into());
    put("rank_table", rank_table(analysis, window));
    let (overlap, left_out) = overlap(analysis, window);
    put("overlap", overlap);
    put("overlap_left_out", left_out.into());
    put("queue", queue(analysis, window));
    put("compare", baseline(analysis, options, window, &mut lists));
    put("launch", launch(analysis, window));
    put("lanes", lists.entries(move || lanes(analysis, window)));
    let none = || Value::from(Object::new());
    let [annotations, syncs, backward] = match options.light {
        true => [none(), none(), none()],
        false => [
            lists.entries(move || annotations(analysis, options.own, window)),
            lists.entries(move || syncs(analysis, window)),
            lists.entries(move || backward(analysis, window)),
        ],
    };
    put("annotations", annotations);
    put("syncs", syncs);
    put("bwd_of", backward);
    if let Some(grid) = options.grid {
        windows::add(analysis, options, window, grid, &mut out);
    }
    Listed::new(out.into(), lists)
}

/// What a later recording can be compared with; `null` for a part of a recording.
fn baseline<'a>(
    analysis: &'a Analysis,
    options: &'a ReportOptions,
    window: TimeRange,
    lists: &mut Lists<'a>,
) -> Value {
    if !window.covers(analysis.trace().extent()) {
        return Value::Null;
    }
    let recording = move || {
        let jobs = analysis.jobs(window);
        let mut verdicts: Vec<&Verdict> = jobs.iter().flat_map(|j| &j.ranks).collect();
        verdicts.sort_by_key(|v| v.rank);
        let recording = Recording::judged(analysis, &options.recorder, &verdicts);
        (recording, options.incomplete)
    };
    lists.baseline(recording, options.only)
}

fn share(x: Option<f64>) -> Value {
    x.map_or(Value::Null, |x| round6(x).into())
}

fn whole(ns: f64) -> Value {
    rows::whole(ns).into()
}

fn gpu_json<'a>(
    analysis: &'a Analysis,
    gpu: usize,
    window: TimeRange,
    light: bool,
    lists: &mut Lists<'a>,
) -> Value {
    const CLASSES: [&str; 7] = ["compute", "comm", "h2d", "d2h", "d2d", "p2p", "memset"];
    let f = analysis.gpu_figures(gpu, window);
    let classes = CLASSES.iter().zip(f.classes).filter(|(_, ns)| *ns > 0);
    let classes: Object = classes.map(|(&k, ns)| (k.to_owned(), ns.into())).collect();
    let causes = GapCause::ALL.iter().zip(f.by_cause);
    let causes: Object = causes
        .map(|(k, ns)| (k.key().to_owned(), ns.into()))
        .collect();
    let p = f.partition;
    let mut out = json!({
        "rank": analysis.rank_of_gpu(gpu), "ops": f.n_ops,
        "busy": f.busy, "idle": f.idle, "edge": f.edge, "n_ops": f.n_ops,
        "not_recorded": f.not_recorded,
        "busy_share": share(f.busy_share()), "util": share(f.util()),
        "sum_of_durations": f.sum_of_durations,
        "cls": classes,
        "partition": {
            "compute": p.compute, "comm": p.comm, "memcpy": p.memcpy, "memset": p.memset,
            "not_recorded": p.not_recorded, "idle": p.idle, "edge": p.edge,
        },
        "comm": f.comm, "exposed_comm": f.exposed_comm, "comm_overlap": share(f.comm_overlap()),
        "memcpy": f.memcpy, "exposed_memcpy": f.exposed_memcpy,
        "memcpy_overlap": share(f.memcpy_overlap()), "exposed_h2d": f.exposed_h2d,
        "gap_class": causes,
        "n_gaps": analysis.gaps(gpu, window).len(),
    });
    let device = analysis.gpus()[gpu].device;
    out["name"] = analysis.trace().device(device).name.clone().into();
    let g = &analysis.gpus()[gpu];
    out["record"] = json!([g.record.start, g.record.end]);
    // The whole record, whatever the window; on the clock of the sources, as the extents of runs.
    let origin = analysis.trace().unix_origin().unwrap_or(0);
    let on_clock = |t: i64| t.saturating_add(origin);
    let hull = g.record.clip(analysis.trace().extent());
    out["hull"] = json!([on_clock(hull.start), on_clock(hull.end)]);
    out["lost_launches"] = json!({
        "graph": g.lost.graph, "kernel": g.lost.kernel,
        "calls_graph": g.lost.calls_graph, "calls_kernel": g.lost.calls_kernel,
    });
    out["overrun"] = g.overruns.ops.len().into();
    out["overrun_worst"] = g.overruns.worst.into();
    out["stream_overlaps"] = g.overruns.overlaps.into();
    if !light {
        out["gaps"] = lists.rows(move || {
            let gaps = analysis.gaps(gpu, window);
            gaps.map(|g| json!([g.range.start, g.range.end, g.cause.key()]))
        });
    }
    if let Some(parts) = &f.idle_by_phase {
        out["idle_by_phase"] = by_phase(analysis, parts, "none");
    }
    out
}

/// A GPU's number, where it was recorded.
fn device_key(analysis: &Analysis, gpu: usize) -> Value {
    let index = analysis.trace().device(analysis.gpus()[gpu].device).index;
    Some(index).filter(|&index| index >= 0).into()
}

fn rank_json<'a>(
    analysis: &'a Analysis,
    verdict: &Verdict,
    window: TimeRange,
    (gpus, light): (&Object, bool),
    lists: &mut Lists<'a>,
) -> Value {
    let r = verdict.rank;
    let rank = &analysis.ranks()[r];
    let key = rank.gpu.map(|g| analysis.gpus()[g].key.as_str());
    let who = analysis.identity();
    let training = who.training(rank.rank);
    let mut out = json!({
        "run": training.map(|p| who.processes[p].run),
        "pid": training.map(|p| who.processes[p].pid.as_str()),
        "device": rank.gpu.map(|g| device_key(analysis, g)),
        "gpu_how": analysis.gpu_how(r).map(GpuHow::key),
        "loop": loop_json(analysis, r, window, light, lists),
        "workers": workers(analysis, r, window),
        "gpu_primary": key.and_then(|k| gpus.get(k)),
    });
    if let Value::Object(loop_) = &mut out["loop"] {
        let pace = verdict::pace(analysis.pace(&verdict.judged));
        loop_.insert("pace".to_owned(), pace);
    }
    out["comm"] = verdict::communication(verdict);
    out["verdict"] = verdict::verdict(analysis, verdict);
    let rates = analysis.rates(r, window);
    out["rates"] = rates.as_ref().map_or(Value::Null, rates_json);
    out["whatif"] = rates.as_ref().map_or(Value::Null, |r| what_if(analysis, r));
    out["as_if"] = as_if(analysis, r, window);
    out
}

fn summary(s: ColumnSummary) -> Value {
    json!({"sum": s.sum, "median": s.median, "p95": s.p95, "max": s.max})
}

fn loop_json<'a>(
    analysis: &'a Analysis,
    r: usize,
    window: TimeRange,
    light: bool,
    lists: &mut Lists<'a>,
) -> Value {
    let Some(f) = analysis.loop_figures(r, window) else {
        return Value::Null;
    };
    let (rank, cycles) = (&analysis.ranks()[r], analysis.cycles(r));
    let who = analysis.identity();
    let (rows, partial) = analysis.step_rows(r, window);
    let (waits, exposure, gpu) = (
        f.wait.is_some(),
        f.wait_exposed.is_some(),
        rank.gpu.is_some(),
    );
    let summaries = [
        (true, column(STEP, "time")),
        (waits, column(STEP, "wait")),
        (exposure, column(STEP, "wait_exposed")),
        (gpu, column(STEP, "gpu_busy")),
        (gpu, column(STEP, "gpu_idle")),
        (gpu, column(STEP, "first_kernel")),
        (gpu, column(STEP, "gpu_lag")),
    ];
    let summaries = summaries.map(|(known, c)| {
        let values = rows.iter().filter_map(|row| c.time(analysis, row));
        let value = known.then(|| summary(ColumnSummary::of(values)));
        (c.key.to_owned(), value.unwrap_or(Value::Null))
    });
    let steps = lists.rows(move || {
        let columns = shown(STEP, Output::Json, STEP_ORDER);
        let (rows, _partial) = analysis.step_rows(r, window);
        let rows = rows.into_iter();
        rows.map(move |row| step(analysis, &columns, row))
    });
    // Sums of the recorded waits: none where `n_waits` and `n_ends` are zero, and `missing` says so.
    let on_gpu = |ns: Option<i64>| ns.or(rank.gpu.map(|_| 0));
    let mut out = json!({
        "lane": analysis.trace().lane(f.lane).key,
        "workers": who.training(rank.rank).map_or(0, |p| who.workers(p)),
        "n_fetch": f.n_fetch,
        "wait": f.wait.unwrap_or(0), "wait_exposed": on_gpu(f.wait_exposed),
        "wait_hidden": on_gpu(f.wait_hidden), "wait_unrecorded": f.wait_unrecorded.unwrap_or(0),
        "steps_how": rank.steps_how.key(),
        "steps_confidence": cycles.confidence.map(|c| {
            json!({"source": rank.steps_how.key(), "marks": c.marks, "regular": c.regular})
        }),
        "starts": cycles.all.iter().filter(|c| c.first).count(),
        "restarts": cycles.restarts.len(),
        "dropped_fetches": rank.dropped_fetches,
        "n_steps": rows.len(),
        "partial_steps": partial,
        "steps": steps,
        "agg": summaries.into_iter().collect::<Object>(),
        "in_sync": f.in_sync,
        "phases": by_phase(analysis, &f.phases, "other"),
        "compute_share": share(f.compute_share),
    });
    if let Value::Object(out) = &mut out {
        loops::add(analysis, r, out);
        if !light {
            let waits = lists.rows(move || loops::waits(analysis, r));
            out.insert("waits".to_owned(), waits);
        }
        out.insert("cause".to_owned(), cause::of_loop(analysis, r, window));
    }
    out
}

fn step(analysis: &Analysis, columns: &[&Column<StepRow>], row: &StepRow) -> Value {
    let rank = &analysis.ranks()[row.rank];
    let inferred = analysis.inferred_passes(row.rank, row.step).map(|i| {
        let pair = |t: TimeRange| [t.start, t.end];
        json!({"forward": i.forward.map(pair), "backward": pair(i.backward)})
    });
    let mut out = Object::new();
    out.insert("inferred".to_owned(), inferred.into());
    out.extend(object(analysis, columns, row));
    // Derived steps are numbered; explicit ones have the text that states them.
    let number = rank.steps[row.step].number;
    if let Some(number) = number.filter(|_| rank.steps_how != StepSource::Explicit) {
        out["step"] = number.into();
    }
    out.into()
}

fn workers(analysis: &Analysis, r: usize, window: TimeRange) -> Value {
    let f = analysis.workers(r, window);
    let columns = shown(WORKER, Output::Json, "load n");
    let rows = f
        .rows
        .iter()
        .map(|row| (row.key.clone(), object(analysis, &columns, row).into()));
    json!({
        "procs": rows.collect::<Object>(), "n_procs": f.rows.len(), "load_sum": f.load_sum,
        "busiest": f.busiest, "hidden_sum": f.hidden_sum, "exposed_sum": f.exposed_sum,
        "any_load": f.any_load, "any_load_hidden": f.any_load_hidden,
    })
}

fn rate_set(r: &RateSet) -> Value {
    json!({
        "G": share(r.gpu), "P": share(r.prep), "F": share(r.fetch), "R": share(r.loader),
        "stalled": r.stalled, "stall": whole(r.stall), "prep_stall": whole(r.prep_stall),
        "fetch_stall": whole(r.fetch_stall),
    })
}

fn rates_json(r: &Rates) -> Value {
    let mut out = rate_set(&r.rates);
    let unit = if r.samples_known {
        "samples/s"
    } else {
        "batches/s"
    };
    out["unit"] = unit.into();
    out["C"] = whole(r.costs.compute);
    out["L"] = whole(r.costs.load);
    out["L_read"] = whole(r.costs.read);
    out["h"] = if r.handover_known {
        whole(r.costs.handover)
    } else {
        Value::Null
    };
    out["h0"] = whole(r.costs.handover_in_loop);
    out["basis"] = r.pace.basis.key().into();
    out["step"] = whole(r.pace.step);
    out["wait"] = whole(r.pace.wait);
    out["load_from_waits"] = r.load_from_waits.into();
    out["workers"] = r.workers.into();
    out["batches"] = share(Some(r.batches));
    out["needed_workers"] = r.needed_workers.into();
    out["recommended_workers"] = r.recommended_workers.into();
    out["recommended_reason"] = r.recommended_reason.clone().into();
    out["profiled"] = r.profiled.into();
    out["job"] = json!({
        "steps": r.job.steps, "epochs": r.job.epochs, "startup": whole(r.job.startup),
        "rest": whole(r.job.rest), "time": r.job.time,
    });
    out
}

fn what_if(analysis: &Analysis, r: &Rates) -> Value {
    let columns = shown(WHAT_IF, Output::Json, "");
    let mut out = Object::new();
    let mut numbers = WORKERS.to_vec();
    numbers.extend([r.workers].into_iter().chain(r.recommended_workers));
    numbers.sort_unstable();
    numbers.dedup();
    for n in numbers {
        let prediction = object(analysis, &columns, &r.what_if(n, None, 0.0));
        out.insert(n.to_string(), prediction.into());
    }
    out.into()
}

/// What the waiting would be if its cause were gone.
///
/// # Panics
/// If there is no such rank.
#[must_use]
pub fn as_if(analysis: &Analysis, rank: usize, window: TimeRange) -> Value {
    let all = analysis.as_if(rank, window).into_iter();
    all.map(|a| {
        json!({
            "what": a.what.text(), "wait": a.wait, "measured_wait": a.measured_wait,
            "time": a.time, "measured_time": a.measured_time,
        })
    })
    .collect()
}

fn rank_table(analysis: &Analysis, window: TimeRange) -> Value {
    let table = analysis.rank_table(window);
    let number = |i: usize| analysis.ranks()[i].rank;
    let columns = shown(RANK, Output::Json, "");
    let row = |m: &RankMeans| {
        (
            number(m.rank).to_string(),
            object(analysis, &columns, m).into(),
        )
    };
    let rows: Object = table.rows.iter().map(row).collect();
    json!({
        "common_steps": table.common_steps, "ranks": rows,
        "median": table.median.map(number),
    })
}

/// Pairs of streams, and the number of those that are not listed because a GPU has too many.
fn overlap(analysis: &Analysis, window: TimeRange) -> (Value, u64) {
    let columns = shown(STREAM_PAIR, Output::Json, "");
    let mut out = Object::new();
    let found = analysis.stream_pairs(window);
    let left_out = found.count_left_out();
    for p in found.pairs {
        let key = |s| analysis.stream_key(s);
        let key = format!("{}|{}", key(p.first), key(p.second));
        out.insert(key, object(analysis, &columns, &p).into());
    }
    (out.into(), left_out)
}

fn queue(analysis: &Analysis, window: TimeRange) -> Value {
    let mut out = Object::new();
    let columns = shown(QUEUE, Output::Json, "");
    for q in analysis.queues(window) {
        let value = object(analysis, &columns, &q);
        out.insert(analysis.trace().lane(q.lane).key.clone(), value.into());
    }
    out.into()
}

fn launch(analysis: &Analysis, window: TimeRange) -> Value {
    let l = analysis.launch_figures(window);
    json!({
        "calls": l.calls, "ops": l.ops, "ops_without_launch": l.ops_without_launch,
        "pairs": l.pairs,
        "delay_median": l.delay.median, "delay_p95": l.delay.p95, "delay_max": l.delay.max,
        "start_delay_median": l.start_delay.median, "start_delay_p95": l.start_delay.p95,
        "start_delay_max": l.start_delay.max,
        "total_median": l.total.median, "total_p95": l.total.p95, "total_max": l.total.max,
        "op_before_launch": l.op_before_launch, "blocking_calls": l.blocking_calls,
    })
}

fn lanes(analysis: &Analysis, window: TimeRange) -> impl Iterator<Item = (String, Value)> {
    let trace = analysis.trace();
    let columns = shown(LANE, Output::Json, "");
    let plain = |k: LaneKind| !matches!(k, LaneKind::GpuAnnotation | LaneKind::GpuSync);
    // A stream's lanes of annotations may share its key: the operations have it.
    let passes = [true, false].into_iter();
    let lanes = passes.flat_map(move |pass| {
        let lanes = trace.lane_ids();
        lanes.filter(move |&l| plain(trace.lane(l).kind) == pass)
    });
    let mut seen = FxHashSet::default();
    let lanes = lanes.filter(move |&l| seen.insert(trace.lane(l).key.as_str()));
    lanes.map(move |lane| {
        let row = object(analysis, &columns, &analysis.lane_figures(lane, window));
        (trace.lane(lane).key.clone(), row.into())
    })
}

/// CPU spans that launched GPU work, of those that start in the window.
fn annotations(
    analysis: &Analysis,
    own: OwnRule,
    window: TimeRange,
) -> impl Iterator<Item = (String, Value)> {
    let columns = shown(SPAN, Output::Json, "");
    let spans = analysis.gpu_side_spans(window).into_iter();
    spans.map(move |span| {
        let row = object(analysis, &columns, &analysis.span_figures(span, own));
        (span.0.to_string(), row.into())
    })
}

/// Synchronising calls, of those that start in the window.
fn syncs(analysis: &Analysis, window: TimeRange) -> impl Iterator<Item = (String, Value)> {
    let columns = shown(SYNC, Output::Json, SYNC_ORDER);
    let spans = analysis.sync_calls(window).into_iter();
    spans.map(move |span| {
        let row = object(analysis, &columns, &analysis.sync(span));
        (span.0.to_string(), row.into())
    })
}

/// Backward work of forward spans, of those that start in the window.
fn backward(analysis: &Analysis, window: TimeRange) -> impl Iterator<Item = (String, Value)> {
    let spans = analysis.gpu_side_spans(window).into_iter();
    let forward = spans.filter(move |&span| analysis.layers().of(span) == LayerId::FORWARD);
    forward.map(move |span| {
        let (n, sum) = analysis.backward_of(span);
        (span.0.to_string(), json!({"n_ops": n, "sum": sum}))
    })
}
