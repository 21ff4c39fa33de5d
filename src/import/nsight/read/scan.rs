//! Reading a table: row number ranges, each read front to back on one of several connections, handed over in order.
//!
//! Knows SQLite, not what the columns mean. Every value is an integer or "none"; text in a column of integers (SQLite
//! allows it) is none and noted. Behind a damaged page reading goes on, so that one bad page costs one page. Row
//! numbers have to ascend, which also bounds the work on a damaged tree whose pages point at each other.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::{Connection, ErrorCode, Statement};

pub(crate) use super::block::{Block, Row};
use super::collect::{self, BLOCK_ROWS, BLOCK_TEXT, Ended, Place, Shared};
use super::open::{Database, code, forget_pages, is_damage, quoted};
use super::unread::Unread;
use crate::import::bytes::stages::{self, Spares};
use crate::import::contract::error::LoadError;
use crate::import::contract::progress::Progress;

/// Row numbers per range.
const RANGE_ROWS: i128 = BLOCK_ROWS as i128;
/// Ranges per table at most: each costs one descent of the tree, also where rows are sparse. Small files have no more
/// than one per page of the smallest size.
const MAX_RANGES: u64 = 65_536;
/// See [`MAX_RANGES`].
const SMALLEST_PAGE: u64 = 512;
/// Texts of a table are at most this many times as long as the file, as those of an encoding may be longer in another
/// one; more are made by rows that share pages.
const MOST_TEXT: u64 = 4;
/// Why a table is left out whose texts are longer than that.
pub(crate) const LONG_TEXTS: &str = "its texts are longer than the file";
/// Row numbers skipped behind a damaged place at first; doubled each time.
pub(crate) const FIRST_SKIP: i64 = 8;

/// A table and the columns that are wanted of it, by name. Columns that the file lacks read as none.
pub(crate) struct Spec<const N: usize> {
    /// The table.
    pub table: &'static str,
    /// Columns of integers.
    pub columns: [&'static str; N],
    /// A column of text, if one is wanted.
    pub text: Option<&'static str>,
    /// How many of the first columns a table must have to be of use.
    pub required: usize,
}

/// Ranges of row numbers of a table, `[from, to]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Plan {
    ranges: Vec<(i64, i64)>,
}

impl Plan {
    /// Divides a table by its row numbers. Empty for a table without rows.
    pub fn new(db: &Database, table: &str) -> Self {
        let Some(rowid) = db.rowid_name(table) else {
            return Self::default();
        };
        let edge = |which: &str| -> rusqlite::Result<Option<i64>> {
            let sql = format!("SELECT {which}({rowid}) FROM {}", quoted(table));
            db.connection()?.query_row(&sql, [], |row| row.get(0))
        };
        let most = MAX_RANGES.min(db.bytes / SMALLEST_PAGE + 1);
        match (edge("min"), edge("max")) {
            (Ok(Some(min)), Ok(Some(max))) if min <= max => Self::between(min, max, most),
            // Out of order: whoever goes from row to row meets the place, a search may pass over it.
            (Ok(Some(_)), Ok(Some(max))) => Self {
                ranges: vec![(max, max), (max.saturating_add(1), i64::MAX)],
            },
            (Ok(None), Ok(None)) => Self::default(),
            // A damaged edge: whatever lies behind it may still be readable.
            (min, max) => {
                let sql = format!(
                    "SELECT {rowid} FROM {} WHERE {rowid} >= ?1 ORDER BY {rowid} LIMIT 1",
                    quoted(table)
                );
                let next = |from: i64| {
                    let conn = db.connection().ok()?;
                    conn.query_row(&sql, [from], |row| row.get(0)).ok()
                };
                Self::around_damage(min.ok().flatten(), max.ok().flatten(), most, next)
            }
        }
    }

    /// A table one or both of whose edges cannot be read. Row numbers count from 1 where nobody chose others, so that
    /// the search for what is readable begins there: `next` gives the first row from a number on, if it can be read.
    fn around_damage(
        min: Option<i64>,
        max: Option<i64>,
        most: u64,
        next: impl Fn(i64) -> Option<i64>,
    ) -> Self {
        let steps = || (0..62).map(|i| 1_i64 << i);
        let low = min.unwrap_or_else(|| {
            let start = max.unwrap_or(1).min(1);
            let below = steps().map(|step| start.saturating_sub(step));
            below
                .take_while(|&x| next(x).is_some())
                .last()
                .unwrap_or(start)
        });
        if let Some(max) = max {
            return Self::between(low, max, most);
        }
        // The end is somewhere behind the last readable row; what lies up to there can be divided.
        let found = steps()
            .filter_map(|step| next(low.saturating_add(step)))
            .max();
        let known = found.unwrap_or(low).min(i64::MAX - 1);
        let mut plan = Self::between(low, known, most);
        plan.ranges.push((known + 1, i64::MAX));
        plan
    }

