//! What a record of the loop alone may say: which of its loaders work by themselves, and that its own work is no loading.

use std::path::PathBuf;

use serde_json::{Value, json};
use stallscope::analysis::{Level, Reason};

use super::analysis;
use crate::common::scratch;

const MULTI: &str = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
const SINGLE: &str = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";

/// A span of the loop's thread; times in ms.
fn span(cat: &str, name: &str, start: f64, end: f64) -> Value {
    json!({"ph": "X", "cat": cat, "name": name, "pid": 500, "tid": 500, "ts": 1e6 + start * 1e3, "dur": (end - start) * 1e3})
}

/// Steps of 10 ms that wait for 4 of them, by one loader and then by another.
fn steps(first: &str, then: &str) -> Vec<Value> {
    let mut events = Vec::new();
    for k in 0..8 {
        let at = f64::from(k) * 10.0;
        let name = if k < 5 { first } else { then };
        events.push(span(
            "user_annotation",
            &format!("ProfilerStep#{k}"),
            at,
            at + 10.0,
        ));
        events.push(span("user_annotation", name, at, at + 4.0));
        events.push(span("cpu_op", "aten::mm", at + 5.0, at + 9.0));
    }
    events
}

fn file(name: &str, events: &[Value]) -> Vec<PathBuf> {
    let path = scratch(name).join("torch.json");
    let text = json!({"schemaVersion": 1, "traceEvents": events}).to_string();
    std::fs::write(&path, text).expect("written");
    vec![path]
}

#[test]
fn a_loader_without_workers_says_nothing_of_another_one() {
    let analysis = analysis(&file("cause_two_loaders", &steps(MULTI, SINGLE))).expect("opens");
    let waits = &analysis.causes(0).waits;
    let reasons: Vec<Option<Reason>> = waits.iter().map(|c| c.reason).collect();
    assert_eq!(reasons[..5], [Some(Reason::NoWorkers); 5]);
    assert_eq!(reasons[5..], [Some(Reason::LoopNotRecorded); 3]);
    assert!(waits[..5].iter().all(|c| c.level == Some(Level::L0)));
}

#[test]
fn what_a_loop_does_in_its_waits_is_no_loading_unless_it_loads() {
    let mut events = steps(MULTI, MULTI);
    // One range that sounds like loading, and an operator inside each wait.
    events.push(span("user_annotation", "collate", 6.0, 7.0));
    for k in 0..8 {
        let at = f64::from(k) * 10.0;
        events.push(span("cpu_op", "aten::empty", at + 1.0, at + 3.0));
    }
    let analysis = analysis(&file("cause_no_loading", &events)).expect("opens");
    for cause in &analysis.causes(0).waits {
        assert_eq!((cause.level, cause.made), (Some(Level::L0), None));
        assert_eq!(cause.reason, Some(Reason::NoWorkers));
    }
}
