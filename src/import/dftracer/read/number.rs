//! Decimal texts to integers and ticks, without floating point.

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

const FRACTION_DIGITS: usize = 12;
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

    /// The text of a JSON number. Whole parts outside `i64` are no times.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        if let Some(whole) = parse_int(text) {
            return Some(Self { whole, fraction: 0 });
        }
        let (negative, digits) = match text.split_first()? {
            (b'-', rest) => (true, rest),
            (b'+', rest) => (false, rest),
            _ => (false, text),
        };
        let (mantissa, exponent) = match digits.iter().position(|b| matches!(b, b'e' | b'E')) {
            Some(at) => (&digits[..at], parse_exponent(&digits[at + 1..])?),
            None => (digits, 0),
        };
        let dot = mantissa.iter().position(|&b| b == b'.');
        let (whole, fraction) = match dot {
            Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
            None => (mantissa, &mantissa[..0]),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        // The digit that stands for 10⁰ is digit `point - 1` of whole and fraction together.
        let point = i64::try_from(whole.len()).ok()? + exponent;
        let mut value: i128 = 0;
        let last = point + FRACTION_DIGITS as i64;
        for (i, &b) in whole.iter().chain(fraction).enumerate() {
            let digit = b.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            if (i as i64) < last {
                value = value.checked_mul(10)?.checked_add(i128::from(digit))?;
            }
        }
        let given = i64::try_from(whole.len() + fraction.len()).ok()?;
        for _ in given..last {
            value = value.checked_mul(10)?;
        }
        if last <= 0 {
            value = 0;
        }
        if negative {
            value = -value;
        }
        Some(Self {
            whole: i64::try_from(value / FRACTION).ok()?,
            fraction: (value % FRACTION) as i64,
        })
    }
}

/// An integer, also where it is written as a fraction: `1.0`, `5e3`.
#[must_use]
pub(crate) fn parse_whole(text: &[u8]) -> Option<i64> {
    parse_int(text).or_else(|| {
        let ticks = Ticks::parse(text)?;
        (ticks.fraction == 0).then_some(ticks.whole)
    })
}

fn parse_exponent(text: &[u8]) -> Option<i64> {
    let value = parse_int(text.strip_prefix(b"+").unwrap_or(text))?;
    (-400..=400).contains(&value).then_some(value)
}

/// An integer text in the range of `i64`.
#[must_use]
pub(crate) fn parse_int(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, text),
    };
    // 18 digits cannot overflow; longer ones are checked.
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let mut value: u64 = 0;
    for &b in digits {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    let value = i64::try_from(value).ok()?;
    Some(if negative { -value } else { value })
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
    fn integers_may_be_written_as_fractions() {
        let whole = |text: &str| parse_whole(text.as_bytes());
        for text in ["12", "12.0", "12.", "1.2e1", "1200e-2"] {
            assert_eq!(whole(text), Some(12), "{text}");
        }
        for text in ["12.5", "", "a", "1e99", "null"] {
            assert_eq!(whole(text), None, "{text}");
        }
        assert_eq!(whole("-0.0"), Some(0));
    }

    #[test]
    fn other_texts_are_no_times() {
        for bad in [
            "",
            "-",
            ".",
            "1.2.3",
            "100a",
            "invalid",
            "NaN",
            "inf",
            "1e",
            "1e999",
            "99999999999999999999",
            "0x10",
        ] {
            assert_eq!(ns(bad, 1000), None, "{bad}");
        }
    }
}
