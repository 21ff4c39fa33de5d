//! The structure of the source: which module may use which, who may name a crate, how files begin and how long they are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::circles;

/// Module, and the modules of this crate that it may use. Everything else is forbidden.
const MAY_USE: &[(&str, &[&str])] = &[
    ("time", &[]),
    ("output", &[]),
    ("model", &["time"]),
    ("import", &["time", "model"]),
    ("analysis", &["time", "model"]),
    ("view", &["time", "model", "analysis"]),
    ("paint", &["view"]),
    ("columns", &["time", "model", "analysis"]),
    ("tables", &["time", "model", "analysis", "columns"]),
    (
        "export",
        &[
            "time", "model", "analysis", "columns", "tables", "view", "paint", "ranks",
        ],
    ),
    ("ranks", &["time", "model", "import", "analysis"]),
    ("schema", &["columns", "tables"]),
    ("samples", &["output"]),
    ("session", &["time", "import", "view"]),
    (
        "app",
        &[
            "time", "output", "model", "import", "analysis", "columns", "view", "paint", "export",
            "ranks", "samples", "session",
        ],
    ),
    (
        "cli",
        &[
            "time", "output", "model", "import", "analysis", "columns", "tables", "schema", "view",
            "export", "ranks", "samples", "session",
        ],
    ),
    ("main", &["app", "cli"]),
    ("lib", &[]),
];

/// Crate or standard module, and the places (prefixes under `src/`) that may name it.
const ONLY_IN: &[(&str, &[&str])] = &[
    (
        "egui::",
        &["paint", "export/png", "export/raster", "export/svg", "app"],
    ),
    ("eframe::", &["app"]),
    ("egui_plot::", &["app"]),
    ("rfd::", &["app"]),
    ("rusqlite::", &["import"]),
    ("flate2::", &["import", "export/trim"]),
    ("zip::", &["import"]),
    ("tar::", &["import"]),
    ("signal_hook::", &["output"]),
    ("rustix::", &["import/bytes"]),
    ("clap::", &["cli"]),
    ("parquet::", &["export/tables"]),
    ("toml::", &["analysis", "app", "samples"]),
    (
        "std::fs",
        &["session", "import", "output", "cli", "app", "samples"],
    ),
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

/// The code with every `super::…` that leads out of all modules written as `crate::`.
fn from_the_root(name: &str, code: &str) -> String {
    let path = name.trim_end_matches(".rs").trim_end_matches("/mod");
    let depth = match path {
        "lib" | "main" => 0,
        path => path.split('/').count(),
    };
    // The formatter puts a module inside a file (mostly its tests) between such a line and a bare brace.
    let mut inline = 0;
    let line = |line: &str| {
        let opens = line.ends_with('{') && line.split_whitespace().rev().nth(2) == Some("mod");
        if opens && !line.starts_with(' ') {
            inline = 1;
        } else if line.starts_with('}') {
            inline = 0;
        }
        let to_root = "super::".repeat(depth + inline);
        if to_root.is_empty() {
            return line.to_owned();
        }
        let mut out = String::new();
        let mut rest = line;
        while let Some(at) = rest.find(&to_root) {
            let joined = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let starts = !out.ends_with(joined) && !rest[..at].ends_with(joined);
            out.push_str(&rest[..at]);
            out.push_str(if starts { "crate::" } else { &to_root });
            rest = &rest[at + to_root.len()..];
        }
        out + rest
    };
    code.lines().map(line).collect::<Vec<_>>().join("\n")
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
        let code = from_the_root(&name, &code(&text));
        let mut all = uses(&code, "stallscope::");
        if own != "main" {
            all.extend(uses(&code, "crate::"));
        }
        for used in all {
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
fn files_are_written_in_one_place() {
    let writes = [
        "fs::write(",
        "File::create",
        ".create(true)",
        ".write(true)",
        "fs::rename(",
    ];
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let code = code(&text);
        // Tests make what they read.
        let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap();
        if module(&name) == "output" || name.contains("tests") {
            continue;
        }
        for call in writes.iter().filter(|call| code.contains(*call)) {
            wrong.push(format!("{name}: {call} belongs into output.rs"));
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
fn files_of_a_room_use_each_other_one_way() {
    let circles = circles::Uses::of(&sources()).circles();
    assert!(
        circles.is_empty(),
        "files use each other in a circle:\n{circles:#?}"
    );
}

#[test]
fn circles_are_seen() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let found = |files: &[(String, String)]| circles::Uses::of(files).circles();
    // Through what a parent passes on, in braces, and in the middle of the code.
    let files = [
        file(
            "a/mod.rs",
            "mod b; mod c; mod d;\npub use b::{B, x::Y as Z};\npub(crate) use c::C;",
        ),
        file("a/b.rs", "use super::C;"),
        file("a/c.rs", "use std::fmt;\nuse crate::{a::{d::{D}}, other};"),
        file(
            "a/d.rs",
            "fn f() { let x = super::b::B::new(); } // super::c",
        ),
        file("other.rs", "use crate::a::B;"),
    ];
    assert_eq!(
        found(&files),
        [["a/b", "a/c", "a/d"].map(str::to_owned).to_vec()]
    );
    // One way, and tests may use what they want; parents and children know each other.
    let files = [
        file("a/mod.rs", "mod b; mod c;\nuse b::B;"),
        file("a/b.rs", "use super::c::C;"),
        file(
            "a/c.rs",
            "use super::A;\n#[cfg(test)]\nmod tests { use super::super::b; }",
        ),
    ];
    assert!(found(&files).is_empty());
}

#[test]
fn tracers_are_told_apart_by_their_facts_alone() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let known = ["import", "model"].contains(&module(&name));
        let code = code(&text);
        // The facts of a tracer are beside its importer; everybody else asks them, never which one it was.
        let names = [
            "Tracer::",
            "chrome::TORCH",
            "nsight::NSIGHT",
            "dftracer::DFTRACER",
        ];
        if let Some(named) = names.iter().find(|n| !known && code.contains(*n)) {
            wrong.push(format!("{name}: {named}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_action_has_an_arm_of_its_own() {
    let mut wrong = Vec::new();
    let files = sources();
    let apply = files
        .iter()
        .filter(|(name, _)| name.starts_with("app/apply/"));
    for (name, text) in apply {
        // An arm that does nothing for whatever is left: a forgotten command would compile.
        for (i, line) in code(text).lines().enumerate() {
            let line = line.trim();
            if line.starts_with("_ => {}")
                || line.starts_with("_ => ()")
                || line.starts_with("other =>")
            {
                wrong.push(format!("{name}:{}: {line}", i + 1));
            }
        }
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
    let root = |name: &str, code: &str| found(&from_the_root(name, code));
    assert_eq!(root("samples.rs", "use super::app;"), "app");
    assert_eq!(
        root("model/mod.rs", "use super::{app::x, view};"),
        "app view"
    );
    assert_eq!(
        root("model/spans.rs", "use super::app; use super::super::view;"),
        "view"
    );
    assert_eq!(
        root("a/b/c.rs", "super::super::x; super::super::super::cli::y"),
        "cli"
    );
    let tests =
        "use super::app;\nmod tests {\n    use super::view;\n    use super::super::cli;\n}\n";
    assert_eq!(root("time.rs", tests), "app cli");
    assert_eq!(
        root("lib.rs", "mod tests {\n    use super::view;\n}"),
        "view"
    );
}
