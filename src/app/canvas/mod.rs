//! The timeline: lays it out, paints it, and turns pointer input into actions.

mod access;
mod edges;
pub mod hover;
mod menus;
mod snap;

use egui::{CursorIcon, Id, PointerButton, Pos2, Rect, Response, Sense, Ui, pos2};

use crate::analysis::LayerClass;
use crate::app::canvas::snap::{Under, snap};
use crate::app::model::action::{Action, Actions};
use crate::app::model::document::{Document, Gesture, Pointer};
use crate::app::model::state::AppState;
use crate::app::panels;
use crate::paint;
use crate::time::TimeRange;
use crate::view::{
    DrawList, Hit, LayoutInput, MarkKind, Metrics, Options, Point, RowKind, Scroll, Size, Target,
    layout,
};

/// A selection's edge can be taken this close to it, points.
const EDGE: f32 = 5.0;
/// How long an animated move takes, s.
const MOVE_SECONDS: f64 = 0.15;

/// Id of the canvas, to give it the focus.
#[must_use]
pub fn canvas_id() -> Id {
    Id::unique("timeline canvas")
}

/// Draws the timeline into what is left of `ui`.
pub fn canvas_ui(ui: &mut Ui, state: &mut AppState, actions: &mut Actions) {
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
    let tree = ui.interact(headers, Id::unique("timeline lanes"), Sense::click());
    request_links(ui, doc);
    let list = lay_out(ui, state, rect.size());
    paint::paint(&list, &ui.painter_at(rect), rect.min);
    if let Some(doc) = &mut state.doc {
        doc.stats = list.stats;
        doc.lanes_height = list.areas.lanes.height();
        let most = (doc.rows.height() - doc.lanes_height + 8.0).max(0.0);
        doc.scroll = doc.scroll.clamp(0.0, most);
    }
    let Some(doc) = &state.doc else {
        return;
    };
    let scene = Scene { rect, list: &list };
    let pointer = scene.pointer(doc, ui);
    scene.gestures(ui, state, doc, &response, actions);
    scene.wheel(ui, state, doc, &response, actions);
    scene.clicks(ui, doc, &response, &tree, actions);
    scene.cursor(ui, doc, &response);
    menus::canvas_menus(&response, &tree, &scene, state, doc, actions);
    if !ui.input(|i| i.pointer.any_down()) {
        hover::tooltip_ui(ui, state, &scene, &response, &tree);
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

/// The links of the selected span, else of the hovered one.
fn request_links(ui: &Ui, doc: &mut Document) {
    let rested = ui.input(|i| i.pointer.time_since_last_movement());
    let hovered = doc.pointer.span;
    if hovered.is_some() && hovered != doc.focus && rested < hover::REST {
        // Arrows must not flicker while the pointer passes.
        let left = std::time::Duration::from_secs_f32(hover::REST - rested + 0.01);
        ui.ctx().request_repaint_after(left);
        doc.focus = doc.span;
    } else {
        doc.focus = hovered.or(doc.span);
    }
    let Some(span) = doc.focus else {
        return;
    };
    let (trace, analysis) = (doc.trace.clone(), doc.analysis.clone());
    let wake = ui.ctx().clone();
    doc.jobs.links.request(
        span,
        move || crate::view::Links::of(&trace, &analysis, span),
        move || wake.request_repaint(),
    );
    let on_cpu = !doc.trace.lane(doc.trace.spans().lane(span)).kind.is_gpu();
    if on_cpu && doc.analysis.layers().class_of(span) == LayerClass::Sync {
        let (analysis, wake) = (doc.analysis.clone(), ui.ctx().clone());
        doc.jobs.queued.request(
            span,
            move || panels::queued_by(&analysis, &analysis.sync(span)),
            move || wake.request_repaint(),
        );
    }
}

fn lay_out(ui: &Ui, state: &AppState, size: egui::Vec2) -> DrawList {
    let Some(doc) = &state.doc else {
        return DrawList::default();
    };
    let links = doc.focus.and_then(|s| doc.jobs.links.get(&s));
    let options = Options {
        exposed_columns: state.settings.exposed_columns,
        color_by_name: state.settings.colour_by_name,
        only: doc.only,
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
        links: links.map(|l| &**l),
        hits: doc.search.is_active().then(|| &*doc.search.by_id),
        options,
    })
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

    fn under(&self, doc: &Document, at: Pos2) -> Under {
        match self.row(doc, at) {
            Some(kind) => Under::row(kind),
            None => match self.hit(at) {
                Hit::Target(t) => Under::Other(Some(t)),
                _ => Under::Other(None),
            },
        }
    }

    fn time_at(&self, doc: &Document, at: Pos2, free: bool) -> i64 {
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

    fn pointer(&self, doc: &Document, ui: &Ui) -> Pointer {
        let Some(at) = ui.input(|i| i.pointer.hover_pos()) else {
            return Pointer::default();
        };
        let above = ui.ctx().layer_id_at(at).is_some_and(|l| l != ui.layer_id());
        if !self.rect.contains(at) || above {
            return Pointer::default();
        }
        let node = self.node(at);
        let lane = node.map(|n| doc.tree.node(n).title.clone());
        if self.x(at) < 0.0 {
            return Pointer {
                node,
                lane,
                ..Pointer::default()
            };
        }
        let span = match self.hit(at) {
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

    /// Drags: range, edge of the range, pan.
    fn gestures(
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
            Gesture::None => {}
        }
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

    fn wheel(
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

    fn clicks(
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
                    && let Some(w) = wait_of(doc, mark.first)
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
            _ => actions.push(Action::Do(crate::app::model::command::Command::Fit)),
        }
    }

    fn cursor(&self, ui: &Ui, doc: &Document, response: &Response) {
        let Some(at) = response.hover_pos() else {
            return;
        };
        let space = ui.input(|i| i.key_down(egui::Key::Space));
        let icon = match doc.gesture {
            Gesture::Pan => CursorIcon::Grabbing,
            _ if space => CursorIcon::Grab,
            Gesture::Range(_) => CursorIcon::ResizeHorizontal,
            Gesture::None if self.edge_at(doc, at).is_some() => CursorIcon::ResizeHorizontal,
            Gesture::None => CursorIcon::Default,
        };
        ui.ctx().set_cursor_icon(icon);
    }
}

/// The wait that a span makes.
#[must_use]
pub fn wait_of(doc: &Document, span: crate::model::SpanId) -> Option<usize> {
    let range = doc.trace.spans().range(span);
    let waits = doc.analysis.waits();
    let i = waits.partition_point(|w| w.range.start <= range.start);
    (0..i)
        .rev()
        .take(64)
        .find(|&w| waits[w].span == span || waits[w].range.covers(range))
}
