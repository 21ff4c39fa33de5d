//! Synchronisations: rows of the GPU's side, and what the blocking calls of the CPU's side waited for.
//!
//! The numbers of `syncType` changed their meaning between versions while the table that explains them did not, so the
//! name of the API call decides, and the number only where there is no call.

use rustc_hash::FxHashMap;

use super::Export;
use super::lanes::StreamKey;
use crate::import::contract::error::LoadError;
use crate::import::nsight::read::rows::{CUDA_EVENT, SYNC};
use crate::import::nsight::read::scan::{Row, Spec};
use crate::import::nsight::tally::Reason;
use crate::model::{NameId, RawSpan, SyncScope};

/// A stream number, event id or sync id that means "none".
const NO_NUMBER: i64 = 0xFFFF_FFFF;

/// What a blocking call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    Stream,
    Device,
    Event,
    /// It does not block, or not for one of these.
    Otherwise,
}

/// Recorded events of all processes.
#[derive(Default)]
struct Events {
    /// (process, event, start of the record call) and its stream, sorted once all are in.
    by_event: Vec<((i64, i64, i64), StreamKey)>,
    /// By (process, id of the record), where the file has those.
    by_record: FxHashMap<(i64, i64), (i64, StreamKey)>,
}

/// What is found out once and asked for at every row.
#[derive(Default)]
struct Known {
    events: Events,
    /// By the name of the call.
    waits: FxHashMap<NameId, Waits>,
    /// By (process, device number).
    devices: FxHashMap<(Option<i64>, Option<i64>), Option<SyncScope>>,
}

impl Events {
    /// The record that a wait at `start` waits for.
    fn recorded(&self, process: i64, row: &Row<10>, start: i64) -> Option<(i64, StreamKey)> {
        let number = |column: usize| row.get(column).filter(|&n| n != NO_NUMBER);
        if let Some(id) = number(9)
            && let Some(&found) = self.by_record.get(&(process, id))
            && found.0 <= start
        {
            return Some(found);
        }
        let event = number(8)?;
        let before = self
            .by_event
            .partition_point(|r| r.0 <= (process, event, start));
        let &((p, e, at), stream) = self.by_event.get(before.checked_sub(1)?)?;
        ((p, e) == (process, event)).then_some((at, stream))
    }
}

