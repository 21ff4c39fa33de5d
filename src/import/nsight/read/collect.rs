//! The way over a table: an SQL aggregate that takes the values of each row inside SQLite, so that a whole range costs one
//! step of the statement and no value is asked for twice.
//!
//! Knows SQLite, not what the columns mean.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error};

use super::block::{Row, Rows, Taken};

/// The name of the aggregate in SQL.
pub(crate) const NAME: &str = "stallscope_take";

/// Rows per block: a block of the widest table fits into a core's cache. Fuzzers work on small inputs, which have to be
/// divided as well.
pub(crate) const BLOCK_ROWS: usize = if cfg!(fuzzing) { 3 } else { 16_384 };
/// A block ends early once it holds this much text.
pub(crate) const BLOCK_TEXT: usize = 4 << 20;

/// Why the aggregate ended a statement itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// There is no room for more rows.
    Full,
    /// Row numbers do not ascend: the tree is damaged.
    Disorder,
}

/// What goes into a run of the statement and comes out of it.
#[derive(Default)]
pub(crate) struct Shared<const N: usize> {
    /// The rows so far.
    pub rows: Rows<N>,
    /// Smallest row number that may come, and the last one that came.
    pub from: i64,
    /// See `from`.
    pub last: Option<i64>,
    /// Set where it ended the statement.
    pub ended: Option<Ended>,
}

/// A place from which the aggregate takes its state when a statement begins, and to which it returns it at the end.
pub(crate) type Place<const N: usize> = Arc<Mutex<Shared<N>>>;

/// Makes the aggregate known to a connection: of the row number, `N` integers and perhaps a text.
pub(crate) fn declare<const N: usize>(
    conn: &Connection,
    has_text: bool,
) -> rusqlite::Result<Place<N>> {
    let place = Place::<N>::default();
    let arguments = i32::try_from(N + 1 + usize::from(has_text)).unwrap_or(1);
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
    let collect = Collect {
        place: Arc::clone(&place),
        has_text,
    };
    conn.create_aggregate_function(NAME, arguments, flags, collect)?;
    Ok(place)
}

struct Collect<const N: usize> {
    place: Place<N>,
    has_text: bool,
}

impl<const N: usize> Collect<N> {
    fn swap(&self, with: &mut Shared<N>) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *place, with);
    }
}

impl<const N: usize> Aggregate<Shared<N>, i64> for Collect<N> {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Shared<N>> {
        let mut shared = Shared::default();
        self.swap(&mut shared);
        Ok(shared)
    }

    fn step(&self, row: &mut Context<'_>, shared: &mut Shared<N>) -> rusqlite::Result<()> {
        let rowid = match row.get_raw(0) {
            ValueRef::Integer(rowid)
                if rowid >= shared.from && shared.last.is_none_or(|last| rowid > last) =>
            {
                rowid
            }
            _ => {
                shared.ended = Some(Ended::Disorder);
                return Err(Error::InvalidQuery);
            }
        };
        shared.last = Some(rowid);
        let mut out = Row::new(rowid);
        for i in 0..N {
            out.set(
                i,
                match row.get_raw(i + 1) {
                    ValueRef::Integer(value) => Taken::Integer(value),
                    ValueRef::Null => Taken::Nothing,
                    _ => Taken::Junk,
                },
            );
        }
        let rows = &mut shared.rows;
        rows.push(out);
        if self.has_text {
            rows.push_text(row.get_raw(N + 1));
        }
        // Not before the next row, which may lie behind damage: what is read then goes on behind the last row.
        if rows.rows.len() >= BLOCK_ROWS || rows.bytes.len() >= BLOCK_TEXT {
            shared.ended = Some(Ended::Full);
            return Err(Error::InvalidQuery);
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, shared: Option<Shared<N>>) -> rusqlite::Result<i64> {
        if let Some(mut shared) = shared {
            self.swap(&mut shared);
        }
        Ok(0)
    }
}
