//! What lies over the timeline: the zoom hint, the scroll bar of the lanes, the grip between names and canvas.

use egui::accesskit::Role;
use egui::{CursorIcon, Id, Rect, Sense, Ui, WidgetInfo, pos2, vec2};

use super::scene::Scene;
use crate::app::model::action::{Action, Actions};
use crate::app::model::document::Document;
use crate::app::model::state::AppState;

/// Widths that the lane tree can have, points.
const TREE_WIDTHS: std::ops::RangeInclusive<f32> = 140.0..=420.0;
/// A splitter can be taken this close to it, points.
pub const GRIP: f32 = 4.0;
/// Width of the scroll bar, points.
const BAR: f32 = 8.0;

/// How to zoom, until somebody did.
pub fn hint_ui(ui: &Ui, state: &AppState, scene: &Scene<'_>) {
    if !state.settings.wants_hint("zoom") {
        return;
    }
    let area = scene.to_window(scene.list.areas.lanes);
    let text = if state.mac {
        "Zoom: Cmd+wheel or W S"
    } else {
        "Zoom: Ctrl+wheel or W S"
    };
    let font = egui::FontId::proportional(11.0);
    let galley = ui
        .painter()
        .layout_no_wrap(text.to_owned(), font, state.look.weak);
    let at = area.right_bottom() - galley.size() - vec2(20.0, 10.0);
    let back = Rect::from_min_size(at, galley.size()).expand2(vec2(7.0, 3.0));
    ui.painter().rect_filled(back, 4.0, state.look.panel);
    ui.painter().galley(at, galley, state.look.weak);
}

/// The scroll bar of the lanes, where they do not fit.
pub fn scroll_bar_ui(ui: &Ui, doc: &Document, scene: &Scene<'_>, actions: &mut Actions) {
    let area = scene.to_window(scene.list.areas.lanes);
    let content = doc.rows.height() + super::BELOW_LANES;
    if content <= area.height() || area.height() < 24.0 {
        return;
    }
    let bar = Rect::from_min_max(pos2(area.right() - BAR, area.top()), area.max);
    let share = area.height() / content;
    let handle_height = (bar.height() * share).max(24.0);
    let free = bar.height() - handle_height;
    let most = content - area.height();
    let top = bar.top() + free * (doc.scroll / most).clamp(0.0, 1.0);
    let handle = Rect::from_min_size(pos2(bar.left() + 1.0, top), vec2(BAR - 2.0, handle_height));
    let response = ui.interact(bar, Id::unique("lanes scroll bar"), Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::ScrollBar, true, "Scroll lanes"));
    let strength = if response.hovered() || response.dragged() {
        0.6
    } else {
        0.3
    };
    let fill = ui.visuals().text_color().gamma_multiply(strength);
    ui.painter().rect_filled(handle, 3.0, fill);
    if response.dragged() && free > 0.0 {
        actions.push(Action::ScrollTo(
            doc.scroll + response.drag_delta().y * most / free,
        ));
    } else if response.clicked()
        && let Some(at) = response.interact_pointer_pos()
    {
        let page = area.height() * 0.9;
        let by = if at.y < handle.top() { -page } else { page };
        actions.push(Action::ScrollTo(doc.scroll + by));
    }
}

/// Between lane names and canvas.
pub fn splitter_ui(ui: &Ui, rect: Rect, width: f32, actions: &mut Actions) {
    let x = rect.left() + width;
    let grip = Rect::from_x_y_ranges(x - GRIP..=x + GRIP, rect.y_range());
    let response = ui.interact(grip, Id::unique("lane tree width"), Sense::DRAG);
    response.widget_info(|| WidgetInfo::labeled(Role::Splitter, true, "Width of lane names"));
    if response.hovered() || response.dragged() {
        ui.ctx().set_cursor_icon(CursorIcon::ResizeHorizontal);
        let color = ui.visuals().selection.stroke.color;
        ui.painter()
            .vline(x, rect.y_range(), egui::Stroke::new(1.0, color));
    }
    if response.dragged()
        && let Some(at) = response.interact_pointer_pos()
    {
        let to = (at.x - rect.left()).clamp(*TREE_WIDTHS.start(), *TREE_WIDTHS.end());
        // A narrow window keeps half of it for the timeline.
        actions.push(Action::TreeWidth(to.min(rect.width() / 2.0)));
    }
}
