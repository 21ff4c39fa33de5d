//! What one table of the report is asked for with.

use clap::{Args, ValueEnum};

/// One table instead of the whole report.
#[derive(Args, Debug, Clone, Default)]
pub struct By {
    /// One table instead of the whole report: what takes the time.
    #[arg(long, value_name = "WHAT", value_enum, conflicts_with_all = ["windows", "brief", "markdown", "only"])]
    pub by: Option<Key>,
    /// With --by name: only this layer (op) or these (gpu, io): their names are in the table of layers.
    #[arg(long, value_name = "LAYER", requires = "by")]
    pub layer: Option<String>,
    /// With --by: list this many at most, of each layer. Text lists 20 of each without it, JSON and CSV all.
    #[arg(long, value_name = "N", requires = "by", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
}

/// What the rows of the table are.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Names: kernels, operators, calls, Python functions, ranges, reads and writes.
    Name,
}
