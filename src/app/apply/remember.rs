//! What is remembered of the window and of the trace that is open.

use egui::Context;

use super::window::App;
use crate::app::model::document::Document;
use crate::app::model::settings::TraceMemory;
use crate::app::panels::Panels;
use crate::session::{KeptNote, Look};
use crate::time::TimeRange;

impl App {
    /// Puts the view of the open trace into the settings.
    pub(super) fn remember(&mut self) {
        let Some(doc) = &self.state.doc else {
            return;
        };
        self.state.settings.remember(TraceMemory {
            key: doc.key.clone(),
            look: look(doc, &self.panels),
        });
    }

    /// Writes settings that changed a while ago, one write at a time.
    pub(crate) fn save_soon(&mut self, ctx: &Context) {
        let state = &mut self.state;
        let size = ctx.input(|i| i.viewport().inner_rect.map(|r| r.size()));
        if let Some(size) = size.filter(|s| s.x >= 640.0 && s.y >= 420.0) {
            let percent = state.settings.ui_percent as f32 / 100.0;
            state.settings.window = Some((size.x * percent, size.y * percent));
        }
        let Some(at) = state.save_at else {
            return;
        };
        let wait = at - state.now;
        if wait > 0.0 || self.saver.is_busy() {
            ctx.request_repaint_after(std::time::Duration::from_secs_f64(wait.max(0.05)));
            return;
        }
        state.save_at = None;
        self.remember();
        self.saver.save(&self.state.settings);
    }

    /// Writes settings now and waits for it: the window closes.
    pub fn save_now(&mut self) {
        self.remember();
        self.saver.finish(&self.state.settings);
    }
}

/// How a trace is looked at.
pub(super) fn look(doc: &Document, panels: &Panels) -> Look {
    let range = doc.viewport.range();
    Look {
        view: (!doc.viewport.is_fit()).then_some((range.start, range.end)),
        range: doc.range.map(|r| (r.start, r.end)),
        tab: Some(panels.open().title.to_owned()),
        pinned: doc.row_state.pinned.clone(),
        hidden: doc.row_state.hidden.iter().cloned().collect(),
        toggled: doc.row_state.toggled.iter().cloned().collect(),
        names: doc.row_state.names.clone(),
        order: doc.row_state.order.clone(),
        notes: doc.notes.iter().map(KeptNote::of).collect(),
    }
}

/// Restores how a trace was looked at. What does not fit it (any more) is left out.
pub(super) fn recall(doc: &mut Document, panels: &mut Panels, memory: &Look) {
    let extent = doc.trace.extent();
    let range = |pair: Option<(i64, i64)>| {
        let (start, end) = pair?;
        let range = TimeRange::new(start, end);
        (range.overlaps(extent) && end > start).then_some(range)
    };
    if let Some(view) = range(memory.view) {
        doc.viewport.zoom_to(view, 0.0);
    }
    doc.range = range(memory.range).map(|r| r.clip(extent));
    if let Some(title) = &memory.tab {
        panels.recall(title);
    }
    doc.notes = memory.marks(extent).0;
    doc.change_rows(|rows, tree| {
        *rows = memory.rows(tree);
    });
    // It is where the user begins, not what was done.
    doc.edits.clear();
}
