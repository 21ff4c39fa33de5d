//! Columns of predictions.

use super::Column;
use super::Get::{Count, Flag, Rate, Share, Time};
use super::Output::{Json, Panel, Text as Report};
use crate::analysis::WhatIf;

/// Predictions for numbers of workers.
pub const WHAT_IF: &[Column<WhatIf>] = columns! { WhatIf:
    "workers" "Workers" "Loader processes":
        Count(|_, w| Some(w.workers.into())), text("workers"), not_in(Json), not_in(Panel);
    "step" "Step" "Length of a step": Time(|_, w| whole(w.step)), text("step ms");
    "wait" "Wait per step" "Of it the loop waits for its batch": Time(|_, w| whole(w.wait)), text("wait ms");
    "job" "Whole job" "Length of the job": Time(|_, w| whole(w.job)), text("job ms");
    "of_job" "Of measured job" "The job as a share of the measured one":
        Share(|_, w| (whole(w.job).unwrap_or(0), w.measured_job)), text("of measured job"), only_in(Report);
    "R" "Loader gives" "Samples that loading gives, or batches where their size is unknown": Rate(|_, w| w.rates.loader);
    "stalled" "Stalled" "The loader gives less than the GPU could take": Flag(|_, w| w.rates.stalled), not_in(Panel);
};

#[expect(
    clippy::cast_possible_truncation,
    reason = "modelled times far below 2^63 ns"
)]
fn whole(ns: f64) -> Option<i64> {
    ns.is_finite().then_some(ns.round() as i64)
}
