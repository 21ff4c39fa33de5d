//! Short ways to make a case and to look at what came of it.

use std::path::{Path, PathBuf};

use stallscope::import::{LoadError, Loaded, OpenOptions, Progress, open};
use stallscope::model::{Lane, SpanId, Trace};

/// An empty folder of its own for a test.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("nsight")
        .join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

pub fn load(path: &Path) -> Result<Loaded, LoadError> {
    let options = OpenOptions {
        threads: 1,
        ..OpenOptions::default()
    };
    open(&[path.to_owned()], &options, &Progress::new())
}

pub fn noted(loaded: &Loaded, code: &str) -> u64 {
    loaded
        .report
        .notices
        .iter()
        .filter(|n| n.code == code)
        .map(|n| n.count)
        .sum()
}

pub fn warnings(loaded: &Loaded) -> Vec<&'static str> {
    loaded.report.warnings().map(|n| n.code).collect()
}

pub fn find(trace: &Trace, name: &str) -> SpanId {
    let mut all = trace.spans().ids().filter(|&s| trace.span_name(s) == name);
    let first = all.next().unwrap_or_else(|| panic!("no span {name}"));
    assert_eq!(all.next(), None, "{name} is there twice");
    first
}

pub fn lane<'a>(trace: &'a Trace, key: &str) -> &'a Lane {
    trace
        .lanes()
        .iter()
        .find(|l| l.key == key)
        .unwrap_or_else(|| panic!("no lane {key}"))
}
