//! Opening paths: what lies there, which importer reads it, what belongs on one time axis, and the last notices.
//!
//! Knows importers by their contract only, and no format.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::together;
use crate::import::contract::error::{ErrorKind, LoadError};
use crate::import::contract::file::TraceFile;
use crate::import::contract::importer::Context;
use crate::import::contract::names::{NAMED, file_name, some_names};
use crate::import::contract::options::OpenOptions;
use crate::import::contract::progress::{Phase, Progress};
use crate::import::contract::report::{ImportReport, Loss, NoticeKind};
use crate::import::importers;
use crate::import::recognise::candidate::Candidate;
use crate::import::recognise::find::{self, Looked};
use crate::import::recognise::memory;

use crate::model::{Clock, Source, SourceId, Trace, TraceBuilder};

/// A trace and what happened while it was read.
pub struct Loaded {
    /// The timeline.
    pub trace: Trace,
    /// What was read, repaired, skipped, guessed, not recorded.
    pub report: ImportReport,
}

/// See [`crate::import::open`].
pub(crate) fn open(
    paths: &[PathBuf],
    options: &OpenOptions,
    progress: &Progress,
) -> Result<Loaded, LoadError> {
    progress.set_phase(Phase::Looking);
    let looked = find::look(paths, options, progress)?;
    if looked.candidates.is_empty() {
        return Err(nothing_found(paths, &looked));
    }
    read(&looked.candidates, Some(&looked), options, progress)
}

/// Reads files that were found, as one trace; tells what else `looked` found.
pub(crate) fn read(
    files: &[Candidate],
    looked: Option<&Looked>,
    options: &OpenOptions,
    progress: &Progress,
) -> Result<Loaded, LoadError> {
    if !options.force {
        memory::check(files)?;
    }
    let mut attempt = Attempt::run(files, options, progress)?;
    let kept = attempt.kept(files, options);
    if kept.len() < files.len() && attempt.is_mixed(files, &kept) {
        // Some of what was read must not stay: read the rest again into a fresh model, which takes the place of the
        // first one in memory.
        let before = attempt.into_before(&kept);
        attempt = Attempt::run(&kept, options, progress)?;
        attempt.explain_left_out(before, files, &kept);
    }
    let Attempt {
        mut builder,
        mut report,
        failed,
    } = attempt;
    for (path, error) in failed {
        report.note_path(
            NoticeKind::Skipped.losing(Loss::File),
            "file_refused",
            &path,
            format!("{} {}", error.cause, error.remedy),
        );
    }
    if let Some(looked) = looked {
        looked.report(&mut report);
    }
    mark_cut(&mut builder, &report);
    progress.set_phase(Phase::Sorting);
    let first = &files[0].file.path;
    let trace = builder
        .finish_unless(&|| progress.is_cancelled())
        .ok_or_else(|| LoadError::cancelled(first))?;
    progress.check(first)?;
    conclude(&trace, &mut report);
    report.sort();
    Ok(Loaded { trace, report })
}

/// Tells the model which files have ends or holes: what is not in them may have been recorded.
fn mark_cut(builder: &mut TraceBuilder, report: &ImportReport) {
    let cut = report.notices.iter();
    let cut = cut.filter(|n| matches!(n.loss, Loss::Cut(_)));
    for source in cut.filter_map(|n| n.source) {
        builder.set_cut(source);
    }
}

/// One reading of a set of files.
struct Attempt {
    builder: TraceBuilder,
    report: ImportReport,
    failed: Vec<(PathBuf, LoadError)>,
}

/// What is known of a first reading once its model is gone.
struct Before {
    /// The clock of the first file that is kept is Unix time.
    first_unix: bool,
    failed: Vec<(PathBuf, LoadError)>,
}

