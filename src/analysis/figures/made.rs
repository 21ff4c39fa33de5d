//! The batches that workers made, each with the wait that was for it.

use rustc_hash::FxHashMap;

use crate::analysis::Analysis;
use crate::model::SpanId;
use crate::time::TimeRange;

/// A batch that a worker made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeBatch {
    /// Index in the workers of [`crate::analysis::RankCauses`].
    pub worker: usize,
    /// From its first span to its end.
    pub range: TimeRange,
    /// Its first span.
    pub span: Option<SpanId>,
    /// The wait that was for it: index in [`Analysis::waits`]; `None` where that is not known, or nobody took it.
    pub wait: Option<usize>,
    /// It was not ready when that wait began; `None` where its wait is not known.
    pub late: Option<bool>,
}

impl Analysis {
    /// Batches of a rank's workers that lie in a window in part, by worker and time.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn made_batches(&self, rank: usize, window: TimeRange) -> Vec<MadeBatch> {
        let causes = &self.causes[rank];
        let mut waits: FxHashMap<(usize, usize), usize> = FxHashMap::default();
        for iterator in &causes.iterators {
            let made = iterator.made.iter().flatten();
            for (&wait, made) in iterator.waits.iter().zip(made) {
                let worker = made.and_then(|(place, nth)| Some((iterator.group[place]?, nth)));
                if let Some(key) = worker {
                    waits.insert(key, wait);
                }
            }
        }
        let mut out = Vec::new();
        for (worker, info) in causes.workers.iter().enumerate() {
            let columns = self.core.columns(info.lane);
            for (nth, batch) in info.batches.iter().enumerate() {
                if batch.range.clip(window).is_empty() {
                    continue;
                }
                let (a, b) = columns.start_range(batch.range);
                let place = waits.get(&(worker, nth)).copied();
                out.push(MadeBatch {
                    worker,
                    range: batch.range,
                    span: (a < b).then(|| columns.id(a)),
                    wait: place.and_then(|p| self.waits_of[rank].get(p).copied()),
                    late: place.and_then(|p| causes.waits[p].late),
                });
            }
        }
        out
    }
}
