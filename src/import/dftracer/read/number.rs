//! Times in ticks, whose length may be known later.

use crate::import::text::decimal::{self, Decimal};

/// A time as the file writes it: whole ticks and a fraction in 10⁻¹² ticks, both of the same sign.
///
/// The unit of a file may be stated after its first events, so ticks are kept until the file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ticks {
    /// Whole ticks.
    pub whole: i64,
    /// The rest, 10⁻¹² ticks.
    pub fraction: i64,
}

const FRACTION_DIGITS: i64 = 12;
const FRACTION: i128 = 1_000_000_000_000;

impl Ticks {
    /// Nanoseconds at `unit` nanoseconds per tick: rounded half away from zero, saturating.
    #[must_use]
    pub fn to_ns(self, unit: i64) -> i64 {
        if self.fraction == 0 {
            return self.whole.saturating_mul(unit);
        }
        let exact = i128::from(self.whole) * i128::from(unit) * FRACTION
            + i128::from(self.fraction) * i128::from(unit);
        let half = FRACTION / 2;
        let rounded = if exact < 0 {
            exact - half
        } else {
            exact + half
        } / FRACTION;
        i64::try_from(rounded).unwrap_or(if rounded < 0 { i64::MIN } else { i64::MAX })
    }

    /// The text of a number. Whole parts outside `i64` are no times.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (whole, fraction) = match decimal::plain(text) {
            Some(whole) => (whole, 0),
            None => Decimal::of(text)?.split(FRACTION_DIGITS)?,
        };
        Some(Self { whole, fraction })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(text: &str, unit: i64) -> Option<i64> {
        Ticks::parse(text.as_bytes()).map(|t| t.to_ns(unit))
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(
            ns("1679514253626630.2", 1000),
            Some(1_679_514_253_626_630_200)
        );
        assert_eq!(ns("21825.790405273438", 1000), Some(21_825_790));
        assert_eq!(ns("0.0004999999999999999", 1000), Some(0));
        assert_eq!(ns("0.0005", 1000), Some(1));
        assert_eq!(ns("-0.0005", 1000), Some(-1));
        assert_eq!(
            ns("1795965482951221000", 1),
            Some(1_795_965_482_951_221_000)
        );
        assert_eq!(ns("1.5e3", 1000), Some(1_500_000));
        assert_eq!(ns("15E-1", 1000), Some(1_500));
        assert_eq!(ns("1e-300", 1000), Some(0));
        assert_eq!(ns(".75", 1000), Some(750));
        assert_eq!(ns("7.", 1_000_000_000), Some(7_000_000_000));
        assert_eq!(ns("-12", 1000), Some(-12_000));
        assert_eq!(ns("9223372036854775807", 1000), Some(i64::MAX));
    }

    #[test]
    fn times_have_the_syntax_of_all_numbers() {
        for (text, is_number) in decimal::tests::SYNTAX {
            assert_eq!(
                Ticks::parse(text.as_bytes()).is_some(),
                is_number,
                "{text:?}"
            );
        }
        for far in ["1e999", "99999999999999999999"] {
            assert_eq!(ns(far, 1000), None, "{far}");
        }
    }
}
