//! Going from one thing to the next: waits, spans, links, hits, views.

use crate::app::model::command::Command;
use crate::app::model::document::Document;
use crate::app::model::state::AppState;
use crate::model::{SpanId, Trace};
use crate::time::TimeRange;
use crate::view::{Lod, NodeId, ROW_HEIGHT, Window};

/// Zoom per key press.
const KEY_ZOOM: f64 = 1.25;
/// Share of the window that a key pans by.
const KEY_PAN: f64 = 0.1;
/// The same with Shift.
const FINE_PAN: f64 = 0.01;
/// Points that a key scrolls lanes by.
const KEY_SCROLL: f32 = 160.0;
/// A span of this width can be seen, points.
const SEEN: f64 = 3.0;
/// A span or wait that comes into view takes at least this share of it.
const SMALL: f64 = 0.02;

/// Runs a command that moves the view or the selection.
pub fn go(state: &mut AppState, command: Command) {
    let Some(doc) = &state.doc else {
        return;
    };
    match command {
        Command::ZoomIn => zoom(state, KEY_ZOOM),
        Command::ZoomOut => zoom(state, 1.0 / KEY_ZOOM),
        Command::PanLeft => pan(state, -KEY_PAN),
        Command::PanRight => pan(state, KEY_PAN),
        Command::PanLeftFine => pan(state, -FINE_PAN),
        Command::PanRightFine => pan(state, FINE_PAN),
        Command::ScrollUp => scroll(state, -KEY_SCROLL),
        Command::ScrollDown => scroll(state, KEY_SCROLL),
        Command::Fit => {
            let window = doc.viewport.fit_window();
            state.go_to(window);
        }
        Command::ZoomToSelection => {
            if let Some(range) = selected(doc) {
                state.view_range(range, 0.05);
            }
        }
        Command::Centre => centre(state),
        Command::Back | Command::Forward => history(state, command == Command::Back),
        Command::NextWait | Command::PreviousWait => walk(state, command == Command::NextWait),
        Command::LongestWait => {
            if let Some(doc) = &mut state.doc
                && let Some(wait) = doc.walk.longest(&doc.analysis)
            {
                show_wait(state, wait);
            }
        }
        Command::NextHit | Command::PreviousHit => hit(state, command == Command::NextHit),
        Command::NextSpan | Command::PreviousSpan => {
            let forward = command == Command::NextSpan;
            if let Some(span) = neighbour(doc, forward) {
                reveal_span(state, span);
            }
        }
        Command::ParentSpan => step_to(state, parent),
        Command::ChildSpan => step_to(state, |t, _, s| child(t, s)),
        Command::FollowLink => step_to(state, |t, _, s| linked(t, s, true)),
        Command::FollowBack => step_to(state, |t, _, s| linked(t, s, false)),
        Command::RangeFromSpan => {
            let range = doc.span.map(|s| doc.trace.spans().range(s));
            state.select_range(range);
        }
        _ => {}
    }
}

fn zoom(state: &mut AppState, factor: f64) {
    let Some(doc) = &state.doc else {
        return;
    };
    // At the pointer where it is over the canvas, else at the middle.
    let x = doc.pointer.x.unwrap_or(doc.viewport.width() / 2.0);
    let mut to = doc.viewport.clone();
    if let Some(moving) = &doc.moving {
        to.set_window(moving.to);
    }
    to.zoom_at(x, factor);
    state.go_to(to.window());
}

fn pan(state: &mut AppState, share: f64) {
    let Some(doc) = &state.doc else {
        return;
    };
    let mut to = doc.viewport.clone();
    if let Some(moving) = &doc.moving {
        to.set_window(moving.to);
    }
    to.pan((f64::from(to.width()) * share) as f32);
    state.go_to(to.window());
}

fn scroll(state: &mut AppState, by: f32) {
    if let Some(doc) = &mut state.doc {
        doc.scroll = (doc.scroll + by).max(0.0);
    }
}

/// The selected range, else the selected span.
fn selected(doc: &Document) -> Option<TimeRange> {
    doc.range
        .or_else(|| doc.span.map(|s| doc.trace.spans().range(s)))
}

/// Centres the selection; fits it when it already is in the middle.
fn centre(state: &mut AppState) {
    let Some(doc) = &state.doc else {
        return;
    };
    let Some(range) = selected(doc) else {
        return;
    };
    let mut to = doc.viewport.clone();
    to.center_on(range.start + range.len() / 2);
    if same(to.window(), doc.viewport.window()) {
        state.view_range(range, 0.05);
    } else {
        state.go_to(to.window());
    }
}

