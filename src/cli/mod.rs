//! The command line: reads arguments, opens traces, prints figures as text, JSON or CSV.
//!
//! Data goes to stdout, messages and progress to stderr. Knows no window; `main` decides between the two.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::import::LoadError;

mod against;
mod analyse;
mod args;
#[cfg(feature = "png")]
mod both;
mod by;
mod check;
mod compare;
mod demo;
mod export;
mod info;
mod load;
mod losses;
mod messages;
mod notices;
mod percent;
#[cfg(feature = "png")]
mod png;
#[cfg(feature = "png")]
mod png_compare;
mod ranks;
#[cfg(feature = "png")]
mod ranks_png;
mod recordings;
mod report;
mod rows;
mod runs;
mod schema;
mod shell;
mod spare;
mod steady;
mod style;
mod table;
mod trim;
mod whatif;
mod why;

use args::{Cli, Command};
use table::printable;

/// The trace cannot be read, or the result cannot be written.
pub const EXIT_UNREADABLE: u8 = 1;
/// The command line is wrong.
pub const EXIT_USAGE: u8 = 2;
/// `check`: a limit does not hold.
pub const EXIT_BROKEN: u8 = 3;
/// `check`: a limit cannot be judged. `whatif`: nothing can be predicted. `why`: it cannot be told. `export`:
/// nothing of the kind was recorded.
pub const EXIT_INCONCLUSIVE: u8 = 4;

#[cfg(not(feature = "png"))]
const NO_PICTURES: &str =
    "This program was built without pictures: build it with the feature `png` or `gui`.";

#[cfg(not(feature = "parquet"))]
const NO_PARQUET: &str =
    "This program was built without Parquet: build it with the feature `parquet`.";

/// What the user wants.
pub enum Request {
    /// The window, with these files and folders, what they are compared with, and the only ranks of them.
    Window(Vec<PathBuf>, Vec<PathBuf>, Vec<u32>),
    /// A command was run (or help was shown, or the arguments were wrong).
    Done(ExitCode),
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The trace cannot be read.
    #[error("{0}")]
    Load(#[from] LoadError),
    /// The command line asks for something that does not exist.
    #[error("{0}")]
    Usage(String),
    /// What was opened holds no events.
    #[error("{0}")]
    Empty(String),
    /// A window was asked for and cannot be opened.
    #[error("{0}")]
    NoDisplay(String),
    /// A result cannot be written.
    #[error("Cannot write the result: {0}.")]
    Output(#[from] io::Error),
    /// A file other than a trace cannot be read or written.
    #[error("{what}: {error}.\n{}", path.display())]
    File {
        /// What was attempted, as the start of a sentence.
        what: &'static str,
        /// What the system said.
        error: io::Error,
        /// The file.
        path: PathBuf,
    },
}

impl CliError {
    fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => EXIT_USAGE,
            _ => EXIT_UNREADABLE,
        }
    }
}

/// Reads the program's arguments and runs a command, if there is one.
#[must_use]
pub fn start() -> Request {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            refuse(&error);
            let code = if error.use_stderr() { EXIT_USAGE } else { 0 };
            return Request::Done(ExitCode::from(code));
        }
    };
    style::choose(cli.color);
    let command = match cli.command {
        None => match mistyped(&cli.paths) {
            Some(text) => return Request::Done(finish(Err(CliError::Usage(text)))),
            None => {
                let paths = cli.session.map_or(cli.paths, |session| vec![session]);
                return window(paths, cli.before.as_deref(), cli.ranks);
            }
        },
        // Where there is a display, a sample is shown like any other trace.
        Some(Command::Demo(args)) if !args.list && display_is_there() => match demo::path(&args) {
            Ok(path) => return Request::Window(vec![path], Vec::new(), Vec::new()),
            Err(error) => return Request::Done(finish(Err(error))),
        },
        Some(command) => command,
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let result = run(command, &mut out);
    let result = result.and_then(|code| written(code, out.flush()));
    Request::Done(finish(result))
}

