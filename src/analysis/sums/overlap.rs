//! Measures of the common part, and of the union, of large unions in any window, without storing a union for them.
//!
//! ```text
//! a        ├──┤ ├─────┤      ├────┤       the smaller one
//! b         ├────┤ ├┤ ├─────────┤ ├──┤
//! kept     0    2            4            per part of `a`: what it had in common with `b` before that part
//!                              ▲ t        up to t, 6: what is kept of its part, and the measure of `b` in it up to t
//! ```

use std::sync::Arc;

use crate::analysis::sums::intervals::{SEARCH_RATIO, Union, merge};
use crate::time::TimeRange;

/// Parts per sample of a [`LazyUnion`].
const STRIDE: usize = 256;

/// What two unions have in common, measured in O(log n): 8 bytes per part of the smaller one.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct Overlap {
    /// Per part of the smaller union: common length before it.
    before: Vec<i64>,
}

fn ordered<'a>(a: &'a Union, b: &'a Union) -> (&'a Union, &'a Union) {
    if a.parts().len() <= b.parts().len() {
        (a, b)
    } else {
        (b, a)
    }
}

impl Overlap {
    pub fn new(a: &Union, b: &Union) -> Self {
        let (small, large) = ordered(a, b);
        let search = small.parts().len() * SEARCH_RATIO < large.parts().len();
        let parts = large.parts();
        let (mut at, mut sum) = (0, 0_i64);
        let mut before = Vec::with_capacity(small.parts().len());
        for part in small.parts() {
            before.push(sum);
            if search {
                sum += large.measure_in(*part);
                continue;
            }
            while at < parts.len() && parts[at].end <= part.start {
                at += 1;
            }
            let mut k = at;
            while k < parts.len() && parts[k].start < part.end {
                sum += parts[k].clip(*part).len();
                k += 1;
            }
            // The last one may reach into the next part.
            at = k.saturating_sub(1).max(at);
        }
        Self { before }
    }

    /// Common length of the same two unions inside a window, ns.
    pub fn measure_in(&self, a: &Union, b: &Union, window: TimeRange) -> i64 {
        if window.is_empty() {
            return 0;
        }
        let (small, large) = ordered(a, b);
        let until = |t: i64| {
            let i = small.parts().partition_point(|p| p.start <= t);
            if i == 0 {
                return 0;
            }
            let part = small.parts()[i - 1];
            let inside = TimeRange::new(part.start, part.end.min(t));
            self.before[i - 1] + large.measure_in(inside)
        };
        until(window.end) - until(window.start)
    }

    pub fn heap_bytes(&self) -> usize {
        self.before.capacity() * 8
    }
}

/// The union of several unions that stay where they are: sampled, the rest is merged when asked.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct LazyUnion {
    of: Vec<Arc<Union>>,
    /// Times, and the length of the union before them.
    samples: Vec<(i64, i64)>,
}

impl LazyUnion {
    pub fn new(of: Vec<Arc<Union>>) -> Self {
        let mut samples = Vec::new();
        if of.len() > 1 {
            let parts = merge(of.iter().map(|u| u.parts()).collect());
            let all = Union::from_sorted(parts.iter().copied());
            let marks = parts.iter().step_by(STRIDE).map(|p| p.start);
            samples = marks.map(|t| (t, all.measure_before(t))).collect();
        }
        Self { of, samples }
    }

    fn measure_before(&self, t: i64) -> i64 {
        let i = self.samples.partition_point(|s| s.0 <= t);
        let Some(&(from, before)) = i.checked_sub(1).and_then(|i| self.samples.get(i)) else {
            return 0;
        };
        let rest = TimeRange::new(from, t);
        let mut parts: Vec<TimeRange> = Vec::with_capacity(STRIDE);
        for union in &self.of {
            parts.extend(union.parts_in(rest).iter().map(|p| p.clip(rest)));
        }
        before + Union::new(parts).measure()
    }

    pub fn measure_in(&self, window: TimeRange) -> i64 {
        match &self.of[..] {
            [] => 0,
            [one] => one.measure_in(window),
            _ if window.is_empty() => 0,
            _ => self.measure_before(window.end) - self.measure_before(window.start),
        }
    }

    pub fn heap_bytes(&self) -> usize {
        self.of.capacity() * 8 + self.samples.capacity() * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pseudo(n: u64, seed: u64, gap: i64) -> Union {
        let mut x = seed;
        let mut at = 0;
        let mut parts = Vec::new();
        for _ in 0..n {
            x = x
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (a, b) = ((x >> 40) % 17, (x >> 50) % 13);
            at += i64::try_from(a).expect("small") * gap;
            let end = at + i64::try_from(b).expect("small") * gap;
            parts.push(TimeRange::new(at, end));
            at = end;
        }
        Union::new(parts)
    }

    #[test]
    fn measures_equal_those_of_the_sets_themselves() {
        let unions = [
            pseudo(3_000, 1, 1),
            pseudo(3_000, 2, 1),
            pseudo(40, 3, 60),
            pseudo(1, 4, 9),
        ];
        for a in &unions {
            for b in &unions {
                let (overlap, both) = (Overlap::new(a, b), a.intersect(b));
                let lazy = LazyUnion::new(vec![Arc::new(a.clone()), Arc::new(b.clone())]);
                let either = a.unite(b);
                for start in (-50..30_000).step_by(937) {
                    for length in [0, 1, 17, 400, 9_000] {
                        let w = TimeRange::new(start, start + length);
                        assert_eq!(overlap.measure_in(a, b, w), both.measure_in(w), "{w:?}");
                        assert_eq!(lazy.measure_in(w), either.measure_in(w), "{w:?}");
                    }
                }
            }
        }
    }
}
