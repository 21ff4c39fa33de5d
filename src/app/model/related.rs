//! What a span is related to: the one around it, the first inside it, what it launched; and its lane.

use super::document::Document;
use crate::model::{SpanId, Trace};
use crate::view::{Lod, NodeId};

/// The lane of the selected span, else the one under the pointer.
#[must_use]
pub fn lane_in_focus(doc: &Document) -> Option<NodeId> {
    let of_span = doc.span.and_then(|s| {
        let (leaf, _) = doc.tree.lod().place(&doc.trace, s)?;
        Some(doc.tree.of_leaf(leaf))
    });
    of_span
        .or(doc.pointer.node)
        .filter(|&n| doc.tree.lane(n).is_some())
}

/// The innermost span of the same lane that contains `span`.
#[must_use]
pub fn parent(trace: &Trace, lod: &Lod, span: SpanId) -> Option<SpanId> {
    let spans = trace.spans();
    let range = spans.range(span);
    let depth = spans.row(span);
    // Spans of one row do not overlap: the last one that starts before is the only one that may contain it.
    lod.leaves_of(spans.lane(span))
        .flat_map(|leaf| &lod.leaf(leaf).rows)
        .filter_map(|row| row.at_or_before(trace, range.start))
        .filter(|&s| s != span && spans.row(s) < depth && spans.range(s).covers(range))
        .max_by_key(|&s| spans.row(s))
}

/// The first span inside `span` on the same lane.
#[must_use]
pub fn child(trace: &Trace, span: SpanId) -> Option<SpanId> {
    let spans = trace.spans();
    let range = spans.range(span);
    let end = trace.lane(spans.lane(span)).spans.end;
    (span.0 + 1..end)
        .map(SpanId)
        .take_while(|&s| spans.start(s) < range.end)
        .find(|&s| spans.row(s) > spans.row(span) && range.covers(spans.range(s)))
}

/// The GPU work that a CPU span launched first, or the call that launched an operation.
#[must_use]
pub fn linked(trace: &Trace, span: SpanId, forward: bool) -> Option<SpanId> {
    if !forward {
        return trace.launch_of(span);
    }
    if let Some(link) = trace.launched_by(span).first() {
        return Some(link.to);
    }
    // A span that is no launch call itself: the first launch inside it. Links are in the order of their calls.
    let range = trace.spans().range(span);
    let lane = trace.lane(trace.spans().lane(span)).spans.end;
    let next = trace.launches().partition_point(|l| l.from <= span);
    let link = trace.launches().get(next)?;
    (link.from.0 < lane && trace.spans().start(link.from) < range.end).then_some(link.to)
}
