//! The lanes of one file: threads, GPU streams and async tracks, with their processes, devices and display names.
//!
//! A lane is made by its first span, so that lanes and streams are numbered by first appearance in the file; metadata
//! alone makes none. GPUs are kept apart from processes: in a container a process may have the number of a GPU.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::spaces::{self, Pid, Spaces, rank_of_process};

use crate::import::chrome::read::args::number_in;
use crate::import::chrome::read::chunk::{Id, LaneClass, LaneKey, MetaKind};
use crate::import::chrome::read::parser::Scalar;
use crate::model::{
    Device, DeviceId, Lane, LaneId, LaneKind, Names, Process, ProcessId, SourceId, Stream,
    StreamId, TraceBuilder,
};

/// Sort hints from here on are Kineto's for GPU rows, not for the process of the same number.
const GPU_SORT_INDEX: i64 = 5_000_000;

/// Asynchronous ids with a lane of their own: nobody looks through more, and each takes a thousand bytes.
const OWN_ASYNC: u32 = 4_096;

/// Lanes of one file. [`Id::Text`] of its keys are numbers of its own texts.
#[derive(Default)]
pub(crate) struct LaneTable {
    /// Texts of identifiers.
    pub texts: Names,
    keys: Vec<LaneKey>,
    lanes: Vec<Option<LaneId>>,
    index: HashMap<LaneKey, u32, FxBuildHasher>,
    used: BTreeSet<String>,
    /// Asynchronous lanes so far.
    own_async: u32,
    /// Lanes of further ids, by document, category and process.
    shared_async: BTreeMap<(u32, Id, Id), LaneId>,
    /// Ids that have those.
    many_async: u64,
    processes: BTreeMap<Pid, ProcessId>,
    /// Documents with threads before the one that is read.
    document: u32,
    /// Whether a thread of it was seen.
    has_threads: bool,
    /// By pid, number, and whether it counts: a GPU of one original of the file.
    devices: BTreeMap<(Pid, Id, bool), DeviceId>,
    /// Copies of annotations and waits, which make no GPU.
    unplaced: Vec<(LaneId, LaneKey)>,
    streams: BTreeMap<(DeviceId, i64), StreamId>,
    process_meta: BTreeMap<Pid, ProcessMeta>,
    thread_meta: BTreeMap<(Pid, Id), ThreadMeta>,
}

#[derive(Default)]
struct ProcessMeta {
    name: Option<String>,
    labels: Option<String>,
    sort: Option<i64>,
}

#[derive(Default)]
struct ThreadMeta {
    name: Option<String>,
    sort: Option<i64>,
}

impl LaneTable {
    /// Says that another document of the file begins.
    pub fn next_document(&mut self) {
        self.document += u32::from(std::mem::take(&mut self.has_threads));
    }

    /// The number of a key of the document that is read; makes no lane.
    pub fn key(&mut self, key: LaneKey) -> u32 {
        self.has_threads |= key.class == LaneClass::Cpu;
        let key = LaneKey {
            document: self.document,
            ..key
        };
        if let Some(&i) = self.index.get(&key) {
            return i;
        }
        let i = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        self.keys.push(key);
        self.lanes.push(None);
        self.index.insert(key, i);
        i
    }

    /// The lane of a key, if a span made it.
    pub fn existing(&self, key: u32) -> Option<LaneId> {
        self.lanes[key as usize]
    }

    /// The lane of a key, made if need be.
    pub fn lane(&mut self, key: u32, source: SourceId, builder: &mut TraceBuilder) -> LaneId {
        if let Some(lane) = self.lanes[key as usize] {
            return lane;
        }
        let mut key_of = self.keys[key as usize];
        let shared = (key_of.document, key_of.a, key_of.scope);
        let is_async = key_of.class == LaneClass::Async;
        let shares = is_async && self.own_async >= OWN_ASYNC;
        if shares {
            self.many_async += 1;
            if let Some(&lane) = self.shared_async.get(&shared) {
                self.lanes[key as usize] = Some(lane);
                return lane;
            }
            key_of.b = Id::Text(self.texts.intern("(more ids)").0);
        }
        self.own_async += u32::from(is_async);
        let lane = self.make(key_of, source, builder);
        let waits = lane.kind.is_gpu() && lane.stream.is_none();
        let lane = builder.add_lane(lane);
        if waits {
            self.unplaced.push((lane, key_of));
        }
        self.lanes[key as usize] = Some(lane);
        if shares {
            self.shared_async.insert(shared, lane);
        }
        lane
    }