/// Prints help or version, which are answers on stdout, or why the arguments are wrong, on stderr: they may hold anything.
fn refuse(error: &clap::Error) {
    let text = error.render().to_string();
    let text: String = text.lines().map(|l| printable(l) + "\n").collect();
    // A closed stream is nobody's problem.
    let _ = match error.use_stderr() {
        true => io::stderr().lock().write_all(text.as_bytes()),
        false => io::stdout().lock().write_all(text.as_bytes()),
    };
}

/// Runs a command with its answer going to `out`, as [`start`] does with stdout, and gives its exit code. Opens no window and
/// unpacks no sample: of those the answer is that of wrong usage. What went wrong is not said.
pub fn command_line(words: &[&str], out: &mut dyn Write) -> u8 {
    let command = match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(Some(Command::Demo(_)) | None) => return EXIT_USAGE,
        Ok(Some(command)) => command,
        Err(error) if error.use_stderr() => return EXIT_USAGE,
        Err(_help) => return 0,
    };
    run(command, out).unwrap_or_else(|error| error.code())
}

/// The exit code of a command whose answer was written, or not: a reader that has seen enough changes nothing, and what
/// `check` found stands though nobody could be told.
fn written(code: u8, result: io::Result<()>) -> Result<u8, CliError> {
    match result {
        Ok(()) => Ok(code),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(code),
        Err(e) if code != 0 => {
            complain(&CliError::Output(e));
            Ok(code)
        }
        Err(e) => Err(CliError::Output(e)),
    }
}

/// What was probably meant, where the first word is neither a path nor a command but resembles one.
fn mistyped(paths: &[PathBuf]) -> Option<String> {
    let first = paths.first()?;
    let word = first.to_str().filter(|_| !first.exists())?;
    let names = Cli::command();
    let near = names
        .get_subcommands()
        .map(|c| (edits(word, c.get_name()), c.get_name().to_owned()))
        .min()
        .filter(|(n, name)| *n <= 2 && *n < name.chars().count() / 2 + 1)?;
    let word = printable(word);
    if near.0 == 0 {
        return Some(format!(
            "Options stand behind the command: `stallscope {word} …`."
        ));
    }
    Some(format!(
        "There is no command and no file `{word}`. Did you mean `stallscope {}`?",
        near.1
    ))
}

/// Characters to insert, delete, replace, or swap with their neighbour to make `b` of `a`.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[i - 1][j - 1] + same)
                .min(rows[i - 1][j] + 1)
                .min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// The window, or why there is none.
fn window(paths: Vec<PathBuf>, before: Option<&Path>, ranks: Vec<u32>) -> Request {
    if paths.iter().any(|p| p == Path::new("-")) {
        let text = "The window opens files: save what comes through a pipe first, or print its analysis with `… | stallscope report -`.";
        return Request::Done(finish(Err(CliError::Usage(text.to_owned()))));
    }
    if display_is_there() {
        let before = before.map_or_else(Vec::new, recordings::files);
        return Request::Window(paths, before, ranks);
    }
    let unread = |p: &PathBuf| Some(LoadError::io(p, &std::fs::metadata(p).err()?));
    if let Some(error) = paths.iter().find_map(unread) {
        return Request::Done(finish(Err(error.into())));
    }
    let why = if cfg!(feature = "gui") {
        "There is no display to open a window on."
    } else {
        "This program was built without the window."
    };
    let path = paths.first().map_or_else(
        || "PATH".to_owned(),
        |p| printable(&p.display().to_string()),
    );
    let text = format!(
        "{why}\nPrint the analysis: stallscope report {path}\nDraw a picture:     stallscope png {path} -o timeline.png"
    );
    Request::Done(finish(Err(CliError::NoDisplay(text))))
}

