//! The program as people run it: every command on real files, exit codes, error texts. No display is needed.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::common;

use common::{repository, scratch, shared};

const EXPOSED: &str = "torch_0_workers.json.gz";
const HIDDEN: &str = "torch_4_workers.json.gz";
const NO_GPU: &str = "dftracer_2_workers";
const REAL: &str = "torch_real_rank1.json.gz";

fn sample(name: &str) -> String {
    repository("sample_traces")
        .join(name)
        .to_str()
        .unwrap()
        .to_owned()
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    command
}

fn run(args: &[&str]) -> Output {
    program().args(args).output().unwrap()
}

/// Exit code, stdout, stderr.
fn result(args: &[&str]) -> (i32, String, String) {
    let out = run(args);
    (
        out.status.code().unwrap(),
        String::from_utf8(out.stdout).unwrap(),
        String::from_utf8(out.stderr).unwrap(),
    )
}

/// stdout of a command that succeeds and says nothing else.
fn quiet(args: &[&str]) -> String {
    let (code, out, err) = result(args);
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    out
}

fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}

#[test]
fn info_says_what_is_in_a_trace() {
    let text = quiet(&["info", &sample(REAL)]);
    assert_has(
        &text,
        &[
            "torch.profiler JSON",
            "4,675 and 1 of the recorder",
            "1,154 from calls to GPU operations",
            "pyper:trainer:0:1",
            "stream 203",
            "kernel           1,104",
            "Everything was read",
        ],
    );
    let text = quiet(&["info", &sample(NO_GPU)]);
    assert_has(
        &text,
        &[
            "5 files",
            "worker",
            "no GPU activity was recorded",
            "dftracer",
        ],
    );
}

