//! The cause of one wait: from the wait to its batch, the worker that made it, and what that worker did meanwhile.

use rustc_hash::FxHashMap;

use super::assign::{Made, Order, Worker};
use super::batches::Batches;
use super::frames::{Frames, Seen};
use super::items::{Blame, Usual, blame, reading_in};
use super::loader::{FileId, Files, Loader};
use super::partition::{self, Parts, Sum};
use super::parts::{Group, Part};
use super::plan::{Pass, Plan};
use super::reason::Reason;
use crate::analysis::base::gpus::Gpu;
use crate::analysis::base::loops::Rank;
use crate::analysis::sums::intervals::Union;
use crate::model::LaneId;
use crate::time::TimeRange;

/// What of a loader is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// The loop only.
    L0,
    /// The workers' spans; who made what is told by order.
    L1,
    /// Spans carry the numbers of batches.
    L2,
    /// The loop makes its batches itself.
    Loop,
}

impl Level {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::Loop => "loop",
        }
    }
}

/// What kind of wait it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// It delivered nothing.
    End,
    /// It cannot be told.
    Unknown,
    /// The loop loaded by itself.
    Loop,
    /// An item read a file for unusually long.
    SlowFile,
    /// An item took unusually long.
    SlowItem,
    /// The worker was still at an earlier batch.
    Behind,
    /// What most of it was spent on.
    Of(Group),
}

impl Kind {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Unknown => "unknown",
            Self::Loop => "loop",
            Self::SlowFile => "slow_file",
            Self::SlowItem => "slow_item",
            Self::Behind => "behind",
            Self::Of(group) => group.key(),
        }
    }
}

/// Later batches of the same iterator that were ready before the one that was waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ahead {
    /// How many.
    pub ready: usize,
    /// When the first of them was, ns.
    pub first: Option<i64>,
    /// What handing them out first could have saved of this wait at most, ns.
    pub saving: i64,
}

/// Why a wait happened. Times are of the trace, ns.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// What is recorded; `None` where nothing is said.
    pub level: Option<Level>,
    /// Index in [`super::RankCauses::iterators`]; `None` where nothing was delivered.
    pub iterator: Option<usize>,
    /// Number of the batch in the iterator.
    pub batch: Option<usize>,
    /// How the worker is known.
    pub order: Option<Order>,
    /// The worker's place in its group.
    pub worker: Option<usize>,
    /// Its process number; that of the loop where that loads.
    pub pid: Option<String>,
    /// The lane on which the batch was made.
    pub lane: Option<LaneId>,
    /// From the batch's first span to its end.
    pub made: Option<TimeRange>,
    /// It was not made when the wait began.
    pub late: Option<bool>,
    /// What the wait was spent on.
    pub parts: Parts,
    /// The longest group of them.
    pub dominant: Group,
    /// What kind of wait it was.
    pub kind: Kind,
    /// The item to blame.
    pub item: Option<Blame>,
    /// Of late waits for a worker's batch.
    pub ahead: Option<Ahead>,
    /// How often the loop looked for the next arrival, where only its frames tell: 0 the batch lay there, 1 it came, more:
    /// later ones came first.
    pub arrivals: Option<usize>,
    /// Why more cannot be told.
    pub reason: Option<Reason>,
    /// Files that were read meanwhile for the batch or those before it, ns.
    pub(super) reading: Vec<(FileId, i64)>,
    /// The worker was in an item with a slow visit of a file.
    pub(super) slow_visit: bool,
}

impl Cause {
    /// It is the first batch of its iterator.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.batch == Some(0)
    }

    /// How long the batch was made, where a worker made it, ns.
    #[must_use]
    pub fn production(&self) -> Option<i64> {
        let worker = matches!(self.level, Some(Level::L1 | Level::L2));
        self.made.filter(|_| worker).map(TimeRange::len)
    }
}

