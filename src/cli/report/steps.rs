//! Steps of the loop and the loading work of its workers.

use std::io::{self, Write};

use super::super::analyse::Analysed;
use super::super::rows::{self, cells, heads};
use super::super::table::{Table, ms, shorten};
use super::{heading, ms_or_dash, of_rank, say};
use crate::analysis::{ColumnSummary, StepRow, counted};
use crate::columns::{Column, Output, STEP, WORKER, is_empty_phase, shown};
use crate::export;

/// Steps listed from the beginning and from the end.
const LISTED: usize = 12;

/// One statistic of a column.
type Pick = fn(&ColumnSummary) -> Option<i64>;

/// All steps of the ranks asked for as CSV, in ns.
pub fn csv(a: &Analysed, out: &mut dyn Write) -> io::Result<()> {
    let columns = shown(STEP, Output::Csv, "");
    let ranks = a.ranks().into_iter();
    let steps = ranks.flat_map(|rank| a.analysis.step_rows(rank, a.window).0);
    export::rows::csv(out, &a.analysis, &columns, steps)
}

/// The step table.
pub fn steps(out: &mut String, a: &Analysed, rank: usize) {
    let r = &a.analysis.ranks()[rank];
    let (rows, partial) = a.analysis.step_rows(rank, a.window);
    heading(out, &format!("Steps{}, in ms", of_rank(a, rank)));
    if rows.is_empty() {
        say(
            out,
            "No steps: there are no ProfilerStep, NVTX or step spans, and no batch waits to derive them from.",
        );
        return;
    }
    let cut = match partial {
        0 => String::new(),
        1 => " 1 more is only partly in the window.".to_owned(),
        n => format!(" {n} more are only partly in the window."),
    };
    say(
        out,
        &format!(
            "{} ({}).{cut}",
            counted(rows.len() as u64, "step"),
            r.steps_how.text()
        ),
    );
    if let Some(pace) = a.analysis.pace(&a.analysis.judged(rank, a.window)) {
        say(out, &pace.text());
    }
    let mut columns = shown(STEP, Output::Text, "");
    columns.retain(|c| !is_empty_phase(c, &a.analysis, rows.iter().copied()));
    let mut t = Table::new(&heads(&columns));
    for row in listed(&rows) {
        t.row(match row {
            Some(row) => step(a, &columns, row),
            None => vec![format!("… {} more", rows.len() - 2 * LISTED)],
        });
    }
    let summaries: [(&str, Pick); 3] = [
        ("median", |s| s.median),
        ("p95", |s| s.p95),
        ("max", |s| s.max),
    ];
    for (name, pick) in summaries {
        t.row(summary(a, &columns, &rows, name, pick));
    }
    out.push_str(&t.render());
    if rows
        .iter()
        .any(|row| a.analysis.inferred_passes(rank, row.step).is_some())
    {
        say(
            out,
            "~: inferred from ops and autograd threads, because the loop does not name it; it is part of \"other\", too.",
        );
    }
    say(
        out,
        "GPU lag: how long after the step's end its last GPU work ends; negative: before. First steps of a loader's run are marked ^.",
    );
}

/// The first and last rows with a gap, or all.
fn listed<'a>(rows: &[&'a StepRow]) -> Vec<Option<&'a StepRow>> {
    if rows.len() <= 2 * LISTED + 1 {
        return rows.iter().copied().map(Some).collect();
    }
    let head = rows[..LISTED].iter().copied().map(Some);
    let tail = rows[rows.len() - LISTED..].iter().copied().map(Some);
    head.chain([None]).chain(tail).collect()
}

fn step(a: &Analysed, columns: &[&Column<StepRow>], row: &StepRow) -> Vec<String> {
    let mut out = cells(&a.analysis, columns, row);
    let mark = if row.first { "^" } else { "" };
    out[0] = format!("{}{mark}", shorten(&out[0], 24));
    if let Some(passes) = a.analysis.inferred_passes(row.rank, row.step) {
        let guesses = [
            ("forward", passes.forward),
            ("backward", Some(passes.backward)),
        ];
        for (key, guess) in guesses {
            let at = columns.iter().position(|c| c.key == key);
            let at = at.filter(|&i| columns[i].time(&a.analysis, row).unwrap_or(0) == 0);
            if let (Some(i), Some(guess)) = (at, guess) {
                out[i] = format!("~{}", ms(guess.len()));
            }
        }
    }
    out
}

/// A statistic of all columns behind the first.
fn summary(
    a: &Analysed,
    columns: &[&Column<StepRow>],
    rows: &[&StepRow],
    name: &str,
    pick: Pick,
) -> Vec<String> {
    let cell = |c: &&Column<StepRow>| {
        let values = rows.iter().filter_map(|row| c.time(&a.analysis, row));
        ms_or_dash(pick(&ColumnSummary::of(values)))
    };
    std::iter::once(name.to_owned())
        .chain(columns[1..].iter().map(cell))
        .collect()
}

/// Steps of many ranks: the medians of each.
pub fn steps_of_ranks(out: &mut String, a: &Analysed) {
    heading(out, "Median steps, in ms");
    let all = a
        .ranks()
        .into_iter()
        .flat_map(|r| a.analysis.step_rows(r, a.window).0);
    let all: Vec<&StepRow> = all.collect();
    let mut columns = shown(STEP, Output::Text, "");
    columns.retain(|c| !is_empty_phase(c, &a.analysis, all.iter().copied()));
    let mut names = heads(&columns);
    names.splice(..1, ["rank".to_owned(), "steps".to_owned()]);
    let mut t = Table::new(&names);
    for rank in a.ranks() {
        let (rows, _partial) = a.analysis.step_rows(rank, a.window);
        let number = a.analysis.ranks()[rank].rank.to_string();
        let mut cells = summary(a, &columns, &rows, &number, |s| s.median);
        cells.insert(1, rows.len().to_string());
        t.row(cells);
    }
    out.push_str(&t.render());
    say(
        out,
        "For the steps and the loading work of one of them: --rank N.",
    );
}

/// Loading work, by process.
pub fn workers(out: &mut String, a: &Analysed, rank: usize) {
    let f = a.analysis.workers(rank, a.window);
    if f.rows.is_empty() {
        return;
    }
    heading(out, &format!("Loading work{}, in ms", of_rank(a, rank)));
    let hidden = f.hidden_sum.map_or(String::new(), |ns| {
        format!("; {} ms of it ran while the GPU worked", ms(ns))
    });
    say(
        out,
        &format!(
            "{} ms in {}, {} ms in the busiest; at least one of them loaded for {} ms{hidden}.",
            ms(f.load_sum),
            counted(f.rows.len() as u64, "process"),
            ms(f.busiest),
            ms(f.any_load),
        ),
    );
    let columns = shown(WORKER, Output::Text, "");
    let listed = f.rows.iter().take(2 * LISTED);
    let t = rows::table(&a.analysis, &columns, listed, |_, _| {});
    out.push_str(&t.render());
    if f.rows.len() > 2 * LISTED {
        say(
            out,
            &format!("and {} more; --json lists all", f.rows.len() - 2 * LISTED),
        );
    }
}
