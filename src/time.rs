//! Time: integer nanoseconds and half-open ranges, their text forms, and nothing else.
//!
//! Every time in Stallscope is an `i64` count of nanoseconds. Inside a [`crate::model::Trace`] it is relative to
//! the trace's own zero (see [`crate::model::Trace::unix_origin`]). No floating point touches a time on its way
//! from a file to a figure.

use std::fmt;

/// A half-open interval `[start, end)` in nanoseconds. Touching ranges do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct TimeRange {
    /// First nanosecond inside.
    pub start: i64,
    /// First nanosecond outside.
    pub end: i64,
}

impl TimeRange {
    /// `[start, end)`; an end before the start makes an empty range at `start`.
    #[must_use]
    pub fn new(start: i64, end: i64) -> Self {
        Self {
            start,
            end: end.max(start),
        }
    }

    /// Length in nanoseconds, saturating.
    #[must_use]
    pub fn len(self) -> i64 {
        self.end.saturating_sub(self.start)
    }

    /// True where no nanosecond lies inside.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// True when `start <= t < end`.
    #[must_use]
    pub fn contains(self, t: i64) -> bool {
        self.start <= t && t < self.end
    }

    /// True when `inner` lies inside, equality allowed.
    #[must_use]
    pub fn covers(self, inner: Self) -> bool {
        self.start <= inner.start && inner.end <= self.end
    }

    /// True when the two share at least one nanosecond.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.start.max(other.start) < self.end.min(other.end)
    }

    /// True when it has some time in a window; what has no length, when it lies in it.
    #[must_use]
    pub fn touches(self, window: Self) -> bool {
        self.overlaps(window) || self.is_empty() && window.contains(self.start)
    }

    /// The common part; empty (at the later start) where there is none.
    #[must_use]
    pub fn clip(self, other: Self) -> Self {
        Self::new(self.start.max(other.start), self.end.min(other.end))
    }
}

impl fmt::Display for TimeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} – {} ({})",
            format_ns(self.start),
            format_ns(self.end),
            format_ns(self.len())
        )
    }
}

/// A unit of displayed time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    /// Nanoseconds in one of this unit.
    #[must_use]
    pub fn ns(self) -> i64 {
        match self {
            Self::Ns => 1,
            Self::Us => 1_000,
            Self::Ms => 1_000_000,
            Self::S => 1_000_000_000,
        }
    }

    /// The symbol: `ns`, `µs`, `ms`, `s`.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::Us => "µs",
            Self::Ms => "ms",
            Self::S => "s",
        }
    }

    /// The largest unit in which a length of `ns` is at least one.
    #[must_use]
    pub fn for_length(ns: i64) -> Self {
        match ns.unsigned_abs() {
            0..1_000 => Self::Ns,
            1_000..1_000_000 => Self::Us,
            1_000_000..1_000_000_000 => Self::Ms,
            _ => Self::S,
        }
    }

    /// `ns` in this unit with `decimals` digits after the point and thin grouping of thousands, without the symbol.
    /// Rounded half away from zero in integers, so that equal inputs print alike everywhere.
    #[must_use]
    pub fn format(self, ns: i64, decimals: u32) -> String {
        let scale = i128::from(self.ns());
        let ten = 10_i128.pow(decimals);
        let scaled = i128::from(ns) * ten;
        let rounded = (scaled.abs() * 2 + scale) / (2 * scale);
        let sign = if ns < 0 && rounded != 0 { "-" } else { "" };
        let whole = group_digits(rounded / ten);
        if decimals == 0 {
            format!("{sign}{whole}")
        } else {
            let width = decimals as usize;
            format!("{sign}{whole}.{:0width$}", rounded % ten)
        }
    }
}

fn group_digits(value: i128) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A count with grouped thousands: `1,203,441`.
#[must_use]
pub fn format_count(n: u64) -> String {
    group_digits(i128::from(n))
}

/// Bytes in decimal units: `2.7 MB`.
#[must_use]
pub fn format_bytes(n: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    for (name, size) in UNITS {
        if n >= size {
            let tenths = (u128::from(n) * 20 + u128::from(size)) / (2 * u128::from(size));
            return format!(
                "{}.{} {name}",
                format_count((tenths / 10) as u64),
                tenths % 10
            );
        }
    }
    format!("{n} bytes")
}

/// A length in its natural unit with three decimals at most: `1,211.182 ms` stays in milliseconds below 10 s.
#[must_use]
pub fn format_ns(ns: i64) -> String {
    let unit = match ns.unsigned_abs() {
        0..1_000 => Unit::Ns,
        1_000..1_000_000 => Unit::Us,
        1_000_000..10_000_000_000 => Unit::Ms,
        _ => Unit::S,
    };
    let decimals = if unit == Unit::Ns { 0 } else { 3 };
    format!("{} {}", unit.format(ns, decimals), unit.symbol())
}