/// Everything that is known of a loop and its loading.
pub(super) struct Scene<'a> {
    pub rank: &'a Rank,
    pub gpu: Option<&'a Gpu>,
    pub plan: &'a Plan,
    pub loaders: &'a FxHashMap<Worker, &'a Loader>,
    /// What the loop itself loads.
    pub own: Option<&'a Loader>,
    pub own_pid: String,
    /// By wait: the name of its iterator says that it has no workers.
    pub single: &'a [bool],
    pub usual: &'a Usual,
    pub files: &'a Files,
    /// By lane: items with a slow visit of a file, ascending.
    pub slow: &'a FxHashMap<LaneId, Vec<usize>>,
    /// Pinning on threads of its own.
    pub pins: &'a Union,
    /// The clocks of the loop's record and the workers' may be so far apart, ns.
    pub apart: i64,
}

impl Scene<'_> {
    /// The cause of each wait of the loop.
    pub fn causes(&self, frames: &mut Frames<'_>) -> Vec<Cause> {
        let waits = &self.rank.waits.all;
        let mut place: Vec<Option<(usize, usize)>> = vec![None; waits.len()];
        let mut ahead: Vec<Option<Ahead>> = vec![None; waits.len()];
        for (p, pass) in self.plan.passes.iter().enumerate() {
            for (k, &w) in pass.iterator.waits.iter().enumerate() {
                place[w] = Some((p, k));
            }
            self.heads_of_line(pass, &mut ahead);
        }
        let all = waits.iter().enumerate();
        all.map(|(i, wait)| {
            let mut cause = match place[i] {
                Some((p, k)) => self.of_batch(p, k, wait.range, frames),
                None => {
                    let parts = partition::whole(self.sum(), wait.range, Part::End);
                    self.blank(parts)
                }
            };
            cause.ahead = ahead[i].filter(|_| cause.late == Some(true));
            cause.dominant = cause.parts.dominant();
            cause.kind = kind(&cause, wait.range.len());
            cause
        })
        .collect()
    }

    fn sum(&self) -> Sum<'_> {
        Sum::new(self.gpu)
    }

    fn blank(&self, parts: Parts) -> Cause {
        Cause {
            level: None,
            iterator: None,
            batch: None,
            order: None,
            worker: None,
            pid: None,
            lane: None,
            made: None,
            late: None,
            dominant: parts.dominant(),
            parts,
            kind: Kind::Unknown,
            item: None,
            ahead: None,
            arrivals: None,
            reason: None,
            reading: Vec::new(),
            slow_visit: false,
        }
    }

    fn of_batch(&self, p: usize, k: usize, wait: TimeRange, frames: &mut Frames<'_>) -> Cause {
        let assigned = &self.plan.passes[p].assigned;
        let mut cause = if assigned.reason.is_some() {
            let unknown = self.blank(partition::whole(self.sum(), wait, Part::Unknown));
            Cause {
                reason: assigned.reason,
                ..unknown
            }
        } else if assigned.group.is_empty() {
            let single = self.single[self.plan.passes[p].iterator.waits[k]];
            self.without_workers(wait, single, &frames.in_wait(wait))
        } else {
            self.of_worker(p, k, wait, frames)
        };
        // Batches that were taken before the record began count too.
        let before = assigned.offset.filter(|_| assigned.made.is_some());
        (cause.iterator, cause.batch) = (Some(p), Some(k + before.unwrap_or(0)));
        cause
    }

    fn of_worker(&self, p: usize, k: usize, wait: TimeRange, frames: &mut Frames<'_>) -> Cause {
        let assigned = &self.plan.passes[p].assigned;
        let made = assigned.made.as_ref().and_then(|m| *m.get(k)?);
        let turn = || {
            let n = assigned.group.len().max(1);
            assigned.group[(k + assigned.offset.unwrap_or(0)) % n]
        };
        let worker = match made {
            Some(made) => Some(made.worker),
            None => (!assigned.by_id).then(turn),
        };
        let at = worker.and_then(|w| assigned.group.iter().position(|&g| g == w));
        let (level, order) = match assigned.by_id {
            true => (Level::L2, Some(Order::Ids)),
            false => (Level::L1, assigned.order),
        };
        let known = made.and_then(|made| {
            let loader = *self.loaders.get(&made.worker)?;
            Some((made, loader, self.plan.batches.get(&made.worker)?))
        });
        let mut cause = match known {
            Some((made, loader, batches)) => {
                let seen = frames.in_wait(wait);
                self.told(wait, (loader, batches), made, &seen)
            }
            None => Cause {
                reason: Some(Reason::SilentWorker),
                ..self.blank(partition::whole(self.sum(), wait, Part::Unknown))
            },
        };
        cause.level = Some(level);
        cause.order = order;
        cause.worker = at;
        cause.pid = worker.map(|w| self.plan.children.all[w].pid.clone());
        cause
    }

    fn told(
        &self,
        wait: TimeRange,
        (loader, batches): (&Loader, &Batches),
        made: Made,
        frames: &Seen,
    ) -> Cause {
        let range = batches.all[made.batch].range;
        if is_in_doubt(range.end.saturating_sub(wait.start), self.apart) {
            return Cause {
                reason: Some(Reason::ClockTooWide),
                ..self.blank(partition::whole(self.sum(), wait, Part::Unknown))
            };
        }
        let pins = (frames, self.pins);
        let parts = partition::of_worker(self.sum(), wait, (loader, batches), made, pins);
        let mut cause = self.blank(parts);
        cause.made = Some(range);
        cause.late = Some(range.end > wait.start);
        self.blame(&mut cause, wait, loader, wait.end.min(range.end));
        cause
    }

    /// What of items and files is told, up to when the batch was made.
    fn blame(&self, cause: &mut Cause, wait: TimeRange, loader: &Loader, until: i64) {
        cause.lane = Some(loader.lane);
        cause.item = blame(loader, self.usual, self.files, wait, until);
        if until <= wait.start {
            return;
        }
        let window = TimeRange::new(wait.start, until);
        cause.reading = reading_in(loader, window);
        if let Some(slow) = self.slow.get(&loader.lane) {
            let items = loader.items_in(window);
            let next = slow.partition_point(|&i| i < items.start);
            cause.slow_visit = slow.get(next).is_some_and(|&i| i < items.end);
        }
    }

    fn without_workers(&self, wait: TimeRange, single: bool, seen: &Seen) -> Cause {
        if let Some(loader) = self.own
            && let Some(made) = made_in(loader, wait)
        {
            let parts = partition::of_loop(self.sum(), wait, loader, made, seen);
            let mut cause = self.blank(parts);
            cause.level = Some(Level::Loop);
            cause.pid = Some(self.own_pid.clone());
            cause.made = Some(made);
            cause.late = Some(true);
            self.blame(&mut cause, wait, loader, wait.end.min(made.end));
            return cause;
        }
        let level = Some(if single { Level::Loop } else { Level::L0 });
        if seen.any {
            let parts = partition::of_frames(self.sum(), wait, seen);
            return Cause {
                level,
                arrivals: (!single).then_some(seen.looks),
                ..self.blank(parts)
            };
        }
        let reason = match single {
            true => Reason::LoopNotRecorded,
            false => Reason::NoWorkers,
        };
        Cause {
            level,
            reason: Some(reason),
            ..self.blank(partition::whole(self.sum(), wait, Part::UnrecordedWork))
        }
    }

    /// For each wait of an iterator: later batches that were ready before its own.
    fn heads_of_line(&self, pass: &Pass, out: &mut [Option<Ahead>]) {
        let Some(made) = &pass.assigned.made else {
            return;
        };
        let ready = |m: &Option<Made>| {
            let m = (*m)?;
            Some(
                self.plan
                    .batches
                    .get(&m.worker)?
                    .all
                    .get(m.batch)?
                    .range
                    .end,
            )
        };
        let ends: Vec<Option<i64>> = made.iter().map(ready).collect();
        let mut sorted: Vec<i64> = ends.iter().flatten().copied().collect();
        sorted.sort_unstable();
        let mut seen = Counter::new(sorted.len());
        let mut first: Option<i64> = None;
        for (k, end) in ends.iter().enumerate().rev() {
            let Some(end) = *end else {
                continue;
            };
            let place = sorted.partition_point(|&e| e < end);
            let wait = pass.iterator.waits[k];
            let earliest = first.filter(|&f| f < end);
            let start = self.rank.waits.all[wait].range.start;
            out[wait] = Some(Ahead {
                ready: seen.below(place),
                first: earliest,
                saving: earliest.map_or(0, |f| end - start.max(f)),
            });
            seen.add(place);
            first = Some(first.map_or(end, |f| f.min(end)));
        }
    }
}

