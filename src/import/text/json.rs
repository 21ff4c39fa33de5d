//! Walks over JSON of any form, whole or broken.

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
                let Some(end) = string_end(text, i + 1) else {
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

/// Position of the quote that ends a string whose content starts at `from`.
fn string_end(text: &[u8], from: usize) -> Option<usize> {
    let mut i = from;
    loop {
        let next = memchr::memchr2(b'"', b'\\', text.get(i..)?)?;
        i += next;
        if text[i] == b'"' {
            return Some(i);
        }
        i += 2;
    }
}
