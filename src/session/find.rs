//! Where the traces of a session lie: where they lay, or somewhere in the session's folder, by what is in them.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::key::content_key;
use super::{Kept, Session};

/// Files and folders of the session's folder that are looked at.
const MOST_LOOKED_AT: usize = 20_000;
/// Folders in each other that are looked into.
const DEEPEST: usize = 4;

/// A trace that is nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct NotFound {
    /// Where it lay.
    pub path: String,
    /// Something else lies there now.
    pub changed: bool,
    /// How many files of the session's folder were looked at.
    pub looked_at: usize,
    /// There are more of them.
    pub more: bool,
}

impl std::fmt::Display for NotFound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let there = match self.changed {
            true => "holds something else now",
            false => "is not there",
        };
        let most = match self.more {
            true => "the first ",
            false => "the ",
        };
        let (path, n) = (&self.path, self.looked_at);
        write!(
            f,
            "{path} {there}, and none of {most}{n} files in the session's folder is it"
        )
    }
}

/// The path of a file as seen from a folder, with `/`; as it is where they share no folder.
#[must_use]
pub fn relative(file: &Path, folder: &Path) -> String {
    let absolute = |p: &Path| std::path::absolute(p).unwrap_or_else(|_no_folder| p.to_owned());
    let (file, folder) = (absolute(file), absolute(folder));
    let (own, base): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (file.components().collect(), folder.components().collect());
    let shared = own.iter().zip(&base).take_while(|(a, b)| a == b).count();
    let folders = |c: &[Component<'_>]| c.iter().any(|c| matches!(c, Component::Normal(_)));
    if !folders(&own[..shared]) {
        return file.to_string_lossy().into_owned();
    }
    let up = base[shared..].iter().map(|_| "..".into());
    let down = own[shared..]
        .iter()
        .map(|c| c.as_os_str().to_string_lossy());
    let parts: Vec<std::borrow::Cow<'_, str>> = up.chain(down).collect();
    match parts.is_empty() {
        true => ".".to_owned(),
        false => parts.join("/"),
    }
}

impl Kept {
    /// A file or folder as it is kept in a session that lies in `folder`. Reads its beginning.
    #[must_use]
    pub fn of(path: &Path, folder: &Path) -> Self {
        Self {
            path: relative(path, folder),
            key: content_key(&[path.to_owned()]),
        }
    }

    fn is_at(&self, path: &Path) -> bool {
        path.exists() && content_key(&[path.to_owned()]) == self.key
    }
}

/// Where the traces of a session are now, or the first of each kind that is nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhereNow {
    /// What was opened.
    pub files: Result<Vec<PathBuf>, NotFound>,
    /// What that was compared with.
    pub before: Result<Vec<PathBuf>, NotFound>,
}

impl Session {
    /// Where its traces are now. `folder` is where the session lies.
    #[must_use]
    pub fn find(&self, folder: &Path) -> WhereNow {
        let mut nearby = Nearby::default();
        let mut all = |kept: &[Kept]| {
            let one = |k: &Kept| find(k, folder, &mut nearby);
            kept.iter().map(one).collect::<Result<Vec<_>, _>>()
        };
        WhereNow {
            files: all(&self.files),
            before: all(&self.before),
        }
    }
}

/// What lies in the session's folder, listed once somebody asks.
#[derive(Default)]
struct Nearby {
    listed: bool,
    looked_at: usize,
    /// There are more of them.
    more: bool,
    /// By size as keys have it; folders, whose size is that of what is in them, under none.
    alike: HashMap<Option<u64>, Alike>,
}

/// Paths that may be what is looked for, each read at most once.
#[derive(Default)]
struct Alike {
    unread: std::vec::IntoIter<PathBuf>,
    /// The first path of each key.
    known: HashMap<String, PathBuf>,
}

impl Alike {
    /// The first path with a key.
    fn find(&mut self, key: &str) -> Option<PathBuf> {
        while !self.known.contains_key(key) {
            let path = self.unread.next()?;
            let own = content_key(std::slice::from_ref(&path));
            self.known.entry(own).or_insert(path);
        }
        self.known.get(key).cloned()
    }
}

impl Nearby {
    fn list(&mut self, folder: &Path) {
        if self.listed {
            return;
        }
        self.listed = true;
        let mut files = Vec::new();
        self.more = !list(folder, DEEPEST, &mut files);
        self.looked_at = files.len();
        let mut by_size: HashMap<Option<u64>, Vec<PathBuf>> = HashMap::new();
        for (path, size) in files {
            by_size.entry(size).or_default().push(path);
        }
        let alike = by_size.into_iter().map(|(size, paths)| {
            let unread = paths.into_iter();
            let known = HashMap::new();
            (size, Alike { unread, known })
        });
        self.alike = alike.collect();
    }

