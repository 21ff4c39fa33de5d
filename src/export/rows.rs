//! Rows as JSON objects and as CSV, by their columns: times in ns, shares rounded to six decimals.

use std::io::{self, Write};

use serde_json::{Map, Value as Json};

use crate::analysis::{Analysis, ratio, round6};
use crate::columns::{Column, Unit, Value};

fn to_json(value: Value<'_>) -> Json {
    match value {
        Value::Time(ns) => ns.into(),
        Value::Count(n) => n.into(),
        Value::Share(part, whole) => ratio(part, whole).map(round6).into(),
        Value::Text(text) => text.map(String::from).into(),
        Value::Flag(is) => is.into(),
    }
}

/// A row as a JSON object; an unknown figure is `null`.
#[must_use]
pub fn object<R>(analysis: &Analysis, columns: &[&Column<R>], row: &R) -> Map<String, Json> {
    let mut out = Map::new();
    for column in columns {
        let value = to_json(column.value(analysis, row));
        let Some(parts) = column.within else {
            out.insert(column.key.to_owned(), value);
            continue;
        };
        let parts = out.entry(parts).or_insert_with(|| Map::new().into());
        if value.as_i64().is_some_and(|ns| ns > 0) {
            parts[column.key] = value;
        }
    }
    out
}

/// Rows as CSV under a line of headings; an unknown figure is an empty cell.
///
/// # Errors
/// Those of `out`.
pub fn csv<'a, R: 'static>(
    out: &mut dyn Write,
    analysis: &Analysis,
    columns: &[&Column<R>],
    rows: impl IntoIterator<Item = &'a R>,
) -> io::Result<()> {
    let heading = |c: &&Column<R>| match c.unit() {
        Unit::Ns => format!("{}_ns", c.key),
        Unit::Count | Unit::Share | Unit::Text | Unit::Flag => c.key.to_owned(),
    };
    let headings: Vec<String> = columns.iter().map(heading).collect();
    writeln!(out, "{}", headings.join(","))?;
    for row in rows {
        let cells = columns.iter().map(|c| cell(c.value(analysis, row)));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

fn cell(value: Value<'_>) -> String {
    match value {
        Value::Text(Some(text)) if text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::Text(text) => text.map_or(String::new(), String::from),
        Value::Time(ns) => ns.map_or(String::new(), |ns| ns.to_string()),
        Value::Count(n) => n.map_or(String::new(), |n| n.to_string()),
        Value::Share(part, whole) => {
            ratio(part, whole).map_or(String::new(), |x| round6(x).to_string())
        }
        Value::Flag(is) => u8::from(is).to_string(),
    }
}
