//! Numbers as tracers write them: decimal text to integer nanoseconds, identifiers, counter values.
//!
//! Times never pass through floating point: the digits are read as they stand.

use crate::model::TIME_LIMIT;

/// Exponents beyond this make every value zero or too large.
const MAX_EXPONENT: i64 = 400;

/// A time in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ns {
    /// Halves are rounded away from zero.
    pub ns: i64,
    /// Digits below 1 ns were lost.
    pub rounded: bool,
}

/// Why a text is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTime {
    /// It is no number.
    NoNumber,
    /// It is a number beyond all times.
    Far,
}

/// Decimal text of microseconds, with or without fraction and exponent.
///
/// # Errors
/// For anything that is not a number, or not a time that fits.
pub(crate) fn us_to_ns(text: &[u8]) -> Result<Ns, NoTime> {
    to_ns(text, 3)
}

/// The same in a unit of ten to `power` nanoseconds.
///
/// # Errors
/// As [`us_to_ns`].
pub(crate) fn to_ns(text: &[u8], power: i64) -> Result<Ns, NoTime> {
    let number = Decimal::of(text).ok_or(NoTime::NoNumber)?;
    let (value, rounded) = number.times_ten_to(power).ok_or(NoTime::Far)?;
    if value > TIME_LIMIT {
        return Err(NoTime::Far);
    }
    let ns = if number.negative { -value } else { value };
    Ok(Ns { ns, rounded })
}

/// The digits of a decimal number as they stand.
pub(crate) struct Decimal<'t> {
    negative: bool,
    whole: &'t [u8],
    fraction: &'t [u8],
    exponent: i64,
}

impl<'t> Decimal<'t> {
    /// The number that a text is: a sign, digits with a point among them, an exponent, blanks around it.
    pub fn of(text: &'t [u8]) -> Option<Self> {
        let text = text.trim_ascii();
        let (negative, digits) = match text.first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let mantissa_len = digits
            .iter()
            .position(|&b| b == b'e' || b == b'E')
            .unwrap_or(digits.len());
        let exponent = match digits.get(mantissa_len + 1..) {
            None => 0,
            Some(e) => exponent(e)?,
        };
        let mantissa = &digits[..mantissa_len];
        let whole_len = mantissa
            .iter()
            .position(|&b| b == b'.')
            .unwrap_or(mantissa_len);
        let fraction = mantissa.get(whole_len + 1..).unwrap_or_default();
        let whole = &mantissa[..whole_len];
        let is_digits = |d: &[u8]| d.iter().all(u8::is_ascii_digit);
        let is_number = whole.len() + fraction.len() > 0 && is_digits(whole) && is_digits(fraction);
        is_number.then_some(Self {
            negative,
            whole,
            fraction,
            exponent,
        })
    }

    /// The digits behind a decimal point.
    pub fn of_fraction(fraction: &'t [u8]) -> Self {
        Self {
            negative: false,
            whole: b"",
            fraction,
            exponent: 0,
        }
    }

    /// Where the decimal point stands: behind so many digits, counted from the first one on.
    fn point(&self) -> Option<i64> {
        Some(i64::try_from(self.whole.len()).ok()? + self.exponent)
    }

    /// The digit at a place; 0 where none is written.
    fn digit(&self, place: i64) -> i64 {
        let digit = usize::try_from(place).ok().and_then(|i| {
            let behind = || self.fraction.get(i - self.whole.len());
            self.whole.get(i).or_else(behind)
        });
        digit.map_or(0, |b| i64::from(b - b'0'))
    }

    /// The first digit that is not 0; `None` for zero.
    fn significant(&self) -> Option<i64> {
        let mut digits = self.whole.iter().chain(self.fraction);
        i64::try_from(digits.position(|&b| b != b'0')?).ok()
    }

    /// The number that the digits from one place up to another one make; `None` where it is too large.
    fn part(&self, from: i64, to: i64) -> Option<i64> {
        let Some(significant) = self.significant() else {
            return Some(0);
        };
        let from = from.max(significant);
        if to - from > 19 {
            return None;
        }
        (from..to).try_fold(0_i64, |value, place| {
            value.checked_mul(10)?.checked_add(self.digit(place))
        })
    }

    /// The number without its sign times ten to `power`, halves rounded up, and whether anything was lost by that.
    /// `None` where it is too large.
    pub fn times_ten_to(&self, power: i64) -> Option<(i64, bool)> {
        let end = self.point()? + power;
        let value = self.part(0, end)?;
        let rounded = value.checked_add(i64::from(self.digit(end) >= 5))?;
        let lost = usize::try_from(end).unwrap_or(0);
        let mut lost = self.whole.iter().chain(self.fraction).skip(lost);
        Some((rounded, lost.any(|&b| b != b'0')))
    }

