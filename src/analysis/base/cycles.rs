//! Cycles of a loop: what is judged. A step that somebody marked often leaves out the wait in front of it; the cycle has it.
//!
//! ```text
//! steps    ├─ 0 ─┤  ├─ 1 ─┤  ├─ 2 ─┤ evaluation ├─ 3 ─┤  ├─ 4 ─┤
//! cycles   ├─ 0 ─┤──── 1 ─┤─── 2 ──┤            ├─ 3 ─┤─── 4 ──┤      ordinary holes belong to the step behind them
//! holes                            ├────────────┤                     named or long ones are time between the steps
//! ```
//!
//! A cycle is *first* where the loader starts: the first of all, of an epoch, or where a fetch that delivered nothing (the
//! exhausted iterator) is followed by another of its name.

use crate::analysis::base::core::Core;
use crate::analysis::base::gpus::unite_all;
use crate::analysis::base::loops::Rank;
use crate::analysis::base::marks;
use crate::analysis::base::steps::StepSource;
use crate::analysis::base::waits::{LoopWait, MakeHow};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::{percentile, ratio, round6};
use crate::model::LaneId;
use crate::time::TimeRange;

/// One judged unit of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// From the end of the step before, where the hole between them is ordinary, to the end of its own step.
    pub range: TimeRange,
    /// The loader started in it.
    pub first: bool,
}

/// How far steps that were inferred from optimizer marks can be believed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// Marks.
    pub marks: usize,
    /// Share of the steps behind the first within a quarter of their median.
    pub regular: f64,
}

/// The cycles of one rank, and what lies between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cycles {
    /// The record of the rank: the whole trace, or among several ranks what their own sources hold.
    pub record: TimeRange,
    /// A cycle per step, by the step's number in the rank.
    pub all: Vec<Cycle>,
    /// Time between steps that is not ordinary, ascending.
    pub holes: Vec<TimeRange>,
    /// From the fetch that delivered nothing to the end of the first of the next run.
    pub restarts: Vec<TimeRange>,
    /// For steps from optimizer marks.
    pub confidence: Option<Confidence>,
}

impl Cycles {
    /// Whether the steps were inferred and are too uneven to be believed: then nothing is judged.
    #[must_use]
    pub fn irregular(&self) -> bool {
        self.confidence.is_some_and(|c| c.regular < 0.5)
    }
}

/// Operators that making an iterator runs itself.
const SEEDS: [&str; 9] = [
    "aten::empty",
    "aten::random_",
    "aten::item",
    "aten::_local_scalar_dense",
    "aten::randperm",
    "aten::to",
    "aten::_to_copy",
    "aten::copy_",
    "aten::resize_",
];

/// Starts of what shows that a loop works on a batch, over all records of its thread, ascending: launch calls and phases
/// that are neither a fetch nor a stall; without GPU operations also operators, as nothing else is recorded of the work.
fn work_starts(core: &Core, rank: &Rank, stalls: &Union) -> Vec<i64> {
    let other = |l: LayerId| l == LayerId::FETCH || LayerId::STALLS.contains(&l);
    let mut out = Vec::new();
    for &lane in &rank.loop_lanes {
        let columns = core.columns(lane);
        let launches = marks::launches(core, lane);
        let works = |i: usize| {
            let layer = columns.of[i];
            let operator = || rank.gpu.is_none() && layer == LayerId::OP;
            let seed = || SEEDS.contains(&core.trace.span_name(columns.id(i)));
            launches[i] || layer.is_phase() && !other(layer) || operator() && !seed()
        };
        let found = (0..columns.len())
            .filter(|&i| works(i))
            .map(|i| columns.starts[i]);
        out.extend(found.filter(|&t| !stalls.contains(t)));
    }
    out.sort_unstable();
    out
}

/// The record of each rank: the whole trace of a single one, among several from the first to the last instant of the
/// sources that hold its threads.
pub(in crate::analysis) fn records(core: &Core, ranks: &[Rank]) -> Vec<TimeRange> {
    let extent = core.trace.extent();
    if ranks.len() < 2 {
        return vec![extent; ranks.len()];
    }
    let record = |rank: &Rank| {
        let lanes = core.rank_lanes(rank.rank);
        let own = lanes.map(|l| core.source_extents[core.trace.lane(l).source.index()]);
        let all = own.reduce(|a, b| TimeRange {
            start: a.start.min(b.start),
            end: a.end.max(b.end),
        });
        all.unwrap_or(extent).clip(extent)
    };
    ranks.iter().map(record).collect()
}

