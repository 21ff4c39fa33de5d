//! Which waits belong to one iterator of a loader, and which batch of it each of them got.

use rustc_hash::FxHashMap;

use super::Told;
use crate::analysis::base::loops::Rank;
use crate::time::TimeRange;

/// One pass of one loader over its data.
#[derive(Clone, Debug)]
pub(super) struct Iterator {
    /// Places of its waits in the loop's, ascending: wait i got batch i.
    pub waits: Vec<usize>,
    /// End of the wait before its first one, of whatever iterator.
    pub since: Option<i64>,
    /// The record counts its batches: nothing else is then asked.
    pub counted: bool,
}

/// What tells iterators apart where their batches are not counted.
pub(super) struct Evidence<'a> {
    /// By wait: what its recorder says of the batch.
    pub told: &'a [Told],
    /// When workers of this loop were started, ascending.
    pub births: &'a [i64],
    /// Epochs, evaluations and trainings, by start.
    pub containers: &'a [TimeRange],
}

/// The iterators of a loop, in the order of their first waits.
pub(super) fn find(rank: &Rank, evidence: &Evidence<'_>) -> Vec<Iterator> {
    let waits = &rank.waits.all;
    let mut delivering = waits.iter().zip(evidence.told).filter(|w| w.0.is_batch());
    if delivering.all(|w| w.1.count.is_some()) {
        return counted(rank, evidence.told, |_| true);
    }
    // A recorder may name the iterators of some loaders and see nothing of others.
    let is_named = |told: &Told| told.number.is_some_and(|n| n.iterator.is_some());
    let named = counted(rank, evidence.told, is_named);
    let mut out: Vec<Iterator> = Vec::new();
    let mut before: Option<TimeRange> = None;
    let mut ended = false;
    let mut inside = Innermost::new(evidence.containers);
    let mut place = None;
    for (i, wait) in waits.iter().enumerate() {
        let range = wait.range;
        let here = inside.at(range.start);
        if !wait.is_batch() {
            (ended, before, place) = (true, Some(range), here);
            continue;
        }
        if is_named(&evidence.told[i]) {
            (before, place) = (Some(range), here);
            continue;
        }
        let born = before.is_some_and(|b| born_in(evidence.births, b.end, range.end));
        let goes_on = !ended && !born && here == place && !wait.first;
        match out.last_mut().filter(|_| goes_on) {
            Some(last) => last.waits.push(i),
            None => out.push(Iterator {
                waits: vec![i],
                since: before.map(|b| b.end),
                counted: false,
            }),
        }
        (ended, before, place) = (false, Some(range), here);
    }
    out.extend(named);
    out.sort_by_key(|i| i.waits.first().copied());
    out
}

/// Whether one of ascending times lies in `(from, to]`.
fn born_in(births: &[i64], from: i64, to: i64) -> bool {
    let next = births.partition_point(|&t| t <= from);
    births.get(next).is_some_and(|&t| t <= to)
}

/// Each wait with a count belongs to the iterator that its recorder names, else to the one used last whose count was one
/// less.
fn counted(rank: &Rank, told: &[Told], takes: impl Fn(&Told) -> bool) -> Vec<Iterator> {
    let mut out: Vec<Iterator> = Vec::new();
    let mut named: FxHashMap<i64, usize> = FxHashMap::default();
    // By last count: the iterators that are there, the one used last at the end.
    let mut at: FxHashMap<i64, Vec<usize>> = FxHashMap::default();
    let mut before = None;
    for (i, (wait, told)) in rank.waits.all.iter().zip(told).enumerate() {
        if let Some(count) = told.count.filter(|_| wait.is_batch() && takes(told)) {
            let name = told.number.and_then(|n| n.iterator);
            let known = match name {
                Some(name) => named.get(&name).copied(),
                None => at.get_mut(&count.saturating_sub(1)).and_then(Vec::pop),
            };
            let iterator = known.unwrap_or_else(|| {
                out.push(Iterator {
                    waits: Vec::new(),
                    since: before,
                    counted: true,
                });
                out.len() - 1
            });
            out[iterator].waits.push(i);
            match name {
                Some(name) => _ = named.insert(name, iterator),
                None => at.entry(count).or_default().push(iterator),
            }
        }
        before = Some(wait.range.end);
    }
    out
}

/// Walks the innermost of ranges at ascending times.
struct Innermost<'a> {
    rest: &'a [TimeRange],
    open: Vec<TimeRange>,
}

impl<'a> Innermost<'a> {
    fn new(ranges: &'a [TimeRange]) -> Self {
        Self {
            rest: ranges,
            open: Vec::new(),
        }
    }

    fn at(&mut self, t: i64) -> Option<TimeRange> {
        while let Some((first, rest)) = self.rest.split_first().filter(|(r, _)| r.start <= t) {
            self.open.push(*first);
            self.rest = rest;
        }
        while self.open.last().is_some_and(|r| r.end <= t) {
            self.open.pop();
        }
        self.open.last().copied()
    }
}
