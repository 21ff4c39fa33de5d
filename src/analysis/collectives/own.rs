//! What of one rank's communication can be compared, for tables: with ranks of the same trace, or with none yet.

use super::arrival::Arrival;
use super::found::{Found, found};
use super::matching::{Collective, CommGroup};
use super::ranks::{Collectives, Own};
use crate::analysis::Analysis;
use crate::analysis::layers::classify::ArgSource;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::watch::Watch;
use crate::model::SpanId;

/// The collectives of a rank.
#[derive(Clone, Debug, Default)]
pub struct RankCollectives {
    /// Its operations, by start.
    pub all: Vec<Collective>,
    /// Groups of ranks, by place.
    pub groups: Vec<CommGroup>,
    /// By operation; `None` where it is not matched with other ranks.
    pub matched: Vec<Option<MatchedPart>>,
}

/// What a matched operation was in its collective. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchedPart {
    /// What it waited for other ranks.
    pub wait: i64,
    /// It came last, or as good as last; all of them: they came together.
    pub late: bool,
    /// What its rank is charged with.
    pub cost: i64,
    /// The operation of the lowest rank.
    pub lowest: SpanId,
}

impl RankCollectives {
    /// Those of one rank that nobody is compared with.
    pub(in crate::analysis) fn alone(mut found: Found) -> Self {
        let all = found.of.pop().unwrap_or_default();
        Self {
            matched: vec![None; all.len()],
            groups: found.groups,
            all,
        }
    }
}

impl Collectives {
    /// What a matched operation was in its collective.
    ///
    /// # Panics
    /// If it is of other ranks.
    #[must_use]
    pub fn part(&self, own: &Own) -> MatchedPart {
        let (k, member) = (own.matched as usize, own.member as usize);
        let places = self.matching.matched[k].places();
        let before = (places.start..member).filter(|&m| self.arrivals.is_late(m));
        let (late, arrival) = (self.arrivals.is_late(member), self.arrivals.of[k]);
        let charged = late && !Arrival::together(arrival, places.len());
        let n = u32::try_from(before.count()).unwrap_or(u32::MAX);
        MatchedPart {
            wait: self.arrivals.waits[member],
            late,
            cost: if charged { arrival.charge(n) } else { 0 },
            lowest: self.op(&self.matching.members[places.start]),
        }
    }
}

impl Analysis {
    /// The collectives of a rank, matched with those of the other ranks of its run, as far as they are in this trace. Reads
    /// args, where it is the only one.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn rank_collectives(&self, rank: usize, args: &dyn ArgSource) -> RankCollectives {
        let known = self.run_of(rank).filter(|(run, _)| run.ranks.len() > 1);
        let Some((run, place)) = known else {
            let number = self.ranks[rank].rank;
            // Nobody says stop.
            let found = found(&self.core, &[number], args, &Watch::new(&|_permille| true));
            return RankCollectives::alone(found.unwrap_or_default());
        };
        let mut matched = vec![None; run.of[place].len()];
        for own in &run.own[place] {
            let at = run.matching.members[own.member as usize].at;
            matched[at as usize] = Some(run.part(own));
        }
        RankCollectives {
            all: run.of[place].clone(),
            groups: run.groups.clone(),
            matched,
        }
    }

    /// Of an operation of a rank's GPU: how long no compute ran meanwhile, ns; all of it without a GPU.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn without_compute(&self, rank: usize, op: SpanId) -> i64 {
        let range = self.core.range(op);
        let compute = self.ranks[rank].gpu.map_or(0, |g| {
            self.gpu_sets[g]
                .class(LayerId::GPU_COMPUTE)
                .measure_in(range)
        });
        range.len() - compute
    }
}
