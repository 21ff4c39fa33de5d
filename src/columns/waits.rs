//! Columns of waits for a batch.

use super::Get::{Count, Text, Time};
use super::{Column, number};
use crate::analysis::{Analysis, WaitRow};
use crate::time::format_ns;

/// Waits of the loop for a batch.
pub const WAIT: &[Column<WaitRow>] = columns! { WaitRow:
    "step" "Step" "The step that the wait lies in": Text(|a, w| Some(step(a, w)?.into()));
    "rank" "Rank" "Distributed rank": Count(|a, w| number(a, w.wait.rank));
    "start" "Start" "When the loop began to wait": Time(|_, w| Some(w.wait.range.start));
    "wait" "Wait" "How long the training loop was blocked": Time(|_, w| Some(w.wait.range.len()));
    "hidden" "Hidden" "Of it the GPU was still working": Time(|_, w| w.wait.hidden);
    "exposed" "Exposed" "Of it the GPU had nothing to do: what loading costs": Time(|_, w| w.wait.exposed);
    "unrecorded" "Not recorded" "Of it nobody knows what the GPU did": Time(|_, w| Some(w.wait.unrecorded));
    "workers" "What workers did" "Loading work while the loop waited": Text(|a, w| Some(workers(a, w).into()));
};

fn step<'a>(analysis: &'a Analysis, row: &WaitRow) -> Option<&'a str> {
    let rank = &analysis.ranks()[row.wait.rank];
    Some(rank.steps[row.wait.step?].short())
}

/// How many workers loaded during a wait, and for how long together.
fn workers(analysis: &Analysis, row: &WaitRow) -> String {
    let (busy, of) = (row.loading.busy, row.loading.of);
    match of {
        0 if analysis.loads_by_itself(row.wait.rank) => {
            "no workers: the loop loads by itself".to_owned()
        }
        0 => "not recorded".to_owned(),
        _ => format!(
            "{busy} of {of} loading, {} together",
            format_ns(row.loading.sum)
        ),
    }
}
