//! Small inputs made after public reports, each with its right value: what other tools and users ran into.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use stallscope::export::report::{ReportOptions, report};
use stallscope::import::{OpenOptions, Progress, open};

use crate::common::{Differences, shared};
use crate::simulated::{US, analysed};

fn case(name: &str) -> Option<PathBuf> {
    shared(&format!("cases/public/{name}"))
}

/// The report of a case.
fn of(name: &str) -> Option<Value> {
    let analysis = analysed(&[case(name)?]);
    Some(report(&analysis, &ReportOptions::default()))
}

/// Exit code and output of the program.
fn stallscope(command: &str, args: &[&str], name: &str) -> Option<(i32, String)> {
    let path = case(name)?;
    let mut program = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    program.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let out = program.arg(command).args(args).arg(path).output().unwrap();
    let all = [out.stdout, out.stderr].concat();
    Some((
        out.status.code().unwrap(),
        String::from_utf8_lossy(&all).into_owned(),
    ))
}

/// What `check --max-exposed-wait 5%` answers.
fn check(name: &str) -> Option<i32> {
    Some(stallscope("check", &["--max-exposed-wait", "5%"], name)?.0)
}

/// The value at a path of parts with slashes between them.
fn at<'v>(report: &'v Value, path: &str) -> &'v Value {
    report.pointer(&format!("/{path}")).unwrap_or(&Value::Null)
}

fn notice(report: &Value, code: &str) -> Option<(u64, String)> {
    let all = report["notices"].as_array()?;
    let found = all.iter().find(|n| n["code"] == code)?;
    Some((found["count"].as_u64()?, found["text"].as_str()?.to_owned()))
}

/// Compares whole numbers at paths of a case's report.
fn equal(name: &str, values: &[(&str, i64)]) -> Option<Value> {
    let report = of(name)?;
    let mut diffs = Differences::default();
    for &(path, want) in values {
        let got = at(&report, path).as_i64();
        diffs.compare(&format!("{name}: {path}"), Some(want), got);
    }
    diffs.assert_none();
    Some(report)
}

const MS: i64 = 1_000_000;

/// What the GPU did behind a launch without a record is not known: neither idle nor busy, and no limit is judged by it.
#[test]
fn work_that_was_launched_and_not_recorded_is_not_idle() {
    for (name, busy, waits, lost, of) in [
        (
            "01a_graph_replay_unrecorded.json",
            2_000,
            24,
            "graph",
            "4 of 4 graph",
        ),
        (
            "01b_hip_graph_replay_unrecorded.json",
            2_000,
            24,
            "graph",
            "4 of 4 graph",
        ),
        (
            "01d_lost_kernel_records.json",
            1_500,
            24,
            "kernel",
            "36 of 41 kernel",
        ),
        (
            "07c_graph_launches_without_rows.sqlite",
            900,
            20,
            "graph",
            "4 of 4 graph",
        ),
    ] {
        let values = [
            ("gpu/0/busy", busy * US),
            ("ranks/0/loop/wait", waits * MS),
            ("ranks/0/loop/wait_exposed", 0),
            ("ranks/0/loop/wait_unrecorded", waits * MS),
        ];
        let Some(report) = equal(name, &values) else {
            return;
        };
        let (n, text) = notice(&report, "launches_lost").unwrap();
        assert!(
            text.contains(of) && text.contains("lower bound"),
            "{name}: {text}"
        );
        let counted = at(&report, &format!("gpu/0/lost_launches/{lost}")).as_u64();
        assert_eq!(counted, Some(n), "{name}");
        assert_eq!(
            at(&report, "ranks/0/verdict/verdict"),
            "INCONCLUSIVE",
            "{name}"
        );
        assert_eq!(check(name), Some(4), "{name}");
    }
}

#[test]
fn recorded_nodes_of_graphs_hide_waits() {
    let name = "01c_graph_replay_recorded.json";
    let values = [
        ("gpu/0/busy", 30 * MS),
        ("ranks/0/loop/wait_hidden", 10_500 * US),
        ("ranks/0/loop/wait_exposed", 7_500 * US),
        ("ranks/0/loop/wait_unrecorded", 6 * MS),
    ];
    if let Some(report) = equal(name, &values) {
        assert!(notice(&report, "launches_lost").is_none());
        assert_eq!(check(name), Some(3));
    }
}

