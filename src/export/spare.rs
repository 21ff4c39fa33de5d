//! Nothing is written over what is read.

use std::fs;
use std::path::{Path, PathBuf};

/// The first of the inputs that a file is, whatever leads to it: other spellings, symbolic and hard links, an archive
/// whose members were read.
#[must_use]
pub fn overwritten<'a>(
    output: &Path,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Option<PathBuf> {
    // What does not exist yet is nobody's input.
    let output = fs::canonicalize(output).ok()?;
    let is =
        |path: &Path| fs::canonicalize(path).is_ok_and(|p| p == output) || same_file(path, &output);
    // `a.zip/b.json` is a member of `a.zip`.
    let file = |path: &'a Path| path.ancestors().find(|p| p.is_file());
    inputs
        .into_iter()
        .find(|p| file(p).is_some_and(is))
        .map(Path::to_owned)
}

/// Two names of one file: hard links.
#[cfg(unix)]
fn same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |p: &Path| fs::metadata(p).ok().map(|m| (m.dev(), m.ino()));
    id(a).is_some_and(|a| Some(a) == id(b))
}

#[cfg(not(unix))]
fn same_file(_a: &Path, _b: &Path) -> bool {
    false
}
