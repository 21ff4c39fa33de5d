//! What one operation was in its collective: waiting for others, or waited for.

use super::ranks::Collectives;
use crate::analysis::Analysis;
use crate::model::SpanId;

/// What an operation was in its collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attendance {
    /// What it waited for others, ns from its start.
    pub wait: i64,
    /// It came last, or as good as last, and others waited for it.
    pub late: bool,
    /// How many came last.
    pub late_ranks: u32,
    /// The number of the rank that came last, where it is one.
    pub last: Option<u32>,
    /// What the others waited, the lower median, ns; 0 where all came together.
    pub cost: i64,
    /// Ranks of which the operation is known.
    pub ranks: usize,
}

impl Collectives {
    /// The place among the members of an operation that is matched.
    fn member_of(&self, op: SpanId) -> Option<usize> {
        let at = self.by_op.binary_search_by_key(&op, |o| o.0).ok()?;
        Some(self.by_op[at].1 as usize)
    }

    /// Operations whose collectives are matched, ascending.
    pub fn matched_ops(&self) -> impl ExactSizeIterator<Item = SpanId> {
        self.by_op.iter().map(|o| o.0)
    }
}

impl Analysis {
    /// The collectives of the run that a rank belongs to, and its place among the ranks of that.
    pub(in crate::analysis) fn run_of(&self, rank: usize) -> Option<(&Collectives, usize)> {
        let mut all = self.collectives.iter();
        all.find_map(|run| Some((run, run.place(rank)?)))
    }

    /// What an operation was in its collective; `None` where that is not known.
    #[must_use]
    pub fn attendance(&self, op: SpanId) -> Option<Attendance> {
        let mut all = self.collectives.iter();
        let (run, member) = all.find_map(|run| Some((run, run.member_of(op)?)))?;
        let matched = &run.matching.matched;
        let k = matched.partition_point(|m| m.places().start <= member);
        let k = k.checked_sub(1)?;
        let (places, arrival) = (matched[k].places(), run.arrivals.of[k]);
        let together = arrival.together(places.len());
        let first = &run.matching.members[places.start + arrival.first_late as usize];
        let only = || self.ranks[run.ranks[first.rank as usize]].rank;
        Some(Attendance {
            wait: run.arrivals.waits[member],
            late: !together && run.arrivals.is_late(member),
            late_ranks: arrival.late,
            last: (!together && arrival.late == 1).then(only),
            cost: arrival.cost,
            ranks: places.len(),
        })
    }

    /// Time in which a GPU did nothing but communicate: neither compute nor copies nor memsets ran.
    ///
    /// # Panics
    /// If there is no such GPU.
    #[must_use]
    pub fn only_communication(&self, gpu: usize) -> crate::analysis::Union {
        let sets = &self.gpu_sets[gpu];
        let memset = sets.class(crate::analysis::LayerId::GPU_MEMSET);
        sets.comm_only.subtract(&sets.memcpy).subtract(memset)
    }
}
