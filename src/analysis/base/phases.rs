//! What a thread is doing: an exclusive partition of its time by the innermost phase.

use std::collections::BTreeMap;

use crate::analysis::base::core::Core;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::{Union, UnionBuilder};
use crate::model::LaneId;
use crate::time::TimeRange;

/// The innermost phase of a lane over time.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct Phases {
    /// Where another phase, or none, begins. Ascending.
    at: Vec<i64>,
    /// What begins there.
    phase: Vec<Option<LayerId>>,
}

impl Phases {
    /// Innermost at t = among the phase spans with start <= t < end the last one in stored order: latest start, then
    /// shortest, then last in the file.
    pub fn new(core: &Core, lane: LaneId) -> Self {
        let mut out = Self::default();
        if !core.index(lane).layers.iter().any(|l| l.is_phase()) {
            return out;
        }
        let columns = core.columns(lane);
        let mut open: Vec<(i64, LayerId)> = Vec::new();
        for i in 0..columns.len() {
            let layer = columns.of[i];
            if !layer.is_phase() || columns.durs[i] == 0 {
                continue;
            }
            let range = columns.range(i);
            out.close(&mut open, range.start);
            out.mark(range.start, Some(layer));
            open.push((range.end, layer));
        }
        out.close(&mut open, i64::MAX);
        out.at.shrink_to_fit();
        out.phase.shrink_to_fit();
        out
    }

    /// Ends the open spans that end by `now`, the innermost first.
    fn close(&mut self, open: &mut Vec<(i64, LayerId)>, now: i64) {
        while let Some(&(end, _)) = open.last() {
            if end > now {
                break;
            }
            open.pop();
            // Those below that have ended meanwhile were never visible again.
            while open.last().is_some_and(|o| o.0 <= end) {
                open.pop();
            }
            self.mark(end, open.last().map(|o| o.1));
        }
    }

    fn mark(&mut self, at: i64, phase: Option<LayerId>) {
        if self.at.last() == Some(&at) {
            self.at.pop();
            self.phase.pop();
        }
        if self.phase.last().copied().flatten() != phase {
            self.at.push(at);
            self.phase.push(phase);
        }
    }

    /// The phase at an instant.
    pub fn at(&self, t: i64) -> Option<LayerId> {
        let i = self.at.partition_point(|&s| s <= t);
        if i == 0 { None } else { self.phase[i - 1] }
    }

    /// All stretches of a phase, ascending.
    pub fn segments(&self) -> impl Iterator<Item = (TimeRange, LayerId)> + '_ {
        (0..self.at.len().saturating_sub(1)).filter_map(|i| {
            let range = TimeRange {
                start: self.at[i],
                end: self.at[i + 1],
            };
            Some((range, self.phase[i]?))
        })
    }

    /// The set of instants of each phase.
    pub fn unions(&self) -> BTreeMap<LayerId, Union> {
        let mut builders: BTreeMap<LayerId, UnionBuilder> = BTreeMap::new();
        for (range, layer) in self.segments() {
            builders.entry(layer).or_default().push(range);
        }
        builders.into_iter().map(|(l, b)| (l, b.finish())).collect()
    }

    pub fn heap_bytes(&self) -> usize {
        self.at.capacity() * 8 + self.phase.capacity() * 4
    }
}
