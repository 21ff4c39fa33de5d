//! What a GPU's idle time belongs to, as far as that does not depend on which steps are judged: named stalls of the loop,
//! its waits for data, and why each gap of the rest ended late.
//!
//! ```text
//! loop   ├ gc ┤├─ fetch ─┤     ├ launch ┤├─ synchronise ─┤   ├ launch ┤
//! GPU   ─────────┤                 ├──── work ────┤             ├── work
//! idle           ├─ input ─┤ host ─┤              ├──── sync ───┤
//! ```
//!
//! Every instant belongs to the first that fits, in the order of [`NAMED`], then by its gap. A launch counts as handed over
//! when its call has returned: a kernel shorter than its launch call leaves a gap that the next call, though begun, explains.

use crate::analysis::base::core::Core;
use crate::analysis::base::gpus::{GapCause, Gpu, GpuSets, unite_all};
use crate::analysis::base::loops::Rank;
use crate::analysis::base::marks;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::model::SpanId;
use crate::time::TimeRange;

/// What takes idle time by its own name, the first that fits.
pub(in crate::analysis) const NAMED: [LayerId; 7] = [
    LayerId::GC,
    LayerId::COMPILE,
    LayerId::CHECKPOINT,
    LayerId::LOG,
    LayerId::LOADER,
    LayerId::FETCH,
    LayerId::EVAL,
];

/// A checkpoint or log span that launches more kernels than this is a step in disguise.
const STEP_IN_DISGUISE: usize = 50;

/// Why a gap ended late, beside what is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) enum GapKind {
    /// The loop sat in a call that waits for the GPU when that ran dry, and launched nothing before it returned.
    Sync,
    /// The next launch call had not returned.
    Host,
    /// The usual short time between two operations.
    Kernel,
    /// Handed over in time; something else held it.
    Dependency,
    /// No launch call is known, or nothing follows.
    Unknown,
}

/// The named part of a rank's idle time, and the kinds of its gaps.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Stalls {
    /// By place in [`NAMED`]: what it takes of the idle time (of all time without a GPU). Disjoint.
    pub named: [Union; 7],
    /// All of those spans, wherever they lie: no gap's kind explains what lies in them.
    pub explained: Union,
    /// The spans of all layers but `fetch`.
    pub stalls: Union,
    /// Collections on any thread of the loop's process: each stops all Python threads.
    pub gc: Union,
    /// Evaluation on the loop.
    pub eval: Union,
    /// By part of the GPU's idle time.
    pub gaps: Vec<GapKind>,
}

/// The stalls of one rank.
pub(in crate::analysis) fn stalls(
    core: &Core,
    rank: &Rank,
    gpu: Option<(&Gpu, &GpuSets)>,
) -> Stalls {
    if rank.loop_lanes.is_empty() {
        return Stalls::default();
    }
    let own = |layer| {
        let unions = rank.loop_lanes.iter();
        let unions = unions.filter_map(|&l| core.index(l).union(layer));
        unite_all(unions.map(|u| &**u))
    };
    let threads = core.threads_of(rank.rank);
    let gc = threads
        .iter()
        .filter_map(|&l| core.index(l).union(LayerId::GC));
    let gc = unite_all(gc.map(|u| &**u));
    let mut launches = Launches::new(core, rank.rank);
    let mut out = Stalls {
        eval: own(LayerId::EVAL),
        ..Stalls::default()
    };
    for (place, layer) in NAMED.into_iter().enumerate() {
        let spans = match layer {
            LayerId::GC => gc.clone(),
            LayerId::FETCH => rank.wait.clone(),
            LayerId::CHECKPOINT | LayerId::LOG => {
                let lanes = rank.loop_lanes.iter();
                let spans = lanes.flat_map(|&l| core.spans_of(l, layer));
                let quiet = spans.filter(|s| launches.count(s.1) <= STEP_IN_DISGUISE);
                Union::new(quiet.map(|s| s.1).collect())
            }
            layer => own(layer),
        };
        if spans.is_empty() {
            continue;
        }
        let rest = spans.subtract(&out.explained);
        out.named[place] = match gpu {
            Some((gpu, _)) => rest.intersect(&gpu.idle),
            None => rest,
        };
        out.explained = out.explained.unite(&spans);
        if layer != LayerId::FETCH {
            out.stalls = out.stalls.unite(&spans);
        }
    }
    out.gc = gc;
    if let Some((gpu, sets)) = gpu {
        out.gaps = gaps(core, rank, gpu, sets);
    }
    out
}

