//! What an importer works with.

use super::progress::Progress;
use super::report::ImportReport;
use crate::model::TraceBuilder;

/// Times from here on, ns, can only be counted from 1970, and those of a recording in Unix time are not below it:
/// September 2001.
pub(crate) const UNIX_FROM: i64 = 1_000_000_000_000_000_000;

/// What an importer works with.
pub(crate) struct Context<'a> {
    /// Filled by all importers of one opening.
    pub builder: &'a mut TraceBuilder,
    /// What happened.
    pub report: &'a mut ImportReport,
    /// Progress and cancellation; looked at once per block.
    pub progress: &'a Progress,
}
