//! Rows against the JSON report of the same trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use stallscope::analysis::{Analysis, NoArgs};
use stallscope::tables::{
    self, Column, Origin, RanksRow, Row, SpanTable, StepsRow, Value, WaitsRow, Whose,
};
use stallscope::time::TimeRange;

use super::{analysed, report, traces};
use crate::common::Differences;

fn whole(a: &Analysis) -> TimeRange {
    let extent = a.trace().extent();
    let end = extent.end.max(extent.start + 1);
    TimeRange { end, ..extent }
}

fn whose(rank: usize) -> Whose {
    Whose {
        run: "r".into(),
        rank,
    }
}

fn json_of<R>(column: &Column<R>, row: &R) -> Json {
    match column.value(row) {
        Value::Null => Json::Null,
        Value::Text(text) => text.into(),
        Value::I32(n) => n.into(),
        Value::I64(n) => n.into(),
        Value::Bool(is) => is.into(),
    }
}

/// A row by the names of its columns.
fn named<R: Row>(row: &R) -> BTreeMap<&'static str, Json> {
    R::COLUMNS
        .iter()
        .map(|c| (c.name, json_of(c, row)))
        .collect()
}

fn int(value: &Json) -> i64 {
    value.as_i64().unwrap_or(0)
}

fn sum(row: &BTreeMap<&'static str, Json>, prefix: &str) -> i64 {
    let parts = row.iter().filter(|(name, _)| name.starts_with(prefix));
    parts.map(|(_, value)| int(value)).sum()
}

#[test]
fn steps_have_the_figures_of_the_report() {
    let mut diff = Differences::default();
    let (mut holes, mut judged_rows) = (0, 0);
    for path in traces() {
        let (a, report) = (analysed(&path), report(&path));
        for r in 0..a.ranks().len() {
            let number = a.ranks()[r].rank;
            let rows = tables::steps(&a, &whose(r), whole(&a));
            let told = &report["ranks"][number.to_string()]["loop"]["steps"];
            let of = format!("{} rank {number}", path.display());
            diff.compare(
                &format!("{of}: steps"),
                told.as_array().map_or(0, Vec::len),
                rows.len(),
            );
            let saved = report["compare"]["ranks"].as_array().unwrap().iter();
            let mut saved = saved.filter(|s| s["rank"] == number);
            let cycles = saved.next().unwrap()["cycles"].as_array().unwrap();
            let by_index: BTreeMap<i64, &Json> =
                cycles.iter().map(|c| (int(&c["index"]), c)).collect();
            let zero = a.trace().extent().start;
            for (i, row) in rows.iter().enumerate() {
                let (row, told) = (named(row), &told[i]);
                let of = format!("{of} step {i}");
                diff.compare(&of, &json!(i), &row["step"]);
                for key in ["first", "time"] {
                    diff.check(&of, key, &told[key], &row[key]);
                }
                diff.check(&of, "start", int(&told["start"]) - zero, int(&row["start"]));
                if row["cycle"] == row["time"] {
                    for key in told.as_object().unwrap().keys() {
                        if let Some(value) = row
                            .get(key.as_str())
                            .filter(|_| key != "step" && key != "start")
                        {
                            diff.check(&of, key, &told[key], value);
                        }
                    }
                } else {
                    holes += 1;
                }
                diff.check(&of, "phases", int(&row["cycle"]), sum(&row, "phase_"));
                if !row["part_compute"].is_null() {
                    diff.check(&of, "parts", int(&row["cycle"]), sum(&row, "part_"));
                }
                let cycle = by_index.get(&(i as i64));
                diff.check(&of, "judged", &json!(cycle.is_some()), &row["judged"]);
                let Some(cycle) = cycle else { continue };
                judged_rows += 1;
                diff.check(&of, "cycle", &cycle["time"], &row["cycle"]);
                diff.check(&of, "number", &cycle["number"], &row["number"]);
                diff.check(&of, "gpu_lag", &cycle["gpu_lag"], &row["gpu_lag"]);
                let end = int(&row["start"]) + int(&row["time"]);
                diff.check(
                    &of,
                    "end",
                    int(&cycle["start"]) + int(&cycle["time"]) - zero,
                    end,
                );
                for (key, value) in cycle["figures"].as_object().unwrap() {
                    diff.check(&of, key, value, &row[key.as_str()]);
                }
                for (prefix, parts) in [("part_", "gpu_parts"), ("phase_", "cpu_parts")] {
                    for (name, value) in &row {
                        let Some(part) = name.strip_prefix(prefix) else {
                            continue;
                        };
                        let parts = &cycle[parts];
                        let told = int(&parts[part]).max(int(&parts[format!("idle_{part}")]));
                        diff.check(&of, name, told, int(value));
                    }
                }
            }
        }
    }
    diff.finish();
    assert!(holes > 0 && judged_rows > 50, "{holes} {judged_rows}");
}

