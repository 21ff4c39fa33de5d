//! Rows as cells of text tables, by their columns.

use super::table::{ms, percent, printable, us};
use crate::analysis::Analysis;
use crate::columns::{Column, Unit, Value};
use crate::time::format_count;

/// The headings, for [`super::table::Table::new`]: text is left-aligned.
pub fn heads<R>(columns: &[&Column<R>]) -> Vec<String> {
    let head = |c: &&Column<R>| match c.unit() {
        Unit::Text => format!("<{}", c.text),
        _ => c.text.to_owned(),
    };
    columns.iter().map(head).collect()
}

/// The cells of a row; an unknown figure is a dash.
pub fn cells<R>(analysis: &Analysis, columns: &[&Column<R>], row: &R) -> Vec<String> {
    let cell = |c: &&Column<R>| cell(c.text, c.value(analysis, row));
    columns.iter().map(cell).collect()
}

/// A time in the unit of its column's heading, or a dash.
pub fn time(heading: &str, ns: Option<i64>) -> String {
    let format = if heading.ends_with("µs") { us } else { ms };
    ns.map_or_else(|| "-".to_owned(), format)
}

fn cell(heading: &str, value: Value<'_>) -> String {
    let known = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    match value {
        Value::Time(ns) => time(heading, ns),
        Value::Count(n) => known(n.map(format_count)),
        Value::Share(part, whole) => percent(part, whole),
        Value::Text(text) => known(text.map(|t| printable(&t))),
        Value::Flag(is) => if is { "yes" } else { "no" }.to_owned(),
    }
}
