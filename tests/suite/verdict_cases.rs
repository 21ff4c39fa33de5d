//! Verdicts of labelled cases and of real traces against an independent program: kinds, accounts, ledgers, shares.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use rayon::prelude::*;
use serde_json::{Map, Value};
use stallscope::analysis::{Analysis, Options, Rules};
use stallscope::export::report::{ReportOptions, report};
use stallscope::import::{OpenOptions, Progress, open};

use crate::common;

static RULES: LazyLock<Rules> = LazyLock::new(Rules::builtin);

/// Where the report has what the reference program prints of a rank; a member that is not named here has the same path in
/// both.
const PATHS: &[(&str, &str)] = &[
    ("verdict", "verdict.verdict"),
    ("account", "verdict.account"),
    ("ledger", "verdict.ledger"),
    ("issues", "verdict.issues"),
    ("judged_share", "verdict.judged_share"),
    ("n_judged", "verdict.n_judged"),
    ("coverage", "verdict.coverage"),
    ("missing", "verdict.missing"),
    ("starts", "loop.starts"),
    ("restarts", "loop.restarts"),
];

/// Values that are not compared: (beginning of the case, beginning of the path, why).
const EXCUSED: &[(&str, &str, &str)] = &[(
    "no_marks",
    "ranks.0.loop.wait",
    "no wait was recorded: unknown, not zero",
)];

fn excused(case: &str, path: &str) -> bool {
    let mut all = EXCUSED.iter();
    all.any(|(c, p, _why)| case.starts_with(c) && path.starts_with(p))
}

fn analyse(folder: &Path, files: &[&str]) -> Analysis {
    let paths: Vec<_> = files.iter().map(|f| folder.join(f)).collect();
    let loaded = open(&paths, &OpenOptions::default(), &Progress::new()).unwrap();
    let trace = Arc::new(loaded.trace);
    Analysis::new(trace, &RULES, &Options::default(), &|_| true).unwrap()
}

/// The value at a path of the reference.
fn dig(report: &Value, path: &str) -> Value {
    let mut parts: Vec<&str> = path.split('.').collect();
    if let ["ranks", _, member, ..] = parts[..]
        && let Some((_, place)) = PATHS.iter().find(|(from, _)| *from == member)
    {
        parts.splice(2..3, place.split('.'));
    }
    let mut at = report;
    for part in parts {
        at = match at {
            Value::Array(list) => part.parse::<usize>().ok().and_then(|i| list.get(i)),
            other => other.get(part),
        }
        .unwrap_or(&Value::Null);
    }
    at.clone()
}

fn same(want: &Value, got: &Value) -> bool {
    match (want.as_f64(), got.as_f64()) {
        (Some(want), Some(got)) => (want - got).abs() < 5e-7,
        _ => want == got,
    }
}

fn compare(name: &str, case: &Value, folder: &Path) -> Vec<(String, Value, Value)> {
    let files: Vec<&str> = case["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f.as_str().unwrap())
        .collect();
    let analysis = analyse(folder, &files);
    let options = ReportOptions {
        light: true,
        ..ReportOptions::default()
    };
    let mut got = report(&analysis, &options);
    // The reference numbers the rank of a single file without one 0.
    if let Some(Value::Object(ranks)) = got.get_mut("ranks")
        && ranks.len() == 1
    {
        let only = ranks.values().next().cloned().unwrap();
        let wanted = case["expect"].as_object().unwrap().keys();
        let mut wanted = wanted.filter_map(|k| k.strip_prefix("ranks.")?.split('.').next());
        *ranks = Map::from_iter([(wanted.next().unwrap_or("0").to_owned(), only)]);
    }
    let expect = case["expect"].as_object().unwrap().iter();
    expect
        .filter(|(path, _)| !excused(name, path))
        .map(|(path, want)| (format!("{name}: {path}"), want.clone(), dig(&got, path)))
        .filter(|(_, want, got)| !same(want, got))
        .collect()
}

fn run(file: &str, at_least: usize) {
    let Some(path) = common::shared(file) else {
        return;
    };
    let cases: Map<String, Value> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert!(cases.len() >= at_least, "only {} cases", cases.len());
    let folder = path.parent().unwrap();
    let cases: Vec<_> = cases.iter().collect();
    let found: Vec<_> = cases
        .par_iter()
        .flat_map_iter(|(name, case)| compare(name, case, folder))
        .collect();
    let mut diffs = common::Differences::default();
    for (what, want, got) in found {
        diffs.add(&what, &want.to_string(), &got.to_string());
    }
    diffs.assert_none();
}

#[test]
fn labelled_cases_have_the_values_of_the_reference() {
    run("analysis/verdict_cases/EXPECTED.json", 36);
}

#[test]
fn real_traces_have_the_values_of_the_reference() {
    run("analysis/verdict_cases/EXPECTED_public.json", 16);
}

/// The verdict of each labelled case is one that its label allows, and never one that it forbids.
#[test]
fn labelled_cases_are_judged_as_people_would() {
    let Some(labels) = common::shared("analysis/verdict_cases/LABELS.tsv") else {
        return;
    };
    let text = std::fs::read_to_string(&labels).unwrap();
    let folder = labels.parent().unwrap();
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows.len() >= 33, "only {} labels", rows.len());
    let judge = |row: &&str| -> Option<String> {
        let parts: Vec<&str> = row.split('\t').collect();
        let words = |i: usize| -> Vec<&str> { parts[i].split_whitespace().collect() };
        let analysis = analyse(folder, &words(1));
        let window = analysis.trace().extent();
        let jobs = analysis.jobs(window);
        let kind = jobs[0].kind.key();
        let of_ranks = jobs[0].ranks.iter().flat_map(|v| &v.issues);
        let all: Vec<&str> = of_ranks.map(|i| i.kind.key()).collect();
        let right = words(2).contains(&kind);
        let forbidden = words(3).contains(&kind);
        let excused = EXCUSED_LABELS.iter().any(|(name, _why)| *name == parts[0]);
        (!excused && (!right || forbidden))
            .then(|| format!("{}: {kind} of {all:?}, not {}", parts[0], parts[2]))
    };
    let wrong: Vec<String> = rows.par_iter().filter_map(judge).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Cases whose verdict is not told yet, and why.
const EXCUSED_LABELS: &[(&str, &str)] = &[];
