//! Several recorders of one run, and several runs: every value of the reference that the report has, in two orders of the
//! files.

mod paths;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use stallscope::analysis::{Analysis, Found, GoOn, Options, Rules, placed};
use stallscope::export::report::{ReportOptions, report};
use stallscope::import::{OpenOptions, Progress, SharedArgs, open};
use stallscope::model::SpanId;

use crate::common::{Differences, leaves, shared};
use paths::{NOT_YET_IN, NOTICES, PATHS, PRESENT};

/// The report of some paths, opened together.
fn figures(paths: &[PathBuf]) -> Value {
    let loaded = open(paths, &OpenOptions::default(), &Progress::new()).expect("opens");
    let trace = Arc::new(loaded.trace);
    let reader = SharedArgs::new(Arc::clone(&trace));
    let args = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        reader.each(spans, go_on, found);
    };
    let (rules, options) = (Rules::builtin(), Options::default());
    let trace = placed(trace, &rules, &args, &|| true);
    let analysis = Analysis::with_args(trace, &rules, &options, &args, &|_| true);
    report(&analysis.expect("not cancelled"), &ReportOptions::default())
}

/// The parts of a path that the stars of a pattern stand for. Keys of GPUs have a dot where ranks share numbers.
fn fits(path: &str, pattern: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = path.split('.').collect();
    let pattern: Vec<&str> = pattern.split('.').collect();
    part_fits(&parts, &pattern)
}

fn part_fits(parts: &[&str], pattern: &[&str]) -> Option<Vec<String>> {
    let Some((first, rest)) = pattern.split_first() else {
        return parts.is_empty().then(Vec::new);
    };
    if *first == "**" {
        return (!parts.is_empty()).then(|| vec![parts.join(".")]);
    }
    if *first != "*" {
        let own = parts.first().filter(|p| *p == first);
        return part_fits(&parts[1.min(parts.len())..], rest).filter(|_| own.is_some());
    }
    (1..=parts.len().min(2)).find_map(|n| {
        let mut found = part_fits(&parts[n..], rest)?;
        found.insert(0, parts[..n].join("."));
        Some(found)
    })
}

/// The path of the report for one of the reference: `None` where it is not built yet.
fn place(path: &str, case: &str) -> Option<String> {
    let waits = |list: &str| list.lines().any(|p| fits(path, p).is_some());
    let not_yet = NOT_YET_IN.iter().any(|(c, list)| *c == case && waits(list));
    for line in PATHS.lines().filter(|l| !l.is_empty()) {
        let (from, to) = line.split_once(" | ").unwrap_or((line, line));
        let Some(mut stars) = fits(path, from) else {
            continue;
        };
        if not_yet {
            return None;
        }
        stars.reverse();
        let part = |p: &str| match p {
            "*" | "**" => stars.pop().expect("as many stars"),
            p => p.to_owned(),
        };
        let mut part = part;
        return Some(to.split('.').map(&mut part).collect::<Vec<_>>().join("."));
    }
    panic!("{path} stands in no list");
}

/// Changes the numbers of sources in what is expected to those of the reversed order.
fn reversed(expected: &Value) -> Value {
    let mut value = expected.clone();
    let n = value["sources"].as_array().map_or(0, Vec::len);
    let turn = |list: &mut Value| {
        let mut all: Vec<u64> = list
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_u64)
            .collect();
        for i in &mut all {
            *i = n as u64 - 1 - *i;
        }
        all.sort_unstable();
        *list = all.into();
    };
    if let Some(all) = value["sources"].as_array_mut() {
        all.reverse();
    }
    for key in ["runs", "processes"] {
        for entry in value[key].as_array_mut().into_iter().flatten() {
            turn(&mut entry["sources"]);
        }
    }
    value
}

