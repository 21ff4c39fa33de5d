//! A database in memory alone: a copy that nobody else sees, for files that SQLite cannot read without writing beside them.

use std::io::Read;
use std::sync::{Condvar, Mutex, PoisonError};

use rusqlite::{Connection, MAIN_DB, OpenFlags};

/// Connections to a copy, each with a copy of its own: who reads a row may look for another one meanwhile.
const COPIES: usize = 2;

/// Bytes that a copy of a database takes.
pub(crate) fn memory(bytes: u64) -> u64 {
    bytes.saturating_mul(COPIES as u64)
}

/// The connections that nobody uses.
pub(crate) struct Private {
    spare: Mutex<Vec<Connection>>,
    given_back: Condvar,
}

impl Private {
    /// Of a database that is read from its beginning, of so many bytes.
    pub fn new(from: &mut dyn Read, bytes: usize) -> rusqlite::Result<Self> {
        let mut first = connect(from, bytes)?;
        let mut spare = Vec::new();
        for _ in 1..COPIES {
            let text = first.serialize(MAIN_DB)?;
            spare.push(connect(&mut &*text, text.len())?);
        }
        spare.push(first);
        spare.iter().try_for_each(prepare)?;
        Ok(Self {
            spare: Mutex::new(spare),
            given_back: Condvar::new(),
        })
    }

    /// All of them, before anybody has one.
    pub fn each(&self, of: impl FnMut(&Connection)) {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        spare.iter().for_each(of);
    }

    /// One of them, once one is free: nobody keeps one while waiting for more than one other.
    pub fn take(&self) -> Connection {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(conn) = spare.pop() {
                return conn;
            }
            let waited = self.given_back.wait(spare);
            spare = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives one back.
    pub fn give(&self, conn: Connection) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        spare.push(conn);
        self.given_back.notify_one();
    }
}

/// Sets what all connections have in common.
pub(crate) fn prepare(conn: &Connection) -> rusqlite::Result<()> {
    // Files come from anywhere: their schema must not call functions, and pages are checked, since cells that reach over
    // the end of a page would be read from whatever lies behind it in memory.
    conn.execute_batch(
        "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA query_only=ON;",
    )
}

fn connect(from: &mut dyn Read, bytes: usize) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_in_memory_with_flags(flags)?;
    conn.deserialize_read_exact(MAIN_DB, from, bytes, true)?;
    Ok(conn)
}
