//! Files of several runs were opened together: one is chosen to be looked at.

use egui_kittest::kittest::Queryable;
use stallscope::app::Dialog;

use super::common::scratch;
use super::harness::*;
use crate::simulated;

#[test]
fn of_unrelated_runs_one_is_chosen() {
    let folder = scratch("ui_runs");
    for n in 1..=2_u32 {
        let mut job = simulated::small(u64::from(n));
        job.pid += 100 * n;
        job.unix_origin += i64::from(n) * 60 * simulated::SECOND;
        let run = simulated::write(job, &simulated::AGREE);
        std::fs::copy(&run.torch()[0], folder.join(format!("run{n}.json"))).expect("written");
    }
    let mut w = window();
    open(&mut w, &folder);
    let Some(Dialog::Runs(dialog)) = &w.state().dialog else {
        panic!("no choice is offered");
    };
    assert_eq!(dialog.runs.len(), 2);
    assert!(
        dialog.runs[0].title.contains("run1.json"),
        "{}",
        dialog.runs[0].title
    );
    assert!(
        dialog.runs[1].about.contains("after the one above"),
        "{}",
        dialog.runs[1].about
    );
    w.get_by_label("Open run 2").click();
    until(&mut w, "the chosen run", |app| {
        let doc = app.state.doc.as_ref();
        app.state.loading.is_none() && doc.is_some_and(|d| d.trace.sources().len() == 1)
    });
    settle(&mut w);
    let path = &doc(&w).trace.sources()[0].path;
    assert!(path.ends_with("run2.json"), "{}", path.display());
    assert!(w.state().dialog.is_none());
}
