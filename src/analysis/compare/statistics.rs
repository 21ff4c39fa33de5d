//! What two series of step figures say of each other: shift, interval, p, each widened for steps that depend on their
//! neighbours; families of questions; series of whole recordings.

use crate::analysis::compare::differences::Differences;
use crate::analysis::compare::student;

/// The two-sided 95 % quantile of the normal distribution.
const Z95: f64 = 1.959_964;
/// The largest dependence that is reckoned with.
const MOST: f64 = 0.9;

/// How far one series lies from the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shift {
    /// Hodges–Lehmann: the median of all differences.
    pub shift: i64,
    /// 95 % interval of the shift.
    pub lo: i64,
    pub hi: i64,
    /// How much neighbouring steps are alike, from above.
    pub rho: f64,
    /// By what the interval is widened for it.
    pub widening: f64,
    /// What is left of m + n steps, less two.
    pub df: u64,
    /// Of the interval: below 0.05 exactly where it leaves out 0.
    pub p: f64,
    /// Of the plain test of Mann and Whitney, for comparison.
    pub p_mann_whitney: f64,
}

#[expect(clippy::cast_possible_truncation, reason = "clamped")]
fn whole(value: i128) -> i64 {
    value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

#[expect(clippy::cast_precision_loss, reason = "statistics, not times")]
fn real(value: i128) -> f64 {
    value as f64
}

fn count(n: usize) -> f64 {
    real(n as i128)
}

/// The shift alone, for series too short for more.
pub(super) fn shift(before: &[i64], after: &[i64]) -> i64 {
    whole(Differences::new(before, after).median())
}

/// The correlation of neighbours in a series.
fn lag1(values: &[i64]) -> f64 {
    let n = values.len() as i128;
    let sum: i128 = values.iter().map(|&v| i128::from(v)).sum();
    // Exact: n times the deviation from the mean.
    let off: Vec<f64> = values
        .iter()
        .map(|&v| real(n * i128::from(v) - sum))
        .collect();
    let square: f64 = off.iter().map(|x| x * x).sum();
    if square == 0.0 {
        return 0.0;
    }
    let product: f64 = off.windows(2).map(|w| w[0] * w[1]).sum();
    product / square
}

/// Shift, interval and p of two series of at least one value each.
///
/// The interval inverts the test of Mann and Whitney (Hollander and Wolfe). Steps depend on their neighbours: their
/// correlation, corrected for its bias in short series and for how uncertain it is, widens the interval to that of as many
/// independent steps as these are worth.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded, and not negative"
)]
pub(super) fn compare(before: &[i64], after: &[i64]) -> Shift {
    let (m, n) = (count(before.len()), count(after.len()));
    let differences = Differences::new(before, after);
    let (shift, pairs) = (differences.median(), differences.len());
    let sigma = (m * n * (m + n + 1.0) / 12.0).sqrt();
    let cut = (m * n / 2.0 - Z95 * sigma).floor().max(1.0) as u128;
    let (low, high) = (differences.nth(cut), differences.nth(pairs + 1 - cut));
    let r = (m * lag1(before) + n * lag1(after)) / (m + n);
    let uncertain = (1.0 + 3.0 * r.max(0.0)) / m.min(n) + 1.0 / (m + n).sqrt();
    let rho = (r + uncertain).clamp(0.0, MOST);
    let widening = ((1.0 + rho) / (1.0 - rho)).sqrt();
    let worth = ((m + n) / (widening * widening)).floor() - 2.0;
    let df = worth.max(2.0) as u64;
    // The side that faces 0.
    let facing = match shift > 0 {
        true => widening * real(shift - low),
        false => widening * real(high - shift),
    };
    let p = if shift == 0 {
        1.0
    } else if facing == 0.0 {
        0.0
    } else {
        student::two_sided(Z95 * real(shift.abs()) / facing, df)
    };
    let stretch = widening * student::quantile_95(df) / Z95;
    Shift {
        shift: whole(shift),
        lo: whole(shift - (stretch * real(shift - low)).ceil() as i128),
        hi: whole(shift + (stretch * real(high - shift)).ceil() as i128),
        rho,
        widening,
        df,
        p,
        p_mann_whitney: mann_whitney(&differences, before.len(), after.len()),
    }
}

/// The asymptotic two-sided p of Mann and Whitney, corrected for ties, not for continuity.
fn mann_whitney(differences: &Differences, before: usize, after: usize) -> f64 {
    let (m, n) = (count(before), count(after));
    let all = m + n;
    let pairs = differences.pairs();
    #[expect(clippy::cast_precision_loss, reason = "statistics, not times")]
    let u = pairs.more as f64 + pairs.equal as f64 / 2.0;
    let ties = differences.ties().into_iter().map(count);
    let ties: f64 = ties.map(|t| t * t * t - t).sum();
    let variance = m * n / 12.0 * ((all + 1.0) - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    student::normal_two_sided((u - m * n / 2.0).abs() / variance.sqrt())
}

/// p adjusted for the number of questions by Holm, in the order of the questions; of equal ones the first counts first.
pub(super) fn holm(all: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|&a, &b| all[a].total_cmp(&all[b]));
    let mut out = vec![0.0; all.len()];
    let mut worst: f64 = 0.0;
    for (place, &i) in order.iter().enumerate() {
        worst = worst.max((count(all.len() - place) * all[i]).min(1.0));
        out[i] = worst;
    }
    out
}

