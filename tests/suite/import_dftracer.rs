//! DFTracer files of every generation against the values of an independent program: per file and per run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use stallscope::analysis::Union;
use stallscope::import::{ArgsReader, FileReport, Loaded, OpenOptions, Progress, open};
use stallscope::model::{Clock, SourceId, SpanId, Trace};
use stallscope::time::TimeRange;

use crate::common;

use common::Differences;

fn load(path: &Path) -> Loaded {
    open(
        &[path.to_owned()],
        &OpenOptions::default(),
        &Progress::new(),
    )
    .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn reference(name: &str) -> Option<(PathBuf, BTreeMap<String, Value>)> {
    let folder = common::shared("traces/dftracer")?;
    let text = std::fs::read_to_string(folder.join(name)).expect("readable");
    Some((folder, serde_json::from_str(&text).expect("JSON")))
}

fn equal<T: PartialEq + std::fmt::Debug>(
    table: &mut Differences,
    file: &str,
    what: &str,
    found: T,
    expected: T,
) {
    table.compare(&format!("{file} {what}"), expected, found);
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("None")
}

fn number(value: &Value, key: &str) -> i64 {
    value[key].as_i64().unwrap_or(0)
}

fn kind(report: &FileReport, name: &str) -> i64 {
    let found = report.by_kind.iter().find(|k| k.0 == name);
    found.map_or(0, |k| i64::try_from(k.1).expect("small"))
}

fn fact<'a>(report: &'a FileReport, name: &str) -> Option<&'a str> {
    Some(&report.facts.iter().find(|f| f.0 == name)?.1)
}

fn noticed(loaded: &Loaded, source: Option<SourceId>, code: &str) -> i64 {
    let of = |n: &&stallscope::import::Notice| n.code == code && n.source == source;
    let count = loaded.report.notices.iter().filter(of).map(|n| n.count);
    i64::try_from(count.sum::<u64>()).expect("small")
}

fn category(trace: &Trace, span: SpanId) -> &str {
    let name = &trace.category(trace.spans().cat(span)).name;
    if name.is_empty() { "None" } else { name }
}

/// Absolute time of a trace time, as the reference has it.
fn absolute(trace: &Trace, t: i64) -> i64 {
    let source = &trace.sources()[0];
    match source.clock {
        Clock::Unix { zero } => t - source.to_trace_ns + zero,
        Clock::Unknown => t - source.to_trace_ns,
    }
}

#[test]
fn every_file_has_the_reference_values() {
    let Some((folder, expected)) = reference("EXPECTED.json") else {
        return;
    };
    let mut table = Differences::default();
    let mut read = 0;
    for (file, e) in &expected {
        if e["problem"] == "empty file" {
            assert!(
                open(
                    &[folder.join(file)],
                    &OpenOptions::default(),
                    &Progress::new()
                )
                .is_err()
            );
            continue;
        }
        let loaded = load(&folder.join(file));
        read += 1;
        counts(file, e, &loaded, &mut table);
        spans(file, e, &loaded.trace, &folder.join(file), &mut table);
        hashes(file, e, &loaded.report.files[0], &mut table);
        aggregated(file, e, &loaded, &folder, &mut table);
    }
    assert!(read >= 70, "only {read} files");
    table.assert_none();
}

