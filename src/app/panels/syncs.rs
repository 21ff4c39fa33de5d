//! The Syncs tab: calls that waited for the GPU, what they absorbed and what came of it.

use super::panel::{Scope, TablePanel};
use super::rows;
use crate::analysis::SyncFigures;
use crate::app::model::action::Action;
use crate::app::model::document::Document;
use crate::app::model::facts::{by_phase, phase};
use crate::app::widgets::fn_table::FnTable;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::TableState;
use crate::columns::SYNC;
use crate::time::{format_count, format_ns};

/// Calls that are computed at once; the longest ones come first, and the caption says what was left out.
const MAX_CALLS: usize = 20_000;

const NONE: &str = "No call waited for the GPU in this range (cudaStreamSynchronize, cudaDeviceSynchronize, blocking \
    cudaMemcpy …).";

/// Columns.
const WIDTHS: &str = "call=150 rank=50 start=110 in_phase=80 absorbed=105 dur=105 bubble=105 tail=90 waited_ops=80 \
    absorbed_by_phase=240 scope=80";

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
                calls.retain(|&c| analysis.lane_rank(spans.lane(c)) == Some(rank));
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
                by_phase(analysis, &most.absorbed_by_phase)
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
        let (rows, selected) = (&calls.rows, doc.span);
        rows::table(&doc.analysis, SYNC, WIDTHS, rows.len(), |i| &rows[i])
            .selected(move |row| selected == Some(rows[row].span))
    }

    fn order(_doc: &Document) -> TableState {
        rows::descending(WIDTHS, "absorbed")
    }

    fn clicked(calls: &Calls, row: usize) -> Option<Action> {
        Some(Action::RevealSpan(calls.rows[row].span))
    }
}
