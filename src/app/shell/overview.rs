//! The overview: the whole trace, with the visible part as a box that can be moved and resized. On its left, the
//! filter of the lane names.

use egui::accesskit::Role;
use egui::{CursorIcon, Id, Rect, RichText, Sense, Ui, WidgetInfo, pos2, vec2};

use crate::app::model::action::{Action, Actions};
use crate::app::model::document::Document;
use crate::app::model::state::AppState;
use crate::paint;
use crate::view::{OverviewInput, Size, Viewport, Window, overview, overview_viewport};

/// Height of the strip, points.
pub const HEIGHT: f32 = 46.0;
/// The handles can be taken this close to them, points.
const HANDLE: f32 = 6.0;

/// What a drag on the overview does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Grip {
    /// Moves the box; distance of the pointer from its left edge, points.
    Box(f32),
    /// Moves one edge; the other stays at this time, ns after the origin.
    Edge(f64),
    /// Draws a new box from this time, ns after the origin.
    New(f64),
}

/// Draws the strip.
pub fn overview_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions) {
    let Some(doc) = &state.doc else {
        return;
    };
    let rect = ui.available_rect_before_wrap();
    let left = state.settings.tree_width;
    let header = Rect::from_min_max(rect.min, pos2(rect.left() + left, rect.bottom()));
    filter_ui(ui, doc, header, actions);
    let strip = Rect::from_min_max(header.right_top(), rect.max);
    let list = overview(&OverviewInput {
        trace: &doc.trace,
        analysis: &doc.analysis,
        lod: doc.tree.lod(),
        theme: &state.look.theme,
        size: Size::new(strip.width(), strip.height()),
        view: &doc.viewport,
        hits: doc.search.is_active().then(|| &*doc.search.by_id),
    });
    paint::paint(&list, &ui.painter_at(strip), strip.min);
    let response = ui.interact(strip, Id::unique("overview"), Sense::click_and_drag());
    response.widget_info(|| {
        WidgetInfo::labeled(
            Role::Canvas,
            true,
            "Overview of the whole trace; drag to move the view",
        )
    });
    if response.has_focus() {
        crate::app::widgets::table::ring(ui, strip);
    }
    let map = overview_viewport(&doc.trace, strip.width());
    drag(ui, doc, &map, strip, &response, actions);
    ui.advance_cursor_after_rect(rect);
}

fn filter_ui(ui: &mut Ui, doc: &Document, header: Rect, actions: &mut Actions) {
    let inner = header.shrink2(vec2(8.0, 11.0));
    let mut side = ui.new_child(
        egui::UiBuilder::new()
            .max_rect(inner)
            .id_salt("lane filter"),
    );
    side.horizontal_centered(|ui| {
        let mut text = doc.row_state.filter.clone();
        let hidden = doc.rows.hidden_lanes();
        let filtered = !text.is_empty();
        let spare = if hidden > 0 { 66.0 } else { 0.0 } + if filtered { 24.0 } else { 0.0 };
        let edit = egui::TextEdit::singleline(&mut text)
            .hint_text("Filter lanes")
            .desired_width(inner.width() - spare - 8.0);
        let response = ui.add(edit).accessible_name("Filter lanes");
        // Esc leaves the field; as in the search box it also clears it.
        let left = response.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Escape));
        let cross = filtered
            && ui
                .small_button("×")
                .accessible_name("Clear lane filter")
                .clicked();
        if cross || (left && filtered) {
            actions.push(Action::FilterLanes(String::new()));
        } else if response.changed() {
            actions.push(Action::FilterLanes(text));
        }
        if hidden > 0 {
            let label = RichText::new(format!("{hidden} hidden")).small();
            let button = egui::Button::new(label).frame(false);
            if ui.add(button).on_hover_text("Show all lanes").clicked() {
                actions.push(Action::Do(crate::app::model::command::Command::ShowHidden));
            }
        }
    });
}

/// Edges of the view's box on the strip, points.
fn edges(doc: &Document, map: &Viewport) -> (f32, f32) {
    let shown = doc.viewport.range();
    (map.x_clipped(shown.start), map.x_clipped(shown.end))
}

fn grip_at(doc: &Document, map: &Viewport, x: f32) -> Grip {
    let (x0, x1) = edges(doc, map);
    let window = doc.viewport.window();
    let (left, right) = ((x - x0).abs(), (x - x1).abs());
    if left <= HANDLE && left <= right {
        Grip::Edge(window.start + window.len)
    } else if right <= HANDLE {
        Grip::Edge(window.start)
    } else if x0 < x && x < x1 && !doc.viewport.is_fit() {
        Grip::Box(x - x0)
    } else {
        Grip::New(offset(map, x))
    }
}

/// The time at a point of the strip, ns after the origin.
fn offset(map: &Viewport, x: f32) -> f64 {
    map.window().start + f64::from(x) * map.ns_per_px()
}

fn drag(
    ui: &Ui,
    doc: &Document,
    map: &Viewport,
    strip: Rect,
    response: &egui::Response,
    actions: &mut Actions,
) {
    let id = response.id.with("grip");
    if response.drag_started()
        && let Some(origin) = ui.input(|i| i.pointer.press_origin())
    {
        let grip = grip_at(doc, map, origin.x - strip.left());
        ui.data_mut(|d| d.insert_temp(id, grip));
    }
    let at = ui
        .input(|i| i.pointer.latest_pos())
        .map(|p| p.x - strip.left());
    let Some(x) = at else {
        return;
    };
    if response.dragged()
        && let Some(grip) = ui.data(|d| d.get_temp::<Grip>(id))
    {
        let window = doc.viewport.window();
        let to = match grip {
            Grip::Box(from_left) => Window {
                start: offset(map, x - from_left),
                len: window.len,
            },
            Grip::Edge(fixed) | Grip::New(fixed) => {
                let time = offset(map, x);
                Window {
                    start: fixed.min(time),
                    len: (fixed - time).abs(),
                }
            }
        };
        actions.push(Action::SetWindow(to));
    } else if response.clicked() {
        let middle = offset(map, x);
        let len = doc.viewport.window().len;
        actions.push(Action::GoTo(Window {
            start: middle - len / 2.0,
            len,
        }));
    }
    if response.hovered() {
        let icon = match grip_at(doc, map, x) {
            Grip::Edge(_) => CursorIcon::ResizeHorizontal,
            Grip::Box(_) if response.dragged() => CursorIcon::Grabbing,
            Grip::Box(_) => CursorIcon::Grab,
            Grip::New(_) => CursorIcon::Crosshair,
        };
        ui.ctx().set_cursor_icon(icon);
    }
}
