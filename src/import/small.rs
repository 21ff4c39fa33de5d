//! Small text files that are read whole, as rules are. Never a device or a pipe, never more than fits.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The most bytes that [`read_small`] reads: 16 MiB.
pub const SMALL: u64 = 16 << 20;

/// Reads a text file of at most [`SMALL`] bytes.
///
/// # Errors
/// What the system says; `InvalidInput` for devices, pipes and folders; `FileTooLarge`; `InvalidData` for text that is
/// not UTF-8.
pub fn read_small(path: &Path) -> io::Result<String> {
    // Asked before opening: opening a pipe waits for somebody who writes into it.
    if !fs::metadata(path)?.is_file() {
        let text = "it is not a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let mut bytes = Vec::new();
    // The size that the system states may be wrong, as it is for files in /proc.
    File::open(path)?.take(SMALL + 1).read_to_end(&mut bytes)?;
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
