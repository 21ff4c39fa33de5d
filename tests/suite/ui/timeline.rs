//! Opening, selecting, moving, walking through waits, exporting.

use egui::{Key, Modifiers, PointerButton, Vec2};
use egui_kittest::kittest::Queryable;
use stallscope::app::{Action, Command, Dialog};
use stallscope::export::png::{PngOptions, render_png};
use stallscope::time::TimeRange;

use super::common::{scratch, shared};
use super::harness::*;

#[test]
fn a_dragged_range_shows_known_totals() {
    let mut w = showing(&tiny(&scratch("ui_drag")));
    assert_eq!(open_tab(&w), "Verdict", "the verdict comes first");
    let y = ruler(&w);
    // Within 5 points of the step's edges: it snaps to them.
    let from = at(&w, 100 * MS, y) + Vec2::new(3.0, 0.0);
    let to = at(&w, 200 * MS, y) - Vec2::new(3.0, 0.0);
    drag(&mut w, from, to);
    let (parts, range) = figures(&mut w);
    assert_eq!(range, TimeRange::new(100 * MS, 200 * MS));
    assert_eq!(parts, (20 * MS, 75 * MS, 5 * MS, 0));

    ctrl(&mut w, Key::Num1);
    w.get_by_label_contains("Exposed wait 20 ms (20.0 %)");
    w.get_by_label_contains("GPU busy 75 ms (75.0 %)");
    w.get_by_label_contains("GPU idle, other cause 5 ms (5.0 %)");
    // One row per layer: wait 40 ms, its p95, and how often.
    w.get_by_label_contains("Batch wait, Wall 40.000 ms, Sum 40.000 ms");
    w.check_accessibility();

    ctrl(&mut w, Key::A);
    let (parts, range) = figures(&mut w);
    assert_eq!(range, TimeRange::new(0, 320 * MS));
    assert_eq!(parts, (80 * MS, 225 * MS, 15 * MS, 0));
}

#[test]
fn figures_follow_while_the_pointer_moves() {
    let mut w = showing(&tiny(&scratch("ui_follow")));
    let y = ruler(&w);
    let from = at(&w, 0, y);
    w.hover_at(from);
    w.step();
    press(&w, from, PointerButton::Primary, true, Modifiers::NONE);
    w.step();
    let mut seen = Vec::new();
    for ms in [60, 160, 260] {
        let to = at(&w, ms * MS, y);
        w.hover_at(to);
        w.run_steps(2);
        let range = doc(&w).range.expect("a range while dragging");
        assert_eq!(range.start, 0);
        assert!((range.end - ms * MS).abs() < MS, "{range}");
        seen.push(figures(&mut w).0.1);
    }
    assert!(seen.is_sorted() && seen[0] < seen[2], "{seen:?}");
    press(
        &w,
        at(&w, 260 * MS, y),
        PointerButton::Primary,
        false,
        Modifiers::NONE,
    );
    w.run_steps(2);
    // The edge can be taken and moved; the other one stays.
    let range = doc(&w).range.expect("a range");
    let (from, to) = (at(&w, range.end, y), at(&w, 300 * MS, y));
    drag(&mut w, from, to);
    assert_eq!(doc(&w).range, Some(TimeRange::new(0, 300 * MS)));
    key(&mut w, Key::Escape);
    assert_eq!(doc(&w).range, None);
}

#[test]
fn a_step_is_selected_by_a_click_and_a_span_by_its_own() {
    let mut w = showing(&tiny(&scratch("ui_click")));
    let steps = doc(&w).canvas[1] + 27.0;
    let p = at(&w, 150 * MS, steps);
    click(&mut w, p);
    assert_eq!(doc(&w).range, Some(TimeRange::new(100 * MS, 200 * MS)));

    key(&mut w, Key::Period);
    let first = doc(&w).span.expect("the first span in sight");
    key(&mut w, Key::Period);
    let second = doc(&w).span.expect("its neighbour");
    assert!(doc(&w).trace.spans().start(first) < doc(&w).trace.spans().start(second));
    key(&mut w, Key::Comma);
    assert_eq!(doc(&w).span, Some(first));
    key(&mut w, Key::R);
    let range = doc(&w).trace.spans().range(first);
    assert_eq!(doc(&w).range, Some(range));
}

