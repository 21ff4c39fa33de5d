//! What can go wrong while opening, and that the open trace survives it.

use std::time::Duration;

use egui_kittest::kittest::Queryable;
use stallscope::app::{Action, Dialog, ErrorDialog, Request};
use stallscope::import::{ErrorKind, LoadError};

use super::common::{repository, scratch, shared};
use super::harness::*;

/// The texts of an error dialog.
fn error_of(w: &mut Window) -> String {
    let Some(Dialog::Error(e)) = &w.state().dialog else {
        panic!("no error dialog");
    };
    e.details()
}

#[test]
fn unknown_files_are_named_with_what_can_be_read() {
    let dir = scratch("ui_unknown");
    for (name, text) in [
        ("notes.txt", "hello"),
        ("empty.json", ""),
        ("page.json", "<html></html>"),
    ] {
        let path = write(&dir, name, text);
        let mut w = window();
        open(&mut w, &path);
        let text = error_of(&mut w);
        assert!(text.contains(name), "{text}");
        w.get_by_label("Copy details").click();
        w.run_steps(2);
        w.check_accessibility();
        w.get_all_by_label("Close")
            .next()
            .expect("a button")
            .click();
        w.run_steps(2);
        assert!(w.state().dialog.is_none());
        assert!(w.state().state.doc.is_none());
    }
    let mut w = window();
    open(
        &mut w,
        &write(&dir, "what.bin", "\u{1}\u{2}not a trace at all"),
    );
    let text = error_of(&mut w);
    for kind in [".json", ".sqlite", ".pfw"] {
        assert!(text.contains(kind), "{text}");
    }
}

#[test]
fn a_missing_file_keeps_the_open_trace() {
    let dir = scratch("ui_missing");
    let mut w = showing(&tiny(&dir));
    open(&mut w, &dir.join("nowhere.json"));
    assert!(error_of(&mut w).contains("nowhere.json"));
    assert_eq!(doc(&w).name, "tiny.json");
}

#[test]
fn nsight_reports_come_with_the_command_that_converts_them() {
    let Some(path) = shared("nsight/errors") else {
        return;
    };
    let report = std::fs::read_dir(&path)
        .expect("readable")
        .flatten()
        .map(|e| e.path())
        .find(|p| {
            p.extension()
                .is_some_and(|e| e == "nsys-rep" || e == "qdrep")
        });
    let Some(report) = report else {
        return;
    };
    let mut w = window();
    open(&mut w, &report);
    assert!(error_of(&mut w).contains("nsys export"));
    w.get_by_label("Copy command").click();
    w.run_steps(4);
    w.get_by_label("Command copied");
}

#[test]
fn a_truncated_trace_opens_with_a_notice() {
    let dir = scratch("ui_truncated");
    let full = std::fs::read_to_string(tiny(&dir)).expect("written");
    let cut = write(&dir, "cut.json", &full[..full.len() * 2 / 3]);
    let mut w = showing(&cut);
    assert!(doc(&w).report.warnings().count() > 0);
    w.get_by_label_contains("notice").click();
    w.run_steps(3);
    assert!(matches!(w.state().dialog, Some(Dialog::Notices)));
    w.get_by_label_contains("The file ends ");
    w.check_accessibility();
}

#[test]
fn a_cancelled_opening_leaves_the_old_trace() {
    let dir = scratch("ui_cancel");
    let path = tiny(&dir);
    let mut w = showing(&path);
    let slow = Request {
        delay: Duration::from_secs(600),
        ..request(&path)
    };
    for by_key in [true, false] {
        let ctx = w.ctx.clone();
        w.state_mut().apply(&ctx, Action::Open(slow.clone()));
        std::thread::sleep(Duration::from_millis(150));
        w.run_steps(3);
        w.get_by_label_contains("Opening tiny.json");
        // The open trace can be used meanwhile.
        w.key_press(egui::Key::N);
        w.run_steps(3);
        assert!(doc(&w).range.is_some());
        if by_key {
            w.key_press(egui::Key::Escape);
        } else {
            w.get_by_label("Cancel").click();
        }
        w.run_steps(3);
        assert!(w.state().state.loading.is_none(), "at once");
        assert_eq!(doc(&w).name, "tiny.json");
        assert!(w.state().dialog.is_none());
    }
    // And another one can be opened.
    open(&mut w, &tiny_without_gpu(&dir));
    assert_eq!(doc(&w).name, "cpu_only.json");
}

/// A dropped file.
#[derive(Debug)]
struct Dropped(std::path::PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &std::path::Path {
        &self.0
    }
    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|e| e.to_string())
    }
}

#[test]
fn a_dropped_file_opens() {
    let dir = scratch("ui_drop");
    let path = tiny(&dir);
    let mut w = window();
    w.input_mut().dropped_files = vec![std::sync::Arc::new(Dropped(path))];
    w.step();
    until(&mut w, "the dropped file", |app| app.state.doc.is_some());
    assert_eq!(doc(&w).name, "tiny.json");
}

