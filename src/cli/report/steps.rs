//! Steps of the loop and the loading work of its workers.

use super::super::analyse::Analysed;
use super::super::table::{Table, ms, percent, printable, shorten};
use super::{heading, ms_or_dash, of_rank, say};
use crate::analysis::{ColumnSummary, LayerId, StepRow, counted};
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
    let has_gpu = r.gpu.is_some();
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
            Some(row) => cells(a, rank, row, has_gpu),
            None => vec![format!("… {} more", rows.len() - 2 * LISTED)],
        });
    }
    let summaries: [(&str, Pick); 3] = [
        ("median", |s| s.median),
        ("p95", |s| s.p95),
        ("max", |s| s.max),
    ];
    for (name, pick) in summaries {
        t.row(summary(&rows, name, pick, has_gpu));
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

fn cells(a: &Analysed, rank: usize, row: &StepRow, has_gpu: bool) -> Vec<String> {
    let step = &a.analysis.ranks()[rank].steps[row.step];
    let mark = if row.first { "^" } else { "" };
    let inferred = a.analysis.inferred_passes(rank, row.step);
    let pass = |layer: LayerId, guess: Option<crate::time::TimeRange>| match guess {
        Some(guess) if row.phase(layer) == 0 => format!("~{}", ms(guess.len())),
        _ => ms(row.phase(layer)),
    };
    vec![
        format!("{}{mark}", shorten(&printable(&step.label), 24)),
        ms(row.time()),
        ms(row.wait),
        of_gpu(has_gpu, row.wait_exposed),
        of_gpu(has_gpu, row.wait_hidden),
        pass(LayerId::FORWARD, inferred.and_then(|i| i.forward)),
        pass(LayerId::BACKWARD, inferred.map(|i| i.backward)),
        ms(row.phase(LayerId::OPTIMIZER)),
        ms(row.other()),
        ms(row.in_sync),
        of_gpu(has_gpu, row.gpu_busy),
        ms_or_dash(row.gpu_lag),
    ]
}

fn summary(rows: &[&StepRow], name: &str, pick: Pick, has_gpu: bool) -> Vec<String> {
    let column = |value: fn(&StepRow) -> Option<i64>| {
        ms_or_dash(pick(&ColumnSummary::of(
            rows.iter().filter_map(|r| value(r)),
        )))
    };
    let gpu = |value: fn(&StepRow) -> Option<i64>| {
        if has_gpu {
            column(value)
        } else {
            "-".to_owned()
        }
    };
    vec![
        name.to_owned(),
        column(|r| Some(r.time())),
        column(|r| Some(r.wait)),
        gpu(|r| Some(r.wait_exposed)),
        gpu(|r| Some(r.wait_hidden)),
        column(|r| Some(r.phase(LayerId::FORWARD))),
        column(|r| Some(r.phase(LayerId::BACKWARD))),
        column(|r| Some(r.phase(LayerId::OPTIMIZER))),
        column(|r| Some(r.other())),
        column(|r| Some(r.in_sync)),
        gpu(|r| Some(r.gpu_busy)),
        column(|r| r.gpu_lag),
    ]
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
        let mut cells = summary(&rows, &r.rank.to_string(), |s| s.median, r.gpu.is_some());
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
