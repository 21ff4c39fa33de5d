//! The Waits tab: every batch wait, what the GPU and the workers did meanwhile.

use std::sync::Arc;

use egui::Ui;

use super::{FnTable, busy_ui, caption_ui, empty_ui, shown_ui, waker};
use crate::analysis::{Analysis, Wait};
use crate::app::canvas::hover::short_step;
use crate::app::model::action::{Action, Actions};
use crate::app::model::document::Document;
use crate::app::model::latest::Latest;
use crate::app::model::state::AppState;
use crate::app::widgets::table::{Cell, Column, Table, TableState};
use crate::time::{format_count, format_ns};

/// Column of the whole wait, and of its exposed part.
const WAIT: usize = 3;
const EXPOSED: usize = 5;

const NONE: &str = "No batch waits were recognised. Look for: DataLoader next, fetch.iter, batch_wait, NVTX data. \
    Name your own wait with record_function(\"data_wait\"), an NVTX range, or a rule.";

/// One batch wait.
pub struct Row {
    /// Index in [`Analysis::waits`].
    wait: usize,
    /// What workers did meanwhile, in words.
    workers: String,
}

/// Batch waits of the ranks in scope.
pub type Job = Latest<Option<usize>, Vec<Row>>;

/// Draws the tab.
pub fn waits_ui(ui: &mut Ui, state: &mut AppState, actions: &mut Actions) {
    let Some(doc) = &mut state.doc else {
        return;
    };
    if doc.analysis.waits().is_empty() {
        empty_ui(ui, state, NONE);
        return;
    }
    let Some(rows) = request(ui, doc) else {
        busy_ui(ui);
        return;
    };
    let analysis = doc.analysis.clone();
    let (stamp, current) = (doc.jobs.waits.stamp(), doc.walk.current());
    let text = summary(doc, &analysis, &rows);
    caption_ui(ui, state, &text);
    let Some(doc) = &mut state.doc else {
        return;
    };
    let table = table(&analysis, &rows, current);
    // Where the exposed part is unknown, the whole wait comes first.
    let known = analysis.ranks().iter().any(|r| r.gpu.is_some());
    let start = TableState::descending(if known { EXPOSED } else { WAIT });
    if let Some(row) = shown_ui(ui, doc, &table, stamp, start) {
        actions.push(Action::ShowWait(rows[row].wait));
    }
}

fn request(ui: &Ui, doc: &mut Document) -> Option<Arc<Vec<Row>>> {
    let (analysis, rank) = (doc.analysis.clone(), doc.scope);
    let make = move || {
        let all = analysis.waits().iter().enumerate();
        all.filter(|(_, w)| rank.is_none_or(|r| r == w.rank))
            .map(|(wait, w)| Row {
                wait,
                workers: workers_text(&analysis, w),
            })
            .collect()
    };
    doc.jobs.waits.request(rank, make, waker(ui.ctx()));
    doc.jobs.waits.last().cloned()
}

fn summary(doc: &Document, analysis: &Analysis, rows: &[Row]) -> String {
    let total: i64 = rows
        .iter()
        .map(|r| analysis.waits()[r.wait].range.len())
        .sum();
    let s = if rows.len() == 1 { "" } else { "s" };
    let all = format!(
        "{} wait{s}, {} in all.",
        format_count(rows.len() as u64),
        format_ns(total)
    );
    if doc.walk.is_empty() {
        format!("{all} {}", doc.walk.why_none())
    } else {
        format!("{all} {}", doc.walk.share_text())
    }
}

fn table<'a>(analysis: &'a Analysis, rows: &'a [Row], current: Option<usize>) -> FnTable<'a> {
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
        let wait = &analysis.waits()[rows[row].wait];
        let rank = &analysis.ranks()[wait.rank];
        match column {
            0 => wait
                .step
                .map_or(Cell::None, |s| Cell::text(short_step(&rank.steps[s]))),
            1 => Cell::Count(u64::from(rank.rank)),
            2 => Cell::Ns(wait.range.start),
            3 => Cell::Ns(wait.range.len()),
            4 => Cell::ns(wait.hidden),
            5 => Cell::ns(wait.exposed),
            6 => Cell::Ns(wait.unrecorded),
            _ => Cell::text(rows[row].workers.as_str()),
        }
    })
    .selected(move |row| current == Some(rows[row].wait))
}

/// How many workers loaded during a wait, and for how long together.
fn workers_text(analysis: &Analysis, wait: &Wait) -> String {
    let figures = analysis.workers(wait.rank, wait.range);
    if figures.rows.is_empty() {
        return if analysis.loads_by_itself(wait.rank) {
            "no workers: the loop loads by itself".to_owned()
        } else {
            "not recorded".to_owned()
        };
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
    let rows = doc.jobs.waits.last()?;
    let stamp = doc.jobs.waits.stamp();
    Some(use_it(&table(&doc.analysis, rows, None), stamp))
}
