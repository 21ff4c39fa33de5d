//! Rows as JSON objects and as CSV, by their columns: times in ns, shares rounded to six decimals.

use std::io::{self, Write};

use serde_json::{Map, Value as Json};

use crate::analysis::{Analysis, LayerId, ratio, round6};
use crate::columns::{ByPhase, Column, Value};

fn to_json(analysis: &Analysis, value: Value<'_>) -> Json {
    match value {
        Value::Time(ns) => ns.into(),
        Value::Mean(ns) => ns.and_then(whole).into(),
        Value::Count(n) => n.into(),
        Value::Bytes(n) => n.into(),
        Value::Share(part, whole) => ratio(part, whole).map(round6).into(),
        Value::Average(x) | Value::Rate(x) => x.map(round6).into(),
        Value::Text(text) => text.map(String::from).into(),
        Value::Phase(phase) => phase_name(analysis, phase, "none").into(),
        Value::Phases(parts) => by_phase(analysis, parts, "none"),
        Value::Flag(is) => is.into(),
    }
}

/// A modelled time or a mean as whole ns.
#[expect(
    clippy::cast_possible_truncation,
    reason = "modelled times far below 2^63 ns"
)]
pub(super) fn whole(ns: f64) -> Option<i64> {
    ns.is_finite().then_some(ns.round() as i64)
}

fn phase_name<'a>(analysis: &'a Analysis, phase: Option<LayerId>, none: &'a str) -> &'a str {
    phase.map_or(none, |l| &analysis.layers().info(l).name)
}

/// Times by phase; `none` is the name of the time between phases.
pub(super) fn by_phase(analysis: &Analysis, parts: &ByPhase, none: &str) -> Json {
    let part = |&(l, ns): &(_, i64)| (phase_name(analysis, l, none).to_owned(), Json::from(ns));
    parts.iter().map(part).collect::<Map<_, _>>().into()
}

/// A row as a JSON object; an unknown figure is `null`.
#[must_use]
pub fn object<R>(analysis: &Analysis, columns: &[&Column<R>], row: &R) -> Map<String, Json> {
    named(analysis, columns, row, |c| c.key.to_owned())
}

/// The same with keys that end in their unit.
#[must_use]
pub fn object_with_units<R>(
    analysis: &Analysis,
    columns: &[&Column<R>],
    row: &R,
) -> Map<String, Json> {
    named(analysis, columns, row, Column::key_and_unit)
}

fn named<R>(
    analysis: &Analysis,
    columns: &[&Column<R>],
    row: &R,
    name: impl Fn(&Column<R>) -> String,
) -> Map<String, Json> {
    let mut out = Map::new();
    for column in columns {
        let value = to_json(analysis, column.value(analysis, row));
        let Some(parts) = column.within else {
            out.insert(name(column), value);
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
    let headings: Vec<String> = columns.iter().map(|c| c.key_and_unit()).collect();
    writeln!(out, "{}", headings.join(","))?;
    for row in rows {
        let cells = columns
            .iter()
            .map(|c| cell(analysis, c.value(analysis, row)));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

fn cell(analysis: &Analysis, value: Value<'_>) -> String {
    match to_json(analysis, value) {
        Json::Null => String::new(),
        Json::Bool(is) => u8::from(is).to_string(),
        Json::String(text) => quoted(&text),
        Json::Number(n) => n.to_string(),
        // Times by phase.
        other => quoted(&other.to_string()),
    }
}

/// A text cell: in quotes where it needs them.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
