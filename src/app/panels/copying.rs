//! Copying a table: 100,000 rows take longer than a frame may, so it goes on over frames.

use std::time::{Duration, Instant};

use super::{lag, selection, steps, streams, syncs, waits, workers};
use crate::app::document::{Document, Tab};
use crate::app::look::Look;
use crate::app::state::AppState;
use crate::app::table::Table;
use crate::app::table_text::TextWriter;

/// Copying of a table that goes on over frames.
pub struct Copying {
    tab: Tab,
    writer: TextWriter,
}

/// Time that copying may take of a frame.
const COPY_BUDGET: Duration = Duration::from_millis(8);
/// Rows between two looks at the clock.
const COPY_ROWS: usize = 64;

/// Begins to copy the open table; [`go_on_copying`] ends it.
pub fn start_copying(state: &mut AppState) {
    let look = state.look.clone();
    let Some(doc) = &mut state.doc else {
        return;
    };
    let tab = doc.tab;
    let mut order = doc.tables.remove(&tab).unwrap_or_default();
    doc.copying = None;
    let mut copying = None;
    with_table(doc, tab, &look, &mut |t, stamp| {
        let writer = TextWriter::new(t, &mut order, stamp, '\t');
        copying = Some(Copying { tab, writer });
    });
    doc.copying = copying;
    doc.tables.insert(tab, order);
}

/// Copies on for some milliseconds; the text once it is whole.
pub fn go_on_copying(state: &mut AppState) -> Option<String> {
    let doc = state.doc.as_mut()?;
    let mut copying = doc.copying.take()?;
    let begun = Instant::now();
    let mut done = None;
    with_table(doc, copying.tab, &state.look, &mut |t, stamp| {
        // Other figures than at the start: what is written would not fit the rest.
        if !copying.writer.is_of(t, stamp) {
            return;
        }
        let mut whole = copying.writer.go_on(t, COPY_ROWS);
        while !whole && begun.elapsed() < COPY_BUDGET {
            whole = copying.writer.go_on(t, COPY_ROWS);
        }
        done = Some(whole);
    });
    match done {
        Some(true) => Some(copying.writer.into_text()),
        Some(false) => {
            doc.copying = Some(copying);
            None
        }
        None => {
            start_copying(state);
            None
        }
    }
}

/// Runs `use_it` with the table of a tab, where it has one.
fn with_table(doc: &mut Document, tab: Tab, look: &Look, use_it: &mut dyn FnMut(&dyn Table, u64)) {
    let use_it = |table: &dyn Table, stamp: u64| use_it(table, stamp);
    let ran = match tab {
        Tab::Selection => selection::with_table(doc, look, use_it),
        Tab::Waits => waits::with_table(doc, use_it),
        Tab::Lag => lag::with_table(doc, look, use_it),
        Tab::Steps => steps::with_table(doc, use_it),
        Tab::Workers => workers::with_table(doc, use_it),
        Tab::Streams => streams::with_table(doc, use_it),
        Tab::Syncs => syncs::with_table(doc, use_it),
        Tab::WhatIf | Tab::Verdict => None,
    };
    // Figures that are still being made have no table yet.
    ran.unwrap_or(())
}