/// Whether a window can be expected to open.
fn display_is_there() -> bool {
    if !cfg!(feature = "gui") {
        return false;
    }
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    cfg!(any(windows, target_os = "macos")) || set("DISPLAY") || set("WAYLAND_DISPLAY")
}

fn run(command: Command, out: &mut dyn Write) -> Result<u8, CliError> {
    match command {
        Command::Info(args) => info::run(&args, out),
        Command::Report(args) => report::run(&args, out),
        #[cfg(feature = "png")]
        Command::Png(args) => match &args.picture.before {
            Some(before) => {
                png_compare::run(&args.picture, before, Some((args.scale, args.dpi)), out)
            }
            None => png::run(&args, out),
        },
        #[cfg(feature = "png")]
        Command::Svg(args) => match &args.before {
            Some(before) => png_compare::run(&args, before, None, out),
            None => png::run_svg(&args, out),
        },
        #[cfg(not(feature = "png"))]
        Command::Png(_) | Command::Svg(_) => Err(CliError::Usage(NO_PICTURES.to_owned())),
        Command::Check(args) if !args.against.is_empty() => against::run(&args, out),
        Command::Check(args) => check::run(&args, out),
        Command::Compare(args) => compare::run(&args, out),
        Command::Whatif(args) => whatif::run(&args, out),
        Command::Why(args) => why::run(&args, out),
        Command::Export(args) if args.trim.is_some() => trim::run(&args, out),
        Command::Export(args) => export::run(&args, out),
        Command::Ranks(args) => ranks::run(&args, out),
        Command::Schema(args) => schema::run(&args, out),
        Command::Demo(args) => demo::run(&args, out),
        Command::Completions { shell } => shell::completions(shell, out),
        Command::Man { command } => shell::man(command.as_deref(), out),
    }
}

fn finish(result: Result<u8, CliError>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        // The reader has seen enough: `stallscope report x | head`.
        Err(CliError::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::from(error.code())
        }
    }
}

/// Writes a message to stderr and gives the exit code of a failure.
#[must_use]
pub fn fail(message: &str) -> ExitCode {
    // A closed stderr is nobody's problem.
    let _ = writeln!(io::stderr().lock(), "{message}");
    ExitCode::from(EXIT_UNREADABLE)
}

/// Writes an error to stderr; a closed stderr is nobody's problem.
fn complain(error: &CliError) {
    let mut err = io::stderr().lock();
    // Paths and texts of files may hold anything; line ends are ours, but for those in a path.
    let text = match error {
        CliError::Load(e) => {
            let mut quiet = e.clone();
            quiet.path = PathBuf::from(printable(&e.path.display().to_string()));
            quiet.to_string()
        }
        CliError::File { what, error, path } => {
            let path = printable(&path.display().to_string());
            format!("{what}: {error}.\n{path}")
        }
        other => other.to_string(),
    };
    for line in text.lines() {
        let _ = writeln!(err, "{}", printable(line));
    }
    if let CliError::Load(LoadError {
        command: Some(command),
        ..
    }) = error
    {
        let _ = writeln!(err, "{}", printable(command));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_commands_are_recognised() {
        assert_eq!(edits("reprot", "report"), 1);
        assert_eq!(edits("", "png"), 3);
        assert_eq!(edits("check", "check"), 0);
        let meant = |word: &str| {
            let text = mistyped(&[PathBuf::from(word)])?;
            let (_, name) = text.split_once("`stallscope ")?;
            Some(name.trim_end_matches("`?").to_owned())
        };
        for (word, command) in [
            ("reprot", Some("report")),
            ("inf", Some("info")),
            ("chekc", Some("check")),
            ("whatiff", Some("whatif")),
            ("pgn", Some("png")),
            ("trace.json", None),
            ("x", None),
            ("Cargo.toml", None),
        ] {
            assert_eq!(meant(word).as_deref(), command, "{word}");
        }
    }
}
