//! DFTracer and DLIO profiler traces (`.pfw`): one JSON record per line, any generation, all files of a run together.
//!
//! Files are read in parallel into columns of their own and then added to the model in the given order, so that the
//! result does not depend on timing. Knows nothing of layers: categories and names stay as they are in the files.

use rayon::prelude::*;

use super::{Context, ErrorKind, Input, LoadError, NoticeKind};
use crate::model::ArgsOrigin;

mod chunk;
mod file;
mod hashes;
mod lanes;
mod meta;
mod notices;
mod number;
mod roles;
mod run;
mod scan;

/// Reads all files of a run.
///
/// # Errors
/// When none of them holds a record, and on cancel. Single files that hold none are reported.
pub(super) fn import(inputs: Vec<Input>, ctx: &mut Context<'_>) -> Result<(), LoadError> {
    let progress = ctx.progress;
    // Members of an archive share one decoder: out of order they would be inflated again and again.
    let in_order = inputs
        .iter()
        .any(|i| matches!(i.args, ArgsOrigin::Archive { .. }));
    let read: Vec<Result<file::FileData, LoadError>> = if in_order {
        let read = inputs.into_iter();
        read.map(|input| file::read(input, progress)).collect()
    } else {
        let read = inputs.into_par_iter();
        read.map(|input| file::read(input, progress)).collect()
    };
    let alone = read.len() == 1;
    let mut files = Vec::with_capacity(read.len());
    let mut refused: Option<LoadError> = None;
    for data in read {
        let data = data?;
        progress.check(&data.path)?;
        let info = run::FileInfo::new(data);
        if info.sum(|c| c.kinds.total()) > 0 {
            files.push(info);
            continue;
        }
        let error = nothing_readable(&info);
        if !alone {
            let text = format!("{} {}", error.cause, error.remedy);
            super::open::note_path(
                ctx.report,
                NoticeKind::Damaged,
                "nothing_readable",
                &error.path,
                || text,
            );
        }
        refused.get_or_insert(error);
    }
    if files.is_empty() {
        return refused.map_or(Ok(()), Err);
    }
    run::merge(&mut files, ctx)
}

fn nothing_readable(file: &run::FileInfo) -> LoadError {
    let lines = file.sum(|c| c.unreadable.count);
    let cause = match &file.data.damage {
        Some(damage) if damage.is_cut() => damage.nothing("record"),
        _ => format!(
            "No record could be read: none of its {} lines is a JSON object.",
            crate::time::format_count(lines)
        ),
    };
    let place = file
        .data
        .chunks
        .iter()
        .find_map(|c| c.unreadable.lines.first());
    let error = LoadError::new(
        ErrorKind::Corrupt,
        &file.data.path,
        cause,
        "Copy the file again from where it was written.",
    );
    match place {
        Some(line) => error.at(super::Place::Line(line + 1)),
        None => error,
    }
}
