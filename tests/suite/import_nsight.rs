//! Nsight exports against their reference files: every key, exactly.

use crate::common;
use crate::support::nsight_oracle as oracle;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use stallscope::import::{ErrorKind, LoadError, Loaded, OpenOptions, Progress, open};

use common::shared;
use oracle::Oracle;

fn load(path: &Path, threads: usize) -> Result<Loaded, LoadError> {
    let options = OpenOptions {
        threads,
        ..OpenOptions::default()
    };
    open(&[path.to_owned()], &options, &Progress::new())
}

fn read_json(path: &Path) -> Map<String, Value> {
    let text = std::fs::read_to_string(path).expect("readable");
    serde_json::from_str(&text).expect("valid JSON")
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut list: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == extension))
        .collect();
    list.sort();
    list
}

/// Compares a section with what a reference says about it, key by key. Keys that only one side has are differences,
/// unless `expected` is cut to some of the names (then names that only we have are fine).
fn differences(path: &str, ours: &Value, expected: &Value, cut: bool, out: &mut Vec<String>) {
    match (ours, expected) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let here = format!("{path}.{key}");
                match (a.get(key), b.get(key)) {
                    (Some(x), Some(y)) => differences(&here, x, y, false, out),
                    (Some(_), None) if cut => {}
                    (x, y) => out.push(format!("{here}\t{}\t{}", show(x), show(y))),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            if a.len() != b.len() {
                out.push(format!("{path}.len\t{}\t{}", a.len(), b.len()));
            }
            for (i, (x, y)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}[{i}]"), x, y, false, out);
            }
        }
        (a, b) if a == b => {}
        (a, b) => out.push(format!("{path}\t{}\t{}", show(Some(a)), show(Some(b)))),
    }
}

fn show(value: Option<&Value>) -> String {
    value.map_or("-".to_owned(), ToString::to_string)
}

/// Brings a reference into the shape of what the oracle computes, where the model deliberately differs in form.
fn normalise(expected: &mut Map<String, Value>) {
    // API calls lose the version in their names.
    if let Some(Value::Object(api)) = expected.get_mut("runtime_api") {
        let mut merged: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for (name, stat) in std::mem::take(api) {
            let base = match name.rsplit_once("_v") {
                Some((b, digits))
                    if !digits.is_empty() && digits.bytes().all(|d| d.is_ascii_digit()) =>
                {
                    b.trim_end_matches("_ptsz")
                        .trim_end_matches("_ptds")
                        .to_owned()
                }
                _ => name,
            };
            let slot = merged.entry(base).or_default();
            slot.0 += stat["count"].as_i64().expect("a count");
            slot.1 += stat["total_ns"].as_i64().expect("a time");
        }
        for (name, (count, ns)) in merged {
            api.insert(name, json!({"count": count, "total_ns": ns}));
        }
    }
    let no_autograd = expected
        .get("generator")
        .is_some_and(|g| g["autograd_thread"] == json!(false));
    let tables = expected.get("counts").cloned().unwrap_or_default();
    if let Some(Value::Array(processes)) = expected.get_mut("processes") {
        for process in processes {
            let pid = process["pid"].clone();
            // The simulator lists the autograd thread also where it did nothing.
            if let (true, Some(threads)) = (no_autograd, process["threads"].as_array_mut()) {
                threads.retain(|t| *t == pid);
            }
            // What the file does not name is named by its first thread.
            if tables.get("PROCESSES").is_none() {
                let worker = pid.as_i64().is_some_and(|p| p % 100 != 0);
                process["name"] = json!(if worker { "pt_data_worker" } else { "python" });
            }
        }
    }
    if let Some(Value::Object(copies)) = expected.get_mut("memcpy") {
        for (_, copy) in copies.iter_mut() {
            copy.as_object_mut().expect("an object").remove("label");
        }
    }
    if let Some(Value::Array(ranges)) = expected.get_mut("ranges") {
        let key = |r: &Value| {
            (
                r["start"].as_i64(),
                r["pid"].as_i64(),
                r["tid"].as_i64(),
                r["name"].as_str().map(str::to_owned),
                r["end"].as_i64().unwrap_or(-1),
            )
        };
        ranges.sort_by_key(key);
    }
    if let Some(Value::Object(anomalies)) = expected.get_mut("anomalies") {
        // Properties of the file that no figure of the model depends on: ids that two processes use (the links are
        // compared instead), ranges that overlap without nesting (a count of the simulator).
        anomalies.remove("correlation_ids_in_two_processes");
        anomalies.remove("non_nested_pairs");
    }
}

fn compare(sqlite: &Path, reference: &Path) -> Vec<String> {
    let loaded = match load(sqlite, 1) {
        Ok(loaded) => loaded,
        Err(e) => return vec![format!("opens\t{e}\tyes")],
    };
    let oracle = Oracle::new(sqlite, &loaded);
    let ours = oracle.compute();
    let mut expected = read_json(reference);
    normalise(&mut expected);
    let mut out = Vec::new();
    let cut_names = expected.contains_key("nvtx_names");
    for (key, value) in &ours {
        let Some(wanted) = expected.get(key) else {
            continue;
        };
        match key.as_str() {
            "anomalies" => {
                for (name, n) in value.as_object().expect("an object") {
                    // The simulator does not count this one; the reference reader does.
                    if name == "copies_without_runtime" && expected.contains_key("generator") {
                        continue;
                    }
                    let n = n.as_u64().expect("a count");
                    let want = wanted.get(name).and_then(Value::as_u64).unwrap_or(0);
                    if n != want {
                        out.push(format!("anomalies.{name}\t{n}\t{want}"));
                    }
                }
                for name in wanted.as_object().expect("an object").keys() {
                    if value.get(name).is_none() {
                        out.push(format!("anomalies.{name}\tunknown\t{}", wanted[name]));
                    }
                }
            }
            key => differences(key, value, wanted, key == "nvtx" && cut_names, &mut out),
        }
    }
    if let Some(names) = expected.get("nvtx_names") {
        let all = ours["nvtx"].as_object().expect("an object");
        let ranges: u64 = all.values().filter_map(|v| v["count"].as_u64()).sum();
        let ours = json!([all.len(), ranges]);
        differences(
            "nvtx_names",
            &ours,
            &json!([names, expected["nvtx_ranges"]]),
            false,
            &mut out,
        );
    }
    rows_read(&loaded, &expected, &mut out);
    out
}

