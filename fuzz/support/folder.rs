//! Where a target puts the files that it opens: in memory where the system has a place for that.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() {
        memory.to_owned()
    } else {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("target")
    };
    let folder = parent.join(format!("stallscope-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a writable folder");
    folder
});

/// A folder of this process.
pub fn scratch() -> &'static Path {
    &FOLDER
}
