//! The tables in front of the events, and what they become in the builder.

use std::path::Path;

use serde::Deserialize;

use super::tracer;
use crate::import::contract::importer::Context;
use crate::model::{
    ArgsOrigin, Clock, Counter, CounterId, Device, DeviceId, Lane, LaneId, LaneKind, Measure,
    Process, ProcessId, Role, Source, SourceId, Stream, StreamId, TIME_LIMIT, TraceBuilder,
};
use crate::time::TimeRange;

/// The tables. What a row refers to is its place in another table.
#[derive(Deserialize)]
pub(super) struct Header {
    trim: (i64, i64),
    sources: Vec<SourceRow>,
    processes: Vec<ProcessRow>,
    devices: Vec<DeviceRow>,
    streams: Vec<StreamRow>,
    lanes: Vec<LaneRow>,
    counters: Vec<CounterRow>,
}

#[derive(Deserialize)]
struct SourceRow {
    source: String,
    from: String,
    producer: String,
    capture: Option<(i64, i64)>,
    host: Option<String>,
    rank: Option<u32>,
    world: Option<u32>,
    /// Unix time of the zero of the file's times, where the source had a clock, ns.
    zero: Option<i64>,
    quantum: i64,
    cut: bool,
}

#[derive(Deserialize)]
struct ProcessRow {
    source: usize,
    pid: String,
    name: Option<String>,
    space: Option<String>,
    host: Option<String>,
    rank: Option<u32>,
    role: Option<String>,
    parent: Option<String>,
    sort: i64,
}

#[derive(Deserialize)]
struct DeviceRow {
    source: usize,
    index: i64,
    space: Option<String>,
    name: Option<String>,
    counts: bool,
}

#[derive(Deserialize)]
struct StreamRow {
    device: usize,
    process: Option<usize>,
    context: Option<i64>,
    number: i64,
}

#[derive(Deserialize)]
struct LaneRow {
    source: usize,
    kind: String,
    key: String,
    name: String,
    process: Option<usize>,
    stream: Option<usize>,
    thread: Option<String>,
    rank: Option<u32>,
    role: Option<String>,
    autograd: Option<bool>,
    sort: i64,
}

#[derive(Deserialize)]
struct CounterRow {
    source: usize,
    process: Option<usize>,
    name: String,
    series: String,
    measure: String,
}

/// The tables in the builder, by place.
pub(super) struct Placed {
    pub sources: Vec<SourceId>,
    pub devices: Vec<DeviceId>,
    pub streams: Vec<StreamId>,
    pub lanes: Vec<LaneId>,
    pub counters: Vec<CounterId>,
    /// The window that was cut out, on the clock of the file.
    pub window: TimeRange,
    /// The files that it was cut from.
    pub from: Vec<String>,
}

