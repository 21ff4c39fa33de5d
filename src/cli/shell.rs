//! What a shell wants to know of the commands, made from their definition.

use std::io::Write;

use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;

use super::CliError;
use super::args::Cli;

/// The name under which the program is called.
const NAME: &str = "stallscope";

/// Prints what makes a shell complete commands and options.
pub fn completions(shell: Shell, out: &mut dyn Write) -> Result<u8, CliError> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut text);
    out.write_all(&text)?;
    Ok(0)
}

/// Prints the manual page of the program, or of a command.
pub fn man(name: Option<&str>, out: &mut dyn Write) -> Result<u8, CliError> {
    let mut program = Cli::command();
    program.build();
    let command = match name {
        None => program,
        Some(name) => {
            let found = program.find_subcommand(name).cloned();
            found.ok_or_else(|| {
                CliError::Usage(format!(
                    "There is no command `{name}`: `stallscope --help` lists them."
                ))
            })?
        }
    };
    let usage = usage(&command);
    let mut text = Vec::new();
    clap_mangen::Man::new(command.override_usage(usage)).render(&mut text)?;
    out.write_all(&text)?;
    Ok(0)
}

/// How a command is called, a line for each way: every option with what it takes, which the manual page would leave out by
/// itself.
fn usage(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or(NAME);
    let (words, options): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set())
        .partition(|arg| arg.is_positional());
    let mut line = name.to_owned();
    for arg in options.into_iter().chain(words) {
        let (before, after) = match arg.is_required_set() {
            true => ("", ""),
            false => ("[", "]"),
        };
        line.push_str(&format!(" {before}{}{after}", called(arg)));
    }
    if command.has_subcommands() {
        line.push_str(&format!("\n{name} COMMAND …"));
    }
    line
}

/// An argument as it is typed: `-o|--output FILE`, `--json`, `PATH…`.
fn called(arg: &Arg) -> String {
    let short = arg.get_short().map(|c| format!("-{c}"));
    let long = arg.get_long().map(|name| format!("--{name}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let range = arg.get_num_args().unwrap_or_default();
    let mut out = names.join("|");
    if range.takes_values() {
        let values = arg.get_value_names().unwrap_or_default();
        let values: Vec<&str> = values.iter().map(|v| v.as_str()).collect();
        let gap = if out.is_empty() { "" } else { " " };
        out.push_str(&format!("{gap}{}", values.join(" ")));
        let many = range.max_values() > values.len().max(1);
        let again = matches!(arg.get_action(), clap::ArgAction::Append);
        if many || (again && arg.is_positional()) {
            out.push('…');
        }
    }
    out
}
