//! Arguments of `stallscope why`.

use clap::Args;

use super::{Input, Scope};

/// `stallscope why`.
#[derive(Args, Debug)]
pub struct Why {
    #[command(flatten)]
    /// What to open.
    pub input: Input,
    #[command(flatten)]
    /// What to analyse.
    pub scope: Scope,
    /// Only this wait of the loop, from 0.
    #[arg(long, value_name = "N", conflicts_with_all = ["step", "top", "range"])]
    pub wait: Option<usize>,
    /// Only the waits of this step, as the step table names it.
    #[arg(long, value_name = "K", conflicts_with_all = ["top", "range"])]
    pub step: Option<String>,
    /// So many waits, those that cost most first.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,
    /// JSON instead of text.
    #[arg(long)]
    pub json: bool,
}
