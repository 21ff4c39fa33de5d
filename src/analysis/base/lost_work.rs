//! GPU work of which is known that it was launched, and not when it ran: launches without a recorded operation, and
//! operations whose recorded end cannot be true.
//!
//! ```text
//! CPU    ├ launch a ┤  ├ launch b ┤            ├ launch c ┤        ├── synchronise ──┤
//! GPU          ├─ a ─┤                               ├─ c ─┤
//!                      ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░                                      b: until c starts behind it
//!                      └─ not recorded ─────────────┘                                          on the stream, or a wait ends
//! ```
//!
//! Between a lost launch and the first proof that its work had ended the GPU may have worked: that time is neither busy
//! nor idle. Operations of one stream run in order: one that seems to end well after its successor began ended by then at
//! the latest.

use std::collections::BTreeMap;

use crate::analysis::base::core::{CallCursor, Core};
use crate::analysis::base::name_kinds::NameKind;
use crate::analysis::layers::ids::LayerId;
use crate::model::{LaneId, SpanId, SyncScope};
use crate::time::TimeRange;

/// An operation may end so much after its successor began, ns, or a tenth of its length: stamps are that far off.
const JITTER: i64 = 100_000;

/// Operations behind one of which is asked whether they overlap it: far more than ever do.
const NEAR: usize = 64;

/// Calls that launch kernels, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostLaunches {
    /// Launches of graphs without an operation.
    pub graph: usize,
    /// Launches of kernels without an operation.
    pub kernel: usize,
    /// All launches of graphs.
    pub calls_graph: usize,
    /// All launches of kernels.
    pub calls_kernel: usize,
}

impl LostLaunches {
    /// All lost ones.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.graph + self.kernel
    }

    fn call(&mut self, kind: NameKind) {
        match kind {
            NameKind::GraphLaunch => self.calls_graph += 1,
            _ => self.calls_kernel += 1,
        }
    }

    fn lose(&mut self, kind: NameKind) {
        match kind {
            NameKind::GraphLaunch => self.graph += 1,
            _ => self.kernel += 1,
        }
    }
}

/// Operations of one stream that overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overruns {
    /// Those whose end is not believed, ascending.
    pub ops: Vec<SpanId>,
    /// How far the worst ends after its successor began, ns.
    pub worst: i64,
    /// Pairs of operations of one stream that overlap, believed or not; of each the next 64 are looked at.
    pub overlaps: usize,
}

/// What is not known of one GPU.
#[derive(Debug, Default)]
pub(in crate::analysis) struct LostWork {
    pub launches: LostLaunches,
    pub overruns: Overruns,
    /// When it may have worked unrecorded, unsorted; busy time is not taken out of it.
    pub ranges: Vec<TimeRange>,
}

/// One GPU, and the lanes of the processes whose own it is.
pub(in crate::analysis) fn find(core: &Core, gpu: usize, processes: &[&[LaneId]]) -> LostWork {
    let mut found = LostWork::default();
    for lane in core.gpu_lanes(gpu) {
        overruns(core, lane, &mut found);
    }
    found.overruns.ops.sort_unstable();
    let adopters = unlinked(core, gpu);
    for lanes in processes {
        lost_launches(core, gpu, lanes, &adopters, &mut found);
    }
    found
}

