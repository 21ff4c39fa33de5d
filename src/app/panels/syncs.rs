//! The Syncs tab: calls that waited for the GPU by who made them, what they absorbed and what came of it.

use super::lag::key_of;
use super::panel::{Scope, TablePanel};
use super::rows;
use crate::analysis::{Found, GoOn, SyncCallers, SyncLine};
use crate::app::model::action::Action;
use crate::app::model::document::Document;
use crate::app::model::facts::{by_phase, phase};
use crate::app::widgets::branch::Branch;
use crate::app::widgets::fn_table::FnTable;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::TableState;
use crate::columns::SYNC_LINE;
use crate::model::SpanId;
use crate::time::{about_ns, format_count};

/// Calls that are computed at once; the longest ones come first, and the caption says what was left out.
const MAX_CALLS: usize = 20_000;

const NONE: &str = "No call waited for the GPU in this range (cudaStreamSynchronize, cudaDeviceSynchronize, blocking \
    cudaMemcpy …).";

/// Columns.
const WIDTHS: &str = "caller=400 calls=60 dur=105 absorbed=105 bubble=105 tail=90 waited_ops=80 in_phase=90 \
    absorbed_by_phase=170 start=105 rank=50 scope=80";

/// The tab.
pub struct Syncs;

/// Calls of a window and their callers.
pub struct Calls {
    /// Line around it, depth, itself.
    lines: Vec<(Option<usize>, u16, SyncLine)>,
    keys: Vec<u64>,
    left_out: usize,
}

impl Calls {
    fn new(found: SyncCallers) -> Self {
        let left_out = found.left_out;
        let lines = found.lines();
        let mut keys: Vec<u64> = Vec::with_capacity(lines.len());
        for (parent, _, line) in &lines {
            let around = parent.map(|p| keys[p]);
            keys.push(match line {
                SyncLine::Caller(c) => key_of(around, &c.names),
                SyncLine::Call(s) => key_of(around, &s.span),
            });
        }
        Self {
            lines,
            keys,
            left_out,
        }
    }

    fn calls(&self) -> impl Iterator<Item = &crate::analysis::SyncFigures> {
        self.lines.iter().filter_map(|(_, _, line)| match line {
            SyncLine::Caller(_) => None,
            SyncLine::Call(s) => Some(s),
        })
    }

    /// The call of a line, or the longest of it.
    fn span(&self, line: usize) -> SpanId {
        match &self.lines[line].2 {
            SyncLine::Caller(c) => c.longest,
            SyncLine::Call(s) => s.span,
        }
    }
}

impl TablePanel for Syncs {
    type Figures = Calls;
    const TITLE: &'static str = "Syncs";
    const ABOUT: &'static str = "Calls that waited for the GPU, for what, and who made them.";
    const FOLLOWS_RANGE: bool = true;

    fn make(doc: &Document, scope: Scope) -> impl FnOnce() -> Calls + Send + 'static {
        let (analysis, rank) = (doc.analysis.clone(), scope.number(doc));
        let reader = doc.args.clone();
        move || {
            let args = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
                reader.each(spans, go_on, found);
            };
            Calls::new(analysis.sync_callers(scope.range, rank, MAX_CALLS, &args))
        }
    }

    fn empty(_doc: &Document, calls: &Calls) -> Option<&'static str> {
        calls.lines.is_empty().then_some(NONE)
    }

    fn caption(doc: &Document, calls: &Calls) -> String {
        let analysis = &doc.analysis;
        let absorbed: i64 = calls.calls().map(|r| r.absorbed).sum();
        let bubble: i64 = calls.calls().filter_map(|r| r.bubble).sum();
        let number = calls.calls().count() as u64;
        let mut text = format!(
            "{} {} absorbed {} of GPU time; afterwards the GPU stood idle for {}.",
            format_count(number),
            if number == 1 { "call" } else { "calls" },
            about_ns(absorbed),
            about_ns(bubble)
        );
        let most = calls.calls().max_by_key(|r| r.absorbed);
        if let Some(most) = most.filter(|r| r.absorbed > 0) {
            text.push_str(&format!(
                " Most: {} in {} absorbed {} ({}).",
                analysis.trace().span_name(most.span),
                phase(analysis, most.in_phase),
                about_ns(most.absorbed),
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
        let (lines, selected) = (&calls.lines, doc.span);
        let alone = lines.iter().filter(|l| l.1 == 0).count() == 1;
        rows::table(&doc.analysis, SYNC_LINE, WIDTHS, lines.len(), |i| {
            &lines[i].2
        })
        .tree(move |i| Branch {
            parent: lines[i].0,
            depth: lines[i].1,
            is_parent: matches!(lines[i].2, SyncLine::Caller(_)),
            open_at_first: alone && lines[i].1 == 0,
            key: calls.keys[i],
        })
        .selected(move |row| match &lines[row].2 {
            SyncLine::Caller(_) => false,
            SyncLine::Call(s) => selected == Some(s.span),
        })
    }

    fn order(_doc: &Document) -> TableState {
        rows::descending(WIDTHS, "dur")
    }

    fn clicked(calls: &Calls, row: usize) -> Option<Action> {
        Some(Action::RevealSpan(calls.span(row)))
    }
}
