//! How much memory of each device was in use.

use crate::analysis::Analysis;
use crate::model::{Counter, Measure};
use crate::time::TimeRange;

/// The memory of one device in a window, as one process sees it: bytes, and the time in ns at which it first was so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    /// `GPU 0`, `CPU`.
    pub device: String,
    /// Distributed rank, where it is known.
    pub rank: Option<u32>,
    /// The most that was allocated, and when.
    pub allocated: Option<(i64, i64)>,
    /// The most that the allocator had reserved.
    pub reserved: Option<(i64, i64)>,
    /// The most that was allocated more than when the record began, where the record does not say how much that was.
    pub growth: Option<(i64, i64)>,
    /// Allocations and releases in the window.
    pub changes: u64,
}

/// The largest value that holds at any time of a window, and since when: the first of equals.
fn peak(counter: &Counter, window: TimeRange) -> Option<(i64, i64)> {
    let from = counter.times.partition_point(|&t| t < window.start);
    let to = counter.times.partition_point(|&t| t < window.end);
    let mut best: Option<(i64, i64)> = None;
    // What was so before holds on, unless it changes as the window begins.
    let changes = counter.times.get(from) == Some(&window.start);
    let first = if changes {
        from
    } else {
        from.saturating_sub(1)
    };
    for i in first..to {
        let value = counter.values[i] as i64;
        if best.is_none_or(|(most, _)| value > most) {
            best = Some((value, counter.times[i].max(window.start)));
        }
    }
    best
}

impl Analysis {
    /// Memory of each device in a window, as far as it is recorded; of one rank (by its number) or of all. Costs what
    /// was allocated in it.
    #[must_use]
    pub fn device_memory(&self, window: TimeRange, rank: Option<u32>) -> Vec<DeviceMemory> {
        let trace = &self.core.trace;
        let of_rank = |c: &Counter| self.core.identity.rank_of(c.source, c.process);
        let mut out = Vec::new();
        for counter in trace.counters() {
            let is_total = matches!(counter.measure, Measure::Allocated | Measure::Growth);
            let own = of_rank(counter);
            if !is_total || rank.is_some_and(|r| own != Some(r)) || window.is_empty() {
                continue;
            }
            let most = peak(counter, window);
            let (allocated, growth) = match counter.measure {
                Measure::Allocated => (most, None),
                _ => (None, most),
            };
            let reserved = trace.reserved_beside(counter);
            let before = |t: i64| counter.times.partition_point(|&at| at < t);
            out.push(DeviceMemory {
                device: device(&counter.name).to_owned(),
                rank: own,
                allocated,
                reserved: reserved.and_then(|i| peak(&trace.counters()[i], window)),
                growth,
                changes: (before(window.end) - before(window.start)) as u64,
            });
        }
        out
    }
}

/// The device in the name of a track: `GPU memory, GPU 0`, `CPU memory`.
fn device(track: &str) -> &str {
    let (name, device) = track.rsplit_once(", ").unwrap_or(("", track));
    match name {
        "" => device.trim_end_matches(" memory"),
        _ => device,
    }
}
