//! The span columns.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

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

/// What [`assign_rows`] found on a lane.
#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct LaneRows {
    /// Rows used.
    pub rows: u16,
    /// Partial overlaps: spans that start inside another one and end after it.
    pub overlaps: u64,
    /// Spans that found all 65,535 rows taken and share the last one.
    pub crowded: u64,
}

/// Sub-rows of one lane's spans, in stored order: the lowest row that is free at the span's start and lies below the
/// innermost span that contains it. O(n log n) whatever the overlaps are, O(n) where all spans nest.
pub(crate) fn assign_rows(starts: &[i64], durs: &[i64], rows: &mut [u16]) -> LaneRows {
    let mut found = LaneRows::default();
    // All open spans by end, to free their rows: those that nest in each other, innermost last, and the others.
    let mut nested: Vec<(i64, u16)> = Vec::new();
    let mut crossing: BinaryHeap<Reverse<(i64, u16)>> = BinaryHeap::new();
    let mut taken = RowSet::default();
    // The open spans that can be the innermost container of a later one: ends descend, since a later span that ends
    // no earlier takes the place of those before it.
    let mut containers: Vec<(i64, u16)> = Vec::new();
    for ((&start, &dur), row_of) in starts.iter().zip(durs).zip(rows) {
        let end = start + dur;
        while let Some((_, row)) = nested.pop_if(|o| o.0 <= start) {
            taken.free(row);
        }
        while let Some(&Reverse((_, row))) = crossing.peek().filter(|o| o.0.0 <= start) {
            taken.free(row);
            crossing.pop();
        }
        found.overlaps += u64::from(
            nested.last().is_some_and(|o| o.0 < end)
                || crossing.peek().is_some_and(|o| o.0.0 < end),
        );
        let depth = containers.partition_point(|c| c.0 >= end && c.0 > start);
        let below = match depth {
            0 => 0,
            n => containers[n - 1].1.saturating_add(1),
        };
        let row = if let Some(row) = taken.take_from(below) {
            if nested.last().is_none_or(|o| o.0 >= end) {
                nested.push((end, row));
            } else {
                crossing.push(Reverse((end, row)));
            }
            row
        } else {
            found.crowded += 1;
            u16::MAX - 1
        };
        *row_of = row;
        found.rows = found.rows.max(row + 1);
        let keep = containers.partition_point(|c| c.0 > end);
        containers.truncate(keep);
        containers.push((end, row));
    }
    found
}

/// A set of rows below 65,535.
#[derive(Default)]
struct RowSet {
    words: Vec<u64>,
}

impl RowSet {
    /// Takes the lowest free row from `first` on; `None` where all are taken.
    fn take_from(&mut self, first: u16) -> Option<u16> {
        let mut word = usize::from(first / 64);
        let mut mask = u64::MAX << (first % 64);
        loop {
            if word >= self.words.len() {
                self.words.resize(word + 1, 0);
            }
            let free = !self.words[word] & mask;
            if free != 0 {
                let bit = free.trailing_zeros();
                let row = u16::try_from(word as u32 * 64 + bit).ok()?;
                if row == u16::MAX {
                    return None;
                }
                self.words[word] |= 1 << bit;
                return Some(row);
            }
            word += 1;
            mask = u64::MAX;
            if word > usize::from(u16::MAX / 64) {
                return None;
            }
        }
    }

    fn free(&mut self, row: u16) {
        self.words[usize::from(row / 64)] &= !(1 << (row % 64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_of(ranges: &[(i64, i64)]) -> (Vec<u16>, u16, u64) {
        let (rows, found) = all_rows_of(ranges);
        (rows, found.rows, found.overlaps)
    }

    fn all_rows_of(ranges: &[(i64, i64)]) -> (Vec<u16>, LaneRows) {
        let starts: Vec<i64> = ranges.iter().map(|r| r.0).collect();
        let durs: Vec<i64> = ranges.iter().map(|r| r.1 - r.0).collect();
        let mut rows = vec![0; ranges.len()];
        let found = assign_rows(&starts, &durs, &mut rows);
        (rows, found)
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

    #[test]
    fn a_container_that_an_overlap_hides_is_still_found() {
        // (2, 20) crosses (0, 10); (3, 9) lies in both, (11, 19) in the crossing one alone.
        let (rows, ..) = rows_of(&[(0, 10), (2, 20), (3, 9), (11, 19), (21, 22)]);
        assert_eq!(rows, [0, 1, 2, 2, 0]);
    }

    #[test]
    fn more_open_spans_than_rows_share_the_last_row_and_are_counted() {
        let ranges: Vec<(i64, i64)> = (0..70_000).map(|i| (i, 1_000_000 + i)).collect();
        let (rows, found) = all_rows_of(&ranges);
        assert_eq!(found.crowded, 70_000 - u64::from(u16::MAX));
        assert_eq!(rows[69_999], u16::MAX - 1);
        assert_eq!(found.overlaps, 69_999);
    }
}
