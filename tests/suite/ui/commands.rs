//! Commands, keys, typing, and a whole job without a mouse.

use std::sync::Arc;

use egui::{Event, Key, Modifiers, PointerButton};
use egui_kittest::kittest::Queryable;
use stallscope::app::{Action, Command, Dialog, Store};
use stallscope::import::Progress;
use stallscope::time::TimeRange;

use super::common::scratch;
use super::harness::*;

#[test]
fn every_command_is_in_the_palette_and_in_help_where_it_has_keys() {
    let mut w = sized(1_400.0, 2_400.0, Store::none());
    w.key_press(Key::F1);
    w.run_steps(3);
    assert!(matches!(w.state().dialog, Some(Dialog::Help(_))));
    for command in stallscope::app::commands() {
        let listed = w.query_all_by_label(command.text()).next().is_some();
        if command.shortcuts().is_empty() {
            assert!(!listed, "{command:?} has no key to look up");
        } else {
            assert!(listed, "{command:?} is not in the help sheet");
        }
    }
    w.check_accessibility();
    w.key_press(Key::Escape);
    w.run_steps(2);
    assert!(w.state().dialog.is_none());
    let both = Modifiers {
        shift: true,
        ..Modifiers::COMMAND
    };
    for command in stallscope::app::commands() {
        w.key_press_modifiers(both, Key::P);
        w.run_steps(2);
        w.event(Event::Text(command.text().to_owned()));
        w.run_steps(3);
        w.get_by_role_and_label(egui::accesskit::Role::MenuItem, command.text());
        w.key_press(Key::Escape);
        w.run_steps(2);
        assert!(w.state().dialog.is_none(), "{command:?}");
    }
}

#[test]
fn the_palette_runs_what_is_chosen() {
    let mut w = showing(&tiny(&scratch("ui_palette")));
    let both = Modifiers {
        shift: true,
        ..Modifiers::COMMAND
    };
    w.key_press_modifiers(both, Key::P);
    w.run_steps(2);
    w.event(Event::Text("select all".to_owned()));
    w.run_steps(2);
    key(&mut w, Key::Enter);
    assert!(w.state().dialog.is_none());
    assert_eq!(doc(&w).range, Some(TimeRange::new(0, 320 * MS)));
}

#[test]
fn letters_are_text_while_typing_in_the_search_box() {
    let mut w = showing(&tiny(&scratch("ui_typing")));
    let view = doc(&w).viewport.window();
    key(&mut w, Key::Slash);
    for (letter, text) in [
        (Key::N, "n"),
        (Key::S, "s"),
        (Key::F, "f"),
        (Key::Q, "q"),
        (Key::X, "x"),
        (Key::Num0, "0"),
    ] {
        w.key_press(letter);
        w.event(Event::Text(text.to_owned()));
        w.run_steps(2);
    }
    assert_eq!(doc(&w).search.text, "nsfqx0");
    assert_eq!(doc(&w).viewport.window(), view);
    assert_eq!(doc(&w).range, None);
    assert!(w.state().state.settings.details_open && w.state().state.settings.exposed_columns);
    // Esc leaves the box and clears the search; then letters are keys again.
    key(&mut w, Key::Escape);
    assert_eq!(doc(&w).search.text, "");
    key(&mut w, Key::N);
    assert!(doc(&w).range.is_some());
}

#[test]
fn the_search_finds_filters_and_walks() {
    let mut w = showing(&tiny(&scratch("ui_search")));
    key(&mut w, Key::Slash);
    w.event(Event::Text("GEMM".to_owned()));
    settle(&mut w);
    w.get_by_label("3 found");
    key(&mut w, Key::Enter);
    w.get_by_label("1 of 3");
    let first = doc(&w).span.expect("a hit is selected");
    key(&mut w, Key::Enter);
    assert_ne!(doc(&w).span, Some(first));
    for (query, hits) in [
        ("layer:fetch", 3),
        ("dur>60ms gemm", 3),
        ("dur>80ms step", 3),
        ("lane:7", 3),
        ("=\"forward\"", 3),
        ("nothing at all", 0),
    ] {
        act(&mut w, Action::SearchFor(query.to_owned()));
        assert_eq!(doc(&w).search.hits.len(), hits, "{query}");
    }
    act(&mut w, Action::SearchFor("dur>soon".to_owned()));
    w.get_by_label_contains("write a time");
}

