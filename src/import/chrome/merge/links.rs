//! Which call launched which GPU operation, what blocking calls waited for, which backward op belongs to which
//! forward op.
//!
//! Correlation ids decide, within one original of the file (see [`super::spaces`]); flow events are used only for
//! operations that carry none. An id that calls of two processes have links nothing: which of them is meant cannot be told,
//! unless the operation names its process. A file whose first thousand operations all carry an id is taken to have them
//! throughout, and its flows, two per operation, are not kept.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::lanes::LaneTable;
use super::spaces::{Pid, Spaces};
use crate::import::chrome::read::chunk::{Extra, FlowEvent, Id};
use crate::import::contract::tally::Count;
use crate::model::{
    CatId, DeviceId, LaneId, ProcessId, RawSpan, SpanId, SyncScope, Trace, TraceBuilder,
};

/// The kinds of rows that say what a blocking call waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncKind {
    /// `Stream Sync`.
    Stream,
    /// `Context Sync`.
    Context,
    /// `Event Sync`.
    Event,
}

impl SyncKind {
    /// The kind by the row's name; others do not block anybody.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "Stream Sync" => Some(Self::Stream),
            "Context Sync" => Some(Self::Context),
            "Event Sync" => Some(Self::Event),
            _ => None,
        }
    }
}

/// A row about synchronisation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyncRow {
    /// Its kind.
    pub kind: SyncKind,
    /// Its args.
    pub extra: Extra,
    /// The lane it lies on.
    pub lane: LaneId,
}

/// What came of linking.
#[derive(Default)]
pub(crate) struct Linked {
    /// Operations without a call in the file.
    pub without: u64,
    /// Operations whose id calls of several processes have.
    pub ambiguous: Count,
}

/// What one file has to link.
#[derive(Default)]
pub(crate) struct Links {
    /// (correlation, call).
    pub calls: Vec<(i64, RawSpan)>,
    /// Calls without a correlation.
    pub calls_without: Vec<RawSpan>,
    /// (correlation, operation).
    pub operations: Vec<(i64, RawSpan)>,
    /// Operations without a correlation.
    pub operations_without: Vec<RawSpan>,
    /// The pids of operations that name another one than their GPU.
    pub named: Vec<(RawSpan, Pid)>,
    /// Rows about synchronisation.
    pub syncs: Vec<SyncRow>,
    /// Launch flows, by lane keys of the file, as long as they may be needed.
    flows: Vec<FlowEvent>,
    /// The ranks that args state, by lane.
    pub ranks: BTreeMap<LaneId, i64>,
    /// Flows of forward to backward ops, by lane keys of the file.
    pub fwdbwd: Vec<FlowEvent>,
}

/// After this many operations with a correlation and none without, flows are not needed.
const ENOUGH: usize = 1_000;

impl Links {
    /// Keeps one end of a flow, by lane keys of the file.
    pub fn flow(&mut self, flow: FlowEvent) {
        if flow.fwdbwd {
            self.fwdbwd.push(flow);
        } else if self.operations.len() < ENOUGH || !self.operations_without.is_empty() {
            self.flows.push(flow);
        } else if !self.flows.is_empty() {
            self.flows = Vec::new();
        }
    }

    /// GPU operations seen.
    pub fn operation_count(&self) -> u64 {
        (self.operations.len() + self.operations_without.len()) as u64
    }

    /// Makes all links.
    pub fn resolve(
        mut self,
        builder: &mut TraceBuilder,
        lanes: &LaneTable,
        spaces: &Spaces,
        cpu_op: CatId,
    ) -> Linked {
        if spaces.are_several() {
            self.tell_ids_apart(builder.so_far(), lanes, spaces);
        }
        self.first_calls(builder.so_far());
        self.operations.sort_by_key(|o| o.0);
        let mut linked = self.by_correlation(builder, lanes);
        linked.without += self.by_flow(builder, lanes);
        self.sync_scopes(builder, lanes);
        self.forward_backward(builder, lanes, cpu_op);
        linked
    }

