//! Every file of the index and of the broken exports, opened under its own name and under another one: opens
//! cleanly, opens with the warning that is expected, or is refused with a message that helps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::Differences;
use stallscope::import::{
    ErrorKind, LoadError, Loaded, Notice, NoticeKind, OpenOptions, Progress, open,
};

use crate::common;

fn open_one(path: &Path) -> Result<Loaded, LoadError> {
    open(
        &[path.to_owned()],
        &OpenOptions::default(),
        &Progress::new(),
    )
}

/// What the expectation speaks of, and codes of which one has to be noticed.
const WARNINGS: &[(&str, &[&str])] = &[
    ("never closed, and an X", &["not_closed"]),
    ("never closed", &["b_without_e"]),
    ("X events without dur", &["x_without_dur"]),
    ("without dur", &["x_without_dur"]),
    ("without B", &["e_without_b"]),
    ("E name", &["name_mismatch", "e_of_other_name"]),
    ("E before B", &["e_without_b", "b_without_e"]),
    ("not the innermost", &["name_mismatch"]),
    ("unknown phase", &["unknown_phase"]),
    ("are no numbers: both", &["bad_ts", "bad_dur"]),
    ("counter values", &["bad_counter_value"]),
    ("nothing to draw", &["no_spans"]),
    ("async events without id", &["async_without_id"]),
    ("comma before ] ", &["extra_comma"]),
    (
        "comma before } repaired",
        &["extra_comma", "comma_before_bracket"],
    ),
    ("overlap", &["overlapping_spans"]),
    ("\"100a\"", &["bad_ts"]),
    ("whose ts is text", &["x_without_dur"]),
    ("bare inf", &["bare_word"]),
    ("ends after a comma", &["not_closed"]),
    ("unescaped quotes", &["unescaped_quote", "broken_event"]),
    ("starts inside a string", &["no_head"]),
    ("counters only", &["no_spans"]),
    ("aggregated records", &["aggregated"]),
    ("ends inside a gzip member", &["truncated"]),
    ("no GPU activity", &["no_gpu"]),
    ("no GPU rows", &["no_gpu"]),
    (
        "nothing was recorded",
        &["no_spans", "nothing_recorded", "no_gpu"],
    ),
    ("no launch in the file", &["gpu_without_launch"]),
];

/// What refusals have to speak of: a word of the expectation, and one of the message.
const REFUSALS: &[(&str, &str)] = &[
    ("0 bytes", "empty"),
    ("rocprofiler", "rocprofiler"),
    ("memory timeline", "memory timeline"),
    ("tokenizer", "tokenizer"),
    ("text log with JSON", "text log"),
    ("XPlane", "XPlane"),
    ("Git LFS", "LFS"),
    ("native report, build 2025.5.1", "written by 2025.5.1"),
    ("native report of the time", "nsys"),
    ("parquetdir", "--type sqlite"),
    ("jsonlines", "--type sqlite"),
    ("arrow export", "--type sqlite"),
    ("nvprof", "nvprof"),
];

/// Lines of the index that their files do not bear out.
const CORRECTED: &[(&str, &str)] = &[
    (
        // Its X event has "dur": 0; only ts is text, which is a number all the same.
        "chrome/jlfwong-speedscope__trace-event_simple-with-samples~2.json",
        "opens cleanly",
    ),
    // Async events that nothing tells apart cannot be shown: they are skipped, and that is said.
    (
        "chrome/google-perfetto__inline_test_json_thread_state.json",
        "opens with warning: async events without id",
    ),
    (
        "chrome/google-perfetto__inline_test_json_thread_state_sched.json",
        "opens with warning: async events without id",
    ),
];

struct Check<'a> {
    table: &'a mut Differences,
    file: &'a str,
    expectation: &'a str,
}