#[test]
fn a_job_can_be_done_with_keys_alone() {
    let dir = scratch("ui_keys");
    let path = tiny(&dir);
    let mut w = window();
    // Opened from the Recent list by Tab and Enter: what a former session left.
    w.state_mut().state.settings.add_recent(&[path]);
    w.run_steps(2);
    let mut reached = false;
    for _ in 0..40 {
        w.key_press(Key::Tab);
        w.run_steps(2);
        let name = w.query_all_by_label_contains("tiny.json, ").next();
        if name.is_some_and(|n| n.is_focused()) {
            reached = true;
            break;
        }
    }
    assert!(reached, "Tab reaches the recent file");
    w.key_press(Key::Enter);
    until(&mut w, "opening", |app| app.state.doc.is_some());
    settle(&mut w);
    // A span, its range, the figures, the picture.
    key(&mut w, Key::Period);
    key(&mut w, Key::R);
    ctrl(&mut w, Key::Num1);
    let (_, range) = figures(&mut w);
    assert_eq!(doc(&w).range, Some(range));
    assert_eq!(open_tab(&w), "Selection");
    w.get_by_label_contains("Exposed wait");
    // The longest exposed wait, and what the waits have in common.
    key(&mut w, Key::L);
    assert_eq!(doc(&w).walk.position(), Some(1));
    assert!(doc(&w).span.is_some());
    // From a tab's key it is a few steps (copy, headings) to the rows, and Enter shows one.
    ctrl(&mut w, Key::Num3);
    let mut shown = false;
    for _ in 0..4 {
        w.key_press(Key::Tab);
        w.run_steps(2);
        let mut rows = w.query_all_by_label_contains(", Rank 0, Start");
        if rows.any(|r| r.is_focused()) {
            shown = true;
            break;
        }
    }
    assert!(shown, "Tab reaches the rows of the Waits table");
    w.key_press(Key::Enter);
    settle(&mut w);
    let by_row = doc(&w).walk.position();
    assert!(by_row.is_some());
    // An arrow goes on to the next tab.
    ctrl(&mut w, Key::Num3);
    key(&mut w, Key::ArrowRight);
    assert_eq!(open_tab(&w), "CPU/GPU lag");
    let file = dir.join("keys.png");
    ctrl(&mut w, Key::E);
    // The focus is on Save; Shift+Tab leads back to the name.
    w.key_press_modifiers(Modifiers::SHIFT, Key::Tab);
    w.run_steps(2);
    assert!(w.get_by_label("File").is_focused());
    w.key_press_modifiers(Modifiers::COMMAND, Key::A);
    w.event(Event::Text(file.display().to_string()));
    w.run_steps(2);
    w.key_press(Key::Enter);
    until(&mut w, "the picture", |app| {
        app.state.last_written.is_some()
    });
    assert!(
        std::fs::read(&file)
            .expect("written")
            .starts_with(b"\x89PNG")
    );
}

#[test]
fn places_on_the_keyboard_zoom_in_any_layout() {
    let mut w = showing(&tiny(&scratch("ui_places")));
    let press = |w: &mut Window, key: Key, place: Key| {
        for pressed in [true, false] {
            w.event(Event::Key {
                key,
                physical_key: Some(place),
                pressed,
                repeat: false,
                modifiers: Modifiers::NONE,
            });
        }
        settle(w);
    };
    let before = doc(&w).viewport.window().len;
    // AZERTY: Z is where W is.
    press(&mut w, Key::Z, Key::W);
    let zoomed = doc(&w).viewport.window().len;
    assert!((before / zoomed - 1.25).abs() < 0.01);
    press(&mut w, Key::S, Key::S);
    press(&mut w, Key::D, Key::D);
    assert!((doc(&w).viewport.window().len - before).abs() < 1.0);
}

#[test]
fn remembered_views_come_back() {
    let dir = scratch("ui_memory");
    let path = tiny(&dir);
    let config = dir.join("config");
    let mut w = sized(1_400.0, 900.0, Store::in_dir(&config));
    open(&mut w, &path);
    act(
        &mut w,
        Action::ViewRange(TimeRange::new(100 * MS, 140 * MS)),
    );
    act(
        &mut w,
        Action::SelectRange(Some(TimeRange::new(110 * MS, 120 * MS))),
    );
    act(&mut w, Action::ShowTab(tab("Steps")));
    let window = doc(&w).viewport.range();
    w.state_mut().save_now();
    let mut again = sized(1_400.0, 900.0, Store::in_dir(&config));
    open(&mut again, &path);
    assert_eq!(doc(&again).range, Some(TimeRange::new(110 * MS, 120 * MS)));
    let back = doc(&again).viewport.range();
    assert!((back.start - window.start).abs() <= 2 && (back.end - window.end).abs() <= 2);
    assert_eq!(open_tab(&again), "Steps");
    assert_eq!(again.state().state.settings.recent, [vec![path]]);
}

#[test]
fn esc_closes_a_menu_and_nothing_else() {
    let mut w = showing(&tiny(&scratch("ui_esc")));
    let range = TimeRange::new(100 * MS, 140 * MS);
    act(&mut w, Action::SelectRange(Some(range)));
    let lane = at(&w, 120 * MS, doc(&w).canvas[3] - 40.0);
    w.hover_at(lane);
    w.step();
    press(&w, lane, PointerButton::Secondary, true, Modifiers::NONE);
    w.step();
    press(&w, lane, PointerButton::Secondary, false, Modifiers::NONE);
    w.run_steps(3);
    w.get_by_label_contains("Copy command for this view");
    key(&mut w, Key::Escape);
    assert_eq!(doc(&w).range, Some(range));
    assert!(
        w.query_by_label_contains("Copy command for this view")
            .is_none()
    );
    key(&mut w, Key::Escape);
    assert_eq!(doc(&w).range, None);
}

