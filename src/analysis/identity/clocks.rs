//! How far the clocks of a run's recordings are apart, told by what two of them recorded of the same thing, and where each
//! recording is placed because of it.
//!
//! ```text
//!  nested       outer ├───────┤     s(outer) ≤ s(inner), e(inner) ≤ e(outer)        two recorders of one process
//!               inner   ├───┤
//!  collective   a  ├──────┤         no rank leaves before every rank has entered    ranks of one job
//!               b      ├──┤
//!  chain        a ── c ── b         intervals add up                                 by a recording of both
//! ```
//!
//! Each gives bounds on the distance; [`Distance`] holds what they leave possible. Bounds that exclude each other are a
//! contradiction, never averaged. A recording is moved only where they exclude that it lies where its clock says.

use std::collections::BTreeMap;

use super::chain;
use super::relation::{ClockRelation, Placement, middle_of, short};
use super::relations::{Links, Relation, Told};
use super::same::Loops;
use super::settings::ClockSettings;
use super::witnesses::Witnesses;
use super::{Identity, Recording};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::layers::rules::Rules;
use crate::analysis::notices::{Certainty, Notice};
use crate::analysis::sums::drift::Distance;
use crate::model::{LaneKind, Trace};
use crate::time::format_ns;

/// An estimate moves a recording only from so many collectives on, …
const COLLECTIVES: usize = 8;
/// … by at least so much, ns, …
const FAR: i64 = 100_000;
/// … and so many times the spread of its witnesses.
const SPREADS: i64 = 4;

impl Identity {
    /// How far each recording's clock is from that of its run's reference.
    #[must_use]
    pub fn clocks(&self) -> &[ClockRelation] {
        &self.clocks
    }

    /// Whether times of two recordings can be compared: they are one, or both clocks are related to that of one reference
    /// and contradict nothing.
    #[must_use]
    pub fn comparable(&self, a: usize, b: usize) -> bool {
        let of = |r: usize| self.clocks.iter().find(|c| c.recording == r);
        let known = |c: &ClockRelation| c.related && !c.is_doubted();
        let fine = |r: usize| of(r).is_none_or(known);
        a == b || (self.recordings[a].run == self.recordings[b].run && fine(a) && fine(b))
    }
}

/// Relates the recordings of each run. Traces of one recording need nothing.
pub(super) fn relate(
    trace: &Trace,
    rules: &Rules,
    who: &mut Identity,
    witnesses: &Witnesses,
    settings: ClockSettings,
) {
    if who.runs.iter().all(|r| r.recordings.len() < 2) {
        return;
    }
    let mut loops = Loops::new(trace, rules, settings.max_drift);
    let marks = marks(trace, who, &mut loops);
    let mut links = Links {
        trace,
        who,
        loops,
        witnesses,
        settings,
    };
    let mut clocks = Vec::new();
    for run in &who.runs {
        let peopled = |&&r: &&usize| who.processes.iter().any(|p| p.recordings.contains(&r));
        let reference = run.recordings.iter().filter(peopled);
        let key = |&&r: &&usize| (std::cmp::Reverse(marks[r]), r);
        let Some(&reference) = reference.min_by_key(key) else {
            continue;
        };
        let others = run.recordings.iter().copied().filter(|&r| r != reference);
        clocks.extend(of_run(&mut links, reference, &others.collect::<Vec<_>>()));
    }
    for clock in &clocks {
        say(who, clock);
    }
    who.clocks = clocks;
}

/// The clocks of a run's recordings: against the reference directly, else through others, in as few links as there are;
/// what nothing relates goes with what else was recorded on its host.
fn of_run(links: &mut Links<'_, '_>, reference: usize, others: &[usize]) -> Vec<ClockRelation> {
    let mut all: BTreeMap<usize, ClockRelation> = BTreeMap::new();
    let mut open = Vec::new();
    for &other in others {
        let told = links.between(reference, other);
        let misfit = told.misfit;
        let relation = Pair::new(links, reference, other).relation(told);
        if relation.distance.is_none() && !relation.is_fixed() && !misfit {
            open.push(other);
        }
        all.insert(other, relation);
    }
    let mut near: Vec<usize> = others.to_vec();
    near.retain(|o| all[o].interval.is_some());
    while !near.is_empty() && !open.is_empty() {
        let mut found = Vec::new();
        for &other in &open {
            let through = chain::candidates(links, other, &near);
            let related = through.into_iter().find_map(|t| {
                let link = chain::link(links, &all[&t], other)?;
                Some(Pair::new(links, reference, other).through(&all[&t], link))
            });
            if let Some(relation) = related {
                all.insert(other, relation);
                found.push(other);
            }
        }
        open.retain(|o| !found.contains(o));
        near = found;
    }
    for other in open {
        let moved = chain::of_its_host(links, reference, other, &all).map(|c| (c.offset, c.how));
        if let (Some((offset, how)), Some(own)) = (moved, all.get_mut(&other)) {
            (own.offset, own.how) = (offset, how);
        }
    }
    all.into_values().collect()
}

