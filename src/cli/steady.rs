//! The steps that limits, comparisons and predictions are about: those that the verdicts judge.

use super::analyse::Analysed;
use crate::analysis::{Judged, Pace, StepRow, counted};
use crate::time::format_count;

/// Steps of one rank.
pub struct Steady<'a> {
    /// The steps of the judged cycles.
    pub rows: Vec<&'a StepRow>,
    /// What is judged.
    pub judged: Judged,
    /// What the judged steps take; `None` without any.
    pub pace: Option<Pace>,
}

impl<'a> Steady<'a> {
    /// Of a rank.
    pub fn of(a: &'a Analysed, rank: usize) -> Self {
        let judged = a.analysis.judged(rank, a.window);
        let (rows, _partial) = a.analysis.step_rows(rank, a.analysis.trace().extent());
        let places = judged.rows().map(|c| c.step);
        Self {
            rows: places
                .filter_map(|step| {
                    let i = rows.binary_search_by_key(&step, |r| r.step).ok()?;
                    Some(rows[i])
                })
                .collect(),
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
