//! Hashes to names over a whole run: forked workers use hashes that only their parent's file declares.

use rustc_hash::FxHashSet;

use super::info::FileInfo;
use crate::import::contract::progress::Progress;
use crate::import::dftracer::read::table::Table;
use crate::model::{SourceId, TraceBuilder};

/// The tables of a run.
#[derive(Default)]
pub(crate) struct Hashes {
    files: Table,
    hosts: Table,
    strings: Table,
}

/// What is known of the file hashes that one file uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Resolved {
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
            all.files.absorb(&file.meta.files);
            all.hosts.absorb(&file.meta.hosts);
            all.strings.absorb(&file.meta.strings);
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
            not_in_file: missing(&|hash| file.meta.files.get(hash).is_some()),
            not_in_run: missing(&|hash| self.files.get(hash).is_some()),
        }
    }

    /// Hands the names to the model, as the whole run has them: args are shown with them. A cancel ends it
    /// early.
    pub fn declare_all(&self, builder: &mut TraceBuilder, progress: &Progress) {
        for table in [&self.files, &self.hosts, &self.strings] {
            for (hash, texts) in table.iter() {
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
            // Where each hash has one text in all files, none differs.
            if run.ambiguous() == 0 {
                continue;
            }
            for (hash, texts) in mine.iter() {
                if run.get(hash) != Some(texts) {
                    builder.add_alias(Some(source), hash, &texts.join());
                }
            }
        }
    }
}

/// The file's own declaration goes before the run's.
fn look_up(own: &Table, run: &Table, hash: &str) -> Option<String> {
    let texts = own.get(hash).or_else(|| run.get(hash))?;
    Some(texts.join().into_owned())
}
