//! Files that were put together to one: which original each process and GPU comes from. Correlation ids and process
//! numbers are unique in each original only.
//!
//! ```text
//!  {…}{…}                         several documents with threads: each is an original
//!  "[TP00] 500", "[TP01] 0"       text before the number of the process: one original each
//!  100000003 with device 3        numbers moved by whole thousands: GPUs tell by how much, since they state their number
//! ```

use std::collections::{BTreeMap, BTreeSet};

use crate::import::chrome::read::chunk::Id;

/// The largest process number of Linux.
const MOST_PIDS: i64 = 4_194_304;
/// Numbers are moved by whole multiples of this.
const ROUND: i64 = 1_000;

/// A process number, and how many documents with threads lie before that of its rows.
pub(crate) type Pid = (u32, Id);

/// The originals of one file.
#[derive(Default)]
pub(crate) struct Spaces {
    how: How,
    /// Process numbers that have threads.
    threads: BTreeSet<Pid>,
}

#[derive(Default)]
enum How {
    /// Nothing tells several apart.
    #[default]
    One,
    /// By the document.
    Document,
    /// By the texts before process numbers, in order.
    Prefix(Vec<String>),
    /// By the rank that args state.
    Rank(BTreeMap<Pid, u32>),
    /// By what was added to process numbers, ascending.
    Shift(Vec<i64>),
}

/// Where something of a file comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The number of the original, in order.
    pub space: u32,
    /// What tells it apart, as text.
    pub name: String,
    /// The process number there.
    pub pid: String,
    /// The number of its rank, where its text has one.
    pub rank: Option<u32>,
}

impl Spaces {
    /// From the process numbers of threads and GPUs, those of threads alone, the (process number, device number) pairs of
    /// operations, and the ranks that args state of process numbers.
    pub fn of(
        pids: &BTreeSet<Pid>,
        threads: &BTreeSet<Pid>,
        operations: &BTreeSet<(Pid, i64)>,
        stated: &BTreeMap<Pid, BTreeSet<i64>>,
        text: impl Fn(Id) -> String,
    ) -> Self {
        let how = How::of(pids, threads, operations, stated, &text);
        let mut this = Self {
            how: how.unwrap_or_default(),
            threads: threads.clone(),
        };
        // One original with threads is the file itself.
        let of_threads = |&pid: &Pid| this.origin(pid, &text).map(|o| o.space);
        let several: BTreeSet<Option<u32>> = threads.iter().map(of_threads).collect();
        if several.len() < 2 {
            this.how = How::One;
        }
        this
    }

    /// Whether there are several.
    pub fn are_several(&self) -> bool {
        !matches!(self.how, How::One)
    }

    /// Whether a process number has threads.
    pub fn has_threads(&self, pid: Pid) -> bool {
        self.threads.contains(&pid)
    }

    /// The original of a process number.
    pub fn origin(&self, pid: Pid, text: impl Fn(Id) -> String) -> Option<Origin> {
        match (&self.how, pid.1) {
            (How::One, _) => None,
            (How::Document, id) => Some(Origin {
                space: pid.0,
                name: format!("document {}", pid.0),
                pid: text(id),
                rank: None,
            }),
            (How::Prefix(all), id) => {
                let whole = text(id);
                let (prefix, number) = split(&whole).unwrap_or(("", &whole));
                let at = all.binary_search_by(|p| p.as_str().cmp(prefix));
                let space = at.unwrap_or(all.len());
                Some(Origin {
                    space: u32::try_from(space).unwrap_or(u32::MAX),
                    name: prefix.to_owned(),
                    pid: number.to_owned(),
                    rank: digits(prefix),
                })
            }
            (How::Rank(all), id) => {
                let rank = *all.get(&pid)?;
                Some(Origin {
                    space: rank,
                    name: format!("rank {rank}"),
                    pid: text(id),
                    rank: Some(rank),
                })
            }
            (How::Shift(all), Id::Int(pid)) => {
                let at = shift_of(all, pid)?;
                Some(Origin {
                    space: u32::try_from(at).unwrap_or(u32::MAX),
                    name: format!("+{}", all[at]),
                    pid: (pid - all[at]).to_string(),
                    rank: None,
                })
            }
            (How::Shift(_), Id::Text(_) | Id::Missing) => None,
        }
    }
}

impl How {
    fn of(
        pids: &BTreeSet<Pid>,
        threads: &BTreeSet<Pid>,
        operations: &BTreeSet<(Pid, i64)>,
        stated: &BTreeMap<Pid, BTreeSet<i64>>,
        text: impl Fn(Id) -> String,
    ) -> Option<Self> {
        let documents: BTreeSet<u32> = threads.iter().map(|t| t.0).collect();
        if documents.len() > 1 {
            return Some(Self::Document);
        }
        let prefix = |&(_, id): &Pid| match id {
            Id::Text(_) => split(&text(id)).map_or(String::new(), |s| s.0.to_owned()),
            Id::Int(_) | Id::Missing => String::new(),
        };
        let prefixes: BTreeSet<String> = pids.iter().map(prefix).collect();
        if prefixes.iter().any(|p| !p.is_empty()) {
            return Some(Self::Prefix(prefixes.into_iter().collect()));
        }
        let ranks: BTreeMap<Pid, u32> = stated
            .iter()
            .filter_map(|(&pid, ranks)| Some((pid, u32::try_from(*ranks.first()?).ok()?)))
            .collect();
        // A process number of two originals cannot be parted.
        let clear = stated.values().all(|ranks| ranks.len() < 2);
        if clear && ranks.values().collect::<BTreeSet<_>>().len() > 1 {
            return Some(Self::Rank(ranks));
        }
        let mut shifts = BTreeSet::new();
        for &((_, pid), device) in operations {
            if let Id::Int(pid) = pid {
                shifts.insert(pid.saturating_sub(device));
            }
        }
        let shifts: Vec<i64> = shifts.into_iter().collect();
        let round = shifts.iter().all(|s| *s >= 0 && s % ROUND == 0);
        let fits = |pid: &Pid| match pid.1 {
            Id::Int(pid) => shift_of(&shifts, pid).is_some_and(|s| pid - shifts[s] < MOST_PIDS),
            Id::Text(_) | Id::Missing => false,
        };
        (shifts.len() > 1 && round && pids.iter().all(fits)).then_some(Self::Shift(shifts))
    }
}

