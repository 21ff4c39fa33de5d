//! One row of a table as args: every column by name, with string ids and NVTX domains resolved.

use std::path::Path;

use rusqlite::types::ValueRef;
use serde_json::{Map, Number, Value};

use super::open::{Database, message, quoted, unreadable};
use crate::import::contract::error::LoadError;
use crate::import::contract::importer::RowArgs;

/// Tables that spans refer to: the place in this list is what an [`crate::model::ArgsRef`] holds.
pub(crate) const TABLES: [&str; 15] = [
    KERNEL,
    MEMCPY,
    MEMSET,
    GRAPH_TRACE,
    RUNTIME,
    SYNC,
    NVTX,
    OSRT,
    OVERHEAD,
    PROFILER_OVERHEAD,
    "CUDNN_EVENTS",
    "CUBLAS_EVENTS",
    "MPI_P2P_EVENTS",
    "MPI_COLLECTIVES_EVENTS",
    "MPI_OTHER_EVENTS",
];

pub(crate) const KERNEL: &str = "CUPTI_ACTIVITY_KIND_KERNEL";
pub(crate) const MEMCPY: &str = "CUPTI_ACTIVITY_KIND_MEMCPY";
pub(crate) const MEMSET: &str = "CUPTI_ACTIVITY_KIND_MEMSET";
pub(crate) const GRAPH_TRACE: &str = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
pub(crate) const RUNTIME: &str = "CUPTI_ACTIVITY_KIND_RUNTIME";
pub(crate) const SYNC: &str = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
pub(crate) const CUDA_EVENT: &str = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";
pub(crate) const NVTX: &str = "NVTX_EVENTS";
pub(crate) const OSRT: &str = "OSRT_API";
pub(crate) const OVERHEAD: &str = "CUPTI_ACTIVITY_KIND_OVERHEAD";
pub(crate) const PROFILER_OVERHEAD: &str = "PROFILER_OVERHEAD";

/// The place of a table in [`TABLES`].
pub(crate) fn table_index(table: &str) -> u8 {
    let i = TABLES.iter().position(|t| *t == table).unwrap_or(0);
    u8::try_from(i).unwrap_or(0)
}

/// Reads rows of an export for display.
pub(crate) struct Rows {
    db: Database,
}

impl Rows {
    /// Opens the export; nothing is written beside it.
    ///
    /// # Errors
    /// When the file is gone or cannot be read.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        Database::open(path).map(|db| Self { db })
    }
}

impl RowArgs for Rows {
    /// Ids of strings are replaced by the strings, NVTX domain and category numbers get their names beside them; columns
    /// without a value are left out.
    fn read(&mut self, table: &str, rowid: i64) -> Result<Option<Map<String, Value>>, LoadError> {
        let db = &self.db;
        let (true, Some(key)) = (db.has(table), db.rowid_name(table)) else {
            return Ok(None);
        };
        let columns = db.columns(table);
        let list: Vec<String> = columns.iter().map(|c| quoted(c)).collect();
        let sql = format!(
            "SELECT {} FROM {} WHERE {key} = ?1",
            list.join(","),
            quoted(table)
        );
        let row = self
            .columns(&sql, columns, rowid)
            .map_err(|e| unreadable(&db.path, db.bytes, &e))?;
        Ok(row.map(|mut row| {
            if table == NVTX {
                explain_nvtx(db, &mut row);
            }
            row
        }))
    }
}

impl Rows {
    fn columns(
        &self,
        sql: &str,
        columns: &[String],
        rowid: i64,
    ) -> rusqlite::Result<Option<Map<String, Value>>> {
        let conn = self.db.connection()?;
        let mut statement = conn.prepare(sql)?;
        let mut rows = statement.query([rowid])?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let mut out = Map::new();
        for (i, column) in columns.iter().enumerate() {
            let value = row.get_ref(i)?;
            let resolved = match value {
                ValueRef::Integer(id) if is_string_id(column) => string(&self.db, id),
                _ => None,
            };
            if let Some(value) = resolved.map(Value::String).or_else(|| json(value)) {
                out.insert(column.clone(), value);
            }
        }
        Ok(Some(out))
    }
}