    /// The first file with a key, else the first folder.
    fn find(&mut self, key: &str) -> Option<PathBuf> {
        let size = key.split('-').next().and_then(|n| n.parse::<u64>().ok());
        let mut of = |size: Option<u64>| self.alike.get_mut(&size)?.find(key);
        size.and_then(|n| of(Some(n))).or_else(|| of(None))
    }
}

fn find(kept: &Kept, folder: &Path, nearby: &mut Nearby) -> Result<PathBuf, NotFound> {
    let there = folder.join(&kept.path);
    if kept.is_at(&there) {
        return Ok(there);
    }
    nearby.list(folder);
    nearby.find(&kept.key).ok_or_else(|| NotFound {
        path: kept.path.clone(),
        changed: there.exists(),
        looked_at: nearby.looked_at,
        more: nearby.more,
    })
}

/// Lists what is in a folder, in a fixed order, with the sizes of what is no folder; false where that is too much.
fn list(folder: &Path, deep: usize, out: &mut Vec<(PathBuf, Option<u64>)>) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = entries.map(|e| e.path()).collect();
    entries.sort();
    for path in entries {
        if out.len() >= MOST_LOOKED_AT {
            return false;
        }
        // Links to folders may lead in a circle.
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        let target = fs::metadata(&path);
        let size = match target {
            Ok(target) if target.is_dir() => None,
            target => Some(target.map_or(0, |m| m.len())),
        };
        out.push((path.clone(), size));
        let inside = meta.is_dir();
        if inside && (deep == 0 || !list(&path, deep - 1, out)) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Look;

    #[test]
    fn paths_are_as_seen_from_the_folder() {
        let seen = |file: &str, folder: &str| relative(Path::new(file), Path::new(folder));
        assert_eq!(seen("/a/b/c.json", "/a/b"), "c.json");
        assert_eq!(seen("/a/b/c.json", "/a/x/y"), "../../b/c.json");
        assert_eq!(seen("/a/b", "/a/b"), ".");
        assert_eq!(seen("/a/c.json", "/x"), "/a/c.json");
    }

    #[test]
    fn traces_are_found_where_they_lay_or_by_what_is_in_them() {
        let dir = tempfile::tempdir().expect("a folder");
        let (home, other) = (dir.path().join("home"), dir.path().join("other"));
        fs::create_dir_all(home.join("run")).expect("folders");
        fs::create_dir_all(&other).expect("a folder");
        let trace = home.join("run/a.json");
        fs::write(&trace, "{\"traceEvents\":[]}").expect("written");
        let kept = Kept::of(&trace, &home);
        assert_eq!(kept.path, "run/a.json");
        let session = Session::new(vec![kept], Vec::new(), Vec::new(), Look::default());
        let found = |folder: &Path| session.find(folder).files;
        assert_eq!(found(&home), Ok(vec![trace.clone()]));
        // Elsewhere, under another name.
        let copy = other.join("b.json");
        fs::copy(&trace, &copy).expect("copied");
        assert_eq!(found(&other), Ok(vec![copy.clone()]));
        // Something else of the same size.
        fs::write(&copy, "{\"traceEvents\":{}}").expect("written");
        let lost = found(&other).expect_err("it is nowhere");
        assert_eq!((lost.changed, lost.looked_at), (false, 1));
        fs::write(&trace, "something else").expect("written");
        assert!(found(&home).expect_err("it changed").changed);
    }

    #[test]
    fn many_files_of_one_size_are_each_found_by_what_is_in_them() {
        let dir = tempfile::tempdir().expect("a folder");
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        fs::create_dir_all(&old).expect("a folder");
        fs::create_dir_all(new.join("deeper")).expect("a folder");
        let kept = |i: usize| {
            let path = old.join(format!("rank{i}"));
            fs::write(&path, format!("{i:04}")).expect("written");
            let kept = Kept::of(&path, &new);
            fs::rename(&path, new.join(format!("deeper/{}", 999 - i))).expect("moved");
            kept
        };
        let files: Vec<Kept> = (0..200).map(kept).collect();
        let lost = Kept {
            path: "gone".to_owned(),
            key: "4-0000000000000000".to_owned(),
        };
        let session = Session::new(files, vec![lost], Vec::new(), Look::default());
        let found = session.find(&new);
        let names = found.files.expect("all are there").into_iter();
        let all = (0..200).map(|i| new.join(format!("deeper/{}", 999 - i)));
        assert!(names.eq(all));
        assert_eq!(found.before.expect_err("nowhere").path, "gone");
    }
}
