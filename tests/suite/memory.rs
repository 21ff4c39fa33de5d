//! Memory of devices: allocations of PyTorch become counters in bytes, with their peaks in the report.

use serde_json::Value;
use stallscope::analysis::DeviceMemory;
use stallscope::model::Measure;
use stallscope::time::TimeRange;

use crate::common::{self, report_of};
use common::timeline::Scene;
use common::{repository, scratch, shared};

/// An allocation: µs, type and number of the device, bytes, totals.
fn event(ts: i64, device: (i64, i64), bytes: i64, totals: Option<(i64, i64)>) -> String {
    let totals = totals.map_or(String::new(), |(allocated, reserved)| {
        format!(r#","Total Allocated":{allocated},"Total Reserved":{reserved}"#)
    });
    let (kind, number) = device;
    format!(
        r#"{{"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":{ts},"args":{{"Device Type":{kind},"Device Id":{number},"Bytes":{bytes}{totals}}}}}"#
    )
}

fn scene(name: &str, events: &[String]) -> Scene {
    let op = r#"{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":1000,"dur":9000}"#;
    let kernel = r#"{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":2000,"dur":3000,"args":{"device":0,"stream":7}}"#;
    let all = [&[op.to_owned(), kernel.to_owned()], events].concat();
    let text = format!(r#"{{"traceEvents":[{}]}}"#, all.join(",\n"));
    let path = scratch(name).join("memory.json");
    std::fs::write(&path, text).unwrap();
    Scene::of(std::sync::Arc::new(
        common::open_with(&path, 1).unwrap().trace,
    ))
}

const GPU: (i64, i64) = (1, 0);
const CPU: (i64, i64) = (0, -1);

#[test]
fn totals_that_are_no_bytes_are_told() {
    let mut events = [
        event(2_000, GPU, 512, Some((1_512, 4_096))),
        event(3_000, GPU, 8, Some((1_520, 4_096))),
    ];
    // 2^63 and more than any whole number.
    events[1] = events[1].replace(":1520,", ":9223372036854775808,");
    assert!(events[1].contains("9223372036854775808"));
    let text = format!(r#"{{"traceEvents":[{}]}}"#, events.join(",\n"));
    let path = scratch("memory_far").join("memory.json");
    std::fs::write(&path, text).unwrap();
    let loaded = common::open_with(&path, 1).unwrap();
    let told = &loaded.report.notices;
    let told = told.iter().find(|n| n.code == "bad_memory_total").unwrap();
    assert_eq!(told.count, 1);
    assert!(told.text.contains("below 2^63"), "{}", told.text);
    let series: Vec<_> = loaded.trace.counters().iter().map(|c| c.measure).collect();
    assert_eq!(series, [Measure::Growth, Measure::Reserved]);
}

#[test]
fn totals_are_counters_and_instants_no_more() {
    let events = [
        event(2_000, GPU, 512, Some((1_512, 4_096))),
        // Out of order in the file.
        event(9_000, GPU, -1_000, Some((700, 4_096))),
        event(5_000, GPU, 188, Some((1_700, 2_048))),
        event(3_000, CPU, 8, Some((8, 0))),
    ];
    let scene = scene("memory_totals", &events);
    let counters = scene.trace.counters();
    let found: Vec<_> = counters
        .iter()
        .map(|c| (c.name.as_str(), c.measure, c.values.clone()))
        .collect();
    let gpu = "GPU memory, GPU 0";
    assert_eq!(
        found,
        [
            ("CPU memory", Measure::Allocated, vec![8.0]),
            (gpu, Measure::Allocated, vec![1_512.0, 1_700.0, 700.0]),
            (gpu, Measure::Reserved, vec![4_096.0, 2_048.0, 4_096.0]),
        ]
    );
    assert!(scene.trace.instants().is_empty());
    assert_eq!(scene.trace.reserved_beside(&counters[1]), Some(2));
    assert_eq!(scene.trace.reserved_beside(&counters[0]), None);
    // One lane for a device, the GPU's below its streams.
    let tree = scene.rows.tree();
    let titles: Vec<&str> = tree.ids().map(|id| tree.node(id).title.as_str()).collect();
    assert_eq!(
        titles.iter().filter(|t| **t == "memory").count(),
        1,
        "{titles:?}"
    );
    assert_eq!(
        titles.iter().filter(|t| **t == "CPU memory").count(),
        1,
        "{titles:?}"
    );

    let start = scene.trace.extent().start;
    let all = scene.analysis.device_memory(scene.trace.extent(), None);
    let at = |us: i64| start + (us - 1_000) * 1_000;
    let gpu = DeviceMemory {
        device: "GPU 0".to_owned(),
        rank: Some(0),
        allocated: Some((1_700, at(5_000))),
        reserved: Some((4_096, at(2_000))),
        growth: None,
        changes: 3,
    };
    assert_eq!(all[1], gpu);
    assert_eq!(all[0].device, "CPU");
    // What was allocated before a window is so in it.
    let window = TimeRange::new(at(6_000), at(9_500));
    let cut = &scene.analysis.device_memory(window, None)[1];
    assert_eq!(cut.allocated, Some((1_700, at(6_000))));
    assert_eq!((cut.reserved, cut.changes), (Some((4_096, at(9_000))), 1));
    assert!(scene.analysis.device_memory(window, Some(9)).is_empty());
}

#[test]
fn changes_without_totals_are_growth_from_an_unknown_start() {
    let events = [
        event(2_000, GPU, 500, None),
        event(5_000, GPU, -900, None),
        event(4_000, GPU, 300, None),
    ];
    let scene = scene("memory_growth", &events);
    let counter = &scene.trace.counters()[0];
    assert_eq!(counter.measure, Measure::Growth);
    assert_eq!(counter.values, [500.0, 800.0, -100.0]);
    let [row] = &scene.analysis.device_memory(scene.trace.extent(), None)[..] else {
        panic!("one device");
    };
    assert_eq!((row.allocated, row.reserved), (None, None));
    assert_eq!(row.growth.map(|g| g.0), Some(800));
}

#[test]
fn what_does_not_say_its_device_stays_an_instant() {
    let plain =
        r#"{"ph":"i","s":"t","name":"[memory]","pid":1,"tid":1,"ts":3000,"args":{"Bytes":5}}"#;
    let bare = r#"{"ph":"i","s":"t","name":"[memory]","pid":1,"tid":1,"ts":4000}"#;
    let scene = scene("memory_plain", &[plain.to_owned(), bare.to_owned()]);
    assert_eq!(scene.trace.instants().len(), 2);
    assert!(scene.trace.counters().is_empty());
    assert!(
        scene
            .analysis
            .device_memory(scene.trace.extent(), None)
            .is_empty()
    );
}

#[test]
fn real_traces_have_the_peaks_of_their_events() {
    let name =
        "traces/torch/AMD-AGI-TraceLens__h100_google_owlv2-large-patch14-ensemble__1016001.json.gz";
    let Some(path) = shared(name) else {
        return;
    };
    let file = path.to_str().unwrap();
    let json: Value = serde_json::from_str(&report_of(file, &["--json", "--brief"])).unwrap();
    let memory = json["memory"].as_array().unwrap();
    // Counted in the file by itself: 12,270 events of the GPU, 1,204 of the host.
    let row = |device: &str| memory.iter().find(|m| m["device"] == device).unwrap();
    assert_eq!(row("GPU 0")["peak_allocated"], 2_707_847_680_i64);
    assert_eq!(row("GPU 0")["peak_reserved"], 3_600_809_984_i64);
    assert_eq!(
        (&row("GPU 0")["changes"], &row("CPU")["changes"]),
        (&12_270.into(), &1_204.into())
    );
    assert_eq!(row("CPU")["peak_allocated"], 152_680_988);
    assert!(
        row("CPU")["peak_reserved"].is_null(),
        "the host reserves nothing"
    );
    let text = report_of(file, &[]);
    assert!(
        text.contains("\nMemory\n") && text.contains("2.7 GB") && text.contains("3.6 GB"),
        "{text}"
    );

    let name = "traces/torch/pytorch-kineto__resnet50_num_workers_0_worker0.1623143089861.pt.trace.json.gz";
    let Some(path) = shared(name) else {
        return;
    };
    let text = report_of(path.to_str().unwrap(), &[]);
    assert!(
        text.contains("peak growth") && !text.contains("peak allocated"),
        "{text}"
    );
}

#[test]
fn nothing_is_said_of_memory_that_is_not_recorded() {
    let file = repository("sample_traces/torch_real_rank1.json.gz");
    let file = file.to_str().unwrap();
    assert!(!report_of(file, &[]).contains("\nMemory\n"));
    let json: Value = serde_json::from_str(&report_of(file, &["--json", "--brief"])).unwrap();
    assert_eq!(json["memory"], Value::Array(Vec::new()));
}
