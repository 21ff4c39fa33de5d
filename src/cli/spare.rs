//! Refuses to write over what is read.

use std::path::Path;

use super::CliError;
use super::table::printable;
use crate::output;

/// Refuses to write `what` (`The picture`) to a file that is read; `begins` is what files of its kind begin with.
pub fn spare<'a>(
    what: &str,
    output: &Path,
    begins: &[u8],
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), CliError> {
    let Some(conflict) = output::conflict(output, begins, inputs) else {
        return Ok(());
    };
    Err(CliError::Usage(format!(
        "{what} is not written: {}. Choose another file for -o.",
        printable(&conflict.to_string())
    )))
}