#[test]
fn info_as_json_counts_the_same() {
    let value: Value = serde_json::from_str(&quiet(&["info", "--json", &sample(REAL)])).unwrap();
    assert_eq!(value["spans"], 4_676);
    assert_eq!(value["counted_spans"], 4_675);
    assert_eq!(value["files"][0]["events"], 4_720);
    let lanes = value["lanes"].as_array().unwrap();
    let total: u64 = lanes.iter().map(|l| l["spans"].as_u64().unwrap()).sum();
    assert_eq!(total, 4_676);
    let value: Value = serde_json::from_str(&quiet(&["info", "--json", &sample(NO_GPU)])).unwrap();
    let roles: Vec<&str> = value["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles.iter().filter(|r| **r == "worker").count(), 4);
    assert_eq!(roles.iter().filter(|r| **r == "training").count(), 1);
}

#[test]
fn the_report_reads_top_down() {
    let text = quiet(&["report", &sample(EXPOSED)]);
    let order = [
        "Verdict",
        "Waiting for data",
        "GPU 0",
        "Layers",
        "Steps",
        "Launches",
        "CPU spans",
        "Calls that wait",
    ];
    let places: Vec<usize> = order
        .iter()
        .map(|h| {
            text.find(&format!("\n{h}"))
                .unwrap_or_else(|| panic!("{h}: {text}"))
        })
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_has(
        &text,
        &[
            "Input-bound",
            "100.0 %",
            "ProfilerStep#14",
            "cudaStreamSynchronize",
        ],
    );
    let text = quiet(&["report", &sample(HIDDEN)]);
    assert_has(&text, &["Compute-bound", "hidden"]);
}

#[test]
fn without_a_gpu_nothing_is_called_exposed() {
    let text = quiet(&["report", &sample(NO_GPU), "--windows", "1s"]);
    assert_has(
        &text,
        &[
            "unknown",
            "no GPU events",
            "No GPU activity was recorded",
            "Loading work",
            "Windows of",
            "added up",
        ],
    );
    let exposed = text
        .lines()
        .find(|l| l.trim_start().starts_with("exposed "))
        .unwrap();
    assert!(exposed.contains("unknown"), "{exposed}");
}

#[test]
fn json_and_csv_agree_with_each_other() {
    let value: Value =
        serde_json::from_str(&quiet(&["report", "--json", &sample(EXPOSED)])).unwrap();
    let steps = value["ranks"]["0"]["loop"]["steps"].as_array().unwrap();
    let brief: Value =
        serde_json::from_str(&quiet(&["report", "--json", "--brief", &sample(EXPOSED)])).unwrap();
    assert_eq!(
        brief["ranks"]["0"]["loop"]["wait"],
        value["ranks"]["0"]["loop"]["wait"]
    );
    assert!(brief["annotations"].as_object().unwrap().is_empty());
    assert!(!value["annotations"].as_object().unwrap().is_empty());
    let csv = quiet(&["report", "--csv", &sample(EXPOSED)]);
    let mut lines = csv.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<&str>> = lines.map(|l| l.split(',').collect()).collect();
    assert_eq!(rows.len(), steps.len());
    let column = |name: &str| head.iter().position(|h| *h == name).unwrap();
    for (row, step) in rows.iter().zip(steps) {
        assert_eq!(row.len(), head.len());
        for (name, key) in [
            ("time_ns", "time"),
            ("wait_ns", "wait"),
            ("wait_exposed_ns", "wait_exposed"),
            ("gpu_busy_ns", "gpu_busy"),
        ] {
            assert_eq!(row[column(name)], step[key].to_string(), "{name}");
        }
    }
}

#[test]
fn a_range_selects_and_is_checked() {
    let file = sample(EXPOSED);
    let all: Value = serde_json::from_str(&quiet(&["report", "--json", &file])).unwrap();
    let (t0, t1) = (all["t0"].as_i64().unwrap(), all["t1"].as_i64().unwrap());
    let half: Value =
        serde_json::from_str(&quiet(&["report", "--json", "--range", "..2s", &file])).unwrap();
    assert_eq!(half["window"], serde_json::json!([t0, t0 + 2_000_000_000]));
    let rest: Value =
        serde_json::from_str(&quiet(&["report", "--json", "--range", "2s..", &file])).unwrap();
    assert_eq!(rest["window"], serde_json::json!([t0 + 2_000_000_000, t1]));
    let wait = |v: &Value| v["ranks"]["0"]["loop"]["wait_exposed"].as_i64().unwrap();
    assert_eq!(wait(&half) + wait(&rest), wait(&all));
    let (code, out, err) = result(&["report", "--range", "90s..91s", &file]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_has(&err, &["outside the trace"]);
    let (code, _, err) = result(&["report", "--range", "2s..1s", &file]);
    assert_eq!(code, 2);
    assert_has(&err, &["is not a range"]);
}

#[test]
fn ranks_are_chosen_by_number() {
    let text = quiet(&["report", "--rank", "1", &sample(REAL)]);
    assert_has(&text, &["15.120"]);
    let (code, _, err) = result(&["report", "--rank", "0", &sample(REAL)]);
    assert_eq!(code, 2);
    assert_has(&err, &["There is no rank 0; the trace has: 1."]);
}

#[test]
fn rules_of_the_user_come_first() {
    let folder = scratch("cli-rules");
    let rules = folder.join("rules.toml");
    std::fs::write(
        &rules,
        "format = 1\n[[rule]]\nid = \"mine\"\nname = 'forward'\nlayer = \"eval\"\n",
    )
    .unwrap();
    let path = rules.to_str().unwrap();
    let value: Value = serde_json::from_str(&quiet(&[
        "report",
        "--json",
        "--rules",
        path,
        &sample(EXPOSED),
    ]))
    .unwrap();
    let phases = &value["ranks"]["0"]["loop"]["phases"];
    assert!(
        phases["eval"].as_i64().unwrap() > 0 && phases["forward"].is_null(),
        "{phases}"
    );
    std::fs::write(
        &rules,
        "format = 1\n[[rule]]\nid = \"mine\"\nname = '('\nlayer = \"eval\"\n",
    )
    .unwrap();
    let (code, out, err) = result(&["report", "--rules", path, &sample(EXPOSED)]);
    assert_eq!(code, 0);
    assert_has(&err, &["Warning", "rules.toml:"]);
    assert_has(&out, &["Input-bound"]);
    let (code, _, err) = result(&["report", "--rules", "nowhere.toml", &sample(EXPOSED)]);
    assert_eq!(code, 1);
    assert_has(&err, &["The rule file cannot be read", "nowhere.toml"]);
}

#[test]
fn check_tells_holds_from_broken_and_unknown() {
    let code = |args: &[&str]| {
        let mut all = vec!["check"];
        all.extend(args);
        run(&all).status.code().unwrap()
    };
    let (exposed, hidden, no_gpu, real) = (
        sample(EXPOSED),
        sample(HIDDEN),
        sample(NO_GPU),
        sample(REAL),
    );
    assert_eq!(code(&[&hidden, "--max-exposed-wait", "5%"]), 0);
    assert_eq!(code(&[&exposed, "--max-exposed-wait", "5%"]), 3);
    assert_eq!(code(&[&exposed, "--max-exposed-wait", "90%"]), 0);
    assert_eq!(code(&[&no_gpu, "--max-exposed-wait", "99%"]), 4);
    assert_eq!(code(&[&exposed, "--max-step-time", "1s"]), 0);
    assert_eq!(code(&[&exposed, "--max-step-time", "100ms"]), 3);
    assert_eq!(code(&[&no_gpu, "--max-step-time", "1s"]), 0);
    assert_eq!(code(&[&real, "--min-overlap", "7:84=20%"]), 0);
    assert_eq!(code(&[&real, "--min-overlap", "84:7=50%"]), 3);
    assert_eq!(code(&[&real, "--min-overlap", "7:999=1%"]), 4);
    // A broken limit outweighs an unknown one.
    assert_eq!(
        code(&[
            &no_gpu,
            "--max-exposed-wait",
            "5%",
            "--max-step-time",
            "1us"
        ]),
        3
    );
    assert_eq!(code(&[&exposed]), 2);
    assert_eq!(code(&["nothing.json", "--max-exposed-wait", "5%"]), 1);
    let text = result(&["check", &no_gpu, "--max-exposed-wait", "5%"]).1;
    assert_has(&text, &["cannot be told", "no GPU events"]);
}

#[test]
fn compare_and_whatif_answer() {
    let text = quiet(&["compare", &sample(EXPOSED), &sample(HIDDEN)]);
    assert_has(
        &text,
        &[
            "Whether steps changed cannot be told",
            "runs ahead of the GPU",
            "exposed wait",
            "Input-bound",
            "Compute-bound",
            "Between recordings: not measured",
        ],
    );
    let value: Value = serde_json::from_str(&quiet(&[
        "compare",
        "--json",
        &sample(EXPOSED),
        &sample(EXPOSED),
    ]))
    .unwrap();
    assert_eq!(value["refused"], "same_recording");
    assert_eq!(value["ranks"].as_array().unwrap().len(), 0);
    let text = quiet(&["whatif", &sample(NO_GPU), "--workers", "0..4"]);
    assert_has(&text, &["as measured", "loading keeps up", "Limits"]);
    let value: Value = serde_json::from_str(&quiet(&[
        "whatif",
        "--json",
        "--workers",
        "2",
        &sample(NO_GPU),
    ]))
    .unwrap();
    assert_eq!(
        value["ranks"][0]["predictions"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn what_cannot_be_read_is_explained() {
    let folder = scratch("cli-errors");
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    for (path, what) in [
        ("nothing.json".to_owned(), "No such file"),
        (write("empty.json", b""), "empty"),
        (
            write("picture.json", b"\x89PNG\r\n\x1a\n0000"),
            "not a trace",
        ),
        (write("text.json", b"hello, this is no trace\n"), "trace"),
        (folder.to_str().unwrap().to_owned(), ""),
    ] {
        for command in ["info", "report"] {
            let (code, out, err) = result(&[command, &path]);
            assert_eq!((code, out.as_str()), (1, ""), "{command} {path}: {err}");
            assert!(
                err.to_lowercase().contains(&what.to_lowercase()),
                "{path}: {err}"
            );
            assert!(
                err.trim_end().lines().count() >= 2,
                "cause, remedy, path: {err}"
            );
        }
    }
}

#[test]
fn too_many_windows_are_a_usage_error_in_every_form() {
    for form in [None, Some("--json")] {
        let file = sample(NO_GPU);
        let mut args = vec!["report", &file, "--windows", "1us"];
        args.extend(form);
        let (code, out, err) = result(&args);
        assert_eq!((code, out.as_str()), (2, ""), "{form:?}");
        assert_has(&err, &["4235193 windows are more than 500000"]);
    }
}

#[test]
fn a_loop_that_loads_by_itself_is_predicted_from_its_waits() {
    let text = quiet(&["whatif", &sample(EXPOSED), "--workers", "0..4"]);
    assert_has(
        &text,
        &["waits stand in for the loading", "measured", "best case"],
    );
    let report = quiet(&["report", &sample(EXPOSED)]);
    assert_has(
        &report,
        &[
            "Raise num_workers",
            "Note: There are no loader workers",
            "Based on 11 of 12 steps; step 3 is left out",
        ],
    );
    assert!(!report.contains("open DFTracer") && !report.contains("are not in this"));
    let (code, text, _) = result(&["whatif", &sample(HIDDEN)]);
    assert_eq!(code, 4);
    assert_has(&text, &["workers are not in this trace"]);
}

#[test]
fn wrong_arguments_are_usage_errors() {
    for args in [
        vec!["report"],
        vec!["report", "--json", "--csv", "x"],
        vec!["png", "x"],
        vec!["check", "x", "--max-exposed-wait", "5"],
        vec!["report", "x", "--windows", "0s"],
        vec!["whatif", "x", "--cache", "2"],
        vec!["report", "x", "--no-such-flag"],
        vec!["info", "x", "--shift", "2=1ms"],
    ] {
        let (code, out, err) = result(&args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(!err.is_empty());
    }
    let (code, out, _) = result(&["--help"]);
    assert_eq!(code, 0);
    assert_has(
        &out,
        &[
            "info", "report", "png", "check", "compare", "whatif", "demo",
        ],
    );
    assert!(quiet(&["--version"]).starts_with("stallscope "));
}

#[test]
fn without_a_display_the_window_names_the_commands() {
    let file = sample(EXPOSED);
    let (code, out, err) = result(&[&file]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert_has(&err, &["stallscope report", "stallscope png", EXPOSED]);
    let (code, _, err) = result(&[]);
    assert_eq!(code, 1);
    assert_has(&err, &["stallscope report PATH"]);
}

#[test]
fn the_demo_is_a_report_where_there_is_no_display() {
    let cache = scratch("cli-cache");
    let out = program()
        .args(["demo"])
        .env("XDG_CACHE_HOME", &cache)
        .env("LOCALAPPDATA", &cache)
        .env("HOME", &cache)
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(0));
    let text = String::from_utf8(out.stdout).unwrap();
    assert_has(&text, &["Verdict", "Input-bound"]);
    let list = quiet(&["demo", "--list"]);
    assert_has(&list, &[EXPOSED, HIDDEN, NO_GPU, REAL]);
    let (code, _, err) = result(&["demo", "nonsense"]);
    assert_eq!(code, 2);
    assert_has(&err, &["--list"]);
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let mut child = program()
        .args(["report", "--json", &sample(REAL)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut first = [0; 16];
    out.read_exact(&mut first).unwrap();
    drop(out);
    let mut err = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(err, "");
}

#[test]
fn pictures_are_the_same_every_time() {
    let folder = scratch("cli-png");
    let draw = |name: &str, more: &[&str]| -> Option<Vec<u8>> {
        let path: PathBuf = folder.join(name);
        let file = sample(EXPOSED);
        let mut args = vec!["png", &file, "-o", path.to_str().unwrap()];
        args.extend(more);
        let (code, out, err) = result(&args);
        if cfg!(not(feature = "png")) {
            assert_eq!(code, 2);
            assert_has(&err, &["without pictures"]);
            return None;
        }
        assert_eq!((code, out.as_str()), (0, ""), "{err}");
        assert_has(&err, &["pixels"]);
        Some(std::fs::read(path).unwrap())
    };
    let Some(first) = draw("a.png", &[]) else {
        return;
    };
    assert!(first.starts_with(b"\x89PNG"));
    assert_eq!(draw("b.png", &["--threads", "1"]).unwrap(), first);
    assert_ne!(draw("c.png", &["--theme", "dark"]).unwrap(), first);
    assert_ne!(draw("d.png", &["--range", "0..1s"]).unwrap(), first);
    assert_ne!(draw("e.png", &["--lanes", "band"]).unwrap(), first);
    let small = draw("f.png", &["--width", "700", "--scale", "1.5"]).unwrap();
    assert_eq!(&small[16..20], 1_050_u32.to_be_bytes());
}

#[test]
fn files_of_one_run_open_together_and_can_be_shifted() {
    let Some(run) = shared("traces/dftracer/runs/w2") else {
        return;
    };
    let mut files: Vec<String> = std::fs::read_dir(run)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "gz"))
        .map(|p| p.to_str().unwrap().to_owned())
        .collect();
    files.sort();
    let mut args = vec!["info", "--json", "--shift", "2=+1.5ms"];
    args.extend(files.iter().map(String::as_str));
    let value: Value = serde_json::from_str(&quiet(&args)).unwrap();
    let shifts: Vec<i64> = value["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["shift_ns"].as_i64().unwrap())
        .collect();
    let mut expected = vec![0; files.len()];
    expected[1] = 1_500_000;
    assert_eq!(shifts, expected);
}

/// The exit code of a command whose reader is gone before it writes.
fn unheard(args: &[&str]) -> Option<i32> {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = program()
        .args(args)
        .stdout(writer)
        .stderr(Stdio::null())
        .status();
    status.unwrap().code()
}

#[test]
fn a_limit_is_judged_though_nobody_reads_the_answer() {
    let exposed = sample(EXPOSED);
    let limit = |percent| unheard(&["check", &exposed, "--max-exposed-wait", percent]);
    assert_eq!(limit("0%"), Some(3));
    assert_eq!(limit("100%"), Some(0));
    let no_gpu = sample(NO_GPU);
    let code = unheard(&["check", &no_gpu, "--max-exposed-wait", "5%"]);
    assert_eq!(code, Some(4));
    // Others only say something: `stallscope report x | head`.
    assert_eq!(unheard(&["report", &exposed]), Some(0));
}
