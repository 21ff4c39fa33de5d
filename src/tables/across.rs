//! What ranks that were opened one by one tell of each other: cells of their collectives, and the collectives themselves.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::collectives::{key_in_step, keys, kind_of, name_of};
use super::{ArrivalsRow, narrow};
use crate::analysis::{Across, Arrival, MatchedPart, Member};

/// The ranks of one run beside each other, with the keys of what is matched.
pub struct Beside<'a> {
    across: &'a Across,
    /// By matched collective: keys that only the step makes the same for all members.
    by_step: FxHashMap<u32, Arc<str>>,
}

/// What matching tells of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedCells {
    /// Another key than its own place gives it.
    pub key: Option<Arc<str>>,
    /// What it waited, whether it was late, what its rank is charged with.
    pub part: MatchedPart,
}

impl<'a> Beside<'a> {
    /// Of ranks that were judged beside each other. Holds 8 bytes for each of their collectives meanwhile.
    #[must_use]
    pub fn new(across: &'a Across) -> Self {
        let run = &across.run;
        let own = |place: usize| {
            let keys = keys(&run.of[place], &run.groups);
            keys.iter().map(|key| digest(key)).collect()
        };
        let own: Vec<Vec<u64>> = (0..run.of.len()).map(own).collect();
        let of = |m: &Member| own[m.rank as usize][m.at as usize];
        let mut unlike: Vec<(Member, u32)> = Vec::new();
        for (k, matched) in (0_u32..).zip(&run.matching.matched) {
            let members = run.matching.of(matched);
            let lowest = members[0];
            if members.iter().any(|m| of(m) != of(&lowest)) {
                unlike.push((lowest, k));
            }
        }
        unlike.sort_unstable_by_key(|(m, _)| (m.rank, m.at));
        let mut by_step = FxHashMap::default();
        let mut seen: FxHashMap<String, u32> = FxHashMap::default();
        let mut rank = None;
        for (member, k) in unlike {
            if rank.replace(member.rank) != Some(member.rank) {
                seen.clear();
            }
            let op = run.collective(&member);
            let row = &across.rows[member.rank as usize];
            let number = row.step_at(op.launched).and_then(|s| row.steps[s].number);
            let group = &run.groups[op.group as usize];
            let key = key_in_step(group, op, number.unwrap_or_default(), &mut seen);
            by_step.insert(k, key.into());
        }
        Self { across, by_step }
    }

    /// What matching tells of the operations of a rank, by place: those that were kept of it, in their order. `None` where
    /// one is not matched; empty where the rank is not compared.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn of(&self, place: usize) -> Vec<Option<MatchedCells>> {
        let run = &self.across.run;
        let mut out = vec![None; run.of[place].len()];
        for own in &run.own[place] {
            let at = run.matching.members[own.member as usize].at;
            out[at as usize] = Some(MatchedCells {
                key: self.by_step.get(&own.matched).cloned(),
                part: run.part(own),
            });
        }
        out
    }

    /// The collectives of all ranks, by group and then in the order of the lowest rank; some at once go to `each`.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn arrivals<E>(
        &self,
        name: &Arc<str>,
        each: &mut dyn FnMut(Vec<ArrivalsRow>) -> Result<(), E>,
    ) -> Result<(), E> {
        const AT_ONCE: usize = 65_536;
        let run = &self.across.run;
        // Neighbours mostly have the same lowest rank.
        let mut own: (Option<u32>, Vec<String>) = (None, Vec::new());
        let mut rows = Vec::new();
        for (k, (matched, arrival)) in
            (0_u32..).zip(run.matching.matched.iter().zip(&run.arrivals.of))
        {
            let members = run.matching.of(matched);
            let lowest = &members[0];
            let place = lowest.rank as usize;
            let key = match self.by_step.get(&k) {
                Some(key) => Arc::clone(key),
                None => {
                    if own.0.replace(lowest.rank) != Some(lowest.rank) {
                        own.1 = keys(&run.of[place], &run.groups);
                    }
                    own.1[lowest.at as usize].as_str().into()
                }
            };
            let group = &run.groups[matched.group as usize];
            let size = match &group.members {
                Some(members) => members.len(),
                None if group.name.is_empty() => self.across.job.world as usize,
                None => members.len(),
            };
            let op = run.collective(lowest);
            let late = &members[arrival.first_late as usize];
            let late_row = &self.across.rows[late.rank as usize];
            let step = late_row.step_at(run.collective(late).launched);
            let together = Arrival::together(*arrival, members.len());
            let lengths = members.iter().map(|m| run.collective(m).range.len());
            rows.push(ArrivalsRow {
                run: Arc::clone(name),
                key,
                pg: name_of(group).map(Into::into),
                kind: kind_of(op.kind).into(),
                bytes: Some(op.bytes).filter(|&b| b >= 0),
                step: step.map(narrow),
                number: step.and_then(|s| late_row.steps[s].number),
                members: narrow(size),
                recorded: narrow(members.len()),
                late_rank: (arrival.late == 1 && !together).then(|| narrow(late_row.rank)),
                late_ranks: narrow(arrival.late),
                cost: arrival.cost,
                waited: run.arrivals.waits[matched.places()].iter().sum(),
                min_dur: lengths.clone().min().unwrap_or(0),
                max_dur: lengths.max().unwrap_or(0),
            });
            if rows.len() == AT_ONCE {
                each(std::mem::take(&mut rows))?;
            }
        }
        each(rows)
    }
}

/// The same for the same key, whatever the machine.
fn digest(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
