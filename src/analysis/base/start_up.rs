//! What starting the loader takes of a loop.

use super::waits::{LoopWait, LoopWaits, MakeHow};
use crate::time::TimeRange;

/// Time that a loop spent on starting its loader, ns. Each part is in no other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartUp {
    /// Runs of the loader.
    pub runs: usize,
    /// The first waits.
    pub first: i64,
    /// Making iterators outside of waits.
    pub make_outside: i64,
    /// Waits that ended without a batch.
    pub end: i64,
}

impl StartUp {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.first + self.make_outside + self.end
    }
}

impl LoopWaits {
    /// What starting the loader took.
    #[must_use]
    pub fn start_up(&self) -> StartUp {
        self.start_up_in(TimeRange {
            start: i64::MIN,
            end: i64::MAX,
        })
    }

    /// The same in a window: waits are cut by it, an iterator is made in it where its first wait begins there.
    #[must_use]
    pub fn start_up_in(&self, window: TimeRange) -> StartUp {
        let cut = |w: &LoopWait| w.range.clip(window).len();
        let (mut out, mut runs) = (StartUp::default(), self.runs.iter());
        for wait in &self.all {
            if wait.first {
                let run = runs.next();
                if window.contains(wait.range.start) {
                    let outside = run.filter(|r| r.make_how == Some(MakeHow::SeedDraw));
                    out.make_outside += outside.and_then(|r| r.make).unwrap_or(0);
                    out.runs += 1;
                }
                out.first += cut(wait);
            } else if !wait.is_batch() {
                out.end += cut(wait);
            }
        }
        out
    }
}
