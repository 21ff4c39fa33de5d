//! The tabs: what they say, what a click does, what is copied.

use egui::Key;
use egui_kittest::kittest::Queryable;
use stallscope::app::{Action, Tab};
use stallscope::time::TimeRange;

use super::common::{repository, scratch};
use super::harness::*;

fn show(w: &mut Window, tab: Tab) {
    act(w, Action::ShowTab(tab));
    w.check_accessibility();
}

/// What was put on the clipboard in the last frame.
fn copied(w: &Window) -> String {
    let commands = &w.output().platform_output.commands;
    commands
        .iter()
        .find_map(|c| match c {
            egui::OutputCommand::CopyText(t) => Some(t.clone()),
            _ => None,
        })
        .expect("something was copied")
}

#[test]
fn every_tab_opens_on_every_kind_of_trace() {
    let dir = scratch("ui_tabs");
    let mut paths = vec![tiny(&dir), tiny_without_gpu(&dir)];
    paths.push(repository("sample_traces/dftracer_2_workers"));
    paths.push(repository("sample_traces/torch_4_workers.json.gz"));
    for path in paths {
        let mut w = showing(&path);
        for tab in stallscope::app::tabs() {
            show(&mut w, tab);
            act(&mut w, Action::SelectRange(None));
            ctrl(&mut w, Key::A);
        }
    }
}

#[test]
fn empty_tabs_say_why() {
    let dir = scratch("ui_empty");
    let text = r#"{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":10,"dur":5}]}"#;
    let mut w = showing(&write(&dir, "bare.json", text));
    for (tab, why) in [
        (tab("Waits"), "No batch waits were recognised"),
        (tab("CPU/GPU lag"), "No CPU span here launched GPU work"),
        (tab("Steps"), "No steps found"),
        (tab("Workers"), "No loading work is in this trace"),
        (tab("Streams"), "No GPU streams"),
        (tab("Syncs"), "No call waited for the GPU"),
        (tab("What-if"), "Nothing to compute with"),
    ] {
        show(&mut w, tab);
        w.get_by_label_contains(why);
    }
}

#[test]
fn waits_are_listed_and_a_click_goes_there() {
    let mut w = showing(&tiny(&scratch("ui_waits")));
    show(&mut w, tab("Waits"));
    w.get_by_label_contains("3 waits, 120 ms in all");
    let row = w.get_by_label_contains("Wait 40.000 ms, Hidden 0.000 ms, Exposed 40.000 ms");
    row.click();
    settle(&mut w);
    assert_eq!(doc(&w).range, Some(TimeRange::new(0, 40 * MS)));
    assert_eq!(open_tab(&w), "Waits", "the tab stays");
    w.get_by_label_contains("Exposed wait 1 of 3");
}

#[test]
fn steps_have_their_figures_and_a_click_selects_one() {
    let mut w = showing(&tiny(&scratch("ui_steps")));
    show(&mut w, tab("Steps"));
    let row = w.get_by_label_contains(
        "Step 1, Rank 0, Time 100.000 ms, Wait 40.000 ms, Exposed 20.000 ms, Hidden 20.000 ms, GPU busy 75.000 ms",
    );
    row.click();
    settle(&mut w);
    assert_eq!(doc(&w).range, Some(TimeRange::new(100 * MS, 200 * MS)));
}

#[test]
fn figures_of_steps_that_nothing_tells_are_not_zero() {
    let dir = scratch("ui_unknown_figures");
    let steps = r#"{"traceEvents":[
        {"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":100000},
        {"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":10,"dur":50000}]}"#;
    let mut w = showing(&write(&dir, "steps.json", steps));
    show(&mut w, tab("Steps"));
    w.get_by_label_contains("100 ms a step · CPU step median 100 ms");
    w.get_by_label_contains("batch waits not recorded");
    w.get_by_label_contains(
        "Step 1, Rank 0, Time 100.000 ms, Wait –, Exposed –, Hidden –, GPU busy –, GPU idle –, Launched –, \
         Operations –, In sync –, First kernel –, GPU lag –, Forward –, Backward –, Optimizer –, \
         Other 100.000 ms",
    );
    show(&mut w, tab("Selection"));
    w.get_by_label_contains("no batch waits and no GPU events recorded");

    let with_gpu = steps.replace(
        "]}",
        r#",{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":20,"dur":30000,"args":{"device":0,"stream":7}}]}"#,
    );
    let mut w = showing(&write(&dir, "gpu.json", &with_gpu));
    show(&mut w, tab("Selection"));
    w.get_by_label_contains("no batch waits recorded: exposed is unknown");
    w.get_by_label_contains("GPU busy 30 ms");
    w.get_by_label_contains("GPU idle 0 ns (0.0 %)");
}

