//! Ranks that need not fit into memory together: each is opened alone, reduced to a row, and closed; then the rows are
//! judged beside each other.
//!
//! ```text
//!  paths ─▶ Files ─▶ units, opened one by one ─▶ pieces ─▶ runs of ranks ─▶ Across
//!                    as many at once as memory allows      same rank twice: one rank, or another run
//! ```
//!
//! Owns which files are of which rank and how much is in memory at once. Figures are those of `analysis`, and the order
//! in which files happen to be ready changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::analysis::{Across, ClockSettings, Rules};
use crate::import::{ErrorKind, Files, LoadError, Progress};

mod gate;
mod group;
mod open;

pub use open::{Onlooker, OpenRank};

/// How ranks are opened.
#[derive(Clone, Debug)]
pub struct How {
    /// Files that are opened at once, at least one.
    pub jobs: usize,
    /// Bytes that traces and rows together may take, about.
    pub memory: u64,
    /// Rules of layers.
    pub rules: Rules,
    /// What is assumed of clocks.
    pub clocks: ClockSettings,
}

/// Bytes of memory for one file that is opened beside others.
const PER_JOB: u64 = 4 << 30;

impl How {
    /// Half of what is free, as many files at once as that and the cores allow.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        let free = crate::import::free_memory().unwrap_or(2 * PER_JOB);
        Self::with_memory(rules, free / 2)
    }

    /// As many files at once as memory and cores allow.
    #[must_use]
    pub fn with_memory(rules: Rules, memory: u64) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let fit = usize::try_from(memory / PER_JOB).unwrap_or(usize::MAX);
        Self {
            jobs: fit.clamp(1, cores),
            memory,
            rules,
            clocks: ClockSettings::default(),
        }
    }
}

/// How far the opening of ranks is, for whoever watches; and how it is stopped.
#[derive(Debug, Default)]
pub struct Watch {
    /// Of the files that are being read: bytes and events; cancels.
    pub progress: Arc<Progress>,
    done: AtomicUsize,
    total: AtomicUsize,
}

impl Watch {
    /// Nothing done yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Files that are done, and how many there are; 0 while that is unknown.
    #[must_use]
    pub fn files(&self) -> (usize, usize) {
        let of = |n: &AtomicUsize| n.load(Ordering::Relaxed);
        (of(&self.done), of(&self.total))
    }
}

/// A file or folder that no rank came of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unread {
    /// Where it lies.
    pub file: PathBuf,
    /// Why it could not be read.
    pub why: String,
}

/// What is to be told of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Short and stable.
    pub code: String,
    /// How often it holds.
    pub count: u64,
    /// What it is.
    pub text: String,
    /// How much it means.
    pub level: ToldLevel,
    /// The file that it concerns, where it is one.
    pub file: Option<PathBuf>,
}

/// How much something means that is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToldLevel {
    /// Nothing is wrong.
    Info,
    /// Something is missing or guessed.
    Warning,
    /// Something was not read at all.
    Error,
}

impl ToldLevel {
    /// `info`, `warning`, `error`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What is to be told of ranks, those with the same reason together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanksNotice {
    /// Its reason.
    pub code: String,
    /// How many ranks have it.
    pub ranks: usize,
    /// How often in all of them.
    pub count: u64,
    /// What it says of the first of them.
    pub text: String,
}

/// The files of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankFiles {
    /// Where they lie.
    pub paths: Vec<PathBuf>,
    /// Their bytes on disk.
    pub bytes: u64,
    /// Notices of their import and of their analysis, and of its run.
    pub told: Vec<Told>,
    /// What the [`Onlooker`] said of it, if there was one.
    pub seen: Option<usize>,
    /// Not all of them was read.
    pub incomplete: bool,
}

/// The ranks of one run.
#[derive(Debug)]
pub struct RunOfRanks {
    /// Its name: `before`, `before#2`.
    pub name: String,
    /// The ranks beside each other.
    pub across: Across,
    /// By place.
    pub files: Vec<RankFiles>,
}

