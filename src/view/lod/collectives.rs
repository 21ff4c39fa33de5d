//! Matched collectives by row: a frame looks at those of the rows that show, and of them at those in its window.

use std::collections::BTreeMap;

use super::highlights::common;
use super::{Lod, Tree};
use crate::analysis::{Analysis, Attendance, Union};
use crate::model::{SpanId, Trace};
use crate::time::TimeRange;

/// The matched collectives of one row, by start; spans of one row do not overlap.
#[derive(Clone, Debug, Default)]
pub struct CollectiveRow {
    ops: Vec<SpanId>,
    /// For each of them, what it was in its collective.
    of: Vec<Attendance>,
    /// When the row's rank waits for others in them.
    pub waiting: Union,
    /// Levels of detail of `waiting`.
    pub tree: Tree,
}

impl CollectiveRow {
    /// Those that show in a window.
    pub fn in_window(
        &self,
        trace: &Trace,
        window: TimeRange,
    ) -> impl ExactSizeIterator<Item = (SpanId, Attendance)> {
        let spans = trace.spans();
        let a = self
            .ops
            .partition_point(|&op| spans.end(op) <= window.start);
        let b = self.ops.partition_point(|&op| spans.start(op) < window.end);
        let shown = a..b.max(a);
        let ops = self.ops[shown.clone()].iter().copied();
        ops.zip(self.of[shown].iter().copied())
    }

    /// What a span of the row was in its collective.
    #[must_use]
    pub fn get(&self, span: SpanId) -> Option<Attendance> {
        Some(self.of[self.ops.binary_search(&span).ok()?])
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.ops.capacity() * 4
            + self.of.capacity() * size_of::<Attendance>()
            + self.waiting.heap_bytes()
            + self.tree.heap_bytes()
    }
}

/// The matched collectives of all rows that have some.
pub(super) fn rows(
    trace: &Trace,
    analysis: &Analysis,
    lod: &Lod,
) -> BTreeMap<(u32, u16), CollectiveRow> {
    let runs = analysis.collectives().iter();
    let mut ids: Vec<SpanId> = runs.flat_map(|r| r.matched_ops()).collect();
    ids.sort_unstable();
    let mut out = BTreeMap::new();
    for (leaf, info) in (0_u32..).zip(lod.leaves()) {
        let lane = &trace.lane(info.lane).spans;
        let a = ids.partition_point(|id| id.0 < lane.start);
        let b = ids.partition_point(|id| id.0 < lane.end);
        if a == b {
            continue;
        }
        for (sub, row) in (0_u16..).zip(&info.rows) {
            let mut own = CollectiveRow::default();
            let mut waiting = Vec::new();
            for op in common(row, &ids[a..b]) {
                let Some(attendance) = analysis.attendance(op) else {
                    continue;
                };
                let start = trace.spans().start(op);
                let until = start.saturating_add(attendance.wait);
                waiting.push(TimeRange::new(start, until));
                own.ops.push(op);
                own.of.push(attendance);
            }
            if !own.ops.is_empty() {
                own.waiting = Union::from_sorted(waiting);
                own.tree = Tree::of_union(&own.waiting);
                out.insert((leaf, sub), own);
            }
        }
    }
    out
}
