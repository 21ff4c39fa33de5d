//! `stallscope why`: what a loop's waiting comes from, and why single waits happened.

use std::io::Write;

use serde_json::{Value, json};

use super::analyse::{self, Analysed};
use super::args::Why;
use super::table::{Table, bytes, ms, percent, printable, sentence, were};
use super::{CliError, EXIT_INCONCLUSIVE, load};
use crate::analysis::{FileRead, Group, Kind, Totals, Waiting};
use crate::export::report::{cause_of_loop, cause_of_wait};
use crate::time::about_ns;

/// Runs the command.
pub fn run(args: &Why, out: &mut dyn Write) -> Result<u8, CliError> {
    let opened = load::open(&args.input.paths, &args.input.open)?;
    let a = analyse::analyse(opened, &args.scope)?;
    let chosen = chosen(&a, args)?;
    if args.json {
        let ranks: Value = chosen
            .iter()
            .map(|(rank, waits)| to_json(&a, *rank, waits))
            .collect();
        let text = serde_json::to_string_pretty(&json!({"schema": 1, "ranks": ranks}))
            .map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        let all = args.wait.is_none() && args.step.is_none();
        let mut text = String::new();
        for (rank, waits) in &chosen {
            to_text(&mut text, &a, *rank, waits, all);
        }
        if text.is_empty() {
            text.push_str("No waits of a training loop were found.\n");
        }
        out.write_all(text.as_bytes())?;
    }
    let asked = args.wait.is_some() || args.step.is_some();
    let some = chosen.iter().any(|(_, waits)| !waits.is_empty());
    // Of loops without waits nothing is told either; a step without one is an answer.
    Ok(
        match asked && (chosen.is_empty() || some && !any_told(&a, &chosen)) {
            true => EXIT_INCONCLUSIVE,
            false => 0,
        },
    )
}

/// The waits asked for, by rank.
fn chosen(a: &Analysed, args: &Why) -> Result<Vec<(usize, Vec<usize>)>, CliError> {
    if args.wait.is_some() || args.step.is_some() {
        return named(a, args.wait, args.step.as_deref());
    }
    let top = |rank: usize| {
        let causes = a.analysis.causes(rank);
        let mut all: Vec<usize> = waits_of(a, rank).collect();
        let cost = |w: &usize| causes.range(*w).len() - causes.waits[*w].parts.hidden();
        all.sort_by_key(|w| (std::cmp::Reverse(cost(w)), *w));
        all.truncate(args.top);
        (rank, all)
    };
    Ok(waiting_ranks(a).map(top).collect())
}

/// The ranks asked for whose loops have waits.
fn waiting_ranks(a: &Analysed) -> impl Iterator<Item = usize> {
    let waits = |rank: &usize| !a.analysis.causes(*rank).waits.is_empty();
    a.ranks().into_iter().filter(waits)
}

/// The waits that are named by a number, or by the step that they begin in: by rank, as places among the waits of it.
///
/// # Errors
/// For a wait or a step that does not exist, and for a wait of several loops.
pub fn named(
    a: &Analysed,
    wait: Option<usize>,
    step: Option<&str>,
) -> Result<Vec<(usize, Vec<usize>)>, CliError> {
    let ranks: Vec<usize> = waiting_ranks(a).collect();
    if let (Some(wait), [rank]) = (wait, &ranks[..]) {
        let n = a.analysis.causes(*rank).waits.len();
        return match wait < n {
            true => Ok(vec![(*rank, vec![wait])]),
            false => Err(CliError::Usage(format!(
                "There is no wait {wait}: the loop has {n}, numbered from 0."
            ))),
        };
    }
    if ranks.is_empty() {
        return Ok(Vec::new());
    }
    let Some(step) = step else {
        return Err(CliError::Usage(
            "Several loops have waits: say which one with --rank.".to_owned(),
        ));
    };
    let found: Vec<(usize, Vec<usize>)> = ranks
        .into_iter()
        .filter_map(|rank| Some((rank, in_step(a, rank, step)?)))
        .collect();
    match found.is_empty() {
        true => Err(CliError::Usage(format!(
            "There is no step {step}: `stallscope report --csv` lists them."
        ))),
        false => Ok(found),
    }
}

/// Whether the cause of any of some waits is told.
pub fn any_told(a: &Analysed, waits: &[(usize, Vec<usize>)]) -> bool {
    waits.iter().any(|(rank, waits)| {
        let all = &a.analysis.causes(*rank).waits;
        waits.iter().any(|&w| all[w].kind != Kind::Unknown)
    })
}

/// The waits that begin in a step.
fn in_step(a: &Analysed, rank: usize, name: &str) -> Option<Vec<usize>> {
    let steps = &a.analysis.ranks()[rank].steps;
    let step = steps
        .iter()
        .find(|s| s.short() == name || s.label == name)?;
    let causes = a.analysis.causes(rank);
    let all = 0..causes.waits.len();
    Some(
        all.filter(|&w| step.range.contains(causes.range(w).start))
            .collect(),
    )
}

fn to_json(a: &Analysed, rank: usize, waits: &[usize]) -> Value {
    let causes = a.analysis.causes(rank);
    let wait = |&w: &usize| {
        let range = causes.range(w);
        json!({
            "wait": w, "start": range.start, "end": range.end,
            "cause": cause_of_wait(&a.analysis, rank, w),
        })
    };
    json!({
        "rank": a.analysis.ranks()[rank].rank,
        "cause": cause_of_loop(&a.analysis, rank, a.window),
        "waits": waits.iter().map(wait).collect::<Value>(),
        "n_waits": waits_of(a, rank).count(),
    })
}

