//! Which operations of different ranks are one collective.
//!
//! By the number that the recorder gives it within its group, where all have one; else by order: the n-th of a kind and
//! size in the group. Where the ranks do not have equally many (a record that begins later), by the number of the step and
//! the place in it, for steps in which all have equally many. One pass over the operations, a hash per operation.

use std::collections::BTreeMap;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::kinds::CollectiveKind;
use crate::model::SpanId;
use crate::time::TimeRange;

/// A group of ranks that communicate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommGroup {
    /// Its name and what the recorder says of its members; empty where operations name no group: then all ranks are one.
    pub name: String,
    /// Numbers of its ranks, ascending, where recorded in full.
    pub members: Option<Vec<u32>>,
}

impl CommGroup {
    /// The group of operations that name none.
    pub const ALL: &'static str = "all";

    /// The name in reports.
    #[must_use]
    pub fn label(&self) -> &str {
        match self.name.is_empty() {
            true => Self::ALL,
            false => &self.name,
        }
    }
}

/// One operation of a rank that may be part of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// The operation.
    pub op: SpanId,
    /// When it ran, on the clock of its trace.
    pub range: TimeRange,
    /// Its group, by place.
    pub group: u32,
    /// Its kind.
    pub kind: CollectiveKind,
    /// What one rank puts in, bytes; -1 where not recorded.
    pub bytes: i64,
    /// Its number within the group, where recorded.
    pub number: Option<i64>,
    /// When it was launched; its own start where the call is not recorded.
    pub launched: i64,
}

/// One operation of a matched collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The rank, by place among those that are compared.
    pub rank: u32,
    /// Its operation, by place among the rank's.
    pub at: u32,
}

/// A collective whose operations are known of every recorded member of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// Its group, by place.
    pub group: u32,
    /// The first of its members in [`Matching::members`].
    first: u32,
    /// How many.
    count: u32,
}

