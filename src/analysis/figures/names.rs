//! Which names take the time in a window.

use std::cmp::Reverse;

use rayon::prelude::*;

use crate::analysis::Analysis;
use crate::analysis::base::name_index::{NameIndex, Sums, all_sums};
use crate::analysis::figures::selection::Scope;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::percentile;
use crate::model::{LaneId, NameId, SpanId};
use crate::time::TimeRange;

/// A slot, its name and layer, and what they take.
type Found<'a> = ((usize, &'a (NameId, LayerId)), &'a Sums);

/// The spans of one name and layer that touch a window. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameTime {
    /// The name.
    pub name: NameId,
    /// What they are for.
    pub layer: LayerId,
    /// Their lengths inside the window, summed: spans of several lanes, or in each other, count each.
    pub total: i64,
    /// That without their direct children: the spans of the same lane that lie in them and in nothing between. A span
    /// lies in the last earlier one of its lane that ends no earlier.
    pub own: i64,
    /// How many.
    pub count: u64,
    /// Their whole lengths, summed.
    pub whole: i64,
    /// 95th percentile of their whole lengths.
    pub p95: i64,
    /// Whole length of the longest.
    pub max: i64,
    /// Of `total`, while the GPU of their own rank had nothing to do. Unknown without one; GPU work has none.
    pub gpu_idle: Option<i64>,
    /// The longest, the first of equals.
    pub longest: SpanId,
    /// `own` of all names of the layer.
    pub layer_own: i64,
}

impl NameTime {
    /// Mean whole length, ns, rounded half up.
    #[must_use]
    pub fn mean(&self) -> Option<i64> {
        let n = i64::try_from(self.count).ok().filter(|n| *n > 0)?;
        Some(self.whole.saturating_add(n / 2).div_euclid(n))
    }
}

impl Analysis {
    /// When the GPU of a lane's rank was idle; `None` for GPU work itself, and where no GPU is recorded.
    fn idle_of_lane(&self, lane: LaneId) -> Option<&Union> {
        if self.core.lane_gpu[lane.index()].is_some() {
            return None;
        }
        let rank = self.sets.lane_rank[lane.index()]?;
        Some(&self.gpus[self.ranks[rank].gpu?].idle)
    }

    /// The names of the spans that touch a window, most own time first; rows about the recording itself are left out.
    /// What two recorders have of one thread counts once. The first call indexes the trace; then a call costs a few
    /// nanoseconds for each span in the window, nearly all for the percentiles: not for the thread that draws.
    #[must_use]
    pub fn names(&self, window: TimeRange, scope: Scope) -> Vec<NameTime> {
        let core = &self.core;
        let idle = |lane: LaneId| self.idle_of_lane(lane);
        let index = self.names.get_or_init(|| NameIndex::new(core, &idle));
        let lanes: Vec<LaneId> = core.trace.lane_ids().collect();
        let lanes: Vec<LaneId> = lanes
            .into_iter()
            .filter(|&l| self.in_scope(l, scope))
            .collect();
        let parts = index.parts(core, &idle, &lanes, window);
        let sums = all_sums(index.keys(), &parts);
        let mut of_layer = vec![0_i64; core.layers.infos().len()];
        let found = (0..).zip(index.keys().all()).zip(&sums);
        let found: Vec<Found<'_>> = found
            .filter(|((_, key), sums)| sums.count > 0 && key.1 != LayerId::RECORDER)
            .collect();
        for ((_, key), sums) in &found {
            let all = &mut of_layer[key.1.index()];
            *all = all.saturating_add(sums.own);
        }
        let row = |((slot, &(name, layer)), sums): Found<'_>| {
            let (max, longest) = sums.longest?;
            let mut lengths = Vec::with_capacity(usize::try_from(sums.count).unwrap_or(0));
            parts
                .iter()
                .for_each(|part| part.add_lengths(slot, &mut lengths));
            Some(NameTime {
                name,
                layer,
                total: sums.total,
                own: sums.own,
                count: sums.count,
                whole: sums.whole,
                p95: percentile(&mut lengths, 95)?,
                max,
                gpu_idle: (sums.idle_known && !layer.is_operation()).then_some(sums.idle),
                longest,
                layer_own: of_layer[layer.index()],
            })
        };
        let mut rows: Vec<NameTime> = found.into_par_iter().filter_map(row).collect();
        rows.sort_unstable_by_key(|r| (Reverse(r.own), r.layer, r.name));
        rows
    }
}
