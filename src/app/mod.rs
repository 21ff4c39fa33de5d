//! The window. Owns what is open and how it is looked at; panels read the state and push actions, which run after
//! the frame. Never reads a trace, analyses or draws a picture on the UI thread.

use std::path::PathBuf;

use eframe::CreationContext;
use egui::{CentralPanel, Context, Frame, Margin, Panel, Stroke, Ui};

mod apply;
mod canvas;
mod dialogs;
mod model;
mod panels;
mod shell;
mod widgets;

pub use apply::App;
pub use dialogs::{Dialog, ErrorDialog};
pub use model::action::Action;
pub use model::command::{Command, GESTURES, Group};
pub use model::document::Document;
pub use model::keys::{KeyAt, Shortcut};
pub use model::load::Request;
pub use model::settings::{LanePreset, Settings, Store, ThemeChoice};
pub use model::state::AppState;
pub use model::tab::Tab;
pub use panels::{Panels, commands, tabs};

use model::action::Actions;
use shell::{comparison, input, loading, overview, ranks, status, toolbar, welcome};
use widgets::look;

/// Size of a new window, points.
const SIZE: [f32; 2] = [1_400.0, 900.0];
/// Smallest size at which everything can be reached, points.
const MIN_SIZE: [f32; 2] = [900.0, 560.0];

/// Opens the window with files and folders (of those, only the files of `ranks`, if any are named), compared with those
/// `before` a change if there are any, and returns when it is closed.
///
/// # Errors
/// When no window can be opened.
pub fn run(paths: Vec<PathBuf>, before: Vec<PathBuf>, ranks: Vec<u32>) -> Result<(), String> {
    let mut store = Store::platform();
    let size = store.load().window.map_or(SIZE, |(w, h)| [w, h]);
    let viewport = egui::ViewportBuilder::default()
        .with_title("Stallscope")
        .with_app_id("stallscope")
        .with_inner_size(size)
        .with_min_inner_size(MIN_SIZE)
        .with_drag_and_drop(true);
    let options = eframe::NativeOptions {
        viewport,
        persist_window: false,
        ..eframe::NativeOptions::default()
    };
    let make = |cc: &CreationContext<'_>| -> Result<Box<dyn eframe::App>, _> {
        let mut app = App::new(store);
        app.then_compare = (!before.is_empty()).then_some(before);
        app.open(
            &cc.egui_ctx,
            Request {
                paths,
                ranks,
                ..Request::default()
            },
        );
        Ok(Box::new(app))
    };
    let closed = eframe::run_native("stallscope", options, Box::new(make));
    // A thread may still write what nobody waits for any more.
    crate::output::give_up();
    closed.map_err(|e| e.to_string())
}

impl App {
    /// One frame.
    pub fn show(&mut self, ui: &mut Ui) {
        let ctx = ui.ctx().clone();
        if !self.styled {
            self.styled = true;
            prepare(&ctx);
        }
        let mut actions = Vec::new();
        self.poll(&ctx);
        self.state.follow_theme(&ctx);
        let zoom = self.state.settings.ui_percent as f32 / 100.0;
        if (ctx.zoom_factor() - zoom).abs() > 0.001 {
            ctx.set_zoom_factor(zoom);
        }
        input::keys(&ctx, self.dialog.as_ref(), &self.state, &mut actions);
        input::drops(&ctx, &mut self.state, &mut actions);
        self.window_ui(ui, &mut actions);
        dialogs::dialog_ui(ui, &mut self.dialog, &self.state, &mut actions);
        loading::loading_ui(ui, &mut self.state, &mut actions);
        loading::saving_ui(ui, &self.state, &mut actions);
        loading::toasts_ui(ui, &self.state);
        loading::drop_hint_ui(ui, &self.state);
        let acted = !actions.is_empty();
        for action in actions {
            self.apply(&ctx, action);
        }
        if acted {
            ctx.request_repaint();
        }
        self.save_soon(&ctx);
        let dialog = self.dialog.as_ref();
        self.dump.write(&self.state, &mut self.panels, dialog);
    }

    fn window_ui(&mut self, ui: &mut Ui, actions: &mut Actions) {
        let state = &mut self.state;
        let look = state.look.clone();
        let bar = |x: i8| {
            Frame::new()
                .fill(look.panel)
                .inner_margin(Margin::symmetric(x, 0))
        };
        Panel::top("toolbar")
            .exact_size(toolbar::HEIGHT)
            .frame(bar(8))
            .show(ui, |ui| toolbar::toolbar_ui(ui, state, actions));
        Panel::bottom("status")
            .exact_size(status::HEIGHT)
            .frame(bar(10))
            .show(ui, |ui| status::status_ui(ui, state, actions));
        if state.shows_ranks() {
            CentralPanel::default()
                .frame(bar(0))
                .show(ui, |ui| ranks::ranks_ui(ui, state, actions));
            return;
        }
        if state.doc.is_none() {
            CentralPanel::default()
                .frame(bar(0))
                .show(ui, |ui| welcome::welcome_ui(ui, state, actions));
            return;
        }
        // A comparison has an axis of its own.
        if state.compared.is_none() {
            Panel::top("overview")
                .exact_size(overview::HEIGHT)
                .frame(bar(0))
                .show(ui, |ui| overview::overview_ui(ui, state, actions));
        }
        if state.settings.details_open {
            details_ui(ui, state, &mut self.panels, actions, bar(0));
        }
        CentralPanel::default()
            .frame(Frame::new().fill(look.panel))
            .show(ui, |ui| match state.compared {
                Some(_) => comparison::comparison_ui(ui, state, actions),
                None => canvas::canvas_ui(ui, state, &mut self.focus, actions),
            });
    }
}

/// The panel below the timeline; its height is remembered.
fn details_ui(
    ui: &mut Ui,
    state: &mut AppState,
    panels: &mut Panels,
    actions: &mut Actions,
    frame: Frame,
) {
    let Some(doc) = &state.doc else {
        return;
    };
    // At first the timeline keeps more than half, so that what a row points at can be seen.
    let room = ui.available_height();
    let most = (room - 120.0).min(room * 0.7).max(90.0);
    let wanted = state.settings.details_height.min(room * 0.42);
    // A panel of its own per height of the window: egui keeps what a low window made of it.
    let panel = Panel::bottom(("details", room.round() as i32))
        .resizable(true)
        .default_size(wanted)
        .size_range(80.0..=most)
        .frame(frame)
        .show(ui, |ui| panels.ui(ui, doc, &state.look, actions));
    let height = panel.response.rect.height();
    if (height - wanted).abs() > 0.5 && (height - state.settings.details_height).abs() > 0.5 {
        state.settings.details_height = height;
        state.settings_changed();
    }
    let top = panel.response.rect.top();
    let stroke = Stroke::new(1.0, state.look.line);
    ui.painter()
        .hline(panel.response.rect.x_range(), top, stroke);
}

/// Styles and input options that egui needs once.
fn prepare(ctx: &Context) {
    look::Look::install(ctx);
    ctx.options_mut(|o| {
        // The window has its own commands for this.
        o.zoom_with_keyboard = false;
        o.input_options.max_click_dist = 4.0;
    });
}

impl eframe::App for App {
    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        self.show(ui);
    }

    fn on_exit(&mut self, _gl: Option<&eframe::glow::Context>) {
        self.save_now();
    }

    fn persist_egui_memory(&self) -> bool {
        false
    }
}
