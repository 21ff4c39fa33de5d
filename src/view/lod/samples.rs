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
    /// Of no value at all.
    const NONE: Self = Self {
        least: f64::INFINITY,
        greatest: f64::NEG_INFINITY,
    };

    /// Of one value; `None` for what is no number.
    #[must_use]
    pub fn of(value: f64) -> Option<Self> {
        raw(&[value]).some()
    }

    /// Of two sets of values.
    #[must_use]
    pub fn join(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        a.unwrap_or(Self::NONE).with(b.unwrap_or(Self::NONE)).some()
    }

    fn some(self) -> Option<Self> {
        (self.least <= self.greatest).then_some(self)
    }

    #[inline]
    fn with(self, other: Self) -> Self {
        let least = if other.least < self.least {
            other.least
        } else {
            self.least
        };
        let greatest = if other.greatest > self.greatest {
            other.greatest
        } else {
            self.greatest
        };
        Self { least, greatest }
    }
}

/// Least and greatest values of a counter, 16 samples per entry, then factor 8, and when each 16 begin: less than two
/// bytes per sample.
#[derive(Clone, Debug, Default)]
pub struct CounterTree {
    starts: Vec<i64>,
    levels: Vec<Vec<Extremes>>,
}

/// Where a column begins and the one before it ends: positions of samples.
#[derive(Clone, Copy)]
struct Cut {
    /// The column before takes samples up to here.
    end: usize,
    /// The column after takes samples from here on.
    start: usize,
    /// The sample before `start` holds into the column after.
    holds: bool,
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
    /// Over the samples of a counter.
    #[must_use]
    pub fn new(counter: &Counter) -> Self {
        let values = &counter.values;
        let mut levels: Vec<Vec<Extremes>> = Vec::new();
        let mut starts = Vec::new();
        if values.len() > 2 * BLOCK {
            levels.push(values.chunks(BLOCK).map(raw).collect());
            starts = counter.times.iter().copied().step_by(BLOCK).collect();
        }
        while let Some(below) = levels.last().filter(|l| l.len() > 2 * FACTOR) {
            levels.push(below.chunks(FACTOR).map(joined).collect());
        }
        Self { starts, levels }
    }

    /// Least and greatest of `values[range]`; the values must be those that the tree was built over.
    #[must_use]
    pub fn extremes(&self, values: &[f64], range: Range<usize>) -> Option<Extremes> {
        self.within(values, range).some()
    }

    fn within(&self, values: &[f64], range: Range<usize>) -> Extremes {
        let (mut a, mut b) = (range.start, range.end.min(values.len()));
        if a >= b {
            return Extremes::NONE;
        }
        if self.levels.is_empty() || b - a < 2 * BLOCK {
            return raw(&values[a..b]);
        }
        let mut out = raw(&values[a..a.next_multiple_of(BLOCK)]);
        out = out.with(raw(&values[b / BLOCK * BLOCK..b]));
        (a, b) = (a.div_ceil(BLOCK), b / BLOCK);
        for (i, level) in self.levels.iter().enumerate() {
            if i + 1 == self.levels.len() || b - a < 2 * FACTOR {
                return out.with(joined(&level[a..b]));
            }
            out = out.with(joined(&level[a..a.next_multiple_of(FACTOR)]));
            out = out.with(joined(&level[b / FACTOR * FACTOR..b]));
            (a, b) = (a.div_ceil(FACTOR), b / FACTOR);
        }
        out
    }

