//! The timeline: lays it out, paints it, and turns pointer input into actions.

mod access;
mod edges;
mod focus;
mod gestures;
mod hover;
mod menus;
mod scene;
mod snap;

use egui::{Id, Rect, Sense, Ui, pos2};

pub use edges::GRIP;
pub use focus::Focus;
pub use scene::canvas_id;

use crate::app::model::action::Actions;
use crate::app::model::document::Pointer;
use crate::app::model::state::AppState;
use crate::paint;
use crate::view::{DrawList, LayoutInput, Metrics, Options, Scroll, Size, layout};
use scene::Scene;

/// Space below the last lane, points.
pub const BELOW_LANES: f32 = 8.0;
/// How long an animated move takes, s.
const MOVE_SECONDS: f64 = 0.15;

/// Draws the timeline into what is left of `ui`.
pub fn canvas_ui(ui: &mut Ui, state: &mut AppState, focus: &mut Focus, actions: &mut Actions) {
    let rect = ui.available_rect_before_wrap();
    let tree_width = state.settings.tree_width;
    let canvas = Rect::from_min_max(pos2(rect.left() + tree_width, rect.top()), rect.max);
    animate(ui, state);
    let Some(doc) = &mut state.doc else {
        return;
    };
    doc.viewport.set_width(canvas.width());
    doc.canvas = [canvas.left(), canvas.top(), canvas.right(), canvas.bottom()];
    ui.advance_cursor_after_rect(rect);
    let response = ui.interact(canvas, canvas_id(), Sense::click_and_drag());
    let headers = Rect::from_min_max(rect.min, pos2(canvas.left(), rect.bottom()));
    let tree = ui.interact(
        headers,
        Id::unique("timeline lanes"),
        Sense::click_and_drag(),
    );
    focus.update(ui, doc);
    let list = lay_out(ui, state, focus, rect.size());
    paint::paint(&list, &ui.painter_at(rect), rect.min);
    if let Some(doc) = &mut state.doc {
        doc.stats = list.stats;
        doc.lanes_height = list.areas.lanes.height();
        let most = (doc.rows.height() - doc.lanes_height + BELOW_LANES).max(0.0);
        doc.scroll = doc.scroll.clamp(0.0, most);
    }
    let Some(doc) = &state.doc else {
        return;
    };
    let scene = Scene { rect, list: &list };
    let pointer = scene.pointer(doc, ui);
    scene.gestures(ui, state, doc, &response, actions);
    scene.drag_lane(ui, state, doc, &tree, actions);
    scene.wheel(ui, state, doc, &response, actions);
    scene.clicks(ui, doc, &response, &tree, actions);
    scene.cursor(ui, doc, &response);
    menus::canvas_menus(&response, &tree, &scene, state, doc, actions);
    if !ui.input(|i| i.pointer.any_down()) {
        hover::tooltip_ui(ui, state, focus, &scene, &response, &tree);
    }
    edges::hint_ui(ui, state, &scene);
    edges::scroll_bar_ui(ui, doc, &scene, actions);
    edges::splitter_ui(ui, rect, tree_width, actions);
    access::nodes(ui, doc, &scene, &response);
    access::focus(ui, state, &response, rect);
    set_pointer(ui, state, pointer);
}

/// What is under the pointer counts for the next frame's picture.
fn set_pointer(ui: &Ui, state: &mut AppState, pointer: Pointer) {
    let Some(doc) = &mut state.doc else {
        return;
    };
    if doc.pointer != pointer {
        if doc.pointer.span != pointer.span {
            ui.ctx().request_repaint();
        }
        doc.pointer = pointer;
    }
}

/// One frame of an animated move.
fn animate(ui: &Ui, state: &mut AppState) {
    let now = state.now;
    let Some(doc) = &mut state.doc else {
        return;
    };
    let Some(moving) = doc.moving else {
        return;
    };
    let t = ((now - moving.begun) / MOVE_SECONDS).clamp(0.0, 1.0);
    if t >= 1.0 {
        doc.viewport.set_window(moving.to);
        doc.moving = None;
        return;
    }
    // Slows down towards the end.
    let eased = 1.0 - (1.0 - t).powi(3);
    doc.viewport.set_window(crate::view::Window {
        start: moving.from.start + (moving.to.start - moving.from.start) * eased,
        len: moving.from.len + (moving.to.len - moving.from.len) * eased,
    });
    ui.ctx().request_repaint();
}

fn lay_out(ui: &Ui, state: &AppState, focus: &Focus, size: egui::Vec2) -> DrawList {
    let Some(doc) = &state.doc else {
        return DrawList::default();
    };
    let options = Options {
        exposed_columns: state.settings.exposed_columns,
        color_by_name: state.settings.colour_by_name,
        only: doc.only,
        notes: doc.notes.clone(),
        ..Options::default()
    };
    layout(&LayoutInput {
        trace: &doc.trace,
        analysis: &doc.analysis,
        rows: &doc.rows,
        viewport: &doc.viewport,
        theme: &state.look.theme,
        size: Size::new(size.x, size.y),
        metrics: Metrics {
            header_width: state.settings.tree_width,
            pixels_per_point: ui.ctx().pixels_per_point(),
        },
        scroll: Scroll {
            lanes: doc.scroll,
            pinned: doc.pinned_scroll,
            band: doc.band_scroll,
        },
        selection: doc.range,
        selected: doc.span,
        hovered: doc.pointer.span,
        links: focus.links(),
        hits: doc.search.is_active().then(|| &*doc.search.by_id),
        options,
    })
}
