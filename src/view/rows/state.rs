//! What the user did to the rows. Keyed by stable texts, so that it can be kept per trace.

use std::collections::BTreeSet;

use super::tree::{NodeId, RowTree};

/// Changes to the rows that the user made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowState {
    /// Groups whose collapse differs from how they start, by [`super::Node::key`].
    pub toggled: BTreeSet<String>,
    /// Pinned lanes, in the order they were pinned.
    pub pinned: Vec<String>,
    /// Hidden lanes and groups.
    pub hidden: BTreeSet<String>,
    /// Only this node and what belongs to it shows.
    pub only: Option<String>,
    /// Only lanes whose title (or that of a group around them) contains this, in any case.
    pub filter: String,
    /// Everything is expanded, whatever `toggled` says (for exports).
    pub expand_all: bool,
}

impl RowState {
    /// Collapses or expands a group; lanes stay as they are.
    pub fn toggle(&mut self, tree: &RowTree, node: NodeId) {
        if tree.node(node).kind.is_group() {
            flip(&mut self.toggled, &tree.node(node).key);
        }
    }

    /// Sets whether a group is collapsed.
    pub fn set_collapsed(&mut self, tree: &RowTree, node: NodeId, collapsed: bool) {
        if self.is_collapsed(tree, node) != collapsed {
            self.toggle(tree, node);
        }
    }

    /// Whether a group is collapsed.
    #[must_use]
    pub fn is_collapsed(&self, tree: &RowTree, node: NodeId) -> bool {
        let n = tree.node(node);
        !self.expand_all && (n.starts_collapsed != self.toggled.contains(&n.key))
    }

    /// Pins a lane, or lets it go.
    pub fn toggle_pin(&mut self, tree: &RowTree, node: NodeId) {
        let key = &tree.node(node).key;
        match self.pinned.iter().position(|k| k == key) {
            Some(i) => {
                self.pinned.remove(i);
            }
            None => self.pinned.push(key.clone()),
        }
    }

    /// Hides a lane or group.
    pub fn hide(&mut self, tree: &RowTree, node: NodeId) {
        self.hidden.insert(tree.node(node).key.clone());
    }

    /// Shows only this lane or group; the same again shows everything.
    pub fn show_only(&mut self, tree: &RowTree, node: NodeId) {
        let key = &tree.node(node).key;
        self.only = (self.only.as_ref() != Some(key)).then(|| key.clone());
    }

    /// Shows all lanes again.
    pub fn show_all(&mut self) {
        self.hidden.clear();
        self.only = None;
        self.filter.clear();
    }

    /// Expands what is around a node, so that it shows.
    pub fn reveal(&mut self, tree: &RowTree, node: NodeId) {
        let mut at = tree.node(node).parent;
        while let Some(group) = at {
            self.set_collapsed(tree, group, false);
            at = tree.node(group).parent;
        }
    }
}

fn flip(set: &mut BTreeSet<String>, key: &str) {
    if !set.remove(key) {
        set.insert(key.to_owned());
    }
}
