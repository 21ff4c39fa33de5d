//! Spans that stand out (search hits), by row and with levels of detail of their own, so that a million of them cost a
//! frame no more than a hundred.

use std::collections::BTreeMap;

use super::{GroupRow, Lod, SubRow};
use crate::analysis::Analysis;
use crate::model::{SpanId, Trace};

/// A set of spans, indexed for drawing. Built once per search, off the UI thread.
#[derive(Default)]
pub struct Highlights {
    ids: Vec<SpanId>,
    rows: BTreeMap<(u32, u16), SubRow>,
    /// By node of the row tree: those of all lanes in a group.
    groups: BTreeMap<u32, GroupRow>,
}

impl Highlights {
    /// Indexes spans, given in any order.
    #[must_use]
    pub fn new(trace: &Trace, analysis: &Analysis, lod: &Lod, mut ids: Vec<SpanId>) -> Self {
        ids.sort_unstable();
        ids.dedup();
        let mut rows = BTreeMap::new();
        for lane in trace.lane_ids() {
            let spans = &trace.lane(lane).spans;
            let a = ids.partition_point(|id| id.0 < spans.start);
            let b = ids.partition_point(|id| id.0 < spans.end);
            if a == b {
                continue;
            }
            for leaf in lod.leaves_of(lane) {
                for (sub, row) in (0_u16..).zip(&lod.leaf(leaf).rows) {
                    let own = common(row, &ids[a..b]);
                    let own: Vec<u32> = own.into_iter().map(|id| id.0).collect();
                    if !own.is_empty() {
                        let row = SubRow::new(trace, analysis.layers(), &own);
                        rows.insert((leaf, sub), row);
                    }
                }
            }
        }
        Self {
            ids,
            rows,
            groups: BTreeMap::new(),
        }
    }

    /// Indexes them for the rows of collapsed groups, too: (node, leaves in it).
    #[must_use]
    pub fn with_groups(
        mut self,
        trace: &Trace,
        analysis: &Analysis,
        groups: impl Iterator<Item = (u32, Vec<u32>)>,
    ) -> Self {
        for (node, leaves) in groups {
            let rows = |leaf: u32| self.rows.range((leaf, 0)..=(leaf, u16::MAX));
            let rows = leaves.into_iter().flat_map(rows);
            let ids: Vec<SpanId> = rows.flat_map(|(_, row)| row.ids()).collect();
            if !ids.is_empty() {
                let row = GroupRow::covered(trace, analysis.layers(), ids);
                self.groups.insert(node, row);
            }
        }
        self
    }

    /// All spans, ascending.
    #[must_use]
    pub fn ids(&self) -> &[SpanId] {
        &self.ids
    }

    /// Whether a span is one of them.
    #[must_use]
    pub fn contains(&self, span: SpanId) -> bool {
        self.ids.binary_search(&span).is_ok()
    }

    /// Those of a sub-row of a leaf.
    #[must_use]
    pub fn row(&self, leaf: u32, sub: u16) -> Option<&SubRow> {
        self.rows.get(&(leaf, sub))
    }

    /// Those of a group, by its node.
    #[must_use]
    pub fn group(&self, node: u32) -> Option<&GroupRow> {
        self.groups.get(&node)
    }

    /// Those of all rows.
    pub fn rows(&self) -> impl Iterator<Item = &SubRow> {
        self.rows.values()
    }
}

/// The spans of a row that are among `ids`; both ascend.
pub(super) fn common(row: &SubRow, ids: &[SpanId]) -> Vec<SpanId> {
    let steps = row.len().max(1).ilog2() as usize + 1;
    if ids.len().saturating_mul(steps) < row.len() {
        return ids
            .iter()
            .copied()
            .filter(|&id| row.find(id).is_some())
            .collect();
    }
    let mut rest = ids.iter().copied().peekable();
    let mut out = Vec::new();
    for id in row.ids() {
        while rest.next_if(|&other| other < id).is_some() {}
        if rest.next_if_eq(&id).is_some() {
            out.push(id);
        }
    }
    out
}
