//! Nsight Systems SQLite exports.

use std::path::Path;

use super::{Context, ErrorKind, LoadError};

pub(super) fn import(path: &Path, _ctx: &mut Context<'_>) -> Result<(), LoadError> {
    Err(LoadError::new(ErrorKind::Unsupported, path, "Nsight.", ""))
}
