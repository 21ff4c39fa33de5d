//! What the user did to the rows. Keyed by stable texts, so that it can be kept per trace.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

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
    /// What lanes and groups are called instead of their titles.
    pub names: BTreeMap<String, String>,
    /// Those that the user moved: in this order they take the places that they have among what is beside them.
    pub order: Vec<String>,
    /// Rows of few points without names, so that more than a hundred lanes fit one screen.
    pub dense: bool,
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

impl RowState {
    /// Calls a lane or group something else; an empty name is its title again.
    pub fn rename(&mut self, tree: &RowTree, node: NodeId, name: &str) {
        let (node, name) = (tree.node(node), name.trim());
        if name.is_empty() || name == node.title {
            self.names.remove(&node.key);
        } else {
            self.names.insert(node.key.clone(), name.to_owned());
        }
    }

    /// Nodes of one group in the order that the user gave them.
    #[must_use]
    pub fn ordered(&self, tree: &RowTree, nodes: &[NodeId]) -> Vec<NodeId> {
        if self.order.is_empty() {
            return nodes.to_vec();
        }
        let places: HashMap<&str, usize> = self.order.iter().map(String::as_str).zip(0..).collect();
        let place = |id: NodeId| places.get(tree.node(id).key.as_str()).copied();
        let mut listed: Vec<NodeId> = nodes
            .iter()
            .copied()
            .filter(|&n| place(n).is_some())
            .collect();
        listed.sort_by_key(|&id| place(id));
        let mut listed = listed.into_iter();
        let chosen = |&id: &NodeId| match place(id) {
            Some(_) => listed.next().unwrap_or(id),
            None => id,
        };
        nodes.iter().map(chosen).collect()
    }

    /// Moves a lane or group up or down by one place among what shows beside it.
    pub fn step(&mut self, tree: &RowTree, node: NodeId, down: bool) {
        let all = self.ordered(tree, tree.beside(node));
        let shown = all
            .iter()
            .copied()
            .filter(|&n| n == node || !self.hidden.contains(&tree.node(n).key));
        let next = match down {
            true => shown.skip_while(|&n| n != node).nth(1),
            false => shown.take_while(|&n| n != node).last(),
        };
        if let Some(next) = next {
            self.place(tree, node, next, down);
        }
    }

    /// Puts a lane or group before another one of the same group, or behind it. Of different groups nothing happens.
    pub fn place(&mut self, tree: &RowTree, node: NodeId, other: NodeId, behind: bool) {
        let mut all = self.ordered(tree, tree.beside(node));
        if node == other || !all.contains(&other) {
            return;
        }
        all.retain(|&n| n != node);
        let at = all.iter().position(|&n| n == other).unwrap_or(0);
        all.insert(at + usize::from(behind), node);
        let keys: Vec<String> = all.iter().map(|&n| tree.node(n).key.clone()).collect();
        let own: HashSet<&String> = keys.iter().collect();
        self.order.retain(|key| !own.contains(key));
        drop(own);
        self.order.extend(keys);
    }
}

fn flip(set: &mut BTreeSet<String>, key: &str) {
    if !set.remove(key) {
        set.insert(key.to_owned());
    }
}
