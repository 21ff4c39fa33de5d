//! What a recorder's clock says.

use super::model::Span;

/// A clock: so far ahead at the beginning of the job, and so much faster. The default is the true time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// At the beginning of the job, ns.
    pub offset: i64,
    /// Parts in a billion.
    pub drift_ppb: i64,
}

impl Clock {
    /// What it says at a time since the job began, ns.
    pub fn at(self, t: i64) -> i64 {
        let drifted = i128::from(t) * i128::from(self.drift_ppb) / 1_000_000_000;
        t + self.offset + i64::try_from(drifted).unwrap_or(0)
    }

    pub fn span(self, at: Span) -> Span {
        Span::new(self.at(at.start), self.at(at.end))
    }
}

/// A host that a part of the job ran on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    pub clock: Clock,
}
