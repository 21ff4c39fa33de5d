//! Arguments of `stallscope report`.

use clap::{Args, ValueEnum};

use super::html::Html;
use super::{Input, Scope, parse_positive};
use crate::cli::by::By;

/// `stallscope report`.
#[derive(Args, Debug)]
pub struct Report {
    #[command(flatten)]
    /// What to open.
    pub input: Input,
    #[command(flatten)]
    /// What to analyse.
    pub scope: Scope,
    /// JSON with every figure instead of text.
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Only the verdict and three numbers; with --json: without the lists by span and by gap.
    #[arg(long, conflicts_with = "csv")]
    pub brief: bool,
    /// The verdict and the numbers as Markdown, for a build's summary or a pull request.
    #[arg(long, conflicts_with_all = ["json", "csv", "brief", "windows"])]
    pub markdown: bool,
    /// Only these parts of the text.
    #[arg(long, value_name = "PART,…", value_enum, value_delimiter = ',', conflicts_with_all = ["json", "csv", "brief", "markdown"])]
    pub only: Vec<Part>,
    /// The step table as CSV instead of text; with --by that table.
    #[arg(long)]
    pub csv: bool,
    #[command(flatten)]
    /// One table instead of the whole report.
    pub by: By,
    #[command(flatten)]
    /// One file to send.
    pub html: Html,
    /// Also a table of fixed windows of this width: 1s, 250ms.
    #[arg(long, value_name = "TIME", value_parser = parse_positive)]
    pub windows: Option<i64>,
    /// How windows and layers are counted.
    #[arg(long, value_name = "WAY", value_enum, default_value_t = Layers::Exact)]
    pub layers: Layers,
}

/// The parts of the text.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What bounds the training, on what evidence, and what next.
    Verdict,
    /// Waits for data, and what they come from.
    Waits,
    /// Ranks against each other.
    Ranks,
    /// What the GPUs did.
    Gpu,
    /// Device memory.
    Memory,
    /// Time by layer.
    Layers,
    /// A row for each step.
    Steps,
    /// What loading processes did.
    Workers,
    /// Launches and how long they queue.
    Launches,
    /// CPU spans against their GPU work.
    Lag,
    /// Calls that wait for the GPU.
    Syncs,
    /// Pairs of streams.
    Streams,
    /// Names that take the time, by layer; only where it is asked for.
    Names,
    /// What was repaired, skipped, guessed or lost.
    Notices,
}

/// How windows and layers are counted.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layers {
    /// Spans are clipped at window borders, nested spans count once.
    Exact,
    /// As DFAnalyzer does: whole spans in the window of their start, nested spans each.
    Dfanalyzer,
}
