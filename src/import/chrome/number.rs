//! Numbers as tracers write them: decimal text to integer nanoseconds, identifiers, counter values.
//!
//! Times never pass through floating point: the digits are read as they stand.

/// Times beyond this are no times: about 73 years on either side of zero, as in the model.
const MAX_NS: i64 = i64::MAX / 4;

/// Exponents beyond this make every value zero or too large.
const MAX_EXPONENT: i64 = 400;

/// Decimal text of microseconds, with or without fraction and exponent, in whole nanoseconds, halves rounded away
/// from zero. `None` for anything that is not a number, or not a time that fits.
pub(super) fn us_to_ns(text: &[u8]) -> Option<i64> {
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
    if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    // Digits of nanoseconds before the decimal point; µs have three fewer.
    let count = i64::try_from(whole.len()).ok()? + exponent + 3;
    let digit = |i: i64| -> u8 {
        usize::try_from(i)
            .ok()
            .and_then(|i| whole.iter().chain(fraction).nth(i))
            .map_or(0, |b| b - b'0')
    };
    let significant = whole
        .iter()
        .chain(fraction)
        .position(|&b| b != b'0')
        .map_or(i64::MAX, |i| i64::try_from(i).unwrap_or(i64::MAX));
    if significant == i64::MAX || count < 0 {
        return Some(0);
    }
    if count - significant > 19 {
        return None;
    }
    let mut value = 0_i64;
    for i in significant.min(count)..count {
        value = value.checked_mul(10)?.checked_add(i64::from(digit(i)))?;
    }
    if digit(count) >= 5 {
        value = value.checked_add(1)?;
    }
    (value <= MAX_NS).then_some(if negative { -value } else { value })
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
pub(super) fn eight_digits(bytes: [u8; 8]) -> Option<u64> {
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
pub(super) fn integer(text: &[u8]) -> Option<i64> {
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

/// A sample of a counter: any finite decimal number.
pub(super) fn sample(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text.trim_ascii()).ok()?;
    text.parse::<f64>().ok().filter(|v| v.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_become_nanoseconds_digit_by_digit() {
        let cases: [(&str, Option<i64>); 26] = [
            ("0", Some(0)),
            ("1614800519473220", Some(1_614_800_519_473_220_000)),
            ("1712195495519689.047", Some(1_712_195_495_519_689_047)),
            ("5.74", Some(5_740)),
            ("9.7149999999999999", Some(9_715)),
            ("0.0005", Some(1)),
            ("0.00049999999999999999999999999999999999999999999", Some(0)),
            ("-0.0005", Some(-1)),
            ("-12.5", Some(-12_500)),
            ("1.69e+15", Some(1_690_000_000_000_000_000)),
            ("1.69E15", Some(1_690_000_000_000_000_000)),
            ("25e-4", Some(3)),
            ("24e-4", Some(2)),
            ("1e-300", Some(0)),
            (" 7 ", Some(7_000)),
            (".5", Some(500)),
            ("5.", Some(5_000)),
            ("0000000000000000000000000000000000012", Some(12_000)),
            ("0.0000e99999999999", Some(0)),
            ("1e99999999999", None),
            ("9300000000000000", None),
            ("100a", None),
            ("", None),
            ("-", None),
            ("nan", None),
            ("1.2.3", None),
        ];
        for (text, ns) in cases {
            assert_eq!(us_to_ns(text.as_bytes()), ns, "{text}");
        }
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
    fn samples_are_finite_numbers() {
        assert_eq!(sample(b".75"), Some(0.75));
        assert_eq!(sample(b"246."), Some(246.0));
        assert_eq!(sample(b"+10.5"), Some(10.5));
        for bad in ["1.5e", "2e+", ".", "+", "-", "nan", "inf", ""] {
            assert_eq!(sample(bad.as_bytes()), None, "{bad}");
        }
    }
}