/// Work of one stream runs in order: an operation that ends behind the beginning of the next one is not believed.
#[test]
fn ends_that_cannot_be_are_said() {
    let values = [
        ("gpu/0/overrun", 1),
        ("gpu/0/overrun_worst", 21 * MS),
        ("gpu/0/busy", 9_900 * US),
        ("gpu/0/not_recorded", 8 * MS),
        ("ranks/0/loop/wait_exposed", 12 * MS),
        ("ranks/0/loop/wait_hidden", 0),
    ];
    let Some(report) = equal("02a_kernel_end_overflow.json", &values) else {
        return;
    };
    let (n, text) = notice(&report, "stream_overrun").unwrap();
    assert_eq!(n, 1);
    assert!(text.contains("21.000 ms"), "{text}");
    // The last one cannot be judged by another; its wait counts as recorded, and it is said.
    let values = [("ranks/0/loop/wait_exposed", 18 * MS)];
    let report = equal("02b_kernel_end_overflow_last.json", &values).unwrap();
    assert!(notice(&report, "late_end").is_some());
    assert_eq!(check("02b_kernel_end_overflow_last.json"), Some(3));
}

#[test]
fn all_documents_of_a_file_are_read() {
    let values = [("gpu/unknown/busy", 290 * US), ("gpu/unknown/ops", 5)];
    let Some(report) = equal("03a_one_document_per_stream.json", &values) else {
        return;
    };
    assert_eq!(
        report["t1"].as_i64().unwrap() - report["t0"].as_i64().unwrap(),
        350 * US
    );
    let values = [("gpu/0/busy", 30 * US), ("gpu/1/busy", 5 * US)];
    equal("03b_documents_back_to_back.json", &values);
    let values = [("gpu/0/busy", 35 * US), ("gpu/0/ops", 3)];
    equal("03c_arrays_back_to_back.json", &values);
}

/// Ranks that somebody merged into one file keep a GPU each: the kernels of one never hide the waits of the other.
#[test]
fn merged_ranks_are_told_apart() {
    for name in [
        "04a_merged_ranks_text_pid.json",
        "04b_merged_ranks_offset_pid.json",
    ] {
        let values = [
            ("gpu/0/busy", 9 * MS),
            ("gpu/1.0/busy", 29_400 * US),
            ("gpu/0/lost_launches/kernel", 0),
            ("gpu/1.0/lost_launches/kernel", 0),
            ("ranks/0/loop/wait", 15 * MS),
            ("ranks/0/loop/wait_exposed", 10 * MS),
            ("ranks/0/loop/wait_hidden", 0),
            ("ranks/0/loop/wait_unrecorded", 5 * MS),
            ("ranks/1/loop/wait", 0),
        ];
        if equal(name, &values).is_none() {
            return;
        }
        assert_eq!(check(name), Some(3), "{name}");
    }
    let values = [
        ("gpu/2/busy", 29_400 * US),
        ("gpu/3/busy", 9 * MS),
        ("ranks/1/loop/wait", 15 * MS),
        ("ranks/1/loop/wait_exposed", 10 * MS),
        ("ranks/1/loop/wait_hidden", 0),
        ("ranks/1/loop/wait_unrecorded", 5 * MS),
    ];
    let report = equal("04d_fused_ranks.json", &values).unwrap();
    assert_eq!(report["gpu"].as_object().unwrap().len(), 2);
}

/// Records without a believable time are lost work: counted, named, and nothing is drawn decades away.
#[test]
fn records_without_a_time_are_lost_work() {
    for (name, code) in [
        ("05a_kernel_ts0_dur0.json", "zero_time"),
        ("05b_kernel_negative_dur.json", "negative_op"),
        ("05c_kernel_dur_wrapped.json", "far_time"),
    ] {
        let values = [
            ("gpu/0/busy", 9 * MS),
            ("gpu/0/lost_launches/kernel", 3),
            ("ranks/0/loop/wait", 12 * MS),
            ("ranks/0/loop/wait_exposed", 8 * MS),
        ];
        let Some(report) = equal(name, &values) else {
            return;
        };
        let extent = report["t1"].as_i64().unwrap() - report["t0"].as_i64().unwrap();
        assert_eq!(extent, 30 * MS, "{name}");
        assert_eq!(
            notice(&report, "launches_lost").map(|n| n.0),
            Some(3),
            "{name}"
        );
        let (_, text) = stallscope("info", &[], name).unwrap();
        assert!(text.contains("3 "), "{name}: {text}");
        let json: Value = serde_json::from_str(&stallscope("info", &["--json"], name).unwrap().1)
            .unwrap_or(Value::Null);
        let told = json.to_string().contains(code) || code_of(name, code);
        assert!(told, "{name}: {code}");
    }
}

