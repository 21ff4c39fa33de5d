//! From a wait to what held it up, by keys and by the mouse; what each worker made.

use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use stallscope::analysis::ChainPart;
use stallscope::app::{Action, Command};
use stallscope::model::SpanId;

use super::common::repository;
use super::harness::*;

/// A sample whose workers are recorded, and its longest wait with a chain down to a read.
fn waiting() -> (Window, usize) {
    let w = showing(&repository("sample_traces/dftracer_2_workers"));
    let analysis = &doc(&w).analysis;
    let whole = |&i: &usize| analysis.chain(i).len() == 3;
    let length = |&i: &usize| analysis.waits()[i].range.len();
    let all = 0..analysis.waits().len();
    let wait = all.filter(whole).max_by_key(length);
    let wait = wait.expect("a wait of which the batch, the item and the read are known");
    (w, wait)
}

#[test]
fn enter_goes_from_a_wait_to_the_read_and_back() {
    let (mut w, wait) = waiting();
    act(&mut w, Action::ShowWait(wait));
    let at = |w: &Window| doc(w).span;
    let top = doc(&w).analysis.waits()[wait].span;
    let links = doc(&w).analysis.chain(wait);
    let parts: Vec<ChainPart> = links.iter().map(|l| l.what).collect();
    assert_eq!(parts, [ChainPart::Batch, ChainPart::Item, ChainPart::Read]);
    let spans: Vec<SpanId> = links.iter().map(|l| l.span).collect();
    // The batch was made by a worker; the item is inside, and the read inside that.
    let lane = |s: SpanId| doc(&w).trace.spans().lane(s);
    assert_ne!(lane(spans[0]), lane(top));
    assert!(spans.iter().all(|&s| lane(s) == lane(spans[0])));
    let range = |s: SpanId| doc(&w).trace.spans().range(s);
    assert!(links[0].range.covers(range(spans[1])));
    assert!(range(spans[1]).covers(range(spans[2])));
    for &span in &spans {
        key(&mut w, Key::Enter);
        assert_eq!(at(&w), Some(span));
    }
    // There is nothing below a read.
    assert!(!w.state().state.can(Command::TowardsCause));
    key(&mut w, Key::Enter);
    assert_eq!(at(&w), Some(spans[2]));
    w.key_press_modifiers(Modifiers::SHIFT, Key::Enter);
    settle(&mut w);
    assert_eq!(at(&w), Some(spans[1]));
    for span in [spans[0], top] {
        key(&mut w, Key::Backspace);
        assert_eq!(at(&w), Some(span));
    }
    assert!(!w.state().state.can(Command::TowardsWait));
    // While something is searched for, Enter goes through what was found.
    act(&mut w, Action::SearchFor("item".to_owned()));
    until(&mut w, "hits", |app| {
        let doc = app.state.doc.as_ref().expect("open");
        !doc.search.hits.is_empty()
    });
    assert!(!w.state().state.can(Command::TowardsCause));
}

#[test]
fn the_details_of_a_wait_say_what_it_was_spent_on_and_lead_down() {
    let (mut w, wait) = waiting();
    act(&mut w, Action::ShowWait(wait));
    let analysis = doc(&w).analysis.clone();
    let cause = analysis.cause(wait).expect("its cause");
    let spent = cause.spent();
    let sum: i64 = spent.iter().map(|s| s.ns).sum();
    assert_eq!(sum, analysis.waits()[wait].range.len());
    let bar = spent.iter().map(|s| s.text(stallscope::time::about_ns));
    let bar = bar.collect::<Vec<_>>().join(", ");
    // As the bar's name, and as a line.
    assert!(w.query_all_by_label(&bar).count() >= 2, "{bar}");
    let button = egui::accesskit::Role::Button;
    w.get_by_role_and_label(button, "Item").click();
    settle(&mut w);
    let item = analysis.chain(wait)[1].span;
    assert_eq!(doc(&w).span, Some(item));
    // The way back is still there.
    w.get_by_role_and_label(button, "Wait").click();
    settle(&mut w);
    assert_eq!(doc(&w).span, Some(analysis.waits()[wait].span));
}

#[test]
fn workers_show_their_batches_and_which_came_late() {
    let (mut w, _) = waiting();
    let tab = stallscope::app::tabs().find(|t| t.title == "Workers");
    act(&mut w, Action::ShowTab(tab.expect("the tab")));
    let analysis = doc(&w).analysis.clone();
    let made = analysis.made_batches(0, analysis.trace().extent());
    let late = made.iter().filter(|b| b.late == Some(true)).count();
    let text = format!(
        "Batches by worker: {late} of {} were not ready when the loop asked (hatched).",
        made.len()
    );
    w.get_by_label(&text);
    // Each wait that was told is that of one batch, which was ready before its end.
    let mut waits: Vec<usize> = made.iter().filter_map(|b| b.wait).collect();
    let told = waits.len();
    waits.sort_unstable();
    waits.dedup();
    assert_eq!((waits.len(), told > 0), (told, true));
    for batch in made.iter().filter(|b| b.wait.is_some()) {
        let wait = analysis.waits()[batch.wait.unwrap()].range;
        assert!(batch.range.end <= wait.end + 2_000, "{batch:?}");
        assert_eq!(batch.late, Some(batch.range.end > wait.start));
    }
}
