//! What screen readers see of the timeline (the canvas, each visible lane, exposed waits, the selected span), and what
//! the keyboard's focus on it does.

use egui::accesskit::Role;
use egui::{EventFilter, Id, Rect, Response, Sense, Ui, WidgetInfo};

use super::scene::{Scene, canvas_id};
use crate::app::model::document::Document;
use crate::app::model::state::AppState;
use crate::time::format_ns;
use crate::view::{MarkKind, Target};

/// Waits in sight that become nodes; more would drown a reader.
const MAX_WAITS: usize = 64;

/// Adds the nodes of this frame.
pub fn nodes(ui: &Ui, doc: &Document, scene: &Scene<'_>, canvas: &Response) {
    let visible = doc.viewport.range();
    canvas.widget_info(|| {
        let range = visible.clip(doc.trace.extent());
        let text = format!(
            "Timeline, {} lanes, from {} to {}",
            doc.rows.lane_count(),
            format_ns(range.start),
            format_ns(range.end)
        );
        WidgetInfo::labeled(Role::Canvas, true, text)
    });
    for lane in &scene.list.lanes {
        let id = Id::unique(("lane node", lane.node.0));
        let rect = scene.to_window(lane.rect);
        let note = ui.interact(rect, id, Sense::empty());
        note.widget_info(|| WidgetInfo::labeled(Role::Label, true, &lane.text));
    }
    waits(ui, doc, scene);
    if let Some(span) = doc.span {
        announce(ui, doc, scene, span);
    }
}

fn waits(ui: &Ui, doc: &Document, scene: &Scene<'_>) {
    let shown = scene
        .list
        .targets
        .iter()
        .filter_map(|(rect, target)| match target {
            Target::Wait(w) => Some((rect, *w)),
            _ => None,
        });
    for (i, (rect, w)) in shown.take(MAX_WAITS).enumerate() {
        let wait = &doc.analysis.waits()[w];
        let node = ui.interact(
            scene.to_window(*rect),
            Id::unique(("wait node", i)),
            Sense::empty(),
        );
        node.widget_info(|| {
            let exposed = match wait.exposed {
                None | Some(0) => String::new(),
                Some(ns) => format!(", {} exposed", format_ns(ns)),
            };
            let at = format_ns(wait.range.start);
            let text = format!(
                "batch wait {} at {at}{exposed}",
                format_ns(wait.range.len())
            );
            WidgetInfo::labeled(Role::Label, true, text)
        });
    }
}

/// The selected span, wherever it is; announced when it changes.
fn announce(ui: &Ui, doc: &Document, scene: &Scene<'_>, span: crate::model::SpanId) {
    let mark = scene
        .list
        .marks
        .iter()
        .find(|m| m.kind == MarkKind::Selected);
    let rect = mark.map_or(
        egui::Rect::from_min_size(scene.rect.min, egui::Vec2::ZERO),
        |m| scene.to_window(m.rect),
    );
    let id = Id::unique("selected span node");
    let node = ui.interact(rect, id, Sense::empty());
    let text = format!(
        "selected span {}, {}, starts at {}",
        doc.trace.span_name(span),
        format_ns(doc.trace.spans().dur(span)),
        format_ns(doc.trace.spans().start(span))
    );
    node.widget_info(|| WidgetInfo::labeled(Role::Status, true, &text));
    ui.ctx()
        .accesskit_node_builder(id, |n| n.set_live(egui::accesskit::Live::Polite));
}

/// Whether the canvas has the focus because of a click.
pub fn by_pointer(ui: &Ui, set: Option<bool>) -> bool {
    let id = canvas_id().with("focus by pointer");
    ui.data_mut(|d| {
        let value = d.get_temp_mut_or_default::<bool>(id);
        if let Some(set) = set {
            *value = set;
        }
        *value
    })
}

/// What the keyboard's focus on the timeline does: arrows stay with it, and a frame shows it.
pub fn focus(ui: &Ui, state: &AppState, response: &Response, rect: Rect) {
    if response.has_focus() {
        let filter = EventFilter {
            horizontal_arrows: true,
            vertical_arrows: true,
            ..EventFilter::default()
        };
        ui.memory_mut(|m| m.set_focus_lock_filter(canvas_id(), filter));
        // Whoever clicked knows where the focus is.
        if !by_pointer(ui, None) {
            let stroke = egui::Stroke::new(1.0, state.look.select);
            let frame = rect.shrink(0.5);
            ui.painter()
                .rect_stroke(frame, 0.0, stroke, egui::StrokeKind::Inside);
        }
    } else {
        by_pointer(ui, Some(false));
    }
}