#[test]
fn waits_have_the_figures_and_causes_of_the_report() {
    let mut diff = Differences::default();
    let mut causes = 0;
    for path in traces() {
        let (a, report) = (analysed(&path), report(&path));
        for r in 0..a.ranks().len() {
            let number = a.ranks()[r].rank;
            let rows: Vec<WaitsRow> = tables::waits(&a, &whose(r), whole(&a));
            let told = &report["ranks"][number.to_string()]["loop"]["waits"];
            let of = format!("{} rank {number}", path.display());
            diff.compare(
                &format!("{of}: waits"),
                told.as_array().map_or(0, Vec::len),
                rows.len(),
            );
            for (i, row) in rows.iter().enumerate() {
                let (row, told) = (named(row), &told[i]);
                let of = format!("{of} wait {i}");
                diff.check(
                    &of,
                    "dur",
                    int(&told["end"]) - int(&told["start"]),
                    int(&row["dur"]),
                );
                diff.check(&of, "first", &told["first"], &row["first"]);
                if !row["exposed"].is_null() {
                    let all = ["exposed", "hidden", "unrecorded"].map(|k| int(&row[k]));
                    diff.check(&of, "sum", int(&row["dur"]), all.iter().sum());
                }
                if row["cause"].is_null() {
                    diff.check(&of, "causes", 0, sum(&row, "cause_"));
                    continue;
                }
                causes += 1;
                diff.check(&of, "causes", int(&row["dur"]), sum(&row, "cause_"));
                let cause = &told["cause"];
                diff.check(&of, "kind", &cause["kind"], &row["cause"]);
                diff.check(&of, "worker", &cause["worker"], &row["worker"]);
                diff.check(&of, "late", &cause["late"], &row["late"]);
            }
        }
    }
    diff.finish();
    assert!(causes > 20, "{causes}");
}

#[test]
fn kernels_are_those_of_comparisons() {
    let mut diff = Differences::default();
    for path in traces() {
        let (a, report) = (analysed(&path), report(&path));
        for r in 0..a.ranks().len() {
            let number = a.ranks()[r].rank;
            let rows = tables::kernels(&a, &whose(r), whole(&a));
            let mut own: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
            for row in &rows {
                assert!(
                    row.min <= row.max && row.n * row.min <= row.sum && row.sum <= row.n * row.max
                );
                assert!(0 < row.steps && i64::from(row.steps) <= row.n);
                if ["gpu.compute", "gpu.comm"].contains(&&*row.layer) {
                    let sum = own.entry(&row.name).or_default();
                    *sum = (sum.0 + row.n, sum.1 + row.sum);
                }
            }
            let saved = report["compare"]["ranks"].as_array().unwrap().iter();
            let mut saved = saved.filter(|s| s["rank"] == number);
            let told = saved.next().unwrap()["kernels"].as_array().unwrap().iter();
            let told: BTreeMap<&str, (i64, i64)> = told
                .map(|k| {
                    (
                        k["name"].as_str().unwrap(),
                        (int(&k["count"]), int(&k["time"])),
                    )
                })
                .collect();
            diff.compare(&format!("{} rank {number}", path.display()), told, own);
        }
    }
    diff.finish();
}

