//! What ran on the GPUs: kernels, copies, memsets, CUDA graphs, each linked to the API call that launched it.

use rustc_hash::FxHashMap;

use super::Export;
use super::lanes::StreamKey;
use crate::import::contract::error::LoadError;
use crate::import::nsight::read::rows::{GRAPH_TRACE, KERNEL, MEMCPY, MEMSET};
use crate::import::nsight::read::scan::{Row, Spec};
use crate::import::nsight::tally::Reason;
use crate::model::{CatId, CopyInfo, CopyKind, NameId, RawSpan};

/// Columns that all tables of GPU work share, in the order of [`COMMON`].
const START: usize = 0;
const END: usize = 1;
const DEVICE: usize = 2;
const CONTEXT: usize = 3;
const STREAM: usize = 4;
const CORRELATION: usize = 5;
const PROCESS: usize = 6;

macro_rules! common {
    ($($more:expr),*) => {
        ["start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", $($more),*]
    };
}

/// Copies of unified memory: migrations by the driver, of no stream.
const MANAGED_COPIES: std::ops::RangeInclusive<i64> = 11..=13;

impl Export<'_> {
    /// Kernels.
    pub(crate) fn kernels(&mut self) -> Result<(), LoadError> {
        // The full name, or the best that the file has.
        let name = ["demangledName", "shortName", "mangledName"]
            .into_iter()
            .find(|c| self.reader.db.has_column(KERNEL, c))
            .unwrap_or("demangledName");
        let spec = Spec {
            table: KERNEL,
            columns: common![name],
            text: None,
            required: 2,
        };
        let cat = self.builder.category("kernel", true);
        let mut fallback = FxHashMap::default();
        self.scan(&spec, |this, block| {
            for row in block.rows() {
                let known = row
                    .get(7)
                    .and_then(|id| this.strings.name(id, this.builder));
                let name = match known {
                    Some(name) => name,
                    None => this.kernel_fallback(row, row.get(7), &mut fallback),
                };
                this.operation(KERNEL, row, name, cat, false);
            }
        })
    }

    /// The name of a kernel whose full name is not in the file: the short or the mangled one, else `?`.
    fn kernel_fallback(
        &mut self,
        row: &Row<8>,
        id: Option<i64>,
        known: &mut FxHashMap<i64, NameId>,
    ) -> NameId {
        if let Some(&name) = id.and_then(|id| known.get(&id)) {
            if name == self.unknown {
                self.tally.row(Reason::UnknownName, KERNEL, row.rowid);
            }
            return name;
        }
        let mut found = None;
        for column in ["shortName", "mangledName"] {
            if found.is_none()
                && !self.strings.is_empty()
                && let Some(other) = self.integer_of(KERNEL, column, row.rowid)
            {
                found = self.strings.name(other, self.builder);
            }
        }
        let name = found.unwrap_or_else(|| {
            self.tally.row(Reason::UnknownName, KERNEL, row.rowid);
            self.unknown
        });
        if let Some(id) = id {
            known.insert(id, name);
        }
        name
    }

    /// Copies.
    pub(crate) fn copies(&mut self) -> Result<(), LoadError> {
        let spec = Spec {
            table: MEMCPY,
            columns: common!["bytes", "copyKind", "srcKind", "dstKind"],
            text: None,
            required: 2,
        };
        let cat = self.builder.category("memcpy", true);
        let mut names: FxHashMap<[Option<i64>; 3], NameId> = FxHashMap::default();
        self.scan(&spec, |this, block| {
            for row in block.rows() {
                let kind = row.get(8);
                let key = [kind, row.get(9), row.get(10)];
                let name = *names
                    .entry(key)
                    .or_insert_with(|| this.builder.intern(&copy_name(key)));
                let managed = kind.is_some_and(|k| MANAGED_COPIES.contains(&k))
                    && row.get(CORRELATION).unwrap_or(0) == 0;
                let Some(span) = this.operation(MEMCPY, row, name, cat, managed) else {
                    continue;
                };
                if kind.is_some_and(|k| !(0..=13).contains(&k)) {
                    this.tally.row(Reason::UnknownCopyKind, MEMCPY, row.rowid);
                }
                let info = CopyInfo {
                    bytes: row.get(7),
                    kind: kind.map(copy_kind),
                    raw_kind: kind,
                };
                this.builder.set_copy(span, info);
            }
        })?;
        self.missing_column(MEMCPY, "bytes", Reason::NoBytes);
        self.missing_column(MEMCPY, "copyKind", Reason::NoCopyKind);
        Ok(())
    }

    /// Memsets.
    pub(crate) fn memsets(&mut self) -> Result<(), LoadError> {
        let spec = Spec {
            table: MEMSET,
            columns: common!["bytes", "memKind"],
            text: None,
            required: 2,
        };
        let cat = self.builder.category("memset", true);
        self.scan(&spec, |this, block| {
            for row in block.rows() {
                let name = match row.get(8).and_then(memory_kind) {
                    Some(kind) => this.builder.intern(&format!("Memset ({kind})")),
                    None => this.builder.intern("Memset"),
                };
                if let Some(span) = this.operation(MEMSET, row, name, cat, false) {
                    let info = CopyInfo {
                        bytes: row.get(7),
                        kind: None,
                        raw_kind: None,
                    };
                    this.builder.set_copy(span, info);
                }
            }
        })?;
        self.missing_column(MEMSET, "bytes", Reason::NoBytes);
        Ok(())
    }

    /// Launches of whole CUDA graphs, which are recorded in place of their kernels.
    pub(crate) fn graphs(&mut self) -> Result<(), LoadError> {
        let spec = Spec {
            table: GRAPH_TRACE,
            columns: common!["graphId"],
            text: None,
            required: 2,
        };
        let cat = self.builder.category("graph", true);
        self.scan(&spec, |this, block| {
            for row in block.rows() {
                if row.get(START) == Some(0) && row.get(END) == Some(0) {
                    this.tally.row(Reason::NoTime, GRAPH_TRACE, row.rowid);
                    continue;
                }
                let name = match row.get(7) {
                    Some(id) => this.builder.intern(&format!("CUDA graph {id}")),
                    None => this.builder.intern("CUDA graph"),
                };
                this.operation(GRAPH_TRACE, row, name, cat, false);
            }
        })
    }

    /// Adds one operation and its link to the call.
    fn operation<const N: usize>(
        &mut self,
        table: &'static str,
        row: &Row<N>,
        name: NameId,
        cat: CatId,
        managed: bool,
    ) -> Option<RawSpan> {
        let (start, dur) = self.times(table, row.rowid, row.get(START), row.get(END))?;
        let process = self.process_of_row(table, row.rowid, row.get(PROCESS));
        let (context, stream) = (row.get(CONTEXT), row.get(STREAM));
        let device = row.get(DEVICE);
        let device = self.device_of_row(table, row.rowid, device, (process, context));
        if context.is_none() {
            self.tally.row(Reason::NoContext, table, row.rowid);
        }
        if stream.is_none() && !managed {
            self.tally.row(Reason::NoStream, table, row.rowid);
        }
        let key = StreamKey {
            process,
            device,
            context,
            stream,
            managed,
        };
        let lane = self.lanes.operations(key, self.builder);
        let span = self.span(table, row.rowid, lane, name, cat, (start, dur));
        if !managed {
            let id = row.get(CORRELATION);
            match self.calls.find(process, id) {
                Some(call) => self.builder.link_launch(call, span),
                None if id.is_none() => self.tally.row(Reason::NoCorrelation, table, row.rowid),
                None => self.unlinked(table),
            }
        }
        Some(span)
    }
}

