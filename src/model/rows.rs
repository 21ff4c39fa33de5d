//! Sub-rows: where spans of one lane lie when they overlap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

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
    let mut open = Open::default();
    for ((&start, &dur), row_of) in starts.iter().zip(durs).zip(rows) {
        let end = start + dur;
        let row = match open.nest(start, end) {
            Some(row) => row,
            None => open.cross(start, end, &mut found),
        };
        *row_of = row;
        found.rows = found.rows.max(row + 1);
    }
    found
}

/// The spans that are open at a moment, as (end, row).
#[derive(Default)]
struct Open {
    /// Those that nest in each other, innermost last.
    nested: Vec<(i64, u16)>,
    /// What else is needed once a span has crossed another one; none while each of `nested` lies in the row of its
    /// depth and nothing else is open. Boxed: most lanes never need it.
    crossed: Option<Box<Crossed>>,
}

/// See [`Open::crossed`].
#[derive(Default)]
struct Crossed {
    /// The open spans that do not nest.
    crossing: BinaryHeap<Reverse<(i64, u16)>>,
    /// The rows of all open spans.
    taken: RowSet,
    /// The open spans that can be the innermost container of a later one: ends descend, since a later span that ends
    /// no earlier takes the place of those before it.
    containers: Vec<(i64, u16)>,
    /// Spans of `nested` that lie in another row than that of their depth.
    misplaced: usize,
    /// Spans to come before this may be dropped again: as many as it took to build it.
    owed: usize,
}

impl Open {
    /// Opens a span where it and all that is open nest: it lies below all of them.
    #[inline]
    fn nest(&mut self, start: i64, end: i64) -> Option<u16> {
        if self.crossed.is_some() {
            return None;
        }
        while self.nested.pop_if(|o| o.0 <= start).is_some() {}
        if self.nested.last().is_some_and(|o| o.0 < end) {
            return None;
        }
        let row = u16::try_from(self.nested.len()).ok()?;
        (row < u16::MAX).then(|| {
            self.nested.push((end, row));
            row
        })
    }

    /// Opens any span.
    fn cross(&mut self, start: i64, end: i64, found: &mut LaneRows) -> u16 {
        let nested = &mut self.nested;
        let crossed = self
            .crossed
            .get_or_insert_with(|| Box::new(Crossed::around(nested)));
        let row = crossed.open(nested, start, end, found);
        crossed.owed = crossed.owed.saturating_sub(1);
        // Crowded spans are open, too, but have no row: only the containers know of them.
        let nests = crossed.misplaced == 0 && crossed.crossing.is_empty() && found.crowded == 0;
        if crossed.owed == 0 && nests {
            self.crossed = None;
        }
        row
    }
}

impl Crossed {
    /// Open spans that nest, each in the row of its depth.
    fn around(nested: &[(i64, u16)]) -> Self {
        let mut all = Self {
            owed: nested.len(),
            ..Self::default()
        };
        for &(end, row) in nested {
            all.taken.take_from(row);
            all.contain(end, row);
        }
        all
    }

    fn contain(&mut self, end: i64, row: u16) {
        let keep = self.containers.partition_point(|c| c.0 > end);
        self.containers.truncate(keep);
        self.containers.push((end, row));
    }

    fn open(
        &mut self,
        nested: &mut Vec<(i64, u16)>,
        start: i64,
        end: i64,
        found: &mut LaneRows,
    ) -> u16 {
        while let Some((_, row)) = nested.pop_if(|o| o.0 <= start) {
            self.taken.free(row);
            self.misplaced -= usize::from(usize::from(row) != nested.len());
        }
        while let Some(&Reverse((_, row))) = self.crossing.peek().filter(|o| o.0.0 <= start) {
            self.taken.free(row);
            self.crossing.pop();
        }
        found.overlaps += u64::from(
            nested.last().is_some_and(|o| o.0 < end)
                || self.crossing.peek().is_some_and(|o| o.0.0 < end),
        );
        let depth = self
            .containers
            .partition_point(|c| c.0 >= end && c.0 > start);
        let below = match depth {
            0 => 0,
            n => self.containers[n - 1].1.saturating_add(1),
        };
        let row = if let Some(row) = self.taken.take_from(below) {
            if nested.last().is_none_or(|o| o.0 >= end) {
                self.misplaced += usize::from(usize::from(row) != nested.len());
                nested.push((end, row));
            } else {
                self.crossing.push(Reverse((end, row)));
            }
            row
        } else {
            found.crowded += 1;
            u16::MAX - 1
        };
        self.contain(end, row);
        row
    }
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

    #[test]
    fn what_lies_in_a_crowded_span_is_crowded_too() {
        let most = i64::from(u16::MAX);
        let mut ranges: Vec<(i64, i64)> = (0..most).map(|i| (i, 1_000_000 - i)).collect();
        ranges.push((70_000, 2_000_000));
        ranges.extend((0..most).map(|i| (70_001 + i, 70_002 + i)));
        // When many of the first ones have ended, and the crowded one has not.
        ranges.push((940_000, 940_001));
        let (rows, found) = all_rows_of(&ranges);
        assert_eq!(rows.last(), Some(&(u16::MAX - 1)));
        assert_eq!(found.crowded, 1 + u64::from(u16::MAX) + 1);
    }

    /// The definition, span by span: the lowest free row below the innermost container.
    fn plain_rows(ranges: &[(i64, i64)]) -> (Vec<u16>, u64) {
        let mut rows: Vec<u16> = Vec::new();
        let mut overlaps = 0;
        for (i, &(start, end)) in ranges.iter().enumerate() {
            let open: Vec<usize> = (0..i).filter(|&o| ranges[o].1 > start).collect();
            let container = open.iter().rev().find(|&&o| ranges[o].1 >= end);
            let below = container.map_or(0, |&o| rows[o] + 1);
            let is_free = |row: &u16| open.iter().all(|&o| rows[o] != *row);
            rows.push((below..).find(is_free).expect("few spans"));
            overlaps += u64::from(open.iter().any(|&o| ranges[o].1 < end));
        }
        (rows, overlaps)
    }

    proptest::proptest! {
        #[test]
        fn rows_are_those_of_the_definition(
            mut ranges in proptest::collection::vec((0_i64..60, 0_i64..25), 0..80),
        ) {
            ranges.iter_mut().for_each(|r| r.1 += r.0);
            ranges.sort_by_key(|r| (r.0, -r.1));
            let (rows, _, overlaps) = rows_of(&ranges);
            proptest::prop_assert_eq!((rows, overlaps), plain_rows(&ranges));
        }
    }
}
