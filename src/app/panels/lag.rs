//! The CPU/GPU lag tab: CPU spans by name against the GPU work that they launched.

use std::sync::Arc;

use egui::Ui;

use super::{FnTable, Scope, busy_ui, caption_ui, empty_ui, shown_ui, waker};
use crate::analysis::{Analysis, NameRow};
use crate::app::model::action::{Action, Actions};
use crate::app::model::document::Document;
use crate::app::model::latest::Latest;
use crate::app::model::state::AppState;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::{Cell, Column, Table, TableState};

/// CPU spans by name, of a window.
pub type Job = Latest<Scope, Vec<NameRow>>;

const CAPTION: &str = "CPU time of a span is not its GPU time: work is queued and runs later. \
    Tail = end of the last GPU work a span launched, after the span's own end. Click: the longest span of the name.";
const NONE: &str = "No CPU span here launched GPU work. Either there are no GPU events, or their launch calls \
    (cudaLaunchKernel …) were not recorded.";

/// Draws the tab.
pub fn lag_ui(ui: &mut Ui, state: &mut AppState, actions: &mut Actions) {
    let look = state.look.clone();
    let Some(doc) = &mut state.doc else {
        return;
    };
    let Some(rows) = request(ui, doc) else {
        busy_ui(ui);
        return;
    };
    if rows.is_empty() {
        empty_ui(ui, state, NONE);
        return;
    }
    caption_ui(ui, state, CAPTION);
    let Some(doc) = &mut state.doc else {
        return;
    };
    let (analysis, stamp) = (doc.analysis.clone(), doc.jobs.lag.stamp());
    let selected = doc.span.map(|s| doc.trace.spans().name(s));
    let table = table(&analysis, &rows, &look).selected(|row| selected == Some(rows[row].name));
    if let Some(row) = shown_ui(ui, doc, &table, stamp, TableState::descending(3)) {
        actions.push(Action::RevealSpan(rows[row].longest));
    }
}

fn request(ui: &Ui, doc: &mut Document) -> Option<Arc<Vec<NameRow>>> {
    let scope = Scope::of(doc);
    let (analysis, rank) = (doc.analysis.clone(), scope.number(doc));
    let make = move || analysis.name_table(scope.range, rank);
    doc.jobs.lag.request(scope, make, waker(ui.ctx()));
    doc.jobs.lag.last().cloned()
}

fn table<'a>(analysis: &'a Analysis, rows: &'a [NameRow], look: &'a Look) -> FnTable<'a> {
    let columns = vec![
        Column::text("Span", 220.0, "Name of the CPU span"),
        Column::number("Calls", 70.0, "Spans of this name"),
        Column::number("CPU time", 100.0, "Sum of their lengths"),
        Column::number(
            "GPU launched",
            110.0,
            "Sum of the GPU work that they launched",
        ),
        Column::number(
            "GPU during",
            110.0,
            "GPU busy while they ran, whoever launched it",
        ),
        Column::number(
            "Tail median",
            105.0,
            "End of the last launched work after the span's end",
        ),
        Column::number("Tail max", 105.0, "The largest of them"),
        Column::number("With GPU", 80.0, "Spans that launched something"),
        Column::text(
            "Charged to",
            180.0,
            "The synchronising call in which its GPU work ends, for the longest span",
        ),
    ];
    FnTable::new(columns, rows.len(), move |row, column| {
        let r = &rows[row];
        match column {
            0 => Cell::text(analysis.trace().name(r.name)),
            1 => Cell::Count(r.count),
            2 => Cell::Ns(r.cpu_time),
            3 => Cell::Ns(r.gpu_launched),
            4 => Cell::Ns(r.gpu_during),
            5 => Cell::ns(r.median_lag),
            6 => Cell::ns(r.max_lag),
            7 => Cell::Count(r.with_gpu),
            _ => match r.charged_to {
                Some(call) => Cell::text(analysis.trace().span_name(call)),
                None => Cell::None,
            },
        }
    })
    .swatch(move |row| Some(look.swatch(analysis.layers().info(rows[row].layer).class)))
}

/// Runs `use_it` with the table.
pub fn with_table<R>(
    doc: &Document,
    look: &Look,
    use_it: impl FnOnce(&dyn Table, u64) -> R,
) -> Option<R> {
    let rows = doc.jobs.lag.last()?;
    Some(use_it(
        &table(&doc.analysis, rows, look),
        doc.jobs.lag.stamp(),
    ))
}