/// Whether opening a case notes something.
fn code_of(name: &str, code: &str) -> bool {
    let Some(path) = case(name) else {
        return true;
    };
    let loaded = open(&[path], &OpenOptions::default(), &Progress::new()).unwrap();
    loaded
        .report
        .notices
        .iter()
        .any(|n| n.code == code && n.count == 3)
}

#[test]
fn waits_are_known_by_the_names_that_people_give_them() {
    for name in [
        "06a_wait_names_with_blanks.json",
        "06b_wait_names_reversed.json",
        "06d_wait_names_known.json",
    ] {
        let values = [
            ("ranks/0/loop/n_waits", 4),
            ("ranks/0/loop/wait", 24 * MS),
            ("ranks/0/loop/wait_exposed", 24 * MS),
        ];
        let Some(report) = equal(name, &values) else {
            return;
        };
        assert_eq!(
            at(&report, "ranks/0/verdict/verdict"),
            "INPUT_BOUND",
            "{name}"
        );
        assert_eq!(check(name), Some(3), "{name}");
    }
}

#[test]
fn a_process_without_gpu_records_has_no_exposed_waits() {
    let values = [
        ("ranks/0/loop/wait_exposed", 15 * MS),
        ("ranks/0/loop/wait_unrecorded", 5 * MS),
        ("ranks/1/loop/wait", 20 * MS),
        ("ranks/1/loop/wait_unrecorded", 20 * MS),
    ];
    let Some(report) = equal("07a_second_rank_without_kernels.sqlite", &values) else {
        return;
    };
    assert!(at(&report, "ranks/1/loop/wait_exposed").is_null());
    assert!(at(&report, "ranks/1/loop/wait_hidden").is_null());
    let (_, text) = notice(&report, "gpu_not_recorded").unwrap();
    assert!(text.contains("process 601 launched 4 times"), "{text}");
    let values = [
        ("ranks/0/loop/wait_exposed", 15 * MS),
        ("ranks/0/loop/wait_unrecorded", 5 * MS),
        ("ranks/1/loop/wait_exposed", 15 * MS),
        ("ranks/1/loop/wait_unrecorded", 5 * MS),
    ];
    equal("07b_both_ranks_with_kernels.sqlite", &values);
}

#[test]
fn what_is_no_timeline_is_named_and_what_is_empty_is_said() {
    let Some((code, text)) = stallscope("info", &[], "08a_speedscope.json") else {
        return;
    };
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("speedscope") && text.contains("py-spy record -f chrometrace"),
        "{text}"
    );
    let name = "08c_ort_like_empty.json";
    let (code, text) = stallscope("info", &[], name).unwrap();
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("holds no events"), "{text}");
    assert_eq!(check(name), Some(1));
}

#[test]
fn timelines_of_other_programs_open_as_what_they_are() {
    let Some((code, text)) = stallscope("info", &[], "09_ray_timeline.json") else {
        return;
    };
    assert_eq!(code, 0);
    for part in [
        "10.0.0.1",
        "10.0.0.2",
        "worker:aa01",
        "worker:bb02",
        "292.001 ms",
        "No",
        "GPU",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (code, text) = stallscope("info", &[], "10_ebpf_counters.pfw").unwrap();
    assert_eq!(code, 0);
    assert!(
        text.contains("counter 6") && text.contains("spans     0"),
        "{text}"
    );
    assert!(
        text.contains("No spans were recorded, only counters"),
        "{text}"
    );
}

/// Events without a category are spans like others.
#[test]
fn events_without_a_category_count() {
    for (name, spans, extent, busy) in [
        ("11a_no_cat.json", 3, 330, 180),
        ("11b_no_cat_args.json", 2, 200, 0),
    ] {
        let Some(path) = case(name) else {
            return;
        };
        let analysis = analysed(&[path]);
        let trace = analysis.trace();
        assert_eq!(trace.spans().len(), spans, "{name}");
        assert_eq!(trace.extent().len(), extent * US, "{name}");
        if busy > 0 {
            let lane = trace.lane_ids().next().unwrap();
            assert_eq!(analysis.lane_figures(lane, trace.extent()).busy, busy * US);
        }
        for command in ["info", "report"] {
            let (_, text) = stallscope(command, &[], name).unwrap();
            let wrong = ["of the recorder itself", "does not count"];
            assert!(wrong.iter().all(|w| !text.contains(w)), "{name}: {text}");
        }
    }
}
