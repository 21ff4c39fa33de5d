//! Interval algebra: sorted, disjoint unions of half-open intervals, with prefix sums for windowed measures.

use crate::time::TimeRange;

/// From this ratio of sizes on, an intersection searches instead of merging.
pub(in crate::analysis) const SEARCH_RATIO: usize = 128;

/// A set of nanoseconds as sorted, disjoint, non-touching, non-empty intervals. 24 bytes per interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Union {
    parts: Vec<TimeRange>,
    /// `before[i]` = total length of the parts before part `i`.
    before: Vec<i64>,
}

impl Union {
    /// The empty set.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// One interval; empty where it is.
    #[must_use]
    pub fn single(range: TimeRange) -> Self {
        Self::from_sorted(std::iter::once(range))
    }

    /// The union of intervals in any order. Touching ones merge, empty ones vanish.
    #[must_use]
    pub fn new(mut ranges: Vec<TimeRange>) -> Self {
        ranges.sort_unstable();
        Self::from_sorted(ranges)
    }

    /// The union of intervals whose starts ascend.
    #[must_use]
    pub fn from_sorted(ranges: impl IntoIterator<Item = TimeRange>) -> Self {
        let mut builder = UnionBuilder::default();
        for r in ranges {
            builder.push(r);
        }
        builder.finish()
    }

    /// From intervals that are already sorted, disjoint, non-touching and non-empty.
    fn from_parts(mut parts: Vec<TimeRange>) -> Self {
        parts.shrink_to_fit();
        let mut total = 0;
        let before = parts
            .iter()
            .map(|p| {
                let here = total;
                total += p.len();
                here
            })
            .collect();
        Self { parts, before }
    }

    /// The intervals, ascending.
    #[must_use]
    pub fn parts(&self) -> &[TimeRange] {
        &self.parts
    }

    /// True when no nanosecond is inside.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// From the first start to the last end.
    #[must_use]
    pub fn hull(&self) -> Option<TimeRange> {
        Some(TimeRange {
            start: self.parts.first()?.start,
            end: self.parts.last()?.end,
        })
    }

    /// Total length, ns.
    #[must_use]
    pub fn measure(&self) -> i64 {
        match (self.before.last(), self.parts.last()) {
            (Some(b), Some(p)) => b + p.len(),
            _ => 0,
        }
    }

    /// Length inside `(-∞, t)`, ns, in O(log n).
    #[must_use]
    pub fn measure_before(&self, t: i64) -> i64 {
        let i = self.parts.partition_point(|p| p.start <= t);
        if i == 0 {
            return 0;
        }
        let p = self.parts[i - 1];
        self.before[i - 1] + t.min(p.end) - p.start
    }

    /// Length inside `window`, ns, in O(log n).
    #[must_use]
    pub fn measure_in(&self, window: TimeRange) -> i64 {
        if window.is_empty() {
            return 0;
        }
        self.measure_before(window.end) - self.measure_before(window.start)
    }

    /// True when `t` is inside.
    #[must_use]
    pub fn contains(&self, t: i64) -> bool {
        let i = self.parts.partition_point(|p| p.start <= t);
        i > 0 && t < self.parts[i - 1].end
    }

    /// The intervals that overlap `window`, unclipped.
    #[must_use]
    pub fn parts_in(&self, window: TimeRange) -> &[TimeRange] {
        if window.is_empty() {
            return &[];
        }
        let a = self.parts.partition_point(|p| p.end <= window.start);
        let b = self.parts.partition_point(|p| p.start < window.end);
        &self.parts[a..b.max(a)]
    }

    /// The part inside `window`.
    #[must_use]
    pub fn clip(&self, window: TimeRange) -> Self {
        Self::from_parts(
            self.parts_in(window)
                .iter()
                .map(|p| p.clip(window))
                .collect(),
        )
    }

