//! What counts as selected, and what pointing at something does beside it.

use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use stallscope::app::{Action, Command};
use stallscope::model::SpanId;
use stallscope::time::TimeRange;

use super::common::scratch;
use super::harness::*;

/// The first span of a name.
fn span(w: &Window, name: &str) -> SpanId {
    let trace = &doc(w).trace;
    let mut all = trace.spans().ids();
    all.find(|&s| trace.span_name(s) == name).expect("one")
}

#[test]
fn what_was_selected_last_is_meant() {
    let mut w = showing(&tiny(&scratch("ui_latest")));
    let (range, forward) = (TimeRange::new(100 * MS, 200 * MS), span(&w, "forward"));
    let of_span = doc(&w).trace.spans().range(forward);
    let middle = |w: &Window| {
        let view = doc(w).viewport.range();
        view.start + view.len() / 2
    };
    act(&mut w, Action::ShowTab(tab("Selection")));
    act(&mut w, Action::ViewRange(TimeRange::new(0, 60 * MS)));
    act(&mut w, Action::SelectRange(Some(range)));
    act(&mut w, Action::SelectSpan(Some(forward)));
    assert_eq!(figures(&mut w).1, of_span);
    w.get_by_label_contains("Time of the selected span: ");
    key(&mut w, Key::F);
    assert!((middle(&w) - (of_span.start + of_span.len() / 2)).abs() < MS);

    act(&mut w, Action::SelectRange(Some(range)));
    assert_eq!(figures(&mut w).1, range);
    w.get_by_label_contains("Selected range: ");
    key(&mut w, Key::F);
    assert!((middle(&w) - 150 * MS).abs() < MS);

    // What is left of the two counts.
    act(&mut w, Action::SelectRange(None));
    assert_eq!(figures(&mut w).1, of_span);
    act(&mut w, Action::SelectRange(Some(range)));
    act(&mut w, Action::SelectSpan(Some(forward)));
    act(&mut w, Action::SelectSpan(None));
    assert_eq!(figures(&mut w).1, range);
    key(&mut w, Key::Escape);
    w.get_by_label_contains("Visible window: ");
}

#[test]
fn what_rests_under_the_pointer_is_not_pointed_at_once_a_key_was_pressed() {
    let mut w = showing(&tiny(&scratch("ui_rests")));
    let kernel = span(&w, "gemm_kernel");
    let row = doc(&w).rows.of_span(&doc(&w).trace, kernel).expect("shows");
    let top = doc(&w).canvas[3] - doc(&w).lanes_height;
    let y = top + doc(&w).rows.rows()[row].y + 9.0;
    let at_kernel = at(&w, 80 * MS, y);
    w.hover_at(at_kernel);
    w.run_steps(20);
    assert_eq!(doc(&w).pointer.span, Some(kernel));
    act(&mut w, Action::Do(Command::NextSpan));
    w.run_steps(20);
    assert_eq!(doc(&w).pointer.span, None, "it only rests");
    let said = w.query_all_by_label_contains("starts at").count();
    assert_eq!(said, 1, "the selected span alone, no tooltip");
    assert!(doc(&w).pointer.x.is_some(), "zooming is still about it");
    w.hover_at(at_kernel + egui::Vec2::new(2.0, 0.0));
    w.run_steps(3);
    assert_eq!(doc(&w).pointer.span, Some(kernel));
}

#[test]
fn pointing_at_a_span_dims_nothing() {
    let mut w = showing(&tiny(&scratch("ui_dim")));
    let forward = span(&w, "forward");
    let kernels = doc(&w).trace.spans().ids();
    let trace = doc(&w).trace.clone();
    let last = kernels.filter(|&s| trace.span_name(s) == "gemm_kernel");
    let last = last.last().expect("the kernel of another step");
    let place = |w: &Window, s: SpanId, time: i64| {
        let row = doc(w).rows.of_span(&trace, s).expect("shows");
        let top = doc(w).canvas[3] - doc(w).lanes_height;
        at(w, time, top + doc(w).rows.rows()[row].y + 5.0)
    };
    let pixel = |w: &mut Window| {
        let at = place(w, last, 300 * MS);
        let picture = w.render().expect("a picture");
        picture.get_pixel(at.x as u32, at.y as u32).0
    };
    let plain = pixel(&mut w);
    let at_forward = place(&w, forward, 43 * MS);
    w.hover_at(at_forward);
    w.run_steps(20);
    settle(&mut w);
    assert_eq!(doc(&w).pointer.span, Some(forward));
    assert_eq!(pixel(&mut w), plain, "pointed at");
    act(&mut w, Action::SelectSpan(Some(forward)));
    assert_ne!(pixel(&mut w), plain, "chosen, its kernel stands out");
}

#[test]
fn ctrl_z_takes_a_move_back() {
    let mut w = showing(&tiny(&scratch("ui_undo")));
    let all = doc(&w).viewport.window();
    act(
        &mut w,
        Action::ViewRange(TimeRange::new(100 * MS, 140 * MS)),
    );
    let near = doc(&w).viewport.window();
    assert_ne!(near, all);
    ctrl(&mut w, Key::Z);
    assert_eq!(doc(&w).viewport.window(), all);
    w.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    settle(&mut w);
    assert_eq!(doc(&w).viewport.window(), near);
}
