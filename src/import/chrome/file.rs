//! One file from its first block to its report.

use std::path::Path;

use super::facts::Facts;
use super::merge::far;
use super::merge::merged::Merged;
use super::read::root::{Form, Root};
use super::stream::{End, Stream};
use super::tally::Odd;
use super::{TORCH, notices, refuse};
use crate::import::bytes::input::Input;
use crate::import::contract::error::LoadError;
use crate::import::contract::importer::Context;
use crate::import::contract::names::rank_of_name;
use crate::import::contract::progress::Phase;
use crate::import::contract::report::{FileReport, NoticeKind};
use crate::model::{Source, SourceId};

/// Reads one file into the builder and the report.
///
/// # Errors
/// When it holds no event list, when nothing of it can be read, and after a cancel.
pub(super) fn import(input: Input, ctx: &mut Context<'_>) -> Result<(), LoadError> {
    ctx.progress.set_phase(Phase::Reading);
    let path = input.path.clone();
    let source = Source {
        args: input.args.clone(),
        ..Source::new(path.clone(), &TORCH)
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
pub(super) fn finish(
    end: End,
    source: Source,
    facts: &Facts,
    ctx: &mut Context<'_>,
) -> Result<(), LoadError> {
    let End {
        mut root,
        merged,
        early,
        mut open,
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
    if root.are_lines(merged.tally.count(Odd::NoComma), merged.events) {
        merged.tally.without(Odd::NoComma);
        open = false;
    }
    merged.tally.take(&mut root.tally);
    merged.complete(ctx.builder, ctx.progress);
    ctx.progress.check(&facts.path)?;
    let cpu_op = ctx.builder.category("cpu_op", true);
    let source = merged.source;
    let operations = merged.links.operation_count();
    let links = std::mem::take(&mut merged.links);
    merged.lanes.place(ctx.builder);
    let many = merged.lanes.many_async();
    merged.tally.add_many(Odd::ManyAsync, many);
    merged.lanes.make_gpus(source, ctx.builder);
    let spaces = merged.lanes.spaces(&links.ranks);
    let linked = links.resolve(ctx.builder, &merged.lanes, &spaces, cpu_op);
    ctx.progress.check(&facts.path)?;
    name_source(&root, &merged, &facts.path, ctx);
    if spaces.are_several() {
        // What the head says is of one of them only.
        ctx.builder.source_mut(source).rank = None;
        merged.lanes.tell_apart(&spaces, ctx.builder);
    }
    merged.lanes.finish(ctx.builder, &root.header.devices());
    notices::ends(&root, &merged, open, facts, ctx.report);
    far::tell(&merged, ctx);
    notices::whole(&merged, is_torch(&root, &merged), operations, &linked, ctx);
    if let (Form::Headless, Some(first)) = (root.form, root.first_event) {
        // The missing head has a notice of its own.
        merged.tally.lost(first);
    }
    let (bytes, events) = (facts.inflated_bytes, merged.events);
    merged.tally.report(ctx.report, Some(source), bytes, events);
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
        Form::Lines => "events in lines",
        _ => "object form",
    };
    format!("{what} ({form})")
}

/// Clock, producer, host and rank of the source.
fn name_source(root: &Root, merged: &Merged, path: &Path, ctx: &mut Context<'_>) {
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
        rank = rank_of_name(path);
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
    source.world = root.header.world();
    source.host = root.header.host();
    source.producer = match root.header.schema() {
        Some(schema) => format!("{}, schema {schema}", format_name(root, merged)),
        None => format_name(root, merged),
    };
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
