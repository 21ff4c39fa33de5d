//! Windows of traces that this program has written anew from its model (`export::trim`): Chrome-trace JSON, one event a
//! line, behind a header that holds the tables of the model.
//!
//! ```text
//!  {"stallscope":{…},            ─▶ header: sources, processes, GPUs, streams, lanes, counters
//!  "traceEvents":[
//!  {"ph":"X","n":0,"lane":0,…},  ─▶ event: spans with their numbers and links, instants, samples
//!  ]}
//! ```
//!
//! Its sources are those of the tracer whose files the window was cut from: its rules hold. Other tools read the same text
//! as any Chrome trace, and what they made of it is read as one.

mod event;
mod file;
mod header;

use super::chrome::{Chrome, WRITTEN_ANEW};
use super::dftracer::Dftracer;
use super::nsight::Nsight;
use super::spans::Spans;
use crate::import::bytes::head::Head;
use crate::import::contract::error::LoadError;
use crate::import::contract::file::TraceFile;
use crate::import::contract::importer::{Claim, Context, Importer};
use crate::import::recognise::sniff::Content;
use crate::model::TracerFacts;

/// Reads them.
pub(crate) struct Trimmed;

impl Importer for Trimmed {
    /// Sources have those of the tracer that they come from.
    fn facts(&self) -> &'static TracerFacts {
        Chrome.facts()
    }

    fn files(&self) -> &'static str {
        "windows of them saved by `stallscope export --trim`"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[]
    }

    fn claims(&self, _: &Content, head: &Head) -> Option<Claim> {
        head.bytes.starts_with(WRITTEN_ANEW).then_some(Claim::Sure)
    }

    fn memory(&self, text: u64) -> u64 {
        // 36 bytes of columns and a few of links for 150 of text, twice while they are sorted.
        text / 10 * 6
    }

    fn read(&self, files: &[&TraceFile], ctx: &mut Context<'_>) -> Result<(), LoadError> {
        files
            .iter()
            .try_for_each(|file| file::import(file.input()?, ctx))
    }
}

/// The tracer of this key.
fn tracer(key: &str) -> Option<&'static TracerFacts> {
    let importers: [&dyn Importer; 4] = [&Chrome, &Nsight, &Dftracer, &Spans];
    let mut all = importers.iter().map(|i| i.facts());
    all.find(|facts| facts.key == key)
}
