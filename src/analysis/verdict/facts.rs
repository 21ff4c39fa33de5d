//! What a rank is judged by.

use crate::analysis::figures::judged::Judged;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::ratio;
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
    pub among: Among,
}

/// What is known of other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) enum Among {
    /// All that will ever be.
    Known,
    /// Nothing yet: communication is judged later, when the ranks are compared.
    Later,
}

impl Facts<'_> {
    /// T: the judged time.
    pub fn total(&self) -> i64 {
        self.judged.account.judged
    }
}

/// A share for a threshold; of nothing it is none.
pub(in crate::analysis) fn share_of(value: i64, of: i64) -> f64 {
    ratio(value, of).unwrap_or(0.0)
}