impl Attempt {
    fn run(
        files: &[Candidate],
        options: &OpenOptions,
        progress: &Progress,
    ) -> Result<Self, LoadError> {
        progress.set_phase(Phase::Reading);
        for file in files {
            progress.add_total(file.file.disk_bytes);
        }
        let mut builder = TraceBuilder::new();
        let mut report = ImportReport::default();
        let mut failed = Vec::new();
        let mut read_together = BTreeSet::new();
        for file in files {
            progress.check(&file.file.path)?;
            let importer = file.importer;
            let group: Vec<&TraceFile> = if !importer.together() {
                vec![&file.file]
            } else if read_together.insert(importer.facts().key) {
                let own = |f: &&Candidate| f.importer.facts().key == importer.facts().key;
                files.iter().filter(own).map(|f| &f.file).collect()
            } else {
                continue;
            };
            let mut ctx = Context {
                builder: &mut builder,
                report: &mut report,
                progress,
                refused: &mut failed,
            };
            match importer.read(&group, &mut ctx) {
                Ok(()) => {}
                Err(e) if e.kind == ErrorKind::Cancelled || files.len() == 1 => return Err(e),
                Err(e) => failed.push((e.path.clone(), e)),
            }
        }
        progress.check(&files[0].file.path)?;
        if builder.is_full() {
            return Err(LoadError::new(
                ErrorKind::TooLarge,
                &files[0].file.path,
                format!(
                    "Memory ran out after {} spans.",
                    crate::time::format_count(builder.span_count() as u64)
                ),
                "Close other programs, raise the limit on memory (ulimit, container), or open a part of the run.",
            ));
        }
        shift_by_hand(&mut builder, &mut report, files, options);
        together::ranks_by_name(&mut builder);
        together::unique_keys(&mut builder);
        if builder.so_far().sources().is_empty() {
            let first = failed.into_iter().next().map(|(_, error)| error);
            return Err(first.unwrap_or_else(|| LoadError::cancelled(&files[0].file.path)));
        }
        Ok(Self {
            builder,
            report,
            failed,
        })
    }

    fn source_of(&self, file: &Candidate) -> Option<&Source> {
        let sources = self.builder.so_far().sources();
        sources.iter().find(|s| s.path == file.file.path)
    }

    /// The files that opened and whose clocks relate to that of the first of them: both Unix time, or put in place by
    /// hand.
    fn kept(&self, files: &[Candidate], options: &OpenOptions) -> Vec<Candidate> {
        let failed: BTreeSet<&Path> = self.failed.iter().map(|(p, _)| p.as_path()).collect();
        // A run may have thousands of files.
        let sources = self.builder.so_far().sources().iter();
        let sources: FxHashMap<&OsStr, &Source> =
            sources.map(|s| (s.path.as_os_str(), s)).collect();
        let opened = || {
            let opened = files.iter();
            opened.filter(|f| !failed.contains(f.file.path.as_path()))
        };
        let source = |file: &Candidate| sources.get(file.file.path.as_os_str()).copied();
        let unix = |source: &Source| matches!(source.clock, Clock::Unix { .. });
        // What joins runs is put beside them, not they beside it.
        let first = opened()
            .filter_map(source)
            .find(|s| !s.tracer.joins_runs)
            .or_else(|| opened().find_map(source));
        let relates = |file: &Candidate| match (source(file), first) {
            (Some(source), Some(first)) => {
                std::ptr::eq(source, first)
                    || (unix(first) && unix(source))
                    || options.shift_of(file.arg).is_some()
            }
            _ => true,
        };
        opened().filter(|f| relates(f)).cloned().collect()
    }

    /// True when the model holds something of a file that is not kept.
    fn is_mixed(&self, files: &[Candidate], kept: &[Candidate]) -> bool {
        let kept: BTreeSet<&Path> = kept.iter().map(|f| f.file.path.as_path()).collect();
        files
            .iter()
            .any(|f| !kept.contains(f.file.path.as_path()) && self.source_of(f).is_some())
    }

    /// What to remember of a reading that is given up for one of the kept files alone.
    fn into_before(self, kept: &[Candidate]) -> Before {
        let first = kept.first().and_then(|first| self.source_of(first));
        Before {
            first_unix: first.is_some_and(|s| matches!(s.clock, Clock::Unix { .. })),
            failed: self.failed,
        }
    }

    /// Says which files of the first reading are not in this one.
    fn explain_left_out(&mut self, before: Before, files: &[Candidate], kept: &[Candidate]) {
        let stays: BTreeSet<&Path> = kept.iter().map(|f| f.file.path.as_path()).collect();
        let Some(first) = kept.first() else {
            return;
        };
        let first_name = file_name(&first.file.path);
        let failed: BTreeSet<&Path> = before.failed.iter().map(|(p, _)| p.as_path()).collect();
        let left_out: Vec<&Candidate> = files
            .iter()
            .filter(|f| {
                !stays.contains(f.file.path.as_path()) && !failed.contains(f.file.path.as_path())
            })
            .collect();
        let few = if left_out.len() > NAMED {
            // A notice each would bury all others.
            self.explain_many(&left_out, &first_name, before.first_unix);
            Vec::new()
        } else {
            left_out
        };
        for file in few {
            self.report.note_path(
                NoticeKind::Skipped,
                "clock_unrelated",
                &file.file.path,
                {
                    let who = if before.first_unix {
                        file_name(&file.file.path)
                    } else {
                        first_name.clone()
                    };
                    format!(
                        "{} was not opened with {first_name}: {who} does not say when its time zero was, so the two \
                         cannot be put on one axis. Open it alone, or give its shift by hand.",
                        file_name(&file.file.path),
                    )
                },
            );
        }
        self.failed.extend(before.failed);
    }

