//! What a loop's waiting in a window comes from.

use crate::analysis::Analysis;
use crate::analysis::cause::decide::{LoopCause, decide};
use crate::analysis::cause::parts::Group;
use crate::analysis::cause::totals::Totals;
use crate::analysis::sums::stats::percentile;
use crate::time::{TimeRange, about_ns};

/// What a loop's waiting comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Sums of its waits.
    pub totals: Totals,
    /// What most of it comes from.
    pub cause: LoopCause,
    /// What it was mostly spent on; `None` without waits that are judged.
    pub group: Option<Group>,
    /// Median bytes that were copied to the GPU after a judged wait, where recorded.
    pub batch_bytes: Option<i64>,
}

/// A rank whose batches take much longer to make than another one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowLoading {
    /// Median time of one of its batches, ns.
    pub own: i64,
    /// Index of the rank that makes them fastest.
    pub fastest: usize,
    /// Median time of one of its batches, ns.
    pub least: i64,
    /// What its waiting was mostly spent on.
    pub group: Option<Group>,
}

/// What the batches of a rank take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) struct BatchTime {
    /// Median time of one, ns.
    pub time: i64,
    /// Judged waits for them, ns.
    pub waited: i64,
    /// What those were mostly spent on.
    pub group: Option<Group>,
}

/// A rank loads slowly from more than so many times the fastest one's time on.
const SLOW: i64 = 2;

/// How slowly a rank loads beside others, given by indices: batches of more than twice the time of the fastest one's, and
/// more than one and a half times its judged waiting. `None` where it does not, or not enough of them is recorded.
pub(in crate::analysis) fn loads_slowly(
    rank: usize,
    others: &[usize],
    batches: &dyn Fn(usize) -> Option<BatchTime>,
) -> Option<SlowLoading> {
    let own = batches(rank)?;
    let all = others.iter().filter(|&&r| r != rank);
    let all = all.filter_map(|&r| batches(r).map(|b| (b.time, r, b.waited)));
    let (least, fastest, waited) = all.min()?;
    let waits = 2 * i128::from(own.waited) > 3 * i128::from(waited);
    (waits && own.time > least.saturating_mul(SLOW)).then_some(SlowLoading {
        own: own.time,
        fastest,
        least,
        group: own.group,
    })
}

impl Analysis {
    /// What a rank's waiting comes from, in a sentence.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn waiting_text(&self, rank: usize, waiting: &Waiting) -> String {
        let t = &waiting.totals;
        let group = match (waiting.cause, waiting.group) {
            (LoopCause::Of(_) | LoopCause::Unknown, _) | (_, None) => String::new(),
            (LoopCause::InLoop, Some(group)) => format!(", mostly {}", group.word_in_loop()),
            (_, Some(group)) => format!(", mostly {}", group.word()),
        };
        // What the GPU worked through is left out, as far as its work is known.
        let of = match self.ranks[rank].gpu {
            Some(_) => ", without what the GPU worked through",
            None => "; what of that the GPU worked through is not recorded",
        };
        format!(
            "Comes from: {}{group}. First waits {}, later ones {}{of}.",
            waiting.cause.words(),
            about_ns(t.first),
            about_ns(t.later),
        )
    }

    /// How slowly a rank loads beside others, all given by indices; see `SlowLoading`.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn loads_slowly(&self, rank: usize, others: &[usize]) -> Option<SlowLoading> {
        loads_slowly(rank, others, &|r| self.batch_time(r))
    }

    /// What the batches of a rank take in the whole trace, where it is recorded.
    pub(in crate::analysis) fn batch_time(&self, rank: usize) -> Option<BatchTime> {
        let why = self.why_waited(rank, self.trace().extent())?;
        Some(BatchTime {
            time: why.totals.production_median?,
            waited: why.totals.judged,
            group: why.group,
        })
    }

    /// What the waits of a rank that begin in a window come from. `None` where none of them delivered a batch.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn why_waited(&self, rank: usize, window: TimeRange) -> Option<Waiting> {
        let causes = &self.causes[rank];
        let totals = Totals::of(causes, Some(window));
        let (cause, group) = decide(&totals)?;
        let copied = causes.copied.iter().zip(&causes.ranges);
        let mut copied: Vec<i64> = copied
            .filter(|(_, range)| window.contains(range.start))
            .filter_map(|(bytes, _)| *bytes)
            .collect();
        Some(Waiting {
            totals,
            cause,
            group,
            batch_bytes: percentile(&mut copied, 50),
        })
    }

    /// Workers of the last iterator of which it is told who made what.
    pub(in crate::analysis) fn workers_of(&self, rank: usize) -> Option<usize> {
        let told = self.causes[rank].iterators.iter().rev();
        let told = told.filter(|i| i.made.is_some());
        told.map(|i| i.group.len()).next()
    }
}
