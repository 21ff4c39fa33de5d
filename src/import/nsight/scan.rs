//! Reading a table: row number ranges, each read front to back on one of several connections, handed over in order.
//!
//! Knows SQLite, not what the columns mean. Every value is an integer or "none"; text in a column of integers (SQLite
//! allows it) is none and noted. Behind a damaged page reading goes on, so that one bad page costs one page. Row
//! numbers have to ascend, which also bounds the work on a damaged tree whose pages point at each other.

use std::sync::PoisonError;
use std::sync::mpsc::{SyncSender, sync_channel};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Statement};

pub(super) use super::block::{Block, Row};
use super::collect::{self, Ended, Place, Shared};
use super::open::{Database, code, is_damage, quoted};
use crate::import::{LoadError, Progress};

/// Row numbers per range, and rows per block: a block of the widest table fits into a core's cache. Fuzzers work on
/// small inputs, which have to be divided as well.
const RANGE_ROWS: i128 = if cfg!(fuzzing) { 3 } else { 16_384 };
/// See [`RANGE_ROWS`].
const BLOCK_ROWS: usize = RANGE_ROWS as usize;
/// Ranges per table at most: each costs one descent of the tree, also where rows are sparse.
const MAX_RANGES: i128 = 65_536;
/// A block ends early once it holds this much text.
const BLOCK_TEXT: usize = 4 << 20;
/// Below this many ranges a second thread does not pay.
const MIN_PARALLEL_RANGES: usize = 4;
/// Row numbers skipped behind a damaged place at first; doubled each time.
const FIRST_SKIP: i64 = 8;

