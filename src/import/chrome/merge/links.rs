//! Which call launched which GPU operation, what blocking calls waited for, which backward op belongs to which
//! forward op.
//!
//! Correlation ids decide, within one process (see [`super::owners`]); flow events are used only for operations that carry none. A file whose first thousand
//! operations all carry one is taken to have them throughout, and its flows, two per operation, are not kept.

use std::collections::BTreeSet;

use super::lanes::LaneTable;
use super::owners::{Linked, Owners, calls_of, process_of};
use crate::import::chrome::read::chunk::{Extra, FlowEvent, Id};
use crate::model::{
    CatId, DeviceId, LaneId, ProcessId, RawSpan, SpanId, StreamId, SyncScope, Trace, TraceBuilder,
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
    /// The stream it lies on.
    pub stream: StreamId,
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
    pub named: Vec<(RawSpan, Id)>,
    /// Rows about synchronisation.
    pub syncs: Vec<SyncRow>,
    /// Launch flows, by lane keys of the file, as long as they may be needed.
    flows: Vec<FlowEvent>,
    /// The processes of the calls.
    processes: BTreeSet<Option<ProcessId>>,
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
        cpu_op: CatId,
    ) -> Linked {
        let several = self.has_several_processes(builder.so_far());
        self.first_calls(builder, several);
        self.operations.sort_by_key(|o| o.0);
        let (owners, mut linked) = if several {
            let named = |operation: RawSpan| {
                let at = self.named.binary_search_by_key(&operation, |n| n.0).ok()?;
                let process = lanes.known_process(self.named[at].1)?;
                self.processes.contains(&Some(process)).then_some(process)
            };
            Owners::link(&self.calls, &self.operations, builder.so_far(), named)
        } else {
            (Owners::default(), self.by_correlation())
        };
        for &(call, operation) in &linked.pairs {
            builder.link_launch(call, operation);
        }
        linked.without += self.by_flow(builder, lanes);
        self.sync_scopes(builder, lanes, &owners);
        self.forward_backward(builder, lanes, cpu_op);
        linked
    }

    /// Links the operations of the only process.
    fn by_correlation(&self) -> Linked {
        let mut linked = Linked::default();
        let mut calls = self.calls.iter().peekable();
        for &(correlation, operation) in &self.operations {
            while calls.next_if(|c| c.0 < correlation).is_some() {}
            match calls.peek() {
                Some(&&(found, call)) if found == correlation => {
                    linked.pairs.push((call, operation));
                }
                _ => linked.without += 1,
            }
        }
        linked
    }

    /// Sees whose calls there are.
    fn has_several_processes(&mut self, trace: &Trace) -> bool {
        let mut last = None;
        for &(_, call) in &self.calls {
            let lane = trace.spans().lane(SpanId(call.0));
            if last != Some(lane) {
                last = Some(lane);
                self.processes.insert(trace.lane(lane).process);
            }
        }
        self.processes.len() > 1
    }

    /// Sorts the calls and keeps the one that starts first of each process and correlation: a runtime call may wrap a
    /// driver call.
    fn first_calls(&mut self, builder: &TraceBuilder, several: bool) {
        let trace = builder.so_far();
        let start = |call: RawSpan| trace.spans().start(SpanId(call.0));
        let process = |call: RawSpan| several.then(|| process_of(trace, call));
        if several {
            self.calls.sort_by_key(|c| (c.0, process(c.1)));
        } else {
            self.calls.sort_by_key(|c| c.0);
        }
        let mut kept: Vec<(i64, RawSpan)> = Vec::with_capacity(self.calls.len());
        for &(correlation, call) in &self.calls {
            match kept.last_mut() {
                Some(last) if last.0 == correlation && process(last.1) == process(call) => {
                    if start(call) < start(last.1) {
                        last.1 = call;
                    }
                }
                _ => kept.push((correlation, call)),
            }
        }
        self.calls = kept;
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

    fn sync_scopes(&self, builder: &mut TraceBuilder, lanes: &LaneTable, owners: &Owners) {
        for row in &self.syncs {
            let call = |correlation: Option<i64>, trace: &Trace| {
                owners.call(calls_of(&self.calls, correlation?), trace, row.stream)
            };
            let record = call(row.extra.record_correlation, builder.so_far());
            let Some(call) = call(row.extra.correlation, builder.so_far()) else {
                continue;
            };
            let device: DeviceId = builder.so_far().stream(row.stream).device;
            let scope = match row.kind {
                SyncKind::Stream => SyncScope::Stream(row.stream),
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
