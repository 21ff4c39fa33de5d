//! Going from one thing to the next: waits, spans, links, hits, views.

use crate::app::model::chain;
use crate::app::model::document::{Document, Move};
use crate::app::model::related::lane_in_focus;
use crate::app::model::state::AppState;
use crate::model::{SpanId, Trace};
use crate::time::TimeRange;
use crate::view::{Lod, NodeId, Note, ROW_HEIGHT, Window};

/// Zoom per key press.
pub const KEY_ZOOM: f64 = 1.25;
/// Share of the window that a key pans by.
pub const KEY_PAN: f64 = 0.1;
/// The same with Shift.
pub const FINE_PAN: f64 = 0.01;
/// Points that a key scrolls lanes by.
pub const KEY_SCROLL: f32 = 160.0;
/// Share of its length that the part where nearly all spans are has as margins.
pub const DENSE_MARGIN: f64 = 0.01;
/// A span of this width can be seen, points.
const SEEN: f64 = 3.0;
/// A span or wait that comes into view takes at least this share of it.
const SMALL: f64 = 0.02;

/// Zooms at the pointer where it is over the canvas, else at the middle.
pub fn zoom(state: &mut AppState, factor: f64) {
    let Some(doc) = &state.doc else {
        return;
    };
    let x = doc.pointer.x.unwrap_or(doc.viewport.width() / 2.0);
    let mut to = doc.viewport.clone();
    if let Some(moving) = &doc.moving {
        to.set_window(moving.to);
    }
    to.zoom_at(x, factor);
    state.go_to(to.window());
    state.settings.saw_hint("zoom");
}

/// Pans by a share of the window.
pub fn pan(state: &mut AppState, share: f64) {
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

/// Scrolls the lanes, points.
pub fn scroll(state: &mut AppState, by: f32) {
    if let Some(doc) = &mut state.doc {
        doc.scroll = (doc.scroll + by).max(0.0);
    }
}

/// Shows the whole trace; where few spans stretch it, first the part where nearly all are, and says so.
pub fn fit(state: &mut AppState) {
    let Some(doc) = &state.doc else {
        return;
    };
    let whole = doc.viewport.fit_window();
    let part = doc.dense.as_ref().map(|part| {
        let window = doc.viewport.window_of(part.range, DENSE_MARGIN);
        (window, part.text())
    });
    match part.filter(|(window, _)| !same(*window, doc.viewport.window())) {
        Some((window, text)) => {
            state.say(text);
            state.go_to(window);
        }
        None => state.go_to(whole),
    }
}

/// Makes lanes rows of few points, or rows with names again.
pub fn dense(state: &mut AppState) {
    state.settings.dense_lanes ^= true;
    let dense = state.settings.dense_lanes;
    state.on_doc(|doc| doc.change_rows(|rows, _| rows.dense = dense));
    state.say_switch("Dense lanes", dense);
}

/// Fills the view with the selection.
pub fn zoom_to_selection(state: &mut AppState) {
    if let Some((range, _)) = state.doc.as_ref().and_then(Document::selected) {
        state.view_range(range, 0.05);
    }
}

/// Centres the selection; fits it when it already is in the middle.
pub fn centre(state: &mut AppState) {
    let Some(doc) = &state.doc else {
        return;
    };
    let Some((range, _)) = doc.selected() else {
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

/// Goes to the view before or after this one.
pub fn history(state: &mut AppState, back: bool) {
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
    doc.moving = (!still).then(|| Move {
        from: doc.viewport.window(),
        to,
        begun: now,
    });
    if still {
        doc.viewport.set_window(to);
    }
}

/// Goes to the next or previous exposed wait.
pub fn walk(state: &mut AppState, forward: bool) {
    let Some(doc) = &mut state.doc else {
        return;
    };
    let visible = doc.viewport.range();
    if let Some(wait) = doc.walk.step(forward, visible, &doc.analysis) {
        show_wait(state, wait);
    }
}

/// Goes to the wait whose exposed part is longest.
pub fn longest_wait(state: &mut AppState) {
    if let Some(doc) = &mut state.doc
        && let Some(wait) = doc.walk.longest(&doc.analysis)
    {
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
    doc.select_span(Some(span));
    doc.select_range(Some(range));
    bring_into_view(state, range);
    scroll_to_span(state, span);
}

/// Selects a span and brings it into view.
pub fn reveal_span(state: &mut AppState, span: SpanId) {
    let Some(doc) = &mut state.doc else {
        return;
    };
    doc.select_span(Some(span));
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

/// Centres a moment; the scale stays.
pub fn centre_on(state: &mut AppState, time: i64) {
    if let Some(doc) = &state.doc {
        let mut to = doc.viewport.clone();
        to.center_on(time);
        state.go_to(to.window());
    }
}

/// The mark that follows the middle of the view, else the first one.
pub fn next_note(state: &AppState) -> Option<usize> {
    let doc = state.doc.as_ref()?;
    let visible = doc.viewport.range();
    let middle = visible.start + visible.len() / 2;
    // A view that was centred on a mark may lie a nanosecond beside it.
    let after = middle.saturating_add(visible.len() / 1_000);
    let middle_of = |note: &Note| note.range.start + note.range.len() / 2;
    let next = doc.notes.iter().position(|n| middle_of(n) > after);
    next.or((!doc.notes.is_empty()).then_some(0))
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

/// Goes to the next or previous span found.
pub fn hit(state: &mut AppState, forward: bool) {
    let Some(doc) = &mut state.doc else {
        return;
    };
    let from = doc.viewport.range().start;
    let trace = std::sync::Arc::clone(&doc.trace);
    if let Some(span) = doc.search.step(forward, from, |s| trace.spans().start(s)) {
        reveal_span(state, span);
    }
}

/// Goes down the chain below a wait, or back up.
pub fn along_chain(state: &mut AppState, down: bool) {
    let Some(doc) = &mut state.doc else {
        return;
    };
    if let Some((span, place)) = chain::step(doc, down) {
        doc.chain = place;
        reveal_span(state, span);
    }
}

/// Goes to the span before or after the selected one in the same row.
pub fn to_neighbour(state: &mut AppState, forward: bool) {
    if let Some(span) = state.doc.as_ref().and_then(|d| neighbour(d, forward)) {
        reveal_span(state, span);
    }
}

/// Hides a lane or group, and says how it comes back.
pub fn hide(state: &mut AppState, node: NodeId) {
    if let Some(doc) = &mut state.doc {
        let title = doc.rows.title(node).to_owned();
        doc.change_rows(|rows, tree| rows.hide(tree, node));
        state.say(format!(
            "{title} is hidden; “Show hidden lanes” (right click, palette) brings it back"
        ));
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

/// Goes from the selected span to one that it is related to.
pub fn step_to(state: &mut AppState, to: impl Fn(&Trace, &Lod, SpanId) -> Option<SpanId>) {
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
