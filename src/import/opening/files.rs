//! The files below some paths, to be opened a few at a time: what does not fit into memory together.

use std::path::{Path, PathBuf};

use super::open::{self, Loaded};
use crate::import::contract::error::LoadError;
use crate::import::contract::names::rank_of_name;
use crate::import::contract::options::OpenOptions;
use crate::import::contract::progress::Progress;
use crate::import::contract::report::{ImportReport, Loss};
use crate::import::on_own_threads;
use crate::import::recognise::candidate::Candidate;
use crate::import::recognise::find::{self, Looked};
use crate::import::recognise::memory;
use crate::model::TracerFacts;

/// Files that may hold traces, in the order of their paths.
pub struct Files {
    looked: Looked,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct FileFound<'a> {
    /// Where it lies.
    pub path: &'a Path,
    /// Bytes on disk.
    pub bytes: u64,
    /// Who wrote it.
    pub tracer: &'static TracerFacts,
    /// Bytes that its model takes at its largest, about.
    pub memory: u64,
    /// It says little without the other files of its tracer, which are to be opened with it.
    pub together: bool,
    /// The rank that its name states.
    pub rank_of_name: Option<u32>,
}

impl Files {
    /// Looks at paths; reads nothing but heads.
    ///
    /// # Errors
    /// When nothing was found, and on cancel.
    pub fn look(paths: &[PathBuf], progress: &Progress) -> Result<Self, LoadError> {
        let mut looked = find::look(paths, &OpenOptions::default(), progress)?;
        if looked.candidates.is_empty() {
            return Err(open::nothing_found(paths, &looked));
        }
        // Whatever order the paths were given in.
        let path = |c: &Candidate| c.file.path.clone().into_os_string();
        looked.candidates.sort_by_cached_key(path);
        Ok(Self { looked })
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.looked.candidates.len()
    }

    /// True without any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them.
    pub fn all(&self) -> impl ExactSizeIterator<Item = FileFound<'_>> {
        self.looked.candidates.iter().map(|c| FileFound {
            path: &c.file.path,
            bytes: c.file.disk_bytes,
            tracer: c.importer.facts(),
            memory: memory::estimate(c),
            together: c.importer.together(),
            rank_of_name: rank_of_name(&c.file.path),
        })
    }

    /// What lies there and cannot be read, with the reason.
    #[must_use]
    pub fn refused(&self) -> Vec<(PathBuf, String)> {
        let mut report = ImportReport::default();
        self.looked.report(&mut report);
        let lost = report.notices.into_iter();
        let lost = lost.filter(|n| n.loss == Loss::File);
        lost.filter_map(|n| Some((n.path?, n.text))).collect()
    }

    /// Opens some of them as one trace, by their places.
    ///
    /// # Errors
    /// When nothing can be read from them, and on cancel.
    ///
    /// # Panics
    /// If there are no such files.
    pub fn open(
        &self,
        which: &[usize],
        options: &OpenOptions,
        progress: &Progress,
    ) -> Result<Loaded, LoadError> {
        let all = &self.looked.candidates;
        let chosen: Vec<Candidate> = which.iter().map(|&i| all[i].clone()).collect();
        on_own_threads(options, || open::read(&chosen, None, options, progress))
    }
}

/// Bytes of memory that can be used, where the system tells: what is free, within the limits of this process and of the
/// control groups around it.
#[must_use]
pub fn free_memory() -> Option<u64> {
    memory::available().map(|(bytes, _limit)| bytes)
}
