//! The importer of Chrome-trace JSON on real files, against values of an independent program, to the nanosecond.

#![expect(
    clippy::unwrap_used,
    reason = "a reference that cannot be read fails the test"
)]

use crate::common;

use std::collections::BTreeMap;
use std::path::PathBuf;

use common::{Differences, IndexLine, fingerprint, open_with, shared};
use serde_json::{Map, Value};
use stallscope::analysis::Union;
use stallscope::import::{LoadError, Loaded, NoticeKind};
use stallscope::model::{CopyKind, LaneKind, SpanId, Trace};

fn todays(cat: &str) -> &str {
    match cat {
        "None" => "",
        "Operator" => "cpu_op",
        "Runtime" => "cuda_runtime",
        "Kernel" => "kernel",
        "Memcpy" => "gpu_memcpy",
        "Memset" => "gpu_memset",
        other => other,
    }
}

fn int(value: &Value) -> i64 {
    value
        .as_i64()
        .unwrap_or_else(|| panic!("{value} is no integer"))
}

fn len<T>(list: &[T]) -> i64 {
    i64::try_from(list.len()).unwrap()
}

/// Spans of GPU work with their category.
fn gpu_rows(t: &Trace) -> Vec<(SpanId, &str)> {
    t.spans()
        .ids()
        .map(|id| (id, t.category(t.spans().cat(id)).name.as_str()))
        .filter(|(_, cat)| matches!(*cat, "kernel" | "gpu_memcpy" | "gpu_memset"))
        .collect()
}

fn busy(t: &Trace, rows: impl Iterator<Item = SpanId>) -> i64 {
    Union::new(rows.map(|id| t.spans().range(id)).collect()).measure()
}

fn check_file(d: &mut Differences, file: &str, e: &Value, loaded: &Loaded) {
    let t = &loaded.trace;
    let offset = t.sources()[0].to_trace_ns;
    let report = &loaded.report.files[0];
    d.check(file, "events", e["events"].as_u64(), Some(report.events));
    let form = format!("{} form", e["form"].as_str().unwrap());
    d.check(file, "form", true, report.format.contains(&form));
    let rank = report.facts.iter().find(|f| f.0 == "rank");
    d.check(
        file,
        "rank",
        e["rank"].as_u64(),
        rank.map(|f| f.1.parse().unwrap()),
    );
    let phases: BTreeMap<String, u64> = report
        .by_kind
        .iter()
        .filter(|(k, _)| k.len() == 1)
        .cloned()
        .collect();
    let expected: BTreeMap<String, u64> = e["phases"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(k, v)| (k.clone(), v.as_u64().unwrap()))
        .collect();
    d.check(file, "phases", expected, phases);
    check_spans(d, file, e, t, offset);
    check_gpu(d, file, e, t, offset);
    check_launches(d, file, &e["launch"], t);
    check_copies(d, file, e, t);
}

fn check_spans(d: &mut Differences, file: &str, e: &Value, t: &Trace, offset: i64) {
    let s = t.spans();
    let mut found: BTreeMap<String, i64> = BTreeMap::new();
    for id in s.ids() {
        let cat = &t.category(s.cat(id)).name;
        *found.entry(cat.clone()).or_default() += 1;
    }
    let mut expected: BTreeMap<String, i64> = BTreeMap::new();
    for (cat, n) in e["x_events"].as_object().unwrap() {
        *expected.entry(todays(cat).to_owned()).or_default() += int(n);
    }
    d.check(file, "x_events", expected, found);
    let first = s.ids().map(|i| s.start(i) - offset).min();
    let last = s.ids().map(|i| s.end(i) - offset).max();
    d.check(file, "first_ns", e["first_ns"].as_i64(), first);
    d.check(file, "last_ns", e["last_ns"].as_i64(), last);
    let unix = t.unix_origin().map(|o| o + offset);
    if let Some(base) = e["base_ns"].as_i64() {
        d.check(file, "base_ns", Some(base), unix);
    }
    let mut steps: Vec<(i64, i64, String)> = s
        .ids()
        .filter(|&id| {
            let cat = &t.category(s.cat(id)).name;
            t.span_name(id).starts_with("ProfilerStep")
                && (cat == "cpu_op" || cat == "user_annotation")
        })
        .map(|id| (s.start(id) - offset, s.dur(id), t.span_name(id).to_owned()))
        .collect();
    steps.sort();
    let expected: Vec<(i64, i64, String)> = e["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| {
            let name = s["name"].as_str().unwrap().to_owned();
            (int(&s["start_ns"]), int(&s["dur_ns"]), name)
        })
        .collect();
    d.check(file, "steps", expected, steps);
}

