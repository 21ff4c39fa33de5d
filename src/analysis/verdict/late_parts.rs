//! Why a rank is late: what it does between two collectives, part by part, beside what the others do there.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::analysis::Analysis;
use crate::analysis::collectives::matching::Collective;
use crate::analysis::collectives::ranks::Collectives;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::verdict::issue::{IssueKind, Verdict};
use crate::analysis::verdict::ledger::IdleClass;
use crate::time::TimeRange;

macro_rules! causes {
    ($($(#[$doc:meta])* $cause:ident = $key:literal, $straggler:ident, $imbalance:ident,)*) => {
        /// Why a rank is late. Of equals the first counts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum LateCause { $($(#[$doc])* $cause,)* }

        impl LateCause {
            /// All of them, in the order of reports.
            pub const ALL: &[Self] = &[$(Self::$cause,)*];

            /// The name in reports.
            #[must_use]
            pub fn key(self) -> &'static str {
                match self { $(Self::$cause => $key,)* }
            }

            /// The kind of issue: of one rank, or of whichever is late.
            pub(in crate::analysis) fn kind(self, wandering: bool) -> IssueKind {
                match self {
                    $(Self::$cause if wandering => IssueKind::$imbalance,
                    Self::$cause => IssueKind::$straggler,)*
                }
            }
        }
    };
}

causes! {
    /// It waits for data.
    Input = "INPUT", InputStraggler, InputImbalance,
    /// Its kernels run longer.
    Compute = "COMPUTE", ComputeStraggler, ComputeImbalance,
    /// Its copies to the device run longer.
    H2d = "H2D", H2dStraggler, H2dImbalance,
    /// Its CPU launches later: pauses, blocking calls, slow launches.
    Host = "HOST", HostStraggler, HostImbalance,
    /// It collects garbage.
    Gc = "GC", GcStraggler, GcImbalance,
    /// It compiles.
    Compile = "COMPILE", CompileStraggler, CompileImbalance,
    /// It saves.
    Checkpoint = "CHECKPOINT", CheckpointStraggler, CheckpointImbalance,
    /// It logs.
    Log = "LOG", LogStraggler, LogImbalance,
    /// It evaluates.
    Eval = "EVAL", EvalStraggler, EvalImbalance,
}

/// What a rank does between two collectives, apart from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatePart {
    /// Kernels; without a GPU the phases of the loop that compute.
    Compute,
    /// Copies to the device without kernels.
    H2d,
    /// Communication of other groups alone.
    Comm,
    /// Idle time of a class.
    Idle(IdleClass),
}

impl LatePart {
    const ALL: [Self; 16] = [
        Self::Compute,
        Self::H2d,
        Self::Comm,
        Self::Idle(IdleClass::Input),
        Self::Idle(IdleClass::Gc),
        Self::Idle(IdleClass::Compile),
        Self::Idle(IdleClass::Checkpoint),
        Self::Idle(IdleClass::Log),
        Self::Idle(IdleClass::Loader),
        Self::Idle(IdleClass::Eval),
        Self::Idle(IdleClass::Sync),
        Self::Idle(IdleClass::Launch),
        Self::Idle(IdleClass::Pause),
        Self::Idle(IdleClass::Dependency),
        Self::Idle(IdleClass::Kernel),
        Self::Idle(IdleClass::Unknown),
    ];

    /// The cause that it counts for.
    #[must_use]
    pub fn cause(self) -> Option<LateCause> {
        match self {
            Self::Compute => Some(LateCause::Compute),
            Self::H2d => Some(LateCause::H2d),
            Self::Comm => None,
            Self::Idle(class) => match class {
                IdleClass::Input => Some(LateCause::Input),
                IdleClass::Gc => Some(LateCause::Gc),
                IdleClass::Compile => Some(LateCause::Compile),
                IdleClass::Checkpoint => Some(LateCause::Checkpoint),
                IdleClass::Log => Some(LateCause::Log),
                IdleClass::Eval => Some(LateCause::Eval),
                IdleClass::Sync | IdleClass::Launch | IdleClass::Pause | IdleClass::Kernel => {
                    Some(LateCause::Host)
                }
                IdleClass::Loader
                | IdleClass::InputBetween
                | IdleClass::Startup
                | IdleClass::Dependency
                | IdleClass::Unknown
                | IdleClass::FirstOther => None,
            },
        }
    }
}

