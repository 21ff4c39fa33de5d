//! Which lane goes where: rank → GPU (compute, copies, comm) → training process (loop first, its API calls below) →
//! workers by pid → other threads → quiet ones → the recorder's own rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::tree::{Node, NodeId, NodeKind, RowTree};
use super::{MAX_OPEN_FRAMES, MAX_OPEN_WORKERS, QUIET_SHARE};
use crate::analysis::{Analysis, ClockRelation, LayerClass};
use crate::model::{DeviceId, LaneId, LaneKind, ProcessId, Role, SourceId, Trace};
use crate::view::lod::{Lod, Part};

struct Builder<'a> {
    trace: &'a Trace,
    analysis: &'a Analysis,
    lod: Arc<Lod>,
    tree: RowTree,
    loops: BTreeSet<LaneId>,
}

pub(super) fn build(trace: &Trace, analysis: &Analysis, lod: Arc<Lod>) -> RowTree {
    let mut b = Builder {
        trace,
        analysis,
        tree: RowTree::empty(lod.clone()),
        lod,
        loops: analysis
            .ranks()
            .iter()
            .filter_map(|r| r.loop_lane)
            .collect(),
    };
    // Lanes that belong to no rank come last.
    let mut ranks: BTreeMap<(bool, Option<u32>), Vec<LaneId>> = BTreeMap::new();
    for lane in trace.lane_ids() {
        if b.lod.leaves_of(lane).len() > 0 {
            let rank = analysis.lane_rank(lane);
            ranks.entry((rank.is_none(), rank)).or_default().push(lane);
        }
    }
    let several = ranks.len() > 1;
    for ((_, rank), lanes) in ranks {
        let parent = several.then(|| {
            let (title, kind) = match rank {
                Some(rank) => (format!("Rank {rank}"), NodeKind::Rank(rank)),
                None => ("No rank".to_owned(), NodeKind::Others),
            };
            b.group(None, rank_key(rank), title, kind, false)
        });
        b.rank(&rank_key(rank), parent, &lanes);
    }
    super::extras::add(trace, analysis.identity(), &mut b.tree);
    b.tree
}

/// Begins the keys of a rank's rows.
fn rank_key(rank: Option<u32>) -> String {
    rank.map_or_else(|| "norank".to_owned(), |rank| format!("rank{rank}"))
}

