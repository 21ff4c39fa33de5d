//! The structure of the source: which module may use which, who may name a crate, how files begin and how long they are.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Module, and the modules of this crate that it may use. Everything else is forbidden.
const MAY_USE: &[(&str, &[&str])] = &[
    ("time", &[]),
    ("model", &["time"]),
    ("import", &["time", "model"]),
    ("analysis", &["time", "model"]),
    ("view", &["time", "model", "analysis"]),
    ("paint", &["view"]),
    ("export", &["time", "model", "analysis", "view", "paint"]),
    ("samples", &[]),
    (
        "app",
        &[
            "time", "model", "import", "analysis", "view", "paint", "export", "samples",
        ],
    ),
    (
        "cli",
        &[
            "time", "model", "import", "analysis", "view", "export", "samples",
        ],
    ),
    ("main", &["app", "cli"]),
    ("lib", &[]),
];

/// Crate or standard module, and the places (prefixes under `src/`) that may name it.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("egui::", &["paint", "export/png", "export/raster", "app"]),
    ("eframe::", &["app"]),
    ("egui_plot::", &["app"]),
    ("rfd::", &["app"]),
    ("rusqlite::", &["import"]),
    ("flate2::", &["import"]),
    ("zip::", &["import"]),
    ("tar::", &["import"]),
    ("clap::", &["cli"]),
    ("toml::", &["analysis", "app", "samples"]),
    ("std::fs", &["import", "export", "cli", "app", "samples"]),
    ("std::net", &[]),
    ("memmap", &[]),
];

const MAX_LINES: usize = 600;

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// Path under `src/` with `/`, and text, of every source file.
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&root, &mut paths);
    assert!(paths.len() > 10, "only {} source files found", paths.len());
    paths
        .into_iter()
        .map(|p| {
            let name = p
                .strip_prefix(&root)
                .unwrap()
                .to_str()
                .unwrap()
                .replace('\\', "/");
            let text = fs::read_to_string(&p).unwrap();
            (name, text)
        })
        .collect()
}

fn module(name: &str) -> &str {
    name.split('/').next().unwrap().trim_end_matches(".rs")
}

/// The text without comments. Texts in quotes that hold `//` lose their end, which does no harm here.
fn code(text: &str) -> String {
    text.lines()
        .map(|l| l.split("//").next().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

/// First names after `prefix` (`crate::`), also those in braces.
fn uses(code: &str, prefix: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices(prefix) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        let word = |s: &str| {
            s.chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect::<String>()
        };
        match rest.strip_prefix('{') {
            None => {
                found.insert(word(rest));
            }
            Some(list) => {
                let mut depth = 0;
                let mut item = String::new();
                for c in list.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => {
                            found.insert(word(item.trim()));
                            item.clear();
                            continue;
                        }
                        _ => {}
                    }
                    item.push(c);
                }
                found.insert(word(item.trim()));
            }
        }
    }
    found.remove("");
    found
}

#[test]
fn modules_use_only_what_they_may() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let own = module(&name);
        let Some((_, allowed)) = MAY_USE.iter().find(|(m, _)| *m == own) else {
            wrong.push(format!(
                "{name}: module `{own}` is not in the table of tests/architecture.rs"
            ));
            continue;
        };
        let prefix = if own == "main" {
            "stallscope::"
        } else {
            "crate::"
        };
        for used in uses(&code(&text), prefix) {
            let known = MAY_USE.iter().any(|(m, _)| *m == used);
            if known && used != own && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{name}: {own} must not use {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn crates_are_named_only_where_they_may_be() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let code = code(&text);
        for (what, places) in ONLY_IN {
            let allowed = places.iter().any(|p| name.starts_with(p));
            let named = code.match_indices(what).any(|(at, _)| {
                !code[..at]
                    .chars()
                    .next_back()
                    .is_some_and(|c| c.is_alphanumeric() || c == '_')
            });
            if named && !allowed {
                wrong.push(format!("{name}: {what} belongs into {places:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_it_is_and_stays_short() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let head = text.lines().take_while(|l| l.starts_with("//!")).count();
        if head == 0 {
            wrong.push(format!("{name}: begins without `//!`"));
        }
        let lines = text.lines().count();
        if lines > MAX_LINES {
            wrong.push(format!("{name}: {lines} lines, {MAX_LINES} at most"));
        }
    }
    let main =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/main.rs")).unwrap();
    if main.lines().count() > 60 {
        wrong.push(format!(
            "main.rs: {} lines, 60 at most",
            main.lines().count()
        ));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_checks_see_what_they_look_for() {
    let found = |code: &str| {
        uses(code, "crate::")
            .into_iter()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(found("use crate::time::TimeRange;"), "time");
    assert_eq!(
        found("use crate::{model::{Trace, Lane}, time};"),
        "model time"
    );
    assert_eq!(found("let x: crate::view::Row = mycrate::app::y;"), "view");
    assert_eq!(code("a // crate::app\nb"), "a \nb");
}
