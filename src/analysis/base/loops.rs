//! Ranks, the lane of each training loop, its primary GPU, and its batch waits.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::analysis::base::core::{Core, outermost};
use crate::analysis::base::gpus::Gpu;
use crate::analysis::base::steps::{Step, StepSource};
use crate::analysis::identity::Purpose;
use crate::analysis::layers::classify::is_engine;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::model::{LaneId, LaneKind, Role, SpanId};
use crate::time::TimeRange;

/// One training process of a distributed job (rank 0 for a single one).
#[derive(Clone, Debug)]
pub struct Rank {
    /// Its number.
    pub rank: u32,
    /// The CPU lane of the training loop, if one was found.
    pub loop_lane: Option<LaneId>,
    /// Index of its primary GPU in [`crate::analysis::Analysis::gpus`]; `None` without GPU operations.
    pub gpu: Option<usize>,
    /// The loop waits for a batch.
    pub wait: Union,
    /// Of `wait`: the GPU had nothing to do.
    pub wait_exposed: Union,
    /// Of `wait`: the GPU worked meanwhile.
    pub wait_hidden: Union,
    /// Of `wait`: nobody knows what the GPU did.
    pub wait_unrecorded: Union,
    /// Steps of the loop, ascending.
    pub steps: Vec<Step>,
    /// How the steps were found.
    pub steps_how: StepSource,
    /// Fetches that start no step: they deliver no batch that is worked on.
    pub dropped_fetches: usize,
    /// Outermost fetch spans on the loop's lane.
    pub n_fetch: usize,
}

/// One batch wait: a maximal interval in which the loop waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Index in [`crate::analysis::Analysis::ranks`].
    pub rank: usize,
    /// When.
    pub range: TimeRange,
    /// The outermost span that makes it.
    pub span: SpanId,
    /// Index in the rank's steps, of the step that it lies in.
    pub step: Option<usize>,
    /// Of it exposed, ns; `None` without GPU events.
    pub exposed: Option<i64>,
    /// Of it hidden, ns; `None` without GPU events.
    pub hidden: Option<i64>,
    /// Of it not recorded, ns.
    pub unrecorded: i64,
}

/// Numbers of the ranks: those of recorded training processes; 0 without any.
pub(in crate::analysis) fn rank_numbers(core: &Core) -> Vec<u32> {
    let training = core.identity.processes.iter();
    let training = training.filter(|p| p.purpose == Purpose::Training && p.recorded);
    let mut ranks: Vec<u32> = training.filter_map(|p| p.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    if ranks.is_empty() {
        ranks.push(0);
    }
    ranks
}

fn is_loop_candidate(core: &Core, lane: LaneId) -> bool {
    let kind = core.trace.lane(lane).kind;
    core.role(lane) == Role::Main && kind == LaneKind::Cpu
}

/// Fetch time, steps, phases, launches, recorded time.
type LoopKey = (i64, u64, u64, usize, i64);

/// The lane of a rank's training loop: most fetch time, then most step spans, then most phase spans that are not the
/// autograd engine's own, then most launches, then most recorded time.
pub(in crate::analysis) fn loop_lane(core: &Core, rank: u32, chosen: &[LaneId]) -> Option<LaneId> {
    let exists = |l: &LaneId| l.index() < core.trace.lanes().len();
    let of_rank = |l: &LaneId| core.rank(*l) == Some(rank);
    if let Some(&lane) = chosen.iter().find(|l| exists(l) && of_rank(l)) {
        return Some(lane);
    }
    let mut best: Option<(LoopKey, LaneId)> = None;
    let all = TimeRange {
        start: i64::MIN,
        end: i64::MAX,
    };
    let lanes = core.identity.lanes_of(rank).iter().copied();
    for lane in lanes.filter(|&l| is_loop_candidate(core, l)) {
        let index = core.index(lane);
        let phases = core.started(lane, all, LayerId::is_phase).count;
        let key = (
            index.union(LayerId::FETCH).map_or(0, |u| u.measure()),
            core.started(lane, all, |l| l == LayerId::STEP).count,
            phases - engine_spans(core, lane),
            core.launches.count(lane),
            index.busy(&core.columns(lane)),
        );
        if best.is_none_or(|(b, _)| key > b) {
            best = Some((key, lane));
        }
    }
    best.map(|(_, lane)| lane)
}

fn engine_spans(core: &Core, lane: LaneId) -> u64 {
    if !core.index(lane).layers.iter().any(|l| l.is_phase()) {
        return 0;
    }
    let spans = core.trace.spans();
    let mut memo = FxHashMap::default();
    let phases = core
        .trace
        .lane_spans(lane)
        .filter(|&s| core.layer(s).is_phase());
    phases
        .filter(|&s| is_engine(&core.trace, &mut memo, spans.name(s)))
        .count() as u64
}

/// A rank without its steps.
pub(in crate::analysis) fn build_rank(
    core: &Core,
    rank: u32,
    gpu: Option<usize>,
    gpus: &[Gpu],
    chosen: &[LaneId],
) -> Rank {
    let loop_lane = loop_lane(core, rank, chosen);
    let fetch = loop_lane.and_then(|l| core.index(l).union(LayerId::FETCH));
    let wait = fetch.map(|u| Union::clone(u)).unwrap_or_default();
    let (exposed, hidden, unrecorded) = match gpu.map(|g| &gpus[g]) {
        Some(g) => (
            wait.intersect(&g.idle),
            wait.intersect(&g.busy),
            wait.subtract(&Union::single(g.record)),
        ),
        None => (Union::empty(), Union::empty(), wait.clone()),
    };
    let n_fetch = loop_lane.map_or(0, |l| outermost(&core.spans_of(l, LayerId::FETCH)).len());
    Rank {
        rank,
        loop_lane,
        gpu,
        wait,
        wait_exposed: exposed,
        wait_hidden: hidden,
        wait_unrecorded: unrecorded,
        steps: Vec::new(),
        steps_how: StepSource::Fetches,
        dropped_fetches: 0,
        n_fetch,
    }
}

/// All batch waits of all ranks, by start.
pub(in crate::analysis) fn waits(core: &Core, ranks: &[Rank]) -> Vec<Wait> {
    let of_rank = |(r, rank): (usize, &Rank)| {
        let Some(lane) = rank.loop_lane else {
            return Vec::new();
        };
        let fetches = core.spans_of(lane, LayerId::FETCH);
        let parts = rank.wait.parts().iter();
        parts
            .filter_map(|&range| {
                let i = fetches.partition_point(|(_, f)| f.start < range.start);
                // A zero-length fetch may begin at the same instant, but the longest comes first.
                let &(span, _) = fetches.get(i)?;
                let steps = &rank.steps;
                let k = steps.partition_point(|s| s.range.start <= range.start);
                let step = k
                    .checked_sub(1)
                    .filter(|&k| steps[k].range.contains(range.start));
                Some(Wait {
                    rank: r,
                    range,
                    span,
                    step,
                    exposed: rank.gpu.map(|_| rank.wait_exposed.measure_in(range)),
                    hidden: rank.gpu.map(|_| rank.wait_hidden.measure_in(range)),
                    unrecorded: rank.wait_unrecorded.measure_in(range),
                })
            })
            .collect()
    };
    let mut waits: Vec<Wait> = ranks
        .par_iter()
        .enumerate()
        .flat_map_iter(of_rank)
        .collect();
    waits.sort_by_key(|w| (w.range, w.rank));
    waits
}
