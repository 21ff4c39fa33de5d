//! Why loops waited: every field of the reference that the report has, recorded runs against the log of what really
//! happened, and what must hold however the files are changed.

mod alone;
mod as_if;
mod excused;
mod made;
mod numbered;
mod pairs;
#[cfg(feature = "png")]
mod pictures;
mod properties;
mod why;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use stallscope::analysis::{Analysis, Found, GoOn, Options, Rules, placed};
use stallscope::export::report::{ReportOptions, report};
use stallscope::import::{OpenOptions, Progress, SharedArgs, open};
use stallscope::model::{Clock, SpanId};

use crate::common::{Differences, leaves, shared};
use excused::EXCUSED;

/// The analysis of some paths, opened together.
fn analysis(paths: &[PathBuf]) -> Option<Analysis> {
    let loaded = open(paths, &OpenOptions::default(), &Progress::new()).ok()?;
    let trace = Arc::new(loaded.trace);
    let reader = SharedArgs::new(Arc::clone(&trace));
    let args = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        reader.each(spans, go_on, found);
    };
    let (rules, options) = (Rules::builtin(), Options::default());
    let trace = placed(trace, &rules, &args, &|| true);
    let analysis = Analysis::with_args(trace, &rules, &options, &args, &|_| true);
    Some(analysis.expect("not cancelled"))
}

/// What the report says of the loop of each process, with times on the clock of the sources.
fn loops(analysis: &Analysis) -> BTreeMap<String, Value> {
    let report = report(analysis, &ReportOptions::default());
    let trace = analysis.trace();
    // Unix time; without it the first source's own.
    let first = &trace.sources()[0];
    let unix = trace
        .sources()
        .iter()
        .any(|s| s.tracer.key != "nsight" && matches!(s.clock, Clock::Unix { .. }));
    let origin = match unix {
        true => trace.unix_origin().expect("Unix time"),
        false => -first.to_trace_ns,
    };
    let mut out = BTreeMap::new();
    for rank in report["ranks"].as_object().expect("ranks").values() {
        let mut of = rank["loop"].clone();
        on_clock(&mut of, "", origin);
        let pid = rank["pid"].as_str().unwrap_or_default().to_owned();
        out.insert(pid, of);
    }
    out
}

/// Members that are times of an event.
const TIMES: [&str; 7] = [
    "waits.*.start",
    "waits.*.end",
    "waits.*.cause.made.*",
    "waits.*.cause.item.start",
    "waits.*.cause.item.end",
    "waits.*.cause.ahead.first",
    "cause.iterators.*.first_wait",
];

fn is_like(path: &str, pattern: &str) -> bool {
    let (path, pattern): (Vec<&str>, Vec<&str>) =
        (path.split('.').collect(), pattern.split('.').collect());
    path.len() == pattern.len() && path.iter().zip(&pattern).all(|(a, b)| *b == "*" || a == b)
}

fn on_clock(value: &mut Value, path: &str, origin: i64) {
    let below = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    match value {
        Value::Object(all) => all
            .iter_mut()
            .for_each(|(key, value)| on_clock(value, &below(key), origin)),
        Value::Array(all) => all
            .iter_mut()
            .enumerate()
            .for_each(|(i, value)| on_clock(value, &below(&i.to_string()), origin)),
        value => {
            let time = value
                .as_i64()
                .filter(|_| TIMES.iter().any(|t| is_like(path, t)));
            if let Some(time) = time {
                *value = (time + origin).into();
            }
        }
    }
}

/// Reference | report, below `result.PID` and below `ranks.R.loop`; `**` is any rest, the same on both sides. A path of the
/// reference that is not here fails the test, and so does one of the report that the reference does not have and that is not
/// in [`ADDED`].
const PATHS: &[(&str, &str)] = &[
    ("waits.*.start", "waits.*.start"),
    ("waits.*.end", "waits.*.end"),
    ("waits.*.cause.**", "waits.*.cause.**"),
    ("cause.by_worker.None", "cause.by_worker.unknown"),
    ("cause.**", "cause.**"),
];

/// What the report has beside it.
const ADDED: &[&str] = &[
    "waits.*.cause.item.index",
    "cause.workers.*.place",
    "cause.advice",
    "cause.batch_bytes",
];

