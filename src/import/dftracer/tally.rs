//! What may be odd about the lines of a file.

use crate::import::contract::report::NoticeKind;
use crate::import::contract::tally::reasons;

reasons! {
    /// A reason to count a line.
    pub(super) enum Odd {
        /// A comma before a closing bracket.
        Comma: Repaired, "comma_before_bracket", "A comma before a closing bracket was ignored.";
        /// A record on two lines.
        Joined: Repaired, "split_record",
            "A line break inside a text splits a record over two lines: they were joined.";
        /// No record.
        Unreadable: Skipped, "unreadable_lines", "Lines are no JSON objects and were skipped";
        /// Something else beside its records.
        Torn: Skipped, "unreadable_parts",
            "Lines hold something that is no JSON object beside their records: it was skipped";
        /// Several records.
        Crowded: Repaired, "several_records", "Several records stand on one line: they were read one by one.";
        /// Zero bytes around records, each one counted. Between whole records they are room that a writer had made; where
        /// a page of records was lost, the records at its edges are torn, and the zeros are part of an unreadable line.
        Zeros: Repaired, "padding", "Zero bytes stand between records; they were passed over.";
        /// A record without a time.
        NoTime: Skipped, "no_time", "Records have no readable ts or dur and were skipped.";
        /// A record of a phase that no recorder writes.
        UnknownPhase: Skipped, "unknown_phase", "Records of an unknown phase (ph) were skipped.";
        /// A name that is no UTF-8.
        Utf8: Repaired, "invalid_utf8", "Names are not valid UTF-8: the bytes were replaced.";
        /// A value of a counter that is no number.
        Value: Skipped, "bad_counter_value", "Counter values are no numbers and were skipped.";
    }
}
