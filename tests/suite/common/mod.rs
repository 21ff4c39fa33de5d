//! What integration tests share: where test files lie, and differences as a table.

pub mod case;
pub mod look;
pub mod program;
#[cfg(feature = "gui")]
pub mod raster;
pub mod timeline;
pub mod torch_oracle;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stallscope::import::{LoadError, Loaded, OpenOptions, Progress, open};
use stallscope::model::Trace;

/// A file or folder of the shared test data (`traces/torch`), which lies beside the repository.
///
/// Where it is missing, says so on stderr and returns `None`: the test then passes without having tested. With
/// `STALLSCOPE_REQUIRE_SHARED=1`, as on the build server, it fails instead.
pub fn shared(path: &str) -> Option<PathBuf> {
    let full = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared")
        .join(path);
    if full.exists() {
        return Some(full);
    }
    let required = std::env::var_os("STALLSCOPE_REQUIRE_SHARED").is_some_and(|v| v == "1");
    assert!(
        !required,
        "{} is missing, and STALLSCOPE_REQUIRE_SHARED=1",
        full.display()
    );
    let _ = writeln!(std::io::stderr(), "SKIPPED: {} is missing", full.display());
    None
}

/// A file or folder of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
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

/// Collects differences, so that a test shows all of them and not only the first.
#[derive(Default)]
pub struct Differences {
    rows: Vec<[String; 3]>,
    compared: usize,
}

impl Differences {
    /// Notes a difference, if there is one.
    pub fn compare<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, expected: T, got: T) {
        self.compared += 1;
        if expected != got {
            self.rows
                .push([what.to_owned(), format!("{expected:?}"), format!("{got:?}")]);
        }
    }

    /// Compares one value of one place.
    pub fn check<T: PartialEq + std::fmt::Debug>(
        &mut self,
        place: &str,
        what: &str,
        expected: T,
        found: T,
    ) {
        self.compare(&format!("{place} {what}"), expected, found);
    }

    /// Fails where there is any difference, or where nothing was compared.
    pub fn finish(&self) {
        assert!(self.compared > 0, "nothing was compared");
        self.assert_none();
    }

    /// Notes a difference that is found otherwise.
    pub fn add(&mut self, what: &str, expected: &str, got: &str) {
        self.rows
            .push([what.to_owned(), expected.to_owned(), got.to_owned()]);
    }

    /// Fails with a table of all differences, if there are any.
    pub fn assert_none(&self) {
        if self.rows.is_empty() {
            return;
        }
        let width = |i: usize| {
            self.rows
                .iter()
                .map(|r| r[i].chars().count())
                .max()
                .unwrap_or(0)
                .max(8)
        };
        let (a, b) = (width(0), width(1));
        let mut text = format!("{:a$}  {:b$}  got\n", "what", "expected");
        for [what, expected, got] in &self.rows {
            text.push_str(&format!("{what:a$}  {expected:b$}  {got}\n"));
        }
        panic!("{} differences\n{text}", self.rows.len());
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

/// Every test crate compiles all of this and uses a part of it; naming the rest here keeps the lints quiet.
const _: fn() = || {
    let _ = (shared, repository, scratch, open_with, index, fingerprint);
    let _ = (
        Differences::add,
        Differences::assert_none,
        Differences::finish,
    );
    let _ = (Differences::compare::<u8>, Differences::check::<u8>);
    let _ = |l: IndexLine| (l.file, l.kind, l.events, l.expectation);
};

/// Leaves of a JSON value by path; of a list its length besides, at `#`. Empty objects have none.
pub fn leaves(value: &Value, path: &str, out: &mut BTreeMap<String, Value>) {
    let below = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                leaves(value, &below(key), out);
            }
        }
        Value::Array(all) => {
            out.insert(below("#"), all.len().into());
            for (i, value) in all.iter().enumerate() {
                leaves(value, &below(&i.to_string()), out);
            }
        }
        value => {
            out.insert(path.to_owned(), value.clone());
        }
    }
}

/// What `report` prints of a file.
pub fn report_of(file: &str, args: &[&str]) -> String {
    program::run(&[&["report", file], args].concat()).1
}
