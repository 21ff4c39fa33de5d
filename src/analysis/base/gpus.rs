//! GPUs: busy and idle time, the record, classes of work, and why the GPU was idle.
//!
//! ```text
//! CPU   ├ call b ┤                             ├ call c ┤
//! GPU   ├── op a ──┤         ├── op b ──┤                  ├── op c ──┤
//!                  ├── gap ──┤          ├─────── gap ──────┤
//!                       │                       └ asked for after it began: `host`, the CPU was late
//!                       └ asked for before it began: `kernel` where it is short, else `other`, something held it
//! ```
//!
//! Of the operations that start at the end of a gap the earliest call counts. The record goes from the first operation to
//! the last one, and to the edges of the capture window where nothing can be missing there; outside it a GPU is *not
//! recorded*, never idle.

use std::sync::Arc;

use rayon::prelude::*;

use crate::analysis::base::core::{CallCursor, Core};
use crate::analysis::base::lost_work::{LostLaunches, LostWork, Overruns};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::{Union, merge};
use crate::analysis::sums::watch::Watch;
use crate::model::{DeviceId, LaneId, SpanId};
use crate::time::TimeRange;

/// Why a GPU was idle before its next operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GapCause {
    /// The CPU had not yet asked for the work.
    Host,
    /// The usual short time between two operations.
    Kernel,
    /// Asked for and not started: another stream, event, rank or engine held it.
    Other,
    /// No launch call is recorded, or nothing follows.
    Unknown,
}

impl GapCause {
    /// All causes, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Host, Self::Kernel, Self::Other, Self::Unknown];

    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Kernel => "kernel",
            Self::Other => "other",
            Self::Unknown => "unknown",
        }
    }
}

/// One GPU that has operations.
#[derive(Clone, Debug)]
pub struct Gpu {
    /// The device.
    pub device: DeviceId,
    /// Its key in reports: the number in the file, made unique where sources share numbers.
    pub key: String,
    /// Any operation runs (kernels, copies, memsets).
    pub busy: Union,
    /// Inside the record and not busy, as far as that is known.
    pub idle: Union,
    /// Inside the record, when work may have run that was launched and not recorded: neither busy nor idle.
    pub not_recorded: Union,
    /// Launches, and those without an operation.
    pub lost: LostLaunches,
    /// Operations whose end is not believed: they count as not recorded from their start to that of their successor.
    pub overruns: Overruns,
    /// Where the record tells whether the GPU worked; outside it the GPU is "not recorded", not idle.
    pub record: TimeRange,
}

/// Sets of one GPU from which its figures are measured.
#[derive(Debug, Default)]
pub(in crate::analysis) struct GpuSets {
    /// By class of operation: compute, comm, h2d, d2h, d2d, p2p, memset.
    pub classes: [Arc<Union>; 7],
    pub memcpy: Union,
    /// Communication without compute; copies without both; memsets without all of them.
    pub comm_only: Union,
    pub memcpy_only: Union,
    pub memset_only: Union,
    pub h2d_exposed: Union,
    pub memcpy_in_compute: Union,
    pub causes: Causes,
    /// The same by part of `idle`, where a call counts from its return on: only then the work was handed over.
    pub handed_over: Vec<GapCause>,
}

/// Parts per prefix sum of [`Causes`].
const BLOCK: usize = 64;

/// Causes of the parts of a GPU's `idle`, with sampled prefix sums.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Causes {
    of: Vec<GapCause>,
    /// Per block: idle time before it by cause, in the order of [`GapCause::ALL`].
    before: Vec<[i64; 4]>,
}

impl Causes {
    fn new(idle: &Union, of: Vec<GapCause>) -> Self {
        let mut sum = [0; 4];
        let mut before = Vec::with_capacity(of.len().div_ceil(BLOCK));
        for (i, (part, cause)) in idle.parts().iter().zip(&of).enumerate() {
            if i.is_multiple_of(BLOCK) {
                before.push(sum);
            }
            sum[*cause as usize] += part.len();
        }
        Self { of, before }
    }

    /// The cause of a part of `idle`.
    pub fn of(&self, part: usize) -> GapCause {
        self.of[part]
    }