    fn between(min: i64, max: i64, most: u64) -> Self {
        if max < min {
            return Self::default();
        }
        let (min, span) = (i128::from(min), i128::from(max) - i128::from(min) + 1);
        let count = ((span + RANGE_ROWS - 1) / RANGE_ROWS).clamp(1, most.into());
        let at = |i: i128| i64::try_from(min + span * i / count).unwrap_or(i64::MAX);
        let end = |i: i128| i64::try_from(min + span * (i + 1) / count - 1).unwrap_or(i64::MAX);
        Self {
            ranges: (0..count).map(|i| (at(i), end(i))).collect(),
        }
    }

    /// Row numbers covered: the number of rows, where no row was deleted. A range whose end is not known is left out.
    pub fn rows_at_most(&self) -> u64 {
        let known = self.ranges.iter().filter(|r| r.1 < i64::MAX);
        known
            .map(|&(from, to)| to.abs_diff(from).saturating_add(1))
            .fold(0, u64::saturating_add)
    }
}

/// Why a table could not be read to its end.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Cancelled, or the consumer failed.
    Stop(LoadError),
    /// SQLite cannot read this table.
    Sql(rusqlite::Error),
    /// Its texts are longer than the file can hold.
    Texts,
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// What reading needs besides the table.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    /// The file.
    pub db: &'a Database,
    /// Cancellation.
    pub progress: &'a Progress,
    /// Where what cannot be read of small tables is noted.
    pub unread: &'a Unread,
}

impl Reader<'_> {
    /// Hands all rows of a table to `sink`, in order of their numbers, in blocks. Several connections read.
    pub fn scan<const N: usize>(
        &self,
        spec: &Spec<N>,
        plan: &Plan,
        mut sink: impl FnMut(&Block<N>) -> Result<(), LoadError> + Send,
    ) -> Result<(), Failure> {
        let query = Query {
            db: self.db,
            sql: select(self.db, spec),
            has_text: spec.text.is_some(),
            progress: self.progress,
        };
        let stopped = AtomicBool::new(false);
        let spares = Spares::new();
        let mut text_room = self.text_room();
        let mut sink = |block: &Block<N>| {
            let left = text_room.checked_sub(block.text_bytes() as u64);
            text_room = left.ok_or(Failure::Texts)?;
            sink(block).map_err(Failure::Stop)
        };
        let mut ranges = plan.ranges.iter();
        let mut result = Ok(());
        stages::in_order(
            || match stopped.load(Ordering::Relaxed) || self.progress.is_cancelled() {
                true => None,
                false => ranges.next(),
            },
            |&range| query.begin(range, spares.take()),
            |begun| {
                if result.is_ok() {
                    result = self.check().and_then(|()| {
                        let block = query.complete(begun?, &mut sink)?;
                        spares.give(block);
                        Ok(())
                    });
                    stopped.store(result.is_err(), Ordering::Relaxed);
                }
            },
        );
        result?;
        self.check()
    }

    /// Bytes of text that one table can have.
    pub fn text_room(&self) -> u64 {
        let most = self.db.bytes.saturating_mul(MOST_TEXT);
        most.max(BLOCK_TEXT as u64)
    }

    fn check(&self) -> Result<(), Failure> {
        self.progress.check(&self.db.path).map_err(Failure::Stop)
    }
}

/// How the rows of one table are asked for.
struct Query<'a> {
    db: &'a Database,
    sql: String,
    has_text: bool,
    progress: &'a Progress,
}

/// The first block of a range.
struct Begun<const N: usize> {
    block: Block<N>,
    /// What is left of the range where its texts are too long for one block: read when its turn comes, so that few of
    /// them are in memory.
    rest: Option<(i64, i64)>,
}

impl Query<'_> {
    fn begin<const N: usize>(
        &self,
        (from, to): (i64, i64),
        mut block: Block<N>,
    ) -> Result<Begun<N>, Failure> {
        block.clear();
        let conn = self.db.connection()?;
        Cursor::new(&conn, self)?.read((from, to), &mut block, |_| false)?;
        let mut rest = None;
        if !block.last {
            let last = block.rows().last().map_or(to, |row| row.rowid);
            block.done = last.abs_diff(from).saturating_add(1);
            rest = (last < to).then(|| (last + 1, to));
        }
        Ok(Begun { block, rest })
    }

    /// Hands over all blocks of a range; returns one for reuse.
    fn complete<const N: usize>(
        &self,
        begun: Begun<N>,
        sink: &mut impl FnMut(&Block<N>) -> Result<(), Failure>,
    ) -> Result<Block<N>, Failure> {
        let Begun { mut block, rest } = begun;
        sink(&block)?;
        let Some(range) = rest else {
            return Ok(block);
        };
        block.clear();
        let mut failed = None;
        let conn = self.db.connection()?;
        Cursor::new(&conn, self)?.read(range, &mut block, |block| match sink(block) {
            Ok(()) => {
                block.clear();
                true
            }
            Err(error) => {
                failed = Some(error);
                false
            }
        })?;
        failed.map_or(Ok(block), Err)
    }
}

