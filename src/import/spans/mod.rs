//! Tables of somebody's own spans and counters: CSV with a header that names its columns.
//!
//! ```text
//!  blocks ─▶ header ─▶ records (whole ones) ─▶ rows (times, texts) ─▶ merge (model)
//! ```
//!
//! They lie beside a run on its clock: a log of the storage, of power, own timers. The file is read once, front to back;
//! args stay in it. Knows no layers: what stands in the column `layer` becomes the category, and a rule makes a layer of
//! it.

mod args;
mod cells;
mod header;
mod merge;
mod records;
mod rows;
mod table;
mod tally;
mod time;

use serde_json::{Map, Value};

use super::bytes::head::Head;
use super::contract::error::LoadError;
use super::contract::file::TraceFile;
use super::contract::importer::{Claim, Context, Importer};
use super::recognise::sniff::Content;
use crate::model::{SourceId, Trace, TracerFacts};
use header::{Header, NoTable};
use rows::Layout;

/// Tables of spans, whoever wrote them.
const FACTS: TracerFacts = TracerFacts {
    key: "spans",
    name: "a table of spans",
    slows_training: false,
    sees_workers: true,
    folder_is_run: false,
    encloses_fetches: false,
    joins_runs: true,
};

/// Reads tables of spans.
pub(crate) struct Spans;

impl Importer for Spans {
    fn facts(&self) -> &'static TracerFacts {
        &FACTS
    }

    fn files(&self) -> &'static str {
        "tables of your own spans (CSV with columns start, end or dur, name)"
    }

    /// Other tables are called `.csv`, too.
    fn endings(&self) -> &'static [&'static str] {
        &[]
    }

    /// In a folder only what lies on a clock is meant to be opened with the rest: the program's own tables do not.
    fn claims(&self, content: &Content, head: &Head) -> Option<Claim> {
        if !content.is_plain_text() {
            return None;
        }
        match Header::of(&head.bytes, head.whole) {
            Ok(header) => {
                let rows = head.bytes.get(header.bytes..).unwrap_or_default();
                let is_unix = Layout::new(header, rows).is_ok_and(|layout| layout.zero > 0);
                Some(if is_unix { Claim::Sure } else { Claim::Perhaps })
            }
            // To say what it lacks.
            Err(NoTable::Lacks(_)) => Some(Claim::Perhaps),
            Err(NoTable::Other) => None,
        }
    }

    /// Rows of 50 bytes become 36 in columns, twice while they are sorted.
    fn memory(&self, text: u64) -> u64 {
        text / 2 * 3
    }

    fn read(&self, files: &[&TraceFile], ctx: &mut Context<'_>) -> Result<(), LoadError> {
        files
            .iter()
            .try_for_each(|file| table::import(file.input()?, ctx))
    }

    fn has_json_args(&self) -> bool {
        false
    }

    fn parse_args(
        &self,
        text: &[u8],
        trace: &Trace,
        source: SourceId,
    ) -> Option<Map<String, Value>> {
        Some(args::of_record(text, trace, source))
    }
}
