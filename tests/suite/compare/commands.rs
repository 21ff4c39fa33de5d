//! `compare` and `check --against` as they are typed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common;
use crate::common::program::run;

fn sample(name: &str) -> String {
    let path = common::repository("sample_traces").join(name);
    path.to_str().unwrap().to_owned()
}

/// A file of the pairs of the reference.
fn pair(name: &str) -> Option<String> {
    let path = common::shared(&format!("analysis/compare/{name}.json.gz"))?;
    Some(path.to_str().unwrap().to_owned())
}

/// A report saved beside nothing else.
fn saved(dir: &Path, trace: &str) -> PathBuf {
    let (code, text, _) = run(&["report", "--json", "--brief", trace]);
    assert_eq!(code, 0);
    let path = dir.join("baseline.json");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn the_same_recording_is_told_and_never_passes() {
    let a = sample("torch_0_workers.json.gz");
    let (code, text, _) = run(&["compare", &a, &a]);
    assert_eq!(code, 0);
    assert!(
        text.contains("The same recording was given twice"),
        "{text}"
    );
    // Twice on one side it is no second recording either.
    let b = sample("torch_4_workers.json.gz");
    let (_, text, _) = run(&["compare", &a, &a, "--after", &b, &b]);
    assert!(
        text.contains("The same recording was given twice"),
        "{text}"
    );
    let (code, text, _) = run(&["check", &a, "--against", &a]);
    assert_eq!(code, 4, "{text}");
    // The saved report of a recording is that recording.
    let dir = common::scratch("compare_saved_same");
    let report = saved(&dir, &a);
    let (code, text, _) = run(&["check", &a, "--against", report.to_str().unwrap()]);
    assert_eq!(code, 4, "{text}");
    assert!(text.contains("same recording"), "{text}");
}

#[test]
fn a_saved_report_is_a_baseline() {
    let (a, b) = (
        sample("torch_0_workers.json.gz"),
        sample("torch_4_workers.json.gz"),
    );
    let dir = common::scratch("compare_saved");
    let report = saved(&dir, &a);
    let report = report.to_str().unwrap();
    let args = |before: &str| run(&["compare", "--json", before, &b]);
    let (live, from_report) = (args(&a), args(report));
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let (live, kept) = (parse(&live.1), parse(&from_report.1));
    for part in ["unlike", "steps_how", "job"] {
        assert_eq!(live[part], kept[part], "{part}");
    }
    let (x, y) = (&live["ranks"][0], &kept["ranks"][0]);
    for part in [
        "steps",
        "left_out",
        "typical",
        "figures",
        "decomposition",
        "verdicts",
    ] {
        assert_eq!(x[part], y[part], "{part}");
    }
    assert!(x["figures"].as_array().unwrap().len() > 8);
    assert_eq!(x["kernels"]["common_work"], y["kernels"]["common_work"]);
    // A part of a recording is none.
    let (_, text, _) = run(&["report", "--json", "--range", "0..100ms", &a]);
    assert!(parse(&text)["compare"].is_null());
    let other = dir.join("other.json");
    std::fs::write(&other, text).unwrap();
    let (code, _, err) = run(&["check", &b, "--against", other.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(err.contains("without the block `compare`"), "{err}");
}

#[test]
fn checks_tell_slower_not_slower_and_unknown() {
    let Some(a) = pair("comp_a") else {
        return;
    };
    let b = pair("comp_b").unwrap();
    let code = |args: &[&str]| {
        let mut all = vec!["check", &b, "--against", &a];
        all.extend(args);
        run(&all)
    };
    let (slower, text, _) = code(&[]);
    assert_eq!(slower, 3, "{text}");
    assert!(
        text.contains("slowdown of the steps") && text.contains("longer"),
        "{text}"
    );
    assert_eq!(code(&["--max-slowdown", "20%"]).0, 0);
    // Beside other limits the worst counts.
    let (both, text, _) = code(&["--max-slowdown", "20%", "--expect", "LAUNCH_BOUND"]);
    assert_eq!(both, 3, "{text}");
    let (noisy_a, noisy_b) = (pair("noisy_a").unwrap(), pair("noisy_b").unwrap());
    assert_eq!(run(&["check", &noisy_b, "--against", &noisy_a]).0, 4);
    let (a, b) = (pair("prog_a").unwrap(), pair("prog_b").unwrap());
    let (other, text, _) = run(&["check", &b, "--against", &a]);
    assert_eq!(other, 4);
    assert!(text.contains("mostly different"), "{text}");
    assert!(text.contains("--allow-other-program"), "{text}");
    let (_, text, _) = run(&["check", &b, "--against", &a, "--allow-other-program"]);
    assert!(!text.contains("--allow-other-program"), "{text}");
    // The range of one side says nothing about the other.
    assert_eq!(
        run(&["check", &b, "--against", &a, "--range", "0..1s"]).0,
        2
    );
    assert_eq!(run(&["check", &b, "--max-slowdown", "3%"]).0, 2);
}

#[test]
fn text_says_what_may_be_said() {
    let Some(a) = pair("comp_a") else {
        return;
    };
    let b = pair("comp_b").unwrap();
    let (code, text, _) = run(&["compare", &a, &b]);
    assert_eq!(code, 0);
    for part in [
        "Steps are ",
        "%) longer",
        "as far as these two recordings go",
        "Between recordings: not measured",
        "Mean step +",
        "Kernels by name",
        "40 of 41 steps",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let (code, text, _) = run(&["compare", "--csv", &a, &b]);
    assert_eq!(code, 0);
    let mut lines = text.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("rank,figure,before_ns,after_ns,m,n,shift_ns")
    );
    assert!(lines.next().unwrap().starts_with("0,step,"), "{text}");
}

#[test]
fn several_recordings_and_several_files() {
    let all = |letter: char| {
        (0..3)
            .map(|i| pair(&format!("m{i}_{letter}")))
            .collect::<Option<Vec<_>>>()
    };
    let Some(before) = all('a') else {
        return;
    };
    let after = all('b').unwrap();
    let mut args = vec!["compare", "--json"];
    args.extend(before.iter().map(String::as_str));
    args.push("--after");
    args.extend(after.iter().map(String::as_str));
    let (code, text, _) = run(&args);
    assert_eq!(code, 0);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["before"].as_array().unwrap().len(), 3);
    assert!(value["ranks"][0]["figures"][0]["between"]["shift"].is_i64());
    // One recording against three says nothing.
    let (code, text, _) = run(&["compare", &before[0], "--after", &after[0], &after[1]]);
    assert_eq!(code, 0);
    assert!(
        text.contains("at least two recordings on both sides"),
        "{text}"
    );
    assert_eq!(run(&["compare", &before[0]]).0, 2);
    assert_eq!(run(&["compare", &before[0], &before[1], &after[0]]).0, 2);
    // Two ranks of one recording.
    let join = |l: char| {
        format!(
            "{}+{}",
            pair(&format!("r0_{l}")).unwrap(),
            pair(&format!("r1_{l}")).unwrap()
        )
    };
    let (a, b) = (join('a'), join('b'));
    let (code, text, _) = run(&["compare", &a, &b]);
    assert_eq!(code, 0);
    assert!(
        text.contains("The job's steps are ") && text.contains("rank 1: "),
        "{text}"
    );
    assert_eq!(run(&["check", &b, "--against", &a]).0, 3);
}

#[test]
fn steps_are_made_alike_and_said_to_be() {
    let torch = "traces/torch/own-torch-2.13__";
    let Some(a) = common::shared(&format!(
        "{torch}tb_sched_w0__rank0.1795966204009890573.pt.trace.json"
    )) else {
        return;
    };
    let b = common::shared(&format!("{torch}export_gz_w4__workers_4_trace.json.gz")).unwrap();
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    let (_, text, _) = run(&["compare", "--json", a, b]);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["steps_how"], "fetch");
    assert_eq!(value["steps_recomputed"], serde_json::json!(["before"]));
    let (_, text, _) = run(&["compare", a, b]);
    assert!(text.contains("Steps: from fetches on both sides"), "{text}");
    let (code, text, _) = run(&["compare", "--steps", "explicit", a, b]);
    assert_eq!(code, 0);
    assert!(text.contains("asked for, `explicit` ("), "{text}");
    assert!(text.contains("nothing is compared"), "{text}");
}

#[test]
fn a_rank_that_nothing_is_compared_with_keeps_a_limit_from_holding() {
    let (Some(a), Some(b0), Some(b1)) = (pair("r0_a"), pair("r0_b"), pair("r1_b")) else {
        return;
    };
    let both = format!("{b0}+{b1}");
    let (code, text, _) = run(&["check", &both, "--against", &a, "--max-slowdown", "6%"]);
    assert_eq!(code, 4, "{text}");
    assert!(text.contains("Ranks only after: 1."), "{text}");
}
