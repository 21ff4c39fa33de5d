//! The command line as the user types it. Owns words and help, no behaviour.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};

pub use super::percent::Percent;
pub use super::style::Colour;
use crate::analysis::ClockSettings;
use crate::analysis::{IssueKind, StepClass};
use crate::schema::Document;
use crate::time::{TimeRange, parse_ns, parse_range};

mod export;
mod html;
mod picture;
mod ranks;
mod report;
mod why;

pub use export::Export;
#[cfg(feature = "png")]
pub use picture::{DPI, Lanes, Legend, Width};
pub use picture::{Picture, Png};
pub use ranks::Ranks;
#[cfg(feature = "png")]
pub use ranks::Sort;
pub use report::{Layers, Part, Report};
pub use why::Why;

/// Shows what the GPU really waited for in a training trace.
///
/// Opens torch.profiler JSON, Nsight Systems SQLite exports and DFTracer runs (.pfw, .pfw.gz, folders). Without a
/// command it opens a window; the commands need no display.
#[derive(Parser, Debug)]
#[command(name = "stallscope", version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Files and folders to open in the window, as one trace.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Open in the window what this session file names, as it was looked at.
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    pub session: Option<PathBuf>,
    /// Compare them in the window with this recording, the one before a change.
    #[arg(long = "with", value_name = "BEFORE", requires = "paths")]
    pub before: Option<PathBuf>,
    /// Open only these ranks of many in the window: 117,118.
    #[arg(
        long = "rank",
        value_name = "N,N",
        value_delimiter = ',',
        requires = "paths"
    )]
    pub ranks: Vec<u32>,
    /// When text is coloured; auto is on a terminal, unless NO_COLOR is set.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Colour::Auto, global = true, hide_possible_values = true)]
    pub color: Colour,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Say what is in a trace and what was repaired, skipped or guessed while reading it.
    Info(Info),
    /// Print the analysis: waits, layers, steps, workers, launches, synchronisation, verdict.
    Report(Report),
    /// Draw the timeline into a PNG file.
    Png(Png),
    /// Draw the timeline into an SVG file: text stays text, and a span tells its name where the pointer rests.
    Svg(Picture),
    /// Compare figures with limits; the exit code is 0 where they hold, 3 where not, 4 where it cannot be told (also
    /// because not all of the input was read), 1 where a path cannot be read.
    Check(Check),
    /// Compare recordings before and after a change: what may be said of the steps, and where their time went.
    Compare(Compare),
    /// Predict the step time for other numbers of workers, cores, a cache, or no synchronisation; the exit code is 4
    /// where too little is recorded for that.
    Whatif(Whatif),
    /// Say why the loop waited: from a wait to the batch, the worker, what it did, the item and the file; the exit code is
    /// 4 where that cannot be told of the wait asked for.
    Why(Why),
    /// Write rows for other programs, as Parquet or CSV: steps, waits, kernels, collectives, spans (see docs/tables.md); or
    /// a part of the trace as a smaller one (--trim). The exit code is 4 where nothing of the kind was recorded.
    Export(Export),
    /// Open many ranks one after the other: who is late, how often, how much it costs the others, why. The exit code is 1
    /// where some rank could not be read, 4 where late ranks cannot be told.
    Ranks(Ranks),
    /// Print what JSON and tables hold, for programs: JSON Schema of a command's JSON, or the columns of tables.
    Schema(Schema),
    /// Open a bundled sample in the window; without a display, print its report.
    Demo(Demo),
    /// Print what makes a shell complete commands and options.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page of the program or of a command: `stallscope man report | man -l -`.
    Man {
        /// The command.
        command: Option<String>,
    },
}

/// What to open.
#[derive(Args, Debug, Clone)]
pub struct Input {
    /// Files and folders, opened as one trace where their clocks relate; - is stdin.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    /// How to open.
    pub open: Open,
}

/// How to open.
#[derive(Args, Debug, Clone, Default)]
pub struct Open {
    /// Shift the N-th PATH (from 1) by a time: 2=+1.5ms, 1=-300us.
    #[arg(long, value_name = "N=TIME", value_parser = parse_shift, allow_hyphen_values = true)]
    pub shift: Vec<(usize, i64)>,
    /// Threads to use, 256 at most; 0 = as many as there are cores.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Open even if memory may not suffice.
    #[arg(long)]
    pub force: bool,
}

