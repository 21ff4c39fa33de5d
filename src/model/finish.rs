//! Freezing a [`TraceBuilder`]: one clock for all sources, the stored order, links by span id, sub-rows.

use rayon::prelude::*;

use super::builder::{TIME_LIMIT, TraceBuilder};
use super::flows::resolve_flows;
use super::ids::{RawSpan, SourceId, SpanId};
use super::order::sort_lane;
use super::spans::assign_rows;
use super::tables::{Clock, Counter, Source, SyncScope};
use super::trace::{Link, Trace};
use crate::time::TimeRange;

/// The latest start in trace time. A source's own times reach as far from its first one, and the end of a span there is
/// no more than [`TIME_LIMIT`] later: neither overflows, and no difference of two of them does.
const LATEST: i128 = 2 * TIME_LIMIT as i128;

/// Asks whether somebody wants to stop.
type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

fn go_on(stop: Stop<'_>) -> Option<()> {
    (!stop()).then_some(())
}

/// Where the spans of a source start, in its own time, ns.
#[derive(Clone, Copy)]
struct Starts {
    low: i64,
    high: i64,
    /// The earliest of those that count.
    counting: Option<i64>,
}

impl Starts {
    fn of(start: i64, counts: bool) -> Self {
        Self {
            low: start,
            high: start,
            counting: counts.then_some(start),
        }
    }

    fn join(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        let (Some(a), Some(b)) = (a, b) else {
            return a.or(b);
        };
        Some(Self {
            low: a.low.min(b.low),
            high: a.high.max(b.high),
            counting: match (a.counting, b.counting) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
        })
    }

    /// The earliest of the spans that count, else of all.
    fn first(self) -> i64 {
        self.counting.unwrap_or(self.low)
    }
}

impl TraceBuilder {
    /// Puts all sources on one clock, sorts, assigns sub-rows, resolves links. Returns the immutable trace.
    #[must_use]
    pub fn finish(self) -> Trace {
        self.finish_unless(&|| false).unwrap_or_default()
    }

    /// As [`TraceBuilder::finish`]; `None` once `stop` says so, which is asked every few milliseconds of work.
    #[must_use]
    pub fn finish_unless(mut self, stop: Stop<'_>) -> Option<Trace> {
        self.trace.spans.row = vec![0; self.span_count()];
        self.shrink();
        self.close_unfinished();
        go_on(stop)?;
        self.align_clocks();
        go_on(stop)?;
        let place = self.sort(stop)?;
        self.resolve_links(&place, stop)?;
        drop(place);
        self.assign_sub_rows(stop)?;
        Some(self.trace)
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

    /// Where the spans of each source start; `None` where it has none.
    fn starts(&self) -> Vec<Option<Starts>> {
        let trace = &self.trace;
        let source_of: Vec<usize> = trace.lanes.iter().map(|l| l.source.index()).collect();
        let none = || vec![None; trace.sources.len()];
        let spans = &trace.spans;
        let columns = (&spans.start[..], &spans.lane[..], &spans.cat[..]);
        columns
            .into_par_iter()
            .with_min_len(1 << 16)
            .fold(none, |mut all: Vec<Option<Starts>>, (&start, lane, cat)| {
                let counts = trace.categories[cat.index()].counts;
                let slot = &mut all[source_of[lane.index()]];
                *slot = Starts::join(*slot, Some(Starts::of(start, counts)));
                all
            })
            .reduce(none, |a, b| {
                let both = a.into_iter().zip(b);
                both.map(|(a, b)| Starts::join(a, b)).collect()
            })
    }

    /// Trace time = source time + `to_trace_ns`. With Unix clocks the sources keep their distances; a source without
    /// one starts where the trace starts.
    fn align_clocks(&mut self) {
        if !self.keep_times {
            let starts = self.starts();
            self.choose_offsets(&starts);
        }
        let offsets: Vec<i64> = self.trace.sources.iter().map(|s| s.to_trace_ns).collect();
        let lane_offset: Vec<i64> = self
            .trace
            .lanes
            .iter()
            .map(|l| offsets[l.source.index()])
            .collect();
        let spans = &mut self.trace.spans;
        let columns = (&mut spans.start[..], &spans.lane[..]).into_par_iter();
        columns
            .with_min_len(1 << 16)
            .for_each(|(start, lane)| *start += lane_offset[lane.index()]);
        let mut clamped = 0;
        let mut moved = |time: i64, offset: i64| {
            let sum = i128::from(time) + i128::from(offset);
            let (low, high) = (-i128::from(TIME_LIMIT), LATEST);
            clamped += u64::from(sum < low || sum > high);
            i64::try_from(sum.clamp(low, high)).unwrap_or(TIME_LIMIT)
        };
        for instant in &mut self.trace.instants {
            instant.time = moved(instant.time, offsets[instant.source.index()]);
        }
        for counter in &mut self.trace.counters {
            let offset = offsets[counter.source.index()];
            for t in &mut counter.times {
                *t = moved(*t, offset);
            }
            sort_samples(counter);
        }
        self.trace.instants.sort_by_key(|i| i.time);
        for (source, range) in std::mem::take(&mut self.captures) {
            let offset = offsets[source.index()];
            let range = TimeRange::new(moved(range.start, offset), moved(range.end, offset));
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
                let offset = lane_offset[spans.lane[call.0 as usize].index()];
                *record_at = record_at.saturating_add(offset);
            }
        }
        self.count_anomaly("clamped_time", clamped);
    }