impl Matched {
    /// Its members in [`Matching::members`].
    #[must_use]
    pub fn places(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

/// The collectives of some ranks.
#[derive(Clone, Debug, Default)]
pub struct Matching {
    /// By group, then in the order of the lowest rank.
    pub matched: Vec<Matched>,
    /// Members of all of them, by rank within each.
    pub members: Vec<Member>,
    /// Operations without partners.
    pub unmatched: usize,
    /// Members of groups, as far as their lists are recorded, whose records were not opened: ranks by number.
    pub absent: Vec<u32>,
}

impl Matching {
    /// The members of a collective.
    #[must_use]
    pub fn of(&self, matched: &Matched) -> &[Member] {
        &self.members[matched.places()]
    }
}

/// What tells a collective of one group from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// The recorded number, and the how-manieth with it: coalesced ones share a number.
    Number(i64, u32),
    /// Kind, bytes, place.
    Order(CollectiveKind, i64, u32),
    /// Kind, bytes, step, place in it.
    Step(CollectiveKind, i64, i64, u32),
}

/// How many each of the ranks has.
struct Count {
    /// Of the first rank.
    each: u32,
    /// Ranks that were counted, all with as many.
    ranks: u32,
    equal: bool,
}

/// Groups collectives by key while ranks are added one after the other.
#[derive(Default)]
struct Slots {
    by_key: FxHashMap<Key, usize>,
    slots: Vec<Vec<Member>>,
}

impl Slots {
    fn add(&mut self, key: Key, member: Member) {
        let next = self.slots.len();
        let slot = *self.by_key.entry(key).or_insert(next);
        if slot == next {
            self.slots.push(Vec::new());
        }
        self.slots[slot].push(member);
    }
}

/// Matches the collectives of ranks: `numbers` and `found` by place of the rank. `step` tells the number of the explicit
/// step of a rank (by place) at an instant.
#[must_use]
pub fn matching<L: AsRef<[Collective]>>(
    groups: &[CommGroup],
    numbers: &[u32],
    found: &[L],
    step: &dyn Fn(usize, i64) -> Option<i64>,
) -> Matching {
    let found: Vec<&[Collective]> = found.iter().map(AsRef::as_ref).collect();
    let found = &found[..];
    // Operations of each group by rank: two passes over all operations, none over ranks times groups.
    let mut lists: Vec<Vec<(usize, Vec<usize>)>> = vec![Vec::new(); groups.len()];
    for (rank, own) in found.iter().enumerate() {
        for (at, c) in own.iter().enumerate() {
            let of_group = &mut lists[c.group as usize];
            match of_group.last_mut() {
                Some((last, list)) if *last == rank => list.push(at),
                _ => of_group.push((rank, vec![at])),
            }
        }
    }
    let place: FxHashMap<u32, usize> = numbers.iter().copied().zip(0..).collect();
    let mut out = Matching::default();
    for (g, (group, lists)) in (0_u32..).zip(groups.iter().zip(lists)) {
        let all: usize = lists.iter().map(|l| l.1.len()).sum();
        let needed = match &group.members {
            Some(members) => {
                let absent = members.iter().filter(|m| !place.contains_key(m));
                out.absent.extend(absent);
                members.iter().filter(|m| place.contains_key(m)).count()
            }
            None if group.name.is_empty() => numbers.len(),
            None => lists.len(),
        };
        let listed = |rank: usize| {
            let members = group.members.as_ref();
            members.is_none_or(|m| m.binary_search(&numbers[rank]).is_ok())
        };
        let lists: Vec<_> = lists.into_iter().filter(|l| listed(l.0)).collect();
        let before = out.members.len();
        if needed >= 2 && lists.len() == needed {
            for slot in slots(&lists, found, step) {
                if slot.len() == needed {
                    out.matched.push(Matched {
                        group: g,
                        first: narrow(out.members.len()),
                        count: narrow(slot.len()),
                    });
                    out.members.extend(slot);
                }
            }
        }
        out.unmatched += all - (out.members.len() - before);
    }
    out.absent.sort_unstable();
    out.absent.dedup();
    out
}

/// Operations of one group by what makes them one collective.
fn slots(
    lists: &[(usize, Vec<usize>)],
    found: &[&[Collective]],
    step: &dyn Fn(usize, i64) -> Option<i64>,
) -> Vec<Vec<Member>> {
    let ranks = narrow(lists.len());
    let member = |rank: usize, at: usize| Member {
        rank: narrow(rank),
        at: narrow(at),
    };
    let mut out = Slots::default();
    let numbered = |(rank, list): &(usize, Vec<usize>)| {
        list.iter().all(|&at| found[*rank][at].number.is_some())
    };
    if lists.iter().all(numbered) {
        for (rank, list) in lists {
            let mut seen: FxHashMap<i64, u32> = FxHashMap::default();
            for &at in list {
                let number = found[*rank][at].number.unwrap_or(0);
                let n = next(seen.entry(number).or_default());
                out.add(Key::Number(number, n), member(*rank, at));
            }
        }
        return out.slots;
    }
    let mut counts: FxHashMap<(CollectiveKind, i64), Count> = FxHashMap::default();
    for (rank, list) in lists {
        let mut seen: BTreeMap<(CollectiveKind, i64), u32> = BTreeMap::new();
        for &at in list {
            let c = &found[*rank][at];
            next(seen.entry((c.kind, c.bytes)).or_default());
        }
        tally(&mut counts, seen);
    }
    let even = |counts: &Count| counts.equal && counts.ranks == ranks;
    // Where counts differ: by step.
    let mut of_step: FxHashMap<(CollectiveKind, i64, i64), Count> = FxHashMap::default();
    let mut uneven: Vec<(usize, usize, i64)> = Vec::new();
    for (rank, list) in lists {
        let mut seen: FxHashMap<(CollectiveKind, i64), u32> = FxHashMap::default();
        let mut in_step: BTreeMap<(CollectiveKind, i64, i64), u32> = BTreeMap::new();
        for &at in list {
            let c = &found[*rank][at];
            if counts.get(&(c.kind, c.bytes)).is_some_and(even) {
                let n = next(seen.entry((c.kind, c.bytes)).or_default());
                out.add(Key::Order(c.kind, c.bytes, n), member(*rank, at));
            } else if let Some(number) = step(*rank, c.launched) {
                next(in_step.entry((c.kind, c.bytes, number)).or_default());
                uneven.push((*rank, at, number));
            }
        }
        tally(&mut of_step, in_step);
    }
    let mut seen: FxHashMap<(usize, CollectiveKind, i64, i64), u32> = FxHashMap::default();
    for (rank, at, number) in uneven {
        let c = &found[rank][at];
        if of_step.get(&(c.kind, c.bytes, number)).is_some_and(even) {
            let n = next(seen.entry((rank, c.kind, c.bytes, number)).or_default());
            out.add(Key::Step(c.kind, c.bytes, number, n), member(rank, at));
        }
    }
    out.slots
}

/// Adds what one more rank has.
fn tally<K: Hash + Eq>(counts: &mut FxHashMap<K, Count>, seen: BTreeMap<K, u32>) {
    for (key, n) in seen {
        let count = counts.entry(key).or_insert(Count {
            each: n,
            ranks: 0,
            equal: true,
        });
        count.equal &= count.each == n;
        count.ranks += 1;
    }
}

/// Counts up; what it was before.
fn next(n: &mut u32) -> u32 {
    *n += 1;
    *n - 1
}

/// Numbers of ranks and of spans fit: the model counts spans in 32 bits.
fn narrow(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, members: Option<&[u32]>) -> CommGroup {
        CommGroup {
            name: name.to_owned(),
            members: members.map(<[u32]>::to_vec),
        }
    }

