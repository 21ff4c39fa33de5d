//! What a rank is judged by.

use crate::analysis::figures::judged::Judged;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::ratio;
use crate::analysis::verdict::issue::Whole;
use crate::analysis::verdict::ledger::Ledger;

/// What a rank is judged by.
pub(in crate::analysis) struct Facts<'a> {
    pub rank: usize,
    pub judged: &'a Judged,
    pub ledger: &'a Ledger,
    /// Index of its GPU.
    pub gpu: Option<usize>,
    /// Its GPU's compute, communication and copies to the device in the judged steps, the latter two as far as they are
    /// not covered.
    pub compute: Union,
    pub comm: Union,
    pub h2d: Union,
    /// When it waits for other ranks in collectives, in the judged steps; `None` where none of them is matched.
    pub waiting: Option<Union>,
}

impl Facts<'_> {
    /// T: the judged time.
    pub fn total(&self) -> i64 {
        self.judged.account.judged
    }

    /// The denominator of a whole.
    pub fn of(&self, whole: Whole) -> (Whole, i64) {
        let ns = match whole {
            Whole::Judged => self.total(),
            Whole::Loop => self.judged.reach.measure(),
            Whole::Record => self.judged.account.total(),
        };
        (whole, ns)
    }
}

/// A share for a threshold; of nothing it is none.
pub(in crate::analysis) fn share_of(value: i64, of: i64) -> f64 {
    ratio(value, of).unwrap_or(0.0)
}
