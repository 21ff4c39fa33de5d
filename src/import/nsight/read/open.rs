//! Opening a database read-only, so that nothing appears beside the user's trace, and telling which tables it has.
//!
//! Knows nothing of what the tables mean.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, InterruptHandle, OpenFlags};

use super::log::{self, Alone, Beside, Log};
use super::private::{self, Private};
use crate::import::bytes::handed;
use crate::import::bytes::small::open_regular;
use crate::import::contract::error::{ErrorKind, LoadError};
use crate::import::recognise::memory;

/// How a database had to be opened, where that is worth a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Access {
    /// As it should be.
    Plain,
    /// The file is in write-ahead mode and its log is gone or empty: what was not yet written back is missing.
    LogGone,
    /// So many pages of its log were read with it.
    LogRead(u64),
    /// There is a log that could not be read, for this reason: its rows are missing.
    LogUnread(String),
    /// Another program has locked the file; it was read as it stands.
    Locked,
    /// A stale journal lies beside the file, or its folder cannot be written; it was read as it stands.
    AsItStands,
}

/// An open database and its tables.
pub(crate) struct Database {
    /// Connections that nobody uses.
    spare: Mutex<Vec<Connection>>,
    /// Where the database is read from memory, all connections that there are.
    private: Option<Private>,
    /// One per connection.
    interrupts: Mutex<Vec<InterruptHandle>>,
    /// Where it is.
    pub path: PathBuf,
    /// Size of the file.
    pub bytes: u64,
    /// What was unusual about opening it.
    pub access: Access,
    uri: String,
    tables: Tables,
}

/// Tables by their names in small letters: SQLite makes no difference between small and capital ones.
type Tables = BTreeMap<String, Table>;

/// A table or a view.
struct Table {
    name: String,
    columns: Vec<String>,
    form: Form,
}

/// How the rows of a table can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// By their numbers.
    Numbered,
    /// Only by a key of their own.
    WithoutRowNumbers,
    /// They are made up by a query.
    View,
}

impl Form {
    /// Why rows are not read in this form, where they are not.
    pub fn why_unreadable(self) -> &'static str {
        match self {
            Self::View => "it is a view, not a table",
            Self::Numbered | Self::WithoutRowNumbers => "its rows have no numbers",
        }
    }
}

/// A connection in use.
pub(crate) struct Borrowed<'a> {
    /// There until it is dropped.
    conn: Option<Connection>,
    to: &'a Database,
}

