//! Chrome-trace JSON.

use super::{Context, ErrorKind, Input, LoadError};

pub(super) fn import(input: Input, _ctx: &mut Context<'_>) -> Result<(), LoadError> {
    Err(LoadError::new(
        ErrorKind::Unsupported,
        &input.path,
        "Chrome JSON.",
        "",
    ))
}
