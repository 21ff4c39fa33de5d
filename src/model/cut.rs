//! What of a trace a window needs, so that what is measured in it stays what it is: all but causes of waits, whose batches
//! may have been made before it.
//!
//! ```text
//!              A                    B
//!  CPU    ├ a ─┼──┤   ├ b ┤   ├ c ┤ │  ├ d ┤             a, b, c: touch the window, and are whole
//!  GPU  ├ p ┤  │   ├ q ┤            │ ├ r ┤   ├ s ┤      p, r: the neighbours of the window, causes of gaps that it cuts
//! ```

use rustc_hash::FxHashSet;

use super::ids::{DeviceId, SourceId, SpanId};
use super::tables::{LaneKind, SyncScope};
use super::trace::Trace;
use crate::time::TimeRange;

/// The spans of some sources that belong to a window. None of them is clipped.
#[derive(Clone, Debug)]
pub struct Cut {
    window: TimeRange,
    sources: Vec<bool>,
    keeps: Vec<u64>,
    touching: u64,
}

impl Cut {
    /// What `window` needs of these sources:
    ///
    /// 1. what touches it (what has no length: what starts in it);
    /// 2. calls and what they launched, where the time from the first start to the last end of them touches it;
    /// 3. of each GPU the last operation before it and the first one behind it, and all of equal time;
    /// 4. of the spans in `bounds`, which bound what is counted (the fetches between which steps lie), the last one that
    ///    starts before it and the first one behind it;
    /// 5. what the kept ones launched, or were launched by, and the record calls of the events that they waited for.
    #[must_use]
    pub fn new(
        trace: &Trace,
        window: TimeRange,
        sources: &[SourceId],
        bounds: &[Vec<SpanId>],
    ) -> Self {
        let mut of = vec![false; trace.sources().len()];
        for source in sources {
            if let Some(slot) = of.get_mut(source.index()) {
                *slot = true;
            }
        }
        let mut cut = Self {
            window,
            sources: of,
            keeps: vec![0; trace.spans().len().div_ceil(64)],
            touching: 0,
        };
        cut.touch(trace);
        cut.neighbours(trace);
        for bounds in bounds {
            cut.bounds(trace, bounds);
        }
        cut.launches(trace);
        cut.records(trace);
        cut
    }

    /// The window, ns of the trace.
    #[must_use]
    pub fn window(&self) -> TimeRange {
        self.window
    }

    /// Whether a source is in it.
    #[must_use]
    pub fn has(&self, source: SourceId) -> bool {
        self.sources.get(source.index()).copied().unwrap_or(false)
    }

    /// Whether a span is kept.
    #[must_use]
    pub fn keeps(&self, span: SpanId) -> bool {
        let word = self.keeps.get(span.index() / 64).copied().unwrap_or(0);
        word >> (span.index() % 64) & 1 == 1
    }