impl std::ops::Deref for Borrowed<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.conn.as_ref().expect("given back on drop only")
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        // The next user may be one who would have met a damaged page first.
        let Some(conn) = self.conn.take() else {
            return;
        };
        let fresh = forget_pages(&conn).is_ok();
        match &self.to.private {
            Some(private) => private.give(conn),
            None => lock(&self.to.spare).extend(fresh.then_some(conn)),
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Database {
    /// Opens `path` and reads its schema.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let (bytes, head) = read_head(path)?;
        if bytes == 0 {
            return Err(LoadError::new(
                ErrorKind::Empty,
                path,
                "The file is empty (0 bytes).",
                "Export the report again, and check that the disk is not full.",
            ));
        }
        if !head.starts_with(b"SQLite format 3\0") {
            return Err(LoadError::new(
                ErrorKind::Unknown,
                path,
                "This is not an SQLite database.",
                "Export the report with `nsys export --type sqlite`.",
            ));
        }
        let write_ahead = head.len() > 19 && (head[18] == 2 || head[19] == 2);
        if handed::is_kept(path) {
            // SQLite reads files by their names.
            let access = match write_ahead {
                true => Access::LogGone,
                false => Access::Plain,
            };
            let needed = private::memory(bytes);
            if let Some((free, limit)) = memory::available().filter(|(free, _)| *free < needed) {
                return Err(memory::too_large(path, needed, free, limit));
            }
            let file = open_regular(path).map_err(|e| LoadError::io(path, &e))?;
            let mut file = Alone::new(file).map_err(|e| LoadError::io(path, &e))?;
            return Self::in_memory(path, &mut file, bytes, access);
        }
        let access = match log::look(path) {
            Beside::Log(log) => match Self::with_log(path, log)? {
                Ok(database) => return Ok(database),
                Err(why) => Access::LogUnread(why),
            },
            Beside::Unreadable(why) => Access::LogUnread(why),
            Beside::Nothing if write_ahead => Access::LogGone,
            Beside::Nothing => return Ok(Self::on_disk(path, bytes, connect(path, bytes)?)),
        };
        // SQLite would create the log's files beside a database in this mode, even to read it.
        let uri = uri(path, true);
        let looked = connect_and_look(path, &uri).map_err(|e| unreadable(path, bytes, &e))?;
        Ok(Self::on_disk(path, bytes, (looked, access, uri)))
    }

    fn on_disk(
        path: &Path,
        bytes: u64,
        ((conn, tables), access, uri): (Looked, Access, String),
    ) -> Self {
        Self {
            interrupts: Mutex::new(vec![conn.get_interrupt_handle()]),
            spare: Mutex::new(vec![conn]),
            private: None,
            path: path.to_owned(),
            bytes,
            access,
            uri,
            tables,
        }
    }

    /// A database with what its log holds, from a copy in memory: nothing is written beside it. Where there is no memory
    /// for that, why.
    fn with_log(path: &Path, log: Log) -> Result<Result<Self, String>, LoadError> {
        let (pages, size) = (log.pages(), log.size());
        let needed = private::memory(size);
        if let Some((free, _)) = memory::available().filter(|(free, _)| *free < needed) {
            return Ok(Err(format!(
                "a copy in memory takes {} MiB, and {} MiB are free",
                needed >> 20,
                free >> 20
            )));
        }
        let file = open_regular(path).map_err(|e| LoadError::io(path, &e))?;
        Self::in_memory(path, &mut log.over(file), size, Access::LogRead(pages)).map(Ok)
    }

    fn in_memory(
        path: &Path,
        from: &mut dyn Read,
        bytes: u64,
        access: Access,
    ) -> Result<Self, LoadError> {
        let failed = |e: rusqlite::Error| unreadable(path, bytes, &e);
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        let private = Private::new(from, size).map_err(failed)?;
        let mut interrupts = Vec::new();
        private.each(|conn| interrupts.push(conn.get_interrupt_handle()));
        let conn = private.take();
        let tables = read_schema(&conn).map_err(failed);
        private.give(conn);
        Ok(Self {
            interrupts: Mutex::new(interrupts),
            spare: Mutex::default(),
            private: Some(private),
            path: path.to_owned(),
            bytes,
            access,
            uri: String::new(),
            tables: tables?,
        })
    }

    /// A connection for one user, who gives it back by dropping it. More are opened as they are needed.
    pub fn connection(&self) -> rusqlite::Result<Borrowed<'_>> {
        let spare = lock(&self.spare).pop();
        let conn = match (spare, &self.private) {
            (Some(conn), _) => conn,
            (None, Some(private)) => private.take(),
            (None, None) => {
                let conn = open_uri(&self.path, &self.uri)?;
                lock(&self.interrupts).push(conn.get_interrupt_handle());
                conn
            }
        };
        Ok(Borrowed {
            conn: Some(conn),
            to: self,
        })
    }

    /// Ends the statements that run now, on all connections.
    pub fn interrupt(&self) {
        lock(&self.interrupts)
            .iter()
            .for_each(InterruptHandle::interrupt);
    }

    /// Names of all tables, sorted.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.values().map(|t| t.name.as_str())
    }

    fn table(&self, name: &str) -> Option<&Table> {
        self.tables.get(&name.to_ascii_lowercase())
    }

    /// True when there is such a table or view, with or without rows.
    pub fn has(&self, table: &str) -> bool {
        self.table(table).is_some()
    }

    /// How the rows of a table can be reached, if there is such a table.
    pub fn form(&self, table: &str) -> Option<Form> {
        self.table(table).map(|t| t.form)
    }

    /// Columns of a table; none where there is no such table.
    pub fn columns(&self, table: &str) -> &[String] {
        self.table(table).map_or(&[], |t| t.columns.as_slice())
    }

    /// True when the table has the column.
    pub fn has_column(&self, table: &str, column: &str) -> bool {
        let mut columns = self.columns(table).iter();
        columns.any(|c| c.eq_ignore_ascii_case(column))
    }

    /// A name for the row number that no column of the table hides; none for tables without row numbers.
    pub fn rowid_name(&self, table: &str) -> Option<&'static str> {
        if self.form(table) != Some(Form::Numbered) {
            return None;
        }
        let columns = self.columns(table);
        let hidden = |name: &str| columns.iter().any(|c| c.eq_ignore_ascii_case(name));
        ["rowid", "_rowid_", "oid"].into_iter().find(|n| !hidden(n))
    }
}

/// `"name"`, for SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The SQLite result code of a failure.
pub(crate) fn code(error: &rusqlite::Error) -> Option<ErrorCode> {
    match error {
        rusqlite::Error::SqliteFailure(e, _) => Some(e.code),
        _ => None,
    }
}

