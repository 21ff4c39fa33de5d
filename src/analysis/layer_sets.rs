//! Unions by (process or GPU, layer), by (rank, layer) and over all, and the part of them while the rank's GPU idles.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::core::Core;
use super::gpus::{Gpu, unite_all};
use super::intervals::Union;
use super::layers::LayerId;
use super::loops::Rank;
use crate::model::{LaneId, ProcessId};

/// Who does the work of a layer: processes on the CPU, devices on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// A process; `None` for lanes of none.
    Process(Option<ProcessId>),
    /// Index in [`super::Analysis::gpus`].
    Gpu(usize),
}

/// One owner's unions by layer.
#[derive(Debug)]
pub(super) struct Owned {
    pub owner: Owner,
    pub rank: Option<usize>,
    pub sets: BTreeMap<LayerId, Arc<Union>>,
}

/// A layer in a scope: when any owner is in it, and of that while the rank's GPU is idle.
#[derive(Clone, Debug, Default)]
pub(super) struct Wall {
    pub wall: Arc<Union>,
    pub exposed: Arc<Union>,
}

type Walls = BTreeMap<LayerId, Wall>;

/// All unions by layer.
#[derive(Debug, Default)]
pub(super) struct LayerSets {
    pub owners: Vec<Owned>,
    pub ranks: Vec<Walls>,
    pub all: Walls,
    /// Index in the ranks, by lane.
    pub lane_rank: Vec<Option<usize>>,
}

impl LayerSets {
    pub fn new(core: &Core, ranks: &[Rank], gpus: &[Gpu]) -> Self {
        let lane_rank = lane_ranks(core, ranks);
        let owners = owners(core, &lane_rank);
        let walls = |rank: usize| {
            let idle = ranks[rank].gpu.map(|g| &gpus[g].idle);
            walls(owners.iter().filter(|o| o.rank == Some(rank)), idle)
        };
        let by_rank: Vec<Walls> = (0..ranks.len()).into_par_iter().map(walls).collect();
        let lone = ranks.len() == 1 && owners.iter().all(|o| o.rank == Some(0));
        let all = if lone {
            by_rank[0].clone()
        } else {
            let mut all = self::walls(owners.iter(), None);
            for (layer, wall) in &mut all {
                let parts = by_rank.iter().filter_map(|w| w.get(layer));
                wall.exposed = join(parts.map(|w| &w.exposed));
            }
            all
        };
        Self {
            owners,
            ranks: by_rank,
            all,
            lane_rank,
        }
    }

    /// Bytes of all distinct unions, and their number of intervals.
    pub fn measure_memory(&self, seen: &mut BTreeMap<usize, (usize, usize)>) {
        let owned = self.owners.iter().flat_map(|o| o.sets.values());
        let walls = self
            .ranks
            .iter()
            .chain([&self.all])
            .flat_map(|w| w.values());
        for union in owned.chain(walls.flat_map(|w| [&w.wall, &w.exposed])) {
            let at = Arc::as_ptr(union).addr();
            seen.insert(at, (union.heap_bytes(), union.parts().len()));
        }
    }
}

/// One union of several, shared where there is only one.
fn join<'a>(unions: impl Iterator<Item = &'a Arc<Union>>) -> Arc<Union> {
    let filled: Vec<&Arc<Union>> = unions.filter(|u| !u.is_empty()).collect();
    match filled[..] {
        [] => Arc::default(),
        [one] => Arc::clone(one),
        _ => Arc::new(unite_all(filled.into_iter().map(|u| &**u))),
    }
}

/// The rank of each lane: by number for CPU lanes, by its GPU's rank for lanes of a GPU. One rank has them all.
fn lane_ranks(core: &Core, ranks: &[Rank]) -> Vec<Option<usize>> {
    let trace = &core.trace;
    let number = |n: u32| ranks.iter().position(|r| r.rank == n);
    let of = |lane: LaneId| {
        if ranks.len() == 1 {
            return Some(0);
        }
        let device = trace.lane_device(lane);
        let gpu = device.and_then(|d| core.devices.iter().position(|&x| x == d));
        let by_gpu = gpu.and_then(|g| ranks.iter().position(|r| r.gpu == Some(g)));
        by_gpu.or_else(|| number(trace.lane(lane).rank))
    };
    trace.lane_ids().map(of).collect()
}

fn owners(core: &Core, lane_rank: &[Option<usize>]) -> Vec<Owned> {
    let mut lanes: BTreeMap<(Owner, Option<usize>), Vec<LaneId>> = BTreeMap::new();
    for lane in core.trace.lane_ids() {
        let owner = match core.lane_gpu[lane.index()] {
            Some(gpu) => Owner::Gpu(gpu),
            None => Owner::Process(core.process_of(lane)),
        };
        let key = (owner, lane_rank[lane.index()]);
        lanes.entry(key).or_default().push(lane);
    }
    let lanes: Vec<_> = lanes.into_iter().collect();
    let owned = |((owner, rank), lanes): &((Owner, Option<usize>), Vec<LaneId>)| {
        let mut by: BTreeMap<LayerId, Vec<&Arc<Union>>> = BTreeMap::new();
        for &lane in lanes {
            let index = core.index(lane);
            for (&layer, union) in index.layers.iter().zip(&index.unions) {
                by.entry(layer).or_default().push(union);
            }
        }
        let by: Vec<_> = by
            .into_iter()
            .filter(|(l, _)| *l != LayerId::RECORDER)
            .collect();
        let sets = by
            .into_par_iter()
            .map(|(layer, unions)| (layer, join(unions.into_iter())))
            .collect();
        Owned {
            owner: *owner,
            rank: *rank,
            sets,
        }
    };
    lanes.par_iter().map(owned).collect()
}

fn walls<'a>(owners: impl Iterator<Item = &'a Owned>, idle: Option<&Union>) -> Walls {
    let mut by: BTreeMap<LayerId, Vec<&Arc<Union>>> = BTreeMap::new();
    for owner in owners {
        for (&layer, union) in &owner.sets {
            by.entry(layer).or_default().push(union);
        }
    }
    let wall = |(layer, unions): (LayerId, Vec<&Arc<Union>>)| {
        let wall = join(unions.into_iter());
        // GPU work is never exposed to the idle time of its own GPU.
        let exposed = match idle.filter(|_| !layer.is_operation()) {
            Some(idle) => Arc::new(wall.intersect(idle)),
            None => Arc::default(),
        };
        (layer, Wall { wall, exposed })
    };
    by.into_par_iter().map(wall).collect()
}
