//! What everything in here shares: errors, progress, the report, and what an importer works with.

pub(crate) mod error;
pub(crate) mod file;
pub(crate) mod importer;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod tally;