/// From a loop's first span in a wait to the end of the batch: of its last collate there, else of its last item. Only what
/// begins in the wait counts, and some of it must be loading: a loop whose workers are not recorded works in its waits too.
fn made_in(loader: &Loader, wait: TimeRange) -> Option<TimeRange> {
    let spans = loader.starting(wait);
    if !spans.iter().any(|s| s.part.is_loading()) {
        return None;
    }
    let last = |part: Part| {
        let own = spans
            .iter()
            .filter(|s| s.part == part && s.range.end <= wait.end);
        own.map(|s| s.range.end).max()
    };
    let end = last(Part::Collate).or_else(|| last(Part::Item));
    let end = end.or_else(|| spans.iter().map(|s| s.range.end).max())?;
    Some(TimeRange::new(spans.first()?.range.start, end))
}

fn kind(cause: &Cause, length: i64) -> Kind {
    if cause.iterator.is_none() {
        return Kind::End;
    }
    match cause.dominant {
        Group::Unknown | Group::UnrecordedWork => return Kind::Unknown,
        _ if cause.level == Some(Level::Loop) => return Kind::Loop,
        group @ (Group::Start | Group::HandOver | Group::Idle | Group::Blocked) => {
            return Kind::Of(group);
        }
        Group::Read
        | Group::Decode
        | Group::Transform
        | Group::Collate
        | Group::Other
        | Group::End => {}
    }
    match &cause.item {
        Some(item) if 2 * item.reading >= item.in_wait => Kind::SlowFile,
        Some(_) => Kind::SlowItem,
        None if 2 * cause.parts.earlier() >= length => Kind::Behind,
        None => Kind::Of(cause.dominant),
    }
}

