//! Kinds of archives, and what zip says of itself.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// What packs several files into one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// tar, perhaps compressed as a whole.
    Tar,
    /// zip.
    Zip,
}

impl Packing {
    /// The archive that begins like this, inflated.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if is_tar(bytes) {
            Some(Self::Tar)
        } else if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
            Some(Self::Zip)
        } else {
            None
        }
    }
}

/// The checksum of a tar header: the sum of its bytes with the checksum field as blanks, in octal.
fn is_tar(bytes: &[u8]) -> bool {
    let Some(header) = bytes.get(..512) else {
        return false;
    };
    let field: Vec<u8> = header[148..156]
        .iter()
        .copied()
        .filter(|b| !matches!(b, b' ' | 0))
        .collect();
    let Some(stated) = std::str::from_utf8(&field)
        .ok()
        .and_then(|t| u32::from_str_radix(t, 8).ok())
    else {
        return false;
    };
    let sum: u32 = header
        .iter()
        .enumerate()
        .map(|(i, &b)| u32::from(if (148..156).contains(&i) { b' ' } else { b }))
        .sum();
    header[0] != 0 && sum == stated
}

/// The number of entries that the end of a zip archive states, where that is all there is to say of it: large archives
/// have it elsewhere.
pub(super) fn zip_entries(file: &mut File, bytes: u64) -> Option<u64> {
    const END: &[u8] = b"PK\x05\x06";
    /// Its own length and that of the longest comment behind it.
    const TAIL: u64 = 22 + 0xffff;
    file.seek(SeekFrom::Start(bytes.saturating_sub(TAIL)))
        .ok()?;
    let mut tail = Vec::new();
    file.by_ref().take(TAIL).read_to_end(&mut tail).ok()?;
    let at = memchr::memmem::rfind(&tail, END)?;
    let number = tail.get(at + 10..at + 12)?;
    let number = u16::from_le_bytes([number[0], number[1]]);
    (number != u16::MAX).then_some(u64::from(number))
}

/// What is wrong with a zip archive, for the user.
pub(super) fn zip_cause(error: &zip::result::ZipError) -> String {
    use zip::result::ZipError;
    match error {
        ZipError::Io(e) if e.kind() != io::ErrorKind::UnexpectedEof => e.to_string(),
        ZipError::UnsupportedArchive(what) => (*what).to_owned(),
        ZipError::FileNotFound => "a member is not there".to_owned(),
        _ => "its directory, which stands at its end, is missing or broken".to_owned(),
    }
}

/// The name of a compression inside zip that is not read.
pub(super) fn compression_name(method: zip::CompressionMethod) -> String {
    use zip::CompressionMethod as Method;
    let known = [
        (Method::DEFLATE64, "Deflate64"),
        (Method::BZIP2, "bzip2"),
        (Method::LZMA, "LZMA"),
        (Method::ZSTD, "zstd"),
        (Method::XZ, "xz"),
        (Method::PPMD, "PPMd"),
    ];
    let found = known.iter().find(|(m, _)| *m == method);
    found.map_or_else(
        || "an unknown one".to_owned(),
        |(_, name)| (*name).to_owned(),
    )
}
