//! Sums of a loop's waits by what they were spent on, by worker, by file and by kind, and what its workers made.
//!
//! Every sum is of weights: the time of a wait without what the GPU worked through meanwhile, which costs nothing.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::RankCauses;
use super::items::FileRead;
use super::loader::FileId;
use super::parts::{Group, Part};
use super::wait::{Cause, Kind, Level};
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::percentile;
use crate::time::TimeRange;

/// Late waits are judged alone from this share of the time of all later ones on, in tenths.
const LATE: i64 = 3;
/// Batches that took more than so many times the median are slow ones.
const BURST: i64 = 3;
/// A worker is slow from more than so many times the median of the others on.
const SLOW_WORKER: i64 = 2;

/// Time by group, ns; what takes none is left out.
pub type ByGroup = Vec<(Group, i64)>;

/// What the worker at one place of its groups did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerTotal {
    /// Its place.
    pub place: usize,
    /// Process numbers.
    pub pids: Vec<String>,
    /// Batches that waits were for.
    pub batches: usize,
    /// Median time in which it made one, ns.
    pub production: i64,
    /// In the judged waits it was at a batch, ns.
    pub busy: i64,
}

/// A file that workers read while the loop waited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileTotal {
    /// Which.
    pub file: FileId,
    /// In waits, by the worker that was waited for, ns.
    pub in_waits: i64,
    /// In the whole trace.
    pub read: FileRead,
    /// In how many items.
    pub visits: usize,
}

/// A file that took unusually long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowFile {
    /// Which.
    pub file: FileId,
    /// Its slow visits.
    pub read: FileRead,
    /// Some visit was made of many small calls.
    pub small_reads: bool,
}

/// Totals of the waits of a rank that lie in a window and begin in it. Weights, ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// From the first wait's start to the last one's end.
    pub loop_ns: i64,
    /// Waits that delivered a batch.
    pub waits: usize,
    /// Iterators that they are of.
    pub iterators: usize,
    /// Those for the first batch of an iterator.
    pub first: i64,
    /// Those for later ones.
    pub later: i64,
    /// The judged ones: late ones of the later, where they are most of them, else all of those.
    pub judged: i64,
    /// How many they are.
    pub n_judged: usize,
    /// Their whole length, with what the GPU worked through.
    pub judged_length: i64,
    /// Waits that delivered nothing.
    pub end: i64,
    /// All waits.
    pub by_group: ByGroup,
    /// Of the delivering ones.
    pub by_group_delivering: ByGroup,
    /// Of the later ones.
    pub by_group_later: ByGroup,
    /// Of the judged ones.
    pub by_group_judged: ByGroup,
    /// Of the first ones.
    pub by_group_first: ByGroup,
    /// By place in the group; `None` is not known.
    pub by_worker: BTreeMap<Option<usize>, i64>,
    /// By kind.
    pub by_kind: BTreeMap<Kind, i64>,
    /// Those read longest in waits, first.
    pub by_file: Vec<FileTotal>,
    /// By place.
    pub workers: Vec<WorkerTotal>,
    /// Median time in which a batch was made, ns.
    pub production_median: Option<i64>,
    /// The worker that is much slower than the others, and holds most of the judged waiting.
    pub slow_worker: Option<SlowWorker>,
    /// The same, however much of the waiting it holds.
    pub slowest: Option<SlowWorker>,
    /// Files with slow visits, slowest first.
    pub slow_files: Vec<SlowFile>,
    /// Median time from the batch's end to the wait's, in judged waits, ns.
    pub handover_median: Option<i64>,
    /// Judged waits in which the worker was in an item with a slow visit of a file.
    pub slow_file_waits: i64,
    /// Judged waits for batches that took much longer than most.
    pub burst_waits: i64,
    /// The numbers of those batches in their iterators, in order.
    pub bursts: Vec<usize>,
    /// Judged waits during a checkpoint, or for batches made during one.
    pub checkpoint_waits: i64,
    /// Waits that delivered nothing and after which another iterator began.
    pub inner_ends: i64,
    /// Starting workers for iterators after the first.
    pub restart: i64,
    /// How many iterators that is.
    pub restarts: usize,
    /// What taking ready batches out of order could have saved of later waits, at most, ns.
    pub head_of_line_max: i64,
    /// Every delivering wait is of a loop that loads by itself.
    pub by_itself: bool,
}

