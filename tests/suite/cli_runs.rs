//! The program on several runs opened together, and on clocks of which little is known.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::simulated::{AGREE, MS, SECOND, Written, small, write};
use crate::simulation::clock::Clock;
use crate::simulation::model::Job;
use crate::simulation::pair::Clocks;

/// Exit code and output.
fn stallscope(command: &str, args: &[&str], paths: &[PathBuf]) -> (i32, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    program.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let out = program
        .arg(command)
        .args(args)
        .args(paths)
        .output()
        .unwrap();
    (
        out.status.code().unwrap(),
        String::from_utf8_lossy(&out.stdout).into_owned(),
    )
}

fn report(args: &[&str], paths: &[PathBuf]) -> Value {
    let (code, out) = stallscope("report", &[&["--json"], args].concat(), paths);
    assert_eq!(code, 0, "{out}");
    serde_json::from_str(&out).unwrap()
}

fn has(report: &Value, code: &str) -> bool {
    let all = report["notices"].as_array().unwrap();
    all.iter().any(|n| n["code"] == code)
}

/// A run of its own: other processes, minutes after the ones before.
fn run(number: i64, change: impl FnOnce(&mut Job)) -> Written {
    let mut job = small(u64::try_from(number).unwrap());
    job.unix_origin += number * 60 * SECOND;
    job.pid += u32::try_from(number).unwrap() * 100;
    let c = &mut job.config;
    (c.blocks, c.gpu, c.item) = (1, 20 * MS, MS);
    change(&mut job);
    write(job, &AGREE)
}

#[test]
fn each_of_several_runs_is_judged_and_the_worst_counts() {
    // The GPU of the first is never without work while the loop waits; the second waits; of the third work was lost.
    let busy = run(1, |job| job.config.sync_every = 0);
    let waits = run(2, |job| job.config.item = 60 * MS);
    let lost = run(3, |job| {
        job.config.sync_every = 0;
        job.config.item = 40 * MS;
        job.config.twists.unrecorded_graphs = true;
    });
    let check = |runs: &[&Written]| {
        let paths: Vec<PathBuf> = runs.iter().map(|r| r.torch()[0].clone()).collect();
        stallscope("check", &["--max-exposed-wait", "10%"], &paths)
    };
    let codes = [
        (vec![&busy], 0),
        (vec![&waits], 3),
        (vec![&lost], 4),
        (vec![&busy, &lost], 4),
        (vec![&lost, &busy, &waits], 3),
        (vec![&busy, &waits], 3),
    ];
    for (runs, want) in codes {
        let (code, text) = check(&runs);
        assert_eq!(code, want, "{text}");
        let judged = text.lines().filter(|l| l.contains("judged steps")).count();
        assert_eq!(judged, runs.len(), "{text}");
    }
    let paths = [busy.torch()[0].clone(), waits.torch()[0].clone()];
    let both = report(&[], &paths);
    assert!(both["job"].is_null());
    let kinds: Vec<&Value> = both["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["job"]["verdict"])
        .collect();
    assert_eq!(kinds[1], "INPUT_BOUND", "{kinds:?}");
    assert_ne!(kinds[0], "INPUT_BOUND");
    assert!(has(&both, "several_runs"));
}

/// A folder of runs that have nothing to do with each other is listed, each with how to open it.
#[test]
fn a_folder_of_unrelated_runs_is_a_list_to_choose_from() {
    let runs = [run(1, |_| {}), run(2, |_| {}), run(3, |_| {})];
    let folder = tempfile::tempdir().unwrap();
    for (i, run) in runs.iter().enumerate() {
        std::fs::copy(&run.torch()[0], folder.path().join(format!("run{i}.json"))).unwrap();
    }
    let (code, text) = stallscope("report", &[], &[folder.path().to_owned()]);
    assert_eq!(code, 0);
    assert!(text.contains("3 runs that share no process"), "{text}");
    for part in [
        "run0.json",
        "run1.json",
        "run2.json",
        "stallscope report",
        "stallscope compare",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let all = report(&[], &[folder.path().to_owned()]);
    assert_eq!(all["runs"].as_array().unwrap().len(), 3);
    // Each has its own ranks, numbered on, and none is the rank of another.
    let ranks: Vec<u64> = (0..3)
        .map(|r| all["runs"][r]["ranks"][0].as_u64().unwrap())
        .collect();
    assert_eq!(ranks, [0, 1, 2]);
}

/// Two ranks on two hosts that do nothing together.
fn apart() -> Written {
    let mut job = small(5);
    (job.config.ranks, job.config.blocks) = (2, 0);
    let clocks = Clocks { hosts: 2, ..AGREE };
    write(job, &clocks)
}

#[test]
fn clocks_of_hosts_that_nothing_relates_are_not_compared_unless_trusted() {
    let run = apart();
    let paths = run.torch();
    let all = report(&[], &paths);
    assert_eq!(all["runs"].as_array().unwrap().len(), 1);
    let clock = &all["clocks"][0];
    assert!(clock["lo"].is_null() && clock["hi"].is_null(), "{clock}");
    assert!(has(&all, "clock_unknown") && has(&all, "hosts_differ"));
    let trusted = report(&["--trust-clocks"], &paths);
    assert!(!has(&trusted, "clock_unknown"));
    let (code, text) = stallscope("check", &["--max-clock-error", "1ms"], &paths);
    assert_eq!(code, 4, "{text}");
    assert!(text.contains("cannot be told"), "{text}");
    // Nobody is late where nothing is done together.
    let (code, _) = stallscope("check", &["--max-late-rank", "10%"], &paths);
    assert_eq!(code, 4);
}

#[test]
fn a_clock_that_drifts_more_than_it_may_is_no_clock_of_the_run() {
    let mut job = small(9);
    (job.config.steps, job.config.epoch_steps, job.config.item) = (120, 120, 14 * MS);
    let recorder = Clock {
        offset: 0,
        drift_ppb: 90_000,
    };
    let run = write(job, &Clocks { recorder, ..AGREE });
    let runs = |args: &[&str]| report(args, &run.paths())["runs"].as_array().unwrap().len();
    assert_eq!(runs(&[]), 1);
    assert_eq!(runs(&["--max-drift", "100"]), 1);
    assert_eq!(runs(&["--max-drift", "1"]), 2);
    let all = report(&[], &run.paths());
    let [low, high] = [0, 1].map(|i| all["clocks"][0]["drift_ppb"][i].as_i64().unwrap());
    assert!((low..=high).contains(&90_000), "{low} to {high}");
    assert!(has(&all, "clock_drift"));
}

/// The loader's start counts with all that it takes.
#[test]
fn what_starting_the_loader_took_is_told_whole() {
    let run = run(1, |job| job.config.sync_every = 0);
    let all = report(&[], &run.torch());
    let start = &all["ranks"]["0"]["loop"]["startup"];
    let total = start["total"].as_i64().unwrap();
    assert!(start["make_outside"].as_i64().unwrap() > 10 * MS, "{start}");
    let issues = all["ranks"]["0"]["verdict"]["issues"].as_array().unwrap();
    let issue = issues.iter().find(|i| i["kind"] == "STARTUP_WAIT").unwrap();
    assert_eq!(issue["value"].as_i64(), Some(total));
    let truth: i64 = run.ranks[0]
        .waits
        .iter()
        .filter(|w| w.first || w.end)
        .map(|w| w.at.end - w.at.start)
        .sum();
    // But for what recorders take of it.
    assert!(
        total <= truth && truth - total < 300_000,
        "{total} of {truth}"
    );
}
