//! Rows of widgets that are one stop of the Tab key, with arrows inside: tab bars and table headings.

use egui::{Context, EventFilter, Id, Key, Response, Sense, Ui};

/// The state of one row of widgets during a frame.
#[derive(Clone, Copy)]
pub struct Roving {
    id: Id,
    /// The widget that the Tab key reaches.
    at: usize,
    len: usize,
    /// That widget is to get the focus.
    wanted: bool,
}

impl Roving {
    /// A row of `len` widgets of which the Tab key reaches `at`, or, where that is `None`, the one reached last.
    #[must_use]
    pub fn new(ctx: &Context, id: Id, len: usize, at: Option<usize>) -> Self {
        let (last, wanted) = ctx.data_mut(|d| d.remove_temp(id).unwrap_or((0_usize, false)));
        let at = at.unwrap_or(last).min(len.saturating_sub(1));
        ctx.data_mut(|d| d.insert_temp(id, (at, false)));
        Self {
            id,
            at,
            len,
            wanted,
        }
    }

    /// Gives the row the focus when it is drawn next.
    pub fn request_focus(ctx: &Context, id: Id) {
        ctx.data_mut(|d| {
            let (at, _) = d.get_temp(id).unwrap_or((0_usize, false));
            d.insert_temp(id, (at, true));
        });
    }

    /// What widget `i` senses: clicks, and the focus if the Tab key is to reach it.
    #[must_use]
    pub fn sense(&self, i: usize) -> Sense {
        if i == self.at {
            Sense::click()
        } else {
            Sense::CLICK
        }
    }

    /// Handles the focus of widget `i`; returns where an arrow key leads from it.
    pub fn follow(&self, ui: &Ui, i: usize, response: &Response) -> Option<usize> {
        if i != self.at {
            return None;
        }
        if self.wanted {
            response.request_focus();
        }
        if !response.has_focus() {
            return None;
        }
        let arrows = EventFilter {
            horizontal_arrows: true,
            ..EventFilter::default()
        };
        ui.memory_mut(|m| m.set_focus_lock_filter(response.id, arrows));
        let (left, right) = ui.input(|i| {
            (
                i.key_pressed(Key::ArrowLeft),
                i.key_pressed(Key::ArrowRight),
            )
        });
        let to = match (left, right) {
            (true, _) => i.checked_sub(1)?,
            (_, true) => (i + 1 < self.len).then_some(i + 1)?,
            _ => return None,
        };
        ui.data_mut(|d| d.insert_temp(self.id, (to, true)));
        ui.ctx().request_repaint();
        Some(to)
    }
}
