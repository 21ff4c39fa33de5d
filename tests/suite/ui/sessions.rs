//! Session files in the window: the trace as it was looked at, what it was compared with, and asking for what is lost.

use std::fs;

use egui::Key;
use egui_kittest::kittest::Queryable;
use stallscope::app::{Action, Command, Dialog, LanePreset};
use stallscope::session::{Kept, KeptNote, Look, Session, WhereNow};
use stallscope::time::TimeRange;
use stallscope::view::Note;

use super::common::{repository, scratch};
use super::harness::*;

#[test]
fn a_session_opens_its_traces_as_they_were_looked_at() {
    let dir = scratch("ui_session");
    let [trace, before] = ["torch_4_workers.json.gz", "torch_0_workers.json.gz"].map(|name| {
        let path = dir.join(name);
        fs::copy(repository("sample_traces").join(name), &path).unwrap();
        path
    });
    let w = showing(&trace);
    let lane = doc(&w).tree.ids().next().unwrap();
    let lane = doc(&w).tree.node(lane).key.clone();
    let look = Look {
        range: Some((10 * MS, 30 * MS)),
        tab: Some("Waits".to_owned()),
        hidden: vec![lane.clone(), "no such lane".to_owned()],
        ..Look::default()
    };
    let kept = |path| vec![Kept::of(path, &dir)];
    let session = Session::new(kept(&trace), kept(&before), Vec::new(), look);
    let file = dir.join("any name at all");
    fs::write(&file, session.text()).unwrap();
    let mut w = window();
    open(&mut w, &file);
    until(&mut w, "comparison", |app| app.state.compared.is_some());
    assert_eq!(doc(&w).name, "torch_4_workers.json.gz");
    assert!(doc(&w).row_state.hidden.contains(&lane));
    assert_eq!(
        doc(&w).row_state.hidden.len(),
        1,
        "unknown lanes are left out"
    );
    let range = doc(&w).range.unwrap();
    assert_eq!((range.start, range.end), (10 * MS, 30 * MS));
    assert_eq!(w.state().panels.open().title, "Waits");
    fs::remove_file(&before).unwrap();
    // What it was compared with is nowhere: it is asked for, and what is open stays.
    open(&mut w, &file);
    assert!(matches!(w.state().dialog, Some(Dialog::Error(_))));
    assert!(doc(&w).name.starts_with("torch_4"));
    act(&mut w, Action::CloseDialog);
}

#[test]
fn marks_names_and_order_are_kept_and_taken_back() {
    let dir = scratch("ui_marks");
    let trace = dir.join("torch_4_workers.json.gz");
    fs::copy(repository("sample_traces/torch_4_workers.json.gz"), &trace).unwrap();
    let mut w = showing(&trace);
    let range = TimeRange::new(10 * MS, 30 * MS);
    act(&mut w, Action::SelectRange(Some(range)));
    key(&mut w, Key::M);
    assert!(matches!(w.state().dialog, Some(Dialog::Text(_))));
    w.check_accessibility();
    let button = egui::accesskit::Role::Button;
    w.get_by_role_and_label(button, "Keep").click();
    settle(&mut w);
    assert!(w.state().dialog.is_none());
    let note = |text: &str, start: i64| Note {
        range: TimeRange::new(start, start),
        text: text.to_owned(),
    };
    act(&mut w, Action::SetNote(None, note("later", 60 * MS)));
    act(&mut w, Action::SetNote(Some(0), note("moved", 5 * MS)));
    let texts =
        |w: &Window| -> Vec<String> { doc(w).notes.iter().map(|n| n.text.clone()).collect() };
    assert_eq!(texts(&w), ["moved", "later"]);
    let roots = doc(&w).tree.roots().to_vec();
    let shown = |w: &Window| doc(w).rows.rows()[0].node;
    assert_eq!(shown(&w), roots[0]);
    act(&mut w, Action::StepLane(roots[0], true));
    assert_eq!(shown(&w), roots[1]);
    act(&mut w, Action::Rename(roots[0], "mine".to_owned()));
    assert_eq!(doc(&w).rows.title(roots[0]), "mine");
    // All of it goes back, the last change first, and comes again.
    act(&mut w, Action::Do(Command::Undo));
    assert_ne!(doc(&w).rows.title(roots[0]), "mine");
    act(&mut w, Action::Do(Command::Undo));
    assert_eq!(shown(&w), roots[0]);
    act(&mut w, Action::Do(Command::Undo));
    assert_eq!(texts(&w), ["", "later"]);
    for _ in 0..3 {
        act(&mut w, Action::Do(Command::Redo));
    }
    assert_eq!(
        (texts(&w).as_slice(), shown(&w)),
        (&["moved".to_owned(), "later".to_owned()][..], roots[1])
    );
    // The tab lists them; a click goes there, another one deletes.
    act(&mut w, Action::ShowTab(tab("Marks")));
    w.get_by_label("later");
    act(&mut w, Action::ShowNote(1));
    assert!(doc(&w).viewport.range().contains(60 * MS));
    act(&mut w, Action::DropNote(0));
    assert_eq!(texts(&w), ["later"]);
    // A session of it says the same of the trace elsewhere.
    let look = Look {
        names: doc(&w).row_state.names.clone(),
        order: doc(&w).row_state.order.clone(),
        notes: doc(&w).notes.iter().map(KeptNote::of).collect(),
        ..Look::default()
    };
    let session = Session::new(vec![Kept::of(&trace, &dir)], Vec::new(), Vec::new(), look);
    let file = dir.join("a.session.json");
    fs::write(&file, session.text()).unwrap();
    let mut again = window();
    open(&mut again, &file);
    assert_eq!((texts(&again), shown(&again)), (texts(&w), roots[1]));
    assert_eq!(doc(&again).rows.title(roots[0]), "mine");
    assert!(
        !again.state().state.can(Command::Undo),
        "nothing was done here"
    );
}

