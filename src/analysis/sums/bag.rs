//! Intervals with multiplicity: clipped sums and depths without a rescan.

use crate::time::TimeRange;

/// Values per stored prefix sum.
const BLOCK: usize = 256;

/// Ascending times with sampled prefix sums: Σ over times before t of (t − time), in O(log n).
#[derive(Clone, Debug, Default)]
struct Times {
    sorted: Vec<i64>,
    /// Sum of the times before each block.
    sums: Vec<i128>,
}

impl Times {
    fn new(mut times: Vec<i64>) -> Self {
        // Stable: the input is made of a few sorted runs.
        times.sort();
        times.shrink_to_fit();
        let mut sum = 0;
        let sums = times
            .chunks(BLOCK)
            .map(|block| {
                let here = sum;
                sum += block.iter().map(|&t| i128::from(t)).sum::<i128>();
                here
            })
            .collect();
        Self {
            sorted: times,
            sums,
        }
    }

    /// Σ over times before `t` of (t − time).
    fn elapsed_sum(&self, t: i64) -> i128 {
        let n = self.sorted.partition_point(|&x| x < t);
        if n == 0 {
            return 0;
        }
        let block = (n - 1) / BLOCK;
        let rest = self.sorted[block * BLOCK..n].iter();
        let sum = self.sums[block] + rest.map(|&x| i128::from(x)).sum::<i128>();
        i128::from(t) * n as i128 - sum
    }

    fn heap_bytes(&self) -> usize {
        self.sorted.capacity() * 8 + self.sums.capacity() * 16
    }
}

/// A multiset of non-empty intervals. 16 bytes each.
#[derive(Clone, Debug, Default)]
pub struct Bag {
    starts: Times,
    ends: Times,
}

impl Bag {
    /// From intervals in any order; empty ones vanish.
    #[must_use]
    pub fn new(ranges: impl IntoIterator<Item = TimeRange>) -> Self {
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for r in ranges.into_iter().filter(|r| !r.is_empty()) {
            starts.push(r.start);
            ends.push(r.end);
        }
        Self {
            starts: Times::new(starts),
            ends: Times::new(ends),
        }
    }

    /// Sum of the intervals' lengths inside `window`, ns: F(b) − F(a) with
    /// F(t) = Σ over starts before t of (t − start) − Σ over ends before t of (t − end).
    #[must_use]
    pub fn clipped_sum(&self, window: TimeRange) -> i64 {
        if window.is_empty() {
            return 0;
        }
        let f = |t| self.starts.elapsed_sum(t) - self.ends.elapsed_sum(t);
        i64::try_from(f(window.end) - f(window.start)).unwrap_or(i64::MAX)
    }

    /// The most intervals that hold one instant. At equal times they leave before others enter.
    #[must_use]
    pub fn max_depth(&self) -> u64 {
        max_depth(&self.starts.sorted, &self.ends.sorted)
    }

    /// Number of intervals.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.sorted.len()
    }

    /// True without intervals.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.sorted.is_empty()
    }

    /// Bytes held.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.starts.heap_bytes() + self.ends.heap_bytes()
    }
}

/// The deepest point of intervals given as ascending starts and ascending ends.
fn max_depth(starts: &[i64], ends: &[i64]) -> u64 {
    let (mut left, mut deepest) = (0, 0);
    for (entered, &start) in starts.iter().enumerate() {
        while left < ends.len() && ends[left] <= start {
            left += 1;
        }
        deepest = deepest.max(entered + 1 - left);
    }
    deepest as u64
}
