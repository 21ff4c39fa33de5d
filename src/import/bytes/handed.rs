//! Pipes that the program was started with: stdin, and those of `<(…)`. What comes out of them is kept in memory, as a file
//! that has no name, so that it can be read again and from any place.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::import::contract::error::{ErrorKind, LoadError};

/// How stdin is named.
const STDIN: &str = "-";
/// Bytes that are taken at once.
const BLOCK: usize = 1 << 20;
/// Bytes between two questions whether there is room for more.
const ASKED: u64 = 64 << 20;

/// What came out of each, by the name under which it was given.
static KEPT: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());

fn all() -> MutexGuard<'static, BTreeMap<PathBuf, File>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a path names such a pipe: `-`, or one that a shell opened for the program. Pipes that lie in folders are none:
/// nobody may ever write into them.
pub(crate) fn is_handed(path: &Path) -> bool {
    if path == Path::new(STDIN) {
        return true;
    }
    let names = ["/dev/fd", "/proc/self/fd"].iter();
    let given = path == Path::new("/dev/stdin")
        || names
            .into_iter()
            .any(|fds| path.parent() == Some(Path::new(fds)));
    given && is_pipe(path)
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|m| m.file_type().is_fifo() || m.file_type().is_socket())
}

#[cfg(not(unix))]
fn is_pipe(_path: &Path) -> bool {
    false
}

/// Whether it was read.
pub(crate) fn is_kept(path: &Path) -> bool {
    all().contains_key(path)
}

/// What came out of it, from its beginning; none where the path names no such pipe, or it was not read.
pub(crate) fn open(path: &Path) -> Option<io::Result<File>> {
    all().get(path).map(again)
}

/// Opens a file once more, with a place of its own in it.
#[cfg(target_os = "linux")]
fn again(file: &File) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(not(target_os = "linux"))]
fn again(file: &File) -> io::Result<File> {
    file.try_clone()
}

/// Reads it to its end, once. `room` is asked whether so many bytes may be kept.
///
/// # Errors
/// What the system says; where there is no such room; where nothing is piped in.
pub(crate) fn keep(
    path: &Path,
    room: &dyn Fn(u64) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    if is_kept(path) {
        return Ok(());
    }
    let io = |e: io::Error| LoadError::io(path, &e);
    let file = if path == Path::new(STDIN) {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            return Err(LoadError::new(
                ErrorKind::Empty,
                path,
                "Nothing is piped in: stdin is the terminal.",
                "Send a trace into it: `zcat trace.json.gz | stallscope report -`.",
            ));
        }
        match redirected() {
            Some(file) => file,
            None => copied(path, &mut stdin.lock(), room)?,
        }
    } else {
        copied(path, &mut File::open(path).map_err(io)?, room)?
    };
    all().insert(path.to_owned(), file);
    Ok(())
}

/// The file that stdin was redirected from: it needs no copy.
#[cfg(target_os = "linux")]
fn redirected() -> Option<File> {
    let file = File::open("/proc/self/fd/0").ok()?;
    file.metadata().is_ok_and(|m| m.is_file()).then_some(file)
}

#[cfg(not(target_os = "linux"))]
fn redirected() -> Option<File> {
    None
}

fn copied(
    path: &Path,
    from: &mut dyn Read,
    room: &dyn Fn(u64) -> Result<(), LoadError>,
) -> Result<File, LoadError> {
    let io = |e: io::Error| LoadError::io(path, &e);
    let mut to = memory(path)?;
    let mut block = vec![0; BLOCK];
    let (mut all, mut asked) = (0, 0);
    loop {
        let got = match from.read(&mut block) {
            Ok(0) => return Ok(to),
            Ok(got) => got,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(io(e)),
        };
        all += got as u64;
        if all >= asked {
            room(all)?;
            asked = all + ASKED;
        }
        to.write_all(&block[..got]).map_err(io)?;
    }
}

/// A file in memory, which no other program sees.
#[cfg(target_os = "linux")]
fn memory(path: &Path) -> Result<File, LoadError> {
    let file = rustix::fs::memfd_create("stallscope", rustix::fs::MemfdFlags::CLOEXEC);
    file.map(File::from)
        .map_err(|e| LoadError::io(path, &e.into()))
}

#[cfg(not(target_os = "linux"))]
fn memory(path: &Path) -> Result<File, LoadError> {
    Err(LoadError::new(
        ErrorKind::Unsupported,
        path,
        "On this system traces cannot be read from a pipe.",
        "Save the trace to a file and open that.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_kept_can_be_read_from_any_place_and_is_bounded() {
        let path = Path::new("no such pipe");
        let text = vec![b'x'; 3 * BLOCK];
        let file = copied(path, &mut text.as_slice(), &|_| Ok(())).expect("memory");
        for _ in 0..2 {
            let mut read = Vec::new();
            let mut file = again(&file).expect("opened");
            file.read_to_end(&mut read).expect("read");
            assert!(read == text);
        }
        let full = |bytes: u64| match bytes > ASKED {
            true => Err(LoadError::new(ErrorKind::TooLarge, path, "full", "")),
            false => Ok(()),
        };
        let endless = copied(path, &mut io::repeat(0), &full);
        assert_eq!(endless.err().map(|e| e.kind), Some(ErrorKind::TooLarge));
    }

    #[test]
    fn pipes_of_folders_are_not_waited_for() {
        assert!(is_handed(Path::new("-")));
        for other in ["./-", "/tmp/fifo", "/dev/zero", "/dev/fd/x"] {
            assert!(!is_handed(Path::new(other)), "{other}");
        }
    }
}
