//! What was odd about the rows of a table: counted by reason, with the first lines.

use std::collections::BTreeMap;

use crate::import::contract::report::{ImportReport, Loss, Lost, NoticeKind, Place};
use crate::model::SourceId;
use crate::time::format_count;

/// Lines that are kept per reason.
const PLACES: usize = 3;

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
    /// Kind, machine name, and a sentence; of rows that were left out what is wrong with them.
    fn texts(self) -> (NoticeKind, &'static str, &'static str) {
        use NoticeKind::{Guessed, Info, NotRecorded, Repaired, Skipped};
        match self {
            Self::NoStart => (Skipped, "no_start", "had no start"),
            Self::Time => (
                Skipped,
                "bad_time",
                "had a start, end or length that is no time",
            ),
            Self::Far => (
                Skipped,
                "far_time",
                "had a time beyond 73 years, or one that is no Unix time in the unit of the others",
            ),
            Self::OtherClock => (
                Skipped,
                "other_clock",
                "had a time on another clock than most: Unix time, or not",
            ),
            Self::EndBeforeStart => (Skipped, "end_before_start", "ended before the start"),
            Self::Value => (
                Skipped,
                "bad_counter_value",
                "had a value that is no number",
            ),
            Self::TooFew => (Skipped, "too_few_cells", "had fewer cells than are needed"),
            Self::TooMany => (Skipped, "too_many_cells", "had more cells than the header"),
            Self::OpenQuote => (Skipped, "open_quote", "had a quote that is not closed"),
            Self::Overlong => (
                Skipped,
                "long_row",
                "had more than 1 MiB without an end of a line",
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

/// Counts by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally(BTreeMap<Odd, (u64, Vec<u64>)>);

impl Tally {
    /// Counts one more; `line` counts from 1 and is asked for the first ones only.
    pub fn add(&mut self, odd: Odd, line: impl FnOnce() -> u64) {
        let (count, lines) = self.0.entry(odd).or_default();
        *count += 1;
        if lines.len() < PLACES {
            lines.push(line());
        }
    }

    /// Takes over what was counted further on in the file.
    pub fn take(&mut self, next: Self) {
        for (odd, (n, more)) in next.0 {
            let (count, lines) = self.0.entry(odd).or_default();
            *count += n;
            let room = PLACES - lines.len();
            lines.extend(more.into_iter().take(room));
        }
    }

    /// What is wrong with the first row that was left out: its line, and a sentence.
    pub fn first(&self) -> Option<(u64, &'static str)> {
        let wrong = self.0.iter().map(|(odd, (_, lines))| (odd.texts(), lines));
        let wrong = wrong.filter(|((kind, ..), _)| *kind == NoticeKind::Skipped);
        wrong
            .filter_map(|((_, _, text), lines)| Some((*lines.first()?, text)))
            .min()
    }

    /// Writes the notices.
    pub fn report(&self, report: &mut ImportReport, source: SourceId) {
        for (odd, (count, lines)) in &self.0 {
            let (kind, code, text) = odd.texts();
            let places: Vec<Place> = lines.iter().map(|&line| Place::Line(line)).collect();
            if kind != NoticeKind::Skipped {
                report.note_many(kind, code, Some(source), *count, &places, || {
                    text.to_owned()
                });
                continue;
            }
            let rows = match count {
                1 => "1 row".to_owned(),
                n => format!("{} rows", format_count(*n)),
            };
            let first = places.first().map_or(String::new(), |place| match count {
                1 => format!(" ({place})"),
                _ => format!(" (first: {place})"),
            });
            let were = if *count == 1 { "was" } else { "were" };
            let text = format!("{rows} {text} and {were} skipped{first}.");
            // No figure is made of the values of counters.
            let loss = match odd {
                Odd::Value => Loss::Nothing,
                _ => Loss::Part(Lost::events(*count)),
            };
            report.note_whole(kind.losing(loss), code, Some(source), *count, &places, text);
        }
    }

    /// Every reason with its first lines.
    #[cfg(test)]
    pub fn all(&self) -> Vec<(Odd, u64)> {
        let all = self.0.iter();
        let mut all: Vec<_> = all
            .flat_map(|(odd, (_, lines))| lines.iter().map(|l| (*odd, *l)))
            .collect();
        all.sort_by_key(|(_, line)| *line);
        all
    }
}
