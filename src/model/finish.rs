//! Freezing a [`TraceBuilder`]: the stored order, one clock for all sources, links by span id, sub-rows.

use std::ops::Range;

use rayon::prelude::*;

use super::builder::TraceBuilder;
use super::ids::{LaneId, RawSpan};
use super::links::Links;
use super::order::{by_lane, sort_lane};
use super::rows::{LaneRows, assign_rows};
use super::spans::Spans;
use super::stop::{Stop, go_on};
use super::tables::Lane;
use super::trace::Trace;
use crate::time::TimeRange;

/// Spans that one task of a parallel pass takes.
const PART: usize = 1 << 16;

impl TraceBuilder {
    /// Puts all sources on one clock, sorts, assigns sub-rows, resolves links. Returns the immutable trace.
    #[must_use]
    pub fn finish(self) -> Trace {
        self.finish_unless(&|| false).unwrap_or_default()
    }

    /// As [`TraceBuilder::finish`]; `None` once `stop` says so, which is asked every few milliseconds of work.
    #[must_use]
    pub fn finish_unless(mut self, stop: Stop<'_>) -> Option<Trace> {
        self.shrink();
        self.close_unfinished();
        go_on(stop)?;
        let order = self.order(stop)?;
        let offsets = self.align_clocks(&order);
        go_on(stop)?;
        self.reorder(&order, &offsets, stop)?;
        let place = inverse(&order);
        drop(order);
        let pairs = std::mem::take(&mut self.pairs);
        let trace = &self.trace;
        // Sub-rows go through a lane front to back, which keeps one core busy: the others do the rest meanwhile.
        let (rows, links) = rayon::join(
            || sub_rows(trace, stop),
            || {
                let extent = counted_extent(trace);
                Some((extent, pairs.resolve(trace, &place, stop)?))
            },
        );
        let ((extent, counted), links) = links?;
        self.trace.counted_spans = counted;
        self.trace.extent = extent.or_else(|| self.sampled()).unwrap_or_default();
        self.set_links(links);
        let (row, lanes) = rows?;
        self.trace.spans.row = row;
        self.set_rows(&lanes);
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

    fn close_unfinished(&mut self) {
        if self.pairs.unfinished.is_empty() {
            return;
        }
        let trace = &mut self.trace;
        let source_of: Vec<usize> = trace.lanes.iter().map(|l| l.source.index()).collect();
        let spans = &mut trace.spans;
        let mut last = vec![i64::MIN; trace.sources.len()];
        let times = spans.start.iter().zip(&spans.dur);
        for ((&start, &dur), lane) in times.zip(&spans.lane) {
            let last = &mut last[source_of[lane.index()]];
            *last = (*last).max(start + dur);
        }
        for &RawSpan(raw) in &self.pairs.unfinished {
            let i = raw as usize;
            let end = last[source_of[spans.lane[i].index()]];
            spans.dur[i] = (end - spans.start[i]).max(0);
        }
    }

    /// `order[new] = old`, by lane, start and length. Sets the ranges of the lanes.
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
        by_lane(&mut order, &self.trace.lanes)
            .into_par_iter()
            .for_each(|of_lane| sort_lane(of_lane, start, dur, stop));
        go_on(stop)?;
        Some(order)
    }

    /// Sorts the columns and moves the starts of each lane by its offset.
    fn reorder(&mut self, order: &[u32], offsets: &[i64], stop: Stop<'_>) -> Option<()> {
        let spans = &mut self.trace.spans;
        for (lane, id) in self.trace.lanes.iter().zip(0..) {
            let range = lane.spans.start as usize..lane.spans.end as usize;
            spans.lane[range].fill(LaneId(id));
        }
        // Columns of one width share the room that they are reordered through.
        let mut wide = Vec::new();
        let starts = &spans.start;
        (order, &spans.lane[..])
            .into_par_iter()
            .with_min_len(PART)
            .map(|(&old, lane)| starts[old as usize] + offsets[lane.index()])
            .collect_into_vec(&mut wide);
        std::mem::swap(&mut spans.start, &mut wide);
        go_on(stop)?;
        permute(&mut spans.dur, order, &mut wide);
        drop(wide);
        go_on(stop)?;
        permute(&mut spans.args, order, &mut Vec::new());
        go_on(stop)?;
        permute(&mut spans.name, order, &mut Vec::new());
        permute(&mut spans.cat, order, &mut Vec::new());
        go_on(stop)
    }

    /// The range of counters and instants, the last one included; instants last no time: alone they make none.
    fn sampled(&self) -> Option<TimeRange> {
        // Both are sorted by time.
        let times = self.trace.counters.iter().map(|c| &c.times);
        let ends = times.filter_map(|t| Some((*t.first()?, *t.last()?)));
        let wider = |a: (i64, i64), b: (i64, i64)| (a.0.min(b.0), a.1.max(b.1));
        let instants = self.trace.instants.first().zip(self.trace.instants.last());
        let Some(counters) = ends.reduce(wider) else {
            return instants.map(|(first, _)| TimeRange::new(first.time, first.time));
        };
        let all = instants.map_or(counters, |(a, b)| wider(counters, (a.time, b.time)));
        Some(TimeRange::new(all.0, all.1 + 1))
    }

    fn set_links(&mut self, links: Links) {
        let trace = &mut self.trace;
        trace.launches = links.launches;
        trace.launch_of = links.launch_of;
        trace.fwdbwd = links.fwdbwd;
        trace.syncs = links.syncs;
        trace.copies = links.copies;
        trace.unfinished = links.unfinished;
        self.count_anomaly("two_launches", links.twice);
        self.count_anomaly("op_before_launch", links.early);
    }

