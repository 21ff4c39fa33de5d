//! The `stallscope` program: a command, or the window.

use std::process::ExitCode;

use stallscope::cli::{self, Request};

fn main() -> ExitCode {
    match cli::start() {
        Request::Window(_paths) => ExitCode::SUCCESS,
        Request::Done(code) => code,
    }
}