    /// Asynchronous ids whose spans share a lane with those of others.
    pub fn many_async(&self) -> u64 {
        self.many_async
    }

    fn make(&mut self, key: LaneKey, source: SourceId, builder: &mut TraceBuilder) -> Lane {
        let (kind, suffix) = match key.class {
            LaneClass::Cpu => (LaneKind::Cpu, "/thread"),
            LaneClass::Overhead => (LaneKind::Overhead, "/overhead"),
            LaneClass::Recorder => (LaneKind::Recorder, "/recorder"),
            LaneClass::Gpu => (LaneKind::Gpu, "/operations"),
            LaneClass::Mtia => (LaneKind::Gpu, "/mtia"),
            LaneClass::GpuAnnotation => (LaneKind::GpuAnnotation, "/annotation"),
            LaneClass::GpuSync => (LaneKind::GpuSync, "/sync"),
            LaneClass::Async => (LaneKind::Async, "/async"),
        };
        let (a, b) = (self.text(key.a), self.text(key.b));
        let mut lane = match kind {
            LaneKind::Gpu | LaneKind::GpuAnnotation | LaneKind::GpuSync => {
                let a = if a.is_empty() { "?" } else { &a };
                let mut text = format!("G{a}.{b}");
                let name = match kind {
                    LaneKind::GpuAnnotation => format!("stream {b} annotations"),
                    LaneKind::GpuSync => format!("stream {b} sync"),
                    _ => format!("stream {b}"),
                };
                if kind != LaneKind::Gpu {
                    text.push_str(suffix);
                }
                let mut lane = Lane::new(source, kind, text);
                lane.name = name;
                // Copies of annotations and waits make no GPU: they are put to one when all are known.
                if kind == LaneKind::Gpu {
                    lane.stream = Some(self.stream(key, source, builder));
                }
                lane
            }
            LaneKind::Async => {
                let mut text = format!("A{a}.{b}");
                if key.scope != Id::Missing {
                    text = format!("{text}@{}", self.text(key.scope));
                }
                let mut lane = Lane::new(source, kind, text);
                lane.name = format!("{a} {b}").trim().to_owned();
                lane.process = self.process((key.document, key.scope), source, builder);
                lane
            }
            _ => {
                let text = match key.b {
                    Id::Missing => format!("C{a}"),
                    _ => format!("C{a}.{b}"),
                };
                let mut lane = Lane::new(source, kind, text);
                lane.name = match (key.a, key.b) {
                    (_, Id::Int(_)) => format!("thread {b}"),
                    (_, Id::Text(_)) => b.clone(),
                    (Id::Missing, Id::Missing) => "no thread".to_owned(),
                    (_, Id::Missing) => "process".to_owned(),
                };
                lane.thread = (key.b != Id::Missing).then_some(b);
                if kind == LaneKind::Cpu {
                    lane.process = self.process((key.document, key.a), source, builder);
                }
                lane
            }
        };
        if !self.used.insert(lane.key.clone()) {
            lane.key.push_str(suffix);
            let plain = lane.key.clone();
            let mut more = 2;
            while !self.used.insert(lane.key.clone()) {
                lane.key = format!("{plain}~{more}");
                more += 1;
            }
        }
        lane
    }

    /// An identifier as the file writes it.
    pub fn text(&self, id: Id) -> String {
        match id {
            Id::Missing => String::new(),
            Id::Int(i) => i.to_string(),
            Id::Text(t) => self.texts.get(crate::model::NameId(t)).to_owned(),
        }
    }

