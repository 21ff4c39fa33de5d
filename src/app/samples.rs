//! The bundled sample traces: where they lie and what each one shows.

use std::path::{Path, PathBuf};

/// A sample that is there.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Name in menus.
    pub title: &'static str,
    /// What it shows.
    pub line: &'static str,
    /// Where it is.
    pub path: PathBuf,
}

/// File or folder, name, what it shows.
const SAMPLES: &[(&str, &str, &str)] = &[];

/// The samples that are there, in order. The folder is looked for beside the program, in `share/stallscope` next to
/// its folder, and in the source tree it was built from.
#[must_use]
pub fn available() -> Vec<Sample> {
    let Some(dir) = folder() else {
        return Vec::new();
    };
    SAMPLES
        .iter()
        .map(|(file, title, line)| Sample {
            title,
            line,
            path: dir.join(file),
        })
        .filter(|s| s.path.exists())
        .collect()
}

fn folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let mut places = Vec::new();
    if let Some(dir) = beside {
        places.push(dir.join("sample_traces"));
        places.push(dir.join("../share/stallscope/sample_traces"));
    }
    places.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("sample_traces"));
    places.into_iter().find(|p| p.is_dir())
}
