//! What integration tests share: the folder of real traces beside the clone, and tables of differences.
//!
//! Tests that use only a part of it say `#[expect(dead_code, reason = "…")] mod common;`.

#![expect(clippy::print_stderr, reason = "a missing folder has to be seen")]

use std::fmt::{Debug, Write as _};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use stallscope::import::{LoadError, Loaded, OpenOptions, Progress, open};
use stallscope::model::Trace;

/// A file or folder of real traces and reference values; `None`, with a line on stderr, where the folder is missing.
///
/// # Panics
/// Where it is missing although `STALLSCOPE_REQUIRE_SHARED=1` says that it has to be there.
pub fn shared(path: &str) -> Option<PathBuf> {
    let full = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")).join(path);
    if full.exists() {
        return Some(full);
    }
    let required = std::env::var("STALLSCOPE_REQUIRE_SHARED").is_ok_and(|v| v == "1");
    assert!(!required, "{} is missing and required", full.display());
    eprintln!("SKIPPED: {} is missing", full.display());
    None
}

/// A folder of its own, below the target folder, for a test's files, emptied.
///
/// # Panics
/// Where it cannot be made.
pub fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("the target folder is writable");
    dir
}

/// Opens one path with a number of threads.
///
/// # Errors
/// As [`open`].
pub fn open_with(path: &Path, threads: usize) -> Result<Loaded, LoadError> {
    let options = OpenOptions {
        threads,
        ..OpenOptions::default()
    };
    open(&[path.to_owned()], &options, &Progress::new())
}

/// A line of `traces/INDEX.tsv`.
pub struct IndexLine {
    /// Path below `traces/`.
    pub file: String,
    /// `torch`, `chrome`, `malformed`, `trap`, …
    pub kind: String,
    /// Number of events; empty where it has none.
    pub events: String,
    /// What opening it must come to.
    pub expectation: String,
}

/// The index of real traces.
///
/// # Panics
/// Where it cannot be read.
pub fn index() -> Option<Vec<IndexLine>> {
    let text = std::fs::read_to_string(shared("traces/INDEX.tsv")?).expect("readable");
    let lines = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        IndexLine {
            file: cells[0].to_owned(),
            kind: cells[1].to_owned(),
            events: cells[7].to_owned(),
            expectation: cells[9].to_owned(),
        }
    });
    Some(lines.collect())
}

/// Differences between what was expected and what was found, all of them.
#[derive(Default)]
pub struct Differences {
    lines: Vec<String>,
    checked: usize,
}

impl Differences {
    /// Compares one value.
    pub fn check<T: PartialEq + Debug>(&mut self, place: &str, what: &str, expected: T, found: T) {
        self.checked += 1;
        if expected != found {
            self.lines.push(format!(
                "{place} | {what} | expected {expected:?} | found {found:?}"
            ));
        }
    }

    /// Fails with the whole table where there is any difference.
    ///
    /// # Panics
    /// Where there is one, or where nothing was compared.
    pub fn finish(self) {
        assert!(self.checked > 0, "nothing was compared");
        assert!(
            self.lines.is_empty(),
            "{} of {} values differ:\n{}",
            self.lines.len(),
            self.checked,
            self.lines.join("\n")
        );
    }
}

/// Everything of a trace that must not depend on how it was read, in one text.
pub fn fingerprint(t: &Trace) -> String {
    let mut hash = DefaultHasher::new();
    let s = t.spans();
    for id in s.ids() {
        (s.start(id), s.dur(id), s.lane(id), s.row(id), s.name(id)).hash(&mut hash);
        (t.span_name(id), s.args(id).0, s.cat(id)).hash(&mut hash);
    }
    for link in t.launches().iter().chain(t.fwdbwd()) {
        (link.from, link.to).hash(&mut hash);
    }
    for instant in t.instants() {
        (instant.time, instant.lane, instant.name).hash(&mut hash);
    }
    let mut text = format!("{} spans {:x}", s.len(), hash.finish());
    for lane in t.lanes() {
        let _ = write!(text, "; {} {} {:?}", lane.key, lane.name, lane.spans);
    }
    for counter in t.counters() {
        let _ = write!(text, "; {} {}", counter.name, counter.times.len());
    }
    text
}
