//! Hashes to names over a whole run: forked workers use hashes that only their parent's file declares.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::meta::Texts;
use super::run::FileInfo;
use crate::import::Progress;
use crate::model::{SourceId, TraceBuilder};

type Table = BTreeMap<String, Texts>;

/// Of all files together: a run has many files that declare the same.
type All = FxHashMap<String, Texts>;

/// The tables of a run.
#[derive(Default)]
pub(super) struct Hashes {
    files: All,
    hosts: All,
    strings: All,
}

/// What is known of the file hashes that one file uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Resolved {
    /// Declared by the file itself.
    pub named: u64,
    /// Used by its events.
    pub used: u64,
    /// Used, and not declared by the file itself.
    pub not_in_file: u64,
    /// Used, and declared by no file of the run.
    pub not_in_run: u64,
}

impl Hashes {
    /// Collects what all files declare; a cancel ends it early.
    pub fn of(files: &[FileInfo], progress: &Progress) -> Self {
        let mut all = Self::default();
        for file in files.iter().take_while(|_| !progress.is_cancelled()) {
            merge(&mut all.files, &file.meta.files);
            merge(&mut all.hosts, &file.meta.hosts);
            merge(&mut all.strings, &file.meta.strings);
        }
        all
    }

    /// The name of a host.
    pub fn host(&self, file: &FileInfo, hash: &str) -> Option<String> {
        look_up(&file.meta.hosts, &self.hosts, hash)
    }

    /// A command or program.
    pub fn string(&self, file: &FileInfo, hash: &str) -> Option<String> {
        look_up(&file.meta.strings, &self.strings, hash)
    }

    /// A file or folder.
    pub fn file(&self, file: &FileInfo, hash: &str) -> Option<String> {
        look_up(&file.meta.files, &self.files, hash)
    }

    /// Counts the file hashes of one file.
    pub fn resolved(&self, file: &FileInfo) -> Resolved {
        let used: FxHashSet<&str> = file
            .data
            .chunks
            .iter()
            .flat_map(|c| c.file_hashes.iter().map(|(_, text)| text))
            .collect();
        let missing =
            |known: &dyn Fn(&str) -> bool| used.iter().filter(|h| !known(h)).count() as u64;
        Resolved {
            named: file.meta.files.len() as u64,
            used: used.len() as u64,
            not_in_file: missing(&|hash| file.meta.files.contains_key(hash)),
            not_in_run: missing(&|hash| self.files.contains_key(hash)),
        }
    }

    /// Hands the names to the model, as the whole run has them: args are shown with them. A cancel ends it
    /// early.
    pub fn declare_all(&self, builder: &mut TraceBuilder, progress: &Progress) {
        for table in [&self.files, &self.hosts, &self.strings] {
            let mut sorted: Vec<_> = table.iter().collect();
            sorted.sort_unstable_by_key(|(hash, _)| *hash);
            for (hash, texts) in sorted {
                if progress.is_cancelled() {
                    return;
                }
                builder.add_alias(None, hash, &texts.join());
            }
        }
    }

    /// Hands on where one file differs from the run.
    pub fn declare(&self, file: &FileInfo, source: SourceId, builder: &mut TraceBuilder) {
        let own = &file.meta;
        for (mine, run) in [
            (&own.files, &self.files),
            (&own.hosts, &self.hosts),
            (&own.strings, &self.strings),
        ] {
            for (hash, texts) in mine {
                if run.get(hash) != Some(texts) {
                    builder.add_alias(Some(source), hash, &texts.join());
                }
            }
        }
    }

    /// Hashes of files that stand for several names in one file: old recorders wrote 16 bits.
    pub fn ambiguous(file: &FileInfo) -> u64 {
        file.meta
            .files
            .values()
            .filter(|t| t.is_ambiguous())
            .count() as u64
    }
}

fn merge(all: &mut All, more: &Table) {
    for (hash, names) in more {
        match all.get_mut(hash) {
            None => {
                all.insert(hash.clone(), names.clone());
            }
            Some(known) if known == names => {}
            Some(known) => known.absorb(names.clone()),
        }
    }
}

/// The file's own declaration goes before the run's.
fn look_up(own: &Table, run: &All, hash: &str) -> Option<String> {
    own.get(hash).or_else(|| run.get(hash)).map(Texts::join)
}
