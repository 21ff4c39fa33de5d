//! Times in tables: numbers in a unit that the heading names, Unix times without one, ISO 8601.
//!
//! Digits are read as they stand: no time passes through a float.

use crate::import::contract::importer::UNIX_FROM;
use crate::import::text::decimal::{Decimal, NoTime, Ns, to_ns};
use crate::model::TIME_LIMIT;

/// Nanoseconds of a second and of a day.
const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Ns,
    Us,
    Ms,
    S,
}

impl Unit {
    const ALL: [Self; 4] = [Self::S, Self::Ms, Self::Us, Self::Ns];

    /// As headings write it: `ms`.
    pub fn named(text: &str) -> Option<Self> {
        Some(match text {
            "ns" => Self::Ns,
            "us" | "µs" | "μs" => Self::Us,
            "ms" => Self::Ms,
            "s" | "sec" => Self::S,
            _ => return None,
        })
    }

    /// In words, for notices.
    pub fn words(self) -> &'static str {
        match self {
            Self::Ns => "nanoseconds",
            Self::Us => "microseconds",
            Self::Ms => "milliseconds",
            Self::S => "seconds",
        }
    }

    /// Nanoseconds are ten to this.
    fn power(self) -> i64 {
        match self {
            Self::Ns => 0,
            Self::Us => 3,
            Self::Ms => 6,
            Self::S => 9,
        }
    }

    /// The unit in which a number is a Unix time of 2001 or later, if there is one.
    fn of_unix(text: &[u8]) -> Option<Self> {
        let is_unix = |unit: &Self| to_ns(text, unit.power()).is_ok_and(|t| t.ns >= UNIX_FROM);
        // The smallest unit is asked first: in a larger one the same number lies far beyond all times.
        Self::ALL.into_iter().rev().find(is_unix)
    }
}

/// How the times of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Numbers, in a unit that the heading names, or taken from another column.
    Number(Unit),
    /// Unix times in a unit that their size tells.
    Unix(Unit),
    /// ISO 8601.
    Iso,
}

/// A time that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time {
    pub ns: i64,
    /// Digits below 1 ns were lost.
    pub rounded: bool,
    /// A date without its time zone.
    pub no_zone: bool,
}

impl Form {
    /// What a cell of a column without a unit is written in; `None` for what is neither a date nor a Unix time.
    pub fn of_cell(cell: &[u8]) -> Option<Self> {
        match iso(cell) {
            Some(_) => Some(Self::Iso),
            None => Unit::of_unix(cell).map(Self::Unix),
        }
    }

    /// The unit of lengths in the same table that name none.
    pub fn unit(self) -> Unit {
        match self {
            Self::Number(unit) | Self::Unix(unit) => unit,
            Self::Iso => Unit::S,
        }
    }

    /// Reads a cell that is not empty.
    ///
    /// # Errors
    /// For what is no time, or lies beyond all times.
    pub fn read(self, cell: &[u8]) -> Result<Time, NoTime> {
        let time = |ns: Ns| Time {
            ns: ns.ns,
            rounded: ns.rounded,
            no_zone: false,
        };
        match self {
            Self::Number(unit) => to_ns(cell, unit.power()).map(time),
            Self::Unix(unit) => match to_ns(cell, unit.power()).map(time) {
                // By its size it is of another unit, or no Unix time.
                Ok(time) if time.ns < UNIX_FROM => Err(NoTime::Far),
                result => result,
            },
            Self::Iso => {
                let time = iso(cell).ok_or(NoTime::NoNumber)?;
                if time.ns > TIME_LIMIT || time.ns < -TIME_LIMIT {
                    return Err(NoTime::Far);
                }
                Ok(time)
            }
        }
    }
}

/// Whether a time counts from 1970.
pub(super) fn is_unix(ns: i64) -> bool {
    ns >= UNIX_FROM
}

/// Reads text front to back.
struct Cursor<'t>(&'t [u8]);

