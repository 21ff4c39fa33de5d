//! Every file that leaves the program is written here: beside its target and then renamed, and never over what is read.
//!
//! Knows nothing of what is in the files.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

mod batch;

pub use batch::{Batch, Scratch, Waiting};

/// What SQLite keeps beside a database, by the end of its name. A file of that name would be taken for part of it.
const BESIDE_DATABASE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Why a file must not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict<'a> {
    /// It is this input: by the same or another spelling of its path, a symbolic or hard link, or as the archive that the
    /// input is a member of.
    Input(&'a Path),
    /// SQLite would take it for part of this database, whether it is there or not.
    OfDatabase(&'a Path),
    /// It lies in this folder, which is an input, and is not a file that this program may have written.
    InFolder(&'a Path),
}

impl fmt::Display for Conflict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(path) => write!(f, "it would overwrite {}, which is read", path.display()),
            Self::OfDatabase(path) => {
                write!(
                    f,
                    "it would be taken for a part of the database {}",
                    path.display()
                )
            }
            Self::InFolder(path) => write!(
                f,
                "it would overwrite a file of another kind in {}, which is read",
                path.display()
            ),
        }
    }
}

/// The first of the inputs that writing a file would harm. `begins` is what files of the new one's kind begin with: one of
/// them may be replaced in a folder that is read, so that a command can be run again; none where it is empty.
#[must_use]
pub fn conflict<'a>(
    output: &Path,
    begins: &[u8],
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Option<Conflict<'a>> {
    let output = Place::of(output)?;
    inputs.into_iter().find_map(|input| {
        if input.is_dir() {
            let harmed = output.is_in(input) && !output.begins_with(begins);
            return harmed.then_some(Conflict::InFolder(input));
        }
        // `a.zip/b.json` is a member of `a.zip`.
        let file = input.ancestors().find(|p| p.is_file())?;
        if output.is(file) {
            Some(Conflict::Input(input))
        } else if output.is_beside(file) {
            Some(Conflict::OfDatabase(input))
        } else {
            None
        }
    })
}

/// Where a file is, or would be.
struct Place {
    /// Without links and detours.
    path: PathBuf,
    /// There is something already.
    exists: bool,
}

impl Place {
    fn of(path: &Path) -> Option<Self> {
        if let Ok(path) = fs::canonicalize(path) {
            return Some(Self { path, exists: true });
        }
        let folder = match path.parent()? {
            folder if folder.as_os_str().is_empty() => Path::new("."),
            folder => folder,
        };
        Some(Self {
            path: fs::canonicalize(folder).ok()?.join(path.file_name()?),
            exists: false,
        })
    }

    fn is(&self, file: &Path) -> bool {
        self.exists
            && (fs::canonicalize(file).is_ok_and(|f| f == self.path) || same_file(file, &self.path))
    }

    fn is_in(&self, folder: &Path) -> bool {
        self.exists && fs::canonicalize(folder).is_ok_and(|folder| self.path.starts_with(folder))
    }

    /// Whether an existing file begins with these bytes, of which there must be some; one that cannot be read does not.
    fn begins_with(&self, bytes: &[u8]) -> bool {
        let mut head = Vec::new();
        let read = fs::metadata(&self.path)
            .and_then(|meta| {
                if meta.is_file() {
                    File::open(&self.path)
                } else {
                    Err(io::ErrorKind::InvalidInput.into())
                }
            })
            .and_then(|file| file.take(bytes.len() as u64).read_to_end(&mut head));
        read.is_ok() && !bytes.is_empty() && head == bytes
    }

    /// Whether this is what a database keeps beside itself, whether it is there or not.
    fn is_beside(&self, database: &Path) -> bool {
        let Ok(database) = fs::canonicalize(database) else {
            return false;
        };
        BESIDE_DATABASE.iter().any(|end| {
            let mut beside = database.clone().into_os_string();
            beside.push(end);
            let beside = PathBuf::from(beside);
            beside == self.path || self.is(&beside)
        })
    }
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

/// A file that is being written: beside its target, whose place it takes when it is whole. What is no regular file (a
/// terminal, a pipe, `/dev/null`) is written to as it is. The caller has asked for [`conflict`]s.
pub struct NewFile {
    to: To,
}

enum To {
    /// What is no regular file.
    Place(File),
    Beside(tempfile::NamedTempFile, PathBuf),
}

impl NewFile {
    /// Begins a file.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin(path: &Path) -> io::Result<Self> {
        // Through a symbolic link, as any program writes: the link stays.
        let path = fs::canonicalize(path).unwrap_or_else(|_new| path.to_owned());
        let old = fs::metadata(&path).ok();
        if old.as_ref().is_some_and(|old| !old.is_file()) {
            let file = File::options().write(true).open(&path)?;
            return Ok(Self {
                to: To::Place(file),
            });
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        let mut beside = tempfile::Builder::new();
        beside.prefix(&name).suffix(".part");
        #[cfg(unix)]
        let mode = {
            use std::os::unix::fs::PermissionsExt;
            // As any new file: the user's mask takes bits away.
            fs::Permissions::from_mode(0o666)
        };
        #[cfg(unix)]
        beside.permissions(mode);
        let file = beside.tempfile_in(folder)?;
        if let Some(old) = old {
            file.as_file().set_permissions(old.permissions())?;
        }
        Ok(Self {
            to: To::Beside(file, path),
        })
    }

