//! The string table of an export: most names in the other tables are ids into it.
//!
//! Sampling can fill it with millions of symbols that nothing else uses, so texts stay in one buffer until an id is
//! asked for, and only then become names of the trace.

use rustc_hash::FxHashMap;

use super::scan::{Block, Spec};
use crate::import::nsight::tally::{Reason, Tally};
use crate::model::{NameId, TraceBuilder};

/// The table's name.
pub(crate) const TABLE: &str = "StringIds";

/// The table and its columns.
pub(crate) const SPEC: Spec<1> = Spec {
    table: TABLE,
    columns: ["id"],
    text: Some("value"),
    required: 1,
};

/// Texts by id.
#[derive(Default)]
pub(crate) struct Strings {
    /// Sorted by id; the text ends at `end` and starts where the one stored before it ends.
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    names: FxHashMap<i64, Option<NameId>>,
    calls: FxHashMap<i64, Option<NameId>>,
}

#[derive(Clone, Copy)]
struct Entry {
    id: i64,
    start: usize,
    end: usize,
}

impl Strings {
    /// Takes rows in.
    pub fn push(&mut self, block: &Block<1>, tally: &mut Tally) {
        for (i, row) in block.rows().iter().enumerate() {
            let (Some(id), Some(text)) = (row.get(0), block.text(i)) else {
                continue;
            };
            if std::str::from_utf8(text).is_err() {
                tally.row(Reason::BadText, TABLE, row.rowid);
            }
            let start = self.bytes.len();
            self.bytes.extend_from_slice(text);
            let end = self.bytes.len();
            self.entries.push(Entry { id, start, end });
        }
    }

    /// To be called after the last row.
    pub fn finish(&mut self) {
        // Stable, so that of equal ids the first row counts.
        self.entries.sort_by_key(|e| e.id);
        self.bytes.shrink_to_fit();
        self.entries.shrink_to_fit();
    }

    /// True when the file explains no id at all.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The bytes of a text.
    pub fn bytes(&self, id: i64) -> Option<&[u8]> {
        let i = self.entries.partition_point(|e| e.id < id);
        let entry = self.entries.get(i).filter(|e| e.id == id)?;
        Some(&self.bytes[entry.start..entry.end])
    }

    /// A text, made valid where it is not.
    pub fn text(&self, id: i64) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes(id)?).into_owned())
    }

    /// The name of an id.
    pub fn name(&mut self, id: i64, builder: &mut TraceBuilder) -> Option<NameId> {
        if let Some(&known) = self.names.get(&id) {
            return known;
        }
        let text = self.bytes(id).map(String::from_utf8_lossy);
        let name = text.map(|text| builder.intern(&text));
        self.names.insert(id, name);
        name
    }

    /// The name of an API call: without the version suffix that CUPTI adds.
    pub fn call(&mut self, id: i64, builder: &mut TraceBuilder) -> Option<NameId> {
        if let Some(&known) = self.calls.get(&id) {
            return known;
        }
        let text = self
            .bytes(id)
            .map(strip_version)
            .map(String::from_utf8_lossy);
        let name = text.map(|text| builder.intern(&text));
        self.calls.insert(id, name);
        name
    }
}

/// `cudaLaunchKernel_v7000` → `cudaLaunchKernel`, `cudaMemcpyAsync_ptsz_v7000` → `cudaMemcpyAsync`: the version of the
/// function's parameters and the per-thread-stream variant say nothing about what the call does.
pub(crate) fn strip_version(name: &[u8]) -> &[u8] {
    let digits = name.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let Some(rest) = name[..name.len() - digits].strip_suffix(b"_v") else {
        return name;
    };
    if digits == 0 {
        return name;
    }
    rest.strip_suffix(b"_ptsz")
        .or_else(|| rest.strip_suffix(b"_ptds"))
        .unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_stripped_from_calls() {
        for (from, to) in [
            ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
            ("cudaGraphLaunch_v10000", "cudaGraphLaunch"),
            ("cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync"),
            ("cudaMemcpy_ptds_v7000", "cudaMemcpy"),
            ("cuLaunchKernel", "cuLaunchKernel"),
            ("cuMemAlloc_v2", "cuMemAlloc"),
            ("_v7000", ""),
            ("7000", "7000"),
            ("memory_v", "memory_v"),
            ("", ""),
        ] {
            assert_eq!(strip_version(from.as_bytes()), to.as_bytes(), "{from}");
        }
    }
}
