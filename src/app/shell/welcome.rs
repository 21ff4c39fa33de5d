//! The first screen: open, drop, samples, recent files, a few keys.

use egui::{Align, Layout, RichText, Sense, Stroke, Ui, WidgetInfo, accesskit::Role, vec2};

use crate::app::model::action::{Action, Actions};
use crate::app::model::command::Command;
use crate::app::model::load::Request;
use crate::app::model::settings::recent_text;
use crate::app::model::state::AppState;
use crate::samples::SAMPLES;

/// Width of the column in the middle.
const WIDTH: f32 = 680.0;

/// Where a line's second part begins, points.
const COLUMN: f32 = 200.0;

/// Draws the first screen.
pub fn welcome_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions) {
    egui::ScrollArea::vertical()
        .auto_shrink([false, false])
        .show(ui, |ui| {
            ui.add_space((ui.available_height() * 0.08).max(16.0));
            ui.vertical_centered(|ui| {
                ui.set_max_width(WIDTH);
                ui.label(RichText::new("Stallscope").size(28.0).strong());
                ui.add_space(2.0);
                let line = "Shows what the GPU really waited for in a training trace.";
                ui.label(RichText::new(line).size(14.0).color(state.look.weak));
                ui.add_space(22.0);
                drop_area_ui(ui, state, actions);
                ui.add_space(18.0);
            });
            ui.vertical_centered(|ui| {
                ui.set_max_width(WIDTH);
                ui.with_layout(Layout::top_down(Align::LEFT), |ui| {
                    samples_ui(ui, state, actions);
                    recent_ui(ui, state, actions);
                    keys_ui(ui, state);
                });
            });
            ui.add_space(20.0);
        });
}

fn drop_area_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions) {
    let (rect, _) = ui.allocate_exact_size(vec2(WIDTH, 112.0), Sense::hover());
    let dashes = [
        rect.left_top(),
        rect.right_top(),
        rect.right_bottom(),
        rect.left_bottom(),
        rect.left_top(),
    ];
    let stroke = Stroke::new(1.0, state.look.weak);
    ui.painter()
        .extend(egui::Shape::dashed_line(&dashes, stroke, 5.0, 4.0));
    let mut inner = ui.new_child(
        egui::UiBuilder::new()
            .max_rect(rect.shrink(14.0))
            .layout(Layout::top_down(Align::Center)),
    );
    let ui = &mut inner;
    ui.add_space(4.0);
    let open = egui::Button::new(
        RichText::new("Open trace…")
            .size(14.0)
            .strong()
            .color(egui::Color32::WHITE),
    )
    .fill(state.look.primary)
    .min_size(vec2(150.0, 30.0));
    if ui
        .add(open)
        .on_hover_text(Command::Open.hover_text(state.mac))
        .clicked()
    {
        actions.push(Action::Do(Command::Open));
    }
    ui.add_space(4.0);
    ui.label(RichText::new("or drop files or a folder here").color(state.look.weak));
    let kinds = "torch.profiler .json .json.gz  ·  Nsight Systems .sqlite  ·  DFTracer .pfw .pfw.gz, files or folder";
    ui.label(RichText::new(kinds).small().color(state.look.weak));
}

fn heading(ui: &mut Ui, state: &AppState, text: &str) {
    ui.add_space(8.0);
    ui.label(RichText::new(text).strong().color(state.look.text));
    ui.add_space(2.0);
}

fn samples_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions) {
    heading(ui, state, "Samples");
    for (i, sample) in SAMPLES.iter().enumerate() {
        if line_ui(ui, state, sample.title, sample.line, true) {
            actions.push(Action::Open(Request {
                sample: Some(i),
                ..Request::default()
            }));
        }
    }
}

fn recent_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions) {
    if state.settings.recent.is_empty() {
        return;
    }
    heading(ui, state, "Recent");
    for paths in &state.settings.recent {
        let missing = state.is_missing(paths);
        let (name, place) = recent_text(paths);
        ui.horizontal(|ui| {
            let width = ui.available_width() - 30.0;
            let place = if missing {
                format!("missing: {place}")
            } else {
                place
            };
            let line = ui.allocate_ui(vec2(width, 24.0), |ui| {
                line_ui(ui, state, &name, &place, !missing)
            });
            if line.inner {
                actions.push(Action::Open(Request {
                    paths: paths.clone(),
                    ..Request::default()
                }));
            }
            let remove = ui
                .small_button("×")
                .accessible_name(format!("Remove {name}"));
            if remove.on_hover_text("Remove from this list").clicked() {
                actions.push(Action::ForgetRecent(paths.clone()));
            }
        });
    }
}

/// One clickable line: name, then what it is.
fn line_ui(ui: &mut Ui, state: &AppState, name: &str, about: &str, enabled: bool) -> bool {
    let sense = if enabled {
        Sense::click()
    } else {
        Sense::hover()
    };
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 24.0), sense);
    response.widget_info(|| WidgetInfo::labeled(Role::Link, enabled, format!("{name}, {about}")));
    let visuals = ui.visuals();
    if response.hovered() && enabled {
        ui.painter()
            .rect_filled(rect, 4.0, visuals.widgets.hovered.weak_bg_fill);
    }
    if response.has_focus() {
        let stroke = Stroke::new(1.0, state.look.select);
        ui.painter()
            .rect_stroke(rect, 4.0, stroke, egui::StrokeKind::Inside);
    }
    let color = if enabled {
        state.look.select
    } else {
        state.look.weak
    };
    let font = egui::FontId::proportional(13.0);
    let name = ui.painter().layout_no_wrap(name.to_owned(), font, color);
    let left = rect.left_center() + vec2(8.0, -name.size().y / 2.0);
    // What they are stands in one column, unless a name is too long for it.
    let x = (left.x + name.size().x + 12.0).max(rect.left() + COLUMN);
    ui.painter().galley(left, name, color);
    let mut job = egui::text::LayoutJob::simple_singleline(
        about.to_owned(),
        egui::FontId::proportional(11.5),
        state.look.weak,
    );
    job.wrap = egui::text::TextWrapping::truncate_at_width((rect.right() - x - 8.0).max(0.0));
    let about = ui.painter().layout_job(job);
    let at = egui::pos2(x, rect.center().y - about.size().y / 2.0);
    ui.painter().galley(at, about, state.look.weak);
    response.clicked()
}

fn keys_ui(ui: &mut Ui, state: &AppState) {
    heading(ui, state, "Good to know");
    egui::Grid::new("welcome keys")
        .num_columns(2)
        .spacing([16.0, 4.0])
        .show(ui, |ui| {
            let ctrl = if state.mac { "Cmd+" } else { "Ctrl+" };
            for (keys, does) in [
                ("drag".to_owned(), "select a range and read its figures"),
                (format!("{ctrl}wheel, W S"), "zoom at the pointer; A D pan"),
                ("N".to_owned(), "go to the next exposed wait"),
                ("?".to_owned(), "all keys"),
            ] {
                ui.label(RichText::new(keys).monospace().color(state.look.weak));
                ui.label(does);
                ui.end_row();
            }
        });
}
