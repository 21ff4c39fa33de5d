//! The files of a folder: walked to a limited depth, sorted by path, symlink loops survived.
//!
//! Looks at names only to pass over what programs leave beside their traces; what a file is, [`super::sniff`] says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::error::LoadError;
use super::progress::Progress;

/// Folders inside folders that are entered.
const DEPTH: usize = 8;

/// Files that are looked at.
pub(super) const FILES: usize = 20_000;

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Regular files, sorted by path.
    pub files: Vec<PathBuf>,
    /// Entries that could not be read, with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
    /// Folders that lie too deep to be entered.
    pub too_deep: Vec<PathBuf>,
    /// True when there were more than [`FILES`] files.
    pub too_many: bool,
}

/// Folders that indexers and version control leave in a run's folder.
fn is_side_folder(name: &str) -> bool {
    matches!(name, ".dftindex" | ".git" | "__pycache__" | ".venv") || name.ends_with(".dftindex")
}

/// Files that other programs leave beside traces and that hold a copy or an index of them.
fn is_side_file(name: &str) -> bool {
    name.ends_with(".zindex")
        || name.ends_with("-journal")
        || name.ends_with("-wal")
        || name.ends_with("-shm")
}

/// Walks a folder.
///
/// # Errors
/// When the folder itself cannot be read, and on cancel.
pub(super) fn walk(folder: &Path, progress: &Progress) -> Result<Walk, LoadError> {
    let mut found = Walk::default();
    let mut entered = BTreeSet::new();
    let mut queue = vec![(folder.to_owned(), 0_usize)];
    while let Some((dir, depth)) = queue.pop() {
        progress.check(folder)?;
        // A folder that is reached twice, through a link, is read once.
        let real = std::fs::canonicalize(&dir).unwrap_or_else(|_e| dir.clone());
        if !entered.insert(real) {
            continue;
        }
        let entries = match std::fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(e) if depth == 0 => return Err(LoadError::io(folder, &e)),
            Err(e) => {
                found.unreadable.push((dir, e.to_string()));
                continue;
            }
        };
        for entry in entries {
            let path = match entry {
                Ok(entry) => entry.path(),
                Err(e) => {
                    found.unreadable.push((dir.clone(), e.to_string()));
                    break;
                }
            };
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // Follows links; dangling ones are no files.
            let Ok(meta) = std::fs::metadata(&path) else {
                continue;
            };
            if meta.is_dir() {
                if is_side_folder(&name) {
                    continue;
                }
                if depth + 1 > DEPTH {
                    found.too_deep.push(path);
                } else {
                    queue.push((path, depth + 1));
                }
            } else if meta.is_file() && !is_side_file(&name) {
                if found.files.len() == FILES {
                    found.too_many = true;
                    break;
                }
                found.files.push(path);
            }
        }
    }
    found.files.sort();
    found.files.dedup();
    found.too_deep.sort();
    found.unreadable.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_in_order_and_once() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tmp/folder-walk");
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(root.join("b/.dftindex")).expect("writable target");
        for name in [
            "b/2.pfw",
            "b/.trace-0-of-4.pfw",
            "a.pfw",
            "a.pfw.zindex",
            "b/.dftindex/1",
        ] {
            std::fs::write(root.join(name), "x").expect("writable target");
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(&root, root.join("b/loop")).expect("links");
        let walk = walk(&root, &Progress::new()).expect("readable");
        let names: Vec<_> = walk
            .files
            .iter()
            .map(|p| p.strip_prefix(&root).expect("inside").display().to_string())
            .collect();
        assert_eq!(names, ["a.pfw", "b/.trace-0-of-4.pfw", "b/2.pfw"]);
        assert!(!walk.too_many && walk.too_deep.is_empty());
        let _ = std::fs::remove_dir_all(&root);
    }
}