fn counts(file: &str, e: &Value, loaded: &Loaded, table: &mut Differences) {
    let report = &loaded.report.files[0];
    let source = Some(SourceId(0));
    equal(
        table,
        file,
        "generation",
        fact(report, "generation"),
        e["generation"].as_str(),
    );
    equal(
        table,
        file,
        "bytes",
        report.bytes,
        number(e, "bytes").unsigned_abs(),
    );
    equal(
        table,
        file,
        "records",
        report.events,
        number(e, "records").unsigned_abs(),
    );
    for name in ["complete", "counter", "aggregated", "metadata", "other"] {
        equal(
            table,
            file,
            name,
            kind(report, name),
            number(&e["kinds"], name),
        );
    }
    let meta: BTreeMap<&str, i64> = report
        .by_kind
        .iter()
        .filter_map(|(k, n)| Some((k.strip_prefix("metadata ")?, i64::try_from(*n).ok()?)))
        .collect();
    let e_meta = e["metadata"].as_object().expect("object");
    let e_meta = e_meta
        .iter()
        .map(|(k, n)| (k.as_str(), n.as_i64().unwrap_or(0)))
        .collect();
    equal(table, file, "metadata by name", meta, e_meta);
    for (code, key) in [
        ("unreadable_lines", "unreadable_lines"),
        ("comma_before_bracket", "repaired_lines"),
        ("no_time", "without_time"),
    ] {
        equal(
            table,
            file,
            key,
            noticed(loaded, source, code),
            number(e, key),
        );
    }
    let unit = match fact(report, "time unit").and_then(|u| u.split(' ').next()) {
        Some("ns") => 1,
        Some("µs") => 1_000,
        other => panic!("{other:?}"),
    };
    equal(table, file, "unit", unit, number(e, "ns_per_tick"));
    let damaged = loaded.report.has("truncated");
    equal(table, file, "problem", damaged, !e["problem"].is_null());
}

fn spans(file: &str, e: &Value, trace: &Trace, path: &Path, table: &mut Differences) {
    let mut found: BTreeMap<(String, String), (i64, i64)> = BTreeMap::new();
    let mut range: Option<(i64, i64)> = None;
    for span in trace.spans().ids() {
        let key = (
            category(trace, span).to_owned(),
            trace.span_name(span).to_owned(),
        );
        let sum = found.entry(key).or_default();
        sum.0 += 1;
        sum.1 += trace.spans().dur(span);
        let r = trace.spans().range(span);
        range = Some(range.map_or((r.start, r.end), |(a, b)| (a.min(r.start), b.max(r.end))));
    }
    let expected = e["spans"].as_array().expect("list").iter().map(|s| {
        let key = (text(s, "cat").to_owned(), text(s, "name").to_owned());
        (key, (number(s, "count"), number(s, "total_ns")))
    });
    equal(table, file, "spans", found, expected.collect());
    let range = range.map(|(a, b)| (absolute(trace, a), absolute(trace, b)));
    let expected = e["first_ns"].as_i64().zip(e["last_ns"].as_i64());
    equal(table, file, "first, last", range, expected);
    // The reference counts threads of metadata too, which have no lane without spans.
    let threads: BTreeSet<(String, String)> = records(path)
        .iter()
        .filter(|r| r["ph"] == "X" || r["ph"] == 1)
        .map(|r| (r["pid"].to_string(), r["tid"].to_string()))
        .collect();
    let repaired = number(e, "repaired_lines") > 0;
    let expected = if repaired {
        number(e, "threads")
    } else {
        threads.len() as i64
    };
    equal(table, file, "threads", trace.lanes().len() as i64, expected);
    if expected > 0 {
        let pids: BTreeSet<&str> = trace.processes().iter().map(|p| p.pid.as_str()).collect();
        let expected = e["processes"].as_array().expect("list");
        let expected = expected.iter().filter_map(Value::as_str).collect();
        equal(table, file, "processes", pids, expected);
    }
}

/// The records of a file that are JSON as they stand.
fn records(path: &Path) -> Vec<Value> {
    let bytes = std::fs::read(path).expect("readable");
    let mut text = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        // A cut file gives what is before the cut.
        let mut decoder = flate2::read::MultiGzDecoder::new(bytes.as_slice());
        let _ = std::io::Read::read_to_end(&mut decoder, &mut text);
    } else {
        text = bytes;
    }
    text.split(|&b| b == b'\n')
        .filter_map(|l| serde_json::from_slice(l).ok())
        .filter(Value::is_object)
        .collect()
}

fn hashes(file: &str, e: &Value, report: &FileReport, table: &mut Differences) {
    for (name, key) in [
        ("file hashes named here", "files_named"),
        ("file hashes used", "files_used"),
        ("file hashes not named here", "files_used_but_not_named"),
    ] {
        let found = fact(report, name).map_or(0, |t| t.parse().expect("number"));
        equal(table, file, key, found, number(&e["hashes"], key));
    }
}