/// The path of the report for one of the reference.
fn place(path: &str) -> Option<String> {
    PATHS.iter().find_map(|(from, to)| {
        if let Some(prefix) = from.strip_suffix(".**") {
            let n = prefix.split('.').count();
            let parts: Vec<&str> = path.split('.').collect();
            let head = parts.get(..n)?.join(".");
            return is_like(&head, prefix).then(|| path.to_owned());
        }
        let list = path.strip_suffix(".#").is_some_and(|p| p == "waits");
        match is_like(path, from) || list {
            true if from == to => Some(path.to_owned()),
            true => Some((*to).to_owned()),
            false => None,
        }
    })
}

fn same(a: &Value, b: &Value) -> bool {
    // A whole number is one, however it is written.
    a == b || (a.is_number() && b.is_number() && a.as_f64() == b.as_f64())
}

/// Compares one loop; returns how many values.
fn compare(case: &str, pid: &str, want: &Value, got: &Value, diffs: &mut Differences) -> usize {
    let (mut theirs, mut ours) = (BTreeMap::new(), BTreeMap::new());
    leaves(want, "", &mut theirs);
    leaves(&got["waits"], "waits", &mut ours);
    leaves(&got["cause"], "cause", &mut ours);
    let excused = |path: &str| {
        let own = |e: &&(&str, &str, &str)| e.0 == case && fits(path, e.1);
        EXCUSED.iter().any(|e| own(&e))
    };
    let mut compared = 0;
    let mut seen = Vec::new();
    for (path, value) in &theirs {
        let to = place(path).unwrap_or_else(|| panic!("{path} stands in no list"));
        seen.push(to.clone());
        if excused(&to) {
            continue;
        }
        compared += 1;
        let own = ours.get(&to).cloned().unwrap_or_else(|| "<absent>".into());
        if !same(value, &own) {
            diffs.compare(&format!("{case} {pid}: {to}"), value.clone(), own);
        }
    }
    seen.sort_unstable();
    let is_wait = |path: &str| path.starts_with("waits.") && !path.contains(".cause.");
    for (path, value) in &ours {
        let known = seen.binary_search(path).is_ok() || ADDED.iter().any(|a| fits(path, a));
        if !known && !is_wait(path) && !excused(path) {
            diffs.compare(
                &format!("{case} {pid}: {path}"),
                "<absent>".into(),
                value.clone(),
            );
        }
    }
    compared
}

/// Whether a path begins as a pattern says; `*` is one part.
fn fits(path: &str, pattern: &str) -> bool {
    let path: Vec<&str> = path.split('.').collect();
    let pattern: Vec<&str> = pattern.split('.').collect();
    path.len() >= pattern.len() && path.iter().zip(&pattern).all(|(a, b)| *b == "*" || a == b)
}

/// The cases of the reference: name, inputs, result by process.
fn cases() -> Option<Vec<(String, Vec<PathBuf>, Value)>> {
    let file = shared("analysis/EXPECTED_CAUSE.json")?;
    let text = std::fs::read_to_string(file).expect("readable");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let all = all.as_object().expect("cases").iter();
    let mut out = Vec::new();
    for (name, case) in all {
        let inputs = case["inputs"].as_array().expect("inputs").iter();
        let inputs: Option<Vec<PathBuf>> = inputs
            .map(|i| shared(i.as_str().expect("a path")))
            .collect();
        out.push((name.clone(), inputs?, case["result"].clone()));
    }
    Some(out)
}

#[test]
fn every_field_of_the_reference_is_that_of_the_report() {
    let Some(cases) = cases() else {
        return;
    };
    let mut diffs = Differences::default();
    let (mut compared, mut waits) = (0, 0);
    for (name, inputs, result) in &cases {
        let Some(analysis) = analysis(inputs) else {
            assert!(result.as_object().expect("loops").is_empty(), "{name}");
            continue;
        };
        let found = loops(&analysis);
        for (pid, want) in result.as_object().expect("loops") {
            let Some(got) = found.get(pid) else {
                diffs.compare(&format!("{name}: {pid}"), "a loop", "none");
                continue;
            };
            waits += want["waits"].as_array().map_or(0, Vec::len);
            compared += compare(name, pid, want, got, &mut diffs);
        }
    }
    assert!(waits > 1_900, "only {waits} waits");
    assert!(compared > 40_000, "only {compared} values");
    diffs.assert_none();
}

/// Every excuse is of a case that there is.
#[test]
fn excuses_are_of_cases_and_have_reasons() {
    let Some(cases) = cases() else {
        return;
    };
    for (case, path, reason) in EXCUSED {
        assert!(cases.iter().any(|c| c.0 == *case), "{case}");
        assert!(!path.is_empty() && reason.len() > 20, "{case} {path}");
    }
}

/// The files of a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|e| e.expect("an entry").path())
        .collect();
    files.sort();
    files
}
