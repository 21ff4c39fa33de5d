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
use std::collections::BTreeMap;

use crate::analysis::Analysis;
use crate::analysis::base::options::Severity;
use crate::analysis::base::steps::StepSource;
use crate::analysis::collectives::ranks::Collectives;
use crate::analysis::figures::judged::Judged;
use crate::analysis::sums::stats::{ratio, round6};
use crate::analysis::verdict::evidence::largest;
use crate::analysis::verdict::issue::{Evidence, Issue, IssueKind, Verdict, Whole};
use crate::analysis::verdict::late_parts::{Charge, Excess, LateCause};
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
    /// Index in [`Analysis::ranks`].
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
    /// The late rank, as index in [`Analysis::ranks`]; none where it wanders.
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

/// The arrivals at the collectives of a window.
pub(in crate::analysis) struct Arrived {
    pub late: Vec<LateRank>,
    pub matched: usize,
    pub together: usize,
    charges: Vec<Charge>,
}

/// The judged step of a rank at an instant, by place among its cycles.
fn judged_at(judged: &Judged, t: i64) -> Option<usize> {
    let i = judged.cycles.partition_point(|c| c.range.start <= t);
    let i = i.checked_sub(1)?;
    let inside = judged.cycles[i].range.contains(t);
    (inside && judged.places.binary_search(&i).is_ok()).then_some(i)
}

impl Analysis {
    /// The arrivals at the collectives that lie in a window as a whole; `verdicts` by place of the rank.
    pub(in crate::analysis) fn arrived(
        &self,
        run: &Collectives,
        verdicts: &[Verdict],
        window: TimeRange,
    ) -> Arrived {
        let rank = |&rank: &usize| LateRank {
            rank,
            ..LateRank::default()
        };
        let mut out = Arrived {
            late: run.ranks.iter().map(rank).collect(),
            matched: 0,
            together: 0,
            charges: Vec::new(),
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
            if !run.is_within(&self.core.trace, matched, window) {
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
                let judged = &verdicts[place].judged;
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
                    matched: k,
                    member: i - first,
                    ns,
                });
            }
        }
        for ((place, _), groups) in steps {
            let most = groups.iter().map(|g| g.1).max().unwrap_or(0);
            let late = &mut out.late[place];
            late.cost_judged += most;
            let judged = &verdicts[place].judged;
            let steps = i128::try_from(judged.len()).unwrap_or(i128::MAX);
            let part = i128::from(most) * 20 * steps >= i128::from(judged.account.judged);
            late.late_steps += usize::from(part);
        }
        out
    }

    /// What the lateness of a window costs, and why; nothing where nobody is charged or too little is judged.
    pub(in crate::analysis) fn lateness(
        &self,
        run: &Collectives,
        arrived: &Arrived,
        verdicts: &[Verdict],
    ) -> Option<Lateness> {
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
        let excess = self.excess(run, &charges, verdicts);
        let base: i64 = charges.iter().map(|c| c.ns).sum();
        let mut out = Lateness {
            pattern,
            culprit: culprit.map(|p| run.ranks[p]),
            cost: culprit.map_or(total, |p| late[p].cost_judged),
            total,
            median: run.ranks[median],
            of_ns,
            judged: judged.len(),
            charged: charges.len(),
            coverage: Vec::new(),
            cause: None,
            excess,
            places: self.late_places(run, &charges),
        };
        let share = |cause| {
            let more = out.more(cause).max(0);
            round6(ratio(more, base).unwrap_or(0.0)).min(1.0)
        };
        out.coverage = LateCause::ALL.iter().map(|&c| (c, share(c))).collect();
        let mut best: Option<(LateCause, f64)> = None;
        for &(cause, share) in &out.coverage {
            if best.is_none_or(|b| share > b.1) {
                best = Some((cause, share));
            }
        }
        let named = best.filter(|b| b.1 >= self.options.cause_cov);
        out.cause = named.map(|b| b.0);
        Some(out)
    }

    /// The most expensive collectives of some charges.
    fn late_places(&self, run: &Collectives, charges: &[&Charge]) -> Vec<Evidence> {
        largest(charges.iter().filter_map(|c| {
            let members = run.matching.of(&run.matching.matched[c.matched]);
            let own = members.iter().find(|m| m.rank as usize == c.place)?;
            let op = run.op(own);
            Some((c.ns, op, self.core.range(op)))
        }))
    }

    /// The issue of a job, where lateness costs a tenth.
    pub(in crate::analysis) fn late_issue(&self, late: &Lateness) -> Option<Issue> {
        let options = &self.options;
        let share = ratio(late.cost, late.of_ns).filter(|s| *s >= options.warn)?;
        let rank = &self.ranks[late.median];
        let sure = rank.gpu.is_some() && rank.steps_how != StepSource::Optimizer;
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
        issue.gpu_clock = Some(rank.gpu.is_some());
        issue.evidence.clone_from(&late.places);
        Some(issue)
    }
}
