//! DFTracer and DLIO profiler traces (`.pfw`): one JSON record per line, any generation, all files of a run together.
//!
//! Files are read in parallel into columns of their own and then added to the model in the given order, so that the
//! result does not depend on timing. Knows nothing of layers: categories and names stay as they are in the files.

mod merge;
mod notices;
mod read;
mod tally;

use rayon::prelude::*;

use crate::import::bytes::head::Head;
use crate::import::bytes::stages::Spares;
use crate::import::contract::error::{ErrorKind, LoadError};
use crate::import::contract::file::TraceFile;
use crate::import::contract::importer::{Claim, Context, Importer};
use crate::import::contract::report::{Loss, NoticeKind};
use crate::import::recognise::sniff::Content;
use crate::model::TracerFacts;
use merge::info::FileInfo;
use merge::run;
use read::file;
use tally::Odd;

/// Files of DFTracer and of the DLIO profiler.
const TRACER: TracerFacts = TracerFacts {
    key: "dftracer",
    name: "DFTracer",
    slows_training: false,
    sees_workers: true,
    folder_is_run: true,
    encloses_fetches: true,
    joins_runs: false,
};

/// Reads what DFTracer and the DLIO profiler write.
pub(crate) struct Dftracer;

impl Importer for Dftracer {
    fn facts(&self) -> &'static TracerFacts {
        &TRACER
    }

    fn files(&self) -> &'static str {
        "DFTracer (.pfw, .pfw.gz)"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".pfw"]
    }

    fn claims(&self, content: &Content, _: &Head) -> Option<Claim> {
        (*content == Content::Records).then_some(Claim::Sure)
    }

    fn memory(&self, text: u64) -> u64 {
        text / 10 * 4
    }

    fn together(&self) -> bool {
        true
    }

    fn read(&self, files: &[&TraceFile], ctx: &mut Context<'_>) -> Result<(), LoadError> {
        import(files, ctx)
    }

    fn stands_for(&self, key: &str) -> Option<&'static str> {
        Some(match key {
            "fhash" => "fname",
            "hhash" => "host",
            "cmd_hash" => "command",
            "exec_hash" => "program",
            "cwd" => "cwd",
            _ => return None,
        })
    }
}

/// Reads all files of a run.
///
/// # Errors
/// When none of them holds a record, and on cancel. Single files that hold none are reported; those that the system
/// refuses are added to the refused.
fn import(candidates: &[&TraceFile], ctx: &mut Context<'_>) -> Result<(), LoadError> {
    let progress = ctx.progress;
    // Files share buffers: a run may have thousands, most of them small, and more than can be open at once.
    let buffers = Spares::new();
    let read = |file: &&TraceFile| {
        let input = file.input()?;
        file::read(input, &buffers, progress).map(FileInfo::new)
    };
    let read: Vec<Result<FileInfo, LoadError>> = if candidates.iter().any(|c| c.shares_decoder()) {
        candidates.iter().map(read).collect()
    } else {
        candidates.par_iter().map(read).collect()
    };
    let alone = read.len() == 1;
    let mut files = Vec::with_capacity(read.len());
    let mut refused: Option<LoadError> = None;
    for (file, info) in candidates.iter().zip(read) {
        let info = match info {
            Err(e) if e.kind != ErrorKind::Cancelled => {
                ctx.refused.push((file.path.clone(), e));
                continue;
            }
            info => info?,
        };
        if info.sum(|c| c.kinds.total()) > 0 {
            files.push(info);
            continue;
        }
        let error = nothing_readable(&info);
        if !alone {
            let text = format!("{} {}", error.cause, error.remedy);
            ctx.report.note_path(
                NoticeKind::Damaged.losing(Loss::File),
                "nothing_readable",
                &error.path,
                text,
            );
        }
        refused.get_or_insert(error);
    }
    if files.is_empty() {
        return refused.map_or(Ok(()), Err);
    }
    let result = run::merge(&mut files, ctx);
    // Returns many small pieces of memory.
    files.into_par_iter().for_each(drop);
    result
}

fn nothing_readable(file: &FileInfo) -> LoadError {
    let lines = file.sum(|c| c.tally.count(Odd::Unreadable));
    let again = "Copy the file again from where it was written.";
    let tall = file.data.chunks.iter().any(|c| c.tall);
    let (cause, remedy) = match &file.data.damage {
        Some(damage) if damage.is_cut() => (damage.nothing("record"), again),
        _ if tall => (
            "No record could be read: the JSON objects of this file go over several lines, and DFTracer records \
             stand on one line each."
                .to_owned(),
            "Open the file that DFTracer wrote, or put each object on one line again (`jq -c` does so).",
        ),
        _ => (
            format!(
                "No record could be read: none of its {} lines is a JSON object.",
                crate::time::format_count(lines)
            ),
            again,
        ),
    };
    let mut unreadable = file
        .data
        .chunks
        .iter()
        .filter_map(|c| c.tally.get(Odd::Unreadable));
    let error = LoadError::new(ErrorKind::Corrupt, &file.data.path, cause, remedy);
    match unreadable.find_map(|count| count.places.first()) {
        Some(&line) => error.at(line),
        None => error,
    }
}
