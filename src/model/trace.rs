//! The timeline: everything that was imported, in columns, immutable.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::ids::{CatId, DeviceId, LaneId, NameId, ProcessId, SourceId, SpanId, StreamId};
use super::names::Names;
use super::spans::Spans;
use super::tables::{
    Category, CopyInfo, Counter, Device, Instant, Lane, Measure, Process, Source, Stream, SyncScope,
};
use crate::time::TimeRange;

/// One link of a CPU call to a GPU operation, or of a forward to a backward op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// The cause: launch call, forward op.
    pub from: SpanId,
    /// The effect: GPU operation, backward op.
    pub to: SpanId,
}

/// An imported trace. Built by [`super::TraceBuilder`]; never changes afterwards, so it is shared as `Arc<Trace>`.
#[derive(Clone, Default)]
pub struct Trace {
    pub(super) sources: Vec<Source>,
    pub(super) processes: Vec<Process>,
    pub(super) devices: Vec<Device>,
    pub(super) streams: Vec<Stream>,
    pub(super) lanes: Vec<Lane>,
    pub(super) categories: Vec<Category>,
    pub(super) names: Names,
    pub(super) spans: Spans,
    /// Sorted by `from`.
    pub(super) launches: Vec<Link>,
    /// (operation, call) sorted by operation.
    pub(super) launch_of: Vec<(SpanId, SpanId)>,
    /// Sorted by `from`.
    pub(super) fwdbwd: Vec<Link>,
    pub(super) syncs: BTreeMap<SpanId, SyncScope>,
    pub(super) copies: Vec<(SpanId, CopyInfo)>,
    pub(super) unfinished: Vec<SpanId>,
    pub(super) counters: Vec<Counter>,
    pub(super) instants: Vec<Instant>,
    pub(super) anomalies: BTreeMap<&'static str, u64>,
    pub(super) aliases: FxHashMap<(Option<SourceId>, Box<str>), NameId>,
    pub(super) cut: BTreeSet<SourceId>,
    pub(super) unix_origin: Option<i64>,
    pub(super) extent: TimeRange,
    pub(super) counted_spans: u64,
}

