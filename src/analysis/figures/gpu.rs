//! Figures of one GPU in a window: busy, idle, record, partition, exposed communication and copies, gaps.

use crate::analysis::Analysis;
use crate::analysis::base::gpus::GapCause;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::overlap::Overlap;
use crate::analysis::sums::stats::ratio;
use crate::model::SpanId;
use crate::time::TimeRange;

/// Every nanosecond of a window in one class, by priority compute > comm > memcpy > memset > not recorded > idle >
/// edge. All ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// A kernel that is not communication runs.
    pub compute: i64,
    /// Communication without compute.
    pub comm: i64,
    /// Copies without both.
    pub memcpy: i64,
    /// Memsets without all of them.
    pub memset: i64,
    /// Inside the record, work may run that was launched and not recorded.
    pub not_recorded: i64,
    /// Inside the record, nothing runs.
    pub idle: i64,
    /// Outside the record.
    pub edge: i64,
}

/// Figures of one GPU in a window. Times in ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuFigures {
    /// The window.
    pub window: TimeRange,
    /// Any operation runs.
    pub busy: i64,
    /// Inside the record, none runs.
    pub idle: i64,
    /// Inside the record, work may run that was launched and not recorded: neither busy nor idle.
    pub not_recorded: i64,
    /// Outside the record.
    pub edge: i64,
    /// Operations that start in the window.
    pub n_ops: u64,
    /// Clipped durations of all operations: concurrent ones count twice. Only for "how much work".
    pub sum_of_durations: i64,
    /// Union by class: compute, comm, h2d, d2h, d2d, p2p, memset.
    pub classes: [i64; 7],
    /// Adds up to the window.
    pub partition: Partition,
    /// Union of communication.
    pub comm: i64,
    /// Of it not covered by compute.
    pub exposed_comm: i64,
    /// Union of copies.
    pub memcpy: i64,
    /// Of it not covered by compute or communication.
    pub exposed_memcpy: i64,
    /// Of it covered by compute.
    pub memcpy_in_compute: i64,
    /// Host-to-device copies not covered by compute or communication.
    pub exposed_h2d: i64,
    /// Idle time by cause, in the order of [`GapCause::ALL`]; adds up to `idle`.
    pub by_cause: [i64; 4],
    /// Idle time by what the loop's thread was doing, `None` where no phase; adds up to `idle`. `None` without a loop.
    pub idle_by_phase: Option<Vec<(Option<LayerId>, i64)>>,
}

impl GpuFigures {
    /// busy / window.
    #[must_use]
    pub fn busy_share(&self) -> Option<f64> {
        ratio(self.busy, self.window.len())
    }
    /// busy / window, if all that was launched and not recorded ran whenever it may have: the most that it can be.
    #[must_use]
    pub fn busy_share_at_most(&self) -> Option<f64> {
        ratio(self.busy + self.not_recorded, self.window.len())
    }
    /// busy / record inside the window.
    #[must_use]
    pub fn util(&self) -> Option<f64> {
        let known = self.window.len() - self.edge - self.not_recorded;
        ratio(self.busy, known)
    }
    /// Share of communication that is covered by compute.
    #[must_use]
    pub fn comm_overlap(&self) -> Option<f64> {
        ratio(self.comm - self.exposed_comm, self.comm)
    }
    /// Share of copies that is covered by compute.
    #[must_use]
    pub fn memcpy_overlap(&self) -> Option<f64> {
        ratio(self.memcpy_in_compute, self.memcpy)
    }
}

/// An idle gap of a GPU, unclipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// When.
    pub range: TimeRange,
    /// Why.
    pub cause: GapCause,
    /// Its place in the GPU's idle parts.
    pub index: usize,
}

