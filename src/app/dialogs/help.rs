//! The help sheet: every command with its keys, and the mouse gestures. Made from the command table.

use egui::{Key, RichText, Ui};

use crate::app::model::command::{GESTURES, Group};
use crate::app::model::state::AppState;
use crate::app::panels::commands;

/// Draws the sheet; never closes by itself.
pub fn help_ui(ui: &mut Ui, state: &AppState) -> bool {
    let screen = ui.ctx().content_rect();
    let height = (screen.height() - 130.0).max(200.0);
    egui::ScrollArea::vertical()
        .max_height(height)
        .min_scrolled_height(height)
        .auto_shrink([false, true])
        .show(ui, |ui| {
            ui.spacing_mut().interact_size.y = 15.0;
            scroll_by_keys(ui, height);
            ui.columns(2, |columns| {
                for group in [Group::File, Group::View, Group::Go, Group::Select] {
                    group_ui(&mut columns[0], group, state.mac);
                }
                mouse_ui(&mut columns[1]);
                for group in [Group::Search, Group::Details, Group::Window] {
                    group_ui(&mut columns[1], group, state.mac);
                }
                columns[1].add_space(8.0);
                let note = "–: in the palette (Ctrl+Shift+P), as are all commands.";
                columns[1].label(RichText::new(note).weak());
            });
        });
    false
}

/// Arrows, Page up and down, Home and End move the sheet.
fn scroll_by_keys(ui: &Ui, page: f32) {
    let pressed = |key| ui.input(|i| i.key_pressed(key));
    let steps = [
        (Key::ArrowDown, -40.0),
        (Key::ArrowUp, 40.0),
        (Key::PageDown, -page),
        (Key::PageUp, page),
        (Key::End, -1e5),
        (Key::Home, 1e5),
    ];
    for (key, by) in steps {
        if pressed(key) {
            ui.scroll_with_delta(egui::vec2(0.0, by));
        }
    }
}

fn heading(ui: &mut Ui, text: &str) {
    ui.add_space(6.0);
    ui.label(RichText::new(text).strong());
}

fn group_ui(ui: &mut Ui, group: Group, mac: bool) {
    heading(ui, group.title());
    egui::Grid::new(("help", group.title()))
        .num_columns(2)
        .min_col_width(130.0)
        .spacing([12.0, 3.0])
        .show(ui, |ui| {
            for command in commands().iter().filter(|c| c.group() == group) {
                let keys = command.keys_text(mac);
                let keys = if keys.is_empty() {
                    "–".to_owned()
                } else {
                    keys
                };
                ui.label(RichText::new(keys).monospace().weak());
                ui.label(command.text()).on_hover_text(command.tooltip());
                ui.end_row();
            }
        });
}

fn mouse_ui(ui: &mut Ui) {
    heading(ui, "Mouse");
    egui::Grid::new("help mouse")
        .num_columns(2)
        .min_col_width(130.0)
        .spacing([12.0, 3.0])
        .show(ui, |ui| {
            for (gesture, does) in GESTURES {
                ui.label(RichText::new(*gesture).monospace().weak());
                ui.label(*does);
                ui.end_row();
            }
        });
}