    fn set_rows(&mut self, found: &[LaneRows]) {
        for (lane, found) in self.trace.lanes.iter_mut().zip(found) {
            lane.rows = found.rows;
            lane.overlaps = found.overlaps;
        }
        let sum = |of: fn(&LaneRows) -> u64| found.iter().map(of).sum();
        self.count_anomaly("overlapping_spans", sum(|l| l.overlaps));
        self.count_anomaly("crowded_rows", sum(|l| l.crowded));
    }
}

/// Reorders a column; `room` holds its former memory afterwards.
pub(super) fn permute<T: Copy + Send + Sync>(
    column: &mut Vec<T>,
    order: &[u32],
    room: &mut Vec<T>,
) {
    order
        .par_iter()
        .with_min_len(PART)
        .map(|&old| column[old as usize])
        .collect_into_vec(room);
    std::mem::swap(column, room);
}

/// `place[old] = new`.
fn inverse(order: &[u32]) -> Vec<u32> {
    let mut place = vec![0_u32; order.len()];
    for (new, &old) in order.iter().enumerate() {
        place[old as usize] = u32::try_from(new).unwrap_or(u32::MAX);
    }
    place
}

/// The range of the spans that count, else of all; and how many count. Where there are runs, spans of sources that join
/// them do not widen it.
pub(super) fn counted_extent(trace: &Trace) -> (Option<TimeRange>, u64) {
    let (spans, all) = (&trace.spans, 0..trace.spans.len());
    let counts: Vec<bool> = trace.categories.iter().map(|c| c.counts).collect();
    let (whole, counted) = extent(spans, all.clone(), |cat| counts[cat]);
    let joins = |lane: &Lane| trace.sources[lane.source.index()].tracer.joins_runs;
    let runs = trace.lanes.iter().any(joins).then(|| {
        let own = trace.lanes.iter().filter(|l| !joins(l));
        let ranges = own.filter_map(|l| {
            let own = l.spans.start as usize..l.spans.end as usize;
            extent(spans, own, |cat| counts[cat]).0
        });
        ranges.reduce(|a, b| TimeRange::new(a.start.min(b.start), a.end.max(b.end)))
    });
    let found = runs.flatten().or(whole);
    (found.or_else(|| extent(spans, all, |_| true).0), counted)
}

/// The range of those of some spans whose category is wanted, and their number.
fn extent(
    spans: &Spans,
    among: Range<usize>,
    wanted: impl Fn(usize) -> bool + Sync,
) -> (Option<TimeRange>, u64) {
    let parts = (
        spans.start[among.clone()].par_chunks(PART),
        spans.dur[among.clone()].par_chunks(PART),
        spans.cat[among].par_chunks(PART),
    );
    let (first, last, n) = parts
        .into_par_iter()
        .map(|(starts, durs, cats)| {
            let (mut first, mut last, mut n) = (i64::MAX, i64::MIN, 0_u64);
            for ((&start, &dur), cat) in starts.iter().zip(durs).zip(cats) {
                if wanted(cat.index()) {
                    first = first.min(start);
                    last = last.max(start + dur);
                    n += 1;
                }
            }
            (first, last, n)
        })
        .reduce(
            || (i64::MAX, i64::MIN, 0),
            |a, b| (a.0.min(b.0), a.1.max(b.1), a.2 + b.2),
        );
    let extent = TimeRange {
        start: first,
        end: last,
    };
    ((n > 0).then_some(extent), n)
}

/// The sub-row of each span, and what each lane needs.
fn sub_rows(trace: &Trace, stop: Stop<'_>) -> Option<(Vec<u16>, Vec<LaneRows>)> {
    let spans = &trace.spans;
    let mut rows = vec![0; spans.len()];
    let lanes = trace.lanes.par_iter();
    let found = lanes
        .zip(by_lane(&mut rows, &trace.lanes))
        .map(|(lane, rows)| {
            go_on(stop)?;
            let range = lane.spans.start as usize..lane.spans.end as usize;
            Some(assign_rows(
                &spans.start[range.clone()],
                &spans.dur[range],
                rows,
            ))
        })
        .collect::<Option<Vec<LaneRows>>>()?;
    Some((rows, found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::builder::TIME_LIMIT;
    use crate::model::clocks::LATEST;
    use crate::model::tables::MADE;
    use crate::model::{ArgsRef, Clock, Counter, LaneKind, Source, SpanId, SpanRow, TracerFacts};

    fn source(clock: Clock) -> Source {
        Source {
            clock,
            ..Source::new("made by hand", &MADE)
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
    fn what_joins_a_run_says_neither_where_it_begins_nor_where_it_ends() {
        static BESIDE: TracerFacts = TracerFacts {
            encloses_fetches: false,
            joins_runs: true,
            ..MADE
        };
        let made = |beside_alone: bool| {
            let mut b = TraceBuilder::new();
            let zero = Clock::Unix { zero: 1_000_000 };
            let s = b.add_source(Source {
                tracer: &BESIDE,
                ..source(zero)
            });
            let lane = b.add_lane(Lane::new(s, LaneKind::Cpu, "beside"));
            span(&mut b, lane, "early", 400, 9_000);
            if !beside_alone {
                let s = b.add_source(source(zero));
                let lane = b.add_lane(Lane::new(s, LaneKind::Cpu, "run"));
                span(&mut b, lane, "x", 500, 600);
            }
            b.finish()
        };
        let t = made(false);
        assert_eq!(t.spans().starts(), [-100, 0]);
        assert_eq!(
            (t.unix_origin(), t.extent()),
            (Some(1_000_500), TimeRange::new(0, 100))
        );
        assert_eq!(t.counted_spans(), 2);
        let t = made(true);
        assert_eq!(
            (t.unix_origin(), t.extent()),
            (Some(1_000_400), TimeRange::new(0, 8_600))
        );
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
            ..Counter::default()
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