/// The reference counts what a worker's file repeats of its parent; the timeline does not.
fn aggregated(file: &str, e: &Value, loaded: &Loaded, folder: &Path, table: &mut Differences) {
    let expected = e["aggregated"].as_array().expect("list");
    if expected.is_empty() {
        return;
    }
    let mut wanted: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for row in expected {
        let name = format!("{} · {}", text(row, "cat"), text(row, "name"));
        wanted.insert(name, (number(row, "calls"), number(row, "total_ns")));
    }
    let mut repeated = 0;
    for (name, calls, total) in rows_of_the_parent(&folder.join(file)) {
        repeated += 1;
        let slot = wanted.get_mut(&name).expect("known");
        slot.0 -= calls;
        slot.1 -= total;
    }
    wanted.retain(|_, v| v.0 != 0);
    let mut found: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for counter in loaded.trace.counters() {
        let sum: f64 = counter.values.iter().sum();
        let slot = found.entry(counter.name.clone()).or_default();
        if counter.series.starts_with("calls") {
            slot.0 += sum.round() as i64;
        } else {
            slot.1 += (sum * 1e6).round() as i64;
        }
    }
    equal(table, file, "aggregated", found, wanted);
    equal(
        table,
        file,
        "repeated",
        noticed(loaded, Some(SourceId(0)), "repeated_totals"),
        repeated,
    );
}

/// (category · name, calls, ns) of aggregated rows on the parent's thread number.
fn rows_of_the_parent(path: &Path) -> Vec<(String, i64, i64)> {
    let rows = records(path);
    let start = rows.iter().find(|r| r["name"] == "start").expect("start");
    let parent = &start["args"]["ppid"];
    rows.iter()
        .filter(|r| r["ph"] == 3 && r["tid"] == *parent)
        .map(|r| {
            let args = &r["args"];
            let total = args["dur_sum"]
                .as_i64()
                .or(args["dur"].as_i64())
                .unwrap_or(0);
            let name = format!("{} · {}", text(r, "cat"), text(r, "name"));
            (name, number(args, "dft_cnt"), total * 1000)
        })
        .collect()
}

const READS: [&str; 7] = [
    "read", "pread", "pread64", "readv", "preadv", "preadv64", "fread",
];

#[test]
fn every_run_has_the_reference_values() {
    let Some((folder, expected)) = reference("RUNS.json") else {
        return;
    };
    let mut table = Differences::default();
    for (run, e) in &expected {
        let loaded = load(&folder.join(run));
        run_files(run, e, &loaded, &mut table);
        layers(run, e, &loaded.trace, &mut table);
        reads(run, e, &loaded.trace, &mut table);
    }
    assert!(expected.len() >= 17);
    table.assert_none();
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let Some((folder, runs)) = reference("RUNS.json") else {
        return;
    };
    let mut table = Differences::default();
    for run in runs.keys() {
        let read = |threads| {
            let loaded = common::open_with(&folder.join(run), threads).expect("opens");
            let (trace, report) = (common::fingerprint(&loaded.trace), loaded.report);
            format!("{trace} {:?} {:?}", report.files, report.notices)
        };
        let one = read(1);
        for threads in [2, 8] {
            equal(&mut table, run, "threads", read(threads), one.clone());
        }
    }
    table.assert_none();
}

