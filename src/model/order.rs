//! Sorting the spans of a lane: by start, longest first, then as they stand in the file.
//!
//! Files hold the spans of most lanes in order but for some: those that were written when they ended stand behind what
//! they contain. A pass takes the ascending ones out, the next one those that ascend among the rest, and so on; the
//! runs are merged, shortest first. What is in no such order is sorted as usual. Parts of large lanes are sorted on all
//! cores.

use std::cmp::Ordering;

use super::stop::Stop;
use super::tables::Lane;

/// Spans per piece: sorted in a few milliseconds.
const PIECE: usize = 1 << 16;

/// Runs that are taken out at most.
const MOST_RUNS: usize = 16;

/// A span's start and its number.
type Key = (i64, u32);

/// The part of a column that belongs to each lane.
pub(super) fn by_lane<'c, T>(mut column: &'c mut [T], lanes: &[Lane]) -> Vec<&'c mut [T]> {
    let mut parts = Vec::with_capacity(lanes.len());
    for lane in lanes {
        let (part, rest) = column.split_at_mut(lane.spans.len());
        parts.push(part);
        column = rest;
    }
    parts
}

/// Orders the span numbers `order`, which ascend. Leaves them in any order once `stop` says so.
pub(super) fn sort_lane(order: &mut [u32], start: &[i64], dur: &[i64], stop: Stop<'_>) {
    let lane = Columns { start, dur };
    if order.is_sorted_by(|&a, &b| lane.is_before(lane.key(a), lane.key(b))) {
        return;
    }
    let sorted = lane.sort(order, stop);
    for (slot, (_, i)) in order.iter_mut().zip(sorted) {
        *slot = i;
    }
}

/// What spans are compared by.
#[derive(Clone, Copy)]
struct Columns<'a> {
    start: &'a [i64],
    dur: &'a [i64],
}

impl Columns<'_> {
    fn key(self, i: u32) -> Key {
        (self.start[i as usize], i)
    }

    fn compare(self, a: Key, b: Key) -> Ordering {
        let longest = || self.dur[b.1 as usize].cmp(&self.dur[a.1 as usize]);
        let file = || a.1.cmp(&b.1);
        a.0.cmp(&b.0).then_with(longest).then_with(file)
    }

    #[inline]
    fn is_before(self, a: Key, b: Key) -> bool {
        a.0 < b.0 || (a.0 == b.0 && self.compare(a, b).is_lt())
    }

    /// The keys of these spans in order; in another order once `stop` says so.
    fn sort(self, order: &[u32], stop: Stop<'_>) -> Vec<Key> {
        if order.len() > 4 * PIECE && !stop() {
            let (a, b) = order.split_at(order.len() / 2);
            let (mut a, b) = rayon::join(|| self.sort(a, stop), || self.sort(b, stop));
            if stop() {
                a.extend(b);
                return a;
            }
            return self.merge(a, &b);
        }
        let mut rest = Vec::new();
        let mut runs = vec![self.ascending(order.iter().map(|&i| self.key(i)), &mut rest)];
        let mut before = order.len();
        // A pass that takes few out would be one of many.
        while !rest.is_empty() && rest.len() < before / 4 * 3 && runs.len() < MOST_RUNS && !stop() {
            before = rest.len();
            let keys = std::mem::take(&mut rest);
            runs.push(self.ascending(keys.into_iter(), &mut rest));
        }
        self.sort_pieces(&mut rest, stop);
        let merge = |all: Vec<Key>, run: Vec<Key>| self.merge(run, &all);
        runs.into_iter().rev().fold(rest, merge)
    }

    /// Those of the keys that ascend; the others go to `rest`.
    fn ascending(self, keys: impl ExactSizeIterator<Item = Key>, rest: &mut Vec<Key>) -> Vec<Key> {
        let mut run: Vec<Key> = Vec::with_capacity(keys.len());
        for key in keys {
            match run.last() {
                Some(&last) if !self.is_before(last, key) => rest.push(key),
                _ => run.push(key),
            }
        }
        run
    }

    /// Merges two sorted lists, of which the first one is mostly the longer one.
    fn merge(self, mut into: Vec<Key>, from: &[Key]) -> Vec<Key> {
        let mut left = into.len();
        into.extend_from_slice(from);
        // From the back, where there is room; what precedes all of `from` stays where it is.
        let mut free = into.len();
        for &key in from.iter().rev() {
            while left > 0 && self.is_before(key, into[left - 1]) {
                left -= 1;
                free -= 1;
                into[free] = into[left];
            }
            free -= 1;
            into[free] = key;
        }
        into
    }

    fn sort_pieces(self, keys: &mut [Key], stop: Stop<'_>) {
        for piece in keys.chunks_mut(PIECE) {
            if stop() {
                return;
            }
            piece.sort_unstable_by(|&a, &b| self.compare(a, b));
        }
        if !stop() {
            // Merges the sorted pieces.
            keys.sort_by(|&a, &b| self.compare(a, b));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_ordered_by_start_length_and_file_order() {
        let n: u32 = 300_000;
        // Two runs, equal starts, equal lengths.
        let start: Vec<i64> = (0..n).map(|i| i64::from(i % (n / 2)) / 3).collect();
        let dur: Vec<i64> = (0..n).map(|i| i64::from(i * 7 % 5)).collect();
        let mut order: Vec<u32> = (0..n).collect();
        let mut expected = order.clone();
        expected.sort_by_key(|&i| (start[i as usize], -dur[i as usize], i));
        sort_lane(&mut order, &start, &dur, &|| false);
        assert!(order == expected);
        let mut order: Vec<u32> = (0..n).collect();
        sort_lane(&mut order, &start, &dur, &|| true);
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..n), "nothing is lost on a stop");
    }

    proptest::proptest! {
        #[test]
        fn any_order_is_sorted(
            times in proptest::collection::vec((0_i64..40, 0_i64..4), 0..200),
        ) {
            let (start, dur): (Vec<i64>, Vec<i64>) = times.into_iter().unzip();
            let mut order: Vec<u32> = (0..).take(start.len()).collect();
            let mut expected = order.clone();
            expected.sort_by_key(|&i| (start[i as usize], -dur[i as usize], i));
            sort_lane(&mut order, &start, &dur, &|| false);
            proptest::prop_assert_eq!(order, expected);
        }
    }
}