/// Every row of the tables that are drawn was read.
fn rows_read(loaded: &Loaded, expected: &Map<String, Value>, out: &mut Vec<String>) {
    let Some(Value::Object(tables)) = expected.get("tables").or(expected.get("counts")) else {
        return;
    };
    let read: BTreeMap<&str, u64> = loaded.report.files[0]
        .by_kind
        .iter()
        .map(|(k, n)| (k.as_str(), *n))
        .collect();
    for (table, n) in tables {
        let n = n.as_u64().expect("a count");
        let drawn = [
            "CUPTI_",
            "NVTX_EVENTS",
            "OSRT_API",
            "PROFILER_OVERHEAD",
            "StringIds",
        ];
        if n > 0
            && drawn.iter().any(|d| table.starts_with(d))
            && read.get(table.as_str()) != Some(&n)
        {
            out.push(format!("rows.{table}\t{:?}\t{n}", read.get(table.as_str())));
        }
    }
}

fn assert_same(failures: &[(String, Vec<String>)]) {
    let total: usize = failures.iter().map(|f| f.1.len()).sum();
    let mut table = String::from("file\tkey\tours\texpected\n");
    for (file, list) in failures {
        for line in list.iter().take(60) {
            table.push_str(&format!("{file}\t{line}\n"));
        }
        if list.len() > 60 {
            table.push_str(&format!("{file}\t… {} in all\n", list.len()));
        }
    }
    assert!(total == 0, "{total} differences\n{table}");
}

#[test]
fn databases_with_known_truth_agree() {
    let Some(folder) = shared("nsight/db") else {
        return;
    };
    let mut failures = Vec::new();
    let mut seen = 0;
    for sqlite in files(&folder, "sqlite") {
        let name = sqlite
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if !name.starts_with("tiny") {
            failures.push((name, compare(&sqlite, &sqlite.with_extension("json"))));
            seen += 1;
        }
    }
    assert_eq!(seen, 9);
    assert_same(&failures);
}

#[test]
fn real_exports_agree() {
    let Some(folder) = shared("traces/nsight") else {
        return;
    };
    let mut failures = Vec::new();
    for sqlite in files(&folder, "sqlite") {
        let name = sqlite
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let reference = folder.join(format!("{name}.ref.json"));
        failures.push((name, compare(&sqlite, &reference)));
    }
    assert_eq!(failures.len(), 18);
    assert_same(&failures);
}

#[test]
fn every_error_case_is_refused_or_reported_as_expected() {
    let Some(folder) = shared("nsight/errors") else {
        return;
    };
    let table = std::fs::read_to_string(folder.join("EXPECT.tsv")).expect("readable");
    let mut wrong = Vec::new();
    for line in table.lines().skip(1) {
        let mut cells = line.split('\t');
        let (file, expect) = (cells.next().expect("a file"), cells.next().expect("a case"));
        let path = folder.join(file);
        let result = load(&path, 1);
        let got = match &result {
            Err(e) if e.remedy.is_empty() => "no remedy",
            Err(_) => "refuse",
            Ok(loaded) if loaded.report.warnings().next().is_some() => "warn",
            Ok(_) => "ok",
        };
        let fine = match expect {
            "refuse or unpack" => got != "no remedy",
            "refuse table" => got == "warn",
            other => got == other,
        };
        if !fine {
            let why = match &result {
                Err(e) => e.to_string(),
                Ok(l) => l
                    .report
                    .notices
                    .iter()
                    .map(|n| format!("\n    {n}"))
                    .collect(),
            };
            wrong.push(format!("{file}\t{got}\t{expect}\t{why}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "file\tgot\texpected\n{}",
        wrong.join("\n")
    );
}

#[test]
fn real_exports_warn_where_something_is_missing_and_only_there() {
    let (Some(folder), Some(index)) = (shared("traces/nsight"), shared("traces/INDEX.tsv")) else {
        return;
    };
    let index = std::fs::read_to_string(index).expect("readable");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for line in index.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let Some(file) = cells[0].strip_prefix("nsight/") else {
            continue;
        };
        seen += 1;
        let expectation = cells[9];
        let warns = expectation.contains("with warning");
        match load(&folder.join(file), 1) {
            Err(e) => wrong.push(format!("{file}: refused: {e}")),
            Ok(loaded) => {
                let list: Vec<String> = loaded.report.warnings().map(ToString::to_string).collect();
                if list.is_empty() == warns {
                    wrong.push(format!("{file}: {expectation}: {list:?}"));
                }
                if expectation.contains("no GPU activity") && !loaded.report.has("no_gpu") {
                    wrong.push(format!(
                        "{file}: does not say that no GPU activity was recorded"
                    ));
                }
            }
        }
    }
    assert_eq!(seen, 18);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_missing_file_is_an_error_of_the_file_system() {
    let error = load(Path::new("/nonexistent/report.sqlite"), 1)
        .err()
        .expect("fails");
    assert_eq!(error.kind, ErrorKind::Io);
}
