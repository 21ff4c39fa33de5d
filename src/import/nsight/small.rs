//! Small tables, read row by row, and single values of any type.

use rusqlite::types::ValueRef;

use super::open::quoted;
use super::scan::Reader;
use crate::import::LoadError;

/// Reads a small table of any column types, in order of its row numbers: calls `take` with each row
/// (columns from 1 on; those that the file lacks are none). Ends quietly at damage and where texts are longer than the
/// file, and says so by returning false.
pub(super) fn each_row(
    reader: &Reader<'_>,
    table: &str,
    columns: &[&str],
    mut take: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<()>,
) -> Result<bool, LoadError> {
    let db = reader.db;
    let (true, Some(rowid)) = (db.has(table), db.rowid_name(table)) else {
        return Ok(true);
    };
    let mut sql = format!("SELECT {rowid}");
    for column in columns {
        sql.push(',');
        if db.has_column(table, column) {
            sql.push_str(&quoted(column));
        } else {
            sql.push_str("NULL");
        }
    }
    sql.push_str(&format!(" FROM {} ORDER BY {rowid}", quoted(table)));
    let mut run = || -> rusqlite::Result<bool> {
        let conn = db.connection()?;
        let mut statement = conn.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut last = None;
        let mut text_room = reader.text_room();
        let mut count = 0_u32;
        while let Some(row) = rows.next()? {
            let ValueRef::Integer(number) = row.get_ref(0)? else {
                return Ok(false);
            };
            if last.is_some_and(|l| number <= l) {
                return Ok(false);
            }
            last = Some(number);
            for column in 1..=columns.len() {
                let bytes = match row.get_ref(column)? {
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len() as u64,
                    _ => 0,
                };
                let Some(left) = text_room.checked_sub(bytes) else {
                    return Ok(false);
                };
                text_room = left;
            }
            take(row)?;
            count = count.wrapping_add(1);
            if count.is_multiple_of(2_048) && reader.progress.is_cancelled() {
                break;
            }
        }
        Ok(true)
    };
    let whole = run().unwrap_or(false);
    reader.progress.check(&db.path)?;
    Ok(whole)
}

/// An integer, if the value is one.
pub(super) fn integer(row: &rusqlite::Row<'_>, column: usize) -> Option<i64> {
    match row.get_ref(column).ok()? {
        ValueRef::Integer(value) => Some(value),
        _ => None,
    }
}

/// A text, made valid where it is not.
pub(super) fn text(row: &rusqlite::Row<'_>, column: usize) -> Option<String> {
    match row.get_ref(column).ok()? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
        ValueRef::Integer(n) => Some(n.to_string()),
        ValueRef::Real(x) => Some(x.to_string()),
        ValueRef::Null => None,
    }
}