/// What to analyse.
#[derive(Args, Debug, Clone, Default)]
pub struct Scope {
    /// Only this part: A..B, each a time since the start of the trace such as 1.2s or 450ms; either side may be empty.
    #[arg(long, value_name = "A..B", value_parser = check_range, allow_hyphen_values = true)]
    pub range: Option<String>,
    /// Only this rank.
    #[arg(long, value_name = "N")]
    pub rank: Option<u32>,
    /// Layer rules to read before the built-in ones (TOML; see docs/rules.md).
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// The only class of steps to look for.
    #[arg(skip)]
    pub steps: Option<StepClass>,
    /// Lane of the training loop, where another one was taken for it: C500.500. May be repeated, once for each rank.
    #[arg(long = "loop", value_name = "LANE")]
    pub loop_lanes: Vec<String>,
    /// How much faster one clock may run than another, of two recorders or of two hosts, in parts per million.
    #[arg(long, value_name = "PPM", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub max_drift: Option<u32>,
    /// Believe the clocks of hosts that nothing else relates.
    #[arg(long)]
    pub trust_clocks: bool,
}

impl Scope {
    /// What is assumed of clocks.
    pub fn clocks(&self) -> ClockSettings {
        let usual = ClockSettings::default();
        ClockSettings {
            max_drift: self
                .max_drift
                .map_or(usual.max_drift, |ppm| i64::from(ppm) * 1_000),
            trust: self.trust_clocks,
        }
    }
}

/// `stallscope info`.
#[derive(Args, Debug)]
pub struct Info {
    #[command(flatten)]
    /// What to open.
    pub input: Input,
    /// JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `stallscope check`.
#[derive(Args, Debug)]
pub struct Check {
    #[command(flatten)]
    /// What to open.
    pub input: Input,
    #[command(flatten)]
    /// What to analyse.
    pub scope: Scope,
    /// Largest share of the judged steps, and of the loop where the loader starts again, in which the GPU had nothing to
    /// do because the loop waited for data: 5%.
    #[arg(long, value_name = "PCT")]
    pub max_exposed_wait: Option<Percent>,
    /// Largest share of the loop in which the GPU had nothing to do during checkpoints, evaluation, logging, garbage
    /// collection, compilation, making loaders and pauses of the CPU: 5%.
    #[arg(long, value_name = "PCT")]
    pub max_stall: Option<Percent>,
    /// Largest time of a step, also where the loop runs ahead of the GPU: 120ms.
    #[arg(long, value_name = "TIME", value_parser = parse_positive)]
    pub max_step_time: Option<i64>,
    /// Largest share of the judged steps that ranks wait in collectives for late ones: 10%. Needs the traces of all ranks.
    #[arg(long, value_name = "PCT")]
    pub max_late_rank: Option<Percent>,
    /// Smallest share of the record that the judged steps must be: 50%.
    #[arg(long, value_name = "PCT")]
    pub min_judged: Option<Percent>,
    /// Largest half width of what the clocks of two files of one run may be apart: 50us.
    #[arg(long, value_name = "TIME", value_parser = parse_positive)]
    pub max_clock_error: Option<i64>,
    /// The verdict must be one of these: COMPUTE_BOUND,NO_SINGLE_BOUND.
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = parse_kind)]
    pub expect: Vec<IssueKind>,
    /// Smallest overlap of two streams of a GPU, as share of the shorter busy time: 7:16=50%.
    #[arg(long, value_name = "A:B=PCT", value_parser = parse_overlap)]
    pub min_overlap: Vec<Overlap>,
    /// Compare the steps with these recordings, or with reports of them saved by `report --json`; then each PATH is a
    /// recording of its own.
    #[arg(long, value_name = "BEFORE", num_args = 1.., conflicts_with = "range")]
    pub against: Vec<PathBuf>,
    /// By how much steps may have become longer.
    #[arg(long, value_name = "PCT", default_value = "3%", requires = "against")]
    pub max_slowdown: Percent,
    /// Compare although the GPU work is mostly different.
    #[arg(long, requires = "against")]
    pub allow_other_program: bool,
}