#[test]
fn links_lead_from_the_call_to_its_kernel_and_back() {
    let mut w = showing(&tiny(&scratch("ui_links")));
    let trace = doc(&w).trace.clone();
    let forward = trace
        .spans()
        .ids()
        .find(|&s| trace.span_name(s) == "forward")
        .expect("forward");
    act(&mut w, Action::RevealSpan(forward));
    key(&mut w, Key::CloseBracket);
    let kernel = doc(&w).span.expect("a kernel");
    assert_eq!(trace.span_name(kernel), "gemm_kernel");
    key(&mut w, Key::OpenBracket);
    let call = doc(&w).span.expect("a call");
    assert_eq!(trace.span_name(call), "cudaLaunchKernel");
    key(&mut w, Key::ArrowUp);
    assert_eq!(doc(&w).span, Some(forward));
    // The tail ends where the kernel does, to the nanosecond.
    // It belongs to the outermost span with that last kernel: the step.
    let tail = doc(&w)
        .analysis
        .tails()
        .iter()
        .find(|t| t.last_op == kernel)
        .expect("a tail");
    assert_eq!(trace.span_name(tail.span), "ProfilerStep#0");
    assert_eq!(
        tail.lag,
        trace.spans().end(kernel) - trace.spans().end(tail.span)
    );
    assert_eq!(tail.lag, 20 * MS);
}

#[test]
fn n_visits_every_exposed_wait_once_in_order() {
    let mut w = showing(&tiny(&scratch("ui_walk")));
    w.get_by_label_contains("3 exposed waits");
    let mut starts = Vec::new();
    for i in 1..=3 {
        key(&mut w, Key::N);
        w.get_by_label_contains(&format!("Exposed wait {i} of 3"));
        let range = doc(&w).range.expect("the wait is selected");
        assert!(doc(&w).viewport.range().covers(range), "it is in view");
        starts.push(range.start);
    }
    assert_eq!(starts, [0, 100 * MS, 200 * MS]);
    w.key_press_modifiers(Modifiers::SHIFT, Key::N);
    settle(&mut w);
    assert_eq!(doc(&w).range.map(|r| r.start), Some(100 * MS));
    assert_eq!(figures(&mut w).0, (20 * MS, 20 * MS, 0, 0));
}

#[test]
fn zooming_in_and_out_keeps_the_time_under_the_pointer() {
    let mut w = showing(&tiny(&scratch("ui_zoom")));
    let y = ruler(&w) + 60.0;
    let p = at(&w, 137 * MS, y);
    let x = p.x - doc(&w).canvas[0];
    let time = doc(&w).viewport.time_from_x(x);
    let zoom = |w: &mut Window, by: f32| {
        w.hover_at(p);
        w.event(egui::Event::Zoom(by));
        w.step();
    };
    for _ in 0..60 {
        zoom(&mut w, 1.1);
    }
    assert!(doc(&w).viewport.ns_per_px() < 10_000.0, "it zoomed in");
    assert!((doc(&w).viewport.x_from_time(time) - f64::from(x)).abs() < 1.0);
    for _ in 0..60 {
        zoom(&mut w, 1.0 / 1.1);
    }
    assert!((doc(&w).viewport.x_from_time(time) - f64::from(x)).abs() < 1.0);
}

