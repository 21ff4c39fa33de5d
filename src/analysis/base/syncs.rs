//! Synchronisation points: what a blocking call waited for, and the bubble that it leaves on the GPU.
//!
//! ```text
//! CPU   ├ launch a ┤ ├──────── synchronise ────────┤   ├ launch b ┤
//! GPU          ├──────── op a ────────┤                     ├── op b ──┤
//!                    ├── absorbed ────┤─── tail ───┤
//!                                     ├────── bubble ───────┤           less other work of the GPU and waits for data
//! ```
//!
//! Waited for is what the call's scope covers (a device, a stream, a stream up to an event), was launched before the call
//! and ends after its start. Operations of a stream are sorted by their own starts, not by those of their calls: a
//! [`MaxTree`] over the earliest call of each block finds the later ones that were launched in time.

use std::collections::BTreeMap;

use crate::analysis::Analysis;
use crate::analysis::base::core::{CallCursor, Core};
use crate::analysis::base::gpus::Gpu;
use crate::analysis::base::lanes::{Lane, MaxTree};
use crate::analysis::base::phases::Phases;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::model::{LaneId, NameId, ProcessId, SpanId, SyncScope};
use crate::time::TimeRange;

/// Operations per block of [`CallStarts`].
const BLOCK: usize = 256;

/// What one synchronising call waited for. Times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncFigures {
    /// The call.
    pub span: SpanId,
    /// Whether the file says what it waited for.
    pub known_scope: bool,
    /// The operations that it waited for.
    pub waited_ops: u64,
    /// GPU time of those during the call.
    pub absorbed: i64,
    /// The same by the phase that launched them; `None` without one.
    pub absorbed_by_phase: Vec<(Option<LayerId>, i64)>,
    /// The phase that the call is in.
    pub in_phase: Option<LayerId>,
    /// From the end of the last one to the return of the call.
    pub tail: Option<i64>,
    /// Something in scope ends after the call: the scope was too wide.
    pub incomplete: bool,
    /// What the GPU loses because nothing was queued behind the wait, without the waits for data that follow.
    pub bubble: Option<i64>,
}

/// Synchronising calls of one name. Times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncNameRow {
    /// The name.
    pub name: NameId,
    /// Calls that start in the window.
    pub calls: u64,
    /// Sum of their lengths.
    pub time: i64,
    /// Sum of the GPU time that they waited for.
    pub absorbed: i64,
    /// The same by the phase that launched it, as far as it is more than nothing, the largest first.
    pub absorbed_by_phase: Vec<(Option<LayerId>, i64)>,
    /// Sum of their bubbles, of those whose bubble is known; `None` where none is.
    pub bubble: Option<i64>,
    /// Calls of which the file does not say what they waited for.
    pub unknown_scope: u64,
}

/// For a lane of operations: the earliest launch call per block, to find those launched before some instant.
#[derive(Debug, Default)]
pub(in crate::analysis) struct CallStarts {
    /// Negated, so that "earlier" is "above".
    blocks: MaxTree,
}

impl CallStarts {
    pub fn new(core: &Core, lane: LaneId) -> Self {
        let columns = core.columns(lane);
        let mut calls = CallCursor::new(core, SpanId(columns.first));
        let mut earliest = vec![i64::MIN; columns.len().div_ceil(BLOCK)];
        for i in 0..columns.len() {
            if let Some(call) = calls.call(columns.id(i)) {
                let slot = &mut earliest[i / BLOCK];
                *slot = (*slot).max(-core.trace.spans().start(call));
            }
        }
        Self {
            blocks: MaxTree::new(&earliest),
        }
    }

    pub fn heap_bytes(&self) -> usize {
        self.blocks.heap_bytes()
    }
}

/// What the search for waited-for operations needs.
pub(in crate::analysis) struct SyncBase<'a> {
    pub core: &'a Core,
    pub gpus: &'a [Gpu],
    pub phases: &'a [Phases],
    pub calls: &'a [CallStarts],
    pub tolerance: i64,
}

