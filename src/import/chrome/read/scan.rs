//! Walking over JSON text: white space, strings, values. Knows nothing of events.
//!
//! Every function works on a window of the stream and says [`Fail::More`] where the window ends too early. There are
//! two ways over a nested value: a fast one that only matches braces, and a careful one that checks the syntax,
//! repairs what can be read all the same, and finds a defect where it is.

use crate::import::chrome::tally::{Odd, Tally};
use crate::import::text::json::{skip_ws, text_end};
use crate::import::text::wide;

/// Why a scan stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fail {
    /// The window ends inside the value.
    More,
    /// No value here: the position of the defect.
    Broken(usize),
}

/// A position behind what was read, or why not.
pub(crate) type Scan = Result<usize, Fail>;

/// Nesting beyond this is no trace.
const MAX_DEPTH: u32 = wide::MAX_DEPTH;

/// A fast skip over a nested value gives up after this many bytes, since it may have been misled by a stray quote.
const FAST_LIMIT: usize = 64 << 10;

/// A repaired text may be this long.
const REPAIR_LIMIT: usize = 64 << 10;

/// The byte at `pos`.
#[inline]
pub(crate) fn byte(w: &[u8], pos: usize) -> Result<u8, Fail> {
    w.get(pos).copied().ok_or(Fail::More)
}

/// The last byte before `pos` that is no white space, and where it is.
pub(crate) fn before(w: &[u8], pos: usize) -> Option<(u8, usize)> {
    let i = w[..pos].iter().rposition(|&b| b > b' ')?;
    Some((w[i], i))
}

/// Position of the quote that closes the string whose opening quote is at `pos`.
#[inline]
pub(crate) fn string_end(w: &[u8], pos: usize) -> Scan {
    text_end(w, pos + 1).map(|end| end.0).ok_or(Fail::More)
}

/// End of a scalar that is no string: the first byte that cannot belong to it.
#[inline]
pub(crate) fn token_end(w: &[u8], pos: usize) -> Scan {
    let mut i = pos;
    loop {
        match byte(w, i)? {
            b',' | b'}' | b']' | b'"' | b':' | b'{' | b'[' | 0..=b' ' => break,
            _ => i += 1,
        }
    }
    if i == pos {
        return Err(Fail::Broken(pos));
    }
    Ok(i)
}

/// True for a token that JSON allows.
pub(crate) fn is_json_token(token: &[u8]) -> bool {
    match token {
        b"true" | b"false" | b"null" => true,
        [b'-', rest @ ..] => rest.first().is_some_and(u8::is_ascii_digit) && is_numberish(rest),
        _ => token.first().is_some_and(u8::is_ascii_digit) && is_numberish(token),
    }
}

fn is_numberish(token: &[u8]) -> bool {
    token
        .iter()
        .all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
}

/// Behind the object that opens at `pos`, by matching braces where that works, else carefully.
#[inline]
pub(crate) fn skip_object(w: &[u8], pos: usize, at: u64, careful: bool, tally: &mut Tally) -> Scan {
    if !careful {
        let end = w.len().min(pos + FAST_LIMIT);
        if let Some(found) = wide::object_end(&w[..end], pos) {
            return Ok(found);
        }
        if end == w.len() {
            return Err(Fail::More);
        }
    }
    skip_value(w, pos, at, tally)
}

/// What the careful walk expects next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Want {
    /// A key, or the end of an object that has just opened.
    FirstKey,
    /// A key.
    Key,
    /// A value, or the end of an array that has just opened.
    FirstValue,
    /// A value.
    Value,
    /// A comma or the end.
    Comma,
}

/// The open containers of a careful walk, one bit each: set for objects.
struct Nest {
    bits: u128,
    depth: u32,
}

impl Nest {
    fn open(&mut self, object: bool, pos: usize) -> Result<Want, Fail> {
        if self.depth == MAX_DEPTH {
            return Err(Fail::Broken(pos));
        }
        self.bits = self.bits << 1 | u128::from(object);
        self.depth += 1;
        Ok(if object {
            Want::FirstKey
        } else {
            Want::FirstValue
        })
    }

