//! Which worker made which batch: by the numbers on its spans, else by the order in which PyTorch's loader hands batches
//! out, and only where nothing in the record contradicts it.
//!
//! ```text
//! in order, W = 3     batch   0 1 2 3 4 5 …      wait k gets the next batch of worker k mod W
//!                     worker  0 1 2 0 1 2 …
//! ```
//!
//! An assignment is admissible where no worker works before it is born, every batch exists, is made after its iterator
//! was and before it arrives. One violation, and nothing is said of any wait of the iterator.

use rustc_hash::FxHashMap;

use super::batches::{Batch, Batches};
use super::iterators::Iterator;
use super::loader::BatchNumber;
use super::reason::Reason;
use crate::time::TimeRange;

/// Waits and batches that are looked at in the search for one assignment, per wait of the iterator.
const EFFORT: usize = 256;

/// A child process of a loop: its place in the loop's [`super::plan::Children`].
pub(super) type Worker = usize;

/// How the order of the workers of a group is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By the calls that forked them.
    Forks,
    /// By the first record of each.
    Starts,
    /// By their process numbers.
    Pids,
    /// Not needed: spans carry the numbers of batches.
    Ids,
}

impl Order {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Forks => "forks",
            Self::Starts => "starts",
            Self::Pids => "pids",
            Self::Ids => "ids",
        }
    }
}

/// What an assignment contradicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A worker works before it was forked.
    Born,
    /// A batch is delivered before it is made.
    Ready,
    /// A batch is made before its iterator is there.
    Asked,
    /// A batch does not exist.
    Missing,
    /// Workers made unequally many batches that nobody took.
    Even,
    /// No span carries the batch's number.
    NoSuchId,
}

impl Rule {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Born => "born",
            Self::Ready => "ready",
            Self::Asked => "asked",
            Self::Missing => "missing",
            Self::Even => "even",
            Self::NoSuchId => "no such id",
        }
    }

    /// What does not hold, as a phrase.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Born => "that a worker works after it was forked",
            Self::Ready => "that a batch is made before it arrives",
            Self::Asked => "that a batch is made after its iterator",
            Self::Missing => "that every batch was made",
            Self::Even => "that workers make equally many",
            Self::NoSuchId => "that every batch has its number",
        }
    }
}

/// Why the record does not tell who made what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The first batch that contradicts; none where it is a worker, or all together.
    pub batch: Option<usize>,
    /// What it contradicts.
    pub rule: Rule,
    /// By how much: ns, of [`Rule::Even`] batches.
    pub by: Option<i64>,
}

/// A batch of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub worker: Worker,
    /// Its place among the worker's batches.
    pub batch: usize,
}

/// Who made the batches of one iterator.
#[derive(Clone, Debug, Default)]
pub(super) struct Assigned {
    /// Its workers, in order.
    pub group: Vec<Worker>,
    /// They were started for it.
    pub fresh: bool,
    pub order: Option<Order>,
    /// Waits before the record began.
    pub offset: Option<usize>,
    /// By batch, where it is told; `None` inside: nothing of its worker was recorded.
    pub made: Option<Vec<Option<Made>>>,
    pub violation: Option<Violation>,
    pub reason: Option<Reason>,
    /// Spans carry the numbers of batches.
    pub by_id: bool,
}

/// The workers of a loop: what they made, and when they came.
pub(super) struct Workers<'a> {
    pub batches: &'a FxHashMap<Worker, Batches>,
    /// When each was forked, on the parent's clock, ns.
    pub forked: &'a FxHashMap<Worker, i64>,
    /// What the clocks are uncertain by, ns.
    pub tolerance: i64,
}

/// An iterator and who may have served it.
pub(super) struct Question<'a> {
    pub iterator: &'a Iterator,
    /// When each of its waits was.
    pub waits: &'a [TimeRange],
    /// The number of the batch that each got, where the wait itself carries it.
    pub numbers: &'a [Option<BatchNumber>],
    /// Groups that may have, the likeliest first.
    pub groups: &'a [Vec<Worker>],
    /// Children that were forked for it and left no record, by time.
    pub silent: &'a [(i64, Worker)],
    pub fresh: bool,
    pub order: Option<Order>,
    /// Waits before its first recorded one, where known.
    pub offset: Option<usize>,
    /// No other iterator uses the group, and nothing counts its batches.
    pub alone: bool,
    /// More was made in all than taken.
    pub surplus: bool,
    /// It takes turns with others that the same group would have to serve.
    pub shared: bool,
}

/// Batches that earlier iterators took, by worker.
pub(super) type Used = FxHashMap<Worker, usize>;

/// One way to assign.
struct Try<'q> {
    group: Vec<Worker>,
    offset: usize,
    used: &'q Used,
}

