//! Opening files, never devices and pipes; and small text files that are read whole, as rules are.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use super::handed;

/// The most bytes that [`read_small`] reads: 16 MiB.
pub const SMALL: u64 = 16 << 20;

/// Opens a regular file for reading, or what came out of a pipe that was read. Never waits, as opening a pipe does for
/// somebody who writes into it.
///
/// # Errors
/// What the system says; `InvalidInput` for devices, pipes and folders.
pub fn open_regular(path: &Path) -> io::Result<File> {
    if let Some(kept) = handed::open(path) {
        return kept;
    }
    let no_file = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    // Asked before opening: to open a device may do something.
    if !fs::metadata(path)?.is_file() {
        return Err(no_file());
    }
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // A pipe may have taken its place since.
        options.custom_flags(libc::O_NONBLOCK);
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(no_file())
    }
}

/// What the system says of a file, or of what came out of a pipe that was read.
///
/// # Errors
/// What the system says.
pub(crate) fn metadata(path: &Path) -> io::Result<fs::Metadata> {
    match handed::open(path) {
        Some(kept) => kept?.metadata(),
        None => fs::metadata(path),
    }
}

/// Reads a text file of at most [`SMALL`] bytes.
///
/// # Errors
/// What the system says; `InvalidInput` for devices, pipes and folders; `FileTooLarge`; `InvalidData` for text that is
/// not UTF-8.
pub fn read_small(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    // The size that the system states may be wrong, as it is for files in /proc.
    open_regular(path)?
        .take(SMALL + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > SMALL {
        let text = format!("it is larger than {} MiB", SMALL >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let text = format!("it is not UTF-8 text (byte {at})");
        io::Error::new(io::ErrorKind::InvalidData, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_regular_texts_are_read() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tmp/small");
        fs::create_dir_all(&dir).expect("a folder");
        let write = |name: &str, bytes: &[u8]| {
            let path = dir.join(name);
            fs::write(&path, bytes).expect("written");
            path
        };
        let kind = |path: &Path| read_small(path).map_err(|e| e.kind());
        assert_eq!(kind(&write("a", b"x = 1")), Ok("x = 1".to_owned()));
        assert_eq!(kind(&write("b", b"x\xff")), Err(io::ErrorKind::InvalidData));
        let large = vec![b' '; usize::try_from(SMALL).expect("fits") + 1];
        assert_eq!(kind(&write("c", &large)), Err(io::ErrorKind::FileTooLarge));
        assert_eq!(kind(&dir), Err(io::ErrorKind::InvalidInput));
        assert_eq!(kind(&dir.join("none")), Err(io::ErrorKind::NotFound));
        if cfg!(unix) {
            assert_eq!(
                kind(Path::new("/dev/zero")),
                Err(io::ErrorKind::InvalidInput)
            );
        }
    }
}
