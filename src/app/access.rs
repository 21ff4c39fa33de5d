//! What screen readers see of the timeline: the canvas, each visible lane, exposed waits, the selected span.

use egui::accesskit::Role;
use egui::{Id, Response, Sense, Ui, WidgetInfo};

use super::canvas::Scene;
use super::document::Document;
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
                0 => String::new(),
                ns => format!(", {} exposed", format_ns(ns)),
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