    /// Gives equal ids of different originals different numbers.
    fn tell_ids_apart(&mut self, trace: &Trace, lanes: &LaneTable, spaces: &Spaces) {
        let of_lane = lanes.numbers(spaces);
        let space = |lane: LaneId| of_lane.get(&lane).copied();
        let mut numbers: FxHashMap<(Option<u32>, i64), i64> = FxHashMap::default();
        let mut tell = |lane: LaneId, id: i64| {
            let next = i64::try_from(numbers.len()).unwrap_or(i64::MAX);
            *numbers.entry((space(lane), id)).or_insert(next)
        };
        for (id, span) in self.calls.iter_mut().chain(&mut self.operations) {
            *id = tell(trace.spans().lane(SpanId(span.0)), *id);
        }
        for row in &mut self.syncs {
            for id in [
                &mut row.extra.correlation,
                &mut row.extra.record_correlation,
            ] {
                *id = id.map(|id| tell(row.lane, id));
            }
        }
    }

    /// Sorts the calls and keeps the one that starts first of each id and process: a runtime call may wrap a driver call.
    fn first_calls(&mut self, trace: &Trace) {
        let key = |&(id, call): &(i64, RawSpan)| {
            let start = trace.spans().start(SpanId(call.0));
            (id, process_of(trace, call), start, call)
        };
        self.calls.sort_unstable_by_key(key);
        let of = |&mut (id, call): &mut (i64, RawSpan)| (id, process_of(trace, call));
        self.calls.dedup_by_key(of);
    }

    /// Links operations to the call of their id.
    fn by_correlation(&self, builder: &mut TraceBuilder, lanes: &LaneTable) -> Linked {
        let mut linked = Linked::default();
        let mut calls = &self.calls[..];
        for &(id, operation) in &self.operations {
            while calls.first().is_some_and(|c| c.0 < id) {
                calls = &calls[1..];
            }
            let of_id = calls.first().filter(|c| c.0 == id);
            let of_other = calls.get(1).filter(|c| c.0 == id);
            match (of_id, of_other) {
                (Some(&(_, call)), None) => builder.link_launch(call, operation),
                (Some(_), Some(_)) => match self.named(calls, operation, builder, lanes) {
                    Some(call) => builder.link_launch(call, operation),
                    None => {
                        let args = builder.so_far().spans().args(SpanId(operation.0));
                        linked.ambiguous.add_args(args);
                    }
                },
                (None, _) => linked.without += 1,
            }
        }
        linked
    }

    /// The call of the process that an operation names, among those of its id, which `calls` begins with.
    fn named(
        &self,
        calls: &[(i64, RawSpan)],
        operation: RawSpan,
        builder: &TraceBuilder,
        lanes: &LaneTable,
    ) -> Option<RawSpan> {
        let at = self.named.binary_search_by_key(&operation, |n| n.0).ok()?;
        let process = Some(lanes.known_process(self.named[at].1)?);
        let id = calls.first()?.0;
        let end = calls.partition_point(|c| c.0 == id);
        let of = |c: &(i64, RawSpan)| process_of(builder.so_far(), c.1);
        let found = calls[..end].binary_search_by_key(&process, of).ok()?;
        Some(calls[found].1)
    }

    /// The call of an id, where calls of one process only have it.
    fn only_call(&self, id: i64) -> Option<RawSpan> {
        let from = self.calls.partition_point(|c| c.0 < id);
        let mut found = self.calls[from..].iter().take_while(|c| c.0 == id);
        let first = found.next()?.1;
        found.next().is_none().then_some(first)
    }