    /// A file that would lie out of reach is moved as a whole to the edge of it, so that no time of its spans overflows.
    fn choose_offsets(&mut self, starts: &[Option<Starts>]) {
        let unix = |s: &Source, t: i64| match s.clock {
            Clock::Unix { zero } => Some(i128::from(zero) + i128::from(t) + i128::from(s.shift_ns)),
            Clock::Unknown => None,
        };
        let origin = self
            .trace
            .sources
            .iter()
            .zip(starts)
            .filter_map(|(s, starts)| unix(s, (*starts)?.first()))
            .min();
        self.trace.unix_origin = origin.and_then(|o| i64::try_from(o).ok());
        let mut far = 0;
        for (i, source) in self.trace.sources.iter_mut().enumerate() {
            let wanted = match (source.clock, self.trace.unix_origin) {
                (Clock::Unix { zero }, Some(origin)) => i128::from(zero) - i128::from(origin),
                _ => -i128::from(starts[i].map_or(0, Starts::first)),
            } + i128::from(source.shift_ns);
            let (low, high) = starts[i].map_or((0, 0), |s| (s.low, s.high));
            // Starts lie within the limit on both sides of zero, so that both bounds can be met.
            let fits = wanted
                .min(LATEST - i128::from(high))
                .max(-i128::from(TIME_LIMIT) - i128::from(low));
            far += u64::from(fits != wanted);
            source.to_trace_ns = i64::try_from(fits).unwrap_or(0);
        }
        self.count_anomaly("far_source", far);
    }

