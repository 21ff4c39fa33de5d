//! CPU spans against the GPU: what a span launched, and GPU work that ends after the span that asked for it.
//!
//! ```text
//! thread    ├────────── backward ──────────┤ ├ call c ┤
//!              ├ call a ┤                                     the calls that *start* in a span are its own: a and b
//! autograd                    ├ call b ┤                      those of its process's autograd threads too, not c
//! stream            ├─ op a ─┤          ├──── op b ────┤├─ op c ─┤
//!                                          ├─── lag ───┤      the last end of its own operations − its end
//! ```
//!
//! Calls are sorted by start for each thread and GPU, so a span's own are one stretch per thread, and [`Launches`] knows
//! the latest end of a stretch without reading it. Spans nest: of several around the same last operation only the
//! outermost is kept, found in one pass over them by (operation, start, longest first).
//!
//! [`Launches`]: crate::analysis::base::launches::Launches

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::ops::Range;

use crate::analysis::base::core::Core;
use crate::analysis::base::launches::Launched;
use crate::analysis::sums::watch::Watch;
use crate::model::{LaneId, Link, ProcessId, SpanId};
use crate::time::TimeRange;

/// Which launch calls count as a span's own, by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Containment {
    /// The call starts in the span.
    #[default]
    CallStart,
    /// The whole call lies in the span.
    WholeCall,
}

/// Which threads' launch calls count as a span's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Threads {
    /// The span's own thread.
    Same,
    /// Also the autograd threads of its process: the caller is blocked in `backward()`.
    #[default]
    Autograd,
    /// All threads of its process.
    Process,
}

/// How launches are given to CPU spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct OwnRule {
    /// By time.
    pub containment: Containment,
    /// By thread.
    pub threads: Threads,
}

/// A CPU span whose GPU work ends after it, by more than max(100 µs, 5 % of the span), outermost of those with the
/// same last operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The CPU span.
    pub span: SpanId,
    /// The operation that ends last.
    pub last_op: SpanId,
    /// End of that operation minus end of the span, ns.
    pub lag: i64,
}

/// Lanes of autograd engines by process.
pub(in crate::analysis) fn autograd_lanes(
    core: &Core,
) -> FxHashMap<Option<ProcessId>, Vec<LaneId>> {
    let mut out: FxHashMap<Option<ProcessId>, Vec<LaneId>> = FxHashMap::default();
    for lane in core.cpu_lanes().filter(|l| core.autograd[l.index()]) {
        out.entry(core.process_of(lane)).or_default().push(lane);
    }
    out
}

/// The lanes whose launches in a span on `lane` count as the span's.
pub(in crate::analysis) fn own_lanes(core: &Core, lane: LaneId, threads: Threads) -> Vec<LaneId> {
    let mut lanes = vec![lane];
    lanes.extend(core.siblings(lane).into_iter().filter(|&l| {
        l != lane
            && match threads {
                Threads::Same => false,
                Threads::Autograd => core.autograd[l.index()],
                Threads::Process => true,
            }
    }));
    lanes
}

/// Ranges of links whose call starts in `window`, on some lanes.
pub(in crate::analysis) fn link_ranges(
    core: &Core,
    lanes: &[LaneId],
    window: TimeRange,
) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    for &lane in lanes {
        for group in core.launches.groups_of(lane) {
            let range = core.launches.within(&core.trace, group, window);
            if !range.is_empty() {
                out.push(range);
            }
        }
    }
    out
}

/// The links of a span by a rule, one by one.
pub(in crate::analysis) fn own_links(core: &Core, span: SpanId, rule: OwnRule) -> Vec<Link> {
    let spans = core.trace.spans();
    let range = spans.range(span);
    let lanes = own_lanes(core, spans.lane(span), rule.threads);
    let links = core.launches.links(&core.trace);
    let all = link_ranges(core, &lanes, range)
        .into_iter()
        .flat_map(|r| links[r].iter().copied());
    match rule.containment {
        Containment::CallStart => all.collect(),
        Containment::WholeCall => all.filter(|l| spans.end(l.from) <= range.end).collect(),
    }
}

/// What was launched on some lanes in `window`.
pub(in crate::analysis) fn launched(core: &Core, lanes: &[LaneId], window: TimeRange) -> Launched {
    let mut sum = Launched::NOTHING;
    for range in link_ranges(core, lanes, window) {
        sum.add(&core.launches.sum(&core.trace, &core.layers, range));
    }
    sum
}

/// Spans between two checks whether somebody cancelled.
const CHECK_EVERY: usize = 1 << 14;

/// CPU spans that end before their GPU work, by span id.
pub(in crate::analysis) fn tails(core: &Core, flag_ns: i64, watch: &Watch<'_>) -> Vec<Tail> {
    let autograd = autograd_lanes(core);
    let cpu: Vec<LaneId> = core.cpu_lanes().collect();
    let mut found: Vec<Tail> = cpu
        .into_par_iter()
        .flat_map_iter(|lane| {
            let mut lanes = vec![lane];
            let helpers = autograd.get(&core.process_of(lane));
            lanes.extend(
                helpers
                    .into_iter()
                    .flatten()
                    .copied()
                    .filter(|&l| l != lane),
            );
            lanes.retain(|&l| core.launches.count(l) > 0);
            tails_of(core, lane, &lanes, flag_ns, watch)
        })
        .collect();
    let spans = core.trace.spans();
    found.sort_by_key(|t| {
        let r = spans.range(t.span);
        (t.last_op, r.start, std::cmp::Reverse(r.end), t.span)
    });
    let mut kept: Vec<Tail> = Vec::new();
    let mut reach: Option<(SpanId, i64)> = None;
    for tail in found {
        let end = spans.end(tail.span);
        let inside = reach.is_some_and(|(op, e)| op == tail.last_op && end <= e);
        if !inside {
            reach = Some((tail.last_op, end));
            kept.push(tail);
        }
    }
    kept.sort_by_key(|t| t.span);
    kept
}

fn tails_of(
    core: &Core,
    lane: LaneId,
    lanes: &[LaneId],
    flag_ns: i64,
    watch: &Watch<'_>,
) -> Vec<Tail> {
    let columns = core.columns(lane);
    let mut out = Vec::new();
    if lanes.is_empty() || !core.index(lane).layers.iter().any(|l| l.has_gpu_side()) {
        return out;
    }
    for i in 0..columns.len() {
        if i.is_multiple_of(CHECK_EVERY) && watch.stopped() {
            break;
        }
        if !columns.of[i].has_gpu_side() {
            continue;
        }
        let span = columns.range(i);
        if core.is_cut(lane, span) {
            continue;
        }
        let ranges = link_ranges(core, lanes, span);
        let last = |r: &Range<usize>| core.launches.sum(&core.trace, &core.layers, r.clone()).last;
        let Some(end) = ranges.iter().filter_map(last).max() else {
            continue;
        };
        let lag = end - span.end;
        if lag <= flag_ns || lag.saturating_mul(20) <= span.len() {
            continue;
        }
        let mut ops = ranges
            .into_iter()
            .filter_map(|r| core.launches.ending_at(&core.trace, r, end));
        if let Some(last_op) = ops.next() {
            out.push(Tail {
                span: columns.id(i),
                last_op,
                lag,
            });
        }
    }
    out
}
