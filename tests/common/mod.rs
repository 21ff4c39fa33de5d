//! What integration tests share: where test files lie, and differences as a table.

use std::io::Write;
use std::path::{Path, PathBuf};

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

/// Collects differences, so that a test shows all of them and not only the first.
#[derive(Default)]
pub struct Differences {
    rows: Vec<[String; 3]>,
}

impl Differences {
    /// Notes a difference, if there is one.
    pub fn compare<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, expected: T, got: T) {
        if expected != got {
            self.rows
                .push([what.to_owned(), format!("{expected:?}"), format!("{got:?}")]);
        }
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

/// Every test crate compiles all of this and uses a part of it; naming the rest here keeps the lints quiet.
const _: fn() = || {
    let _ = (
        shared,
        repository,
        Differences::add,
        Differences::assert_none,
    );
    let _ = Differences::compare::<u8>;
};
