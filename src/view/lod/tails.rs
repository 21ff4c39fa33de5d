//! GPU tails by row: a frame looks at those of the rows that show, and of them at those in its window.

use std::collections::BTreeMap;

use super::Lod;
use super::highlights::common;
use crate::analysis::Analysis;
use crate::model::{SpanId, Trace};
use crate::time::TimeRange;

/// The tails of one row, by start.
#[derive(Clone, Debug, Default)]
pub struct TailRow {
    /// Indices in [`Analysis::tails`].
    tails: Vec<u32>,
    /// For each of them the latest end of it and those before it, ns.
    reach: Vec<i64>,
}

impl TailRow {
    /// Tails that can show in `window`: all that do, and few others. Indices in [`Analysis::tails`].
    #[must_use]
    pub fn in_window(&self, trace: &Trace, analysis: &Analysis, window: TimeRange) -> &[u32] {
        let begins = |&i: &u32| trace.spans().end(analysis.tails()[i as usize].span);
        let first = self.reach.partition_point(|&end| end <= window.start);
        let last = self.tails.partition_point(|i| begins(i) < window.end);
        &self.tails[first..last.max(first)]
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.tails.capacity() * 4 + self.reach.capacity() * 8
    }
}

/// The tails of all rows that have some.
pub(super) fn rows(trace: &Trace, analysis: &Analysis, lod: &Lod) -> BTreeMap<(u32, u16), TailRow> {
    let tails = analysis.tails();
    let ids: Vec<SpanId> = tails.iter().map(|t| t.span).collect();
    let mut out = BTreeMap::new();
    for (leaf, info) in (0_u32..).zip(lod.leaves()) {
        let lane = &trace.lane(info.lane).spans;
        let a = ids.partition_point(|id| id.0 < lane.start);
        let b = ids.partition_point(|id| id.0 < lane.end);
        if a == b {
            continue;
        }
        for (sub, row) in (0_u16..).zip(&info.rows) {
            let mut own = TailRow::default();
            let mut reach = i64::MIN;
            for span in common(row, &ids[a..b]) {
                // Tails are sorted by span, one each.
                let i = a + ids[a..b].partition_point(|&id| id < span);
                reach = reach.max(trace.spans().end(tails[i].last_op));
                own.tails.push(u32::try_from(i).unwrap_or(u32::MAX));
                own.reach.push(reach);
            }
            if !own.tails.is_empty() {
                out.insert((leaf, sub), own);
            }
        }
    }
    out
}
