//! `stallscope ranks` as the user types it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::picture::themes;
use crate::view::Theme;

/// `stallscope ranks`.
#[derive(Args, Debug)]
pub struct Ranks {
    /// Files and folders that hold the traces of the ranks.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// The name of the run; by default that of the first PATH.
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
    /// Files to open at once; by default one for each 4 GiB of --memory, at most as many as there are cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: Option<u16>,
    /// Memory for traces and what is kept of them: 16GB, 500MB; by default half of what is free.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Layer rules to read before the built-in ones (TOML; see docs/rules.md).
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// JSON with every rank instead of text.
    #[arg(long)]
    pub json: bool,
    /// Also write tables of all ranks as Parquet into this folder, beside those of other runs (see docs/tables.md).
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace the run of this name in the folder.
    #[arg(long, requires = "out")]
    pub replace: bool,
    /// Also write the table of spans: those of these layers (op) or of those that they begin (gpu), or all.
    #[arg(long, value_name = "LAYERS", value_delimiter = ',', requires = "out")]
    pub spans: Vec<String>,
    /// Also write the SHA-256 digest of each file.
    #[arg(long, requires = "out")]
    pub hash: bool,
    /// Also draw what each rank cost the others in each step, into this PNG file.
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
    /// How the rows of the picture are sorted.
    #[arg(long, value_enum, default_value_t = Sort::Cost, requires = "png")]
    pub sort: Sort,
    /// Width of the picture in points.
    #[arg(long, value_name = "PX", default_value_t = 1920, value_parser = clap::value_parser!(u32).range(640..=16384), requires = "png")]
    pub width: u32,
    /// Colours of the picture.
    #[arg(long, default_value = "light", value_parser = themes(), requires = "png")]
    pub theme: Theme,
}

/// How the rows of the matrix are sorted.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// What costs most first.
    Cost,
    /// By rank number.
    Number,
}

/// A size with its unit, bytes.
fn parse_size(text: &str) -> Result<u64, String> {
    let fail = || format!("`{text}` is no size: write 16GB, 500MB or 4GiB");
    let (number, unit) = text.split_at(
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len()),
    );
    let scale: u64 = match unit.trim().to_ascii_uppercase().as_str() {
        "KB" | "K" => 1_000,
        "MB" | "M" => 1_000_000,
        "GB" | "G" => 1_000_000_000,
        "TB" | "T" => 1_000_000_000_000,
        "KIB" => 1 << 10,
        "MIB" => 1 << 20,
        "GIB" => 1 << 30,
        "TIB" => 1 << 40,
        _ => return Err(fail()),
    };
    let number: u64 = number.parse().map_err(|_e| fail())?;
    let bytes = number.checked_mul(scale).filter(|b| *b > 0);
    bytes.ok_or_else(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_need_a_unit() {
        assert_eq!(parse_size("16GB"), Ok(16_000_000_000));
        assert_eq!(parse_size("4gib"), Ok(4 << 30));
        for wrong in [
            "4",
            "0GB",
            "GB",
            "-1GB",
            "99999999999999TB",
            "1.5GB",
            "4 loaves",
        ] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
