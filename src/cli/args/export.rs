//! Arguments of `stallscope export`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::{Input, Scope, check_range};

/// `stallscope export`.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("what").required(true))]
pub struct Export {
    #[command(flatten)]
    /// What to open.
    pub input: Input,
    #[command(flatten)]
    /// What to analyse.
    pub scope: Scope,
    /// A smaller trace: everything of A..B, which other viewers open and which reads back with the same figures there.
    #[arg(long, value_name = "A..B", group = "what", value_parser = check_range, allow_hyphen_values = true, conflicts_with_all = ["range", "layers", "run", "raw"])]
    pub trim: Option<String>,
    /// A row per step.
    #[arg(long, group = "what")]
    pub steps: bool,
    /// A row per wait of the loop, with its cause.
    #[arg(long, group = "what")]
    pub waits: bool,
    /// A row per name of GPU operations in judged steps.
    #[arg(long, group = "what")]
    pub kernels: bool,
    /// A row per collective of a rank; with the traces of several ranks, who waited for whom.
    #[arg(long, group = "what")]
    pub collectives: bool,
    /// A row per span.
    #[arg(long, group = "what")]
    pub spans: bool,
    /// With --spans or --kernels: only these layers (op) or those that they begin (gpu), as `report` names them.
    #[arg(long, value_name = "LAYER", value_delimiter = ',', conflicts_with_all = ["steps", "waits", "collectives"])]
    pub layers: Vec<String>,
    /// The name of the run in the first column; without it the name of the first path.
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
    /// In CSV: leave text that begins like a formula of a spreadsheet as it is.
    #[arg(long)]
    pub raw: bool,
    /// The file to write: .parquet or .csv, with --trim .json or .json.gz; - is stdout, as CSV or JSON.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}