/// Starts of the calls that launched kernels, found when somebody asks.
struct Launches<'a> {
    core: &'a Core,
    rank: u32,
    starts: Option<Vec<i64>>,
}

impl<'a> Launches<'a> {
    fn new(core: &'a Core, rank: u32) -> Self {
        Self {
            core,
            rank,
            starts: None,
        }
    }

    /// Calls of the rank's threads that start in a range.
    fn count(&mut self, range: TimeRange) -> usize {
        let (core, rank) = (self.core, self.rank);
        let starts = self.starts.get_or_insert_with(|| {
            let spans = core.trace.spans();
            let links = core.launches.links(&core.trace);
            let groups = core
                .rank_lanes(rank)
                .flat_map(|l| core.launches.groups_of(l));
            let own = groups.flat_map(|g| &links[g.links.clone()]);
            let kernels = own.filter(|l| core.layer(l.to) == LayerId::GPU_COMPUTE);
            let mut calls: Vec<SpanId> = kernels.map(|l| l.from).collect();
            calls.sort_unstable();
            calls.dedup();
            let mut starts: Vec<i64> = calls.into_iter().map(|c| spans.start(c)).collect();
            starts.sort_unstable();
            starts
        });
        let before = |t: i64| starts.partition_point(|&s| s < t);
        before(range.end) - before(range.start)
    }
}

/// Calls of the loop that wait for the GPU, ascending: synchronising ones, and copies to the host that returned only when
/// they were done.
pub(in crate::analysis) fn blocking_calls(core: &Core, rank: &Rank) -> Vec<(TimeRange, SpanId)> {
    let Some(lane) = rank.loop_lane else {
        return Vec::new();
    };
    let columns = core.columns(lane);
    let calls = marks::launches(core, lane);
    let blocks = |&i: &usize| {
        let range = columns.range(i);
        if range.is_empty() {
            return false;
        }
        if columns.of[i] == LayerId::SYNC {
            return true;
        }
        let ops = match calls[i] {
            true => core.trace.launched_by(columns.id(i)),
            false => &[],
        };
        !ops.is_empty()
            && ops
                .iter()
                .all(|l| core.layer(l.to) == LayerId::GPU_D2H && core.range(l.to).end <= range.end)
    };
    let mut out: Vec<_> = (0..columns.len())
        .filter(blocks)
        .map(|i| (columns.range(i), columns.id(i)))
        .collect();
    out.sort_unstable();
    out
}

/// The call in which the loop sat when the GPU ran dry at the start of a gap, and which returned inside it.
pub(in crate::analysis) fn call_before(
    calls: &[(TimeRange, SpanId)],
    gap: TimeRange,
) -> Option<SpanId> {
    let i = calls.partition_point(|(c, _)| c.start <= gap.start);
    let (call, span) = calls.get(i.checked_sub(1)?)?;
    (gap.start < call.end && call.end <= gap.end).then_some(*span)
}

fn gaps(core: &Core, rank: &Rank, gpu: &Gpu, sets: &GpuSets) -> Vec<GapKind> {
    let calls = blocking_calls(core, rank);
    let kind = |(gap, cause): (&TimeRange, &GapCause)| match cause {
        GapCause::Host if call_before(&calls, *gap).is_some() => GapKind::Sync,
        GapCause::Host => GapKind::Host,
        GapCause::Kernel => GapKind::Kernel,
        GapCause::Other => GapKind::Dependency,
        GapCause::Unknown => GapKind::Unknown,
    };
    let parts = gpu.idle.parts().iter();
    parts.zip(&sets.handed_over).map(kind).collect()
}