impl Trace {
    /// Opened files.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }
    /// Processes, in order of first appearance.
    #[must_use]
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }
    /// GPUs, in order of first appearance.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }
    /// GPU streams, in order of first appearance.
    #[must_use]
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }
    /// Lanes, in order of first appearance.
    #[must_use]
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }
    /// Ids of all lanes.
    pub fn lane_ids(&self) -> impl ExactSizeIterator<Item = LaneId> + use<> {
        (0..u32::try_from(self.lanes.len()).unwrap_or(u32::MAX)).map(LaneId)
    }
    /// Categories of spans.
    #[must_use]
    pub fn categories(&self) -> &[Category] {
        &self.categories
    }
    /// All interned texts.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }
    /// The span columns.
    #[must_use]
    pub fn spans(&self) -> &Spans {
        &self.spans
    }
    /// Counter tracks.
    #[must_use]
    pub fn counters(&self) -> &[Counter] {
        &self.counters
    }
    /// The counter of what is reserved on the device whose allocated memory a counter has: its place.
    #[must_use]
    pub fn reserved_beside(&self, allocated: &Counter) -> Option<usize> {
        let same = |c: &Counter| {
            c.measure == Measure::Reserved
                && (c.source, c.process) == (allocated.source, allocated.process)
                && c.name == allocated.name
        };
        self.counters.iter().position(same)
    }
    /// Instants, by time.
    #[must_use]
    pub fn instants(&self) -> &[Instant] {
        &self.instants
    }
    /// Counts of irregular data that the model itself noticed: `negative_dur`, `op_before_launch`, `two_launches`,
    /// `overlapping_spans`.
    #[must_use]
    pub fn anomalies(&self) -> &BTreeMap<&'static str, u64> {
        &self.anomalies
    }
    /// Whether the file of a source ends early: what lies behind its end is lost, not absent.
    #[must_use]
    pub fn is_cut(&self, source: SourceId) -> bool {
        self.cut.contains(&source)
    }
    /// Unix time (ns) of the trace's zero, where known.
    #[must_use]
    pub fn unix_origin(&self) -> Option<i64> {
        self.unix_origin
    }
    /// `[t0, t1)`: earliest start and latest end over the spans that count; without any over all spans, without spans
    /// over counters and instants.
    #[must_use]
    pub fn extent(&self) -> TimeRange {
        self.extent
    }
    /// Number of spans that count (see [`Category::counts`]).
    #[must_use]
    pub fn counted_spans(&self) -> u64 {
        self.counted_spans
    }
    /// A lane.
    #[must_use]
    pub fn lane(&self, id: LaneId) -> &Lane {
        &self.lanes[id.index()]
    }
    /// A process.
    #[must_use]
    pub fn process(&self, id: ProcessId) -> &Process {
        &self.processes[id.index()]
    }
    /// A GPU.
    #[must_use]
    pub fn device(&self, id: DeviceId) -> &Device {
        &self.devices[id.index()]
    }
    /// A GPU stream.
    #[must_use]
    pub fn stream(&self, id: StreamId) -> &Stream {
        &self.streams[id.index()]
    }
    /// A source.
    #[must_use]
    pub fn source(&self, id: SourceId) -> &Source {
        &self.sources[id.index()]
    }
    /// What a text in the args of a source stands for (the name of a file, a host, a command), where the source says
    /// so: recorders write hashes. The source's own declaration goes before that of the others.
    #[must_use]
    pub fn alias(&self, source: SourceId, text: &str) -> Option<&str> {
        let mut key = (Some(source), Box::from(text));
        let own = self.aliases.get(&key);
        key.0 = None;
        let found = own.or_else(|| self.aliases.get(&key))?;
        Some(self.names.get(*found))
    }
    /// An interned text.
    #[must_use]
    pub fn name(&self, id: NameId) -> &str {
        self.names.get(id)
    }
    /// A span's name.
    #[must_use]
    pub fn span_name(&self, id: SpanId) -> &str {
        self.names.get(self.spans.name(id))
    }
    /// A category.
    #[must_use]
    pub fn category(&self, id: CatId) -> &Category {
        &self.categories[id.index()]
    }
    /// The spans of a lane, in start order.
    pub fn lane_spans(
        &self,
        id: LaneId,
    ) -> impl ExactSizeIterator<Item = SpanId> + DoubleEndedIterator + use<> {
        self.lanes[id.index()].spans.clone().map(SpanId)
    }
    /// The GPU of a lane, for lanes of a stream.
    #[must_use]
    pub fn lane_device(&self, id: LaneId) -> Option<DeviceId> {
        let stream = self.lanes[id.index()].stream?;
        Some(self.streams[stream.index()].device)
    }
    /// All launch links, sorted by call.
    #[must_use]
    pub fn launches(&self) -> &[Link] {
        &self.launches
    }
    /// The GPU operations that a call launched (links from it).
    #[must_use]
    pub fn launched_by(&self, call: SpanId) -> &[Link] {
        let a = self.launches.partition_point(|l| l.from < call);
        let b = a + self.launches[a..].partition_point(|l| l.from == call);
        &self.launches[a..b]
    }
    /// (operation, call) pairs sorted by operation: [`Self::launches`] the other way round.
    #[must_use]
    pub fn launch_calls(&self) -> &[(SpanId, SpanId)] {
        &self.launch_of
    }
    /// The call that launched a GPU operation, where known.
    #[must_use]
    pub fn launch_of(&self, op: SpanId) -> Option<SpanId> {
        let i = self.launch_of.binary_search_by_key(&op, |p| p.0).ok()?;
        Some(self.launch_of[i].1)
    }
    /// Links of forward ops to their backward ops, sorted by forward op.
    #[must_use]
    pub fn fwdbwd(&self) -> &[Link] {
        &self.fwdbwd
    }
    /// What a blocking call waited for, where the file says it.
    #[must_use]
    pub fn sync_scope(&self, call: SpanId) -> Option<SyncScope> {
        self.syncs.get(&call).copied()
    }
    /// The same of all calls of which it is known.
    #[must_use]
    pub fn sync_scopes(&self) -> &BTreeMap<SpanId, SyncScope> {
        &self.syncs
    }
    /// Bytes and direction of copies and memsets, sorted by span.
    #[must_use]
    pub fn copies(&self) -> &[(SpanId, CopyInfo)] {
        &self.copies
    }
    /// Bytes and direction of one copy.
    #[must_use]
    pub fn copy(&self, id: SpanId) -> Option<CopyInfo> {
        let i = self.copies.binary_search_by_key(&id, |c| c.0).ok()?;
        Some(self.copies[i].1)
    }
    /// True for a span whose end was not recorded: it is drawn to the end of the trace.
    #[must_use]
    pub fn is_unfinished(&self, id: SpanId) -> bool {
        self.unfinished.binary_search(&id).is_ok()
    }
    /// Bytes held by columns, links and texts.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.spans.heap_bytes()
            + self.names.heap_bytes()
            + self.launches.capacity() * 8
            + self.launch_of.capacity() * 8
            + self.fwdbwd.capacity() * 8
            + self.copies.capacity() * size_of::<(SpanId, CopyInfo)>()
            + self.instants.capacity() * size_of::<Instant>()
            + self
                .counters
                .iter()
                .map(|c| c.times.capacity() * 16)
                .sum::<usize>()
    }
}
