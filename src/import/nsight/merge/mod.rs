//! From rows to the timeline: one export with everything that is known of it so far, and the way through its tables.

pub(crate) mod calls;
mod cpu;
mod gpu;
pub(crate) mod info;
mod known;
mod lanes;
mod notices;
mod nvtx;
mod sync;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::TRACER;
use super::read::open::{self, message};
use super::read::rows;
use super::read::scan::{self, Block, Failure, Plan, Reader, Spec};
use super::read::small::integer;
use super::read::strings::{self, Strings};
use super::tally::{Reason, Tally};
use crate::import::contract::error::{ErrorKind, LoadError};
use crate::import::contract::report::{Fact, FileReport, ImportReport};
use crate::model::{
    ArgsOrigin, ArgsRef, CatId, LaneId, NameId, RawSpan, Source, SourceId, SpanRow, TIME_LIMIT,
    TraceBuilder,
};
use calls::Calls;
use info::Meta;
use known::Known;
use lanes::Lanes;

/// Bytes of a row of the tables that become spans, at least, with its share of names and indices. Only an estimate
/// for the room made at first, as row numbers alone may be far apart.
const USUAL_ROW: u64 = 64;

/// One export on its way into the timeline.
pub(crate) struct Export<'a> {
    reader: Reader<'a>,
    meta: Meta,
    builder: &'a mut TraceBuilder,
    report: &'a mut ImportReport,
    source: SourceId,
    strings: Strings,
    lanes: Lanes,
    calls: Calls,
    known: Known,
    tally: Tally,
    plans: BTreeMap<&'static str, Plan>,
    /// Rows read, by table.
    read_rows: BTreeMap<&'static str, u64>,
    /// Tables that are there and of which some or all could not be read.
    left_out: BTreeSet<&'static str>,
    /// Row numbers of all tables that are read, and how many of them are behind us.
    expected: u64,
    passed: u64,
    reported: u64,
    /// The name of what has none.
    unknown: NameId,
    /// Threads that the program named, in order.
    given_names: Vec<(i64, NameId)>,
    /// NVTX rows by kind.
    nvtx: BTreeMap<&'static str, u64>,
    /// Operations without a call, by table.
    unlinked: BTreeMap<&'static str, u64>,
    /// Whether a thread has a name that PyTorch gives.
    loader_threads: bool,
    facts: Vec<(String, String)>,
}

impl<'a> Export<'a> {
    /// Adds the source; nothing of it is read yet.
    pub fn new(
        reader: Reader<'a>,
        meta: Meta,
        builder: &'a mut TraceBuilder,
        report: &'a mut ImportReport,
    ) -> Result<Self, LoadError> {
        let physical = info::physical_gpus(&reader)?;
        let tables: Vec<String> = rows::TABLES.iter().map(|&t| t.to_owned()).collect();
        let source = builder.add_source(Source {
            producer: meta.producer(),
            args: ArgsOrigin::Rows(Arc::from(tables)),
            ..Source::new(reader.db.path.clone(), &TRACER)
        });
        let mut plans = BTreeMap::new();
        for table in rows::TABLES
            .into_iter()
            .chain([strings::TABLE, rows::CUDA_EVENT])
        {
            plans.insert(table, Plan::new(reader.db, table));
        }
        let unknown = builder.intern("?");
        Ok(Self {
            meta,
            source,
            strings: Strings::default(),
            lanes: Lanes::new(source, physical),
            calls: Calls::default(),
            known: Known::default(),
            tally: Tally::default(),
            expected: plans
                .values()
                .map(Plan::rows_at_most)
                .fold(0, u64::saturating_add),
            plans,
            read_rows: BTreeMap::new(),
            left_out: BTreeSet::new(),
            passed: 0,
            reported: 0,
            unknown,
            given_names: Vec::new(),
            nvtx: BTreeMap::new(),
            unlinked: BTreeMap::new(),
            loader_threads: false,
            facts: Vec::new(),
            reader,
            builder,
            report,
        })
    }

    /// Reads all tables.
    pub fn run(&mut self) -> Result<(), LoadError> {
        let before = self.builder.span_count();
        let events = rows::TABLES.iter().map(|t| self.rows_at_most(t));
        let most = events.fold(0, u64::saturating_add);
        let room = most.min(self.reader.db.bytes / USUAL_ROW);
        self.builder.reserve(usize::try_from(room).unwrap_or(0));
        self.scan(&strings::SPEC, |this, block| {
            this.strings.push(block, &mut this.tally)
        })?;
        self.strings.finish();
        self.look_around()?;
        self.api_calls()?;
        self.kernels()?;
        self.copies()?;
        self.memsets()?;
        self.graphs()?;
        self.syncs()?;
        self.nvtx()?;
        self.other_calls()?;
        self.overhead()?;
        self.gpu_metrics()?;
        self.names()?;
        let starts = &self.builder.so_far().spans().starts()[before..];
        let clock = self.meta.clock(starts.iter().copied().min());
        self.builder.source_mut(self.source).clock = clock;
        self.diagnostics()?;
        self.finish()
    }

