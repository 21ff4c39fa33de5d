//! Levels of detail of what has no duration: counters (least and greatest value of any stretch of samples) and
//! instants (by the lane they are on). Built once per trace; knows no pixel.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::model::{Counter, Instant, LaneId, Trace};

/// Samples per entry of the lowest level.
const BLOCK: usize = 16;
/// Entries of a level per entry of the level above.
const FACTOR: usize = 8;

/// Least and greatest of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extremes {
    /// Least value.
    pub least: f64,
    /// Greatest value.
    pub greatest: f64,
}

impl Extremes {
    /// Of one value; `None` for what is no number.
    #[must_use]
    pub fn of(value: f64) -> Option<Self> {
        value.is_finite().then_some(Self {
            least: value,
            greatest: value,
        })
    }

    /// Of two sets of values.
    #[must_use]
    pub fn join(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(Self {
                least: a.least.min(b.least),
                greatest: a.greatest.max(b.greatest),
            }),
            (a, b) => a.or(b),
        }
    }
}

/// Least and greatest values of a counter, 16 samples per entry, then factor 8: little more than a byte per sample.
#[derive(Clone, Debug, Default)]
pub struct CounterTree {
    levels: Vec<Vec<Option<Extremes>>>,
}

/// A stretch of equal columns of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Columns {
    /// First column.
    pub first: usize,
    /// One after the last.
    pub end: usize,
    /// The values that the counter has in each of them.
    pub values: Extremes,
}

impl CounterTree {
    /// Over the values of a counter.
    #[must_use]
    pub fn new(values: &[f64]) -> Self {
        let mut levels: Vec<Vec<Option<Extremes>>> = Vec::new();
        if values.len() > 2 * BLOCK {
            levels.push(values.chunks(BLOCK).map(raw).collect());
        }
        while let Some(below) = levels.last().filter(|l| l.len() > 2 * FACTOR) {
            levels.push(below.chunks(FACTOR).map(joined).collect());
        }
        Self { levels }
    }

    /// Least and greatest of `values[range]`; the values must be those that the tree was built over.
    #[must_use]
    pub fn extremes(&self, values: &[f64], range: Range<usize>) -> Option<Extremes> {
        let (mut a, mut b) = (range.start, range.end.min(values.len()));
        if a >= b {
            return None;
        }
        if self.levels.is_empty() || b - a < 2 * BLOCK {
            return raw(&values[a..b]);
        }
        let mut out = raw(&values[a..a.next_multiple_of(BLOCK)]);
        out = Extremes::join(out, raw(&values[b / BLOCK * BLOCK..b]));
        (a, b) = (a.div_ceil(BLOCK), b / BLOCK);
        for (i, level) in self.levels.iter().enumerate() {
            if i + 1 == self.levels.len() || b - a < 2 * FACTOR {
                return Extremes::join(out, joined(&level[a..b]));
            }
            out = Extremes::join(out, joined(&level[a..a.next_multiple_of(FACTOR)]));
            out = Extremes::join(out, joined(&level[b / FACTOR * FACTOR..b]));
            (a, b) = (a.div_ceil(FACTOR), b / FACTOR);
        }
        out
    }

    /// The values of a counter between each two neighbouring `edges` (ascending times, ns): those of the samples there
    /// and the one that holds from before. Equal neighbours are one; columns before the first sample are left out.
    #[must_use]
    pub fn columns(&self, counter: &Counter, edges: &[i64]) -> Vec<Columns> {
        let mut out: Vec<Columns> = Vec::new();
        let times = &counter.times;
        let mut from = edges.first().map_or(0, |&t| before(times, t));
        for (i, edge) in edges.windows(2).enumerate() {
            let to = from + before(&times[from..], edge[1]);
            let mut values = self.extremes(&counter.values, from..to);
            // A sample on the very edge is the value from there on: nothing holds from before.
            let on_edge = to > from && times[from] == edge[0];
            if !on_edge && let Some(held) = from.checked_sub(1) {
                values = Extremes::join(values, Extremes::of(counter.values[held]));
            }
            from = to;
            let Some(values) = values else {
                continue;
            };
            match out.last_mut() {
                Some(last) if last.end == i && last.values == values => last.end = i + 1,
                _ => out.push(Columns {
                    first: i,
                    end: i + 1,
                    values,
                }),
            }
        }
        out
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let entries: usize = self.levels.iter().map(Vec::capacity).sum();
        entries * size_of::<Option<Extremes>>()
    }
}

/// The value of a counter at a time: that of the last sample until then.
#[must_use]
pub fn value_at(counter: &Counter, time: i64) -> Option<f64> {
    let after = counter.times.partition_point(|&t| t <= time);
    Some(counter.values[after.checked_sub(1)?])
}