impl Header {
    /// Why its rows cannot be what the program wrote, if so. Nothing is added before that is known.
    pub fn wrong(&self) -> Option<&'static str> {
        let source = |i: usize| i < self.sources.len();
        let process = |i: Option<usize>| i.is_none_or(|i| i < self.processes.len());
        let stream = |i: Option<usize>| i.is_none_or(|i| i < self.streams.len());
        if self.sources.is_empty() {
            return Some("names no source");
        }
        if !self.sources.iter().all(|s| tracer(&s.source).is_some()) {
            return Some("names a tracer that this version does not know");
        }
        let quantum = |s: &SourceRow| (0..=TIME_LIMIT).contains(&s.quantum);
        if !self.sources.iter().all(quantum) {
            return Some("states a precision that no clock has");
        }
        let kinds = self.lanes.iter().all(|l| kind(&l.kind).is_some());
        let refer = self.processes.iter().all(|p| source(p.source))
            && self.devices.iter().all(|d| source(d.source))
            && self
                .streams
                .iter()
                .all(|s| s.device < self.devices.len() && process(s.process))
            && self
                .lanes
                .iter()
                .all(|l| source(l.source) && process(l.process) && stream(l.stream))
            && self
                .counters
                .iter()
                .all(|c| source(c.source) && process(c.process));
        (!kinds || !refer).then_some("refers to rows that are not there")
    }

    /// Adds all rows.
    pub fn place(self, path: &Path, args: &ArgsOrigin, ctx: &mut Context<'_>) -> Placed {
        let builder = &mut *ctx.builder;
        let mut from = Vec::new();
        let sources: Vec<SourceId> = (self.sources.into_iter())
            .filter_map(|row| {
                let source = Source {
                    producer: row.producer,
                    clock: row.zero.map_or(Clock::Unknown, |zero| Clock::Unix { zero }),
                    host: row.host,
                    rank: row.rank,
                    world: row.world,
                    quantum_ns: row.quantum,
                    args: args.clone(),
                    from: Some(row.from.clone()),
                    saved: Some(TimeRange::new(self.trim.0, self.trim.1)),
                    ..Source::new(path, tracer(&row.source)?)
                };
                from.push(row.from);
                let id = builder.add_source(source);
                if let Some((start, end)) = row.capture {
                    builder.set_capture(id, TimeRange::new(start, end));
                }
                if row.cut {
                    builder.set_cut(id);
                }
                Some(id)
            })
            .collect();
        let processes: Vec<ProcessId> = (self.processes.into_iter())
            .map(|row| {
                builder.add_process(Process {
                    source: sources[row.source],
                    pid: row.pid,
                    name: row.name,
                    space: row.space,
                    host: row.host,
                    rank: row.rank,
                    role: role(row.role.as_deref()),
                    parent: row.parent,
                    sort_index: row.sort,
                })
            })
            .collect();
        let devices: Vec<DeviceId> = (self.devices.into_iter())
            .map(|row| {
                builder.add_device(Device {
                    source: sources[row.source],
                    index: row.index,
                    space: row.space,
                    name: row.name,
                    counts: row.counts,
                })
            })
            .collect();
        let streams: Vec<StreamId> = (self.streams.iter())
            .map(|row| {
                builder.add_stream(Stream {
                    device: devices[row.device],
                    process: row.process.map(|p| processes[p]),
                    context: row.context,
                    number: row.number,
                    ops: None,
                })
            })
            .collect();
        let lanes = lanes(self.lanes, (&sources, &processes, &streams), builder);
        let counters: Vec<CounterId> = (self.counters.into_iter())
            .map(|row| {
                builder.add_counter(Counter {
                    process: row.process.map(|p| processes[p]),
                    source: sources[row.source],
                    name: row.name,
                    series: row.series,
                    measure: measure(&row.measure),
                    ..Counter::default()
                })
            })
            .collect();
        Placed {
            sources,
            devices,
            streams,
            lanes,
            counters,
            window: TimeRange::new(self.trim.0, self.trim.1),
            from,
        }
    }
}

fn lanes(
    rows: Vec<LaneRow>,
    (sources, processes, streams): (&[SourceId], &[ProcessId], &[StreamId]),
    builder: &mut TraceBuilder,
) -> Vec<LaneId> {
    let lane = |row: LaneRow| Lane {
        name: row.name,
        process: row.process.map(|p| processes[p]),
        stream: row.stream.map(|s| streams[s]),
        thread: row.thread,
        rank: row.rank,
        role: role(row.role.as_deref()),
        autograd: row.autograd,
        sort_index: row.sort,
        ..Lane::new(
            sources[row.source],
            kind(&row.kind).unwrap_or(LaneKind::Async),
            row.key,
        )
    };
    rows.into_iter()
        .map(|row| builder.add_lane(lane(row)))
        .collect()
}

fn kind(key: &str) -> Option<LaneKind> {
    use LaneKind::{Async, Cpu, Gpu, GpuAnnotation, GpuSync, Overhead, Recorder};
    let all = [Cpu, Gpu, GpuAnnotation, GpuSync, Overhead, Async, Recorder];
    all.into_iter().find(|kind| kind.key() == key)
}

fn role(key: Option<&str>) -> Option<Role> {
    let all = [
        Role::Main,
        Role::Worker,
        Role::Pin,
        Role::Autograd,
        Role::Other,
    ];
    all.into_iter().find(|role| Some(role.key()) == key)
}

fn measure(key: &str) -> Measure {
    match key {
        "allocated" => Measure::Allocated,
        "reserved" => Measure::Reserved,
        "growth" => Measure::Growth,
        _ => Measure::Anything,
    }
}
