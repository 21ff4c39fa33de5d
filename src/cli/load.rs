//! Opening traces for a command: progress on a terminal, errors as exit codes.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::CliError;
use super::args::Open;
use super::losses::{self, Losses};
use super::messages::note;
use super::table;
use crate::import::{self, ImportReport, Loaded, MOST_THREADS, OpenOptions, Progress};
use crate::model::Trace;
use crate::output::{self, Conflict};
use crate::time::format_count;

/// How often the progress line changes.
const TICK: Duration = Duration::from_millis(150);
/// How long the program works before it says how far it is.
const QUIET: Duration = Duration::from_secs(1);
/// Characters of the progress line: one that wraps could not be taken back.
const ROOM: usize = 78;

/// When the program first had something to do.
static BEGUN: OnceLock<Instant> = OnceLock::new();

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
    spare_stdout(paths)?;
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
    // What was lost has been told, and has an exit code of its own.
    let whole = !losses.unread && !losses.incomplete;
    if whole
        && trace.spans().is_empty()
        && trace.instants().is_empty()
        && trace.counters().is_empty()
    {
        return Err(CliError::Empty(match paths {
            [path] => format!("{} holds no events.", path.display()),
            _ => "None of these files holds events.".to_owned(),
        }));
    }
    Ok(Opened {
        trace: Arc::new(trace),
        report,
        losses,
        seconds,
    })
}

/// Refuses to print to a file that is read: `report t.json >> t.json`.
pub fn spare_stdout(paths: &[PathBuf]) -> Result<(), CliError> {
    let files = paths
        .iter()
        .filter(|p| p.is_file() || p.as_os_str() == "-")
        .map(PathBuf::as_path);
    match output::conflict(Path::new("/dev/stdout"), b"", files) {
        Some(conflict @ Conflict::Input(_)) => Err(CliError::Usage(format!(
            "Nothing is printed: {}. Send it to another file.",
            table::printable(&conflict.to_string())
        ))),
        _ => Ok(()),
    }
}

/// Runs `work` and meanwhile writes its progress, if somebody watches.
fn watch<T>(work: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::new();
    let line = || {
        let (done, total) = (progress.done(), progress.total());
        // Bytes are counted once their block was read: before, there is nothing to say of them.
        let of = match (done, total) {
            (0, _) | (_, 0) => String::new(),
            _ => format!("{} of {}, ", table::bytes(done), table::bytes(total)),
        };
        let events = format_count(progress.events());
        format!("{}: {of}{events} events", progress.phase().label())
    };
    watched(&line, || work(&progress))
}

/// Runs `work`, of which nobody knows how far it is.
pub fn working<T>(what: &str, work: impl FnOnce() -> T) -> T {
    watched(&|| format!("{what} …"), work)
}

/// Runs `work` and meanwhile writes on stderr how far it is, while that is a terminal and the program has worked for a
/// while.
pub fn watched<T>(line: &(impl Fn() -> String + Sync), work: impl FnOnce() -> T) -> T {
    BEGUN.get_or_init(Instant::now);
    let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
    if dumb || !std::io::stderr().is_terminal() {
        return work();
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let shown = std::thread::Builder::new()
            .name("stallscope-progress".to_owned())
            .spawn_scoped(scope, || show(line, &over));
        // Also where the work panics: the scope waits for that thread.
        let ends = Ends(&over);
        let result = work();
        drop(ends);
        // Without a thread there is no progress line; the work is done all the same.
        if let Ok(thread) = shown {
            thread.thread().unpark();
        }
        result
    })
}

/// Says that something is over when it is dropped.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn show(line: &impl Fn() -> String, over: &AtomicBool) {
    let mut err = std::io::stderr();
    let mut shown = false;
    let begun = BEGUN.get_or_init(Instant::now);
    while !over.load(Ordering::Relaxed) {
        std::thread::park_timeout(TICK);
        if over.load(Ordering::Relaxed) || begun.elapsed() < QUIET {
            continue;
        }
        shown = true;
        let _ = write!(err, "\r\x1b[K{}", table::shorten(&line(), ROOM));
        let _ = err.flush();
    }
    if shown {
        let _ = write!(err, "\r\x1b[K");
        let _ = err.flush();
    }
}