fn run_files(run: &str, e: &Value, loaded: &Loaded, table: &mut Differences) {
    let expected = e["files"].as_object().expect("object");
    let mut opened = 0;
    for (name, e) in expected {
        let at = format!("{run}/{name}");
        let report = loaded.report.files.iter().find(|f| f.path.ends_with(name));
        let Some(report) = report else {
            equal(
                table,
                &at,
                "missing, problem",
                e["problem"].as_str(),
                Some("empty file"),
            );
            let named = loaded.report.notices.iter().any(|n| {
                n.code == "empty_file" && n.path.as_ref().is_some_and(|p| p.ends_with(name))
            });
            equal(table, &at, "named as empty", named, true);
            continue;
        };
        opened += 1;
        let text = |key: &str| e[key].as_i64().map(|n| n.to_string());
        equal(
            table,
            &at,
            "pid",
            fact(report, "pid").map(str::to_owned),
            text("pid"),
        );
        equal(
            table,
            &at,
            "ppid",
            fact(report, "parent").map(str::to_owned),
            text("ppid"),
        );
        equal(
            table,
            &at,
            "records",
            kind(report, "complete"),
            number(e, "complete_records"),
        );
        equal(
            table,
            &at,
            "unreadable",
            noticed(loaded, report.source, "unreadable_lines"),
            number(e, "unreadable_lines"),
        );
        let end = fact(report, "end record").is_some_and(|t| t.starts_with("yes"));
        equal(table, &at, "has_end", Some(end), e["has_end"].as_bool());
        let events = fact(report, "end record").and_then(|t| {
            t.strip_prefix("yes, ")?
                .strip_suffix(" events")?
                .replace(',', "")
                .parse()
                .ok()
        });
        equal(table, &at, "num_events", events, e["num_events"].as_i64());
        let damaged = noticed(loaded, report.source, "truncated") > 0;
        equal(table, &at, "problem", damaged, !e["problem"].is_null());
    }
    equal(table, run, "sources", loaded.trace.sources().len(), opened);
    equal(
        table,
        run,
        "complete_records",
        loaded.trace.spans().len() as i64,
        number(e, "complete_records"),
    );
}

fn in_layer(layer: &str, cat: &str, name: &str) -> bool {
    match layer {
        "item" => cat == "data" && name == "item",
        "preprocess" => cat == "data" && name.starts_with("preprocess"),
        "compute" | "checkpoint" => cat == layer,
        "transfer" => cat == "device",
        "io" => matches!(cat, "POSIX" | "STDIO"),
        _ => name == layer,
    }
}

fn ranges(trace: &Trace, layer: &str) -> Vec<TimeRange> {
    let spans = trace.spans();
    spans
        .ids()
        .filter(|&s| in_layer(layer, category(trace, s), trace.span_name(s)))
        .map(|s| spans.range(s))
        .collect()
}

fn layers(run: &str, e: &Value, trace: &Trace, table: &mut Differences) {
    for layer in [
        "fetch.iter",
        "fetch.block",
        "item",
        "preprocess",
        "compute",
        "transfer",
        "io",
        "epoch",
        "train",
        "checkpoint",
    ] {
        let ranges = ranges(trace, layer);
        let sum: i64 = ranges.iter().map(|r| r.len()).sum();
        let found = (ranges.len() as i64, sum, Union::new(ranges).measure());
        let e = &e["layers"][layer];
        let expected = (
            number(e, "count"),
            number(e, "sum_ns"),
            number(e, "union_ns"),
        );
        equal(table, run, layer, found, expected);
    }
    let union = |layer: &str| Union::new(ranges(trace, layer));
    let (fetch, item, compute) = (union("fetch.iter"), union("item"), union("compute"));
    for (key, a, b) in [
        ("item_during_fetch_ns", &item, &fetch),
        ("fetch_during_compute_ns", &fetch, &compute),
        ("item_during_compute_ns", &item, &compute),
    ] {
        if let Some(expected) = e[key].as_i64() {
            equal(table, run, key, a.intersect(b).measure(), expected);
        }
    }
}

fn reads(run: &str, e: &Value, trace: &Trace, table: &mut Differences) {
    let mut reader = ArgsReader::new();
    let (mut with_hash, mut named) = (0, 0);
    let mut sample: Option<String> = None;
    for span in trace.spans().ids() {
        if !READS.contains(&trace.span_name(span)) {
            continue;
        }
        let args = reader
            .read(trace, span)
            .expect("readable")
            .unwrap_or_default();
        with_hash += i64::from(args.contains_key("fhash") || args.contains_key("fname"));
        if let Some(name) = args.get("fname").and_then(Value::as_str) {
            named += 1;
            sample.get_or_insert(name.to_owned());
        }
    }
    equal(
        table,
        run,
        "reads_with_hash",
        with_hash,
        number(e, "reads_with_hash"),
    );
    equal(
        table,
        run,
        "reads_named_in_run",
        named,
        number(e, "reads_named_in_run"),
    );
    if named > 0 {
        assert!(
            sample.is_some_and(|s| s.contains(['/', '.'])),
            "{run}: no file name"
        );
    }
}
