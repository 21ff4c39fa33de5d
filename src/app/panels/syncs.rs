//! The Syncs tab: calls that waited for the GPU, what they absorbed and what came of it.

use super::panel::{Scope, TablePanel};
use crate::analysis::SyncFigures;
use crate::app::model::action::Action;
use crate::app::model::document::Document;
use crate::app::model::facts::{by_phase, phase};
use crate::app::widgets::fn_table::FnTable;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::{Cell, Column, TableState};
use crate::time::{format_count, format_ns};

/// Calls that are computed at once; the longest ones come first, and the caption says what was left out.
const MAX_CALLS: usize = 20_000;

const NONE: &str = "No call waited for the GPU in this range (cudaStreamSynchronize, cudaDeviceSynchronize, blocking \
    cudaMemcpy …).";

/// The tab.
pub struct Syncs;

/// Calls of a window.
pub struct Calls {
    rows: Vec<SyncFigures>,
    left_out: usize,
}

impl TablePanel for Syncs {
    type Figures = Calls;
    const TITLE: &'static str = "Syncs";
    const ABOUT: &'static str = "Calls that waited for the GPU, and for what.";
    const FOLLOWS_RANGE: bool = true;

    fn make(doc: &Document, scope: Scope) -> impl FnOnce() -> Calls + Send + 'static {
        let (analysis, rank) = (doc.analysis.clone(), scope.number(doc));
        move || {
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
        }
    }

    fn empty(_doc: &Document, calls: &Calls) -> Option<&'static str> {
        calls.rows.is_empty().then_some(NONE)
    }

    fn caption(doc: &Document, calls: &Calls) -> String {
        let analysis = &doc.analysis;
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

    fn table<'a>(doc: &'a Document, calls: &'a Calls, _look: &'a Look) -> FnTable<'a> {
        let (analysis, rows, selected) = (&doc.analysis, &calls.rows, doc.span);
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
        .selected(move |row| selected == Some(rows[row].span))
    }

    fn order(_doc: &Document) -> TableState {
        TableState::descending(4)
    }

    fn clicked(calls: &Calls, row: usize) -> Option<Action> {
        Some(Action::RevealSpan(calls.rows[row].span))
    }
}