    /// The spans that are kept, in the order of the trace.
    pub fn spans(&self) -> impl Iterator<Item = SpanId> + '_ {
        (0_u32..).zip(&self.keeps).flat_map(|(i, &word)| {
            let set = move |bit: &u32| word >> bit & 1 == 1;
            (0..64).filter(set).map(move |bit| SpanId(64 * i + bit))
        })
    }

    /// Number of spans that touch the window, those that a recorder writes about itself left out.
    #[must_use]
    pub fn touching(&self) -> u64 {
        self.touching
    }

    /// What the record of a source covers now, where its file states what it covers.
    #[must_use]
    pub fn capture(&self, trace: &Trace, source: SourceId) -> Option<TimeRange> {
        Some(trace.source(source).capture?.clip(self.window))
    }

    /// Whether something of this time belongs to the window by itself.
    #[must_use]
    pub fn touches(&self, range: TimeRange) -> bool {
        if range.start < range.end {
            range.start < self.window.end && range.end > self.window.start
        } else {
            self.holds(range.start)
        }
    }

    /// Whether a moment lies in the window.
    #[must_use]
    pub fn holds(&self, time: i64) -> bool {
        self.window.start <= time && time < self.window.end
    }

    fn keep(&mut self, span: SpanId) {
        if let Some(word) = self.keeps.get_mut(span.index() / 64) {
            *word |= 1 << (span.index() % 64);
        }
    }

    fn touch(&mut self, trace: &Trace) {
        let spans = trace.spans();
        for lane in trace.lane_ids() {
            if !self.has(trace.lane(lane).source) {
                continue;
            }
            for span in trace.lane_spans(lane) {
                if spans.start(span) >= self.window.end {
                    break;
                }
                if self.touches(spans.range(span)) {
                    self.keep(span);
                    let counts = trace.category(spans.cat(span)).counts;
                    let about = trace.lane(lane).kind == LaneKind::Recorder;
                    self.touching += u64::from(counts || !about);
                }
            }
        }
    }

    fn neighbours(&mut self, trace: &Trace) {
        let spans = trace.spans();
        for device in (0_u32..).map(DeviceId).take(trace.devices().len()) {
            let lanes = trace.lane_ids().filter(|&lane| {
                let of = trace.lane(lane);
                of.kind == LaneKind::Gpu
                    && trace.lane_device(lane) == Some(device)
                    && self.has(of.source)
            });
            let operations: Vec<(SpanId, TimeRange)> = lanes
                .flat_map(|lane| trace.lane_spans(lane))
                .map(|span| (span, spans.range(span)))
                .collect();
            let before = operations.iter().map(|(_, r)| r.end);
            let before = before.filter(|&end| end <= self.window.start).max();
            let behind = operations.iter().map(|(_, r)| r.start);
            let behind = behind.filter(|&start| start >= self.window.end).min();
            for (span, range) in operations {
                if Some(range.end) == before || Some(range.start) == behind {
                    self.keep(span);
                }
            }
        }
    }

    fn bounds(&mut self, trace: &Trace, bounds: &[SpanId]) {
        let spans = trace.spans();
        let of_part = |s: &&SpanId| self.has(trace.lane(spans.lane(**s)).source);
        let own: Vec<SpanId> = bounds.iter().filter(of_part).copied().collect();
        let before = own.iter().filter(|&&s| spans.start(s) < self.window.start);
        let behind = own.iter().filter(|&&s| spans.start(s) >= self.window.end);
        let before = before.max_by_key(|&&s| (spans.start(s), s));
        let behind = behind.min_by_key(|&&s| (spans.start(s), s));
        for span in [before, behind].into_iter().flatten() {
            self.keep(*span);
        }
    }

    fn launches(&mut self, trace: &Trace) {
        let spans = trace.spans();
        for links in trace.launches().chunk_by(|a, b| a.from == b.from) {
            let call = links[0].from;
            if !self.has(trace.lane(spans.lane(call)).source) {
                continue;
            }
            let of = || links.iter().map(|l| l.to).chain([call]);
            let start = of().map(|s| spans.start(s)).min().unwrap_or_default();
            let end = of().map(|s| spans.end(s)).max().unwrap_or_default();
            if self.touches(TimeRange { start, end }) || of().any(|s| self.keeps(s)) {
                of().for_each(|span| self.keep(span));
            }
        }
    }

    fn records(&mut self, trace: &Trace) {
        let spans = trace.spans();
        let mut moments: FxHashSet<(SourceId, i64)> = FxHashSet::default();
        for &call in trace.sync_scopes().keys().filter(|&&c| self.keeps(c)) {
            if let Some(SyncScope::Event { record_at, .. }) = trace.sync_scope(call) {
                moments.insert((trace.lane(spans.lane(call)).source, record_at));
            }
        }
        if moments.is_empty() {
            return;
        }
        for lane in trace.lane_ids() {
            let of = trace.lane(lane);
            for span in trace.lane_spans(lane).filter(|_| of.kind == LaneKind::Cpu) {
                if moments.contains(&(of.source, spans.start(span))) {
                    self.keep(span);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tables::MADE;
    use crate::model::{ArgsRef, Device, Lane, Source, SpanRow, Stream, TraceBuilder};

    /// The trace of the picture above, and the windows' spans by name.
    fn kept(window: (i64, i64)) -> Vec<String> {
        let mut b = TraceBuilder::new().keep_times();
        let source = b.add_source(Source::new("", &MADE));
        let device = b.add_device(Device {
            source,
            index: 0,
            space: None,
            name: None,
            counts: true,
        });
        let stream = b.add_stream(Stream {
            device,
            process: None,
            context: None,
            number: 7,
            ops: None,
        });
        let cpu = b.add_lane(Lane::new(source, LaneKind::Cpu, "C1.1"));
        let mut gpu = Lane::new(source, LaneKind::Gpu, "G0.7");
        gpu.stream = Some(stream);
        let gpu = b.add_lane(gpu);
        let cat = b.category("x", true);
        let mut add = |lane, name: &str, start, end| {
            let name = b.intern(name);
            b.add_span(SpanRow {
                lane,
                name,
                cat,
                start,
                dur: end - start,
                args: ArgsRef::NONE,
            })
        };
        let early = add(cpu, "early", 0, 2);
        let [_, _, c] = [("a", 10, 30), ("b", 40, 50), ("c", 60, 70)]
            .map(|(name, start, end)| add(cpu, name, start, end));
        add(cpu, "d", 90, 95);
        let p = add(gpu, "p", 5, 15);
        add(gpu, "o", 2, 4);
        add(gpu, "q", 42, 55);
        let r = add(gpu, "r", 85, 88);
        add(gpu, "s", 96, 99);
        b.link_launch(early, p);
        b.link_launch(c, r);
        let trace = b.finish();
        let window = TimeRange::new(window.0, window.1);
        let cut = Cut::new(&trace, window, &[source], &[vec![SpanId(0), SpanId(3)]]);
        cut.spans().map(|s| trace.span_name(s).to_owned()).collect()
    }

    #[test]
    fn a_window_keeps_what_touches_it_its_neighbours_and_their_calls() {
        assert_eq!(kept((20, 80)), ["early", "a", "b", "c", "p", "q", "r"]);
    }

    #[test]
    fn a_pair_around_a_window_is_kept() {
        // The call is over and the operation has not begun.
        assert_eq!(kept((72, 80)), ["c", "q", "r"]);
    }

    #[test]
    fn a_window_behind_everything_has_the_last_operation_and_the_last_bound() {
        assert_eq!(kept((200, 300)), ["c", "r", "s"]);
    }
}
