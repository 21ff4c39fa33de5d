//! The table of fixed windows in the JSON report.

use serde_json::{Value, json};

use super::{Object, ReportOptions};
use crate::analysis::{Analysis, WINDOW_GROUPS, WindowCell};
use crate::time::TimeRange;

/// The `j`-th fixed window from `origin`.
#[must_use]
pub fn fixed_window(origin: i64, grid: i64, j: usize) -> TimeRange {
    let from = i64::try_from(j).unwrap_or(i64::MAX).saturating_mul(grid);
    let start = origin.saturating_add(from);
    TimeRange::new(start, start.saturating_add(grid))
}

/// Fixed windows that touch the window reported on; they are whole, also where that one cuts them.
pub(super) fn add(
    analysis: &Analysis,
    options: &ReportOptions,
    window: TimeRange,
    grid: i64,
    out: &mut Object,
) {
    let origin = options.origin.unwrap_or(analysis.trace().extent().start);
    let own = options
        .groups
        .iter()
        .map(|(n, l)| (n.as_str(), l.as_slice()));
    let groups: Vec<_> = if options.groups.is_empty() {
        WINDOW_GROUPS.to_vec()
    } else {
        own.collect()
    };
    let rows = match analysis.fixed_windows(&groups, grid, origin) {
        Ok(rows) => rows,
        Err(e) => {
            out.insert("windows_error".to_owned(), e.to_string().into());
            return;
        }
    };
    let cell = |c: &WindowCell| {
        json!({
            "sum": c.sum, "proc_max": c.proc_max, "n_started": c.n_started,
            "dfa_sum": c.dfa_sum, "dfa_proc_max": c.dfa_proc_max,
        })
    };
    let touches = |j: &usize| fixed_window(origin, grid, *j).overlaps(window);
    let rows: Vec<_> = rows
        .into_iter()
        .enumerate()
        .filter(|(j, _)| touches(j))
        .collect();
    let mut totals = Object::new();
    for (g, (name, _)) in groups.iter().enumerate() {
        let sum = |f: fn(&WindowCell) -> i64| rows.iter().map(|(_, r)| f(&r[g])).sum::<i64>();
        let value = json!({
            "sum": sum(|c| c.sum), "proc_max": sum(|c| c.proc_max),
            "dfa_sum": sum(|c| c.dfa_sum), "dfa_proc_max": sum(|c| c.dfa_proc_max),
        });
        totals.insert((*name).to_owned(), value);
    }
    let rows = rows.iter().map(|(j, row)| {
        let mut out = Object::new();
        out.insert("window".to_owned(), (*j).into());
        for ((name, _), c) in groups.iter().zip(row) {
            out.insert((*name).to_owned(), cell(c));
        }
        Value::from(out)
    });
    out.insert("windows".to_owned(), rows.collect());
    out.insert("window_totals".to_owned(), totals.into());
    out.insert("grid".to_owned(), grid.into());
}