impl Analysis {
    /// Figures of a GPU (index in [`Analysis::gpus`]) in a window: O(log n).
    ///
    /// # Panics
    /// If there is no such GPU.
    #[must_use]
    pub fn gpu_figures(&self, gpu: usize, window: TimeRange) -> GpuFigures {
        let window = TimeRange::new(window.start, window.end);
        let (g, sets) = (&self.gpus[gpu], &self.gpu_sets[gpu]);
        let m = |u: &Union| u.measure_in(window);
        let classes: [i64; 7] = std::array::from_fn(|i| m(&sets.classes[i]));
        let edge = window.len() - g.record.clip(window).len();
        let idle = m(&g.idle);
        let not_recorded = m(&g.not_recorded);
        let partition = Partition {
            compute: classes[0],
            comm: m(&sets.comm_only),
            memcpy: m(&sets.memcpy_only),
            memset: m(&sets.memset_only),
            not_recorded,
            idle,
            edge,
        };
        let (n_ops, sum_of_durations) = self.operations_in(gpu, window);
        GpuFigures {
            window,
            busy: m(&g.busy),
            idle,
            not_recorded,
            edge,
            n_ops,
            sum_of_durations,
            classes,
            partition,
            comm: classes[1],
            exposed_comm: partition.comm,
            memcpy: m(&sets.memcpy),
            exposed_memcpy: partition.memcpy,
            memcpy_in_compute: m(&sets.memcpy_in_compute),
            exposed_h2d: m(&sets.h2d_exposed),
            by_cause: sets.causes.measure_in(&g.idle, window),
            idle_by_phase: self.idle_by_phase[gpu].as_ref().map(|by| {
                let phases = &self.rank_sets[by.rank].phases;
                let time =
                    |(l, o): &(LayerId, Overlap)| (*l, o.measure_in(&phases[l], &g.idle, window));
                split_by_phase(by.overlaps.iter().map(time), idle)
            }),
        }
    }

    /// Operations that start in the window, and clipped durations of all that touch it.
    fn operations_in(&self, gpu: usize, window: TimeRange) -> (u64, i64) {
        let (mut n, mut sum) = (0, 0_i64);
        for lane in self.core.gpu_lanes(gpu) {
            let columns = self.core.columns(lane);
            let index = self.core.index(lane);
            let started = self.core.started(lane, window, LayerId::is_operation);
            n += started.count;
            sum = sum.saturating_add(started.whole);
            if window.is_empty() {
                continue;
            }
            index.open_at(&columns, window.start, |i| {
                if columns.of[i].is_operation() {
                    sum = sum.saturating_add(columns.range(i).clip(window).len());
                }
            });
            index.open_at(&columns, window.end, |i| {
                let r = columns.range(i);
                if columns.of[i].is_operation() && r.start >= window.start {
                    sum -= r.end - window.end;
                }
            });
        }
        (n, sum)
    }

    /// Idle gaps of a GPU that reach into the window, by start.
    pub fn gaps(&self, gpu: usize, window: TimeRange) -> impl ExactSizeIterator<Item = Gap> + '_ {
        let idle = &self.gpus[gpu].idle;
        let causes = &self.gpu_sets[gpu].causes;
        let first = idle.parts().partition_point(|p| p.end <= window.start);
        idle.parts_in(window)
            .iter()
            .enumerate()
            .map(move |(i, &range)| Gap {
                range,
                cause: causes.of(first + i),
                index: first + i,
            })
    }

    /// The operation that ends a gap: one that starts at its end and is not empty.
    #[must_use]
    pub fn after_gap(&self, gpu: usize, gap: &Gap) -> Option<SpanId> {
        self.operation_at(gpu, gap.range.end)
    }

    /// An operation of a GPU that starts at an instant and is not empty.
    pub(in crate::analysis) fn operation_at(&self, gpu: usize, start: i64) -> Option<SpanId> {
        self.core.gpu_lanes(gpu).find_map(|lane| {
            let columns = self.core.columns(lane);
            let i = columns.starts.partition_point(|&s| s < start);
            let mut same = (i..columns.len()).take_while(|&k| columns.starts[k] == start);
            same.find(|&k| columns.of[k].is_operation() && columns.durs[k] > 0)
                .map(|k| columns.id(k))
        })
    }
}

/// Time by phase, of those that occur; the rest of `total` has none.
pub(in crate::analysis) fn split_by_phase(
    by: impl Iterator<Item = (LayerId, i64)>,
    total: i64,
) -> Vec<(Option<LayerId>, i64)> {
    let mut rest = total;
    let mut out = Vec::new();
    for (layer, time) in by {
        rest -= time;
        if time > 0 {
            out.push((Some(layer), time));
        }
    }
    if rest > 0 {
        out.push((None, rest));
    }
    out
}
