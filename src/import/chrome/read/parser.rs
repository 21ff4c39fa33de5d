//! The parts of an object: its keys, scalars, times and values that nobody needs. Knows syntax, not meaning.

use super::chunk::Chunk;
use super::scan::{Fail, Scan, byte, is_json_token, repaired_end, skip_object, skip_value};
use super::scan::{string_end, token_end};
use crate::import::chrome::tally::Odd;
use crate::import::text::decimal::{self, NoTime};
use crate::import::text::json::skip_ws;

/// A scalar as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scalar<'w> {
    /// Absent or null.
    #[default]
    Missing,
    /// A whole number, however written.
    Int(i64),
    /// Anything else: the bytes between the quotes, or the token.
    Text(&'w [u8]),
}

/// A time as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Time {
    /// Absent or null.
    #[default]
    Missing,
    /// No number.
    Bad,
    /// A number beyond all times.
    Far,
    /// Nanoseconds.
    Ns(i64),
}

/// What follows a value inside an object.
pub(crate) struct Follow<'w> {
    /// The next key; `None` where the object ends.
    pub key: Option<&'w [u8]>,
    /// Position of its value, or behind the object.
    pub value: usize,
    /// Nothing odd lies between.
    pub clean: bool,
    /// The real end of the text before, which holds quotes.
    pub repaired: Option<usize>,
}

/// Reads events of one window into a chunk.
pub(crate) struct Parser<'w, 'c> {
    /// The window.
    pub w: &'w [u8],
    /// Offset of the window in the stream.
    pub at: u64,
    /// Checks the syntax of everything instead of matching braces.
    pub careful: bool,
    /// Where categories, oddities and finished events go.
    pub chunk: &'c mut Chunk,
}

