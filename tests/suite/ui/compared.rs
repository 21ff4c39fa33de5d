//! Comparing in the window: opened beside the open trace, gone through step by step, closed again.

use egui::Key;
use egui_kittest::kittest::Queryable;
use stallscope::app::{Action, Command, Dialog};

use super::common::{repository, scratch};
use super::harness::*;

fn sample(name: &str) -> std::path::PathBuf {
    repository("sample_traces").join(name)
}

/// The loop with workers, compared with the one without.
fn comparing() -> Window {
    let mut w = showing(&sample("torch_4_workers.json.gz"));
    let before = vec![sample("torch_0_workers.json.gz")];
    act(&mut w, Action::CompareWith(before));
    until(&mut w, "comparison", |app| app.state.compared.is_some());
    settle(&mut w);
    w
}

#[test]
fn two_traces_are_compared_step_by_step() {
    let mut w = comparing();
    let of = |w: &Window, side| {
        w.state()
            .state
            .compared
            .as_ref()
            .unwrap()
            .step(side)
            .unwrap()
    };
    let (b, a) = (of(&w, 0), of(&w, 1));
    key(&mut w, Key::Period);
    assert_eq!((of(&w, 0), of(&w, 1)), (b + 1, a + 1));
    key(&mut w, Key::Comma);
    key(&mut w, Key::Comma);
    assert_eq!((of(&w, 0), of(&w, 1)), (b - 1, a - 1));
    // Both stay where one of them ends.
    for _ in 0..40 {
        w.key_press(Key::Comma);
        w.step();
    }
    settle(&mut w);
    assert_eq!(of(&w, 0).min(of(&w, 1)), 0);
    // Zoomed and moved, the picture stays within both steps; 0 shows all again.
    for name in [Key::Plus, Key::Plus, Key::ArrowRight, Key::Minus, Key::Num0] {
        key(&mut w, name);
    }
    // The picture says what it shows, also to who cannot see it.
    let said = w.query_all_by_label_contains("Whether steps changed cannot be told");
    assert!(said.count() > 0);
    w.check_accessibility();
    key(&mut w, Key::X);
    assert_eq!(doc(&w).name, "torch_0_workers.json.gz");
    key(&mut w, Key::Escape);
    assert!(w.state().state.compared.is_none());
    assert_eq!(doc(&w).name, "torch_4_workers.json.gz");
}

#[test]
fn what_cannot_be_compared_is_said() {
    let mut w = showing(&sample("torch_4_workers.json.gz"));
    let same = vec![sample("torch_4_workers.json.gz")];
    act(&mut w, Action::CompareWith(same));
    until(&mut w, "answer", |app| app.state.loading.is_none());
    settle(&mut w);
    assert!(w.state().state.compared.is_none());
    assert!(matches!(w.state().dialog, Some(Dialog::Error(_))));
    assert!(w.query_all_by_label_contains("same recording").count() > 0);
    key(&mut w, Key::Escape);
    // Another trace closes a comparison.
    let mut w = comparing();
    open(&mut w, &tiny(&scratch("ui_compared")));
    assert!(w.state().state.compared.is_none());
    assert!(doc(&w).name.contains("tiny"));
}

#[test]
fn comparing_needs_an_open_trace() {
    let w = window();
    assert!(!w.state().state.can(Command::Compare));
    let w = showing(&tiny(&scratch("ui_compare_can")));
    assert!(w.state().state.can(Command::Compare));
}

#[test]
fn a_picture_spares_what_is_compared() {
    let dir = scratch("ui_compare_spares");
    let [trace, before] = ["torch_4_workers.json.gz", "torch_0_workers.json.gz"].map(|name| {
        let path = dir.join(name);
        std::fs::copy(sample(name), &path).unwrap();
        path
    });
    let bytes = std::fs::read(&before).unwrap();
    let mut w = showing(&trace);
    act(&mut w, Action::CompareWith(vec![before.clone()]));
    until(&mut w, "comparison", |app| app.state.compared.is_some());
    act(&mut w, Action::Do(Command::ExportPng));
    act(&mut w, Action::SavePng(Some(before.clone()), true));
    assert!(matches!(w.state().dialog, Some(Dialog::Error(_))));
    assert_eq!(std::fs::read(&before).unwrap(), bytes);
}
