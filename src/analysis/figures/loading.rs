//! What loading costs per batch in a window: from the batches that workers made, from what the loop itself does in its
//! waits, else from items.

use crate::analysis::Analysis;
use crate::analysis::base::core::outermost;
use crate::analysis::base::layer_sets::Owner;
use crate::analysis::cause::parts::{Group, Part};
use crate::analysis::cause::wait::Level;
use crate::analysis::figures::judged::CycleRow;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::stats::percentile;
use crate::model::{LaneId, ProcessId, Role};
use crate::time::TimeRange;

/// A step waits when its wait is at least this share of it.
const WAITING: i64 = 20;

/// What loading costs. Times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::analysis) struct Loading {
    /// Batches loaded.
    pub batches: f64,
    /// L: recorded work on a batch, every moment once.
    pub load: f64,
    /// Of it reading.
    pub read: f64,
    /// h: from the end of a batch to the start of the worker's next, while the loop waits.
    pub handover: Option<f64>,
    /// A worker that is much slower than the others: its median batch.
    pub slow: Option<f64>,
    /// Putting items together is in the record, and so in L; else it is in h.
    pub collates: bool,
    /// The loop's waits stand in for the loading.
    pub from_waits: bool,
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "items per batch is a small number; a cost is no time of an event"
)]
impl Analysis {
    /// What loading costs in a window; `rows` are the judged steps, `all` how many steps the window has. `None` where
    /// nothing says it.
    pub(in crate::analysis) fn loading(
        &self,
        rank: usize,
        window: TimeRange,
        rows: &[&CycleRow],
        all: usize,
    ) -> Option<Loading> {
        let waiting = rows.iter().filter(waits).count();
        // Median if more than half of the steps wait, else the 10th percentile.
        let q = if 2 * waiting > rows.len() { 50 } else { 10 };
        let found = self
            .by_batches(rank, window, q)
            .or_else(|| self.by_the_loop(rank, window));
        if found.is_some() {
            return found;
        }
        let figures = self.workers(rank, window);
        if figures.rows.is_empty() && self.loads_by_itself(rank) {
            let sum: i64 = rows.iter().map(|s| s.wait.unwrap_or(0)).sum();
            return Some(Loading {
                batches: all as f64,
                load: sum as f64 / rows.len().max(1) as f64,
                from_waits: true,
                collates: true,
                ..Loading::default()
            });
        }
        let batches = self.batches_by_items(rank, window)?;
        Some(Loading {
            batches,
            load: figures.load_sum as f64 / batches,
            read: self.reading(rank, window) as f64 / batches,
            handover: self.handover_by_items(rank, window, q),
            ..Loading::default()
        })
    }

    /// From the batches that ended in the window.
    fn by_batches(&self, rank: usize, window: TimeRange, q: u32) -> Option<Loading> {
        let workers = &self.causes[rank].workers;
        let ended = |r: TimeRange| r.end > window.start && r.end <= window.end;
        let all = workers.iter().flat_map(|w| &w.batches);
        let made: Vec<_> = all.filter(|b| ended(b.range)).collect();
        let n = made.len() as f64;
        if made.is_empty() {
            return None;
        }
        let wait = &self.ranks[rank].wait;
        let mut gaps: Vec<i64> = Vec::new();
        for pair in workers.iter().flat_map(|w| w.batches.windows(2)) {
            let (end, next) = (pair[0].range.end, pair[1].range.start);
            if window.contains(end) && next >= end && wait.contains(end) {
                gaps.push(next - end);
            }
        }
        let slowest = self.why_waited(rank, window)?.totals.slowest;
        Some(Loading {
            batches: n,
            load: made.iter().map(|b| b.work()).sum::<i64>() as f64 / n,
            read: made.iter().map(|b| b.of(Group::Read)).sum::<i64>() as f64 / n,
            handover: percentile(&mut gaps, q).map(|g| g as f64),
            slow: slowest.map(|s| s.own as f64),
            collates: workers.iter().any(|w| w.collates),
            from_waits: false,
        })
    }

