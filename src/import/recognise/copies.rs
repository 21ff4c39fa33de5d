//! Files that hold the same recording as another one, byte for byte once inflated: copies, hard links, `trace.json` beside
//! its `trace.json.gz`. Read twice, each figure would count it twice.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::path::PathBuf;

use rayon::prelude::*;

use super::candidate::Candidate;
use crate::import::contract::error::LoadError;
use crate::import::contract::progress::Progress;

/// A file that is not read, and the one that is read instead.
pub(crate) struct Copied {
    /// The copy.
    pub path: PathBuf,
    /// The file that holds the same bytes.
    pub of: PathBuf,
}

/// Takes all copies but the first of each file out of `candidates`, of those that `may_be` left out. Only files whose heads
/// are alike are read for it.
///
/// # Errors
/// On cancel.
pub(crate) fn take_out(
    candidates: &mut Vec<Candidate>,
    may_be: impl Fn(&Candidate) -> bool,
    progress: &Progress,
) -> Result<Vec<Copied>, LoadError> {
    let mut alike: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let all = candidates.iter().enumerate();
    for (i, candidate) in all.filter(|(_, c)| may_be(c)) {
        alike.entry(candidate.head).or_default().push(i);
    }
    let mut alike: Vec<usize> = alike
        .into_values()
        .filter(|g| g.len() > 1)
        .flatten()
        .collect();
    alike.sort_unstable();
    let (in_order, others): (Vec<usize>, Vec<usize>) = alike
        .into_iter()
        .partition(|&i| candidates[i].file.shares_decoder());
    let digest = |i| (i, digest(&candidates[i], progress));
    let mut digests: Vec<(usize, Option<(u64, u64)>)> =
        others.into_par_iter().map(digest).collect();
    digests.extend(in_order.into_iter().map(digest));
    if let (true, Some(first)) = (progress.is_cancelled(), candidates.first()) {
        return Err(LoadError::cancelled(&first.file.path));
    }
    let mut first: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    let mut copy_of = vec![None; candidates.len()];
    digests.sort_unstable();
    for (i, digest) in digests {
        let Some(digest) = digest else {
            continue;
        };
        match first.get(&digest) {
            Some(&of) => copy_of[i] = Some(of),
            None => {
                first.insert(digest, i);
            }
        }
    }
    let copies = copy_of.iter().enumerate().filter_map(|(i, of)| {
        Some(Copied {
            path: candidates[i].file.path.clone(),
            of: candidates[(*of)?].file.path.clone(),
        })
    });
    let copies = copies.collect();
    let mut keep = copy_of.iter().map(Option::is_none);
    candidates.retain(|_| keep.next().unwrap_or(true));
    Ok(copies)
}

/// Length and hash of all bytes, inflated; that two recordings of one length differ and have equal hashes of 64 bits does
/// not happen by chance. `None` where they cannot all be read: that is told when the file is opened.
fn digest(candidate: &Candidate, progress: &Progress) -> Option<(u64, u64)> {
    let mut reader = candidate.file.input().ok()?.into_reader();
    let mut block = vec![0_u8; 1 << 20];
    let (mut length, mut hash) = (0, DefaultHasher::new());
    while !progress.is_cancelled() {
        match reader.read(&mut block) {
            Ok(0) => return Some((length, hash.finish())),
            Ok(n) => {
                length += n as u64;
                hash.write(&block[..n]);
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_told_later) => return None,
        }
    }
    None
}
