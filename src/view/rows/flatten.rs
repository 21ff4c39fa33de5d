//! From tree and state to rows with positions.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::state::RowState;
use super::tree::{NodeId, NodeKind, RowTree};
use super::{
    COUNTER_HEIGHT, DENSE_HEIGHTS, GROUP_GAP, HEADER_HEIGHT, INSTANT_HEIGHT, LANE_GAP, MANY_LANES,
    ROW_HEIGHT, SUMMARY_HEIGHT,
};
use crate::model::{SpanId, Trace};

/// One row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The group or lane.
    pub node: NodeId,
    /// What the row shows.
    pub kind: RowKind,
    /// Top edge, points from the top of all rows.
    pub y: f32,
    /// Height, points.
    pub height: f32,
}

/// What a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// The header of an open group; its canvas is empty.
    Header,
    /// A collapsed group: the activity of all lanes in it.
    Summary,
    /// A sub-row of a lane.
    Lane {
        /// Index in [`crate::view::Lod::leaves`].
        leaf: u32,
        /// Sub-row; 0 is the outermost.
        sub: u16,
    },
    /// A counter: index in [`Trace::counters`].
    Counter(u32),
    /// Instants: index in [`crate::view::Lod::instants`]. Below the spans of their lane, or a lane of their own.
    Instants(u32),
}

/// The rows that show, top to bottom.
#[derive(Clone)]
pub struct Rows {
    tree: Arc<RowTree>,
    rows: Vec<Row>,
    height: f32,
    pinned: Vec<Row>,
    pinned_height: f32,
    /// First row of each leaf that shows.
    at_leaf: BTreeMap<u32, u32>,
    hidden: usize,
    /// What the user calls them.
    names: BTreeMap<NodeId, String>,
}

/// Heights of rows and gaps, points.
#[derive(Clone, Copy)]
struct Heights {
    row: f32,
    counter: f32,
    instants: f32,
    lane_gap: f32,
    group_gap: f32,
}

impl Heights {
    fn of(tree: &RowTree, state: &RowState) -> Self {
        if !state.dense {
            return Self {
                row: ROW_HEIGHT,
                counter: COUNTER_HEIGHT,
                instants: INSTANT_HEIGHT,
                lane_gap: LANE_GAP,
                group_gap: GROUP_GAP,
            };
        }
        let many = tree.lod().leaves().len() >= MANY_LANES;
        let row = DENSE_HEIGHTS[usize::from(many)];
        Self {
            row,
            counter: row * 2.0,
            instants: row,
            lane_gap: if many { 0.0 } else { 1.0 },
            group_gap: 1.0,
        }
    }
}

struct Pass<'a> {
    tree: &'a RowTree,
    state: &'a RowState,
    heights: Heights,
    filter: String,
    out: Vec<Row>,
    y: f32,
    hidden: usize,
}

impl Rows {
    /// The rows of `tree` with what the user did to it.
    #[must_use]
    pub fn new(tree: Arc<RowTree>, state: &RowState) -> Self {
        let mut pass = Pass {
            tree: &tree,
            state,
            heights: Heights::of(&tree, state),
            filter: state.filter.trim().to_lowercase(),
            out: Vec::new(),
            y: 0.0,
            hidden: 0,
        };
        for root in state.ordered(&tree, tree.roots()) {
            pass.node(root, state.only.is_none(), pass.filter.is_empty());
        }
        let (rows, height, hidden) = (pass.out, pass.y, pass.hidden);
        let mut pins = Pass {
            tree: &tree,
            state,
            heights: Heights::of(&tree, state),
            filter: String::new(),
            out: Vec::new(),
            y: 0.0,
            hidden: 0,
        };
        for key in &state.pinned {
            if let Some(node) = tree.find(key) {
                pins.lane(node);
            }
        }
        let (pinned, pinned_height) = (pins.out, pins.y);
        let named = state.names.iter();
        let names = named.filter_map(|(key, name)| Some((tree.find(key)?, name.clone())));
        Self {
            names: names.collect(),
            height,
            pinned,
            pinned_height,
            hidden,
            ..Self::placed(tree, rows)
        }
    }

    /// Rows of `tree` that somebody chose and placed.
    #[must_use]
    pub(in crate::view) fn placed(tree: Arc<RowTree>, rows: Vec<Row>) -> Self {
        let mut at_leaf = BTreeMap::new();
        for (i, row) in rows.iter().enumerate() {
            if let RowKind::Lane { leaf, sub: 0 } = row.kind {
                at_leaf.insert(leaf, u32::try_from(i).unwrap_or(u32::MAX));
            }
        }
        Self {
            height: rows.iter().map(|r| r.y + r.height).fold(0.0, f32::max),
            rows,
            pinned: Vec::new(),
            pinned_height: 0.0,
            at_leaf,
            hidden: 0,
            names: BTreeMap::new(),
            tree,
        }
    }

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &Arc<RowTree> {
        &self.tree
    }

    /// What a lane or group is called: as the user says, else by its title.
    #[must_use]
    pub fn title(&self, node: NodeId) -> &str {
        let name = self.names.get(&node);
        name.unwrap_or(&self.tree.node(node).title)
    }

    /// The rows that scroll.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Their height together, points.
    #[must_use]
    pub fn height(&self) -> f32 {
        self.height
    }

    /// The rows of pinned lanes; they show below the band and scroll separately.
    #[must_use]
    pub fn pinned(&self) -> &[Row] {
        &self.pinned
    }

    /// Their height together, points.
    #[must_use]
    pub fn pinned_height(&self) -> f32 {
        self.pinned_height
    }

    /// Lanes that are hidden by hand, by "only this" or by the filter.
    #[must_use]
    pub fn hidden_lanes(&self) -> usize {
        self.hidden
    }

