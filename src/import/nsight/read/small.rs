//! Small tables, read row by row, and single values of any type.
//!
//! What cannot be read is kept with what is unknown because of it: a table that is not there was not recorded, a table
//! that is there and cannot be read is a loss.

use std::sync::{Mutex, PoisonError};

use rusqlite::types::ValueRef;

use super::open::{forget_pages, is_damage, message, quoted};
use super::scan::{FIRST_SKIP, LONG_TEXTS, Reader};
use crate::import::contract::error::LoadError;
use crate::import::contract::report::{Fact, ImportReport, Loss, NoticeKind};
use crate::model::SourceId;

/// A small table, the columns that are wanted of it by name, and what is not known without it.
pub(crate) struct Small {
    /// The table.
    pub table: &'static str,
    /// Columns of any type.
    pub columns: &'static [&'static str],
    /// How many of the first columns its rows mean nothing without.
    pub required: usize,
    /// What is not known where it cannot be read, as a part of a sentence.
    pub without: &'static str,
}

/// Why something of a small table is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A page of the file is broken.
    Damaged,
    /// The table has another form than nsys gives it.
    Unreadable,
    /// A value is not of its kind.
    BadValue,
    /// A table that is only counted is damaged.
    NotCounted,
}

/// What of the small tables could not be read.
#[derive(Default)]
pub(crate) struct Unread(Mutex<Vec<Lack>>);

struct Lack {
    trouble: Trouble,
    table: &'static str,
    why: String,
    without: &'static str,
}

impl Lack {
    fn text(&self) -> String {
        let (table, why) = (self.table, &self.why);
        match self.without {
            "" => format!("{table} ({why})"),
            without => format!("{table} ({why}): {without}"),
        }
    }
}

impl Unread {
    /// Notes it, once per table and trouble.
    pub fn add(&self, trouble: Trouble, small: &Small, why: String) {
        self.push(trouble, small.table, why, small.without);
    }

    /// Notes that a table that is only counted is damaged.
    pub fn not_counted(&self, table: &'static str, why: String) {
        self.push(Trouble::NotCounted, table, why, "");
    }

    fn push(&self, trouble: Trouble, table: &'static str, why: String, without: &'static str) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |l: &Lack| l.trouble == trouble && l.table == table;
        if !list.iter().any(known) {
            list.push(Lack {
                trouble,
                table,
                why,
                without,
            });
        }
    }

    /// True where something of the table could not be read.
    pub fn has(&self, table: &str) -> bool {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.iter().any(|l| l.table == table)
    }

    /// A notice per trouble that names the tables and what is not known.
    pub fn report(&self, report: &mut ImportReport, source: SourceId) {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let facts: [(Trouble, Fact, &'static str, &str); 4] = [
            (
                Trouble::Damaged,
                NoticeKind::Damaged.into(),
                "damaged_table",
                "The file is damaged: tables that describe the recording could not be read whole",
            ),
            (
                Trouble::Unreadable,
                NoticeKind::Skipped.into(),
                "facts_unreadable",
                "Tables that describe the recording could not be read",
            ),
            (
                Trouble::BadValue,
                NoticeKind::Skipped.into(),
                "bad_facts",
                "Values in tables that describe the recording cannot be what they should be",
            ),
            (
                Trouble::NotCounted,
                NoticeKind::Damaged.losing(Loss::Nothing),
                "damaged_not_drawn",
                "The file is damaged: tables that are not drawn, and of which no figure is made, could not be counted whole",
            ),
        ];
        for (trouble, fact, code, intro) in facts {
            let lacks: Vec<&Lack> = list.iter().filter(|l| l.trouble == trouble).collect();
            let said: Vec<String> = lacks.iter().map(|l| l.text()).collect();
            // Never put together with what is said of the tables of events: both texts are needed.
            let text = format!(
                "{intro}. {}. Copy or export the file again: `nsys export --type sqlite`.",
                said.join(". ")
            );
            let count = lacks.len() as u64;
            report.note_whole(fact, code, Some(source), count, &[], text);
        }
    }
}

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
