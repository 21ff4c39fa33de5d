//! Columns of ranks.

use super::Get::{Count, Mean};
use super::Output::Json;
use super::{Column, number};
use crate::analysis::RankMeans;

/// Means of ranks over the steps that all of them have.
pub const RANK: &[Column<RankMeans>] = columns! { RankMeans:
    "rank" "Rank" "Distributed rank": Count(|a, r| number(a, r.rank)), text("rank"), not_in(Json);
    "time" "Step" "Length of the step": Mean(|_, r| r.time), text("step");
    "wait" "Wait" "The loop waits for its batch": Mean(|_, r| r.wait), text("wait");
    "wait_exposed" "Exposed" "Of it the GPU had nothing to do": Mean(|_, r| r.wait_exposed), text("exposed");
    "h2d" "H2D" "Copying to the GPU, CPU clock": Mean(|_, r| r.h2d), text("h2d");
    "forward" "Forward" "Forward phase, CPU clock": Mean(|_, r| r.forward), text("forward");
    "backward" "Backward" "Backward phase, CPU clock": Mean(|_, r| r.backward), text("backward");
    "optimizer" "Optimizer" "Optimizer phase, CPU clock": Mean(|_, r| r.optimizer), text("optimizer");
    "other" "Other" "The rest of the step": Mean(|_, r| r.other), text("other");
    "exposed_comm" "Exposed comm" "Communication that no compute covers, on its GPU":
        Mean(|_, r| r.exposed_comm), text("exposed comm");
};
