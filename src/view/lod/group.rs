//! One row for a whole group: when any of its lanes is busy, and with what. Built once, so that a collapsed group costs
//! a frame no more than a lane.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::leaf::{Leaf, SubRow, check};
use super::span_tree::{SpanList, SpanTree};
use crate::analysis::{Cancelled, Layers, OnProgress};
use crate::model::{SpanId, Spans, Trace};
use crate::time::TimeRange;

/// Spans between two looks at a cancel.
const LOOK_EVERY: usize = 1 << 16;

/// The busy time of several leaves. It belongs to the span that covers it first; of two that start together to that of
/// the upper lane. What lies in another span all the time is not here.
pub type GroupRow = SpanTree<Cover>;

/// Spans by what they add: each from its start, or from the end of the one before, to its end. Ends ascend.
#[derive(Debug, Default)]
pub struct Cover(Vec<SpanId>);

impl SpanList for Cover {
    fn len(&self) -> usize {
        self.0.len()
    }
    #[inline]
    fn id(&self, i: usize) -> SpanId {
        self.0[i]
    }
    #[inline]
    fn range(&self, spans: &Spans, i: usize, id: SpanId) -> TimeRange {
        let own = spans.range(id);
        let taken = i.checked_sub(1).map(|p| spans.end(self.0[p]));
        TimeRange {
            start: taken.map_or(own.start, |t| t.max(own.start)),
            end: own.end,
        }
    }
    fn heap_bytes(&self) -> usize {
        self.0.capacity() * 4
    }
}

impl GroupRow {
    /// The busy time of leaves, in display order.
    ///
    /// # Errors
    /// When `on` returned `false`.
    pub(in crate::view) fn new(
        trace: &Trace,
        layers: &Layers,
        leaves: &[&Leaf],
        on: OnProgress<'_>,
    ) -> Result<Self, Cancelled> {
        let spans = trace.spans();
        let rows: Vec<&SubRow> = leaves.iter().flat_map(|l| l.outer_rows()).collect();
        let start = |row: usize, i: u32| Reverse((spans.start(rows[row].id(i)), row, i));
        let filled = (0..rows.len()).filter(|&r| !rows[r].is_empty());
        let mut next: BinaryHeap<_> = filled.map(|r| start(r, 0)).collect();
        let mut ids = Vec::new();
        let mut reach = i64::MIN;
        let mut looked = 0;
        while let Some(Reverse((_, row, i))) = next.pop() {
            looked += 1;
            if looked % LOOK_EVERY == 0 {
                check(on)?;
            }
            let id = rows[row].id(i);
            let after = if spans.end(id) > reach {
                reach = spans.end(id);
                ids.push(id);
                i + 1
            } else {
                rows[row].first_that_ends_after(trace, reach, i + 1)
            };
            if (after as usize) < rows[row].len() {
                next.push(start(row, after));
            }
        }
        check(on)?;
        Ok(Self::adding(trace, layers, ids))
    }

    /// The time that any of these spans covers, given in any order.
    #[must_use]
    pub(super) fn covered(trace: &Trace, layers: &Layers, mut ids: Vec<SpanId>) -> Self {
        let spans = trace.spans();
        ids.sort_unstable_by_key(|&id| (spans.start(id), id));
        let mut reach = i64::MIN;
        ids.retain(|&id| {
            let adds = spans.end(id) > reach;
            reach = reach.max(spans.end(id));
            adds
        });
        Self::adding(trace, layers, ids)
    }

    /// Of spans that each add something, by start.
    fn adding(trace: &Trace, layers: &Layers, mut ids: Vec<SpanId>) -> Self {
        ids.shrink_to_fit();
        Self::over(trace, layers, Cover(ids))
    }

    /// Position of a span that adds to the busy time.
    #[must_use]
    pub fn find(&self, trace: &Trace, span: SpanId) -> Option<u32> {
        let spans = trace.spans();
        let before = self.partition_point(|id| spans.end(id) < spans.end(span));
        let at = u32::try_from(before).ok()?;
        (before < self.len() && self.id(at) == span).then_some(at)
    }
}