/// A table and the columns that are wanted of it, by name. Columns that the file lacks read as none.
pub(super) struct Spec<const N: usize> {
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
pub(super) struct Plan {
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
            db.conn.query_row(&sql, [], |row| row.get(0))
        };
        match (edge("min"), edge("max")) {
            (Ok(Some(min)), Ok(Some(max))) => Self::between(min, max),
            (Ok(None), Ok(None)) => Self::default(),
            // A damaged edge: whatever lies behind it may still be readable.
            (min, max) => {
                let sql = format!(
                    "SELECT {rowid} FROM {} WHERE {rowid} >= ?1 ORDER BY {rowid} LIMIT 1",
                    quoted(table)
                );
                let next = |from: i64| db.conn.query_row(&sql, [from], |row| row.get(0)).ok();
                Self::around_damage(min.ok().flatten(), max.ok().flatten(), next)
            }
        }
    }

    /// A table one or both of whose edges cannot be read. Row numbers count from 1 where nobody chose others, so that
    /// the search for what is readable begins there: `next` gives the first row from a number on, if it can be read.
    fn around_damage(
        min: Option<i64>,
        max: Option<i64>,
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
            return Self::between(low, max);
        }
        // The end is somewhere behind the last readable row; what lies up to there can be divided.
        let found = steps()
            .filter_map(|step| next(low.saturating_add(step)))
            .max();
        let known = found.unwrap_or(low).min(i64::MAX - 1);
        let mut plan = Self::between(low, known);
        plan.ranges.push((known + 1, i64::MAX));
        plan
    }

    fn between(min: i64, max: i64) -> Self {
        if max < min {
            return Self::default();
        }
        let (min, span) = (i128::from(min), i128::from(max) - i128::from(min) + 1);
        let count = ((span + RANGE_ROWS - 1) / RANGE_ROWS).clamp(1, MAX_RANGES);
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

    /// True for a table without rows.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

/// Why a table could not be read to its end.
#[derive(Debug)]
pub(super) enum Failure {
    /// Cancelled, or the consumer failed.
    Stop(LoadError),
    /// SQLite cannot read this table.
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// What reading needs besides the table.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    /// The file.
    pub db: &'a Database,
    /// Cancellation.
    pub progress: &'a Progress,
    /// Connections that may read at the same time.
    pub threads: usize,
}

impl Reader<'_> {
    /// Hands all rows of a table to `sink`, in order of their numbers, in blocks.
    pub fn scan<const N: usize>(
        &self,
        spec: &Spec<N>,
        plan: &Plan,
        mut sink: impl FnMut(&Block<N>) -> Result<(), LoadError>,
    ) -> Result<(), Failure> {
        if plan.is_empty() {
            return Ok(());
        }
        let sql = &select(self.db, spec);
        if self.threads > 1 && plan.ranges.len() >= MIN_PARALLEL_RANGES {
            return self.scan_parallel(spec, plan, sql, sink);
        }
        let mut block = Block::new();
        let has_text = spec.text.is_some();
        let mut cursor = Cursor::new(&self.db.conn, sql, has_text, self.progress)?;
        for &range in &plan.ranges {
            let mut stopped = None;
            cursor.read(range, &mut block, |block| match sink(block) {
                Ok(()) => {
                    block.clear();
                    true
                }
                Err(e) => {
                    stopped = Some(e);
                    false
                }
            })?;
            if let Some(error) = stopped {
                return Err(Failure::Stop(error));
            }
            self.check()?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Failure> {
        self.progress.check(&self.db.path).map_err(Failure::Stop)
    }

    /// Connection `w` of `n` reads ranges w, w + n, w + 2n, …; the consumer takes them in turn, so that the order of
    /// rows does not depend on the number of threads and at most a few blocks per connection wait.
    fn scan_parallel<const N: usize>(
        &self,
        spec: &Spec<N>,
        plan: &Plan,
        sql: &str,
        mut sink: impl FnMut(&Block<N>) -> Result<(), LoadError>,
    ) -> Result<(), Failure> {
        let workers = self.threads.min(plan.ranges.len());
        let has_text = spec.text.is_some();
        let progress = self.progress;
        std::thread::scope(|scope| {
            let mut queues = Vec::with_capacity(workers);
            for w in 0..workers {
                let conn = self.db.another()?;
                let (to_consumer, queue) = sync_channel(2);
                let (give_back, spare) = sync_channel::<Block<N>>(4);
                let ranges = plan.ranges.iter().copied().skip(w).step_by(workers);
                std::thread::Builder::new()
                    .name("stallscope-sqlite".to_owned())
                    .spawn_scoped(scope, move || {
                        let spare = || spare.try_recv().unwrap_or_else(|_none| Block::new());
                        match Cursor::new(&conn, sql, has_text, progress) {
                            Ok(cursor) => work(cursor, ranges, &to_consumer, spare),
                            Err(error) => {
                                // A closed queue means that nobody waits for the reason either.
                                let _ = to_consumer.send(Err(error));
                            }
                        }
                    })
                    .map_err(|e| Failure::Stop(LoadError::io(&self.db.path, &e)))?;
                queues.push((queue, give_back));
            }
            for i in 0..plan.ranges.len() {
                let (queue, give_back) = &queues[i % workers];
                loop {
                    self.check()?;
                    let Ok(block) = queue.recv() else {
                        // A worker ends early only after a cancel.
                        self.check()?;
                        return Err(Failure::Stop(LoadError::cancelled(&self.db.path)));
                    };
                    let block = block?;
                    sink(&block).map_err(Failure::Stop)?;
                    let last = block.last;
                    // A full queue only means that the block is freed instead.
                    let _ = give_back.try_send(block);
                    if last {
                        break;
                    }
                }
            }
            Ok(())
        })
    }
}

fn work<const N: usize>(
    mut cursor: Cursor<'_, N>,
    ranges: impl Iterator<Item = (i64, i64)>,
    to_consumer: &SyncSender<rusqlite::Result<Block<N>>>,
    spare: impl Fn() -> Block<N>,
) {
    let mut block = Block::new();
    for range in ranges {
        let mut open = true;
        let result = cursor.read(range, &mut block, |block| {
            let mut next = spare();
            next.clear();
            open = to_consumer.send(Ok(std::mem::replace(block, next))).is_ok();
            open
        });
        if let Err(error) = result {
            // A closed queue means that nobody waits for the reason either.
            let _ = to_consumer.send(Err(error));
            return;
        }
        if !open || cursor.progress.is_cancelled() {
            return;
        }
    }
}

/// `SELECT rowid, …` with none for columns that the file lacks; without a text, through the aggregate.
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
    match spec.text {
        Some(_) => format!("SELECT {list} FROM {table} WHERE {range} ORDER BY {rowid}"),
        // Not by another index, whose order is another one.
        None => format!(
            "SELECT {}({list}) FROM {table} NOT INDEXED WHERE {range}",
            collect::NAME
        ),
    }
}

struct Cursor<'a, const N: usize> {
    statement: Statement<'a>,
    /// Where the aggregate leaves its rows; none where there is a text.
    place: Option<Place<N>>,
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
}