#[test]
fn the_wheel_pans_and_scrolls_and_back_returns_the_exact_view() {
    let mut w = showing(&tiny(&scratch("ui_wheel")));
    act(
        &mut w,
        Action::ViewRange(TimeRange::new(100 * MS, 140 * MS)),
    );
    let first = doc(&w).viewport.window();
    // Another gesture begins half a second later.
    w.run_steps(4);
    let p = at(&w, 120 * MS, ruler(&w) + 60.0);
    w.hover_at(p);
    w.event(egui::Event::MouseWheel {
        unit: egui::MouseWheelUnit::Point,
        delta: Vec2::new(-120.0, 0.0),
        phase: egui::TouchPhase::Move,
        source: egui::MouseWheelSource::Wheel,
        modifiers: Modifiers::NONE,
    });
    w.run_steps(12);
    let moved = doc(&w).viewport.window();
    assert!(moved.start > first.start && (moved.len - first.len).abs() < 1.0);
    w.key_press_modifiers(Modifiers::ALT, Key::ArrowLeft);
    settle(&mut w);
    assert_eq!(doc(&w).viewport.window(), first);
    w.key_press_modifiers(Modifiers::ALT, Key::ArrowRight);
    settle(&mut w);
    assert_eq!(doc(&w).viewport.window(), moved);
}

#[test]
fn middle_drag_and_shift_drag_pan() {
    let mut w = showing(&tiny(&scratch("ui_pan")));
    act(
        &mut w,
        Action::ViewRange(TimeRange::new(100 * MS, 140 * MS)),
    );
    for (button, modifiers) in [
        (PointerButton::Middle, Modifiers::NONE),
        (PointerButton::Primary, Modifiers::SHIFT),
    ] {
        let before = doc(&w).viewport.window().start;
        let from = at(&w, 120 * MS, ruler(&w) + 80.0);
        w.hover_at(from);
        w.step();
        w.event(egui::Event::ModifiersChanged(modifiers));
        press(&w, from, button, true, modifiers);
        w.step();
        for i in 1..=5 {
            w.hover_at(from - Vec2::new(20.0 * i as f32, 0.0));
            w.step();
        }
        press(&w, from - Vec2::new(100.0, 0.0), button, false, modifiers);
        w.event(egui::Event::ModifiersChanged(Modifiers::NONE));
        w.run_steps(3);
        let moved = (doc(&w).viewport.window().start - before) / doc(&w).viewport.ns_per_px();
        assert!(
            (moved - 100.0).abs() < 2.0,
            "{button:?} moved {moved} points"
        );
        assert_eq!(doc(&w).range, None);
    }
}

#[test]
fn the_exported_picture_is_that_of_the_exporter() {
    let dir = scratch("ui_png");
    let mut w = showing(&tiny(&dir));
    let range = TimeRange::new(100 * MS, 200 * MS);
    act(&mut w, Action::SelectRange(Some(range)));
    ctrl(&mut w, Key::E);
    assert!(matches!(w.state().dialog, Some(Dialog::Export(_))));
    until(&mut w, "the preview", |app| match &app.dialog {
        Some(Dialog::Export(e)) => !e.is_busy(),
        _ => false,
    });
    w.get_by_label_contains("1920 × ");
    w.check_accessibility();
    let file = dir.join("window.png");
    act(&mut w, Action::SavePng(Some(file.clone()), false));
    let written = std::fs::read(&file).expect("written");
    let d = doc(&w);
    let options = PngOptions {
        range: Some(range),
        title: Some(d.name.clone()),
        ..PngOptions::default()
    };
    let direct = render_png(&d.trace, &d.analysis, &d.rows, &options).expect("a picture");
    assert!(
        written == direct.png,
        "{} and {} bytes",
        written.len(),
        direct.png.len()
    );
    // And that of the command line.
    let by_command = dir.join("command.png");
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_stallscope"))
        .args(["png", "--range", "100ms..200ms", "-o"])
        .arg(&by_command)
        .arg(dir.join("tiny.json"))
        .stderr(std::process::Stdio::null())
        .status()
        .expect("the program runs");
    assert!(status.success());
    let command = std::fs::read(&by_command).expect("written");
    assert!(
        written == command,
        "{} and {} bytes",
        written.len(),
        command.len()
    );
    assert!(w.state().dialog.is_none(), "written: the dialog closes");
    // A file that is there is replaced only when asked twice.
    std::fs::write(&file, "something else").expect("written");
    ctrl(&mut w, Key::E);
    act(&mut w, Action::SavePng(Some(file.clone()), false));
    let kept = std::fs::read(&file).expect("there");
    assert_eq!(kept, b"something else");
    assert!(w.state().dialog.is_some());
    act(&mut w, Action::SavePng(Some(file.clone()), true));
    assert!(std::fs::read(&file).expect("there") == written);
    assert!(w.state().dialog.is_none());
    // The trace itself is never replaced.
    let trace = dir.join("tiny.json");
    let before = std::fs::read(&trace).expect("there");
    ctrl(&mut w, Key::E);
    act(&mut w, Action::SavePng(Some(trace.clone()), true));
    assert!(std::fs::read(&trace).expect("there") == before);
    assert!(matches!(w.state().dialog, Some(Dialog::Error(_))));
}

