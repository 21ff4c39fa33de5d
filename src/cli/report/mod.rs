//! `stallscope report`: the analysis as text that is read top-down, as JSON with every figure, or the steps as CSV.

use std::io::Write;

use super::CliError;
use super::analyse::{self, Analysed};
use super::args::Report;
use super::load;

mod cpu;
mod csv;
mod gpu;
mod head;
mod layers;
mod steps;
mod windows;

/// Runs the command.
pub fn run(args: &Report, out: &mut dyn Write) -> Result<u8, CliError> {
    let opened = load::open(&args.input.paths, &args.input.open)?;
    let analysed = analyse::analyse(opened, &args.scope)?;
    if args.csv {
        csv::steps(&analysed, out)?;
    } else {
        out.write_all(text(&analysed, args)?.as_bytes())?;
    }
    Ok(0)
}

/// The whole report as text.
fn text(a: &Analysed, args: &Report) -> Result<String, CliError> {
    let mut out = String::new();
    head::title(&mut out, a);
    head::verdicts(&mut out, a);
    for rank in a.ranks() {
        head::waits(&mut out, a, rank);
    }
    head::ranks(&mut out, a);
    gpu::gpus(&mut out, a);
    layers::layers(&mut out, a);
    for rank in a.ranks() {
        steps::steps(&mut out, a, rank);
        steps::workers(&mut out, a, rank);
    }
    gpu::launches(&mut out, a);
    cpu::names(&mut out, a);
    cpu::syncs(&mut out, a);
    gpu::streams(&mut out, a);
    if let Some(width) = args.windows {
        windows::windows(&mut out, a, width, args.layers)?;
    }
    head::notices(&mut out, a);
    Ok(out)
}

/// A heading after an empty line.
fn heading(out: &mut String, text: &str) {
    out.push_str(&format!("\n{text}\n"));
}

/// An indented sentence.
fn say(out: &mut String, text: &str) {
    out.push_str(&format!("  {text}\n"));
}

/// ` of rank 3`, where there are several.
fn of_rank(a: &Analysed, rank: usize) -> String {
    let ranks = a.analysis.ranks();
    if ranks.len() > 1 {
        format!(" of rank {}", ranks[rank].rank)
    } else {
        String::new()
    }
}

/// A time in milliseconds, or a dash.
fn ms_or_dash(ns: Option<i64>) -> String {
    ns.map_or_else(|| "-".to_owned(), super::table::ms)
}
