//! JSON string contents as text: escapes resolved, broken bytes repaired, with a note of what had to be repaired.

use std::borrow::Cow;

/// What was wrong with a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Repairs {
    /// A backslash before a character that cannot be escaped, or an incomplete `\u`.
    pub escape: bool,
    /// Bytes that are no UTF-8.
    pub utf8: bool,
    /// A lone half of a surrogate pair.
    pub surrogate: bool,
    /// A raw control character.
    pub control: bool,
}

impl Repairs {
    /// True where something was repaired.
    pub fn any(self) -> bool {
        self.escape || self.utf8 || self.surrogate || self.control
    }
}

/// Longest text that is kept in memory for each name; whatever it stands for, nobody reads more of it.
const LONGEST: usize = 64 << 10;

/// The beginning of a text that is longer than any name.
pub(crate) fn shortened(text: &str) -> Option<String> {
    if text.len() <= LONGEST {
        return None;
    }
    let end = text.floor_char_boundary(LONGEST);
    Some(format!("{}…", &text[..end]))
}

/// The text of the bytes between two quotes.
pub(crate) fn unescape(raw: &[u8]) -> (Cow<'_, str>, Repairs) {
    let mut repairs = Repairs {
        control: raw.iter().any(|&b| b < 0x20),
        ..Repairs::default()
    };
    if !raw.contains(&b'\\') {
        let text = String::from_utf8_lossy(raw);
        repairs.utf8 = matches!(text, Cow::Owned(_));
        return (text, repairs);
    }
    let mut out: Vec<u8> = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(i) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..i]);
        rest = &rest[i + 1..];
        let simple = match rest.first() {
            Some(b'n') => Some(b'\n'),
            Some(b't') => Some(b'\t'),
            Some(b'r') => Some(b'\r'),
            Some(b'b') => Some(8),
            Some(b'f') => Some(12),
            Some(&b @ (b'"' | b'\\' | b'/')) => Some(b),
            _ => None,
        };
        if let Some(b) = simple {
            out.push(b);
            rest = &rest[1..];
        } else if let Some((c, used)) = unicode_escape(rest) {
            repairs.surrogate |= c.is_none();
            let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[used..];
        } else {
            // Windows paths: keep the backslash, it was meant.
            repairs.escape = true;
            out.push(b'\\');
        }
    }
    out.extend_from_slice(rest);
    match String::from_utf8(out) {
        Ok(text) => (Cow::Owned(text), repairs),
        Err(e) => {
            repairs.utf8 = true;
            let text = String::from_utf8_lossy(e.as_bytes()).into_owned();
            (Cow::Owned(text), repairs)
        }
    }
}

/// The character of `uXXXX` (with its second half for pairs; none for half of a pair) and the bytes used.
fn unicode_escape(text: &[u8]) -> Option<(Option<char>, usize)> {
    let unit = |t: &[u8]| -> Option<u32> {
        let digits = t.strip_prefix(b"u")?.get(..4)?;
        digits
            .iter()
            .try_fold(0, |v, &b| Some(v * 16 + char::from(b).to_digit(16)?))
    };
    let first = unit(text)?;
    if let Some(c) = char::from_u32(first) {
        return Some((Some(c), 5));
    }
    let second = text
        .get(5..)
        .and_then(|t| t.strip_prefix(b"\\"))
        .and_then(unit)
        .filter(|s| (0xdc00..0xe000).contains(s));
    match second {
        Some(low) if first < 0xdc00 => {
            let code = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
            Some((Some(char::from_u32(code)?), 11))
        }
        _ => Some((None, 5)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved() {
        let (text, repairs) = unescape(br#"a\"b\\c\/\n\u00e9\ud83d\ude00"#);
        assert_eq!(text, "a\"b\\c/\né😀");
        assert!(!repairs.any());
        assert!(matches!(unescape(b"plain").0, Cow::Borrowed("plain")));
    }

    #[test]
    fn broken_texts_are_repaired_and_said() {
        assert_eq!(unescape(br"C:\code\_x").0, r"C:\code\_x");
        assert!(unescape(br"C:\code").1.escape);
        assert!(unescape(br"end\").1.escape);
        assert_eq!(unescape(br"\ud800x").0, "\u{fffd}x");
        let lone = unescape(br"\ud800x").1;
        assert!(lone.surrogate && !lone.utf8);
        assert!(!unescape(br"\ufffd").1.any());
        assert_eq!(unescape(b"\xff\xfe").0, "\u{fffd}\u{fffd}");
        assert!(unescape(b"\xff\\n").1.utf8);
        assert!(unescape(b"a\nb").1.control);
        assert_eq!(unescape(br"\u12").0, r"\u12");
    }
}