#[test]
fn spans_are_those_of_the_trace_each_once() {
    for path in traces() {
        let a = analysed(&path);
        let trace = a.trace();
        let mut table = SpanTable::new(&a, &NoArgs);
        let run: Arc<str> = "r".into();
        let mut seen = vec![false; trace.spans().len()];
        for rank in (0..a.ranks().len()).map(Some).chain([None]) {
            let ids = table.of(rank, TimeRange::new(i64::MIN / 2, i64::MAX / 2), &[]);
            let rows = table.rows(&run, rank, &ids);
            assert!(rows.is_sorted_by_key(|r| r.start));
            for row in rows {
                let at = usize::try_from(row.span).unwrap();
                assert!(!std::mem::replace(&mut seen[at], true));
                let id = stallscope::model::SpanId(u32::try_from(at).unwrap());
                assert_eq!(&*row.name, trace.span_name(id));
                assert_eq!(row.start, trace.spans().start(id) - trace.extent().start);
                assert_eq!(row.call, trace.launch_of(id).map(|c| i64::from(c.0)));
                let Some(parent) = row.parent else { continue };
                let parent = stallscope::model::SpanId(u32::try_from(parent).unwrap());
                assert!(trace.spans().range(parent).covers(trace.spans().range(id)));
                assert_eq!(trace.spans().lane(parent), trace.spans().lane(id));
            }
        }
        assert!(seen.iter().all(|s| *s), "{}", path.display());
    }
}

#[test]
fn ranks_have_the_figures_of_the_report() {
    let mut diff = Differences::default();
    for path in traces() {
        let (a, report) = (analysed(&path), report(&path));
        for r in 0..a.ranks().len() {
            let verdict = a.verdict(r, whole(&a));
            let mut row = RanksRow::new(&a, r, Origin::default());
            row.judge(&verdict, None);
            let row = named(&row);
            let number = a.ranks()[r].rank;
            let told = &report["ranks"][number.to_string()];
            let of = format!("{} rank {number}", path.display());
            let issue = &told["verdict"]["issues"][0];
            for (name, value) in [
                ("verdict", &told["verdict"]["verdict"]),
                ("verdict_value", &issue["value"]),
                ("verdict_of", &issue["of_ns"]),
                ("judged", &told["verdict"]["n_judged"]),
                ("device", &told["device"]),
                ("steps", &told["loop"]["n_steps"]),
            ] {
                diff.check(&of, name, value, &row[name]);
            }
            for name in ["wait", "wait_exposed", "wait_hidden", "wait_unrecorded"] {
                diff.check(&of, name, int(&told["loop"][name]), int(&row[name]));
            }
            if a.ranks().len() == 1 {
                diff.check(&of, "spans", &report["n_spans"], &row["spans"]);
                let gpus = report["gpu"].as_object().unwrap().values();
                let ops: i64 = gpus.map(|g| int(&g["n_ops"])).sum();
                diff.check(&of, "gpu_ops", ops, int(&row["gpu_ops"]));
            }
        }
    }
    diff.finish();
}

#[test]
fn a_window_takes_whole_rows_that_touch_it() {
    let path = crate::common::repository("sample_traces/torch_4_workers.json.gz");
    let a = analysed(&path);
    let all: Vec<StepsRow> = tables::steps(&a, &whose(0), whole(&a));
    let zero = a.trace().extent().start;
    let (second, third) = (&all[1], &all[2]);
    let window = TimeRange::new(zero + second.start + 1, zero + third.start);
    assert_eq!(
        tables::steps(&a, &whose(0), window),
        std::slice::from_ref(second)
    );
    let window = TimeRange::new(zero + second.start + 1, zero + third.start + 1);
    assert_eq!(tables::steps(&a, &whose(0), window).len(), 2);
}
