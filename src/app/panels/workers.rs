//! The Workers tab: what each loading process did, and how much of it the GPU covered.

use std::sync::Arc;

use egui::Ui;

use super::{FnTable, Scope, busy_ui, caption_ui, empty_ui, shown_ui, waker};
use crate::analysis::{WorkerFigures, WorkerRow};
use crate::app::model::action::Actions;
use crate::app::model::document::Document;
use crate::app::model::latest::Latest;
use crate::app::model::state::AppState;
use crate::app::widgets::table::{Cell, Column, Table, TableState};
use crate::time::format_ns;

const NONE: &str = "No loading work is in this trace. torch.profiler records only the main process: open the DFTracer \
    files of the same run beside it, or record with nsys. With 0 workers there are none: the training loop loads.";

/// Loading work of the ranks in scope: (rank, figures).
pub type Job = Latest<Scope, Vec<(usize, WorkerFigures)>>;

/// Draws the tab.
pub fn workers_ui(ui: &mut Ui, state: &mut AppState, _actions: &mut Actions) {
    let Some(doc) = &mut state.doc else {
        return;
    };
    let Some(figures) = request(ui, doc) else {
        busy_ui(ui);
        return;
    };
    if figures.iter().all(|(_, f)| f.rows.is_empty()) {
        empty_ui(ui, state, NONE);
        return;
    }
    let text = summary(&doc.analysis, &figures);
    caption_ui(ui, state, &text);
    let Some(doc) = &mut state.doc else {
        return;
    };
    let (analysis, stamp) = (doc.analysis.clone(), doc.jobs.workers.stamp());
    let rows = rows(&figures);
    let table = table(&analysis, &rows);
    shown_ui(ui, doc, &table, stamp, TableState::descending(2));
}

fn request(ui: &Ui, doc: &mut Document) -> Option<Arc<Vec<(usize, WorkerFigures)>>> {
    let (analysis, scope) = (doc.analysis.clone(), Scope::of(doc));
    let ranks: Vec<usize> = scope.ranks(doc).collect();
    let make = move || {
        ranks
            .into_iter()
            .map(|r| (r, analysis.workers(r, scope.range)))
            .collect()
    };
    doc.jobs.workers.request(scope, make, waker(ui.ctx()));
    doc.jobs.workers.last().cloned()
}

fn summary(analysis: &crate::analysis::Analysis, figures: &[(usize, WorkerFigures)]) -> String {
    let sum = |f: &dyn Fn(&WorkerFigures) -> Option<i64>| -> i64 {
        figures.iter().filter_map(|(_, w)| f(w)).sum()
    };
    let processes: usize = figures.iter().map(|(_, f)| f.rows.len()).sum();
    let s = if processes == 1 { "" } else { "es" };
    let known = figures
        .iter()
        .any(|(r, _)| analysis.ranks()[*r].gpu.is_some());
    let covered = if known {
        format!(
            "{} of it ran while the GPU worked, {} while it had nothing to do",
            format_ns(sum(&|f| f.hidden_sum)),
            format_ns(sum(&|f| f.exposed_sum))
        )
    } else {
        "what of it the GPU worked through is unknown (no GPU events)".to_owned()
    };
    format!(
        "Loading work: {} in {processes} process{s}; {covered}. Busiest process: {}.",
        format_ns(sum(&|f| Some(f.load_sum))),
        format_ns(figures.iter().map(|(_, f)| f.busiest).max().unwrap_or(0)),
    )
}

fn rows(figures: &[(usize, WorkerFigures)]) -> Vec<(usize, &WorkerRow)> {
    figures
        .iter()
        .flat_map(|(rank, f)| f.rows.iter().map(|r| (*rank, r)))
        .collect()
}

fn table<'a>(
    analysis: &'a crate::analysis::Analysis,
    rows: &'a [(usize, &'a WorkerRow)],
) -> FnTable<'a> {
    let columns = vec![
        Column::text("Process", 90.0, "Process id"),
        Column::number("Rank", 50.0, "Rank that it loads for"),
        Column::number("Loading", 105.0, "Time with at least one loading span"),
        Column::number("Utilisation", 85.0, "Loading as a share of the range"),
        Column::number("Hidden", 105.0, "Of it the GPU worked"),
        Column::number("Exposed", 105.0, "Of it the GPU had nothing to do"),
        Column::number("Not recorded", 105.0, "Of it nobody knows what the GPU did"),
        Column::number("During waits", 105.0, "Of it the loop waited for a batch"),
        Column::number("Items", 70.0, "Loading spans that start in the range"),
        Column::number("Median item", 105.0, "Median of their whole durations"),
    ];
    FnTable::new(columns, rows.len(), move |row, column| {
        let (rank, r) = rows[row];
        let info = &analysis.ranks()[rank];
        match column {
            0 => Cell::text(r.key.as_str()),
            1 => Cell::Count(u64::from(info.rank)),
            2 => Cell::Ns(r.load),
            3 => Cell::share_of(r.load, r.window),
            4 => Cell::ns(r.hidden),
            5 => Cell::ns(r.exposed),
            6 => Cell::Ns(r.unrecorded),
            7 => Cell::Ns(r.during_wait),
            8 => Cell::Count(r.n),
            _ => Cell::ns(r.whole_median),
        }
    })
    .fixed()
}

/// Runs `use_it` with the table.
pub fn with_table<R>(doc: &Document, use_it: impl FnOnce(&dyn Table, u64) -> R) -> Option<R> {
    let figures = doc.jobs.workers.last()?;
    let rows = rows(figures);
    Some(use_it(
        &table(&doc.analysis, &rows),
        doc.jobs.workers.stamp(),
    ))
}
