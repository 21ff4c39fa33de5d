//! The files of a folder: walked to a limited depth, sorted by path, symlink loops survived.
//!
//! Looks at names only to pass over what programs leave beside their traces; what a file is, [`super::sniff`] says.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::import::contract::error::LoadError;
use crate::import::contract::progress::Progress;

/// Folders inside folders that are entered.
const DEPTH: usize = 8;

/// Files that are looked at.
pub(crate) const FILES: usize = 20_000;

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// Regular files, sorted by path.
    pub files: Vec<PathBuf>,
    /// Pipes, sockets and devices.
    pub special: Vec<PathBuf>,
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

/// Folders of what the kernel says: some files have no end, and links lead to everything else.
fn is_made_up(folder: &Path) -> bool {
    let made_up = ["/proc", "/sys"].iter();
    cfg!(unix) && made_up.into_iter().any(|root| folder.starts_with(root))
}

/// Walks a folder.
///
/// # Errors
/// When the folder itself cannot be read, and on cancel.
pub(crate) fn walk(folder: &Path, progress: &Progress) -> Result<Walk, LoadError> {
    let mut found = Walk::default();
    let mut entered = BTreeSet::new();
    let mut queue = vec![(folder.to_owned(), 0_usize)];
    while let Some((dir, depth)) = queue.pop() {
        progress.check(folder)?;
        // A folder that is reached twice, through a link, is read once.
        let real = std::fs::canonicalize(&dir).unwrap_or_else(|_e| dir.clone());
        if is_made_up(&real) {
            let why = "the system makes its files up; no trace lies there";
            if depth == 0 {
                return Err(LoadError::io(folder, &std::io::Error::other(why)));
            }
            found.unreadable.push((dir, why.to_owned()));
            continue;
        }
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
            // Follows links.
            let meta = match std::fs::metadata(&path) {
                Ok(meta) => meta,
                Err(e) => {
                    let why = match e.kind() {
                        ErrorKind::NotFound if path.is_symlink() => {
                            "it links to a file that is not there".to_owned()
                        }
                        _ => e.to_string(),
                    };
                    found.unreadable.push((path, why));
                    continue;
                }
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
            } else if !meta.is_file() {
                found.special.push(path);
            }
        }
    }
    found.files.sort();
    found.files.dedup();
    found.special.sort();
    found.too_deep.sort();
    found.unreadable.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_in_order_and_once() {
        #[expect(clippy::disallowed_methods, reason = "paths of sockets must be short")]
        let root = std::env::temp_dir().join(format!("stallscope-walk-{}", std::process::id()));
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
        {
            use std::os::unix::{fs::symlink, net::UnixListener};
            symlink(&root, root.join("b/loop")).expect("links");
            symlink(root.join("gone"), root.join("b/3.pfw")).expect("links");
            UnixListener::bind(root.join("b/socket")).expect("sockets");
        }
        let walk = walk(&root, &Progress::new()).expect("readable");
        let names: Vec<_> = walk
            .files
            .iter()
            .map(|p| p.strip_prefix(&root).expect("inside").display().to_string())
            .collect();
        assert_eq!(names, ["a.pfw", "b/.trace-0-of-4.pfw", "b/2.pfw"]);
        assert!(!walk.too_many && walk.too_deep.is_empty());
        #[cfg(unix)]
        {
            let why = "it links to a file that is not there".to_owned();
            assert_eq!(walk.unreadable, [(root.join("b/3.pfw"), why)]);
            assert_eq!(walk.special, [root.join("b/socket")]);
        }
        let _ = std::fs::remove_dir_all(&root);
    }
}