    fn in_object(&self) -> bool {
        self.bits & 1 == 1
    }

    fn close(&mut self) {
        self.bits >>= 1;
        self.depth -= 1;
    }
}

/// Behind the value at `pos`, checking its syntax. Repairs are counted.
pub(crate) fn skip_value(w: &[u8], start: usize, at: u64, tally: &mut Tally) -> Scan {
    let mut nest = Nest { bits: 0, depth: 0 };
    let mut pos = start;
    let mut want = Want::Value;
    let mut odd = |odd: Odd, pos: usize| tally.add(odd, at + pos as u64);
    loop {
        if want == Want::Comma && nest.depth == 0 {
            return Ok(pos);
        }
        pos = skip_ws(w, pos);
        let b = byte(w, pos)?;
        (pos, want) = match (b, want) {
            (
                b'}' | b']',
                Want::FirstKey | Want::Key | Want::FirstValue | Want::Value | Want::Comma,
            ) if nest.depth > 0 && nest.in_object() == (b == b'}') => {
                if matches!(want, Want::Key) || (want == Want::Value && !nest.in_object()) {
                    odd(Odd::Comma, pos);
                } else if want == Want::Value {
                    return Err(Fail::Broken(pos));
                }
                nest.close();
                (pos + 1, Want::Comma)
            }
            (b',', Want::Comma) => {
                let next = if nest.in_object() {
                    Want::Key
                } else {
                    Want::Value
                };
                (pos + 1, next)
            }
            (b'"', Want::FirstKey | Want::Key) => {
                let colon = skip_ws(w, string_end(w, pos)? + 1);
                if byte(w, colon)? != b':' {
                    return Err(Fail::Broken(colon));
                }
                (colon + 1, Want::Value)
            }
            (b'{' | b'[', Want::FirstValue | Want::Value) => (pos + 1, nest.open(b == b'{', pos)?),
            (b'"', Want::FirstValue | Want::Value) => {
                let end = string_end(w, pos)?;
                let next = byte(w, skip_ws(w, end + 1)).unwrap_or(b',');
                if nest.depth == 0 || matches!(next, b',' | b'}' | b']') {
                    (end + 1, Want::Comma)
                } else {
                    let end = repaired_end(w, pos)?;
                    odd(Odd::Quote, pos);
                    (end + 1, Want::Comma)
                }
            }
            (_, Want::FirstValue | Want::Value) => {
                let end = token_end(w, pos)?;
                if !is_json_token(&w[pos..end]) {
                    odd(Odd::BareWord, pos);
                }
                (end, Want::Comma)
            }
            _ => return Err(Fail::Broken(pos)),
        };
    }
}

/// The quote that ends the text opening at `pos`, which holds quotes that are not escaped: the first one behind which
/// the object goes on (`, "key":`) or ends.
pub(crate) fn repaired_end(w: &[u8], pos: usize) -> Scan {
    let limit = w.len().min(pos + REPAIR_LIMIT);
    let mut quote = string_end(w, pos)?;
    let first = quote;
    loop {
        if goes_on(w, quote + 1) {
            // A text does not reach into the next event.
            return match opens_object(&w[..quote], first) {
                true => Err(Fail::Broken(pos)),
                false => Ok(quote),
            };
        }
        quote = match string_end(&w[..limit], quote) {
            Ok(next) => next,
            Err(_) if limit == w.len() => return Err(Fail::More),
            Err(_) => return Err(Fail::Broken(pos)),
        };
    }
}

/// True where `w` holds, from `from` on, an opening brace with a key behind it.
fn opens_object(w: &[u8], from: usize) -> bool {
    memchr::memchr_iter(b'{', &w[from..]).any(|i| is_key(w, from + i + 1))
}

