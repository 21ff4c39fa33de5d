//! Copying a table: 100,000 rows take longer than a frame may, so it goes on over frames.

use std::time::{Duration, Instant};

use super::{lag, selection, steps, streams, syncs, waits, workers};
use crate::app::model::document::{Document, Tab};
use crate::app::model::state::AppState;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::Table;
use crate::app::widgets::table_text::TextWriter;

/// Copying of a table that goes on over frames.
pub struct Copying {
    tab: Tab,
    /// `None` until the tab's figures are there.
    writer: Option<TextWriter>,
}

impl Copying {
    /// Copies the table of a tab; [`go_on_copying`] does the work.
    #[must_use]
    pub fn of(tab: Tab) -> Self {
        Self { tab, writer: None }
    }
}

/// Time that copying may take of a frame.
const BUDGET: Duration = Duration::from_millis(8);
/// Rows between two looks at the clock.
const ROWS: usize = 64;

/// Copies on for some milliseconds; the text once it is whole.
pub fn go_on_copying(state: &mut AppState) -> Option<String> {
    let doc = state.doc.as_mut()?;
    let mut copying = doc.copying.take()?;
    if doc.jobs.is_computing(copying.tab) {
        doc.copying = Some(copying);
        return None;
    }
    let begun = Instant::now();
    let mut order = doc.tables.remove(&copying.tab).unwrap_or_default();
    let mut whole = None;
    with_table(doc, copying.tab, &state.look, &mut |table, stamp| {
        // Other figures than at the start: what is written would not fit the rest.
        let writer = copying.writer.take().filter(|w| w.is_of(table, stamp));
        let mut writer = writer.unwrap_or_else(|| TextWriter::new(table, &mut order, stamp, '\t'));
        let mut all = writer.go_on(table, ROWS);
        while !all && begun.elapsed() < BUDGET {
            all = writer.go_on(table, ROWS);
        }
        whole = Some(all);
        copying.writer = Some(writer);
    });
    doc.tables.insert(copying.tab, order);
    match whole {
        Some(true) => copying.writer.map(TextWriter::into_text),
        Some(false) => {
            doc.copying = Some(copying);
            None
        }
        // A tab without a table.
        None => None,
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
