//! What a recording gives to a comparison: the judged cycles of each rank with their parts, its kernels by name, and what
//! tells whether two recordings are alike. Plain data: a saved report holds the same.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::Analysis;
use crate::analysis::base::steps::{self, StepClass};
use crate::analysis::base::tails::{Threads, own_lanes};
use crate::analysis::figures::judged::Judged;
use crate::analysis::figures::parts::{CPU_PARTS, GPU_PARTS};
use crate::analysis::figures::step_table::launched_on;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::layers::names::norm2;
use crate::analysis::verdict::issue::Verdict;
use crate::model::{LaneId, Role};
use crate::time::TimeRange;

/// Columns of steps that are compared, beside their time and its parts.
pub const COLUMNS: [&str; 7] = [
    "wait",
    "wait_exposed",
    "wait_hidden",
    "gpu_busy",
    "gpu_idle",
    "launched",
    "in_sync",
];

/// A judged cycle. Times in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleRow {
    /// Index in the rank's steps.
    pub step: usize,
    /// Its step's number or name.
    pub label: String,
    /// Its step's number, where it has one.
    pub number: Option<i64>,
    /// Start, in time of its trace.
    pub start: i64,
    /// Length.
    pub time: i64,
    /// In the order of [`COLUMNS`]; `None` is not recorded.
    pub columns: [Option<i64>; COLUMNS.len()],
    /// End of the last GPU work launched in it after its own end.
    pub gpu_lag: Option<i64>,
    /// In the order of [`GPU_PARTS`].
    pub gpu_parts: Option<[i64; GPU_PARTS.len()]>,
    /// In the order of [`CPU_PARTS`].
    pub cpu_parts: [i64; CPU_PARTS.len()],
}

/// Kernels of one normalised name in the judged cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleKernel {
    /// The name.
    pub name: String,
    /// Operations.
    pub count: u64,
    /// Sum of their durations, ns.
    pub time: i64,
    /// (place of the cycle, sum of durations in it), ascending, cycles without it left out.
    pub by_cycle: Vec<(u32, i64)>,
}

/// One rank of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Its number.
    pub rank: u32,
    /// Its place in [`Analysis::ranks`], where it comes from one.
    pub place: usize,
    /// What defines its steps; `None` without steps.
    pub steps_how: Option<StepClass>,
    /// Classes of steps that it can give.
    pub can: Vec<StepClass>,
    /// Steps found.
    pub steps: usize,
    /// Whole cycles that are left out, because the loader started in them.
    pub left_out: usize,
    /// The judged cycles, ascending.
    pub rows: Vec<SampleRow>,
    /// A GPU of its own has operations.
    pub gpu: bool,
    /// What its waits are: tracer and family of spans.
    pub waits: BTreeSet<String>,
    /// Its kernels by name, ascending.
    pub kernels: Vec<SampleKernel>,
    /// Whether `by_cycle` of the kernels is there.
    pub kernels_by_cycle: bool,
    /// The kind of its verdict.
    pub verdict: String,
    /// Its verdict in one sentence.
    pub headline: String,
}

/// What opens as one trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Unix time of the trace's zero, ns.
    pub origin: Option<i64>,
    /// The trace's extent.
    pub extent: TimeRange,
    /// Its spans.
    pub spans: u64,
    /// Runs in it that cannot be taken for one: a comparison is of one run.
    pub runs: usize,
    /// How it was recorded: tracers, versions, what they were told to record.
    pub recorder: Vec<String>,
    /// Names of its GPUs.
    pub hardware: Vec<String>,
    /// Recorded worker lanes.
    pub workers: usize,
    /// Its ranks, ascending.
    pub ranks: Vec<Sample>,
}

impl Recording {
    /// Of an analysis. `told` is what the files say of their recorder, beyond its name.
    #[must_use]
    pub fn of(analysis: &Analysis, told: &[String]) -> Self {
        let extent = analysis.trace().extent();
        // Nothing lies inside an empty window, not even what has no length.
        let end = extent.end.max(extent.start.saturating_add(1));
        let all = TimeRange { end, ..extent };
        let ranks = 0..analysis.ranks().len();
        let verdicts: Vec<Verdict> = ranks.map(|r| analysis.verdict(r, all)).collect();
        Self::judged(analysis, told, &verdicts.iter().collect::<Vec<_>>())
    }

    /// The same where the verdicts of all ranks on the whole trace are known.
    #[must_use]
    pub fn judged(analysis: &Analysis, told: &[String], verdicts: &[&Verdict]) -> Self {
        let trace = analysis.trace();
        let producers = trace.sources().iter();
        let recorder = producers.map(|s| match s.producer.as_str() {
            "" => s.tracer.name.to_owned(),
            producer => producer.to_owned(),
        });
        let recorder: BTreeSet<String> = recorder.chain(told.iter().cloned()).collect();
        let devices = trace.devices().iter().filter_map(|d| d.name.clone());
        let hardware: BTreeSet<String> = devices.collect();
        let worker = |l: &LaneId| analysis.role(*l) == Role::Worker;
        let stated = stated_ranks(analysis);
        let number = |rank: usize| stated.as_ref().map(|all| all[rank]);
        let sampled = |verdict: &&Verdict| {
            let mut sample = sample(analysis, verdict);
            sample.rank = number(verdict.rank).unwrap_or(sample.rank);
            sample
        };
        let mut ranks: Vec<Sample> = verdicts.iter().map(sampled).collect();
        ranks.sort_by_key(|r| r.rank);
        Self {
            runs: match stated {
                Some(_) => 1,
                None => analysis.identity().runs.len(),
            },
            origin: trace.unix_origin(),
            extent: trace.extent(),
            spans: trace.counted_spans(),
            recorder: recorder.into_iter().collect(),
            hardware: hardware.into_iter().collect(),
            workers: trace.lane_ids().filter(worker).count(),
            ranks,
        }
    }

