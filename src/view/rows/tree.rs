//! The tree of groups and lanes, in display order. Built once per trace.

use std::ops::Range;
use std::sync::Arc;

use crate::analysis::Union;
use crate::model::{DeviceId, LaneId, ProcessId};
use crate::view::lod::{GroupRow, Lod, Part, Tree};

/// A node: its place in [`RowTree::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A group or a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Stable name, for what is kept per trace.
    pub key: String,
    /// What the header says.
    pub title: String,
    /// A short word beside it: `compute`, `copies`, `loop`; empty where there is none.
    pub note: String,
    /// What it is.
    pub kind: NodeKind,
    /// The group that it is in.
    pub parent: Option<NodeId>,
    /// What is in it, in display order.
    pub children: Vec<NodeId>,
    /// Nesting of groups: 0 outermost.
    pub depth: u8,
    /// Groups only: collapsed unless the user says otherwise.
    pub starts_collapsed: bool,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// All of a rank, where there are several.
    Rank(u32),
    /// A GPU's streams.
    Gpu(DeviceId),
    /// Threads of a training process.
    Process(ProcessId),
    /// All workers of a rank.
    Workers,
    /// Threads of a worker that has several.
    Worker(ProcessId),
    /// Python frames of a thread, where they are deep.
    Frames(LaneId),
    /// Autograd, pin-memory and other threads.
    Others,
    /// What the CPU named on a GPU: annotations and synchronisation.
    Marks,
    /// Threads with next to no activity.
    Quiet,
    /// The profiler's own rows and async spans.
    Recorder,
    /// Counters of a process, a GPU or a file.
    Counters,
    /// The lane of a counter: index in [`crate::model::Trace::counters`].
    Counter(u32),
    /// Instants whose lane has no spans, or that are on none: index in [`Lod::instants`].
    Instants(u32),
    /// A lane (or the API part of one): index in [`Lod::leaves`].
    Leaf(u32),
}

impl NodeKind {
    /// Whether it holds other nodes: all but lanes do.
    #[must_use]
    pub fn is_group(self) -> bool {
        !matches!(self, Self::Leaf(_) | Self::Counter(_) | Self::Instants(_))
    }
}

/// The tree.
pub struct RowTree {
    nodes: Vec<Node>,
    roots: Vec<NodeId>,
    /// Node of each leaf.
    of_leaf: Vec<NodeId>,
    /// Per node: what shows while it is collapsed. Empty until all nodes are there.
    pub(super) summaries: Vec<Arc<Summary>>,
    lod: Arc<Lod>,
}

/// What a collapsed group shows.
#[derive(Debug, Default)]
pub struct Summary {
    /// When its lanes are busy.
    pub busy: Busy,
    /// Lanes in it, sub-rows not counted.
    pub lanes: usize,
    /// Indices in [`Lod::waits`] of the batch waits in it, outermost first.
    pub waits: Range<usize>,
    /// What of them is exposed.
    pub exposed: Union,
    /// Levels of detail of `exposed`.
    pub exposed_tree: Tree,
}

/// The busy time of a group.
#[derive(Debug, Default)]
pub enum Busy {
    /// It has no lane with spans.
    #[default]
    Never,
    /// That of the first row of a leaf.
    Leaf(u32),
    /// That of several rows.
    Group(GroupRow),
}

impl RowTree {
    /// What a group shows while it is collapsed.
    #[must_use]
    pub fn summary(&self, node: NodeId) -> &Summary {
        &self.summaries[node.0 as usize]
    }

