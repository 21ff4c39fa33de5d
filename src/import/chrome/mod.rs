//! Chrome-trace JSON as written by torch.profiler (Kineto) and others: object or bare array, broken or whole.
//!
//! ```text
//!  blocks ─▶ stream ─▶ elements/event (syntax) ─▶ classify (chunk columns) ─▶ merge (model) ─▶ pairs, links
//!              └▶ root/header (keys around the list)
//! ```
//!
//! The file is read once, front to back; args stay in the file and are referred to by byte range. Knows nothing of
//! layers and analysis.

mod cut;
mod facts;
mod file;
mod merge;
mod notices;
mod read;
mod refuse;
mod stream;
mod tally;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::Path;

use crate::import::bytes::damage::Damage;
use crate::import::bytes::head::Head;
use crate::import::bytes::input::Input;
use crate::import::contract::error::LoadError;
use crate::import::contract::file::TraceFile;
use crate::import::contract::importer::{Claim, Context, Importer};
use crate::import::contract::progress::Progress;
use crate::import::recognise::sniff::Content;
use crate::model::{Cut, SourceId, Trace, TracerFacts};

/// Traces of torch.profiler (Kineto).
const TORCH: TracerFacts = TracerFacts {
    key: "torch",
    name: "torch.profiler",
    slows_training: true,
    sees_workers: false,
    folder_is_run: false,
    encloses_fetches: false,
    joins_runs: false,
};

/// What a window of a trace begins with that this program has written from its model (see `import::trimmed`).
pub(crate) const WRITTEN_ANEW: &[u8] = b"{\"stallscope\":{\"schema\":1,";

/// Reads Chrome traces.
pub(crate) struct Chrome;

impl Importer for Chrome {
    fn facts(&self) -> &'static TracerFacts {
        &TORCH
    }

    fn files(&self) -> &'static str {
        "torch.profiler JSON (.json, .json.gz)"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".json"]
    }

    fn claims(&self, content: &Content, head: &Head) -> Option<Claim> {
        match content {
            // A window that was written anew has an importer of its own.
            _ if head.bytes.starts_with(WRITTEN_ANEW) => None,
            Content::Events { sure: true } => Some(Claim::Sure),
            Content::Events { sure: false } => Some(Claim::Perhaps),
            _ => None,
        }
    }

    fn confirms(&self, file: &Path, progress: &Progress) -> Result<bool, Damage> {
        mentions_events(file, progress)
    }

    fn memory(&self, text: u64) -> u64 {
        // 36 bytes of columns for 200 to 350 bytes of text, twice while they are sorted.
        text / 10 * 3
    }

    fn read(&self, files: &[&TraceFile], ctx: &mut Context<'_>) -> Result<(), LoadError> {
        files
            .iter()
            .try_for_each(|file| file::import(file.input()?, ctx))
    }

    fn cut(
        &self,
        input: Input,
        (trace, source): (&Trace, SourceId),
        cut: &Cut,
        progress: &Progress,
    ) -> Result<Option<Vec<u8>>, LoadError> {
        cut::cut(input, (trace, source), cut, progress)
    }
}

/// Whether `"traceEvents"` stands anywhere in a file.
///
/// # Errors
/// Where it could not be seen before the file is damaged.
fn mentions_events(path: &Path, progress: &Progress) -> Result<bool, Damage> {
    const KEY: &[u8] = b"\"traceEvents\"";
    let Ok(input) = Input::open(path) else {
        return Ok(false);
    };
    let compressed = input.compressed;
    let mut reader = input.into_reader();
    let mut buffer = vec![0_u8; 64 << 10];
    let (mut kept, mut offset) = (0, 0);
    while !progress.is_cancelled() {
        match reader.read(&mut buffer[kept..]) {
            Ok(0) => return Ok(false),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Damage::new(&e, offset, compressed)),
            Ok(got) => {
                offset += got as u64;
                let filled = kept + got;
                if memchr::memmem::find(&buffer[..filled], KEY).is_some() {
                    return Ok(true);
                }
                // The key may lie across two reads.
                kept = filled.min(KEY.len() - 1);
                buffer.copy_within(filled - kept..filled, 0);
            }
        }
    }
    Ok(false)
}
