//! What reading a run found: facts of each file, damage, and whether its processes are all there.

use crate::import::bytes::damage::byte_of_text;
use crate::import::contract::importer::Context;
use crate::import::contract::names::file_name;
use crate::import::contract::report::{
    Fact, FileReport, ImportReport, Loss, Lost, NoticeKind, Place,
};
use crate::import::contract::tally::{Count, Tally};
use crate::import::dftracer::merge::hashes::{Hashes, Resolved};
use crate::import::dftracer::merge::info::{FileInfo, known_pids};
use crate::import::dftracer::read::kind::Generation;
use crate::import::dftracer::tally::Odd;
use crate::model::SourceId;
use crate::time::format_count;

/// Report and notices of one file.
pub(super) fn file(file: &FileInfo, source: SourceId, hashes: &Hashes, ctx: &mut Context<'_>) {
    let resolved = hashes.resolved(file);
    if file.data.damage.is_some() {
        // Also where a checksum is wrong: members behind it are not read.
        ctx.builder.set_cut(source);
    }
    let entry = FileReport {
        path: file.data.path.clone(),
        source: Some(source),
        format: format_of(file),
        bytes: file.data.disk_bytes,
        inflated_bytes: file.data.inflated_bytes,
        events: records(file),
        by_kind: by_kind(file),
        facts: facts(file, hashes, resolved),
    };
    ctx.report.files.push(entry);
    let mut notes = Notes {
        report: ctx.report,
        source,
    };
    damage(file, &mut notes);
    lines(file, &mut notes);
    times(file, &mut notes);
    content(file, resolved, &mut notes);
}

struct Notes<'a> {
    report: &'a mut ImportReport,
    source: SourceId,
}

impl Notes<'_> {
    fn add(
        &mut self,
        fact: impl Into<Fact>,
        code: &'static str,
        count: u64,
        text: impl FnOnce() -> String,
    ) {
        self.report
            .note_many(fact, code, Some(self.source), count, &[], text);
    }

    fn count(&mut self, fact: impl Into<Fact>, code: &'static str, count: &Count, text: &str) {
        count.note(self.report, Some(self.source), fact, code, text);
    }
}

fn kinds(file: &FileInfo) -> [(&'static str, u64); 5] {
    [
        ("complete", file.sum(|c| c.kinds.complete)),
        ("counter", file.sum(|c| c.kinds.counter)),
        ("aggregated", file.sum(|c| c.kinds.aggregated)),
        ("metadata", file.sum(|c| c.kinds.metadata)),
        ("other", file.sum(|c| c.kinds.other)),
    ]
}

fn by_kind(file: &FileInfo) -> Vec<(String, u64)> {
    let kinds = kinds(file).into_iter().filter(|k| k.1 > 0);
    let meta = file.meta.counts.iter();
    kinds
        .map(|(k, n)| (k.to_owned(), n))
        .chain(meta.map(|(k, n)| (format!("metadata {k}"), *n)))
        .collect()
}

fn format_of(file: &FileInfo) -> String {
    let what = match file.generation {
        Some(Generation::G1) => "DLIO profiler lines of early 2023",
        Some(Generation::G2) => "DLIO profiler lines of 2023",
        Some(Generation::G3) => "DFTracer lines, all text (2023–2024)",
        Some(Generation::G4) => "DFTracer lines, integer hashes (1.0.5–1.0.8)",
        Some(Generation::G5) => "DFTracer lines, hexadecimal hashes (1.0.9–2.0)",
        Some(Generation::G6) => "DFTracer lines, integer phases (2.1 and newer)",
        None => "DFTracer lines",
    };
    what.to_owned()
}

fn unit_of(file: &FileInfo) -> &'static str {
    match file.unit {
        1 => "ns",
        1_000 => "µs",
        1_000_000 => "ms",
        _ => "s",
    }
}

fn facts(file: &FileInfo, hashes: &Hashes, resolved: Resolved) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut fact = |key: &str, value: Option<String>| {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            facts.push((key.to_owned(), value));
        }
    };
    fact("generation", file.generation.map(|g| format!("{g:?}")));
    let start = file.meta.start.clone().unwrap_or_default();
    let named = |hash: &Option<String>| {
        let hash = hash.as_deref()?;
        Some(hashes.string(file, hash).unwrap_or_else(|| hash.to_owned()))
    };
    let program = named(&start.executable);
    let command = named(&start.command);
    let folder = start.folder.as_deref();
    let folder = folder.map(|h| hashes.file(file, h).unwrap_or_else(|| h.to_owned()));
    fact("version", start.version);
    fact("host", file.meta.hosts.first().map(str::to_owned));
    fact("pid", Some(start.pid));
    fact("parent", start.ppid);
    fact("rank", file.rank.map(|r| r.to_string()));
    fact("program", program);
    fact("command", command);
    fact("folder", folder);
    fact("started", start.date);
    let unit = unit_of(file);
    let stated = if file.unit_stated {
        ""
    } else {
        " (not stated)"
    };
    fact("time unit", Some(format!("{unit}{stated}")));
    let end = file.meta.end.as_ref().map(|e| match e.events {
        Some(n) => format!("yes, {} events", format_count(n.unsigned_abs())),
        None => "yes".to_owned(),
    });
    fact(
        "end record",
        end.or_else(|| file.meta.start.as_ref().map(|_| "no".to_owned())),
    );
    if resolved != Resolved::default() {
        fact("file hashes named here", Some(resolved.named.to_string()));
        fact("file hashes used", Some(resolved.used.to_string()));
        fact(
            "file hashes not named here",
            Some(resolved.not_in_file.to_string()),
        );
        fact(
            "file hashes not named in the run",
            Some(resolved.not_in_run.to_string()),
        );
    }
    facts
}

