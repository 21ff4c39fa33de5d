//! A folder of many ranks: the matrix first, a click opens the trace of a rank.

use std::path::PathBuf;

use egui::{Key, pos2};
use egui_kittest::kittest::Queryable;
use stallscope::app::{Action, Command, Request};

use super::common::scratch;
use super::harness::*;
use crate::late_ranks::{Step, job};

const MS: i64 = 1_000_000;

/// Eighteen ranks, of which the 11th is late.
fn folder(name: &str) -> PathBuf {
    let folder = scratch(name);
    let numbers: Vec<u32> = (0..18).collect();
    job(
        &folder,
        12,
        &numbers,
        |_| 0,
        |r, _| Step {
            wait: if r == 11 { 20 * MS } else { MS },
            compute: 8 * MS,
        },
    );
    folder
}

fn opened(window: &Window) -> Vec<String> {
    let sources = doc(window).trace.sources().iter();
    sources
        .map(|s| s.path.file_name().unwrap().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn many_ranks_show_as_a_matrix_and_a_click_opens_one() {
    let mut w = window();
    open(&mut w, &folder("ui_ranks"));
    let state = &w.state().state;
    assert!(state.doc.is_none() && state.shows_ranks());
    // Also to who cannot see it.
    let said = w.query_all_by_label_contains("Rank 11 holds up the job");
    assert!(said.count() > 0);
    w.check_accessibility();
    // The rank that costs most stands first.
    click(&mut w, pos2(400.0, 146.0));
    until(&mut w, "a trace", |app| app.state.doc.is_some());
    settle(&mut w);
    assert_eq!(opened(&w), ["rank11.json"]);
    assert!(!w.state().state.shows_ranks());
    // And back, and back again.
    act(&mut w, Action::Do(Command::Ranks));
    assert!(w.state().state.shows_ranks());
    // Commands of the timeline have nothing to act on meanwhile.
    assert!(!w.state().state.can(Command::NextWait));
    key(&mut w, Key::Escape);
    assert!(!w.state().state.shows_ranks());
    // A drag opens several.
    act(&mut w, Action::Do(Command::Ranks));
    drag(&mut w, pos2(400.0, 146.0), pos2(400.0, 166.0));
    until(&mut w, "two traces", |app| {
        app.state
            .doc
            .as_ref()
            .is_some_and(|d| d.trace.sources().len() > 1)
    });
    settle(&mut w);
    assert_eq!(opened(&w)[0], "rank0.json");
    assert!(opened(&w).contains(&"rank11.json".to_owned()));
}

#[test]
fn chosen_ranks_open_alone_and_other_traces_forget_the_matrix() {
    let folder = folder("ui_ranks_chosen");
    let mut w = window();
    let ctx = w.ctx.clone();
    let request = Request {
        ranks: vec![3, 11],
        ..request(&folder)
    };
    w.state_mut().open(&ctx, request);
    until(&mut w, "two ranks", |app| app.state.doc.is_some());
    settle(&mut w);
    assert_eq!(opened(&w), ["rank11.json", "rank3.json"]);
    assert!(w.state().state.ranks.is_none());
    open(&mut w, &folder);
    assert!(w.state().state.shows_ranks());
    let tiny = tiny(&scratch("ui_ranks_tiny"));
    open(&mut w, &tiny);
    assert!(w.state().state.ranks.is_none());
}

#[test]
fn a_stopped_opening_of_ranks_leaves_nothing() {
    let folder = folder("ui_ranks_stopped");
    let mut w = window();
    let ctx = w.ctx.clone();
    w.state_mut().open(&ctx, request(&folder));
    act(&mut w, Action::CancelLoading);
    settle(&mut w);
    let state = &w.state().state;
    assert!(state.loading.is_none() && state.ranks.is_none() && state.doc.is_none());
}