/// Whether a batch that was `late` may have been ready in time, by clocks that may be so far `apart`, ns: what it was late
/// for is not known then either.
fn is_in_doubt(late: i64, apart: i64) -> bool {
    (1..=apart).contains(&late)
}

/// Counts places, and how many were below another: a tree of sums.
struct Counter(Vec<usize>);

impl Counter {
    fn new(n: usize) -> Self {
        Self(vec![0; n + 1])
    }

    fn add(&mut self, place: usize) {
        let mut i = place + 1;
        while let Some(sum) = self.0.get_mut(i) {
            *sum += 1;
            i += i & i.wrapping_neg();
        }
    }

    fn below(&self, place: usize) -> usize {
        let (mut i, mut sum) = (place, 0);
        while i > 0 {
            sum += self.0[i];
            i &= i - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_leave_a_batch_in_doubt_that_is_late_by_less() {
        assert!(is_in_doubt(1, 20_000) && is_in_doubt(20_000, 20_000));
        // Later than the clocks can explain, ready in time, one clock.
        assert!(
            !is_in_doubt(20_001, 20_000) && !is_in_doubt(0, 20_000) && !is_in_doubt(-5, 20_000)
        );
        assert!(!is_in_doubt(1, 0));
    }

    #[test]
    fn places_below_are_counted() {
        let mut counter = Counter::new(8);
        for place in [3, 0, 7, 3] {
            counter.add(place);
        }
        let below: Vec<usize> = (0..=8).map(|p| counter.below(p)).collect();
        assert_eq!(below, [0, 1, 1, 1, 3, 3, 3, 3, 4]);
    }
}