impl RunOfRanks {
    /// There are several ranks, and who of them is late cannot be told: none of their collectives could be matched.
    #[must_use]
    pub fn untold(&self) -> bool {
        self.across.rows.len() > 1 && self.across.job.matched == 0
    }
}

/// All that was found.
#[derive(Debug)]
pub struct Ranks {
    /// At least one, by time.
    pub runs: Vec<RunOfRanks>,
    /// By path.
    pub unread: Vec<Unread>,
    /// By reason.
    pub notices: Vec<RanksNotice>,
    /// What is told of no rank.
    pub told: Vec<Told>,
}

/// From more files than this on, ranks are looked at one by one first: so many lanes are no timeline.
pub const MANY: usize = 16;

/// Whether paths hold more files of ranks than [`MANY`]. Where they cannot be looked at, opening them says why.
#[must_use]
pub fn are_many(paths: &[PathBuf], progress: &Progress) -> bool {
    let Ok(files) = Files::look(paths, progress) else {
        return false;
    };
    files
        .all()
        .filter(|f| !f.together && !f.tracer.joins_runs)
        .count()
        > MANY
}

/// The files of some ranks of the first run below some paths. Names of files tell where they can; else all are opened.
///
/// They can where every file names a rank and no two the same: then no rank has a second file, and there is one run. That
/// such a file states another rank than its name does is not looked at, as what it states may stand anywhere in it:
/// whoever renamed it gets the file of that name.
///
/// # Errors
/// Where there is no such rank, or nothing can be read, and on cancel.
pub fn files_of(
    paths: &[PathBuf],
    numbers: &[u32],
    how: &How,
    watch: &Watch,
) -> Result<Vec<PathBuf>, LoadError> {
    let files = Files::look(paths, &watch.progress)?;
    let by_name = names(&files).unwrap_or_default();
    let named = |n: &u32| by_name.get(n).cloned();
    let found: Option<BTreeSet<PathBuf>> = numbers.iter().map(named).collect();
    if let Some(found) = found {
        return Ok(found.into_iter().collect());
    }
    let all = open(paths, "", how, watch)?;
    let Some(run) = all.runs.first() else {
        return Ok(Vec::new());
    };
    let known = &run.across.run.numbers;
    let mut out = BTreeSet::new();
    for number in numbers {
        let Ok(place) = known.binary_search(number) else {
            let path = paths.first().cloned().unwrap_or_default();
            let cause = format!("There is no rank {number} among the {} of it.", known.len());
            let remedy = "`stallscope ranks` lists them.";
            return Err(LoadError::new(
                ErrorKind::NothingInside,
                &path,
                cause,
                remedy,
            ));
        };
        out.extend(run.files[place].paths.clone());
    }
    Ok(out.into_iter().collect())
}

/// Files by the ranks that their names state, but those of a tracer that belongs to no rank; `None` where a name states
/// none, or two the same.
fn names(files: &Files) -> Option<BTreeMap<u32, PathBuf>> {
    let mut out = BTreeMap::new();
    for file in files.all().filter(|f| !f.tracer.joins_runs) {
        if out
            .insert(file.rank_of_name?, file.path.to_owned())
            .is_some()
        {
            return None;
        }
    }
    Some(out)
}

/// Opens files and folders rank by rank. `name` is that of the run.
///
/// # Errors
/// When no rank can be read at all, and on cancel.
pub fn open(paths: &[PathBuf], name: &str, how: &How, watch: &Watch) -> Result<Ranks, LoadError> {
    open_before(None, paths, name, how, watch)
}

/// Opens files and folders rank by rank as [`open`] does, before the eyes of somebody.
///
/// # Errors
/// As those of [`open`].
pub fn open_before(
    onlooker: Option<&dyn Onlooker>,
    paths: &[PathBuf],
    name: &str,
    how: &How,
    watch: &Watch,
) -> Result<Ranks, LoadError> {
    let files = Files::look(paths, &watch.progress)?;
    let units = group::units(&files);
    watch.total.store(units.open.len(), Ordering::Relaxed);
    let stream = open::Stream::new(&files, how, watch, onlooker);
    let opened = stream.all(&units.open)?;
    group::runs(&stream, units, opened, name)
}
