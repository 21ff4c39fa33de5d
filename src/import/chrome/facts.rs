//! What is known of an input besides its events.

use std::path::PathBuf;

use crate::import::bytes::damage::{Damage, SharedGaps};

/// What is known of the input besides its events.
pub(super) struct Facts {
    pub path: PathBuf,
    pub disk_bytes: u64,
    pub inflated_bytes: u64,
    /// The bytes on disk are compressed.
    pub compressed: bool,
    pub damage: Option<Damage>,
    pub gaps: SharedGaps,
}
