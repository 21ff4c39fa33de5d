//! Who arrived last at each collective, how long the others waited for it, and what that costs.
//!
//! Of one collective: `wait` of a rank = its length − the shortest of all. Late are the ranks that waited no more than
//! `together`; all of them: they came together, and nobody is charged. The cost of being late is the lower median of
//! what the others waited, charged to the late one, or in equal parts to the late ones.

use super::matching::Matching;

/// The arrivals at the collectives of some ranks.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    /// What each member waited, ns; parallel to [`Matching::members`].
    pub waits: Vec<i64>,
    /// By collective, parallel to [`Matching::matched`].
    pub of: Vec<Arrival>,
    /// Ranks that arrive within this are together, ns.
    pub together: i64,
}

impl Arrivals {
    /// Whether a member of a collective is one of the late ones.
    #[must_use]
    pub fn is_late(&self, member: usize) -> bool {
        self.waits[member] <= self.together
    }
}

/// The arrivals at one collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Members that came last, or nearly so.
    pub late: u32,
    /// The first of them, by place among the members of the collective.
    pub first_late: u32,
    /// What the others waited for them, ns: the lower median; 0 where all came together.
    pub cost: i64,
}

impl Arrival {
    /// Whether nobody had to wait for anybody.
    #[must_use]
    pub fn together(self, members: usize) -> bool {
        self.late as usize == members
    }

    /// What the `n`-th of the late members is charged with, ns: equal parts, the remainder to the first.
    #[must_use]
    pub fn charge(self, n: u32) -> i64 {
        let parts = i64::from(self.late.max(1));
        self.cost / parts + if n == 0 { self.cost % parts } else { 0 }
    }
}

/// The lower median of lengths, in which no length is made up; reorders them.
pub(in crate::analysis) fn lower_median(values: &mut [i64]) -> Option<i64> {
    let at = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(at).1)
}

/// Arrivals at all matched collectives; `length` gives the length of a member's operation, `together` how close ranks
/// arrive that arrive together, ns.
#[must_use]
pub fn arrivals(matching: &Matching, together: i64, length: impl Fn(usize) -> i64) -> Arrivals {
    let mut out = Arrivals {
        waits: (0..matching.members.len()).map(length).collect(),
        of: Vec::with_capacity(matching.matched.len()),
        together,
    };
    let mut others: Vec<i64> = Vec::new();
    for matched in &matching.matched {
        let waits = &mut out.waits[matched.places()];
        let shortest = waits.iter().copied().min().unwrap_or(0);
        others.clear();
        let mut first_late = None;
        for (place, wait) in (0_u32..).zip(waits.iter_mut()) {
            *wait -= shortest;
            if *wait > together {
                others.push(*wait);
            } else {
                first_late.get_or_insert(place);
            }
        }
        let late = u32::try_from(waits.len() - others.len()).unwrap_or(u32::MAX);
        out.of.push(Arrival {
            late,
            first_late: first_late.unwrap_or(0),
            cost: lower_median(&mut others).unwrap_or(0),
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::kinds::CollectiveKind;
    use super::super::matching::{Collective, CommGroup, matching};
    use super::*;
    use crate::model::SpanId;
    use crate::time::TimeRange;

    fn of(lengths: &[i64]) -> Arrivals {
        let op = Collective {
            op: SpanId(0),
            range: TimeRange::new(0, 0),
            group: 0,
            kind: CollectiveKind::AllReduce,
            bytes: 4,
            number: None,
            launched: 0,
        };
        let numbers: Vec<u32> = (0..).take(lengths.len()).collect();
        let found = vec![vec![op]; lengths.len()];
        let m = matching(&[CommGroup::default()], &numbers, &found, &|_, _| None);
        arrivals(&m, 5_000, |i| lengths[i])
    }

    fn arrival(late: u32, first_late: u32, cost: i64) -> Arrival {
        Arrival {
            late,
            first_late,
            cost,
        }
    }

    #[test]
    fn the_shortest_came_last_and_the_others_waited() {
        let a = of(&[900_000, 950_000, 100_000, 700_000]);
        assert_eq!(a.waits, [800_000, 850_000, 0, 600_000]);
        assert_eq!(a.of, [arrival(1, 2, 800_000)]);
        assert_eq!(a.of[0].charge(0), 800_000);
    }

    #[test]
    fn who_comes_within_five_microseconds_shares_the_cost_to_the_nanosecond() {
        let a = of(&[100_000, 104_000, 105_000, 500_001]);
        assert_eq!(a.of, [arrival(3, 0, 400_001)]);
        let charges: Vec<i64> = (0..3).map(|n| a.of[0].charge(n)).collect();
        assert_eq!(charges, [133_335, 133_333, 133_333]);
        assert_eq!(charges.iter().sum::<i64>(), 400_001);
    }

    #[test]
    fn together_nobody_is_charged() {
        let a = of(&[100_000, 105_000]);
        assert!(a.of[0].together(2));
        assert_eq!(a.of[0].cost, 0);
        assert!(!of(&[100_000, 105_001]).of[0].together(2));
    }

    #[test]
    fn the_lower_median_is_one_of_the_values() {
        assert_eq!(lower_median(&mut [4, 1]), Some(1));
        assert_eq!(lower_median(&mut [9, 4, 1]), Some(4));
        assert_eq!(lower_median(&mut []), None);
    }
}
