//! Opening traces beside the window: one named thread reads and analyses, the window watches its progress.
//!
//! The only place of the window that reads traces. The open trace stays until the next one is ready; a cancelled
//! opening is forgotten at once and its thread ends at its next look at the flag.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use crate::analysis::Rules;
use crate::app::model::compared::{Compared, Side};
use crate::app::model::document::Document;
use crate::app::model::settings;
use crate::import::{self, ErrorKind, LoadError, OpenOptions, Phase, Progress};
use crate::ranks::{self, How, Ranks, Watch};
use crate::samples::SAMPLES;
use crate::session::{Session, WhereNow, content_key, is_session};

/// How long the rate of reading is averaged over.
const RATE_WINDOW: Duration = Duration::from_secs(2);

/// What to open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Files and folders, opened as one trace.
    pub paths: Vec<PathBuf>,
    /// A bundled sample instead of paths, by its place in [`SAMPLES`].
    pub sample: Option<usize>,
    /// Open even if memory may not suffice.
    pub anyway: bool,
    /// Open as one timeline, however many ranks there are; else many of them are opened one by one.
    pub whole: bool,
    /// Of the files only those of these ranks; all where none is named.
    pub ranks: Vec<u32>,
    /// Keys of lanes that are loops, whatever the evidence says.
    pub loops: Vec<String>,
    /// How long the opening waits at its start: lets tests see and cancel it.
    pub delay: Duration,
}

/// How an opening ended.
pub enum Outcome {
    /// A trace.
    Opened(Box<Document>),
    /// A trace that the open one is compared with.
    Compared(Box<Compared>),
    /// Many ranks, one by one.
    Ranks(Box<Ranks>),
    /// A session with where its traces are, or which one is nowhere.
    Session(Box<Session>, WhereNow),
    /// Nothing could be read.
    Failed(LoadError),
}

/// An opening that runs.
pub struct Loading {
    /// What is opened.
    pub request: Request,
    watch: Arc<Watch>,
    outcome: Receiver<Outcome>,
    started: Instant,
    samples: Vec<(Instant, u64)>,
}

/// What the window shows of a running opening.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// What it is doing.
    pub phase: Phase,
    /// Bytes read.
    pub done: u64,
    /// Bytes in all; 0 while unknown.
    pub total: u64,
    /// Events so far.
    pub events: u64,
    /// Files that are done and all of them, where they are opened one by one.
    pub files: Option<(usize, usize)>,
    /// Bytes per second over the last two seconds.
    pub rate: f64,
    /// Seconds that reading will still take, where that can be told.
    pub left: Option<f64>,
    /// Seconds since the start.
    pub elapsed: f64,
}

impl Loading {
    /// Starts an opening. `wake` is called when it ended.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(request: Request, wake: impl Fn() + Send + 'static) -> Result<Self, LoadError> {
        Self::begin(request, None, wake)
    }

    /// Starts opening what a trace is compared with, and comparing them.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn compare(
        request: Request,
        after: Side,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self, LoadError> {
        Self::begin(request, Some(after), wake)
    }

    fn begin(
        request: Request,
        after: Option<Side>,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self, LoadError> {
        let watch = Arc::new(Watch::new());
        let (send, outcome) = sync_channel(1);
        let (theirs, job) = (Arc::clone(&watch), request.clone());
        let path = request.paths.first().cloned().unwrap_or_default();
        std::thread::Builder::new()
            .name("stallscope-open".to_owned())
            .spawn(move || {
                let result = compared(open(&job, &theirs), after, &theirs.progress);
                // Nobody listens after a cancel.
                let _ = send.send(result);
                wake();
            })
            .map_err(|e| LoadError::io(&path, &e))?;
        Ok(Self {
            request,
            watch,
            outcome,
            started: Instant::now(),
            samples: Vec::new(),
        })
    }

    /// The outcome, once there is one.
    pub fn poll(&mut self) -> Option<Outcome> {
        match self.outcome.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Outcome::Failed(LoadError::new(
                ErrorKind::Corrupt,
                &self.path(),
                "Reading this file failed unexpectedly.",
                "Please report it with the file, if you can share it.",
            ))),
        }
    }

    /// Asks the thread to stop.
    pub fn cancel(&self) {
        self.watch.progress.cancel();
    }

    /// How far it is; also after it was cancelled.
    #[must_use]
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.watch.progress)
    }

    /// What is opened, in short.
    #[must_use]
    pub fn name(&self) -> String {
        match self.request.sample.and_then(|i| SAMPLES.get(i)) {
            Some(sample) => sample.title.to_owned(),
            None => settings::recent_text(&self.request.paths).0,
        }
    }

    /// The first path.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.request.paths.first().cloned().unwrap_or_default()
    }

    /// Progress now.
    pub fn snapshot(&mut self) -> Snapshot {
        let now = Instant::now();
        let (done, total) = (self.watch.progress.done(), self.watch.progress.total());
        self.samples.push((now, done));
        let recent = |at: Instant| now.duration_since(at) <= RATE_WINDOW;
        let keep = self.samples.partition_point(|s| !recent(s.0));
        self.samples.drain(..keep);
        let first = self.samples[0];
        let seconds = now.duration_since(first.0).as_secs_f64();
        let rate = if seconds > 0.05 {
            (done - first.1.min(done)) as f64 / seconds
        } else {
            0.0
        };
        let left = (total > done && rate > 0.0).then(|| (total - done) as f64 / rate);
        Snapshot {
            phase: self.watch.progress.phase(),
            done,
            total,
            events: self.watch.progress.events(),
            files: Some(self.watch.files()).filter(|f| f.1 > 0),
            rate,
            left,
            elapsed: now.duration_since(self.started).as_secs_f64(),
        }
    }
}