    /// It is whole: now it takes the place of an old one.
    ///
    /// # Errors
    /// What the system says; an old file of that name is as it was then, and nothing is left beside it.
    pub fn finish(self) -> io::Result<()> {
        match self.to {
            To::Place(mut file) => file.flush(),
            To::Beside(file, path) => {
                // Some systems say only now that the disk is full.
                file.as_file().sync_all()?;
                file.persist(path).map_err(|e| e.error)?;
                Ok(())
            }
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::Place(file) => file.write(bytes),
            To::Beside(file, _) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Place(file) => file.flush(),
            To::Beside(file, _) => file.flush(),
        }
    }
}

/// Writes a file whole or not at all, as a [`NewFile`].
///
/// # Errors
/// What the system says; an old file of that name is as it was then, and nothing is left beside it.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = NewFile::begin(path)?;
    file.write_all(bytes)?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("target/tmp/output")
            .join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("a folder");
        dir
    }

    #[test]
    fn inputs_and_what_belongs_to_them_are_spared() {
        use Conflict::{InFolder, Input, OfDatabase};
        let dir = folder("spared");
        let file = |name: &str| {
            let path = dir.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(&path, name).expect("written");
            path
        };
        let (trace, archive) = (file("run.sqlite"), file("a.zip"));
        for name in [
            "run.sqlite-wal",
            "other.png",
            "run/old.png",
            "run/trace.json",
            "run/a/b.pfw",
        ] {
            file(name);
        }
        let (member, run) = (archive.join("b/c.json"), dir.join("run"));
        let hit = |name: &str| {
            let inputs = [trace.as_path(), member.as_path(), run.as_path()];
            let found = conflict(&dir.join(name), b"run/old", inputs);
            found.map(|c| c.to_string())
        };
        let text = |conflict: Conflict<'_>| Some(conflict.to_string());
        assert_eq!(hit("run.sqlite"), text(Input(&trace)));
        assert_eq!(hit("../spared/run.sqlite"), text(Input(&trace)));
        assert_eq!(hit("run.sqlite-wal"), text(OfDatabase(&trace)));
        // Not there yet: SQLite would take it for its own all the same.
        assert_eq!(hit("run.sqlite-journal"), text(OfDatabase(&trace)));
        assert_eq!(hit("run.sqlite-shm"), text(OfDatabase(&trace)));
        assert_eq!(hit("a.zip"), text(Input(&member)));
        // Of a folder that is read only what the program itself wrote there.
        assert_eq!(hit("run/trace.json"), text(InFolder(&run)));
        assert_eq!(hit("run/a/b.pfw"), text(InFolder(&run)));
        for free in [
            "other.png",
            "new.png",
            "run.sqlite-2",
            "no/folder.png",
            "run/old.png",
            "run/new.png",
        ] {
            assert_eq!(hit(free), None, "{free}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&trace, dir.join("soft")).expect("a link");
            fs::hard_link(&trace, dir.join("hard")).expect("a link");
            fs::hard_link(dir.join("run.sqlite-wal"), dir.join("wal")).expect("a link");
            assert_eq!(hit("soft"), text(Input(&trace)));
            assert_eq!(hit("hard"), text(Input(&trace)));
            assert_eq!(hit("wal"), text(OfDatabase(&trace)));
        }
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let dir = folder("written");
        let path = dir.join("a.png");
        write(&path, b"first").expect("written");
        write(&path, b"second").expect("written");
        assert_eq!(fs::read(&path).expect("read"), b"second");
        assert!(write(&dir.join("none/a.png"), b"x").is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let private = fs::Permissions::from_mode(0o600);
            fs::set_permissions(&path, private).expect("changed");
            std::os::unix::fs::symlink("a.png", dir.join("link")).expect("a link");
            write(&dir.join("link"), b"third").expect("written");
            assert_eq!(fs::read(&path).expect("read"), b"third");
            let mode = fs::metadata(&path).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            write(Path::new("/dev/null"), b"x").expect("written");
            fs::remove_file(dir.join("link")).expect("removed");
        }
        assert_eq!(fs::read_dir(&dir).expect("listed").count(), 1);
    }
}