    /// Launch flows, for operations without correlation. Returns how many stay without a call.
    fn by_flow(&self, builder: &mut TraceBuilder, lanes: &LaneTable) -> u64 {
        let total = self.operations_without.len() as u64;
        if total == 0 || self.flows.is_empty() {
            return total;
        }
        let spans = builder.so_far().spans();
        let place = |raw: RawSpan| {
            let id = SpanId(raw.0);
            (spans.lane(id), spans.start(id))
        };
        let mut operations: Vec<(LaneId, i64, RawSpan)> = self
            .operations_without
            .iter()
            .map(|&o| (place(o).0, place(o).1, o))
            .collect();
        operations.sort_unstable();
        let mut calls: Vec<(LaneId, i64, RawSpan)> = self
            .calls
            .iter()
            .map(|c| c.1)
            .chain(self.calls_without.iter().copied())
            .map(|c| (place(c).0, place(c).1, c))
            .collect();
        calls.sort_unstable();
        let mut starts: Vec<(Id, u32, i64)> = self
            .flows
            .iter()
            .filter(|f| f.start)
            .map(|f| (f.id, f.lane, f.ts))
            .collect();
        starts.sort_by_key(|s| s.0);
        starts.dedup_by_key(|s| s.0);
        let mut links = Vec::new();
        for flow in self.flows.iter().filter(|f| !f.start) {
            let found = || {
                let i = starts.binary_search_by_key(&flow.id, |s| s.0).ok()?;
                let (_, thread, ts) = starts[i];
                let thread = lanes.existing(thread)?;
                let after = calls.partition_point(|c| (c.0, c.1) <= (thread, ts));
                let &(lane, _, call) = calls.get(after.checked_sub(1)?)?;
                if lane != thread || spans.end(SpanId(call.0)) < ts {
                    return None;
                }
                let gpu = lanes.gpu_lane_of_thread(flow.lane)?;
                let first = operations.partition_point(|o| (o.0, o.1) < (gpu, flow.ts));
                let &(lane, start, operation) = operations.get(first)?;
                (lane == gpu && start == flow.ts).then_some((call, operation))
            };
            links.extend(found());
        }
        links.sort_unstable_by_key(|l| l.1);
        links.dedup_by_key(|l| l.1);
        for &(call, operation) in &links {
            builder.link_launch(call, operation);
        }
        total - links.len() as u64
    }

    fn sync_scopes(&self, builder: &mut TraceBuilder, lanes: &LaneTable) {
        for row in &self.syncs {
            let call = |id: Option<i64>| self.only_call(id?);
            let record = call(row.extra.record_correlation);
            let stream = builder.so_far().lane(row.lane).stream;
            let (Some(call), Some(stream)) = (call(row.extra.correlation), stream) else {
                continue;
            };
            let device: DeviceId = builder.so_far().stream(stream).device;
            let scope = match row.kind {
                SyncKind::Stream => SyncScope::Stream(stream),
                SyncKind::Context => SyncScope::Device(device),
                SyncKind::Event => {
                    let stream = row
                        .extra
                        .wait_on_stream
                        .and_then(|s| lanes.find_stream(device, s));
                    let (Some(stream), Some(record)) = (stream, record) else {
                        continue;
                    };
                    let record_at = builder.so_far().spans().start(SpanId(record.0));
                    SyncScope::Event { stream, record_at }
                }
            };
            builder.set_sync_scope(call, scope);
        }
    }

    fn forward_backward(&mut self, builder: &mut TraceBuilder, lanes: &LaneTable, cpu_op: CatId) {
        self.fwdbwd.sort_by_key(|f| (f.id, !f.start));
        for flow in self.fwdbwd.chunk_by(|a, b| a.id == b.id) {
            let Some(from) = flow.first().filter(|f| f.start) else {
                continue;
            };
            let Some(from_lane) = lanes.existing(from.lane) else {
                continue;
            };
            for to in flow.iter().filter(|f| !f.start) {
                if let Some(to_lane) = lanes.existing(to.lane) {
                    builder.link_fwdbwd_at((from_lane, from.ts), (to_lane, to.ts), cpu_op);
                }
            }
        }
    }
}

/// The process of a call.
fn process_of(trace: &Trace, call: RawSpan) -> Option<ProcessId> {
    trace.lane(trace.spans().lane(SpanId(call.0))).process
}
