//! Slips and odd inputs on the command line: mistyped commands, outputs over inputs, control characters, very many
//! streams and processes, figures that a tracer does not record. The files are made here.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::common;

use common::{repository, scratch};

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    command.args(args).output().unwrap()
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

fn json(args: &[&str]) -> Value {
    let (code, out, err) = result(args);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}

fn sample(name: &str) -> String {
    let path = repository("sample_traces").join(name);
    path.to_str().unwrap().to_owned()
}

fn write(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A torch.profiler trace of these events.
fn torch(events: &[String]) -> String {
    format!(
        r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#,
        events.join(",")
    )
}

fn kernel(device: u32, stream: u32, start: u32, dur: &str) -> String {
    format!(
        r#"{{"ph":"X","cat":"kernel","name":"gemm","pid":{device},"tid":{stream},"ts":{start},"dur":{dur},"args":{{"device":{device},"stream":{stream}}}}}"#
    )
}

fn cpu(pid: u32, name: &str, start: u32, dur: u32) -> String {
    format!(
        r#"{{"ph":"X","cat":"user_annotation","name":"{name}","pid":{pid},"tid":{pid},"ts":{start},"dur":{dur}}}"#
    )
}

#[test]
fn mistyped_commands_and_missing_paths_are_named() {
    let (code, out, err) = result(&["reprot", "x"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_has(&err, &["`reprot`", "stallscope report"]);
    let (code, out, err) = result(&["missing-trace.json"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert_has(&err, &["missing-trace.json", "cannot be read"]);
    assert!(!err.contains("display"), "{err}");
}

#[test]
fn a_picture_spares_what_it_is_drawn_from() {
    if cfg!(not(feature = "png")) {
        return;
    }
    let dir = scratch("use-png");
    let text = torch(&[kernel(0, 7, 0, "50")]);
    let file = write(&dir, "t.json", &text);
    let folder = dir.to_str().unwrap();
    let roundabout = format!("{folder}/../use-png/t.json");
    for (input, output) in [
        (file.as_str(), roundabout.as_str()),
        (folder, file.as_str()),
    ] {
        let (code, _, err) = result(&["png", input, "-o", output]);
        assert_eq!(code, 2, "{err}");
        assert_has(&err, &["would overwrite"]);
    }
    let link = dir.join("link.json");
    std::fs::hard_link(&file, &link).unwrap();
    if cfg!(unix) {
        let (code, ..) = result(&["png", &file, "-o", link.to_str().unwrap()]);
        assert_eq!(code, 2);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let picture = run(&["png", &file, "-o", "-"]);
    assert!(picture.stdout.starts_with(b"\x89PNG"));
    assert!(!Path::new("-").exists());
}

#[test]
fn a_picture_spares_what_belongs_to_its_inputs() {
    if cfg!(not(feature = "png")) {
        return;
    }
    let dir = scratch("use-png-spared");
    let file = write(&dir, "t.json", &torch(&[kernel(0, 7, 0, "50")]));
    let folder = dir.to_str().unwrap();
    let rules = write(&dir, "rules.toml", "format = 1\n");
    let wal = write(&dir, "t.json-wal", "kept");
    // Nobody can read it, and it is a recording all the same.
    let broken = write(&dir, "broken.json", "{\"traceEvents\": [{\"ph\": \"X\"");
    for (inputs, output) in [
        (&[file.as_str(), "--rules", &rules][..], &rules),
        (&[&file], &wal),
        (&[folder], &wal),
        (&[folder], &broken),
        (&[folder], &rules),
        (&[&file, &broken], &broken),
    ] {
        let before = std::fs::read(output).unwrap();
        let (code, _, err) = result(&[&["png", "-o", output], inputs].concat());
        assert_eq!(code, 2, "{output}: {err}");
        assert_eq!(std::fs::read(output).unwrap(), before, "{output}");
    }
    // A command can be run again: it replaces its own picture, in the folder too.
    let picture = dir.join("p.png");
    for _ in 0..2 {
        let (code, _, err) = result(&["png", folder, "-o", picture.to_str().unwrap()]);
        assert_eq!(code, 0, "{err}");
    }
}

/// The system refuses to let the file grow, as it does when a disk is full.
#[cfg(unix)]
#[test]
fn a_picture_that_does_not_fit_leaves_the_old_one() {
    if cfg!(not(feature = "png")) {
        return;
    }
    let dir = scratch("use-png-full");
    let file = write(&dir, "t.json", &torch(&[kernel(0, 7, 0, "50")]));
    std::fs::create_dir_all(dir.join("out")).unwrap();
    let target = write(&dir, "out/p.png", "the old picture");
    let script =
        "trap '' XFSZ; ulimit -f 1; exec \"$0\" png \"$1\" -o \"$2\" --width 4000 --scale 2";
    let out = std::process::Command::new("sh")
        .args([
            "-c",
            script,
            env!("CARGO_BIN_EXE_stallscope"),
            &file,
            &target,
        ])
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{err}");
    assert_has(&err, &["The picture cannot be written", "p.png"]);
    assert_eq!(std::fs::read(&target).unwrap(), b"the old picture");
    let left = std::fs::read_dir(dir.join("out")).unwrap().count();
    assert_eq!(left, 1, "nothing is left beside it");
}

#[test]
fn more_threads_than_anybody_has_are_not_started() {
    let dir = scratch("use-threads");
    let file = write(&dir, "t.json", &torch(&[kernel(0, 7, 0, "50")]));
    let (code, _, err) = result(&["info", &file, "--threads", "100000"]);
    assert_eq!(code, 0, "{err}");
    assert_has(&err, &["--threads 100000 is more than 256: 256 are used."]);
    let (_, _, err) = result(&["info", &file, "--threads", "256"]);
    assert!(!err.contains("threads"), "{err}");
}

/// Opening a pipe waits for somebody who writes into it, and nobody does.
#[cfg(unix)]
#[test]
fn a_pipe_among_the_paths_is_refused_at_once() {
    let dir = scratch("use-pipe");
    let file = write(&dir, "t.json", &torch(&[kernel(0, 7, 0, "50")]));
    let pipe = dir.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let pipe = pipe.to_str().unwrap();
    let (code, _, err) = result(&["info", &file, pipe]);
    assert_eq!(code, 0, "{err}");
    assert_has(&err, &["neither a file nor a folder"]);
    let (code, _, err) = result(&["report", &file, "--rules", pipe]);
    assert_eq!(code, 1, "{err}");
    assert_has(&err, &["not a regular file"]);
}

#[test]
fn control_characters_never_reach_the_terminal() {
    let dir = scratch("use-control");
    let missing = dir.join("a\u{1b}[31m\nb.json");
    let (code, _, err) = result(&["info", missing.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert_has(&err, &["\\u{1b}[31m\\nb.json"]);
    assert!(!err.contains('\u{1b}'));
    let rules = "format = 1\n[[layer]]\nid = \"mine\"\n[[rule]]\nid = \"mine\"\nname = 'odd'\nlayer = \"\\u001b[31mred\"\n";
    let rules = write(&dir, "rules.toml", rules);
    let file = write(
        &dir,
        "t.json",
        &torch(&[cpu(9, "odd", 0, 50), kernel(0, 7, 0, "50")]),
    );
    let (_, out, err) = result(&["report", "--rules", &rules, &file]);
    assert!(
        !out.contains('\u{1b}') && !err.contains('\u{1b}'),
        "{out}{err}"
    );
}

#[test]
fn of_very_many_streams_the_busiest_are_compared() {
    let dir = scratch("use-streams");
    let events: Vec<String> = (0..100)
        .map(|s| kernel(0, s, s, &(1_000 - s).to_string()))
        .collect();
    let file = write(&dir, "t.json", &torch(&events));
    let value = json(&["report", "--json", "--brief", &file]);
    let pairs = value["overlap"].as_object().unwrap();
    assert_eq!(pairs.len(), 64 * 63 / 2);
    assert_eq!(value["overlap_left_out"], 100 * 99 / 2 - 64 * 63 / 2);
    assert_eq!(pairs["G0.1|G0.63"]["both"], 937_000);
    assert!(!pairs.contains_key("G0.1|G0.64"));
    let (_, text, _) = result(&["report", &file]);
    assert_has(
        &text,
        &[
            "the busiest 64 were compared",
            "2,934 other pairs were not looked at",
        ],
    );
    // A limit names its streams, however busy they are.
    let (code, out, _) = result(&["check", &file, "--min-overlap", "98:99=100%"]);
    assert_eq!(code, 0, "{out}");
    assert_has(&out, &["901.000 µs of 901.000 µs"]);
}

#[test]
fn very_many_processes_and_gpus_are_listed_at_once() {
    let dir = scratch("use-many");
    let mut events: Vec<String> = (1..=3_000)
        .map(|p| cpu(100_000 + p, "work", p, 10))
        .collect();
    events.extend((0..3_000).map(|d| kernel(d, 7, d, "10")));
    let file = write(&dir, "t.json", &torch(&events));
    let value = json(&["info", "--json", &file]);
    let processes = value["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 3_000);
    // Nothing trains: the first of the busiest stands for the run.
    let role = |p: &Value| p["role"].as_str().unwrap().to_owned();
    assert_eq!(role(&processes[0]), "training");
    assert!(processes[1..].iter().all(|p| role(p) == "other"));
    let devices = value["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 3_000);
    assert!(devices.iter().all(|d| d["streams"][0]["operations"] == 1));
    let (_, text, _) = result(&["info", &file]);
    assert_has(&text, &["and 2800 more processes", "and 2800 more GPUs"]);
}

#[test]
fn what_a_tracer_does_not_record_is_unknown() {
    let (dftracer, torch) = (
        sample("dftracer_2_workers"),
        sample("torch_0_workers.json.gz"),
    );
    let (_, csv, _) = result(&["report", "--csv", &dftracer]);
    let head: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let row: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    for (name, cell) in head.iter().zip(&row) {
        let unknown = [
            "in_sync_ns",
            "gpu_busy_ns",
            "n_ops",
            "wait_exposed_ns",
            "optimizer_ns",
            "gc_ns",
            "compile_ns",
            "log_ns",
            "loader_ns",
        ];
        assert_eq!(
            cell.is_empty(),
            unknown.contains(name) || is_gpu(name),
            "{name}: {cell}"
        );
    }
    let value = json(&["report", "--json", &dftracer]);
    let figures = &value["ranks"]["0"]["loop"];
    assert!(figures["in_sync"].is_null() && figures["steps"][0]["gpu_busy"].is_null());
    assert!(figures["wait"].as_i64().unwrap() > 0);
    let value = json(&["compare", "--json", &dftracer, &torch]);
    let figures = value["ranks"][0]["figures"].as_array().unwrap();
    let of = |name: &str| figures.iter().find(|m| m["name"] == name).unwrap();
    for name in ["in_sync", "wait_exposed", "gpu_busy"] {
        let row = of(name);
        assert!(
            row["before"].is_null() && row["after"].as_i64().unwrap() > 0,
            "{row}"
        );
        assert!(
            row["shift"].is_null() && row["reason"] == "not_recorded",
            "{row}"
        );
    }
    // Each tracer has spans of its own for a wait.
    assert_eq!(of("wait")["reason"], "unlike_waits");
    assert!(of("step")["shift"].is_i64());
}

/// Columns of the step table that only GPU events can fill, besides those named in the test.
fn is_gpu(name: &str) -> bool {
    let gpu = [
        "wait_hidden_ns",
        "wait_hidden_by_earlier_ns",
        "gpu_idle_ns",
        "launched_ns",
        "first_kernel_ns",
        "gpu_lag_ns",
        "compute_ns",
        "comm_ns",
        "eval_ns",
    ];
    gpu.contains(&name)
}

#[test]
fn a_trace_without_length_shows_its_operation() {
    let dir = scratch("use-instant");
    let file = write(&dir, "t.json", &torch(&[kernel(0, 7, 5, "0")]));
    let value = json(&["report", "--json", &file]);
    assert_eq!(value["gpu"]["0"]["n_ops"], 1);
    let (_, text, _) = result(&["report", &file]);
    assert_has(&text, &["1 span in 0 ns", "1 operation\n"]);
}

#[test]
fn lines_fit_a_terminal() {
    let dir = scratch("use-width");
    let mut name = String::new();
    for i in 0..60 {
        let _ = write!(name, "kernel{i}<float>");
    }
    let long: Vec<String> = (0..5)
        .flat_map(|i| {
            [
                cpu(1, &format!("{i}{name}"), 100 * i, 90),
                kernel(0, 7, 100 * i, "50"),
            ]
        })
        .collect();
    let file = write(&dir, &format!("{}.json", &name[..200]), &torch(&long));
    for file in [
        file,
        sample("torch_real_rank1.json.gz"),
        sample("dftracer_2_workers"),
    ] {
        for command in ["info", "report", "whatif"] {
            let (_, out, _) = result(&[command, &file]);
            let name = Path::new(&file).file_name().unwrap().to_str().unwrap();
            for line in out.lines().filter(|l| !l.contains(name)) {
                assert!(line.chars().count() <= 140, "{command}: {line}");
            }
        }
    }
}
