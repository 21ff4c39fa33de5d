//! `check` on what verdicts rest on: stalls, restarts of the loader, how much is judged, the verdict itself, the pace.

use std::path::Path;
use std::process::Command;

use crate::common;

use common::{repository, shared};

/// Exit code and table.
fn check(path: &Path, args: &[&str]) -> (i32, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_stallscope"))
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .arg("check")
        .arg(path)
        .args(args)
        .output()
        .expect("the program runs");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    (out.status.code().expect("a code"), text)
}

fn sample(name: &str, args: &[&str]) -> (i32, String) {
    check(&repository("sample_traces").join(name), args)
}

#[test]
fn the_verdict_can_be_expected() {
    let of = |name, kinds| sample(name, &["--expect", kinds]).0;
    assert_eq!(of("torch_4_workers.json.gz", "COMPUTE_BOUND"), 0);
    assert_eq!(of("torch_4_workers.json.gz", "input_bound"), 3);
    assert_eq!(
        of("torch_0_workers.json.gz", "COMPUTE_BOUND,INPUT_BOUND"),
        0
    );
    assert_eq!(of("torch_0_workers.json.gz", "SOMETHING"), 2);
}

#[test]
fn little_that_is_judged_cannot_be_told_from() {
    let of = |least| sample("torch_4_workers.json.gz", &["--min-judged", least]);
    assert_eq!(of("50%").0, 0);
    let (code, text) = of("90%");
    assert_eq!(code, 4);
    assert!(text.contains("cannot be told"), "{text}");
}

#[test]
fn stalls_have_a_limit_and_pauses_need_a_gpu() {
    assert_eq!(
        sample("torch_4_workers.json.gz", &["--max-stall", "5%"]).0,
        0
    );
    let (code, text) = sample("dftracer_2_workers", &["--max-stall", "5%"]);
    assert_eq!(code, 4, "{text}");
    assert!(
        text.contains("no GPU events: pauses cannot be told"),
        "{text}"
    );
}

#[test]
fn a_steps_time_is_that_of_its_gpu_work_where_the_loop_runs_ahead() {
    let of = |limit| sample("torch_4_workers.json.gz", &["--max-step-time", limit]);
    let (code, text) = of("50ms");
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("the loop runs ahead of the GPU"), "{text}");
    assert_eq!(of("100ms").0, 0);
}

#[test]
fn labelled_cases_hold_and_break_limits_by_what_they_are() {
    let Some(folder) = shared("analysis/verdict_cases") else {
        return;
    };
    let of = |name: &str, args: &[&str]| check(&folder.join(format!("{name}.json.gz")), args);
    assert_eq!(of("checkpoint", &["--max-stall", "50%"]).0, 3);
    assert_eq!(of("checkpoint", &["--max-stall", "70%"]).0, 0);
    // The judged steps hold, the loop with its restarts does not.
    let (code, text) = of("epochs", &["--max-exposed-wait", "5%"]);
    assert_eq!(code, 3, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[1].contains("judged steps") && lines[1].contains("holds"),
        "{text}"
    );
    assert!(lines[2].contains("loop (with restarts)"), "{text}");
    assert!(lines[2].contains("DOES NOT HOLD"), "{text}");
    // A single start of the loader is a note.
    let (code, text) = of("first_batch", &["--max-exposed-wait", "10%"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("once, at the loader's start"), "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
    assert_eq!(of("no_marks", &["--expect", "COMPUTE_BOUND"]).0, 4);
    // A prefetch thread waits, not the loop: what the loop may have waited unseen is bounded.
    let (code, text) = of("feeder_full", &["--max-exposed-wait", "50%"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("another thread fetches"), "{text}");
}
