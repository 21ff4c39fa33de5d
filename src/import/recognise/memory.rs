//! Whether a trace fits into memory, before it is read.
//!
//! An estimate from its size, by its importer; only Linux tells how much memory is free.

use super::candidate::Candidate;
use crate::import::contract::error::{ErrorKind, LoadError};

/// Text per byte of gzip, for traces: 12 to 25 were seen.
const INFLATION: u64 = 16;

/// Refuses what needs more memory than is free.
///
/// # Errors
/// [`ErrorKind::TooLarge`].
pub(crate) fn check(files: &[Candidate]) -> Result<(), LoadError> {
    let Some(free) = available() else {
        return Ok(());
    };
    let needed = files.iter().map(estimate).fold(0, u64::saturating_add);
    if needed <= free {
        return Ok(());
    }
    Err(LoadError::new(
        ErrorKind::TooLarge,
        &files[0].file.path,
        format!(
            "This trace needs about {}; {} are free.",
            gib(needed),
            gib(free)
        ),
        "Close other programs, open a part of the run, or open it anyway.",
    ))
}

/// Bytes that the model of a file takes at its largest.
pub(crate) fn estimate(candidate: &Candidate) -> u64 {
    let bytes = candidate.file.disk_bytes;
    candidate.importer.memory(if candidate.file.compressed {
        bytes.saturating_mul(INFLATION)
    } else {
        bytes
    })
}

fn gib(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10) >> 30;
    if tenths >= 100 {
        format!("{} GiB", tenths / 10)
    } else {
        format!("{}.{} GiB", tenths / 10, tenths % 10)
    }
}

#[cfg(target_os = "linux")]
pub(crate) fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    parse_available(&text)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn available() -> Option<u64> {
    None
}

/// `MemAvailable` of `/proc/meminfo`, bytes.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "Linux only"))]
fn parse_available(text: &str) -> Option<u64> {
    let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_memory_is_read_from_the_kernel() {
        let text = "MemTotal:       24684084 kB\nMemAvailable:   24188088 kB\n";
        assert_eq!(parse_available(text), Some(24_188_088 * 1024));
        assert_eq!(parse_available("MemTotal: 1 kB"), None);
        assert_eq!(gib(9_663_676_416), "9.0 GiB");
        assert_eq!(gib(12 << 30), "12 GiB");
    }
}
