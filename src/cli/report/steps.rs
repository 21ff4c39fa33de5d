//! Steps of the loop and the loading work of its workers.

use super::super::analyse::Analysed;
use super::super::table::{Table, ms, percent, printable, shorten};
use super::{heading, ms_or_dash, of_rank, say};
use crate::analysis::{ColumnSummary, LayerId, Recorded, StepRow, counted};
use crate::time::format_count;

/// Steps listed from the beginning and from the end.
const LISTED: usize = 12;

/// One statistic of a column.
type Pick = fn(&ColumnSummary) -> Option<i64>;

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
    let recorded = a.analysis.recorded(rank);
    let mut t = Table::new(&[
        "step",
        "time",
        "wait",
        "exposed",
        "hidden",
        "forward",
        "backward",
        "optimizer",
        "other",
        "in sync",
        "GPU busy",
        "GPU lag",
    ]);
    for row in listed(&rows) {
        t.row(match row {
            Some(row) => cells(a, rank, row, &recorded),
            None => vec![format!("… {} more", rows.len() - 2 * LISTED)],
        });
    }
    let summaries: [(&str, Pick); 3] = [
        ("median", |s| s.median),
        ("p95", |s| s.p95),
        ("max", |s| s.max),
    ];
    for (name, pick) in summaries {
        t.row(summary(&rows, name, pick, &recorded));
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
        "GPU lag: the step's last GPU work ends so long after the step. First steps of a loader's run are marked ^.",
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

fn of_gpu(has_gpu: bool, ns: i64) -> String {
    if has_gpu { ms(ns) } else { "-".to_owned() }
}

/// The place of `forward` among [`columns`]; `backward` follows.
const FORWARD: usize = 4;

/// The columns after the label, in the order of the heads: what a step has there; `None` is not known.
fn columns(row: &StepRow, recorded: &Recorded) -> [Option<i64>; 11] {
    let known = recorded.step(row);
    [
        Some(row.time()),
        known.wait,
        known.wait_exposed,
        known.wait_hidden,
        recorded.phase(row, LayerId::FORWARD),
        recorded.phase(row, LayerId::BACKWARD),
        recorded.phase(row, LayerId::OPTIMIZER),
        Some(row.other()),
        known.in_sync,
        known.gpu_busy,
        row.gpu_lag,
    ]
}

fn cells(a: &Analysed, rank: usize, row: &StepRow, recorded: &Recorded) -> Vec<String> {
    let step = &a.analysis.ranks()[rank].steps[row.step];
    let mark = if row.first { "^" } else { "" };
    let label = format!("{}{mark}", shorten(&printable(&step.label), 24));
    let mut figures = columns(row, recorded).map(ms_or_dash);
    if let Some(passes) = a.analysis.inferred_passes(rank, row.step) {
        let guesses = [
            (FORWARD, LayerId::FORWARD, passes.forward),
            (FORWARD + 1, LayerId::BACKWARD, Some(passes.backward)),
        ];
        for (column, layer, guess) in guesses {
            if let Some(guess) = guess.filter(|_| row.phase(layer) == 0) {
                figures[column] = format!("~{}", ms(guess.len()));
            }
        }
    }
    std::iter::once(label).chain(figures).collect()
}

fn summary(rows: &[&StepRow], name: &str, pick: Pick, recorded: &Recorded) -> Vec<String> {
    let all: Vec<[Option<i64>; 11]> = rows.iter().map(|r| columns(r, recorded)).collect();
    let column = |i: usize| {
        let values = all.iter().filter_map(|row| row[i]);
        ms_or_dash(pick(&ColumnSummary::of(values)))
    };
    std::iter::once(name.to_owned())
        .chain((0..11).map(column))
        .collect()
}

/// Steps of many ranks: the medians of each.
pub fn steps_of_ranks(out: &mut String, a: &Analysed) {
    heading(out, "Median steps, in ms");
    let mut t = Table::new(&[
        "rank",
        "steps",
        "time",
        "wait",
        "exposed",
        "hidden",
        "forward",
        "backward",
        "optimizer",
        "other",
        "in sync",
        "GPU busy",
        "GPU lag",
    ]);
    for rank in a.ranks() {
        let (rows, _partial) = a.analysis.step_rows(rank, a.window);
        let r = &a.analysis.ranks()[rank];
        let mut cells = summary(
            &rows,
            &r.rank.to_string(),
            |s| s.median,
            &a.analysis.recorded(rank),
        );
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
    let has_gpu = a.analysis.ranks()[rank].gpu.is_some();
    let hidden = if has_gpu {
        format!("; {} ms of it ran while the GPU worked", ms(f.hidden_sum))
    } else {
        String::new()
    };
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
    let mut t = Table::new(&[
        "process",
        "load",
        "of time",
        "hidden",
        "exposed",
        "during waits",
        "loads",
        "median",
    ]);
    for row in f.rows.iter().take(2 * LISTED) {
        t.row(vec![
            printable(&row.key),
            ms(row.load),
            percent(row.load, a.window.len()),
            of_gpu(has_gpu, row.hidden),
            of_gpu(has_gpu, row.exposed),
            ms(row.during_wait),
            format_count(row.n),
            ms_or_dash(row.whole_median),
        ]);
    }
    out.push_str(&t.render());
    if f.rows.len() > 2 * LISTED {
        say(
            out,
            &format!("and {} more; --json lists all", f.rows.len() - 2 * LISTED),
        );
    }
}
