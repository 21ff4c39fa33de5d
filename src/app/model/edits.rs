//! What the user did to lanes and marks, to take it back.

use std::sync::Arc;

use crate::view::{Note, RowState};

/// Changes that can be taken back; older ones are forgotten.
const MOST: usize = 100;

/// Lanes and marks as they were.
#[derive(Clone, PartialEq, Eq)]
pub struct Edited {
    /// Lanes.
    pub rows: RowState,
    /// Marks.
    pub notes: Arc<[Note]>,
}

/// What was changed, and what of that was taken back.
#[derive(Default)]
pub struct Edits {
    done: Vec<Edited>,
    undone: Vec<Edited>,
}

impl Edits {
    /// Remembers how it was before a change. What is typed to filter lanes is no change.
    pub fn changed(&mut self, before: Edited, after: &Edited) {
        let mut same = before.clone();
        same.rows.filter.clone_from(&after.rows.filter);
        if same == *after {
            return;
        }
        if self.done.len() >= MOST {
            self.done.remove(0);
        }
        self.done.push(before);
        self.undone.clear();
    }

    /// How it was before the last change, or after the one that was taken back last.
    pub fn step(&mut self, back: bool, now: Edited) -> Option<Edited> {
        let (from, to) = match back {
            true => (&mut self.done, &mut self.undone),
            false => (&mut self.undone, &mut self.done),
        };
        let then = from.pop()?;
        to.push(now);
        Some(then)
    }

    /// Whether there is something to take back, or to do again.
    #[must_use]
    pub fn can(&self, back: bool) -> bool {
        match back {
            true => !self.done.is_empty(),
            false => !self.undone.is_empty(),
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_taken_back_and_done_again() {
        let with = |pinned: &str, filter: &str| Edited {
            rows: RowState {
                pinned: vec![pinned.to_owned()],
                filter: filter.to_owned(),
                ..RowState::default()
            },
            notes: Arc::default(),
        };
        let mut edits = Edits::default();
        edits.changed(with("a", ""), &with("a", "typed"));
        assert!(!edits.can(true));
        edits.changed(with("a", ""), &with("b", ""));
        let back = edits.step(true, with("b", ""));
        assert!(back.is_some_and(|e| e == with("a", "")));
        assert!(!edits.can(true) && edits.can(false));
        let again = edits.step(false, with("a", ""));
        assert!(again.is_some_and(|e| e == with("b", "")));
        edits.changed(with("b", ""), &with("c", ""));
        assert!(!edits.can(false));
    }
}