impl<'a, const N: usize> Cursor<'a, N> {
    fn new(
        conn: &'a Connection,
        sql: &str,
        has_text: bool,
        progress: &'a Progress,
    ) -> rusqlite::Result<Self> {
        let place = match has_text {
            true => None,
            false => Some(collect::declare(conn)?),
        };
        Ok(Self {
            statement: conn.prepare(sql)?,
            place,
            progress,
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
            let run = match &self.place {
                Some(place) => collect_range(
                    &mut self.statement,
                    (next, to),
                    place,
                    &mut last,
                    block,
                    self.progress,
                    &mut emit,
                )?,
                None => self.run((next, to), &mut last, block, &mut emit)?,
            };
            match run {
                Run::Done => break,
                Run::Stopped => return Ok(()),
                Run::Damaged => {
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
        let progress = self.progress;
        let mut rows = self.statement.query([from, to])?;
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(Run::Done),
                Err(e) if is_damage(&e) => return Ok(Run::Damaged),
                Err(e) if code(&e) == Some(ErrorCode::OperationInterrupted) => {
                    return Ok(Run::Stopped);
                }
                Err(e) => return Err(e),
            };
            let ValueRef::Integer(rowid) = row.get_ref(0)? else {
                return Ok(Run::Damaged);
            };
            if rowid < from || last.is_some_and(|l| rowid <= l) {
                return Ok(Run::Damaged);
            }
            *last = Some(rowid);
            block.take(row, rowid)?;
            if block.rows().len() >= BLOCK_ROWS || block.text_bytes() >= BLOCK_TEXT {
                if progress.is_cancelled() || !emit(block) {
                    return Ok(Run::Stopped);
                }
            } else if block.rows().len().is_multiple_of(2_048) && progress.is_cancelled() {
                return Ok(Run::Stopped);
            }
        }
    }
}

/// Runs a statement over the aggregate.
fn collect_range<const N: usize>(
    statement: &mut Statement<'_>,
    (from, to): (i64, i64),
    place: &Place<N>,
    last: &mut Option<i64>,
    block: &mut Block<N>,
    progress: &Progress,
    emit: &mut impl FnMut(&mut Block<N>) -> bool,
) -> rusqlite::Result<Run> {
    let mut next = from;
    loop {
        if progress.is_cancelled() {
            return Ok(Run::Stopped);
        }
        let lock = || place.lock().unwrap_or_else(PoisonError::into_inner);
        *lock() = Shared {
            rows: block.take_rows(),
            from: next,
            last: *last,
            room: BLOCK_ROWS,
            ended: None,
        };
        let result = statement.query_row([next, to], |_| Ok(()));
        let shared = std::mem::take(&mut *lock());
        block.set_rows(shared.rows);
        *last = shared.last;
        match (shared.ended, result) {
            (Some(Ended::Disorder), _) => return Ok(Run::Damaged),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_cover_every_row_number_once() {
        for (min, max) in [
            (1, 1),
            (1, 16_384),
            (1, 16_385),
            (-5, 100_000),
            (0, i64::MAX),
            (i64::MIN, i64::MAX),
        ] {
            let plan = Plan::between(min, max);
            assert_eq!(plan.ranges.first().map(|r| r.0), Some(min));
            assert_eq!(plan.ranges.last().map(|r| r.1), Some(max));
            assert!(
                plan.ranges
                    .windows(2)
                    .all(|w| w[0].1.checked_add(1) == Some(w[1].0))
            );
            assert!(plan.ranges.iter().all(|r| r.0 <= r.1));
            assert!(plan.ranges.len() as i128 <= MAX_RANGES);
        }
        assert!(Plan::between(2, 1).is_empty());
        assert_eq!(Plan::between(1, 50).rows_at_most(), 50);
    }

    #[test]
    fn plans_go_around_damaged_edges() {
        // Rows 1 to 100,000, of which those below `first` and above `last` cannot be read.
        let next = |first: i64, last: i64| move |x: i64| (x >= first && x <= last).then_some(x);
        let plan = Plan::around_damage(None, Some(100_000), next(41, 100_000));
        assert_eq!(plan, Plan::between(1, 100_000));
        let plan = Plan::around_damage(Some(1), None, next(1, 99_900));
        assert_eq!(plan.ranges[0].0, 1);
        assert_eq!(plan.ranges.last(), Some(&(65_538, i64::MAX)));
        assert_eq!(plan.rows_at_most(), 65_537);
        let plan = Plan::around_damage(None, None, next(41, 99_900));
        assert_eq!(plan.ranges.last(), Some(&(65_538, i64::MAX)));
        assert_eq!(plan.ranges[0].0, 1);
        // Numbers below 1 that are readable, and nothing that is.
        let plan = Plan::around_damage(None, Some(10), |x| (x >= -100).then_some(x));
        assert_eq!(plan, Plan::between(-63, 10));
        let plan = Plan::around_damage(None, None, |_| None);
        assert_eq!(plan.ranges, [(1, 1), (2, i64::MAX)]);
    }
}
