//! What may be odd about the lines of a file.

use crate::import::contract::report::NoticeKind;

/// A reason to count a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Odd {
    /// A comma before a closing bracket.
    Comma,
    /// A record on two lines.
    Joined,
    /// No record.
    Unreadable,
    /// Something else beside its records.
    Torn,
    /// Several records.
    Crowded,
    /// Zero bytes around records, each one counted.
    Zeros,
    /// A record without a time.
    NoTime,
    /// A record of a phase that no recorder writes.
    UnknownPhase,
    /// A name that is no UTF-8.
    Utf8,
    /// A value of a counter that is no number.
    Value,
}

impl Odd {
    /// Kind, machine name and sentence.
    pub fn texts(self) -> (NoticeKind, &'static str, &'static str) {
        use NoticeKind::{Repaired, Skipped};
        match self {
            Self::Comma => (
                Repaired,
                "comma_before_bracket",
                "A comma before a closing bracket was ignored.",
            ),
            Self::Joined => (
                Repaired,
                "split_record",
                "A line break inside a text splits a record over two lines: they were joined.",
            ),
            Self::Unreadable => (
                Skipped,
                "unreadable_lines",
                "Lines are no JSON objects and were skipped",
            ),
            Self::Torn => (
                Skipped,
                "unreadable_parts",
                "Lines hold something that is no JSON object beside their records: it was skipped",
            ),
            Self::Crowded => (
                Repaired,
                "several_records",
                "Several records stand on one line: they were read one by one.",
            ),
            // Between whole records they are room that a writer had made; where a page of records was lost, the records
            // at its edges are torn, and the zeros are part of an unreadable line.
            Self::Zeros => (
                Repaired,
                "padding",
                "Zero bytes stand between records; they were passed over.",
            ),
            Self::NoTime => (
                Skipped,
                "no_time",
                "Records have no readable ts or dur and were skipped.",
            ),
            Self::UnknownPhase => (
                Skipped,
                "unknown_phase",
                "Records of an unknown phase (ph) were skipped.",
            ),
            Self::Utf8 => (
                Repaired,
                "invalid_utf8",
                "Names are not valid UTF-8: the bytes were replaced.",
            ),
            Self::Value => (
                Skipped,
                "bad_counter_value",
                "Counter values are no numbers and were skipped.",
            ),
        }
    }
}