/// The operations that a call waited for, ascending, and the GPU that it is about.
pub(in crate::analysis) struct Waited {
    pub ops: Vec<(SpanId, Option<SpanId>)>,
    pub gpu: Option<usize>,
    /// Latest end.
    pub last: Option<i64>,
}

impl SyncBase<'_> {
    /// Operations in scope that were launched before the call and end after its start; its own, too. A call of unknown
    /// scope waits for what its process had launched and what ends by its return.
    pub fn waited(&self, call: SpanId) -> Waited {
        let core = self.core;
        let trace = &core.trace;
        let scope = trace.sync_scope(call);
        let me = core.range(call);
        let gpu_of = |d| core.gpu_of(d);
        let (lanes, limit): (Vec<LaneId>, i64) = match scope {
            Some(SyncScope::Device(device)) => {
                let gpu = gpu_of(device);
                let lanes = gpu.into_iter().flat_map(|g| core.gpu_lanes(g));
                (lanes.collect(), me.start)
            }
            Some(SyncScope::Stream(stream)) => (self.lane_of(stream), me.start),
            Some(SyncScope::Event { stream, record_at }) => (self.lane_of(stream), record_at),
            None => {
                let all = || {
                    let all = trace.lane_ids();
                    all.filter(|l| core.lane_gpu[l.index()].is_some()).collect()
                };
                let process = core.identity.process(trace.spans().lane(call));
                let own = |p: usize| core.launches.lanes_for(p).collect();
                (process.map_or_else(all, own), me.start)
            }
        };
        let mut ops = Vec::new();
        for &lane in &lanes {
            self.search(call, me, lane, limit, scope.is_none(), &mut ops);
        }
        ops.sort_unstable();
        ops.dedup();
        let device = match scope {
            Some(SyncScope::Device(d)) => Some(d),
            Some(SyncScope::Stream(s) | SyncScope::Event { stream: s, .. }) => {
                Some(trace.stream(s).device)
            }
            None => None,
        };
        let first = || ops.first().and_then(|o| core.operation(o.0));
        Waited {
            gpu: device.map_or_else(first, gpu_of),
            last: ops.iter().map(|o| core.range(o.0).end).max(),
            ops,
        }
    }

    fn lane_of(&self, stream: crate::model::StreamId) -> Vec<LaneId> {
        let lane = self.core.trace.stream(stream).ops;
        lane.into_iter()
            .filter(|l| self.core.lane_gpu[l.index()].is_some())
            .collect()
    }

    fn search(
        &self,
        call: SpanId,
        me: TimeRange,
        lane: LaneId,
        limit: i64,
        unknown: bool,
        out: &mut Vec<(SpanId, Option<SpanId>)>,
    ) {
        let core = self.core;
        let columns = core.columns(lane);
        let spans = core.trace.spans();
        let latest = me.end.saturating_add(self.tolerance);
        let process = core.process_of(spans.lane(call));
        let fits = |i: usize, by: Option<SpanId>| {
            let r = columns.range(i);
            let asked = match by {
                Some(by) => spans.start(by),
                // Without a recorded launch: what began before the call returned was asked for before it.
                None if r.start < me.end => r.start.min(me.start - 1),
                None => return false,
            };
            columns.of[i].is_operation()
                && r.end > me.start
                && (asked < limit || by == Some(call))
                && (!unknown || (r.end <= latest && self.same_process(lane, by, process)))
        };
        let mut candidates = Vec::new();
        core.index(lane)
            .open_at(&columns, me.start, |i| candidates.push(i));
        let from = columns.starts.partition_point(|&s| s < me.start);
        let first = candidates.first().copied().unwrap_or(from);
        if first >= columns.len() {
            return;
        }
        let mut cursor = CallCursor::new(core, columns.id(first));
        for i in candidates {
            let by = cursor.call(columns.id(i));
            if fits(i, by) {
                out.push((columns.id(i), by));
            }
        }
        let mut visit = |i: usize| {
            let by = cursor.call(columns.id(i));
            if fits(i, by) {
                out.push((columns.id(i), by));
            }
        };
        // What starts while the call waits may have no launch; later ones are found by theirs.
        let near = if unknown {
            latest.saturating_add(1)
        } else {
            me.end
        };
        let near = columns.starts.partition_point(|&s| s < near).max(from);
        (from..near).for_each(&mut visit);
        if !unknown {
            let blocks = near / BLOCK..columns.len().div_ceil(BLOCK);
            self.calls[lane.index()]
                .blocks
                .above(-limit, blocks, &mut |block| {
                    let end = columns.len().min((block + 1) * BLOCK);
                    (near.max(block * BLOCK)..end).for_each(&mut visit);
                });
        }
        // Its own operations may lie behind everything that ended the search.
        for link in core.trace.launched_by(call) {
            let i = link.to.0.wrapping_sub(columns.first) as usize;
            if spans.lane(link.to) == lane && i < columns.len() && fits(i, Some(call)) {
                out.push((link.to, Some(call)));
            }
        }
    }

    fn same_process(&self, lane: LaneId, by: Option<SpanId>, process: Option<ProcessId>) -> bool {
        let trace = &self.core.trace;
        let of_stream = || trace.stream(trace.lane(lane).stream?).process;
        let owner = match by {
            Some(by) => self.core.process_of(trace.spans().lane(by)),
            None => of_stream(),
        };
        owner.is_none() || process.is_none() || owner == process
    }

    /// From `from` on: the first operation of a GPU with a length that is not in `without`.
    pub fn next_start(
        &self,
        gpu: usize,
        from: i64,
        without: &[(SpanId, Option<SpanId>)],
    ) -> Option<i64> {
        let starts = self.core.gpu_lanes(gpu).filter_map(|lane| {
            let columns: Lane<'_> = self.core.columns(lane);
            let i = columns.starts.partition_point(|&s| s < from);
            let mut rest = i..columns.len();
            let found = rest.find(|&k| {
                let id = columns.id(k);
                columns.durs[k] > 0
                    && columns.of[k].is_operation()
                    && without.binary_search_by_key(&id, |w| w.0).is_err()
            });
            found.map(|k| columns.starts[k])
        });
        starts.min()
    }

    /// From the end of what a call (at `me`) waited for to the next other work of that GPU.
    pub fn bubble_window(&self, me: TimeRange, waited: &Waited) -> Option<TimeRange> {
        let start = waited.last.map_or(me.end, |l| me.start.max(l.min(me.end)));
        let next = self.next_start(waited.gpu?, start, &waited.ops)?;
        Some(TimeRange::new(start, next))
    }

    /// Idle time of the GPU in [`Self::bubble_window`], less waits for data.
    pub fn bubble(&self, call: SpanId, waited: &Waited) -> Option<i64> {
        let gpu = waited.gpu?;
        let window = self.bubble_window(self.core.range(call), waited)?;
        let lane = self.core.trace.spans().lane(call);
        let idle = Union::single(window).subtract(&self.gpus[gpu].busy.clip(window));
        let fetch = self.core.index(lane).union(LayerId::FETCH);
        Some(idle.measure() - fetch.map_or(0, |f| idle.measure_common(f, window)))
    }

    /// Whether the GPU worked inside a call on what it waited for: its absorbed time is not zero.
    pub fn absorbs(&self, call: SpanId) -> bool {
        let (core, me) = (self.core, self.core.range(call));
        let mut ops = self.waited(call).ops.into_iter();
        ops.any(|(op, _)| !core.range(op).clip(me).is_empty())
    }

    /// All figures of one call.
    pub fn figures(&self, call: SpanId) -> SyncFigures {
        let waited = self.waited(call);
        let core = self.core;
        let me = core.range(call);
        let lane = core.trace.spans().lane(call);
        let phase = |lane: LaneId, t: i64| self.phases[lane.index()].at(t);
        let mut by: BTreeMap<Option<LayerId>, Vec<TimeRange>> = BTreeMap::new();
        for &(op, by_call) in &waited.ops {
            let asked_in = by_call.and_then(|c| {
                let (its, t) = (core.trace.spans().lane(c), core.trace.spans().start(c));
                phase(its, t).or_else(|| if its == lane { None } else { phase(lane, t) })
            });
            by.entry(asked_in)
                .or_default()
                .push(core.range(op).clip(me));
        }
        let all = by.values().flatten().copied().collect();
        SyncFigures {
            span: call,
            known_scope: core.trace.sync_scope(call).is_some(),
            waited_ops: waited.ops.len() as u64,
            absorbed: Union::new(all).measure(),
            absorbed_by_phase: by
                .into_iter()
                .map(|(p, r)| (p, Union::new(r).measure()))
                .collect(),
            in_phase: phase(lane, me.start),
            tail: waited.last.map(|l| me.end - l.min(me.end)),
            incomplete: waited.last.is_some_and(|l| l > me.end),
            bubble: self.bubble(call, &waited),
        }
    }
}