/// Operations of one stream that end after a later launched one began.
fn overruns(core: &Core, lane: LaneId, found: &mut LostWork) {
    let columns = core.columns(lane);
    let mut reach = i64::MIN;
    let ends = |i: usize| columns.range(i).end;
    // Most streams have no overlap at all: then nothing is looked up.
    let crosses = (0..columns.len()).any(|i| {
        let crosses = columns.of[i].is_operation() && columns.starts[i] < reach;
        reach = reach.max(ends(i));
        crosses
    });
    if !crosses {
        return;
    }
    let trace = &core.trace;
    let call = |i: usize| trace.launch_of(columns.id(i));
    for i in 0..columns.len() {
        if !columns.of[i].is_operation() {
            continue;
        }
        let (op, mut own) = (columns.range(i), None);
        for j in (i + 1..columns.len()).take(NEAR) {
            let next = columns.starts[j];
            if next >= op.end {
                break;
            }
            if next == op.start || !columns.of[j].is_operation() {
                continue;
            }
            let own = *own.get_or_insert_with(|| call(i));
            let (Some(own), Some(later)) = (own, call(j)) else {
                continue;
            };
            if core.range(later).start <= core.range(own).start {
                continue;
            }
            found.overruns.overlaps += 1;
            let excess = op.end - next;
            if excess > JITTER.max(op.len() / 10) {
                found.overruns.ops.push(columns.id(i));
                found.overruns.worst = found.overruns.worst.max(excess);
                found.ranges.push(TimeRange::new(op.start, next));
                break;
            }
        }
    }
}

/// Starts of the operations of a GPU of which no launch is known, ascending: one may be that of a lost launch.
fn unlinked(core: &Core, gpu: usize) -> Vec<i64> {
    let mut starts = Vec::new();
    for lane in core.gpu_lanes(gpu) {
        let columns = core.columns(lane);
        let mut calls = CallCursor::new(core, SpanId(columns.first));
        for i in 0..columns.len() {
            if columns.of[i].is_operation() && calls.call(columns.id(i)).is_none() {
                starts.push(columns.starts[i]);
            }
        }
    }
    starts.sort_unstable();
    starts
}

/// A launch call without an operation.
struct Lost {
    at: i64,
    kind: NameKind,
}

/// What happens in a process, looked at from its end backwards; of one instant launches come first then.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// An operation of a stream that was launched here starts at this time.
    Work { stream: usize, start: i64 },
    /// A wait for all work of the process on the GPU ends at this time.
    Waited { end: i64 },
    /// A launch, by its place among the lost ones.
    Lost { place: usize },
}

/// Launches of one process without an operation, and until when their work can have run.
fn lost_launches(
    core: &Core,
    gpu: usize,
    lanes: &[LaneId],
    adopters: &[i64],
    found: &mut LostWork,
) {
    let mut lost: Vec<Lost> = Vec::new();
    for &lane in lanes {
        calls(core, lane, &mut lost, &mut found.launches);
    }
    let groups = lanes.iter().flat_map(|&l| core.launches.groups_of(l));
    let groups: Vec<_> = groups.filter(|g| g.gpu == gpu).collect();
    // A process of which no operation is recorded at all is another matter than one that lost some.
    if lost.is_empty() || groups.is_empty() {
        return;
    }
    let links = core.launches.links(&core.trace);
    let links = || groups.iter().flat_map(|g| &links[g.links.clone()]);
    let spans = core.trace.spans();
    let mut streams: Vec<LaneId> = links().map(|l| spans.lane(l.to)).collect();
    streams.sort_unstable();
    streams.dedup();
    let mut events: Vec<(i64, Event)> = Vec::with_capacity(lost.len());
    events.extend(
        (0..)
            .zip(&lost)
            .map(|(place, l)| (l.at, Event::Lost { place })),
    );
    events.extend(links().map(|l| {
        let stream = streams.binary_search(&spans.lane(l.to)).unwrap_or(0);
        let start = spans.start(l.to);
        (spans.start(l.from), Event::Work { stream, start })
    }));
    for &lane in lanes {
        waits(core, lane, gpu, &streams, &mut events);
    }
    events.sort_unstable();
    let end = core.trace.extent().end;
    let mut next = NextStarts::new(streams.len());
    let mut waited = end;
    for &(at, event) in events.iter().rev() {
        match event {
            Event::Work { stream, start } => next.set(stream, start),
            Event::Waited { end } => waited = waited.min(end),
            Event::Lost { place } => {
                let until = next.last().unwrap_or(end).min(waited).max(at);
                let first = adopters.partition_point(|&s| s < at);
                if adopters.get(first).is_none_or(|&s| s >= until) {
                    found.launches.lose(lost[place].kind);
                    found.ranges.push(TimeRange::new(at, until));
                }
            }
        }
    }
}

