//! Filling a [`Trace`]: importers append tables and spans in any order and on their sources' own clocks;
//! [`TraceBuilder::finish`] (in `finish.rs`) freezes.

use std::collections::BTreeMap;

use super::flows::Flow;
use super::ids::{
    CatId, CounterId, DeviceId, LaneId, NameId, ProcessId, RawSpan, SourceId, StreamId,
};
use super::links::Pairs;
use super::tables::{
    ArgsRef, Category, CopyInfo, Counter, Device, Instant, Lane, LaneKind, Process, Source, Stream,
    SyncScope,
};
use super::trace::Trace;
use crate::time::TimeRange;

/// Times beyond this are refused by [`TraceBuilder::add_span`]'s clamp, so that no sum of two can overflow: about
/// 73 years on either side of the source's zero.
pub const TIME_LIMIT: i64 = i64::MAX / 4;

/// Categories that are told apart. Two more share the rest: those that count and those that do not.
const MOST_CATEGORIES: usize = (1 << 16) - 2;

/// The name of the rest.
const OTHER_CATEGORIES: &str = "(other categories)";

/// One span as importers append it. Times are in the source's own clock.
#[derive(Clone, Copy, Debug)]
pub struct SpanRow {
    /// The lane.
    pub lane: LaneId,
    /// Interned name.
    pub name: NameId,
    /// Category.
    pub cat: CatId,
    /// Start, ns on the source's own clock.
    pub start: i64,
    /// Duration, ns; a negative one is clamped to 0 and counted.
    pub dur: i64,
    /// Where the args are.
    pub args: ArgsRef,
}

/// Collects what importers read.
#[derive(Default)]
pub struct TraceBuilder {
    pub(super) trace: Trace,
    pub(super) categories: BTreeMap<(String, bool), CatId>,
    pub(super) pairs: Pairs,
    pub(super) captures: Vec<(SourceId, TimeRange)>,
    pub(super) keep_times: bool,
    /// Spans for which all columns have room.
    room: usize,
    /// There was no memory for more.
    full: bool,
    /// Spans after which there is none: for tests.
    most: Option<usize>,
}

/// Appends to a column, unless there is no memory for it.
fn add<T>(column: &mut Vec<T>, value: T, full: &mut bool) {
    *full |= column.try_reserve(1).is_err();
    if !*full {
        column.push(value);
    }
}

macro_rules! push_id {
    ($vec:expr, $value:expr, $id:ident) => {{
        let id = $id(u32::try_from($vec.len()).expect("fewer than 2^32 rows"));
        $vec.push($value);
        id
    }};
}

impl TraceBuilder {
    /// An empty builder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps source times as they are instead of moving the earliest span to 0. For hand-made traces.
    #[must_use]
    pub fn keep_times(mut self) -> Self {
        self.keep_times = true;
        self
    }

    /// Adds a file.
    pub fn add_source(&mut self, source: Source) -> SourceId {
        push_id!(self.trace.sources, source, SourceId)
    }
    /// Adds a process.
    pub fn add_process(&mut self, process: Process) -> ProcessId {
        push_id!(self.trace.processes, process, ProcessId)
    }
    /// Adds a GPU.
    pub fn add_device(&mut self, device: Device) -> DeviceId {
        push_id!(self.trace.devices, device, DeviceId)
    }
    /// Adds a GPU stream.
    pub fn add_stream(&mut self, stream: Stream) -> StreamId {
        push_id!(self.trace.streams, stream, StreamId)
    }
    /// Adds a lane; lanes of kind [`super::LaneKind::Gpu`] become their stream's lane of operations.
    pub fn add_lane(&mut self, lane: Lane) -> LaneId {
        let stream = lane.stream;
        let is_ops = lane.kind == super::tables::LaneKind::Gpu;
        let id = push_id!(self.trace.lanes, lane, LaneId);
        if let (true, Some(stream)) = (is_ops, stream) {
            self.trace.streams[stream.index()].ops = Some(id);
        }
        id
    }
    /// Adds a counter track.
    pub fn add_counter(&mut self, counter: Counter) -> CounterId {
        push_id!(self.trace.counters, counter, CounterId)
    }

    /// A source, to complete it.
    pub fn source_mut(&mut self, id: SourceId) -> &mut Source {
        &mut self.trace.sources[id.index()]
    }
    /// A process, to complete it.
    pub fn process_mut(&mut self, id: ProcessId) -> &mut Process {
        &mut self.trace.processes[id.index()]
    }
    /// A GPU, to complete it.
    pub fn device_mut(&mut self, id: DeviceId) -> &mut Device {
        &mut self.trace.devices[id.index()]
    }
    /// A lane, to complete it.
    pub fn lane_mut(&mut self, id: LaneId) -> &mut Lane {
        &mut self.trace.lanes[id.index()]
    }
    /// Makes a lane of threads one of the operations of a stream: some files say by the names of threads alone that they
    /// are streams.
    pub fn make_stream(&mut self, lane: LaneId, stream: StreamId) {
        let own = &mut self.trace.lanes[lane.index()];
        (own.kind, own.stream, own.process, own.thread) = (LaneKind::Gpu, Some(stream), None, None);
        self.trace.streams[stream.index()].ops = Some(lane);
    }
    /// A counter, to append samples (times on the source's own clock).
    pub fn counter_mut(&mut self, id: CounterId) -> &mut Counter {
        &mut self.trace.counters[id.index()]
    }
    /// What was added so far, unsorted and on the sources' own clocks.
    #[must_use]
    pub fn so_far(&self) -> &Trace {
        &self.trace
    }