fn compare(
    case: &str,
    expected: &Value,
    excused: &[&str],
    got: &Value,
    diffs: &mut Differences,
) -> usize {
    let (mut theirs, mut ours) = (BTreeMap::new(), BTreeMap::new());
    for (key, value) in expected.as_object().expect("an object") {
        if key != "notices" {
            leaves(value, key, &mut theirs);
        }
    }
    leaves(got, "", &mut ours);
    let mut compared = 0;
    // Whose clock is compared with whose depends on the order of the files, where both have as many steps.
    let reversed = case.ends_with("reversed");
    for (path, value) in theirs
        .iter()
        .filter(|(p, _)| !reversed || !p.starts_with("clocks"))
    {
        let Some(place) = place(path, case).filter(|_| !excused.contains(&path.as_str())) else {
            continue;
        };
        compared += 1;
        let absent = Value::from("<absent>");
        let mut own = ours.get(&place).unwrap_or(&absent).clone();
        if fits(path, "sources.*.path").is_some() {
            // A folder with one file has the path of that file.
            let path = Path::new(own.as_str().unwrap_or_default());
            let name = |p: Option<&Path>| p?.file_name().map(|f| f.to_string_lossy().into_owned());
            let names = [name(Some(path)), name(path.parent())];
            let found = names.into_iter().flatten().find(|n| value == n.as_str());
            own = found.map_or(own, Value::from);
        }
        diffs.compare(&format!("{case}: {place}"), value.clone(), own);
    }
    for code in NOTICES {
        let all = &expected["notices"][code];
        let wanted = all
            .as_u64()
            .unwrap_or_else(|| all.as_array().map_or(0, Vec::len) as u64);
        let own = got["notices"].as_array().into_iter().flatten();
        let own: u64 = own
            .filter(|n| n["code"] == **code)
            .filter_map(|n| n["count"].as_u64())
            .sum();
        compared += 1;
        diffs.compare(&format!("{case}: notice {code}"), wanted, own);
    }
    // Whether a clock is moved depends on the rules that may be left out, too.
    let moved = |p: &&str| p.starts_with("clocks") && p.ends_with("offset");
    let any = excused.iter().any(moved);
    for code in PRESENT.iter().filter(|c| **c != "clock_moved" || !any) {
        let wanted = !expected["notices"][code].is_null();
        let mut own = got["notices"].as_array().into_iter().flatten();
        let own = own.any(|n| n["code"] == **code);
        compared += 1;
        diffs.compare(&format!("{case}: whether notice {code}"), wanted, own);
    }
    compared
}

#[test]
fn every_value_of_the_reference_is_that_of_the_report() {
    let Some(file) = shared("analysis/recorders/RECORDERS_EXPECTED.json") else {
        return;
    };
    let text = std::fs::read_to_string(file).expect("readable");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let mut diffs = Differences::default();
    let mut compared = 0;
    for (case, of) in all["cases"].as_object().expect("cases") {
        let path = |name: &Value| {
            let (root, rest) = name.as_str()?.split_once(':')?;
            match root {
                "cases" => shared(&format!("analysis/recorders/cases/{rest}")),
                "pairs" => shared(&format!("traces/pairs/{rest}")),
                _ => shared(rest),
            }
        };
        let names = of["open"].as_array().expect("paths");
        let mut paths: Vec<PathBuf> = names.iter().filter_map(path).collect();
        if paths.len() < names.len() {
            continue;
        }
        let excused: Vec<&str> = of["excused"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let expected = &of["expect"];
        compared += compare(case, expected, &excused, &figures(&paths), &mut diffs);
        let sources = expected["sources"].as_array().map_or(0, Vec::len);
        if paths.len() > 1 && sources == paths.len() {
            paths.reverse();
            let case = format!("{case} reversed");
            compared += compare(
                &case,
                &reversed(expected),
                &excused,
                &figures(&paths),
                &mut diffs,
            );
        }
    }
    assert!(compared > 12_000, "only {compared} values");
    diffs.assert_none();
}