/// The cycles of a rank.
pub(in crate::analysis) fn cycles(core: &Core, rank: &Rank, record: TimeRange) -> Cycles {
    let mut out = Cycles {
        record,
        ..Cycles::default()
    };
    if rank.steps.is_empty() {
        return out;
    }
    if rank.steps_how == StepSource::Optimizer {
        out.confidence = Some(confidence(rank));
    }
    let steps: Vec<TimeRange> = rank.steps.iter().map(|s| s.range).collect();
    let of_lane = |&lane: &LaneId| {
        let index = core.index(lane);
        LayerId::STALLS.iter().filter_map(|&l| index.union(l))
    };
    let stalls = rank.loop_lanes.iter().flat_map(of_lane);
    let stalls = unite_all(stalls.map(|u| &**u));
    let mut times: Vec<i64> = steps.iter().map(|s| s.len()).collect();
    let median = percentile(&mut times, 50).unwrap_or(0);
    let mut before: Option<i64> = None;
    for step in &steps {
        let mut range = *step;
        if let Some(end) = before.filter(|&e| step.start > e) {
            let hole = TimeRange::new(end, step.start);
            let waits = i128::from(rank.wait.measure_in(hole)) * 2 >= i128::from(hole.len());
            if (hole.len() <= median || waits) && stalls.measure_in(hole) == 0 {
                range.start = end;
            } else {
                out.holes.push(hole);
            }
        }
        out.all.push(Cycle {
            range,
            first: false,
        });
        before = Some(step.end);
    }
    firsts(core, rank, &steps, &mut out.all);
    restarts(core, rank, &stalls, &mut out);
    out
}

/// Marks the cycles in which a loader's run begins: by the evidence of its waits, by an epoch, or by a gap between steps
/// that fetches state.
fn firsts(core: &Core, rank: &Rank, steps: &[TimeRange], cycles: &mut [Cycle]) {
    let spans = |&l: &LaneId| core.spans_of(l, LayerId::EPOCH);
    let lanes = rank.loop_lanes.iter();
    let mut epochs: Vec<i64> = lanes.flat_map(spans).map(|e| e.1.start).collect();
    epochs.sort_unstable();
    let fetched = matches!(
        rank.steps_how,
        StepSource::Fetches | StepSource::FetchesInsideSteps
    );
    for k in 0..cycles.len() {
        cycles[k].first = k == 0 || rank.steps[k].first || {
            let (before, step) = (steps[k - 1], steps[k]);
            let i = epochs.partition_point(|&z| z <= before.start);
            let epoch = epochs.get(i).is_some_and(|&z| z <= step.start);
            epoch || fetched && step.start > before.end
        };
    }
}

/// Starts of the loader behind the first that took more than their first wait: from the wait that delivered nothing, or
/// the making of the iterator, on. Where the waits themselves do not tell, two neighbouring fetches of one name do, with
/// nothing done in between.
fn restarts(core: &Core, rank: &Rank, stalls: &Union, cycles: &mut Cycles) {
    let mut found = told(rank);
    let waits: Vec<&LoopWait> = rank.waits.all.iter().collect();
    let works = match waits.len() {
        0 | 1 => Vec::new(),
        _ => work_starts(core, rank, stalls),
    };
    let before = |t: i64| works.partition_point(|&w| w < t);
    let mut guessed: Vec<(usize, TimeRange)> = Vec::new();
    for pair in waits.windows(2) {
        let [old, new] = pair else {
            continue;
        };
        let name = |w: &LoopWait| core.trace.spans().name(w.span);
        let known = found.iter().any(|f| f.end == new.range.end);
        let nothing = before(old.range.end) == before(new.range.start);
        if known || name(old) != name(new) || !nothing {
            continue;
        }
        let k = cycles
            .all
            .partition_point(|c| c.range.start <= new.range.start);
        let Some(k) = k.checked_sub(1).filter(|&k| k > 0) else {
            continue;
        };
        let inside = new.range.start < cycles.all[k].range.end;
        if inside && old.range.start >= cycles.all[k - 1].range.end {
            guessed.push((k, TimeRange::new(old.range.start, new.range.end)));
        }
    }
    let mut places: Vec<usize> = guessed.iter().map(|f| f.0).collect();
    places.dedup();
    // Two loaders that take turns in each step look alike.
    if 3 * places.len() <= cycles.all.len() {
        for k in places {
            cycles.all[k].first = true;
        }
        found.extend(guessed.into_iter().map(|f| f.1));
        found.sort_unstable();
    }
    cycles.restarts = found;
}

/// Restarts that the waits tell.
fn told(rank: &Rank) -> Vec<TimeRange> {
    let waits = &rank.waits;
    let mut out = Vec::new();
    let mut ended: Option<i64> = None;
    for (i, wait) in waits.all.iter().enumerate() {
        if !wait.is_batch() {
            ended.get_or_insert(wait.range.start);
            continue;
        }
        let run = &waits.runs.get(wait.run);
        let made = run.filter(|r| r.make_how == Some(MakeHow::SeedDraw));
        let made = made.and_then(|r| r.make).map(|m| wait.range.start - m);
        let start = ended.take().into_iter().chain(made).min();
        if let Some(start) = start.filter(|_| wait.first && i > 0) {
            out.push(TimeRange::new(start, wait.range.end));
        }
    }
    out
}

fn confidence(rank: &Rank) -> Confidence {
    let mut times: Vec<i64> = rank.steps.iter().skip(1).map(|s| s.range.len()).collect();
    let median = percentile(&mut times, 50).unwrap_or(0);
    let near = |t: &&i64| 4 * i128::from((**t - median).abs()) <= i128::from(median);
    let regular = times.iter().filter(near).count();
    let share = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    Confidence {
        marks: rank.steps.len(),
        regular: round6(ratio(share(regular), share(times.len())).unwrap_or(0.0)),
    }
}
