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
            found[slot] = open
                .iter()
                .rev()
                .find(|&&o| spans.end(o) > time || spans.start(o) == time)
                .copied();
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