/// A worker that is slower than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowWorker {
    /// Its place.
    pub place: usize,
    /// Its median production, ns.
    pub own: i64,
    /// The median of all other batches, ns.
    pub others: i64,
    /// Least and greatest median of another worker, ns.
    pub range: [i64; 2],
}

impl Totals {
    /// The files that took 1 % of the waiting or more: others explain none of it. Those that took most first.
    pub fn telling_files(&self) -> impl Iterator<Item = &FileTotal> {
        let waiting = self.first + self.later;
        let files = self.by_file.iter();
        files.filter(move |f| f.in_waits.saturating_mul(100) >= waiting)
    }

    /// Of a window; `None` = all waits.
    #[must_use]
    pub fn of(causes: &RankCauses, window: Option<TimeRange>) -> Self {
        let rows = Row::all(causes, window);
        let delivering: Vec<&Row<'_>> = rows.iter().filter(|r| r.cause.batch.is_some()).collect();
        let part = |first: bool| -> Vec<&Row<'_>> {
            let own = delivering.iter().copied();
            own.filter(|r| r.cause.is_first() == first).collect()
        };
        let (first, later) = (part(true), part(false));
        let late: Vec<&Row<'_>> = later
            .iter()
            .copied()
            .filter(|r| r.cause.late == Some(true))
            .collect();
        let most = weight(&late) > 0 && 10 * weight(&late) >= LATE * weight(&later);
        let judged = if most { late } else { later.clone() };
        let all: Vec<&Row<'_>> = rows.iter().collect();
        let ends = rows.iter().filter(|r| r.cause.batch.is_none());
        let last = rows.iter().rposition(|r| r.cause.batch.is_some());
        let inner = rows.iter().take(last.unwrap_or(0));
        let inner = inner.filter(|r| r.cause.batch.is_none());
        let mut out = Self {
            loop_ns: match (rows.first(), rows.last()) {
                (Some(a), Some(b)) => b.range.end - a.range.start,
                _ => 0,
            },
            waits: delivering.len(),
            iterators: {
                let of = delivering.iter().filter_map(|r| r.cause.iterator);
                of.collect::<FxHashSet<usize>>().len()
            },
            first: weight(&first),
            later: weight(&later),
            judged: weight(&judged),
            n_judged: judged.len(),
            judged_length: judged.iter().map(|r| r.range.len()).sum(),
            end: ends.map(Row::weight).sum(),
            inner_ends: inner.map(Row::weight).sum(),
            by_group: by_group(&all),
            by_group_delivering: by_group(&delivering),
            by_group_later: by_group(&later),
            by_group_judged: by_group(&judged),
            by_group_first: by_group(&first),
            by_worker: by(&delivering, |r| r.cause.worker),
            by_kind: by(&all, |r| r.cause.kind),
            by_itself: delivering
                .iter()
                .all(|r| r.cause.level == Some(Level::Loop)),
            ..Self::default()
        };
        out.sum_up(&delivering, &judged, &first, &later);
        out.add_workers(causes, &delivering, &judged);
        out.add_files(causes, &delivering);
        out
    }

    fn sum_up(
        &mut self,
        delivering: &[&Row<'_>],
        judged: &[&Row<'_>],
        first: &[&Row<'_>],
        later: &[&Row<'_>],
    ) {
        let mut productions: Vec<i64> = delivering
            .iter()
            .filter_map(|r| r.cause.production())
            .collect();
        self.production_median = percentile(&mut productions, 50);
        let after = |r: &&&Row<'_>| {
            let ready = r.cause.made?.end;
            (r.range.end > ready).then(|| r.range.end - ready.max(r.range.start))
        };
        let mut after: Vec<i64> = judged.iter().filter_map(|r| after(&r)).collect();
        self.handover_median = percentile(&mut after, 50);
        let peaks = judged.iter().filter(|r| {
            let usual = self.production_median.filter(|&m| m > 0);
            let own = r.cause.production();
            usual.zip(own).is_some_and(|(m, own)| own > BURST * m)
        });
        self.bursts = peaks.clone().filter_map(|r| r.cause.batch).collect();
        self.burst_waits = peaks.map(|r| r.weight()).sum();
        let slow = judged.iter().filter(|r| r.cause.slow_visit);
        self.slow_file_waits = slow.map(|r| r.weight()).sum();
        let saved = judged.iter().filter(|r| r.checkpoint);
        self.checkpoint_waits = saved.map(|r| r.weight()).sum();
        let restarts = first.iter().filter(|r| r.cause.iterator > Some(0));
        let starting = restarts.map(|r| part_of(r.cause, Part::WorkerStart));
        let starting: Vec<i64> = starting.filter(|&ns| ns > 0).collect();
        (self.restarts, self.restart) = (starting.len(), starting.iter().sum());
        let ahead = later.iter().filter_map(|r| r.cause.ahead);
        self.head_of_line_max = ahead.map(|a| a.saving).sum();
    }

    fn add_workers(&mut self, causes: &RankCauses, delivering: &[&Row<'_>], judged: &[&Row<'_>]) {
        let mut made: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
        for row in delivering {
            if let (Some(place), Some(ns)) = (row.cause.worker, row.cause.production()) {
                made.entry(place).or_default().push(ns);
            }
        }
        let inside = Union::new(judged.iter().map(|r| r.range).collect());
        self.workers = made
            .iter()
            .map(|(&place, own)| {
                let workers = causes.workers_at(place);
                let busy = workers.iter().flat_map(|w| &w.batches);
                WorkerTotal {
                    place,
                    pids: workers.iter().map(|w| w.pid.clone()).collect(),
                    batches: own.len(),
                    production: percentile(&mut own.clone(), 50).unwrap_or(0),
                    busy: busy.map(|b| inside.measure_in(b.range)).sum(),
                }
            })
            .collect();
        self.slowest = self.find_slowest(&made);
        let held = |place: usize| {
            let own = judged.iter().filter(|r| r.cause.worker == Some(place));
            own.map(|r| r.weight()).sum::<i64>()
        };
        let holds_most = |s: &SlowWorker| mostly(held(s.place), self.judged);
        self.slow_worker = self.slowest.filter(holds_most);
    }

    fn find_slowest(&self, made: &BTreeMap<usize, Vec<i64>>) -> Option<SlowWorker> {
        if made.len() < 2 {
            return None;
        }
        let slowest = self
            .workers
            .iter()
            .max_by_key(|w| (w.production, std::cmp::Reverse(w.place)))?;
        let rest = made.iter().filter(|(place, _)| **place != slowest.place);
        let mut rest: Vec<i64> = rest.flat_map(|(_, own)| own.iter().copied()).collect();
        let others = percentile(&mut rest, 50)?;
        let medians = self.workers.iter().filter(|w| w.place != slowest.place);
        let medians = medians.map(|w| w.production);
        (slowest.production > SLOW_WORKER * others).then_some(SlowWorker {
            place: slowest.place,
            own: slowest.production,
            others,
            range: [medians.clone().min()?, medians.max()?],
        })
    }

    fn add_files(&mut self, causes: &RankCauses, delivering: &[&Row<'_>]) {
        let mut in_waits: BTreeMap<FileId, i64> = BTreeMap::new();
        for row in delivering {
            for &(file, ns) in &row.cause.reading {
                *in_waits.entry(file).or_default() += ns;
            }
        }
        let mut top: Vec<FileTotal> = in_waits
            .into_iter()
            .filter_map(|(file, in_waits)| {
                let all = causes.read_of(file)?;
                Some(FileTotal {
                    file,
                    in_waits,
                    read: all.read,
                    visits: all.visits,
                })
            })
            .collect();
        top.sort_by(|a, b| {
            let names = causes.file(a.file).cmp(causes.file(b.file));
            b.in_waits.cmp(&a.in_waits).then(names)
        });
        top.truncate(10);
        self.by_file = top;
        self.slow_files.clone_from(&causes.slow_files);
    }

    /// The longest group of the judged waits; `None` without any.
    #[must_use]
    pub fn dominant(&self) -> Option<Group> {
        (self.n_judged > 0).then(|| longest(&self.by_group_judged))
    }

    /// The longest group of the first waits.
    #[must_use]
    pub fn dominant_of_first(&self) -> Group {
        longest(&self.by_group_first)
    }

    /// Weight of a group in the judged waits, ns.
    #[must_use]
    pub fn judged_in(&self, group: Group) -> i64 {
        let of = self.by_group_judged.iter().find(|(g, _)| *g == group);
        of.map_or(0, |(_, ns)| *ns)
    }

    /// Mean share of the judged waits in which a worker is at a batch.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share is no time")]
    pub fn workers_busy(&self) -> Option<f64> {
        let judged = self.judged_length as f64;
        let n = self.workers.len() as f64;
        let busy: i64 = self.workers.iter().map(|w| w.busy).sum();
        (judged > 0.0 && n > 0.0).then(|| busy as f64 / judged / n)
    }
}

/// More than six tenths.
pub(super) fn mostly(part: i64, of: i64) -> bool {
    10 * i128::from(part) > 6 * i128::from(of)
}

fn longest(of: &[(Group, i64)]) -> Group {
    let of = |group: Group| {
        of.iter()
            .find(|(g, _)| *g == group)
            .map_or(0, |(_, ns)| *ns)
    };
    let all = Group::ALL.into_iter();
    all.max_by_key(|&g| (of(g), std::cmp::Reverse(g)))
        .unwrap_or(Group::Unknown)
}

/// A wait of the window.
struct Row<'a> {
    range: TimeRange,
    cause: &'a Cause,
    checkpoint: bool,
}

impl<'a> Row<'a> {
    fn all(causes: &'a RankCauses, window: Option<TimeRange>) -> Vec<Self> {
        let all = causes.ranges.iter().zip(&causes.waits).enumerate();
        all.filter(|(_, (range, _))| window.is_none_or(|w| w.contains(range.start)))
            .map(|(i, (&range, cause))| Self {
                range,
                cause,
                checkpoint: causes.in_checkpoint.contains(&i),
            })
            .collect()
    }

    fn weight(&self) -> i64 {
        self.range.len() - self.cause.parts.hidden()
    }
}

fn weight(rows: &[&Row<'_>]) -> i64 {
    rows.iter().map(|r| r.weight()).sum()
}

/// Weight of a part.
fn part_of(cause: &Cause, part: Part) -> i64 {
    let own = cause.parts.all.iter().find(|(p, _)| *p == part);
    own.map_or(0, |(_, share)| share.total() - share.hidden)
}

fn by_group(rows: &[&Row<'_>]) -> ByGroup {
    let mut sums = [0_i64; Group::ALL.len()];
    for (part, share) in rows.iter().flat_map(|r| &r.cause.parts.all) {
        sums[part.group() as usize] += share.total() - share.hidden;
    }
    let all = Group::ALL.into_iter().zip(sums);
    all.filter(|(_, ns)| *ns != 0).collect()
}

fn by<K: Ord>(rows: &[&Row<'_>], key: impl Fn(&Row<'_>) -> K) -> BTreeMap<K, i64> {
    let mut out = BTreeMap::new();
    for row in rows {
        *out.entry(key(row)).or_default() += row.weight();
    }
    out.retain(|_, ns| *ns != 0);
    out
}

/// Places of what is marked.
pub(super) type Places = FxHashSet<usize>;
