//! What may be odd about the rows of a table.

use crate::import::contract::report::{ImportReport, Loss, Lost, NoticeKind, Place};
use crate::import::contract::tally::{Tally, reasons};
use crate::model::SourceId;

reasons! {
    /// Why a row is not shown, or what was taken for granted.
    pub(super) enum Odd {
        NoStart: Skipped, "no_start", "row|rows|had no start";
        Time: Skipped, "bad_time", "row|rows|had a start, end or length that is no time";
        Far: Skipped, "far_time",
            "row|rows|had a time beyond 73 years, or one that is no Unix time in the unit of the others";
        OtherClock: Skipped, "other_clock", "row|rows|had a time on another clock than most: Unix time, or not";
        EndBeforeStart: Skipped, "end_before_start", "row|rows|ended before the start";
        Value: Skipped, "bad_counter_value", "row|rows|had a value that is no number";
        TooFew: Skipped, "too_few_cells", "row|rows|had fewer cells than are needed";
        TooMany: Skipped, "too_many_cells", "row|rows|had more cells than the header";
        OpenQuote: Skipped, "open_quote", "row|rows|had a quote that is not closed";
        Overlong: Skipped, "long_row", "row|rows|had more than 1 MiB without an end of a line";
        NoValue: NotRecorded, "unknown_value", "Samples have no value: nothing is drawn there.";
        Rounded: Info, "rounded_time", "Times have digits below 1 ns; they were rounded to whole nanoseconds.";
        NoZone: Guessed, "time_zone", "Dates without a time zone were taken for UTC.";
        NotUtf8: Repaired, "bad_utf8", "Texts hold bytes that are not UTF-8; they are shown as U+FFFD.";
    }
}

/// What is wrong with the first row that was left out: its line, and a sentence.
pub(super) fn first(tally: &Tally<Odd>) -> Option<(u64, &'static str)> {
    let wrong = tally.counts().iter().filter_map(|(odd, count)| {
        let (kind, _, text) = odd.texts();
        match count.places.first()? {
            Place::Line(line) if kind == NoticeKind::Skipped => Some((*line, text)),
            _ => None,
        }
    });
    let (line, text) = wrong.min()?;
    Some((line, text.rsplit('|').next()?))
}

/// Writes the notices.
pub(super) fn report(tally: &Tally<Odd>, report: &mut ImportReport, source: SourceId) {
    for (odd, count) in tally.counts() {
        let (kind, code, text) = odd.texts();
        let fact = match (odd, kind) {
            // No figure is made of the values of counters.
            (Odd::Value, _) => kind.losing(Loss::Nothing),
            (_, NoticeKind::Skipped) => kind.losing(Loss::Part(Lost::events(count.n))),
            _ => kind.into(),
        };
        count.note(report, Some(source), fact, code, text);
    }
}
