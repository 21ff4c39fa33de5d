//! Processes, threads, GPUs, streams: created when a row first needs them, so that only what was active appears.
//!
//! A stream is (process, device, context, stream number): numbers repeat between contexts, contexts between processes,
//! and ranks that see one GPU each all call it device 0.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::{
    Device, DeviceId, Lane, LaneId, LaneKind, Process, ProcessId, SourceId, Stream, StreamId,
    TraceBuilder,
};

/// Bits of a global thread id that are the thread.
const THREAD_BITS: i64 = 0xFF_FFFF;

/// The process of a global thread id: the same with the thread bits cleared.
pub(crate) fn process_of(thread: i64) -> i64 {
    thread & !THREAD_BITS
}

/// The operating system's number of the process.
pub(crate) fn pid(global: i64) -> i64 {
    (global >> 24) & THREAD_BITS
}

/// The operating system's number of the thread.
fn tid(global: i64) -> i64 {
    global & THREAD_BITS
}

/// A stream as rows name it. None where the file has no such column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StreamKey {
    /// Global process id.
    pub process: Option<i64>,
    /// Device number, as the process counts them.
    pub device: Option<i64>,
    /// Context.
    pub context: Option<i64>,
    /// Stream number.
    pub stream: Option<i64>,
    /// Unified-memory migrations, which no stream orders.
    pub managed: bool,
}

#[derive(Clone, Copy)]
struct StreamLanes {
    stream: StreamId,
    process: Option<ProcessId>,
    ops: Option<LaneId>,
    sync: Option<LaneId>,
}

/// What a thread's lane holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ThreadUse {
    /// Calls and ranges.
    Work,
    /// The profiler's own work.
    Overhead,
}

/// Who is who in one file.
pub(crate) struct Lanes {
    source: SourceId,
    processes: FxHashMap<i64, ProcessId>,
    pids: FxHashSet<i64>,
    threads: FxHashMap<(i64, ThreadUse), LaneId>,
    /// Of rows that name no thread: (their process, where that is known, …).
    unknown_threads: FxHashMap<(Option<i64>, ThreadUse), LaneId>,
    streams: FxHashMap<StreamKey, StreamLanes>,
    devices: BTreeMap<i64, DeviceId>,
    /// (process, context, stream or none for any) → the device that operations name; none where they name several.
    contexts: FxHashMap<(Option<i64>, i64, Option<i64>), Option<i64>>,
    /// (pid, number in the process) → number of the physical GPU.
    physical: FxHashMap<(i64, i64), i64>,
    /// pid → its only device number there; none where it has several.
    only: FxHashMap<i64, Option<i64>>,
    last_thread: Option<((i64, ThreadUse), LaneId)>,
    last_ops: Option<(StreamKey, LaneId)>,
}

impl Lanes {
    /// Nobody yet. `physical` maps (pid, device number in the process) to physical GPUs.
    pub fn new(source: SourceId, physical: FxHashMap<(i64, i64), i64>) -> Self {
        let mut only = FxHashMap::default();
        physical.keys().for_each(|&(pid, device)| {
            let known = only.entry(pid).or_insert(Some(device));
            *known = known.filter(|&d| d == device);
        });
        Self {
            only,
            source,
            processes: FxHashMap::default(),
            pids: FxHashSet::default(),
            threads: FxHashMap::default(),
            unknown_threads: FxHashMap::default(),
            streams: FxHashMap::default(),
            devices: BTreeMap::new(),
            contexts: FxHashMap::default(),
            physical,
            last_thread: None,
            last_ops: None,
        }
    }

    /// The lane of a thread.
    pub fn thread(&mut self, thread: i64, of: ThreadUse, builder: &mut TraceBuilder) -> LaneId {
        if let Some((key, lane)) = self.last_thread
            && key == (thread, of)
        {
            return lane;
        }
        let lane = self.thread_lane(thread, of, builder);
        self.last_thread = Some(((thread, of), lane));
        lane
    }

    fn thread_lane(&mut self, thread: i64, of: ThreadUse, builder: &mut TraceBuilder) -> LaneId {
        if let Some(&lane) = self.threads.get(&(thread, of)) {
            return lane;
        }
        let process = self.process(process_of(thread), builder);
        let tid = tid(thread).to_string();
        let mut lane = self.new_thread(Some(process), &tid, of, builder);
        lane.name = thread_label(None, &tid, of);
        lane.thread = Some(tid);
        let id = builder.add_lane(lane);
        self.threads.insert((thread, of), id);
        id
    }

    /// The lane of rows that name no thread.
    pub fn unknown_thread(
        &mut self,
        process: Option<i64>,
        of: ThreadUse,
        builder: &mut TraceBuilder,
    ) -> LaneId {
        if let Some(&lane) = self.unknown_threads.get(&(process, of)) {
            return lane;
        }
        let known = process.map(|p| self.process(p, builder));
        let mut lane = self.new_thread(known, "?", of, builder);
        let name = match known {
            Some(_) => "thread not recorded",
            None => "process and thread not recorded",
        };
        lane.name = thread_label(Some(name), "?", of);
        if known.is_none() && of == ThreadUse::Work {
            // Ranges of several processes: no training loop.
            lane.kind = LaneKind::Async;
        }
        let id = builder.add_lane(lane);
        self.unknown_threads.insert((process, of), id);
        id
    }

