//! Comparing the open trace with another one: opening it, going through its steps, changing sides.

use std::path::PathBuf;

use egui::{Context, ViewportCommand};

use super::navigate::{KEY_PAN, KEY_ZOOM};
use super::window::App;
use crate::app::canvas::Focus;
use crate::app::model::action::Action;
use crate::app::model::command::Command;
use crate::app::model::compared::{Compared, Side};
use crate::app::model::load::{Loading, Request};
use crate::app::panels::Panels;

impl App {
    /// Opens what the open trace is compared with: the recording before a change.
    pub fn compare_with(&mut self, ctx: &Context, paths: Vec<PathBuf>) {
        self.close_comparison(ctx);
        let Some(doc) = &self.state.doc else {
            return;
        };
        let request = Request {
            paths,
            whole: true,
            ..Request::default()
        };
        let after = Side::of(doc);
        if let Some(running) = self.state.loading.take() {
            running.cancel();
        }
        let wake = ctx.clone();
        match Loading::compare(request.clone(), after, move || wake.request_repaint()) {
            Ok(loading) => self.state.loading = Some(loading),
            Err(e) => self.not_opened(e, request),
        }
    }

    /// Shows a comparison, or says why there is none.
    pub(super) fn show_comparison(&mut self, compared: Compared) {
        if compared.found.refused.is_none() && !compared.found.ranks.is_empty() {
            self.state.compared = Some(compared);
            return;
        }
        let what = "These two cannot be compared.".to_owned();
        let why = compared.found.headline();
        drop_elsewhere(compared);
        self.fail(what, why);
    }

    /// Goes back to the timeline, of the trace after the change.
    pub(super) fn close_comparison(&mut self, ctx: &Context) {
        if self.state.compared.as_ref().is_some_and(|c| c.details == 0) {
            self.change_side(ctx);
        }
        if let Some(compared) = self.state.compared.take() {
            drop_elsewhere(compared);
        }
    }

    /// Makes the other side the one whose details show.
    fn change_side(&mut self, ctx: &Context) {
        let state = &mut self.state;
        let (Some(compared), Some(doc)) = (&mut state.compared, &mut state.doc) else {
            return;
        };
        std::mem::swap(doc, &mut compared.other);
        compared.details = 1 - compared.details;
        let title = format!("{} – Stallscope", doc.name);
        ctx.send_viewport_cmd(ViewportCommand::Title(title));
        let side = ["before", "after"][compared.details];
        let text = format!("Details: {} ({side})", doc.name);
        // What they found out is about the other trace.
        let tab = self.panels.open();
        self.panels = Panels::default();
        self.panels.show(tab);
        self.focus = Focus::default();
        self.state.say(text);
    }

    /// Says where something shows that a panel goes to while the timeline does not.
    pub(super) fn say_where(&mut self, action: &Action) {
        let goes = matches!(
            action,
            Action::RevealSpan(_)
                | Action::ShowWait(_)
                | Action::ZoomToRange(_)
                | Action::ViewRange(_)
                | Action::ShowRange(_)
        );
        if goes && self.state.compared.is_some() {
            let text = "It shows on the timeline: Esc closes the comparison";
            self.state.say(text.to_owned());
        }
    }

    /// Runs a command that means something else while a comparison shows.
    pub(super) fn in_comparison(&mut self, ctx: &Context, command: Command) -> bool {
        let free = self.dialog.is_none() && self.state.loading.is_none();
        let Some(compared) = &mut self.state.compared else {
            return false;
        };
        if command == Command::NextSpan {
            compared.go(1);
        } else if command == Command::PreviousSpan {
            compared.go(-1);
        } else if command == Command::ExposedColumns {
            self.change_side(ctx);
        } else if command == Command::Clear && free {
            self.close_comparison(ctx);
        } else if command == Command::Fit {
            compared.fit();
        } else if command == Command::ZoomIn {
            compared.zoom(0.5, KEY_ZOOM, compared.reach);
        } else if command == Command::ZoomOut {
            compared.zoom(0.5, 1.0 / KEY_ZOOM, compared.reach);
        } else if command == Command::PanLeft {
            compared.pan(-KEY_PAN, compared.reach);
        } else if command == Command::PanRight {
            compared.pan(KEY_PAN, compared.reach);
        } else if command == Command::ScrollDown {
            compared.scroll += 200.0;
        } else if command == Command::ScrollUp {
            compared.scroll -= 200.0;
        } else {
            return false;
        }
        true
    }
}

/// Millions of spans take their time to go. Where no thread starts, they go here.
fn drop_elsewhere(compared: Compared) {
    let thread = std::thread::Builder::new().name("stallscope-close".to_owned());
    drop(thread.spawn(move || drop(compared)));
}
