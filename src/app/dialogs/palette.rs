//! The command palette: type a part of a name, Enter runs the first match.

use egui::{Key, RichText, Sense, TextEdit, Ui, WidgetInfo, accesskit::Role, vec2};

use crate::app::model::action::{Action, Actions};
use crate::app::model::command::Command;
use crate::app::model::state::AppState;
use crate::app::panels::commands;

/// What was typed and which match is marked.
#[derive(Default)]
pub struct PaletteDialog {
    query: String,
    marked: usize,
}

/// Commands whose name or explanation contains all typed words; names first.
#[must_use]
pub fn matches(query: &str) -> Vec<Command> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let hit = |text: &str| {
        let text = text.to_lowercase();
        words.iter().all(|w| text.contains(w))
    };
    let mut found: Vec<Command> = Vec::new();
    found.extend(commands().iter().filter(|c| hit(c.text())));
    found.extend(
        commands()
            .iter()
            .filter(|c| !hit(c.text()) && hit(&format!("{} {}", c.text(), c.tooltip()))),
    );
    found
}

/// Draws the palette; true closes it.
pub fn palette_ui(
    ui: &mut Ui,
    palette: &mut PaletteDialog,
    state: &AppState,
    actions: &mut Actions,
) -> bool {
    let (down, up) = ui.input_mut(|i| {
        let none = egui::Modifiers::NONE;
        (
            i.consume_key(none, Key::ArrowDown),
            i.consume_key(none, Key::ArrowUp),
        )
    });
    let edit = ui.add(
        TextEdit::singleline(&mut palette.query)
            .hint_text("Type a command…")
            .desired_width(f32::INFINITY),
    );
    let edit = edit.accessible_name("Command");
    let entered = edit.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
    edit.request_focus();
    if edit.changed() {
        palette.marked = 0;
    }
    let found = matches(&palette.query);
    let last = found.len().saturating_sub(1);
    palette.marked = match (down, up) {
        (true, _) => (palette.marked + 1).min(last),
        (_, true) => palette.marked.saturating_sub(1),
        _ => palette.marked.min(last),
    };
    let mut run = entered
        .then(|| found.get(palette.marked).copied())
        .flatten();
    if found.is_empty() {
        ui.label(RichText::new("No command of that name.").weak());
    }
    egui::ScrollArea::vertical()
        .max_height(360.0)
        .min_scrolled_height(360.0)
        // Always as high: the box must not move while somebody types.
        .auto_shrink([false, false])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for (i, &command) in found.iter().enumerate() {
                let usable = state.can(command);
                if entry_ui(
                    ui,
                    command,
                    i == palette.marked,
                    usable,
                    state.mac,
                    down || up,
                ) {
                    run = Some(command);
                }
            }
        });
    if let Some(command) = run {
        actions.push(Action::Do(command));
    }
    run.is_some()
}

fn entry_ui(
    ui: &mut Ui,
    command: Command,
    marked: bool,
    usable: bool,
    mac: bool,
    moved: bool,
) -> bool {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 24.0), Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::MenuItem, usable, marked, command.text()));
    let visuals = ui.visuals();
    if marked {
        ui.painter()
            .rect_filled(rect, 3.0, visuals.selection.bg_fill.gamma_multiply(0.6));
        if moved {
            response.scroll_to_me(None);
        }
    } else if response.hovered() {
        ui.painter()
            .rect_filled(rect, 3.0, visuals.widgets.hovered.weak_bg_fill);
    }
    let color = if usable {
        visuals.text_color()
    } else {
        visuals.weak_text_color()
    };
    let font = egui::FontId::proportional(13.0);
    let left = rect.left_center() + vec2(8.0, 0.0);
    let right = rect.right_center() - vec2(8.0, 0.0);
    ui.painter()
        .text(left, egui::Align2::LEFT_CENTER, command.text(), font, color);
    let keys = egui::FontId::monospace(11.0);
    let weak = visuals.weak_text_color();
    let shortcut = command
        .shortcuts()
        .first()
        .map_or(String::new(), |s| s.label(mac));
    ui.painter()
        .text(right, egui::Align2::RIGHT_CENTER, shortcut, keys, weak);
    response.on_hover_text(command.tooltip()).clicked() && usable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_query_lists_all_and_words_narrow() {
        assert_eq!(matches("").len(), commands().len());
        assert_eq!(matches("exp png")[0], Command::ExportPng);
        assert_eq!(matches("EXPOSED next"), [Command::NextWait]);
        assert!(matches("zebra").is_empty());
    }
}
