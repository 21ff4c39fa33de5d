//! A list of spans with its tree: what the rows of lanes, of collapsed groups and of search hits have in common.

use super::tree::{Intervals, Piece, Tree};
use crate::analysis::{LayerId, Layers};
use crate::model::{SpanId, Spans, Trace};
use crate::time::TimeRange;

/// Span ids by position, in time order.
pub trait SpanList {
    /// How many.
    fn len(&self) -> usize;
    /// The span at a position.
    fn id(&self, i: usize) -> SpanId;
    /// What the span at a position, `id`, adds to those before it.
    #[inline]
    fn range(&self, spans: &Spans, _i: usize, id: SpanId) -> TimeRange {
        spans.range(id)
    }
    /// Bytes held.
    fn heap_bytes(&self) -> usize;
    /// True when there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Spans whose ranges in the list do not overlap, with levels of detail.
#[derive(Debug, Default)]
pub struct SpanTree<L> {
    list: L,
    tree: Tree,
}

/// A list with the columns that its tree is built over and walked with.
struct Items<'a, L> {
    list: &'a L,
    spans: &'a Spans,
    layers: &'a Layers,
}

impl<L: SpanList> Intervals for Items<'_, L> {
    fn len(&self) -> usize {
        self.list.len()
    }
    #[inline]
    fn range(&self, i: usize) -> TimeRange {
        self.list.range(self.spans, i, self.list.id(i))
    }
    #[inline]
    fn layer(&self, i: usize) -> LayerId {
        self.layers.of(self.list.id(i))
    }
    /// Of the whole span: what it adds may be little.
    fn length(&self, i: usize) -> i64 {
        self.spans.dur(self.list.id(i))
    }
    #[inline]
    fn get(&self, i: usize) -> (TimeRange, LayerId) {
        let id = self.list.id(i);
        (self.list.range(self.spans, i, id), self.layers.of(id))
    }
}

impl<L: SpanList> SpanTree<L> {
    pub(super) fn over(trace: &Trace, layers: &Layers, list: L) -> Self {
        let spans = trace.spans();
        let tree = Tree::new(&Items {
            list: &list,
            spans,
            layers,
        });
        Self { list, tree }
    }

    fn items<'a>(&'a self, trace: &'a Trace, layers: &'a Layers) -> Items<'a, L> {
        Items {
            list: &self.list,
            spans: trace.spans(),
            layers,
        }
    }

    /// Number of spans.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True when it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The `i`-th span of the row.
    #[must_use]
    pub fn id(&self, i: u32) -> SpanId {
        self.list.id(i as usize)
    }

    /// All spans, by start.
    pub fn ids(&self) -> impl Iterator<Item = SpanId> {
        (0..self.list.len()).map(|i| self.list.id(i))
    }

    /// Yields what lies in `window`, merged where whole nodes of the tree are at most `merge_ns` long. Positions in
    /// the pieces are those of [`Self::id`].
    pub fn walk(
        &self,
        trace: &Trace,
        layers: &Layers,
        window: TimeRange,
        merge_ns: i64,
        out: &mut impl FnMut(Piece),
    ) {
        let items = self.items(trace, layers);
        self.tree.walk(&items, window, merge_ns, out);
    }

    /// Busy time in a window, ns.
    #[must_use]
    pub fn busy_in(&self, trace: &Trace, layers: &Layers, window: TimeRange) -> i64 {
        self.tree.busy_in(&self.items(trace, layers), window)
    }

    /// The longest of `count` spans from the `first`-th on, of equals the first one.
    #[must_use]
    pub fn longest(&self, trace: &Trace, layers: &Layers, first: u32, count: u32) -> SpanId {
        let items = self.items(trace, layers);
        let found = self.tree.longest(&items, first as usize, count as usize);
        self.list.id(found)
    }

    /// Bytes held.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.list.heap_bytes() + self.tree.heap_bytes()
    }

    /// Number of spans at the front for which `before` holds; it must hold for none behind them.
    pub(super) fn partition_point(&self, before: impl Fn(SpanId) -> bool) -> usize {
        let (mut a, mut b) = (0, self.list.len());
        while a < b {
            let mid = a + (b - a) / 2;
            if before(self.list.id(mid)) {
                a = mid + 1;
            } else {
                b = mid;
            }
        }
        a
    }
}
