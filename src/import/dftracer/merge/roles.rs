//! What a process is for, where the files decide it: how it was started.

use super::hashes::Hashes;
use super::info::FileInfo;
use crate::model::{Kin, Role, roles_by_parent};

/// The role of each file's process; `None` where only what it does, or its name, could tell.
pub(crate) fn of(files: &[FileInfo], hashes: &Hashes) -> Vec<Option<Role>> {
    let kin: Vec<Kin<'_>> = files.iter().map(kin).collect();
    let roles = roles_by_parent(&kin, |child, parent| {
        works(&files[child], parent.map(|p| &files[p]), hashes)
    });
    let stated =
        |(file, role): (&FileInfo, Option<Role>)| role.filter(|_| file.meta.start.is_some());
    files.iter().zip(roles).map(stated).collect()
}

fn kin(file: &FileInfo) -> Kin<'_> {
    let start = file.meta.start.as_ref();
    let lane = || file.data.chunks.iter().find_map(|c| c.lanes.iter().next());
    Kin {
        host: file.meta.hosts.first(),
        pid: start.map_or_else(|| lane().map_or("", |l| l.pid.as_str()), |s| s.pid.as_str()),
        parent: start.and_then(|s| s.ppid.as_deref()),
        ..Kin::default()
    }
}

/// Forked from another process of the run: the parent is there and runs the same command, or the file begins with the
/// child's copy of the fork. A launcher and its ranks are parent and child too, but run different commands: what such a
/// child is for depends on what its parent does.
fn works(file: &FileInfo, parent: Option<&FileInfo>, hashes: &Hashes) -> bool {
    let Some(start) = &file.meta.start else {
        return false;
    };
    let copied = file
        .data
        .chunks
        .iter()
        .flat_map(|c| c.lanes.iter())
        .any(|lane| lane.forked && lane.pid == start.pid && lane.tid == start.pid);
    let Some(parent) = parent else {
        return copied;
    };
    let theirs = parent.meta.start.as_ref();
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