#[test]
fn sorting_turns_around() {
    let mut w = showing(&tiny(&scratch("ui_sort")));
    show(&mut w, tab("Steps"));
    let tops = |w: &Window| -> Vec<f32> {
        (0..3)
            .map(|i| {
                w.get_by_label_contains(&format!("Step {i}, Rank 0"))
                    .rect()
                    .top()
            })
            .collect()
    };
    assert!(tops(&w).is_sorted());
    for _ in 0..2 {
        w.get_by_label("Sort by Step").click();
        w.run_steps(3);
    }
    let mut back = tops(&w);
    back.reverse();
    assert!(back.is_sorted(), "{back:?}");
}

#[test]
fn tables_and_spans_are_copied_as_tsv() {
    let mut w = showing(&tiny(&scratch("ui_copy")));
    show(&mut w, tab("Waits"));
    w.get_by_label("Copy as TSV").click();
    w.run_steps(1);
    let ctx = w.ctx.clone();
    w.state_mut().apply(&ctx, Action::CopyTable);
    w.step();
    let text = copied(&w);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[0].starts_with("Step\tRank\tStart (ms)\tWait (ms)\tHidden (ms)\tExposed (ms)"));
    assert!(
        lines[1].contains("\t40.000000\t0.000000\t40.000000\t"),
        "{text}"
    );

    let trace = doc(&w).trace.clone();
    let kernel = trace
        .spans()
        .ids()
        .find(|&s| trace.span_name(s) == "gemm_kernel")
        .expect("one");
    act(&mut w, Action::RevealSpan(kernel));
    w.event(egui::Event::Copy);
    w.step();
    let text = copied(&w);
    for part in [
        "Name\tgemm_kernel",
        "Duration (ns)\t75000000",
        "stream\t7",
        "grid\t[0,1,1]",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn the_inspector_shows_args_and_the_gpu_side() {
    let mut w = showing(&tiny(&scratch("ui_inspector")));
    let trace = doc(&w).trace.clone();
    let forward = trace
        .spans()
        .ids()
        .find(|&s| trace.span_name(s) == "forward")
        .expect("one");
    act(&mut w, Action::RevealSpan(forward));
    w.get_by_label("GPU launched");
    w.get_by_label("74.500 ms");
    let kernel = trace
        .spans()
        .ids()
        .find(|&s| trace.span_name(s) == "gemm_kernel")
        .expect("one");
    act(&mut w, Action::RevealSpan(kernel));
    w.get_by_label("grid");
    w.get_by_label("[0,1,1]");
    w.get_by_label_contains("selected span gemm_kernel");
}

#[test]
fn the_verdict_names_the_bound_and_shows_where() {
    let mut w = showing(&repository("sample_traces/torch_0_workers.json.gz"));
    w.get_by_label_contains("Input-bound");
    let show = w
        .query_all_by_label_contains("Show enumerate")
        .next()
        .expect("evidence");
    show.click();
    settle(&mut w);
    let range = doc(&w).range.expect("the place is selected");
    assert!(doc(&w).viewport.range().covers(range));
}

#[test]
fn what_if_answers_for_a_recorded_loader() {
    let mut w = showing(&repository("sample_traces/dftracer_2_workers"));
    show(&mut w, tab("What-if"));
    w.get_by_label("Step");
    w.get_by_label_contains("Measured per batch");
    w.get_by_label("measured");
    w.get_by_role_and_label(egui::accesskit::Role::Slider, "Workers")
        .focus();
    w.run_steps(2);
    w.key_press(Key::ArrowRight);
    settle(&mut w);
    // From the five that are recommended.
    w.get_by_label("6 workers");
}
