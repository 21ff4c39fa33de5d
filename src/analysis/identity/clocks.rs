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

use super::same::{self, Loops, Nested};
use super::witnesses::{Collective, collectives, pairs};
use super::{Identity, Recording};
use crate::analysis::layers::classify::{ArgSource, GoOn};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::layers::rules::Rules;
use crate::analysis::notices::{Certainty, Notice};
use crate::analysis::sums::drift::{Bound, Distance};
use crate::model::{LaneKind, Trace};
use crate::time::{about_ns, format_ns};

/// How much faster one clock may run than another, ppb: of two recorders, or of two hosts.
const DRIFT: i64 = 100_000;
/// An estimate moves a recording only from so many collectives on, …
const COLLECTIVES: usize = 8;
/// … by at least so much, ns, …
const FAR: i64 = 100_000;
/// … and so many times the spread of its witnesses.
const SPREADS: i64 = 4;
/// Fetches of each recording from which on it means something that they do not fit.
const ENOUGH: usize = 8;

/// What a bound was told by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// Two recorders of one process have the same fetch, one around the other.
    Nested,
    /// Two ranks took part in one collective.
    Collective,
    /// Both are related to a third recording.
    Chain,
}

impl Relation {
    /// The name in reports: `R1`, `R3`, `chain`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Nested => "R1",
            Self::Collective => "R3",
            Self::Chain => "chain",
        }
    }
}

/// Why a recording lies where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Where its clock says.
    Stated,
    /// Where the user said.
    ByHand,
    /// Collectives end together.
    Estimate,
    /// In the middle of what is possible.
    Middle,
}

impl Placement {
    /// The words of reports.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Stated => "stated",
            Self::ByHand => "by hand",
            Self::Estimate => "estimate",
            Self::Middle => "middle",
        }
    }
}

/// A bound with what told it: distance and time, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Witness {
    /// The distance.
    pub value: i64,
    /// When, on the reference's clock.
    pub t: i64,
    /// What told it.
    pub by: Relation,
}

/// The clock of one recording against that of its run's reference. Times in ns on the reference's own clock.
#[derive(Clone, Debug)]
pub struct ClockRelation {
    /// Index in [`Identity::recordings`].
    pub recording: usize,
    /// Index of the reference: the recording with the loop's steps.
    pub reference: usize,
    /// Its clock minus the reference's, as it is placed.
    pub offset: i64,
    /// What is possible, [time, least, greatest], at the first witness, a quarter on, in the middle, at the last one.
    pub at: Vec<(i64, Option<[i64; 2]>)>,
    /// What is possible in the middle; `None` where nothing tells it, or in a contradiction.
    pub interval: Option<[i64; 2]>,
    /// At the first and at the last witness.
    pub ends: [Option<[i64; 2]>; 2],
    /// How much faster it may run, ppb, least and most.
    pub drift: Option<[i64; 2]>,
    /// Why it is placed there.
    pub how: Placement,
    /// Where collectives say that it is, as they end together.
    pub estimate: Option<i64>,
    /// How many pairs of spans tell it.
    pub witnesses: BTreeMap<Relation, usize>,
    /// The two bounds that exclude each other most, lower and upper.
    pub contradiction: Option<[Witness; 2]>,
    /// Whether anything at all relates the clocks: a witness, or a host that both are on.
    pub related: bool,
    /// Both hosts are known and differ.
    pub hosts_differ: bool,
    distance: Option<Distance>,
}

impl ClockRelation {
    /// The interval in words: `-16.3 µs to 4.8 µs`, or why there is none.
    #[must_use]
    pub fn apart(&self) -> String {
        match self.interval {
            Some([low, high]) => format!("{} to {}", format_ns(low), format_ns(high)),
            None if self.contradiction.is_some() => "contradiction".to_owned(),
            None => "cannot be told".to_owned(),
        }
    }

    /// The witnesses in words: `24 fetches`.
    #[must_use]
    pub fn told_by(&self) -> String {
        let of = |(relation, n): (&Relation, &usize)| {
            let what = match relation {
                Relation::Nested => "fetches of both",
                Relation::Collective => "collectives",
                Relation::Chain => "other file of both",
            };
            format!("{n} {what}")
        };
        let all: Vec<String> = self.witnesses.iter().map(of).collect();
        match all.is_empty() {
            true => "nothing".to_owned(),
            false => all.join(", "),
        }
    }

    /// Both in a few words: half the width of the interval, and what tells it: `±11 µs, 24 waits`.
    #[must_use]
    pub fn chip(&self) -> String {
        let Some([low, high]) = self.interval else {
            return match self.contradiction.is_some() {
                true => "clocks contradict".to_owned(),
                false => "clock unknown".to_owned(),
            };
        };
        let half = (high.saturating_sub(low)).saturating_add(1) / 2;
        let by = match self.witnesses.get(&Relation::Nested) {
            Some(1) => ", 1 wait".to_owned(),
            Some(n) => format!(", {n} waits"),
            None => String::new(),
        };
        format!("±{}{by}", about_ns(half))
    }

