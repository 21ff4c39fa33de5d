//! The collectives of the ranks of one run: matched once per trace, whatever window is judged.

use std::collections::BTreeMap;

use super::arrival::{Arrivals, arrivals};
use super::found::{Found, found};
use super::kinds::NotCompared;
use super::matching::{Collective, CommGroup, Matched, Matching, Member, matching};
use crate::analysis::base::core::Core;
use crate::analysis::base::loops::Rank;
use crate::analysis::layers::classify::ArgSource;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::percentile;
use crate::analysis::sums::watch::{Cancelled, Watch};
use crate::model::{Clock, SourceId, SpanId};
use crate::time::TimeRange;

/// The collectives of the ranks of one run.
#[derive(Debug, Default)]
pub struct Collectives {
    /// Index in [`crate::analysis::Identity::runs`].
    pub run: usize,
    /// Indices in [`crate::analysis::Analysis::ranks`], ascending.
    pub ranks: Vec<usize>,
    /// Their numbers.
    pub numbers: Vec<u32>,
    /// How many ranks the job has, as far as somebody says; at least those that were opened.
    pub world: u32,
    /// Groups of ranks that communicate.
    pub groups: Vec<CommGroup>,
    /// By place in `ranks`, by start: operations that can be compared.
    pub of: Vec<Vec<Collective>>,
    /// Operations that cannot, by reason.
    pub left_out: BTreeMap<NotCompared, usize>,
    /// They ran on GPUs; else they are spans of back ends that communicate on the CPU.
    pub gpu: bool,
    /// Which of them are one collective.
    pub matching: Matching,
    /// Who waited.
    pub arrivals: Arrivals,
    /// By place in `ranks`: the part of its matched collectives in which a rank waited for others.
    pub waiting: Vec<Union>,
    /// By place in `ranks`: its matched operations, by collective.
    pub own: Vec<Vec<Own>>,
    /// Matched operations, ascending, with their places in [`Matching::members`].
    pub(super) by_op: Vec<(SpanId, u32)>,
    /// How well the ranks leave together; `None` with fewer than two collectives.
    pub ends: Option<Ends>,
}

/// A matched operation of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// The collective: place in [`Matching::matched`].
    pub matched: u32,
    /// The operation: place in [`Matching::members`].
    pub member: u32,
}

/// How far the ends of one collective lie apart on different ranks, each rank's usual difference left out (its clock).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The 95th percentile of all members' distances, ns.
    pub spread: i64,
    /// The median of what ranks waited that were not late, ns; 0 where none was.
    pub wait: i64,
    /// All files state the time of one host, so that their clocks do not drift apart unseen.
    pub placed: bool,
}

impl Ends {
    /// Ends further apart than this say that ranks do not leave together, ns.
    pub const APART: i64 = 50_000;

    /// The lengths of collectives do not tell who was late.
    #[must_use]
    pub fn disagree(self) -> bool {
        self.placed
            && self.spread > Self::APART
            && 20 * i128::from(self.spread) > i128::from(self.wait)
    }
}

/// What the matching of ranks needs beside their communication.
pub(in crate::analysis) struct Beside<'a> {
    /// How many ranks the job has, as far as somebody says.
    pub world: u32,
    /// Ranks that arrive within this are together, ns.
    pub together: i64,
    /// By place of the rank: what is added to its times, so that all are of one clock, ns.
    pub offsets: &'a [i64],
    /// All times are of one host's clock; see [`Ends::placed`].
    pub placed: bool,
    /// The number of the explicit step of a rank, by place, at an instant.
    pub step: &'a dyn Fn(usize, i64) -> Option<i64>,
}

