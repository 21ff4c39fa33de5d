//! What pointer and wheel do on the timeline, as actions.

use egui::{CursorIcon, PointerButton, Pos2, Response, Ui};

use super::access;
use super::scene::Scene;
use crate::app::model::action::{Action, Actions};
use crate::app::model::command::Command;
use crate::app::model::document::{Document, Gesture};
use crate::app::model::state::AppState;
use crate::paint::color;
use crate::time::TimeRange;
use crate::view::{Hit, MarkKind, NodeId, Target};

/// A selection's edge can be taken this close to it, points.
const EDGE: f32 = 5.0;

impl Scene<'_> {
    /// Drags: range, edge of the range, pan.
    pub fn gestures(
        &self,
        ui: &Ui,
        state: &AppState,
        doc: &Document,
        response: &Response,
        actions: &mut Actions,
    ) {
        let free = ui.input(|i| i.modifiers.alt);
        if response.drag_started()
            && let Some(origin) = ui.input(|i| i.pointer.press_origin())
        {
            let pan = ui.input(|i| {
                i.pointer.button_down(PointerButton::Middle)
                    || i.modifiers.shift
                    || i.key_down(egui::Key::Space)
            });
            let gesture = if pan {
                Gesture::Pan
            } else if response.drag_started_by(PointerButton::Primary) {
                match self.edge_at(doc, origin) {
                    Some(fixed) => Gesture::Range(fixed),
                    None => Gesture::Range(self.time_at(doc, origin, free)),
                }
            } else {
                Gesture::None
            };
            actions.push(Action::SetGesture(gesture));
            self.drag(ui, doc, gesture, free, actions);
        } else if response.dragged() {
            self.drag(ui, doc, doc.gesture, free, actions);
        }
        if response.drag_stopped() {
            actions.push(Action::SetGesture(Gesture::None));
            if state.settings.wants_hint("select") {
                actions.push(Action::SawHint("select"));
            }
        }
    }

    fn drag(&self, ui: &Ui, doc: &Document, gesture: Gesture, free: bool, actions: &mut Actions) {
        let Some(at) = ui.input(|i| i.pointer.latest_pos()) else {
            return;
        };
        match gesture {
            Gesture::Range(fixed) => {
                let time = self.time_at(doc, at, free);
                let range = TimeRange::new(fixed.min(time), fixed.max(time));
                actions.push(Action::SelectRange(Some(range)));
            }
            Gesture::Pan => {
                let delta = ui.input(|i| i.pointer.delta());
                let mut to = doc.viewport.clone();
                to.pan(-delta.x);
                actions.push(Action::SetWindow(to.window()));
                if delta.y != 0.0 {
                    actions.push(Action::ScrollTo(doc.scroll - delta.y));
                }
            }
            Gesture::None | Gesture::Lane(_) => {}
        }
    }

    /// A lane's name that is dragged: the lane goes where it is let go, among those beside it.
    pub fn drag_lane(
        &self,
        ui: &Ui,
        state: &AppState,
        doc: &Document,
        tree: &Response,
        actions: &mut Actions,
    ) {
        if tree.drag_started_by(PointerButton::Primary)
            && let Some(node) = ui
                .input(|i| i.pointer.press_origin())
                .and_then(|at| self.node(at))
        {
            actions.push(Action::SetGesture(Gesture::Lane(node)));
        }
        let Gesture::Lane(node) = doc.gesture else {
            return;
        };
        let place = ui
            .input(|i| i.pointer.latest_pos())
            .and_then(|at| self.beside(doc, node, at));
        if tree.drag_stopped() {
            actions.push(Action::SetGesture(Gesture::None));
            if let Some((other, behind, _)) = place {
                actions.push(Action::PlaceLane(node, other, behind));
            }
        } else if tree.dragged() {
            ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
            if let Some((.., y)) = place {
                let across = self.rect.x_range();
                let stroke = egui::Stroke::new(2.0, color(state.look.theme.select));
                ui.painter().hline(across, y, stroke);
            }
        }
    }

    /// Which node beside a dragged one is under the pointer, whether that is to go behind it, and where the edge is.
    fn beside(&self, doc: &Document, node: NodeId, at: Pos2) -> Option<(NodeId, bool, f32)> {
        let under = self.node(at)?;
        let mut up = std::iter::successors(Some(under), |&n| doc.tree.node(n).parent);
        let beside = doc.tree.beside(node);
        let other = up.find(|n| beside.contains(n))?;
        let within = |n: NodeId| {
            let mut up = std::iter::successors(Some(n), |&n| doc.tree.node(n).parent);
            up.any(|n| n == other)
        };
        let shown = self.list.lanes.iter().filter(|l| within(l.node));
        let rects: Vec<_> = shown.map(|l| self.to_window(l.rect)).collect();
        let (first, last) = (rects.first()?, rects.last()?);
        let behind = at.y > f32::midpoint(first.top(), last.bottom());
        let y = if behind { last.bottom() } else { first.top() };
        (other != node).then_some((other, behind, y))
    }

    /// The other edge of the selection when the pointer is at one.
    fn edge_at(&self, doc: &Document, at: Pos2) -> Option<i64> {
        let range = doc.range?;
        let x = f64::from(self.x(at));
        let far = |t: i64| (doc.viewport.x_from_time(t) - x).abs();
        let (left, right) = (far(range.start), far(range.end));
        let near = f64::from(EDGE);
        if left <= near && left <= right {
            Some(range.end)
        } else if right <= near {
            Some(range.start)
        } else {
            None
        }
    }

    /// Wheel and pinch: zoom, pan, scroll.
    pub fn wheel(
        &self,
        ui: &Ui,
        state: &AppState,
        doc: &Document,
        response: &Response,
        actions: &mut Actions,
    ) {
        let Some(at) = ui.input(|i| i.pointer.hover_pos()) else {
            return;
        };
        if !(self.rect.contains(at) && (response.contains_pointer() || self.x(at) < 0.0)) {
            return;
        }
        let above = ui.ctx().layer_id_at(at).is_some_and(|l| l != ui.layer_id());
        if above {
            return;
        }
        let (zoom, delta) = ui.input(|i| (i.zoom_delta(), i.smooth_scroll_delta()));
        if zoom != 1.0 && self.x(at) >= 0.0 {
            let mut to = doc.viewport.clone();
            to.zoom_at(self.x(at), f64::from(zoom));
            actions.push(Action::SetWindow(to.window()));
            if state.settings.wants_hint("zoom") {
                actions.push(Action::SawHint("zoom"));
            }
        }
        if delta.x != 0.0 {
            let mut to = doc.viewport.clone();
            to.pan(-delta.x);
            actions.push(Action::SetWindow(to.window()));
        }
        if delta.y != 0.0 {
            actions.push(self.scroll_action(doc, at, -delta.y));
        }
    }

    /// Scrolls what is under the pointer: band, pinned lanes, else the lanes.
    fn scroll_action(&self, doc: &Document, at: Pos2, by: f32) -> Action {
        let areas = &self.list.areas;
        let y = self.point(at).y;
        let inside = |r: crate::view::Rect| r.y0 <= y && y < r.y1;
        if inside(areas.band) && areas.band_content > areas.band.height() {
            let most = areas.band_content - areas.band.height();
            Action::ScrollBand((doc.band_scroll + by).clamp(0.0, most))
        } else if inside(areas.pinned) && areas.pinned_content > areas.pinned.height() {
            let most = areas.pinned_content - areas.pinned.height();
            Action::ScrollPinned((doc.pinned_scroll + by).clamp(0.0, most))
        } else {
            Action::ScrollTo(doc.scroll + by)
        }
    }

    /// Clicks on the canvas and on the lane names.
    pub fn clicks(
        &self,
        ui: &Ui,
        doc: &Document,
        response: &Response,
        tree: &Response,
        actions: &mut Actions,
    ) {
        let at = ui.input(|i| i.pointer.interact_pos());
        let Some(at) = at else {
            return;
        };
        if response.double_clicked() {
            self.double_click(doc, at, actions);
        } else if response.clicked() {
            if ui.input(|i| i.modifiers.shift) {
                actions.push(Action::SelectRange(self.extended(doc, at)));
            } else {
                self.click(doc, at, actions);
            }
            response.request_focus();
            access::by_pointer(ui, Some(true));
        }
        if tree.clicked()
            && let Hit::Target(Target::Header(node)) = self.hit(at)
            && doc.tree.lane(node).is_none()
            // While names are filtered all groups are open.
            && doc.row_state.filter.is_empty()
        {
            actions.push(Action::ToggleNode(node));
        }
    }

    /// The selection with the edge that is nearer moved to the pointer; from what was selected, or the view's middle.
    fn extended(&self, doc: &Document, at: Pos2) -> Option<TimeRange> {
        let time = self.time_at(doc, at, false);
        let range = match (doc.range, doc.span) {
            (Some(range), _) => range,
            (None, Some(span)) => doc.trace.spans().range(span),
            (None, None) => return None,
        };
        Some(if time < range.start {
            TimeRange::new(time, range.end)
        } else if time > range.end || range.end - time < time - range.start {
            TimeRange::new(range.start, time)
        } else {
            TimeRange::new(time, range.end)
        })
    }

    fn click(&self, doc: &Document, at: Pos2, actions: &mut Actions) {
        match self.hit(at) {
            Hit::Mark(m) => {
                let mark = &self.list.marks[m];
                if mark.kind == MarkKind::Exposed
                    && let Some(w) = doc.analysis.wait_of_span(mark.first)
                {
                    actions.push(Action::CurrentWait(w));
                }
                actions.push(Action::SelectSpan(Some(self.span_of(doc, m))));
            }
            Hit::Target(Target::Wait(w)) => {
                actions.push(Action::CurrentWait(w));
                actions.push(Action::SelectSpan(Some(doc.analysis.waits()[w].span)));
            }
            Hit::Target(Target::Tail(t)) => {
                actions.push(Action::SelectSpan(Some(doc.analysis.tails()[t].span)));
            }
            Hit::Target(Target::Step(rank, step)) => {
                let range = doc.analysis.ranks()[rank].steps[step].range;
                actions.push(Action::SelectRange(Some(range)));
            }
            Hit::Target(Target::Header(node)) if doc.tree.lane(node).is_none() => {
                actions.push(Action::ToggleNode(node));
            }
            _ => {
                actions.push(Action::SelectSpan(None));
                actions.push(Action::SelectRange(None));
            }
        }
    }

    fn double_click(&self, doc: &Document, at: Pos2, actions: &mut Actions) {
        let spans = doc.trace.spans();
        match self.hit(at) {
            Hit::Mark(m) => {
                let mark = &self.list.marks[m];
                // A merged run opens up.
                let range = if mark.count == 1 {
                    spans.range(mark.first)
                } else {
                    let origin = self.list.areas.ruler.x0;
                    TimeRange::new(
                        doc.viewport.time_from_x(mark.rect.x0 - origin),
                        doc.viewport.time_from_x(mark.rect.x1 - origin),
                    )
                };
                actions.push(Action::ViewRange(range));
            }
            Hit::Target(Target::Wait(w)) => {
                actions.push(Action::ViewRange(doc.analysis.waits()[w].range));
            }
            Hit::Target(Target::Step(rank, step)) => {
                let range = doc.analysis.ranks()[rank].steps[step].range;
                actions.push(Action::ViewRange(range));
            }
            Hit::Target(Target::Tail(t)) => {
                let tail = doc.analysis.tails()[t];
                let range = TimeRange::new(spans.start(tail.span), spans.end(tail.last_op));
                actions.push(Action::ViewRange(range));
            }
            _ => actions.push(Action::Do(Command::Fit)),
        }
    }

    /// The cursor tells what a drag would do.
    pub fn cursor(&self, ui: &Ui, doc: &Document, response: &Response) {
        let Some(at) = response.hover_pos() else {
            return;
        };
        let space = ui.input(|i| i.key_down(egui::Key::Space));
        let icon = match doc.gesture {
            Gesture::Pan | Gesture::Lane(_) => CursorIcon::Grabbing,
            _ if space => CursorIcon::Grab,
            Gesture::Range(_) => CursorIcon::ResizeHorizontal,
            Gesture::None if self.edge_at(doc, at).is_some() => CursorIcon::ResizeHorizontal,
            Gesture::None => CursorIcon::Default,
        };
        ui.ctx().set_cursor_icon(icon);
    }
}