/// Columns that hold ids of strings in every version of the format.
fn is_string_id(column: &str) -> bool {
    column == "nameId"
        || column.ends_with("textId")
        || column.ends_with("TextId")
        || matches!(
            column,
            "demangledName" | "shortName" | "mangledName" | "argumentsId"
        )
}

/// The string of an id; none where the file does not explain it. That it cannot be read is said in its place.
fn string(db: &Database, id: i64) -> Option<String> {
    // Not a view, which has no columns here: the query behind it may never end.
    if !["id", "value"]
        .iter()
        .all(|c| db.has_column(super::strings::TABLE, c))
    {
        return None;
    }
    let read = |row: &rusqlite::Row<'_>| Ok(super::small::text(row, 0));
    let found = db
        .connection()
        .and_then(|conn| conn.query_row("SELECT value FROM StringIds WHERE id = ?1", [id], read));
    match found {
        Ok(text) => text,
        Err(rusqlite::Error::QueryReturnedNoRows) => None,
        Err(error) => Some(format!("{id} ({})", unread(&error))),
    }
}

fn unread(error: &rusqlite::Error) -> String {
    format!("its text could not be read: {}", message(error))
}

fn json(value: ValueRef<'_>) -> Option<Value> {
    Some(match value {
        ValueRef::Null => return None,
        ValueRef::Integer(n) => Value::from(n),
        ValueRef::Real(x) => {
            Number::from_f64(x).map_or_else(|| x.to_string().into(), Value::Number)
        }
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        ValueRef::Blob(bytes) => {
            let hex: String = bytes.iter().take(64).map(|b| format!("{b:02x}")).collect();
            let more = if bytes.len() > 64 { "…" } else { "" };
            format!("{hex}{more} ({} bytes)", bytes.len()).into()
        }
    })
}

/// Adds the names of an NVTX row's domain and category: rows of type 75 and 33 of the same process say them.
fn explain_nvtx(db: &Database, row: &mut Map<String, Value>) {
    let Some(thread) = row.get("globalTid").and_then(Value::as_i64) else {
        return;
    };
    let domain = row.get("domainId").and_then(Value::as_i64).unwrap_or(0);
    if domain != 0
        && let Some(name) = nvtx_name(db, 75, thread, domain, None)
    {
        row.insert("domain".to_owned(), name.into());
    }
    let category = row.get("category").and_then(Value::as_i64).unwrap_or(0);
    if category != 0
        && let Some(name) = nvtx_name(db, 33, thread, domain, Some(category))
    {
        row.insert("categoryName".to_owned(), name.into());
    }
}

fn nvtx_name(
    db: &Database,
    kind: i64,
    thread: i64,
    domain: i64,
    category: Option<i64>,
) -> Option<String> {
    let needed = ["eventType", "domainId", "globalTid"];
    let needed = needed.iter().chain(category.map(|_| &"category"));
    if !needed.into_iter().all(|c| db.has_column(NVTX, c)) {
        return None;
    }
    let column = |name| match db.has_column(NVTX, name) {
        true => name,
        false => "NULL",
    };
    let mut sql = format!(
        "SELECT {}, {} FROM NVTX_EVENTS WHERE eventType = ?1 AND domainId = ?2 AND (globalTid >> 24) = ?3",
        column("text"),
        column("textId")
    );
    if category.is_some() {
        sql.push_str(" AND category = ?4");
    }
    sql.push_str(" LIMIT 1");
    let read =
        |row: &rusqlite::Row<'_>| Ok((super::small::text(row, 0), super::small::integer(row, 1)));
    let process = thread >> 24;
    let found = db.connection().and_then(|conn| match category {
        Some(c) => conn.query_row(&sql, [kind, domain, process, c], read),
        None => conn.query_row(&sql, [kind, domain, process], read),
    });
    match found {
        Ok((text, id)) => text.or_else(|| string(db, id?)),
        Err(rusqlite::Error::QueryReturnedNoRows) => None,
        Err(error) => Some(unread(&error)),
    }
}