/// Marked steps and spans of each recording.
fn marks(trace: &Trace, who: &Identity, loops: &mut Loops<'_>) -> Vec<(usize, u64)> {
    let mut marks = vec![(0, 0); who.recordings.len()];
    for id in trace.lane_ids() {
        let lane = trace.lane(id);
        if lane.kind != LaneKind::Cpu {
            continue;
        }
        let source = trace.source(lane.source);
        let slot: &mut (usize, u64) = &mut marks[who.recording(lane.source)];
        slot.1 += u64::from(lane.spans.end - lane.spans.start);
        let steps = trace.lane_spans(id);
        slot.0 += steps
            .filter(|&s| loops.layer(source.tracer.key, s) == LayerId::STEP)
            .count();
    }
    marks
}

/// Two recordings of one run.
struct Pair<'a> {
    trace: &'a Trace,
    who: &'a Identity,
    settings: ClockSettings,
    reference: usize,
    other: usize,
}

impl<'a> Pair<'a> {
    fn new(links: &Links<'a, '_>, reference: usize, other: usize) -> Self {
        let (trace, who, settings) = (links.trace, links.who, links.settings);
        Self {
            trace,
            who,
            settings,
            reference,
            other,
        }
    }

    fn recording(&self, r: usize) -> &'a Recording {
        &self.who.recordings[r]
    }

    /// Through a recording that is related to the reference: `told` is of both links together, `by` where the last one puts
    /// this recording against the one between.
    fn through(&self, near: &ClockRelation, link: chain::Link) -> ClockRelation {
        let mut relation = self.relation(link.told);
        if relation.is_fixed() {
            return relation;
        }
        relation.offset = near.offset.saturating_add(link.by);
        relation.how = match (relation.offset, link.by) {
            (0, _) => Placement::Stated,
            (_, 0) => near.how,
            _ => Placement::Middle,
        };
        relation
    }

    fn relation(&self, told: Told) -> ClockRelation {
        let (a, b) = (self.reference, self.other);
        let same_tracer = self.recording(a).tracer == self.recording(b).tracer;
        let [host_a, host_b] = [a, b].map(|r| self.recording(r).host.as_deref().map(short));
        let may_share = host_a.is_none() || host_b.is_none() || host_a == host_b;
        let same_host = may_share && (self.share() || (host_a.is_some() && host_b.is_some()));
        // One recorder on one host turns one counter into time.
        let drift = self.settings.max_drift;
        let one_counter = same_host && same_tracer;
        let distance = Distance::new(&told.bounds, if one_counter { 0 } else { drift });
        let distance = match distance {
            Some(d) if d.drift().is_none() && one_counter => Distance::new(&told.bounds, drift),
            other => other,
        };
        let contradicts = distance.as_ref().is_some_and(|d| d.drift().is_none());
        let ends_apart = told.apart && !contradicts;
        let distance = distance.filter(|_| !ends_apart);
        let mut times: Vec<i64> = told.bounds.iter().map(|b| b.t).collect();
        times.sort_unstable();
        times.dedup();
        let middle = match (times.first(), times.last()) {
            (Some(&first), Some(&last)) if told.by_order => i64::midpoint(first, last),
            _ => self.middle(),
        };
        if times.is_empty() {
            times.push(middle);
        }
        let (first, last) = (times[0], times[times.len() - 1]);
        let at = |t: i64| distance.as_ref().and_then(|d| d.at(t));
        let mut shown = vec![first, times[times.len() / 4], middle, last];
        shown.sort_unstable();
        shown.dedup();
        let interval = at(middle);
        let misfit = told.misfit && told.bounds.is_empty() && same_host;
        let holds_zero = [first, middle, last]
            .into_iter()
            .all(|t| at(t).is_none_or(|[low, high]| low <= 0 && 0 <= high));
        let (offset, how) = match interval {
            _ if self.by_hand() => (0, Placement::ByHand),
            _ if contradicts || misfit || ends_apart => (0, Placement::Stated),
            None => (0, Placement::Stated),
            Some(interval) => self.place(interval, &told, same_host, holds_zero),
        };
        ClockRelation {
            recording: b,
            reference: a,
            offset,
            at: shown.into_iter().map(|t| (t, at(t))).collect(),
            interval,
            ends: [at(first), at(last)],
            drift: distance.as_ref().and_then(Distance::drift),
            how,
            estimate: told.estimate.map(|e| e.0),
            contradiction: if contradicts { told.excluding() } else { None },
            related: !told.bounds.is_empty() || same_host || self.settings.trust,
            hosts_differ: !may_share,
            ends_apart,
            witnesses: told.witnesses,
            distance,
        }
    }

    /// Where a recording is put that may lie anywhere in an interval.
    fn place(
        &self,
        [low, high]: [i64; 2],
        told: &Told,
        same_host: bool,
        holds_zero: bool,
    ) -> (i64, Placement) {
        let unix = self.recording(self.reference).placed && self.recording(self.other).placed;
        let collectives = told.witnesses.get(&Relation::Collective).copied();
        match told.estimate {
            Some((estimate, spread))
                if !same_host
                    && collectives >= Some(COLLECTIVES)
                    && spread.saturating_mul(SPREADS) <= estimate.saturating_abs()
                    && estimate.saturating_abs() >= FAR
                    && (low..=high).contains(&estimate) =>
            {
                (estimate, Placement::Estimate)
            }
            _ if holds_zero && unix => (0, Placement::Stated),
            Some((estimate, _)) => (estimate.clamp(low, high.max(low)), Placement::Estimate),
            None => (middle_of([low, high]), Placement::Middle),
        }
    }

    fn by_hand(&self) -> bool {
        let files = self.recording(self.other).files.iter();
        files
            .map(|&f| self.trace.source(f).shift_ns)
            .any(|s| s != 0)
    }

    /// Whether they recorded one process, or one recorded a worker of a process of the other.
    fn share(&self) -> bool {
        let (a, b) = (self.reference, self.other);
        self.who.processes.iter().any(|p| {
            let has = |r: usize| p.recordings.contains(&r);
            let parent = p.of.map(|of| &self.who.processes[of].recordings);
            let parent_has = |r: usize| parent.is_some_and(|o| o.contains(&r));
            (has(a) && has(b)) || (has(b) && parent_has(a))
        })
    }

    /// The middle of the time that both have.
    fn middle(&self) -> i64 {
        let [a, b] =
            [self.reference, self.other].map(|r| self.recording(r).extent.unwrap_or_default());
        let sum = i128::from(a.start.max(b.start)) + i128::from(a.end.min(b.end));
        i64::try_from(sum.div_euclid(2)).unwrap_or(0)
    }
}

