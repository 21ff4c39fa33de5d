//! Where the traces of a session lie: where they lay, or somewhere in the session's folder, by what is in them.

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

impl Session {
    /// Where its traces are now: what was opened, and what that was compared with. `folder` is where the session lies.
    ///
    /// # Errors
    /// The first one that is nowhere.
    pub fn find(&self, folder: &Path) -> Result<[Vec<PathBuf>; 2], NotFound> {
        let mut nearby = None;
        let mut all = |kept: &[Kept]| {
            let one = |k: &Kept| find(k, folder, &mut nearby);
            kept.iter().map(one).collect::<Result<Vec<_>, _>>()
        };
        Ok([all(&self.files)?, all(&self.before)?])
    }
}

/// What lies in the session's folder, once somebody asks: paths with sizes, and whether there is more.
type Nearby = Option<(Vec<(PathBuf, u64)>, bool)>;

fn find(kept: &Kept, folder: &Path, nearby: &mut Nearby) -> Result<PathBuf, NotFound> {
    let there = folder.join(&kept.path);
    if kept.is_at(&there) {
        return Ok(there);
    }
    let (files, more) = nearby.get_or_insert_with(|| {
        let mut files = Vec::new();
        let more = !list(folder, DEEPEST, &mut files);
        (files, more)
    });
    let size = kept.key.split('-').next().unwrap_or_default();
    let alike = files.iter().filter(|(path, len)| {
        // Of folders the size is that of what is in them.
        len.to_string() == size || path.is_dir()
    });
    let mut alike = alike.map(|(path, _)| path);
    match alike.find(|path| kept.is_at(path)) {
        Some(path) => Ok(path.clone()),
        None => Err(NotFound {
            path: kept.path.clone(),
            changed: there.exists(),
            looked_at: files.len(),
            more: *more,
        }),
    }
}

/// Lists what is in a folder, in a fixed order; false where that is too much.
fn list(folder: &Path, deep: usize, out: &mut Vec<(PathBuf, u64)>) -> bool {
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
        let size = fs::metadata(&path).map_or(0, |m| m.len());
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
        let found = |folder: &Path| session.find(folder).map(|[files, _]| files);
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
}
