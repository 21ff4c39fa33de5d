//! Smaller answers about single places: what workers did during a wait, whether a step synchronises, where forward and
//! backward are when nobody named them.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::Analysis;
use crate::analysis::base::core::Core;
use crate::analysis::base::loops::{Rank, Wait};
use crate::analysis::base::rank_sets::{Loader, RankSets};
use crate::analysis::layers::ids::{LayerClass, LayerId};
use crate::analysis::sums::intervals::Union;
use crate::model::{LaneId, NameId, Role};
use crate::time::TimeRange;

/// From this queue depth on the launch queue is full, and the CPU waits inside launch calls.
pub const QUEUE_FULL: u64 = 1_000;

/// Loading work during an interval, usually a wait. Times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadingDuring {
    /// Processes that loaded.
    pub busy: usize,
    /// Processes that load at any time.
    pub of: usize,
    /// At least one loaded.
    pub any: i64,
    /// Summed over processes.
    pub sum: i64,
}

/// A wait for a batch, and the loading work meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitRow {
    /// Index in [`Analysis::waits`].
    pub index: usize,
    /// The wait.
    pub wait: Wait,
    /// Loading work during it.
    pub loading: LoadingDuring,
}

/// Forward and backward of a step that names neither: guessed from ops and from the autograd threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InferredPasses {
    /// From the end of fetch and copy to the start of backward, where ops ran; `None` where none did.
    pub forward: Option<TimeRange>,
    /// The autograd threads' nodes, from the first to the last.
    pub backward: TimeRange,
}

/// Names are told as the content of waits from one part in so many on.
const TOLD: i64 = 20;

/// See [`Analysis::loads_by_itself`].
pub(in crate::analysis) fn loads_by_itself(core: &Core, rank: &Rank, sets: &RankSets) -> bool {
    let Some(lane) = rank.loop_lane else {
        return false;
    };
    let columns = core.columns(lane);
    let spans = core.trace.spans();
    let fetches = (0..columns.len()).filter(|&i| columns.of[i] == LayerId::FETCH);
    let names: BTreeSet<NameId> = fetches.map(|i| spans.name(columns.id(i))).collect();
    let says = |what: &str| {
        let mut names = names.iter();
        names.any(|&n| core.trace.name(n).contains(what))
    };
    if says("_MultiProcessingDataLoaderIter") {
        return false;
    }
    let process = core.process_of(lane);
    let own = |l: &Loader| {
        let worker = |&l: &LaneId| core.role(l) == Role::Worker;
        l.process == process && !l.lanes.iter().any(worker)
    };
    says("_SingleProcessDataLoaderIter") || !sets.loaders.is_empty() && sets.loaders.iter().all(own)
}

