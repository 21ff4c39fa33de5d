//! DFTracer and DLIO profiler traces.

use super::{Context, ErrorKind, Input, LoadError};

pub(super) fn import(inputs: Vec<Input>, _ctx: &mut Context<'_>) -> Result<(), LoadError> {
    Err(LoadError::new(
        ErrorKind::Unsupported,
        &inputs[0].path,
        "DFTracer.",
        "",
    ))
}