#[test]
fn dialogs_keep_to_a_window_that_shrinks() {
    let mut w = showing(&tiny(&scratch("ui_shrink")));
    for command in [Command::ExportPng, Command::Help, Command::Notices] {
        w.set_size(egui::Vec2::new(1_400.0, 900.0));
        w.run_steps(3);
        act(&mut w, Action::Do(command));
        w.set_size(egui::Vec2::new(760.0, 600.0));
        w.run_steps(6);
        let cross = w.get_by_label("Close").rect();
        assert!(cross.max.x <= 760.0, "{command:?}: {cross:?}");
        act(&mut w, Action::CloseDialog);
    }
}

#[test]
fn a_group_opens_and_closes_by_key() {
    let mut w = showing(&tiny(&scratch("ui_group")));
    key(&mut w, Key::Period);
    assert!(doc(&w).span.is_some());
    let rows = doc(&w).rows.rows().len();
    key(&mut w, Key::G);
    assert!(doc(&w).rows.rows().len() < rows);
    key(&mut w, Key::G);
    assert_eq!(doc(&w).rows.rows().len(), rows);
    // Lanes by command: hidden, brought back, alone.
    let height = doc(&w).rows.height();
    act(&mut w, Action::Do(Command::HideLane));
    assert!(doc(&w).rows.height() < height);
    act(&mut w, Action::Do(Command::ShowHidden));
    assert_eq!(doc(&w).rows.height(), height);
    act(&mut w, Action::Do(Command::OnlyLane));
    assert!(doc(&w).rows.height() < height);
    act(&mut w, Action::Do(Command::OnlyLane));
    assert_eq!(doc(&w).rows.height(), height);
}

#[test]
fn another_thread_can_be_made_the_loop_and_the_evidence_asked_again() {
    let folder = scratch("ui_loop");
    let text = std::fs::read_to_string(tiny(&folder)).expect("written");
    // The thread that prepares batches waits, and launches nothing.
    let text = text.replace(
        r#"Iter.__next__","pid":100,"tid":100"#,
        r#"Iter.__next__","pid":100,"tid":107"#,
    );
    let mut w = showing(&write(&folder, "prefetch.json", &text));
    let key_of_loop = |w: &Window| {
        let doc = doc(w);
        let lane = doc.analysis.ranks()[0].loop_lane;
        lane.map(|l| doc.trace.lane(l).key.clone())
    };
    let lane = |w: &Window, key: &str| {
        let trace = &doc(w).trace;
        let lane = trace.lane_ids().find(|&l| trace.lane(l).key == key);
        lane.expect("a lane")
    };
    assert_eq!(key_of_loop(&w).as_deref(), Some("C100.100"));
    let other = lane(&w, "C100.107");
    act(&mut w, Action::ToggleLoop(other));
    until(&mut w, "opening", |app| app.state.loading.is_none());
    assert_eq!(key_of_loop(&w).as_deref(), Some("C100.107"));
    act(&mut w, Action::Do(Command::CopyCommand));
    assert_eq!(doc(&w).loops, ["C100.107"]);
    // Reading again keeps it; the same command takes it back.
    act(&mut w, Action::Do(Command::Reload));
    until(&mut w, "opening", |app| app.state.loading.is_none());
    assert_eq!(key_of_loop(&w).as_deref(), Some("C100.107"));
    let span = doc(&w).trace.lane_spans(other).next();
    act(&mut w, Action::SelectSpan(span));
    act(&mut w, Action::Do(Command::UseAsLoop));
    until(&mut w, "opening", |app| app.state.loading.is_none());
    assert_eq!(key_of_loop(&w).as_deref(), Some("C100.100"));
    // A stream of the GPU can be none.
    let stream = lane(&w, "G0.7");
    assert_eq!(doc(&w).loops_with(stream), None);
}

#[test]
fn a_window_that_is_saved_says_how_far_it_is_and_can_be_stopped() {
    let mut w = showing(&tiny(&scratch("ui_saving")));
    let progress = Arc::new(Progress::new());
    w.state_mut().state.saving = Some(Arc::clone(&progress));
    w.run_steps(2);
    let title = "Saving the range as a trace";
    // Its file is being chosen.
    assert!(w.query_by_label(title).is_none());
    progress.add_total(3 << 20);
    progress.add_done(2 << 20);
    w.run_steps(2);
    assert!(w.query_by_label(title).is_some());
    assert!(w.query_by_label("2.0 MiB of 3.0 MiB read").is_some());
    w.key_press(Key::Escape);
    w.run_steps(2);
    assert!(progress.is_cancelled());
}
