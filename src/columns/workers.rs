//! Columns of loading processes.

use super::Get::{Count, Share, Text, Time};
use super::Output::Json;
use super::{Column, number};
use crate::analysis::WorkerRow;

/// Loading work by process.
pub const WORKER: &[Column<WorkerRow>] = columns! { WorkerRow:
    "process" "Process" "Process id": Text(|_, w| Some(w.key.as_str().into())), text("process"), not_in(Json);
    "rank" "Rank" "Rank that it loads for": Count(|a, w| number(a, w.rank)), not_in(Json);
    "load" "Loading" "Time with at least one loading span": Time(|_, w| Some(w.load)), text("load");
    "util" "Utilisation" "Loading as a share of the range": Share(|_, w| (w.load, w.window)), text("of time");
    "hidden" "Hidden" "Of it the GPU worked": Time(|_, w| w.hidden), text("hidden");
    "exposed" "Exposed" "Of it the GPU had nothing to do": Time(|_, w| w.exposed), text("exposed");
    "unrecorded" "Not recorded" "Of it there is no GPU data": Time(|_, w| Some(w.unrecorded));
    "during_wait" "During waits" "Of it the loop waited for a batch":
        Time(|_, w| Some(w.during_wait)), text("during waits");
    "n" "Items" "Loading spans that start in the range": Count(|_, w| Some(w.n)), text("loads");
    "whole_median" "Median item" "Median of their whole durations": Time(|_, w| w.whole_median), text("median");
};
