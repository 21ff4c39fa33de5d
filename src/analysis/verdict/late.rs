//! Who is late to the collectives of a job, what that costs the others, and why.
//!
//! ```text
//! rank 0   ├ compute ┤├───── all-reduce, waits ─────┤       charged to rank 1: the lower median of what the others waited
//! rank 1   ├ waits for data ┤├ compute ┤├ all-reduce ┤
//!          └─ from the collective before to this ─┘         what rank 1 has more of here than the others is why
//! ```
//!
//! Only collectives count for the cost that the late rank launched in a judged step. Where groups overlap, a step costs
//! what its most expensive group costs: groups wait at the same time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::base::options::{Options, Severity};
use crate::analysis::collectives::ranks::Collectives;
use crate::analysis::figures::judged::Judged;
use crate::analysis::figures::waiting::BatchTime;
use crate::analysis::sums::stats::{ratio, round6};
use crate::analysis::verdict::evidence::largest;
use crate::analysis::verdict::issue::{Evidence, Issue, IssueKind, Verdict, Whole};
use crate::analysis::verdict::late_parts::{Charge, Excess, LateCause, PartTimes, Since, excess};
use crate::time::TimeRange;

/// How lateness lies over the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatePattern {
    /// One rank has four fifths of the cost.
    Persistent,
    /// No rank has half of it, and at least two have a tenth each.
    Wandering,
    /// Neither: the rank with most of it is named, with its share.
    Mixed,
}

impl LatePattern {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Persistent => "persistent",
            Self::Wandering => "wandering",
            Self::Mixed => "mixed",
        }
    }
}

/// What one rank has to do with the lateness of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LateRank {
    /// Index in [`crate::analysis::Analysis::ranks`].
    pub rank: usize,
    /// Collectives to which it came last alone.
    pub last: usize,
    /// Collectives to which it came last with others.
    pub last_shared: usize,
    /// What it waited for others in all of them, ns.
    pub waited: i64,
    /// What it is charged with, ns.
    pub cost: i64,
    /// Of it in judged steps, ns: by step the most expensive group.
    pub cost_judged: i64,
    /// Steps in which it costs a twentieth of a step or more.
    pub late_steps: usize,
}

/// What being late costs a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Lateness {
    /// How it lies over the ranks.
    pub pattern: LatePattern,
    /// The late rank, as index in [`crate::analysis::Analysis::ranks`]; none where it wanders.
    pub culprit: Option<usize>,
    /// What is charged to the late rank in judged steps, to all where it wanders, ns.
    pub cost: i64,
    /// What is charged to all, ns.
    pub total: i64,
    /// The rank in the middle by the mean of its judged steps: its time is the whole.
    pub median: usize,
    /// Time of its judged steps, ns.
    pub of_ns: i64,
    /// How many those are.
    pub judged: usize,
    /// Collectives charged to the late rank, or to all.
    pub charged: usize,
    /// Of what those cost, the part that each cause explains, 0–1.
    pub coverage: Vec<(LateCause, f64)>,
    /// The one that explains four fifths.
    pub cause: Option<LateCause>,
    /// By part.
    pub excess: Vec<Excess>,
    /// The most expensive collectives, on the late rank.
    pub places: Vec<Evidence>,
}

impl Lateness {
    /// What the others wait in each judged step, ns, rounded down.
    #[must_use]
    pub fn per_step(&self) -> i64 {
        self.cost / i64::try_from(self.judged.max(1)).unwrap_or(1)
    }

    /// The cost as a part of the judged steps, rounded to six decimals.
    #[must_use]
    pub fn score(&self) -> f64 {
        round6(ratio(self.cost, self.of_ns).unwrap_or(0.0))
    }

    /// What the late rank has more of the parts of a cause, ns.
    #[must_use]
    pub fn more(&self, cause: LateCause) -> i64 {
        let own = self.excess.iter().filter(|e| e.part.cause() == Some(cause));
        own.map(|e| e.more()).sum()
    }
}

/// What a rank costs the others in one of its judged steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepCost {
    /// Place of the rank.
    pub place: usize,
    /// Place of the step among its whole cycles.
    pub cycle: usize,
    /// What its most expensive group costs, ns.
    pub ns: i64,
}

/// The arrivals at the collectives of a window.
pub(in crate::analysis) struct Arrived {
    pub late: Vec<LateRank>,
    pub matched: usize,
    pub together: usize,
    pub charges: Vec<Charge>,
    /// By rank and step.
    pub costs: Vec<StepCost>,
}

/// Why some charges were made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WhyLate {
    /// By part.
    pub excess: Vec<Excess>,
    /// Of what the charges cost, the part that each cause explains, 0–1.
    pub coverage: Vec<(LateCause, f64)>,
    /// The one that explains enough of it.
    pub cause: Option<LateCause>,
}