impl Cursor<'_> {
    /// Exactly `n` digits, as a number.
    fn digits(&mut self, n: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(n)?;
        let add = |sum: i64, b: &u8| b.is_ascii_digit().then(|| sum * 10 + i64::from(b - b'0'));
        let value = digits.iter().try_fold(0, add)?;
        self.0 = rest;
        Some(value)
    }

    /// One of some bytes.
    fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        bytes.contains(&first).then(|| {
            self.0 = rest;
            first
        })
    }
}

/// A date and time of day: `2026-01-02T03:04:05.678901234Z`, with a blank in place of the `T`, slashes in place of the
/// hyphens, a zone as `Z`, `+01`, `+0100`, `+01:00` or none (then it is taken for UTC).
fn iso(text: &[u8]) -> Option<Time> {
    let mut at = Cursor(text);
    let year = at.digits(4)?;
    let divider = at.one_of(b"-/")?;
    let month = at.digits(2)?;
    at.one_of(&[divider])?;
    let day = at.digits(2)?;
    at.one_of(b"Tt ")?;
    let hour = at.digits(2)?;
    at.one_of(b":")?;
    let minute = at.digits(2)?;
    let second = match at.one_of(b":") {
        Some(_) => at.digits(2)?,
        None => 0,
    };
    let (fraction, rounded) = match at.one_of(b".,") {
        Some(_) => fraction(&mut at)?,
        None => (0, false),
    };
    while at.one_of(b" ").is_some() {}
    let zone = match at.one_of(b"Zz+-") {
        None => None,
        Some(b'Z' | b'z') => Some(0),
        Some(sign) => {
            let hours = at.digits(2)?;
            let colon = at.one_of(b":").is_some();
            let minutes = match at.0.is_empty() && !colon {
                true => 0,
                false => at.digits(2)?,
            };
            let seconds = hours * 3600 + minutes * 60;
            Some(if sign == b'-' { -seconds } else { seconds })
        }
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    };
    // A leap second is the first of the next minute.
    let sound = (1..=12).contains(&month)
        && (1..=days).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60
        && at.0.is_empty();
    if !sound {
        return None;
    }
    let seconds = hour * 3600 + minute * 60 + second - zone.unwrap_or(0);
    let days = days_from_1970(year, month, day);
    // Years beyond the range of 64 bits are far beyond that of a trace, too.
    let ns = days
        .saturating_mul(DAY)
        .saturating_add(seconds * SECOND + fraction);
    Some(Time {
        ns,
        rounded,
        no_zone: zone.is_none(),
    })
}

/// Nanoseconds of the digits behind the point, halves rounded up; whether digits below 1 ns were lost.
fn fraction(at: &mut Cursor<'_>) -> Option<(i64, bool)> {
    let len = at.0.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = at.0.split_at(len);
    if digits.is_empty() {
        return None;
    }
    at.0 = rest;
    Decimal::of_fraction(digits).times_ten_to(9)
}