/// Time that the late rank has and the others have between the collectives it is charged with, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    /// Of what.
    pub part: LatePart,
    /// The late rank's.
    pub own: i64,
    /// The others': lower medians.
    pub others: i64,
}

impl Excess {
    /// What the late rank has more, ns.
    #[must_use]
    pub fn more(self) -> i64 {
        self.own - self.others
    }
}

/// Times by part, in the order of all parts, ns.
pub(in crate::analysis) type PartTimes = [i64; 16];

/// A share of a collective's cost that a rank is charged with.
pub(in crate::analysis) struct Charge {
    /// Place of the rank.
    pub place: usize,
    /// Place of the step among its whole cycles.
    pub cycle: usize,
    /// Place of the collective.
    pub matched: usize,
    /// Place of its operation among the members of that.
    pub member: usize,
    pub ns: i64,
}

/// What a rank does, part by part.
struct Parts<'a>([Cow<'a, Union>; 16]);

impl Parts<'_> {
    fn measure(&self, range: TimeRange) -> PartTimes {
        std::array::from_fn(|i| self.0[i].measure_in(range))
    }
}

/// Parts of all members before one collective.
struct Measured {
    matched: usize,
    /// By member.
    of: Vec<PartTimes>,
    /// By part, ascending.
    sorted: Vec<Vec<i64>>,
}

impl Measured {
    fn new(matched: usize, of: Vec<PartTimes>) -> Self {
        let column = |i: usize| {
            let mut values: Vec<i64> = of.iter().map(|m| m[i]).collect();
            values.sort_unstable();
            values
        };
        Self {
            matched,
            sorted: (0..16).map(column).collect(),
            of,
        }
    }

    /// The lower median of a part over all members but one, ns.
    fn others(&self, part: usize, but: usize) -> i64 {
        let sorted = &self.sorted[part];
        let Some(middle) = sorted.len().checked_sub(2).map(|last| last / 2) else {
            return 0;
        };
        let own = self.of[but][part];
        let place = sorted.partition_point(|&x| x < own);
        sorted[if middle < place { middle } else { middle + 1 }]
    }
}

/// What the late ranks have, and the others, between the collective before and the one they are charged with; `before`
/// tells it of a rank, by place, and one of its collectives.
pub(in crate::analysis) fn excess(
    run: &Collectives,
    charges: &[&Charge],
    before: &dyn Fn(usize, usize) -> PartTimes,
) -> Vec<Excess> {
    let mut out: Vec<Excess> = LatePart::ALL
        .iter()
        .map(|&part| Excess {
            part,
            own: 0,
            others: 0,
        })
        .collect();
    // Charges of one collective follow each other: it is measured once, whoever of many ranks is late.
    let mut known: Option<Measured> = None;
    for charge in charges {
        let matched = &run.matching.matched[charge.matched];
        if known.as_ref().is_none_or(|k| k.matched != charge.matched) {
            let members = run.matching.of(matched).iter();
            let measured = members.map(|m| before(m.rank as usize, m.at as usize));
            known = Some(Measured::new(charge.matched, measured.collect()));
        }
        let Some(measured) = &known else {
            continue;
        };
        for (i, sum) in out.iter_mut().enumerate() {
            sum.own += measured.of[charge.member][i];
            sum.others += measured.others(i, charge.member);
        }
    }
    out
}

/// What one rank does before its collectives.
pub(in crate::analysis) struct Before<'a> {
    analysis: &'a Analysis,
    rank: usize,
    own: &'a [Collective],
    parts: Parts<'a>,
    /// By collective: the previous one of its group.
    previous: Vec<Option<TimeRange>>,
}

/// From where on it is counted what a rank does before a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) enum Since {
    /// The end of its previous one of the group, else the start of its cycle.
    End,
    /// The start of the previous one in the cycle: what a rank does while it waits there counts, too.
    Start,
}