/// Equal up to what a pixel does not show.
fn same(a: Window, b: Window) -> bool {
    (a.start - b.start).abs() < a.len / 5_000.0 && (a.len - b.len).abs() < a.len / 5_000.0
}

fn history(state: &mut AppState, back: bool) {
    let (now, still) = (state.now, state.settings.reduce_motion);
    let Some(doc) = &mut state.doc else {
        return;
    };
    let window = if back {
        doc.history.back()
    } else {
        doc.history.forward()
    };
    let Some(to) = window else {
        return;
    };
    // Going back ends exactly at the remembered window, so it is not recorded again.
    doc.moving = (!still).then(|| crate::app::model::document::Move {
        from: doc.viewport.window(),
        to,
        begun: now,
    });
    if still {
        doc.viewport.set_window(to);
    }
}

fn walk(state: &mut AppState, forward: bool) {
    let Some(doc) = &mut state.doc else {
        return;
    };
    let visible = doc.viewport.range();
    if let Some(wait) = doc.walk.step(forward, visible, &doc.analysis) {
        show_wait(state, wait);
    }
}

/// Selects a wait and centres it, at a scale at which it can be seen.
pub fn show_wait(state: &mut AppState, wait: usize) {
    let Some(doc) = &mut state.doc else {
        return;
    };
    let Some(info) = doc.analysis.waits().get(wait) else {
        return;
    };
    let (range, span) = (info.range, info.span);
    doc.walk.set(wait);
    doc.range = Some(range);
    doc.span = Some(span);
    bring_into_view(state, range);
    scroll_to_span(state, span);
}

/// Selects a span without moving.
pub fn select_span(state: &mut AppState, span: Option<SpanId>) {
    if let Some(doc) = &mut state.doc {
        doc.span = span;
    }
}

/// Selects a span and brings it into view.
pub fn reveal_span(state: &mut AppState, span: SpanId) {
    let Some(doc) = &mut state.doc else {
        return;
    };
    doc.span = Some(span);
    let range = doc.trace.spans().range(span);
    let visible = doc.viewport.range();
    let share = range.len() as f64 / visible.len().max(1) as f64;
    if !visible.covers(range) || share < SMALL / 10.0 {
        if share < SMALL && share * f64::from(doc.viewport.width()) >= SEEN {
            // Narrow, but to be seen: the scale stays.
            let mut to = doc.viewport.clone();
            to.center_on(range.start + range.len() / 2);
            state.go_to(to.window());
        } else {
            bring_into_view(state, range);
        }
    }
    scroll_to_span(state, span);
}

/// Centres a range; changes the scale only where it would be too small to see or too large to show.
pub fn bring_into_view(state: &mut AppState, range: TimeRange) {
    let Some(doc) = &state.doc else {
        return;
    };
    let share = range.len() as f64 / doc.viewport.window().len;
    if (SMALL..0.9).contains(&share) {
        let mut to = doc.viewport.clone();
        to.center_on(range.start + range.len() / 2);
        state.go_to(to.window());
    } else {
        // The range takes a fifth of the view: its surroundings say what happened.
        state.view_range(range, 2.0);
    }
}

/// Opens the groups around a span's lane and scrolls to it.
fn scroll_to_span(state: &mut AppState, span: SpanId) {
    let Some(doc) = &mut state.doc else {
        return;
    };
    let Some((leaf, _)) = doc.tree.lod().place(&doc.trace, span) else {
        return;
    };
    let node = doc.tree.of_leaf(leaf);
    if doc
        .rows
        .of_span(&doc.trace, span)
        .is_none_or(|r| doc.rows.rows()[r].node != node)
    {
        doc.change_rows(|rows, tree| rows.reveal(tree, node));
    }
    let Some(row) = doc.rows.of_span(&doc.trace, span) else {
        return;
    };
    let row = doc.rows.rows()[row];
    let height = doc.lanes_height.max(ROW_HEIGHT);
    let inside = row.y >= doc.scroll && row.y + row.height <= doc.scroll + height;
    if !inside {
        doc.scroll = (row.y - height * 0.4).max(0.0);
    }
}