    fn new_thread(
        &self,
        process: Option<ProcessId>,
        tid: &str,
        of: ThreadUse,
        builder: &TraceBuilder,
    ) -> Lane {
        let pid = process.map_or("?", |p| builder.so_far().process(p).pid.as_str());
        let (kind, ending) = match of {
            ThreadUse::Work => (LaneKind::Cpu, ""),
            ThreadUse::Overhead => (LaneKind::Overhead, ".overhead"),
        };
        let mut lane = Lane::new(self.source, kind, format!("C{pid}.{tid}{ending}"));
        lane.process = process;
        lane
    }

    /// Gives the lanes of a thread a name, where it has any.
    pub fn name_thread(&self, thread: i64, name: &str, builder: &mut TraceBuilder) {
        for of in [ThreadUse::Work, ThreadUse::Overhead] {
            if let Some(&id) = self.threads.get(&(thread, of)) {
                let tid = tid(thread).to_string();
                builder.lane_mut(id).name = thread_label(Some(name), &tid, of);
            }
        }
    }

    /// A process; created when it is new.
    pub fn process(&mut self, global: i64, builder: &mut TraceBuilder) -> ProcessId {
        if let Some(&id) = self.processes.get(&global) {
            return id;
        }
        let plain = pid(global).to_string();
        // Processes of two machines or containers may have the same number.
        let label = if self.pids.insert(pid(global)) {
            plain
        } else {
            format!("{plain}@{}", (global >> 48) & 0xFFFF)
        };
        let id = builder.add_process(Process {
            source: self.source,
            pid: label,
            name: None,
            space: None,
            host: None,
            rank: None,
            role: None,
            parent: None,
            sort_index: 0,
        });
        self.processes.insert(global, id);
        id
    }

    /// Gives a process its name, where it was active.
    pub fn name_process(&self, global: i64, name: &str, builder: &mut TraceBuilder) {
        if let Some(&id) = self.processes.get(&global) {
            builder.process_mut(id).name = Some(name.to_owned());
        }
    }

    /// Gives a process the name of its first thread, where it has none.
    pub fn name_by_thread(&self, thread: i64, name: &str, builder: &mut TraceBuilder) {
        if pid(thread) == tid(thread)
            && let Some(&id) = self.processes.get(&process_of(thread))
            && builder.so_far().process(id).name.is_none()
        {
            builder.process_mut(id).name = Some(name.to_owned());
        }
    }

    /// The physical GPU that a process means by a device number.
    pub fn gpu_of(&self, process: Option<i64>, device: Option<i64>) -> i64 {
        let device = device.unwrap_or(-1);
        let mapped = process.and_then(|p| self.physical.get(&(pid(p), device)));
        mapped.copied().unwrap_or(device)
    }

    /// The only device number of a process that is related to a physical GPU.
    pub fn only_device(&self, process: i64) -> Option<i64> {
        *self.only.get(&pid(process))?
    }

    /// A GPU; created when it is new.
    pub fn device(
        &mut self,
        process: Option<i64>,
        device: Option<i64>,
        builder: &mut TraceBuilder,
    ) -> DeviceId {
        let index = self.gpu_of(process, device);
        let source = self.source;
        *self.devices.entry(index).or_insert_with(|| {
            builder.add_device(Device {
                space: None,
                source,
                index,
                name: device.is_none().then(|| "number not recorded".to_owned()),
                counts: true,
            })
        })
    }

    /// GPUs with activity, by number.
    pub fn devices(&self) -> &BTreeMap<i64, DeviceId> {
        &self.devices
    }

    /// The lane of a stream's operations.
    pub fn operations(&mut self, key: StreamKey, builder: &mut TraceBuilder) -> LaneId {
        if let Some((last, lane)) = self.last_ops
            && last == key
        {
            return lane;
        }
        let known = self.stream_lanes(key, builder);
        let lane = known.ops.unwrap_or_else(|| {
            let mut lane = Lane::new(
                self.source,
                LaneKind::Gpu,
                stream_label(key, known, builder),
            );
            lane.name = match (key.managed, key.stream) {
                (true, _) => "unified memory".to_owned(),
                (false, Some(n)) => format!("stream {n}"),
                (false, None) => "stream not recorded".to_owned(),
            };
            if key.device.is_none() {
                lane.name.push_str(", GPU not recorded");
            }
            lane.process = known.process;
            lane.stream = Some(known.stream);
            let id = builder.add_lane(lane);
            if let Some(entry) = self.streams.get_mut(&key) {
                entry.ops = Some(id);
            }
            self.learn(key);
            id
        });
        self.last_ops = Some((key, lane));
        lane
    }

