//! The Waits tab: every batch wait, what the GPU and the workers did meanwhile.

use egui::Ui;

use super::{FnTable, Scope, caption_ui, empty_ui, shown_ui};
use crate::analysis::Wait;
use crate::app::action::{Action, Actions};
use crate::app::document::Document;
use crate::app::state::AppState;
use crate::app::table::{Cell, Column, Table, TableState};
use crate::time::format_ns;

/// Column that the table starts sorted by.
const EXPOSED: usize = 5;

const NONE: &str = "No batch waits were recognised. Look for: DataLoader next, fetch.iter, batch_wait, NVTX data. \
    Name your own wait with record_function(\"data_wait\"), an NVTX range, or a rule.";

/// Draws the tab.
pub fn waits_ui(ui: &mut Ui, state: &mut AppState, actions: &mut Actions) {
    let Some(doc) = &state.doc else {
        return;
    };
    if doc.analysis.waits().is_empty() {
        empty_ui(ui, state, NONE);
        return;
    }
    let total: i64 = doc.analysis.waits().iter().map(|w| w.range.len()).sum();
    let text = format!(
        "{} waits, {} in all. {}",
        crate::time::format_count(doc.analysis.waits().len() as u64),
        format_ns(total),
        if doc.walk.is_empty() {
            doc.walk.why_none().to_owned()
        } else {
            doc.walk.share_text()
        }
    );
    caption_ui(ui, state, &text);
    let Some(doc) = &mut state.doc else {
        return;
    };
    let (rows, stamp) = rows(doc);
    let analysis = doc.analysis.clone();
    let current = doc.walk.current();
    let table = table(&analysis, &rows, current);
    if let Some(row) = shown_ui(ui, doc, &table, stamp, TableState::descending(EXPOSED)) {
        actions.push(Action::ShowWait(rows[row]));
    }
}

/// Indices of the waits in scope.
fn rows(doc: &Document) -> (Vec<usize>, u64) {
    let scope = Scope::of(doc);
    let all = doc.analysis.waits();
    let rows = (0..all.len())
        .filter(|&i| scope.rank.is_none_or(|r| r == all[i].rank))
        .collect();
    (rows, scope.rank.map_or(0, |r| r as u64 + 1))
}

fn table<'a>(
    analysis: &'a crate::analysis::Analysis,
    rows: &'a [usize],
    current: Option<usize>,
) -> FnTable<'a> {
    let columns = vec![
        Column::text("Step", 70.0, "The step that the wait lies in"),
        Column::number("Rank", 50.0, "Distributed rank"),
        Column::number("Start", 110.0, "When the loop began to wait"),
        Column::number("Wait", 100.0, "How long the training loop was blocked"),
        Column::number("Hidden", 100.0, "Of it the GPU was still working"),
        Column::number(
            "Exposed",
            100.0,
            "Of it the GPU had nothing to do: what loading costs",
        ),
        Column::number("Not recorded", 100.0, "Of it nobody knows what the GPU did"),
        Column::text(
            "What workers did",
            260.0,
            "Loading work while the loop waited",
        ),
    ];
    FnTable::new(columns, rows.len(), move |row, column| {
        let wait = &analysis.waits()[rows[row]];
        let rank = &analysis.ranks()[wait.rank];
        let known = rank.gpu.is_some();
        match column {
            0 => wait
                .step
                .map_or(Cell::None, |s| Cell::text(rank.steps[s].label.as_str())),
            1 => Cell::Count(u64::from(rank.rank)),
            2 => Cell::Ns(wait.range.start),
            3 => Cell::Ns(wait.range.len()),
            4 => Cell::ns(known.then_some(wait.hidden)),
            5 => Cell::ns(known.then_some(wait.exposed)),
            6 => Cell::Ns(wait.unrecorded),
            _ => Cell::text(workers_text(analysis, wait)),
        }
    })
    .selected(move |row| current == Some(rows[row]))
}

/// How many workers loaded during a wait, and for how long together.
fn workers_text(analysis: &crate::analysis::Analysis, wait: &Wait) -> String {
    let figures = analysis.workers(wait.rank, wait.range);
    if figures.rows.is_empty() {
        return "not recorded".to_owned();
    }
    let n = figures.rows.iter().filter(|r| r.load > 0).count();
    format!(
        "{n} of {} loading, {} together",
        figures.rows.len(),
        format_ns(figures.load_sum)
    )
}

/// Runs `use_it` with the table.
pub fn with_table<R>(doc: &Document, use_it: impl FnOnce(&dyn Table, u64) -> R) -> Option<R> {
    let (rows, stamp) = rows(doc);
    Some(use_it(&table(&doc.analysis, &rows, None), stamp))
}
