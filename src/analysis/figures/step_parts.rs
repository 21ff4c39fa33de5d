//! The whole steps of a loop, each in parts, and the mean of those that are judged.

use crate::analysis::Analysis;
use crate::analysis::figures::parts::{CPU_PARTS, GPU_PARTS};
use crate::time::TimeRange;

/// A whole step in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartedStep {
    /// Index in the rank's steps.
    pub step: usize,
    /// Where it lies.
    pub range: TimeRange,
    /// Whether it is judged: those in which the loader started are not.
    pub judged: bool,
    /// Its parts, ns, in the order of [`StepParts::names`]; they add up to its length.
    pub parts: Vec<i64>,
}

/// The whole steps of a rank, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepParts {
    /// Names of the parts: those of the GPU, or without one those of the loop's thread.
    pub names: &'static [&'static str],
    /// The steps.
    pub steps: Vec<PartedStep>,
}

impl StepParts {
    /// The judged steps.
    pub fn judged(&self) -> impl Iterator<Item = &PartedStep> {
        self.steps.iter().filter(|s| s.judged)
    }

    /// Mean length of the judged steps, ns, rounded half up; `None` where none is judged.
    #[must_use]
    pub fn mean(&self) -> Option<i64> {
        self.mean_of(|s| s.range.len())
    }

    /// Mean of each part over the judged steps, ns, rounded half up; parts of nothing are left out.
    #[must_use]
    pub fn mean_parts(&self) -> Vec<(&'static str, i64)> {
        let mean = |place: usize| self.mean_of(|s| s.parts.get(place).copied().unwrap_or(0));
        let all = self.names.iter().enumerate();
        all.filter_map(|(place, name)| Some((*name, mean(place)?)))
            .filter(|(_, ns)| *ns > 0)
            .collect()
    }

    fn mean_of(&self, value: impl Fn(&PartedStep) -> i64) -> Option<i64> {
        let n = self.judged().count() as i128;
        let sum: i128 = self.judged().map(|s| i128::from(value(s))).sum();
        let mean = (2 * sum + n).checked_div_euclid(2 * n)?;
        i64::try_from(mean).ok()
    }
}

impl Analysis {
    /// The whole steps of a rank in a window, in parts; `None` without one.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn step_parts(&self, rank: usize, window: TimeRange) -> Option<StepParts> {
        let judged = self.judged(rank, window);
        let gpu = self.gpu_parts(rank);
        let step = |(place, c): (usize, &crate::analysis::CycleRow)| PartedStep {
            step: c.step,
            range: c.range,
            judged: judged.places.binary_search(&place).is_ok(),
            parts: match &gpu {
                Some(gpu) => gpu.of(c.range).to_vec(),
                None => self.cpu_parts(rank, c.range).to_vec(),
            },
        };
        let steps: Vec<PartedStep> = judged.cycles.iter().enumerate().map(step).collect();
        (!steps.is_empty()).then_some(StepParts {
            names: match gpu {
                Some(_) => &GPU_PARTS,
                None => &CPU_PARTS,
            },
            steps,
        })
    }
}