impl Check<'_> {
    fn add(&mut self, got: &str) {
        self.table.add(self.file, self.expectation, got);
    }

    fn noticed(&mut self, loaded: &Loaded) {
        for (words, codes) in WARNINGS {
            if !self.expectation.contains(words) {
                continue;
            }
            if !codes.iter().any(|c| loaded.report.has(c)) {
                self.add(&format!("none of {codes:?}: {}", notices(loaded)));
            }
            return;
        }
    }

    fn opens(&mut self, result: &Result<Loaded, LoadError>, clean: bool) {
        match result {
            Err(e) => self.add(&format!("refused: {e}")),
            Ok(loaded) => {
                if clean {
                    let bad = |n: &&Notice| {
                        matches!(
                            n.kind,
                            NoticeKind::Repaired | NoticeKind::Skipped | NoticeKind::Damaged
                        )
                    };
                    let bad: Vec<_> = loaded.report.notices.iter().filter(bad).collect();
                    if let Some(first) = bad.first() {
                        self.add(&format!("{first} [{}]", first.code));
                    }
                } else if loaded.report.notices.is_empty() {
                    self.add("no notice");
                }
                if loaded.report.files.is_empty() {
                    self.add("no file in the report");
                }
                self.noticed(loaded);
            }
        }
    }

    fn refused(&mut self, result: &Result<Loaded, LoadError>) {
        let error = match result {
            Ok(loaded) => {
                return self.add(&format!("opens with {} spans", loaded.trace.spans().len()));
            }
            Err(e) => e,
        };
        if error.cause.len() < 15 || error.remedy.len() < 10 {
            self.add(&format!("says too little: {error}"));
        }
        let text = error.to_string();
        for (expected, wanted) in REFUSALS {
            if self.expectation.contains(expected) && !text.contains(wanted) {
                self.add(&format!("does not speak of {wanted}: {text}"));
            }
        }
    }
}

fn notices(loaded: &Loaded) -> String {
    let all = &loaded.report.notices;
    let list: Vec<_> = all
        .iter()
        .map(|n| format!("{} {}", n.kind.label(), n.code))
        .collect();
    list.join(", ")
}

/// The same file under a name that says nothing.
fn unnamed(path: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("index").join(
        path.to_string_lossy()
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '_' })
            .collect::<String>(),
    );
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("writable target folder");
    let link = folder.join("unknown");
    #[cfg(unix)]
    std::os::unix::fs::symlink(std::fs::canonicalize(path).expect("there"), &link).expect("links");
    #[cfg(not(unix))]
    std::fs::copy(path, &link).expect("copies");
    link
}

/// Checks one line of the index; archives may be refused or open as a set.
fn check_index(check: &mut Check<'_>, path: &Path) {
    let expectation = check.expectation;
    if expectation.starts_with("is skipped") || expectation.starts_with("is no trace") {
        return check.refused(&open_one(path));
    }
    let result = open_one(path);
    let alternative =
        expectation.contains("or opens as a set of 8") || expectation.contains("zip container");
    match &result {
        Ok(loaded) if alternative => {
            let set = expectation.contains("set of 8");
            if set && loaded.trace.sources().len() != 8 {
                check.add(&format!("{} sources", loaded.trace.sources().len()));
            }
            if loaded.trace.spans().is_empty() {
                check.add("no spans");
            }
        }
        _ if expectation.starts_with("opens cleanly") => check.opens(&result, true),
        _ if expectation.starts_with("opens with warning") => {
            let refusable = expectation.contains("refusing with a message");
            if !(refusable && result.is_err()) {
                check.opens(&result, false);
            }
        }
        _ if expectation.starts_with("is refused") => check.refused(&result),
        _ => check.add("an expectation that this test does not know"),
    }
}

fn columns<'a>(text: &'a str, names: &[&str]) -> Vec<Vec<&'a str>> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or("").split('\t').collect();
    let at: Vec<usize> = names
        .iter()
        .map(|n| head.iter().position(|h| h == n).expect("a column"))
        .collect();
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            at.iter()
                .map(|&i| cells.get(i).copied().unwrap_or(""))
                .collect()
        })
        .collect()
}

