//! The Names tab: figures, filters, what a click does, and the way there from a layer.

use egui::Key;
use egui_kittest::kittest::Queryable;
use stallscope::app::Action;
use stallscope::time::TimeRange;

use super::common::scratch;
use super::harness::*;

#[test]
fn names_follow_the_selection_and_a_click_shows_the_longest() {
    let mut w = showing(&tiny(&scratch("ui_names")));
    act(&mut w, Action::ShowTab(tab("Names")));
    w.get_by_label_contains("Of the whole trace");
    let row = "Name gemm_kernel, Layer GPU compute, Self 225.000 ms, % of layer 100.0 %, Total 225.000 ms, Count 3, \
        Mean 75.000 ms, p95 75.000 ms, Max 75.000 ms, While GPU idle –";
    w.get_by_label_contains(row);
    let fetch = "Layer Batch wait, Self 120.000 ms, % of layer 100.0 %, Total 120.000 ms, Count 3, Mean 40.000 ms, \
        p95 40.000 ms, Max 40.000 ms, While GPU idle 80.000 ms";
    w.get_by_label_contains(fetch);
    w.check_accessibility();
    // From 10 ms after the first kernel began to 10 ms after the second one did.
    act(
        &mut w,
        Action::SelectRange(Some(TimeRange::new(55 * MS, 155 * MS))),
    );
    let cut = "Name gemm_kernel, Layer GPU compute, Self 75.000 ms, % of layer 100.0 %, Total 75.000 ms, Count 2, \
        Mean 75.000 ms";
    let row = w.get_by_label_contains(cut);
    row.click();
    settle(&mut w);
    let span = doc(&w).span.expect("the longest is selected");
    assert_eq!(doc(&w).trace.span_name(span), "gemm_kernel");
    assert_eq!(open_tab(&w), "Names", "the tab stays");
    assert_eq!(doc(&w).range, Some(TimeRange::new(55 * MS, 155 * MS)));
}

#[test]
fn a_layer_of_the_selection_opens_its_names() {
    let mut w = showing(&tiny(&scratch("ui_names_of")));
    act(&mut w, Action::ShowTab(tab("Selection")));
    w.get_by_label_contains("Launch call, Wall").click();
    settle(&mut w);
    assert_eq!(open_tab(&w), "Names");
    w.get_by_label_contains("1 of 7 names");
    w.get_by_label_contains("Name cudaLaunchKernel, Layer Launch call");
    assert!(w.query_by_label_contains("Name gemm_kernel").is_none());
    w.get_by_label("Show all names").click();
    settle(&mut w);
    w.get_by_label_contains("Name gemm_kernel");

    w.get_by_label("Filter names").focus();
    w.run_steps(2);
    w.get_by_label("Filter names").type_text("GEMM");
    settle(&mut w);
    w.get_by_label_contains("1 of 7 names");
    w.get_by_label("Filter names").type_text(" not there");
    settle(&mut w);
    w.get_by_label_contains("No name in this range passes the filters");
    w.key_press(Key::Escape);
    settle(&mut w);
}
