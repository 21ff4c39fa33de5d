//! By how much the mean step changed, as a sum of changes of its parts, exact to the nanosecond; and the step that stands
//! for a side.

use crate::analysis::compare::figure::Answer;
use crate::analysis::compare::sample::SampleRow;
use crate::analysis::figures::parts::{CPU_PARTS, GPU_PARTS};
use crate::analysis::sums::stats::percentile;

/// On which clock steps are parted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartClock {
    /// What the GPU did and what kept it idle.
    Gpu,
    /// What the loop's thread was in.
    Cpu,
}

impl PartClock {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
        }
    }

    /// The parts, in their order.
    #[must_use]
    pub fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Gpu => &GPU_PARTS,
            Self::Cpu => &CPU_PARTS,
        }
    }

    /// The parts of a step, ns.
    #[must_use]
    pub fn of(self, row: &SampleRow) -> &[i64] {
        match (self, &row.gpu_parts) {
            (Self::Gpu, Some(parts)) => parts,
            (Self::Gpu, None) => &[],
            (Self::Cpu, _) => &row.cpu_parts,
        }
    }

    fn part(self, row: &SampleRow, part: usize) -> i64 {
        self.of(row).get(part).copied().unwrap_or(0)
    }
}

/// The change of one part. ns per step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartChange {
    /// A name of [`PartClock::parts`].
    pub name: &'static str,
    /// Mean before.
    pub before: i64,
    /// Mean after.
    pub after: i64,
    /// Its share of the change of the step: these add up to it.
    pub delta: i64,
    /// What may be said of the part.
    pub answer: Answer,
}

/// The change of the mean step by parts. ns per step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decomposition {
    /// On which clock.
    pub clock: PartClock,
    /// Mean step before.
    pub step_before: i64,
    /// Mean step after.
    pub step_after: i64,
    /// How much longer the mean step is after.
    pub delta: i64,
    /// Parts that either side has.
    pub parts: Vec<PartChange>,
}

/// num / den rounded half up, den > 0.
fn half_up(num: i128, den: i128) -> i64 {
    i64::try_from((2 * num + den).div_euclid(2 * den)).unwrap_or(i64::MAX)
}

/// Parts the change of the mean step from `before` to `after`; `None` where a side has no step. `answer` tells what may
/// be said of a part.
pub(super) fn decompose(
    before: &[&SampleRow],
    after: &[&SampleRow],
    clock: PartClock,
    answer: impl Fn(&str) -> Answer,
) -> Option<Decomposition> {
    let (m, n) = (before.len() as i128, after.len() as i128);
    if m == 0 || n == 0 {
        return None;
    }
    let sum = |rows: &[&SampleRow], value: &dyn Fn(&SampleRow) -> i64| -> i128 {
        rows.iter().map(|r| i128::from(value(r))).sum()
    };
    let both = |value: &dyn Fn(&SampleRow) -> i64| (sum(before, value), sum(after, value));
    let sums: Vec<(i128, i128)> = (0..clock.parts().len())
        .map(|p| both(&|r| clock.part(r, p)))
        .collect();
    // Differences of means, times m·n: exact.
    let exact: Vec<i128> = sums.iter().map(|(a, b)| b * m - a * n).collect();
    let (time_before, time_after) = both(&|r| r.time);
    let delta = half_up(time_after * m - time_before * n, m * n);
    let mut deltas: Vec<i128> = exact.iter().map(|d| d.div_euclid(m * n)).collect();
    // Rounded down, they lack some ns: one each for those that lost most.
    let missing = i128::from(delta) - deltas.iter().sum::<i128>();
    let mut order: Vec<usize> = (0..exact.len()).collect();
    order.sort_by_key(|&p| std::cmp::Reverse(exact[p].rem_euclid(m * n)));
    for &p in order.iter().take(usize::try_from(missing).unwrap_or(0)) {
        deltas[p] += 1;
    }
    let there = |p: &usize| {
        let rows = before.iter().chain(after);
        rows.into_iter().any(|r| clock.part(r, *p) != 0)
    };
    let change = |p: usize| PartChange {
        name: clock.parts()[p],
        before: half_up(sums[p].0, m),
        after: half_up(sums[p].1, n),
        delta: i64::try_from(deltas[p]).unwrap_or(i64::MAX),
        answer: answer(clock.parts()[p]),
    };
    Some(Decomposition {
        clock,
        step_before: half_up(time_before, m),
        step_after: half_up(time_after, n),
        delta,
        parts: (0..exact.len()).filter(there).map(change).collect(),
    })
}

/// The step that differs least from the medians of all parts, of equals the first: a real one, not an average. Its place.
pub(super) fn typical(rows: &[&SampleRow], clock: PartClock) -> Option<usize> {
    let median = |p: usize| {
        let mut values: Vec<i64> = rows.iter().map(|r| clock.part(r, p)).collect();
        percentile(&mut values, 50).unwrap_or(0)
    };
    let medians: Vec<i64> = (0..clock.parts().len()).map(median).collect();
    let off = |&i: &usize| {
        let each = medians.iter().enumerate();
        let apart = |(p, &m): (usize, &i64)| {
            (i128::from(clock.part(rows[i], p)) - i128::from(m)).unsigned_abs()
        };
        each.map(apart).sum::<u128>()
    };
    (0..rows.len()).min_by_key(off)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(parts: &[i64]) -> SampleRow {
        let mut row = SampleRow {
            time: parts.iter().sum(),
            ..SampleRow::default()
        };
        row.cpu_parts[..parts.len()].copy_from_slice(parts);
        row
    }

    proptest! {
        #[test]
        fn changes_of_parts_add_up(
            before in prop::collection::vec([0_i64..1_000, 0_i64..1_000, 0_i64..9], 1..9),
            after in prop::collection::vec([0_i64..1_000, 0_i64..1_000, 0_i64..9], 1..9),
        ) {
            let [a, b] = [&before, &after].map(|s| s.iter().map(|p| row(p)).collect::<Vec<_>>());
            let (a, b): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
            let d = decompose(&a, &b, PartClock::Cpu, |_| Answer::Same).expect("steps");
            prop_assert_eq!(d.parts.iter().map(|p| p.delta).sum::<i64>(), d.delta);
            // None is off by a nanosecond or more.
            for p in &d.parts {
                prop_assert!((p.after - p.before - p.delta).abs() <= 2);
            }
            prop_assert!(typical(&a, PartClock::Cpu).is_some());
        }
    }

    #[test]
    fn the_typical_step_is_the_one_in_the_middle() {
        let rows = [row(&[10, 1]), row(&[50, 1]), row(&[11, 1]), row(&[12, 9])];
        let rows: Vec<_> = rows.iter().collect();
        assert_eq!(typical(&rows, PartClock::Cpu), Some(2));
        assert_eq!(typical(&[], PartClock::Cpu), None);
        assert!(decompose(&rows, &[], PartClock::Cpu, |_| Answer::Same).is_none());
    }
}
