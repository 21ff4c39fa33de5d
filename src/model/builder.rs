//! Filling a [`Trace`]: importers append tables and spans in any order, [`TraceBuilder::finish`] puts all sources on
//! one clock, sorts, assigns sub-rows and freezes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rayon::prelude::*;

use super::flows::{Flow, resolve_flows};
use super::ids::{
    CatId, CounterId, DeviceId, LaneId, NameId, ProcessId, RawSpan, SourceId, SpanId, StreamId,
};
use super::spans::assign_rows;
use super::tables::{
    ArgsRef, Category, Clock, CopyInfo, Counter, Device, Instant, Lane, Process, Source, Stream,
    SyncScope,
};
use super::trace::{Link, Trace};
use crate::time::TimeRange;

/// Times beyond this are refused by [`TraceBuilder::add_span`]'s clamp, so that no sum of two can overflow: about
/// 73 years on either side of the source's zero.
const TIME_LIMIT: i64 = i64::MAX / 4;

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
    trace: Trace,
    categories: BTreeMap<(String, bool), CatId>,
    launches: Vec<(RawSpan, RawSpan)>,
    fwdbwd: Vec<(RawSpan, RawSpan)>,
    flows: Vec<Flow>,
    syncs: Vec<(RawSpan, SyncScope)>,
    copies: Vec<(RawSpan, CopyInfo)>,
    unfinished: Vec<RawSpan>,
    captures: Vec<(SourceId, TimeRange)>,
    keep_times: bool,
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

    /// The id of a category. `counts` is false for spans without one and for the recorder's own (`Trace`).
    ///
    /// # Panics
    /// On more than 65,536 categories; importers put the rest under one name before that (see `so_far().categories()`).
    pub fn category(&mut self, name: &str, counts: bool) -> CatId {
        if let Some(&id) = self.categories.get(&(name.to_owned(), counts)) {
            return id;
        }
        let id = CatId(u16::try_from(self.trace.categories.len()).expect("fewer than 2^16"));
        self.trace.categories.push(Category {
            name: name.to_owned(),
            counts,
        });
        self.categories.insert((name.to_owned(), counts), id);
        id
    }

    /// Makes room for `n` more spans, to avoid the slack of doubling.
    pub fn reserve(&mut self, n: usize) {
        let spans = &mut self.trace.spans;
        spans.start.reserve_exact(n);
        spans.dur.reserve_exact(n);
        spans.name.reserve_exact(n);
        spans.lane.reserve_exact(n);
        spans.cat.reserve_exact(n);
        spans.args.reserve_exact(n);
    }

    /// Appends a span.
    ///
    /// # Panics
    /// On more than 2³² spans.
    pub fn add_span(&mut self, row: SpanRow) -> RawSpan {
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
        let dur = end.saturating_sub(spans.start[i]);
        if dur < 0 {
            *self.trace.anomalies.entry("negative_dur").or_default() += 1;
        }
        spans.dur[i] = dur.clamp(0, TIME_LIMIT);
    }

    /// Says that a span's end was not recorded. Its duration is set on finish: to the end of its source.
    pub fn mark_unfinished(&mut self, span: RawSpan) {
        self.unfinished.push(span);
    }

    /// Links a CPU call to a GPU operation that it launched. A second call of one operation is counted and ignored.
    pub fn link_launch(&mut self, call: RawSpan, op: RawSpan) {
        self.launches.push((call, op));
    }
    /// Links a forward op to its backward op.
    pub fn link_fwdbwd(&mut self, forward: RawSpan, backward: RawSpan) {
        self.fwdbwd.push((forward, backward));
    }
    /// Links the innermost spans of a category around two moments, each on a lane, times on their source's own clock.
    /// Where either lane has no such span there is no link.
    pub fn link_fwdbwd_at(
        &mut self,
        forward: (LaneId, i64),
        backward: (LaneId, i64),
        category: CatId,
    ) {
        self.flows.push(Flow {
            from: forward,
            to: backward,
            category,
        });
    }
    /// Says what a blocking call waits for. `record_at` of an event scope is on the source's own clock.
    pub fn set_sync_scope(&mut self, call: RawSpan, scope: SyncScope) {
        self.syncs.push((call, scope));
    }
    /// Records bytes and direction of a copy or memset.
    pub fn set_copy(&mut self, span: RawSpan, info: CopyInfo) {
        self.copies.push((span, info));
    }
    /// Records the capture window that a file states, on its own clock.
    pub fn set_capture(&mut self, source: SourceId, range: TimeRange) {
        self.captures.push((source, range));
    }
    /// Appends an instant, on the source's own clock.
    pub fn add_instant(&mut self, instant: Instant) {
        self.trace.instants.push(instant);
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

    /// Puts all sources on one clock, sorts, assigns sub-rows, resolves links. Returns the immutable trace.
    #[must_use]
    pub fn finish(mut self) -> Trace {
        self.trace.spans.row = vec![0; self.span_count()];
        self.shrink();
        self.close_unfinished();
        self.align_clocks();
        let (order, place) = self.sort();
        self.resolve_links(&place);
        drop(place);
        drop(order);
        self.assign_sub_rows();
        self.trace
    }

    fn shrink(&mut self) {
        let spans = &mut self.trace.spans;
        spans.start.shrink_to_fit();
        spans.dur.shrink_to_fit();
        spans.name.shrink_to_fit();
        spans.lane.shrink_to_fit();
        spans.cat.shrink_to_fit();
        spans.args.shrink_to_fit();
    }

    fn source_of(&self, span: usize) -> SourceId {
        self.trace.lanes[self.trace.spans.lane[span].index()].source
    }

    fn close_unfinished(&mut self) {
        if self.unfinished.is_empty() {
            return;
        }
        let mut last = vec![i64::MIN; self.trace.sources.len()];
        for i in 0..self.span_count() {
            let end = self.trace.spans.start[i] + self.trace.spans.dur[i];
            let source = self.source_of(i).index();
            last[source] = last[source].max(end);
        }
        for &RawSpan(raw) in &self.unfinished {
            let i = raw as usize;
            let end = last[self.source_of(i).index()];
            self.trace.spans.dur[i] = (end - self.trace.spans.start[i]).max(0);
        }
    }

    /// Trace time = source time + `to_trace_ns`. With Unix clocks the sources keep their distances; a source without
    /// one starts where the trace starts.
    fn align_clocks(&mut self) {
        let mut first: Vec<Option<i64>> = vec![None; self.trace.sources.len()];
        let mut any: Vec<Option<i64>> = first.clone();
        for i in 0..self.span_count() {
            let source = self.source_of(i).index();
            let start = self.trace.spans.start[i];
            let lower = |slot: &mut Option<i64>| *slot = Some(slot.map_or(start, |s| s.min(start)));
            lower(&mut any[source]);
            if self.trace.categories[self.trace.spans.cat[i].index()].counts {
                lower(&mut first[source]);
            }
        }
        for (f, a) in first.iter_mut().zip(any) {
            *f = f.or(a);
        }
        if !self.keep_times {
            self.choose_offsets(&first);
        }
        let offsets: Vec<i64> = self.trace.sources.iter().map(|s| s.to_trace_ns).collect();
        let lane_offset: Vec<i64> = self
            .trace
            .lanes
            .iter()
            .map(|l| offsets[l.source.index()])
            .collect();
        let spans = &mut self.trace.spans;
        for (start, lane) in spans.start.iter_mut().zip(&spans.lane) {
            *start += lane_offset[lane.index()];
        }
        for instant in &mut self.trace.instants {
            instant.time = instant.time.saturating_add(offsets[instant.source.index()]);
        }
        for counter in &mut self.trace.counters {
            let offset = offsets[counter.source.index()];
            for t in &mut counter.times {
                *t = t.saturating_add(offset);
            }
            sort_samples(counter);
        }
        self.trace.instants.sort_by_key(|i| i.time);
        for (source, range) in std::mem::take(&mut self.captures) {
            let offset = offsets[source.index()];
            let range = TimeRange::new(
                range.start.saturating_add(offset),
                range.end.saturating_add(offset),
            );
            let slot = &mut self.trace.sources[source.index()].capture;
            *slot = Some(slot.map_or(range, |c| TimeRange {
                start: c.start.min(range.start),
                end: c.end.max(range.end),
            }));
        }
        for flow in &mut self.flows {
            for (lane, time) in [&mut flow.from, &mut flow.to] {
                *time = time.saturating_add(lane_offset[lane.index()]);
            }
        }
        for (call, scope) in &mut self.syncs {
            if let SyncScope::Event { record_at, .. } = scope {
                *record_at += lane_offset[spans.lane[call.0 as usize].index()];
            }
        }
    }

    fn choose_offsets(&mut self, first: &[Option<i64>]) {
        let unix = |s: &Source, t: i64| match s.clock {
            Clock::Unix { zero } => Some(i128::from(zero) + i128::from(t) + i128::from(s.shift_ns)),
            Clock::Unknown => None,
        };
        let origin = self
            .trace
            .sources
            .iter()
            .zip(first)
            .filter_map(|(s, f)| unix(s, (*f)?))
            .min();
        self.trace.unix_origin = origin.and_then(|o| i64::try_from(o).ok());
        for (source, first) in self.trace.sources.iter_mut().zip(first) {
            source.to_trace_ns = match (source.clock, self.trace.unix_origin) {
                (Clock::Unix { zero }, Some(origin)) => {
                    zero.saturating_sub(origin).saturating_add(source.shift_ns)
                }
                _ => first.unwrap_or(0).saturating_neg() + source.shift_ns,
            };
        }
    }

    /// Sorts the columns; returns (order, place): `order[new] = old`, `place[old] = new`.
    fn sort(&mut self) -> (Vec<u32>, Vec<u32>) {
        let n = self.span_count();
        let lanes = self.trace.lanes.len();
        // A counting sort by lane keeps file order inside each lane.
        let mut next = vec![0_u32; lanes + 1];
        for lane in &self.trace.spans.lane {
            next[lane.index() + 1] += 1;
        }
        for i in 0..lanes {
            next[i + 1] += next[i];
        }
        for (i, lane) in self.trace.lanes.iter_mut().enumerate() {
            lane.spans = next[i]..next[i + 1];
        }
        let mut order = vec![0_u32; n];
        for (old, lane) in self.trace.spans.lane.iter().enumerate() {
            let slot = &mut next[lane.index()];
            order[*slot as usize] = u32::try_from(old).unwrap_or(u32::MAX);
            *slot += 1;
        }
        let (start, dur) = (&self.trace.spans.start, &self.trace.spans.dur);
        let key = |&old: &u32| {
            let i = old as usize;
            (start[i], Reverse(dur[i]), old)
        };
        let mut rest = order.as_mut_slice();
        let mut chunks = Vec::with_capacity(lanes);
        for lane in &self.trace.lanes {
            let (chunk, tail) = rest.split_at_mut(lane.spans.len());
            chunks.push(chunk);
            rest = tail;
        }
        chunks.into_par_iter().for_each(|chunk| {
            if !chunk.is_sorted_by_key(key) {
                chunk.sort_by_key(key);
            }
        });
        let mut place = vec![0_u32; n];
        for (new, &old) in order.iter().enumerate() {
            place[old as usize] = u32::try_from(new).unwrap_or(u32::MAX);
        }
        let spans = &mut self.trace.spans;
        permute(&mut spans.start, &order);
        permute(&mut spans.dur, &order);
        permute(&mut spans.name, &order);
        permute(&mut spans.lane, &order);
        permute(&mut spans.cat, &order);
        permute(&mut spans.args, &order);
        let mut extent: Option<TimeRange> = None;
        let mut fallback: Option<TimeRange> = None;
        for i in 0..n {
            let (s, e) = (spans.start[i], spans.start[i] + spans.dur[i]);
            let grow = |slot: &mut Option<TimeRange>| {
                *slot = Some(slot.map_or(TimeRange { start: s, end: e }, |x| TimeRange {
                    start: x.start.min(s),
                    end: x.end.max(e),
                }));
            };
            if self.trace.categories[spans.cat[i].index()].counts {
                self.trace.counted_spans += 1;
                grow(&mut extent);
            } else {
                grow(&mut fallback);
            }
        }
        self.trace.extent = extent.or(fallback).unwrap_or_default();
        (order, place)
    }

    fn resolve_links(&mut self, place: &[u32]) {
        let id = |raw: RawSpan| SpanId(place[raw.0 as usize]);
        let trace = &mut self.trace;
        let mut of = std::mem::take(&mut self.launches);
        // Keep the first link of each operation, in the order they were made.
        of.sort_by_key(|&(_, op)| op);
        let before = of.len();
        of.dedup_by_key(|&mut (_, op)| op);
        let twice = (before - of.len()) as u64;
        trace.launches = of
            .iter()
            .map(|&(call, op)| Link {
                from: id(call),
                to: id(op),
            })
            .collect();
        drop(of);
        trace.launch_of = trace.launches.iter().map(|l| (l.to, l.from)).collect();
        trace.launches.par_sort_unstable();
        trace.launch_of.par_sort_unstable();
        let early = trace
            .launches
            .iter()
            .filter(|l| trace.spans.start(l.to) < trace.spans.start(l.from))
            .count() as u64;
        trace.fwdbwd = self
            .fwdbwd
            .iter()
            .map(|&(f, b)| Link {
                from: id(f),
                to: id(b),
            })
            .chain(resolve_flows(&self.flows, &trace.spans, &trace.lanes))
            .collect();
        trace.fwdbwd.sort_unstable();
        trace.fwdbwd.dedup();
        trace.syncs = self.syncs.iter().map(|&(c, s)| (id(c), s)).collect();
        trace.copies = self.copies.iter().map(|&(s, c)| (id(s), c)).collect();
        trace.copies.sort_unstable_by_key(|c| c.0);
        trace.unfinished = self.unfinished.iter().map(|&u| id(u)).collect();
        trace.unfinished.sort_unstable();
        self.count_anomaly("two_launches", twice);
        self.count_anomaly("op_before_launch", early);
    }

    fn assign_sub_rows(&mut self) {
        let mut overlaps = 0;
        for lane in &mut self.trace.lanes {
            let (rows, crossing) = assign_rows(&mut self.trace.spans, lane.spans.clone());
            lane.rows = rows;
            lane.overlaps = crossing;
            overlaps += crossing;
        }
        self.count_anomaly("overlapping_spans", overlaps);
    }
}

