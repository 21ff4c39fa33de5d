//! What the program does with input that it cannot take whole: paths that cannot be read, files that do not belong on
//! one axis, lost events, wrong rules. The files are made here.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common;

use common::scratch;

/// Exit code, stdout, stderr.
fn result(args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let out = command.args(args).output().unwrap();
    (
        out.status.code().unwrap(),
        String::from_utf8(out.stdout).unwrap(),
        String::from_utf8(out.stderr).unwrap(),
    )
}

fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}

/// Ten steps of 10 ms of one process: it waits 4 ms for data, in which the GPU is idle, and launches 5 ms of work.
fn events(pid: u32) -> String {
    let mut out = String::new();
    for i in 0..10 {
        let at = 1_000 + 10_000 * i;
        let mut add = |cat: &str, name: &str, place: &str, start: i32, dur: i32, args: &str| {
            let _ = write!(
                out,
                r#"{{"ph":"X","cat":"{cat}","name":"{name}",{place},"ts":{start},"dur":{dur}{args}}},"#
            );
        };
        let cpu = format!(r#""pid":{pid},"tid":{pid}"#);
        let gpu = r#""pid":0,"tid":7"#;
        let link = format!(r#","args":{{"correlation":{}}}"#, i + 1);
        let op = format!(
            r#","args":{{"device":0,"stream":7,"correlation":{}}}"#,
            i + 1
        );
        let wait = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
        add(
            "user_annotation",
            &format!("ProfilerStep#{i}"),
            &cpu,
            at,
            10_000,
            "",
        );
        add("user_annotation", wait, &cpu, at, 4_000, "");
        add(
            "cuda_runtime",
            "cudaLaunchKernel",
            &cpu,
            at + 4_100,
            10,
            &link,
        );
        add("kernel", "gemm", gpu, at + 4_200, 5_000, &op);
    }
    out.pop();
    out
}

/// A torch.profiler trace of those, on its own clock or on Unix time.
fn torch(pid: u32, unix: bool) -> String {
    let base = if unix {
        r#""baseTimeNanoseconds":1700000000000000000,"#
    } else {
        ""
    };
    format!(
        r#"{{"schemaVersion":1,{base}"traceEvents":[{}]}}"#,
        events(pid)
    )
}

fn write(dir: &Path, name: &str, text: &[u8]) -> String {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// `check --max-exposed-wait 50%` of some paths: 40 % of the steps are exposed wait.
fn check(paths: &[&str], more: &[&str]) -> (i32, String, String) {
    let mut args = vec!["check"];
    args.extend(paths);
    args.extend(["--max-exposed-wait", "50%"]);
    args.extend(more);
    result(&args)
}

#[test]
fn a_named_path_that_cannot_be_read_fails_a_check() {
    let dir = scratch("losses-unread");
    let good = write(&dir, "good.json", torch(100, true).as_bytes());
    let (code, out, err) = check(&[&good], &[]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_has(&out, &["40.0 %", "holds"]);
    let missing = dir.join("missing.json").to_str().unwrap().to_owned();
    let broken = write(&dir, "broken.json.gz", b"\x1f\x8b\x08\x00garbage");
    let empty = write(&dir, "empty.json", b"");
    let folder = dir.join("nothing").to_str().unwrap().to_owned();
    std::fs::create_dir(&folder).unwrap();
    for bad in [&missing, &broken, &empty, &folder] {
        let (code, out, err) = check(&[&good, bad], &[]);
        assert_eq!(code, 1, "{bad}: {out}{err}");
        assert_has(&err, &["Warning", bad]);
        assert_has(&out, &["cannot be told"]);
        for command in ["info", "report"] {
            let (code, out, err) = result(&[command, &good, bad]);
            assert_eq!(code, 0, "{command} {bad}: {err}");
            assert_has(&err, &["Warning", bad]);
            assert_has(&out, &[bad]);
        }
    }
}

#[test]
fn files_of_a_folder_that_should_be_traces_are_told_by_every_command() {
    let dir = scratch("losses_folder");
    write(&dir, "good.json", torch(10, true).as_bytes());
    write(&dir, "settings.json", b"{\"lr\": 1}");
    write(&dir, "notes.txt", b"nothing");
    let path = dir.to_str().unwrap();
    let table = dir.with_extension("csv");
    let table = table.to_str().unwrap();
    let commands: [&[&str]; 4] = [
        &["report", path],
        &["info", path],
        &["export", path, "--waits", "-o", table],
        &["check", path, "--max-exposed-wait", "90%"],
    ];
    for args in commands {
        let (code, _, err) = result(args);
        assert_eq!(code, 0, "{args:?}: {err}");
        assert!(!err.contains("Warning"), "{err}");
    }
    write(&dir, "lost.json", b"out of memory\n");
    write(&dir, "more.pfw.gz", &[0x93, 0xfe, 0x01, 0xc7, 0x80, 0xff]);
    for args in commands {
        let (code, out, err) = result(args);
        assert_has(&format!("{out}{err}"), &["lost.json", "more.pfw.gz"]);
        let wanted = if args[0] == "check" { 4 } else { 0 };
        assert_eq!(code, wanted, "{args:?}: {err}");
    }
}

#[test]
fn files_without_a_common_clock_leave_a_check_open() {
    let dir = scratch("losses-clock");
    let first = write(&dir, "first.json", torch(100, false).as_bytes());
    let second = write(&dir, "second.json", torch(200, false).as_bytes());
    let (code, out, err) = check(&[&first, &second], &[]);
    assert_eq!(code, 4, "{out}{err}");
    assert_has(
        &out,
        &["40.0 %", "cannot be told", "not all of the input was read"],
    );
    assert_has(&err, &["second.json was not opened with first.json"]);
    // What does not hold for a part does not hold.
    let (code, _, _) = result(&["check", &first, &second, "--max-exposed-wait", "5%"]);
    assert_eq!(code, 3);
}

#[test]
fn many_files_that_cannot_be_joined_make_one_line() {
    let dir = scratch("losses-many");
    let mut args = vec!["info".to_owned()];
    for i in 0..9 {
        args.push(write(
            &dir,
            &format!("t{i}.json"),
            torch(100 + i, false).as_bytes(),
        ));
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (code, out, err) = result(&args);
    assert_eq!(code, 0);
    for text in [out, err] {
        assert_has(&text, &["(t1.json, t2.json, t3.json and 5 more)", "(8×)"]);
        assert_eq!(text.matches("was not opened with").count(), 0, "{text}");
    }
    // Files that are refused each for itself.
    let mut args = vec![
        "info".to_owned(),
        write(&dir, "good.json", torch(1, true).as_bytes()),
    ];
    for i in 0..9 {
        args.push(write(&dir, &format!("e{i}.json"), b""));
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (_, _, err) = result(&args);
    assert_eq!(err.lines().count(), 4, "{err}");
    assert_has(&err, &["e0.json", "e2.json", "the same of 6 more files"]);
}

#[test]
fn lost_events_leave_a_check_open() {
    let dir = scratch("losses-events");
    let whole = torch(100, true);
    let cut = &whole[..whole.len() - 300];
    let bad = whole.replacen(r#""dur":4000"#, r#""dur":"long""#, 9);
    for (name, text, why) in [
        ("cut.json", cut, "The file ends early"),
        (
            "bad.json",
            bad.as_str(),
            "9 events had a duration that is no number",
        ),
    ] {
        let path = write(&dir, name, text.as_bytes());
        let (code, out, err) = check(&[&path], &[]);
        assert_eq!(code, 4, "{name}: {out}{err}");
        assert_has(&err, &[why, name]);
        let (code, ..) = result(&["check", &path, "--max-step-time", "1ms"]);
        assert_eq!(code, 3, "{name}");
    }
}

#[test]
fn runs_that_open_together_keep_their_waits() {
    let dir = scratch("losses-runs");
    let one = write(&dir, "one.json", torch(100, true).as_bytes());
    let other = write(&dir, "other.json", torch(200, true).as_bytes());
    let (code, out, err) = result(&["report", "--json", &one, &other]);
    assert_eq!((code, err.as_str()), (0, ""));
    let value: Value = serde_json::from_str(&out).unwrap();
    for rank in ["0", "1"] {
        assert_eq!(
            value["ranks"][rank]["loop"]["wait"], 40_000_000,
            "rank {rank}"
        );
    }
    assert_eq!(value["runs"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&value["ranks"]["0"]["pid"], &value["ranks"]["1"]["pid"]),
        (&"100".into(), &"200".into())
    );
    // At the same time, so that they are taken for ranks of one job.
    assert_has(&out, &["\"runs_guessed\"", "\"ranks_numbered\""]);
    // Two files of one process are one run.
    let same = write(&dir, "same.json", torch(100, true).as_bytes());
    let (_, out, _) = result(&["report", "--json", &one, &same]);
    let value: Value = serde_json::from_str(&out).unwrap();
    assert!(value["ranks"]["1"].is_null());
}

#[test]
fn rule_files_that_cannot_be_used_leave_a_check_open() {
    let dir = scratch("losses-rules");
    let good = write(&dir, "good.json", torch(100, true).as_bytes());
    let wrong = write(
        &dir,
        "wrong.toml",
        b"format = 1\n[[rule]]\nid = \"mine\"\nname = '('\nlayer = \"eval\"\n",
    );
    let bytes = write(&dir, "bytes.toml", b"format = 1 # \xff\n");
    for rules in [&wrong, &bytes] {
        let (code, out, err) = check(&[&good], &["--rules", rules]);
        assert_eq!(code, 4, "{out}{err}");
        assert_has(&out, &["not all rules could be used"]);
        assert_has(&err, &[rules, "built-in rules are used"]);
        let (code, out, _) = result(&["report", "--rules", rules, &good]);
        assert_eq!(code, 0);
        assert_has(&out, &["Verdict"]);
    }
    let large = write(&dir, "large.toml", &vec![b'#'; (16 << 20) + 1]);
    let mut refused = vec![(large.as_str(), "larger than 16 MiB")];
    if cfg!(unix) {
        refused.push(("/dev/zero", "not a regular file"));
    }
    for (rules, why) in refused {
        let (code, out, err) = result(&["report", "--rules", rules, &good]);
        assert_eq!((code, out.as_str()), (1, ""));
        assert_has(&err, &["The rule file cannot be read", why, rules]);
    }
}

#[test]
fn a_picture_says_which_instants_it_cannot_show() {
    if cfg!(not(feature = "png")) {
        return;
    }
    let dir = scratch("cli_instants");
    let late = r#"{"ph":"i","name":"saved","pid":1,"tid":1,"ts":900000,"s":"t"}"#;
    let text = format!(r#"{{"traceEvents":[{},{late}]}}"#, events(1));
    let file = write(&dir, "late.json", text.as_bytes());
    let picture = dir.join("late.png");
    let png = |more: &[&str]| {
        let args = ["png", file.as_str(), "-o", picture.to_str().unwrap()];
        result(&[&args, more].concat())
    };
    let said = "1 instant before the first or after the last span not shown";
    let (code, _, err) = png(&[]);
    assert_eq!(code, 0);
    assert_has(&err, &[said]);
    let (_, _, err) = png(&["--range", "0ms..20ms"]);
    assert!(!err.contains(said), "who asks for a part knows: {err}");
}

/// A disk that lost pages leaves zeros where events were.
#[test]
fn a_hole_is_a_loss_with_its_size() {
    let dir = scratch("losses-hole");
    let text = torch(10, false);
    let lines: Vec<&str> = text.split_inclusive("},").collect();
    let (first, rest) = lines.split_at(lines.len() / 2);
    let hole: usize = rest[..8].iter().map(|l| l.len()).sum();
    let whole = [&first.concat(), &rest.concat()[..]].concat();
    let torn = [first.concat(), "\0".repeat(hole), rest[8..].concat()].concat();
    let check = |text: &str, name: &str| {
        let path = dir.join(name);
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap().to_owned();
        let (code, _, err) = result(&["check", &path, "--max-exposed-wait", "99%"]);
        let (_, info, _) = result(&["info", "--json", &path]);
        (code, err, serde_json::from_str::<Value>(&info).unwrap())
    };
    assert_eq!(check(&whole, "whole.json").0, 0);
    let (code, err, info) = check(&torn, "torn.json");
    assert_eq!(code, 4, "{err}");
    assert_has(
        &err,
        &["Zeros or other control characters", "events are lost"],
    );
    let notices = info["notices"].as_array().unwrap();
    let notice = notices.iter().find(|n| n["code"] == "hole").unwrap();
    assert_eq!(notice["lost"]["bytes"], hole);
    assert_eq!(notice["lost"]["estimated"], true);
    let events = notice["lost"]["events"].as_u64().unwrap();
    assert!((6..=10).contains(&events), "8 were lost, not {events}");
    // A stray byte has room for nothing.
    let stray = text.replacen("},", "},\0", 1);
    let (code, _, info) = check(&stray, "stray.json");
    assert_eq!(code, 0);
    assert_eq!(info["notices"].to_string().matches("padding").count(), 1);
}

/// The same bytes and events wherever the file is cut into blocks.
#[test]
fn skipped_stretches_say_their_size() {
    let dir = scratch("losses-stretch");
    let text = torch(10, false);
    let junk = "{\"ph\": oops ".repeat(30);
    let broken = text.replacen("},", &format!("}},{junk}}},"), 1);
    let path = dir.join("broken.json");
    std::fs::write(&path, broken).unwrap();
    let path = path.to_str().unwrap();
    let (_, info, _) = result(&["info", "--json", path]);
    let info: Value = serde_json::from_str(&info).unwrap();
    let notices = info["notices"].as_array().unwrap();
    let notice = notices
        .iter()
        .find(|n| n["code"] == "broken_event")
        .unwrap();
    let bytes = notice["lost"]["bytes"].as_u64().unwrap();
    let junk = junk.len() as u64;
    assert!((junk..junk + 4).contains(&bytes), "{bytes} of {junk}");
    assert_has(notice["text"].as_str().unwrap(), &["bytes with about"]);
}

#[test]
fn the_public_holes_are_losses() {
    let Some(dir) = common::shared("cases/damage") else {
        return;
    };
    for (name, bytes) in [
        ("torch_zero_hole.json", 466_054),
        ("zero_hole_whole_events.json", 29_960),
    ] {
        let path = dir.join(name);
        let path = path.to_str().unwrap();
        let (_, info, _) = result(&["info", "--json", path]);
        let info: Value = serde_json::from_str(&info).unwrap();
        let notices = info["notices"].as_array().unwrap();
        let notice = notices.iter().find(|n| n["code"] == "hole").unwrap();
        assert_eq!(notice["lost"]["bytes"], bytes, "{name}");
        let (code, ..) = result(&["check", path, "--max-exposed-wait", "99%"]);
        assert_eq!(code, 4, "{name}");
    }
}
