//! What may be odd about the rows of a table.

use crate::import::contract::report::{ImportReport, Loss, Lost, NoticeKind, Place};
use crate::import::contract::tally::Tally;
use crate::model::SourceId;

/// Why a row is not shown, or what was taken for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Odd {
    NoStart,
    Time,
    Far,
    OtherClock,
    EndBeforeStart,
    Value,
    TooFew,
    TooMany,
    OpenQuote,
    Overlong,
    NoValue,
    Rounded,
    NoZone,
    NotUtf8,
}

impl Odd {
    /// Kind, machine name and sentence; for what was skipped: one, several, what.
    fn texts(self) -> (NoticeKind, &'static str, &'static str) {
        use NoticeKind::{Guessed, Info, NotRecorded, Repaired, Skipped};
        match self {
            Self::NoStart => (Skipped, "no_start", "row|rows|had no start"),
            Self::Time => (
                Skipped,
                "bad_time",
                "row|rows|had a start, end or length that is no time",
            ),
            Self::Far => (
                Skipped,
                "far_time",
                "row|rows|had a time beyond 73 years, or one that is no Unix time in the unit of the others",
            ),
            Self::OtherClock => (
                Skipped,
                "other_clock",
                "row|rows|had a time on another clock than most: Unix time, or not",
            ),
            Self::EndBeforeStart => (
                Skipped,
                "end_before_start",
                "row|rows|ended before the start",
            ),
            Self::Value => (
                Skipped,
                "bad_counter_value",
                "row|rows|had a value that is no number",
            ),
            Self::TooFew => (
                Skipped,
                "too_few_cells",
                "row|rows|had fewer cells than are needed",
            ),
            Self::TooMany => (
                Skipped,
                "too_many_cells",
                "row|rows|had more cells than the header",
            ),
            Self::OpenQuote => (
                Skipped,
                "open_quote",
                "row|rows|had a quote that is not closed",
            ),
            Self::Overlong => (
                Skipped,
                "long_row",
                "row|rows|had more than 1 MiB without an end of a line",
            ),
            Self::NoValue => (
                NotRecorded,
                "unknown_value",
                "Samples have no value: nothing is drawn there.",
            ),
            Self::Rounded => (
                Info,
                "rounded_time",
                "Times have digits below 1 ns; they were rounded to whole nanoseconds.",
            ),
            Self::NoZone => (
                Guessed,
                "time_zone",
                "Dates without a time zone were taken for UTC.",
            ),
            Self::NotUtf8 => (
                Repaired,
                "bad_utf8",
                "Texts hold bytes that are not UTF-8; they are shown as U+FFFD.",
            ),
        }
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
