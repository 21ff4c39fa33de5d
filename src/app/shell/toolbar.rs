//! The top line: open, history, search, exposed waits, file, export, theme, help.

use egui::{Align, Button, Layout, RichText, Ui, WidgetInfo, accesskit::Role, vec2};

use crate::analysis::counted;
use crate::app::model::action::{Action, Actions};
use crate::app::model::command::Command;
use crate::app::model::load::Request;
use crate::app::model::settings::recent_text;
use crate::app::model::state::AppState;
use crate::samples::SAMPLES;

/// Height of the line, points.
pub const HEIGHT: f32 = 34.0;

/// Room for the number of hits, points.
const STATUS: f32 = 110.0;

/// Draws the line.
pub fn toolbar_ui(ui: &mut Ui, state: &mut AppState, actions: &mut Actions) {
    let wide = ui.available_width() >= 1_240.0;
    ui.horizontal_centered(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        ui.visuals_mut().widgets.inactive.weak_bg_fill = egui::Color32::TRANSPARENT;
        files_ui(ui, state, actions);
        if state.doc.is_none() {
            right_ui(ui, state, actions, wide);
            return;
        }
        divider(ui);
        history_ui(ui, state, actions, wide);
        divider(ui);
        search_ui(ui, state, actions, wide);
        ui.add_space(6.0);
        waits_ui(ui, state, actions, wide);
        right_ui(ui, state, actions, wide);
    });
}

fn divider(ui: &mut Ui) {
    ui.add_space(4.0);
    ui.add(
        egui::Separator::default()
            .vertical()
            .shrink(6.0)
            .spacing(8.0),
    );
}

/// A button that runs a command.
fn command_button(
    ui: &mut Ui,
    state: &AppState,
    actions: &mut Actions,
    command: Command,
    text: &str,
) {
    let button = Button::new(text).min_size(vec2(24.0, 24.0));
    let response = ui.add_enabled(state.can(command), button);
    let label = command.text();
    response.widget_info(|| WidgetInfo::labeled(Role::Button, state.can(command), label));
    let tip = command.hover_text(state.mac);
    if response
        .on_hover_text(&tip)
        .on_disabled_hover_text(tip)
        .clicked()
    {
        actions.push(Action::Do(command));
    }
}

fn files_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions) {
    command_button(ui, state, actions, Command::Open, "Open…");
    if state.ranks.is_some() && state.doc.is_some() {
        command_button(ui, state, actions, Command::Ranks, "Ranks");
    }
    if !state.settings.recent.is_empty() {
        ui.menu_button("Recent ▾", |ui| {
            ui.set_min_width(280.0);
            for paths in &state.settings.recent {
                let (name, place) = recent_text(paths);
                let missing = state.is_missing(paths);
                let button = Button::new(name).wrap_mode(egui::TextWrapMode::Truncate);
                let response = ui.add_enabled(!missing, button);
                let tip = if missing {
                    format!("missing: {place}")
                } else {
                    place
                };
                if response
                    .on_hover_text(&tip)
                    .on_disabled_hover_text(tip)
                    .clicked()
                {
                    actions.push(open(paths));
                    ui.close();
                }
            }
        });
    }
    ui.menu_button("Samples ▾", |ui| {
        ui.set_min_width(280.0);
        for (i, sample) in SAMPLES.iter().enumerate() {
            if ui.button(sample.title).on_hover_text(sample.line).clicked() {
                actions.push(Action::Open(Request {
                    sample: Some(i),
                    ..Request::default()
                }));
                ui.close();
            }
        }
    });
}

fn open(paths: &[std::path::PathBuf]) -> Action {
    Action::Open(Request {
        paths: paths.to_vec(),
        ..Request::default()
    })
}

fn history_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions, wide: bool) {
    command_button(ui, state, actions, Command::Back, "◀");
    command_button(ui, state, actions, Command::Forward, "▶");
    command_button(ui, state, actions, Command::Fit, "Fit");
    let text = if wide { "Zoom to selection" } else { "Zoom" };
    command_button(ui, state, actions, Command::ZoomToSelection, text);
}