/// Counts, sums and unions of a set of GPU rows, as one text.
fn figures(t: &Trace, rows: &[(SpanId, &str)], offset: i64) -> String {
    let s = t.spans();
    let count = |c: &str| rows.iter().filter(|r| r.1 == c).count();
    let ids = || rows.iter().map(|r| r.0);
    let kernels = rows.iter().filter(|r| r.1 == "kernel").map(|r| r.0);
    format!(
        "{} {} {} sum {} busy {} kernel {} first {} last {}",
        count("kernel"),
        count("gpu_memcpy"),
        count("gpu_memset"),
        ids().map(|i| s.dur(i)).sum::<i64>(),
        busy(t, ids()),
        busy(t, kernels),
        ids().map(|i| s.start(i) - offset).min().unwrap(),
        ids().map(|i| s.end(i) - offset).max().unwrap(),
    )
}

fn expected_figures(e: &Value) -> String {
    format!(
        "{} {} {} sum {} busy {} kernel {} first {} last {}",
        e["kernels"],
        e["memcpys"],
        e["memsets"],
        e["sum_ns"],
        e["busy_ns"],
        e["kernel_busy_ns"],
        e["first_ns"],
        e["last_ns"],
    )
}

fn check_gpu(d: &mut Differences, file: &str, e: &Value, t: &Trace, offset: i64) {
    let rows = gpu_rows(t);
    let mut lanes: BTreeMap<(i64, i64), Vec<(SpanId, &str)>> = BTreeMap::new();
    let mut devices: BTreeMap<i64, Vec<(SpanId, &str)>> = BTreeMap::new();
    for &(id, cat) in &rows {
        let lane = t.lane(t.spans().lane(id));
        assert_eq!(lane.kind, LaneKind::Gpu, "{file}");
        let stream = t.stream(lane.stream.unwrap());
        let device = t.device(stream.device).index;
        assert_eq!(lane.key, format!("G{device}.{}", stream.number), "{file}");
        let lane = lanes.entry((device, stream.number)).or_default();
        lane.push((id, cat));
        devices.entry(device).or_default().push((id, cat));
    }
    let found: Vec<String> = lanes
        .iter()
        .map(|(k, rows)| format!("{}.{}: {}", k.0, k.1, figures(t, rows, offset)))
        .collect();
    let list = |key: &str| e[key].as_array().unwrap().iter();
    let expected: Vec<String> = list("lanes")
        .map(|l| format!("{}.{}: {}", l["device"], l["stream"], expected_figures(l)))
        .collect();
    d.check(file, "lanes", expected, found);
    let found: Vec<String> = devices
        .iter()
        .map(|(k, rows)| format!("{k}: {}", figures(t, rows, offset)))
        .collect();
    let expected: Vec<String> = list("devices")
        .map(|l| format!("{}: {}", l["device"], expected_figures(l)))
        .collect();
    d.check(file, "devices", expected, found);
    let all = (!rows.is_empty()).then(|| busy(t, rows.iter().map(|r| r.0)));
    d.check(file, "busy", e["gpu_busy_all_devices_ns"].as_i64(), all);
}