fn hit(state: &mut AppState, forward: bool) {
    let Some(doc) = &mut state.doc else {
        return;
    };
    let from = doc.viewport.range().start;
    let trace = std::sync::Arc::clone(&doc.trace);
    if let Some(span) = doc.search.step(forward, from, |s| trace.spans().start(s)) {
        reveal_span(state, span);
    }
}

/// The span before or after the selected one in the same row.
fn neighbour(doc: &Document, forward: bool) -> Option<SpanId> {
    let Some(span) = doc.span else {
        return first_in_sight(doc);
    };
    let (leaf, sub) = doc.tree.lod().place(&doc.trace, span)?;
    let row = &doc.tree.lod().leaf(leaf).rows[usize::from(sub)];
    let at = row.find(span)?;
    let next = if forward {
        at.checked_add(1)?
    } else {
        at.checked_sub(1)?
    };
    ((next as usize) < row.len()).then(|| row.id(next))
}

/// With nothing selected: the first span in sight on the lane in focus, or on the first lane that shows one.
fn first_in_sight(doc: &Document) -> Option<SpanId> {
    let visible = doc.viewport.range();
    let lod = doc.tree.lod();
    let focus = lane_in_focus(doc);
    let mut rows: Vec<_> = doc.rows.rows().iter().collect();
    rows.sort_by_key(|r| Some(r.node) != focus);
    rows.into_iter().find_map(|row| {
        let crate::view::RowKind::Lane { leaf, sub } = row.kind else {
            return None;
        };
        let row = &lod.leaf(leaf).rows[usize::from(sub)];
        let span = row.after(&doc.trace, visible.start)?;
        (doc.trace.spans().start(span) < visible.end).then_some(span)
    })
}

/// The lane of the selected span, else the one under the pointer.
#[must_use]
pub fn lane_in_focus(doc: &Document) -> Option<NodeId> {
    let of_span = doc.span.and_then(|s| {
        let (leaf, _) = doc.tree.lod().place(&doc.trace, s)?;
        Some(doc.tree.of_leaf(leaf))
    });
    of_span
        .or(doc.pointer.node)
        .filter(|&n| doc.tree.lane(n).is_some())
}

fn step_to(state: &mut AppState, to: impl Fn(&Trace, &Lod, SpanId) -> Option<SpanId>) {
    let Some(doc) = &state.doc else {
        return;
    };
    let Some(span) = doc.span else {
        return;
    };
    match to(&doc.trace, doc.tree.lod(), span) {
        Some(next) => reveal_span(state, next),
        None => state.say("There is none".to_owned()),
    }
}

/// The innermost span of the same lane that contains `span`.
#[must_use]
pub fn parent(trace: &Trace, lod: &Lod, span: SpanId) -> Option<SpanId> {
    let spans = trace.spans();
    let range = spans.range(span);
    let depth = spans.row(span);
    // Spans of one row do not overlap: the last one that starts before is the only one that may contain it.
    lod.leaves_of(spans.lane(span))
        .flat_map(|leaf| &lod.leaf(leaf).rows)
        .filter_map(|row| row.at_or_before(trace, range.start))
        .filter(|&s| s != span && spans.row(s) < depth && spans.range(s).covers(range))
        .max_by_key(|&s| spans.row(s))
}

/// The first span inside `span` on the same lane.
#[must_use]
pub fn child(trace: &Trace, span: SpanId) -> Option<SpanId> {
    let spans = trace.spans();
    let range = spans.range(span);
    let end = trace.lane(spans.lane(span)).spans.end;
    (span.0 + 1..end)
        .map(SpanId)
        .take_while(|&s| spans.start(s) < range.end)
        .find(|&s| spans.row(s) > spans.row(span) && range.covers(spans.range(s)))
}

/// The GPU work that a CPU span launched first, or the call that launched an operation.
#[must_use]
pub fn linked(trace: &Trace, span: SpanId, forward: bool) -> Option<SpanId> {
    if !forward {
        return trace.launch_of(span);
    }
    if let Some(link) = trace.launched_by(span).first() {
        return Some(link.to);
    }
    // A span that is no launch call itself: the first launch inside it. Links are in the order of their calls.
    let range = trace.spans().range(span);
    let lane = trace.lane(trace.spans().lane(span)).spans.end;
    let next = trace.launches().partition_point(|l| l.from <= span);
    let link = trace.launches().get(next)?;
    (link.from.0 < lane && trace.spans().start(link.from) < range.end).then_some(link.to)
}
