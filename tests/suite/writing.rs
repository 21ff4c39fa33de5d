//! Files that are written: whole or not at all, also where the program is stopped, and never over what is read.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use stallscope::session::{Kept, Look, Session};

use crate::common::scratch;

fn run(args: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let out = command.args(args).output().expect("the program runs");
    let err = String::from_utf8(out.stderr).expect("text");
    (out.status.code().expect("an exit code"), err)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a name in UTF-8")
}

/// A trace of so many operations of a rank.
fn trace(path: &Path, rank: u32, ops: u32) {
    let mut all = String::new();
    for i in 0..ops {
        let comma = if i == 0 { "" } else { "," };
        let ts = 10 * i;
        write!(
            all,
            r#"{comma}{{"ph":"X","cat":"cpu_op","name":"op","pid":{rank},"tid":1,"ts":{ts},"dur":5}}"#
        )
        .expect("text");
    }
    let head = format!(
        r#"{{"schemaVersion":1,"distributedInfo":{{"rank":{rank},"world_size":2}},"baseTimeNanoseconds":1700000000000000000,"traceEvents":["#
    );
    std::fs::write(path, format!("{head}{all}]}}")).expect("written");
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries.map(|e| e.expect("an entry").path()).collect()
}

/// The program writing a table of many rows into this folder, stopped by a signal while it does.
#[cfg(unix)]
fn stopped(mut command: Command, signal: &str, folder: &Path) -> Child {
    let mut child = command.stderr(Stdio::null()).spawn().expect("it runs");
    while names(folder).is_empty() {
        assert!(child.try_wait().expect("asked").is_none(), "it is over");
        std::thread::sleep(Duration::from_millis(1));
    }
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", signal, &pid]).status();
    assert!(sent.expect("kill").success());
    child
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_nothing_half_written() {
    use std::os::unix::process::ExitStatusExt;
    let dir = scratch("writing-signal");
    let file = dir.join("t.json");
    trace(&file, 0, 150_000);
    let out = dir.join("out");
    std::fs::create_dir(&out).expect("a folder");
    let table = out.join("t.csv");
    let export = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
        command.args(["export", "--spans", text(&file), "-o", text(&table)]);
        command
    };
    for (signal, number) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
        let status = stopped(export(), signal, &out).wait().expect("over");
        // As it would have ended without a file to remove.
        assert_eq!(status.signal(), Some(number), "{signal}: {status}");
        assert_eq!(names(&out), Vec::<PathBuf>::new(), "{signal}");
    }
    // Who asked the system to let it survive is heard.
    let mut lasting = Command::new("sh");
    let script = "trap '' HUP; exec \"$@\"";
    let args = ["export", "--spans", text(&file), "-o", text(&table)];
    let program = env!("CARGO_BIN_EXE_stallscope");
    lasting.args(["-c", script, "sh", program]).args(args);
    let status = stopped(lasting, "HUP", &out).wait().expect("over");
    assert!(status.success(), "{status}");
    assert_eq!(names(&out), [table]);
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_printed_behind_what_is_read() {
    let dir = scratch("writing-stdout");
    let file = dir.join("t.json");
    trace(&file, 0, 10);
    let before = std::fs::read(&file).expect("there");
    let script = "\"$0\" report --json \"$1\" >> \"$1\"";
    let mut command = Command::new("sh");
    let command = command.args(["-c", script, env!("CARGO_BIN_EXE_stallscope"), text(&file)]);
    let out = command.output().expect("sh");
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("it would overwrite"));
    assert_eq!(std::fs::read(&file).expect("there"), before);
}

#[test]
fn files_of_several_ranks_spare_what_was_named() {
    let dir = scratch("writing-ranks");
    let files: Vec<PathBuf> = (0..2).map(|i| dir.join(format!("{i}.json"))).collect();
    for (rank, file) in (0..).zip(&files) {
        trace(file, rank, 10);
    }
    // Not what was asked for by name, but what becomes of it.
    let rules = dir.join("out.rank1.json");
    std::fs::write(&rules, "").expect("written");
    let out = dir.join("out.json");
    let (files, out) = ([text(&files[0]), text(&files[1])], text(&out));
    let args = [
        "export",
        files[0],
        files[1],
        "--rules",
        text(&rules),
        "--trim",
        "..",
        "-o",
        out,
    ];
    let (code, err) = run(&args);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("it would overwrite"), "{err}");
    assert_eq!(std::fs::read(&rules).expect("there"), b"");
}

#[cfg(feature = "png")]
#[test]
fn a_picture_of_a_session_spares_what_that_names() {
    let dir = scratch("writing-session");
    let folder = dir.join("run");
    std::fs::create_dir(&folder).expect("a folder");
    trace(&folder.join("0.json"), 0, 10);
    let notes = folder.join("notes.txt");
    std::fs::write(&notes, "mine").expect("written");
    let kept = vec![Kept::of(&folder, &dir)];
    let session = Session::new(kept, Vec::new(), Vec::new(), Look::default());
    let file = dir.join("a.session.json");
    std::fs::write(&file, session.text()).expect("written");
    for output in [&notes, &file] {
        let (code, err) = run(&["png", "--session", text(&file), "-o", text(output)]);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("it would overwrite"), "{err}");
    }
    assert_eq!(std::fs::read(&notes).expect("there"), b"mine");
    let new = folder.join("new.png");
    let (code, err) = run(&["png", "--session", text(&file), "-o", text(&new)]);
    assert_eq!(code, 0, "{err}");
}
