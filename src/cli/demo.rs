//! `stallscope demo`: a bundled sample, in the window or as a report.

use std::io::Write;
use std::path::PathBuf;

use clap::Parser;

use super::args::{Cli, Command, Demo};
use super::messages::note;
use super::table::sentence;
use super::{CliError, report};
use crate::samples::{SAMPLES, Sample};

/// The chosen sample as a file or folder.
///
/// # Errors
/// When there is no such sample, or the user's cache folder cannot be written.
pub fn path(args: &Demo) -> Result<PathBuf, CliError> {
    let sample = match &args.name {
        None => &SAMPLES[0],
        Some(name) => Sample::find(name).ok_or_else(|| {
            CliError::Usage(format!(
                "There is no sample `{name}`: `stallscope demo --list` names them."
            ))
        })?,
    };
    sample.unpack().map_err(|error| CliError::File {
        what: "The sample cannot be written to the cache folder",
        error,
        path: PathBuf::from(sample.name),
    })
}

/// Lists the samples, or prints the report of one.
pub fn run(args: &Demo, out: &mut dyn Write) -> Result<u8, CliError> {
    if args.list {
        for s in SAMPLES {
            writeln!(out, "{}: {}", s.name, s.title)?;
            out.write_all(sentence(s.line).as_bytes())?;
        }
        return Ok(0);
    }
    let path = path(args)?;
    note(&format!(
        "No display: this is the report of {}.",
        path.display()
    ));
    let words = ["stallscope".into(), "report".into(), path.into_os_string()];
    match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(Some(Command::Report(args))) => report::run(&args, out),
        _ => Err(CliError::Usage("The sample cannot be opened.".to_owned())),
    }
}
