//! What is known of spans besides their columns: launches, forward and backward, copies, blocking calls.

use std::collections::BTreeMap;

use super::finish::{Stop, go_on};
use super::flows::{Flow, resolve_flows};
use super::ids::{RawSpan, SpanId};
use super::tables::{CopyInfo, SyncScope};
use super::trace::{Link, Trace};

/// What importers say of spans by their numbers.
#[derive(Default)]
pub(super) struct Pairs {
    /// Calls and the operations they launched.
    pub launches: Vec<(RawSpan, RawSpan)>,
    /// Forward and backward ops.
    pub fwdbwd: Vec<(RawSpan, RawSpan)>,
    /// The same as moments on lanes.
    pub flows: Vec<Flow>,
    /// What blocking calls wait for.
    pub syncs: Vec<(RawSpan, SyncScope)>,
    /// Copies and memsets.
    pub copies: Vec<(RawSpan, CopyInfo)>,
    /// Spans whose end was not recorded.
    pub unfinished: Vec<RawSpan>,
}

/// The same by span id, each column sorted as the trace keeps it.
pub(super) struct Links {
    /// By call.
    pub launches: Vec<Link>,
    /// (operation, call), by operation.
    pub launch_of: Vec<(SpanId, SpanId)>,
    /// By forward op.
    pub fwdbwd: Vec<Link>,
    /// By call.
    pub syncs: BTreeMap<SpanId, SyncScope>,
    /// By span.
    pub copies: Vec<(SpanId, CopyInfo)>,
    /// In order.
    pub unfinished: Vec<SpanId>,
    /// Operations with a second launch call, which is left out.
    pub twice: u64,
    /// Operations that start before their call.
    pub early: u64,
}

impl Pairs {
    /// Turns numbers into ids: `place[number]` is the id. `None` once `stop` says so.
    pub fn resolve(self, trace: &Trace, place: &[u32], stop: Stop<'_>) -> Option<Links> {
        let spans = &trace.spans;
        let id = |raw: RawSpan| SpanId(place[raw.0 as usize]);
        let (launch_of, twice) = calls_of_operations(&self.launches, place);
        let pairs = launch_of.iter();
        let mut launches: Vec<Link> = pairs.map(|&(to, from)| Link { from, to }).collect();
        go_on(stop)?;
        // The operations of a stream are in the order of their calls mostly: sorted runs, which a stable sort merges.
        launches.sort();
        go_on(stop)?;
        let is_early = |&&(to, from): &&_| spans.start(to) < spans.start(from);
        let early = launch_of.iter().filter(is_early).count() as u64;
        let stated = self.fwdbwd.iter().map(|&(f, b)| Link {
            from: id(f),
            to: id(b),
        });
        let mut fwdbwd: Vec<Link> = stated
            .chain(resolve_flows(&self.flows, spans, &trace.lanes))
            .collect();
        go_on(stop)?;
        fwdbwd.sort_unstable();
        fwdbwd.dedup();
        let mut copies: Vec<_> = self.copies.iter().map(|&(s, c)| (id(s), c)).collect();
        copies.sort_unstable_by_key(|c| c.0);
        let mut unfinished: Vec<_> = self.unfinished.iter().map(|&u| id(u)).collect();
        unfinished.sort_unstable();
        let syncs = self.syncs.iter().map(|&(c, s)| (id(c), s)).collect();
        go_on(stop)?;
        Some(Links {
            launches,
            launch_of,
            fwdbwd,
            syncs,
            copies,
            unfinished,
            twice,
            early,
        })
    }
}

/// (operation, call) by operation, the first call of each; and the number of further calls.
fn calls_of_operations(
    launches: &[(RawSpan, RawSpan)],
    place: &[u32],
) -> (Vec<(SpanId, SpanId)>, u64) {
    if launches.is_empty() {
        return (Vec::new(), 0);
    }
    const NONE: u32 = u32::MAX;
    let mut call_of = vec![NONE; place.len()];
    let mut twice = 0;
    for &(call, operation) in launches {
        let slot = &mut call_of[place[operation.0 as usize] as usize];
        if *slot == NONE {
            *slot = place[call.0 as usize];
        } else {
            twice += 1;
        }
    }
    let calls = (0..).zip(&call_of).filter(|&(_, &call)| call != NONE);
    let pairs = calls.map(|(operation, &call)| (SpanId(operation), SpanId(call)));
    (pairs.collect(), twice)
}