impl<'w> Parser<'w, '_> {
    fn odd(&mut self, odd: Odd, pos: usize) {
        self.chunk.tally.add(odd, self.at + pos as u64);
    }

    /// True where a value does not begin at once.
    #[inline]
    pub fn starts_blank(&self, value: usize) -> bool {
        self.w.get(value).is_none_or(|&b| b <= b' ')
    }

    /// The key behind a value, which stands at `before` and ended at `end`; `first` where the object has just opened.
    pub fn follow(&mut self, first: bool, before: usize, end: usize) -> Result<Follow<'w>, Fail> {
        let w = self.w;
        let mut pos = skip_ws(w, end);
        let (mut clean, mut after_comma, mut repaired) = (true, false, None);
        if !first {
            match byte(w, pos)? {
                b',' => (pos, after_comma) = (pos + 1, true),
                b'}' => {}
                _ => {
                    clean = false;
                    (pos, repaired) = self.after_odd_value(before, pos)?;
                }
            }
        }
        loop {
            pos = skip_ws(w, pos);
            let (key, colon) = match byte(w, pos)? {
                b'"' => {
                    let end = string_end(w, pos)?;
                    (&w[pos + 1..end], skip_ws(w, end + 1))
                }
                b'}' => {
                    if after_comma {
                        self.odd(Odd::Comma, pos);
                    }
                    return Ok(Follow {
                        key: None,
                        value: pos + 1,
                        clean: clean && !after_comma,
                        repaired,
                    });
                }
                b',' => {
                    self.odd(Odd::Comma, pos);
                    clean = false;
                    pos += 1;
                    continue;
                }
                b if b.is_ascii_alphabetic() || b == b'_' => {
                    clean = false;
                    self.bare_key(pos)?
                }
                _ => return Err(Fail::Broken(pos)),
            };
            if byte(w, colon)? != b':' {
                return Err(Fail::Broken(colon));
            }
            return Ok(Follow {
                key: Some(key),
                value: skip_ws(w, colon + 1),
                clean,
                repaired,
            });
        }
    }

    /// A key whose opening quote is missing, and the position of the colon.
    #[cold]
    fn bare_key(&mut self, pos: usize) -> Result<(&'w [u8], usize), Fail> {
        let w = self.w;
        let mut end = pos;
        while matches!(byte(w, end)?, b'_' | b' ' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z') {
            end += 1;
        }
        let quoted = usize::from(w[end] == b'"');
        self.odd(Odd::KeyQuote, pos);
        Ok((w[pos..end].trim_ascii_end(), skip_ws(w, end + quoted)))
    }

    /// Where to go on behind a value that neither a comma nor the end follows: most likely a text was cut short by a
    /// quote inside it, whose real end is returned too.
    #[cold]
    fn after_odd_value(
        &mut self,
        value: usize,
        pos: usize,
    ) -> Result<(usize, Option<usize>), Fail> {
        let w = self.w;
        if w[value] == b'"' {
            let end = repaired_end(w, value)?;
            self.odd(Odd::Quote, value);
            let pos = skip_ws(w, end + 1);
            return match byte(w, pos)? {
                b',' => Ok((pos + 1, Some(end))),
                b'}' => Ok((pos, Some(end))),
                _ => Err(Fail::Broken(pos)),
            };
        }
        if w[pos] == b'"' {
            self.odd(Odd::NoComma, pos);
            return Ok((pos, None));
        }
        Err(Fail::Broken(pos))
    }

    /// Behind a value that is not needed.
    #[inline]
    pub fn skip(&mut self, pos: usize) -> Scan {
        let w = self.w;
        match byte(w, pos)? {
            b'"' => Ok(string_end(w, pos)? + 1),
            b'{' => skip_object(w, pos, self.at, self.careful, &mut self.chunk.tally),
            b'[' => self.array(pos),
            _ => self.token(pos),
        }
    }

    /// Behind an array.
    fn array(&mut self, pos: usize) -> Scan {
        let mut i = pos + 1;
        while let Some(b'0'..=b'9' | b',' | b' ') = self.w.get(i) {
            i += 1;
        }
        let plain = self.w.get(i) == Some(&b']') && !self.careful;
        if plain && matches!(self.w[i - 1], b'0'..=b'9' | b'[') {
            return Ok(i + 1);
        }
        skip_value(self.w, pos, self.at, &mut self.chunk.tally)
    }

    /// Behind a scalar without quotes.
    #[inline]
    fn token(&mut self, pos: usize) -> Scan {
        let mut i = pos;
        while let Some(b'0'..=b'9' | b'.') = self.w.get(i) {
            i += 1;
        }
        if i > pos && matches!(self.w.get(i), Some(b',' | b'}' | b'\n')) {
            return Ok(i);
        }
        self.odd_token(pos)
    }

    fn odd_token(&mut self, pos: usize) -> Scan {
        let end = token_end(self.w, pos)?;
        if !is_json_token(&self.w[pos..end]) {
            self.odd(Odd::BareWord, pos);
        }
        Ok(end)
    }

    /// A time in µs: number or text.
    #[inline]
    pub fn time(&mut self, pos: usize, time: &mut Time) -> Scan {
        let w = self.w;
        // Up to 15 digits and a fraction of three, as Kineto writes them.
        let mut whole = 0_u64;
        let mut i = pos;
        if let Some(bytes) = w.get(i..).and_then(|rest| rest.first_chunk::<8>())
            && let Some(eight) = decimal::eight_digits(*bytes)
        {
            whole = eight;
            i += 8;
        }
        while let Some(d @ b'0'..=b'9') = w.get(i) {
            whole = whole.wrapping_mul(10).wrapping_add(u64::from(d - b'0'));
            i += 1;
        }
        if i > pos && i - pos <= 15 {
            match w.get(i) {
                Some(b',' | b'}' | b'\n' | b' ') => {
                    *time = Time::Ns((whole * 1000).cast_signed());
                    return Ok(i);
                }
                Some(b'.') => {
                    if let Some(&[a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', end]) =
                        w.get(i + 1..i + 5)
                        && matches!(end, b',' | b'}' | b'\n' | b' ')
                    {
                        let ns = u64::from(a - b'0') * 100
                            + u64::from(b - b'0') * 10
                            + u64::from(c - b'0');
                        *time = Time::Ns((whole * 1000 + ns).cast_signed());
                        return Ok(i + 4);
                    }
                }
                _ => {}
            }
        }
        self.odd_time(pos, time)
    }

    fn odd_time(&mut self, pos: usize, time: &mut Time) -> Scan {
        let w = self.w;
        let (text, end) = match byte(w, pos)? {
            b'"' => {
                let end = string_end(w, pos)?;
                (&w[pos + 1..end], end + 1)
            }
            b'{' | b'[' => {
                *time = Time::Bad;
                return self.skip(pos);
            }
            _ => {
                let end = self.token(pos)?;
                (&w[pos..end], end)
            }
        };
        *time = match decimal::us_to_ns(text) {
            Ok(decimal::Ns { ns, rounded }) => {
                if rounded {
                    self.odd(Odd::Rounded, pos);
                }
                Time::Ns(ns)
            }
            Err(_) if text == b"null" => Time::Missing,
            Err(NoTime::Far) => Time::Far,
            Err(NoTime::NoNumber) => Time::Bad,
        };
        Ok(end)
    }

    /// An identifier: number or text.
    #[inline]
    pub fn scalar(&mut self, pos: usize, scalar: &mut Scalar<'w>) -> Scan {
        let w = self.w;
        let mut value = 0_i64;
        let mut i = pos;
        while let Some(d @ b'0'..=b'9') = w.get(i) {
            value = value.wrapping_mul(10).wrapping_add(i64::from(d - b'0'));
            i += 1;
        }
        if i > pos && i - pos <= 18 && matches!(w.get(i), Some(b',' | b'}' | b'\n' | b' ')) {
            *scalar = Scalar::Int(value);
            return Ok(i);
        }
        self.odd_scalar(pos, scalar)
    }

    fn odd_scalar(&mut self, pos: usize, scalar: &mut Scalar<'w>) -> Scan {
        let w = self.w;
        let (text, end) = match byte(w, pos)? {
            b'"' => {
                let end = string_end(w, pos)?;
                (&w[pos + 1..end], end + 1)
            }
            b'{' | b'[' => {
                let end = self.skip(pos)?;
                (&w[pos..end], end)
            }
            _ => {
                let end = self.token(pos)?;
                (&w[pos..end], end)
            }
        };
        *scalar = to_scalar(text, w[pos] == b'"');
        Ok(end)
    }
}

/// A scalar from its text, `quoted` or not.
pub(crate) fn to_scalar(text: &[u8], quoted: bool) -> Scalar<'_> {
    // In a text, `1e2` may be hexadecimal.
    let number = if quoted {
        decimal::integer(text)
    } else {
        decimal::integer(text).or_else(|| decimal::whole(text))
    };
    match number {
        Some(i) => Scalar::Int(i),
        None if text == b"null" && !quoted => Scalar::Missing,
        None => Scalar::Text(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_syntax_of_all_numbers() {
        for (text, is_number) in decimal::tests::SYNTAX {
            let mut chunk = Chunk::default();
            let w = format!("\"{text}\",");
            let mut parser = Parser {
                w: w.as_bytes(),
                at: 0,
                careful: false,
                chunk: &mut chunk,
            };
            let mut time = Time::Missing;
            assert_eq!(parser.time(0, &mut time), Ok(w.len() - 1));
            assert_eq!(matches!(time, Time::Ns(_)), is_number, "{text:?}");
        }
    }
}