    /// Lanes that show, collapsed groups counted as one.
    #[must_use]
    pub fn lane_count(&self) -> usize {
        self.rows.iter().filter(|r| self.starts_lane(r)).count()
    }

    /// Whether a row is the first one of a lane, or a collapsed group.
    #[must_use]
    pub fn starts_lane(&self, row: &Row) -> bool {
        match row.kind {
            RowKind::Header => false,
            RowKind::Summary | RowKind::Counter(_) => true,
            RowKind::Lane { sub, .. } => sub == 0,
            RowKind::Instants(_) => {
                matches!(self.tree.node(row.node).kind, NodeKind::Instants(_))
            }
        }
    }

    /// The row at `y` (points from the top of all rows); `None` in gaps and below the last one.
    #[must_use]
    pub fn at(&self, y: f32) -> Option<usize> {
        let i = self.rows.partition_point(|r| r.y <= y).checked_sub(1)?;
        (y < self.rows[i].y + self.rows[i].height).then_some(i)
    }

    /// The rows of which a part lies between `y0` and `y1`.
    #[must_use]
    pub fn visible(&self, y0: f32, y1: f32) -> Range<usize> {
        between(&self.rows, y0, y1)
    }

    /// The pinned rows of which a part lies between `y0` and `y1`.
    #[must_use]
    pub fn pinned_visible(&self, y0: f32, y1: f32) -> Range<usize> {
        between(&self.pinned, y0, y1)
    }

    /// The row of a span: its own, or that of the collapsed group which holds it; `None` where it is hidden.
    #[must_use]
    pub fn of_span(&self, trace: &Trace, span: SpanId) -> Option<usize> {
        let (leaf, sub) = self.tree.lod().place(trace, span)?;
        self.of_leaf(leaf, sub)
    }

    /// The row of a leaf's sub-row, or of the collapsed group which holds it; `None` where it is hidden.
    #[must_use]
    pub fn of_leaf(&self, leaf: u32, sub: u16) -> Option<usize> {
        if let Some(&first) = self.at_leaf.get(&leaf) {
            return Some(first as usize + usize::from(sub));
        }
        let mut at = self.tree.node(self.tree.of_leaf(leaf)).parent;
        while let Some(id) = at {
            let row = self
                .rows
                .iter()
                .position(|r| r.node == id && r.kind == RowKind::Summary);
            if row.is_some() {
                return row;
            }
            at = self.tree.node(id).parent;
        }
        None
    }
}

fn between(rows: &[Row], y0: f32, y1: f32) -> Range<usize> {
    let a = rows.partition_point(|r| r.y + r.height <= y0);
    let b = rows.partition_point(|r| r.y < y1);
    a..b.max(a)
}

impl Pass<'_> {
    /// `shown`: a node around (or this) is the one that alone shows. `matched`: a title around matches the filter.
    fn node(&mut self, id: NodeId, shown: bool, matched: bool) {
        let node = self.tree.node(id);
        if self.state.hidden.contains(&node.key) {
            self.hidden += self.tree.leaves_below(id).len();
            return;
        }
        let shown = shown || self.state.only.as_ref() == Some(&node.key);
        let name = self.state.names.get(&node.key).unwrap_or(&node.title);
        let matched = matched || name.to_lowercase().contains(&self.filter);
        if !node.kind.is_group() {
            if shown && matched {
                self.lane(id);
            } else {
                self.hidden += 1;
            }
            return;
        }
        let searching = !self.filter.is_empty() || self.state.only.is_some();
        if !searching && self.state.is_collapsed(self.tree, id) {
            self.push(id, RowKind::Summary, SUMMARY_HEIGHT, self.heights.group_gap);
            return;
        }
        let mark = (self.out.len(), self.y);
        let below_header = self.out.last().map(|r| r.kind) == Some(RowKind::Header);
        let gap = if below_header {
            0.0
        } else {
            self.heights.group_gap
        };
        self.push(id, RowKind::Header, HEADER_HEIGHT, gap);
        let before = self.out.len();
        for child in self.state.ordered(self.tree, &node.children) {
            self.node(child, shown, matched);
        }
        if self.out.len() == before {
            self.out.truncate(mark.0);
            self.y = mark.1;
        }
    }

    fn lane(&mut self, id: NodeId) {
        let leaf = match self.tree.node(id).kind {
            NodeKind::Leaf(leaf) => leaf,
            NodeKind::Counter(i) => {
                self.push(
                    id,
                    RowKind::Counter(i),
                    self.heights.counter,
                    self.heights.lane_gap,
                );
                return;
            }
            NodeKind::Instants(i) => {
                self.push(
                    id,
                    RowKind::Instants(i),
                    self.heights.row,
                    self.heights.lane_gap,
                );
                return;
            }
            _ => return,
        };
        let lod = self.tree.lod();
        let info = lod.leaf(leaf);
        for sub in 0..info.rows.len() {
            let gap = if sub == 0 { self.heights.lane_gap } else { 0.0 };
            let sub = u16::try_from(sub).unwrap_or(u16::MAX);
            self.push(id, RowKind::Lane { leaf, sub }, self.heights.row, gap);
        }
        // Once per lane, below the first of its parts.
        let first = lod.leaves_of(info.lane).next() == Some(leaf);
        if let Some(i) = lod.instants_of(info.lane).filter(|_| first) {
            self.push(id, RowKind::Instants(i), self.heights.instants, 0.0);
        }
    }

    fn push(&mut self, node: NodeId, kind: RowKind, height: f32, gap: f32) {
        self.y += gap;
        self.out.push(Row {
            node,
            kind,
            y: self.y,
            height,
        });
        self.y += height;
    }
}
