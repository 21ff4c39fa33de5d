//! The Syncs tab: calls that waited for the GPU, what they absorbed and what came of it.

use std::sync::Arc;

use egui::Ui;

use super::{FnTable, Scope, busy_ui, caption_ui, empty_ui, shown_ui, waker};
use crate::analysis::{Analysis, LayerId, SyncFigures};
use crate::app::model::action::{Action, Actions};
use crate::app::model::document::Document;
use crate::app::model::latest::Latest;
use crate::app::model::state::AppState;
use crate::app::widgets::table::{Cell, Column, Table, TableState};
use crate::time::{format_count, format_ns};

/// Calls that are computed at once; the longest ones come first, and the caption says what was left out.
const MAX_CALLS: usize = 20_000;

const NONE: &str = "No call waited for the GPU in this range (cudaStreamSynchronize, cudaDeviceSynchronize, blocking \
    cudaMemcpy …).";

/// Calls of a window.
pub struct Calls {
    rows: Vec<SyncFigures>,
    left_out: usize,
}

/// Calls of a window.
pub type Job = Latest<Scope, Calls>;

/// Draws the tab.
pub fn syncs_ui(ui: &mut Ui, state: &mut AppState, actions: &mut Actions) {
    let Some(doc) = &mut state.doc else {
        return;
    };
    let Some(calls) = request(ui, doc) else {
        busy_ui(ui);
        return;
    };
    if calls.rows.is_empty() {
        empty_ui(ui, state, NONE);
        return;
    }
    let text = summary(&doc.analysis, &calls);
    caption_ui(ui, state, &text);
    let Some(doc) = &mut state.doc else {
        return;
    };
    let (analysis, stamp) = (doc.analysis.clone(), doc.jobs.syncs.stamp());
    let selected = doc.span;
    let table =
        table(&analysis, &calls.rows).selected(|row| selected == Some(calls.rows[row].span));
    if let Some(row) = shown_ui(ui, doc, &table, stamp, TableState::descending(4)) {
        actions.push(Action::RevealSpan(calls.rows[row].span));
    }
}

fn request(ui: &Ui, doc: &mut Document) -> Option<Arc<Calls>> {
    let scope = Scope::of(doc);
    let (analysis, rank) = (doc.analysis.clone(), scope.number(doc));
    let make = move || {
        let mut calls = analysis.sync_calls(scope.range);
        let spans = analysis.trace().spans();
        if let Some(rank) = rank {
            calls.retain(|&c| analysis.trace().lane(spans.lane(c)).rank == rank);
        }
        calls.sort_by_key(|&c| (std::cmp::Reverse(spans.dur(c)), c));
        let left_out = calls.len().saturating_sub(MAX_CALLS);
        calls.truncate(MAX_CALLS);
        Calls {
            rows: calls.into_iter().map(|c| analysis.sync(c)).collect(),
            left_out,
        }
    };
    doc.jobs.syncs.request(scope, make, waker(ui.ctx()));
    doc.jobs.syncs.last().cloned()
}

fn phase(analysis: &Analysis, id: Option<LayerId>) -> &str {
    id.map_or("no phase", |l| &analysis.layers().info(l).name)
}

fn summary(analysis: &Analysis, calls: &Calls) -> String {
    let absorbed: i64 = calls.rows.iter().map(|r| r.absorbed).sum();
    let bubble: i64 = calls.rows.iter().filter_map(|r| r.bubble).sum();
    let mut text = format!(
        "{} {} absorbed {} of GPU time; afterwards the GPU stood idle for {}.",
        format_count(calls.rows.len() as u64),
        if calls.rows.len() == 1 {
            "call"
        } else {
            "calls"
        },
        format_ns(absorbed),
        format_ns(bubble)
    );
    if let Some(most) = calls
        .rows
        .iter()
        .max_by_key(|r| r.absorbed)
        .filter(|r| r.absorbed > 0)
    {
        text.push_str(&format!(
            " Most: {} in {} absorbed {} ({}).",
            analysis.trace().span_name(most.span),
            phase(analysis, most.in_phase),
            format_ns(most.absorbed),
            by_phase(analysis, most)
        ));
    }
    if calls.left_out > 0 {
        text.push_str(&format!(
            " The {} shortest calls are left out: select a shorter range to see them.",
            format_count(calls.left_out as u64)
        ));
    }
    text
}

