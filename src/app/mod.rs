//! The window. Owns what is open and how it is looked at; panels read the state and push actions, which run after
//! the frame. Never reads a trace, analyses or draws a picture on the UI thread.

use std::path::PathBuf;

use eframe::CreationContext;
use egui::accesskit::Role;
use egui::{CentralPanel, Context, Frame, Id, Margin, Panel, Sense, Stroke, Ui, WidgetInfo};

mod apply;
mod canvas;
mod dialogs;
mod model;
mod panels;
mod shell;
mod widgets;

pub use apply::App;
pub use dialogs::{Dialog, ErrorDialog, PathDialog};
pub use model::action::Action;
pub use model::command::{Command, GESTURES, Group};
pub use model::document::Document;
pub use model::keys::{KeyAt, Shortcut};
pub use model::load::Request;
pub use model::picker::{Ask, Made};
pub use model::settings::{LanePreset, Settings, Store, ThemeChoice};
pub use model::state::AppState;
pub use model::tab::Tab;
pub use panels::{Panels, commands, tabs};

use crate::view::content_height;
use canvas::{BELOW_LANES, GRIP};
use model::action::Actions;
use model::settings;
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
        let details = match state.settings.details_open {
            true => details_ui(ui, state, &mut self.panels, actions, bar(0)),
            false => None,
        };
        CentralPanel::default()
            .frame(Frame::new().fill(look.panel))
            .show(ui, |ui| match state.compared {
                Some(_) => comparison::comparison_ui(ui, state, actions),
                None => canvas::canvas_ui(ui, state, &mut self.focus, actions),
            });
        if let Some(rect) = details {
            details_splitter_ui(ui, rect, state, actions);
        }
    }
}

/// Share of the height below the overview that the details panel takes at most.
const DETAILS_MOST: f32 = 0.7;
/// The same until somebody chose a height: what a row points at can be seen.
const DETAILS_FIRST: f32 = 0.42;
/// Least height of the details panel, and of the timeline above it, points.
const LEAST: f32 = 80.0;

/// The panel below the timeline, as high as it is remembered; what the timeline does not need it gets as well. Returns
/// where it is.
fn details_ui(
    ui: &mut Ui,
    state: &AppState,
    panels: &mut Panels,
    actions: &mut Actions,
    frame: Frame,
) -> Option<egui::Rect> {
    let doc = state.doc.as_ref()?;
    let room = ui.available_height();
    let most = (room * DETAILS_MOST).min(room - LEAST).max(LEAST);
    let chosen = state.settings.details_height;
    let wanted = if chosen == settings::DETAILS_HEIGHT {
        chosen.min(room * DETAILS_FIRST)
    } else {
        chosen
    };
    let needed = match state.compared {
        Some(_) => room,
        None => content_height(&doc.analysis, &doc.rows, &doc.notes) + BELOW_LANES,
    };
    let height = wanted.max(room - needed).clamp(LEAST, most).round();
    let panel = Panel::bottom("details")
        .resizable(false)
        .exact_size(height)
        .frame(frame)
        .show(ui, |ui| panels.ui(ui, doc, &state.look, actions));
    Some(panel.response.rect)
}

/// Between the timeline and the details panel; drawn after both, which would take its drags.
fn details_splitter_ui(ui: &Ui, rect: egui::Rect, state: &AppState, actions: &mut Actions) {
    let top = rect.top();
    let grip = egui::Rect::from_x_y_ranges(rect.x_range(), top - GRIP..=top + GRIP);
    let response = ui.interact(grip, Id::unique("details height"), Sense::DRAG);
    let label = "Height of the details";
    response.widget_info(|| WidgetInfo::labeled(Role::Splitter, true, label));
    let taken = response.hovered() || response.dragged();
    if taken {
        ui.ctx().set_cursor_icon(egui::CursorIcon::ResizeVertical);
    }
    if let Some(at) = response
        .interact_pointer_pos()
        .filter(|_| response.dragged())
    {
        actions.push(Action::DetailsHeight(rect.bottom() - at.y));
    }
    let color = match taken {
        true => state.look.select,
        false => state.look.line,
    };
    ui.painter()
        .hline(rect.x_range(), top, Stroke::new(1.0, color));
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