    /// The values of a counter between each two neighbouring `edges` (evenly spaced ascending times, ns): those of the
    /// samples there and the one that holds from before. None is ever missing. Where a column has very many samples,
    /// it may have those of the next or the last quarter of a column as well, so that a frame need not look at single
    /// samples. Equal neighbours are one; columns before the first sample are left out.
    #[must_use]
    pub fn columns(&self, counter: &Counter, edges: &[i64]) -> Vec<Columns> {
        let mut out: Vec<Columns> = Vec::new();
        let (Some(&first), Some(&last)) = (edges.first(), edges.last()) else {
            return out;
        };
        let times = &counter.times;
        let inside = before(times, last) - before(times, first);
        let dense = !self.starts.is_empty() && inside >= 4 * BLOCK * edges.len();
        let quarter = (last - first) / (4 * edges.len().max(2) as i64 - 4);
        let mut near = if dense {
            before(&self.starts, first)
        } else {
            before(times, first)
        };
        let mut cut = |edge: i64| {
            if dense {
                near = gallop(&self.starts, near, edge);
                self.cut(times, near, (edge, quarter))
            } else {
                near = gallop(times, near, edge);
                Cut {
                    end: near,
                    start: near,
                    holds: times.get(near) != Some(&edge),
                }
            }
        };
        let mut from = cut(first);
        for (i, &edge) in edges[1..].iter().enumerate() {
            let to = cut(edge);
            let mut values = self.within(&counter.values, from.start..to.end);
            if from.holds
                && let Some(held) = from.start.checked_sub(1)
            {
                values = values.with(raw(&counter.values[held..=held]));
            }
            from = to;
            let Some(values) = values.some() else {
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

    /// At an edge before which `blocks` blocks begin: the last of them belongs to both sides where it is short, and is
    /// looked into where it is not.
    fn cut(&self, times: &[i64], blocks: usize, (edge, most): (i64, i64)) -> Cut {
        let Some(last) = blocks.checked_sub(1) else {
            return Cut {
                end: 0,
                start: 0,
                holds: false,
            };
        };
        let (a, b) = (last * BLOCK, (blocks * BLOCK).min(times.len()));
        let short = self
            .starts
            .get(blocks)
            .is_some_and(|&next| next - self.starts[last] <= most);
        if short {
            return Cut {
                end: b,
                start: a,
                holds: false,
            };
        }
        let at = a + before(&times[a..b], edge);
        Cut {
            end: at,
            start: at,
            holds: times.get(at) != Some(&edge),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let entries: usize = self.levels.iter().map(Vec::capacity).sum();
        entries * size_of::<Extremes>() + self.starts.capacity() * 8
    }
}

/// The value of a counter at a time: that of the last sample until then.
#[must_use]
pub fn value_at(counter: &Counter, time: i64) -> Option<f64> {
    let after = counter.times.partition_point(|&t| t <= time);
    Some(counter.values[after.checked_sub(1)?])
}

/// A value of a counter as shown, with its unit where that is known.
#[must_use]
pub fn format_sample(counter: &Counter, value: f64) -> String {
    let text = format_value(value);
    match (
        counter.measure.is_bytes(),
        text.ends_with(char::is_alphabetic),
    ) {
        (false, _) => text,
        (true, true) => text + "B",
        (true, false) => text + " B",
    }
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

/// The same, from a position on at which the answer is not far.
fn gallop(times: &[i64], from: usize, t: i64) -> usize {
    let rest = &times[from..];
    let mut reach = 4;
    while reach < rest.len() && rest[reach] < t {
        reach *= 4;
    }
    from + before(&rest[..reach.min(rest.len())], t)
}

fn raw(values: &[f64]) -> Extremes {
    let finite = values.iter().filter(|v| v.is_finite());
    finite.fold(Extremes::NONE, |all, &v| {
        all.with(Extremes {
            least: v,
            greatest: v,
        })
    })
}

fn joined(entries: &[Extremes]) -> Extremes {
    entries.iter().fold(Extremes::NONE, |all, &e| all.with(e))
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
        let is_before = |i: &u32| trace.instants()[*i as usize].time < t;
        let rest = &self.ids[from..];
        let mut reach = 4;
        while reach < rest.len() && is_before(&rest[reach]) {
            reach *= 4;
        }
        rest[..reach.min(rest.len())].partition_point(is_before)
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
            let counter = Counter {
                times: (0..values.len() as i64).collect(),
                values: values.clone(),
                ..Counter::default()
            };
            let tree = CounterTree::new(&counter);
            let end = (a + len).min(values.len());
            let brute = values.get(a..end).and_then(|v| raw(v).some());
            prop_assert_eq!(tree.extremes(&values, a..a + len), brute);
            prop_assert!(tree.heap_bytes() <= values.len() * 2 + 200);
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
            let tree = CounterTree::new(&counter);
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

        #[test]
        fn dense_columns_hold_every_value_and_none_from_far(
            bursts in proptest::collection::vec((0_i64..60_000, 1_usize..900), 1..60),
            start in -500_i64..20_000, n in 1_usize..12, seed in 0_u64..1_000,
        ) {
            let mut counter = Counter::default();
            let (mut t, mut value) = (0, seed);
            for (gap, samples) in bursts {
                t += gap;
                for _ in 0..samples {
                    value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
                    t += 1 + (value >> 62) as i64;
                    counter.times.push(t);
                    counter.values.push((value >> 40) as f64);
                }
            }
            let width = ((t - start) / n as i64).max(4);
            let edges: Vec<i64> = (0..=n as i64).map(|i| start + i * width).collect();
            let tree = CounterTree::new(&counter);
            let columns = tree.columns(&counter, &edges);
            let brute = |a: i64, b: i64| {
                let held = value_at(&counter, a).and_then(Extremes::of);
                let inside = before(&counter.times, a)..before(&counter.times, b);
                Extremes::join(held, raw(&counter.values[inside]).some())
            };
            for i in 0..n {
                let inside = |c: &&Columns| c.first <= i && i < c.end;
                let got = columns.iter().find(inside).map(|c| c.values);
                let least = brute(edges[i], edges[i + 1]);
                prop_assert_eq!(Extremes::join(got, least), got, "column {} misses a value", i);
                let quarter = width / 4 + 1;
                let most = brute(edges[i] - quarter, edges[i + 1] + quarter);
                prop_assert_eq!(Extremes::join(got, most), most, "column {} has one from far", i);
            }
        }
    }
}
