//! Rows that lie in each other: callers of waits and of GPU work, opened and closed.

use egui_kittest::kittest::{NodeT, Queryable};
use stallscope::app::Action;

use super::common::{repository, scratch};
use super::harness::*;

#[test]
fn a_caller_opens_to_its_calls() {
    let mut w = showing(&tiny_with_syncs());
    act(&mut w, Action::ShowTab(tab("Syncs")));
    w.check_accessibility();
    // One caller alone is open at first.
    let call = "Called by cudaStreamSynchronize, Calls –, Time 2.000 ms";
    assert_eq!(w.query_all_by_label_contains(call).count(), 2);
    w.get_by_label("Close train.py(3): main › aten::item")
        .click();
    settle(&mut w);
    assert_eq!(w.query_all_by_label_contains(call).count(), 0);
    let caller = "Called by train.py(3): main › aten::item, Calls 2, Time 4.000 ms";
    w.get_by_label_contains(caller).click();
    settle(&mut w);
    assert!(doc(&w).span.is_some(), "the longest call");
    w.get_by_label("Open train.py(3): main › aten::item")
        .click();
    settle(&mut w);
    assert_eq!(w.query_all_by_label_contains(call).count(), 2);
    // Copied are all, whatever is open.
    w.get_by_label("Close train.py(3): main › aten::item")
        .click();
    settle(&mut w);
    w.get_by_label("Copy as TSV").click();
    w.run_steps(1);
    let text = w
        .output()
        .platform_output
        .commands
        .iter()
        .find_map(|c| match c {
            egui::OutputCommand::CopyText(t) => Some(t.clone()),
            _ => None,
        });
    assert_eq!(text.map(|t| t.lines().count()), Some(4));
}

fn tiny_with_syncs() -> std::path::PathBuf {
    let x = |cat: &str, name: &str, ts: i64, dur: i64| {
        format!(
            r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}"#
        )
    };
    let mut events = vec![x("python_function", "train.py(3): main", 0, 100_000)];
    for t in [10_000, 50_000] {
        events.push(x("cpu_op", "aten::item", t, 3_000));
        events.push(x("cuda_runtime", "cudaStreamSynchronize", t + 500, 2_000));
    }
    let text = format!(r#"{{"traceEvents":[{}]}}"#, events.join(","));
    write(&scratch("ui_callers"), "syncs.json", &text)
}

#[test]
fn lag_rows_open_to_what_lies_in_them() {
    let mut w = showing(&repository("sample_traces/torch_real_rank1.json.gz"));
    act(&mut w, Action::ShowTab(tab("CPU/GPU lag")));
    w.check_accessibility();
    let name = |label: String| label.trim_start_matches("Open ").to_owned();
    let first = w.query_all_by_label_contains("Open ").find_map(|n| {
        let label = n.accesskit_node().label()?;
        (label.starts_with("Open ") && !label.ends_with('…')).then(|| name(label))
    });
    let first = first.expect("a row with rows in it");
    let rows = |w: &Window| w.query_all_by_label_contains("GPU launched").count();
    let before = rows(&w);
    w.get_by_label(&format!("Open {first}")).click();
    settle(&mut w);
    assert!(rows(&w) > before, "{first} shows what lies in it");
}
