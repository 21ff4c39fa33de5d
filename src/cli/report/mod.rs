//! `stallscope report`: the analysis as text that is read top-down, as JSON with every figure, or the steps as CSV.

use std::io::{IsTerminal, Write};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::analyse::{self, Analysed};
use super::args::{Part, Report};
use super::style::Style;
use super::table::sentence;
use super::{CliError, load, notices, recordings, runs};
use crate::export;
use crate::export::report::{Listed, ReportOptions, listed};

mod brief;
mod by;
mod cpu;
mod gpu;
mod head;
#[cfg(feature = "png")]
mod html;
mod layers;
mod memory;
mod steps;
mod windows;

/// Ranks that are described in full; more of them get a line each (`--rank N` describes one).
const IN_FULL: usize = 2;

/// What takes its time once a large trace is analysed.
const FIGURES: &str = "Working out the figures";

/// Runs the command.
pub fn run(args: &Report, out: &mut dyn Write) -> Result<u8, CliError> {
    if let Some(output) = &args.html.output {
        #[cfg(feature = "png")]
        return html::run(args, output, out);
        #[cfg(not(feature = "png"))]
        return Err(CliError::Usage(format!(
            "{} is not written: this program was built without pictures, build it with the feature `png` or `gui`.",
            output.display()
        )));
    }
    let opened = load::open(&args.input.paths, &args.input.open)?;
    let analysed = analyse::analyse(opened, &args.scope)?;
    if let Some(width) = args.windows {
        windows::check(&analysed, width)?;
    }
    if let Some(by) = args.by.by {
        return by::run(&analysed, args, by, out);
    }
    if args.csv {
        steps::csv(&analysed, out)?;
    } else if args.json {
        let options = options(&analysed, args.windows, args.brief);
        // As it is made: of a long recording the text alone would fill the memory.
        let mut write = || serde_json::to_writer_pretty(&mut *out, &json(&analysed, &options));
        let written = match std::io::stdout().is_terminal() {
            // It would be in between.
            true => write(),
            false => load::working(FIGURES, write),
        };
        written.map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        let text = load::working(FIGURES, || text(&analysed, args))?;
        out.write_all(text.as_bytes())?;
    }
    Ok(0)
}

/// What the JSON report holds; of one rank only where that was asked for.
fn options(a: &Analysed, windows: Option<i64>, brief: bool) -> ReportOptions {
    let trace = a.analysis.trace();
    let imported = a.report.notices.iter().map(|n| notices::to_json(trace, n));
    ReportOptions {
        window: Some(a.window),
        grid: windows,
        light: brief,
        recorder: recordings::told(a),
        incomplete: a.losses.unread || a.losses.incomplete,
        notices: imported.chain(of_analysis(a)).collect(),
        only: a.number(),
        ..ReportOptions::default()
    }
}

/// Every figure, under stable paths.
fn json<'a>(a: &'a Analysed, options: &'a ReportOptions) -> Listed<'a> {
    let mut report = listed(&a.analysis, options);
    let (of, rank) = (&a.analysis, a.number());
    report.put("memory", export::memory::memory(of, a.window, rank));
    if !options.light {
        report.put("lag", export::callers::lag(of, a.window, rank));
        let syncs = export::callers::syncs(of, a.window, rank, &a.args());
        report.put("sync_callers", syncs);
    }
    report
}

/// The whole report as text.
fn text(a: &Analysed, args: &Report) -> Result<String, CliError> {
    let mut out = String::new();
    let who = a.analysis.identity();
    if who.runs.len() > 1 && a.rank.is_none() {
        // Nothing holds for several runs together.
        runs::list(&mut out, a.analysis.trace(), who);
        head::notices_list(&mut out, a, Style::out());
        return Ok(out);
    }
    if args.brief {
        brief::text(&mut out, a);
        return Ok(out);
    }
    if args.markdown {
        brief::markdown(&mut out, a);
        return Ok(out);
    }
    head::title(&mut out, a);
    let mut parts = args.only.clone();
    if parts.is_empty() {
        parts = Part::value_variants().to_vec();
        parts.retain(|p| *p != Part::Names);
    }
    for part in parts {
        let before = out.len();
        add_part(&mut out, a, part);
        if out.len() == before && !args.only.is_empty() {
            nothing(&mut out, a, part);
        }
    }
    if let Some(width) = args.windows {
        windows::windows(&mut out, a, width, args.layers)?;
    }
    if args.only.is_empty() {
        head::notices_list(&mut out, a, Style::out());
    }
    Ok(out)
}

/// Says of a part that was asked for that there is none.
fn nothing(out: &mut String, a: &Analysed, part: Part) {
    if let Some(value) = part.to_possible_value() {
        heading(out, value.get_name());
    }
    say(
        out,
        match part {
            Part::Workers if a.ranks().len() > IN_FULL => {
                "Workers of so many ranks are not listed: --rank shows those of one."
            }
            Part::Notices => "There are none.",
            _ => "The record holds nothing of this kind here.",
        },
    );
}

fn add_part(out: &mut String, a: &Analysed, part: Part) {
    let many = a.ranks().len() > IN_FULL;
    match part {
        Part::Verdict => head::verdicts(out, a, Style::out()),
        Part::Waits if many => head::waits_of_ranks(out, a),
        Part::Waits => {
            for rank in a.ranks() {
                head::waits(out, a, rank);
            }
        }
        Part::Ranks => head::ranks(out, a),
        Part::Gpu => gpu::gpus(out, a),
        Part::Memory => memory::memory(out, a),
        Part::Layers => layers::layers(out, a),
        Part::Steps if many => steps::steps_of_ranks(out, a),
        Part::Steps => {
            for rank in a.ranks() {
                steps::steps(out, a, rank);
            }
        }
        Part::Workers if many => {}
        Part::Workers => {
            for rank in a.ranks() {
                steps::workers(out, a, rank);
            }
        }
        Part::Launches => gpu::launches(out, a),
        Part::Lag => cpu::lag(out, a),
        Part::Syncs => cpu::syncs(out, a),
        Part::Streams => gpu::streams(out, a),
        Part::Names => by::part(out, a),
        Part::Notices => head::notices_list(out, a, Style::out()),
    }
}

/// A heading after an empty line.
fn heading(out: &mut String, text: &str) {
    out.push_str(&format!("\n{text}\n"));
}

/// An indented sentence.
fn say(out: &mut String, text: &str) {
    out.push_str(&sentence(text));
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

/// What the analysis has to say about the record itself, in the same form.
fn of_analysis(a: &Analysed) -> Vec<Value> {
    let mut out = Vec::new();
    let mut add = |code: &str, kind: &str, count: u64, text: &str| {
        if count > 0 {
            out.push(json!({"kind": kind, "code": code, "text": text, "count": count, "places": [], "file": null}));
        }
    };
    let launch = a.analysis.launch_figures(a.window);
    add(
        "UNLINKED",
        "not recorded",
        launch.ops_without_launch,
        "GPU operations have no launch call.",
    );
    add(
        "CLOCK",
        "info",
        launch.op_before_launch,
        "GPU operations start before their launch.",
    );
    let partial: usize = a
        .ranks()
        .iter()
        .map(|&r| a.analysis.step_rows(r, a.window).1)
        .sum();
    add(
        "PARTIAL",
        "info",
        partial as u64,
        "Steps are only partly in the window.",
    );
    out
}
