//! From the chunks of all files of a run to the timeline.

pub(crate) mod hashes;
pub(crate) mod info;
pub(crate) mod run;
pub(crate) mod times;
