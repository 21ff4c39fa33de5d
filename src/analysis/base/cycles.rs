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

use crate::analysis::base::core::{Core, outermost};
use crate::analysis::base::gpus::unite_all;
use crate::analysis::base::loops::Rank;
use crate::analysis::base::marks;
use crate::analysis::base::steps::StepSource;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::{percentile, ratio, round6};
use crate::model::{LaneId, LaneKind};
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

/// What a lane does, by place: starts of spans that show that the loop works on a batch.
struct Body<'a> {
    core: &'a Core,
    lane: LaneId,
    /// Whether a span is a launch call.
    launches: Vec<bool>,
    /// Operators count as work: nothing else is recorded of it.
    ops: bool,
}

impl Body<'_> {
    /// A launch call, a phase that is not in `without`, or an operator where those count.
    fn works(&self, i: usize, without: impl Fn(LayerId) -> bool, seeds: bool) -> bool {
        let columns = self.core.columns(self.lane);
        let layer = columns.of[i];
        if self.launches[i] || layer.is_phase() && !without(layer) {
            return true;
        }
        self.ops
            && layer == LayerId::OP
            && (!seeds || !SEEDS.contains(&self.core.trace.span_name(columns.id(i))))
    }

    /// Starts of what works on a batch, outside the stalls, ascending.
    fn starts(&self, stalls: &Union) -> Vec<i64> {
        let columns = self.core.columns(self.lane);
        let other = |l: LayerId| l == LayerId::FETCH || LayerId::STALLS.contains(&l);
        (0..columns.len())
            .filter(|&i| self.works(i, other, true) && !stalls.contains(columns.starts[i]))
            .map(|i| columns.starts[i])
            .collect()
    }
}

/// Both, where both are known.
fn hull(a: Option<TimeRange>, b: Option<TimeRange>) -> Option<TimeRange> {
    match (a, b) {
        (Some(a), Some(b)) => Some(TimeRange {
            start: a.start.min(b.start),
            end: a.end.max(b.end),
        }),
        (a, b) => a.or(b),
    }
}

/// The record of each rank: the whole trace of a single one, among several from the first to the last instant of the
/// sources that hold its threads.
pub(in crate::analysis) fn records(core: &Core, ranks: &[Rank]) -> Vec<TimeRange> {
    let trace = &core.trace;
    if ranks.len() < 2 {
        return vec![trace.extent(); ranks.len()];
    }
    let mut sources: Vec<Option<TimeRange>> = vec![None; trace.sources().len()];
    for lane in trace.lane_ids() {
        let about = trace.lane(lane);
        let Some(slot) = sources.get_mut(about.source.0 as usize) else {
            continue;
        };
        if about.kind == LaneKind::Recorder {
            continue;
        }
        let columns = core.columns(lane);
        for i in (0..columns.len()).filter(|&i| columns.of[i] != LayerId::RECORDER) {
            *slot = hull(*slot, Some(columns.range(i)));
        }
    }
    let record = |rank: &Rank| {
        let lanes = core.rank_lanes(rank.rank);
        let own = lanes.filter_map(|l| *sources.get(trace.lane(l).source.0 as usize)?);
        let all = own.fold(None, |known, own| hull(known, Some(own)));
        all.unwrap_or(trace.extent()).clip(trace.extent())
    };
    ranks.iter().map(record).collect()
}

/// The cycles of a rank.
pub(in crate::analysis) fn cycles(core: &Core, rank: &Rank, record: TimeRange) -> Cycles {
    let mut out = Cycles {
        record,
        ..Cycles::default()
    };
    let Some(lane) = rank.loop_lane.filter(|_| !rank.steps.is_empty()) else {
        return out;
    };
    if rank.steps_how == StepSource::Optimizer {
        out.confidence = Some(confidence(rank));
    }
    let body = Body {
        core,
        lane,
        launches: marks::launches(core, lane),
        ops: rank.gpu.is_none(),
    };
    let steps: Vec<TimeRange> = rank.steps.iter().map(|s| s.range).collect();
    let index = core.index(lane);
    let stalls = unite_all(
        LayerId::STALLS
            .iter()
            .filter_map(|&l| index.union(l))
            .map(|u| &**u),
    );
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
    firsts(core, rank, lane, &steps, &mut out.all);
    restarts(&body, &stalls, &mut out);
    out
}

/// Marks the cycles in which a loader's run begins by its waits, by an epoch, or by a gap between steps that fetches state.
fn firsts(core: &Core, rank: &Rank, lane: LaneId, steps: &[TimeRange], cycles: &mut [Cycle]) {
    let epochs: Vec<i64> = core
        .spans_of(lane, LayerId::EPOCH)
        .iter()
        .map(|e| e.1.start)
        .collect();
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

/// Finds fetches that delivered nothing, followed by one of the same name: the loader starts again in the cycle of that.
fn restarts(body: &Body<'_>, stalls: &Union, cycles: &mut Cycles) {
    let (core, lane) = (body.core, body.lane);
    let mut fetches = core.spans_of(lane, LayerId::FETCH);
    fetches.retain(|f| !f.1.is_empty());
    let fetches = outermost(&fetches);
    if fetches.len() < 2 {
        return;
    }
    let works = body.starts(stalls);
    let before = |t: i64| works.partition_point(|&w| w < t);
    let mut found: Vec<(usize, TimeRange)> = Vec::new();
    for pair in fetches.windows(2) {
        let [(f, old), (g, new)] = pair else {
            continue;
        };
        let spans = core.trace.spans();
        if spans.name(*f) != spans.name(*g) || before(old.end) != before(new.start) {
            continue;
        }
        let k = cycles.all.partition_point(|c| c.range.start <= new.start);
        let Some(k) = k.checked_sub(1).filter(|&k| k > 0) else {
            continue;
        };
        let inside = new.start < cycles.all[k].range.end;
        if inside && old.start >= cycles.all[k - 1].range.end {
            found.push((k, TimeRange::new(old.start, new.end)));
        }
    }
    let mut places: Vec<usize> = found.iter().map(|f| f.0).collect();
    places.dedup();
    // Two loaders that take turns in each step look alike.
    if 3 * places.len() > cycles.all.len() {
        return;
    }
    for k in places {
        cycles.all[k].first = true;
    }
    cycles.restarts = found.into_iter().map(|f| f.1).collect();
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
