//! Hand-derived values: every case file's expected figures, through the public builder, analysis and report.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stallscope::analysis::{LaneGroup, Rules};
use stallscope::import::TRACERS;

use crate::common;
use crate::common::case;

use case::{Case, dig, invariants, role, same, tracer};
use common::Differences;

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no case in {}", folder.display());
    files
}

/// A class of idle time that does not occur may be absent.
fn found(report: &Value, path: &str) -> Value {
    let last = path.rsplit('.').next().unwrap();
    let zero = ["host", "kernel", "other", "unknown"].contains(&last);
    let absent = || if zero { json!(0) } else { json!("<absent>") };
    dig(report, path).unwrap_or_else(absent)
}

fn classify(rows: &[Value], name: &str, diffs: &mut Differences) {
    let rules = Rules::builtin();
    for row in rows {
        let text = |i: usize| row[i].as_str().unwrap();
        let group = LaneGroup {
            tracer: tracer(text(0)).key,
            gpu: text(1) == "gpu",
            role: row
                .get(6)
                .map_or_else(|| role("main"), |r| role(r.as_str().unwrap())),
        };
        let arg = |key: &str| {
            let value = row.get(5)?.get(key)?;
            Some(
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned),
            )
        };
        let (layer, rule) = rules.classify(group, text(2), text(3), &arg);
        if layer != text(4) {
            let what = format!("{name}: {} {} {}", text(0), text(2), text(3));
            diffs.add(&what, text(4), &format!("{layer} by {rule:?}"));
        }
    }
}

fn run(file: &Path, diffs: &mut Differences) {
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let case: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    if let Some(rows) = case.get("classify").and_then(Value::as_array) {
        classify(rows, &name, diffs);
        return;
    }
    // Late ranks are told by collectives now: their cases are among those of verdicts.
    if case.get("straggler").is_some() {
        return;
    }
    let report = Case::parse(&case).report();
    for problem in invariants(&report) {
        diffs.add(&format!("{name}: invariant"), "", &problem);
    }
    let expect = case["expect"].as_object().unwrap();
    assert!(!expect.is_empty(), "{name} expects nothing");
    // Verdicts have cases of their own, with other definitions.
    let judged = ["verdict", "steady_gpu"];
    let judged = |path: &str| {
        judged
            .iter()
            .any(|p| path.starts_with(&format!("ranks.0.{p}.")))
    };
    for (path, expected) in expect.iter().filter(|(path, _)| !judged(path)) {
        let got = if path.is_empty() {
            report.clone()
        } else {
            found(&report, path)
        };
        if !same(expected, &got) {
            diffs.add(
                &format!("{name}: {path}"),
                &expected.to_string(),
                &got.to_string(),
            );
        }
    }
}

#[test]
fn analysis_cases_of_the_repository() {
    let mut diffs = Differences::default();
    for file in files(&common::repository("tests/cases")) {
        run(&file, &mut diffs);
    }
    diffs.assert_none();
}

/// The folder named by `STALLSCOPE_CASES`; it must exist and hold cases. Without it the shared ones.
#[test]
fn analysis_cases_shared() {
    let folder = match std::env::var_os("STALLSCOPE_CASES") {
        Some(folder) => PathBuf::from(folder),
        None => match common::shared("analysis/cases") {
            Some(folder) => folder,
            None => return,
        },
    };
    let mut diffs = Differences::default();
    for file in files(&folder) {
        run(&file, &mut diffs);
    }
    diffs.assert_none();
}

/// The built-in rules list the keys that rules may name; the importers state them.
#[test]
fn rules_may_name_every_tracer_that_can_be_read() {
    for tracer in TRACERS.iter() {
        let key = tracer.key;
        let rule = format!("[[rule]]\nid = \"a\"\nsource = [\"{key}\"]\nlayer = \"load\"\n");
        assert_eq!(Rules::parse(&rule, "a.toml").1, [], "{key}");
    }
}
