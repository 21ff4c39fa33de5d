//! Session files in the window: the trace as it was looked at, what it was compared with, and asking for what is lost.

use std::fs;

use stallscope::app::{Action, Dialog};
use stallscope::session::{Kept, Look, Session};

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
