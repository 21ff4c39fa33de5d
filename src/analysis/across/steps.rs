//! Steps of ranks beside each other: by their numbers where all state them, else by order.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::row::RankRow;
use crate::analysis::sums::stats::percentile;
use crate::analysis::verdict::issue::Verdict;
use crate::analysis::verdict::late::{Arrived, Trial};
use crate::analysis::verdict::late_parts::{Charge, LateCause};

/// Steps that are told.
const WORST: usize = 5;

/// The steps of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Their numbers, ascending; places in the loop of each rank where not all state numbers.
    pub numbers: Vec<i64>,
    /// The ranks state them.
    pub stated: bool,
    /// By rank and whole cycle: the place in `numbers`.
    of: Vec<Vec<u32>>,
}

/// A step that took long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorstStep {
    /// Its number, as in [`Columns::numbers`].
    pub number: i64,
    /// What it took on the rank where it took longest, ns.
    pub time: i64,
    /// The median of that over all steps, ns.
    pub median: i64,
    /// The place of the rank that cost the others most in it; `None` where nobody was charged.
    pub late: Option<usize>,
    /// Why that one was late, where that can be told.
    pub cause: Option<LateCause>,
}

impl Columns {
    pub(super) fn of(rows: &[RankRow], verdicts: &[Verdict]) -> Self {
        let stated = rows.iter().all(|r| r.numbered);
        let keys = rows.iter().zip(verdicts).map(|(row, v)| {
            let cycles = v.judged.cycles.iter();
            let key = |step: usize| {
                let number = row.steps[step].number.filter(|_| stated);
                number.unwrap_or(i64::try_from(step).unwrap_or(i64::MAX))
            };
            cycles.map(|c| key(c.step)).collect()
        });
        let keys: Vec<Vec<i64>> = keys.collect();
        let mut numbers: Vec<i64> = keys.iter().flatten().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let place: FxHashMap<i64, u32> = numbers.iter().copied().zip(0..).collect();
        let of = keys
            .iter()
            .map(|own| own.iter().map(|k| place[k]).collect());
        Self {
            of: of.collect(),
            numbers,
            stated,
        }
    }

    /// The place in `numbers` of a whole cycle of a rank, both by place.
    ///
    /// # Panics
    /// If there is no such rank or cycle.
    #[must_use]
    pub fn column(&self, place: usize, cycle: usize) -> usize {
        self.of[place][cycle] as usize
    }

    /// The steps furthest above the median.
    pub(super) fn worst(
        &self,
        verdicts: &[Verdict],
        arrived: &Arrived,
        trial: &Trial<'_>,
    ) -> Vec<WorstStep> {
        let mut times: Vec<Option<i64>> = vec![None; self.numbers.len()];
        for (place, verdict) in verdicts.iter().enumerate() {
            for &cycle in &verdict.judged.places {
                let slot = &mut times[self.column(place, cycle)];
                let time = verdict.judged.cycles[cycle].time();
                *slot = (*slot).max(Some(time));
            }
        }
        let mut all: Vec<i64> = times.iter().flatten().copied().collect();
        let Some(median) = percentile(&mut all, 50) else {
            return Vec::new();
        };
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.retain(|&c| times[c] > Some(median));
        order.sort_by_key(|&c| (Reverse(times[c]), c));
        order.truncate(WORST);
        // The dearest rank of each column.
        let mut late: Vec<Option<(i64, usize, usize)>> = vec![None; self.numbers.len()];
        for cost in &arrived.costs {
            let slot = &mut late[self.column(cost.place, cost.cycle)];
            if slot.is_none_or(|(ns, ..)| cost.ns > ns) {
                *slot = Some((cost.ns, cost.place, cost.cycle));
            }
        }
        let one = |&column: &usize| {
            let late = late[column].filter(|(ns, ..)| *ns > 0);
            let charges = |(_, place, cycle): (i64, usize, usize)| -> Vec<&Charge> {
                let all = arrived.charges.iter();
                all.filter(|c| c.place == place && c.cycle == cycle)
                    .collect()
            };
            WorstStep {
                number: self.numbers[column],
                time: times[column].unwrap_or(0),
                median,
                late: late.map(|l| l.1),
                cause: late.and_then(|l| trial.why(&charges(l)).cause),
            }
        };
        order.iter().map(one).collect()
    }
}