/// `forward 27 ms, backward 40 ms`.
pub fn by_phase(analysis: &Analysis, row: &SyncFigures) -> String {
    let part =
        |&(p, ns): &(Option<LayerId>, i64)| format!("{} {}", phase(analysis, p), format_ns(ns));
    let parts: Vec<String> = row.absorbed_by_phase.iter().map(part).collect();
    parts.join(", ")
}

/// Whose GPU work a synchronising call waited for: `waits for GPU work queued by: forward 70 %, backward 30 %`.
pub fn queued_by(analysis: &Analysis, row: &SyncFigures) -> String {
    let mut parts: Vec<(Option<LayerId>, i64)> = row.absorbed_by_phase.clone();
    parts.retain(|p| p.1 > 0);
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    let whole: i64 = parts.iter().map(|p| p.1).sum();
    if whole == 0 {
        return "waits for no GPU work".to_owned();
    }
    let parts: Vec<String> = parts
        .iter()
        .map(|&(p, ns)| {
            let share = ns as f64 / whole as f64 * 100.0;
            format!("{} {share:.0} %", phase(analysis, p))
        })
        .collect();
    format!("waits for GPU work queued by: {}", parts.join(", "))
}

fn table<'a>(analysis: &'a Analysis, rows: &'a [SyncFigures]) -> FnTable<'a> {
    let columns = vec![
        Column::text("Call", 150.0, "The call that waited"),
        Column::number("Rank", 50.0, "Distributed rank"),
        Column::number("Start", 110.0, "When"),
        Column::text("In phase", 80.0, "What the loop was doing"),
        Column::number(
            "Absorbed",
            105.0,
            "GPU time of the work that it waited for, during the call",
        ),
        Column::number("Length", 105.0, "Length of the call"),
        Column::number(
            "Bubble",
            105.0,
            "GPU idle afterwards, because nothing was queued behind the wait",
        ),
        Column::number(
            "Return",
            90.0,
            "From the end of the last work to the return of the call",
        ),
        Column::number("Operations", 80.0, "Operations that it waited for"),
        Column::text(
            "Launched by",
            240.0,
            "Absorbed GPU time by the phase that launched it",
        ),
        Column::text(
            "Scope",
            80.0,
            "Whether the file says what the call waited for",
        ),
    ];
    FnTable::new(columns, rows.len(), move |row, column| {
        let r = &rows[row];
        let spans = analysis.trace().spans();
        let trace = analysis.trace();
        match column {
            0 => Cell::text(trace.span_name(r.span)),
            1 => Cell::Count(u64::from(trace.lane(spans.lane(r.span)).rank)),
            2 => Cell::Ns(spans.start(r.span)),
            3 => Cell::text(phase(analysis, r.in_phase)),
            4 => Cell::Ns(r.absorbed),
            5 => Cell::Ns(spans.dur(r.span)),
            6 => Cell::ns(r.bubble),
            7 => Cell::ns(r.tail),
            8 => Cell::Count(r.waited_ops),
            9 => Cell::text(by_phase(analysis, r)),
            _ if r.known_scope => Cell::text("recorded"),
            _ => Cell::text("guessed"),
        }
    })
}

/// Runs `use_it` with the table.
pub fn with_table<R>(doc: &Document, use_it: impl FnOnce(&dyn Table, u64) -> R) -> Option<R> {
    let calls = doc.jobs.syncs.last()?;
    Some(use_it(
        &table(&doc.analysis, &calls.rows),
        doc.jobs.syncs.stamp(),
    ))
}
