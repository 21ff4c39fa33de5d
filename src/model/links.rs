//! What is known of spans besides their columns: launches, forward and backward, copies, blocking calls.

use std::collections::BTreeMap;

use super::flows::{Flow, resolve_flows};
use super::ids::{RawSpan, SpanId};
use super::stop::{Stop, go_on};
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
        go_on(stop)?;
        let launches = by_call(&launch_of, spans.len());
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

/// The same as links by call, those of one call by operation: a counting sort, since calls of several threads alternate
/// in the order of their operations.
fn by_call(launch_of: &[(SpanId, SpanId)], spans: usize) -> Vec<Link> {
    let Some(&(to, from)) = launch_of.first() else {
        return Vec::new();
    };
    let mut next = vec![0_u32; spans + 1];
    for &(_, call) in launch_of {
        next[call.index() + 1] += 1;
    }
    let mut sum = 0;
    for slot in &mut next {
        sum += *slot;
        *slot = sum;
    }
    let mut links = vec![Link { from, to }; launch_of.len()];
    for &(to, from) in launch_of {
        let slot = &mut next[from.index()];
        links[*slot as usize] = Link { from, to };
        *slot += 1;
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_come_by_call_and_operation() {
        let place = [3, 0, 4, 1, 2, 5];
        // (call, operation): the second one of operation 2 is left out.
        let launches = [(0, 2), (1, 3), (1, 2), (1, 5), (0, 4)];
        let launches = launches.map(|(call, op)| (RawSpan(call), RawSpan(op)));
        let (launch_of, twice) = calls_of_operations(&launches, &place);
        let ids = |pairs: &[(u32, u32)]| -> Vec<(SpanId, SpanId)> {
            pairs.iter().map(|&(a, b)| (SpanId(a), SpanId(b))).collect()
        };
        assert_eq!(launch_of, ids(&[(1, 0), (2, 3), (4, 3), (5, 0)]));
        assert_eq!(twice, 1);
        let links: Vec<_> = by_call(&launch_of, 6)
            .iter()
            .map(|l| (l.from, l.to))
            .collect();
        assert_eq!(links, ids(&[(0, 1), (0, 5), (3, 2), (3, 4)]));
        assert!(by_call(&[], 6).is_empty());
    }
}
