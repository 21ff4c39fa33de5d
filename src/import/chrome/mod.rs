//! Chrome-trace JSON as written by torch.profiler (Kineto) and others: object or bare array, broken or whole.
//!
//! ```text
//!  blocks ─▶ stream ─▶ elements/event (syntax) ─▶ classify (chunk columns) ─▶ merge (model) ─▶ pairs, links
//!              └▶ root/header (keys around the list)
//! ```
//!
//! The file is read once, front to back; args stay in the file and are referred to by byte range. Knows nothing of
//! layers and analysis.

mod merge;
mod read;
mod refuse;
mod stream;
mod tally;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::import::bytes::damage::{Damage, SharedGaps, byte_of_text};
use crate::import::bytes::input::Input;
use crate::import::chrome::merge::merged::Merged;
use crate::import::chrome::merge::owners::Linked;
use crate::import::chrome::read::root::{Form, Root};
use crate::import::contract::error::LoadError;
use crate::import::contract::importer::Context;
use crate::import::contract::progress::Phase;
use crate::import::contract::report::{FileReport, ImportReport, NoticeKind, Place};
use crate::import::opening::together;
use crate::model::{Source, SourceId, TracerFacts};
use crate::time::format_count;
use merge::far;
use stream::{End, Stream};
use tally::Odd;

/// Traces of torch.profiler (Kineto).
pub(super) const TORCH: TracerFacts = TracerFacts {
    key: "torch",
    name: "torch.profiler",
    slows_training: true,
    sees_workers: false,
    may_train: true,
    folder_is_run: false,
    joins_runs: false,
};

/// Chrome traces of any other program: the same rules apply, but their processes may be of anything.
const OTHER: TracerFacts = TracerFacts {
    may_train: false,
    ..TORCH
};

/// What is known of the input besides its events.
struct Facts {
    path: std::path::PathBuf,
    disk_bytes: u64,
    inflated_bytes: u64,
    /// The bytes on disk are compressed.
    compressed: bool,
    damage: Option<Damage>,
    gaps: SharedGaps,
}

/// Reads one file into the builder and the report.
///
/// # Errors
/// When it holds no event list, when nothing of it can be read, and after a cancel.
pub(super) fn import(input: Input, ctx: &mut Context<'_>) -> Result<(), LoadError> {
    ctx.progress.set_phase(Phase::Reading);
    let path = input.path.clone();
    let source = Source {
        args: input.args.clone(),
        ..Source::new(path.clone(), &OTHER)
    };
    let (disk_bytes, compressed) = (input.disk_bytes, input.compressed);
    let gaps = input.gaps.clone();
    let progress = ctx.progress;
    let mut stream = Stream::new(ctx, source.clone());
    let mut blocks = input.blocks(progress);
    stream.run(&mut blocks);
    let damage = blocks.damage().cloned();
    progress.check(&path)?;
    let end = stream.end();
    let facts = Facts {
        path,
        // Archives may state more than they hold.
        disk_bytes: if compressed {
            disk_bytes
        } else {
            disk_bytes.min(end.bytes)
        },
        inflated_bytes: end.bytes,
        compressed,
        damage,
        gaps,
    };
    finish(end, source, &facts, ctx)
}

/// Everything that needs the whole file.
fn finish(end: End, source: Source, facts: &Facts, ctx: &mut Context<'_>) -> Result<(), LoadError> {
    let End {
        mut root,
        merged,
        early,
        open,
        ..
    } = end;
    let is_whole = root.has_list && !open && root.form != Form::Headless;
    let is_empty = early.events == 0 && early.tally.count(Odd::Broken) == 0;
    let mut merged = match merged {
        Some(merged) => merged,
        None if is_whole && is_empty => Merged::new(source, early, ctx.builder),
        None => {
            let damage = facts.damage.as_ref().filter(|d| d.is_cut());
            return Err(match damage {
                Some(damage) => refuse::damaged(&facts.path, damage),
                None => refuse::refuse(&root, &early, open, facts),
            });
        }
    };
    ctx.progress.set_phase(Phase::Linking);
    merged.tally.take(&mut root.tally);
    merged.complete(ctx.builder, ctx.progress);
    ctx.progress.check(&facts.path)?;
    let cpu_op = ctx.builder.category("cpu_op", true);
    let source = merged.source;
    let operations = merged.links.operation_count();
    let links = std::mem::take(&mut merged.links);
    let linked = links.resolve(ctx.builder, &merged.lanes, cpu_op);
    ctx.progress.check(&facts.path)?;
    let rank = name_source(&root, &merged, &facts.path, ctx);
    merged
        .lanes
        .finish(ctx.builder, &root.header.devices(), rank);
    ends(&root, &merged, open, facts, ctx.report);
    far::tell(&merged, ctx);
    notices(&root, &merged, operations, &linked, ctx);
    merged.tally.report(ctx.report, Some(source));
    let report = file_report(&root, &merged, operations, facts, source);
    ctx.report.files.push(report);
    Ok(())
}