    /// From what a loop without workers does in its waits.
    fn by_the_loop(&self, rank: usize, window: TimeRange) -> Option<Loading> {
        let causes = &self.causes[rank];
        let own = causes.waits.iter().zip(&causes.ranges);
        let own: Vec<_> = own
            .filter(|(c, r)| c.made.is_some() && window.contains(r.start))
            .map(|(c, _)| c)
            .collect();
        if own.is_empty() || own.iter().any(|c| c.level != Some(Level::Loop)) {
            return None;
        }
        let is_work =
            |part: Part| !matches!(part.group(), Group::HandOver) && part != Part::Unnamed;
        let (mut load, mut read) = (0_i64, 0_i64);
        for (part, share) in own.iter().flat_map(|c| &c.parts.all) {
            if is_work(*part) {
                load += share.total();
            }
            if part.group() == Group::Read {
                read += share.total();
            }
        }
        let n = own.len() as f64;
        Some(Loading {
            batches: n,
            load: load as f64 / n,
            read: read as f64 / n,
            collates: true,
            ..Loading::default()
        })
    }

    /// Load spans per batch: all of them by all steps.
    fn items_per_batch(&self, rank: usize) -> Option<f64> {
        let lanes = self.rank_sets[rank].loaders.iter().flat_map(|l| &l.lanes);
        let items: usize = lanes.map(|&l| self.items(l).len()).sum();
        let steps = self.ranks[rank].steps.len();
        (items > 0 && steps > 0).then(|| items as f64 / steps as f64)
    }

    /// Outermost load spans of a lane.
    fn items(&self, lane: LaneId) -> Vec<TimeRange> {
        let spans = self.core.spans_of(lane, LayerId::LOAD);
        outermost(&spans).into_iter().map(|(_, r)| r).collect()
    }

    /// Batches whose load spans ended in a window.
    fn batches_by_items(&self, rank: usize, window: TimeRange) -> Option<f64> {
        let per_batch = self.items_per_batch(rank)?;
        let lanes = self.rank_sets[rank].loaders.iter().flat_map(|l| &l.lanes);
        let ended = |r: &TimeRange| r.end > window.start && r.end <= window.end;
        let items: usize = lanes
            .map(|&l| self.items(l).iter().filter(|r| ended(r)).count())
            .sum();
        Some(items as f64 / per_batch)
    }

    /// Reading inside loading, summed over processes, ns.
    fn reading(&self, rank: usize, window: TimeRange) -> i64 {
        let loaders = &self.rank_sets[rank].loaders;
        let read = |process: Option<ProcessId>| {
            let owner = Owner::Process(process);
            let owned = self.sets.owners.iter().filter(move |o| o.owner == owner);
            owned.filter_map(|o| o.sets.get(&LayerId::IO_READ))
        };
        loaders
            .iter()
            .map(|l| {
                read(l.process)
                    .map(|u| u.measure_common(&l.load, window))
                    .sum::<i64>()
            })
            .sum()
    }

    /// The gap on a worker's lane from the last load span of a batch to the first of the next, where it begins while the
    /// loop waits.
    fn handover_by_items(&self, rank: usize, window: TimeRange, q: u32) -> Option<f64> {
        let per_batch = self.items_per_batch(rank)?.round().max(1.0) as usize;
        let wait = &self.ranks[rank].wait;
        let mut gaps = Vec::new();
        let lanes = self.rank_sets[rank].loaders.iter().flat_map(|l| &l.lanes);
        for &lane in lanes.filter(|&&l| self.core.role(l) == Role::Worker) {
            let items = self.items(lane);
            for batch in (per_batch..items.len()).step_by(per_batch) {
                let (end, next) = (items[batch - 1].end, items[batch].start);
                if window.contains(end) && next >= end && wait.contains(end) {
                    gaps.push(next - end);
                }
            }
        }
        percentile(&mut gaps, q).map(|g| g as f64)
    }
}

fn waits(row: &&&CycleRow) -> bool {
    row.wait.is_some_and(|w| w * WAITING >= row.time())
}