    /// The process of a pid, made if need be.
    pub fn process(
        &mut self,
        pid: Pid,
        source: SourceId,
        builder: &mut TraceBuilder,
    ) -> Option<ProcessId> {
        if pid.1 == Id::Missing {
            return None;
        }
        if let Some(&process) = self.processes.get(&pid) {
            return Some(process);
        }
        let process = builder.add_process(Process {
            source,
            pid: self.text(pid.1),
            name: None,
            space: None,
            host: None,
            rank: None,
            role: None,
            parent: None,
            sort_index: 0,
        });
        self.processes.insert(pid, process);
        Some(process)
    }

    /// The process of a pid, if anything made it.
    pub fn known_process(&self, pid: Pid) -> Option<ProcessId> {
        self.processes.get(&pid).copied()
    }

    /// A pid of the document that is read.
    pub fn pid(&self, id: Id) -> Pid {
        (self.document, id)
    }

    fn stream(&mut self, key: LaneKey, source: SourceId, builder: &mut TraceBuilder) -> StreamId {
        let number = |id: Id| match id {
            Id::Int(i) => i,
            _ => -1,
        };
        let counts = key.class != LaneClass::Mtia;
        let index = number(key.a);
        let new = || {
            builder.add_device(Device {
                space: None,
                source,
                index,
                name: (index < 0).then(|| "number not recorded".to_owned()),
                counts,
            })
        };
        let device = *self
            .devices
            .entry(((key.document, key.scope), key.a, counts))
            .or_insert_with(new);
        let number = number(key.b);
        *self.streams.entry((device, number)).or_insert_with(|| {
            builder.add_stream(Stream {
                device,
                process: None,
                context: None,
                number,
                ops: None,
            })
        })
    }

    /// The stream of a device and number, if any row made it.
    pub fn find_stream(&self, device: DeviceId, number: i64) -> Option<StreamId> {
        self.streams.get(&(device, number)).copied()
    }

    /// The lane of GPU operations that a flow's pid and tid mean.
    pub fn gpu_lane_of_thread(&self, key: u32) -> Option<LaneId> {
        let key = self.keys[key as usize];
        let number = |id: Id| match id {
            Id::Int(i) => Some(i),
            Id::Text(t) => number_in(Scalar::Text(
                self.texts.get(crate::model::NameId(t)).as_bytes(),
            )),
            Id::Missing => None,
        };
        let b = Id::Int(number(key.b)?);
        let devices = [number(key.a).map_or(Id::Missing, Id::Int), Id::Missing];
        let lane = |a: Id| {
            let gpu = LaneKey {
                class: LaneClass::Gpu,
                a,
                b,
                scope: key.a,
                document: key.document,
            };
            self.existing(*self.index.get(&gpu)?)
        };
        devices.into_iter().find_map(lane)
    }

    /// Keeps what a metadata event says.
    pub fn meta(&mut self, kind: MetaKind, pid: Id, tid: Id, text: &str, sort: i64) {
        let (text, pid) = (text.trim(), self.pid(pid));
        match kind {
            MetaKind::ProcessName => {
                self.process_meta.entry(pid).or_default().name = Some(text.to_owned());
            }
            MetaKind::ProcessLabels => {
                self.process_meta.entry(pid).or_default().labels = Some(text.to_owned());
            }
            MetaKind::ProcessSort => {
                let slot = &mut self.process_meta.entry(pid).or_default().sort;
                if slot.is_none_or(|old| old >= GPU_SORT_INDEX || sort < GPU_SORT_INDEX) {
                    *slot = Some(sort);
                }
            }
            MetaKind::ThreadName => {
                self.thread_meta.entry((pid, tid)).or_default().name = Some(text.to_owned());
            }
            MetaKind::ThreadSort => {
                self.thread_meta.entry((pid, tid)).or_default().sort = Some(sort);
            }
        }
    }

