//! What every figure is computed from: layers, roles, one index per lane, the launches.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::base::lanes::{Lane, LaneIndex, Started};
use crate::analysis::base::launches::Launches;
use crate::analysis::base::name_kinds::{NameKind, NameKinds};
use crate::analysis::identity::Identity;
use crate::analysis::layers::ids::{LayerId, Layers};
use crate::model::{DeviceId, LaneId, LaneKind, ProcessId, Role, SpanId, Trace};
use crate::time::TimeRange;

/// The parts of an analysis that are not figures themselves.
pub(in crate::analysis) struct Core {
    pub trace: Arc<Trace>,
    pub layers: Layers,
    pub identity: Identity,
    pub autograd: Vec<bool>,
    pub lanes: Vec<LaneIndex>,
    /// For lanes of operations of a GPU that counts: its place among the GPUs.
    pub lane_gpu: Vec<Option<usize>>,
    /// The lanes of operations of each GPU.
    pub lanes_of_gpu: Vec<Vec<LaneId>>,
    /// GPUs with operations, by number in the file, then in order of first appearance.
    pub devices: Vec<DeviceId>,
    pub launches: Launches,
    /// What the names of spans say.
    pub names: NameKinds,
    /// From the first to the last span of each source that is of a thread or a GPU.
    pub source_extents: Vec<TimeRange>,
    /// Layers of lanes whose spans another recorder of the same thread has, too.
    pub repeated: FxHashSet<(LaneId, LayerId)>,
    /// Places of the GPUs.
    pub places: FxHashMap<DeviceId, usize>,
}

impl Core {
    pub fn rank(&self, lane: LaneId) -> Option<u32> {
        self.identity.rank(lane)
    }

    pub fn role(&self, lane: LaneId) -> Role {
        self.identity.roles()[lane.index()]
    }

    /// What a span's name says.
    pub fn name_kind(&self, span: SpanId) -> NameKind {
        self.names.of(self.trace.spans().name(span))
    }

    /// The process of a lane, one for all its recorders: its first record.
    pub fn recorded_process(&self, lane: LaneId) -> Option<ProcessId> {
        let own = self.process_of(lane)?;
        let process = self.identity.of_record(own);
        let first = process.and_then(|p| self.identity.processes[p].records.first());
        Some(first.copied().unwrap_or(own))
    }

    /// Whether spans of a lane are counted with another record of its thread.
    pub fn is_repeated(&self, lane: LaneId, layer: LayerId) -> bool {
        !self.repeated.is_empty() && self.repeated.contains(&(lane, layer))
    }

    /// The lanes of a rank's training process that are of no GPU; all of the rank where none trains.
    pub fn threads_of(&self, rank: u32) -> Vec<LaneId> {
        let training = self.identity.training(rank);
        let own = |&l: &LaneId| training.is_none() || self.identity.process(l) == training;
        self.rank_lanes(rank).filter(own).collect()
    }