/// True where the file itself is broken, so that reading on behind the place may work.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        code(error),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::SystemIoFailure)
    )
}

/// Why a database cannot be read at all, for the user.
pub(crate) fn unreadable(path: &Path, bytes: u64, error: &rusqlite::Error) -> LoadError {
    let again = "Copy or export the file again: `nsys export --type sqlite`.";
    let said = message(error);
    match code(error) {
        Some(ErrorCode::DatabaseCorrupt) => {
            let size = declared_size(path).filter(|&d| d > bytes);
            let cause = match size {
                Some(declared) => format!(
                    "The database is cut short: it says it has {declared} bytes, the file has {bytes}."
                ),
                None => format!("The database is damaged ({said})."),
            };
            LoadError::new(ErrorKind::Corrupt, path, cause, again)
        }
        Some(ErrorCode::NotADatabase) => LoadError::new(
            ErrorKind::Corrupt,
            path,
            format!("The file starts like an SQLite database, but its header is broken ({said})."),
            again,
        ),
        Some(ErrorCode::OutOfMemory) => LoadError::new(
            ErrorKind::TooLarge,
            path,
            "Memory ran out while the database was read.",
            "Close other programs, or export a shorter part of the recording.",
        ),
        _ => LoadError::new(
            ErrorKind::Io,
            path,
            format!("The database cannot be read ({said})."),
            "Check the permissions of the file and its folder, and that no program is writing it.",
        ),
    }
}

/// What SQLite said, without the text of the statement.
pub(crate) fn message(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(e, text) => text.clone().unwrap_or_else(|| e.to_string()),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

fn read_head(path: &Path) -> Result<(u64, Vec<u8>), LoadError> {
    let io = |e: std::io::Error| LoadError::io(path, &e);
    let file = open_regular(path).map_err(io)?;
    let bytes = file.metadata().map_err(io)?.len();
    let mut head = Vec::new();
    file.take(100).read_to_end(&mut head).map_err(io)?;
    Ok((bytes, head))
}

/// Pages × page size, as the header states them.
fn declared_size(path: &Path) -> Option<u64> {
    let (_, head) = read_head(path).ok()?;
    let size = u16::from_be_bytes(head.get(16..18)?.try_into().ok()?);
    let size = if size == 1 { 65_536 } else { u64::from(size) };
    let pages = u32::from_be_bytes(head.get(28..32)?.try_into().ok()?);
    Some(u64::from(pages) * size)
}

/// A connection and the tables.
type Looked = (Connection, Tables);

/// Opens the usual way, and where SQLite refuses that without the file being broken, as it stands.
fn connect(path: &Path, bytes: u64) -> Result<(Looked, Access, String), LoadError> {
    let plain = uri(path, false);
    let access = if is_special(&log::beside(path, "-journal")) {
        // SQLite would wait for what comes out of it.
        Access::AsItStands
    } else {
        let error = match connect_and_look(path, &plain) {
            Ok(looked) => return Ok((looked, Access::Plain, plain)),
            Err(e) => e,
        };
        match code(&error) {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Access::Locked,
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly) => Access::AsItStands,
            _ => return Err(unreadable(path, bytes, &error)),
        }
    };
    let uri = uri(path, true);
    let looked = connect_and_look(path, &uri).map_err(|e| unreadable(path, bytes, &e))?;
    Ok((looked, access, uri))
}

/// Whether there is something that is no regular file: a pipe, a device, a folder.
fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| !meta.is_file())
}

fn connect_and_look(path: &Path, uri: &str) -> rusqlite::Result<Looked> {
    let conn = open_uri(path, uri)?;
    let tables = read_schema(&conn)?;
    Ok((conn, tables))
}

