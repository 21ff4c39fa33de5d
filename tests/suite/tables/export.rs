//! `stallscope export` as people run it.

use std::fs;

use super::run;
use crate::common::{repository, scratch};

fn sample(name: &str) -> String {
    let path = repository("sample_traces").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_table_goes_to_stdout_or_to_a_file() {
    let (code, out, err) = run(&[
        "export",
        &sample("torch_4_workers.json.gz"),
        "--waits",
        "-o",
        "-",
    ]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("run,rank,step,nth,loader,first,start,dur,"));
    assert!(out.contains("\ntorch_4_workers,0,0,0,"), "{out}");
    let dir = scratch("tables_export");
    let file = dir.join("waits.csv");
    let path = file.to_str().unwrap();
    for _again in 0..2 {
        let (code, said, err) = run(&[
            "export",
            &sample("torch_4_workers.json.gz"),
            "--waits",
            "-o",
            path,
        ]);
        assert_eq!((code, said.as_str()), (0, ""), "{err}");
        assert!(err.contains("rows of the table `waits`"), "{err}");
        assert_eq!(fs::read_to_string(&file).unwrap(), out);
    }
    assert_eq!(
        fs::read_dir(&dir).unwrap().count(),
        1,
        "nothing is left beside it"
    );
    let args = ["--run", "=x", "--steps", "-o", "-"];
    let named = |more: &[&str]| {
        let trace = sample("torch_4_workers.json.gz");
        let (_, out, _) = run(&[&["export", &trace], &args[..], more].concat());
        out.lines()
            .nth(1)
            .unwrap()
            .split(',')
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(named(&[]), "'=x");
    assert_eq!(named(&["--raw"]), "=x");
}

#[test]
fn what_was_not_recorded_is_no_table() {
    let dir = scratch("tables_nothing");
    let file = dir.join("t.csv");
    let path = file.to_str().unwrap();
    let trace = sample("dftracer_2_workers");
    let (code, _, err) = run(&["export", &trace, "--kernels", "-o", path]);
    assert_eq!(code, 4);
    assert!(err.contains("The record has no GPU operations"), "{err}");
    assert!(!file.exists());
    // A window in which nothing is, is an answer.
    let trace = sample("torch_4_workers.json.gz");
    let (code, out, _) = run(&["export", &trace, "--waits", "--range", "0..1ns", "-o", "-"]);
    assert_eq!((code, out.lines().count()), (0, 1));
}

#[test]
fn wrong_words_are_told_and_nothing_is_overwritten() {
    let trace = sample("torch_4_workers.json.gz");
    for (args, told) in [
        (&["--steps", "-o", "x.txt"][..], "says no form"),
        (&["--steps", "--waits", "-o", "-"], "cannot be used with"),
        (&["-o", "-"], "required"),
        (
            &["--spans", "--layers", "x", "-o", "-"],
            "There is no layer `x`",
        ),
        (
            &["--steps", "--layers", "op", "-o", "-"],
            "cannot be used with",
        ),
        (&["--steps", "--rank", "7", "-o", "-"], "There is no rank 7"),
    ] {
        let (code, _, err) = run(&[&["export", &trace], args].concat());
        assert_eq!(code, 2, "{args:?}: {err}");
        assert!(err.contains(told), "{args:?}: {err}");
    }
    let dir = scratch("tables_spared");
    let input = dir.join("trace.csv");
    fs::write(&input, "name,start,dur\nfetch,0,5\nforward,5,5\n").unwrap();
    let path = input.to_str().unwrap();
    let (code, _, err) = run(&["export", path, "--spans", "-o", path]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("would overwrite"), "{err}");
}

#[test]
fn layers_choose_spans() {
    let trace = sample("torch_4_workers.json.gz");
    let rows = |layers: &str| {
        let (code, out, err) = run(&["export", &trace, "--spans", "--layers", layers, "-o", "-"]);
        assert_eq!(code, 0, "{err}");
        out.lines().count() - 1
    };
    let (gpu, compute) = (rows("gpu"), rows("gpu.compute"));
    assert!(0 < compute && compute < gpu);
    assert_eq!(rows("gpu.compute,fetch"), compute + rows("fetch"));
}