    /// One notice for many files whose clocks do not relate.
    fn explain_many(&mut self, files: &[&Candidate], first_name: &str, first_unix: bool) {
        let names: Vec<String> = files.iter().map(|f| file_name(&f.file.path)).collect();
        let count = files.len() as u64;
        let who = if first_unix {
            "they do".to_owned()
        } else {
            format!("{first_name} does")
        };
        self.report.note_many(NoticeKind::Skipped, "clock_unrelated", None, count, &[], || {
            format!(
                "Files were not opened with {first_name} ({}): {who} not say when time zero was, so they cannot be put \
                 on one axis. Open them alone, or give their shifts by hand.",
                some_names(&names, count),
            )
        });
    }
}

/// Sets the shifts that the user gave, and shows them.
fn shift_by_hand(
    builder: &mut TraceBuilder,
    report: &mut ImportReport,
    files: &[Candidate],
    options: &OpenOptions,
) {
    for file in files {
        let Some(shift) = options.shift_of(file.arg) else {
            continue;
        };
        let sources = builder.so_far().sources();
        let Some(at) = sources.iter().position(|s| s.path == file.file.path) else {
            continue;
        };
        let id = SourceId(u32::try_from(at).unwrap_or(u32::MAX));
        builder.source_mut(id).shift_ns = shift;
        let text = crate::time::format_ns(shift);
        if let Some(entry) = report.files.iter_mut().find(|f| f.source == Some(id)) {
            entry.facts.push(("shift by hand".to_owned(), text.clone()));
        }
        report.note(NoticeKind::Info, "shifted", Some(id), None, || {
            format!("Moved by {text} by hand.")
        });
    }
}

/// The refusal when no path holds a trace.
pub(crate) fn nothing_found(paths: &[PathBuf], looked: &Looked) -> LoadError {
    if let Some(error) = looked.refusals.first() {
        return error.clone();
    }
    let path = paths.first().cloned().unwrap_or_default();
    let cause = match (paths.is_empty(), looked.files_seen) {
        (true, _) => "No file was given.".to_owned(),
        _ if looked.first_note().is_some() => {
            format!(
                "No trace was found in it. {}",
                looked.first_note().unwrap_or_default()
            )
        }
        (false, 0) => "The folder is empty.".to_owned(),
        (false, n) => format!(
            "No trace was found in it ({} {} looked at).",
            crate::time::format_count(n),
            if n == 1 { "file was" } else { "files were" }
        ),
    };
    LoadError::new(
        ErrorKind::NothingInside,
        &path,
        cause,
        importers::supported(),
    )
}

/// Notices about the whole trace.
fn conclude(trace: &Trace, report: &mut ImportReport) {
    let several = trace.sources().len() > 1;
    let hosts: BTreeSet<&str> = trace
        .processes()
        .iter()
        .filter_map(|p| p.host.as_deref())
        .collect();
    if several && hosts.len() > 1 {
        let names: Vec<&str> = hosts.iter().copied().take(4).collect();
        let more = if hosts.len() > names.len() {
            ", …"
        } else {
            ""
        };
        report.note(NoticeKind::Guessed, "hosts_differ", None, None, || {
            format!(
                "The files are of {} hosts ({}{more}): how far their clocks are apart is not known.",
                hosts.len(),
                names.join(", "),
            )
        });
    }
    note_unrelated_clocks(trace, report);
    note_far_apart(trace, report);
    note_outside(trace, report);
    note_anomalies(trace, report);
    // Spans that do not count are there to be seen.
    if trace.spans().is_empty() && !report.has("no_spans") {
        report.note(NoticeKind::NotRecorded, "no_spans", None, None, || {
            if trace.counters().is_empty() && trace.instants().is_empty() {
                "Nothing to draw: no spans were recorded.".to_owned()
            } else {
                "No spans were recorded, only counters or instants.".to_owned()
            }
        });
    }
}

fn note_unrelated_clocks(trace: &Trace, report: &mut ImportReport) {
    if trace.sources().len() < 2 {
        return;
    }
    for (i, source) in trace.sources().iter().enumerate() {
        if source.clock == Clock::Unknown {
            let id = SourceId(u32::try_from(i).unwrap_or(u32::MAX));
            report.note(NoticeKind::Guessed, "clock", Some(id), None, || {
                format!(
                    "{} does not say when its time zero was: it starts where the trace starts, moved by {} by hand.",
                    file_name(&source.path),
                    crate::time::format_ns(source.shift_ns),
                )
            });
        }
    }
}

