//! What collapsed groups show, made once for all groups.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::tree::{Busy, NodeId, RowTree, Summary};
use crate::analysis::{Analysis, Cancelled, OnProgress, Union};
use crate::model::Trace;
use crate::view::lod::{GroupRow, Leaf, Tree};

/// One summary per node; empty ones for lanes.
pub(super) fn all(
    trace: &Trace,
    analysis: &Analysis,
    tree: &RowTree,
    on: OnProgress<'_>,
) -> Result<Vec<Arc<Summary>>, Cancelled> {
    let ids: Vec<NodeId> = tree.ids().collect();
    let mut out = ids
        .par_iter()
        .map(|&id| one(trace, analysis, tree, id, on))
        .collect::<Result<Vec<Arc<Summary>>, Cancelled>>()?;
    // From the inside out: a group that holds nothing but another group shows the same.
    for &id in ids.iter().rev() {
        if let Some(child) = only_child(tree, id) {
            out[id.0 as usize] = Arc::clone(&out[child.0 as usize]);
        }
    }
    Ok(out)
}

/// The one group in a group, where there is nothing else in it.
fn only_child(tree: &RowTree, id: NodeId) -> Option<NodeId> {
    match tree.node(id).children[..] {
        [child] if tree.node(child).kind.is_group() => Some(child),
        _ => None,
    }
}

fn one(
    trace: &Trace,
    analysis: &Analysis,
    tree: &RowTree,
    id: NodeId,
    on: OnProgress<'_>,
) -> Result<Arc<Summary>, Cancelled> {
    if !tree.node(id).kind.is_group() || only_child(tree, id).is_some() {
        return Ok(Arc::default());
    }
    let lod = tree.lod();
    let leaves = tree.leaves_below(id);
    let busy = match leaves[..] {
        [] => Busy::Never,
        [leaf] if lod.leaf(leaf).is_its_first_row() => Busy::Leaf(leaf),
        _ => {
            let leaves: Vec<&Leaf> = leaves.iter().map(|&l| lod.leaf(l)).collect();
            let row = GroupRow::new(trace, analysis.layers(), &leaves, on)?;
            Busy::Group(row)
        }
    };
    let waits = waits(tree, &leaves);
    let mut exposed = Union::empty();
    for wait in &lod.waits()[waits.clone()] {
        exposed = exposed.unite(&wait.exposed);
    }
    Ok(Arc::new(Summary {
        busy,
        lanes: leaves.len(),
        waits,
        exposed_tree: Tree::of_union(&exposed),
        exposed,
    }))
}

/// The batch waits on these leaves; those of a rank lie side by side, and a group holds one rank or all.
fn waits(tree: &RowTree, leaves: &[u32]) -> Range<usize> {
    let waits = tree.lod().waits();
    let leaves: BTreeSet<u32> = leaves.iter().copied().collect();
    let own = |w: &crate::view::lod::WaitRow| leaves.contains(&w.leaf);
    let first = waits.iter().position(own).unwrap_or(0);
    let count = waits[first..].iter().take_while(|w| own(w)).count();
    first..first + count
}