    /// Rows of a table, counted by row numbers.
    fn rows_at_most(&self, table: &str) -> u64 {
        self.plans.get(table).map_or(0, Plan::rows_at_most)
    }

    /// Rows of a table that were read.
    fn rows(&self, table: &str) -> u64 {
        self.read_rows.get(table).copied().unwrap_or(0)
    }

    /// Reads a table, if the file has it, and hands over its rows in order. The first two columns are times, where two
    /// or more are required.
    fn scan<const N: usize>(
        &mut self,
        spec: &Spec<N>,
        mut take: impl FnMut(&mut Self, &Block<N>) + Send,
    ) -> Result<(), LoadError> {
        let table = spec.table;
        let plan = self.plans.get(table).cloned().unwrap_or_default();
        let db = self.reader.db;
        if !db.has(table) {
            return Ok(());
        }
        if let (Some(form), None) = (db.form(table), db.rowid_name(table)) {
            let why = form.why_unreadable().to_owned();
            self.leave_out(Reason::TableUnreadable, table, why);
            return Ok(());
        }
        let needed = &spec.columns[..spec.required.min(N)];
        if let Some(missing) = needed.iter().find(|c| !db.has_column(table, c)) {
            // Of an empty table nothing is missed.
            if let Some(rows) = self.count_rows(table, &plan)? {
                self.tally.rows_of(
                    Reason::ColumnMissing,
                    table,
                    rows,
                    format!("no column {missing}"),
                );
                self.left_out.insert(table);
            }
            return Ok(());
        }
        let times: u16 = if spec.required >= 2 { 3 } else { 0 };
        let reader = self.reader;
        let result = reader.scan(spec, &plan, |block| {
            if self.builder.span_count() + block.rows().len() > u32::MAX as usize {
                return Err(self.too_large());
            }
            self.count(table, block, times);
            take(self, block);
            Ok(())
        });
        match result {
            Ok(()) => Ok(()),
            Err(Failure::Stop(error)) => Err(error),
            Err(Failure::Sql(error)) => {
                reader.progress.check(&db.path)?;
                self.leave_out(Reason::TableUnreadable, table, message(&error));
                Ok(())
            }
            Err(Failure::Texts) => {
                self.leave_out(Reason::TableUnreadable, table, scan::LONG_TEXTS.to_owned());
                Ok(())
            }
        }
    }

    /// Rows of a table that is not read otherwise, at least one where they cannot be counted; none for an empty one.
    fn count_rows(&self, table: &'static str, plan: &Plan) -> Result<Option<u64>, LoadError> {
        let spec = Spec {
            table,
            columns: [],
            text: None,
            required: 0,
        };
        let (mut rows, mut whole) = (0, true);
        let result = self.reader.scan::<0>(&spec, plan, |block| {
            rows += block.rows().len() as u64;
            whole &= block.damage.is_empty();
            Ok(())
        });
        match result {
            Ok(()) => Ok((rows > 0 || !whole).then_some(rows.max(1))),
            Err(Failure::Stop(error)) => Err(error),
            Err(Failure::Sql(_) | Failure::Texts) => Ok(Some(rows.max(1))),
        }
    }

    /// Counts the rows of a table that lacks a column.
    fn missing_column(&mut self, table: &'static str, column: &str, reason: Reason) {
        let rows = self.rows(table);
        if !self.reader.db.has_column(table, column) {
            self.tally.many(reason, table, rows);
        }
    }

    /// Counts a row that was left out.
    fn leave_out_row(&mut self, reason: Reason, table: &'static str, rowid: i64) {
        self.tally.row(reason, table, rowid);
        self.left_out.insert(table);
    }

    fn leave_out(&mut self, reason: Reason, table: &'static str, why: String) {
        self.tally.table(reason, table, why);
        self.left_out.insert(table);
    }

    fn too_large(&self) -> LoadError {
        LoadError::new(
            ErrorKind::TooLarge,
            &self.reader.db.path,
            "The file has more than four billion rows.",
            "Export a shorter part of the recording: `nsys export --times`.",
        )
    }

