//! Links that a file gives as two moments on two lanes: which spans they mean.

use super::ids::{CatId, LaneId, SpanId};
use super::spans::Spans;
use super::tables::Lane;
use super::trace::Link;

/// A link between the innermost spans of a category around two moments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Lane and time of the cause.
    pub from: (LaneId, i64),
    /// Lane and time of the effect.
    pub to: (LaneId, i64),
    /// Category of both spans.
    pub category: CatId,
}

/// The links of all flows whose both ends lie in a span.
pub(super) fn resolve_flows(flows: &[Flow], spans: &Spans, lanes: &[Lane]) -> Vec<Link> {
    let mut moments: Vec<(LaneId, i64, usize)> = flows
        .iter()
        .enumerate()
        .flat_map(|(i, f)| [(f.from.0, f.from.1, 2 * i), (f.to.0, f.to.1, 2 * i + 1)])
        .collect();
    moments.sort_unstable();
    let mut found: Vec<Option<SpanId>> = vec![None; moments.len()];
    for group in moments.chunk_by(|a, b| a.0 == b.0) {
        let mut rest = lanes[group[0].0.index()]
            .spans
            .clone()
            .map(SpanId)
            .peekable();
        let mut open: Vec<SpanId> = Vec::new();
        for &(_, time, slot) in group {
            let category = flows[slot / 2].category;
            while let Some(id) = rest.next_if(|&id| spans.start(id) <= time) {
                let start = spans.start(id);
                while open.last().is_some_and(|&o| spans.end(o) <= start) {
                    open.pop();
                }
                if spans.cat(id) == category {
                    open.push(id);
                }
            }
            // Later moments cannot lie in what has ended; an empty span is met at its own moment only. What is left on
            // top is the answer.
            while open
                .last()
                .is_some_and(|&o| spans.end(o) <= time && spans.start(o) < time)
            {
                open.pop();
            }
            found[slot] = open.last().copied();
        }
    }
    found
        .chunks_exact(2)
        .filter_map(|pair| {
            Some(Link {
                from: pair[0]?,
                to: pair[1]?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tables::MADE;
    use crate::model::{ArgsRef, LaneKind, Source, SpanRow, Trace, TraceBuilder};

    /// Spans `(start, end)` on one lane, and flows between two moments on it.
    fn linked(
        spans: impl Iterator<Item = (i64, i64)>,
        flows: impl Iterator<Item = (i64, i64)>,
    ) -> Trace {
        let mut b = TraceBuilder::new().keep_times();
        let source = b.add_source(Source::new("", &MADE));
        let lane = b.add_lane(Lane::new(source, LaneKind::Cpu, "a"));
        let (name, cat) = (b.intern("x"), b.category("cpu_op", true));
        for (start, end) in spans {
            b.add_span(SpanRow {
                lane,
                name,
                cat,
                start,
                dur: end - start,
                args: ArgsRef::NONE,
            });
        }
        for (from, to) in flows {
            b.link_fwdbwd_at((lane, from), (lane, to), cat);
        }
        b.finish()
    }

    #[test]
    fn flows_link_the_innermost_spans_around_their_moments() {
        let spans = [(0, 100), (10, 20), (15, 18), (30, 30), (90, 130)];
        let flows = [(16, 19), (18, 30), (31, 95), (120, 125), (9, 10), (5, 131)];
        let trace = linked(spans.into_iter(), flows.into_iter());
        let links: Vec<(u32, u32)> = trace.fwdbwd().iter().map(|l| (l.from.0, l.to.0)).collect();
        assert_eq!(links, [(0, 1), (0, 4), (1, 3), (2, 1), (4, 4)]);
    }

    #[test]
    fn many_flows_behind_many_nested_spans_find_none_of_them() {
        let n = 200_000;
        let nested = (0..n).map(|i| (i, 2 * n - i));
        let behind = (0..n / 2).map(|i| (2 * n + 2 * i, 2 * n + 2 * i + 1));
        let trace = linked(nested, behind.chain([(n, n + 1)]));
        assert_eq!(trace.fwdbwd().len(), 1);
    }
}
