//! What the workers of a loop read of each file, and which files took unusually long.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::items::{FileRead, Usual};
use super::loader::FileId;
use super::totals::SlowFile;

/// All reading of one file.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::analysis) struct FileSum {
    pub read: FileRead,
    pub visits: usize,
}

/// What was read of each file, by file.
pub(super) fn file_sums(usual: &Usual) -> Vec<(FileId, FileSum)> {
    let mut sums: BTreeMap<FileId, FileSum> = BTreeMap::new();
    for visit in &usual.visits {
        let sum = sums.entry(visit.file).or_default();
        add(&mut sum.read, visit.read);
        sum.visits += 1;
    }
    sums.into_iter().collect()
}

fn add(sum: &mut FileRead, read: FileRead) {
    sum.ns = sum.ns.saturating_add(read.ns);
    sum.bytes = sum.bytes.saturating_add(read.bytes);
    sum.calls = sum.calls.saturating_add(read.calls);
}

/// Files whose slow visits take more than a quarter of those of the slowest, slowest first.
pub(super) fn slow_files(usual: &Usual) -> Vec<SlowFile> {
    let mut of: FxHashMap<FileId, SlowFile> = FxHashMap::default();
    for visit in usual.slow_visits() {
        let sum = of.entry(visit.file).or_insert(SlowFile {
            file: visit.file,
            read: FileRead::default(),
            small_reads: false,
        });
        add(&mut sum.read, visit.read);
        sum.small_reads |= visit.read.in_small_pieces();
    }
    let mut all: Vec<SlowFile> = of.into_values().collect();
    all.sort_unstable_by_key(|f| (std::cmp::Reverse(f.read.ns), f.file));
    let most = all.first().map_or(0, |f| f.read.ns);
    all.retain(|f| 4 * i128::from(f.read.ns) > i128::from(most));
    all
}
