//! Columns of waits for a batch.

use super::Get::{Count, Text, Time};
use super::{Column, number};
use crate::analysis::{Analysis, Cause, WaitRow};
use crate::time::{about_ns, format_ns};

/// Waits of the loop for a batch.
pub const WAIT: &[Column<WaitRow>] = columns! { WaitRow:
    "step" "Step" "The step that the wait lies in": Text(|a, w| Some(step(a, w)?.into()));
    "rank" "Rank" "Distributed rank": Count(|a, w| number(a, w.wait.rank));
    "start" "Start" "When the loop began to wait": Time(|_, w| Some(w.wait.range.start));
    "wait" "Wait" "How long the training loop was blocked": Time(|_, w| Some(w.wait.range.len()));
    "hidden" "Hidden" "Of it the GPU was still working": Time(|_, w| w.wait.hidden);
    "exposed" "Exposed" "Of it the GPU had nothing to do: what loading costs": Time(|_, w| w.wait.exposed);
    "unrecorded" "Not recorded" "Of it there is no GPU data": Time(|_, w| Some(w.wait.unrecorded));
    "worker" "Worker" "Process that made the batch, as far as the record tells": Text(|a, w| Some(a.cause(w.index)?.pid.as_deref()?.into()));
    "spent" "Mostly" "What most of the wait was spent on": Text(|a, w| Some(mostly(a.cause(w.index)?)?.into()));
    "kind" "Kind" "What kind of wait it was": Text(|a, w| Some(a.cause(w.index)?.kind.key().replace('_', " ").into()));
    "item" "Item" "The item that held it up: at least half of the wait and twice the usual time":
        Time(|a, w| Some(a.cause(w.index)?.item.as_ref()?.range.len()));
    "file" "File" "What that item read longest": Text(|a, w| Some(file(a, w)?.into()));
    "workers" "What workers did" "Loading work while the loop waited": Text(|a, w| Some(workers(a, w).into()));
};

fn step<'a>(analysis: &'a Analysis, row: &WaitRow) -> Option<&'a str> {
    let rank = &analysis.ranks()[row.wait.rank];
    Some(rank.steps[row.wait.step?].short())
}

/// The group that most of a wait went to, with its time; nothing where nobody can say.
fn mostly(cause: &Cause) -> Option<String> {
    let group = cause.dominant;
    let ns = cause.parts.group(group);
    (!group.is_untold()).then(|| format!("{} {}", group.word(), about_ns(ns)))
}

/// The file that the item to blame read longest.
fn file<'a>(analysis: &'a Analysis, row: &WaitRow) -> Option<&'a str> {
    let (file, _) = analysis.cause(row.index)?.item.as_ref()?.files.first()?;
    Some(analysis.causes(row.wait.rank).file(*file))
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