    /// Puts copies of annotations and waits to the GPU that they name, else to one that has their pid, else to one whose
    /// number is their pid.
    pub fn place(&mut self, builder: &mut TraceBuilder) {
        for (lane, key) in std::mem::take(&mut self.unplaced) {
            let pid = (key.document, key.scope);
            let of_pid = (pid, Id::Missing, false)..=(pid, Id::Text(u32::MAX), true);
            let of_pid = self
                .devices
                .range(of_pid)
                .map(|(&(_, number, _), _)| number);
            let same = of_pid.clone().find(|&number| number == key.a);
            let of_pid = same.or_else(|| of_pid.clone().next());
            let mut numbers = self
                .devices
                .keys()
                .filter(|d| d.0.0 == pid.0 && d.1 == key.scope);
            let found = match (of_pid, numbers.next()) {
                (Some(number), _) => (key.scope, number),
                (None, Some(&((_, scope), number, _))) if key.a == Id::Missing => (scope, number),
                (None, _) => (key.scope, key.a),
            };
            let source = builder.so_far().lane(lane).source;
            let (scope, a) = found;
            let stream = self.stream(LaneKey { a, scope, ..key }, source, builder);
            builder.lane_mut(lane).stream = Some(stream);
        }
    }

    /// Makes GPUs of the processes that XLA writes for them: threads that it calls streams hold operations, the others sum
    /// them up by program and module.
    pub fn make_gpus(&mut self, source: SourceId, builder: &mut TraceBuilder) {
        for at in 0..self.keys.len() {
            let (key, lane) = (self.keys[at], self.lanes[at]);
            let (LaneClass::Cpu, Some(lane)) = (key.class, lane) else {
                continue;
            };
            let pid = (key.document, key.a);
            let name = self.process_meta.get(&pid).and_then(|m| m.name.as_deref());
            let Some(number) = name.and_then(|n| after(n, "/device:GPU:")) else {
                continue;
            };
            let thread = self.thread_meta.get(&(pid, key.b));
            let title = thread.and_then(|t| t.name.clone());
            let Some(stream) = title.as_deref().and_then(|t| after(t, "Stream #")) else {
                let own = builder.lane_mut(lane);
                (own.kind, own.process) = (LaneKind::Recorder, None);
                continue;
            };
            let gpu = LaneKey {
                class: LaneClass::Gpu,
                a: Id::Int(number),
                b: Id::Int(stream),
                scope: key.a,
                document: key.document,
            };
            let mut text = format!("G{number}.{stream}");
            while !self.used.insert(text.clone()) {
                text.push('~');
            }
            let stream = self.stream(gpu, source, builder);
            builder.make_stream(lane, stream);
            let own = builder.lane_mut(lane);
            (own.key, own.name) = (text, title.unwrap_or_default());
        }
    }

    /// Which original of the file each pid is of; `ranks` are those that args state, by lane.
    pub fn spaces(&self, ranks: &BTreeMap<LaneId, i64>) -> Spaces {
        let (mut pids, mut operations) = (BTreeSet::new(), BTreeSet::new());
        let mut stated: BTreeMap<Pid, BTreeSet<i64>> = BTreeMap::new();
        let mut threads = BTreeSet::new();
        for (key, lane) in self.keys.iter().zip(&self.lanes) {
            let Some(lane) = lane else { continue };
            let Some(pid) = pid_of(key) else { continue };
            pids.insert(pid);
            if key.class == LaneClass::Cpu {
                threads.insert(pid);
            }
            if let (LaneClass::Gpu, Id::Int(device)) = (key.class, key.a) {
                operations.insert((pid, device));
            }
            stated.entry(pid).or_default().extend(ranks.get(lane));
        }
        let text = |id: Id| self.text(id);
        Spaces::of(&pids, &threads, &operations, &stated, text)
    }

    /// By lane: the number of its original.
    pub fn numbers(&self, spaces: &Spaces) -> FxHashMap<LaneId, u32> {
        let of = |(key, lane): (&LaneKey, &Option<LaneId>)| {
            let origin = spaces.origin(pid_of(key)?, |id| self.text(id))?;
            Some(((*lane)?, origin.space))
        };
        self.keys.iter().zip(&self.lanes).filter_map(of).collect()
    }