    fn count<const N: usize>(&mut self, table: &'static str, block: &Block<N>, times: u16) {
        let n = block.rows().len() as u64;
        *self.read_rows.entry(table).or_default() += n;
        self.reader.progress.add_events(n);
        for &(rowid, columns) in block.junk() {
            if columns & !times != 0 {
                self.tally.row(Reason::BadValue, table, rowid);
            }
        }
        if !block.damage.is_empty() {
            self.left_out.insert(table);
        }
        for &rowid in &block.damage {
            // The least number stands for "from the start on", where no row can be read at all.
            if rowid == i64::MIN {
                self.tally.many(Reason::Damaged, table, 1);
            } else {
                self.tally.row(Reason::Damaged, table, rowid);
            }
        }
        self.passed = self.passed.saturating_add(block.done);
        let bytes = u128::from(self.reader.db.bytes);
        let done = bytes * u128::from(self.passed) / u128::from(self.expected.max(1));
        let done = u64::try_from(done)
            .unwrap_or(u64::MAX)
            .min(self.reader.db.bytes);
        self.reader
            .progress
            .add_done(done.saturating_sub(self.reported));
        self.reported = done.max(self.reported);
    }

    /// (start, duration) of a row; none where they are no times, which is counted. A negative duration is counted
    /// here and clamped by the builder.
    fn times(
        &mut self,
        table: &'static str,
        rowid: i64,
        start: Option<i64>,
        end: Option<i64>,
    ) -> Option<(i64, i64)> {
        let (Some(start), Some(end)) = (start, end) else {
            self.tally.row(Reason::BadTime, table, rowid);
            return None;
        };
        let valid = -TIME_LIMIT..=TIME_LIMIT;
        if !valid.contains(&start) || !valid.contains(&end) {
            self.tally.row(Reason::FarTime, table, rowid);
            return None;
        }
        if end < start {
            self.tally.row(Reason::NegativeDuration, table, rowid);
        }
        Some((start, end - start))
    }

    fn span(
        &mut self,
        table: &'static str,
        rowid: i64,
        lane: LaneId,
        name: NameId,
        cat: CatId,
        (start, dur): (i64, i64),
    ) -> RawSpan {
        self.builder.add_span(SpanRow {
            lane,
            name,
            cat,
            start,
            dur,
            args: ArgsRef::row(rows::table_index(table), rowid),
        })
    }

    /// The name of a row whose name is not in the file.
    fn no_name(&mut self, table: &'static str, rowid: i64) -> NameId {
        self.tally.row(Reason::UnknownName, table, rowid);
        self.unknown
    }

    fn unlinked(&mut self, table: &'static str) {
        *self.unlinked.entry(table).or_default() += 1;
    }

    /// One integer of one row, for rows that need a second look.
    fn integer_of(&mut self, table: &'static str, column: &str, rowid: i64) -> Option<i64> {
        let db = self.reader.db;
        if !db.has_column(table, column) {
            return None;
        }
        let key = db.rowid_name(table)?;
        let sql = format!(
            "SELECT {} FROM {} WHERE {key} = ?1",
            open::quoted(column),
            open::quoted(table)
        );
        let read = || {
            let conn = db.connection()?;
            let mut statement = conn.prepare(&sql)?;
            let mut rows = statement.query([rowid])?;
            rows.next().map(|row| row.and_then(|row| integer(row, 0)))
        };
        read().unwrap_or_else(|_unread: rusqlite::Error| {
            self.tally.row(Reason::Damaged, table, rowid);
            None
        })
    }

    fn note(&mut self, fact: impl Into<Fact>, code: &'static str, count: u64, text: String) {
        self.report
            .note_many(fact, code, Some(self.source), count, &[], || text);
    }

    /// The file's report and the notices.
    fn finish(&mut self) -> Result<(), LoadError> {
        self.notices()?;
        let db = self.reader.db;
        let rest = db.bytes.saturating_sub(self.reported);
        self.reader.progress.add_done(rest);
        let format = match &self.meta.schema {
            Some(schema) => format!("Nsight Systems SQLite, schema {schema}"),
            None => "Nsight Systems SQLite, without a version (2021 or older)".to_owned(),
        };
        let mut facts = std::mem::take(&mut self.facts);
        if let Some(product) = &self.meta.product {
            facts.insert(
                0,
                ("Written by".to_owned(), format!("Nsight Systems {product}")),
            );
        }
        if let Some(mode) = &self.meta.graph_mode {
            facts.push(("CUDA graphs traced by".to_owned(), mode.to_lowercase()));
        }
        self.report.files.push(FileReport {
            path: db.path.clone(),
            source: Some(self.source),
            format,
            bytes: db.bytes,
            inflated_bytes: db.bytes,
            events: self.read_rows.values().sum(),
            by_kind: self
                .read_rows
                .iter()
                .chain(&self.nvtx)
                .map(|(&kind, &n)| (kind.to_owned(), n))
                .collect(),
            facts,
        });
        std::mem::take(&mut self.tally).report(self.report, self.source);
        self.reader.unread.report(self.report, self.source);
        Ok(())
    }
}
