//! Files of folders that have the name of a trace and are none: each may be a rank that is missing.

use std::collections::BTreeSet;
use std::fs::{canonicalize, metadata, read_dir};
use std::path::{Path, PathBuf};

use crate::import::{ErrorKind, Files, LoadError, Progress};
use crate::ranks::{Ranks, Unread};

/// Folders inside folders that are entered.
const DEPTH: usize = 8;

/// How names of traces end, compressed or not. Tables have none: folders hold others as well.
const ENDINGS: [&str; 3] = [".json", ".pfw", ".sqlite"];

/// Adds those below some folders that cannot be opened or recognised to what is unread. What is recognised as something
/// else, such as settings in JSON, is no rank that is missing.
///
/// # Errors
/// On cancel.
pub(super) fn add_unread(
    all: &mut Ranks,
    paths: &[PathBuf],
    progress: &Progress,
) -> Result<(), LoadError> {
    let found = all
        .runs
        .iter()
        .flat_map(|r| &r.files)
        .flat_map(|f| &f.paths);
    let told = all.unread.iter().map(|u| &u.file);
    let known: BTreeSet<PathBuf> = found.chain(told).cloned().collect();
    let mut entered = BTreeSet::new();
    let folders = paths.iter().filter(|p| p.is_dir());
    let mut queue: Vec<(PathBuf, usize)> = folders.map(|p| (p.clone(), 0)).collect();
    while let Some((folder, depth)) = queue.pop() {
        // A folder that is reached twice, through a link, is read once.
        let real = canonicalize(&folder).unwrap_or_else(|_gone| folder.clone());
        if !entered.insert(real) {
            continue;
        }
        let entries = match read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) => {
                all.unread.push(Unread {
                    file: folder,
                    why: format!("The folder cannot be read: {e}."),
                });
                continue;
            }
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            progress.check(&path)?;
            if metadata(&path).is_ok_and(|m| m.is_dir()) {
                if depth < DEPTH && !is_index(&path) {
                    queue.push((path, depth + 1));
                }
            } else if names_a_trace(&path) && !known.contains(&path) {
                match Files::look(std::slice::from_ref(&path), progress) {
                    Err(e) if e.kind == ErrorKind::Cancelled => return Err(e),
                    Err(e) if e.kind != ErrorKind::Unsupported => all.unread.push(Unread {
                        file: path,
                        why: format!("{} {}", e.cause, e.remedy).trim().to_owned(),
                    }),
                    Ok(_) | Err(_) => {}
                }
            }
        }
    }
    all.unread.sort();
    Ok(())
}

/// The name in small letters.
fn small_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.to_lowercase()
}

fn names_a_trace(path: &Path) -> bool {
    let name = small_name(path);
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Folders of indexers and version control.
fn is_index(folder: &Path) -> bool {
    let name = small_name(folder);
    name.starts_with('.') || name.ends_with(".dftindex") || name == "__pycache__"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_traces_are_known_compressed_or_not() {
        for (name, is) in [
            ("rank3.json", true),
            ("a/Rank3.pt.trace.JSON.gz", true),
            (".trace-0-of-4.pfw", true),
            ("losses.csv", false),
            ("train.log.gz", false),
            ("rank3.jsonl", false),
        ] {
            assert_eq!(names_a_trace(Path::new(name)), is, "{name}");
        }
    }
}
