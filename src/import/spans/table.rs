//! Reading one table: header, records, rows, and what has to be said about it.

use std::path::Path;

use super::FACTS;
use super::header::{Header, NoTable, TimeColumn};
use super::merge::Merged;
use super::records::{Part, Records};
use super::rows::{Chunk, Layout};
use super::tally::{self, Odd};
use super::time::Form;
use crate::import::bytes::damage::{Damage, SharedGaps};
use crate::import::bytes::input::Input;
use crate::import::bytes::stages::{self, Spares};
use crate::import::contract::error::{ErrorKind, LoadError};
use crate::import::contract::importer::Context;
use crate::import::contract::progress::Phase;
use crate::import::contract::report::{FileReport, ImportReport, NoticeKind, Place};
use crate::import::contract::tally::Tally;
use crate::model::{Clock, Source, SourceId, TraceBuilder};
use crate::time::format_count;

/// Bytes in which a header must end.
const LONGEST_HEADER: usize = 1 << 20;

/// What a table of spans needs, for refusals.
const NEEDED: &str = "The first line of a table of spans names its columns: `start`, `end` or `dur`, `name`, and as you \
     like `lane`, `process`, `layer`, `value`, times with their unit as in start_ns, start_us, start (ms), start_s.";

/// Reads one file into the builder and the report.
///
/// # Errors
/// When it is no table of spans, when no row of it can be read, and after a cancel.
pub(super) fn import(input: Input, ctx: &mut Context<'_>) -> Result<(), LoadError> {
    ctx.progress.set_phase(Phase::Reading);
    let source = Source {
        args: input.args.clone(),
        ..Source::new(input.path.clone(), &FACTS)
    };
    let (disk_bytes, compressed, gaps) = (input.disk_bytes, input.compressed, input.gaps.clone());
    let (progress, path) = (ctx.progress, source.path.clone());
    let buffers = Spares::new();
    let mut blocks = input.blocks(progress);
    let mut block = || blocks.next(&buffers).map(|block| block.bytes);
    let (header, rest) = head(&mut block, &buffers);
    progress.check(&path)?;
    let header = match header {
        Ok(header) => header,
        Err(why) => return Err(no_table(&path, &why, blocks.damage())),
    };
    let mut records = Records::new(header.delimiter, (header.bytes as u64, header.lines), rest);
    let mut first = records.next(&buffers, &mut block);
    let rows = first.as_ref().map_or(&[][..], |part| &part.bytes);
    let layout = Layout::new(header, rows).map_err(|cell| no_unit(&path, &cell))?;
    let mut table = Table::new(source, layout.clone());
    let builder = &mut *ctx.builder;
    stages::in_order(
        || first.take().or_else(|| records.next(&buffers, &mut block)),
        |part: Part| (Chunk::of(&part, &layout), part.bytes),
        |(chunk, bytes)| {
            buffers.give(bytes);
            progress.add_events(chunk.records);
            table.take(chunk, builder);
        },
    );
    progress.check(&path)?;
    let inflated_bytes = records.bytes();
    let file = FileReport {
        path,
        format: table.format(),
        // Archives may state more than they hold.
        bytes: if compressed {
            disk_bytes
        } else {
            disk_bytes.min(inflated_bytes)
        },
        inflated_bytes,
        ..FileReport::default()
    };
    table.finish(file, blocks.damage(), &gaps, ctx)
}

/// The header, and what was read behind it.
fn head(
    block: &mut dyn FnMut() -> Option<Vec<u8>>,
    buffers: &Spares<Vec<u8>>,
) -> (Result<Header, NoTable>, Vec<u8>) {
    let mut text = Vec::new();
    loop {
        let next = block();
        let whole = next.is_none();
        if let Some(bytes) = next {
            text.extend_from_slice(&bytes);
            buffers.give(bytes);
        }
        match Header::of(&text, whole) {
            Ok(header) => {
                let rest = text.split_off(header.bytes);
                return (Ok(header), rest);
            }
            Err(why) if whole || text.len() > LONGEST_HEADER => return (Err(why), text),
            Err(_) => {}
        }
    }
}

/// What was read of a table.
struct Table {
    layout: Layout,
    /// Until the first row that is shown.
    source: Option<Source>,
    merged: Option<Merged>,
    /// Rows, the wrong ones included.
    records: u64,
    tally: Tally<Odd>,
}

impl Table {
    fn new(mut source: Source, layout: Layout) -> Self {
        if layout.unix {
            source.clock = Clock::Unix { zero: layout.zero };
        }
        source.producer = format!("table of spans, {}", layout.times());
        Self {
            layout,
            source: Some(source),
            merged: None,
            records: 0,
            tally: Tally::default(),
        }
    }

    fn format(&self) -> String {
        format!(
            "table of spans (CSV, {})",
            self.layout.header.delimiter_name()
        )
    }

    fn take(&mut self, chunk: Chunk, builder: &mut TraceBuilder) {
        self.records += chunk.records;
        if !chunk.rows.is_empty() {
            self.begin(builder);
        }
        if let Some(merged) = &mut self.merged {
            merged.take(&chunk, builder);
        }
        self.tally.take(chunk.tally);
    }