    /// The whole part and so many digits behind it as another whole number, both with the sign; the rest is cut off.
    /// `None` where the whole part is too large.
    pub fn split(&self, digits: i64) -> Option<(i64, i64)> {
        let point = self.point()?;
        let (whole, fraction) = (self.part(0, point)?, self.part(point, point + digits)?);
        Some(match self.negative {
            true => (-whole, -fraction),
            false => (whole, fraction),
        })
    }
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0_i64, |v, b| {
        (v * 10 + i64::from(b - b'0')).min(MAX_EXPONENT)
    });
    Some(if negative { -value } else { value })
}

/// The value of eight decimal digits, first one first; `None` where a byte is no digit.
#[inline]
pub(crate) fn eight_digits(bytes: [u8; 8]) -> Option<u64> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let x = u64::from_le_bytes(bytes);
    let high = x & (0xf0 * ONES);
    let carried = x.wrapping_add(0x06 * ONES) & (0xf0 * ONES);
    if high != 0x30 * ONES || carried != 0x30 * ONES {
        return None;
    }
    // Pairs, then fours, then all eight; the first digit lies in the lowest byte.
    let x = x & (0x0f * ONES);
    let x = (x * 10 + (x >> 8)) & 0x00ff_00ff_00ff_00ff;
    let x = (x * 100 + (x >> 16)) & 0x0000_ffff_0000_ffff;
    Some((x & 0xffff) * 10_000 + (x >> 32))
}

/// A whole number: decimal, decimal with an empty fraction (`7.0`), or hexadecimal (`0x1f`).
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (digits, radix) = match digits {
        [b'0', b'x' | b'X', rest @ ..] => (rest, 16),
        _ => (digits, 10),
    };
    let (digits, fraction) = match digits.iter().position(|&b| b == b'.') {
        Some(dot) if radix == 10 => (&digits[..dot], &digits[dot + 1..]),
        _ => (digits, &[][..]),
    };
    if digits.is_empty() || !fraction.iter().all(|&b| b == b'0') {
        return None;
    }
    let mut value = 0_i64;
    for &b in digits {
        let d = char::from(b).to_digit(radix)?;
        value = value
            .checked_mul(i64::from(radix))?
            .checked_add(i64::from(d))?;
    }
    Some(if negative { -value } else { value })
}

/// A whole number in any decimal notation: `1e2` is 100.
pub(crate) fn whole(text: &[u8]) -> Option<i64> {
    plain(text).or_else(|| {
        let number = Decimal::of(text)?;
        match number.times_ten_to(0)? {
            (_, true) => None,
            (value, false) => Some(if number.negative { -value } else { value }),
        }
    })
}

/// A whole number of nothing but digits, as most are.
#[inline]
pub(crate) fn plain(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, text),
    };
    // 19 digits fit into the unsigned number.
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

