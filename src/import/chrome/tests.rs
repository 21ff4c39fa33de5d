//! The importer as a whole on hand-written and random texts, cut into blocks anywhere.

mod large;
mod meaning;
mod oracle;
mod processes;
mod recovery;
mod told;

use std::io::Cursor;
use std::path::PathBuf;

use super::facts::Facts;
use super::file::{finish, import};
use super::stream::Stream;
use crate::import::bytes::input::Input;
use crate::import::contract::error::LoadError;
use crate::import::contract::importer::Context;
use crate::import::contract::progress::Progress;
use crate::import::contract::report::{ImportReport, NoticeKind};
use crate::model::{ArgsOrigin, Lane, Source, SpanId, Trace, TraceBuilder};

type Read = Result<(Trace, ImportReport), LoadError>;

/// Reads a text as the importer does with a file of this name.
fn read_named(name: &str, text: &[u8]) -> Read {
    let mut builder = TraceBuilder::new();
    let mut report = ImportReport::default();
    let progress = Progress::new();
    let mut ctx = Context {
        builder: &mut builder,
        report: &mut report,
        progress: &progress,
        refused: &mut Vec::new(),
    };
    let reader = Box::new(Cursor::new(text.to_vec()));
    let size = text.len() as u64;
    let input = Input::from_reader(PathBuf::from(name), size, false, ArgsOrigin::File, reader);
    import(input, &mut ctx)?;
    Ok((builder.finish(), report))
}

fn read(text: &str) -> Read {
    read_named("trace.json", text.as_bytes())
}

/// Reads a text that has to be readable.
fn open(text: &str) -> (Trace, ImportReport) {
    read(text).expect("the text is a trace")
}

/// Reads the events of a list that has to be readable.
fn open_list(events: &str) -> (Trace, ImportReport) {
    open(&format!("[{events}]"))
}

/// Reads a text cut into blocks at the given places.
fn read_cut(text: &[u8], cuts: &[usize]) -> Read {
    read_counted(text, cuts, &mut 0)
}

/// As [`read_cut`]; counts the bytes of all windows.
fn read_counted(text: &[u8], cuts: &[usize], looked_at: &mut usize) -> Read {
    let mut builder = TraceBuilder::new();
    let mut report = ImportReport::default();
    let progress = Progress::new();
    let mut ctx = Context {
        builder: &mut builder,
        report: &mut report,
        progress: &progress,
        refused: &mut Vec::new(),
    };
    let source = Source {
        args: ArgsOrigin::File,
        ..Source::new("trace.json", &super::TORCH)
    };
    let mut stream = Stream::new(&mut ctx, source.clone());
    stream.run_cut(text, cuts);
    *looked_at = stream.looked_at;
    let end = stream.end();
    let facts = Facts {
        path: PathBuf::from("trace.json"),
        disk_bytes: text.len() as u64,
        inflated_bytes: end.bytes,
        compressed: false,
        damage: None,
        gaps: Default::default(),
    };
    finish(end, source, &facts, &mut ctx)?;
    Ok((builder.finish(), report))
}

/// Every span on the file's own clock: lane, start, duration, name, category; sorted.
fn spans(t: &Trace) -> Vec<(String, i64, i64, String, String)> {
    let s = t.spans();
    let mut all: Vec<_> = s
        .ids()
        .map(|id| {
            let lane = t.lane(s.lane(id));
            (
                lane.key.clone(),
                s.start(id) - t.source(lane.source).to_trace_ns,
                s.dur(id),
                t.span_name(id).to_owned(),
                t.category(s.cat(id)).name.clone(),
            )
        })
        .collect();
    all.sort();
    all
}

/// Names of the spans, in stored order.
fn names(t: &Trace) -> Vec<&str> {
    t.spans().ids().map(|id| t.span_name(id)).collect()
}

fn lane<'t>(t: &'t Trace, key: &str) -> &'t Lane {
    t.lanes()
        .iter()
        .find(|l| l.key == key)
        .unwrap_or_else(|| panic!("no lane {key}"))
}

fn span(t: &Trace, name: &str) -> SpanId {
    t.spans()
        .ids()
        .find(|&id| t.span_name(id) == name)
        .unwrap_or_else(|| panic!("no span {name}"))
}

/// Count of a notice; 0 where there is none.
fn count(report: &ImportReport, code: &str) -> u64 {
    let of_code = report.notices.iter().filter(|n| n.code == code);
    of_code.map(|n| n.count).sum()
}

/// Codes of the notices that say data is missing or was changed.
fn warnings(report: &ImportReport) -> Vec<&str> {
    let told = report.warnings();
    told.filter(|n| n.kind != NoticeKind::NotRecorded)
        .map(|n| n.code)
        .collect()
}