fn damage(file: &FileInfo, notes: &mut Notes<'_>) {
    let records = match records(file) {
        1 => "1 record".to_owned(),
        n => format!("{} records", format_count(n)),
    };
    let source = Some(notes.source);
    file.data
        .gaps
        .with(|gaps| gaps.report(source, notes.report));
    let damage = file.data.damage.as_ref();
    if let Some(damage) = damage {
        let (fact, code, text) = damage.notice("truncated", &records);
        notes.add(fact, code, 1, || text);
    }
    if file.data.cut_line && damage.is_none_or(|d| !d.is_cut()) {
        let at = byte_of_text(file.data.inflated_bytes, file.data.compressed);
        let fact = NoticeKind::Damaged.losing(Loss::Cut(Lost::default()));
        notes.add(fact, "truncated", 1, || {
            format!("The file ends early, inside a line. Showing the {records} before {at}.")
        });
    }
    let overlong = &file.data.overlong;
    let places: Vec<Place> = overlong.iter().take(3).map(|&at| Place::Byte(at)).collect();
    notes.report.note_many(
        NoticeKind::Skipped,
        "overlong_line",
        Some(notes.source),
        overlong.len() as u64,
        &places,
        || "Lines of more than 64 MiB are no records and were skipped (places are where they begin).".to_owned(),
    );
}

/// Records of all kinds.
fn records(file: &FileInfo) -> u64 {
    kinds(file).iter().map(|k| k.1).sum()
}

/// Bytes of the text that records were read of.
fn read_bytes(file: &FileInfo) -> u64 {
    let skipped = file.sum(|c| c.unreadable_bytes + c.torn_bytes + c.tally.count(Odd::Zeros));
    file.data.inflated_bytes.saturating_sub(skipped)
}

/// What was odd, with line numbers of the file.
fn tally(file: &FileInfo) -> Tally<Odd> {
    let mut all = Tally::default();
    let mut before = 0;
    for chunk in &file.data.chunks {
        let mut tally = chunk.tally.clone();
        tally.move_lines(before);
        all.take(tally);
        before += chunk.lines;
    }
    all
}

fn lines(file: &FileInfo, notes: &mut Notes<'_>) {
    let stretch = |bytes: u64| Lost::stretch(bytes, read_bytes(file), records(file));
    for (odd, count) in tally(file).counts() {
        let (kind, code, text) = odd.texts();
        let lost = match odd {
            Odd::Unreadable => {
                let mut lost = stretch(file.sum(|c| c.unreadable_bytes));
                // Each of them was to be a record, at least.
                lost.events = lost.events.map(|n| n.max(count.n));
                lost
            }
            Odd::Torn => stretch(file.sum(|c| c.torn_bytes)),
            Odd::Value => {
                notes.count(kind.losing(Loss::Nothing), code, count, text);
                continue;
            }
            _ => {
                notes.count(kind, code, count, text);
                continue;
            }
        };
        let text = format!("{text} ({lost}).");
        notes.count(kind.losing(Loss::Part(lost)), code, count, &text);
    }
}

fn times(file: &FileInfo, notes: &mut Notes<'_>) {
    notes.count(
        NoticeKind::Skipped,
        "far_time",
        &file.far,
        "Records with a time or a duration beyond 73 years were skipped (places are those of their args).",
    );
    notes.count(
        NoticeKind::Skipped,
        "zero_time",
        &file.early,
        "Records lie at time 0, below it or decades before everything else in the file and were skipped (places are \
         those of their args).",
    );
    if let Some(odd) = file.meta.odd_unit() {
        let shown: String = odd.chars().filter(|c| !c.is_control()).take(20).collect();
        let text = match file.unit_stated {
            true => format!(
                "The file states several units of time (“{shown}” too): the first known one was taken, {}.",
                unit_of(file)
            ),
            false => format!(
                "The unit of time, “{shown}”, is not known: times are taken as {}.",
                unit_of(file)
            ),
        };
        notes.add(NoticeKind::Guessed, "time_unit", 1, || text);
    }
    if file.is_relative() {
        notes.add(NoticeKind::Info, "clock", 1, || {
            "Times count from the start of the process: the file cannot be put on one axis with others.".to_owned()
        });
    } else if file.is_implausible() {
        notes.add(NoticeKind::Info, "clock_magnitude", 1, || {
            "Times are taken as Unix time, but lie before September 2001: the clock or the unit of the file is \
             unusual."
                .to_owned()
        });
    }
}