/// Two lines: what the waiting comes from, and what to do about it.
pub fn summary(out: &mut String, a: &Analysed, rank: usize) {
    if let Some(waiting) = a.analysis.why_waited(rank, a.window) {
        two_lines(out, a, rank, &waiting);
    }
}

fn two_lines(out: &mut String, a: &Analysed, rank: usize, waiting: &Waiting) {
    out.push_str(&sentence(&a.analysis.waiting_text(rank, waiting)));
    let advice = printable(&a.analysis.advice(rank, a.window, waiting));
    out.push_str(&sentence(&advice));
}

fn to_text(out: &mut String, a: &Analysed, rank: usize, waits: &[usize], all: bool) {
    if a.ranks().len() > 1 {
        out.push_str(&format!("Rank {}\n", a.analysis.ranks()[rank].rank));
    }
    if all && let Some(waiting) = a.analysis.why_waited(rank, a.window) {
        two_lines(out, a, rank, &waiting);
        groups(out, &waiting);
        workers(out, &waiting);
        files(out, a, rank, &waiting);
        out.push('\n');
    }
    for &wait in waits {
        one(out, a, rank, wait);
    }
    let more = match all {
        true => waits_of(a, rank).count() - waits.len(),
        false => 0,
    };
    if more > 0 {
        let text = format!(
            "{} shorter: --top N shows them.",
            were(more as u64, "more wait")
        );
        out.push_str(&sentence(&text));
    }
    if waits.is_empty() && more == 0 {
        let what = if all { "window" } else { "step" };
        out.push_str(&sentence(&format!("No wait begins in this {what}.")));
    }
    out.push('\n');
}

/// The waits of a rank that begin in the window.
fn waits_of(a: &Analysed, rank: usize) -> impl Iterator<Item = usize> {
    let causes = a.analysis.causes(rank);
    (0..causes.waits.len()).filter(|&w| a.window.contains(causes.range(w).start))
}

fn groups(out: &mut String, waiting: &Waiting) {
    let t = &waiting.totals;
    out.push_str("\nWhat the waiting was spent on, in ms\n");
    out.push_str(&sentence(&judged(t)));
    let mut table = Table::new(&["", "all", "first", "later", "judged", "of judged"]);
    let of = |list: &[(Group, i64)], group: Group| {
        list.iter()
            .find(|(g, _)| *g == group)
            .map_or(0, |(_, ns)| *ns)
    };
    for &(group, ns) in &t.by_group {
        let judged = of(&t.by_group_judged, group);
        table.row(vec![
            group.word().to_owned(),
            ms(ns),
            ms(of(&t.by_group_first, group)),
            ms(of(&t.by_group_later, group)),
            ms(judged),
            percent(judged, t.judged),
        ]);
    }
    out.push_str(&table.render());
    if t.head_of_line_max > 0 {
        out.push_str(&sentence(&format!(
            "Later batches were ready before the one that was waited for: handing them out first (in_order=False) could have saved {} at most.",
            about_ns(t.head_of_line_max)
        )));
    }
}

/// Which waits the cause is told from.
fn judged(t: &Totals) -> String {
    let n = were(t.n_judged as u64, "later wait");
    let why = match t.judged == t.later {
        true => "all of them",
        false => "those whose batch was late",
    };
    format!("All: waits for batches, and those at the end of a loader. {n} judged: {why}.")
}

fn workers(out: &mut String, waiting: &Waiting) {
    let t = &waiting.totals;
    if t.workers.is_empty() {
        return;
    }
    out.push_str("\nWorkers, in ms\n");
    let mut table = Table::new(&[
        "worker",
        "batches",
        "a batch",
        "of all waiting",
        "busy in judged",
        "pid",
    ]);
    for w in &t.workers {
        let held = t.by_worker.get(&Some(w.place)).copied().unwrap_or(0);
        let most = 3;
        let mut pids: Vec<&str> = w.pids.iter().take(most).map(String::as_str).collect();
        if w.pids.len() > most {
            pids.push("…");
        }
        table.row(vec![
            w.place.to_string(),
            w.batches.to_string(),
            ms(w.production),
            percent(held, t.first + t.later),
            percent(w.busy, t.judged_length),
            printable(&pids.join(" ")),
        ]);
    }
    out.push_str(&table.render());
}

fn files(out: &mut String, a: &Analysed, rank: usize, waiting: &Waiting) {
    let t = &waiting.totals;
    let shown: Vec<_> = t.telling_files().collect();
    if shown.is_empty() {
        return;
    }
    out.push_str("\nFiles that were read for 1 % of all waiting or more, in ms\n");
    let mut table = Table::new(&["in waits", "at all", "visits", "size", "MB/s", "<file"]);
    let causes = a.analysis.causes(rank);
    for f in shown {
        table.row(vec![
            ms(f.in_waits),
            ms(f.read.ns),
            f.visits.to_string(),
            size(f.read),
            f.read
                .mb_s()
                .map_or_else(|| "-".to_owned(), |r| format!("{r:.1}")),
            printable(causes.file(f.file)),
        ]);
    }
    out.push_str(&table.render());
}

fn size(read: FileRead) -> String {
    bytes(u64::try_from(read.bytes).unwrap_or(0))
}

/// A wait, its item and file, and what else is known of it.
fn one(out: &mut String, a: &Analysed, rank: usize, place: usize) {
    let wait = a.analysis.wait_at(rank, place);
    let Some(text) = wait.and_then(|w| a.analysis.wait_text(w)) else {
        return;
    };
    out.push_str(&sentence(&printable(&text.said)));
    for more in &text.more {
        out.push_str(&sentence(&printable(more)));
    }
}
