//! Student's t and the normal distribution, two-sided.

/// Degrees of freedom above which the normal distribution is taken for Student's.
const NORMAL_FROM: u64 = 1_000;

/// P(|Z| ≥ z) of a standard normal Z.
pub(super) fn normal_two_sided(z: f64) -> f64 {
    libm::erfc(z / std::f64::consts::SQRT_2)
}

/// P(|T| ≥ t) of Student's T with `df` whole degrees of freedom, by the finite series of Abramowitz and Stegun
/// (26.7.3 for odd, 26.7.4 for even ones); from 1,000 on by the normal distribution.
#[expect(clippy::cast_precision_loss, reason = "at most 1,000")]
pub(super) fn two_sided(t: f64, df: u64) -> f64 {
    if df > NORMAL_FROM {
        return normal_two_sided(t);
    }
    let angle = t.atan2((df as f64).sqrt());
    let (sin, cos) = angle.sin_cos();
    let square = cos * cos;
    let inside = if df % 2 == 1 {
        let (mut term, mut sum) = (cos, 0.0);
        for i in 1..=(df - 1) / 2 {
            sum += term;
            term *= square * (2 * i) as f64 / (2 * i + 1) as f64;
        }
        std::f64::consts::FRAC_2_PI * (angle + sin * sum)
    } else {
        let (mut term, mut sum) = (1.0, 0.0);
        for i in 1..=df / 2 {
            sum += term;
            term *= square * (2 * i - 1) as f64 / (2 * i) as f64;
        }
        sin * sum
    };
    (1.0 - inside).max(0.0)
}

/// The t for which P(|T| ≥ t) is 5 %.
pub(super) fn quantile_95(df: u64) -> f64 {
    let (mut low, mut high) = (1.0, 20.0);
    // Halving this often reaches neighbouring floats.
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if two_sided(middle, df) > 0.05 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (1, 12.706_204_736),
            (2, 4.302_652_730),
            (4, 2.776_445_105),
            (30, 2.042_272_456),
            (1_000, 1.962_339_081),
            (2_000, 1.959_963_985),
        ];
        for (df, t) in table {
            assert!((quantile_95(df) - t).abs() < 1e-8, "{df}");
        }
        assert!((two_sided(0.0, 7) - 1.0).abs() < 1e-15);
        assert!((two_sided(1.0, 1) - 0.5).abs() < 1e-15);
        assert!(two_sided(1e9, 3) < 1e-15);
    }
}