fn is_torch(root: &Root, merged: &Merged) -> bool {
    merged.torch || root.header.is_torch()
}

fn format_name(root: &Root, merged: &Merged) -> String {
    let what = if is_torch(root, merged) {
        "torch.profiler JSON"
    } else {
        "Chrome trace JSON"
    };
    let form = match root.form {
        Form::Array => "array form",
        Form::Headless => "part of a file",
        _ => "object form",
    };
    format!("{what} ({form})")
}

/// Clock, producer and rank of the source. Returns the rank.
fn name_source(root: &Root, merged: &Merged, path: &Path, ctx: &mut Context<'_>) -> Option<u32> {
    let id = Some(merged.source);
    let (clock, contradicts) = merged.clock(root.header.base());
    if contradicts {
        ctx.report.note(NoticeKind::Guessed, "two_clocks", id, None, || {
            "The file has a base time, but its times count from 1970 already: the base time was ignored."
                .to_owned()
        });
    }
    for (code, text) in root.header.unusable() {
        ctx.report
            .note(NoticeKind::Guessed, code, id, None, || text.to_owned());
    }
    let mut rank = root.header.rank();
    if rank.is_none() {
        rank = together::rank_of_name(path);
        if let Some(rank) = rank {
            // Rank 0 is what a file without any rank is taken for anyway, and other tracers know no ranks.
            let kind = if rank == 0 || !is_torch(root, merged) {
                NoticeKind::Info
            } else {
                NoticeKind::Guessed
            };
            ctx.report.note(kind, "rank_from_name", id, None, || {
                format!("The file does not say its rank; rank {rank} was taken from its name.")
            });
        }
    }
    let source = ctx.builder.source_mut(merged.source);
    source.clock = clock;
    source.rank = rank;
    if is_torch(root, merged) {
        source.tracer = &TORCH;
    }
    source.producer = match root.header.schema() {
        Some(schema) => format!("{}, schema {schema}", format_name(root, merged)),
        None => format_name(root, merged),
    };
    rank
}

/// What is said about a file that ends early, or goes on behind its end.
fn ends(root: &Root, merged: &Merged, open: bool, facts: &Facts, report: &mut ImportReport) {
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
        report.note_whole(NoticeKind::Damaged, "no_head", id, 1, &place, text);
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
        let (kind, code, text) = damage.notice("damaged_stream", &shown);
        report.note_whole(kind, code, id, 1, &[damage.place()], text);
    }
    if open && damage.is_none_or(|d| !d.is_cut()) {
        let place = Place::Byte(facts.inflated_bytes);
        let at = byte_of_text(facts.inflated_bytes, facts.compressed);
        let text = format!("The file ends early. Showing the {shown} before {at}.");
        report.note_whole(NoticeKind::Damaged, "not_closed", id, 1, &[place], text);
    }
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
        let code = match unread.events {
            0 => "text_after_end",
            _ => "events_after_end",
        };
        report.note_whole(NoticeKind::Skipped, code, id, 1, &[place], text);
    }
}

fn notices(root: &Root, merged: &Merged, operations: u64, linked: &Linked, ctx: &mut Context<'_>) {
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
    } else if operations == 0 && is_torch(root, merged) {
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
    let (count, places) = &linked.guessed;
    report.note_many(NoticeKind::Guessed, "launch_by_gpu", id, *count, places, || {
        "Calls of several processes have the correlation id of these GPU operations; they were linked to the process \
         that no other GPU belongs to."
            .to_owned()
    });
    let (count, places) = &linked.open;
    report.note_many(NoticeKind::NotRecorded, "launch_unknown", id, *count, places, || {
        "Calls of several processes have the correlation id of these GPU operations, and nothing says which of them \
         launched them; they stay without a link."
            .to_owned()
    });
}

fn file_report(
    root: &Root,
    merged: &Merged,
    operations: u64,
    facts: &Facts,
    source: SourceId,
) -> FileReport {
    let mut by_kind: Vec<(String, u64)> = (0_u8..128)
        .zip(merged.phases.0)
        .filter(|(_, n)| *n > 0)
        .map(|(c, n)| (char::from(c).to_string(), n))
        .collect();
    if operations > 0 {
        by_kind.push(("GPU operations".to_owned(), operations));
    }
    let mut about = root.header.facts();
    if let Some(rank) = root.header.rank() {
        about.push(("rank".to_owned(), rank.to_string()));
    }
    let mut names: Vec<String> = root
        .header
        .devices()
        .into_iter()
        .map(|(_, name)| name)
        .collect();
    names.dedup();
    if !names.is_empty() {
        about.push(("devices".to_owned(), names.join(", ")));
    }
    FileReport {
        path: facts.path.clone(),
        source: Some(source),
        format: format_name(root, merged),
        bytes: facts.disk_bytes,
        inflated_bytes: facts.inflated_bytes,
        events: merged.events,
        by_kind,
        facts: about,
    }
}