/// The largest shift that is not above a process number.
fn shift_of(shifts: &[i64], pid: i64) -> Option<usize> {
    shifts.partition_point(|&s| s <= pid).checked_sub(1)
}

/// What stands before the number at the end of a text, and the number: `[TP00] 500`, `rank0/500`.
fn split(text: &str) -> Option<(&str, &str)> {
    let at = text.rfind(|c: char| !c.is_ascii_digit())?;
    let number = &text[at..];
    let number = number.strip_prefix([' ', '/']).filter(|n| !n.is_empty())?;
    Some((&text[..at], number))
}

/// The first number in a text.
fn digits(text: &str) -> Option<u32> {
    let from = text.find(|c: char| c.is_ascii_digit())?;
    let rest = &text[from..];
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// The rank of a process name: `RANK 3 - CPU`.
pub(crate) fn rank_of_process(name: &str) -> Option<u32> {
    let rest = name.get(..5).filter(|s| s.eq_ignore_ascii_case("rank "));
    let digits = rest.map(|_| &name[5..])?;
    let end = digits.find(|c: char| !c.is_ascii_digit());
    digits[..end.unwrap_or(digits.len())].parse().ok()
}

/// Ranks of originals: those that texts and process names state, else their places.
pub(crate) fn ranks(stated: &BTreeMap<u32, Option<u32>>) -> BTreeMap<u32, u32> {
    let rank =
        |((&space, &rank), place): ((&u32, &Option<u32>), u32)| (space, rank.unwrap_or(place));
    stated.iter().zip(0_u32..).map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 5] = ["[TP00] 500", "[TP01] 0", "rank7/12", "10.0.0.1", "Spans"];

    fn text(id: Id) -> String {
        match id {
            Id::Text(t) => TEXTS[t as usize].to_owned(),
            Id::Int(i) => i.to_string(),
            Id::Missing => String::new(),
        }
    }

    fn of(threads: &[Id], operations: &[(i64, i64)]) -> Spaces {
        let operations = operations.iter().map(|&(p, d)| ((0, Id::Int(p)), d));
        let operations: BTreeSet<_> = operations.collect();
        let threads: BTreeSet<Pid> = threads.iter().map(|&id| (0, id)).collect();
        let mut pids = threads.clone();
        pids.extend(operations.iter().map(|o| o.0));
        Spaces::of(&pids, &threads, &operations, &BTreeMap::new(), text)
    }

    fn origins(spaces: &Spaces, pids: &[Id]) -> Vec<Option<(u32, String, Option<u32>)>> {
        let one = |&pid: &Id| {
            spaces
                .origin((0, pid), text)
                .map(|o| (o.space, o.pid, o.rank))
        };
        pids.iter().map(one).collect()
    }

    #[test]
    fn texts_before_process_numbers_tell_originals_apart() {
        let pids = [Id::Text(0), Id::Text(1), Id::Text(2), Id::Text(4)];
        let spaces = of(&pids, &[]);
        let some = |space, pid: &str, rank| Some((space, pid.to_owned(), rank));
        let expected = [
            some(1, "500", Some(0)),
            some(2, "0", Some(1)),
            some(3, "12", Some(7)),
            some(0, "Spans", None),
        ];
        assert_eq!(origins(&spaces, &pids), expected);
        assert!(!of(&[Id::Text(3), Id::Text(4)], &[]).are_several());
    }

    #[test]
    fn moved_numbers_are_told_by_the_gpus() {
        let moved = 100_000_000;
        let pids = [Id::Int(500), Id::Int(moved + 501)];
        let spaces = of(&pids, &[(2, 2), (moved + 3, 3)]);
        let expected = [
            Some((0, "500".to_owned(), None)),
            Some((1, "501".to_owned(), None)),
        ];
        assert_eq!(origins(&spaces, &pids), expected);
        // One original with two GPUs; numbers that no rank makes; a process that is of no original.
        assert!(!of(&pids, &[(0, 0), (1, 1)]).are_several());
        assert!(!of(&pids, &[(0, 0), (7, 1)]).are_several());
        assert!(!of(&pids, &[(5_000, 0), (6_000, 0)]).are_several());
    }

    #[test]
    fn documents_with_threads_are_originals() {
        let threads = BTreeSet::from([(0, Id::Int(5)), (1, Id::Int(5))]);
        let spaces = Spaces::of(&threads, &threads, &BTreeSet::new(), &BTreeMap::new(), text);
        let space = |pid| spaces.origin(pid, text).map(|o| (o.space, o.pid));
        assert_eq!(space((1, Id::Int(5))), Some((1, "5".to_owned())));
        assert!(spaces.are_several() && !of(&[Id::Int(5), Id::Int(6)], &[]).are_several());
    }

    #[test]
    fn ranks_stand_in_process_names() {
        for (name, rank) in [
            ("RANK 3 - CPU", Some(3)),
            ("rank 12", Some(12)),
            ("RANK", None),
            ("Rank x", None),
            ("rançon 3", None),
        ] {
            assert_eq!(rank_of_process(name), rank, "{name}");
        }
    }
}
