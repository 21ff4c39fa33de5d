//! Copying a table: 100,000 rows take longer than a frame may, so it goes on over frames.

use std::time::{Duration, Instant};

use super::panel::Panel;
use crate::app::model::document::Document;
use crate::app::widgets::look::Look;
use crate::app::widgets::table_text::TextWriter;

/// Time that copying may take of a frame.
const BUDGET: Duration = Duration::from_millis(8);
/// Rows between two looks at the clock.
const ROWS: usize = 64;

/// Copying of a table that goes on over frames.
pub struct Copying {
    /// Place of the panel.
    at: usize,
    /// `None` until its figures are there.
    writer: Option<TextWriter>,
}

impl Copying {
    /// Copies the table of the panel at a place; [`Self::go_on`] does the work.
    #[must_use]
    pub fn of(at: usize) -> Self {
        Self { at, writer: None }
    }

    /// Copies on for some milliseconds: the text once it is whole, else what is left to do. Neither where there is no
    /// table.
    pub fn go_on(
        mut self,
        panels: &mut [Box<dyn Panel>],
        doc: &Document,
        look: &Look,
    ) -> (Option<String>, Option<Self>) {
        let panel = panels[self.at].as_mut();
        if panel.job().is_busy() {
            return (None, Some(self));
        }
        let begun = Instant::now();
        let mut whole = None;
        panel.table(doc, look, &mut |table, order, stamp| {
            // Other figures than at the start: what is written would not fit the rest.
            let writer = self.writer.take().filter(|w| w.is_of(table, stamp));
            let mut writer = writer.unwrap_or_else(|| TextWriter::new(table, order, stamp, '\t'));
            let mut all = writer.go_on(table, ROWS);
            while !all && begun.elapsed() < BUDGET {
                all = writer.go_on(table, ROWS);
            }
            whole = Some(all);
            self.writer = Some(writer);
        });
        match whole {
            Some(true) => (self.writer.map(TextWriter::into_text), None),
            Some(false) => (None, Some(self)),
            None => (None, None),
        }
    }
}
