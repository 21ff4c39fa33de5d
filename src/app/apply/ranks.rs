//! Many ranks: showing their matrix, and what commands mean while it shows.

use std::path::PathBuf;

use egui::{Context, ViewportCommand};

use super::navigate::{KEY_SCROLL, KEY_ZOOM};
use super::window::App;
use crate::app::model::command::Command;
use crate::app::model::ranks::RanksView;
use crate::ranks::Ranks;

impl App {
    /// Shows the matrix of ranks that were opened.
    pub(super) fn show_ranks(&mut self, ctx: &Context, ranks: Ranks, paths: Vec<PathBuf>) {
        self.close_comparison(ctx);
        self.state.settings.add_recent(&paths);
        self.state.check_recent();
        let name = ranks.runs.first().map_or("", |r| r.name.as_str());
        let title = format!("{name} – Stallscope");
        ctx.send_viewport_cmd(ViewportCommand::Title(title));
        self.state.ranks = Some(RanksView::new(ranks, paths));
        self.state.settings_changed();
    }

    /// Goes from the matrix to the trace, and back.
    pub(super) fn toggle_ranks(&mut self) {
        let has_trace = self.state.doc.is_some();
        if let Some(view) = &mut self.state.ranks {
            view.visible = !view.visible || !has_trace;
        }
    }

    /// A trace is shown: the matrix stays behind it where the trace is of its ranks.
    pub(super) fn leave_ranks(&mut self, paths: &[PathBuf]) {
        match &mut self.state.ranks {
            Some(view) if view.has(paths) => view.visible = false,
            _ => self.state.ranks = None,
        }
    }

    /// Runs a command that means something else while the matrix shows.
    pub(super) fn in_ranks(&mut self, command: Command) -> bool {
        let free = self.dialog.is_none() && self.state.loading.is_none();
        let Some(view) = self.state.ranks.as_mut().filter(|v| v.visible) else {
            return false;
        };
        let height = view.row_height.unwrap_or(4.0);
        if command == Command::ScrollUp {
            view.scroll -= KEY_SCROLL;
        } else if command == Command::ScrollDown {
            view.scroll += KEY_SCROLL;
        } else if command == Command::ZoomIn {
            view.zoom(KEY_ZOOM as f32, height);
        } else if command == Command::ZoomOut {
            view.zoom(1.0 / KEY_ZOOM as f32, height);
        } else if command == Command::Fit {
            view.row_height = None;
            view.scroll = 0.0;
        } else if command == Command::Clear && free {
            self.toggle_ranks();
        } else {
            return false;
        }
        true
    }
}
