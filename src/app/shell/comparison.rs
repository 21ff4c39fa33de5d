//! The comparison in place of the timeline: what changed, both sides step by step.

use egui::{Button, Id, Rect, Sense, Ui, WidgetInfo, accesskit::Role, pos2, vec2};

use crate::app::model::action::{Action, Actions};
use crate::app::model::command::Command;
use crate::app::model::state::AppState;
use crate::paint::{color, paint};

/// Height of the line of buttons, points.
const BAR: f32 = 30.0;

/// Draws the comparison into what is left of `ui`.
pub fn comparison_ui(ui: &mut Ui, state: &mut AppState, actions: &mut Actions) {
    buttons_ui(ui, state, actions);
    let rect = ui.available_rect_before_wrap();
    let Some(compared) = &mut state.compared else {
        return;
    };
    ui.advance_cursor_after_rect(rect);
    let response = ui.interact(rect, Id::unique("comparison"), Sense::click());
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, color(state.look.theme.canvas));
    let tree = state.settings.tree_width;
    let scale = ui.ctx().pixels_per_point();
    let list = compared.list(&state.look.theme, rect.width(), tree, scale);
    let mut said = compared.found.headline();
    if let Some(list) = list {
        let most = (list.size.height - rect.height()).max(0.0);
        if response.hovered() {
            compared.scroll -= ui.input(|i| i.smooth_scroll_delta()).y;
        }
        compared.scroll = compared.scroll.clamp(0.0, most);
        paint(&list, &painter, rect.min - vec2(0.0, compared.scroll));
        let changed = list.texts().filter(|t| t.text.starts_with(['▲', '▼']));
        for text in changed {
            said.push_str(&format!("; {}", text.text));
        }
    }
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, said.as_str()));
}

/// What can be done here, for who does not know the keys.
fn buttons_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions) {
    let Some(compared) = &state.compared else {
        return;
    };
    let side = ["before", "after"][compared.details];
    let buttons = [
        (
            Command::PreviousSpan,
            "◂ step  ,".to_owned(),
            "Previous step on both sides",
        ),
        (
            Command::NextSpan,
            "step ▸  .".to_owned(),
            "Next step on both sides",
        ),
        (
            Command::ExposedColumns,
            format!("Details: {side}  X"),
            "Change the side for the details",
        ),
        (
            Command::Clear,
            "Close  Esc".to_owned(),
            "Close the comparison",
        ),
    ];
    let at = ui.available_rect_before_wrap();
    let line = Rect::from_min_max(at.min, pos2(at.right(), at.top() + BAR));
    ui.scope_builder(
        egui::UiBuilder::new().max_rect(line.shrink2(vec2(8.0, 2.0))),
        |ui| {
            ui.horizontal_centered(|ui| {
                for (command, text, tip) in buttons {
                    let button = ui.add(Button::new(text).min_size(vec2(24.0, 24.0)));
                    button.widget_info(|| WidgetInfo::labeled(Role::Button, true, tip));
                    if button.on_hover_text(tip).clicked() {
                        actions.push(Action::Do(command));
                    }
                }
            });
        },
    );
    ui.advance_cursor_after_rect(line);
}