fn index(kinds: &[&str], at_least: usize) {
    let Some(folder) = common::shared("traces") else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("INDEX.tsv")).expect("readable");
    let mut table = Differences::default();
    let mut checked = 0;
    for row in columns(&text, &["file", "kind", "expectation"]) {
        if !kinds.contains(&row[1]) {
            continue;
        }
        checked += 1;
        let path = folder.join(row[0]);
        let other = unnamed(&path);
        let corrected = CORRECTED.iter().find(|c| c.0 == row[0]);
        for (name, path) in [
            (row[0].to_owned(), path),
            (format!("{} as unknown", row[0]), other),
        ] {
            let mut check = Check {
                table: &mut table,
                file: &name,
                expectation: corrected.map_or(row[2], |c| c.1),
            };
            check_index(&mut check, &path);
        }
    }
    assert!(checked >= at_least, "only {checked} files");
    table.assert_none();
}

#[test]
fn torch_files() {
    index(&["torch"], 70);
}

#[test]
fn chrome_files() {
    index(&["chrome", "malformed"], 85);
}

#[test]
fn dftracer_files() {
    index(&["dftracer"], 90);
}

#[test]
fn nsight_files() {
    index(&["nsight"], 18);
}

#[test]
fn traps_and_archives() {
    index(&["trap", "archive"], 7);
}

#[test]
fn every_kind_is_covered() {
    let Some(folder) = common::shared("traces") else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("INDEX.tsv")).expect("readable");
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for row in columns(&text, &["kind"]) {
        *kinds.entry(row[0]).or_default() += 1;
    }
    let known = [
        "archive",
        "chrome",
        "dftracer",
        "malformed",
        "nsight",
        "torch",
        "trap",
    ];
    assert_eq!(kinds.into_keys().collect::<Vec<_>>(), known);
}

#[test]
fn broken_exports() {
    let Some(folder) = common::shared("nsight/errors") else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("EXPECT.tsv")).expect("readable");
    let mut table = Differences::default();
    for row in columns(&text, &["file", "expect", "what"]) {
        let path = folder.join(row[0]);
        let other = unnamed(&path);
        for (name, path) in [
            (row[0].to_owned(), path),
            (format!("{} as unknown", row[0]), other),
        ] {
            let result = open_one(&path);
            let mut check = Check {
                table: &mut table,
                file: &name,
                expectation: row[2],
            };
            match row[1] {
                "ok" => check.opens(&result, true),
                "warn" | "refuse table" => check.opens(&result, false),
                "refuse" => check.refused(&result),
                "refuse or unpack" if result.is_err() => check.refused(&result),
                "refuse or unpack" => check.opens(&result, true),
                _ => check.add("an expectation that this test does not know"),
            }
        }
    }
    table.assert_none();
}

#[test]
fn a_native_report_comes_with_its_command() {
    let Some(path) = common::shared("nsight/errors/report.nsys-rep") else {
        return;
    };
    let error = open_one(&path).err().expect("refused");
    assert_eq!(error.kind, ErrorKind::Unsupported);
    let sqlite = path.with_extension("sqlite");
    let command = format!(
        "nsys export --type sqlite --output {} {}",
        sqlite.display(),
        path.display()
    );
    assert_eq!(error.command, Some(command));
    assert!(error.cause.contains("written by 2025.5.1"));
}

#[test]
fn folders_without_traces_say_so() {
    if let Some(path) = common::shared("nsight/errors/report_parquetdir") {
        let error = open_one(&path).err().expect("refused");
        assert!(error.to_string().contains("--type sqlite"), "{error}");
    }
    let empty = Path::new(env!("CARGO_TARGET_TMPDIR")).join("index/empty-folder");
    std::fs::create_dir_all(&empty).expect("writable");
    assert_eq!(
        open_one(&empty).err().expect("refused").kind,
        ErrorKind::NothingInside
    );
    let missing = open_one(&empty.join("missing")).err().expect("refused");
    assert_eq!(missing.kind, ErrorKind::Io);
}

#[test]
fn side_files_are_skipped_without_noise() {
    let Some(folder) = common::shared("traces/dftracer/runs/w4") else {
        return;
    };
    let loaded = open_one(&folder).expect("opens");
    assert_eq!(loaded.trace.sources().len(), 9);
    assert_eq!(loaded.report.warnings().count(), 0, "{}", notices(&loaded));
}