impl Before<'_> {
    /// Before one of them, by place.
    pub fn measure(&self, at: usize, since: Since) -> PartTimes {
        let start = self.own[at].range.start;
        let cycle = || self.analysis.cycle_start(self.rank, start);
        let previous = self.previous[at];
        let from = match since {
            Since::End => previous.map(|p| p.end).or_else(cycle),
            Since::Start => cycle().max(previous.map(|p| p.start)),
        };
        let range = TimeRange::new(from.unwrap_or(start).min(start), start);
        self.parts.measure(range)
    }
}

impl Analysis {
    /// What the rank of a verdict does before some of its operations, by start.
    pub(in crate::analysis) fn before<'a>(
        &'a self,
        verdict: &'a Verdict,
        own: &'a [Collective],
    ) -> Before<'a> {
        let mut last: FxHashMap<u32, TimeRange> = FxHashMap::default();
        let previous = own.iter().map(|c| last.insert(c.group, c.range));
        Before {
            analysis: self,
            rank: verdict.rank,
            previous: previous.collect(),
            parts: self.late_parts(verdict),
            own,
        }
    }

    /// The start of the last cycle of a rank that began by an instant.
    fn cycle_start(&self, rank: usize, t: i64) -> Option<i64> {
        let all = &self.cycles[rank].all;
        let i = all.partition_point(|c| c.range.start <= t).checked_sub(1)?;
        Some(all[i].range.start)
    }

    fn late_parts(&self, verdict: &Verdict) -> Parts<'_> {
        let rank = &self.ranks[verdict.rank];
        let sets = rank.gpu.map(|g| &self.gpu_sets[g]);
        let compute = sets.map(|s| &**s.class(LayerId::GPU_COMPUTE));
        let compute = compute.filter(|c| !c.is_empty());
        let (h2d, comm) = sets.map_or_else(Default::default, |s| {
            let compute = s.class(LayerId::GPU_COMPUTE);
            let h2d = s.class(LayerId::GPU_H2D);
            (h2d.subtract(compute), s.comm_only.subtract(h2d))
        });
        let mut idle = self.idle_classes(&verdict.judged, &verdict.ledger);
        Parts(std::array::from_fn(|i| match LatePart::ALL[i] {
            LatePart::Compute => match compute {
                Some(compute) => Cow::Borrowed(compute),
                None => {
                    let phases = &self.rank_sets[verdict.rank].compute;
                    Cow::Owned(phases.subtract(&rank.wait))
                }
            },
            LatePart::H2d => Cow::Owned(h2d.clone()),
            LatePart::Comm => Cow::Owned(comm.clone()),
            LatePart::Idle(class) => idle.remove(&class).unwrap_or_default(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_others_leaves_one_out() {
        let of = |values: &[i64]| {
            let rows = values.iter().map(|&v| [v; 16]).collect();
            Measured::new(0, rows)
        };
        let four = of(&[7, 1, 9, 3]);
        // Of 1 3 9, of 3 7 9, of 1 3 7, of 1 7 9.
        let others: Vec<i64> = (0..4).map(|m| four.others(0, m)).collect();
        assert_eq!(others, [3, 7, 3, 7]);
        // Lower medians of two.
        let three = of(&[5, 5, 2]);
        let others: Vec<i64> = (0..3).map(|m| three.others(15, m)).collect();
        assert_eq!(others, [2, 2, 5]);
        assert_eq!(of(&[5]).others(0, 0), 0);
    }

    #[test]
    fn causes_have_kinds_of_their_own() {
        let mut kinds: Vec<IssueKind> = Vec::new();
        for cause in LateCause::ALL {
            for wandering in [false, true] {
                let kind = cause.kind(wandering);
                let end = if wandering { "IMBALANCE" } else { "STRAGGLER" };
                assert_eq!(kind.key(), format!("{}_{end}", cause.key()));
                assert!(kind.compares_ranks());
                kinds.push(kind);
            }
        }
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), 18);
    }
}