/// `Memcpy HtoD (Pinned -> Device)`.
fn copy_name([kind, from, to]: [Option<i64>; 3]) -> String {
    let direction = match kind {
        Some(1) => "HtoD",
        Some(2) => "DtoH",
        Some(3) => "HtoA",
        Some(4) => "AtoH",
        Some(5) => "AtoA",
        Some(6) => "AtoD",
        Some(7) => "DtoA",
        Some(8) => "DtoD",
        Some(9) => "HtoH",
        Some(10) => "PtoP",
        Some(11) => "Unified HtoD",
        Some(12) => "Unified DtoH",
        Some(13) => "Unified DtoD",
        _ => "",
    };
    let mut name = match (direction, kind) {
        ("", Some(n)) if n != 0 => format!("Memcpy kind {n}"),
        ("", _) => "Memcpy".to_owned(),
        (d, _) => format!("Memcpy {d}"),
    };
    if let (Some(from), Some(to)) = (from.and_then(memory_kind), to.and_then(memory_kind)) {
        name.push_str(&format!(" ({from} -> {to})"));
    }
    name
}

fn memory_kind(kind: i64) -> Option<&'static str> {
    Some(match kind {
        0 => "Pageable",
        1 => "Pinned",
        2 => "Device",
        3 => "Array",
        4 => "Managed",
        5 => "Device Static",
        6 => "Managed Static",
        _ => return None,
    })
}

/// The direction; arrays are memory of a device.
fn copy_kind(kind: i64) -> CopyKind {
    match kind {
        1 | 3 => CopyKind::HostToDevice,
        2 | 4 => CopyKind::DeviceToHost,
        5..=8 => CopyKind::DeviceToDevice,
        9 => CopyKind::HostToHost,
        10 => CopyKind::PeerToPeer,
        11..=13 => CopyKind::Managed,
        other => CopyKind::Other(u16::try_from(other).unwrap_or(u16::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_named_by_direction_and_memory() {
        assert_eq!(
            copy_name([Some(1), Some(0), Some(2)]),
            "Memcpy HtoD (Pageable -> Device)"
        );
        assert_eq!(copy_name([Some(8), None, Some(2)]), "Memcpy DtoD");
        assert_eq!(copy_name([Some(99), Some(7), Some(7)]), "Memcpy kind 99");
        assert_eq!(copy_name([None, None, None]), "Memcpy");
        assert_eq!(copy_kind(12), CopyKind::Managed);
        assert_eq!(copy_kind(-4), CopyKind::Other(u16::MAX));
    }
}