#[test]
fn a_trace_without_gpu_events_says_so_and_has_no_empty_band() {
    let mut w = showing(&tiny_without_gpu(&scratch("ui_cpu")));
    assert!(doc(&w).analysis.gpus().is_empty());
    assert_eq!(doc(&w).analysis.waits().len(), 3);
    w.get_by_label_contains("Exposed wait: unknown");
    let d = doc(&w);
    let size = stallscope::view::Size::new(1_200.0, 400.0);
    let mut viewport = d.viewport.clone();
    viewport.set_width(1_000.0);
    let list = stallscope::view::layout(&stallscope::view::LayoutInput {
        trace: &d.trace,
        analysis: &d.analysis,
        rows: &d.rows,
        viewport: &viewport,
        theme: &stallscope::view::Theme::dark(),
        size,
        metrics: stallscope::view::Metrics {
            header_width: 200.0,
            pixels_per_point: 1.0,
        },
        scroll: stallscope::view::Scroll::default(),
        selection: None,
        selected: None,
        hovered: None,
        links: None,
        hits: None,
        options: stallscope::view::Options::default(),
    });
    let text: Vec<&str> = list.texts().map(|t| t.text.as_str()).collect();
    assert!(text.iter().any(|t| t.contains("No GPU events")), "{text:?}");
    key(&mut w, Key::N);
    assert_eq!(doc(&w).range, None, "nothing is called exposed");
}

#[test]
fn a_real_trace_shows_its_known_figures() {
    let name =
        "traces/torch/AMD-AGI-TraceLens__h100_google_owlv2-large-patch14-ensemble__1016001.json.gz";
    let Some(path) = shared(name) else {
        return;
    };
    let mut w = showing(&path);
    let trace = doc(&w).trace.clone();
    let step = trace
        .spans()
        .ids()
        .find(|&s| {
            let cpu = !trace.lane(trace.spans().lane(s)).kind.is_gpu();
            cpu && trace.span_name(s) == "ProfilerStep#6"
        })
        .expect("the step");
    let range = trace.spans().range(step);
    assert_eq!(range.len(), 1_211_182_252);
    // Dragged on the step's own row, so that it snaps to the step.
    act(&mut w, Action::RevealSpan(step));
    act(&mut w, Action::Do(Command::Fit));
    let row = doc(&w).rows.of_span(&trace, step).expect("it shows");
    let areas_top = doc(&w).canvas[3] - doc(&w).lanes_height;
    let y = areas_top + doc(&w).rows.rows()[row].y - doc(&w).scroll + 9.0;
    let from = at(&w, range.start, y) + Vec2::new(2.0, 0.0);
    let to = at(&w, range.end, y) - Vec2::new(2.0, 0.0);
    drag(&mut w, from, to);
    let (parts, selected) = figures(&mut w);
    assert_eq!(selected, range);
    assert_eq!((parts.0, parts.1, parts.3), (619_045_006, 566_759_477, 0));
    let all = selection(&mut w);
    let waited = ["wait_ns", "wait_exposed_ns", "wait_hidden_ns"].map(|key| all[key].as_i64());
    assert_eq!(waited, [Some(619_045_006), Some(619_045_006), Some(0)]);
}