/// Every figure is of what could be read: the share of what could not stands in the window, not in a list alone.
#[test]
fn lost_events_are_told_in_the_window() {
    let dir = scratch("ui_lost");
    let event = |i: u32| {
        format!(r#"{{"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":1,"ts":{i},"dur":1}}"#)
    };
    let events: Vec<String> = (100..160).map(event).collect();
    let hole = "\0".repeat(40 * (events[0].len() + 1));
    let text = format!(
        "[{},{hole}{}]",
        events[..30].join(","),
        events[30..].join(",")
    );
    let mut w = showing(&write(&dir, "hole.json", &text));
    w.get_by_label("about 40 % of the events were lost").click();
    w.run_steps(2);
    assert!(matches!(w.state().dialog, Some(Dialog::Notices)));
    w.check_accessibility();
}

/// All notices of the open trace, as the list shows them.
fn notices(w: &Window) -> Vec<String> {
    let report = &doc(w).report;
    report.notices.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_missing_or_skipped_is_said() {
    let dir = scratch("ui_notices");
    let skipped = r#"{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":10,"dur":5},
        {"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":20}]}"#;
    let alone = dir.join("alone");
    std::fs::create_dir_all(&alone).expect("a folder");
    let run = repository("sample_traces/dftracer_2_workers");
    let main = std::fs::read_dir(&run)
        .expect("readable")
        .flatten()
        .find(|e| e.file_name().to_string_lossy().contains("-app"))
        .expect("the main process");
    std::fs::copy(main.path(), alone.join(main.file_name())).expect("copied");
    let mut cases = vec![
        (write(&dir, "skipped.json", skipped), "skipped"),
        (alone, "Only 1 process found"),
    ];
    if let Some(path) = shared("nsight/errors/only_nvtx.sqlite") {
        cases.push((path, "no CUDA activity"));
    }
    for (path, text) in cases {
        let mut w = showing(&path);
        let said = notices(&w);
        assert!(
            said.iter().any(|n| n.contains(text)),
            "{text} is not in {said:#?}"
        );
        act(&mut w, Action::Do(stallscope::app::Command::Notices));
        w.get_all_by_label_contains(text)
            .next()
            .expect("it is in the list");
    }
}

#[test]
fn a_trace_that_may_not_fit_can_be_opened_anyway() {
    let dir = scratch("ui_large");
    let path = tiny(&dir);
    let error = LoadError::new(
        ErrorKind::TooLarge,
        &path,
        "This trace needs about 9 GiB; 6 GiB are free.",
        "Close other programs, open a part of the run, or open it anyway.",
    );
    let mut w = window();
    for open_it in [false, true] {
        let dialog = ErrorDialog::Failed(error.clone(), request(&path));
        w.state_mut().dialog = Some(Dialog::Error(Box::new(dialog)));
        w.run_steps(3);
        w.get_by_label_contains("needs about 9 GiB; 6 GiB are free");
        w.get_by_label(if open_it { "Open anyway" } else { "Cancel" })
            .click();
        w.run_steps(3);
        assert!(w.state().dialog.is_none());
        assert_eq!(
            w.state().state.loading.is_some() || w.state().state.doc.is_some(),
            open_it
        );
    }
    until(&mut w, "opening", |app| app.state.doc.is_some());
}

#[test]
fn cancelling_while_reading_leaves_the_old_trace() {
    let dir = scratch("ui_cancel_reading");
    let event = r#"{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":1000,"dur":5,"args":{"External id":1}},"#;
    let text = format!("{{\"traceEvents\":[{}{{}}]}}", event.repeat(400_000));
    let large = write(&dir, "large.json", &text);
    let mut cancelled = 0;
    for share in [0.1, 0.5, 0.9] {
        let mut w = showing(&tiny(&dir));
        let ctx = w.ctx.clone();
        w.state_mut().open(&ctx, request(&large));
        let opening = w.state().state.loading.as_ref().expect("it opens");
        let progress = opening.progress();
        // Looked at without drawing frames, so that it is not over before it is seen.
        let begun = std::time::Instant::now();
        while (progress.done() as f64) < share * progress.total().max(1) as f64 {
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing is read");
            std::thread::yield_now();
        }
        w.key_press(egui::Key::Escape);
        // A reader that is done before the key arrives has nothing to cancel any more.
        let late = progress.done() >= progress.total();
        w.run_steps(2);
        let state = &w.state().state;
        assert!(state.loading.is_none(), "cancelled at {share}");
        if late && doc(&w).name != "tiny.json" {
            continue;
        }
        assert_eq!(doc(&w).name, "tiny.json");
        // The thread that reads holds the other end; when it has gone, it must have stopped on its way.
        let begun = std::time::Instant::now();
        while std::sync::Arc::strong_count(&progress) > 1 {
            assert!(begun.elapsed() < Duration::from_secs(60), "it never ends");
            std::thread::sleep(Duration::from_millis(2));
        }
        cancelled += u32::from(progress.done() < progress.total());
        w.run_steps(2);
        assert_eq!(doc(&w).name, "tiny.json");
        drag_over_all(&mut w);
    }
    assert!(cancelled > 0, "every reader read on to the end");
}

/// The trace can still be used.
fn drag_over_all(w: &mut Window) {
    act(w, Action::Do(stallscope::app::Command::SelectAll));
    let (_, range) = figures(w);
    assert_eq!(range, doc(w).trace.extent());
}