impl Check {
    /// Some figure of the recording itself is to be checked.
    pub fn limits_figures(&self) -> bool {
        let shares = [
            self.max_exposed_wait,
            self.max_stall,
            self.max_late_rank,
            self.min_judged,
        ];
        shares.iter().any(Option::is_some)
            || self.max_step_time.is_some()
            || self.max_clock_error.is_some()
            || !self.expect.is_empty()
            || !self.min_overlap.is_empty()
    }
}

fn parse_kind(text: &str) -> Result<IssueKind, String> {
    IssueKind::find(text)
        .ok_or_else(|| format!("`{text}` is no verdict: write INPUT_BOUND, COMPUTE_BOUND, …"))
}

/// A limit on the overlap of two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Stream numbers.
    pub streams: (i64, i64),
    /// Smallest share.
    pub least: Percent,
}

/// `stallscope compare`.
#[derive(Args, Debug)]
pub struct Compare {
    /// Recordings before the change; without --after the last of two is the one after it. Several files of one recording:
    /// their folder, or joined by +.
    #[arg(value_name = "PATH", required = true)]
    pub before: Vec<PathBuf>,
    /// Recordings after the change.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub after: Vec<PathBuf>,
    #[command(flatten)]
    /// How to open.
    pub open: Open,
    /// Changes below this share of the step are small.
    #[arg(long, value_name = "PCT", default_value = "3%")]
    pub limit: Percent,
    /// What defines the steps of both sides, where it shall not be what both have.
    #[arg(long, value_name = "CLASS", value_parser = step_classes())]
    pub steps: Option<StepClass>,
    /// Only this rank.
    #[arg(long, value_name = "N")]
    pub rank: Option<u32>,
    /// Layer rules to read before the built-in ones.
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// JSON instead of text.
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// A line per figure and rank as CSV instead of text.
    #[arg(long)]
    pub csv: bool,
}

/// The classes of steps by their names.
fn step_classes() -> impl TypedValueParser<Value = StepClass> {
    PossibleValuesParser::new(StepClass::ALL.map(StepClass::key))
        .map(|name| StepClass::named(&name).unwrap_or(StepClass::Explicit))
}

/// `stallscope whatif`.
#[derive(Args, Debug)]
pub struct Whatif {
    #[command(flatten)]
    /// What to open.
    pub input: Input,
    #[command(flatten)]
    /// What to analyse.
    pub scope: Scope,
    /// Loader processes: a number, or A..B for a table.
    #[arg(long, value_name = "N|A..B", default_value = "0..16", value_parser = parse_workers)]
    pub workers: (u32, u32),
    /// Physical cores that the workers share.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cores: Option<u32>,
    /// Share of the reads that a cache answers: 0 to 1.
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = parse_share)]
    pub cache: f64,
    /// Also: what synchronising calls cost, if the loop did not make them.
    #[arg(long)]
    pub no_sync: bool,
    /// JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `stallscope schema`.
#[derive(Args, Debug)]
pub struct Schema {
    /// Of what.
    #[arg(value_name = "WHAT", default_value = "report", value_parser = documents())]
    pub what: Document,
}

/// Documents by their names.
fn documents() -> impl TypedValueParser<Value = Document> {
    PossibleValuesParser::new(Document::ALL.map(Document::key))
        .map(|name| Document::named(&name).unwrap_or(Document::Report))
}

/// `stallscope demo`.
#[derive(Args, Debug)]
pub struct Demo {
    /// Which sample; without one, the first. `--list` names them.
    pub name: Option<String>,
    /// List the samples.
    #[arg(long)]
    pub list: bool,
}

fn parse_shift(text: &str) -> Result<(usize, i64), String> {
    let (number, time) = text.split_once('=').ok_or_else(|| {
        format!("`{text}`: write the number of the path and a time, as in 2=+1.5ms")
    })?;
    let number: usize = number
        .trim()
        .parse()
        .map_err(|_e| format!("`{number}` is not the number of a path"))?;
    let index = number
        .checked_sub(1)
        .ok_or_else(|| "paths are numbered from 1".to_owned())?;
    Ok((index, parse_time(time)?))
}

/// A time with its unit. A bare number would silently be nanoseconds, which nobody means.
fn parse_time(text: &str) -> Result<i64, String> {
    let ns = parse_ns(text).map_err(|e| e.to_string())?;
    let bare = text.trim().ends_with(|c: char| !c.is_alphabetic());
    // Of zero the unit does not matter; below one nanosecond it is not zero that is meant.
    if bare && text.contains(|c: char| ('1'..='9').contains(&c)) {
        return Err(format!("`{text}` has no unit: write {}ms?", text.trim()));
    }
    Ok(ns)
}