    /// What is in both: O(a + b), or O(a log b) where one is much smaller.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let (small, large) = if self.parts.len() <= other.parts.len() {
            (self, other)
        } else {
            (other, self)
        };
        if small.parts.len() * SEARCH_RATIO < large.parts.len() {
            let cut = |p: &TimeRange| {
                let p = *p;
                large.parts_in(p).iter().map(move |q| q.clip(p))
            };
            return Self::from_parts(small.parts.iter().flat_map(cut).collect());
        }
        let (a, b) = (&self.parts, &other.parts);
        let (mut i, mut j) = (0, 0);
        let mut out = Vec::new();
        while i < a.len() && j < b.len() {
            let both = a[i].clip(b[j]);
            if !both.is_empty() {
                out.push(both);
            }
            if a[i].end <= b[j].end {
                i += 1;
            } else {
                j += 1;
            }
        }
        Self::from_parts(out)
    }

    /// What is in this and not in `other`.
    #[must_use]
    pub fn subtract(&self, other: &Self) -> Self {
        let mut out = Vec::new();
        let mut j = 0;
        for p in &self.parts {
            let mut start = p.start;
            while j < other.parts.len() && other.parts[j].end <= start {
                j += 1;
            }
            let mut k = j;
            while k < other.parts.len() && other.parts[k].start < p.end {
                let o = other.parts[k];
                if o.start > start {
                    out.push(TimeRange {
                        start,
                        end: o.start,
                    });
                }
                start = start.max(o.end);
                k += 1;
            }
            if start < p.end {
                out.push(TimeRange { start, end: p.end });
            }
        }
        Self::from_parts(out)
    }

    /// What is in either.
    #[must_use]
    pub fn unite(&self, other: &Self) -> Self {
        let merged = merge_two(&self.parts, &other.parts);
        Self::from_sorted(merged)
    }

    /// Length of the part inside both `other` and `window`, ns; costs only what lies in the window.
    #[must_use]
    pub fn measure_common(&self, other: &Self, window: TimeRange) -> i64 {
        let (a, b) = (self.parts_in(window), other.parts_in(window));
        let (mut i, mut j, mut sum) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            sum += a[i].clip(b[j]).clip(window).len();
            if a[i].end <= b[j].end {
                i += 1;
            } else {
                j += 1;
            }
        }
        sum
    }

    /// Bytes held.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.parts.capacity() * 16 + self.before.capacity() * 8
    }
}

/// Where a union was measured last: ranges whose starts ascend are measured from there on.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::analysis) struct Near {
    /// Parts that start before or where the last range does.
    parts: usize,
}

impl Near {
    /// [`Union::measure_in`] of a range that starts no earlier than the one before.
    pub fn measure(&mut self, of: &Union, range: TimeRange) -> i64 {
        if range.is_empty() {
            return 0;
        }
        let before = |parts: usize, t: i64| {
            let last = parts.checked_sub(1);
            last.map_or(0, |i| {
                of.before[i] + t.min(of.parts[i].end) - of.parts[i].start
            })
        };
        self.parts = starting_by(&of.parts, self.parts, range.start);
        let end = starting_by(&of.parts, self.parts, range.end);
        before(end, range.end) - before(self.parts, range.start)
    }
}

/// The number of parts that start by `t`, of which the first `known` do: costs the logarithm of how many more.
fn starting_by(parts: &[TimeRange], known: usize, t: i64) -> usize {
    let (mut at, mut step) = (known, 1);
    while parts.get(at + step - 1).is_some_and(|p| p.start <= t) {
        at += step;
        step *= 2;
    }
    let rest = &parts[at..parts.len().min(at + step - 1)];
    at + rest.partition_point(|p| p.start <= t)
}

/// Makes a [`Union`] from intervals whose starts ascend.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct UnionBuilder {
    parts: Vec<TimeRange>,
}

impl UnionBuilder {
    pub fn push(&mut self, r: TimeRange) {
        if r.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(last) if r.start <= last.end => last.end = last.end.max(r.end),
            _ => self.parts.push(r),
        }
    }

    pub fn finish(self) -> Union {
        Union::from_parts(self.parts)
    }
}

/// Intervals of several sorted lists, sorted by start.
pub(in crate::analysis) fn merge(mut lists: Vec<&[TimeRange]>) -> Vec<TimeRange> {
    lists.retain(|l| !l.is_empty());
    let mut merged: Vec<Vec<TimeRange>> = lists
        .chunks(2)
        .map(|pair| match pair {
            [a, b] => merge_two(a, b),
            rest => rest.concat(),
        })
        .collect();
    while merged.len() > 1 {
        merged = merged
            .chunks(2)
            .map(|pair| match pair {
                [a, b] => merge_two(a, b),
                rest => rest.concat(),
            })
            .collect();
    }
    merged.pop().unwrap_or_default()
}

fn merge_two(a: &[TimeRange], b: &[TimeRange]) -> Vec<TimeRange> {
    let mut out = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i].start <= b[j].start {
            out.push(a[i]);
            i += 1;
        } else {
            out.push(b[j]);
            j += 1;
        }
    }
    out.extend_from_slice(&a[i..]);
    out.extend_from_slice(&b[j..]);
    out
}
