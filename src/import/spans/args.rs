//! The args of a row: all cells that are no part of it otherwise, read again from its record.
//!
//! What the columns are called is kept with the trace, so that nobody has to look for the header again.

use csv::ByteRecord;
use serde_json::{Map, Value};

use super::cells::{cell, reader};
use super::header::Header;
use crate::model::{SourceId, Trace, TraceBuilder};

/// The alias under which the separator of cells is kept.
const DELIMITER: &str = "delimiter";

/// The alias under which the name of a column is kept.
fn column(at: usize) -> String {
    format!("column {at}")
}

/// Keeps what is needed to read args later.
pub(super) fn keep(header: &Header, source: SourceId, builder: &mut TraceBuilder) {
    let delimiter = char::from(header.delimiter).to_string();
    builder.add_alias(Some(source), DELIMITER, &delimiter);
    // A value beside an end is an arg of the span.
    let value = header.value.map(|at| (at, "value"));
    let others = header.args.iter().map(|(at, name)| (*at, name.as_str()));
    for (at, name) in others.chain(value) {
        builder.add_alias(Some(source), &column(at), name);
    }
}

/// The args of a record, empty ones left out.
pub(super) fn of_record(text: &[u8], trace: &Trace, source: SourceId) -> Map<String, Value> {
    let delimiter = trace
        .alias(source, DELIMITER)
        .unwrap_or_default()
        .as_bytes();
    let mut record = ByteRecord::new();
    let mut reader = reader(text, delimiter.first().copied().unwrap_or(b','));
    // Reading from memory does not fail.
    let _there = reader.read_byte_record(&mut record);
    let args = (0..record.len()).filter_map(|at| {
        let text = cell(&record, at);
        let name = trace
            .alias(source, &column(at))
            .filter(|_| !text.is_empty())?;
        let text = String::from_utf8_lossy(text).into_owned();
        Some((name.to_owned(), Value::String(text)))
    });
    args.collect()
}
