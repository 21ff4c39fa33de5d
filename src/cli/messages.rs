//! Remarks and warnings on stderr.

use std::io::Write;

use super::style::{Style, Tone};
use super::table::printable;

/// Writes a remark to stderr.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", printable(text));
}

/// Writes a warning to stderr.
pub fn warn(text: &str) {
    let text = format!("Warning: {}", printable(text));
    let text = Style::err().paint(Tone::Loss, &text);
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