/// A length in three significant digits, for sentences: `602 ms`, `15.1 ms`, `1.23 s`.
#[must_use]
pub fn about_ns(ns: i64) -> String {
    let size = i128::from(ns).abs();
    // Rounded to three digits, half up.
    let mut scale = 1_i128;
    while size / scale >= 1_000 {
        scale *= 10;
    }
    let mut rounded = (size + scale / 2) / scale * scale;
    let unit = match rounded {
        0..1_000 => Unit::Ns,
        1_000..1_000_000 => Unit::Us,
        1_000_000..1_000_000_000 => Unit::Ms,
        _ => Unit::S,
    };
    let one = i128::from(unit.ns());
    let whole = rounded / one;
    rounded %= one;
    let mut text = group_digits(whole);
    let fraction = format!("{:09}", rounded * (1_000_000_000 / one));
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        text.push('.');
        text.push_str(fraction);
    }
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{text} {}", unit.symbol())
}

/// Why a text is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a time: write a number and a unit, as in 1.25s, 205ms, 30us or 400ns")]
pub struct ParseTimeError {
    text: String,
}

/// Reads `1.25s`, `205ms`, `30us`, `30µs`, `400ns` or a bare count of nanoseconds.
///
/// # Errors
/// Any other text, and values outside the range of `i64` nanoseconds.
pub fn parse_ns(text: &str) -> Result<i64, ParseTimeError> {
    let fail = || ParseTimeError {
        text: text.to_owned(),
    };
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_')))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let unit = match unit.trim() {
        "" | "ns" => Unit::Ns,
        "us" | "µs" | "μs" => Unit::Us,
        "ms" => Unit::Ms,
        "s" => Unit::S,
        _ => return Err(fail()),
    };
    let number = number.replace('_', "");
    let negative = number.starts_with('-');
    let number = number.strip_prefix(['-', '+']).unwrap_or(&number);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
        return Err(fail());
    }
    let scale = i128::from(unit.ns());
    let whole: i128 = match whole {
        "" => 0,
        w => w.parse().map_err(|_e| fail())?,
    };
    let mut value = whole.checked_mul(scale).ok_or_else(fail)?;
    let mut place = scale;
    for digit in fraction.bytes() {
        place /= 10;
        let part = i128::from(digit.wrapping_sub(b'0')) * place;
        value = value.checked_add(part).ok_or_else(fail)?;
    }
    if negative {
        value = -value;
    }
    i64::try_from(value).map_err(|_e| fail())
}

/// Reads `A..B`, each side a time of [`parse_ns`]; an empty side takes that side of `whole`.
///
/// # Errors
/// A side that is no time, a missing `..`, and an end that is not after the start.
pub fn parse_range(text: &str, whole: TimeRange) -> Result<TimeRange, ParseTimeError> {
    let fail = || ParseTimeError {
        text: text.to_owned(),
    };
    let (a, b) = text.split_once("..").ok_or_else(fail)?;
    let side = |s: &str, default: i64| match s.trim() {
        "" => Ok(default),
        s => parse_ns(s),
    };
    let (start, end) = (side(a, whole.start)?, side(b, whole.end)?);
    if end <= start {
        return Err(fail());
    }
    Ok(TimeRange { start, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_half_open() {
        let a = TimeRange::new(0, 10);
        assert!(!a.overlaps(TimeRange::new(10, 20)));
        assert!(a.contains(0) && !a.contains(10));
        assert_eq!(a.clip(TimeRange::new(4, 40)), TimeRange::new(4, 10));
        assert!(a.clip(TimeRange::new(20, 30)).is_empty());
        assert_eq!(TimeRange::new(5, 3).len(), 0);
    }

    #[test]
    fn lengths_print_in_their_unit() {
        assert_eq!(format_ns(0), "0 ns");
        assert_eq!(format_ns(999), "999 ns");
        assert_eq!(format_ns(1_500), "1.500 µs");
        assert_eq!(format_ns(1_211_182_252), "1,211.182 ms");
        assert_eq!(format_ns(-619_045_006), "-619.045 ms");
        assert_eq!(format_ns(12_345_678_901), "12.346 s");
        assert_eq!(Unit::Ms.format(-400, 3), "0.000");
        assert_eq!(Unit::Ms.format(1_234_567_890_000, 1), "1,234,567.9");
    }

    #[test]
    fn times_parse_exactly() {
        assert_eq!(parse_ns("1.25s"), Ok(1_250_000_000));
        assert_eq!(parse_ns("0.000000001s"), Ok(1));
        assert_eq!(parse_ns("205ms"), Ok(205_000_000));
        assert_eq!(parse_ns("30 µs"), Ok(30_000));
        assert_eq!(parse_ns("-7"), Ok(-7));
        for bad in [
            "",
            "ms",
            "1.2.3s",
            "5 parsecs",
            "99999999999999999999s",
            // Its whole seconds fit into 128 bits of nanoseconds, the fraction does not.
            "170141183460469231731687303715.9s",
            "--4",
        ] {
            assert!(parse_ns(bad).is_err(), "{bad}");
        }
        let whole = TimeRange::new(0, 100);
        assert_eq!(parse_range("..50", whole), Ok(TimeRange::new(0, 50)));
        assert_eq!(
            parse_range("1us..2us", whole),
            Ok(TimeRange::new(1000, 2000))
        );
        assert!(parse_range("5..5", whole).is_err());
    }
}
