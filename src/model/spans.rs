//! The span columns.

use std::ops::Range;

use super::ids::{CatId, LaneId, NameId, SpanId};
use super::tables::ArgsRef;
use crate::time::TimeRange;

/// Spans as parallel columns, sorted by (lane, start, longest first, file order).
///
/// 36 bytes per span: start 8, duration 8, name 4, lane 4, category 2, sub-row 2, args reference 8.
#[derive(Default)]
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
    pub fn start(&self, id: SpanId) -> i64 {
        self.start[id.index()]
    }

    /// Duration, ns, never negative.
    #[must_use]
    pub fn dur(&self, id: SpanId) -> i64 {
        self.dur[id.index()]
    }

    /// End, ns: start + duration.
    #[must_use]
    pub fn end(&self, id: SpanId) -> i64 {
        self.start[id.index()] + self.dur[id.index()]
    }

    /// `[start, end)`.
    #[must_use]
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

/// Sub-rows of one lane's spans (`range` of ids, in stored order): the lowest row that is free at the span's start
/// and lies below the innermost span that contains it. Returns the number of rows used and of partial overlaps
/// (spans that start inside another one and end after it).
pub(super) fn assign_rows(spans: &mut Spans, range: Range<u32>) -> (u16, u64) {
    struct Open {
        end: i64,
        row: u16,
    }
    let mut open: Vec<Open> = Vec::new();
    let mut rows = 0_u16;
    let mut overlaps = 0_u64;
    for i in range.start as usize..range.end as usize {
        let start = spans.start[i];
        let end = start + spans.dur[i];
        open.retain(|o| o.end > start);
        // `open` is in stored order, so the last one that reaches our end is the innermost container.
        let container = open.iter().rev().find(|o| o.end >= end);
        let mut row = container.map_or(0, |o| o.row.saturating_add(1));
        let crossing = open.iter().any(|o| o.end < end);
        if crossing {
            overlaps += 1;
        }
        while open.iter().any(|o| o.row == row) && row < u16::MAX {
            row += 1;
        }
        spans.row[i] = row;
        rows = rows.max(row.saturating_add(1));
        open.push(Open { end, row });
    }
    (rows, overlaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_of(ranges: &[(i64, i64)]) -> (Vec<u16>, u16, u64) {
        let mut spans = Spans::default();
        for &(s, e) in ranges {
            spans.start.push(s);
            spans.dur.push(e - s);
            spans.row.push(0);
        }
        let n = u32::try_from(ranges.len()).expect("small");
        let (rows, overlaps) = assign_rows(&mut spans, 0..n);
        (spans.row, rows, overlaps)
    }

    #[test]
    fn nested_spans_lie_below_their_container() {
        assert_eq!(
            rows_of(&[(0, 10), (0, 4), (1, 2), (5, 9)]),
            (vec![0, 1, 2, 1], 3, 0)
        );
    }

    #[test]
    fn a_partial_overlap_takes_the_lowest_free_row_and_is_counted() {
        assert_eq!(rows_of(&[(0, 5), (4, 9), (8, 12)]), (vec![0, 1, 0], 2, 2));
    }

    #[test]
    fn touching_and_empty_spans_share_a_row() {
        assert_eq!(rows_of(&[(0, 5), (5, 5), (5, 8)]), (vec![0, 0, 0], 1, 0));
    }
}
