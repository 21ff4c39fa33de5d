//! The picture of a frame: where it is in the window, and what of the trace is at a position.

use egui::{Id, Pos2, Rect, Ui, pos2};

use super::snap::{Under, snap};
use crate::app::model::document::{Document, Pointer};
use crate::view::{DrawList, Hit, Point, RowKind, Target};

/// Id of the canvas, to give it the focus.
#[must_use]
pub fn canvas_id() -> Id {
    Id::unique("timeline canvas")
}

/// Whether the pointer has not moved since the last command.
#[must_use]
pub fn rests(ui: &Ui, doc: &Document) -> bool {
    let (now, since) = ui.input(|i| (i.time, i.pointer.time_since_last_movement()));
    now - f64::from(since) <= doc.commanded
}

/// The picture of this frame and where it is.
pub struct Scene<'a> {
    /// Where it is in the window.
    pub rect: Rect,
    /// What was painted.
    pub list: &'a DrawList,
}

impl Scene<'_> {
    /// A position of the window in the picture.
    #[must_use]
    pub fn point(&self, at: Pos2) -> Point {
        Point::new(at.x - self.rect.left(), at.y - self.rect.top())
    }

    /// Points from the left edge of the canvas.
    #[must_use]
    pub fn x(&self, at: Pos2) -> f32 {
        at.x - self.rect.left() - self.list.areas.ruler.x0
    }

    /// A rectangle of the picture in the window.
    #[must_use]
    pub fn to_window(&self, r: crate::view::Rect) -> Rect {
        Rect::from_min_max(pos2(r.x0, r.y0), pos2(r.x1, r.y1)).translate(self.rect.min.to_vec2())
    }

    /// What is at a position of the window.
    #[must_use]
    pub fn hit(&self, at: Pos2) -> Hit {
        self.list.hit(self.point(at))
    }

    /// The row at a position, with whether it is pinned.
    #[must_use]
    pub fn row(&self, doc: &Document, at: Pos2) -> Option<RowKind> {
        let p = self.point(at);
        let areas = &self.list.areas;
        let inside = |r: crate::view::Rect| r.y0 <= p.y && p.y < r.y1;
        if !areas.lanes.is_empty() && inside(areas.lanes) {
            let row = doc.rows.at(p.y - areas.lanes.y0 + doc.scroll)?;
            return Some(doc.rows.rows()[row].kind);
        }
        if !areas.pinned.is_empty() && inside(areas.pinned) {
            let y = p.y - areas.pinned.y0 + doc.pinned_scroll;
            let rows = doc.rows.pinned();
            return rows
                .iter()
                .find(|r| r.y <= y && y < r.y + r.height)
                .map(|r| r.kind);
        }
        None
    }

    /// The group or lane whose header or canvas is at a position.
    #[must_use]
    pub fn node(&self, at: Pos2) -> Option<crate::view::NodeId> {
        let p = self.point(at);
        self.list
            .lanes
            .iter()
            .find(|l| l.rect.y0 <= p.y && p.y < l.rect.y1)
            .map(|l| l.node)
    }

    /// What is under a position, for snapping.
    fn under(&self, doc: &Document, at: Pos2) -> Under {
        match self.row(doc, at) {
            Some(kind) => Under::row(kind),
            None => match self.hit(at) {
                Hit::Target(t) => Under::Other(Some(t)),
                _ => Under::Other(None),
            },
        }
    }

    /// The time at a position; at the edge of what is under it where that is near, unless `free`.
    #[must_use]
    pub fn time_at(&self, doc: &Document, at: Pos2, free: bool) -> i64 {
        let time = doc.viewport.time_from_x(self.x(at));
        if free {
            time
        } else {
            snap(doc, &self.under(doc, at), time)
        }
    }

    /// The span that a mark stands for: itself, or the longest of a run.
    #[must_use]
    pub fn span_of(&self, doc: &Document, mark: usize) -> crate::model::SpanId {
        self.list.marks[mark].longest(&doc.trace, &doc.analysis, &doc.rows)
    }

    /// What is under the pointer. A span only once the pointer moved after the last command: what a key moved under a
    /// resting pointer is not pointed at.
    #[must_use]
    pub fn pointer(&self, doc: &Document, ui: &Ui) -> Pointer {
        let Some(at) = ui.input(|i| i.pointer.hover_pos()) else {
            return Pointer::default();
        };
        let above = ui.ctx().layer_id_at(at).is_some_and(|l| l != ui.layer_id());
        if !self.rect.contains(at) || above {
            return Pointer::default();
        }
        let node = self.node(at);
        let lane = node.map(|n| doc.rows.title(n).to_owned());
        if self.x(at) < 0.0 {
            return Pointer {
                node,
                lane,
                ..Pointer::default()
            };
        }
        let span = match self.hit(at) {
            _ if rests(ui, doc) => None,
            Hit::Mark(m) if self.list.marks[m].count == 1 => Some(self.list.marks[m].first),
            Hit::Target(Target::Wait(w)) => Some(doc.analysis.waits()[w].span),
            Hit::Target(Target::Tail(t)) => Some(doc.analysis.tails()[t].span),
            _ => None,
        };
        Pointer {
            time: Some(doc.viewport.time_from_x(self.x(at))),
            x: Some(self.x(at)),
            lane,
            node,
            span,
        }
    }
}
