//! The steps that limits, comparisons and predictions are about: whole steps of the window without the first of each
//! loader's run, whose wait is start-up; all of them where fewer than two others remain. As the verdicts do.

use super::analyse::Analysed;
use crate::analysis::{StepRow, counted, percentile, steady};
use crate::time::format_count;

/// Steps of one rank.
pub struct Steady<'a> {
    /// The steps.
    pub rows: Vec<&'a StepRow>,
    /// Whole steps in the window, first ones included.
    pub all: usize,
}

impl<'a> Steady<'a> {
    /// Of a rank.
    pub fn of(a: &'a Analysed, rank: usize) -> Self {
        let (rows, _partial) = a.analysis.step_rows(rank, a.window);
        let all = rows.len();
        let (rows, _filtered) = steady(&rows);
        Self { rows, all }
    }

    /// `11 of 12 steps`.
    pub fn judged(&self) -> String {
        format!(
            "{} of {}",
            format_count(self.rows.len() as u64),
            counted(self.all as u64, "step")
        )
    }

    /// Sum of a column where it is known.
    pub fn sum(&self, column: impl Fn(&StepRow) -> Option<i64>) -> i64 {
        self.rows.iter().filter_map(|r| column(r)).sum()
    }

    /// Median of a column where it is known.
    pub fn median(&self, column: impl Fn(&StepRow) -> Option<i64>) -> Option<i64> {
        let mut values: Vec<i64> = self.rows.iter().filter_map(|r| column(r)).collect();
        percentile(&mut values, 50)
    }

    /// Length of the steps together.
    pub fn time(&self) -> i64 {
        self.sum(|row| Some(row.time()))
    }
}
