//! `stallscope why` as people run it.

use serde_json::Value;

use super::made::{self, Run};
use crate::common::program::run;
use crate::common::shared;

/// Exit code, stdout, stderr.
fn why(args: &[&str]) -> (i32, String, String) {
    run(&[&["why"], args].concat())
}

fn slow_worker(name: &str) -> String {
    let run = Run {
        workers: 4,
        batches: 24,
        body: 3_000,
        slow_worker: Some(2),
        ..Run::default()
    };
    let (folder, _) = made::run(name, &run);
    folder.to_str().expect("UTF-8").to_owned()
}

#[test]
fn the_text_says_what_each_share_is_of() {
    let folder = slow_worker("why_text");
    let (code, out, err) = why(&[&folder]);
    assert_eq!(code, 0, "{err}");
    for part in [
        "Comes from: a slow worker",
        "Worker 2 takes",
        "judged: those whose batch was late.",
        "of all waiting",
        "busy in judged",
        "(worker 2, pid 503; by order)",
        "more waits were shorter: --top N shows them.",
    ] {
        assert!(out.contains(part), "`{part}` is missing in:\n{out}");
    }
}

#[test]
fn nothing_is_handed_over_in_a_loop_that_loads_by_itself() {
    let name =
        "traces/torch/AMD-AGI-TraceLens__h100_google_owlv2-large-patch14-ensemble__1016001.json.gz";
    let Some(path) = shared(name) else {
        return;
    };
    let (code, out, err) = why(&[path.to_str().expect("UTF-8")]);
    assert_eq!(code, 0, "{err}");
    // Lines are broken where the terminal ends.
    let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "loading in the loop, mostly code of the loader that has no name in the record.",
        "itself: code of the loader that has no name in the record takes 123 ms of 123 ms a batch.",
    ] {
        assert!(text.contains(part), "`{part}` is missing in:\n{out}");
    }
}

#[test]
fn one_wait_and_one_window_exclude_each_other() {
    let folder = slow_worker("why_one");
    let (code, out, _) = why(&[&folder, "--wait", "3", "--json"]);
    assert_eq!(code, 0);
    let json: Value = serde_json::from_str(&out).expect("JSON");
    let waits = json["ranks"][0]["waits"].as_array().expect("waits");
    assert_eq!(waits.len(), 1);
    assert_eq!(waits[0]["wait"], 3);
    assert_eq!(waits[0]["cause"]["batch"], 3);
    let window = ["--range", "0ms..10ms"];
    for one in [["--wait", "3"], ["--step", "1"]] {
        let (code, _, err) = why(&[&[folder.as_str()][..], &one, &window].concat());
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("--range"), "{err}");
    }
    let (code, _, err) = why(&[&folder, "--wait", "99"]);
    assert_eq!(code, 2);
    assert!(err.contains("the loop has 24, numbered from 0"), "{err}");
}