    fn begin(&mut self, builder: &mut TraceBuilder) {
        if let Some(source) = self.source.take() {
            self.merged = Some(Merged::new(source, &self.layout, builder));
        }
    }

    /// Everything that needs the whole file.
    fn finish(
        mut self,
        file: FileReport,
        damage: Option<&Damage>,
        gaps: &SharedGaps,
        ctx: &mut Context<'_>,
    ) -> Result<(), LoadError> {
        if self.records == 0 && damage.is_none_or(|d| !d.is_cut()) {
            // A table without rows is one all the same.
            self.begin(ctx.builder);
        }
        let Some(merged) = self.merged else {
            return Err(nothing_readable(&file.path, &self.tally, damage));
        };
        let id = Some(merged.source);
        let report = &mut *ctx.report;
        gaps.with(|gaps| gaps.report(id, report));
        if let Some(damage) = damage {
            let rows = if self.records == 1 { "row" } else { "rows" };
            let shown = format!("{} {rows}", format_count(self.records));
            let (kind, code, text) = damage.notice("damaged_stream", &shown);
            report.note_whole(kind, code, id, 1, &[damage.place()], text);
        }
        guessed_units(&self.layout, merged.source, report);
        tally::report(&self.tally, report, merged.source);
        report.note_many(
            NoticeKind::Guessed,
            "many_lanes",
            id,
            u64::from(merged.crowded),
            &[],
            || "There are more than 10,000 lanes or counters: the rest share one.".to_owned(),
        );
        if self.records == 0 {
            report.note(NoticeKind::NotRecorded, "no_spans", id, None, || {
                "The table has no rows.".to_owned()
            });
        }
        let kinds = [
            ("spans", merged.spans),
            ("samples", merged.samples),
            ("instants", merged.instants),
        ];
        let kinds = kinds.into_iter().filter(|(_, n)| *n > 0);
        report.files.push(FileReport {
            source: id,
            events: self.records,
            by_kind: kinds.map(|(kind, n)| (kind.to_owned(), n)).collect(),
            facts: vec![("times".to_owned(), self.layout.times())],
            ..file
        });
        Ok(())
    }
}

/// Says which units were taken for granted.
fn guessed_units(layout: &Layout, source: SourceId, report: &mut ImportReport) {
    let header = &layout.header;
    let mut note = |code: &'static str, text: String| {
        report.note(NoticeKind::Guessed, code, Some(source), None, || text);
    };
    if let Form::Unix(unit) = layout.start {
        let title = &header.start.title;
        note(
            "start_unit",
            format!(
                "The column `{title}` names no unit: by their size its times are Unix times in {}.",
                unit.words()
            ),
        );
    }
    let silent = |column: &Option<TimeColumn>| {
        column
            .as_ref()
            .filter(|c| c.unit.is_none())
            .map(|c| c.title.clone())
    };
    if let (Some(title), Form::Number(unit)) = (silent(&header.end), layout.end) {
        note(
            "end_unit",
            format!(
                "The column `{title}` names no unit: it was read in {}, like `{}`.",
                unit.words(),
                header.start.title
            ),
        );
    }
    if let (Some(title), Form::Number(unit)) = (silent(&header.dur), layout.dur) {
        note(
            "dur_unit",
            format!(
                "The column `{title}` names no unit: it was read in {}.",
                unit.words()
            ),
        );
    }
}

/// The refusal of what has no header of a table of spans.
fn no_table(path: &Path, why: &NoTable, damage: Option<&Damage>) -> LoadError {
    let cause = match (damage, why) {
        (Some(damage), _) if damage.is_cut() => damage.nothing("row"),
        (_, NoTable::Lacks(what)) => lacks(what),
        (_, NoTable::Other) => "This is no table of spans.".to_owned(),
    };
    LoadError::new(ErrorKind::Unsupported, path, cause, NEEDED)
}

/// What a table lacks to be one of spans.
fn lacks(what: &str) -> String {
    format!("This is a table, but none of spans: it has no column {what}.")
}

/// The refusal of a table whose times nobody can place.
fn no_unit(path: &Path, (title, cell): &(String, String)) -> LoadError {
    let cell: String = cell.chars().take(40).filter(|c| !c.is_control()).collect();
    LoadError::new(
        ErrorKind::Unsupported,
        path,
        format!(
            "The column `{title}` does not name its unit, and “{cell}” is neither a Unix time nor a date."
        ),
        format!(
            "Name the unit in the heading: `{title}_ns`, `{title}_us`, `{title}_ms` or `{title}_s`."
        ),
    )
}

fn nothing_readable(path: &Path, tally: &Tally<Odd>, damage: Option<&Damage>) -> LoadError {
    let damage = damage.filter(|d| d.is_cut());
    match (damage, tally::first(tally)) {
        (None, Some((line, what))) => {
            let cause = format!("No row of the table could be read: the first one {what}.");
            LoadError::new(ErrorKind::Corrupt, path, cause, NEEDED).at(Place::Line(line))
        }
        (damage, _) => {
            let cause =
                damage.map_or_else(|| "No row could be read.".to_owned(), |d| d.nothing("row"));
            let remedy = "Copy the file again from where it was written.";
            LoadError::new(ErrorKind::Corrupt, path, cause, remedy)
        }
    }
}
