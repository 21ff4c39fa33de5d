//! All values of the reference: 22 pairs of recordings, 49 pairs of number series.

use std::path::PathBuf;

use rayon::prelude::*;
use serde_json::{Value, json};
use stallscope::analysis::compare::{
    Alike, CompareOptions, Figure, Recording, StepShare, compare, single,
};
use stallscope::analysis::{Analysis, StepClass};
use stallscope::export::comparison::comparison;

use super::analyse;
use crate::common;

/// Values that are not compared: (case, beginning of the path, why). An empty case stands for all.
const EXCUSED: &[(&str, &str, &str)] = &[(
    "fix",
    ".steps_how",
    "the reference writes an empty text where a side has no steps; unknown is `null`",
)];

fn excused(case: &str, path: &str) -> bool {
    let mut all = EXCUSED.iter();
    all.any(|(c, p, _why)| (c.is_empty() || *c == case) && path.starts_with(p))
}

/// Differences, and how many values were compared. Reals agree to 1e-9, ends of intervals to 1 ns, all else exactly.
#[derive(Default)]
struct Diff {
    case: String,
    compared: usize,
    found: Vec<String>,
}

impl Diff {
    fn of(&mut self, path: &str, expected: &Value, got: &Value) {
        if excused(&self.case, path) {
            return;
        }
        match (expected, got) {
            (Value::Object(e), Value::Object(g)) => {
                for (key, value) in e {
                    let path = format!("{path}.{key}");
                    self.of(&path, value, g.get(key).unwrap_or(&json!("missing")));
                }
            }
            (Value::Array(e), Value::Array(g)) if e.len() == g.len() => {
                for (i, (e, g)) in e.iter().zip(g).enumerate() {
                    self.of(&format!("{path}.{i}"), e, g);
                }
            }
            _ => {
                self.compared += 1;
                if !near(path, expected, got) {
                    let case = &self.case;
                    self.found
                        .push(format!("{case}{path}: {expected} got {got}"));
                }
            }
        }
    }
}

fn near(path: &str, expected: &Value, got: &Value) -> bool {
    let (Some(e), Some(g)) = (expected.as_f64(), got.as_f64()) else {
        return expected == got;
    };
    let end = path.ends_with(".lo") || path.ends_with(".hi");
    let whole = expected.is_i64() && got.is_i64();
    let tolerance = match (end, whole) {
        (true, _) => 1.0,
        (false, true) => 0.0,
        (false, false) => 1e-9 * e.abs().max(1.0),
    };
    (e - g).abs() <= tolerance
}

fn paths(value: &Value, root: &std::path::Path) -> Vec<PathBuf> {
    match value {
        Value::Array(all) => all.iter().flat_map(|v| paths(v, root)).collect(),
        text => vec![root.join(text.as_str().unwrap())],
    }
}

/// By rank that its file states: what was added to the file's times.
fn offsets(analysis: &Analysis) -> Vec<(u32, i64)> {
    let trace = analysis.trace();
    let ranks = analysis.ranks().iter();
    ranks
        .filter_map(|r| {
            let source = trace.source(trace.lane(r.loop_lane?).source);
            Some((source.rank.unwrap_or(r.rank), source.to_trace_ns))
        })
        .collect()
}

/// What `check --against` says of some limits.
fn exits(found: &stallscope::analysis::compare::Comparison) -> Value {
    let code = |percent: u64| match found.within(
        StepShare {
            num: percent,
            den: 100,
        },
        false,
    ) {
        Some(true) => 0,
        Some(false) => 3,
        None => 4,
    };
    json!({"0": code(0), "3": code(3), "10": code(10)})
}

fn pair(case: &Value, root: &std::path::Path) -> Value {
    let options = &case["options"];
    let forced = options["steps"].as_str().and_then(StepClass::named);
    // The reference keeps the times of each file: (rank, what was added to them) by recording.
    let mut added: [Vec<Vec<(u32, i64)>>; 2] = Default::default();
    let side = |key: &str, class: Option<StepClass>, added: &mut Vec<Vec<(u32, i64)>>| {
        let all = case[key].as_array().unwrap().iter();
        added.clear();
        all.map(|r| {
            let analysis = analyse(&paths(r, root), class);
            added.push(offsets(&analysis));
            Recording::of(&analysis, &[])
        })
        .collect::<Vec<_>>()
    };
    let mut sides = [
        side("before", None, &mut added[0]),
        side("after", None, &mut added[1]),
    ];
    let alike = Alike::of(&sides[0], &sides[1], forced);
    for (i, key) in ["before", "after"].iter().enumerate() {
        if alike.recomputed[i] {
            sides[i] = side(key, alike.class, &mut added[i]);
        }
    }
    let limit = options["limit_percent"].as_u64().unwrap_or(3);
    let options = CompareOptions {
        limit: StepShare {
            num: limit,
            den: 100,
        },
        alike,
    };
    let found = compare(&sides[0], &sides[1], &options);
    let mut value = comparison(&found, &[], &[]);
    value["check_exit"] = exits(&found);
    for (r, rank) in value["ranks"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .enumerate()
    {
        for i in 0..2 {
            let t = &found.ranks[r].typical[i].clone().unwrap();
            let number = found.ranks[r].rank;
            let of = added[i][t.recording]
                .iter()
                .find(|a| a.0 == number)
                .unwrap();
            rank["typical"][i]["start"] = json!(t.start - of.1);
        }
    }
    value
}

#[test]
fn every_pair_is_as_expected() {
    let Some(path) = common::shared("analysis/compare/EXPECTED.json") else {
        return;
    };
    let root = common::shared("").unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let doc: Value = serde_json::from_str(&text).unwrap();
    let cases = doc["cases"].as_array().unwrap();
    let diffs: Vec<Diff> = cases
        .par_iter()
        .map(|case| {
            let mut diff = Diff {
                case: case["id"].as_str().unwrap().to_owned(),
                ..Diff::default()
            };
            diff.of("", &case["expect"], &pair(case, &root));
            diff
        })
        .collect();
    let found: Vec<&String> = diffs.iter().flat_map(|d| &d.found).collect();
    let compared: usize = diffs.iter().map(|d| d.compared).sum();
    let told: Vec<_> = found.iter().take(80).collect();
    assert!(
        found.is_empty(),
        "{} of {compared} values differ:\n{told:#?}",
        found.len()
    );
    assert!(
        cases.len() == 22 && compared > 10_000,
        "{} {compared}",
        cases.len()
    );
}

fn series(case: &Value) -> Figure {
    let runs = |key: &str| -> Vec<Vec<i64>> { serde_json::from_value(case[key].clone()).unwrap() };
    let limit = case["limit"].as_i64().unwrap();
    single("step", runs("before"), runs("after"), limit)
}

#[test]
fn every_series_is_as_expected() {
    let Some(path) = common::shared("analysis/compare/STATS.json") else {
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let doc: Value = serde_json::from_str(&text).unwrap();
    let cases = doc["cases"].as_array().unwrap();
    let mut diff = Diff::default();
    for case in cases {
        diff.case = case["id"].as_str().unwrap().to_owned();
        let figure = series(case);
        let mut value = stallscope::export::comparison::figure(&figure);
        value["check_exit"] = match figure.within(case["limit"].as_i64().unwrap()) {
            Some(true) => 0,
            Some(false) => 3,
            None => 4,
        }
        .into();
        diff.of("", &case["expect"], &value);
    }
    assert!(diff.found.is_empty(), "{:#?}", diff.found);
    assert!(
        cases.len() == 49 && diff.compared > 1_200,
        "{}",
        diff.compared
    );
}
