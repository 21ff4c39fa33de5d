//! `stallscope schema`: what the JSON of a command and the tables hold, for programs.

use std::io::{self, Write};

use super::CliError;
use super::args::Schema;

/// Runs the command.
pub fn run(args: &Schema, out: &mut dyn Write) -> Result<u8, CliError> {
    let text = serde_json::to_string_pretty(&args.what.schema(false)).map_err(io::Error::from)?;
    writeln!(out, "{text}")?;
    Ok(0)
}
