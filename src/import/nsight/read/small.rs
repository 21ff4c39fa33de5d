//! Small tables, read row by row, and single values of any type.

use rusqlite::types::ValueRef;

use super::open::{forget_pages, is_damage, message, quoted};
use super::scan::{FIRST_SKIP, LONG_TEXTS, Reader};
use super::unread::{Small, Trouble};
use crate::import::contract::error::LoadError;

/// Reads a small table of any column types, in order of its row numbers: calls `take` with the row number and the row
/// (columns from 1 on; those that the file lacks are none). Goes on behind damage; what could not be read is noted.
pub(crate) fn each_row(
    reader: &Reader<'_>,
    small: &Small,
    mut take: impl FnMut(i64, &rusqlite::Row<'_>) -> rusqlite::Result<()>,
) -> Result<(), LoadError> {
    let (db, table) = (reader.db, small.table);
    let unreadable = |why: String| reader.unread.add(Trouble::Unreadable, small, why);
    let rowid = match (db.form(table), db.rowid_name(table)) {
        (None, _) => return Ok(()),
        (Some(form), None) => {
            unreadable(form.why_unreadable().to_owned());
            return Ok(());
        }
        (_, Some(rowid)) => rowid,
    };
    let mut sql = format!("SELECT {rowid}");
    let mut missing = None;
    for (i, column) in small.columns.iter().enumerate() {
        sql.push(',');
        if db.has_column(table, column) {
            sql.push_str(&quoted(column));
        } else {
            sql.push_str("NULL");
            missing = missing.or((i < small.required).then_some(*column));
        }
    }
    sql.push_str(&format!(
        " FROM {} NOT INDEXED WHERE {rowid} >= ?1 ORDER BY {rowid}",
        quoted(table)
    ));
    let mut at = At {
        from: i64::MIN,
        last: None,
        text_room: reader.text_room(),
    };
    let mut skip = FIRST_SKIP;
    loop {
        let run = run(reader, &sql, &mut at, |number, row| {
            match missing {
                // Of an empty table nothing is missed.
                Some(column) => {
                    unreadable(format!("no column {column}"));
                    Ok(false)
                }
                None => take(number, row).map(|()| true),
            }
        });
        reader.progress.check(&db.path)?;
        let why = match run {
            Ok(Ended::Done) => break,
            Ok(Ended::LongTexts) => {
                unreadable(LONG_TEXTS.to_owned());
                break;
            }
            Ok(Ended::Disorder) => "its rows are out of order".to_owned(),
            Err(e) if is_damage(&e) => message(&e),
            Err(e) => {
                unreadable(message(&e));
                break;
            }
        };
        reader.unread.add(Trouble::Damaged, small, why);
        // Row numbers count from 1 where nobody chose others.
        let behind = at.last.unwrap_or(0).max(at.from);
        let Some(next) = behind.checked_add(skip) else {
            break;
        };
        at.from = next;
        skip = skip.saturating_mul(2);
    }
    Ok(())
}

/// How far the reading of a table has come.
struct At {
    /// The least row number that may come.
    from: i64,
    /// The last one that came.
    last: Option<i64>,
    /// Bytes of text that may come.
    text_room: u64,
}

enum Ended {
    Done,
    /// Row numbers do not ascend: the tree is damaged.
    Disorder,
    /// Texts are longer than the file can hold.
    LongTexts,
}

/// Reads from a row number on, until `take` wants no more.
fn run(
    reader: &Reader<'_>,
    sql: &str,
    at: &mut At,
    mut take: impl FnMut(i64, &rusqlite::Row<'_>) -> rusqlite::Result<bool>,
) -> rusqlite::Result<Ended> {
    let conn = reader.db.connection()?;
    forget_pages(&conn)?;
    let mut statement = conn.prepare(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query([at.from])?;
    let mut count = 0_u32;
    while let Some(row) = rows.next()? {
        let ValueRef::Integer(number) = row.get_ref(0)? else {
            return Ok(Ended::Disorder);
        };
        if number < at.from || at.last.is_some_and(|l| number <= l) {
            return Ok(Ended::Disorder);
        }
        at.last = Some(number);
        for column in 1..columns {
            let bytes = match row.get_ref(column)? {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len() as u64,
                _ => 0,
            };
            let Some(left) = at.text_room.checked_sub(bytes) else {
                return Ok(Ended::LongTexts);
            };
            at.text_room = left;
        }
        if !take(number, row)? {
            break;
        }
        count = count.wrapping_add(1);
        if count.is_multiple_of(2_048) && reader.progress.is_cancelled() {
            break;
        }
    }
    Ok(Ended::Done)
}

/// An integer, if the value is one.
pub(crate) fn integer(row: &rusqlite::Row<'_>, column: usize) -> Option<i64> {
    match row.get_ref(column).ok()? {
        ValueRef::Integer(value) => Some(value),
        _ => None,
    }
}

/// True for a value that is there and no integer.
pub(crate) fn is_junk(row: &rusqlite::Row<'_>, column: usize) -> bool {
    let value = row.get_ref(column);
    value.is_ok_and(|v| !matches!(v, ValueRef::Integer(_) | ValueRef::Null))
}

/// A text, made valid where it is not.
pub(crate) fn text(row: &rusqlite::Row<'_>, column: usize) -> Option<String> {
    match row.get_ref(column).ok()? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
        ValueRef::Integer(n) => Some(n.to_string()),
        ValueRef::Real(x) => Some(x.to_string()),
        ValueRef::Null => None,
    }
}
