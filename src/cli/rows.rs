//! Rows as cells of text tables, by their columns.

use super::table::{Table, bytes, ms, percent, printable, us};
use crate::analysis::{Analysis, LayerId};
use crate::columns::{Column, Value};
use crate::time::format_count;

/// The headings, for [`super::table::Table::new`]: text is left-aligned.
pub fn heads<R>(columns: &[&Column<R>]) -> Vec<String> {
    let head = |c: &&Column<R>| {
        let left = if c.is_text() { "<" } else { "" };
        format!("{left}{}", c.text)
    };
    columns.iter().map(head).collect()
}

/// The cells of a row; an unknown figure is a dash.
pub fn cells<R>(analysis: &Analysis, columns: &[&Column<R>], row: &R) -> Vec<String> {
    let cell = |c: &&Column<R>| cell(analysis, c.text, c.value(analysis, row));
    columns.iter().map(cell).collect()
}

/// A table of rows; `mark` changes their cells.
pub fn table<'a, R: 'static>(
    analysis: &Analysis,
    columns: &[&Column<R>],
    rows: impl IntoIterator<Item = &'a R>,
    mark: impl Fn(&R, &mut [String]),
) -> Table {
    let mut table = Table::new(&heads(columns));
    for row in rows {
        let mut cells = cells(analysis, columns, row);
        mark(row, &mut cells);
        table.row(cells);
    }
    table
}

/// A time in the unit of its column's heading, or a dash.
pub fn time(heading: &str, ns: Option<i64>) -> String {
    let format = if heading.ends_with("µs") { us } else { ms };
    ns.map_or_else(|| "-".to_owned(), format)
}

/// Phases of a cell.
const PHASES: usize = 4;

fn cell(analysis: &Analysis, heading: &str, value: Value<'_>) -> String {
    let known = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let phase = |phase: Option<LayerId>| match phase {
        Some(layer) => printable(&analysis.layers().info(layer).name),
        None => "no phase".to_owned(),
    };
    match value {
        Value::Time(ns) => time(heading, ns),
        Value::Mean(ns) => known(ns.map(|ns| format!("{:.3}", ns / 1e6))),
        Value::Average(x) | Value::Rate(x) => known(x.map(|x| format!("{x:.1}"))),
        Value::Phase(layer) => phase(layer),
        Value::Phases(parts) => {
            let part = |&(layer, ns): &(_, i64)| format!("{} {}", phase(layer), ms(ns));
            let parts: Vec<String> = parts.iter().take(PHASES).map(part).collect();
            parts.join(", ")
        }
        Value::Count(n) => known(n.map(format_count)),
        Value::Bytes(n) => known(n.map(|n| {
            format!(
                "{}{}",
                if n < 0 { "-" } else { "" },
                bytes(n.unsigned_abs())
            )
        })),
        Value::Share(part, whole) => percent(part, whole),
        Value::Text(text) => known(text.map(|t| printable(&t))),
        Value::Flag(is) => if is { "yes" } else { "no" }.to_owned(),
    }
}
