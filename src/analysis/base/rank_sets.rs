//! Sets of a rank from which steps and windows are measured: phases, synchronising calls, loading.

use std::collections::BTreeMap;

use crate::analysis::base::core::Core;
use crate::analysis::base::gpus::{Gpu, unite_all};
use crate::analysis::base::loops::Rank;
use crate::analysis::base::syncs::SyncBase;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::overlap::Overlap;
use crate::model::{LaneId, ProcessId};

/// Loading work of one process.
#[derive(Debug)]
pub(in crate::analysis) struct Loader {
    pub process: Option<ProcessId>,
    pub lanes: Vec<LaneId>,
    pub load: Union,
    /// With the GPU's busy time, its idle time, the loop's waits.
    pub hidden: Overlap,
    pub exposed: Overlap,
    pub during_wait: Overlap,
}

/// Sets of one rank.
#[derive(Debug, Default)]
pub(in crate::analysis) struct RankSets {
    /// Exclusive phases of the loop's lane.
    pub phases: BTreeMap<LayerId, Union>,
    /// Forward, backward, optimizer, compute on the loop's lane.
    pub compute: Union,
    /// Synchronising calls on the loop's lane.
    pub sync: Union,
    pub loaders: Vec<Loader>,
    pub any_load: Union,
    pub any_load_hidden: Overlap,
}

/// Builds the sets of one rank.
pub(in crate::analysis) fn build(base: &SyncBase<'_>, rank: &Rank, several: bool) -> RankSets {
    let core = base.core;
    let mut sets = RankSets::default();
    if let Some(lane) = rank.loop_lane {
        let index = core.index(lane);
        let of = |layers: &[LayerId]| {
            let unions = layers.iter().filter_map(|&l| index.union(l));
            unite_all(unions.map(|u| &**u))
        };
        sets.phases = base.phases[lane.index()].unions();
        sets.compute = of(&LayerId::COMPUTE_PHASES);
        sets.sync = of(&[LayerId::SYNC]);
    }
    loaders(
        core,
        rank,
        several,
        rank.gpu.map(|g| &base.gpus[g]),
        &mut sets,
    );
    sets
}

/// Processes with loading work. With several ranks, a rank has its own; load of which nobody knows for whom it is enters
/// no rank's figures.
fn loaders(core: &Core, rank: &Rank, several: bool, gpu: Option<&Gpu>, sets: &mut RankSets) {
    let mut by: BTreeMap<Option<ProcessId>, Vec<LaneId>> = BTreeMap::new();
    let loads = |&l: &LaneId| core.index(l).layers.contains(&LayerId::LOAD);
    let lanes: Vec<LaneId> = if several {
        core.rank_lanes(rank.rank).filter(loads).collect()
    } else {
        core.cpu_lanes().filter(loads).collect()
    };
    for lane in lanes {
        by.entry(core.process_of(lane)).or_default().push(lane);
    }
    let nothing = Union::empty();
    let (busy, idle) = gpu.map_or((&nothing, &nothing), |g| (&g.busy, &g.idle));
    for (process, lanes) in by {
        let unions = lanes
            .iter()
            .filter_map(|&l| core.index(l).union(LayerId::LOAD));
        let load = unite_all(unions.map(|u| &**u));
        sets.loaders.push(Loader {
            process,
            lanes,
            hidden: Overlap::new(&load, busy),
            exposed: Overlap::new(&load, idle),
            during_wait: Overlap::new(&load, &rank.wait),
            load,
        });
    }
    sets.any_load = unite_all(sets.loaders.iter().map(|l| &l.load));
    sets.any_load_hidden = Overlap::new(&sets.any_load, busy);
}

/// Idle time of a GPU by the phase of the loop's thread of a rank.
#[derive(Debug)]
pub(in crate::analysis) struct IdleByPhase {
    /// Index in the ranks.
    pub rank: usize,
    pub overlaps: Vec<(LayerId, Overlap)>,
}

impl IdleByPhase {
    pub fn new(gpu: &Gpu, rank: usize, sets: &RankSets) -> Self {
        let phases = sets.phases.iter();
        Self {
            rank,
            overlaps: phases
                .map(|(l, u)| (*l, Overlap::new(u, &gpu.idle)))
                .collect(),
        }
    }
}
