//! Which call launched which GPU operation, what blocking calls waited for, which backward op belongs to which
//! forward op.
//!
//! Correlation ids decide; flow events are used only for operations that carry none. A file whose first thousand
//! operations all carry one is taken to have them throughout, and its flows, two per operation, are not kept.

use super::chunk::{Extra, FlowEvent, Id};
use super::lanes::LaneTable;
use crate::model::{CatId, DeviceId, LaneId, RawSpan, SpanId, StreamId, SyncScope, TraceBuilder};

/// The kinds of rows that say what a blocking call waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncKind {
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
pub(super) struct SyncRow {
    /// Its kind.
    pub kind: SyncKind,
    /// Its args.
    pub extra: Extra,
    /// The stream it lies on.
    pub stream: StreamId,
}

/// What one file has to link.
#[derive(Default)]
pub(super) struct Links {
    /// (correlation, call).
    pub calls: Vec<(i64, RawSpan)>,
    /// Calls without a correlation.
    pub calls_without: Vec<RawSpan>,
    /// (correlation, operation).
    pub operations: Vec<(i64, RawSpan)>,
    /// Operations without a correlation.
    pub operations_without: Vec<RawSpan>,
    /// Rows about synchronisation.
    pub syncs: Vec<SyncRow>,
    /// Launch flows, by lane keys of the file, as long as they may be needed.
    flows: Vec<FlowEvent>,
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

    /// Makes all links. Returns how many operations have no call in the file.
    pub fn resolve(mut self, builder: &mut TraceBuilder, lanes: &LaneTable, cpu_op: CatId) -> u64 {
        self.first_calls(builder);
        let mut unlinked = 0;
        self.operations.sort_by_key(|o| o.0);
        let mut calls = self.calls.iter().peekable();
        for &(correlation, operation) in &self.operations {
            while calls.next_if(|c| c.0 < correlation).is_some() {}
            match calls.peek() {
                Some(&&(found, call)) if found == correlation => {
                    builder.link_launch(call, operation);
                }
                _ => unlinked += 1,
            }
        }
        unlinked += self.by_flow(builder, lanes);
        self.sync_scopes(builder, lanes);
        self.forward_backward(builder, lanes, cpu_op);
        unlinked
    }

    /// Sorts the calls and keeps the one that starts first of each correlation: a runtime call may wrap a driver call.
    fn first_calls(&mut self, builder: &TraceBuilder) {
        let start = |call: RawSpan| builder.so_far().spans().start(SpanId(call.0));
        self.calls.sort_by_key(|c| c.0);
        let mut kept: Vec<(i64, RawSpan)> = Vec::with_capacity(self.calls.len());
        for &(correlation, call) in &self.calls {
            match kept.last_mut() {
                Some(last) if last.0 == correlation => {
                    if start(call) < start(last.1) {
                        last.1 = call;
                    }
                }
                _ => kept.push((correlation, call)),
            }
        }
        self.calls = kept;
    }

    fn call(&self, correlation: Option<i64>) -> Option<RawSpan> {
        let i = self
            .calls
            .binary_search_by_key(&correlation?, |c| c.0)
            .ok()?;
        Some(self.calls[i].1)
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
            let Some(call) = self.call(row.extra.correlation) else {
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
                    let record = self.call(row.extra.record_correlation);
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
