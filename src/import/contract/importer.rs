//! The contract of importers: whoever reads a format is a folder of this module and a line in
//! [`crate::import::importers`], and nothing else of the program asks which one it was.
//!
//! ```text
//!  bytes ─▶ Head ─▶ Content ─▶ claims ─▶ read ─▶ TraceBuilder ─▶ finish ─▶ Trace
//!                                         └────▶ ImportReport                └─▶ args, rows: when somebody looks
//! ```

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::error::{ErrorKind, LoadError};
use super::file::TraceFile;
use super::progress::Progress;
use super::report::ImportReport;
use crate::import::bytes::damage::Damage;
use crate::import::bytes::head::Head;
use crate::import::bytes::input::Input;
use crate::import::recognise::sniff::Content;
use crate::import::text::lenient;
use crate::model::{Cut, SourceId, Trace, TraceBuilder, TracerFacts};

/// Times from here on, ns, can only be counted from 1970, and those of a recording in Unix time are not below it:
/// September 2001.
pub(crate) const UNIX_FROM: i64 = 1_000_000_000_000_000_000;

/// What an importer works with.
pub(crate) struct Context<'a> {
    /// Filled by all importers of one opening.
    pub builder: &'a mut TraceBuilder,
    /// What happened.
    pub report: &'a mut ImportReport,
    /// Progress and cancellation; looked at once per block.
    pub progress: &'a Progress,
    /// Files that could not be read while others of the same call were, each with the reason.
    pub refused: &'a mut Vec<(PathBuf, LoadError)>,
}

/// How sure an importer is that a file is for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It holds, or held, what the importer reads.
    Sure,
    /// It may: somebody who names the file gets it opened; in a folder [`Importer::confirms`] decides.
    Perhaps,
}

/// Args of spans that stand in rows of tables rather than in text.
pub(crate) trait RowArgs: Send {
    /// The row, keys in the order of its columns; none where there is no such row any more.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn read(&mut self, table: &str, row: i64) -> Result<Option<Map<String, Value>>, LoadError>;
}

/// Reads one format.
///
/// # What it delivers
/// For each file with anything to read, in the order given, so that equal input gives equal output however many threads
/// there are:
///
/// 1. One **source**: path, [`TracerFacts`], what wrote it in words, where its args are. `Clock::Unix` only where the
///    file says when its time zero was and no time lies before [`UNIX_FROM`]; else `Clock::Unknown`: it is then shown
///    alone or moved by hand. The rank only where the file states it, else `None`: names of files are tried later.
/// 2. **Processes, devices, streams, lanes**, each once. The key of a lane (`C12.34`, `G0.7`) names it in saved views and
///    reports: it depends on nothing but process, thread, device and stream. Rows that do not say where they belong get a
///    lane of their own and a notice; nobody else's lane.
/// 3. **Spans** as the file has them: decimal text is read digit by digit into whole nanoseconds, never through a float;
///    names and categories as they stand, without an opinion of what is work and what is waiting. Overlaps, negative
///    durations and the order of spans are the builder's business. Times beyond `TIME_LIMIT` are set aside and counted.
///    The args of a span are a reference to its text or row, never a copy.
/// 4. **Links** from calls to GPU operations where an id makes them certain, or a notice that they are guessed.
/// 5. One **file report**: format in words, bytes on disk and inflated, elements read, those by kind, facts.
/// 6. **Notices** of everything that was repaired, guessed, skipped, damaged or not recorded: one per reason, with its
///    count and first places ([`super::tally`]). Nothing is left out in silence, and *not recorded* is never zero.
///
/// # How it reads
/// Front to back, in blocks (`bytes::input`), on several threads where that pays (`bytes::stages`); never a whole file in
/// memory, never mapped. It adds the bytes it has passed and the events it has read to the progress, and ends within a
/// block once somebody cancels, with an error of the kind `Cancelled`. No bytes make it panic, hang, or take memory
/// without bound: damage ends a record, not the file, and reading goes on behind it. What a file can be read of is shown;
/// it is refused only where nothing of it can be read, with the cause and a remedy.
pub(crate) trait Importer: Sync {
    /// What the rest of the program needs to know of the tracer. Sources may have facts of their own, with the same key.
    fn facts(&self) -> &'static TracerFacts;

    /// The files it reads, for people: `DFTracer (.pfw, .pfw.gz)`.
    fn files(&self) -> &'static str;

    /// Endings of the names that its files usually have, before `.gz`. Names never decide who reads a file; an empty one
    /// with such a name is worth a word.
    fn endings(&self) -> &'static [&'static str];

    /// Whether a file is for it, by what its head looks like or by the head itself. Of several that claim a file the first
    /// one that is sure gets it, in the order of the table.
    fn claims(&self, content: &Content, head: &Head) -> Option<Claim>;

    /// Whether a file of a folder that [`Claim::Perhaps`] is its own is so, from as much of it as has to be read.
    ///
    /// # Errors
    /// Where damage ends the file before that can be seen.
    fn confirms(&self, _file: &Path, _progress: &Progress) -> Result<bool, Damage> {
        Ok(false)
    }

    /// Bytes that the model of so many bytes of inflated text takes at its largest, while it is sorted.
    fn memory(&self, text: u64) -> u64;

    /// All its files are read by one call, as they share names and parents; else each is read by itself.
    fn together(&self) -> bool {
        false
    }

    /// Reads files into the builder and the report: all of an opening where it reads them [`together`](Self::together),
    /// else one. Single ones of several that cannot be read are added to the refused.
    ///
    /// # Errors
    /// When nothing of any of them can be read, and on cancel.
    fn read(&self, files: &[&TraceFile], ctx: &mut Context<'_>) -> Result<(), LoadError>;

    /// The args in the text that a span refers to; none where it holds none any more. JSON, whole or damaged, where the
    /// importer does not say otherwise.
    fn parse_args(&self, text: &[u8], _: &Trace, _: SourceId) -> Option<Map<String, Value>> {
        lenient::args(text)
    }

    /// Whether args in text are a JSON object, as [`Importer::parse_args`] takes them where it is not written anew.
    fn has_json_args(&self) -> bool {
        true
    }

    /// The key that people should see in place of one whose values stand for names: hashes of paths, for instance. The
    /// names are the trace's aliases.
    fn stands_for(&self, _key: &str) -> Option<&'static str> {
        None
    }

    /// A file once more, as text that holds nothing but what a cut keeps, byte for byte. None where the format has no such
    /// text, or this file is not whole enough to be taken apart: then it is written anew from the model.
    ///
    /// # Errors
    /// On cancel.
    fn cut(
        &self,
        _: Input,
        _: (&Trace, SourceId),
        _: &Cut,
        _: &Progress,
    ) -> Result<Option<Vec<u8>>, LoadError> {
        Ok(None)
    }

    /// Opens the rows that hold the args of spans, of a file whose source says that they are rows.
    ///
    /// # Errors
    /// When the file cannot be opened any more.
    fn rows(&self, path: &Path) -> Result<Box<dyn RowArgs>, LoadError> {
        let cause = "The args of this file are in no rows.";
        Err(LoadError::new(
            ErrorKind::Unsupported,
            path,
            cause,
            "Open it again.",
        ))
    }
}
