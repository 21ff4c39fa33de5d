//! The exact partition of a wait: each instant of it belongs to one part, and the parts add up to the wait.

use super::assign::Made;
use super::batches::Batches;
use super::frames::Seen;
use super::loader::Loader;
use super::parts::{Group, Part};
use super::segments::pieces;
use crate::analysis::base::gpus::Gpu;
use crate::analysis::sums::intervals::Union;
use crate::time::TimeRange;

/// How long a wait was in one part, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Working on the batch that was waited for.
    pub own: i64,
    /// Working on an earlier one.
    pub earlier: i64,
    /// Of both, the GPU had nothing to do; 0 without a GPU record.
    pub exposed: i64,
    /// Of both, the GPU worked; 0 without a GPU record.
    pub hidden: i64,
}

impl Share {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.own + self.earlier
    }
}

/// The parts of a wait: those that take no time are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// In the order of the parts.
    pub all: Vec<(Part, Share)>,
    /// Whether it is known what the GPU did.
    pub gpu_known: bool,
}

impl Parts {
    /// Time of a group, ns.
    #[must_use]
    pub fn group(&self, group: Group) -> i64 {
        let own = self.all.iter().filter(|(part, _)| part.group() == group);
        own.map(|(_, share)| share.total()).sum()
    }

    /// The longest group; of equal ones the first.
    #[must_use]
    pub fn dominant(&self) -> Group {
        let longest = |g: &Group| (self.group(*g), std::cmp::Reverse(*g));
        let all = Group::ALL.into_iter();
        all.max_by_key(longest).unwrap_or(Group::Unknown)
    }

    /// Work on earlier batches, ns.
    #[must_use]
    pub fn earlier(&self) -> i64 {
        self.all.iter().map(|(_, share)| share.earlier).sum()
    }

    /// While the GPU worked, ns; 0 without a GPU record.
    #[must_use]
    pub fn hidden(&self) -> i64 {
        self.all.iter().map(|(_, share)| share.hidden).sum()
    }
}

/// Adds up the stretches of a wait.
pub(super) struct Sum<'a> {
    parts: [Share; Part::ALL.len()],
    gpu: Option<[&'a Union; 2]>,
}

impl<'a> Sum<'a> {
    /// Nothing yet; `gpu` is that of the loop's rank.
    pub fn new(gpu: Option<&'a Gpu>) -> Self {
        Self {
            parts: [Share::default(); Part::ALL.len()],
            gpu: gpu.map(|g| [&g.idle, &g.busy]),
        }
    }

    /// Adds a stretch.
    pub fn add(&mut self, range: TimeRange, part: Part, own: bool) {
        let share = &mut self.parts[part.index()];
        *(if own {
            &mut share.own
        } else {
            &mut share.earlier
        }) += range.len();
        if let Some([idle, busy]) = self.gpu {
            share.exposed += idle.measure_in(range);
            share.hidden += busy.measure_in(range);
        }
    }

    /// All of it.
    pub fn finish(self) -> Parts {
        let all = Part::ALL.into_iter().zip(self.parts);
        Parts {
            all: all.filter(|(_, share)| share.total() > 0).collect(),
            gpu_known: self.gpu.is_some(),
        }
    }
}

/// A wait of one part.
pub(super) fn whole(mut sum: Sum<'_>, wait: TimeRange, part: Part) -> Parts {
    sum.add(wait, part, true);
    sum.finish()
}

/// A wait for a batch of a worker.
pub(super) fn of_worker(
    mut sum: Sum<'_>,
    wait: TimeRange,
    (loader, batches): (&Loader, &Batches),
    made: Made,
    (frames, pins): (&Seen, &Union),
) -> Parts {
    let ready = batches.all[made.batch].range.end;
    let began = batches.all.first().map_or(ready, |b| b.range.start);
    let before = made.batch.checked_sub(1);
    let since = before.map_or(i64::MIN, |b| batches.all[b].range.end);
    let worker_starts = wait.clip(TimeRange::new(i64::MIN, began));
    if !worker_starts.is_empty() {
        sum.add(worker_starts, Part::WorkerStart, true);
    }
    let making = wait.clip(TimeRange::new(began, ready));
    pieces(&loader.segments, making, |range, part| {
        batches.pieces(range, |range, batch| match (batch, part) {
            (Some(batch), part) => {
                sum.add(range, part.unwrap_or(Part::Unnamed), batch == made.batch);
            }
            (None, Some(part)) => sum.add(range, part, range.start >= since),
            (None, None) => sum.add(range, Part::Idle, true),
        });
    });
    let after = wait.clip(TimeRange::new(ready.max(began), i64::MAX));
    pieces(&frames.segments, after, |range, part| {
        use Part::{HandOver, Loader, Pin, Receive, Unpickle};
        match part {
            Some(part @ (Receive | Unpickle | Loader | Pin)) => sum.add(range, part, true),
            _ => split(pins, range, |range, pins| {
                sum.add(range, if pins { Pin } else { HandOver }, true);
            }),
        }
    });
    sum.finish()
}

/// Cuts a range by a union.
fn split(union: &Union, range: TimeRange, mut piece: impl FnMut(TimeRange, bool)) {
    let mut at = range.start;
    for part in union.parts_in(range) {
        let part = part.clip(range);
        if at < part.start {
            piece(TimeRange::new(at, part.start), false);
        }
        piece(part, true);
        at = part.end;
    }
    if at < range.end {
        piece(TimeRange::new(at, range.end), false);
    }
}

/// A wait of a loop that makes its batches itself: `made` is from its first span in the wait to the batch's end.
pub(super) fn of_loop(
    mut sum: Sum<'_>,
    wait: TimeRange,
    loader: &Loader,
    made: TimeRange,
    frames: &Seen,
) -> Parts {
    let inside = wait.clip(made);
    let mut around = |range: TimeRange| {
        pieces(&frames.segments, range, |range, part| {
            let pins = part == Some(Part::Pin);
            sum.add(range, if pins { Part::Pin } else { Part::Loader }, true);
        });
    };
    around(TimeRange::new(wait.start, inside.start));
    around(TimeRange::new(inside.end.max(inside.start), wait.end));
    pieces(&loader.segments, inside, |range, part| {
        sum.add(range, part.unwrap_or(Part::Unnamed), true);
    });
    sum.finish()
}

/// A wait of which only the loop's frames tell.
pub(super) fn of_frames(mut sum: Sum<'_>, wait: TimeRange, frames: &Seen) -> Parts {
    pieces(&frames.segments, wait, |range, part| {
        sum.add(range, part.unwrap_or(Part::Loader), true);
    });
    sum.finish()
}
