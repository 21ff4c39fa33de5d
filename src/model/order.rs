//! Sorting the spans of a lane: by start, longest first, then as they stand in the file.
//!
//! Files hold most lanes as a few sorted runs. Pieces are sorted on all cores and merged pairwise, which costs a pass for
//! runs; between pieces it looks whether somebody wants to stop.

use std::cmp::Ordering;

/// Spans per piece: sorted in a few milliseconds.
const PIECE: usize = 1 << 16;

/// A span's start and its number.
type Key = (i64, u32);

/// Orders the span numbers `order`, which ascend. Leaves them in any order once `stop` says so.
pub(super) fn sort_lane(
    order: &mut [u32],
    start: &[i64],
    dur: &[i64],
    stop: &(dyn Fn() -> bool + Sync),
) {
    let compare = |a: &Key, b: &Key| {
        let longest = || dur[b.1 as usize].cmp(&dur[a.1 as usize]);
        a.0.cmp(&b.0).then_with(longest)
    };
    let key = |&i: &u32| (start[i as usize], i);
    if order.is_sorted_by(|a, b| compare(&key(a), &key(b)) != Ordering::Greater) {
        return;
    }
    let mut keys: Vec<Key> = order.iter().map(key).collect();
    sort(&mut keys, &compare, stop);
    for (slot, (_, i)) in order.iter_mut().zip(keys) {
        *slot = i;
    }
}

fn sort(
    keys: &mut [Key],
    compare: &(impl Fn(&Key, &Key) -> Ordering + Sync),
    stop: &(dyn Fn() -> bool + Sync),
) {
    if stop() {
        return;
    }
    if keys.len() > PIECE {
        let (a, b) = keys.split_at_mut(keys.len() / 2);
        rayon::join(|| sort(a, compare, stop), || sort(b, compare, stop));
    }
    if !stop() {
        // Stable, which keeps the order of the file; two sorted halves are merged.
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
}
