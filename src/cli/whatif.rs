//! `stallscope whatif`: predicted step and job times for other numbers of workers, cores and a cache.

use std::io::Write;

use serde_json::{Value, json};

use super::analyse::{self, Analysed};
use super::args::Whatif;
use super::rows::{cells, heads};
use super::steady::Steady;
use super::table::{Table, ms, percent, sentence};
use super::{CliError, EXIT_INCONCLUSIVE, load};
use crate::analysis::{Basis, IdleClass, Missing, PROFILED_SPEED, Rates, WhatIf, counted};
use crate::columns::{Output, WHAT_IF, column, shown};
use crate::export::report::as_if as as_if_json;
use crate::export::rows::object;

const LIMITS: &str = "Limits: loading gets slower with more workers (they share the CPU); near the point where loading just keeps up, its \
variation alone makes waits; one slow sample blocks, since batches come in order; prefetch depth, storage and memory are not modelled.";
const BEST_CASE: &str = "The hand-over of a batch from worker to loop was not measured: predictions with workers are a best case.";

/// From this difference between the model and the measured step on, its answers are called rough.
const OFF: f64 = 0.10;

/// Runs the command.
pub fn run(args: &Whatif, out: &mut dyn Write) -> Result<u8, CliError> {
    let opened = load::open(&args.input.paths, &args.input.open)?;
    let a = analyse::analyse(opened, &args.scope)?;
    let mut known = false;
    let mut values = Vec::new();
    let mut text = String::new();
    for rank in a.ranks() {
        let rates = a.analysis.rates(rank, a.window);
        known |= rates.is_some() || args.no_sync;
        values.push(to_json(&a, args, rank, rates.as_ref()));
        to_text(&mut text, &a, args, rank, rates.as_ref());
    }
    if a.ranks().is_empty() {
        text.push_str("No training loop was found: nothing to predict.\n");
    }
    if args.json {
        let value = json!({"schema": 1, "ranks": values});
        let text = serde_json::to_string_pretty(&value).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        out.write_all(text.as_bytes())?;
    }
    Ok(if known { 0 } else { EXIT_INCONCLUSIVE })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "predictions are shown to the microsecond"
)]
fn ns(x: f64) -> i64 {
    x.round() as i64
}

fn to_text(out: &mut String, a: &Analysed, args: &Whatif, rank: usize, rates: Option<&Rates>) {
    if a.ranks().len() > 1 {
        out.push_str(&format!("Rank {}\n", a.analysis.ranks()[rank].rank));
    }
    match rates {
        Some(rates) => predictions(out, a, args, rank, rates),
        None => {
            out.push_str("The effect of workers cannot be predicted.\n");
            out.push_str(&sentence(&why_not(a, rank)));
        }
    }
    if args.no_sync {
        no_sync(out, a, rank);
    }
    out.push('\n');
}

/// Why nothing can be predicted for a rank.
fn why_not(a: &Analysed, rank: usize) -> String {
    let verdict = a.analysis.verdict(rank, a.window);
    let lacks = |what: &Missing| verdict.missing.contains(what);
    let what = [Missing::NoSteps, Missing::NoFetch, Missing::NoWorkers]
        .into_iter()
        .find(lacks);
    match what {
        Some(what) => a.analysis.missing_text(rank, what),
        None => "No batch was loaded in the window.".to_owned(),
    }
}

/// What was measured, and how.
fn measured(out: &mut String, a: &Analysed, rank: usize, rates: &Rates) {
    let (c, pace) = (&rates.costs, &rates.pace);
    let wait = match a.analysis.ranks()[rank].gpu {
        Some(_) => "exposed wait",
        None => "wait (CPU clock)",
    };
    out.push_str(&format!(
        "Measured with {}: {} ms per step (mean of {}{}), of it {} ms {wait}.\n",
        counted(u64::from(rates.workers), "worker"),
        ms(ns(pace.step)),
        counted(pace.steps as u64, "step"),
        pace.instead_of_median()
            .map_or_else(String::new, |why| format!(
                "; the median of the CPU's steps, {} ms, is not it: {why}",
                ms(pace.median)
            )),
        ms(ns(pace.wait)),
    ));
    let alone = rates.workers == 0;
    out.push_str(&format!(
        "Per batch: loading {} ms{}, hand-over {} ms; a step without waits {} ms.\n",
        ms(ns(c.load)),
        if rates.load_from_waits {
            String::new()
        } else {
            format!(" ({} ms of it reading)", ms(ns(c.read)))
        },
        ms(ns(if alone {
            c.handover_in_loop
        } else {
            c.handover
        })),
        ms(ns(c.compute)),
    ));
    if rates.load_from_waits {
        out.push_str(
            "num_workers is 0: the loop loads each batch itself, so its waits stand in for the loading.\n",
        );
    }
    out.push_str(match pace.basis {
        Basis::Median => "",
        Basis::Drained => {
            "The loop does not wait for the GPU in each step, so steps are uneven: figures are means, from the end of the GPU work\n\
             launched before the steps to the end of their own.\n"
        }
        Basis::CpuMean => {
            "The steps are uneven: figures are means. Without GPU events nobody knows what the GPU still worked on: the step without\n\
             waits may be longer than it seems, and the predictions too good.\n"
        }
    });
}

