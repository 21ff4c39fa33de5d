//! The steps that limits and predictions are about: those that the verdicts judge.

use super::analyse::Analysed;
use crate::analysis::{Judged, Pace, counted};
use crate::time::format_count;

/// Steps of one rank.
pub struct Steady {
    /// What is judged.
    pub judged: Judged,
    /// What the judged steps take; `None` without any.
    pub pace: Option<Pace>,
}

impl Steady {
    /// Of a rank.
    pub fn of(a: &Analysed, rank: usize) -> Self {
        let judged = a.analysis.judged(rank, a.window);
        Self {
            pace: a.analysis.pace(&judged),
            judged,
        }
    }

    /// `11 of 12 steps`.
    pub fn judged(&self) -> String {
        format!(
            "{} of {}",
            format_count(self.judged.len() as u64),
            counted(self.judged.cycles.len() as u64, "step")
        )
    }
}
