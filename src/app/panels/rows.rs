//! Tables of rows by their columns: headings, tooltips, order, widths and cells.

use crate::analysis::Analysis;
use crate::app::model::facts::{by_phase, phase};
use crate::app::widgets::fn_table::FnTable;
use crate::app::widgets::table::{Cell, Column as Head, TableState};
use crate::columns::{Column, Output, Value, shown};
use crate::view::format_value;

/// Width of a column that is not named, points.
const WIDTH: f32 = 100.0;

/// Keys and widths in points of a text such as `step=130 time=100`: the columns of a table in its order.
fn named(widths: &str) -> impl Iterator<Item = (&str, f32)> {
    let parts = widths.split_whitespace();
    let parts = parts.filter_map(|part| part.split_once('='));
    parts.map(|(key, width)| (key, width.parse().unwrap_or(WIDTH)))
}

/// A table of rows; `widths` names columns and their widths, the others follow.
pub fn table<'a, R>(
    analysis: &'a Analysis,
    table: &'static [Column<R>],
    widths: &str,
    rows: usize,
    row: impl Fn(usize) -> &'a R + 'a,
) -> FnTable<'a> {
    table_of(analysis, table, widths, |_| true, rows, row)
}

/// The same of the columns that `keep` wants.
pub fn table_of<'a, R>(
    analysis: &'a Analysis,
    table: &'static [Column<R>],
    widths: &str,
    keep: impl Fn(&Column<R>) -> bool,
    rows: usize,
    row: impl Fn(usize) -> &'a R + 'a,
) -> FnTable<'a> {
    let first: Vec<&str> = named(widths).map(|n| n.0).collect();
    let mut columns = shown(table, Output::Panel, &first.join(" "));
    columns.retain(|c| keep(c));
    let head = |c: &&'static Column<R>| {
        let width = named(widths).find(|n| n.0 == c.key);
        Head {
            title: c.title.into(),
            tip: c.help.into(),
            width: width.map_or(WIDTH, |n| n.1),
            numeric: !c.is_text(),
        }
    };
    let heads = columns.iter().map(head).collect();
    FnTable::new(heads, rows, move |r, column| {
        cell(analysis, columns[column].value(analysis, row(r)))
    })
}

/// The order of a table that starts sorted by a column, largest first.
pub fn descending(widths: &str, key: &str) -> TableState {
    let place = named(widths).position(|n| n.0 == key);
    TableState::descending(place.unwrap_or(0))
}

fn cell<'a>(analysis: &'a Analysis, value: Value<'a>) -> Cell<'a> {
    match value {
        Value::Time(ns) => Cell::ns(ns),
        Value::Mean(ns) => Cell::ns(ns.map(|ns| ns.round() as i64)),
        Value::Count(n) => n.map_or(Cell::None, Cell::Count),
        Value::Bytes(n) => n.map_or(Cell::None, |n| Cell::text(format_value(n as f64) + "B")),
        Value::Average(x) | Value::Rate(x) => {
            x.map_or(Cell::None, |x| Cell::text(format!("{x:.1}")))
        }
        Value::Share(part, whole) => Cell::share_of(part, whole),
        Value::Text(text) => text.map_or(Cell::None, Cell::Text),
        Value::Phase(id) => Cell::text(phase(analysis, id)),
        Value::Phases(parts) => Cell::text(by_phase(analysis, parts)),
        Value::Flag(is) => Cell::text(if is { "yes" } else { "no" }),
    }
}