fn content(file: &FileInfo, resolved: Resolved, notes: &mut Notes<'_>) {
    let aggregated = file.sum(|c| c.kinds.aggregated);
    if aggregated > 0 {
        notes.add(NoticeKind::NotRecorded, "aggregated", aggregated, || {
            "Aggregated records are totals per interval and cannot be drawn as spans: they are shown as counters."
                .to_owned()
        });
    }
    notes.add(
        NoticeKind::Info,
        "repeated_totals",
        file.repeated_totals,
        || "Aggregated records repeat those of the parent process and were left out.".to_owned(),
    );
    if file.meta.start.is_some() && file.meta.end.is_none() {
        notes.add(NoticeKind::Info, "no_end", 1, || {
            "The file ends without its end record: the process was killed or is still running. Spans that were open \
             are missing."
                .to_owned()
        });
    }
    completeness(file, aggregated, notes);
    let events = file.sum(|c| c.events);
    if events > 0 && file.sum(|c| c.events_with_args) == 0 {
        notes.add(NoticeKind::NotRecorded, "no_args", 1, || {
            "Events carry no args (DFTRACER_INC_METADATA was off): sizes, file names and steps are unknown.".to_owned()
        });
    }
    notes.add(
        NoticeKind::Info,
        "unresolved_hashes",
        resolved.not_in_run,
        || "Files are shown by their hash: no file of the run says their names.".to_owned(),
    );
    notes.add(
        NoticeKind::Info,
        "ambiguous_hashes",
        file.meta.files.ambiguous(),
        || "Hashes stand for several file names: all of them are shown.".to_owned(),
    );
    notes.add(
        NoticeKind::Info,
        "fork_copies",
        file.sum(|c| c.fork_copies),
        || "Calls of fork are there twice: once more as the child's copy.".to_owned(),
    );
}

/// Since 2.0 the end record counts all records but itself; older ones number metadata and open blocks too.
fn completeness(file: &FileInfo, aggregated: u64, notes: &mut Notes<'_>) {
    let end = file.meta.end.as_ref().and_then(|e| e.events);
    let recent = matches!(file.generation, Some(Generation::G5 | Generation::G6));
    if !recent || aggregated > 0 || file.sum(|c| c.metadata_with_id) > 0 {
        return;
    }
    let (Some(stated), records) = (end, file.sum(|c| c.kinds.complete)) else {
        return;
    };
    let found = i64::try_from(records).unwrap_or(i64::MAX) - 1;
    if stated != found {
        notes.add(NoticeKind::Damaged, "incomplete", 1, || {
            format!("The end record counts {stated} events, {found} are there.")
        });
    }
}

/// Notices about all files together.
pub(super) fn run(files: &[FileInfo], ctx: &mut Context<'_>) {
    let known = known_pids(files);
    let mut forked: Vec<&str> = files
        .iter()
        .flat_map(|f| &f.data.chunks)
        .flat_map(|c| c.forked.iter().map(String::as_str))
        .collect();
    forked.sort_unstable();
    forked.dedup();
    let missing: Vec<&str> = forked
        .iter()
        .copied()
        .filter(|p| !known.contains(p))
        .collect();
    let named = |wanted: &str| {
        let mut chunks = files.iter().flat_map(|f| &f.data.chunks);
        chunks.any(|c| c.names.find(wanted).is_some())
    };
    let waits_only = named("fetch.iter") && !named("item");
    let starts = files.iter().filter(|f| f.meta.start.is_some()).count();
    if starts <= 1 && (waits_only || !missing.is_empty()) && files.len() == 1 {
        ctx.report.note(NoticeKind::NotRecorded, "processes", None, None, || {
            let forks = match missing.len() {
                0 => String::new(),
                n => format!(" It forked {n}."),
            };
            format!(
                "Only 1 process found. Traces of DataLoader workers are missing, so loading work is not shown.{forks}"
            )
        });
    } else if !missing.is_empty() {
        ctx.report.note_many(
            NoticeKind::NotRecorded,
            "processes",
            None,
            missing.len() as u64,
            &[],
            || {
                let some: Vec<&str> = missing.iter().copied().take(5).collect();
                format!(
                    "{} of {} forked processes left no file (pid {}{}): what they did is not shown.",
                    missing.len(),
                    forked.len(),
                    some.join(", "),
                    if missing.len() > some.len() { ", …" } else { "" },
                )
            },
        );
    }
    lost_parent(files, &known, ctx);
}

/// Workers whose parent's file is not there: then the waits are missing.
fn lost_parent(
    files: &[FileInfo],
    known: &std::collections::BTreeSet<&str>,
    ctx: &mut Context<'_>,
) {
    let orphans = files.iter().filter(|f| {
        let parent = f.meta.start.as_ref().and_then(|s| s.ppid.as_deref());
        parent.is_some_and(|p| !known.contains(p)) && file_name(&f.data.path).contains("-fork.pfw")
    });
    let orphans = orphans.count() as u64;
    ctx.report.note_many(NoticeKind::Info, "no_parent", None, orphans, &[], || {
        "The file of the process that forked these workers was not opened: batch waits are not shown.".to_owned()
    });
}
