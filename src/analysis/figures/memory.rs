//! How much memory an analysis holds, by what it is for.

use std::collections::BTreeMap;

use crate::analysis::Analysis;
use crate::analysis::sums::intervals::Union;

/// Bytes held by an analysis, beside its trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Layers of spans: two bytes each.
    pub layers: usize,
    /// Intervals of all unions.
    pub intervals: usize,
    /// Bytes of the unions.
    pub unions: usize,
    /// Launch links.
    pub links: usize,
    /// Bytes per link: ranges, queues.
    pub link_bytes: usize,
    /// Counts by block, phases, rows.
    pub other: usize,
}

impl Memory {
    /// All of it, bytes.
    #[must_use]
    pub fn total(&self) -> usize {
        self.layers + self.unions + self.link_bytes + self.other
    }
}

impl Analysis {
    /// Bytes held. Shared unions count once.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let mut seen: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        self.sets.measure_memory(&mut seen);
        let shared = self.core.lanes.iter().flat_map(|l| &l.unions);
        let shared = shared.chain(self.gpu_sets.iter().flat_map(|s| &s.classes));
        for union in shared {
            let at = std::sync::Arc::as_ptr(union).addr();
            seen.insert(at, (union.heap_bytes(), union.parts().len()));
        }
        let mut memory = Memory::default();
        for (bytes, intervals) in seen.into_values() {
            memory.unions += bytes;
            memory.intervals += intervals;
        }
        self.own_unions(&mut |union: &Union| {
            memory.unions += union.heap_bytes();
            memory.intervals += union.parts().len();
        });
        memory.layers = self.core.layers.column().len() * 2;
        memory.links = self.core.launches.links(&self.core.trace).len();
        memory.link_bytes = self.core.launches.heap_bytes()
            + self.queues.iter().map(|q| q.heap_bytes()).sum::<usize>()
            + self
                .call_starts
                .iter()
                .map(|c| c.heap_bytes())
                .sum::<usize>();
        memory.other = self
            .core
            .lanes
            .iter()
            .map(|l| l.heap_bytes())
            .sum::<usize>()
            + self.phases.iter().map(|p| p.heap_bytes()).sum::<usize>()
            + self
                .gpu_sets
                .iter()
                .map(|s| s.causes.heap_bytes())
                .sum::<usize>()
            + self.loader_bytes()
            + self.names.get().map_or(0, |n| n.heap_bytes())
            + self.sets.samples_bytes()
            + self
                .idle_by_phase
                .iter()
                .flatten()
                .flat_map(|by| &by.overlaps)
                .map(|(_, o)| o.heap_bytes())
                .sum::<usize>()
            + self.waits.capacity() * size_of::<crate::analysis::Wait>()
            + self.tails.capacity() * size_of::<crate::analysis::Tail>()
            + self
                .step_rows
                .iter()
                .map(|r| r.capacity() * size_of::<crate::analysis::StepRow>())
                .sum::<usize>();
        memory
    }

    fn loader_bytes(&self) -> usize {
        let of = |s: &crate::analysis::base::rank_sets::RankSets| {
            let loaders = s
                .loaders
                .iter()
                .flat_map(|l| [&l.hidden, &l.exposed, &l.during_wait]);
            loaders
                .chain([&s.any_load_hidden])
                .map(crate::analysis::sums::overlap::Overlap::heap_bytes)
                .sum::<usize>()
        };
        self.rank_sets.iter().map(of).sum()
    }

    /// Unions that nothing shares.
    fn own_unions(&self, count: &mut dyn FnMut(&Union)) {
        for (gpu, s) in self.gpus.iter().zip(&self.gpu_sets) {
            count(&gpu.busy);
            count(&gpu.idle);
            let parts = [
                &s.memcpy,
                &s.comm_only,
                &s.memcpy_only,
                &s.memset_only,
                &s.h2d_exposed,
                &s.memcpy_in_compute,
            ];
            parts.into_iter().for_each(&mut *count);
        }
        for (rank, s) in self.ranks.iter().zip(&self.rank_sets) {
            let waits = [
                &rank.wait,
                &rank.wait_exposed,
                &rank.wait_hidden,
                &rank.wait_unrecorded,
            ];
            let own = [&s.compute, &s.sync, &s.any_load];
            waits
                .into_iter()
                .chain(own)
                .chain(s.phases.values())
                .for_each(&mut *count);
            s.loaders.iter().map(|l| &l.load).for_each(&mut *count);
        }
    }
}