impl Analysis {
    pub(in crate::analysis) fn sync_base(&self) -> SyncBase<'_> {
        SyncBase {
            core: &self.core,
            gpus: &self.gpus,
            phases: &self.phases,
            calls: &self.call_starts,
            tolerance: self.options.sync_tol,
        }
    }

    /// What a synchronising call waited for. Meant for spans of the layer `sync` on CPU lanes.
    #[must_use]
    pub fn sync(&self, call: SpanId) -> SyncFigures {
        self.sync_base().figures(call)
    }

    /// Synchronising calls of CPU lanes that start in a window, in stored order.
    #[must_use]
    pub fn sync_calls(&self, window: TimeRange) -> Vec<SpanId> {
        self.cpu_spans(window, |l| l == LayerId::SYNC)
    }

    /// Synchronising calls by name, the longest together first.
    #[must_use]
    pub fn sync_names<'a>(
        &self,
        calls: impl IntoIterator<Item = &'a SyncFigures>,
    ) -> Vec<SyncNameRow> {
        let spans = self.core.trace.spans();
        let mut rows: BTreeMap<NameId, (SyncNameRow, BTreeMap<Option<LayerId>, i64>)> =
            BTreeMap::new();
        for figures in calls {
            let name = spans.name(figures.span);
            let (row, by_phase) = rows.entry(name).or_insert_with(|| {
                let row = SyncNameRow {
                    name,
                    calls: 0,
                    time: 0,
                    absorbed: 0,
                    absorbed_by_phase: Vec::new(),
                    bubble: None,
                    unknown_scope: 0,
                };
                (row, BTreeMap::new())
            });
            row.calls += 1;
            row.time += spans.dur(figures.span);
            row.absorbed += figures.absorbed;
            if let Some(bubble) = figures.bubble {
                *row.bubble.get_or_insert(0) += bubble;
            }
            row.unknown_scope += u64::from(!figures.known_scope);
            for (phase, ns) in &figures.absorbed_by_phase {
                *by_phase.entry(*phase).or_default() += ns;
            }
        }
        let finish = |(mut row, by_phase): (SyncNameRow, BTreeMap<_, i64>)| {
            row.absorbed_by_phase = by_phase.into_iter().filter(|p| p.1 > 0).collect();
            row.absorbed_by_phase
                .sort_by_key(|p| std::cmp::Reverse(p.1));
            row
        };
        let mut rows: Vec<SyncNameRow> = rows.into_values().map(finish).collect();
        rows.sort_by_key(|r| (std::cmp::Reverse(r.time), r.name));
        rows
    }

    /// Spans of the wanted layers on CPU lanes that start in a window, in stored order.
    pub(in crate::analysis) fn cpu_spans(
        &self,
        window: TimeRange,
        want: impl Fn(LayerId) -> bool,
    ) -> Vec<SpanId> {
        let mut out = Vec::new();
        for lane in self.core.cpu_lanes() {
            if self.core.index(lane).layers.iter().any(|&l| want(l)) {
                let columns = self.core.columns(lane);
                let (a, b) = columns.start_range(window);
                out.extend(
                    (a..b)
                        .filter(|&i| want(columns.of[i]))
                        .map(|i| columns.id(i)),
                );
            }
        }
        out
    }
}
