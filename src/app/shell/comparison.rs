//! The comparison in place of the timeline: what changed, both sides step by step.

use egui::{Button, Id, Rect, Response, Sense, Ui, WidgetInfo, accesskit::Role, pos2, vec2};

use crate::app::model::action::{Action, Actions};
use crate::app::model::command::Command;
use crate::app::model::compared::Compared;
use crate::app::model::state::AppState;
use crate::paint::{color, paint};
use crate::time::{format_count, format_ns};
use crate::view::{Mark, Point};

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
    let response = ui.interact(rect, Id::unique("comparison"), Sense::click_and_drag());
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, color(state.look.theme.canvas));
    let tree = state.settings.tree_width;
    let scale = ui.ctx().pixels_per_point();
    let list = compared.list(&state.look.theme, rect.width(), tree, scale);
    let mut said = compared.found.headline();
    if let Some(drawn) = list {
        compared.reach = drawn.reach;
        let canvas = Rect::from_min_max(pos2(rect.left() + tree, rect.top()), rect.max);
        gestures(ui, compared, &response, canvas);
        let most = (drawn.list.size.height - rect.height()).max(0.0);
        compared.scroll = compared.scroll.clamp(0.0, most);
        let origin = rect.min - vec2(0.0, compared.scroll);
        paint(&drawn.list, &painter, origin);
        let changed = drawn
            .list
            .texts()
            .filter(|t| t.text.starts_with(['▲', '▼']));
        for text in changed {
            said.push_str(&format!("; {}", text.text));
        }
        let pointer = response.hover_pos().map(|p| p - origin.to_vec2());
        let at = pointer.map(|p| Point::new(p.x, p.y));
        if let Some(at) = at.filter(|_| response.clicked()) {
            let step = drawn.steps.iter().find(|s| s.0.contains(at));
            if let Some(&(_, side, place)) = step {
                compared.show(side, place);
                ui.ctx().request_repaint();
            }
        }
        let tip = at.and_then(|at| {
            let spans = drawn.spans.iter().rev();
            let (side, mark) = spans.into_iter().find(|(_, m)| m.rect.contains(at))?;
            about(compared, *side, mark)
        });
        if let Some(tip) = tip {
            response.clone().on_hover_text_at_pointer(tip);
        }
    }
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, said.as_str()));
}

/// Wheel and drag: they move and zoom both sides.
fn gestures(ui: &Ui, compared: &mut Compared, response: &Response, canvas: Rect) {
    let width = canvas.width().max(1.0);
    let reach = compared.reach;
    if response.dragged() {
        let by = response.drag_delta();
        compared.pan(-f64::from(by.x / width), reach);
        compared.scroll -= by.y;
    }
    let Some(pointer) = response.hover_pos() else {
        return;
    };
    let (zoom, delta) = ui.input(|i| (i.zoom_delta(), i.smooth_scroll_delta()));
    if (zoom - 1.0).abs() > f32::EPSILON {
        let at = f64::from((pointer.x - canvas.left()) / width);
        compared.zoom(at, f64::from(zoom), reach);
    } else {
        compared.pan(-f64::from(delta.x / width), reach);
        compared.scroll -= delta.y;
    }
}

/// What a span is, and when in the step of its side.
fn about(compared: &Compared, side: usize, mark: &Mark) -> Option<String> {
    let trace = compared.trace(side);
    let word = ["before", "after"][side];
    if mark.count > 1 {
        let spans = format_count(u64::from(mark.count));
        return Some(format!(
            "{spans} spans, busy {} ({word})",
            format_ns(mark.busy)
        ));
    }
    let range = trace.spans().range(mark.first);
    let start = range.start.saturating_sub(compared.start(side)?);
    Some(format!(
        "{}\n{}, {} after the start of the step ({word})",
        trace.span_name(mark.first),
        format_ns(range.len()),
        format_ns(start),
    ))
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
