//! What a loop's waiting in a window comes from.

use crate::analysis::Analysis;
use crate::analysis::cause::decide::{LoopCause, decide};
use crate::analysis::cause::parts::Group;
use crate::analysis::cause::totals::Totals;
use crate::analysis::sums::stats::percentile;
use crate::time::TimeRange;

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

impl Analysis {
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
