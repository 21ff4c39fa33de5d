//! What a loop would have waited if the cause of its waiting were gone: its queues played again.

use super::queue::{Change, Played, Queue, Task};
use crate::analysis::Analysis;
use crate::analysis::cause::decide::LoopCause;
use crate::analysis::cause::parts::Group;
use crate::analysis::cause::{IteratorCauses, Production, RankCauses};
use crate::time::TimeRange;

/// What would be otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Otherwise {
    /// A worker takes what the others take.
    LikeOthers {
        /// Its place.
        worker: usize,
    },
    /// Slow files take the usual time.
    UsualFiles {
        /// How many they are.
        files: usize,
    },
    /// Batches need not be put together.
    FreeCollate,
    /// Workers stay from one iterator to the next.
    Persistent,
    /// So many tasks are ahead for each worker.
    LongerQueue {
        /// `prefetch_factor`.
        prefetch: usize,
    },
}

impl Otherwise {
    /// The words of reports.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::LikeOthers { worker } => format!("as if worker {worker} were like the others"),
            Self::UsualFiles { files: 1 } => "as if the slow file took the usual time".to_owned(),
            Self::UsualFiles { files } => {
                format!("as if the {files} slow files took the usual time")
            }
            Self::FreeCollate => "as if collate were free".to_owned(),
            Self::Persistent => "as if workers were persistent".to_owned(),
            Self::LongerQueue { prefetch } => format!("as if prefetch_factor were {prefetch}"),
        }
    }
}

/// What a loop would have waited. Times in ns, over the iterators that begin in the window and are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsIf {
    /// What would be otherwise.
    pub what: Otherwise,
    /// All waits, as played.
    pub wait: i64,
    /// The same as recorded.
    pub measured_wait: i64,
    /// From the first wait to the last one, as played, over iterators.
    pub time: i64,
    /// The same as recorded.
    pub measured_time: i64,
}

/// An iterator that can be played, with what is known of its batches.
struct Told<'a> {
    index: usize,
    iterator: &'a IteratorCauses,
    queue: Queue,
    made: Vec<&'a Production>,
}

impl Analysis {
    /// What the waiting of a rank would be if its cause were gone. Empty where nothing of the kind can be played.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn as_if(&self, rank: usize, window: TimeRange) -> Vec<AsIf> {
        let causes = &self.causes[rank];
        let Some(waiting) = self.why_waited(rank, window) else {
            return Vec::new();
        };
        let told: Vec<Told<'_>> = told(causes, window);
        if told.is_empty() {
            return Vec::new();
        }
        let totals = &waiting.totals;
        let what = match waiting.cause {
            LoopCause::SlowWorker => totals
                .slowest
                .map(|s| Otherwise::LikeOthers { worker: s.place }),
            LoopCause::SlowFiles => Some(Otherwise::UsualFiles {
                files: totals.slow_files.len(),
            }),
            LoopCause::Of(Group::Collate) => Some(Otherwise::FreeCollate),
            LoopCause::Start => {
                let fresh = told
                    .iter()
                    .any(|t| t.index > 0 && t.iterator.fresh == Some(true));
                fresh.then_some(Otherwise::Persistent)
            }
            LoopCause::Bursts | LoopCause::Of(Group::Idle) => {
                let now = told.iter().map(|t| t.queue.prefetch).max().unwrap_or(1);
                Some(Otherwise::LongerQueue { prefetch: 2 * now })
            }
            LoopCause::Unknown
            | LoopCause::InLoop
            | LoopCause::Little
            | LoopCause::Checkpoint
            | LoopCause::Of(_) => None,
        };
        let ratio = totals.slowest.map(|s| (s.others, s.own.max(1)));
        what.map(|what| played(&told, what, ratio))
            .into_iter()
            .collect()
    }

    /// The queues of a rank with another number of tasks ahead: (waited, length) of all of them, ns.
    #[must_use]
    pub fn with_prefetch(&self, rank: usize, window: TimeRange, prefetch: usize) -> Option<AsIf> {
        let told = told(&self.causes[rank], window);
        let what = Otherwise::LongerQueue { prefetch };
        (!told.is_empty()).then(|| played(&told, what, None))
    }
}

fn played(told: &[Told<'_>], what: Otherwise, ratio: Option<(i64, i64)>) -> AsIf {
    let (mut now, mut then) = (Played::default(), Played::default());
    for one in told {
        let production = |k: usize, ns: i64| changed(one, what, ratio, k, ns);
        let change = Change {
            production: &production,
            there: what == Otherwise::Persistent && one.index > 0,
            prefetch: match what {
                Otherwise::LongerQueue { prefetch } => prefetch,
                _ => one.queue.prefetch,
            },
        };
        let (new, old) = (one.queue.play(change), one.queue.recorded());
        now.waited += new.waited;
        now.length += new.length;
        then.waited += old.waited;
        then.length += old.length;
    }
    AsIf {
        what,
        wait: now.waited,
        measured_wait: then.waited,
        time: now.length,
        measured_time: then.length,
    }
}

/// How long a batch would be made.
fn changed(told: &Told<'_>, what: Otherwise, ratio: Option<(i64, i64)>, k: usize, ns: i64) -> i64 {
    let scaled = |ns: i64, (a, b): (i64, i64)| {
        let scaled = i128::from(ns) * i128::from(a) / i128::from(b.max(1));
        i64::try_from(scaled).unwrap_or(i64::MAX)
    };
    match what {
        Otherwise::LikeOthers { worker } if told.queue.tasks[k].worker == worker => {
            ratio.map_or(ns, |r| scaled(ns, r))
        }
        Otherwise::UsualFiles { .. } => ns - told.made[k].slow_reading,
        Otherwise::FreeCollate => ns - told.made[k].of(Group::Collate),
        Otherwise::LikeOthers { .. } | Otherwise::Persistent | Otherwise::LongerQueue { .. } => ns,
    }
}

/// The iterators that begin in a window and of which every batch is told.
fn told(causes: &RankCauses, window: TimeRange) -> Vec<Told<'_>> {
    let all = causes.iterators.iter().enumerate();
    all.filter_map(|(index, iterator)| {
        let first = *iterator.waits.first()?;
        if !window.contains(causes.range(first).start) || iterator.offset != Some(0) {
            return None;
        }
        let mut tasks = Vec::with_capacity(iterator.waits.len());
        let mut productions = Vec::with_capacity(iterator.waits.len());
        for (made, &wait) in iterator.made.as_ref()?.iter().zip(&iterator.waits) {
            let (place, batch) = (*made)?;
            let worker = causes.workers.get((*iterator.group.get(place)?)?)?;
            let made = worker.batches.get(batch)?;
            tasks.push(Task {
                worker: place,
                made: made.range,
                wait: causes.range(wait),
            });
            productions.push(made);
        }
        Some(Told {
            index,
            iterator,
            queue: Queue::new(iterator.group.len(), tasks),
            made: productions,
        })
    })
    .collect()
}
