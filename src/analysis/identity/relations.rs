//! What two recordings say of the distance of their clocks: the same fetches, the same collectives.

use std::collections::BTreeMap;

use super::Identity;
use super::same::{self, Loops, Nested};
use super::settings::ClockSettings;
use super::witnesses::{Common, Witnesses};
use crate::analysis::sums::drift::{Bound, Distance};
use crate::model::Trace;
use crate::time::TimeRange;

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

/// Bounds, and what is known beside them.
#[derive(Default)]
pub(super) struct Told {
    pub bounds: Vec<Bound>,
    by: Vec<Relation>,
    /// In pairs of spans.
    pub witnesses: BTreeMap<Relation, usize>,
    /// Where collectives say that it is, and their spread.
    pub estimate: Option<(i64, i64)>,
    /// Fetches were matched by their order, not by the clocks.
    pub by_order: bool,
    /// Two recorders of one process have enough fetches, and they fit at no distance.
    pub misfit: bool,
    /// Ranks count the same collectives, and did not leave them together: they are not of one job.
    pub apart: bool,
}

impl Told {
    pub fn add(&mut self, t: i64, value: i64, lower: bool, by: Relation) {
        self.bounds.push(Bound { t, value, lower });
        self.by.push(by);
        if lower {
            *self.witnesses.entry(by).or_default() += 1;
        }
    }

    /// The two that exclude each other most.
    pub fn excluding(&self) -> Option<[Witness; 2]> {
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

    /// First and last time of the bounds, on the reference's clock.
    pub fn times(&self) -> Option<[i64; 2]> {
        let times = self.bounds.iter().map(|b| b.t);
        Some([times.clone().min()?, times.max()?])
    }
}

/// Finds what relates recordings.
pub(super) struct Links<'a, 't> {
    pub trace: &'a Trace,
    pub who: &'a Identity,
    pub loops: Loops<'t>,
    pub witnesses: &'a Witnesses,
    pub settings: ClockSettings,
}

impl Links<'_, '_> {
    pub fn same_tracer(&self, a: usize, b: usize) -> bool {
        self.who.recordings[a].tracer == self.who.recordings[b].tracer
    }

    /// What is told of the clock of `b` against that of `a`.
    pub fn between(&mut self, a: usize, b: usize) -> Told {
        let told = self.nested(a, b);
        if told.bounds.is_empty() && self.same_tracer(a, b) {
            return ranks(&self.witnesses.common(self.trace, a, b), self.settings);
        }
        told
    }

    /// Whether a recorder's fetches enclose those of others.
    fn encloses(&self, recording: usize) -> bool {
        let first = self.who.recordings[recording].files.first();
        first.is_some_and(|&f| self.trace.source(f).tracer.encloses_fetches)
    }

    /// Fetches that two recorders have of the same processes.
    fn nested(&mut self, a: usize, b: usize) -> Told {
        let mut told = Told::default();
        let (outer, inner) = match (self.encloses(a), self.encloses(b)) {
            (false, true) => (b, a),
            (true, false) => (a, b),
            _ => return told,
        };
        for (place, process) in self.who.processes.iter().enumerate() {
            if !process.recordings.contains(&a) || !process.recordings.contains(&b) {
                continue;
            }
            let (of_outer, of_inner) = (
                self.loops.of(self.who, place, outer),
                self.loops.of(self.who, place, inner),
            );
            let enough = of_outer.ranges.len().min(of_inner.ranges.len()) >= ENOUGH;
            match same::nested(&of_outer, &of_inner, self.settings.max_drift) {
                Nested::Fits(fit) => {
                    told.by_order |= fit.by_order;
                    for bound in same::bounds(&fit.pairs) {
                        // They are on the clock of the one inside.
                        match outer == b {
                            true => told.add(bound.t, bound.value, bound.lower, Relation::Nested),
                            false => told.add(
                                bound.t.saturating_add(bound.value),
                                bound.value.saturating_neg(),
                                !bound.lower,
                                Relation::Nested,
                            ),
                        }
                    }
                }
                Nested::Ambiguous => {}
                Nested::Nowhere => told.misfit |= enough,
            }
        }
        told
    }
}

/// Bounds from collectives of two ranks. Matched by order alone, and contradicting each other, they are none.
pub(super) fn ranks(common: &Common, settings: ClockSettings) -> Told {
    /// Ranks that leave collectives further apart than this do not leave them together, ns.
    const APART: i64 = 50_000;
    let mut told = Told::default();
    let less = |a: i64, b: i64| a.saturating_sub(b);
    for (x, y) in &common.pairs {
        told.add(x.end, less(y.start, x.end), true, Relation::Collective);
        told.add(x.start, less(y.end, x.start), false, Relation::Collective);
    }
    let distance = Distance::new(&told.bounds, settings.max_drift);
    if !common.counted && distance.is_some_and(|d| d.drift().is_none()) {
        return Told::default();
    }
    let apart = ends_apart(common, settings).filter(|_| common.counted);
    told.apart = apart.is_some_and(|ns| ns > APART);
    let ends = common.pairs.iter().map(|(x, y)| less(y.end, x.end));
    let mut ends: Vec<i64> = ends.collect();
    ends.sort_unstable();
    if let Some(last) = ends.len().checked_sub(1) {
        let edge = ends.len() / 20;
        let spread = ends[last - edge].saturating_sub(ends[edge]);
        told.estimate = Some((ends[last / 2], spread));
    }
    told
}

/// Whether collectives leave no doubt that two recordings are of one job, however far their clocks are apart: enough of
/// them, counted alike, that fit at some distance of the clocks and that both ranks left together. Runs of other times
/// would have to repeat each other's steps to the microsecond.
pub(super) fn one_job(common: &Common, settings: ClockSettings) -> bool {
    /// Ends of one collective differ by no more than this, ns.
    const TOGETHER: i64 = 10_000;
    let told = ranks(common, settings);
    let distance = Distance::new(&told.bounds, settings.max_drift);
    let fits = distance.is_some_and(|d| d.drift().is_some());
    fits && common.counted && ends_apart(common, settings).is_some_and(|ns| ns <= TOGETHER)
}

/// How much the time from the end of one collective to the end of the next differs between two ranks, in the middle of all,
/// beside what one of the clocks may run faster, ns; `None` where too few are common.
fn ends_apart(common: &Common, settings: ClockSettings) -> Option<i64> {
    if common.pairs.len() < ENOUGH {
        return None;
    }
    let between = |p: &[(TimeRange, TimeRange)]| {
        let x = p[1].0.end.saturating_sub(p[0].0.end);
        let y = p[1].1.end.saturating_sub(p[0].1.end);
        let drift = i128::from(x) * i128::from(settings.max_drift) / 1_000_000_000;
        let drift = i64::try_from(drift.abs()).unwrap_or(i64::MAX);
        y.saturating_sub(x).saturating_abs().saturating_sub(drift)
    };
    let mut off: Vec<i64> = common.pairs.windows(2).map(between).collect();
    off.sort_unstable();
    off.get(off.len() / 2).copied()
}
