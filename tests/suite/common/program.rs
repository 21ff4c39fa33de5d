//! The program as people run it, without a display.

use std::process::Command;

/// Runs the program: its exit code, what it prints, what it says on stderr.
///
/// # Panics
/// Where it was killed, or printed what is no UTF-8.
pub fn run(args: &[&str]) -> (i32, String, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    program.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let out = program.args(args).output().expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let code = out.status.code();
    let code = code.unwrap_or_else(|| panic!("{args:?} was killed"));
    (code, text(out.stdout), text(out.stderr))
}