    pub fn columns(&self, lane: LaneId) -> Lane<'_> {
        Lane::new(&self.trace, self.layers.column(), lane)
    }

    pub fn index(&self, lane: LaneId) -> &LaneIndex {
        &self.lanes[lane.index()]
    }

    pub fn layer(&self, span: SpanId) -> LayerId {
        self.layers.of(span)
    }

    pub fn range(&self, span: SpanId) -> TimeRange {
        self.trace.spans().range(span)
    }

    /// Whether something on a lane reaches out of what its file says it covers, as at the edges of a saved window: what was
    /// launched there is not recorded.
    pub fn is_cut(&self, lane: LaneId, range: TimeRange) -> bool {
        let source = self.trace.source(self.trace.lane(lane).source);
        let saved = source.saved.map(|own| TimeRange {
            start: own.start.saturating_add(source.to_trace_ns),
            end: own.end.saturating_add(source.to_trace_ns),
        });
        let mut covered = [source.capture, saved].into_iter().flatten();
        covered.any(|c| !c.covers(range))
    }

    /// The process of a lane: of one that several recorders saw its first record.
    pub fn process_of(&self, lane: LaneId) -> Option<ProcessId> {
        let process = self
            .identity
            .process(lane)
            .map(|p| &self.identity.processes[p]);
        let first = process.and_then(|p| p.records.first().copied());
        first.or(self.trace.lane(lane).process)
    }

    /// The lanes of threads of a lane's process; of a lane without one itself.
    pub fn siblings(&self, lane: LaneId) -> Vec<LaneId> {
        match self.identity.process(lane) {
            Some(process) => self.identity.lanes(process).to_vec(),
            None => vec![lane],
        }
    }

    /// The place of a GPU among those that have operations and count.
    pub fn gpu_of(&self, device: DeviceId) -> Option<usize> {
        self.places.get(&device).copied()
    }

    /// Lanes that are not of a GPU stream.
    pub fn cpu_lanes(&self) -> impl Iterator<Item = LaneId> + '_ {
        let trace = &self.trace;
        trace.lane_ids().filter(|&l| !trace.lane(l).kind.is_gpu())
    }

    /// Those of a rank.
    pub fn rank_lanes(&self, rank: u32) -> impl Iterator<Item = LaneId> + '_ {
        let lanes = self.identity.lanes_of(rank).iter().copied();
        lanes.filter(|&l| !self.trace.lane(l).kind.is_gpu())
    }

    /// Lanes of operations of one GPU.
    pub fn gpu_lanes(&self, gpu: usize) -> impl Iterator<Item = LaneId> + '_ {
        self.lanes_of_gpu[gpu].iter().copied()
    }

    /// Whether a span is GPU work, and of which GPU.
    pub fn operation(&self, span: SpanId) -> Option<usize> {
        if !self.layer(span).is_operation() {
            return None;
        }
        self.lane_gpu[self.trace.spans().lane(span).index()]
    }

    /// Spans of the layers chosen by `want` on one lane that start in `window`: number and whole durations.
    pub fn started(
        &self,
        lane: LaneId,
        window: TimeRange,
        want: impl Fn(LayerId) -> bool,
    ) -> Started {
        let index = self.index(lane);
        let mut sum = Started::default();
        for (layer, s) in index
            .layers
            .iter()
            .zip(index.started(&self.columns(lane), window))
        {
            if want(*layer) {
                sum.count += s.count;
                sum.whole += s.whole;
            }
        }
        sum
    }

    /// Ranges of the spans of one layer on a lane, in stored order.
    pub fn spans_of(&self, lane: LaneId, layer: LayerId) -> Vec<(SpanId, TimeRange)> {
        let columns = self.columns(lane);
        (0..columns.len())
            .filter(|&i| columns.of[i] == layer)
            .map(|i| (columns.id(i), columns.range(i)))
            .collect()
    }
}

/// Walks the launch calls of ascending operations.
pub(in crate::analysis) struct CallCursor<'a> {
    pairs: &'a [(SpanId, SpanId)],
}

impl<'a> CallCursor<'a> {
    pub fn new(core: &'a Core, first: SpanId) -> Self {
        let pairs = core.trace.launch_calls();
        let at = pairs.partition_point(|p| p.0 < first);
        Self {
            pairs: &pairs[at..],
        }
    }

    /// The call of `op`; operations must be asked for in ascending order.
    pub fn call(&mut self, op: SpanId) -> Option<SpanId> {
        while let Some((first, rest)) = self.pairs.split_first() {
            if first.0 < op {
                self.pairs = rest;
            } else {
                return (first.0 == op).then_some(first.1);
            }
        }
        None
    }
}

