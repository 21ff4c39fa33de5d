//! The report to send: whole in itself, well-formed whatever names say, with the numbers of the JSON report, and without
//! what only the owner of a trace should see.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use roxmltree::{Document, Node, ParsingOptions};
use serde_json::{Value, json};
use stallscope::export::html::Privacy;

use crate::common::program::run;
use crate::common::{repository, scratch, shared};

fn page(args: &[&str]) -> String {
    let (code, out, err) = run(&[&["report", "--html", "-"], args].concat());
    assert_eq!(code, 0, "{err}");
    out
}

/// The page without the figures for programs, and those.
fn parts(page: &str) -> (String, Value) {
    let begin = "<script type=\"application/json\" id=\"stallscope\">";
    let (before, rest) = page.split_once(begin).unwrap();
    let (json, after) = rest.split_once("</script>").unwrap();
    assert!(!json.contains('<'), "markup inside the JSON");
    let value = serde_json::from_str(json).unwrap();
    (format!("{before}{after}"), value)
}

/// Reads a page as XML, which it is too, and fails where something could run or be loaded.
fn checked(page: &str) -> Value {
    let (html, json) = parts(page);
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(&html, options).unwrap();
    let mut ids = Vec::new();
    for node in document.descendants().filter(Node::is_element) {
        let name = node.tag_name().name();
        let runs = [
            "script", "img", "image", "a", "use", "link", "iframe", "object",
        ];
        assert!(!runs.contains(&name), "<{name}>");
        for attribute in node.attributes() {
            let (key, value) = (attribute.name(), attribute.value());
            assert!(
                !key.starts_with("on") && key != "src" && key != "href",
                "{key}"
            );
            let outside = value.replace("url(#", "");
            assert!(!outside.contains("url("), "{value}");
            if key == "id" {
                ids.push(value);
            }
        }
    }
    for node in document.descendants().filter(Node::is_element) {
        for attribute in node.attributes() {
            if let Some(id) = attribute.value().strip_prefix("url(#") {
                assert!(ids.contains(&id.trim_end_matches(')')), "{id} is nowhere");
            }
        }
    }
    let n = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), n, "two elements share an id");
    assert!(!html.contains("http:") && !html.contains("https:"));
    json
}

fn sample(name: &str) -> String {
    repository("sample_traces").join(name).display().to_string()
}

#[test]
fn a_page_is_whole_in_itself_and_has_the_numbers_of_the_report() {
    let path = sample("torch_4_workers.json.gz");
    let html = page(&[&path, "--paths"]);
    assert_eq!(html, page(&[&path, "--paths"]), "not the same twice");
    let json = checked(&html);
    let (code, out, _) = run(&["report", &path, "--json", "--brief"]);
    assert_eq!(code, 0);
    assert_eq!(json, serde_json::from_str::<Value>(&out).unwrap());
    let verdict = json.pointer("/ranks/0/verdict/headline").unwrap();
    assert!(html.contains(verdict.as_str().unwrap()));
    let steps = json.pointer("/ranks/0/loop/steps").unwrap();
    for step in steps.as_array().unwrap().iter().take(50) {
        for key in ["time", "wait", "wait_exposed", "gpu_busy"] {
            let value = &step[key];
            assert!(
                html.contains(&format!("<data value=\"{value}\">")),
                "{key} {value}"
            );
        }
    }
    for id in ["timeline", "steps", "waits", "names", "made"] {
        assert!(html.contains(&format!("<section id=\"{id}\">")), "{id}");
    }
    assert!(html.contains("prefers-color-scheme:dark"));
    assert!(html.contains(&path), "--paths shows where the file lies");
}

#[test]
fn pages_of_all_samples_are_well_formed() {
    for entry in fs::read_dir(repository("sample_traces")).unwrap() {
        let path = entry.unwrap().path();
        let other = path
            .extension()
            .is_some_and(|e| e == "toml" || e == "LICENSE");
        if !other {
            let html = page(&[&path.display().to_string()]);
            checked(&html);
            let folder = repository("sample_traces").display().to_string();
            assert!(!html.contains(&folder), "{}", path.display());
        }
    }
}

#[test]
fn what_changed_is_in_the_page() {
    let (before, after) = (
        sample("torch_4_workers.json.gz"),
        sample("torch_0_workers.json.gz"),
    );
    let html = page(&[&after, "--before", &before]);
    checked(&html);
    let (_, text, _) = run(&["compare", &before, &after, "--json"]);
    let compared: Value = serde_json::from_str(&text).unwrap();
    for figure in compared
        .pointer("/ranks/0/figures")
        .unwrap()
        .as_array()
        .unwrap()
    {
        for side in ["before", "after"] {
            let value = &figure[side];
            if !value.is_null() {
                assert!(
                    html.contains(&format!("<data value=\"{value}\">")),
                    "{figure}"
                );
            }
        }
    }
    assert!(html.contains("<section id=\"compared\">"));
    // One recording says nothing about itself.
    let (code, out, _) = run(&["report", &after, "--before", &after, "--html", "-"]);
    assert_eq!(code, 4);
    checked(&out);
    assert!(out.contains("The same recording was given twice"));
}

