//! Marks that the user set on the time axis.

use crate::time::TimeRange;

/// A mark: a moment, or a range of time, with what the user wrote of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// When; empty for a moment.
    pub range: TimeRange,
    /// What was written.
    pub text: String,
}

impl Note {
    /// Whether it lies in a range, or a part of it does.
    #[must_use]
    pub fn touches(&self, range: TimeRange) -> bool {
        range.start <= self.range.end && self.range.start <= range.end
    }
}
