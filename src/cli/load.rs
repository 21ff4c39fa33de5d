//! Opening traces for a command: progress on a terminal, errors as exit codes.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::CliError;
use super::args::Open;
use super::losses::{self, Losses};
use super::messages::note;
use super::table;
use crate::import::{self, ImportReport, Loaded, MOST_THREADS, OpenOptions, Progress};
use crate::model::Trace;
use crate::time::format_count;

/// How often the progress line changes.
const TICK: Duration = Duration::from_millis(150);

/// What was opened and how long it took.
pub struct Opened {
    /// The timeline.
    pub trace: Arc<Trace>,
    /// What happened while reading.
    pub report: ImportReport,
    /// What did not get into the timeline.
    pub losses: Losses,
    /// Wall time of reading.
    pub seconds: f64,
}

/// Opens `paths` as one trace. Shows progress on stderr while that is a terminal, and warns there of what could not be
/// read.
///
/// # Errors
/// When nothing can be read, and for a shift of a path that was not given.
pub fn open(paths: &[PathBuf], how: &Open) -> Result<Opened, CliError> {
    if let Some((index, _ns)) = how.shift.iter().find(|(i, _ns)| *i >= paths.len()) {
        return Err(CliError::Usage(format!(
            "--shift names path {}, but {} given.",
            index + 1,
            table::were(paths.len() as u64, "path")
        )));
    }
    if how.threads > MOST_THREADS {
        note(&format!(
            "--threads {} is more than {MOST_THREADS}: {MOST_THREADS} are used.",
            how.threads
        ));
    }
    let options = OpenOptions {
        shifts: how.shift.clone(),
        threads: how.threads,
        force: how.force,
    };
    let begun = Instant::now();
    let loaded = watch(|progress| import::open(paths, &options, progress))?;
    let Loaded { trace, mut report } = loaded;
    report.sort();
    let seconds = begun.elapsed().as_secs_f64();
    let losses = losses::look(paths, &trace, &report);
    Ok(Opened {
        trace: Arc::new(trace),
        report,
        losses,
        seconds,
    })
}

/// Runs `work` and meanwhile writes its progress, if somebody watches.
fn watch<T>(work: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::new();
    let line = || {
        let of = match progress.total() {
            0 => String::new(),
            total => format!(" of {}", table::bytes(total)),
        };
        format!(
            "{}: {}{of}, {} events",
            progress.phase().label(),
            table::bytes(progress.done()),
            format_count(progress.events()),
        )
    };
    watched(&line, || work(&progress))
}

/// Runs `work` and meanwhile writes on stderr how far it is, while that is a terminal.
pub fn watched<T>(line: &(impl Fn() -> String + Sync), work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let shown = std::thread::Builder::new()
            .name("stallscope-progress".to_owned())
            .spawn_scoped(scope, || show(line, &over));
        let result = work();
        over.store(true, Ordering::Relaxed);
        // Without a thread there is no progress line; the work is done all the same.
        if let Ok(thread) = shown {
            thread.thread().unpark();
        }
        result
    })
}

fn show(line: &impl Fn() -> String, over: &AtomicBool) {
    let mut err = std::io::stderr();
    let mut shown = false;
    let begun = Instant::now();
    while !over.load(Ordering::Relaxed) {
        std::thread::park_timeout(TICK);
        // What is read at once needs no progress.
        if over.load(Ordering::Relaxed) || begun.elapsed() < 2 * TICK {
            continue;
        }
        shown = true;
        let _ = write!(err, "\r\x1b[K{}", line());
        let _ = err.flush();
    }
    if shown {
        let _ = write!(err, "\r\x1b[K");
        let _ = err.flush();
    }
}
