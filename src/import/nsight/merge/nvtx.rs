//! NVTX: ranges and marks that programs annotate themselves with, and names they give to threads.

use super::Export;
use super::lanes::ThreadUse;
use crate::import::contract::error::LoadError;
use crate::import::nsight::read::rows::NVTX;
use crate::import::nsight::read::scan::{Block, Row, Spec};
use crate::import::nsight::tally::Reason;
use crate::model::{ArgsRef, CatId, Instant, NameId};

/// Kinds of rows (`eventType`).
const CATEGORY: i64 = 33;
const MARK: i64 = 34;
const THREAD_NAME: i64 = 39;
const PUSH_POP: i64 = 59;
const START_END: i64 = 60;
/// Ranges of imported nvtxt files.
const IMPORTED: std::ops::RangeInclusive<i64> = 70..=71;
const DOMAIN_CREATE: i64 = 75;
const DOMAIN_DESTROY: i64 = 76;

/// Columns, in the order of the specification below.
const START: usize = 0;
const END: usize = 1;
const KIND: usize = 2;
const THREAD: usize = 3;
const END_THREAD: usize = 4;
const TEXT_ID: usize = 5;

/// How the report counts ranges.
pub(crate) const RANGES: &str = "NVTX ranges";

/// Categories of ranges. A range that ends on another thread than it began on does not nest with what its thread does,
/// so that launches in between need not belong to it.
struct Categories {
    plain: CatId,
    cross: CatId,
}

impl Export<'_> {
    /// Reads the table of NVTX events.
    pub(crate) fn nvtx(&mut self) -> Result<(), LoadError> {
        let spec = Spec {
            table: NVTX,
            columns: [
                "start",
                "end",
                "eventType",
                "globalTid",
                "endGlobalTid",
                "textId",
            ],
            text: Some("text"),
            required: 3,
        };
        let cats = Categories {
            plain: self.builder.category("nvtx", true),
            cross: self.builder.category("nvtx.cross", true),
        };
        self.scan(&spec, |this, block| {
            for (i, row) in block.rows().iter().enumerate() {
                match row.get(KIND) {
                    Some(PUSH_POP | START_END) => this.range(&cats, block, i, row),
                    Some(kind) if IMPORTED.contains(&kind) => this.range(&cats, block, i, row),
                    Some(MARK) => this.mark(block, i, row),
                    Some(THREAD_NAME) => this.thread_name(block, i, row),
                    // Looked up when somebody asks for the args of a range.
                    Some(CATEGORY) => this.kind("NVTX categories"),
                    Some(DOMAIN_CREATE | DOMAIN_DESTROY) => this.kind("NVTX domains"),
                    Some(_) => this.tally.row(Reason::OtherNvtx, NVTX, row.rowid),
                    None => this.leave_out_row(Reason::NoType, NVTX, row.rowid),
                }
            }
        })?;
        self.missing_column(NVTX, "text", Reason::NoText);
        Ok(())
    }

    fn range(&mut self, cats: &Categories, block: &Block<6>, i: usize, row: &Row<6>) {
        let open = row.get(END).is_none() && !row.is_junk(END);
        let end = if open { row.get(START) } else { row.get(END) };
        let Some(times) = self.times(NVTX, row.rowid, row.get(START), end) else {
            return;
        };
        self.kind(RANGES);
        let thread = row.get(THREAD);
        let cross = row.get(END_THREAD).zip(thread).is_some_and(|(e, t)| e != t);
        if cross {
            self.tally.row(Reason::CrossThread, NVTX, row.rowid);
        }
        let name = self.text(block, i, row).unwrap_or_else(|| {
            self.tally.row(Reason::Nameless, NVTX, row.rowid);
            self.builder.intern("(no text)")
        });
        let lane = self.lane_of_row(NVTX, row.rowid, thread, ThreadUse::Work);
        let cat = if cross { cats.cross } else { cats.plain };
        let span = self.span(NVTX, row.rowid, lane, name, cat, times);
        if open {
            self.tally.row(Reason::OpenRange, NVTX, row.rowid);
            self.builder.mark_unfinished(span);
        }
    }

    fn mark(&mut self, block: &Block<6>, i: usize, row: &Row<6>) {
        let Some((time, _)) = self.times(NVTX, row.rowid, row.get(START), row.get(START)) else {
            return;
        };
        self.kind("NVTX marks");
        let name = self.text(block, i, row).unwrap_or_else(|| {
            self.tally.row(Reason::Nameless, NVTX, row.rowid);
            self.builder.intern("(no text)")
        });
        let lane = self.lane_of_row(NVTX, row.rowid, row.get(THREAD), ThreadUse::Work);
        self.builder.add_instant(Instant {
            time,
            lane: Some(lane),
            source: self.source,
            name,
            args: ArgsRef::row(
                crate::import::nsight::read::rows::table_index(NVTX),
                row.rowid,
            ),
        });
    }

    fn kind(&mut self, kind: &'static str) {
        *self.nvtx.entry(kind).or_default() += 1;
    }

    fn thread_name(&mut self, block: &Block<6>, i: usize, row: &Row<6>) {
        self.kind("NVTX thread names");
        let Some(thread) = row.get(THREAD) else {
            self.no_thread(NVTX, row.rowid);
            return;
        };
        if let Some(name) = self.text(block, i, row) {
            self.given_names.push((thread, name));
        }
    }

    /// The text of a row: plain, else registered; `?` where the registered one is not in the file.
    fn text(&mut self, block: &Block<6>, i: usize, row: &Row<6>) -> Option<NameId> {
        if let Some(text) = block.text(i) {
            return Some(match std::str::from_utf8(text) {
                Ok(text) => self.builder.intern(text),
                Err(_) => {
                    self.tally.row(Reason::BadText, NVTX, row.rowid);
                    self.builder.intern(&String::from_utf8_lossy(text))
                }
            });
        }
        let id = row.get(TEXT_ID)?;
        let known = self.strings.name(id, self.builder);
        Some(known.unwrap_or_else(|| self.no_name(NVTX, row.rowid)))
    }
}
