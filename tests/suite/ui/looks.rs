//! A few pictures of the window, drawn on the CPU.

use egui_kittest::kittest::Queryable;
use stallscope::app::{Action, Store, ThemeChoice};
use stallscope::time::TimeRange;

use super::common::scratch;
use super::harness::*;

fn small() -> Window {
    sized(900.0, 560.0, Store::none())
}

#[test]
fn first_screen() {
    let mut w = small();
    w.snapshot("welcome_dark");
}

#[test]
fn timeline_with_a_selection() {
    let dir = scratch("ui_look");
    let path = tiny(&dir);
    let mut w = small();
    open(&mut w, &path);
    act(
        &mut w,
        Action::SelectRange(Some(TimeRange::new(100 * MS, 200 * MS))),
    );
    act(&mut w, Action::ShowTab(tab("Selection")));
    w.snapshot("selection_dark");
    w.state_mut().state.settings.theme = ThemeChoice::from("light".to_owned());
    w.run_steps(4);
    w.snapshot("selection_light");
}

#[test]
fn an_exposed_wait_is_identifiable_without_colour() {
    let dir = scratch("ui_grey");
    let mut w = sized(1_000.0, 640.0, Store::none());
    open(&mut w, &tiny(&dir));
    let picture = w.render().expect("a picture");
    let canvas = doc(&w).canvas;
    // On the band's rows: brightness along a line in an exposed wait changes with the hatch, in GPU work it does not.
    let row = (canvas[1] + 34.0 + 30.0) as u32;
    let x = |ms: i64| (canvas[0] + doc(&w).viewport.x_from_time(ms * MS) as f32) as u32;
    let grey = |px: u32| {
        let p = picture.get_pixel(px, row).0;
        (299 * u32::from(p[0]) + 587 * u32::from(p[1]) + 114 * u32::from(p[2])) / 1_000
    };
    let swing = |from: i64, to: i64| {
        let values: Vec<u32> = (x(from)..x(to)).map(grey).collect();
        values.iter().max().unwrap_or(&0) - values.iter().min().unwrap_or(&0)
    };
    assert!(swing(20, 38) > 30, "hatched: {}", swing(20, 38));
    assert!(swing(60, 90) < 10, "plain: {}", swing(60, 90));
}

#[test]
fn everything_is_reachable_in_a_small_window() {
    let dir = scratch("ui_small");
    let mut w = sized(1_000.0, 640.0, Store::none());
    open(&mut w, &tiny(&dir));
    for tab in stallscope::app::tabs() {
        let node = w.get_by_role_and_label(egui::accesskit::Role::Tab, tab.title);
        let rect = node.rect();
        assert!(
            rect.right() <= 1_000.0 && rect.bottom() <= 640.0,
            "{tab:?} at {rect}"
        );
    }
    for button in ["Export PNG…", "Guide", "Light or dark", "Open trace…"] {
        let rect = w.get_by_label(button).rect();
        assert!(
            rect.left() >= 0.0 && rect.right() <= 1_000.0,
            "{button} at {rect}"
        );
    }
    assert!(doc(&w).lanes_height > 60.0);
}
