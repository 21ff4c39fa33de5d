//! Tables whose rows lie in each other: which of them show, and in what order.

use std::collections::BTreeSet;

/// A row's place in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The row that it lies in.
    pub parent: Option<usize>,
    /// How many rows lie around it.
    pub depth: u16,
    /// Whether rows lie in it.
    pub is_parent: bool,
    /// Whether those show until the user says otherwise.
    pub open_at_first: bool,
    /// The same for the same row when figures are made anew.
    pub key: u64,
}

/// The rows that the user opened or closed.
#[derive(Clone, Debug, Default)]
pub struct Folds {
    flipped: BTreeSet<u64>,
    /// Changes with them.
    pub turns: u64,
}

impl Folds {
    /// Opens a closed row or closes an open one.
    pub fn toggle(&mut self, key: u64) {
        if !self.flipped.remove(&key) {
            self.flipped.insert(key);
        }
        self.turns += 1;
    }

    /// Whether what lies in a row shows.
    #[must_use]
    pub fn is_open(&self, branch: &Branch) -> bool {
        branch.open_at_first != self.flipped.contains(&branch.key)
    }

    /// Sorted rows, each followed by those that lie in it; and of them those that show. Flat tables stay as they are.
    #[must_use]
    pub fn arrange(
        &self,
        sorted: Vec<u32>,
        branch: impl Fn(usize) -> Option<Branch>,
    ) -> (Vec<u32>, Vec<u32>) {
        if sorted.first().is_none_or(|&r| branch(r as usize).is_none()) {
            return (sorted.clone(), sorted);
        }
        let mut inside: Vec<Vec<u32>> = vec![Vec::new(); sorted.len()];
        let mut next = Vec::new();
        for &row in sorted.iter().rev() {
            let parent = branch(row as usize).and_then(|b| b.parent);
            match parent.and_then(|p| inside.get_mut(p)) {
                Some(rows) => rows.push(row),
                None => next.push((row, true)),
            }
        }
        let (mut all, mut shown) = (Vec::with_capacity(sorted.len()), Vec::new());
        // The next one is the last.
        while let Some((row, is_shown)) = next.pop() {
            all.push(row);
            if is_shown {
                shown.push(row);
            }
            let open = is_shown && branch(row as usize).is_some_and(|b| self.is_open(&b));
            let rows = std::mem::take(&mut inside[row as usize]);
            next.extend(rows.into_iter().map(|r| (r, open)));
        }
        (all, shown)
    }
}