    /// Sorts the columns; returns the new place of each span.
    fn sort(&mut self, stop: Stop<'_>) -> Option<Vec<u32>> {
        let order = self.order(stop)?;
        let mut place = vec![0_u32; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old as usize] = u32::try_from(new).unwrap_or(u32::MAX);
        }
        let spans = &mut self.trace.spans;
        // Columns of one width share the room that they are reordered through.
        let mut wide = Vec::new();
        permute(&mut spans.start, &order, &mut wide);
        go_on(stop)?;
        permute(&mut spans.dur, &order, &mut wide);
        drop(wide);
        go_on(stop)?;
        permute(&mut spans.args, &order, &mut Vec::new());
        go_on(stop)?;
        permute(&mut spans.name, &order, &mut Vec::new());
        permute(&mut spans.lane, &order, &mut Vec::new());
        permute(&mut spans.cat, &order, &mut Vec::new());
        drop(order);
        go_on(stop)?;
        self.measure_extent();
        Some(place)
    }

    /// `order[new] = old`.
    fn order(&mut self, stop: Stop<'_>) -> Option<Vec<u32>> {
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
        go_on(stop)?;
        let (start, dur) = (&self.trace.spans.start, &self.trace.spans.dur);
        let mut rest = order.as_mut_slice();
        let mut chunks = Vec::with_capacity(lanes);
        for lane in &self.trace.lanes {
            let (chunk, tail) = rest.split_at_mut(lane.spans.len());
            chunks.push(chunk);
            rest = tail;
        }
        let lanes = chunks.into_par_iter();
        lanes.for_each(|chunk| sort_lane(chunk, start, dur, stop));
        go_on(stop)?;
        Some(order)
    }

    /// The range of the spans that count, else of all, else of what has no duration; and how many count.
    fn measure_extent(&mut self) {
        type Found = (Option<TimeRange>, Option<TimeRange>, u64);
        let (spans, categories) = (&self.trace.spans, &self.trace.categories);
        let join = |a: Option<TimeRange>, b: Option<TimeRange>| match (a, b) {
            (Some(a), Some(b)) => Some(TimeRange {
                start: a.start.min(b.start),
                end: a.end.max(b.end),
            }),
            (a, b) => a.or(b),
        };
        let columns = (&spans.start[..], &spans.dur[..], &spans.cat[..]);
        let (extent, fallback, counted) = columns
            .into_par_iter()
            .with_min_len(1 << 16)
            .fold(Found::default, |found, (&start, &dur, cat)| {
                let range = Some(TimeRange {
                    start,
                    end: start + dur,
                });
                if categories[cat.index()].counts {
                    (join(found.0, range), found.1, found.2 + 1)
                } else {
                    (found.0, join(found.1, range), found.2)
                }
            })
            .reduce(Found::default, |a, b| {
                (join(a.0, b.0), join(a.1, b.1), a.2 + b.2)
            });
        self.trace.counted_spans = counted;
        let extent = extent.or(fallback).or_else(|| self.sampled());
        self.trace.extent = extent.unwrap_or_default();
    }

    /// The range of counters and instants, the last one included.
    fn sampled(&self) -> Option<TimeRange> {
        // Both are sorted by time.
        let times = self.trace.counters.iter().map(|c| &c.times);
        let ends = times.filter_map(|t| Some((*t.first()?, *t.last()?)));
        let instants = &self.trace.instants;
        let instants = instants.first().zip(instants.last());
        let ends = ends.chain(instants.map(|(a, b)| (a.time, b.time)));
        let both = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        Some(TimeRange::new(both.0, both.1 + 1))
    }

    fn resolve_links(&mut self, place: &[u32], stop: Stop<'_>) -> Option<()> {
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
        go_on(stop)?;
        // Both consist of a few sorted runs mostly, which a stable sort merges.
        let (launches, launch_of) = (&mut trace.launches, &mut trace.launch_of);
        rayon::join(|| launches.sort(), || launch_of.sort());
        go_on(stop)?;
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
        go_on(stop)?;
        trace.fwdbwd.sort_unstable();
        trace.fwdbwd.dedup();
        trace.syncs = self.syncs.iter().map(|&(c, s)| (id(c), s)).collect();
        trace.copies = self.copies.iter().map(|&(s, c)| (id(s), c)).collect();
        trace.copies.sort_unstable_by_key(|c| c.0);
        trace.unfinished = self.unfinished.iter().map(|&u| id(u)).collect();
        trace.unfinished.sort_unstable();
        self.count_anomaly("two_launches", twice);
        self.count_anomaly("op_before_launch", early);
        go_on(stop)
    }

    fn assign_sub_rows(&mut self, stop: Stop<'_>) -> Option<()> {
        let spans = &mut self.trace.spans;
        let mut rest = spans.row.as_mut_slice();
        let mut lanes = Vec::with_capacity(self.trace.lanes.len());
        for lane in &mut self.trace.lanes {
            let (rows, tail) = rest.split_at_mut(lane.spans.len());
            lanes.push((lane, rows));
            rest = tail;
        }
        let (starts, durs) = (&spans.start, &spans.dur);
        let (overlaps, crowded) = lanes
            .into_par_iter()
            .map(|(lane, rows)| {
                if stop() {
                    return (0, 0);
                }
                let range = lane.spans.start as usize..lane.spans.end as usize;
                let found = assign_rows(&starts[range.clone()], &durs[range], rows);
                lane.rows = found.rows;
                lane.overlaps = found.overlaps;
                (found.overlaps, found.crowded)
            })
            .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        self.count_anomaly("overlapping_spans", overlaps);
        self.count_anomaly("crowded_rows", crowded);
        go_on(stop)
    }
}