/// Only the form can be checked before the trace is known.
fn check_range(text: &str) -> Result<String, String> {
    let whole = TimeRange::new(i64::MIN / 2, i64::MAX / 2);
    for side in text.split("..").filter(|s| parse_ns(s).is_ok()) {
        parse_time(side)?;
    }
    parse_range(text, whole)
        .map(|_range| text.to_owned())
        .map_err(|_e| format!("`{text}` is not a range: write A..B with A before B, as in 1.2s..1.8s, 450ms.. or ..2s"))
}

fn parse_positive(text: &str) -> Result<i64, String> {
    match parse_time(text)? {
        ns if ns > 0 => Ok(ns),
        _ => Err(format!("`{text}` is not above zero")),
    }
}

fn parse_overlap(text: &str) -> Result<Overlap, String> {
    let fail = || format!("`{text}`: write two streams and a share, as in 7:16=50%");
    let (streams, share) = text.split_once('=').ok_or_else(fail)?;
    let (a, b) = streams.split_once(':').ok_or_else(fail)?;
    let number = |s: &str| s.trim().parse::<i64>().map_err(|_e| fail());
    Ok(Overlap {
        streams: (number(a)?, number(b)?),
        least: share.parse()?,
    })
}

fn parse_workers(text: &str) -> Result<(u32, u32), String> {
    let fail = || format!("`{text}` is neither a number nor a range such as 0..16 (256 at most)");
    let number = |s: &str| {
        s.trim()
            .parse::<u32>()
            .ok()
            .filter(|n| *n <= 256)
            .ok_or_else(fail)
    };
    let (a, b) = match text.split_once("..") {
        Some((a, b)) => (number(a)?, number(b)?),
        None => (number(text)?, number(text)?),
    };
    if a > b { Err(fail()) } else { Ok((a, b)) }
}

fn parse_share(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if (0.0..=1.0).contains(&x) => Ok(x),
        _ => Err(format!("`{text}` is not between 0 and 1")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_need_a_unit() {
        assert_eq!(parse_positive("120ms"), Ok(120_000_000));
        let error = Err("`120` has no unit: write 120ms?".to_owned());
        assert_eq!(parse_positive("120"), error);
        assert_eq!(parse_shift("1=0"), Ok((0, 0)));
        assert!(parse_shift("1=5").is_err());
        assert!(check_range("0..1s").is_ok());
        assert!(check_range("1..2s").is_err_and(|e| e.contains("write 1ms?")));
        // Below one nanosecond, these once were zero.
        assert!(check_range("0.5..0.6s").is_err_and(|e| e.contains("write 0.5ms?")));
        assert!(check_range("-0.4..1s").is_err());
        assert!(parse_shift("1=0.5").is_err());
        assert_eq!(parse_shift("1=0.0"), Ok((0, 0)));
        assert!(parse_positive("0.5").is_err_and(|e| e.contains("has no unit")));
    }

    #[test]
    fn small_forms_parse() {
        assert_eq!(parse_shift("2=+1.5ms"), Ok((1, 1_500_000)));
        assert_eq!(parse_shift("1=-300us"), Ok((0, -300_000)));
        assert!(parse_shift("0=1s").is_err());
        assert_eq!(parse_workers("3"), Ok((3, 3)));
        assert_eq!(parse_workers("0..16"), Ok((0, 16)));
        assert!(parse_workers("4..2").is_err());
        let overlap = Overlap {
            streams: (7, 16),
            least: Percent(Percent::WHOLE / 2),
        };
        assert_eq!(parse_overlap("7:16=50%"), Ok(overlap));
        assert!(check_range("2s..1s").is_err());
        assert!(check_range("..1s").is_ok());
    }

    #[test]
    fn paths_open_the_window_and_commands_do_not() {
        let cli = Cli::parse_from(["stallscope", "a.json", "b.json"]);
        assert!(cli.command.is_none());
        assert_eq!(cli.paths.len(), 2);
        let cli = Cli::parse_from(["stallscope", "report", "a.json"]);
        assert!(matches!(cli.command, Some(Command::Report(_))));
    }
}