    fn op(group: u32, bytes: i64, launched: i64) -> Collective {
        Collective {
            op: SpanId(0),
            range: TimeRange::new(launched, launched),
            group,
            kind: CollectiveKind::AllReduce,
            bytes,
            number: None,
            launched,
        }
    }

    fn numbered(number: i64) -> Collective {
        Collective {
            number: Some(number),
            ..op(0, 4, number)
        }
    }

    const NO_STEPS: &dyn Fn(usize, i64) -> Option<i64> = &|_, _| None;

    fn pairs(m: &Matching) -> Vec<Vec<(u32, u32)>> {
        let all = m.matched.iter();
        all.map(|k| m.of(k).iter().map(|x| (x.rank, x.at)).collect())
            .collect()
    }

    #[test]
    fn by_order_within_kind_and_size() {
        let found = [
            vec![op(0, 4, 0), op(0, 8, 1), op(0, 4, 2)],
            vec![op(0, 8, 0), op(0, 4, 1), op(0, 4, 2)],
        ];
        let m = matching(&[group("", None)], &[0, 1], &found, NO_STEPS);
        assert_eq!(
            pairs(&m),
            [[(0, 0), (1, 1)], [(0, 1), (1, 0)], [(0, 2), (1, 2)]]
        );
        assert_eq!(m.unmatched, 0);
    }

    #[test]
    fn by_number_where_all_have_one_also_if_a_record_begins_later() {
        let found = [
            vec![numbered(7), numbered(8), numbered(8), numbered(9)],
            vec![numbered(8), numbered(8), numbered(9), numbered(10)],
        ];
        let m = matching(&[group("", None)], &[0, 1], &found, NO_STEPS);
        assert_eq!(
            pairs(&m),
            [[(0, 1), (1, 0)], [(0, 2), (1, 1)], [(0, 3), (1, 2)]]
        );
        assert_eq!(m.unmatched, 2);
    }

    #[test]
    fn unequal_counts_go_by_step_number_and_only_where_steps_are_equal() {
        // Rank 0 recorded step 5 too; in step 7 rank 1 has one operation more.
        let found = [
            vec![op(0, 4, 50), op(0, 4, 60), op(0, 4, 61), op(0, 4, 70)],
            vec![
                op(0, 4, 60),
                op(0, 4, 61),
                op(0, 4, 70),
                op(0, 4, 71),
                op(0, 4, 80),
            ],
        ];
        let step = |_: usize, t: i64| Some(t / 10);
        let m = matching(&[group("", None)], &[0, 1], &found, &step);
        assert_eq!(pairs(&m), [[(0, 1), (1, 0)], [(0, 2), (1, 1)]]);
        assert_eq!(m.unmatched, 5);
        let none = matching(&[group("", None)], &[0, 1], &found, NO_STEPS);
        assert_eq!((none.matched.len(), none.unmatched), (0, 9));
    }

    #[test]
    fn groups_are_apart_and_absent_members_are_told() {
        let groups = [
            group("tp [0, 1]", Some(&[0, 1])),
            group("tp [2, 3]", Some(&[2, 3])),
            group("dp [0, 2]", Some(&[0, 2])),
        ];
        let found = [
            vec![op(0, 4, 0), op(2, 4, 1)],
            vec![op(0, 4, 0)],
            vec![op(1, 4, 0), op(2, 4, 1)],
        ];
        let m = matching(&groups, &[0, 1, 2], &found, NO_STEPS);
        assert_eq!(pairs(&m), [[(0, 0), (1, 0)], [(0, 1), (2, 1)]]);
        assert_eq!((m.unmatched, m.absent), (1, vec![3]));
    }

    #[test]
    fn a_named_group_without_a_list_is_of_those_that_use_it() {
        let found = [vec![op(0, 4, 0)], vec![op(0, 4, 0)], vec![]];
        let m = matching(&[group("7", None)], &[0, 1, 2], &found, NO_STEPS);
        assert_eq!(m.matched.len(), 1);
        // Without a name it is of all, and one of them has none.
        let m = matching(&[group("", None)], &[0, 1, 2], &found, NO_STEPS);
        assert_eq!((m.matched.len(), m.unmatched), (0, 2));
    }

    #[test]
    fn a_thousand_ranks_take_one_pass() {
        let own: Vec<Collective> = (0..200).map(|i| op(0, 4, i)).collect();
        let found = vec![own; 1024];
        let numbers: Vec<u32> = (0..1024).collect();
        let m = matching(&[group("", None)], &numbers, &found, NO_STEPS);
        assert_eq!(m.matched.len(), 200);
        assert_eq!(m.members.len(), 200 * 1024);
    }
}