fn search_ui(ui: &mut Ui, state: &mut AppState, actions: &mut Actions, wide: bool) {
    let Some(doc) = &mut state.doc else {
        return;
    };
    let mut text = doc.search.text.clone();
    let edit = egui::TextEdit::singleline(&mut text)
        .id(search_id())
        .hint_text("Find spans…  /")
        .desired_width(if wide { 220.0 } else { 130.0 });
    let response = ui.add(edit).accessible_name("Find spans");
    if std::mem::take(&mut state.focus_search) {
        response.request_focus();
    }
    if response.changed() {
        actions.push(Action::SearchFor(text));
    }
    let entered = response.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
    if entered {
        let back = ui.input(|i| i.modifiers.shift);
        actions.push(Action::Do(if back {
            Command::PreviousHit
        } else {
            Command::NextHit
        }));
        // Enter walks on through the hits.
        response.request_focus();
    }
    response.on_hover_text(Command::Search.tooltip());
    let status = doc.search.status();
    if status.is_empty() && wide {
        // What follows must not jump when there are hits.
        ui.add_space(STATUS);
    } else if !status.is_empty() {
        ui.add_space(4.0);
        let label = egui::Label::new(RichText::new(status).small().color(state.look.weak));
        if wide {
            let room = vec2(STATUS - 36.0, 20.0);
            let left = Layout::left_to_right(Align::Center);
            ui.allocate_ui_with_layout(room, left, |ui| {
                ui.set_min_width(room.x);
                ui.add(label.truncate());
            });
        } else {
            ui.add(label);
        }
        if ui
            .small_button("×")
            .accessible_name("Clear search")
            .clicked()
        {
            actions.push(Action::SearchFor(String::new()));
        }
    }
}

/// The search box, to give it the focus.
#[must_use]
pub fn search_id() -> egui::Id {
    egui::Id::unique("search box")
}

fn waits_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions, wide: bool) {
    let Some(doc) = &state.doc else {
        return;
    };
    let mut text = doc.walk.text(&doc.analysis);
    if wide && !doc.walk.is_empty() {
        let of = if doc.walk.current().is_some() {
            "of"
        } else {
            "·"
        };
        text.push_str(&format!(" {of} {}", doc.walk.short_share()));
    }
    // What costs next to nothing is no alarm.
    let color = if doc.walk.warns() {
        state.look.warning
    } else {
        state.look.text
    };
    let warn = |t: &str| RichText::new(t).color(color);
    if doc.walk.is_empty() {
        ui.label(RichText::new(text).color(state.look.weak))
            .on_hover_text(doc.walk.why_none());
        return;
    }
    for (command, arrow) in [(Command::PreviousWait, "◂"), (Command::NextWait, "▸")] {
        if command == Command::NextWait {
            ui.label(warn(&text)).on_hover_text(doc.walk.share_text());
        }
        let button = ui.add(Button::new(warn(arrow)).min_size(vec2(20.0, 24.0)));
        button.widget_info(|| WidgetInfo::labeled(Role::Button, true, command.text()));
        if button
            .on_hover_text(command.hover_text(state.mac))
            .clicked()
        {
            actions.push(Action::Do(command));
        }
    }
}

/// The file's name and what follows it, in the order in which they are read and reached.
fn right_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions, wide: bool) {
    let id = egui::Id::unique("toolbar buttons at the right");
    // As wide as in the last frame.
    let buttons: f32 = ui.data(|d| d.get_temp(id)).unwrap_or(0.0);
    let room = vec2((ui.available_width() - buttons - 8.0).max(0.0), 24.0);
    ui.allocate_ui_with_layout(room, Layout::right_to_left(Align::Center), |ui| {
        ui.set_min_width(room.x);
        if let Some(doc) = &state.doc {
            let events = counted(doc.trace.counted_spans(), "span");
            let text = if wide {
                format!("{} · {events}", doc.name)
            } else {
                doc.name.clone()
            };
            let label = egui::Label::new(RichText::new(text).color(state.look.weak)).truncate();
            ui.add(label).on_hover_text(doc.about());
        }
    });
    ui.add_space(6.0);
    let begin = ui.next_widget_position().x;
    if state.doc.is_some() {
        command_button(ui, state, actions, Command::ExportPng, "Export PNG…");
    }
    command_button(ui, state, actions, Command::ToggleTheme, "◐");
    command_button(ui, state, actions, Command::Guide, "?");
    let now = ui.next_widget_position().x - begin;
    if (now - buttons).abs() > 0.5 {
        ui.data_mut(|d| d.insert_temp(id, now));
        ui.ctx().request_repaint();
    }
}
