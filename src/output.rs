//! Every file that leaves the program is written here: beside its target and then renamed, and never over what is read.
//!
//! Knows nothing of what is in the files.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

mod unfinished;

use unfinished::Unfinished;
pub use unfinished::give_up;

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
        // A file may have been sent into it.
        let named = input;
        let input = match input == Path::new("-") && cfg!(unix) {
            true => Path::new("/dev/stdin"),
            false => input,
        };
        if input.is_dir() {
            let harmed = output.is_in(input) && !output.begins_with(begins);
            return harmed.then_some(Conflict::InFolder(named));
        }
        // `a.zip/b.json` is a member of `a.zip`.
        let file = input.ancestors().find(|p| p.is_file())?;
        if output.is(file) {
            Some(Conflict::Input(named))
        } else if output.is_beside(file) {
            Some(Conflict::OfDatabase(named))
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
    Beside(Unfinished, PathBuf),
}

impl NewFile {
    /// Begins a file. Never waits: a pipe that nobody reads is an error.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin(path: &Path) -> io::Result<Self> {
        // Through a symbolic link, as any program writes: the link stays.
        let path = fs::canonicalize(path).unwrap_or_else(|_new| path.to_owned());
        let old = fs::metadata(&path).ok();
        if let Some(old) = old.as_ref().filter(|old| !old.is_file()) {
            return Ok(Self {
                to: To::Place(open_special(&path, old)?),
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
        let mut file = Unfinished::make(|| beside.tempfile_in(folder))?;
        if let Some((old, file)) = old.zip(file.file()) {
            file.set_permissions(old.permissions())?;
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
        self.close(true)
    }

    fn close(self, replace: bool) -> io::Result<()> {
        match self.to {
            To::Place(mut file) => file.flush(),
            To::Beside(mut file, path) => {
                // Some systems say only now that the disk is full.
                if let Some(file) = file.file() {
                    file.sync_all()?;
                }
                file.name(&path, replace)
            }
        }
    }
}

/// Opens what is no regular file for writing.
fn open_special(path: &Path, what: &fs::Metadata) -> io::Result<File> {
    let mut options = File::options();
    options.write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
        if what.file_type().is_fifo() {
            let mut asks = options.clone();
            asks.custom_flags(libc::O_NONBLOCK);
            // Held until the pipe is open to be written to at any pace: its reader is there.
            let _reader = asks
                .open(path)
                .map_err(|error| match error.raw_os_error() {
                    Some(libc::ENXIO) => io::Error::other("it is a pipe that nobody reads from"),
                    _ => error,
                })?;
            return options.open(path);
        }
    }
    #[cfg(not(unix))]
    let _ = what;
    options.open(path)
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::Place(file) => file.write(bytes),
            To::Beside(file, _) => match file.file() {
                Some(file) => file.write(bytes),
                None => Err(io::ErrorKind::NotFound.into()),
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Place(file) => file.flush(),
            To::Beside(file, _) => file.file().map_or(Ok(()), Write::flush),
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

/// As [`write()`], for a file that must not be there yet.
///
/// # Errors
/// What the system says; `AlreadyExists` where there is something of that name, also where it came in the meantime.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mut file = NewFile::begin(path)?;
    file.write_all(bytes)?;
    file.close(false)
}

/// Keeps others who ask for it from writing, until it is dropped. The file stays: who waits for it has it open.
#[must_use]
pub struct Lock(#[expect(dead_code, reason = "closing it frees it")] File);

/// Locks a file that stands for others, and makes it where there is none. `None` where somebody else holds it for longer
/// than `patience`, and where the system cannot lock it.
pub fn lock(path: &Path, patience: Duration) -> Option<Lock> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    let until = Instant::now() + patience;
    let file = options.open(path).ok()?;
    loop {
        match file.try_lock() {
            Ok(()) => return Some(Lock(file)),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(_) => return None,
        }
    }
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
    fn what_is_there_is_not_replaced_by_what_must_be_new() {
        let dir = folder("new");
        let path = dir.join("a.png");
        write_new(&path, b"first").expect("written");
        let again = write_new(&path, b"second").map_err(|e| e.kind());
        assert_eq!(again, Err(io::ErrorKind::AlreadyExists));
        // It came after somebody looked.
        let late = dir.join("b.png");
        let mut file = NewFile::begin(&late).expect("begun");
        file.write_all(b"second").expect("written");
        fs::write(&late, b"first").expect("written");
        let closed = file.close(false).map_err(|e| e.kind());
        assert_eq!(closed, Err(io::ErrorKind::AlreadyExists));
        for path in [path, late] {
            assert_eq!(fs::read(path).expect("read"), b"first");
        }
        assert_eq!(fs::read_dir(&dir).expect("listed").count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_that_nobody_reads_keeps_nobody_waiting() {
        let dir = folder("pipe");
        let pipe = dir.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        let error = write(&pipe, b"x").expect_err("nobody reads");
        assert!(error.to_string().contains("nobody reads"), "{error}");
        let mut cat = std::process::Command::new("cat");
        let cat = cat.arg(&pipe).stdout(std::process::Stdio::piped());
        let cat = cat.spawn().expect("cat");
        // As soon as it has opened the pipe.
        while write(&pipe, b"x").is_err() {
            std::thread::yield_now();
        }
        assert_eq!(cat.wait_with_output().expect("read").stdout, b"x");
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
