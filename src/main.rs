//! The `stallscope` program: a command, or the window.

use std::path::PathBuf;
use std::process::ExitCode;

use stallscope::cli::{self, Request};

fn main() -> ExitCode {
    match cli::start() {
        Request::Window(paths, before, ranks) => window(paths, before, ranks),
        Request::Done(code) => code,
    }
}

#[cfg(feature = "gui")]
fn window(paths: Vec<PathBuf>, before: Vec<PathBuf>, ranks: Vec<u32>) -> ExitCode {
    match stallscope::app::run(paths, before, ranks) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => cli::fail(&format!(
            "The window cannot be opened: {why}\nThe commands (report, png, check …) work without one: stallscope --help"
        )),
    }
}

#[cfg(not(feature = "gui"))]
fn window(_paths: Vec<PathBuf>, _before: Vec<PathBuf>, _ranks: Vec<u32>) -> ExitCode {
    cli::fail("This program was built without its window; see stallscope --help for the commands.")
}