fn permute<T: Copy>(column: &mut Vec<T>, order: &[u32]) {
    *column = order.iter().map(|&old| column[old as usize]).collect();
}

fn sort_samples(counter: &mut Counter) {
    if counter.times.is_sorted() {
        return;
    }
    let mut order: Vec<u32> = (0..u32::try_from(counter.times.len()).unwrap_or(u32::MAX)).collect();
    order.sort_by_key(|&i| counter.times[i as usize]);
    permute(&mut counter.times, &order);
    permute(&mut counter.values, &order);
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::model::{ArgsOrigin, LaneKind, Tracer};

    fn source(clock: Clock) -> Source {
        Source {
            path: PathBuf::from("made by hand"),
            tracer: Tracer::Torch,
            producer: String::new(),
            clock,
            to_trace_ns: 0,
            shift_ns: 0,
            capture: None,
            rank: None,
            args: ArgsOrigin::None,
        }
    }

    fn span(b: &mut TraceBuilder, lane: LaneId, name: &str, start: i64, end: i64) -> RawSpan {
        let (name, cat) = (b.intern(name), b.category("x", true));
        b.add_span(SpanRow {
            lane,
            name,
            cat,
            start,
            dur: end - start,
            args: ArgsRef::NONE,
        })
    }

    #[test]
    fn spans_come_out_by_lane_start_and_length() {
        let mut b = TraceBuilder::new();
        let s = b.add_source(source(Clock::Unknown));
        let a = b.add_lane(Lane::new(s, LaneKind::Cpu, "a"));
        let g = b.add_lane(Lane::new(s, LaneKind::Gpu, "g"));
        let late = span(&mut b, a, "late", 1_050, 1_060);
        let op = span(&mut b, g, "op", 1_040, 1_080);
        span(&mut b, a, "child", 1_010, 1_020);
        span(&mut b, a, "parent", 1_010, 1_040);
        b.link_launch(late, op);
        b.link_launch(late, op);
        let t = b.finish();
        let names: Vec<_> = t.spans().ids().map(|i| t.span_name(i)).collect();
        assert_eq!(names, ["parent", "child", "late", "op"]);
        assert_eq!(t.spans().starts(), [0, 0, 40, 30]);
        assert_eq!(t.spans().rows(), [0, 1, 0, 0]);
        assert_eq!(t.extent(), TimeRange::new(0, 70));
        assert_eq!(t.launch_of(SpanId(3)), Some(SpanId(2)));
        assert_eq!(t.launched_by(SpanId(2)).len(), 1);
        assert_eq!(t.anomalies()["two_launches"], 1);
        assert_eq!(t.anomalies()["op_before_launch"], 1);
        assert_eq!(t.source(s).to_trace_ns, -1_010);
    }

    #[test]
    fn unix_clocks_keep_the_distance_between_sources() {
        let mut b = TraceBuilder::new();
        let s1 = b.add_source(source(Clock::Unix { zero: 1_000_000 }));
        let s2 = b.add_source(source(Clock::Unix { zero: 2_000_000 }));
        let l1 = b.add_lane(Lane::new(s1, LaneKind::Cpu, "1"));
        let l2 = b.add_lane(Lane::new(s2, LaneKind::Cpu, "2"));
        span(&mut b, l1, "x", 500, 600);
        span(&mut b, l2, "y", 500, 600);
        let t = b.finish();
        assert_eq!(t.spans().starts(), [0, 1_000_000]);
        assert_eq!(t.unix_origin(), Some(1_000_500));
    }

    #[test]
    fn unfinished_spans_reach_to_the_end_of_their_source() {
        let mut b = TraceBuilder::new();
        let s = b.add_source(source(Clock::Unknown));
        let a = b.add_lane(Lane::new(s, LaneKind::Cpu, "a"));
        let open = span(&mut b, a, "open", 10, 10);
        b.mark_unfinished(open);
        span(&mut b, a, "inside", 20, 90);
        let t = b.finish();
        assert_eq!(t.spans().durs(), [80, 70]);
        assert!(t.is_unfinished(SpanId(0)) && !t.is_unfinished(SpanId(1)));
    }
}
