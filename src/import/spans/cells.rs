//! Records in memory to cells, by the `csv` crate.

use csv::{ByteRecord, Reader, ReaderBuilder};

/// A reader of records from memory.
pub(super) fn reader(bytes: &[u8], delimiter: u8) -> Reader<&[u8]> {
    ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .from_reader(bytes)
}

/// A cell without blanks around it; empty where the record has none.
pub(super) fn cell(record: &ByteRecord, at: usize) -> &[u8] {
    record.get(at).unwrap_or_default().trim_ascii()
}