#[test]
fn choosing_a_lost_trace_keeps_what_it_is_compared_with() {
    let dir = scratch("ui_lost");
    let away = scratch("ui_lost_away").join("away.json.gz");
    let [trace, before] = ["torch_4_workers.json.gz", "torch_0_workers.json.gz"].map(|name| {
        let path = dir.join(name);
        fs::copy(repository("sample_traces").join(name), &path).unwrap();
        path
    });
    let kept = |path| vec![Kept::of(path, &dir)];
    let session = Session::new(kept(&trace), kept(&before), Vec::new(), Look::default());
    let file = dir.join("a.session.json");
    fs::write(&file, session.text()).unwrap();
    fs::rename(&trace, &away).unwrap();
    let found = session.find(&dir);
    assert!(found.files.is_err());
    let mut w = window();
    open(&mut w, &file);
    assert!(matches!(w.state().dialog, Some(Dialog::Error(_))));
    // What the user chooses takes the place of what is lost.
    let chosen = WhereNow {
        files: Ok(vec![away]),
        ..found
    };
    act(&mut w, Action::CloseDialog);
    act(&mut w, Action::GoOnWith(Box::new(session.clone()), chosen));
    until(&mut w, "comparison", |app| app.state.compared.is_some());
    // Without the partner it opens alone, where the user says so.
    fs::remove_file(&before).unwrap();
    fs::copy(repository("sample_traces/torch_4_workers.json.gz"), &trace).unwrap();
    let mut w = window();
    open(&mut w, &file);
    let button = egui::accesskit::Role::Button;
    w.get_by_role_and_label(button, "Open without it").click();
    until(&mut w, "the trace", |app| app.state.doc.is_some());
    assert!(w.state().state.compared.is_none());
}

#[test]
fn lanes_of_every_trace_count_for_those_that_are_opened_next() {
    let dir = scratch("ui_lanes");
    let trace = dir.join("torch_4_workers.json.gz");
    fs::copy(repository("sample_traces/torch_4_workers.json.gz"), &trace).unwrap();
    let mut w = window();
    let preset = LanePreset {
        pin: vec!["STREAM 7".to_owned()],
        hide: vec!["main thread".to_owned()],
    };
    act(&mut w, Action::KeepLanes(preset));
    open(&mut w, &trace);
    let d = doc(&w);
    let title = |key: &String| {
        let node = d.tree.find(key).expect("a lane");
        d.tree.node(node).title.clone()
    };
    let pinned: Vec<String> = d.row_state.pinned.iter().map(title).collect();
    assert!(pinned.iter().any(|t| t == "stream 7"), "{pinned:?}");
    assert!(
        d.row_state
            .hidden
            .iter()
            .map(title)
            .all(|t| t.contains("main thread"))
    );
    assert!(!d.row_state.hidden.is_empty());
}
