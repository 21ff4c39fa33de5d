//! Clocks that are related through a third recording: rank 1's file and rank 0's through the folder of both, DFTracer's folder
//! of another host and rank 0's file through that host's rank.

use std::collections::BTreeMap;

use super::relation::{ClockRelation, middle_of, short};
use super::relations::{Links, Relation, Told};
use crate::analysis::sums::drift::Distance;

/// The last link of a chain.
pub(super) struct Link {
    /// Bounds against the reference, of all links together.
    pub told: Told,
    /// Where it puts the recording against the one before.
    pub by: i64,
}

/// Recordings among `near` that may relate one: those that share a process with it, then one per group of ranks.
pub(super) fn candidates(links: &Links<'_, '_>, other: usize, near: &[usize]) -> Vec<usize> {
    let own = links.who.processes.iter().map(|p| &p.recordings);
    let own = own.filter(|r| r.contains(&other)).flatten().copied();
    let mut out: Vec<usize> = own.filter(|r| near.contains(r)).collect();
    let groups = links.witnesses.groups(other);
    let shares = |r: &usize| {
        let theirs = links.witnesses.groups(*r);
        theirs.iter().any(|g| groups.binary_search(g).is_ok())
    };
    if !groups.is_empty() {
        let ranks = near
            .iter()
            .copied()
            .filter(|&r| links.same_tracer(r, other));
        out.extend(ranks.into_iter().find(shares));
    }
    out.dedup();
    out
}

/// What a recording that is related to the reference tells of another one.
pub(super) fn link(links: &mut Links<'_, '_>, near: &ClockRelation, other: usize) -> Option<Link> {
    let (reference, through) = (near.reference, near.recording);
    let direct = links.between(through, other);
    let [from, to] = direct.times()?;
    let one_counter = links.same_tracer(through, other);
    let drift = links.settings.max_drift;
    let own = Distance::new(&direct.bounds, 0).filter(|d| d.drift().is_some());
    let own = match own {
        Some(own) => own,
        None => Distance::new(&direct.bounds, drift)?,
    };
    let mut told = Told::default();
    let mut add = |t: i64, near: [i64; 2], own: [i64; 2]| {
        for (side, lower) in [(0, true), (1, false)] {
            let value = near[side].saturating_add(own[side]);
            told.add(t, value, lower, Relation::Chain);
        }
    };
    let recordings = &links.who.recordings;
    if links.same_tracer(reference, other) && recordings[reference].host == recordings[other].host {
        // One counter for both ends: no drift between them.
        let start = recordings[reference].extent.map_or(0, |e| e.start);
        let first = near.told_at()?[0];
        let still = links.between(reference, through).bounds;
        let still = Distance::new(&still, 0).and_then(|d| d.at(first));
        add(
            start,
            still.or_else(|| near.possible(first))?,
            own.at(from)?,
        );
    } else {
        let free = Distance::new(&direct.bounds, if one_counter { 0 } else { drift })?;
        let [a, b] = [free.at(from)?, free.at(to)?];
        let own = [a[0].min(b[0]), a[1].max(b[1])];
        let [first, last] = near.told_at()?;
        for t in [first, i64::midpoint(first, last), last] {
            add(t, near.possible(t)?, own);
        }
        // However often it is counted, it is one relation.
        told.witnesses.insert(Relation::Chain, 1);
    }
    let possible = own.at(i64::midpoint(from, to))?;
    let holds_zero = |t: i64| own.at(t).is_some_and(|[low, high]| low <= 0 && 0 <= high);
    let by = match direct.estimate {
        _ if [from, i64::midpoint(from, to), to]
            .into_iter()
            .all(holds_zero) =>
        {
            0
        }
        Some((estimate, _)) => estimate.clamp(possible[0], possible[1].max(possible[0])),
        None => middle_of(possible),
    };
    Some(Link { told, by })
}

/// Of the recordings of one run: one that lies elsewhere than its clock says and was made on the host of `other`, which is
/// not that of the reference.
pub(super) fn of_its_host<'a>(
    links: &Links<'_, '_>,
    reference: usize,
    other: usize,
    all: &'a BTreeMap<usize, ClockRelation>,
) -> Option<&'a ClockRelation> {
    let host = |r: usize| links.who.recordings[r].host.as_deref().map(short);
    let own = host(other).filter(|own| host(reference).as_ref() != Some(own))?;
    let moved = all.values().filter(|c| c.offset != 0);
    let mut of_host = moved.filter(|c| host(c.recording).as_ref() == Some(&own));
    of_host.find(|c| c.interval.is_some())
}
