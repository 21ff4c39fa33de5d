//! Remarks and warnings on stderr.

use std::io::Write;

use super::table::printable;

/// Writes a remark to stderr.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", printable(text));
}

/// Writes a warning to stderr.
pub fn warn(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "Warning: {}", printable(text));
}
