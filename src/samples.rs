//! The bundled sample traces: what each one shows, and its bytes inside the program.
//!
//! A sample becomes files only when somebody opens it: importers read files, and a run of DFTracer is a folder. They
//! go into the user's cache folder, are reused there, and may be deleted at any time. Knows no format.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::output;

/// A sample trace.
#[derive(Debug)]
pub struct Sample {
    /// File or folder name, also its name on the command line.
    pub name: &'static str,
    /// Name in menus.
    pub title: &'static str,
    /// What it shows, in one line.
    pub line: &'static str,
    /// Its files: path below the samples' folder, bytes.
    files: &'static [(&'static str, &'static [u8])],
}

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_bytes!(concat!("../sample_traces/", $path)))),+]
    };
}

/// All samples, in the order of menus. `sample_traces/NAME.toml` says where each one is from and its expected figures.
pub const SAMPLES: &[Sample] = &[
    Sample {
        name: "torch_0_workers.json.gz",
        title: "torch.profiler, 0 workers",
        line: "The loop loads its own batches: the GPU waits for every one of them.",
        files: files!["torch_0_workers.json.gz"],
    },
    Sample {
        name: "torch_4_workers.json.gz",
        title: "torch.profiler, 4 workers",
        line: "The loop still waits, but the GPU works meanwhile: loading is hidden.",
        files: files!["torch_4_workers.json.gz"],
    },
    Sample {
        name: "dftracer_2_workers",
        title: "DFTracer run, 2 workers",
        line: "Loader processes and their reads, without GPU events.",
        files: files![
            "dftracer_2_workers/trace-2825d54de1050680-fork.pfw.gz",
            "dftracer_2_workers/trace-71697e5f0dad5b44-fork.pfw.gz",
            "dftracer_2_workers/trace-7eda8d1e25845ee0-fork.pfw.gz",
            "dftracer_2_workers/trace-adea647f5dc3bf6c-app.pfw.gz",
            "dftracer_2_workers/trace-e4db4b6d023ff8ad-fork.pfw.gz",
        ],
    },
    Sample {
        name: "nsight_2_workers.sqlite",
        title: "Nsight export, 2 workers",
        line: "Loop, loader processes and GPU in one file: two workers load too slowly, the GPU runs dry.",
        files: files!["nsight_2_workers.sqlite"],
    },
    Sample {
        name: "torch_real_rank1.json.gz",
        title: "Real trace: rank 1 of 128",
        line: "Two steps of a recommendation model: five streams, NCCL beside compute, waits hidden in part.",
        files: files!["torch_real_rank1.json.gz"],
    },
];

impl Sample {
    /// The sample of a name; its beginning is enough where only one begins so.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        let exact = SAMPLES.iter().find(|s| s.name == name);
        let mut begin = SAMPLES.iter().filter(|s| s.name.starts_with(name));
        exact.or_else(|| match (begin.next(), begin.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        })
    }

    /// Writes the sample into the user's cache folder, unless it is there, and returns its path.
    ///
    /// # Errors
    /// When the cache folder is unknown or cannot be written.
    pub fn unpack(&self) -> io::Result<PathBuf> {
        let cache =
            cache_folder().ok_or_else(|| io::Error::other("the user's cache folder is unknown"))?;
        self.unpack_into(
            &cache
                .join("stallscope")
                .join(concat!("samples-", env!("CARGO_PKG_VERSION"))),
        )
    }

    fn unpack_into(&self, folder: &Path) -> io::Result<PathBuf> {
        for (name, bytes) in self.files {
            let path = folder.join(name);
            if fs::read(&path).is_ok_and(|there| there == *bytes) {
                continue;
            }
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            // Another instance may read the file right now: it sees the old one or the new one, never a half.
            output::write(&path, bytes)?;
        }
        Ok(folder.join(self.name))
    }
}

/// The user's folder for files that can be made again.
fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        folder("HOME").map(|home| home.join("Library/Caches"))
    } else {
        folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn below(dir: &Path, root: &Path, out: &mut BTreeSet<String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, root, out);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                out.insert(name.replace('\\', "/"));
            }
        }
    }

    #[test]
    fn every_file_of_the_folder_is_a_sample_or_describes_one() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample_traces");
        let mut there = BTreeSet::new();
        below(&root, &root, &mut there);
        there.retain(|n| !n.ends_with(".toml") && !n.ends_with(".LICENSE"));
        let files = || SAMPLES.iter().flat_map(|s| s.files);
        let listed: BTreeSet<String> = files().map(|(n, _)| (*n).to_owned()).collect();
        assert_eq!(there, listed);
        let total: usize = files().map(|(_, bytes)| bytes.len()).sum();
        assert!(total < 3_000_000, "{total} bytes of samples");
    }

    #[test]
    fn titles_are_those_of_the_descriptions() {
        for sample in SAMPLES {
            let stem = sample.name.split('.').next().unwrap();
            let path =
                Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("sample_traces/{stem}.toml"));
            let text = fs::read_to_string(path).unwrap();
            assert!(
                text.contains(&format!("title = \"{}\"", sample.title)),
                "{}",
                sample.name
            );
            assert!(
                text.contains(&format!("line = \"{}\"", sample.line)),
                "{}",
                sample.name
            );
            assert!(
                text.contains("origin = \"") && text.contains("licence = \""),
                "{}",
                sample.name
            );
        }
    }

    #[test]
    fn a_damaged_copy_is_replaced() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/samples-test");
        let sample = Sample::find("dftracer").unwrap();
        let path = sample.unpack_into(&folder).unwrap();
        let (name, bytes) = sample.files[0];
        fs::write(folder.join(name), b"half").unwrap();
        assert_eq!(sample.unpack_into(&folder).unwrap(), path);
        assert_eq!(fs::read(folder.join(name)).unwrap(), bytes);
        let left: Vec<_> = fs::read_dir(&path).unwrap().collect();
        assert_eq!(left.len(), sample.files.len());
    }

    #[test]
    fn names_may_be_shortened_where_clear() {
        assert_eq!(
            Sample::find("torch_0").map(|s| s.name),
            Some("torch_0_workers.json.gz")
        );
        assert!(Sample::find("torch").is_none());
    }
}
