//! Sorting the spans of a lane: by start, longest first, then as they stand in the file.
//!
//! Files hold the spans of most lanes in order but for some: those that were written when they ended stand behind what
//! they contain. A pass takes the ascending ones out, the next one those that ascend among the rest, and so on; the
//! runs are merged, shortest first. What is in no such order is sorted in pieces on all cores.

use std::cmp::Ordering;

use super::finish::Stop;
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
    let compare = |a: &Key, b: &Key| {
        let longest = || dur[b.1 as usize].cmp(&dur[a.1 as usize]);
        let file = || a.1.cmp(&b.1);
        a.0.cmp(&b.0).then_with(longest).then_with(file)
    };
    let key = |&i: &u32| (start[i as usize], i);
    if order.is_sorted_by(|a, b| compare(&key(a), &key(b)).is_lt()) {
        return;
    }
    let mut sorted = sort(order.iter().map(key).collect(), &compare, stop);
    if sorted.len() == order.len() {
        for (slot, (_, i)) in order.iter_mut().zip(sorted.drain(..)) {
            *slot = i;
        }
    }
}

/// The keys in order; fewer of them once `stop` says so.
fn sort(
    mut keys: Vec<Key>,
    compare: &(impl Fn(&Key, &Key) -> Ordering + Sync),
    stop: Stop<'_>,
) -> Vec<Key> {
    let mut runs = Vec::new();
    while !keys.is_empty() && runs.len() < MOST_RUNS && !stop() {
        let before = keys.len();
        let mut run: Vec<Key> = Vec::new();
        keys.retain(|key| {
            let ascends = run.last().is_none_or(|last| compare(last, key).is_lt());
            if ascends {
                run.push(*key);
            }
            !ascends
        });
        runs.push(run);
        if keys.len() > before / 4 * 3 {
            break;
        }
    }
    sort_pieces(&mut keys, compare, stop);
    let mut all = keys;
    while let Some(run) = runs.pop() {
        if stop() {
            break;
        }
        all = merge(run, &all, compare);
    }
    all
}

/// Merges two sorted lists, of which the first one is mostly the longer one.
fn merge(mut into: Vec<Key>, from: &[Key], compare: &impl Fn(&Key, &Key) -> Ordering) -> Vec<Key> {
    let mut left = into.len();
    into.extend_from_slice(from);
    // From the back, where there is room; what precedes all of `from` stays where it is.
    let mut free = into.len();
    for key in from.iter().rev() {
        while left > 0 && compare(&into[left - 1], key).is_gt() {
            left -= 1;
            free -= 1;
            into[free] = into[left];
        }
        free -= 1;
        into[free] = *key;
    }
    into
}

fn sort_pieces(
    keys: &mut [Key],
    compare: &(impl Fn(&Key, &Key) -> Ordering + Sync),
    stop: Stop<'_>,
) {
    if stop() {
        return;
    }
    if keys.len() > PIECE {
        let (a, b) = keys.split_at_mut(keys.len() / 2);
        rayon::join(
            || sort_pieces(a, compare, stop),
            || sort_pieces(b, compare, stop),
        );
    }
    if !stop() {
        // Merges two sorted halves.
        keys.sort_by(compare);
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