/// What has to be said of a clock.
fn say(who: &mut Identity, clock: &ClockRelation) {
    let name = |r: usize| who.recordings[r].name();
    let (own, reference) = (name(clock.recording), name(clock.reference));
    let mut notice = |certainty, code, text| {
        who.notices.push(Notice {
            certainty,
            code,
            count: 1,
            text,
        });
    };
    if clock.hosts_differ {
        let text = format!("{own} and {reference} are of different hosts: each has its own clock.");
        notice(Certainty::Info, "hosts_differ", text);
    }
    if let Some([low, high]) = clock.contradiction {
        let text = format!(
            "The clocks of {own} and {reference} contradict each other: one pair of spans says at least {} apart, another at \
             most {}. {own} is shown where its clock says, and figures across both are left out.",
            format_ns(low.value),
            format_ns(high.value),
        );
        notice(Certainty::NotRecorded, "clock_contradiction", text);
    } else if clock.ends_apart {
        let text = format!(
            "The ranks of {own} and {reference} count the same collectives and did not leave them together: the files are \
             not of one job. Nothing is compared between them."
        );
        notice(Certainty::NotRecorded, "collectives_apart", text);
    } else if !clock.related {
        let text = format!(
            "Nothing relates the clocks of {own} and {reference}: {own} is shown where its clock says, and what happened in \
             which order across both cannot be told."
        );
        notice(Certainty::NotRecorded, "clock_unknown", text);
    }
    if clock.offset != 0 {
        let way = if clock.offset > 0 {
            "ahead of"
        } else {
            "behind"
        };
        let by = format_ns(clock.offset.saturating_abs());
        let text = match clock.interval {
            Some([low, high]) => format!(
                "The clock of {own} runs {by} {way} that of {reference} ({} to {}, told by {}): moved.",
                format_ns(low),
                format_ns(high),
                clock.told_by(),
            ),
            None => format!(
                "The clock of {own} is taken to run {by} {way} that of {reference}, as that of another file of its host \
                 does: moved."
            ),
        };
        notice(Certainty::Guessed, "clock_moved", text);
    }
    if clock.drift.is_some_and(|[low, high]| low > 0 || high < 0) {
        let [low, high] = clock.drift.unwrap_or_default();
        let text = format!(
            "The clock of {own} runs {low} to {high} parts in a billion faster than that of {reference}."
        );
        notice(Certainty::Info, "clock_drift", text);
    }
}