/// A sample of a counter: any finite decimal number.
pub(crate) fn sample(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text.trim_ascii()).ok()?;
    text.parse::<f64>().ok().filter(|v| v.is_finite())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Texts, and whether each one is a number. All importers are held to it.
    pub(crate) const SYNTAX: [(&str, bool); 32] = [
        ("0", true),
        ("-0", true),
        ("12", true),
        ("+12", true),
        ("-12", true),
        ("007", true),
        ("1.5", true),
        ("-1.5", true),
        (".5", true),
        ("5.", true),
        ("1e3", true),
        ("1.5E+3", true),
        ("15e-1", true),
        ("0e999", true),
        ("1e-999", true),
        (" 7 ", true),
        ("", false),
        (" ", false),
        ("-", false),
        (".", false),
        ("e3", false),
        ("1e", false),
        ("1.5e", false),
        ("2e+", false),
        ("1e+-3", false),
        ("1.2.3", false),
        ("1,5", false),
        ("1 2", false),
        ("100a", false),
        ("0x10", false),
        ("nan", false),
        ("inf", false),
    ];

    #[test]
    fn decimal_numbers_have_one_syntax() {
        for (text, is_number) in SYNTAX {
            let bytes = text.as_bytes();
            assert_eq!(us_to_ns(bytes).is_ok(), is_number, "{text:?}");
            assert_eq!(sample(bytes).is_some(), is_number, "{text:?}");
            let has_fraction = ["1.5", "-1.5", ".5", "15e-1", "1e-999"].contains(&text);
            assert_eq!(
                whole(bytes).is_some(),
                is_number && !has_fraction,
                "{text:?}"
            );
        }
    }

    #[test]
    fn numbers_are_split_at_their_point() {
        let split = |text: &str| Decimal::of(text.as_bytes()).and_then(|n| n.split(3));
        for (text, parts) in [
            ("12.3456", Some((12, 345))),
            ("-12.3", Some((-12, -300))),
            ("5e-3", Some((0, 5))),
            ("5e-4", Some((0, 0))),
            ("1.5e3", Some((1500, 0))),
            ("0e400", Some((0, 0))),
            ("9223372036854775807.9", Some((i64::MAX, 900))),
            ("9223372036854775808", None),
        ] {
            assert_eq!(split(text), parts, "{text}");
        }
    }

    #[test]
    fn microseconds_become_nanoseconds_digit_by_digit() {
        let exact = |ns| Ok(Ns { ns, rounded: false });
        let rounded = |ns| Ok(Ns { ns, rounded: true });
        let (far, none) = (Err(NoTime::Far), Err(NoTime::NoNumber));
        let cases = [
            ("0", exact(0)),
            ("-0", exact(0)),
            ("1614800519473220", exact(1_614_800_519_473_220_000)),
            ("1712195495519689.047", exact(1_712_195_495_519_689_047)),
            ("5.74", exact(5_740)),
            ("5.7400000", exact(5_740)),
            ("9.7149999999999999", rounded(9_715)),
            ("0.0004", rounded(0)),
            ("0.0005", rounded(1)),
            (
                "0.00049999999999999999999999999999999999999999999",
                rounded(0),
            ),
            ("-0.0004", rounded(0)),
            ("-0.0005", rounded(-1)),
            ("-12.5", exact(-12_500)),
            ("1.69e+15", exact(1_690_000_000_000_000_000)),
            ("1.69E15", exact(1_690_000_000_000_000_000)),
            ("25e-4", rounded(3)),
            ("24e-4", rounded(2)),
            ("240e-5", rounded(2)),
            ("2000e-6", exact(2)),
            ("1e-300", rounded(0)),
            (" 7 ", exact(7_000)),
            (".5", exact(500)),
            ("5.", exact(5_000)),
            ("0000000000000000000000000000000000012", exact(12_000)),
            ("0.0000e99999999999", exact(0)),
            ("1e99999999999", far),
            ("1e400", far),
            ("9300000000000000", far),
            ("99999999999999999999999", far),
            ("100a", none),
            ("1.5e", none),
            ("", none),
            ("-", none),
            ("nan", none),
            ("inf", none),
            ("1.2.3", none),
        ];
        for (text, time) in cases {
            assert_eq!(us_to_ns(text.as_bytes()), time, "{text}");
        }
    }

    #[test]
    fn units_are_powers_of_ten_nanoseconds() {
        let ns = |text: &str, power| to_ns(text.as_bytes(), power).map(|n| (n.ns, n.rounded));
        assert_eq!(
            ns("1790000000.123456789", 9),
            Ok((1_790_000_000_123_456_789, false))
        );
        assert_eq!(
            ns("1790000000.1234567895", 9),
            Ok((1_790_000_000_123_456_790, true))
        );
        assert_eq!(ns("0.25", 6), Ok((250_000, false)));
        assert_eq!(ns("-7", 0), Ok((-7, false)));
        assert_eq!(ns("0.5", 0), Ok((1, true)));
        assert_eq!(ns("2400000000", 9), Err(NoTime::Far));
    }

    #[test]
    fn eight_digits_are_one_number() {
        assert_eq!(eight_digits(*b"12345678"), Some(12_345_678));
        assert_eq!(eight_digits(*b"00000000"), Some(0));
        assert_eq!(eight_digits(*b"99999999"), Some(99_999_999));
        for i in 0..8 {
            for bad in [b'/', b':', b'.', 0, 0xb5, b' ', 0xff] {
                let mut bytes = *b"55555555";
                bytes[i] = bad;
                assert_eq!(eight_digits(bytes), None, "{bad} at {i}");
            }
        }
    }

    #[test]
    fn identifiers_are_equal_by_value() {
        assert_eq!(integer(b"123"), Some(123));
        assert_eq!(integer(b"123.0"), Some(123));
        assert_eq!(integer(b"0x7B"), Some(123));
        assert_eq!(integer(b"-1"), Some(-1));
        assert_eq!(integer(b"18446744073709551615"), None);
        assert_eq!(integer(b"1.5"), None);
        assert_eq!(integer(b"stream 7"), None);
        assert_eq!(integer(b"0x"), None);
    }

    #[test]
    fn whole_numbers_may_have_an_exponent() {
        for (text, number) in [
            ("1e2", Some(100)),
            ("1.5E+1", Some(15)),
            ("-20e-1", Some(-2)),
            ("0e400", Some(0)),
            ("5e-4", None),
            ("1.5", None),
            ("1e400", None),
            ("1e19", None),
            ("stream 7", None),
        ] {
            assert_eq!(whole(text.as_bytes()), number, "{text}");
        }
    }

    #[test]
    fn samples_are_finite_numbers() {
        assert_eq!(sample(b".75"), Some(0.75));
        assert_eq!(sample(b"246."), Some(246.0));
        assert_eq!(sample(b"+10.5"), Some(10.5));
        for bad in ["1.5e", "2e+", ".", "+", "-", "nan", "inf", ""] {
            assert_eq!(sample(bad.as_bytes()), None, "{bad}");
        }
    }
}