/// Reorders a column; `room` holds its former memory afterwards.
fn permute<T: Copy + Send + Sync>(column: &mut Vec<T>, order: &[u32], room: &mut Vec<T>) {
    order
        .par_iter()
        .with_min_len(1 << 16)
        .map(|&old| column[old as usize])
        .collect_into_vec(room);
    std::mem::swap(column, room);
}

fn sort_samples(counter: &mut Counter) {
    if counter.times.is_sorted() {
        return;
    }
    let mut order: Vec<u32> = (0..u32::try_from(counter.times.len()).unwrap_or(u32::MAX)).collect();
    order.sort_by_key(|&i| counter.times[i as usize]);
    permute(&mut counter.times, &order, &mut Vec::new());
    permute(&mut counter.values, &order, &mut Vec::new());
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::model::{ArgsOrigin, ArgsRef, Lane, LaneId, LaneKind, SpanRow, Tracer};

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
    fn sources_out_of_reach_are_moved_to_its_edge_as_a_whole() {
        let far = [
            (
                Clock::Unix {
                    zero: 9_000_000_000_000_000_000,
                },
                0,
            ),
            (Clock::Unix { zero: 0 }, i64::MAX),
            (Clock::Unix { zero: i64::MIN }, i64::MIN),
            (Clock::Unknown, 9_223_372_036_000_000_000),
            (Clock::Unknown, i64::MIN),
        ];
        for (clock, shift) in far {
            let mut b = TraceBuilder::new();
            let near = b.add_source(source(Clock::Unix { zero: 0 }));
            let other = b.add_source(source(clock));
            b.source_mut(other).shift_ns = shift;
            for s in [near, other] {
                let lane = b.add_lane(Lane::new(s, LaneKind::Cpu, "a"));
                span(&mut b, lane, "x", 500, 600);
                span(&mut b, lane, "y", 700, TIME_LIMIT);
            }
            let t = b.finish();
            let [x, y] = [2, 3].map(|i| t.spans().range(SpanId(i)));
            assert_eq!(
                (x.len(), y.start - x.start, y.len()),
                (100, 200, TIME_LIMIT - 700),
                "{clock:?} {shift}"
            );
            assert_eq!(t.anomalies()["far_source"], 1, "{clock:?} {shift}");
            assert!(t.extent().len() > TIME_LIMIT);
        }
    }

    #[test]
    fn instants_and_samples_out_of_reach_are_counted() {
        let mut b = TraceBuilder::new();
        let s = b.add_source(source(Clock::Unknown));
        let lane = b.add_lane(Lane::new(s, LaneKind::Cpu, "a"));
        span(&mut b, lane, "x", -5, 600);
        b.add_counter(Counter {
            process: None,
            source: s,
            name: String::new(),
            series: String::new(),
            times: vec![i64::MAX, 7],
            values: vec![1.0, 2.0],
        });
        let t = b.finish();
        assert_eq!(i128::from(t.counters()[0].times[1]), LATEST);
        assert_eq!(t.counters()[0].times[0], 12);
        assert_eq!(t.anomalies()["clamped_time"], 1);
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
