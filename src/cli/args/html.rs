//! What a report to send is asked for with.

use std::path::PathBuf;

use clap::Args;

/// The report as one file to send.
#[derive(Args, Debug, Clone, Default)]
pub struct Html {
    /// Write one HTML file to send instead: pictures, tables and sentences, no script runs in it, nothing is loaded. - is stdout.
    #[arg(long = "html", value_name = "FILE", conflicts_with_all = ["json", "csv", "by", "windows", "brief", "markdown", "only"])]
    pub output: Option<PathBuf>,
    /// With --html: also what changed since this recording, or a report of it saved by `report --json`.
    #[arg(
        long,
        value_name = "BEFORE",
        requires = "output",
        conflicts_with = "range"
    )]
    pub before: Option<PathBuf>,
    /// With --html: show folders, host names and command lines, too.
    #[arg(long = "paths", requires = "output")]
    pub show_paths: bool,
    /// With --html: the SHA-256 digest of each file that was read.
    #[arg(long, requires = "output")]
    pub hash: bool,
}