fn predictions(out: &mut String, a: &Analysed, args: &Whatif, rank: usize, rates: &Rates) {
    measured(out, a, rank, rates);
    let columns = shown(WHAT_IF, Output::Text, "");
    let mut names = heads(&columns);
    names.push("<".to_owned());
    let mut t = Table::new(&names);
    let mut row = |w: &WhatIf, note: &str| {
        let mut cells = cells(&a.analysis, &columns, w);
        cells.push(note.to_owned());
        t.row(cells);
    };
    row(&rates.measured(), "measured");
    for n in args.workers.0..=args.workers.1 {
        let mut notes = Vec::new();
        if n == rates.workers {
            notes.push("as measured, by the model");
        }
        if args.cache == 0.0 && Some(n) == rates.needed_workers {
            notes.push("loading keeps up");
        }
        if args.cache == 0.0 && rates.recommended(args.cores) == Ok(Some(n)) {
            notes.push("with 25 % headroom");
        }
        row(&rates.what_if(n, args.cores, args.cache), &notes.join(", "));
    }
    out.push_str(&t.render());
    match rates.recommended(args.cores) {
        Err(why) => out.push_str(&sentence(&format!(
            "No number of workers is recommended: {why}."
        ))),
        Ok(Some(_)) if args.cores.is_none() => {
            out.push_str(&sentence(
                "More workers help only if there are cores for them (--cores N).",
            ));
        }
        Ok(_) => {}
    }
    as_if(out, a, rank);
    if !rates.collates {
        out.push_str(&sentence("Collate is not recorded: without workers it is added to the loop as hand-over, not dropped."));
    }
    if let Some(off) = rates.off().filter(|o| o.abs() >= OFF) {
        out.push_str(&format!(
            "  The model misses the measured step by {:+.1} %: take its answers as rough.\n",
            off * 100.0
        ));
    }
    if !rates.handover_known {
        out.push_str(&sentence(BEST_CASE));
    }
    out.push_str(&sentence(LIMITS));
    if rates.profiled {
        out.push_str(&sentence(PROFILED_SPEED));
    }
}

/// What the waiting would be if its cause were gone.
fn as_if(out: &mut String, a: &Analysed, rank: usize) {
    for row in a.analysis.as_if(rank, a.window) {
        out.push_str(&sentence(&format!(
            "{}: waits {} ms instead of {} ms, the loop {} ms instead of {} ms (its queue played again).",
            row.what.text(),
            ms(row.wait),
            ms(row.measured_wait),
            ms(row.time),
            ms(row.measured_time),
        )));
    }
}

/// (idle after synchronising calls, time of the steps judged), ns; `None` where it was not measured.
fn bubbles(a: &Analysed, rank: usize) -> Option<(i64, i64)> {
    let verdict = a.analysis.verdict(rank, a.window);
    let known = a.analysis.ranks()[rank].gpu.is_some() && verdict.judged.enough();
    known.then(|| {
        let idle = verdict.ledger.get(IdleClass::Sync);
        (idle, verdict.judged.account.judged)
    })
}

fn no_sync(out: &mut String, a: &Analysed, rank: usize) {
    match bubbles(a, rank) {
        Some((bubble, time)) => out.push_str(&format!(
            "Without synchronising calls: the GPU stood idle {} ms after them, {} of the judged steps, beside waits for data.\n\
             That is the most that can be won.\n",
            ms(bubble),
            percent(bubble, time),
        )),
        None => out.push_str("Without synchronising calls: cannot be told, there are no GPU events or no steps.\n"),
    }
}

fn to_json(a: &Analysed, args: &Whatif, rank: usize, rates: Option<&Rates>) -> Value {
    let columns = ["workers", "step", "wait", "job"].map(|key| column(WHAT_IF, key));
    let predictions: Option<Vec<Value>> = rates.map(|r| {
        let answers =
            (args.workers.0..=args.workers.1).map(|n| r.what_if(n, args.cores, args.cache));
        answers
            .map(|w| object(&a.analysis, &columns, &w).into())
            .collect()
    });
    let costs = rates.map(|r| {
        json!({
            "workers": r.workers, "step": ns(r.pace.step), "wait": ns(r.pace.wait), "basis": r.pace.basis.key(),
            "steps": r.pace.steps, "load_from_waits": r.load_from_waits, "model_off": r.off(),
            "compute": ns(r.costs.compute), "load": ns(r.costs.load), "read": ns(r.costs.read),
            "handover": ns(r.costs.handover), "handover_in_loop": ns(r.costs.handover_in_loop),
            "handover_known": r.handover_known, "needed_workers": r.needed_workers,
            "recommended_workers": r.recommended(args.cores).ok().flatten(),
            "recommended_reason": r.recommended(args.cores).err(), "job": r.job.time,
        })
    });
    json!({
        "rank": a.analysis.ranks()[rank].rank,
        "measured_step": Steady::of(a, rank).pace.map(|p| p.per_step()),
        "measured": costs,
        "predictions": predictions,
        "as_if": as_if_json(&a.analysis, rank, a.window),
        "no_sync": if args.no_sync { bubbles(a, rank).map(|(b, t)| json!({"bubble": b, "step_time": t})) } else { None },
    })
}