    /// Interns a text.
    pub fn intern(&mut self, text: &str) -> NameId {
        self.trace.names.intern(text)
    }

    /// The id of a category. `counts` is false for spans without one and for the recorder's own (`Trace`). Those of all
    /// sources together are at most 65,536; the rest share one, and each of them is counted as `many_categories`.
    pub fn category(&mut self, name: &str, counts: bool) -> CatId {
        let key = (name.to_owned(), counts);
        if let Some(&id) = self.categories.get(&key) {
            return id;
        }
        let id = if self.trace.categories.len() < MOST_CATEGORIES {
            self.add_category(key.clone())
        } else {
            self.count_anomaly("many_categories", 1);
            let rest = (OTHER_CATEGORIES.to_owned(), counts);
            match self.categories.get(&rest) {
                Some(&id) => id,
                None => self.add_category(rest),
            }
        };
        self.categories.insert(key, id);
        id
    }

    fn add_category(&mut self, key: (String, bool)) -> CatId {
        let id = CatId(u16::try_from(self.trace.categories.len()).unwrap_or(u16::MAX));
        self.trace.categories.push(Category {
            name: key.0.clone(),
            counts: key.1,
        });
        self.categories.insert(key, id);
        id
    }

    /// Makes room for `n` more spans, to avoid the slack of doubling. Where there is not so much memory the columns grow
    /// as they are filled: `n` may be too large a guess.
    pub fn reserve(&mut self, n: usize) {
        let spans = &mut self.trace.spans;
        let _enough = (spans.start.try_reserve_exact(n))
            .and_then(|()| spans.dur.try_reserve_exact(n))
            .and_then(|()| spans.name.try_reserve_exact(n))
            .and_then(|()| spans.lane.try_reserve_exact(n))
            .and_then(|()| spans.cat.try_reserve_exact(n))
            .and_then(|()| spans.args.try_reserve_exact(n));
    }

    /// Makes room for at least one more span; false where there is no memory for it.
    #[cold]
    fn grow(&mut self) -> bool {
        let spans = &mut self.trace.spans;
        let grown = (spans.start.try_reserve(1))
            .and_then(|()| spans.dur.try_reserve(1))
            .and_then(|()| spans.name.try_reserve(1))
            .and_then(|()| spans.lane.try_reserve(1))
            .and_then(|()| spans.cat.try_reserve(1))
            .and_then(|()| spans.args.try_reserve(1));
        let room = [
            spans.start.capacity(),
            spans.dur.capacity(),
            spans.name.capacity(),
            spans.lane.capacity(),
            spans.cat.capacity(),
            spans.args.capacity(),
        ];
        let room = room.into_iter().chain(self.most).min().unwrap_or(0);
        self.room = room;
        self.full |= grown.is_err() || room <= self.span_count();
        !self.full
    }

    /// Whether there was, or will be, too little memory for what was added: then it is not all there, and the trace is not
    /// to be finished.
    #[must_use]
    pub fn is_full(&self) -> bool {
        // Sorting holds, for a while, a number of each span twice and a wide column once more.
        let needed = self.span_count().saturating_mul(24);
        self.full || Vec::<u8>::new().try_reserve_exact(needed).is_err()
    }

    /// Appends a span. Where there is no memory for it nothing is added, and [`is_full`](Self::is_full).
    ///
    /// # Panics
    /// On more than 2³² spans.
    pub fn add_span(&mut self, row: SpanRow) -> RawSpan {
        if self.span_count() >= self.room && !self.grow() {
            let last = self.span_count().saturating_sub(1);
            return RawSpan(u32::try_from(last).unwrap_or(u32::MAX));
        }
        let spans = &mut self.trace.spans;
        let id = RawSpan(u32::try_from(spans.start.len()).expect("fewer than 2^32 spans"));
        let mut dur = row.dur;
        if dur < 0 {
            dur = 0;
            *self.trace.anomalies.entry("negative_dur").or_default() += 1;
        }
        let start = row.start.clamp(-TIME_LIMIT, TIME_LIMIT);
        if start != row.start || dur > TIME_LIMIT {
            *self.trace.anomalies.entry("clamped_time").or_default() += 1;
        }
        spans.start.push(start);
        spans.dur.push(dur.min(TIME_LIMIT));
        spans.name.push(row.name);
        spans.lane.push(row.lane);
        spans.cat.push(row.cat);
        spans.args.push(row.args);
        id
    }

    /// Number of spans so far: the next [`RawSpan`].
    #[must_use]
    pub fn span_count(&self) -> usize {
        self.trace.spans.start.len()
    }