fn open_uri(path: &Path, uri: &str) -> rusqlite::Result<Connection> {
    // A pipe may have taken its place since it was looked at, and SQLite would wait for its writer.
    if is_special(path) {
        let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        let text = "it is not a regular file any more".to_owned();
        return Err(rusqlite::Error::SqliteFailure(error, Some(text)));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let conn = Connection::open_with_flags(uri, flags)?;
    // A locked file is read as it stands at once; waiting for its writer would look like a hang.
    conn.busy_timeout(std::time::Duration::ZERO)?;
    private::prepare(&conn)?;
    Ok(conn)
}

/// Drops the pages that a connection holds. SQLite checks a page only when the connection reads it, and takes one that
/// failed for a good one while it holds it: behind damage, what is read would depend on what was read before. To be
/// called while no statement runs.
pub(crate) fn forget_pages(conn: &Connection) -> rusqlite::Result<()> {
    conn.release_memory()
}

fn read_schema(conn: &Connection) -> rusqlite::Result<Tables> {
    let mut names = Vec::new();
    // Virtual tables have no pages of their own.
    let mut query = conn.prepare(
        "SELECT name, type FROM sqlite_master WHERE (type = 'table' AND rootpage > 0) OR type = 'view'",
    )?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        if let (ValueRef::Text(name), ValueRef::Text(kind)) = (row.get_ref(0)?, row.get_ref(1)?)
            && let Ok(name) = std::str::from_utf8(name)
        {
            names.push((name.to_owned(), kind == b"view"));
        }
    }
    let mut tables = BTreeMap::new();
    for (name, view) in names {
        let (columns, form) = if view {
            // What it selects is nobody's business: it may fail, or never end.
            (Vec::new(), Form::View)
        } else {
            (columns_of(conn, &name)?, form_of(conn, &name))
        };
        let table = Table {
            columns,
            form,
            name: name.clone(),
        };
        tables.insert(name.to_ascii_lowercase(), table);
    }
    Ok(tables)
}

fn columns_of(conn: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut query = conn.prepare(&format!("PRAGMA table_info({})", quoted(table)))?;
    let mut rows = query.query([])?;
    let mut columns = Vec::new();
    while let Some(row) = rows.next()? {
        if let ValueRef::Text(column) = row.get_ref(1)?
            && let Ok(column) = std::str::from_utf8(column)
        {
            columns.push(column.to_owned());
        }
    }
    Ok(columns)
}

/// A table without row numbers has none under any of their names; the rest is found out when it is read.
fn form_of(conn: &Connection, table: &str) -> Form {
    let numbered = ["rowid", "_rowid_", "oid"].iter().any(|name| {
        let sql = format!("SELECT {name} FROM {} LIMIT 0", quoted(table));
        conn.prepare(&sql).is_ok()
    });
    if numbered {
        Form::Numbered
    } else {
        Form::WithoutRowNumbers
    }
}

/// `file:` URI of a path. `as_it_stands` = no locks, no journal, no log: SQLite touches nothing but the file.
fn uri(path: &Path, as_it_stands: bool) -> String {
    let mut out = String::from("file:");
    let bytes = path.as_os_str().as_encoded_bytes();
    if cfg!(windows) && bytes.get(1) == Some(&b':') {
        out.push('/');
    }
    if bytes.starts_with(b"//") {
        // Else the first name would be taken for a host.
        out.push_str("//");
    }
    for &b in bytes {
        match b {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => {
                out.push(char::from(b));
            }
            b'\\' if cfg!(windows) => out.push('/'),
            b':' if cfg!(windows) => out.push(':'),
            _ => out.push_str(&format!("%{b:02X}")),
        }
    }
    out.push_str(if as_it_stands {
        "?mode=ro&immutable=1"
    } else {
        "?mode=ro"
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris_byte_by_byte() {
        assert_eq!(
            uri(Path::new("/a b/50%#?.sqlite"), false),
            "file:/a%20b/50%25%23%3F.sqlite?mode=ro"
        );
        assert_eq!(
            uri(Path::new("Ü.db"), true),
            "file:%C3%9C.db?mode=ro&immutable=1"
        );
    }

    #[test]
    fn an_interrupt_reaches_all_connections() {
        let uri = "file:none?mode=memory".to_owned();
        let path = PathBuf::from("none");
        let conn = open_uri(&path, &uri).expect("opens");
        let db = Database {
            interrupts: Mutex::new(vec![conn.get_interrupt_handle()]),
            spare: Mutex::new(vec![conn]),
            private: None,
            path,
            bytes: 0,
            access: Access::Plain,
            uri,
            tables: Tables::new(),
        };
        let endless =
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";
        let connected = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            let run = || {
                let conn = db.connection().expect("opens");
                connected.wait();
                conn.query_row(endless, [], |_| Ok(()))
            };
            let both = [scope.spawn(run), scope.spawn(run)];
            while !both.iter().all(|thread| thread.is_finished()) {
                db.interrupt();
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            for thread in both {
                let error = thread.join().expect("no panic").expect_err("endless");
                assert_eq!(code(&error), Some(ErrorCode::OperationInterrupted));
            }
        });
        assert_eq!(lock(&db.spare).len(), 2);
    }

    #[test]
    fn names_are_quoted_for_sql() {
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
    }
}
