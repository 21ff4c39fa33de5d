//! Unions by (process or GPU, layer), by (rank, layer) and over all, and the part of them while the rank's GPU idles.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::analysis::base::core::Core;
use crate::analysis::base::gpus::{Gpu, GpuSets, unite_all};
use crate::analysis::base::loops::Rank;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::overlap::{LazyUnion, Overlap};
use crate::analysis::sums::watch::Watch;
use crate::model::{DeviceId, LaneId, ProcessId};

/// Who does the work of a layer: processes on the CPU, devices on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// A process; `None` for lanes of none.
    Process(Option<ProcessId>),
    /// Index in [`crate::analysis::Analysis::gpus`].
    Gpu(usize),
}

/// One owner's unions by layer.
#[derive(Debug)]
pub(in crate::analysis) struct OwnedLayers {
    pub owner: Owner,
    pub rank: Option<usize>,
    pub sets: BTreeMap<LayerId, Arc<Union>>,
}

/// A layer in a scope: when any owner is in it.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct ScopedLayer {
    pub union: LazyUnion,
    /// Of it while the rank's GPU is idle; in the scope of all, summed over ranks by the caller.
    pub exposed: Option<(Arc<Union>, Overlap)>,
}

type ScopedLayers = BTreeMap<LayerId, ScopedLayer>;

/// All unions by layer.
#[derive(Debug, Default)]
pub(in crate::analysis) struct LayerSets {
    pub owners: Vec<OwnedLayers>,
    pub ranks: Vec<ScopedLayers>,
    pub all: BTreeMap<LayerId, LazyUnion>,
    /// Index in the ranks, by lane.
    pub lane_rank: Vec<Option<usize>>,
}

impl LayerSets {
    pub fn new(
        core: &Core,
        ranks: &[Rank],
        gpus: &[Gpu],
        gpu_sets: &[GpuSets],
        watch: &Watch<'_>,
    ) -> Self {
        if watch.stopped() {
            return Self::default();
        }
        let lane_rank = lane_ranks(core, ranks);
        let owners = owners(core, &lane_rank, gpu_sets);
        let of_rank = |rank: usize| {
            let idle = ranks[rank].gpu.map(|g| &gpus[g].idle);
            scoped_layers(owners.iter().filter(|o| o.rank == Some(rank)), idle)
        };
        if watch.stopped() {
            return Self::default();
        }
        let by_rank: Vec<ScopedLayers> = (0..ranks.len()).into_par_iter().map(of_rank).collect();
        let all = by_layer(owners.iter()).into_par_iter();
        let all = all
            .map(|(layer, unions)| (layer, LazyUnion::new(unions)))
            .collect();
        Self {
            owners,
            ranks: by_rank,
            all,
            lane_rank,
        }
    }

    /// Adds all distinct unions: bytes and intervals by address.
    pub fn measure_memory(&self, seen: &mut BTreeMap<usize, (usize, usize)>) {
        let owned = self.owners.iter().flat_map(|o| o.sets.values());
        let layers = self.ranks.iter().flat_map(|w| w.values());
        let exposed = layers.filter_map(|w| w.exposed.as_ref().map(|e| &e.0));
        for union in owned.chain(exposed) {
            let at = Arc::as_ptr(union).addr();
            seen.insert(at, (union.heap_bytes(), union.parts().len()));
        }
    }

    /// Bytes of samples and prefix sums.
    pub fn samples_bytes(&self) -> usize {
        let layers = self.ranks.iter().flat_map(|w| w.values());
        let layers = layers
            .map(|w| w.union.heap_bytes() + w.exposed.as_ref().map_or(0, |e| e.1.heap_bytes()));
        layers
            .chain(self.all.values().map(LazyUnion::heap_bytes))
            .sum()
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
    let places = |i: usize| (ranks[i].rank, i);
    let by_number: FxHashMap<u32, usize> = (0..ranks.len()).map(places).collect();
    let with_gpu = |i: usize| Some((core.devices[ranks[i].gpu?], i));
    // Of several ranks on one GPU the first.
    let by_device: FxHashMap<DeviceId, usize> =
        (0..ranks.len()).rev().filter_map(with_gpu).collect();
    let of = |lane: LaneId| {
        if ranks.len() == 1 {
            return Some(0);
        }
        let device = trace.lane_device(lane);
        let by_gpu = device.and_then(|d| by_device.get(&d));
        by_gpu.or_else(|| by_number.get(&core.rank(lane)?)).copied()
    };
    trace.lane_ids().map(of).collect()
}

fn owners(core: &Core, lane_rank: &[Option<usize>], gpu_sets: &[GpuSets]) -> Vec<OwnedLayers> {
    let mut lanes: BTreeMap<(Owner, Option<usize>), Vec<LaneId>> = BTreeMap::new();
    for lane in core.trace.lane_ids() {
        let owner = match core.lane_gpu[lane.index()] {
            Some(gpu) => Owner::Gpu(gpu),
            None => Owner::Process(core.recorded_process(lane)),
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
            .map(|(layer, unions)| match owner {
                Owner::Gpu(g) if layer.is_operation() => {
                    (layer, Arc::clone(gpu_sets[*g].class(layer)))
                }
                _ => (layer, join(unions.into_iter())),
            })
            .collect();
        OwnedLayers {
            owner: *owner,
            rank: *rank,
            sets,
        }
    };
    lanes.par_iter().map(owned).collect()
}

fn by_layer<'a>(
    owners: impl Iterator<Item = &'a OwnedLayers>,
) -> BTreeMap<LayerId, Vec<Arc<Union>>> {
    let mut by: BTreeMap<LayerId, Vec<Arc<Union>>> = BTreeMap::new();
    for owner in owners {
        for (&layer, union) in &owner.sets {
            let list = by.entry(layer).or_default();
            if !union.is_empty() {
                list.push(Arc::clone(union));
            }
        }
    }
    by
}

fn scoped_layers<'a>(
    owners: impl Iterator<Item = &'a OwnedLayers>,
    idle: Option<&Union>,
) -> ScopedLayers {
    let scoped = |(layer, unions): (LayerId, Vec<Arc<Union>>)| {
        // GPU work is never exposed to the idle time of its own GPU.
        let exposed = idle.filter(|_| !layer.is_operation()).map(|idle| {
            let joined = join(unions.iter());
            let overlap = Overlap::new(&joined, idle);
            (joined, overlap)
        });
        let union = LazyUnion::new(match &exposed {
            Some((joined, _)) => vec![Arc::clone(joined)],
            None => unions,
        });
        (layer, ScopedLayer { union, exposed })
    };
    by_layer(owners).into_par_iter().map(scoped).collect()
}