impl Collectives {
    /// The collectives of ranks of one run, given by index. `step` tells the number of the explicit step of a rank (by its
    /// index) at an instant.
    pub(in crate::analysis) fn new(
        core: &Core,
        all: &[Rank],
        ranks: Vec<usize>,
        (args, together): (&dyn ArgSource, i64),
        step: &dyn Fn(usize, i64) -> Option<i64>,
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        let numbers: Vec<u32> = ranks.iter().map(|&r| all[r].rank).collect();
        let world = world(core, &numbers);
        if ranks.len() < 2 {
            return Ok(Self::alone(ranks, numbers, world));
        }
        let mut found = found(core, &numbers, args, watch)?;
        // What two files number alike and their times exclude is not one collective: the files are of other jobs.
        let who = &core.identity;
        let doubted = who.clocks().iter().filter(|c| c.is_doubted());
        let doubted: Vec<usize> = doubted.map(|c| c.recording).collect();
        let (trace, spans) = (&core.trace, core.trace.spans());
        let recording = |c: &Collective| who.recording(trace.lane(spans.lane(c.op)).source);
        for own in &mut found.of {
            own.retain(|c| !doubted.contains(&recording(c)));
        }
        let offsets = vec![0; ranks.len()];
        let beside = Beside {
            world,
            together,
            offsets: &offsets,
            placed: one_clock(core, &found),
            step: &|place, t| step(ranks[place], t),
        };
        let mut out = Self::matched(found, ranks.clone(), numbers, &beside);
        let places = out.matching.members.iter().zip(0_u32..);
        out.by_op = places.map(|(m, i)| (out.op(m), i)).collect();
        out.by_op.sort_unstable();
        Ok(out)
    }

    /// Ranks that nobody is compared with.
    fn alone(ranks: Vec<usize>, numbers: Vec<u32>, world: u32) -> Self {
        Self {
            world,
            waiting: vec![Union::empty(); ranks.len()],
            own: vec![Vec::new(); ranks.len()],
            of: vec![Vec::new(); ranks.len()],
            ranks,
            numbers,
            ..Self::default()
        }
    }

    /// Matches what was found of ranks, by place.
    pub(in crate::analysis) fn matched(
        found: Found,
        ranks: Vec<usize>,
        numbers: Vec<u32>,
        beside: &Beside<'_>,
    ) -> Self {
        let mut out = Self::alone(ranks, numbers, beside.world);
        if out.ranks.len() < 2 {
            return out;
        }
        out.matching = matching(&found.groups, &out.numbers, &found.of, beside.step);
        (out.of, out.groups) = (found.of, found.groups);
        (out.left_out, out.gpu) = (found.left_out, found.gpu);
        let members = &out.matching.members;
        let ranges: Vec<TimeRange> = members.iter().map(|m| out.collective(m).range).collect();
        out.arrivals = arrivals(&out.matching, beside.together, |i| ranges[i].len());
        let mut waiting = vec![Vec::new(); out.ranks.len()];
        let members = out.matching.members.iter().zip(&ranges);
        for ((member, range), wait) in members.zip(&out.arrivals.waits) {
            let until = range.start.saturating_add(*wait);
            waiting[member.rank as usize].push(TimeRange::new(range.start, until));
        }
        for (matched, k) in (0_u32..).zip(&out.matching.matched) {
            for (member, place) in out.matching.of(k).iter().zip(k.places()) {
                out.own[member.rank as usize].push(Own {
                    matched,
                    member: u32::try_from(place).unwrap_or(u32::MAX),
                });
            }
        }
        out.ends = out.ends(beside);
        out.waiting = waiting.into_iter().map(Union::new).collect();
        out
    }

    /// The place of a rank, given by its index in [`crate::analysis::Analysis::ranks`].
    #[must_use]
    pub fn place(&self, rank: usize) -> Option<usize> {
        self.ranks.binary_search(&rank).ok()
    }

    /// The number of a rank, given by its index.
    ///
    /// # Panics
    /// If it is none of these.
    #[must_use]
    pub fn number(&self, rank: usize) -> u32 {
        self.numbers[self.ranks.partition_point(|&r| r < rank)]
    }

    /// The operation of a member.
    ///
    /// # Panics
    /// If it is of other ranks.
    #[must_use]
    pub fn op(&self, member: &Member) -> SpanId {
        self.collective(member).op
    }

    /// What is known of a member's operation.
    ///
    /// # Panics
    /// If it is of other ranks.
    #[must_use]
    pub fn collective(&self, member: &Member) -> &Collective {
        &self.of[member.rank as usize][member.at as usize]
    }

    /// Whether all operations of a matched collective lie in a window.
    #[must_use]
    pub fn is_within(&self, matched: &Matched, window: TimeRange) -> bool {
        let inside = |m: &Member| window.covers(self.collective(m).range);
        self.matching.of(matched).iter().all(inside)
    }

