//! Shares as they are typed.

use std::fmt;
use std::str::FromStr;

/// A share as it was typed, in integers: a limit is compared exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percent(pub u64);

impl Percent {
    /// Digits after the point.
    const DIGITS: usize = 12;
    /// 100 %.
    pub const WHOLE: u64 = 100 * Self::ONE;
    /// 1 %.
    const ONE: u64 = 1_000_000_000_000;
}

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || {
            let digits = Self::DIGITS;
            format!(
                "`{text}` is not a share from 0% to 100%: write 5% or 12.5% ({digits} decimals at most)"
            )
        };
        let trimmed = text.trim();
        let number = trimmed.strip_suffix('%').ok_or_else(|| {
            let number = trimmed.parse::<f64>().is_ok();
            if number {
                format!("`{text}` has no unit: write {trimmed}%?")
            } else {
                fail()
            }
        })?;
        let (whole, fraction) = number
            .trim()
            .split_once('.')
            .unwrap_or((number.trim(), "0"));
        let fraction = match fraction.trim_end_matches('0') {
            "" if !fraction.is_empty() => "0",
            digits => digits,
        };
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if fraction.len() > Self::DIGITS || !digits(whole) || !digits(fraction) {
            return Err(fail());
        }
        let width = Self::DIGITS;
        let whole: u64 = whole.parse().map_err(|_e| fail())?;
        let fraction: u64 = format!("{fraction:0<width$}")
            .parse()
            .map_err(|_e| fail())?;
        let value = whole
            .checked_mul(Self::ONE)
            .and_then(|w| w.checked_add(fraction));
        value
            .filter(|v| *v <= Self::WHOLE)
            .map(Self)
            .ok_or_else(fail)
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = Self::DIGITS;
        let fraction = format!("{:0width$}", self.0 % Self::ONE);
        let digits = fraction.trim_end_matches('0');
        let point = if digits.is_empty() { "" } else { "." };
        write!(f, "{}{point}{digits}", self.0 / Self::ONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_exact() {
        let parse = |text: &str| text.parse::<Percent>().map(|p| p.0);
        assert_eq!(parse("5%"), Ok(5 * Percent::ONE));
        assert_eq!(parse("12.50000000000000%"), Ok(Percent::ONE * 25 / 2));
        assert_eq!(parse("32.8649%"), Ok(32_864_900_000_000));
        assert_eq!(parse("0.000000000001%"), Ok(1));
        assert_eq!(parse("100.0 %"), Ok(Percent::WHOLE));
        for bad in [
            "5",
            "-1%",
            "101%",
            "100.1%",
            "1.2345678901234%",
            "%",
            ".5%",
            "5.%",
            "x%",
            "1.-5%",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert_eq!(parse("5"), Err("`5` has no unit: write 5%?".to_owned()));
        assert_eq!(Percent(32_864_900_000_000).to_string(), "32.8649");
        assert_eq!(Percent(Percent::WHOLE).to_string(), "100");
    }
}
