//! The clock of one recording against that of its run's reference: what is known of it, and where it is placed.

use std::collections::BTreeMap;

use super::relations::{Relation, Witness};
use crate::analysis::sums::drift::Distance;
use crate::time::{about_ns, format_ns};

/// Why a recording lies where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Where its clock says.
    Stated,
    /// Where the user said.
    ByHand,
    /// Collectives end together.
    Estimate,
    /// In the middle of what is possible.
    Middle,
}

impl Placement {
    /// The words of reports.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Stated => "stated",
            Self::ByHand => "by hand",
            Self::Estimate => "estimate",
            Self::Middle => "middle",
        }
    }
}

/// The clock of one recording against that of its run's reference. Times in ns on the reference's own clock.
#[derive(Clone, Debug)]
pub struct ClockRelation {
    /// Index in [`super::Identity::recordings`].
    pub recording: usize,
    /// Index of the reference: the recording with the loop's steps.
    pub reference: usize,
    /// Its clock minus the reference's, as it is placed.
    pub offset: i64,
    /// What is possible, [time, least, greatest], at the first witness, a quarter on, in the middle, at the last one.
    pub at: Vec<(i64, Option<[i64; 2]>)>,
    /// What is possible in the middle; `None` where nothing tells it, or in a contradiction.
    pub interval: Option<[i64; 2]>,
    /// At the first and at the last witness.
    pub ends: [Option<[i64; 2]>; 2],
    /// How much faster it may run, ppb, least and most.
    pub drift: Option<[i64; 2]>,
    /// Why it is placed there.
    pub how: Placement,
    /// Where collectives say that it is, as they end together.
    pub estimate: Option<i64>,
    /// How many pairs of spans tell it.
    pub witnesses: BTreeMap<Relation, usize>,
    /// The two bounds that exclude each other most, lower and upper.
    pub contradiction: Option<[Witness; 2]>,
    /// Whether anything at all relates the clocks: a witness, or a host that both are on.
    pub related: bool,
    /// Both hosts are known and differ.
    pub hosts_differ: bool,
    /// Ranks of both count the same collectives, and did not leave them together: they are not of one job.
    pub ends_apart: bool,
    pub(super) distance: Option<Distance>,
}

impl ClockRelation {
    /// The interval in words: `-16.3 µs to 4.8 µs`, or why there is none.
    #[must_use]
    pub fn apart(&self) -> String {
        match self.interval {
            Some([low, high]) => format!("{} to {}", format_ns(low), format_ns(high)),
            None if self.is_doubted() => "contradiction".to_owned(),
            None => "cannot be told".to_owned(),
        }
    }

    /// The witnesses in words: `24 fetches`.
    #[must_use]
    pub fn told_by(&self) -> String {
        let of = |(relation, n): (&Relation, &usize)| {
            let what = match relation {
                Relation::Nested => "fetches of both",
                Relation::Collective => "collectives",
                Relation::Chain => "other file of both",
            };
            format!("{n} {what}")
        };
        let all: Vec<String> = self.witnesses.iter().map(of).collect();
        match all.is_empty() {
            true => "nothing".to_owned(),
            false => all.join(", "),
        }
    }

    /// Both in a few words: half the width of the interval, and what tells it: `±11 µs, 24 waits`.
    #[must_use]
    pub fn chip(&self) -> String {
        let Some([low, high]) = self.interval else {
            return match self.is_doubted() {
                true => "clocks contradict".to_owned(),
                false => "clock unknown".to_owned(),
            };
        };
        let half = (high.saturating_sub(low)).saturating_add(1) / 2;
        let by = match self.witnesses.get(&Relation::Nested) {
            Some(1) => ", 1 wait".to_owned(),
            Some(n) => format!(", {n} waits"),
            None => String::new(),
        };
        format!("±{}{by}", about_ns(half))
    }

    /// What is possible at a time of the reference's clock.
    pub(super) fn possible(&self, t: i64) -> Option<[i64; 2]> {
        self.distance.as_ref()?.at(t)
    }

    /// First and last time at which anything tells it, on the reference's clock.
    pub(super) fn told_at(&self) -> Option<[i64; 2]> {
        Some([self.at.first()?.0, self.at.last()?.0])
    }

    /// Whether what relates the clocks speaks against itself.
    #[must_use]
    pub fn is_doubted(&self) -> bool {
        self.contradiction.is_some() || self.ends_apart
    }

    /// Whether it lies where it does in spite of all relations.
    pub(super) fn is_fixed(&self) -> bool {
        self.how == Placement::ByHand || self.is_doubted()
    }

    /// By how much the recording may be moved at a time of the trace and still fit all witnesses, ns; `None` where nothing
    /// tells it.
    #[must_use]
    pub fn slack(&self, t: i64, unix_origin: Option<i64>) -> Option<[i64; 2]> {
        let [low, high] = self.distance.as_ref()?.at(t.saturating_add(unix_origin?))?;
        Some([
            low.saturating_sub(self.offset),
            high.saturating_sub(self.offset),
        ])
    }
}

/// The name of a host up to its first dot, as hosts are compared.
pub(super) fn short(host: &str) -> String {
    host.split('.').next().unwrap_or_default().to_lowercase()
}

/// The middle of an interval, toward the lower end.
pub(super) fn middle_of([low, high]: [i64; 2]) -> i64 {
    let sum = i128::from(low) + i128::from(high);
    i64::try_from(sum.div_euclid(2)).unwrap_or(0)
}
