//! Walking from a wait down to what held it up, and back: wait, batch, item, read.

use super::document::Document;
use crate::analysis::ChainLink;
use crate::model::SpanId;

/// Where the selected span is in the chain below a wait: the wait (index in [`crate::analysis::Analysis::waits`]), the
/// chain, and the span's place in it; `None` for the wait itself.
#[must_use]
pub fn place(doc: &Document) -> Option<(usize, Vec<ChainLink>, Option<usize>)> {
    let span = doc.span?;
    if let Some((wait, at)) = doc.chain {
        let links = doc.analysis.chain(wait);
        if links.get(at).is_some_and(|l| l.span == span) {
            return Some((wait, links, Some(at)));
        }
    }
    let wait = doc.analysis.wait_of_span(span)?;
    Some((wait, doc.analysis.chain(wait), None))
}

/// The next span of the chain, downwards or back, and what [`Document::chain`] is there.
#[must_use]
pub fn step(doc: &Document, down: bool) -> Option<(SpanId, Option<(usize, usize)>)> {
    let (wait, links, at) = place(doc)?;
    let next = match (at, down) {
        (None, true) => 0,
        (Some(at), true) => at + 1,
        (None, false) => return None,
        (Some(0), false) => return Some((doc.analysis.waits()[wait].span, None)),
        (Some(at), false) => at - 1,
    };
    Some((links.get(next)?.span, Some((wait, next))))
}

/// The span whose links are drawn: the selected one, or the wait that it is in the chain of.
#[must_use]
pub fn focused(doc: &Document) -> Option<SpanId> {
    match place(doc) {
        Some((wait, _, Some(_))) => Some(doc.analysis.waits()[wait].span),
        _ => doc.span,
    }
}
