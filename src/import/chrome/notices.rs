//! What is said about a file as a whole. Counts of single events are in the tally.

use super::facts::Facts;
use super::merge::links::Linked;
use super::merge::merged::Merged;
use super::read::root::{Form, Root};
use super::tally::Odd;
use crate::import::bytes::damage::byte_of_text;
use crate::import::contract::importer::Context;
use crate::import::contract::report::{ImportReport, Loss, Lost, NoticeKind, Place};
use crate::time::format_count;

/// What is said about a file that ends early, or goes on behind its end.
pub(super) fn ends(
    root: &Root,
    merged: &Merged,
    open: bool,
    facts: &Facts,
    report: &mut ImportReport,
) {
    let id = Some(merged.source);
    if let (Form::Headless, Some(first)) = (root.form, root.first_event) {
        let what = match first {
            0 => "what came before its first event is missing".to_owned(),
            _ => format!(
                "what came before it is missing, and its first {} bytes, up to the first whole event, were skipped",
                format_count(first)
            ),
        };
        let text = format!("The file begins in the middle of a trace: {what}.");
        let place = [Place::Byte(first)];
        let read = facts.inflated_bytes.saturating_sub(first);
        let lost = Loss::Part(Lost::stretch(first, read, merged.events));
        report.note_whole(
            NoticeKind::Damaged.losing(lost),
            "no_head",
            id,
            1,
            &place,
            text,
        );
    }
    let events = |n: u64| {
        let noun = if n == 1 { "event" } else { "events" };
        format!("{} {noun}", format_count(n))
    };
    // Elements of the list that are no events were skipped.
    let shown = events(merged.events - merged.tally.count(Odd::NotObject));
    facts.gaps.with(|gaps| gaps.report(id, report));
    let damage = facts.damage.as_ref();
    if let Some(damage) = damage {
        let (fact, code, text) = damage.notice("damaged_stream", &shown);
        report.note_whole(fact, code, id, 1, &[damage.place()], text);
    }
    if open && damage.is_none_or(|d| !d.is_cut()) {
        let place = Place::Byte(facts.inflated_bytes);
        let at = byte_of_text(facts.inflated_bytes, facts.compressed);
        let text = format!("The file ends early. Showing the {shown} before {at}.");
        let fact = NoticeKind::Damaged.losing(Loss::Cut(Lost::default()));
        report.note_whole(fact, "not_closed", id, 1, &[place], text);
    }
    report.note_many(
        NoticeKind::Info,
        "documents",
        id,
        root.further + u64::from(root.further > 0),
        &[],
        || {
            "The file holds several JSON documents one after the other: all of them were read."
                .to_owned()
        },
    );
    if let Some(unread) = root.unread {
        let place = Place::Byte(unread.from);
        let what = match unread.events {
            0 => String::new(),
            n => format!(" with about {}", events(n)),
        };
        let text = format!(
            "The event list is closed before the file ends: {} bytes{what} from {place} on were not read.",
            format_count(unread.bytes)
        );
        let (code, loss) = match unread.events {
            0 => ("text_after_end", Loss::Nothing),
            events => {
                let lost = Lost {
                    bytes: Some(unread.bytes),
                    events: Some(events),
                    estimated: true,
                };
                ("events_after_end", Loss::Part(lost))
            }
        };
        report.note_whole(
            NoticeKind::Skipped.losing(loss),
            code,
            id,
            1,
            &[place],
            text,
        );
    }
}

/// What is said about a file as a whole.
pub(super) fn whole(
    merged: &Merged,
    torch: bool,
    operations: u64,
    linked: &Linked,
    ctx: &mut Context<'_>,
) {
    let id = Some(merged.source);
    let report = &mut *ctx.report;
    let trace = ctx.builder.so_far();
    let mine = |lane: &crate::model::Lane| lane.source == merged.source;
    let drawn = trace.lanes().iter().any(mine)
        || trace.counters().iter().any(|c| c.source == merged.source);
    if !drawn {
        report.note(NoticeKind::NotRecorded, "no_spans", id, None, || {
            "The file holds nothing that can be drawn: no spans, no instants, no counters."
                .to_owned()
        });
    } else if operations == 0 && torch {
        report.note(NoticeKind::NotRecorded, "no_gpu", id, None, || {
            "No GPU activity was recorded: what the GPU did meanwhile is unknown, not idle."
                .to_owned()
        });
    }
    if merged.lanes.devices().any(|(_, counts)| !counts) {
        report.note(NoticeKind::NotRecorded, "mtia", id, None, || {
            "Work of MTIA devices is drawn but does not count as GPU work: its busy time has no definition yet."
                .to_owned()
        });
    }
    report.note_many(NoticeKind::Info, "gpu_without_launch", id, linked.without, &[], || {
        format!(
            "GPU operations without a launch call in the file, of {} in all; they stay without a link.",
            format_count(operations)
        )
    });
    linked.ambiguous.note(
        report,
        id,
        NoticeKind::NotRecorded.losing(Loss::Unplaced),
        "links_ambiguous",
        "Calls of several processes have the correlation id of these GPU operations, and nothing says which of them \
         launched them; they stay without a link.",
    );
}
