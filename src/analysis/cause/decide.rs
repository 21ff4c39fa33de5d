//! What a loop's waiting comes from, all in all: the first of a table of causes that its totals show.

use super::parts::Group;
use super::totals::{Totals, mostly};

/// Later waits below one of so many of the loop are little.
const LITTLE: i128 = 20;
/// First waits of more than so many times the later ones are what matters.
const STARTS: i64 = 2;

/// What a loop's waiting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopCause {
    /// It cannot be told.
    Unknown,
    /// The loop loads its batches itself.
    InLoop,
    /// Starting its iterators.
    Start,
    /// There is little of it.
    Little,
    /// A few files.
    SlowFiles,
    /// One worker.
    SlowWorker,
    /// A few batches.
    Bursts,
    /// Checkpoints.
    Checkpoint,
    /// What the workers mostly do.
    Of(Group),
}

impl LoopCause {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::InLoop => "in_loop",
            Self::Start => "start",
            Self::Little => "little",
            Self::SlowFiles => "slow_files",
            Self::SlowWorker => "slow_worker",
            Self::Bursts => "bursts",
            Self::Checkpoint => "checkpoint",
            Self::Of(group) => group.key(),
        }
    }

    /// Whether another number of workers is no cure for it.
    #[must_use]
    pub fn is_not_cured_by_workers(self) -> bool {
        match self {
            Self::SlowWorker
            | Self::SlowFiles
            | Self::Start
            | Self::Bursts
            | Self::Little
            | Self::Checkpoint
            | Self::Of(Group::HandOver | Group::Idle | Group::Start) => true,
            Self::Unknown | Self::InLoop | Self::Of(_) => false,
        }
    }

    /// A few words for it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Unknown => "an unknown cause",
            Self::InLoop => "loading in the loop",
            Self::Start => "starting the loader",
            Self::Little => "so little waiting",
            Self::SlowFiles => "slow files",
            Self::SlowWorker => "a slow worker",
            Self::Bursts => "bursts of slow batches",
            Self::Checkpoint => "checkpoints",
            Self::Of(group) => group.word(),
        }
    }
}

/// The cause of a loop's waiting with the group that it was mostly spent on; `None` where nothing was delivered.
#[must_use]
pub fn decide(totals: &Totals) -> Option<(LoopCause, Option<Group>)> {
    if totals.waits == 0 {
        return None;
    }
    let dominant = totals.dominant();
    let untold = totals.by_group_delivering.iter();
    let untold: i64 = untold
        .filter(|(group, _)| group.is_untold())
        .map(|(_, ns)| ns)
        .sum();
    let delivering: i64 = totals.first + totals.later;
    let little = LITTLE * i128::from(totals.later) < i128::from(totals.loop_ns);
    let starts = totals.iterators > 1 && totals.first > STARTS * totals.later;
    let cause = if 2 * untold >= delivering && delivering > 0 {
        LoopCause::Unknown
    } else if totals.by_itself {
        LoopCause::InLoop
    } else if starts && little {
        LoopCause::Start
    } else if little {
        LoopCause::Little
    } else if mostly(totals.slow_file_waits, totals.judged) && dominant == Some(Group::Read) {
        LoopCause::SlowFiles
    } else if totals.slow_worker.is_some() {
        LoopCause::SlowWorker
    } else if starts {
        LoopCause::Start
    } else if mostly(totals.burst_waits, totals.judged) {
        LoopCause::Bursts
    } else if 2 * totals.checkpoint_waits >= totals.judged && totals.judged > 0 {
        LoopCause::Checkpoint
    } else {
        LoopCause::Of(dominant?)
    };
    let group = match cause {
        LoopCause::Start => Some(totals.dominant_of_first()),
        _ => dominant,
    };
    Some((cause, group))
}
