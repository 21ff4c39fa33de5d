//! The span columns.

use super::ids::{CatId, LaneId, NameId, SpanId};
use super::tables::ArgsRef;
use crate::time::TimeRange;

/// Spans as parallel columns, sorted by (lane, start, longest first, file order).
///
/// 36 bytes per span: start 8, duration 8, name 4, lane 4, category 2, sub-row 2, args reference 8.
#[derive(Clone, Default)]
pub struct Spans {
    pub(super) start: Vec<i64>,
    pub(super) dur: Vec<i64>,
    pub(super) name: Vec<NameId>,
    pub(super) lane: Vec<LaneId>,
    pub(super) cat: Vec<CatId>,
    pub(super) row: Vec<u16>,
    pub(super) args: Vec<ArgsRef>,
}

impl Spans {
    /// Number of spans.
    #[must_use]
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// Ids of all spans.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = SpanId> + use<> {
        (0..u32::try_from(self.len()).unwrap_or(u32::MAX)).map(SpanId)
    }

    /// Start, ns.
    #[must_use]
    #[inline]
    pub fn start(&self, id: SpanId) -> i64 {
        self.start[id.index()]
    }

    /// Duration, ns, never negative.
    #[must_use]
    #[inline]
    pub fn dur(&self, id: SpanId) -> i64 {
        self.dur[id.index()]
    }

    /// End, ns: start + duration.
    #[must_use]
    #[inline]
    pub fn end(&self, id: SpanId) -> i64 {
        self.start[id.index()] + self.dur[id.index()]
    }

    /// `[start, end)`.
    #[must_use]
    #[inline]
    pub fn range(&self, id: SpanId) -> TimeRange {
        TimeRange {
            start: self.start(id),
            end: self.end(id),
        }
    }

    /// Name.
    #[must_use]
    pub fn name(&self, id: SpanId) -> NameId {
        self.name[id.index()]
    }

    /// Lane.
    #[must_use]
    pub fn lane(&self, id: SpanId) -> LaneId {
        self.lane[id.index()]
    }

    /// Category.
    #[must_use]
    pub fn cat(&self, id: SpanId) -> CatId {
        self.cat[id.index()]
    }

    /// Sub-row inside the lane: no two spans of one lane and sub-row overlap, and a span lies below what contains it.
    #[must_use]
    pub fn row(&self, id: SpanId) -> u16 {
        self.row[id.index()]
    }

    /// Reference to the args.
    #[must_use]
    pub fn args(&self, id: SpanId) -> ArgsRef {
        self.args[id.index()]
    }

    /// Start column, ns.
    #[must_use]
    pub fn starts(&self) -> &[i64] {
        &self.start
    }

    /// Duration column, ns.
    #[must_use]
    pub fn durs(&self) -> &[i64] {
        &self.dur
    }

    /// Name column.
    #[must_use]
    pub fn names(&self) -> &[NameId] {
        &self.name
    }

    /// Lane column.
    #[must_use]
    pub fn lanes(&self) -> &[LaneId] {
        &self.lane
    }

    /// Category column.
    #[must_use]
    pub fn cats(&self) -> &[CatId] {
        &self.cat
    }

    /// Sub-row column.
    #[must_use]
    pub fn rows(&self) -> &[u16] {
        &self.row
    }

    /// Bytes held by the columns.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.start.capacity() * 8
            + self.dur.capacity() * 8
            + self.name.capacity() * 4
            + self.lane.capacity() * 4
            + self.cat.capacity() * 2
            + self.row.capacity() * 2
            + self.args.capacity() * 8
    }
}