    /// By how much the recording may be moved at a time of the trace and still fit all witnesses, ns; `None` where nothing
    /// tells it.
    #[must_use]
    pub fn slack(&self, t: i64, unix_origin: Option<i64>) -> Option<[i64; 2]> {
        let [low, high] = self.distance.as_ref()?.at(t.saturating_add(unix_origin?))?;
        Some([
            low.saturating_sub(self.offset),
            high.saturating_sub(self.offset),
        ])
    }
}

impl Identity {
    /// How far each recording's clock is from that of its run's reference.
    #[must_use]
    pub fn clocks(&self) -> &[ClockRelation] {
        &self.clocks
    }
}

/// Relates the recordings of each run. Traces of one recording need nothing.
pub(super) fn relate(
    trace: &Trace,
    rules: &Rules,
    who: &mut Identity,
    args: &dyn ArgSource,
    go_on: &GoOn<'_>,
) {
    if who.runs.iter().all(|r| r.recordings.len() < 2) {
        return;
    }
    let mut loops = Loops::new(trace, rules);
    let marks = marks(trace, who, &mut loops);
    let collectives = collectives(trace, who, args, go_on);
    let mut clocks = Vec::new();
    for run in &who.runs {
        let peopled = |&&r: &&usize| who.processes.iter().any(|p| p.recordings.contains(&r));
        let reference = run.recordings.iter().filter(peopled);
        let key = |&&r: &&usize| (std::cmp::Reverse(marks[r]), r);
        let Some(&reference) = reference.min_by_key(key) else {
            continue;
        };
        for &other in run.recordings.iter().filter(|&&r| r != reference) {
            let mut pair = Pair {
                trace,
                who,
                loops: &mut loops,
                reference,
                other,
            };
            clocks.push(pair.relation(run, &collectives));
        }
    }
    for clock in &clocks {
        say(who, clock);
    }
    who.clocks = clocks;
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
struct Pair<'a, 'l, 't> {
    trace: &'a Trace,
    who: &'a Identity,
    loops: &'l mut Loops<'t>,
    reference: usize,
    other: usize,
}

/// Bounds, and what is known beside them.
#[derive(Default)]
struct Told {
    bounds: Vec<Bound>,
    by: Vec<Relation>,
    /// In pairs of spans.
    witnesses: BTreeMap<Relation, usize>,
    estimate: Option<(i64, i64)>,
    /// Fetches were matched by their order, not by the clocks.
    by_order: bool,
    /// Two recorders of one process have enough fetches, and they fit at no distance.
    misfit: bool,
}

impl Told {
    fn add(&mut self, t: i64, value: i64, lower: bool, by: Relation) {
        self.bounds.push(Bound { t, value, lower });
        self.by.push(by);
        if lower {
            *self.witnesses.entry(by).or_default() += 1;
        }
    }

    fn excluding(&self) -> Option<[Witness; 2]> {
        let witness = |(b, by): (&Bound, &Relation)| Witness {
            value: b.value,
            t: b.t,
            by: *by,
        };
        let of = |lower: bool| {
            let all = self.bounds.iter().zip(&self.by);
            all.filter(move |(b, _)| b.lower == lower).map(witness)
        };
        Some([of(true).max()?, of(false).min()?])
    }
}