/// What two recorders have of one thread is counted once, by layer: of the record with most spans of it.
pub(in crate::analysis) fn repeated(
    trace: &Trace,
    who: &Identity,
    lanes: &[LaneIndex],
    layers: &Layers,
) -> FxHashSet<(LaneId, LayerId)> {
    let mut out = FxHashSet::default();
    let all = who.processes.iter().enumerate();
    for (process, _) in all.filter(|(_, p)| p.recordings.len() > 1) {
        let threads = who.threads(trace, process).into_values();
        for records in threads.filter(|r| r.len() > 1) {
            let mut most: FxHashMap<LayerId, (u64, LaneId)> = FxHashMap::default();
            for &lane in &records {
                let columns = Lane::new(trace, layers.column(), lane);
                for (layer, count) in lanes[lane.index()].counted(&columns) {
                    let best = most.entry(layer).or_insert((count, lane));
                    let loser = if count > best.0 {
                        std::mem::replace(best, (count, lane)).1
                    } else {
                        lane
                    };
                    if loser != best.1 {
                        out.insert((loser, layer));
                    }
                }
            }
        }
    }
    out
}

/// From the first to the last span of each source that is of a thread or a GPU.
pub(in crate::analysis) fn source_extents(trace: &Trace, lanes: &[LaneIndex]) -> Vec<TimeRange> {
    let mut extents = vec![None; trace.sources().len()];
    for id in trace.lane_ids() {
        let lane = trace.lane(id);
        let first = trace.spans().starts().get(lane.spans.start as usize);
        let last = lanes[id.index()].last_end();
        if let (LaneKind::Cpu | LaneKind::Gpu, Some(&start), Some(end)) = (lane.kind, first, last) {
            let slot: &mut Option<TimeRange> = &mut extents[lane.source.index()];
            let known = slot.unwrap_or(TimeRange { start, end });
            *slot = Some(TimeRange::new(known.start.min(start), known.end.max(end)));
        }
    }
    extents.into_iter().map(Option::unwrap_or_default).collect()
}

/// Spans that are not contained in an earlier one of the same list; `spans` by start, longest first.
pub(in crate::analysis) fn outermost(spans: &[(SpanId, TimeRange)]) -> Vec<(SpanId, TimeRange)> {
    let mut out = Vec::new();
    let mut end: Option<i64> = None;
    for &(id, r) in spans {
        if end.is_none_or(|e| r.start >= e || r.end > e) {
            out.push((id, r));
            end = Some(end.map_or(r.end, |e| e.max(r.end)));
        }
    }
    out
}

/// GPUs that have operations and count, and for each lane of operations the place of its GPU.
pub(in crate::analysis) fn find_gpus(
    trace: &Trace,
    lanes: &[LaneIndex],
) -> (
    Vec<DeviceId>,
    Vec<Option<usize>>,
    FxHashMap<DeviceId, usize>,
) {
    let device = |l: LaneId| {
        let device = trace.lane_device(l)?;
        let counts = trace.lane(l).kind == LaneKind::Gpu && trace.device(device).counts;
        counts.then_some(device)
    };
    let mut devices: Vec<DeviceId> = trace
        .lane_ids()
        .filter(|l| lanes[l.index()].layers.iter().any(|l| l.is_operation()))
        .filter_map(device)
        .collect();
    devices.sort_by_key(|&d| (trace.device(d).index, d));
    devices.dedup();
    let places: FxHashMap<DeviceId, usize> =
        devices.iter().enumerate().map(|(i, &d)| (d, i)).collect();
    let gpu = |l| places.get(&device(l)?).copied();
    let lane_gpu = trace.lane_ids().map(gpu).collect();
    (devices, lane_gpu, places)
}

/// The lanes of operations of each of `gpus` GPUs.
pub(in crate::analysis) fn lanes_of_gpus(
    lane_gpu: &[Option<usize>],
    gpus: usize,
) -> Vec<Vec<LaneId>> {
    let mut out = vec![Vec::new(); gpus];
    for (lane, gpu) in (0_u32..).zip(lane_gpu) {
        if let Some(gpu) = *gpu {
            out[gpu].push(LaneId(lane));
        }
    }
    out
}
