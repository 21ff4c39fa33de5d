//! Spans that lie far from all others: of another clock, most likely.

use super::merged::Merged;
use crate::import::contract::importer::Context;
use crate::import::contract::report::{NoticeKind, Place};
use crate::model::Trace;
use crate::time::format_count;

/// Gaps below this are no wonder.
const HOUR: i64 = 3_600_000_000_000;

/// 365.25 days.
const YEAR: i64 = 8_766 * HOUR;

/// A gap that takes nearly all of the time of a file, with few spans on one side of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Far {
    /// Spans on that side.
    count: u64,
    /// It is the later one.
    later: bool,
    /// Length of the gap, ns.
    gap: i64,
}

/// Says which spans of a file stretch its time.
pub(crate) fn tell(merged: &Merged, ctx: &mut Context<'_>) {
    let Some([first, last]) = merged.ends else {
        return;
    };
    let trace = ctx.builder.so_far();
    let Some(far) = find(trace, merged.first_span, (first.0, last.0)) else {
        return;
    };
    let gap = in_words(far.gap);
    let (side, place) = if far.later {
        ("after", Place::Byte(last.1))
    } else {
        ("before", Place::Byte(first.1))
    };
    let lie = match far.count {
        1 => format!("1 event lies {gap} {side} all others ({place})"),
        n => format!(
            "{} events lie {gap} {side} all others (the one at the end of them: {place})",
            format_count(n)
        ),
    };
    let look = "The time axis reaches over both: look at the range of the others alone";
    // No recording takes that long.
    let (kind, text) = if far.gap > YEAR {
        let text = format!(
            "{lie}: hardly a time of the same clock. {look}, or open a copy of the file without what is far."
        );
        (NoticeKind::Guessed, text)
    } else {
        (NoticeKind::Info, format!("{lie}. {look}."))
    };
    let id = Some(merged.source);
    let report = &mut *ctx.report;
    report.note_whole(kind, "far_events", id, far.count, &[place], text);
}

/// Parts of the time of a file.
#[derive(Clone, Copy)]
struct Part {
    first: i64,
    last: i64,
    count: u64,
}

/// Looks at the spans from `from` on, whose starts lie between the two times.
fn find(trace: &Trace, from: usize, (first, last): (i64, i64)) -> Option<Far> {
    const PARTS: usize = 20;
    let extent = last.checked_sub(first)?;
    if extent <= HOUR {
        return None;
    }
    // A gap of nine tenths holds whole parts without any span.
    let length = extent / i64::try_from(PARTS).ok()? + 1;
    let mut parts: [Option<Part>; PARTS] = [None; PARTS];
    let starts = trace.spans().starts().get(from..)?;
    for &start in starts.iter().filter(|s| (first..=last).contains(s)) {
        let at = usize::try_from((start - first) / length).ok()?;
        let part = parts.get_mut(at)?.get_or_insert(Part {
            first: start,
            last: start,
            count: 0,
        });
        part.first = part.first.min(start);
        part.last = part.last.max(start);
        part.count += 1;
    }
    let all: u64 = parts.iter().flatten().map(|p| p.count).sum();
    let (mut before, mut last_seen) = (0, None);
    for part in parts.iter().flatten() {
        let gap = last_seen.map_or(0, |last| part.first - last);
        if gap > HOUR && gap / 9 >= extent / 10 {
            let later = all - before <= before;
            return Some(Far {
                count: before.min(all - before),
                later,
                gap,
            });
        }
        before += part.count;
        last_seen = Some(part.last);
    }
    None
}

/// A gap in words.
fn in_words(gap: i64) -> String {
    let (number, unit) = match gap / HOUR {
        hours @ ..48 => (hours, "hour"),
        hours if gap < 2 * YEAR => (hours / 24, "day"),
        _ => (gap / YEAR, "year"),
    };
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {unit}{plural}", format_count(number.unsigned_abs()))
}
