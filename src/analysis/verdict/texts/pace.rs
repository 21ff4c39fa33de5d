//! What a step takes, in words.

use super::counted;
use crate::analysis::figures::pace::{Basis, Pace};
use crate::time::about_ns;

impl Pace {
    /// What a step takes, and why that is not the median where both differ much.
    #[must_use]
    pub fn text(&self) -> String {
        let steps = counted(self.steps as u64, "judged step");
        let how = match self.basis {
            Basis::Median => format!("median of {steps}"),
            Basis::Drained => format!("mean of {steps}, to the end of their GPU work"),
            Basis::CpuMean => format!("mean of {steps}, CPU clock"),
        };
        let median = self.instead_of_median().map_or_else(String::new, |why| {
            format!(
                "; the CPU's steps have a median of {}: {why}",
                about_ns(self.median)
            )
        });
        format!("{} a step ({how}{median}).", about_ns(self.per_step()))
    }
}
