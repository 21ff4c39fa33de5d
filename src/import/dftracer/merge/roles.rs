//! What a process is for, where the files decide it: a worker's parent is another process of the run.

use std::collections::{BTreeMap, BTreeSet};

use super::hashes::Hashes;
use super::run::FileInfo;
use crate::model::Role;

/// The role of each file's process; `None` where only its name could tell.
pub(crate) fn of(files: &[FileInfo], hashes: &Hashes) -> Vec<Option<Role>> {
    let mut by_pid: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, file) in files.iter().enumerate() {
        if let Some(start) = &file.meta.start {
            by_pid.entry(start.pid.as_str()).or_insert(i);
        }
    }
    let worker: Vec<bool> = files
        .iter()
        .map(|file| is_worker(file, files, &by_pid, hashes))
        .collect();
    let parents: BTreeSet<&str> = files
        .iter()
        .zip(&worker)
        .filter(|(_, worker)| **worker)
        .filter_map(|(f, _)| f.meta.start.as_ref()?.ppid.as_deref())
        .collect();
    files
        .iter()
        .zip(&worker)
        .map(|(file, &worker)| {
            let pid = file.meta.start.as_ref()?.pid.as_str();
            if parents.contains(pid) {
                Some(Role::Main)
            } else {
                worker.then_some(Role::Worker)
            }
        })
        .collect()
}

/// Forked from another process of the run: the parent is there and runs the same command, or the file begins with the
/// child's copy of the fork. A launcher and its ranks are parent and child too, but run different commands.
fn is_worker(
    file: &FileInfo,
    files: &[FileInfo],
    by_pid: &BTreeMap<&str, usize>,
    hashes: &Hashes,
) -> bool {
    let Some(start) = &file.meta.start else {
        return false;
    };
    let copied = file
        .data
        .chunks
        .iter()
        .flat_map(|c| c.lanes.iter())
        .any(|lane| lane.forked && lane.pid == start.pid && lane.tid == start.pid);
    let Some(parent) = start.ppid.as_deref().and_then(|p| by_pid.get(p)) else {
        return copied;
    };
    let theirs = files[*parent].meta.start.as_ref();
    let (Some(mine), Some(theirs)) = (&start.command, theirs.and_then(|s| s.command.as_ref()))
    else {
        return true;
    };
    mine == theirs
        || copied
        || hashes
            .string(file, mine)
            .is_some_and(|text| text.contains("multiprocessing"))
}