/// How far the recordings of two sides lie apart, a value of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    /// One value per recording before, ns.
    pub before: Vec<i64>,
    /// One value per recording after, ns.
    pub after: Vec<i64>,
    /// Difference of the means, ns.
    pub shift: i64,
    /// 95 % interval of it, ns.
    pub lo: i64,
    /// Its upper end, ns.
    pub hi: i64,
    /// Degrees of freedom; `None` where the recordings of each side agree to the ns.
    pub df: Option<u64>,
    /// Two-sided p of Welch's test.
    pub p: f64,
}

/// Welch's test of two recordings or more on each side.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded, and not negative"
)]
pub(super) fn welch(before: Vec<i64>, after: Vec<i64>) -> Between {
    let sum = |v: &[i64]| v.iter().map(|&x| i128::from(x)).sum::<i128>();
    // Variance of the mean, from deviations that are exact n-fold.
    let spread = |v: &[i64]| {
        let (n, total) = (v.len() as i128, sum(v));
        let off = v.iter().map(|&x| real(n * i128::from(x) - total));
        let size = count(v.len());
        off.map(|x| x * x).sum::<f64>() / (size * size * size * (size - 1.0))
    };
    let (r, s) = (before.len() as i128, after.len() as i128);
    let apart = sum(&after) * r - sum(&before) * s;
    let shift = (2 * apart + r * s).div_euclid(2 * r * s);
    let (va, vb) = (spread(&before), spread(&after));
    let mut out = Between {
        shift: whole(shift),
        lo: whole(shift),
        hi: whole(shift),
        df: None,
        p: if apart == 0 { 1.0 } else { 0.0 },
        before,
        after,
    };
    if va + vb == 0.0 {
        return out;
    }
    let degrees = (va + vb) * (va + vb) / (va * va / real(r - 1) + vb * vb / real(s - 1));
    // A whole number must not fall below itself by rounding.
    let df = (degrees * (1.0 + 1e-12)).floor().max(1.0) as u64;
    let (mean, error) = (real(apart) / real(r * s), (va + vb).sqrt());
    let reach = student::quantile_95(df) * error;
    out.lo = whole((mean - reach).floor() as i128);
    out.hi = whole((mean + reach).ceil() as i128);
    out.df = Some(df);
    out.p = student::two_sided(mean.abs() / error, df);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn holm_counts_the_questions() {
        let close = |a: Vec<f64>, b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close(holm(&[0.01, 0.04, 0.03]), &[0.03, 0.06, 0.06]));
        assert!(close(holm(&[0.9, 0.8]), &[1.0, 1.0]));
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn recordings_that_agree_leave_no_doubt() {
        let w = welch(vec![10, 10], vec![13, 13]);
        assert_eq!((w.shift, w.lo, w.hi, w.df), (3, 3, 3, None));
        assert!(w.p == 0.0 && welch(vec![5, 5], vec![5, 5]).p == 1.0);
        // Equal spread: exactly 2 (R − 1).
        for r in 2..9_u32 {
            let a: Vec<i64> = (0..r).map(|i| i64::from(i * 7)).collect();
            let b = a.iter().map(|x| x + 1_000).collect();
            assert_eq!(welch(a, b).df, Some(u64::from(2 * (r - 1))));
        }
    }

    fn series() -> impl Strategy<Value = (Vec<i64>, Vec<i64>)> {
        let one = || prop::collection::vec(0_i64..1_000_000, 6..40);
        (one(), one())
    }

    proptest! {
        #[test]
        fn swapped_sides_are_opposite((a, b) in series()) {
            let (x, y) = (compare(&a, &b), compare(&b, &a));
            // The median of an even number of differences is rounded up on both sides.
            prop_assert!((x.shift + y.shift).abs() <= 1);
            // What is rounded there is stretched here.
            let slack = (4.0 * x.widening * 13.0) as i64;
            prop_assert!((x.lo + y.hi).abs() <= slack && (x.hi + y.lo).abs() <= slack);
            prop_assert!((x.p_mann_whitney - y.p_mann_whitney).abs() < 1e-12);
            prop_assert!(x.lo <= x.shift && x.shift <= x.hi);
        }

        #[test]
        fn a_constant_moves_the_interval((a, b) in series(), by in -500_000_i64..500_000) {
            let moved: Vec<i64> = b.iter().map(|v| v + by).collect();
            let (x, y) = (compare(&a, &b), compare(&a, &moved));
            prop_assert_eq!((y.shift - x.shift, y.lo - x.lo, y.hi - x.hi), (by, by, by));
            prop_assert!(x.rho == y.rho && x.df == y.df);
        }

        #[test]
        fn a_unit_changes_nothing((a, b) in series(), unit in 1_i64..10_000) {
            // Even numbers: their middle is exact.
            let scaled = |v: &[i64], by: i64| v.iter().map(|x| 2 * x * by).collect::<Vec<_>>();
            let x = compare(&scaled(&a, 1), &scaled(&b, 1));
            let y = compare(&scaled(&a, unit), &scaled(&b, unit));
            prop_assert!((x.rho - y.rho).abs() < 1e-12 && (x.widening - y.widening).abs() < 1e-9);
            prop_assert!((x.p - y.p).abs() < 1e-9 && x.p_mann_whitney == y.p_mann_whitney);
            // Before rounding, the interval leaves out 0 exactly where p is below 0.05.
            let y = compare(&scaled(&a, 1_000_000), &scaled(&b, 1_000_000));
            prop_assert_eq!(y.p < 0.05, y.lo > 0 || y.hi < 0);
        }
    }
}
