//! What the lines at the beginning of a text look like.

use crate::import::text::json::trim_start;

/// Lines that are looked at, at most.
const LINES: usize = 200;

/// Counts of lines by shape.
#[derive(Default)]
pub(crate) struct Lines {
    /// `{… "ph" …}` alone on a line, with or without a comma behind.
    pub records: usize,
    /// Those with one.
    pub with_comma: usize,
    /// Everything else but blank lines and brackets.
    pub other: usize,
}

impl Lines {
    pub fn count(text: &[u8], whole: bool) -> Self {
        let mut lines = Self::default();
        let mut rest = text;
        for _ in 0..LINES {
            let (line, tail) = match memchr::memchr(b'\n', rest) {
                Some(end) => (&rest[..end], &rest[end + 1..]),
                // The last line may be cut by the end of the head.
                None if whole => (rest, &rest[..0]),
                None => break,
            };
            rest = tail;
            let line = trim_start(line).trim_ascii_end();
            let bare = line.strip_suffix(b",").unwrap_or(line);
            if bare.starts_with(b"{")
                && bare.ends_with(b"}")
                && memchr::memmem::find(bare, b"\"ph\"").is_some()
            {
                lines.records += 1;
                lines.with_comma += usize::from(bare.len() < line.len());
            } else if !matches!(bare, b"" | b"[" | b"]") {
                lines.other += 1;
            }
            if rest.is_empty() {
                break;
            }
        }
        lines
    }
}
