//! A file that is to be read, and by whom.

use crate::import::contract::file::TraceFile;
use crate::import::contract::importer::Importer;

/// A file that may be a trace.
#[derive(Clone)]
pub(crate) struct Candidate {
    /// Index of the path that was given.
    pub arg: usize,
    /// The file.
    pub file: TraceFile,
    /// Who reads it.
    pub importer: &'static dyn Importer,
    /// [`crate::import::bytes::head::Head::digest`].
    pub head: u64,
}