    /// The same with one rank alone.
    #[must_use]
    pub fn only(mut self, rank: u32) -> Self {
        self.ranks.retain(|r| r.rank == rank);
        self
    }
}

/// The ranks that the files of several runs state, by rank: where all differ, whoever named the files together means one
/// job, although they were not recorded at the same time.
fn stated_ranks(analysis: &Analysis) -> Option<Vec<u32>> {
    if analysis.identity().runs.len() < 2 {
        return None;
    }
    let trace = analysis.trace();
    let stated = |r: &crate::analysis::Rank| trace.source(trace.lane(r.loop_lane?).source).rank;
    let all: Vec<u32> = analysis.ranks().iter().map(stated).collect::<Option<_>>()?;
    let distinct: BTreeSet<u32> = all.iter().copied().collect();
    (distinct.len() == all.len()).then_some(all)
}

fn sample(analysis: &Analysis, verdict: &Verdict) -> Sample {
    let (rank, judged) = (verdict.rank, &verdict.judged);
    let r = &analysis.ranks()[rank];
    let of = steps::Loop {
        lanes: &r.loop_lanes,
        waits: &r.waits,
        on_gpu: r.gpu.is_some(),
        wanted: None,
    };
    Sample {
        rank: r.rank,
        place: rank,
        steps_how: (!r.steps.is_empty()).then(|| r.steps_how.class()),
        can: steps::possible(&analysis.core, of, !r.marks.is_empty()),
        steps: r.steps.len(),
        left_out: judged.left_out().count(),
        rows: rows(analysis, judged),
        gpu: r.gpu.is_some(),
        waits: wait_families(analysis, judged),
        kernels: kernels(analysis, judged),
        kernels_by_cycle: true,
        verdict: verdict.kind().key().to_owned(),
        headline: verdict
            .issues
            .first()
            .map_or_else(String::new, |i| i.text.verdict.clone()),
    }
}

fn rows(analysis: &Analysis, judged: &Judged) -> Vec<SampleRow> {
    let rank = judged.rank;
    let (core, r) = (&analysis.core, &analysis.ranks[rank]);
    let gpu = r.gpu.map(|g| (g, &analysis.gpus[g]));
    let parts = analysis.gpu_parts(rank);
    let sync = &analysis.rank_sets[rank].sync;
    let lanes = r.loop_lane.map(|l| own_lanes(core, l, Threads::Process));
    let lanes = lanes.unwrap_or_default();
    let syncs = analysis.recorded[rank].syncs();
    let row = |cycle: &crate::analysis::figures::judged::CycleRow| {
        let (range, step) = (cycle.range, &r.steps[cycle.step]);
        let launched = gpu.map(|(g, _)| launched_on(core, &lanes, range, g));
        let cut = r.loop_lane.is_some_and(|lane| core.is_cut(lane, range));
        SampleRow {
            step: cycle.step,
            label: step.label.clone(),
            number: step.number,
            start: range.start,
            time: range.len(),
            columns: [
                cycle.wait,
                cycle.wait_exposed,
                cycle.wait_hidden,
                gpu.map(|(_, g)| g.busy.measure_in(range)),
                gpu.map(|(_, g)| g.idle.measure_in(range)),
                launched.map(|l| l.sum),
                syncs.then(|| sync.measure_in(range)),
            ],
            gpu_lag: launched
                .and_then(|l| l.last)
                .filter(|_| !cut)
                .map(|last| last - range.end),
            gpu_parts: parts.as_ref().map(|p| p.of(range)),
            cpu_parts: analysis.cpu_parts(rank, range),
        }
    };
    judged.rows().map(row).collect()
}

/// What the waits of the judged cycles are. Two kinds of spans may begin and end at different places of the same wait.
fn wait_families(analysis: &Analysis, judged: &Judged) -> BTreeSet<String> {
    let trace = analysis.trace();
    let waits = analysis.rank_waits(judged.rank);
    let inside = waits.filter(|w| judged.set.contains(w.range.start));
    let family = |w: &crate::analysis::Wait| {
        let lane = trace.spans().lane(w.span);
        let tracer = trace.source(trace.lane(lane).source).tracer.key;
        let name = trace.span_name(w.span);
        // One loader with or without workers.
        let loader = name.starts_with("enumerate(DataLoader)#") && name.ends_with("__next__");
        match loader {
            true => format!("{tracer} DataLoader.__next__"),
            false => format!("{tracer} {}", norm2(name)),
        }
    };
    inside.map(family).collect()
}

/// Compute and communication of a rank's GPU by normalised name.
fn kernels(analysis: &Analysis, judged: &Judged) -> Vec<SampleKernel> {
    let mut out: BTreeMap<String, SampleKernel> = BTreeMap::new();
    for k in analysis.kernels(judged) {
        if !matches!(k.layer, LayerId::GPU_COMPUTE | LayerId::GPU_COMM) {
            continue;
        }
        let kernel = out.entry(k.name).or_insert_with_key(|name| SampleKernel {
            name: name.clone(),
            ..SampleKernel::default()
        });
        kernel.count += k.count;
        kernel.time = kernel.time.saturating_add(k.time);
        kernel.by_cycle.extend(k.by_cycle);
    }
    let mut out: Vec<SampleKernel> = out.into_values().collect();
    for kernel in &mut out {
        // Rules may put operations of one name into two layers.
        kernel.by_cycle.sort_unstable();
        kernel.by_cycle.dedup_by(|b, a| {
            let same = a.0 == b.0;
            if same {
                a.1 = a.1.saturating_add(b.1);
            }
            same
        });
    }
    out
}