    /// Idle time in a window by cause, in the order of [`GapCause::ALL`], ns.
    pub fn measure_in(&self, idle: &Union, window: TimeRange) -> [i64; 4] {
        if window.is_empty() {
            return [0; 4];
        }
        let until = |t: i64| {
            let parts = idle.parts();
            let n = parts.partition_point(|p| p.start <= t);
            let mut sum = [0; 4];
            if n > 0 {
                let block = (n - 1) / BLOCK;
                sum = self.before[block];
                for i in block * BLOCK..n {
                    sum[self.of[i] as usize] += parts[i].end.min(t) - parts[i].start;
                }
            }
            sum
        };
        let (a, b) = (until(window.start), until(window.end));
        std::array::from_fn(|i| b[i] - a[i])
    }

    pub fn heap_bytes(&self) -> usize {
        self.of.capacity() + self.before.capacity() * 32
    }
}

impl GpuSets {
    pub fn class(&self, layer: LayerId) -> &Arc<Union> {
        &self.classes[layer.index() - LayerId::GPU_COMPUTE.index()]
    }
}

/// The union of several unions.
pub(in crate::analysis) fn unite_all<'a>(unions: impl Iterator<Item = &'a Union>) -> Union {
    let filled: Vec<&Union> = unions.filter(|u| !u.is_empty()).collect();
    match filled[..] {
        [] => Union::empty(),
        [one] => one.clone(),
        [a, b] => a.unite(b),
        _ => Union::from_sorted(merge(filled.iter().map(|u| u.parts()).collect())),
    }
}

/// Unions, record, classes and gap causes of one GPU. `extent` is the time that its file and those of its processes have.
pub(in crate::analysis) fn build(
    core: &Core,
    (gpu, key): (usize, String),
    extent: TimeRange,
    lost: LostWork,
    kernel_gap: i64,
    watch: &Watch<'_>,
) -> (Gpu, GpuSets) {
    let device = core.devices[gpu];
    let lanes: Vec<LaneId> = core.gpu_lanes(gpu).collect();
    let ids = LayerId::GPU_COMPUTE.0..=LayerId::GPU_MEMSET.0;
    let classes: Vec<Arc<Union>> = ids
        .into_par_iter()
        .map(|id| {
            let layer = LayerId(id);
            if watch.stopped() {
                return Arc::default();
            }
            if !lost.overruns.ops.is_empty() {
                return Arc::new(believed(core, &lanes, layer, &lost.overruns.ops));
            }
            let mut found = lanes.iter().filter_map(|&l| core.index(l).union(layer));
            match (found.next(), found.next()) {
                (Some(one), None) => Arc::clone(one),
                _ => {
                    let all = lanes.iter().filter_map(|&l| core.index(l).union(layer));
                    Arc::new(unite_all(all.map(Arc::as_ref)))
                }
            }
        })
        .collect();
    let classes: [Arc<Union>; 7] = classes.try_into().unwrap_or_default();
    let busy = unite_all(classes.iter().map(Arc::as_ref));
    let [compute, comm, h2d, d2h, d2d, p2p, memset] = &classes;
    let memcpy = unite_all([h2d, d2h, d2d, p2p].into_iter().map(Arc::as_ref));
    let record = record(core, gpu, extent, &busy);
    let not_recorded = Union::new(lost.ranges).subtract(&busy).clip(record);
    let idle = Union::single(record)
        .subtract(&busy)
        .subtract(&not_recorded);
    let ((memcpy_only, h2d_exposed), (comm_only, memset_only)) = rayon::join(
        || {
            (
                memcpy.subtract(compute).subtract(comm),
                h2d.subtract(compute).subtract(comm),
            )
        },
        || {
            (
                comm.subtract(compute),
                memset.subtract(compute).subtract(comm).subtract(&memcpy),
            )
        },
    );
    let (asked, handed_over) = causes(core, &lanes, &busy, &idle, kernel_gap);
    let sets = GpuSets {
        memcpy_in_compute: memcpy.intersect(compute),
        memcpy,
        comm_only,
        memcpy_only,
        memset_only,
        h2d_exposed,
        causes: Causes::new(&idle, asked),
        handed_over,
        classes,
    };
    let gpu = Gpu {
        device,
        key,
        busy,
        idle,
        not_recorded,
        lost: lost.launches,
        overruns: lost.overruns,
        record,
    };
    (gpu, sets)
}