impl Export<'_> {
    /// Reads the table of synchronisations.
    pub(crate) fn syncs(&mut self) -> Result<(), LoadError> {
        let mut known = Known {
            events: self.events()?,
            ..Known::default()
        };
        let spec = Spec {
            table: SYNC,
            columns: [
                "start",
                "end",
                "deviceId",
                "contextId",
                "streamId",
                "correlationId",
                "globalPid",
                "syncType",
                "eventId",
                "eventSyncId",
            ],
            text: None,
            required: 2,
        };
        let cat = self.builder.category("sync", true);
        self.scan(&spec, |this, block| {
            for row in block.rows() {
                let Some(times) = this.times(SYNC, row.rowid, row.get(0), row.get(1)) else {
                    continue;
                };
                let process = this.process_of_row(SYNC, row.rowid, row.get(6));
                let stated = StreamKey {
                    process,
                    device: row.get(2),
                    context: row.get(3),
                    stream: row.get(4).filter(|&n| n != NO_NUMBER),
                    managed: false,
                };
                let key = this.placed(SYNC, row.rowid, stated);
                if stated.device.is_some_and(|d| Some(d) != key.device) {
                    this.tally.row(Reason::SyncDevice, SYNC, row.rowid);
                }
                for (column, reason) in [
                    (3, Reason::NoContext),
                    (4, Reason::NoStream),
                    (5, Reason::NoCorrelation),
                ] {
                    if row.get(column).is_none() {
                        this.tally.row(reason, SYNC, row.rowid);
                    }
                }
                let call = this.calls.find(process, row.get(5));
                if let Some(call) = call {
                    let name = this.builder.so_far().spans().names()[call.0 as usize];
                    let waits = *known
                        .waits
                        .entry(name)
                        .or_insert_with(|| waits_for(this.builder.so_far().name(name)));
                    this.scope(call, waits, key, row, &mut known);
                }
                if row.get(4) == Some(NO_NUMBER) {
                    this.tally.row(Reason::SyncWithoutStream, SYNC, row.rowid);
                }
                if key.stream.is_none() {
                    continue;
                }
                let name = match call {
                    Some(call) => this.builder.so_far().spans().names()[call.0 as usize],
                    None => this.builder.intern(sync_label(row.get(7))),
                };
                let lane = this.lanes.syncs(key, this.builder);
                this.span(SYNC, row.rowid, lane, name, cat, times);
            }
        })
    }

    /// The stream on the GPU of its context's operations, else on the stated one, else on one that is found out.
    fn placed(&mut self, table: &'static str, rowid: i64, stated: StreamKey) -> StreamKey {
        let mut key = self.lanes.placed(stated);
        match (stated.device, key.device) {
            (None, Some(_)) => self.tally.row(Reason::NoDevice, table, rowid),
            (_, device) => {
                let of = (key.process, key.context);
                key.device = self.device_of_row(table, rowid, device, of);
            }
        }
        key
    }

    fn scope(
        &mut self,
        call: RawSpan,
        waits: Waits,
        key: StreamKey,
        row: &Row<10>,
        known: &mut Known,
    ) {
        let scope = match waits {
            Waits::Otherwise => None,
            Waits::Stream => key
                .stream
                .map(|_| SyncScope::Stream(self.lanes.stream(key, self.builder))),
            Waits::Device => *known
                .devices
                .entry((key.process, key.device))
                .or_insert_with(|| self.device_scope(key)),
            Waits::Event => {
                let start = self.builder.so_far().spans().starts()[call.0 as usize];
                key.process
                    .and_then(|p| known.events.recorded(p, row, start))
                    .map(|(record_at, stream)| SyncScope::Event {
                        stream: self.lanes.stream(stream, self.builder),
                        record_at,
                    })
            }
        };
        if let Some(scope) = scope {
            self.builder.set_sync_scope(call, scope);
        }
    }

    /// The GPU that a device-wide wait is for. Some versions write device 0 whatever the GPU, also where no operation
    /// tells the context's device: the only GPU that the process used is the better answer then, and with several the
    /// answer is unknown.
    fn device_scope(&mut self, key: StreamKey) -> Option<SyncScope> {
        let stated = self.lanes.gpu_of(key.process, key.device);
        let stated = self.lanes.devices().get(&stated).copied();
        let used = self.lanes.devices_used(key.process, self.builder);
        match (stated, used.as_slice()) {
            (Some(device), used) if used.contains(&device) => Some(SyncScope::Device(device)),
            (_, [only]) => Some(SyncScope::Device(*only)),
            (_, []) => key.device.map(|_| {
                SyncScope::Device(self.lanes.device(key.process, key.device, self.builder))
            }),
            _ => None,
        }
    }

    fn events(&mut self) -> Result<Events, LoadError> {
        let mut events = Events::default();
        if self.rows_at_most(SYNC) == 0 {
            return Ok(events);
        }
        let spec = Spec {
            table: CUDA_EVENT,
            columns: [
                "correlationId",
                "globalPid",
                "deviceId",
                "contextId",
                "streamId",
                "eventId",
                "eventSyncId",
            ],
            text: None,
            required: 1,
        };
        self.scan(&spec, |this, block| {
            for row in block.rows() {
                let process = this.process_of_row(CUDA_EVENT, row.rowid, row.get(1));
                if row.get(0).is_none() {
                    this.tally.row(Reason::NoCorrelation, CUDA_EVENT, row.rowid);
                }
                let call = this.calls.find(process, row.get(0));
                let Some((process, call)) = process.zip(call) else {
                    continue;
                };
                let start = this.builder.so_far().spans().starts()[call.0 as usize];
                let key = StreamKey {
                    process: Some(process),
                    device: row.get(2),
                    context: row.get(3),
                    stream: row.get(4),
                    managed: false,
                };
                let key = this.placed(CUDA_EVENT, row.rowid, key);
                let number = |column: usize| row.get(column).filter(|&n| n != NO_NUMBER);
                if let Some(event) = number(5) {
                    events.by_event.push(((process, event, start), key));
                }
                if let Some(record) = number(6) {
                    events.by_record.insert((process, record), (start, key));
                }
            }
        })?;
        events.by_event.sort_by_key(|r| r.0);
        Ok(events)
    }
}

/// By the name of the call, versions of which may still carry suffixes.
fn waits_for(call: &str) -> Waits {
    let name = call
        .strip_prefix("cuda")
        .or_else(|| call.strip_prefix("cu"))
        .unwrap_or(call);
    let base = name.split('_').next().unwrap_or(name);
    match base {
        "StreamSynchronize" => Waits::Stream,
        "DeviceSynchronize" | "ThreadSynchronize" | "CtxSynchronize" => Waits::Device,
        "EventSynchronize" => Waits::Event,
        _ => Waits::Otherwise,
    }
}

fn sync_label(kind: Option<i64>) -> &'static str {
    match kind {
        Some(1) => "Event sync",
        Some(2) => "Stream wait sync",
        Some(3) => "Stream sync",
        Some(4) => "Context sync",
        _ => "Synchronisation",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_apart_by_name() {
        for (name, waits) in [
            ("cudaStreamSynchronize", Waits::Stream),
            ("cuStreamSynchronize_ptsz", Waits::Stream),
            ("cudaDeviceSynchronize", Waits::Device),
            ("cuCtxSynchronize", Waits::Device),
            ("cudaEventSynchronize", Waits::Event),
            ("cudaStreamWaitEvent", Waits::Otherwise),
            ("cudaMemcpy", Waits::Otherwise),
            ("", Waits::Otherwise),
        ] {
            assert_eq!(waits_for(name), waits, "{name}");
        }
    }
}
