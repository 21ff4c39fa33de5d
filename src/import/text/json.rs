//! Walks over JSON of any form, whole or broken: what all readers of it have in common.

use super::wide;

/// What follows a byte order mark and blanks.
pub(crate) fn text_of(bytes: &[u8]) -> &[u8] {
    trim_start(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

/// What follows the blanks and zero bytes in front.
pub(crate) fn trim_start(bytes: &[u8]) -> &[u8] {
    let start = bytes
        .iter()
        .position(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n' | 0))
        .unwrap_or(bytes.len());
    &bytes[start..]
}

/// The keys of the outermost object and the position behind it, if it ends inside the head.
pub(crate) struct FirstObject<'a> {
    /// Its keys, the first 64.
    pub keys: Vec<&'a [u8]>,
    /// Position behind it.
    pub end: Option<usize>,
}

/// The object at the beginning of a text. Tolerant of everything but quotes and brackets.
pub(crate) fn first_object(text: &[u8]) -> FirstObject<'_> {
    let mut keys = Vec::new();
    let mut depth = 0_i32;
    let mut i = 0;
    while i < text.len() {
        match text[i] {
            b'"' => {
                let Some((end, _)) = text_end(text, i + 1) else {
                    break;
                };
                let colon = trim_start(&text[end + 1..]).first() == Some(&b':');
                if depth == 1 && colon && keys.len() < 64 {
                    keys.push(&text[i + 1..end]);
                }
                i = end;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return FirstObject {
                        keys,
                        end: Some(i + 1),
                    };
                }
            }
            _ => {}
        }
        i += 1;
    }
    FirstObject { keys, end: None }
}

/// Position of the quote that ends a text whose content starts at `from`, and whether it holds backslashes; `None` where
/// it does not end.
#[inline]
pub(crate) fn text_end(w: &[u8], from: usize) -> Option<(usize, bool)> {
    let found = wide::quote_or_backslash(w, from)?;
    match w[found] {
        b'"' => Some((found, false)),
        _ => Some((escaped_text_end(w, found)?, true)),
    }
}

#[cold]
fn escaped_text_end(w: &[u8], mut backslash: usize) -> Option<usize> {
    loop {
        let found = wide::quote_or_backslash(w, backslash + 2)?;
        if w[found] == b'"' {
            return Some(found);
        }
        backslash = found;
    }
}

/// The first position at or behind `pos` that is no white space. Control characters between values count as white
/// space: some writers pad with them.
#[inline]
pub(crate) fn skip_ws(w: &[u8], mut pos: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    if w.get(pos).is_none_or(|&b| b > b' ') {
        return pos;
    }
    while let Some(bytes) = w.get(pos..).and_then(|rest| rest.first_chunk::<8>()) {
        let x = u64::from_le_bytes(*bytes);
        // The high bit of every byte above 0x20: 0x21 + 0x5f = 0x80.
        let text = (((x & (0x7f * ONES)) + 0x5f * ONES) | x) & (0x80 * ONES);
        if text != 0 {
            return pos + (text.trailing_zeros() / 8) as usize;
        }
        pos += 8;
    }
    while w.get(pos).is_some_and(|&b| b <= b' ') {
        pos += 1;
    }
    pos
}
