//! What a rank is judged by: its steps in a window, which of them are judged, and sums over those.

use std::cmp::Reverse;

use crate::analysis::Analysis;
use crate::analysis::figures::step_table::{StepRow, steady};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::{percentile, ratio};
use crate::analysis::verdict::issue::{Burst, SteadyGpu};
use crate::time::TimeRange;

/// What a rank is judged by.
pub(in crate::analysis) struct Facts<'a> {
    pub rank: usize,
    pub window: TimeRange,
    pub rows: Vec<&'a StepRow>,
    pub steady: Vec<&'a StepRow>,
    pub filtered: bool,
    /// Σ time of steady steps.
    pub total: i64,
    pub gpu: Option<usize>,
    pub sums: Option<SteadyGpu>,
    pub set: Union,
}

impl Analysis {
    pub(in crate::analysis) fn facts(&self, rank: usize, window: TimeRange) -> (Facts<'_>, usize) {
        let (rows, partial) = self.step_rows(rank, window);
        let (steady, filtered) = steady(&rows);
        let set = Union::new(steady.iter().map(|r| r.range).collect());
        let gpu = self.ranks[rank].gpu;
        let sums = gpu
            .filter(|_| !rows.is_empty())
            .map(|g| self.steady_gpu(rank, g, &set));
        let facts = Facts {
            rank,
            window,
            total: steady.iter().map(|r| r.time()).sum(),
            rows,
            steady,
            filtered,
            gpu,
            sums,
            set,
        };
        (facts, partial)
    }

    fn steady_gpu(&self, rank: usize, gpu: usize, set: &Union) -> SteadyGpu {
        let (sets, gpu_sets) = (&self.rank_sets[rank], &self.gpu_sets[gpu]);
        let m = |u: &Union| set.parts().iter().map(|p| u.measure_in(*p)).sum();
        let mut causes = [0; 4];
        for part in set.parts() {
            let idle = gpu_sets.causes.measure_in(&self.gpus[gpu].idle, *part);
            for (i, sum) in causes.iter_mut().enumerate() {
                *sum += idle[i] - sets.excused[i].measure_in(*part);
            }
        }
        let [host_idle, _, other_idle, unknown_idle] = causes;
        SteadyGpu {
            exposed_comm: m(&gpu_sets.comm_only),
            exposed_h2d: m(&gpu_sets.h2d_exposed),
            bubble: m(&sets.bubble),
            host_idle,
            other_idle,
            unknown_idle,
            compute: m(gpu_sets.class(LayerId::GPU_COMPUTE)),
        }
    }
}

/// Whether a quarter of the steps holds most of the waiting.
pub(in crate::analysis) fn burst(rows: &[&StepRow]) -> Burst {
    let mut waits: Vec<i64> = rows.iter().map(|r| r.wait.unwrap_or(0)).collect();
    waits.sort_unstable_by_key(|&w| Reverse(w));
    let sum: i64 = waits.iter().sum();
    let top = waits.len().div_ceil(4).max(1);
    let held = waits.iter().take(top).sum();
    let share = ratio(held, sum.max(1)).unwrap_or(0.0);
    let of = waits.len();
    let median = percentile(&mut waits, 50).unwrap_or(0);
    // median < mean / 2
    let uneven = 2 * i128::from(median) * (of as i128) < i128::from(sum);
    Burst {
        bursty: share >= 0.75 && uneven,
        top,
        of,
        share,
    }
}