impl Analysis {
    /// Whether the loop of a rank loads its own batches (`num_workers=0`): its iterator says so, or all loading work lies
    /// in its own process.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn loads_by_itself(&self, rank: usize) -> bool {
        self.loads_by_itself[rank]
    }

    /// What the loop's thread of a rank ran inside its waits for data, as far as the waits lie in `within`: self time by
    /// name, ns, the largest first; at most `most`, and only what takes a twentieth of the waits.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn inside_waits(&self, rank: usize, within: &Union, most: usize) -> Vec<(NameId, i64)> {
        let Some(lane) = self.ranks[rank].loop_lane else {
            return Vec::new();
        };
        let columns = self.core.columns(lane);
        let spans = self.core.trace.spans();
        let waits = self.ranks[rank].wait.intersect(within);
        let infos = self.core.layers.infos();
        let tells = |layer: LayerId| {
            let class = infos[layer.index()].class;
            layer != LayerId::FETCH && layer != LayerId::RECORDER && class != LayerClass::Container
        };
        let mut by: BTreeMap<NameId, i64> = BTreeMap::new();
        // (end, name) of what is open, the innermost last.
        let mut open: Vec<(i64, NameId)> = Vec::new();
        for wait in waits.parts() {
            open.clear();
            let (a, b) = columns.start_range(*wait);
            for i in (a..b).filter(|&i| tells(columns.of[i])) {
                let span = columns.range(i).clip(*wait);
                while open.last().is_some_and(|o| o.0 <= span.start) {
                    open.pop();
                }
                if let Some(&(end, outer)) = open.last() {
                    *by.entry(outer).or_default() -= span.end.min(end) - span.start;
                }
                let name = spans.name(columns.id(i));
                *by.entry(name).or_default() += span.len();
                open.push((span.end, name));
            }
        }
        let least = waits.measure() / TOLD;
        let mut by: Vec<(NameId, i64)> = by.into_iter().filter(|n| n.1 > least).collect();
        by.sort_by_key(|&(name, ns)| (std::cmp::Reverse(ns), name));
        by.truncate(most);
        by
    }

    /// What the loaders of a rank did in an interval.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn loading_during(&self, rank: usize, range: TimeRange) -> LoadingDuring {
        let sets = &self.rank_sets[rank];
        let times: Vec<i64> = sets
            .loaders
            .iter()
            .map(|l| l.load.measure_in(range))
            .collect();
        LoadingDuring {
            busy: times.iter().filter(|&&t| t > 0).count(),
            of: times.len(),
            any: sets.any_load.measure_in(range),
            sum: times.iter().sum(),
        }
    }

    /// Waits for a batch, of one rank (by its index) or of all, by start.
    #[must_use]
    pub fn wait_rows(&self, rank: Option<usize>) -> Vec<WaitRow> {
        let all = self.waits.iter().enumerate();
        let own = all.filter(|(_, w)| rank.is_none_or(|r| r == w.rank));
        let row = |(index, wait): (usize, &Wait)| WaitRow {
            index,
            wait: wait.clone(),
            loading: self.loading_during(wait.rank, wait.range),
        };
        own.map(row).collect()
    }

    /// Whether a step of a rank blocks on the GPU: a synchronising call in it waited for operations. `None` without GPU
    /// operations: then it is unknown.
    ///
    /// # Panics
    /// If there is no such rank or step.
    #[must_use]
    pub fn step_synchronises(&self, rank: usize, step: usize) -> Option<bool> {
        let r = &self.ranks[rank];
        let (lane, _) = (r.loop_lane?, r.gpu?);
        let columns = self.core.columns(lane);
        let (a, b) = columns.start_range(r.steps[step].range);
        let base = self.sync_base();
        let mut calls = (a..b)
            .filter(|&i| columns.of[i] == LayerId::SYNC)
            .map(|i| columns.id(i));
        Some(calls.any(|call| base.absorbs(call)))
    }

    /// Forward and backward of a step, guessed for display, where the loop's thread names no backward.
    ///
    /// # Panics
    /// If there is no such rank or step.
    #[must_use]
    pub fn inferred_passes(&self, rank: usize, step: usize) -> Option<InferredPasses> {
        let (r, sets) = (&self.ranks[rank], &self.rank_sets[rank]);
        let (lane, range) = (r.loop_lane?, r.steps[step].range);
        let named = |l| {
            sets.phases
                .get(&l)
                .map_or(0, |u: &Union| u.measure_in(range))
                > 0
        };
        if named(LayerId::BACKWARD) {
            return None;
        }
        let siblings = self.core.siblings(lane).into_iter();
        let engines = siblings.filter(|&l| self.core.autograd[l.index()]);
        let mut nodes: Option<TimeRange> = None;
        for engine in engines {
            let columns = self.core.columns(engine);
            let (a, b) = columns.start_range(range);
            for i in (a..b).filter(|&i| columns.of[i] == LayerId::BACKWARD) {
                let node = columns.range(i);
                nodes = Some(nodes.map_or(node, |n| TimeRange {
                    start: n.start.min(node.start),
                    end: n.end.max(node.end),
                }));
            }
        }
        let backward = nodes?.clip(range);
        let before = TimeRange::new(range.start, backward.start);
        let ends = [LayerId::FETCH, LayerId::H2D].into_iter().filter_map(|l| {
            let parts = sets.phases.get(&l)?.parts_in(before);
            parts.last().map(|p| p.end)
        });
        let start = ends.max().unwrap_or(range.start);
        let forward = TimeRange::new(start, backward.start);
        let columns = self.core.columns(lane);
        let (a, b) = columns.start_range(forward);
        let ops = (a..b).any(|i| columns.of[i] == LayerId::OP);
        Some(InferredPasses {
            forward: (ops && !forward.is_empty() && !named(LayerId::FORWARD)).then_some(forward),
            backward,
        })
    }
}