/// Files that do not overlap in time by far are hardly of one run.
fn note_far_apart(trace: &Trace, report: &mut ImportReport) {
    const HOUR: i64 = 3_600_000_000_000;
    let mut ranges: Vec<Option<crate::time::TimeRange>> = vec![None; trace.sources().len()];
    for lane in trace.lanes() {
        let spans = lane.spans.clone();
        if spans.is_empty() {
            continue;
        }
        let starts = &trace.spans().starts()[spans.start as usize..spans.end as usize];
        let slot = &mut ranges[lane.source.index()];
        let (first, last) = (starts[0], starts[starts.len() - 1]);
        *slot = Some(slot.map_or(crate::time::TimeRange::new(first, last), |r| {
            crate::time::TimeRange::new(r.start.min(first), r.end.max(last))
        }));
    }
    let mut ranges: Vec<_> = ranges.into_iter().flatten().collect();
    ranges.sort_unstable();
    let mut end = i64::MIN;
    let mut gap = 0;
    for range in &ranges {
        if end != i64::MIN {
            gap = gap.max(range.start.saturating_sub(end));
        }
        end = end.max(range.end);
    }
    if gap > HOUR {
        report.note(NoticeKind::Guessed, "files_far_apart", None, None, || {
            format!(
                "Between two of the files lie {} hours without anything recorded: they are hardly of one run. Open \
                 the files of one run only.",
                crate::time::format_count(gap.unsigned_abs() / HOUR.unsigned_abs())
            )
        });
    }
}

/// Spans of what joins runs that lie outside of them: no view reaches there.
fn note_outside(trace: &Trace, report: &mut ImportReport) {
    let (spans, extent) = (trace.spans(), trace.extent());
    let joins = |id: SourceId| trace.source(id).tracer.joins_runs;
    if trace.sources().iter().all(|s| s.tracer.joins_runs) {
        return;
    }
    for id in trace.lane_ids() {
        let source = trace.lane(id).source;
        if !joins(source) {
            continue;
        }
        let ranges = trace.lane_spans(id).map(|span| spans.range(span));
        let outside = ranges.filter(|r| r.start >= extent.end || r.end <= extent.start);
        let count = outside.count() as u64;
        report.note_many(NoticeKind::Info, "outside_runs", Some(source), count, &[], || {
            "Spans lie before the run begins or after it ends, where no view reaches: open the file alone to see them."
                .to_owned()
        });
    }
}

fn note_anomalies(trace: &Trace, report: &mut ImportReport) {
    note_overlaps(trace, report);
    let texts = [
        (
            "crowded_rows",
            NoticeKind::Info,
            "More than 65,535 spans of one lane are open at once: the rest are drawn on its last row.",
        ),
        (
            "negative_dur",
            NoticeKind::Repaired,
            "Spans had a negative duration: it was set to 0.",
        ),
        (
            "clamped_time",
            NoticeKind::Repaired,
            "Times lie outside any plausible range: they were moved to its edge.",
        ),
        (
            "many_categories",
            NoticeKind::Guessed,
            "There are more categories than can be told apart (65,534): the rest share one.",
        ),
        (
            "far_source",
            NoticeKind::Repaired,
            "Files lie more than 73 years before or 146 years after the start of the trace, by their clocks or shifts: they were moved to the edge of that.",
        ),
        (
            "op_before_launch",
            NoticeKind::Info,
            "GPU operations start before the call that launched them: their delay counts as 0.",
        ),
        (
            "two_launches",
            NoticeKind::Info,
            "GPU operations have two launching calls: the first one counts.",
        ),
    ];
    for (code, kind, text) in texts {
        let count = trace.anomalies().get(code).copied().unwrap_or(0);
        if !report.has(code) {
            report.note_many(kind, code, None, count, &[], || text.to_owned());
        }
    }
}

/// Spans that overlap without nesting, those of GPU streams apart: there it changes what busy time means.
fn note_overlaps(trace: &Trace, report: &mut ImportReport) {
    let overlaps = |gpu: bool| -> u64 {
        let lanes = trace.lanes().iter().filter(|l| l.kind.is_gpu() == gpu);
        lanes.map(|l| l.overlaps).sum()
    };
    let (gpu, other) = (overlaps(true), overlaps(false));
    let code = "overlapping_spans";
    report.note_many(NoticeKind::Info, code, None, gpu + other, &[], || {
        let mut text = "Spans of one lane overlap partly: they are drawn on rows of their own.".to_owned();
        if gpu > 0 {
            text = format!(
                "{text} {} of them are on GPU streams, whose busy time counts overlapping time once.",
                crate::time::format_count(gpu)
            );
        }
        text
    });
}