fn check_launches(d: &mut Differences, file: &str, e: &Value, t: &Trace) {
    let s = t.spans();
    let rows = gpu_rows(t);
    d.check(file, "gpu_ops", int(&e["gpu_ops"]), len(&rows));
    d.check(file, "joined", int(&e["joined"]), len(t.launches()));
    let mut unjoined: BTreeMap<&str, i64> = BTreeMap::new();
    let (mut start_delays, mut after_return) = (Vec::new(), Vec::new());
    for &(id, cat) in &rows {
        match t.launch_of(id) {
            Some(call) => {
                start_delays.push(s.start(id) - s.start(call));
                after_return.push(s.start(id) - s.end(call));
            }
            None => {
                let kind = cat.trim_start_matches("gpu_");
                *unjoined.entry(kind).or_default() += 1;
            }
        }
    }
    let expected: BTreeMap<&str, i64> = e["unjoined"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(k, v)| (k.as_str(), int(v)))
        .collect();
    d.check(file, "unjoined", expected, unjoined);
    for (name, mut delays) in [
        ("start_delay", start_delays),
        ("start_after_return", after_return),
    ] {
        delays.sort_unstable();
        let found = (!delays.is_empty()).then(|| {
            let n = delays.len();
            [len(&delays), delays[0], delays[(n - 1) / 2], delays[n - 1]]
        });
        let expected = e[name]
            .is_object()
            .then(|| ["count", "min_ns", "median_ns", "max_ns"].map(|key| int(&e[name][key])));
        d.check(file, name, expected, found);
    }
}

fn check_copies(d: &mut Differences, file: &str, e: &Value, t: &Trace) {
    let mut found: BTreeMap<&str, [i64; 4]> = BTreeMap::new();
    for &(id, info) in t.copies() {
        if t.category(t.spans().cat(id)).name != "gpu_memcpy" {
            continue;
        }
        let key = match info.kind {
            Some(CopyKind::HostToDevice) => "h2d",
            Some(CopyKind::DeviceToHost) => "d2h",
            Some(CopyKind::DeviceToDevice) => "d2d",
            Some(CopyKind::PeerToPeer) => "p2p",
            Some(CopyKind::HostToHost) => "h2h",
            _ => "other",
        };
        let slot = found.entry(key).or_default();
        slot[0] += 1;
        slot[1] += info.bytes.unwrap_or(0);
        slot[2] += i64::from(info.bytes.is_none());
        slot[3] += t.spans().dur(id);
    }
    let expected: BTreeMap<&str, [i64; 4]> = e["copies"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(k, c)| {
            let values = ["count", "bytes", "without_bytes", "ns"].map(|f| int(&c[f]));
            (k.as_str(), values)
        })
        .collect();
    d.check(file, "copies", expected, found);
}

fn expected_files() -> Option<(PathBuf, Map<String, Value>)> {
    let dir = shared("traces/torch")?;
    let text = std::fs::read_to_string(dir.join("EXPECTED.json")).unwrap();
    let Value::Object(all) = serde_json::from_str(&text).unwrap() else {
        panic!("EXPECTED.json is an object");
    };
    Some((dir, all))
}

/// Figures of the analysis reference that follow from the import alone.
fn check_anchors(d: &mut Differences, file: &str, e: &Value, loaded: &Loaded) {
    let t = &loaded.trace;
    d.check(file, "spans", e["spans"].as_u64(), Some(t.counted_spans()));
    d.check(file, "length", int(&e["t1_minus_t0"]), t.extent().len());
    let capture = t.sources()[0].capture.map(|c| c.len());
    d.check(file, "capture", e["capture"].as_i64(), capture);
    let launch = &e["launch"];
    d.check(file, "pairs", int(&launch["pairs"]), len(t.launches()));
    let mut calls: Vec<SpanId> = t.launches().iter().map(|l| l.from).collect();
    calls.dedup();
    d.check(file, "calls", int(&launch["calls"]), len(&calls));
    let early = t.anomalies().get("op_before_launch").copied();
    let expected = launch["op_before_launch"].as_u64();
    d.check(file, "op_before_launch", expected, Some(early.unwrap_or(0)));
}

