//! What tells a trace from others without its name: how large it is, and a hash of its beginning.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use crate::import::open_regular;

/// Bytes of a file that make its key, together with its size.
const KEY_BYTES: u64 = 64 << 10;

/// The key of what was opened: number of bytes and a hash of the first 64 KiB, over all paths; for a folder, of the
/// names and sizes in it.
#[must_use]
pub fn content_key(paths: &[PathBuf]) -> String {
    let mut hash = Fnv::default();
    let mut size = 0_u64;
    for path in paths {
        let Ok(meta) = fs::metadata(path) else {
            continue;
        };
        if meta.is_dir() {
            let mut entries: Vec<_> = fs::read_dir(path)
                .into_iter()
                .flatten()
                .flatten()
                .map(|e| (e.file_name(), e.metadata().map_or(0, |m| m.len())))
                .collect();
            entries.sort();
            for (name, len) in entries {
                hash.add(name.as_encoded_bytes());
                size += len;
            }
        } else {
            size += meta.len();
            let mut head = Vec::new();
            if let Ok(file) = open_regular(path) {
                // What cannot be read does not enter the key.
                let _ = file.take(KEY_BYTES).read_to_end(&mut head);
            }
            hash.add(&head);
        }
    }
    format!("{size}-{:016x}", hash.0)
}

/// FNV-1a: the same on every platform and in every version, unlike the standard library's hasher.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = (self.0 ^ u64::from(b)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opening a pipe waits for somebody who writes into it: the window would load for ever.
    #[cfg(unix)]
    #[test]
    fn a_pipe_among_the_paths_keeps_nobody_waiting() {
        let dir = tempfile::tempdir().expect("a folder");
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        assert!(content_key(&[pipe]).starts_with("0-"));
    }

    #[test]
    fn keys_follow_the_content_and_not_the_name() {
        let dir = tempfile::tempdir().expect("a folder");
        for (name, text) in [("a", "same"), ("b", "same"), ("c", "other")] {
            fs::write(dir.path().join(name), text).expect("written");
        }
        let key = |name: &str| content_key(&[dir.path().join(name)]);
        assert_eq!(key("a"), key("b"));
        assert_ne!(key("a"), key("c"));
        assert!(content_key(&[dir.path().to_owned()]).starts_with("13-"));
    }
}