/// What lateness is judged by. Neither the trace of a rank nor a clock that ranks share is asked for.
pub(in crate::analysis) struct Trial<'a> {
    pub run: &'a Collectives,
    /// By place of the rank.
    pub verdicts: &'a [Verdict],
    pub options: &'a Options,
    /// What a rank, by place, does before one of its collectives, by place among its own, part by part, ns.
    pub before: &'a dyn Fn(usize, usize, Since) -> PartTimes,
    /// What the batches of a rank take, by index.
    pub batches: &'a dyn Fn(usize) -> Option<BatchTime>,
}

/// The judged step of a rank at an instant, by place among its cycles.
fn judged_at(judged: &Judged, t: i64) -> Option<usize> {
    let i = judged.cycles.partition_point(|c| c.range.start <= t);
    let i = i.checked_sub(1)?;
    let inside = judged.cycles[i].range.contains(t);
    (inside && judged.places.binary_search(&i).is_ok()).then_some(i)
}

impl Trial<'_> {
    /// The arrivals at the collectives that lie in a window as a whole; at all of them without one.
    pub fn arrived(&self, window: Option<TimeRange>) -> Arrived {
        let run = self.run;
        let rank = |&rank: &usize| LateRank {
            rank,
            ..LateRank::default()
        };
        let mut out = Arrived {
            late: run.ranks.iter().map(rank).collect(),
            matched: 0,
            together: 0,
            charges: Vec::new(),
            costs: Vec::new(),
        };
        // By rank and step: what each group costs.
        let mut steps: BTreeMap<(usize, usize), Vec<(u32, i64)>> = BTreeMap::new();
        let arrivals = run
            .matching
            .matched
            .iter()
            .zip(&run.arrivals.of)
            .enumerate();
        for (k, (matched, arrival)) in arrivals {
            if window.is_some_and(|w| !run.is_within(matched, w)) {
                continue;
            }
            out.matched += 1;
            let together = arrival.together(matched.places().len());
            out.together += usize::from(together);
            let mut n = 0;
            let first = matched.places().start;
            for (i, member) in matched.places().zip(run.matching.of(matched)) {
                let place = member.rank as usize;
                let late = &mut out.late[place];
                late.waited += run.arrivals.waits[i];
                if together || !run.arrivals.is_late(i) {
                    continue;
                }
                let ns = arrival.charge(n);
                n += 1;
                late.cost += ns;
                match arrival.late {
                    1 => late.last += 1,
                    _ => late.last_shared += 1,
                }
                let judged = &self.verdicts[place].judged;
                let Some(step) = judged_at(judged, run.collective(member).launched) else {
                    continue;
                };
                let groups = steps.entry((place, step)).or_default();
                match groups.iter_mut().find(|g| g.0 == matched.group) {
                    Some(group) => group.1 += ns,
                    None => groups.push((matched.group, ns)),
                }
                out.charges.push(Charge {
                    place,
                    cycle: step,
                    matched: k,
                    member: i - first,
                    ns,
                });
            }
        }
        for ((place, cycle), groups) in steps {
            let ns = groups.iter().map(|g| g.1).max().unwrap_or(0);
            out.costs.push(StepCost { place, cycle, ns });
            let late = &mut out.late[place];
            late.cost_judged += ns;
            let judged = &self.verdicts[place].judged;
            let steps = i128::try_from(judged.len()).unwrap_or(i128::MAX);
            let part = i128::from(ns) * 20 * steps >= i128::from(judged.account.judged);
            late.late_steps += usize::from(part);
        }
        out
    }

    /// What the lateness of a window costs, and why; nothing where nobody is charged or too little is judged.
    pub fn lateness(&self, arrived: &Arrived) -> Option<Lateness> {
        let (run, verdicts) = (self.run, self.verdicts);
        let late = &arrived.late;
        let total: i64 = late.iter().map(|l| l.cost_judged).sum();
        let mut order: Vec<usize> = (0..late.len()).collect();
        let mean = |i: usize| {
            let judged = &verdicts[i].judged;
            let n = i128::try_from(judged.len().max(1)).unwrap_or(i128::MAX);
            (i128::from(judged.account.judged), n)
        };
        order.sort_by(|&a, &b| {
            let ((ta, na), (tb, nb)) = (mean(a), mean(b));
            (ta * nb).cmp(&(tb * na))
        });
        let median = *order.get(order.len().checked_sub(1)? / 2)?;
        let judged = &verdicts[median].judged;
        let of_ns = judged.account.judged;
        if total == 0 || of_ns == 0 || !judged.enough() {
            return None;
        }
        let top = (0..late.len()).max_by_key(|&i| (late[i].cost_judged, Reverse(i)))?;
        let most = i128::from(late[top].cost_judged);
        let all = i128::from(total);
        let some = late
            .iter()
            .filter(|l| i128::from(l.cost_judged) * 10 >= all);
        let pattern = if most * 5 >= all * 4 {
            LatePattern::Persistent
        } else if most * 2 < all && some.count() >= 2 {
            LatePattern::Wandering
        } else {
            LatePattern::Mixed
        };
        let culprit = (pattern != LatePattern::Wandering).then_some(top);
        let charges: Vec<&Charge> = arrived
            .charges
            .iter()
            .filter(|c| culprit.is_none_or(|p| p == c.place))
            .collect();
        let why = self.why(&charges);
        Some(Lateness {
            pattern,
            culprit: culprit.map(|p| run.ranks[p]),
            cost: culprit.map_or(total, |p| late[p].cost_judged),
            total,
            median: run.ranks[median],
            of_ns,
            judged: judged.len(),
            charged: charges.len(),
            coverage: why.coverage,
            cause: why.cause,
            excess: why.excess,
            places: self.late_places(&charges),
        })
    }

    /// Why some charges were made.
    pub fn why(&self, charges: &[&Charge]) -> WhyLate {
        let base: i64 = charges.iter().map(|c| c.ns).sum();
        let strict = self.explained(charges, Since::End, |_| base);
        if strict.cause.is_some() {
            return strict;
        }
        // Who is late to the first collective of a step is late to the next ones as well: the others compute while they
        // wait for it, and then stand at the next one already. Only what comes on top of that delay has causes of its own.
        let mut seen = BTreeSet::new();
        let first = |c: &&&Charge| {
            let group = self.run.matching.matched[c.matched].group;
            seen.insert((c.place, c.cycle, group))
        };
        let firsts: Vec<&&Charge> = charges.iter().filter(first).collect();
        if firsts.len() == charges.len() {
            return strict;
        }
        let firsts: i64 = firsts.iter().map(|c| c.ns).sum();
        let carried = self.explained(charges, Since::Start, |more| firsts.max(more));
        match carried.cause {
            Some(_) => carried,
            None => strict,
        }
    }

    /// What explains charges; `base` tells what there is to explain, by all that late ranks have more.
    fn explained(&self, charges: &[&Charge], since: Since, base: impl Fn(i64) -> i64) -> WhyLate {
        let before = |place, at| (self.before)(place, at, since);
        let excess = excess(self.run, charges, &before);
        let more = |cause| {
            let own = excess.iter().filter(|e| e.part.cause() == Some(cause));
            own.map(|e| e.more()).sum::<i64>().max(0)
        };
        let base = base(LateCause::ALL.iter().map(|&c| more(c)).sum());
        let share = |cause| round6(ratio(more(cause), base).unwrap_or(0.0)).min(1.0);
        let coverage: Vec<_> = LateCause::ALL.iter().map(|&c| (c, share(c))).collect();
        let mut best: Option<(LateCause, f64)> = None;
        for &(cause, share) in &coverage {
            if best.is_none_or(|b| share > b.1) {
                best = Some((cause, share));
            }
        }
        let named = best.filter(|b| b.1 >= self.options.cause_cov);
        WhyLate {
            cause: named.map(|b| b.0),
            coverage,
            excess,
        }
    }

    /// The most expensive collectives of some charges.
    fn late_places(&self, charges: &[&Charge]) -> Vec<Evidence> {
        let run = self.run;
        largest(charges.iter().filter_map(|c| {
            let members = run.matching.of(&run.matching.matched[c.matched]);
            let own = members.iter().find(|m| m.rank as usize == c.place)?;
            let own = run.collective(own);
            Some((c.ns, own.op, own.range))
        }))
    }

    /// The issue of a job, where lateness costs a tenth.
    pub fn late_issue(&self, late: &Lateness) -> Option<Issue> {
        let options = self.options;
        let share = ratio(late.cost, late.of_ns).filter(|s| *s >= options.warn)?;
        let median = &self.verdicts[self.run.place(late.median)?];
        let sure = median.gpu_clock && !median.inferred;
        let often = late.judged >= options.min_steps_crit;
        let severity = match share >= options.crit && often && sure {
            true => Severity::Critical,
            false => Severity::Warning,
        };
        let wandering = late.pattern == LatePattern::Wandering;
        let kind = match late.cause {
            Some(cause) => cause.kind(wandering),
            None if wandering => IssueKind::Imbalance,
            None => IssueKind::Straggler,
        };
        let mut issue = Issue::plain(kind, severity, late.cost, (Whole::Judged, late.of_ns));
        issue.gpu_clock = Some(median.gpu_clock);
        issue.evidence.clone_from(&late.places);
        Some(issue)
    }
}
