//! Names and what they take, as JSON.

use serde_json::{Value, json};

use super::report::SCHEMA;
use super::rows::object;
use crate::analysis::{Analysis, NameTime};
use crate::columns::{NAME_TIME, Output, shown};
use crate::time::TimeRange;

/// What the names of a window take: of one rank (by its number) or of all. `left_out` rows are not among `rows`.
#[must_use]
pub fn names<'a>(
    analysis: &Analysis,
    window: TimeRange,
    rank: Option<u32>,
    rows: impl IntoIterator<Item = &'a NameTime>,
    left_out: usize,
) -> Value {
    let columns = shown(NAME_TIME, Output::Json, "layer name");
    let rows = rows.into_iter();
    let rows = rows.map(|row| Value::from(object(analysis, &columns, row)));
    json!({
        "schema": SCHEMA,
        "by": "name",
        "window": [window.start, window.end],
        "rank": rank,
        "names": rows.collect::<Vec<_>>(),
        "left_out": left_out,
    })
}
