//! Percentiles and ratios, defined so that they are equal in every program that follows the definition.

/// The `q`-th percentile of unsorted lengths, ns: linear interpolation between order statistics at (n − 1) q / 100,
/// rounded half up. Reorders `values`.
#[must_use]
pub fn percentile(values: &mut [i64], q: u32) -> Option<i64> {
    if values.is_empty() {
        return None;
    }
    let pos = (values.len() as u64 - 1) * u64::from(q);
    let (at, rem) = (usize::try_from(pos / 100).ok()?, pos % 100);
    let (_, &mut low, above) = values.select_nth_unstable(at);
    if rem == 0 {
        return Some(low);
    }
    let high = above.iter().copied().min().unwrap_or(low);
    Some(between(low, high, rem))
}

/// Median, 95th percentile and maximum of unsorted lengths, ns: what [`percentile`] says, with each length looked at less
/// often. Reorders `values`.
#[must_use]
pub fn summary(values: &mut [i64]) -> Option<[i64; 3]> {
    let last = values.len().checked_sub(1)?;
    let place = |q: usize| (last * q / 100, (last * q % 100) as u64);
    let (at95, rem95) = place(95);
    let (_, &mut low95, above) = values.select_nth_unstable(at95);
    let next = above.iter().copied().min().unwrap_or(low95);
    let max = above.iter().copied().max().unwrap_or(low95);
    // Nothing up to there is greater, so the median is among them.
    let (at50, rem50) = place(50);
    let (_, &mut low50, above) = values[..=at95].select_nth_unstable(at50);
    let after = above.iter().copied().min().unwrap_or(next);
    Some([
        between(low50, after, rem50),
        between(low95, next, rem95),
        max,
    ])
}

/// [`percentile`] of ascending lengths.
#[must_use]
pub fn percentile_sorted(values: &[i64], q: u32) -> Option<i64> {
    if values.is_empty() {
        return None;
    }
    let pos = (values.len() as u64 - 1) * u64::from(q);
    let (at, rem) = (usize::try_from(pos / 100).ok()?, pos % 100);
    let low = values[at];
    let high = values.get(at + 1).copied().unwrap_or(low);
    Some(between(low, high, rem))
}

fn between(low: i64, high: i64, rem: u64) -> i64 {
    let part = (i128::from(high) - i128::from(low)) * i128::from(rem) + 50;
    // Floor division: lengths can be negative (lags).
    low.saturating_add(i64::try_from(part.div_euclid(100)).unwrap_or(i64::MAX))
}

/// a / b; `None` without a denominator.
#[must_use]
pub fn ratio(a: i64, b: i64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a ratio is no time")]
    let value = (b != 0).then(|| a as f64 / b as f64);
    value
}

/// A number rounded to six decimals, as reports print it.
#[must_use]
pub fn round6(x: f64) -> f64 {
    format!("{x:.6}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_interpolate_and_round_half_up() {
        assert_eq!(percentile(&mut [22, 4, 8], 50), Some(8));
        assert_eq!(percentile(&mut [22, 4, 8], 95), Some(21));
        assert_eq!(percentile(&mut [1, 2], 50), Some(2));
        assert_eq!(percentile(&mut [-3, -2], 50), Some(-2));
        assert_eq!(percentile(&mut [], 50), None);
        for q in 0..=100 {
            let mut v = [5, 1, 9, 9, 2, 40, -7];
            let mut s = v;
            s.sort_unstable();
            assert_eq!(percentile(&mut v, q), percentile_sorted(&s, q), "{q}");
        }
        assert_eq!(ratio(1, 0), None);
        assert!((round6(2.0 / 3.0) - 0.666_667).abs() < 1e-12);
    }
    #[test]
    fn a_summary_is_what_its_percentiles_are() {
        assert_eq!(summary(&mut []), None);
        let mut seed = 3_u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % n
        };
        for n in (1..=60).chain([999, 1_000, 1_001]) {
            let values: Vec<i64> = (0..n).map(|_| next(50).cast_signed() - 9).collect();
            let [median, p95, max] = summary(&mut values.clone()).expect("there are values");
            assert_eq!(percentile(&mut values.clone(), 50), Some(median), "{n}");
            assert_eq!(percentile(&mut values.clone(), 95), Some(p95), "{n}");
            assert_eq!(values.iter().copied().max(), Some(max), "{n}");
        }
    }
}
