//! Session files on the command line: found by place and by content, drawn as they were looked at, refused with a reason.

use std::fs;
use std::path::Path;

use roxmltree::Document;
use serde_json::{Value, json};
use stallscope::session::{Kept, KeptNote, Look, Session};

use crate::common::program::run;
use crate::common::{repository, scratch};

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let all = document.descendants().filter(|n| n.has_tag_name("text"));
    all.filter_map(|n| n.text().map(str::to_owned)).collect()
}

fn saved(dir: &Path, trace: &Path, look: Look) -> String {
    let session = Session::new(vec![Kept::of(trace, dir)], Vec::new(), Vec::new(), look);
    let file = dir.join("a.session.json");
    fs::write(&file, session.text()).unwrap();
    file.display().to_string()
}

#[test]
fn a_session_is_drawn_as_it_was_looked_at_wherever_its_trace_lies() {
    let dir = scratch("session_drawn");
    let trace = dir.join("run.json.gz");
    fs::copy(repository("sample_traces/torch_4_workers.json.gz"), &trace).unwrap();
    let named = trace.display().to_string();
    let (code, plain, err) = run(&["svg", &named, "-o", "-"]);
    assert_eq!(code, 0, "{err}");
    // Nothing was done to the rows: the same picture.
    let file = saved(&dir, &trace, Look::default());
    let (code, same, err) = run(&["svg", "--session", &file, "-o", "-"]);
    assert_eq!((code, same == plain), (0, true), "{err}");
    // A hidden group is gone; the time is that of the view.
    let title = "GPU 0";
    assert!(
        texts(&plain).iter().any(|t| t == title),
        "{title} shows at first"
    );
    let (_, info, _) = run(&["report", &named, "--json", "--brief"]);
    let report: Value = serde_json::from_str(&info).unwrap();
    let t1 = report["t1"].as_i64().unwrap();
    let look = Look {
        view: Some((t1 / 4, t1 / 2)),
        hidden: vec!["no such lane".to_owned()],
        ..Look::default()
    };
    let file = saved(&dir, &trace, look);
    let (code, part, err) = run(&["svg", "--session", &file, "-o", "-"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        err.contains("The session names 1 lane that this trace does not have."),
        "{err}"
    );
    let range = format!("{}ns..{}ns", t1 / 4, t1 / 2);
    let (_, by_range, _) = run(&["svg", &named, "--range", &range, "-o", "-"]);
    assert_eq!(texts(&part), texts(&by_range));
    // Moved to another place below the session, under another name.
    fs::create_dir_all(dir.join("moved")).unwrap();
    fs::rename(&trace, dir.join("moved/other.gz")).unwrap();
    let (code, moved, err) = run(&["svg", "--session", &file, "-o", "-"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(texts(&moved).len(), texts(&part).len());
    // Nowhere: named by the user, it is drawn all the same.
    let away = scratch("session_away").join("away.json.gz");
    fs::rename(dir.join("moved/other.gz"), &away).unwrap();
    let (code, _, err) = run(&["svg", "--session", &file, "-o", "-"]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("run.json.gz is not there"), "{err}");
    let away = away.display().to_string();
    let (code, again, err) = run(&["svg", &away, "--session", &file, "-o", "-"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(texts(&again).len(), texts(&part).len());
}

#[test]
fn bad_sessions_are_refused_with_a_reason() {
    let dir = scratch("session_bad");
    let file = dir.join("bad.session.json");
    let path = file.display().to_string();
    let newer = json!({"stallscope_session": 2, "files": []}).to_string();
    let cases = [
        (newer.as_bytes(), "version 2"),
        (b"{}", "no session file"),
        (b"\x00\xff", "not UTF-8"),
        (
            b"{\"stallscope_session\":1,\"files\":[{}]}",
            "missing field `path`",
        ),
        (b"", "line 1"),
    ];
    for (bytes, why) in cases {
        fs::write(&file, bytes).unwrap();
        let (code, _, err) = run(&["png", "--session", &path, "-o", "-"]);
        assert_eq!((code, err.contains(why)), (1, true), "{why}: {err}");
        assert!(err.contains(&path), "{err}");
    }
    let (code, _, err) = run(&["png", "--session", "nowhere.json", "-o", "x.png"]);
    assert_eq!((code, err.contains("nowhere.json")), (1, true), "{err}");
    assert_eq!(
        run(&["png", "-o", "x.png"]).0,
        2,
        "neither a path nor a session"
    );
    // What is read is not written over.
    let (code, _, err) = run(&["svg", "--session", &path, "-o", &path]);
    assert_eq!((code, err.contains("not written")), (2, true), "{err}");
}

#[test]
fn marks_names_and_the_order_of_lanes_are_drawn() {
    let dir = scratch("session_marks");
    let trace = dir.join("run.json.gz");
    fs::copy(repository("sample_traces/torch_4_workers.json.gz"), &trace).unwrap();
    let named = trace.display().to_string();
    let (code, plain, err) = run(&["svg", &named, "-o", "-"]);
    assert_eq!(code, 0, "{err}");
    assert!(!texts(&plain).iter().any(|t| t == "Marks"));
    let at = |texts: &[String], title: &str| texts.iter().position(|t| t == title);
    let loaded = crate::common::timeline::Scene::of(std::sync::Arc::new(
        crate::common::open_with(&trace, 1).unwrap().trace,
    ));
    let tree = loaded.rows.tree();
    let roots: Vec<String> = tree
        .roots()
        .iter()
        .map(|&n| tree.node(n).key.clone())
        .collect();
    let titles: Vec<String> = tree
        .roots()
        .iter()
        .map(|&n| tree.node(n).title.clone())
        .collect();
    let mut order = roots.clone();
    order.swap(0, 1);
    let extent = loaded.trace.extent();
    let note = |start: i64, text: &str| KeptNote {
        start,
        end: None,
        text: text.to_owned(),
    };
    let look = Look {
        names: [
            (roots[0].clone(), "my <GPU>".to_owned()),
            ("gone".to_owned(), "x".to_owned()),
        ]
        .into(),
        order,
        notes: vec![
            note(extent.start + extent.len() / 2, "here it & stops"),
            note(extent.start + 1, "first"),
            note(extent.end.saturating_add(1_000_000), "too late"),
        ],
        ..Look::default()
    };
    let file = saved(&dir, &trace, look);
    let (code, drawn, err) = run(&["svg", "--session", &file, "-o", "-"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        err.contains("names 1 lane that this trace does not have."),
        "{err}"
    );
    assert!(
        err.contains("1 mark outside of the time of this trace."),
        "{err}"
    );
    let words = texts(&drawn);
    for text in ["Marks", "first", "here it & stops", "my <GPU>"] {
        assert!(at(&words, text).is_some(), "{text}: {words:?}");
    }
    assert!(at(&words, "too late").is_none() && at(&words, &titles[0]).is_none());
    assert!(at(&words, &titles[1]) < at(&words, "my <GPU>"), "{words:?}");
}

#[test]
fn a_partner_that_is_missing_is_said_and_the_trace_is_drawn() {
    let dir = scratch("session_partner");
    let trace = dir.join("run.json.gz");
    fs::copy(repository("sample_traces/torch_4_workers.json.gz"), &trace).unwrap();
    let partner = Kept {
        path: "before.json.gz".to_owned(),
        key: "12-00ff".to_owned(),
    };
    let session = Session::new(
        vec![Kept::of(&trace, &dir)],
        vec![partner],
        Vec::new(),
        Look::default(),
    );
    let file = dir.join("a.session.json");
    fs::write(&file, session.text()).unwrap();
    let file = file.display().to_string();
    let (code, _, err) = run(&["svg", "--session", &file, "-o", "-"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        err.contains("What the session compares with is not found: before.json.gz is not there"),
        "{err}"
    );
}