#[test]
fn real_traces_equal_the_references_to_the_nanosecond() {
    let (Some((dir, all)), Some(anchors), Some(index)) = (
        expected_files(),
        shared("analysis/real_anchors.json"),
        common::index(),
    ) else {
        return;
    };
    let anchors: Value = serde_json::from_slice(&std::fs::read(anchors).unwrap()).unwrap();
    let anchors = anchors["files"].as_object().unwrap();
    assert!(anchors.keys().all(|file| all.contains_key(file)));
    let mut d = Differences::default();
    for (file, expected) in &all {
        let result = open_with(&dir.join(file), 2);
        if let Ok(loaded) = &result {
            check_file(&mut d, file, expected, loaded);
            if let Some(anchor) = anchors.get(file) {
                check_anchors(&mut d, file, anchor, loaded);
            }
        }
        let line = index.iter().find(|l| l.file == format!("torch/{file}"));
        opens_as_expected(&mut d, line.expect("every file is in the index"), result);
    }
    d.finish();
}

#[test]
fn the_name_of_a_file_and_the_number_of_threads_change_nothing() {
    let Some((dir, all)) = expected_files() else {
        return;
    };
    let unknown = common::scratch("unknown").join("unknown");
    let mut d = Differences::default();
    // The largest ones take most of the time and show nothing more, but for one of many blocks.
    let small = |file: &&String| {
        let size = std::fs::metadata(dir.join(file)).unwrap().len();
        size < 1_000_000 || file.contains("h100_google_owlv2")
    };
    for file in all.keys().filter(small) {
        std::fs::copy(dir.join(file), &unknown).unwrap();
        let a = open_with(&dir.join(file), 1).unwrap();
        let b = open_with(&unknown, 3).unwrap();
        std::fs::remove_file(&unknown).unwrap();
        d.check(file, "trace", fingerprint(&a.trace), fingerprint(&b.trace));
    }
    d.finish();
}

/// Lines of the index that their own file contradicts.
///
/// The X event of this one has `"dur": 0` and a `ts` that is decimal text: nothing of it is missing.
const CONTRADICTED: [&str; 1] =
    ["chrome/jlfwong-speedscope__trace-event_simple-with-samples~2.json"];

fn opens_as_expected(d: &mut Differences, line: &IndexLine, result: Result<Loaded, LoadError>) {
    let (verdict, _) = line
        .expectation
        .split_once(':')
        .unwrap_or((&line.expectation, ""));
    let file = &line.file;
    match (verdict, result) {
        ("opens cleanly", Ok(loaded)) => {
            let warnings: Vec<String> = loaded
                .report
                .warnings()
                .filter(|n| n.kind != NoticeKind::NotRecorded)
                // Two files of the index have such events: they are skipped, and that is said.
                .filter(|n| n.code != "async_without_id")
                .map(ToString::to_string)
                .collect();
            d.check(file, "warnings", Vec::new(), warnings);
            let events = line.events.parse().unwrap_or(0);
            d.check(file, "events", events, loaded.report.files[0].events);
        }
        ("opens with warning", Ok(loaded)) => {
            let told = loaded.report.warnings().next().is_some()
                || loaded.report.has("overlapping_spans")
                || CONTRADICTED.contains(&file.as_str());
            d.check(file, "a warning", true, told);
        }
        ("is refused with a clear message" | "is no trace", Err(e)) => {
            let clear = !e.cause.is_empty() && !e.remedy.is_empty();
            d.check(file, "message", true, clear);
        }
        // Archives may open as well.
        ("is refused with a clear message", Ok(_)) if line.expectation.contains("unpack") => {}
        (verdict, Ok(_)) => d.check(file, "opening", verdict, "opens"),
        (verdict, Err(e)) => d.check(file, "opening", verdict, e.to_string().as_str()),
    }
}

#[test]
fn other_files_open_as_the_index_says() {
    let (Some(index), Some(dir)) = (common::index(), shared("traces")) else {
        return;
    };
    let mut d = Differences::default();
    let ours =
        |l: &&IndexLine| matches!(l.kind.as_str(), "torch" | "chrome" | "malformed" | "trap");
    for line in index.iter().filter(ours) {
        let result = open_with(&dir.join(&line.file), 2);
        opens_as_expected(&mut d, line, result);
    }
    d.finish();
}