/// A trace with names that mean something in HTML, in JSON or to its owner.
fn telling(dir: &Path) -> PathBuf {
    let names = [
        "</script><script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "<!-- & ]]> \u{0}\u{7}\u{fffe}",
        "/home/ann/secret/train.py(12): step",
        "read of gpu-box-7 by ann",
    ];
    let mut events = vec![json!({
        "ph": "M", "name": "process_name", "pid": 7, "tid": 7,
        "args": {"name": "python /home/ann/secret/train.py --data /mnt/ann"},
    })];
    for step in 0..6 {
        let at = step * 10_000;
        events.push(json!({
            "ph": "X", "cat": "user_annotation", "name": format!("ProfilerStep#{step}"),
            "pid": 7, "tid": 7, "ts": at, "dur": 9_000,
        }));
        events.push(json!({
            "ph": "X", "cat": "user_annotation",
            "name": "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            "pid": 7, "tid": 7, "ts": at + 10, "dur": 3_000,
        }));
        for (place, name) in (0..).zip(names) {
            events.push(json!({
                "ph": "X", "cat": "cpu_op", "name": name,
                "pid": 7, "tid": 7, "ts": at + 3_100 + place * 1_000, "dur": 900,
            }));
        }
    }
    let trace = json!({
        "schemaVersion": 1, "host_name": "gpu-box-7.lab.example",
        "deviceProperties": [], "traceEvents": events,
    });
    let path = dir.join("gpu-box-7.lab.example_4711.1700000000000.pt.trace.json");
    fs::write(&path, trace.to_string()).unwrap();
    path
}

#[test]
fn hostile_names_are_texts_and_strangers_see_no_folder_host_or_command() {
    let dir = scratch("html_telling");
    let path = telling(&dir).display().to_string();
    let html = page(&[&path]);
    checked(&html);
    for hidden in [
        "/home",
        "/mnt",
        "secret/",
        "gpu-box",
        "lab.example",
        "--data",
    ] {
        let at = html.find(hidden);
        let near = at.map(|at| &html[at.saturating_sub(80)..at]);
        assert!(at.is_none(), "{hidden} behind {near:?}");
    }
    assert!(html.contains("…/train.py(12): step"));
    assert!(html.contains("host1_4711"));
    assert!(html.contains("&lt;/script&gt;"));
    let open = page(&[&path, "--paths"]);
    checked(&open);
    for shown in [
        "/home/ann/secret/train.py(12): step",
        "gpu-box-7.lab.example_4711",
    ] {
        assert!(open.contains(shown), "{shown}");
    }
}

#[test]
fn files_that_are_read_are_not_written_over() {
    let dir = scratch("html_conflict");
    let path = dir.join("trace.json.gz");
    fs::copy(sample("torch_4_workers.json.gz"), &path).unwrap();
    let path = path.display().to_string();
    let before = fs::read(&path).unwrap();
    let (code, _, err) = run(&["report", &path, "--html", &path]);
    assert_eq!(
        (code, err.contains("Choose another file for --html.")),
        (2, true),
        "{err}"
    );
    assert_eq!(fs::read(&path).unwrap(), before);
    let out = dir.join("report.html").display().to_string();
    for _ in 0..2 {
        // The second time it replaces what it wrote.
        let (code, stdout, err) = run(&["report", &path, "--html", &out]);
        assert_eq!((code, stdout.as_str()), (0, ""), "{err}");
    }
    for other in ["--json", "--csv"] {
        assert_eq!(
            run(&["report", &path, "--html", &out, other]).0,
            2,
            "{other}"
        );
    }
    assert_eq!(run(&["report", &path, "--before", &path]).0, 2);
}

#[test]
fn the_page_of_a_large_trace_stays_small() {
    let file =
        "traces/torch/AMD-AGI-TraceLens__h100_google_owlv2-large-patch14-ensemble__1016001.json.gz";
    let Some(path) = shared(file) else { return };
    let html = page(&[&path.display().to_string()]);
    checked(&html);
    assert!(html.len() <= 2_000_000, "{} bytes", html.len());
}

proptest! {
    #[test]
    fn any_text_is_shown_without_its_folders(text in "\\PC{0,40}", folder in "[a-z]{3,8}") {
        let text = format!("{text} /zq{folder}/x.py");
        let shown = Privacy::default().shown(&text).into_owned();
        let hidden = format!("zq{folder}");
        prop_assert!(!shown.contains(&hidden), "{}", shown);
    }
}

#[test]
fn a_saved_report_is_what_a_page_compares_with_and_digests_say_what_was_read() {
    let dir = scratch("html_saved");
    let [old, new] = ["torch_0_workers.json.gz", "torch_4_workers.json.gz"]
        .map(|name| repository("sample_traces").join(name).display().to_string());
    let (code, report, err) = run(&["report", &old, "--json"]);
    assert_eq!(code, 0, "{err}");
    let saved = dir.join("before.json");
    fs::write(&saved, report).unwrap();
    let saved = saved.display().to_string();
    let with_trace = page(&[&new, "--before", &old]);
    let with_report = page(&[&new, "--before", &saved, "--hash"]);
    checked(&with_report);
    let said = |page: &str| {
        let at = page.find("id=\"compared\"").expect("the section");
        let from = page[at..].find("<p class=\"said\">").expect("a sentence");
        page[at + from..].lines().next().unwrap().to_owned()
    };
    assert_eq!(said(&with_trace), said(&with_report));
    assert!(with_report.contains("which has no lanes to draw"));
    let digest =
        stallscope::import::sha256_of(Path::new(&new), &stallscope::import::Progress::new())
            .unwrap();
    assert!(with_report.contains(&format!("SHA-256 {digest}")));
    assert!(!with_trace.contains("SHA-256"));
    // What it reads is not written over.
    let (code, _, err) = run(&["report", &new, "--before", &saved, "--html", &saved]);
    assert_eq!(code, 2, "{err}");
}
