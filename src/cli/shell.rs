//! What a shell wants to know of the commands, made from their definition.

use std::io::Write;

use clap::CommandFactory;
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
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    out.write_all(&text)?;
    Ok(0)
}