/// Compares what was opened, if it is to be.
fn compared(opened: Outcome, after: Option<Side>, progress: &Progress) -> Outcome {
    let Some(after) = after else {
        return opened;
    };
    let before = match opened {
        Outcome::Opened(before) => before,
        failed => return failed,
    };
    let path = before.paths.first().cloned().unwrap_or_default();
    match Compared::new(*before, after, progress) {
        Ok(compared) => Outcome::Compared(Box::new(compared)),
        Err(_cancelled) => Outcome::Failed(LoadError::cancelled(&path)),
    }
}

/// Reads, analyses and prepares for drawing.
fn open(request: &Request, watch: &Watch) -> Outcome {
    let progress = &*watch.progress;
    let begun = Instant::now();
    while begun.elapsed() < request.delay && !progress.is_cancelled() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let paths = match request.sample.and_then(|i| SAMPLES.get(i)) {
        None => request.paths.clone(),
        Some(sample) => match sample.unpack() {
            Ok(path) => vec![path],
            Err(error) => {
                return Outcome::Failed(LoadError::io(sample.name.as_ref(), &error));
            }
        },
    };
    if let [path] = &paths[..]
        && let Some(outcome) = session(path)
    {
        return outcome;
    }
    let paths = match by_rank(request, paths, watch) {
        Ok(paths) => paths,
        Err(outcome) => return outcome,
    };
    let options = OpenOptions {
        force: request.anyway,
        ..OpenOptions::default()
    };
    let loaded = match import::open(&paths, &options, progress) {
        Ok(loaded) => loaded,
        Err(error) => return Outcome::Failed(error),
    };
    progress.set_phase(Phase::Analysing);
    let key = content_key(&paths);
    match Document::new(paths.clone(), key, loaded, &request.loops, progress) {
        Ok(mut document) => {
            document.seconds = begun.elapsed().as_secs_f64();
            document.is_sample = request.sample.is_some();
            Outcome::Opened(Box::new(document))
        }
        Err(_cancelled) => {
            let path = paths.first().cloned().unwrap_or_default();
            Outcome::Failed(LoadError::cancelled(&path))
        }
    }
}

/// What a session file says and where its traces are; `None` for other files.
fn session(path: &Path) -> Option<Outcome> {
    if !is_session(path) {
        return None;
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    Some(match Session::read(path) {
        Ok(session) => {
            let found = session.find(folder);
            Outcome::Session(Box::new(session), found)
        }
        Err(error) => Outcome::Failed(LoadError::new(
            ErrorKind::Corrupt,
            path,
            "This session file cannot be read.",
            format!("The reason: {error}."),
        )),
    })
}

/// The files to open as one timeline; else what came of many ranks.
fn by_rank(request: &Request, paths: Vec<PathBuf>, watch: &Watch) -> Result<Vec<PathBuf>, Outcome> {
    let how = || How::new(Rules::builtin());
    if !request.ranks.is_empty() {
        let found = ranks::files_of(&paths, &request.ranks, &how(), watch);
        return found.map_err(Outcome::Failed);
    }
    let many = !request.whole && ranks::are_many(&paths, &watch.progress);
    if !many {
        return Ok(paths);
    }
    let name = settings::recent_text(&paths).0;
    Err(match ranks::open(&paths, &name, &how(), watch) {
        Ok(ranks) => Outcome::Ranks(Box::new(ranks)),
        Err(error) => Outcome::Failed(error),
    })
}

/// `9.1 GiB`, `120 MiB`, `5 KiB`.
#[must_use]
pub fn bytes_text(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["bytes", "KiB", "MiB", "GiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(unit == 3 || (unit > 0 && value < 10.0));
    format!("{value:.decimals$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_print_in_their_unit() {
        assert_eq!(bytes_text(5), "5 bytes");
        assert_eq!(bytes_text(5 << 10), "5.0 KiB");
        assert_eq!(bytes_text(120 << 20), "120 MiB");
        assert_eq!(bytes_text((9 << 30) + (1 << 27)), "9.1 GiB");
    }

    #[test]
    fn a_missing_file_is_reported_and_a_cancel_is_felt_at_once() {
        let request = Request {
            paths: vec![PathBuf::from("/nonexistent/x.json")],
            ..Request::default()
        };
        let (tell, told) = sync_channel(1);
        let mut loading = Loading::start(request.clone(), move || {
            let _ = tell.send(());
        })
        .expect("a thread");
        told.recv().expect("woken");
        assert!(matches!(loading.poll(), Some(Outcome::Failed(_))));

        let (tell, told) = sync_channel(1);
        let slow = Request {
            delay: Duration::from_secs(60),
            ..request
        };
        let loading = Loading::start(slow, move || {
            let _ = tell.send(());
        })
        .expect("a thread");
        loading.cancel();
        // It would sleep for a minute; how fast it ends is measured by `benches/cancel.rs`.
        told.recv_timeout(Duration::from_secs(20)).expect("ended");
    }
}