/// Counts the outermost launch calls of a lane, and lists those without an operation. Calls that are recorded into a graph
/// launch nothing.
fn calls(core: &Core, lane: LaneId, lost: &mut Vec<Lost>, counts: &mut LostLaunches) {
    if !core.index(lane).layers.contains(&LayerId::LAUNCH) {
        return;
    }
    let columns = core.columns(lane);
    let has_work = |i: usize| !core.trace.launched_by(columns.id(i)).is_empty();
    let (mut captures, mut captured_until) = (false, i64::MIN);
    let mut i = 0;
    while i < columns.len() {
        let (range, kind) = (columns.range(i), core.name_kind(columns.id(i)));
        let mut next = i + 1;
        match kind {
            NameKind::BeginCapture => captures = true,
            NameKind::EndCapture => (captures, captured_until) = (false, range.end),
            NameKind::GraphLaunch | NameKind::KernelLaunch if columns.of[i] == LayerId::LAUNCH => {
                let mut worked = has_work(i);
                // A runtime call and the driver call inside it are one launch.
                while next < columns.len() && columns.starts[next] < range.end {
                    let inner =
                        columns.of[next] == LayerId::LAUNCH && columns.range(next).end <= range.end;
                    worked |=
                        inner && core.name_kind(columns.id(next)).launches() && has_work(next);
                    next += 1;
                }
                counts.call(kind);
                if !worked && !captures && range.start >= captured_until {
                    lost.push(Lost {
                        at: range.start,
                        kind,
                    });
                }
            }
            _ => {}
        }
        i = next;
    }
}

/// Calls of a lane that return only when all work of their process on the GPU has ended.
fn waits(
    core: &Core,
    lane: LaneId,
    gpu: usize,
    streams: &[LaneId],
    events: &mut Vec<(i64, Event)>,
) {
    if !core.index(lane).layers.contains(&LayerId::SYNC) {
        return;
    }
    let trace = &core.trace;
    for (call, range) in core.spans_of(lane, LayerId::SYNC) {
        let all = match trace.sync_scope(call) {
            Some(SyncScope::Device(device)) => device == core.devices[gpu],
            Some(SyncScope::Stream(stream)) => trace.stream(stream).ops.as_slice() == streams,
            Some(SyncScope::Event { .. }) => false,
            None => core.name_kind(call) == NameKind::DeviceSync,
        };
        if all {
            events.push((range.start, Event::Waited { end: range.end }));
        }
    }
}

/// Per stream the earliest start of the operations launched so far, while launches are gone through backwards; and the
/// latest of them.
struct NextStarts {
    of: Vec<Option<i64>>,
    /// How many streams have each start.
    values: BTreeMap<i64, usize>,
    unknown: usize,
}

impl NextStarts {
    fn new(streams: usize) -> Self {
        Self {
            of: vec![None; streams],
            values: BTreeMap::new(),
            unknown: streams,
        }
    }

    fn set(&mut self, stream: usize, start: i64) {
        match self.of[stream] {
            Some(known) if known <= start => return,
            Some(known) => {
                if let Some(n) = self.values.get_mut(&known) {
                    *n -= 1;
                    if *n == 0 {
                        self.values.remove(&known);
                    }
                }
            }
            None => self.unknown -= 1,
        }
        self.of[stream] = Some(start);
        *self.values.entry(start).or_default() += 1;
    }

    /// By when each stream has begun something later; `None` where one never does.
    fn last(&self) -> Option<i64> {
        let last = self.values.last_key_value();
        last.filter(|_| self.unknown == 0).map(|(&start, _)| start)
    }
}
