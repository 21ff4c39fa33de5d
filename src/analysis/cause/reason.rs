//! Why the cause of a wait cannot be told.

/// Why it cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Workers without a parent, and several loops.
    SeveralLoops,
    /// Nothing tells where a worker's batch ends.
    NoBatchEnds,
    /// No assignment of batches to workers is free of contradictions.
    NotAssigned,
    /// Several are.
    SeveralFit,
    /// There are too many ways to try.
    TooManyWays,
    /// How far the clocks of the loop and of its workers are apart is not known.
    ClockUnknown,
    /// The batch was late by less than those clocks may be apart.
    ClockTooWide,
    /// The record begins inside an iterator whose batches nobody counts.
    LateRecord,
    /// The batch's worker has no record.
    SilentWorker,
    /// Only the loop was recorded.
    NoWorkers,
    /// The loop loads by itself, and what it does meanwhile was not recorded.
    LoopNotRecorded,
}

impl Reason {
    /// A clause that says it.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::SeveralLoops => "the record does not tell which loop these workers serve",
            Self::NoBatchEnds => "where a batch ends is not recorded",
            Self::NotAssigned => "the record does not tell which worker made which batch",
            Self::SeveralFit => "more than one assignment of batches to workers fits the record",
            Self::TooManyWays => {
                "batches could have been assigned to workers in too many ways to try them all"
            }
            Self::ClockUnknown => {
                "how far the clocks of the loop's record and the workers' are apart is not known"
            }
            Self::ClockTooWide => {
                "the clocks of the loop's record and the workers' may be further apart than the batch was late"
            }
            Self::LateRecord => {
                "the record begins after batches were handed out: whose turn it was is not recorded"
            }
            Self::SilentWorker => "nothing of this worker was recorded",
            Self::NoWorkers => "the workers are not in this record",
            Self::LoopNotRecorded => "the loading of this loop is not recorded",
        }
    }
}
