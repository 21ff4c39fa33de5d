//! Progress and cancellation of an import, shared between the import threads and whoever watches.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use super::error::LoadError;

/// What an import is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Recognising files.
    Looking = 0,
    /// Reading and parsing.
    Reading = 1,
    /// Joining calls to GPU work.
    Linking = 2,
    /// Sorting, sub-rows.
    Sorting = 3,
    /// Computing overlaps.
    Analysing = 4,
}

impl Phase {
    /// For display.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Looking => "Looking at the files",
            Self::Reading => "Reading",
            Self::Linking => "Joining launches to GPU work",
            Self::Sorting => "Sorting",
            Self::Analysing => "Analysing",
        }
    }
}

/// Counters that the import threads update and others read at any time.
#[derive(Debug, Default)]
pub struct Progress {
    phase: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
    events: AtomicU64,
    cancel: AtomicBool,
}

impl Progress {
    /// Nothing done yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
    /// Enters a phase.
    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }
    /// The current phase.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Looking,
            1 => Phase::Reading,
            2 => Phase::Linking,
            3 => Phase::Sorting,
            _ => Phase::Analysing,
        }
    }
    /// Adds to the expected number of bytes on disk.
    pub fn add_total(&self, bytes: u64) {
        self.total.fetch_add(bytes, Ordering::Relaxed);
    }
    /// Adds bytes that were read from disk.
    pub fn add_done(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }
    /// Adds events that were read.
    pub fn add_events(&self, n: u64) {
        self.events.fetch_add(n, Ordering::Relaxed);
    }
    /// Bytes read so far.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
    /// Bytes expected; 0 while unknown.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
    /// Events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }
    /// Asks the import to stop soon.
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
    /// True once somebody asked to stop. Importers look at least once per block (a few megabytes) of input.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
    /// An error to return when somebody asked to stop.
    ///
    /// # Errors
    /// [`super::error::ErrorKind::Cancelled`] once somebody asked to stop.
    pub fn check(&self, path: &Path) -> Result<(), LoadError> {
        if self.is_cancelled() {
            Err(LoadError::cancelled(path))
        } else {
            Ok(())
        }
    }
}