/// True for a text of less than 64 bytes with a colon behind it.
fn is_key(w: &[u8], pos: usize) -> bool {
    let key = skip_ws(w, pos);
    w.get(key) == Some(&b'"')
        && string_end(w, key)
            .is_ok_and(|end| end - key < 64 && w.get(skip_ws(w, end + 1)) == Some(&b':'))
}

fn goes_on(w: &[u8], pos: usize) -> bool {
    let pos = skip_ws(w, pos);
    match w.get(pos) {
        Some(b'}' | b']') => true,
        Some(b',') => is_key(w, pos + 1),
        _ => false,
    }
}

/// A walk over a value that nobody needs, which may be larger than any window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Skipper {
    depth: u64,
    in_string: bool,
    escaped: bool,
    started: bool,
}

impl Skipper {
    /// Goes on at `pos`; `Some` is the position behind the value, `None` says that the window ends first.
    pub fn feed(&mut self, w: &[u8], mut pos: usize) -> Option<usize> {
        while let Some(&b) = w.get(pos) {
            if self.escaped {
                self.escaped = false;
            } else if self.in_string {
                match b {
                    b'\\' => self.escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return Some(pos + 1);
                        }
                    }
                    _ => {}
                }
            } else {
                match b {
                    b'"' => {
                        self.in_string = true;
                        self.started = true;
                    }
                    b'{' | b'[' => {
                        self.depth += 1;
                        self.started = true;
                    }
                    b'}' | b']' if self.depth > 0 => {
                        self.depth -= 1;
                        if self.depth == 0 {
                            return Some(pos + 1);
                        }
                    }
                    b'}' | b']' | b',' if self.depth == 0 => return Some(pos),
                    b' ' | b'\n' | b'\r' | b'\t' if self.depth == 0 && self.started => {
                        return Some(pos);
                    }
                    b' ' | b'\n' | b'\r' | b'\t' => {}
                    _ => self.started = true,
                }
            }
            pos += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(text: &str) -> (Scan, Tally) {
        let mut tally = Tally::default();
        let scan = skip_value(text.as_bytes(), 0, 0, &mut tally);
        (scan, tally)
    }

    #[test]
    fn values_are_skipped_whole() {
        for text in [
            r#"{"a":[1,{"b":"}]"},null],"c":{},"d":[]}"#,
            r#""x\"y""#,
            "[ ]",
            "{\"a\\\\\": -1.5e+3 }",
        ] {
            let padded = format!("{text},");
            assert_eq!(skipped(&padded).0, Ok(text.len()), "{text}");
            let mut s = Skipper::default();
            assert_eq!(s.feed(padded.as_bytes(), 0), Some(text.len()), "{text}");
            for cut in 0..text.len() {
                assert_eq!(skipped(&text[..cut]).0, Err(Fail::More), "{text} {cut}");
            }
        }
        let mut s = Skipper::default();
        assert_eq!(s.feed(b"[1, \"a", 0), None);
        assert_eq!(s.feed(b"]b\", 2] }", 0), Some(7));
    }

    #[test]
    fn odd_values_are_read_and_counted() {
        let (end, tally) = skipped(r#"{"a":inf,"b":[0x1f,CUSTOM],} "#);
        assert_eq!(end, Ok(28));
        assert_eq!(
            (tally.count(Odd::BareWord), tally.count(Odd::Comma)),
            (3, 1)
        );
        let (end, tally) = skipped(r#"{"a":"x "y" z","b":1} "#);
        assert_eq!(end, Ok(21));
        assert_eq!(tally.count(Odd::Quote), 1);
    }

    #[test]
    fn defects_are_found_where_they_are() {
        for (text, at) in [
            (r#"{"a" 1} "#, 5),
            (r#"{"a":} "#, 5),
            ("[1 2] ", 3),
            ("{1:2} ", 1),
            ("[1} ", 2),
            (", ", 0),
        ] {
            assert_eq!(skipped(text).0, Err(Fail::Broken(at)), "{text}");
        }
        let deep = "[".repeat(1000);
        assert_eq!(skipped(&deep).0, Err(Fail::Broken(127)));
    }
}