/// Row number and columns through the aggregate, with none for columns that the file lacks.
fn select<const N: usize>(db: &Database, spec: &Spec<N>) -> String {
    let rowid = db.rowid_name(spec.table).unwrap_or("rowid");
    let mut list = rowid.to_owned();
    for column in spec.columns.iter().copied().chain(spec.text) {
        list.push(',');
        if db.has_column(spec.table, column) {
            list.push_str(&quoted(column));
        } else {
            list.push_str("NULL");
        }
    }
    let table = quoted(spec.table);
    let range = format!("{rowid} BETWEEN ?1 AND ?2");
    // Not by another index, whose order is another one.
    format!(
        "SELECT {}({list}) FROM {table} NOT INDEXED WHERE {range}",
        collect::NAME
    )
}

struct Cursor<'a, const N: usize> {
    conn: &'a Connection,
    statement: Statement<'a>,
    /// Where the aggregate leaves its rows.
    place: Place<N>,
    progress: &'a Progress,
}

/// How far one run over a range came.
enum Run {
    /// To its end.
    Done,
    /// Nobody wants more.
    Stopped,
    /// To damage.
    Damaged,
    /// To a row whose number does not ascend.
    Disorder,
}

impl<'a, const N: usize> Cursor<'a, N> {
    fn new(conn: &'a Connection, query: &Query<'a>) -> rusqlite::Result<Self> {
        Ok(Self {
            conn,
            place: collect::declare(conn, query.has_text)?,
            statement: conn.prepare(&query.sql)?,
            progress: query.progress,
        })
    }

    /// Reads a range, handing over full blocks and, at the end, the rest (marked as the last one). `emit` leaves an
    /// empty block and says whether more is wanted.
    fn read(
        &mut self,
        (from, to): (i64, i64),
        block: &mut Block<N>,
        mut emit: impl FnMut(&mut Block<N>) -> bool,
    ) -> rusqlite::Result<()> {
        let mut last = from.checked_sub(1);
        let mut next = from;
        let mut skip = FIRST_SKIP;
        loop {
            let run = self.run((next, to), &mut last, block, &mut emit)?;
            match run {
                Run::Done => break,
                Run::Stopped => return Ok(()),
                // Behind its end: the next range says so.
                Run::Damaged if last == Some(to) => break,
                Run::Damaged | Run::Disorder => {
                    forget_pages(self.conn)?;
                    if block.damage.is_empty() {
                        // The first row that could not be read.
                        let behind = last.map(|l| l.saturating_add(1));
                        block.damage.push(behind.unwrap_or(from));
                    }
                    let behind = last.unwrap_or(next).max(next.saturating_sub(1));
                    match behind.checked_add(skip) {
                        Some(n) if n <= to => next = n,
                        _ => break,
                    }
                    skip = skip.saturating_mul(2);
                }
            }
        }
        block.last = true;
        block.done = to.abs_diff(from).saturating_add(1);
        emit(block);
        Ok(())
    }

    fn run(
        &mut self,
        (from, to): (i64, i64),
        last: &mut Option<i64>,
        block: &mut Block<N>,
        emit: &mut impl FnMut(&mut Block<N>) -> bool,
    ) -> rusqlite::Result<Run> {
        let mut next = from;
        loop {
            if self.progress.is_cancelled() {
                return Ok(Run::Stopped);
            }
            let lock = || self.place.lock().unwrap_or_else(PoisonError::into_inner);
            *lock() = Shared {
                rows: block.take_rows(),
                from: next,
                last: *last,
                ended: None,
            };
            let result = self.statement.query_row([next, to], |_| Ok(()));
            let shared = std::mem::take(&mut *lock());
            block.set_rows(shared.rows);
            *last = shared.last;
            match (shared.ended, result) {
                (Some(Ended::Disorder), _) => return Ok(Run::Disorder),
                (Some(Ended::Full), _) => {
                    if !emit(block) {
                        return Ok(Run::Stopped);
                    }
                    match last.and_then(|l| l.checked_add(1)) {
                        Some(after) => next = after,
                        None => return Ok(Run::Done),
                    }
                }
                (None, Ok(())) => return Ok(Run::Done),
                (None, Err(e)) if is_damage(&e) => return Ok(Run::Damaged),
                (None, Err(e)) if code(&e) == Some(ErrorCode::OperationInterrupted) => {
                    return Ok(Run::Stopped);
                }
                (None, Err(e)) => return Err(e),
            }
        }
    }
}

#[cfg(test)]
mod tests;