impl Pair<'_, '_, '_> {
    fn recording(&self, r: usize) -> &Recording {
        &self.who.recordings[r]
    }

    fn relation(&mut self, run: &super::Run, collectives: &[Vec<Collective>]) -> ClockRelation {
        let (a, b) = (self.reference, self.other);
        let same_tracer = self.recording(a).tracer == self.recording(b).tracer;
        let mut told = self.nested(a, b);
        if told.bounds.is_empty() && same_tracer {
            told = ranks(&collectives[a], &collectives[b]);
        }
        if told.bounds.is_empty() && same_tracer {
            self.chain(run, &mut told);
        }
        let [host_a, host_b] = [a, b].map(|r| self.recording(r).host.as_deref().map(short));
        let may_share = host_a.is_none() || host_b.is_none() || host_a == host_b;
        let same_host = may_share && (self.share() || (host_a.is_some() && host_b.is_some()));
        // One recorder on one host turns one counter into time.
        let distance = Distance::new(
            &told.bounds,
            if same_host && same_tracer { 0 } else { DRIFT },
        );
        let distance = match distance {
            Some(d) if d.drift().is_none() && same_host && same_tracer => {
                Distance::new(&told.bounds, DRIFT)
            }
            other => other,
        };
        let contradicts = distance.as_ref().is_some_and(|d| d.drift().is_none());
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
        let holds_zero = [first, middle, last]
            .into_iter()
            .all(|t| at(t).is_none_or(|[low, high]| low <= 0 && 0 <= high));
        let misfit = told.misfit && told.bounds.is_empty() && same_host;
        let unix = self.recording(a).placed && self.recording(b).placed;
        let by_hand = self.recording(b).files.iter();
        let by_hand = by_hand
            .map(|&f| self.trace.source(f).shift_ns)
            .any(|s| s != 0);
        let collectives = told.witnesses.get(&Relation::Collective).copied();
        let (offset, how) = match (interval, told.estimate) {
            _ if by_hand => (0, Placement::ByHand),
            _ if contradicts || misfit => (0, Placement::Stated),
            (None, _) => (0, Placement::Stated),
            (Some([low, high]), Some((estimate, spread)))
                if !same_host
                    && collectives >= Some(COLLECTIVES)
                    && spread.saturating_mul(SPREADS) <= estimate.saturating_abs()
                    && estimate.saturating_abs() >= FAR
                    && (low..=high).contains(&estimate) =>
            {
                (estimate, Placement::Estimate)
            }
            _ if holds_zero && unix => (0, Placement::Stated),
            (Some([low, high]), Some((estimate, _))) => {
                (estimate.clamp(low, high.max(low)), Placement::Estimate)
            }
            (Some([low, high]), None) => {
                let sum = i128::from(low) + i128::from(high);
                (
                    i64::try_from(sum.div_euclid(2)).unwrap_or(0),
                    Placement::Middle,
                )
            }
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
            related: !told.bounds.is_empty() || same_host,
            hosts_differ: !may_share,
            witnesses: told.witnesses,
            distance,
        }
    }

    /// Fetches that two recorders have of the same processes.
    fn nested(&mut self, a: usize, b: usize) -> Told {
        let mut told = Told::default();
        let encloses = |r: usize| {
            let first = self.who.recordings[r].files.first();
            first.is_some_and(|&f| self.trace.source(f).tracer.encloses_fetches)
        };
        if encloses(a) || !encloses(b) {
            return told;
        }
        for (place, process) in self.who.processes.iter().enumerate() {
            if !process.recordings.contains(&a) || !process.recordings.contains(&b) {
                continue;
            }
            let (outer, inner) = (
                self.loops.of(self.who, place, b),
                self.loops.of(self.who, place, a),
            );
            let enough = outer.ranges.len().min(inner.ranges.len()) >= ENOUGH;
            match same::nested(&outer, &inner) {
                Nested::Fits(fit) => {
                    told.by_order |= fit.by_order;
                    for bound in same::bounds(&fit.pairs) {
                        told.add(bound.t, bound.value, bound.lower, Relation::Nested);
                    }
                }
                Nested::Ambiguous => {}
                Nested::Nowhere => told.misfit |= enough,
            }
        }
        told
    }

    /// Through a recording that shares processes with both.
    fn chain(&mut self, run: &super::Run, told: &mut Told) {
        for &through in &run.recordings {
            if through == self.reference || through == self.other {
                continue;
            }
            let [near, far] = [self.reference, self.other].map(|r| {
                let bounds = self.nested(r, through).bounds;
                let first = bounds.iter().map(|b| b.t).min()?;
                let without = Distance::new(&bounds, 0)?;
                without
                    .at(first)
                    .or_else(|| Distance::new(&bounds, DRIFT)?.at(first))
            });
            if let (Some([low, high]), Some([far_low, far_high])) = (near, far) {
                let t = self.recording(self.reference).extent.map_or(0, |e| e.start);
                told.add(t, low.saturating_sub(far_high), true, Relation::Chain);
                told.add(t, high.saturating_sub(far_low), false, Relation::Chain);
                return;
            }
        }
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

fn short(host: &str) -> String {
    host.split('.').next().unwrap_or_default().to_lowercase()
}

/// Bounds from collectives of two ranks. Matched by order alone, and contradicting each other, they are none.
fn ranks(a: &[Collective], b: &[Collective]) -> Told {
    let mut told = Told::default();
    let pairs = pairs(a, b);
    for (x, y) in &pairs {
        let less = |a: i64, b: i64| a.saturating_sub(b);
        told.add(x.end, less(y.start, x.end), true, Relation::Collective);
        told.add(x.start, less(y.end, x.start), false, Relation::Collective);
    }
    let counted = a.iter().chain(b).all(|c| c.counted);
    let fits = || Distance::new(&told.bounds, DRIFT).is_none_or(|d| d.drift().is_some());
    if !counted && !fits() {
        return Told::default();
    }
    let mut ends: Vec<i64> = pairs
        .iter()
        .map(|(x, y)| y.end.saturating_sub(x.end))
        .collect();
    ends.sort_unstable();
    if let Some(last) = ends.len().checked_sub(1) {
        let edge = ends.len() / 20;
        let spread = ends[last - edge].saturating_sub(ends[edge]);
        told.estimate = Some((ends[last / 2], spread));
    }
    told
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
        let witnesses: usize = clock.witnesses.values().sum();
        let [low, high] = clock.interval.unwrap_or([clock.offset; 2]);
        let text = format!(
            "The clock of {own} runs {} {way} that of {reference} ({} to {}, {witnesses} spans recorded by both): moved.",
            format_ns(clock.offset.saturating_abs()),
            format_ns(low),
            format_ns(high),
        );
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