    /// Bytes held by what collapsed groups show.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let mut sum = 0;
        for (i, summary) in self.summaries.iter().enumerate() {
            // Groups around others share with them.
            if self.summaries[..i].iter().any(|s| Arc::ptr_eq(s, summary)) {
                continue;
            }
            if let Busy::Group(row) = &summary.busy {
                sum += row.heap_bytes();
            }
            sum += summary.exposed.heap_bytes() + summary.exposed_tree.heap_bytes();
        }
        sum
    }

    /// Whether a leaf is in a group.
    #[must_use]
    pub fn holds(&self, group: NodeId, leaf: u32) -> bool {
        let mut at = Some(self.of_leaf(leaf));
        while let Some(node) = at.filter(|&n| n != group) {
            at = self.node(node).parent;
        }
        at.is_some()
    }

    pub(super) fn empty(lod: Arc<Lod>) -> Self {
        Self {
            nodes: Vec::new(),
            roots: Vec::new(),
            of_leaf: vec![NodeId(u32::MAX); lod.leaves().len()],
            summaries: Vec::new(),
            lod,
        }
    }

    /// Appends a node to its parent (or to the outermost level).
    pub(super) fn push(&mut self, parent: Option<NodeId>, mut node: Node) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        node.parent = parent;
        node.depth = parent.map_or(0, |p| self.node(p).depth.saturating_add(1));
        if let NodeKind::Leaf(leaf) = node.kind {
            self.of_leaf[leaf as usize] = id;
        }
        self.nodes.push(node);
        match parent {
            Some(p) => self.nodes[p.0 as usize].children.push(id),
            None => self.roots.push(id),
        }
        id
    }

    /// Puts a short word beside a node.
    pub(super) fn set_note(&mut self, node: NodeId, note: String) {
        self.nodes[node.0 as usize].note = note;
    }

    /// The levels of detail that the leaves belong to.
    #[must_use]
    pub fn lod(&self) -> &Arc<Lod> {
        &self.lod
    }

    /// All nodes.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Ids of all nodes.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(NodeId)
    }

    /// A node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// Outermost nodes, in display order.
    #[must_use]
    pub fn roots(&self) -> &[NodeId] {
        &self.roots
    }

    /// A node and what is beside it in its group, in display order.
    #[must_use]
    pub fn beside(&self, id: NodeId) -> &[NodeId] {
        match self.node(id).parent {
            Some(parent) => &self.node(parent).children,
            None => &self.roots,
        }
    }

    /// The node of a leaf of [`Lod::leaves`].
    #[must_use]
    pub fn of_leaf(&self, leaf: u32) -> NodeId {
        self.of_leaf[leaf as usize]
    }

    /// The nodes of a lane: one, or two where API calls have a row of their own.
    pub fn of_lane(&self, lane: LaneId) -> impl Iterator<Item = NodeId> {
        self.lod.leaves_of(lane).map(|leaf| self.of_leaf(leaf))
    }

    /// The node with a stable key.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<NodeId> {
        self.ids().find(|&id| self.node(id).key == key)
    }

    /// The lane and its part, for lanes.
    #[must_use]
    pub fn lane(&self, node: NodeId) -> Option<(LaneId, Part)> {
        match self.node(node).kind {
            NodeKind::Leaf(leaf) => {
                let leaf = self.lod.leaf(leaf);
                Some((leaf.lane, leaf.part))
            }
            _ => None,
        }
    }

    /// All leaves at or below a node, in display order.
    #[must_use]
    pub fn leaves_below(&self, node: NodeId) -> Vec<u32> {
        let mut out = Vec::new();
        let mut todo = vec![node];
        while let Some(id) = todo.pop() {
            let n = self.node(id);
            if let NodeKind::Leaf(leaf) = n.kind {
                out.push(leaf);
            }
            todo.extend(n.children.iter().rev());
        }
        out
    }

    /// All groups, with the leaves in them.
    pub fn groups(&self) -> impl Iterator<Item = (NodeId, Vec<u32>)> {
        let groups = self.ids().filter(|&id| self.node(id).kind.is_group());
        groups.map(|id| (id, self.leaves_below(id)))
    }

    /// The path of titles from the outermost group to a node, for screen readers and the status bar.
    #[must_use]
    pub fn path(&self, node: NodeId) -> Vec<&str> {
        let mut out = vec![self.node(node).title.as_str()];
        let mut at = self.node(node).parent;
        while let Some(id) = at {
            out.push(&self.node(id).title);
            at = self.node(id).parent;
        }
        out.reverse();
        out
    }
}
