//! One row for a whole group: when any of its lanes is busy, and with what. Built once, so that a collapsed group costs
//! a frame no more than a lane.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::leaf::{Leaf, SubRow, check};
use super::tree::{Intervals, Piece, Tree};
use crate::analysis::{Cancelled, LayerId, Layers, OnProgress};
use crate::model::{SpanId, Spans, Trace};
use crate::time::TimeRange;

/// Spans between two looks at a cancel.
const LOOK_EVERY: usize = 1 << 16;

/// The busy time of several leaves. It belongs to the span that covers it first; of two that start together to that of
/// the upper lane. What lies in another span all the time is not here.
#[derive(Debug, Default)]
pub struct GroupRow {
    /// Spans by what they add: each adds from its start, or from the end of the one before, to its end. Ends ascend.
    ids: Vec<SpanId>,
    tree: Tree,
}

/// The stretches that the spans of a group add.
struct Added<'a> {
    ids: &'a [SpanId],
    spans: &'a Spans,
    layers: &'a Layers,
}

impl Intervals for Added<'_> {
    fn len(&self) -> usize {
        self.ids.len()
    }
    fn range(&self, i: usize) -> TimeRange {
        let own = self.spans.range(self.ids[i]);
        let taken = i.checked_sub(1).map(|p| self.spans.end(self.ids[p]));
        TimeRange {
            start: taken.map_or(own.start, |t| t.max(own.start)),
            end: own.end,
        }
    }
    fn layer(&self, i: usize) -> LayerId {
        self.layers.of(self.ids[i])
    }
    /// Of the whole span: what it adds may be little.
    fn length(&self, i: usize) -> i64 {
        self.spans.dur(self.ids[i])
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
        let tree = Tree::new(&Added {
            ids: &ids,
            spans: trace.spans(),
            layers,
        });
        Self { ids, tree }
    }

    /// The `i`-th span that adds to the busy time.
    #[must_use]
    pub fn id(&self, i: u32) -> SpanId {
        self.ids[i as usize]
    }

    /// Yields what lies in `window`, merged where whole nodes are at most `merge_ns` long. Positions in the pieces are
    /// those of [`Self::id`].
    pub fn walk(
        &self,
        trace: &Trace,
        layers: &Layers,
        window: TimeRange,
        merge_ns: i64,
        out: &mut impl FnMut(Piece),
    ) {
        let items = Added {
            ids: &self.ids,
            spans: trace.spans(),
            layers,
        };
        self.tree.walk(&items, window, merge_ns, out);
    }

    /// Time in a window at which any of the lanes is busy, ns.
    #[must_use]
    pub fn busy_in(&self, trace: &Trace, layers: &Layers, window: TimeRange) -> i64 {
        let mut sum = 0;
        self.walk(trace, layers, window, i64::MAX, &mut |p| sum += p.busy);
        sum
    }

    /// The longest of `count` spans from `first` on, of equals the first one; what lies inside them counted as well,
    /// since nothing is longer than what it lies in.
    #[must_use]
    pub fn longest(&self, trace: &Trace, layers: &Layers, first: SpanId, count: u32) -> SpanId {
        let spans = trace.spans();
        let from = self
            .ids
            .partition_point(|&id| spans.end(id) < spans.end(first));
        let Some(at) = self.ids[from..].iter().position(|&id| id == first) else {
            return first;
        };
        let items = Added {
            ids: &self.ids,
            spans,
            layers,
        };
        self.ids[self.tree.longest(&items, from + at, count as usize)]
    }

    /// Bytes held.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.ids.capacity() * 4 + self.tree.heap_bytes()
    }
}