/// Days from 1970-01-01 in the calendar of today, also before it was introduced.
fn days_from_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March have the leap day at their end.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days_of_months = (153 * month + 2) / 5;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + days_of_months + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_digit_by_digit() {
        let zoned = |ns| {
            Some(Time {
                ns,
                rounded: false,
                no_zone: false,
            })
        };
        let cases = [
            ("1970-01-01T00:00:00Z", zoned(0)),
            ("2001-09-09T01:46:40Z", zoned(UNIX_FROM)),
            // From Python's datetime.
            (
                "2026-03-01T12:34:56.123456789Z",
                zoned(1_772_368_496_123_456_789),
            ),
            (
                "2024-02-29 23:59:59,5+00:00",
                zoned(1_709_251_199_500_000_000),
            ),
            (
                "2024/02/29 23:59:59.5 +0200",
                zoned(1_709_243_999_500_000_000),
            ),
            ("2024-02-29T23:59:59.5-01", zoned(1_709_254_799_500_000_000)),
            ("2024-02-29T23:59Z", zoned(1_709_251_140_000_000_000)),
            ("2016-12-31T23:59:60Z", zoned(1_483_228_800_000_000_000)),
            ("1969-12-31T23:59:59Z", zoned(-SECOND)),
            ("2023-02-29T00:00:00Z", None),
            ("1900-02-29T00:00:00Z", None),
            ("2024-13-01T00:00:00Z", None),
            ("2024-01-00T00:00:00Z", None),
            ("2024-01-01T24:00:00Z", None),
            ("2024-01-01T00:00:00.Z", None),
            ("2024-01-01T00:00:00ZZ", None),
            ("2024-01-01T00:00:00+1", None),
            ("2024-01-01T00:00:00+01:", None),
            ("2024-01/01T00:00:00Z", None),
            ("2024-01-01", None),
            ("2024-01-01T", None),
            ("24-01-01T00:00:00Z", None),
            ("", None),
        ];
        for (text, time) in cases {
            assert_eq!(iso(text.as_bytes()), time, "{text}");
        }
        let far = Form::Iso.read(b"9999-12-31T23:59:59Z");
        assert_eq!(far, Err(NoTime::Far));
        let rounded = iso(b"1970-01-01T00:00:00.1234567895");
        let expected = Time {
            ns: 123_456_790,
            rounded: true,
            no_zone: true,
        };
        assert_eq!(rounded, Some(expected));
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut next = days_from_1970(1599, 12, 31) + 1;
        for year in 1600..2401_i64 {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            for (month, days) in (1..).zip([
                31,
                if leap { 29 } else { 28 },
                31,
                30,
                31,
                30,
                31,
                31,
                30,
                31,
                30,
                31,
            ]) {
                for day in 1..=days {
                    assert_eq!(
                        days_from_1970(year, month, day),
                        next,
                        "{year}-{month}-{day}"
                    );
                    next += 1;
                }
            }
        }
        assert_eq!(days_from_1970(1970, 1, 1), 0);
    }

    #[test]
    fn the_size_of_a_unix_time_tells_its_unit() {
        for (text, form) in [
            ("1772368496.123456789", Some(Form::Unix(Unit::S))),
            ("1772368496", Some(Form::Unix(Unit::S))),
            ("1772368496123", Some(Form::Unix(Unit::Ms))),
            ("1772368496123456", Some(Form::Unix(Unit::Us))),
            ("1.772368496123456e15", Some(Form::Unix(Unit::Us))),
            ("1772368496123456789", Some(Form::Unix(Unit::Ns))),
            ("2026-03-01T12:34:56Z", Some(Form::Iso)),
            ("999999999", None),
            ("17723684961", None),
            ("12.5", None),
            ("", None),
            ("now", None),
        ] {
            assert_eq!(Form::of_cell(text.as_bytes()), form, "{text}");
        }
        let ms = Form::Unix(Unit::Ms);
        assert_eq!(
            ms.read(b"1772368496123.5").map(|t| t.ns),
            Ok(1_772_368_496_123_500_000)
        );
        assert_eq!(ms.read(b"1772368496"), Err(NoTime::Far));
        assert_eq!(ms.read(b"1772368496123456"), Err(NoTime::Far));
        assert_eq!(ms.read(b"x"), Err(NoTime::NoNumber));
    }

    #[test]
    fn lengths_are_in_the_unit_of_the_heading() {
        let read = |unit, text: &str| {
            Form::Number(unit)
                .read(text.as_bytes())
                .map(|t| (t.ns, t.rounded))
        };
        assert_eq!(read(Unit::S, "1.5"), Ok((1_500_000_000, false)));
        assert_eq!(read(Unit::Ms, "0.000001"), Ok((1, false)));
        assert_eq!(read(Unit::Us, "0.0005"), Ok((1, true)));
        assert_eq!(read(Unit::Ns, "-7"), Ok((-7, false)));
    }

    #[test]
    fn times_have_the_syntax_of_all_numbers() {
        for (text, is_number) in crate::import::text::decimal::tests::SYNTAX {
            let time = Form::Number(Unit::Us).read(text.as_bytes());
            assert_eq!(time.is_ok(), is_number, "{text:?}");
        }
    }
}