impl Workers<'_> {
    /// The only admissible assignment, or why there is none; counts what was taken.
    pub fn assign(&self, asked: &Question<'_>, used: &mut Used) -> Assigned {
        let blank = Assigned {
            group: asked.groups.first().cloned().unwrap_or_default(),
            fresh: asked.fresh,
            order: asked.order,
            ..Assigned::default()
        };
        let mut first: Option<Assigned> = None;
        let mut fits: Option<Assigned> = None;
        let mut effort = EFFORT.saturating_mul(asked.waits.len() + 64);
        for group in asked.groups {
            let own: Vec<&Batches> = group.iter().filter_map(|w| self.batches.get(w)).collect();
            if own.iter().any(|b| b.all.is_empty()) {
                let reason = Some(Reason::NoBatchEnds);
                return Assigned { reason, ..blank };
            }
            let by_id = own.iter().all(|b| b.have_ids());
            let numbered = |n: &Option<BatchNumber>| n.is_some_and(|n| n.iterator.is_some());
            if asked.shared && !(by_id && asked.numbers.iter().all(numbered)) {
                return refused(blank, Reason::NotAssigned);
            }
            for (group, offset) in self.ways(asked, group, by_id, used) {
                // With the numbers of batches a silent child is asked for only where one is missing.
                if by_id && fits.as_ref().is_some_and(|f| f.group != group) {
                    break;
                }
                let way = Try {
                    group,
                    offset,
                    used,
                };
                let (made, violation) = match by_id {
                    true => self.by_id(asked, &way, &mut effort),
                    false => self.by_order(asked, &way, &mut effort),
                };
                let found = Assigned {
                    group: way.group,
                    offset: Some(offset),
                    made: Some(made),
                    violation,
                    by_id,
                    ..blank.clone()
                };
                if violation.is_none() && fits.is_some() {
                    return refused(first.unwrap_or(found), Reason::SeveralFit);
                }
                if effort == 0 {
                    return refused(first.unwrap_or(found), Reason::TooManyWays);
                }
                if violation.is_none() {
                    fits = Some(found.clone());
                }
                first.get_or_insert(found);
            }
        }
        match (fits, first) {
            // Batches were handed out before the record began: whose turn it was then, nothing says.
            (Some(found), _) if asked.offset.is_none() && found.offset > Some(0) => {
                refused(found, Reason::LateRecord)
            }
            (Some(found), _) => {
                for made in found.made.iter().flatten().flatten() {
                    let taken = used.entry(made.worker).or_default();
                    *taken = (*taken).max(made.batch + 1);
                }
                found
            }
            (None, Some(first)) => refused(first, Reason::NotAssigned),
            (None, None) => blank,
        }
    }

    /// The ways in which a group may have served: with its silent children and without, and from which batch on.
    fn ways(
        &self,
        asked: &Question<'_>,
        group: &[Worker],
        by_id: bool,
        used: &Used,
    ) -> impl std::iter::Iterator<Item = (Vec<Worker>, usize)> + use<> {
        let mut groups = vec![group.to_vec()];
        if !asked.silent.is_empty() {
            let mut all: Vec<(i64, Worker)> = asked.silent.to_vec();
            all.extend(
                group
                    .iter()
                    .map(|&w| (self.forked.get(&w).copied().unwrap_or(0), w)),
            );
            all.sort_unstable();
            let with = all.into_iter().map(|(_, w)| w).collect();
            let at = if by_id { 1 } else { 0 };
            groups.insert(at, with);
        }
        // Waits that carry the numbers of their batches need no count of those before them.
        let told = by_id && asked.numbers.iter().all(Option::is_some);
        let last = match asked.offset {
            Some(_) => 0,
            None if told => 0,
            None => self.early(asked, group, used),
        };
        let from = asked.offset.unwrap_or(0);
        let each = groups.into_iter();
        each.flat_map(move |g| (from..=from + last).map(move |o| (g.clone(), o)))
    }

    /// How many batches of a group could have been delivered before the iterator's first wait.
    fn early(&self, asked: &Question<'_>, group: &[Worker], used: &Used) -> usize {
        let start = asked.waits.first().map_or(i64::MIN, |w| w.start);
        let of = |w: &Worker| {
            let skip = used.get(w).copied().unwrap_or(0);
            self.batches.get(w).map_or(0, |b| b.made_by(skip, start))
        };
        group.iter().map(of).sum()
    }

    fn unborn(&self, group: &[Worker]) -> Option<Violation> {
        let early = |w: &Worker| {
            let first = self.batches.get(w)?.all.first()?.range.start;
            let by = self.forked.get(w)?.saturating_sub(first);
            (by > self.tolerance).then_some(by)
        };
        group.iter().find_map(early).map(|by| Violation {
            batch: None,
            rule: Rule::Born,
            by: Some(by),
        })
    }

    fn by_order(
        &self,
        asked: &Question<'_>,
        way: &Try<'_>,
        effort: &mut usize,
    ) -> (Vec<Option<Made>>, Option<Violation>) {
        let mut out = Vec::new();
        *effort = effort.saturating_sub(1);
        if let Some(violation) = self.unborn(&way.group) {
            return (out, Some(violation));
        }
        let since = match asked.waits.first() {
            Some(first) if asked.surplus && !asked.fresh => Some(first.start),
            _ => asked.iterator.since,
        };
        let n = way.group.len().max(1);
        for (k, wait) in asked.waits.iter().enumerate() {
            *effort = effort.saturating_sub(1);
            let worker = way.group[(k + way.offset) % n];
            let Some(batches) = self.batches.get(&worker) else {
                out.push(None);
                continue;
            };
            let taken = way.used.get(&worker).copied().unwrap_or(0);
            let batch = taken + (k + way.offset) / n;
            let violation = |rule, by| Violation {
                batch: Some(k),
                rule,
                by,
            };
            let Some(made) = batches.all.get(batch) else {
                return (out, Some(violation(Rule::Missing, None)));
            };
            let late = made.range.end.saturating_sub(wait.end);
            if late > self.tolerance {
                return (out, Some(violation(Rule::Ready, Some(late))));
            }
            let early = since.map_or(0, |t| t.saturating_sub(made.range.start));
            if early > self.tolerance {
                return (out, Some(violation(Rule::Asked, Some(early))));
            }
            out.push(Some(Made { worker, batch }));
        }
        let uneven = if asked.alone {
            self.uneven(asked, way)
        } else {
            None
        };
        (out, uneven)
    }

    /// Nothing says that the waits are of one iterator: what each worker made beyond them is then equal but for one.
    fn uneven(&self, asked: &Question<'_>, way: &Try<'_>) -> Option<Violation> {
        let (n, all) = (way.group.len(), asked.waits.len() + way.offset);
        let left = way.group.iter().enumerate().filter_map(|(i, w)| {
            let made = i64::try_from(self.batches.get(w)?.all.len()).ok()?;
            // Of 0 … all − 1 those that are i modulo n.
            let taken = i64::try_from((all + n - 1 - i) / n).ok()?;
            Some(made - taken)
        });
        let left: Vec<i64> = left.collect();
        let spread = left.iter().max()? - left.iter().min()?;
        (spread > 1).then_some(Violation {
            batch: None,
            rule: Rule::Even,
            by: Some(spread),
        })
    }

    fn by_id(
        &self,
        asked: &Question<'_>,
        way: &Try<'_>,
        effort: &mut usize,
    ) -> (Vec<Option<Made>>, Option<Violation>) {
        let mut out = Vec::with_capacity(asked.waits.len());
        if let Some(violation) = self.unborn(&way.group) {
            return (out, Some(violation));
        }
        let since = asked.iterator.since.unwrap_or(i64::MIN);
        let silent = way.group.iter().any(|w| !self.batches.contains_key(w));
        // By number: the first of the group's batches, in the order of the group.
        let mut of: FxHashMap<i64, Made> = FxHashMap::default();
        let mut exact: FxHashMap<BatchNumber, Made> = FxHashMap::default();
        // Iterators are numbered as they begin: behind the last one asked for a worker has nothing of it.
        let last = asked.numbers.iter().flatten().filter_map(|n| n.iterator);
        let last = last.max();
        for &worker in &way.group {
            let Some(batches) = self.batches.get(&worker) else {
                continue;
            };
            let taken = way.used.get(&worker).copied().unwrap_or(0);
            for (batch, made) in batches.all.iter().enumerate().skip(taken) {
                *effort = effort.saturating_sub(1);
                let Some(id) = made.id else { continue };
                if last.is_some() && id.iterator > last {
                    break;
                }
                let asked = made.range.start >= since.saturating_sub(self.tolerance);
                let made = Made { worker, batch };
                match id.iterator {
                    Some(_) => _ = exact.entry(id).or_insert(made),
                    None if asked => _ = of.entry(id.batch).or_insert(made),
                    None => {}
                }
            }
        }
        for (k, wait) in asked.waits.iter().enumerate() {
            *effort = effort.saturating_sub(1);
            let told = asked.numbers.get(k).copied().flatten();
            let number = told.map(|n| n.batch);
            let number = number.or_else(|| i64::try_from(k + way.offset).ok());
            let hit = match told.filter(|n| n.iterator.is_some()) {
                Some(told) => exact.get(&told),
                None => number.and_then(|n| of.get(&n)),
            };
            let hit = hit.copied();
            let late = hit
                .and_then(|m| self.batch(m))
                .map(|b| b.range.end - wait.end);
            out.push(hit);
            let (rule, by) = match late {
                None if silent => continue,
                None => (Rule::NoSuchId, None),
                Some(late) if late > self.tolerance => (Rule::Ready, Some(late)),
                Some(_) => continue,
            };
            let batch = Some(k);
            return (out, Some(Violation { batch, rule, by }));
        }
        (out, None)
    }

    /// A batch.
    pub fn batch(&self, made: Made) -> Option<Batch> {
        self.batches.get(&made.worker)?.all.get(made.batch).copied()
    }
}

fn refused(first: Assigned, reason: Reason) -> Assigned {
    Assigned {
        made: None,
        reason: Some(reason),
        ..first
    }
}