impl Builder<'_> {
    fn rank(&mut self, rank: &str, parent: Option<NodeId>, lanes: &[LaneId]) {
        let kind = |l: &LaneId| self.trace.lane(*l).kind;
        let (gpu, rest): (Vec<_>, Vec<_>) = lanes.iter().partition(|l| kind(l).is_gpu());
        let (cpu, own): (Vec<LaneId>, Vec<LaneId>) =
            rest.into_iter().partition(|l| kind(l) == LaneKind::Cpu);
        self.gpus(rank, parent, gpu);
        let cpu = self.threads(rank, parent, cpu);
        self.workers(rank, parent, cpu.workers);
        self.list(rank, parent, cpu.others, NodeKind::Others);
        self.list(rank, parent, cpu.quiet, NodeKind::Quiet);
        self.list(rank, parent, own, NodeKind::Recorder);
    }

    fn gpus(&mut self, rank: &str, parent: Option<NodeId>, lanes: Vec<LaneId>) {
        let mut by_device: BTreeMap<(i64, DeviceId), Vec<LaneId>> = BTreeMap::new();
        for lane in lanes {
            if let Some(device) = self.trace.lane_device(lane) {
                let index = self.trace.device(device).index;
                by_device.entry((index, device)).or_default().push(lane);
            }
        }
        for ((index, device), mut lanes) in by_device {
            // Files that do not say which GPU it was have -1.
            let title = if index < 0 {
                "GPU ?".to_owned()
            } else {
                format!("GPU {index}")
            };
            let key = format!("{rank}/gpu{}.{index}", self.trace.device(device).source.0);
            let group = self.group(parent, key.clone(), title, NodeKind::Gpu(device), false);
            lanes.sort_by_key(|&l| self.stream_order(l));
            // What the CPU named on the GPU repeats its own lanes: folded, unless there is nothing else.
            let work = lanes.partition_point(|&l| self.trace.lane(l).kind == LaneKind::Gpu);
            let marks = match work {
                0 => Vec::new(),
                n => lanes.split_off(n),
            };
            for lane in lanes {
                let note = match self.trace.lane(lane).kind {
                    LaneKind::Gpu => match self.stream_order(lane).1 {
                        0 => "compute",
                        1 => "copies",
                        _ => "comm",
                    },
                    _ => "",
                };
                self.lane(group, lane, None, note);
            }
            if !marks.is_empty() {
                let title = format!("Annotations ({})", marks.len());
                let key = format!("{key}/marks");
                let inner = self.group(Some(group), key, title, NodeKind::Marks, true);
                for lane in marks {
                    self.lane(inner, lane, None, "");
                }
            }
        }
    }

    /// Operations before annotations before synchronisation; compute before copies before communication.
    fn stream_order(&self, lane: LaneId) -> (u8, u8, i64, LaneId) {
        let info = self.trace.lane(lane);
        let kind = match info.kind {
            LaneKind::Gpu => 0,
            LaneKind::GpuAnnotation => 1,
            _ => 2,
        };
        let number = info.stream.map_or(0, |s| self.trace.stream(s).number);
        let class = if kind == 0 {
            self.stream_class(lane)
        } else {
            0
        };
        (kind, class, number, lane)
    }

    /// What a stream spends most of its time on: 0 compute, 1 copies, 2 communication.
    fn stream_class(&self, lane: LaneId) -> u8 {
        let mut time = [0_i64; 3];
        for id in self.trace.lane_spans(lane) {
            let slot = match self.analysis.layers().class_of(id) {
                LayerClass::GpuCopy => 1,
                LayerClass::GpuComm => 2,
                _ => 0,
            };
            time[slot] += self.trace.spans().dur(id).max(1);
        }
        if time[2] > time[0].max(time[1]) {
            2
        } else {
            u8::from(time[1] > time[0])
        }
    }

    /// Adds the training processes; returns the lanes that belong elsewhere.
    fn threads(&mut self, rank: &str, parent: Option<NodeId>, lanes: Vec<LaneId>) -> Elsewhere {
        let mut by_process: BTreeMap<ProcessKey, Vec<LaneId>> = BTreeMap::new();
        for lane in lanes {
            let process = self.trace.lane(lane).process;
            by_process
                .entry(self.process_key(process))
                .or_default()
                .push(lane);
        }
        let mut elsewhere = Elsewhere::default();
        let mut training: Vec<(bool, ProcessKey, Vec<LaneId>)> = Vec::new();
        for (key, lanes) in by_process {
            let role = |l: &LaneId| self.analysis.role(*l);
            let worker = lanes.iter().any(|l| role(l) == Role::Worker)
                && !lanes
                    .iter()
                    .any(|l| role(l) == Role::Main || self.loops.contains(l));
            if worker {
                elsewhere.workers.push((key, lanes));
            } else {
                let has_loop = lanes.iter().any(|l| self.loops.contains(l));
                training.push((!has_loop, key, lanes));
            }
        }
        training.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let alone = training.len() == 1;
        // Another recorder's record of a process stands inside its group.
        let mut groups: BTreeMap<usize, NodeId> = BTreeMap::new();
        for (no_loop, key, lanes) in training {
            let process = key.id.and_then(|id| self.analysis.identity().of_record(id));
            let within = process.and_then(|p| groups.get(&p)).copied();
            let title = match within {
                Some(_) => self.record_title(&key),
                None => self.process_title(&key, !no_loop || alone),
            };
            let head = (&key, title);
            let group = self.process(rank, within.or(parent), head, lanes, &mut elsewhere);
            match (within, process, group) {
                (None, Some(process), Some(group)) => {
                    groups.insert(process, group);
                }
                (Some(_), _, Some(group)) => {
                    let note = self.clock_note(&key);
                    self.tree.set_note(group, note);
                }
                _ => {}
            }
        }
        elsewhere
    }

    /// Of a process that another record stands for already: who made this one.
    fn record_title(&self, key: &ProcessKey) -> String {
        let source = self.trace.source(SourceId(key.source));
        format!("by {}", source.tracer.name)
    }

    /// How far the clock of this record may be off, and how many spans of both tell it: `±11 µs, 24 waits`.
    fn clock_note(&self, key: &ProcessKey) -> String {
        let who = self.analysis.identity();
        let recording = who.recording(SourceId(key.source));
        let told = who.clocks().iter().find(|c| c.recording == recording);
        told.map_or_else(String::new, ClockRelation::chip)
    }

    fn process(
        &mut self,
        rank: &str,
        parent: Option<NodeId>,
        (key, title): (&ProcessKey, String),
        lanes: Vec<LaneId>,
        elsewhere: &mut Elsewhere,
    ) -> Option<NodeId> {
        let mut main = Vec::new();
        for lane in lanes {
            let is_loop = self.loops.contains(&lane);
            let role = self.analysis.role(lane);
            if is_loop {
                main.push(lane);
            } else if self.is_quiet(lane) {
                elsewhere.quiet.push(lane);
            } else if role == Role::Worker {
                elsewhere.workers.push((key.clone(), vec![lane]));
            } else if role == Role::Main && !self.analysis.is_autograd(lane) {
                main.push(lane);
            } else {
                elsewhere.others.push(lane);
            }
        }
        if main.is_empty() {
            return None;
        }
        main.sort_by_key(|&l| {
            let busy: i64 = self.lod.leaves_of(l).map(|i| self.lod.leaf(i).busy).sum();
            (!self.loops.contains(&l), !self.is_first_thread(l), -busy, l)
        });
        let kind = key.id.map_or(NodeKind::Others, NodeKind::Process);
        let node_key = format!("{rank}/process{}", key.text());
        let group = self.group(parent, node_key, title, kind, false);
        for lane in main {
            let is_loop = self.loops.contains(&lane);
            let title = (is_loop || self.is_first_thread(lane)).then(|| "main thread".to_owned());
            self.lane(group, lane, title, if is_loop { "loop" } else { "" });
        }
        Some(group)
    }

    fn workers(
        &mut self,
        rank: &str,
        parent: Option<NodeId>,
        mut workers: Vec<(ProcessKey, Vec<LaneId>)>,
    ) {
        if workers.is_empty() {
            return;
        }
        workers.sort();
        let n = workers.len();
        let key = format!("{rank}/workers");
        let closed = n > MAX_OPEN_WORKERS;
        let title = format!("Workers ({n})");
        let group = self.group(parent, key, title, NodeKind::Workers, closed);
        for (process, lanes) in workers {
            let title = format!("worker {}", process.pid);
            if let [lane] = lanes[..] {
                let title = match process.id {
                    Some(_) if self.analysis.role(lane) == Role::Worker => Some(title),
                    _ => None,
                };
                self.lane(group, lane, title, "loading");
                continue;
            }
            let key = format!("{rank}/worker{}", process.text());
            let kind = process.id.map_or(NodeKind::Others, NodeKind::Worker);
            let one = self.group(Some(group), key, title, kind, false);
            for lane in lanes {
                self.lane(one, lane, None, "loading");
            }
        }
    }

    fn list(&mut self, rank: &str, parent: Option<NodeId>, lanes: Vec<LaneId>, kind: NodeKind) {
        if lanes.is_empty() {
            return;
        }
        let n = lanes.len();
        let s = if n == 1 { "" } else { "s" };
        let (key, title, closed) = match kind {
            NodeKind::Quiet => ("quiet", format!("{n} quiet thread{s}"), true),
            NodeKind::Recorder => {
                let alone = self.tree.nodes().is_empty();
                ("recorder", "Recorder, async spans".to_owned(), !alone)
            }
            _ => (
                "others",
                format!("Other threads ({n})"),
                n > MAX_OPEN_WORKERS,
            ),
        };
        let group = self.group(parent, format!("{rank}/{key}"), title, kind, closed);
        let mut lanes = lanes;
        lanes.sort_by_key(|&l| {
            let role = match self.analysis.role(l) {
                _ if self.analysis.is_autograd(l) => 0,
                Role::Autograd => 0,
                Role::Pin => 1,
                _ => 2,
            };
            (role, self.trace.lane(l).sort_index, l)
        });
        for lane in lanes {
            let note = match self.analysis.role(lane) {
                _ if self.analysis.is_autograd(lane) => "autograd",
                Role::Autograd => "autograd",
                Role::Pin => "pin memory",
                _ => "",
            };
            self.lane(group, lane, None, note);
        }
    }

    /// Adds a lane with its leaves; API calls follow as a row of their own.
    fn lane(&mut self, parent: NodeId, lane: LaneId, title: Option<String>, note: &str) {
        let info = self.trace.lane(lane);
        let title = title.unwrap_or_else(|| info.name.clone());
        let source = info.source.0;
        let key = format!("{source}/{}/{}", info.key, info.kind.key());
        let several = self.lod.leaves_of(lane).len() > 1;
        for leaf in self.lod.leaves_of(lane) {
            let (ending, title, note) = match self.lod.leaf(leaf).part {
                Part::Api if several => ("/api", "CUDA API", ""),
                Part::Python if several => ("/python", "python", ""),
                _ => ("", title.as_str(), note),
            };
            let mut parent = parent;
            let leaf_info = self.lod.leaf(leaf);
            if leaf_info.part == Part::Python && leaf_info.rows.len() > MAX_OPEN_FRAMES {
                let name = if several { "python frames" } else { title };
                let key = format!("{key}/frames");
                let kind = NodeKind::Frames(lane);
                parent = self.group(Some(parent), key, name.to_owned(), kind, true);
            }
            let node = Node {
                key: format!("{key}{ending}"),
                title: title.to_owned(),
                note: note.to_owned(),
                kind: NodeKind::Leaf(leaf),
                parent: None,
                children: Vec::new(),
                depth: 0,
                starts_collapsed: false,
            };
            self.tree.push(Some(parent), node);
        }
    }

    fn group(
        &mut self,
        parent: Option<NodeId>,
        key: String,
        title: String,
        kind: NodeKind,
        starts_collapsed: bool,
    ) -> NodeId {
        let node = Node {
            key,
            title,
            note: String::new(),
            kind,
            parent: None,
            children: Vec::new(),
            depth: 0,
            starts_collapsed,
        };
        self.tree.push(parent, node)
    }

    fn is_quiet(&self, lane: LaneId) -> bool {
        let busy: i64 = self
            .lod
            .leaves_of(lane)
            .map(|i| self.lod.leaf(i).busy)
            .sum();
        (busy as f64) < self.trace.extent().len() as f64 * QUIET_SHARE
    }

    fn is_first_thread(&self, lane: LaneId) -> bool {
        let info = self.trace.lane(lane);
        let pid = info.process.map(|p| self.trace.process(p).pid.as_str());
        pid.is_some() && info.thread.as_deref() == pid
    }

    fn process_title(&self, key: &ProcessKey, main: bool) -> String {
        let word = if main { "Main process" } else { "Process" };
        let Some(id) = key.id else {
            return "Threads".to_owned();
        };
        let process = self.trace.process(id);
        match &process.name {
            Some(name) if !main => format!("{word} {} · {name}", process.pid),
            _ => format!("{word} {}", process.pid),
        }
    }

    fn process_key(&self, process: Option<ProcessId>) -> ProcessKey {
        let Some(id) = process else {
            return ProcessKey::default();
        };
        let p = self.trace.process(id);
        ProcessKey {
            number: p.pid.parse().unwrap_or(i64::MAX),
            source: p.source.0,
            pid: p.pid.clone(),
            id: Some(id),
        }
    }
}

/// Sorts processes by number, then by file: each worker of a run writes a file of its own, under any name.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct ProcessKey {
    number: i64,
    source: u32,
    pid: String,
    id: Option<ProcessId>,
}

impl ProcessKey {
    fn text(&self) -> String {
        format!("{}.{}", self.source, self.pid)
    }
}

/// Lanes that do not show under their process.
#[derive(Default)]
struct Elsewhere {
    workers: Vec<(ProcessKey, Vec<LaneId>)>,
    others: Vec<LaneId>,
    quiet: Vec<LaneId>,
}