/// A value of a counter as shown: whole numbers below ten million in full, else four digits and a power of thousand.
#[must_use]
pub fn format_value(value: f64) -> String {
    if !value.is_finite() {
        return "no number".to_owned();
    }
    let size = value.abs();
    if size < 1e7 && value.fract() == 0.0 {
        let digits = crate::time::format_count(size as u64);
        return if value < 0.0 {
            format!("−{digits}")
        } else {
            digits
        };
    }
    let (scaled, unit) = match size {
        1e15.. => return format!("{value:.3e}"),
        1e12.. => (value / 1e12, " T"),
        1e9.. => (value / 1e9, " G"),
        1e6.. => (value / 1e6, " M"),
        1e-3.. => (value, ""),
        _ => return format!("{value:.3e}"),
    };
    let decimals = match scaled.abs() {
        1e3.. => 0,
        1e2.. => 1,
        1e1.. => 2,
        _ => 3,
    };
    let text = format!("{scaled:.decimals$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{}{unit}", text.replace('-', "−"))
}

fn before(times: &[i64], t: i64) -> usize {
    times.partition_point(|&time| time < t)
}

fn raw(values: &[f64]) -> Option<Extremes> {
    values
        .iter()
        .fold(None, |all, &v| Extremes::join(all, Extremes::of(v)))
}

fn joined(entries: &[Option<Extremes>]) -> Option<Extremes> {
    entries.iter().fold(None, |all, &e| Extremes::join(all, e))
}

/// The instants of one lane, or those that are on none.
#[derive(Clone, Debug)]
pub struct InstantRow {
    /// The lane.
    pub lane: Option<LaneId>,
    /// Indices in [`Trace::instants`], by time.
    pub ids: Vec<u32>,
}

impl InstantRow {
    /// The instants of a trace by lane, those on no lane first.
    #[must_use]
    pub fn all(trace: &Trace) -> Vec<Self> {
        let mut by_lane: BTreeMap<Option<LaneId>, Vec<u32>> = BTreeMap::new();
        for (i, instant) in (0_u32..).zip(trace.instants()) {
            by_lane.entry(instant.lane).or_default().push(i);
        }
        by_lane
            .into_iter()
            .map(|(lane, mut ids)| {
                ids.shrink_to_fit();
                Self { lane, ids }
            })
            .collect()
    }

    /// The `i`-th instant.
    #[must_use]
    pub fn get<'a>(&self, trace: &'a Trace, i: usize) -> &'a Instant {
        &trace.instants()[self.ids[i] as usize]
    }

    /// Number of instants from position `from` on that come before `t`.
    #[must_use]
    pub fn before(&self, trace: &Trace, from: usize, t: i64) -> usize {
        self.ids[from..].partition_point(|&i| trace.instants()[i as usize].time < t)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (-3.0, "−3"),
            (1_234_567.0, "1,234,567"),
            (12.5, "12.5"),
            (97.123_4, "97.12"),
            (17_179_869_184.0, "17.18 G"),
            (1_024.5, "1024"),
            (0.000_012, "1.200e-5"),
            (f64::NAN, "no number"),
        ] {
            assert_eq!(format_value(value), text);
        }
    }

    fn value() -> impl Strategy<Value = f64> {
        prop_oneof![8 => -1e6..1e6_f64, 1 => Just(f64::NAN), 1 => Just(0.0)]
    }

    proptest! {
        #[test]
        fn extremes_are_those_of_all_values(
            values in proptest::collection::vec(value(), 0..3_000),
            a in 0_usize..3_000, len in 0_usize..3_000,
        ) {
            let tree = CounterTree::new(&values);
            let end = (a + len).min(values.len());
            let brute = values.get(a..end).and_then(raw);
            prop_assert_eq!(tree.extremes(&values, a..a + len), brute);
            prop_assert!(tree.heap_bytes() <= values.len() * 2);
        }

        #[test]
        fn columns_hold_every_value(
            steps in proptest::collection::vec((0_i64..30, value()), 1..2_000),
            start in -50_i64..20_000, width in 1_i64..200, n in 1_usize..60,
        ) {
            let mut counter = Counter::default();
            let mut t = 0;
            for (gap, value) in steps {
                t += gap;
                counter.times.push(t);
                counter.values.push(value);
            }
            let edges: Vec<i64> = (0..=n as i64).map(|i| start + i * width).collect();
            let tree = CounterTree::new(&counter.values);
            let columns = tree.columns(&counter, &edges);
            for i in 0..n {
                // Every nanosecond of the column, one by one.
                let brute = (edges[i]..edges[i + 1])
                    .filter_map(|t| value_at(&counter, t))
                    .fold(None, |all, v| Extremes::join(all, Extremes::of(v)));
                let inside = |c: &&Columns| c.first <= i && i < c.end;
                let got = columns.iter().find(inside).map(|c| c.values);
                // Of samples at the same nanosecond only the last one holds, but all of them are shown.
                let at_once = counter.times.windows(2).any(|w| {
                    w[0] == w[1] && edges[i] <= w[0] && w[0] < edges[i + 1]
                });
                match (got, brute) {
                    (Some(got), Some(brute)) if at_once => {
                        prop_assert!(got.least <= brute.least && got.greatest >= brute.greatest);
                    }
                    _ if at_once => {}
                    _ => prop_assert_eq!(got, brute),
                }
            }
            for pair in columns.windows(2) {
                prop_assert!(pair[0].end <= pair[1].first);
            }
        }
    }
}