    /// Says of processes and GPUs which original they are of, and of which rank.
    pub fn tell_apart(&self, spaces: &Spaces, builder: &mut TraceBuilder) {
        let text = |id: Id| self.text(id);
        let mut ranks: BTreeMap<u32, Option<u32>> = BTreeMap::new();
        for &pid in self.processes.keys() {
            if let Some(origin) = spaces.origin(pid, text).filter(|_| spaces.has_threads(pid)) {
                let name = self.process_meta.get(&pid).and_then(|m| m.name.as_deref());
                let named = || rank_of_process(name?);
                let slot = ranks.entry(origin.space).or_default();
                *slot = slot.or(origin.rank).or_else(named);
            }
        }
        let ranks = spaces::ranks(&ranks);
        for (&pid, &process) in &self.processes {
            if let Some(origin) = spaces.origin(pid, text) {
                let process = builder.process_mut(process);
                process.rank = ranks.get(&origin.space).copied();
                process.pid = origin.pid;
                process.space = Some(origin.name);
            }
        }
        for (&(pid, ..), &device) in &self.devices {
            let origin = spaces.origin(pid, text);
            builder.device_mut(device).space = origin.map(|o| o.name);
        }
    }

    /// Applies names, order and device names, now that everything was read.
    pub fn finish(&self, builder: &mut TraceBuilder, devices: &[(i64, String)]) {
        for (pid, &process) in &self.processes {
            let process = builder.process_mut(process);
            let Some(meta) = self.process_meta.get(pid) else {
                continue;
            };
            process.sort_index = meta.sort.unwrap_or(0);
            process.name = meta.name.clone().filter(|n| !n.is_empty());
            let label = meta.labels.as_deref().filter(|l| {
                !l.is_empty() && *l != "CPU" && !l.starts_with("GPU ") && !l.starts_with("MTIA ")
            });
            if let Some(label) = label {
                process.name = Some(match &process.name {
                    Some(name) => format!("{name} ({label})"),
                    None => label.to_owned(),
                });
            }
        }
        for (&(_, number, _), &device) in &self.devices {
            if let Some((_, name)) = devices.iter().find(|(id, _)| Id::Int(*id) == number) {
                builder.device_mut(device).name = Some(name.clone());
            }
        }
        for (key, lane) in self.keys.iter().zip(&self.lanes) {
            let &Some(lane) = lane else {
                continue;
            };
            let lane = builder.lane_mut(lane);
            let Some(meta) = self.thread_meta.get(&((key.document, key.a), key.b)) else {
                continue;
            };
            if matches!(lane.kind, LaneKind::Cpu | LaneKind::Recorder) {
                lane.sort_index = meta.sort.unwrap_or(0);
                // A GPU may have the number of the process: its rows are called streams.
                if let Some(name) = &meta.name
                    && !name.is_empty()
                    && !name.starts_with("stream ")
                {
                    lane.name.clone_from(name);
                }
            }
        }
    }

    /// (device, whether it counts) of the GPUs.
    pub fn devices(&self) -> impl Iterator<Item = (Id, bool)> + '_ {
        self.devices
            .keys()
            .map(|&(_, number, counts)| (number, counts))
    }
}

/// The number behind a word that a text contains.
fn after(text: &str, word: &str) -> Option<i64> {
    let (_, rest) = text.split_once(word)?;
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// The pid of rows that are of a process or a GPU; those about the recording have none.
fn pid_of(key: &LaneKey) -> Option<Pid> {
    match key.class {
        LaneClass::Cpu => Some((key.document, key.a)),
        LaneClass::Gpu | LaneClass::GpuSync => Some((key.document, key.scope)),
        LaneClass::Overhead
        | LaneClass::Recorder
        | LaneClass::GpuAnnotation
        | LaneClass::Mtia
        | LaneClass::Async => None,
    }
}