/// The union of a class of operations without those whose end is not believed.
fn believed(core: &Core, lanes: &[LaneId], layer: LayerId, distrusted: &[SpanId]) -> Union {
    let of_lane = |&lane: &LaneId| core.spans_of(lane, layer);
    let spans = lanes.iter().flat_map(of_lane);
    let believed = spans.filter(|(span, _)| distrusted.binary_search(span).is_err());
    Union::new(believed.map(|(_, range)| range).collect())
}

/// Hull of the operations, widened to the capture window of the file on a side where nothing can be missing.
fn record(core: &Core, gpu: usize, extent: TimeRange, busy: &Union) -> TimeRange {
    let Some(mut record) = busy.hull() else {
        return TimeRange::default();
    };
    let source = core.trace.device(core.devices[gpu]).source;
    let Some(capture) = core.trace.source(source).capture else {
        return record;
    };
    // What the files of its processes have nothing of is not recorded, whatever else is opened beside them.
    let capture = capture.clip(extent);
    // Head: recorders keep every operation that starts in the window. Work that was queued before it would show as an
    // operation without a launch.
    let first = core.gpu_lanes(gpu).filter_map(|lane| {
        let columns = core.columns(lane);
        let i = (0..columns.len()).find(|&i| columns.of[i].is_operation())?;
        // Of equal starts the shortest, as the first to end.
        let same = (i..columns.len()).take_while(|&j| columns.starts[j] == columns.starts[i]);
        let j = same
            .filter(|&j| columns.of[j].is_operation())
            .min_by_key(|&j| columns.durs[j])?;
        let r = columns.range(j);
        Some((r.start, r.end, columns.id(j)))
    });
    let first = first.min_by_key(|&(start, end, _)| (start, end));
    if first.is_some_and(|(_, _, op)| core.trace.launch_of(op).is_some()) {
        record.start = record.start.min(capture.start);
    }
    // Tail: operations that still run at the end of the window are dropped. An unmatched launch there means unknown.
    let last = core.launches.last_call(gpu);
    if let Some(last) = last
        && !core.launches.open_after(source, last)
    {
        record.end = record.end.max(capture.end);
    }
    record
}

/// The cause of each idle part, from the launch calls of the operations that start at its end: by the earliest start of
/// one, and by the earliest return.
fn causes(
    core: &Core,
    lanes: &[LaneId],
    busy: &Union,
    idle: &Union,
    kernel_gap: i64,
) -> (Vec<GapCause>, Vec<GapCause>) {
    const NONE: i64 = i64::MAX;
    let gaps = idle.parts();
    // (earliest start, earliest end) of the calls.
    let mut asked = vec![(NONE, NONE); gaps.len()];
    let spans = core.trace.spans();
    for &lane in lanes {
        let columns = core.columns(lane);
        let mut calls = CallCursor::new(core, SpanId(columns.first));
        let mut g = 0;
        for i in 0..columns.len() {
            if columns.durs[i] == 0 || !columns.of[i].is_operation() {
                continue;
            }
            let start = columns.starts[i];
            while g < gaps.len() && gaps[g].end < start {
                g += 1;
            }
            if g == gaps.len() {
                break;
            }
            if gaps[g].end == start
                && let Some(call) = calls.call(columns.id(i))
            {
                let call = spans.range(call);
                let (from, until) = asked[g];
                asked[g] = (from.min(call.start), until.min(call.end));
            }
        }
    }
    let end = busy.hull().map_or(i64::MAX, |h| h.end);
    let cause = |gap: &TimeRange, asked: i64| {
        if gap.end > end || asked == NONE {
            GapCause::Unknown
        } else if asked > gap.start {
            GapCause::Host
        } else if gap.len() <= kernel_gap {
            GapCause::Kernel
        } else {
            GapCause::Other
        }
    };
    gaps.iter()
        .zip(asked)
        .map(|(gap, (from, until))| (cause(gap, from), cause(gap, until)))
        .unzip()
}
