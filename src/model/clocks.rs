//! One clock for all sources: where each one's zero lies in the trace.
//!
//! ```text
//! Unix time   ────┬────────────────┬───────────▶
//! source A        zero  ├─ spans ──┼──┤              the distance of A and B stays what it was
//! source B                         zero  ├─ spans ─┤
//! source C                                           no known clock: its first span goes to where the trace begins
//! trace time            0 ─────────────────────▶     the earliest first span of the sources in Unix time
//! ```
//!
//! Spans that do not count (the recorder's own rows) and sources that only join a run do not say where the trace begins.
//! What was shifted by hand is shifted before that is looked for; what would lie out of reach is moved to the edge of it.

use super::builder::{TIME_LIMIT, TraceBuilder};
use super::finish::{counted_extent, permute};
use super::ids::SourceId;
use super::tables::{Clock, Counter, Source, SyncScope};
use super::trace::Trace;
use crate::time::TimeRange;

/// The latest start in trace time. A source's own times reach as far from its first one, and the end of a span there is
/// no more than [`TIME_LIMIT`] later: neither overflows, and no difference of two of them does.
pub(super) const LATEST: i128 = 2 * TIME_LIMIT as i128;

/// Where the spans of a source start, in its own time, ns.
#[derive(Clone, Copy)]
struct Starts {
    low: i64,
    high: i64,
    /// The earliest of those that count.
    counting: Option<i64>,
}

impl Starts {
    fn and(self, other: Option<Self>) -> Self {
        let Some(other) = other else {
            return self;
        };
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            counting: self.counting.into_iter().chain(other.counting).min(),
        }
    }

    /// The earliest of the spans that count, else of all.
    fn first(self) -> i64 {
        self.counting.unwrap_or(self.low)
    }
}

impl TraceBuilder {
    /// Trace time = source time + `to_trace_ns`. With Unix clocks the sources keep their distances; a source without
    /// one starts where the trace starts. Moves everything but the spans' own starts, to which the returned offset of
    /// their lane has to be added; `order` has the spans of each lane by start.
    pub(super) fn align_clocks(&mut self, order: &[u32]) -> Vec<i64> {
        if !self.keep_times {
            let starts = self.starts(order);
            self.choose_offsets(&starts);
        }
        let trace = &mut self.trace;
        let offsets: Vec<i64> = trace.sources.iter().map(|s| s.to_trace_ns).collect();
        let lanes = trace.lanes.iter();
        let lane_offset: Vec<i64> = lanes.map(|l| offsets[l.source.index()]).collect();
        let mut clamped = 0;
        let mut moved = |time: i64, offset: i64| {
            let sum = i128::from(time) + i128::from(offset);
            let (low, high) = (-i128::from(TIME_LIMIT), LATEST);
            clamped += u64::from(sum < low || sum > high);
            i64::try_from(sum.clamp(low, high)).unwrap_or(TIME_LIMIT)
        };
        for instant in &mut trace.instants {
            instant.time = moved(instant.time, offsets[instant.source.index()]);
        }
        for counter in &mut trace.counters {
            let offset = offsets[counter.source.index()];
            for t in &mut counter.times {
                *t = moved(*t, offset);
            }
            sort_samples(counter);
        }
        trace.instants.sort_by_key(|i| i.time);
        for (source, range) in std::mem::take(&mut self.captures) {
            let offset = offsets[source.index()];
            let range = TimeRange::new(moved(range.start, offset), moved(range.end, offset));
            let slot = &mut trace.sources[source.index()].capture;
            *slot = Some(slot.map_or(range, |c| TimeRange {
                start: c.start.min(range.start),
                end: c.end.max(range.end),
            }));
        }
        for flow in &mut self.pairs.flows {
            for (lane, time) in [&mut flow.from, &mut flow.to] {
                *time = time.saturating_add(lane_offset[lane.index()]);
            }
        }
        for (call, scope) in &mut self.pairs.syncs {
            if let SyncScope::Event { record_at, .. } = scope {
                let offset = lane_offset[trace.spans.lane[call.0 as usize].index()];
                *record_at = record_at.saturating_add(offset);
            }
        }
        self.count_anomaly("clamped_time", clamped);
        lane_offset
    }

    /// Where the spans of each source start; `None` where it has none.
    fn starts(&self, order: &[u32]) -> Vec<Option<Starts>> {
        let trace = &self.trace;
        let start = |&i: &u32| trace.spans.start[i as usize];
        let counts = |i: &u32| trace.categories[trace.spans.cat[*i as usize].index()].counts;
        let mut all = vec![None; trace.sources.len()];
        for lane in &trace.lanes {
            let of_lane = &order[lane.spans.start as usize..lane.spans.end as usize];
            if let (Some(first), Some(last)) = (of_lane.first(), of_lane.last()) {
                let slot = &mut all[lane.source.index()];
                let counting = of_lane.iter().find(|&i| counts(i)).map(start);
                let here = Starts {
                    low: start(first),
                    high: start(last),
                    counting,
                };
                *slot = Some(here.and(*slot));
            }
        }
        all
    }

    /// A file that would lie out of reach is moved as a whole to the edge of it, so that no time of its spans overflows.
    fn choose_offsets(&mut self, starts: &[Option<Starts>]) {
        let unix = |s: &Source, t: i64| match s.clock {
            Clock::Unix { zero } => Some(i128::from(zero) + i128::from(t) + i128::from(s.shift_ns)),
            Clock::Unknown => None,
        };
        let first = |joins: bool| {
            let sources = self.trace.sources.iter().zip(starts);
            let sources = sources.filter(|(s, _)| s.tracer.joins_runs == joins);
            sources
                .filter_map(|(s, starts)| unix(s, (*starts)?.first()))
                .min()
        };
        let origin = first(false).or_else(|| first(true));
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
}

impl Trace {
    /// The trace with the files moved on the time axis, by source, ns: within each file nothing changes.
    ///
    /// # Panics
    /// If there are fewer numbers than sources.
    #[must_use]
    pub fn moved(&self, by: &[i64]) -> Self {
        let mut trace = self.clone();
        let add = |time: i64, source: SourceId| {
            let moved = i128::from(time) + i128::from(by[source.index()]);
            let edge = LATEST;
            i64::try_from(moved.clamp(-edge, edge)).unwrap_or(time)
        };
        for lane in &trace.lanes {
            let range = lane.spans.start as usize..lane.spans.end as usize;
            for start in &mut trace.spans.start[range] {
                *start = add(*start, lane.source);
            }
        }
        for instant in &mut trace.instants {
            instant.time = add(instant.time, instant.source);
        }
        trace.instants.sort_by_key(|i| i.time);
        for counter in &mut trace.counters {
            for time in &mut counter.times {
                *time = add(*time, counter.source);
            }
        }
        for (call, scope) in &mut trace.syncs {
            if let SyncScope::Event { record_at, .. } = scope {
                let lane = trace.spans.lane[call.index()];
                *record_at = add(*record_at, trace.lanes[lane.index()].source);
            }
        }
        for (source, by) in trace.sources.iter_mut().zip(by) {
            source.to_trace_ns = source.to_trace_ns.saturating_add(*by);
            source.capture = source.capture.map(|c| TimeRange {
                start: c.start.saturating_add(*by),
                end: c.end.saturating_add(*by),
            });
        }
        if let (Some(extent), _) = counted_extent(&trace) {
            trace.extent = extent;
        }
        trace
    }
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
