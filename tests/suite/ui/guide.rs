//! The guide in the window, what each tab is about, room for the details, paths without a file dialog, other tools' traces.

use egui::accesskit::Role;
use egui::{Event, Key};
use egui_kittest::kittest::Queryable;
use stallscope::app::{Action, Ask, Command, Dialog, Made, PathDialog};
use stallscope::time::TimeRange;

use super::common::{repository, scratch};
use super::harness::*;

#[test]
fn the_guide_opens_where_it_is_asked_for() {
    let mut w = showing(&tiny(&scratch("ui_guide")));
    w.key_press(Key::Questionmark);
    w.run_steps(3);
    assert!(matches!(w.state().dialog, Some(Dialog::Help(_))));
    w.get_by_label_contains("Heights and hatches");
    w.check_accessibility();
    // From page to page by a link.
    w.get_by_role_and_label(Role::Link, "tabs").click();
    w.run_steps(3);
    w.get_by_label_contains("Why a wait took so long");
    key(&mut w, Key::Escape);
    assert!(w.state().dialog.is_none());
    for tab in stallscope::app::tabs() {
        act(&mut w, Action::ShowTab(tab));
        w.get_by_label("About this tab").click();
        w.run_steps(3);
        assert!(
            w.query_all_by_label(tab.title).count() >= 2,
            "{} has its row",
            tab.title
        );
        key(&mut w, Key::Escape);
    }
}

#[test]
fn tabs_say_what_they_are_about_in_one_place() {
    let mut w = showing(&tiny(&scratch("ui_scope")));
    let mut places = Vec::new();
    let mut says = |w: &mut Window, title: &str, words: &str| {
        act(w, Action::ShowTab(tab(title)));
        places.push(w.get_by_label(words).rect().center().y);
    };
    for title in ["Names", "Waits", "Steps", "Workers", "What-if", "Verdict"] {
        says(&mut w, title, "whole trace");
    }
    says(&mut w, "Selection", "visible window");
    let range = TimeRange::new(100 * MS, 200 * MS);
    act(&mut w, Action::SelectRange(Some(range)));
    for title in ["Selection", "Names", "Workers", "What-if"] {
        says(&mut w, title, "selected range");
    }
    for title in ["Waits", "Steps", "Verdict"] {
        says(&mut w, title, "whole trace");
    }
    assert!(
        places.iter().all(|y| (y - places[0]).abs() < 0.5),
        "{places:?}"
    );
}

#[test]
fn the_timeline_gives_back_what_it_does_not_need() {
    let w = showing(&tiny(&scratch("ui_room")));
    let canvas = |w: &Window| doc(w).canvas[3] - doc(w).canvas[1];
    let few = canvas(&w);
    let room = 900.0 - 34.0 - 46.0 - 22.0;
    let of = doc(&w);
    let needed = stallscope::view::content_height(&of.analysis, &of.rows, &of.notes);
    assert!(few - needed.max(0.3 * room) < 10.0, "{few} for {needed}");

    // Of many rows it shows as many as the details leave it, and those take 70 % at most.
    let mut w = showing(&repository("sample_traces/torch_4_workers.json.gz"));
    act(&mut w, Action::Do(Command::ExpandAll));
    act(&mut w, Action::DetailsHeight(5_000.0));
    let least = canvas(&w);
    let top = doc(&w).canvas[3];
    assert!(
        (least / room - 0.3).abs() < 0.02,
        "{least} points of {room}"
    );
    // Its edge is taken a few points beside it.
    drag(
        &mut w,
        egui::pos2(700.0, top - 3.0),
        egui::pos2(700.0, top + 57.0),
    );
    assert!(
        (canvas(&w) - least - 60.0).abs() < 5.0,
        "{least}, then {}",
        canvas(&w)
    );
    assert_eq!(doc(&w).range, None, "and selects nothing");
}

#[test]
fn a_path_can_be_typed_where_there_is_no_file_dialog() {
    let dir = scratch("ui_path");
    let path = tiny(&dir);
    let mut w = window();
    let ask = Dialog::Path(Box::new(PathDialog::new(Ask::Files)));
    w.state_mut().dialog = Some(ask);
    w.run_steps(3);
    w.check_accessibility();
    w.event(Event::Text(path.display().to_string()));
    w.run_steps(2);
    w.key_press(Key::Enter);
    w.run_steps(2);
    until(&mut w, "opening", |app| {
        app.state.loading.is_none() && app.state.doc.is_some()
    });
    assert!(w.state().dialog.is_none());

    // What is saved is never written over a file unasked.
    let target = dir.join("out.txt");
    std::fs::write(&target, "old").expect("written");
    for (replace, expected) in [(false, "old"), (true, "new")] {
        let make = Box::new(|file: &std::path::Path| Ok(Made::one(file, b"new".to_vec())));
        let ask = Ask::Save("out.txt".to_owned(), make);
        w.state_mut().dialog = Some(Dialog::Path(Box::new(PathDialog::new(ask))));
        act(&mut w, Action::UsePath(target.clone(), replace));
        assert_eq!(std::fs::read_to_string(&target).expect("there"), expected);
    }
}

/// A trace of another tool: tasks of a browser, and one that starts so late, µs.
fn tasks(n: i64, late: i64) -> String {
    let one = |name: &str, ts: i64| {
        format!(
            r#"{{"ph":"X","cat":"toplevel","name":"{name}","pid":1,"tid":1,"ts":{ts},"dur":400}}"#
        )
    };
    let names = ["RunTask", "Paint", "Layout"].iter().cycle();
    let mut events: Vec<String> = (0..n)
        .zip(names)
        .map(|(i, name)| one(name, 1_000 + i * 500))
        .collect();
    events.push(one("Exit", late));
    format!(r#"{{"traceEvents":[{}]}}"#, events.join(",\n"))
}

#[test]
fn fit_goes_where_the_spans_are_and_says_so() {
    let dir = scratch("ui_dense");
    let mut w = showing(&write(&dir, "tasks.json", &tasks(300, 900_000_000)));
    let all = doc(&w).trace.extent();
    let shown = doc(&w).viewport.range();
    assert!(shown.len() * 100 < all.len(), "{shown} of {all}");
    act(&mut w, Action::Do(Command::Fit));
    let again = doc(&w).viewport.range();
    assert!(again.covers(all), "everything");
    act(&mut w, Action::Do(Command::Fit));
    assert_eq!(doc(&w).viewport.range(), shown);
    w.get_by_label_contains("1 span elsewhere. Fit again shows all.");

    let mut w = showing(&write(&dir, "even.json", &tasks(300, 160_000)));
    let all = doc(&w).trace.extent();
    for _ in 0..2 {
        let shown = doc(&w).viewport.range();
        assert!(shown.covers(all), "nothing stretches it");
        act(&mut w, Action::Do(Command::Fit));
    }
}

#[test]
fn empty_tabs_speak_of_torch_to_its_traces_alone() {
    let text = tasks(60, 40_000);
    let mut w = showing(&write(&scratch("ui_tool"), "tasks.json", &text));
    for title in ["Steps", "Workers", "What-if"] {
        let tab = tab(title);
        act(&mut w, Action::ShowTab(tab));
        let said = w.query_all_by_label_contains("torch").count();
        assert_eq!(said, 0, "{}", tab.title);
    }
}