    /// Remembers on which device a context and its stream work.
    fn learn(&mut self, key: StreamKey) {
        let (Some(device), Some(context)) = (key.device, key.context) else {
            return;
        };
        for stream in [key.stream, None] {
            let known = self.contexts.entry((key.process, context, stream));
            let known = known.or_insert(Some(device));
            *known = known.filter(|&d| d == device);
        }
    }

    /// The stream with the device of its operations, or of those of its context: some versions write device 0 into rows
    /// of synchronisations and events, whatever the GPU.
    pub fn placed(&self, key: StreamKey) -> StreamKey {
        let Some(context) = key.context else {
            return key;
        };
        let mut known = [key.stream, None]
            .into_iter()
            .filter_map(|stream| self.contexts.get(&(key.process, context, stream)));
        match known.next() {
            Some(&Some(device)) => StreamKey {
                device: Some(device),
                ..key
            },
            _ => key,
        }
    }

    /// The lane of a stream's synchronisations.
    pub fn syncs(&mut self, key: StreamKey, builder: &mut TraceBuilder) -> LaneId {
        let known = self.stream_lanes(key, builder);
        known.sync.unwrap_or_else(|| {
            let label = stream_label(key, known, builder);
            let mut lane = Lane::new(self.source, LaneKind::GpuSync, format!("{label}.sync"));
            let number = key.stream.map_or("?".to_owned(), |n| n.to_string());
            lane.name = format!("stream {number} (sync)");
            lane.process = known.process;
            lane.stream = Some(known.stream);
            let id = builder.add_lane(lane);
            if let Some(entry) = self.streams.get_mut(&key) {
                entry.sync = Some(id);
            }
            id
        })
    }

    /// A stream; created when it is new.
    pub fn stream(&mut self, key: StreamKey, builder: &mut TraceBuilder) -> StreamId {
        self.stream_lanes(key, builder).stream
    }

    fn stream_lanes(&mut self, key: StreamKey, builder: &mut TraceBuilder) -> StreamLanes {
        if let Some(&known) = self.streams.get(&key) {
            return known;
        }
        // Rows that name no process make none.
        let process = key.process.map(|p| self.process(p, builder));
        let device = self.device(key.process, key.device, builder);
        let stream = builder.add_stream(Stream {
            device,
            process,
            context: key.context,
            number: key.stream.unwrap_or(-1),
            ops: None,
        });
        let lanes = StreamLanes {
            stream,
            process,
            ops: None,
            sync: None,
        };
        self.streams.insert(key, lanes);
        lanes
    }

    /// GPUs on which a process ran operations.
    pub fn devices_used(&self, process: Option<i64>, builder: &TraceBuilder) -> Vec<DeviceId> {
        let Some(&process) = process.and_then(|p| self.processes.get(&p)) else {
            return Vec::new();
        };
        let mut used: Vec<DeviceId> = builder
            .so_far()
            .streams()
            .iter()
            .filter(|s| s.process == Some(process) && s.ops.is_some())
            .map(|s| s.device)
            .collect();
        used.sort_unstable();
        used.dedup();
        used
    }
}

/// `G<pid>.<device>.<context>.<stream>`, with the numbers of the file.
fn stream_label(key: StreamKey, known: StreamLanes, builder: &TraceBuilder) -> String {
    let number = |n: Option<i64>| n.map_or("?".to_owned(), |n| n.to_string());
    let pid = known
        .process
        .map_or("?", |p| builder.so_far().process(p).pid.as_str());
    format!(
        "G{pid}.{}.{}.{}{}",
        number(key.device),
        number(key.context),
        number(key.stream),
        if key.managed { ".um" } else { "" }
    )
}

fn thread_label(name: Option<&str>, tid: &str, of: ThreadUse) -> String {
    let name = name.map_or_else(|| format!("thread {tid}"), str::to_owned);
    match of {
        ThreadUse::Work => name,
        ThreadUse::Overhead => format!("{name} (profiler)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn global_ids_take_apart() {
        let thread = 281_477_409_407_121;
        assert_eq!(pid(thread), 145);
        assert_eq!(tid(thread), 145);
        assert_eq!(process_of(thread), 281_477_409_406_976);
        // Hardware ids from 128 on make the number negative.
        let high = i64::MIN | (77 << 24) | 5;
        assert_eq!((pid(high), tid(high)), (77, 5));
        assert_eq!(pid(process_of(high)), 77);
    }

    #[test]
    fn the_only_device_is_found_at_once_among_those_of_any_number_of_processes() {
        const PROCESSES: i64 = 100_000;
        let of_process = |pid: i64| ((pid, pid % 8), pid % 3);
        let mut physical: FxHashMap<_, _> = (0..PROCESSES).map(of_process).collect();
        physical.insert((5, 6), 1);
        let lanes = Lanes::new(SourceId(0), physical);
        let found = |pid: i64| lanes.only_device(pid << 24);
        assert!((6..PROCESSES).all(|pid| found(pid) == Some(pid % 8)));
        assert_eq!(
            (found(4), found(5), found(PROCESSES)),
            (Some(4), None, None)
        );
    }
}