    /// How far ends lie apart.
    fn ends(&self, beside: &Beside<'_>) -> Option<Ends> {
        if self.matching.matched.len() < 2 {
            return None;
        }
        let end = |m: &Member| {
            let offset = beside.offsets[m.rank as usize];
            self.collective(m).range.end.saturating_add(offset)
        };
        let mut apart: Vec<Vec<i64>> = vec![Vec::new(); self.ranks.len()];
        for matched in &self.matching.matched {
            let members = self.matching.of(matched);
            let mut ends: Vec<i64> = members.iter().map(end).collect();
            let middle = percentile(&mut ends, 50)?;
            for m in members {
                apart[m.rank as usize].push(end(m).saturating_sub(middle));
            }
        }
        let mut all = Vec::with_capacity(self.matching.members.len());
        for own in &mut apart {
            let usual = percentile(own, 50).unwrap_or(0);
            all.extend(own.iter().map(|d| d.saturating_sub(usual).saturating_abs()));
        }
        let waits = self.arrivals.waits.iter().copied();
        let mut waits: Vec<i64> = waits.filter(|&w| w > self.arrivals.together).collect();
        Some(Ends {
            spread: percentile(&mut all, 95)?,
            wait: percentile(&mut waits, 50).unwrap_or(0),
            placed: beside.placed,
        })
    }
}

/// Whether the files in which communication was found state the time of one host.
fn one_clock(core: &Core, found: &Found) -> bool {
    let (trace, who) = (&core.trace, &core.identity);
    let firsts = found.of.iter().filter_map(|own| own.first());
    let source = |own: &Collective| trace.lane(trace.spans().lane(own.op)).source;
    let mut sources: Vec<SourceId> = firsts.map(source).collect();
    sources.sort_unstable();
    sources.dedup();
    let unix = |s: &SourceId| matches!(trace.source(*s).clock, Clock::Unix { .. });
    let recordings: Vec<usize> = sources.iter().map(|&s| who.recording(s)).collect();
    // Clocks of two hosts drift apart, too.
    let apart = who.clocks().iter().filter(|c| c.hosts_differ);
    let mut apart = apart.map(|c| c.recording);
    let one_clock = sources.iter().all(unix) && !apart.any(|r| recordings.contains(&r));
    sources.len() < 2 || one_clock
}

/// How many ranks the job of some ranks has: as the files of their runs state it, at least as many as there are.
pub(in crate::analysis) fn world(core: &Core, numbers: &[u32]) -> u32 {
    let opened = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    let runs = core.identity.runs.iter();
    let own = runs.filter(|run| numbers.iter().any(|n| run.ranks.binary_search(n).is_ok()));
    let recordings = own.flat_map(|run| &run.recordings);
    let stated = recordings.filter_map(|&r| core.identity.recordings[r].world);
    stated.max().unwrap_or(0).max(opened)
}

/// The collectives of every run: ranks of different runs did not wait for each other.
pub(in crate::analysis) fn of_runs(
    core: &Core,
    ranks: &[Rank],
    (args, together): (&dyn ArgSource, i64),
    step: &dyn Fn(usize, i64) -> Option<i64>,
    watch: &Watch<'_>,
) -> Result<Vec<Collectives>, Cancelled> {
    let mut runs: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let of_rank: BTreeMap<u32, usize> = core
        .identity
        .runs
        .iter()
        .enumerate()
        .flat_map(|(i, run)| run.ranks.iter().map(move |&r| (r, i)))
        .collect();
    for (i, rank) in ranks.iter().enumerate() {
        let run = of_rank.get(&rank.rank).copied().unwrap_or(0);
        runs.entry(run).or_default().push(i);
    }
    let each = runs.into_iter().map(|(run, own)| {
        let own = Collectives::new(core, ranks, own, (args, together), step, watch)?;
        Ok(Collectives { run, ..own })
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_disagree_where_they_lie_far_apart_for_the_waits_they_shall_tell() {
        let ends = |spread, wait, placed| Ends {
            spread,
            wait,
            placed,
        };
        assert!(!ends(5_000, 10_000, true).disagree());
        assert!(!ends(50_000, 100_000, true).disagree());
        assert!(ends(50_001, 1_000_000, true).disagree());
        // A twentieth of the usual wait is no reason.
        assert!(!ends(60_000, 1_200_000, true).disagree());
        // Clocks that drift apart unseen say nothing about ends.
        assert!(!ends(900_000, 1_000_000, false).disagree());
    }
}