    /// Sets a span's end (for B/E pairs), on the source's own clock.
    pub fn set_end(&mut self, span: RawSpan, end: i64) {
        let spans = &mut self.trace.spans;
        let i = span.0 as usize;
        // Of a full builder the span may not be there.
        let (Some(start), Some(dur)) = (spans.start.get(i), spans.dur.get_mut(i)) else {
            return;
        };
        let length = end.saturating_sub(*start);
        if length < 0 {
            *self.trace.anomalies.entry("negative_dur").or_default() += 1;
        }
        *dur = length.clamp(0, TIME_LIMIT);
    }

    /// Says that a span's end was not recorded. Its duration is set on finish: to the end of its source.
    pub fn mark_unfinished(&mut self, span: RawSpan) {
        self.pairs.unfinished.push(span);
    }

    /// Links a CPU call to a GPU operation that it launched. A second call of one operation is counted and ignored.
    pub fn link_launch(&mut self, call: RawSpan, op: RawSpan) {
        add(&mut self.pairs.launches, (call, op), &mut self.full);
    }
    /// Links a forward op to its backward op.
    pub fn link_fwdbwd(&mut self, forward: RawSpan, backward: RawSpan) {
        add(&mut self.pairs.fwdbwd, (forward, backward), &mut self.full);
    }
    /// Links the innermost spans of a category around two moments, each on a lane, times on their source's own clock.
    /// Where either lane has no such span there is no link.
    pub fn link_fwdbwd_at(
        &mut self,
        forward: (LaneId, i64),
        backward: (LaneId, i64),
        category: CatId,
    ) {
        self.pairs.flows.push(Flow {
            from: forward,
            to: backward,
            category,
        });
    }
    /// Says what a blocking call waits for. `record_at` of an event scope is on the source's own clock.
    pub fn set_sync_scope(&mut self, call: RawSpan, scope: SyncScope) {
        add(&mut self.pairs.syncs, (call, scope), &mut self.full);
    }
    /// Records bytes and direction of a copy or memset.
    pub fn set_copy(&mut self, span: RawSpan, info: CopyInfo) {
        add(&mut self.pairs.copies, (span, info), &mut self.full);
    }
    /// Records the capture window that a file states, on its own clock.
    pub fn set_capture(&mut self, source: SourceId, range: TimeRange) {
        self.captures.push((source, range));
    }
    /// Records that the file of a source ends early, so that what is not in it may have been recorded.
    pub fn set_cut(&mut self, source: SourceId) {
        self.trace.cut.insert(source);
    }
    /// Appends an instant, on the source's own clock.
    pub fn add_instant(&mut self, instant: Instant) {
        add(&mut self.trace.instants, instant, &mut self.full);
    }
    /// Says what a text in args stands for, in one source or (`None`) in all.
    pub fn add_alias(&mut self, source: Option<SourceId>, text: &str, meaning: &str) {
        let id = self.intern(meaning);
        self.trace.aliases.insert((source, Box::from(text)), id);
    }
    /// Counts something irregular.
    pub fn count_anomaly(&mut self, what: &'static str, n: u64) {
        if n > 0 {
            *self.trace.anomalies.entry(what).or_default() += n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_for_more_than_there_is_memory_is_only_a_wish() {
        let mut b = TraceBuilder::new();
        b.reserve(usize::MAX / 16);
        b.reserve(usize::MAX);
        assert_eq!(b.span_count(), 0);
    }

    #[test]
    fn what_there_is_no_memory_for_is_not_added() {
        let mut b = TraceBuilder {
            most: Some(2),
            ..TraceBuilder::new()
        };
        let source = b.add_source(Source::new("made", &crate::model::tables::MADE));
        let lane = b.add_lane(Lane::new(source, LaneKind::Cpu, "a"));
        let (name, cat) = (b.intern("x"), b.category("x", true));
        for start in 0..5 {
            assert_eq!(b.is_full(), start > 2);
            let span = b.add_span(SpanRow {
                lane,
                name,
                cat,
                start,
                dur: 1,
                args: ArgsRef::NONE,
            });
            b.set_end(span, start + 2);
            b.link_launch(span, span);
        }
        assert_eq!((b.span_count(), b.pairs.launches.len()), (2, 2));
    }

    #[test]
    fn more_categories_than_there_are_numbers_share_one() {
        let mut b = TraceBuilder::new();
        let ids: Vec<CatId> = (0..70_000)
            .map(|i| b.category(&format!("c{i}"), true))
            .collect();
        let rest = ids[69_999];
        assert_eq!(ids[65_533], CatId(65_533));
        assert!(ids[65_534..].iter().all(|&id| id == rest));
        assert_eq!(b.category("c69999", true), rest);
        assert_ne!(b.category("c69999", false), rest);
        assert_eq!(b.so_far().categories().len(), 65_536);
        assert_eq!(b.so_far().category(rest).name, OTHER_CATEGORIES);
        assert_eq!(
            b.so_far().anomalies()["many_categories"],
            70_000 - 65_534 + 1
        );
        assert_eq!(b.category("c7", true), CatId(7));
    }
}
