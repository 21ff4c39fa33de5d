//! Traces that come through pipes: read as those in files are. And pipes, devices and other files without an end among the
//! paths, which keep nobody waiting.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{repository, scratch};

const PROGRAM: &str = env!("CARGO_BIN_EXE_stallscope");

/// Runs a script of bash with the program as `$0` and a path as `$1`; it must end soon.
fn script(script: &str, path: &Path) -> Output {
    let mut command = Command::new("timeout");
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let command = command.args(["120", "bash", "-c", script, PROGRAM]);
    command.arg(path).output().expect("bash")
}

fn json(out: &Output) -> Value {
    let err = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(0), "{err}");
    serde_json::from_slice(&out.stdout).expect("JSON")
}

/// What does not depend on where the file lies.
fn figures(report: &Value) -> Value {
    let mut out = serde_json::Map::new();
    for key in [
        "n_spans",
        "t1",
        "gpu",
        "ranks",
        "lanes",
        "annotations",
        "syncs",
    ] {
        out.insert(key.to_owned(), report[key].clone());
    }
    out.into()
}

#[test]
fn what_comes_through_a_pipe_is_read_as_a_file_is() {
    let dir = scratch("pipes");
    let sample = |name: &str| repository("sample_traces").join(name);
    let torch = sample("torch_4_workers.json.gz");
    let zip = dir.join("a.zip");
    let mut writer = zip::ZipWriter::new(std::fs::File::create(&zip).expect("made"));
    let options = zip::write::SimpleFileOptions::default();
    writer.start_file("t.json.gz", options).expect("begun");
    let bytes = std::fs::read(&torch).expect("read");
    std::io::Write::write_all(&mut writer, &bytes).expect("written");
    writer.finish().expect("written");
    for path in [&torch, &zip, &sample("nsight_2_workers.sqlite")] {
        let name = path.display();
        let whole = json(&script("\"$0\" report --json \"$1\"", path));
        for way in [
            "cat \"$1\" | \"$0\" report --json -",
            "\"$0\" report --json - < \"$1\"",
            "\"$0\" report --json <(cat \"$1\")",
        ] {
            let piped = json(&script(way, path));
            assert!(figures(&piped) == figures(&whole), "{name}: {way}");
        }
    }
    let inflated = json(&script("zcat \"$1\" | \"$0\" report --json -", &torch));
    let whole = json(&script("\"$0\" report --json \"$1\"", &torch));
    assert!(figures(&inflated) == figures(&whole));
}

#[test]
fn pipes_without_a_trace_say_so() {
    let none = Path::new("/dev/null");
    for (way, code, says) in [
        ("printf '' | \"$0\" report -", 1, "empty"),
        ("\"$0\" - < \"$1\"", 2, "The window opens files"),
        // What is read is not written over.
        (
            "cp \"$2\" x; \"$0\" png - -o x < x",
            2,
            "it would overwrite",
        ),
    ] {
        if way.contains("png") && cfg!(not(feature = "png")) {
            continue;
        }
        let way = way.replace(
            "cp \"$2\" x;",
            "cd \"$TMP\" && echo '{\"traceEvents\":[]}' > x;",
        );
        let dir = scratch("pipes-none");
        let way = way.replace("$TMP", dir.to_str().expect("UTF-8"));
        let out = script(&way, none);
        let err = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{way}: {err}");
        assert!(err.contains(says), "{way}: {err}");
    }
}

/// The memory of the process is what bounds what is read, not the pipe.
#[test]
fn an_endless_pipe_is_refused_before_it_fills_the_memory() {
    let way = "ulimit -v 2000000; cat /dev/zero | \"$0\" report -";
    let out = script(way, Path::new("/dev/null"));
    let err = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{err}");
    assert!(err.contains("MiB") || err.contains("GiB"), "{err}");
}

#[test]
fn files_without_an_end_keep_nobody_waiting() {
    let dir = scratch("pipes-special");
    let made = Command::new("mkfifo").arg(dir.join("fifo")).status();
    assert!(made.expect("mkfifo").success());
    let _socket = std::os::unix::net::UnixListener::bind(dir.join("s"));
    let linked = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, dir.join(name)).expect("a link");
    };
    linked("/dev/zero", "zero");
    linked("/proc/kmsg", "kmsg");
    linked("/proc/self/mem", "mem");
    let mut paths = vec![dir.clone()];
    paths.extend(["fifo", "s", "zero", "kmsg", "mem"].map(|name| dir.join(name)));
    paths.extend(
        [
            "/dev/tty",
            "/dev/random",
            "/proc/self/pagemap",
            "/proc/self/task",
        ]
        .map(Into::into),
    );
    for path in paths {
        for command in ["info", "report", "ranks", "whatif"] {
            let begun = Instant::now();
            let mut program = Command::new("timeout");
            let program = program.args(["60", PROGRAM, command]).arg(&path);
            let out = program.stdin(Stdio::null()).output().expect("it runs");
            let code = out.status.code();
            assert!(
                matches!(code, Some(1 | 4)),
                "{command} {}: {code:?}",
                path.display()
            );
            assert!(
                begun.elapsed() < Duration::from_secs(50),
                "{}",
                path.display()
            );
        }
    }
}

/// A file that becomes a pipe after somebody looked, again and again: whoever opens it at the wrong moment must not wait.
#[test]
fn a_file_that_becomes_a_pipe_keeps_nobody_waiting() {
    let dir = scratch("pipes-swapped");
    for sample in ["nsight_2_workers.sqlite", "torch_0_workers.json.gz"] {
        let path = dir.join(sample);
        let (file, pipe) = (dir.join("file"), dir.join("pipe"));
        std::fs::copy(repository("sample_traces").join(sample), &file).expect("copied");
        std::fs::copy(&file, &path).expect("copied");
        let script = format!(
            "cd {}; for i in 1 2 3 4 5 6; do (sleep 0.0$i; mkfifo pipe; mv pipe {sample}) & timeout 30 \"$0\" info {sample} >/dev/null 2>&1; [ $? = 124 ] && exit 9; wait; cp file new; mv new {sample}; done; exit 0",
            dir.display()
        );
        let _ = std::fs::remove_file(&pipe);
        let out = Command::new("bash").args(["-c", &script, PROGRAM]).output();
        assert_eq!(out.expect("bash").status.code(), Some(0), "{sample}");
    }
}
