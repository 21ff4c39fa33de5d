//! What is built once per trace, and what every figure is computed from.

pub(super) mod callers;
pub(super) mod core;
pub(super) mod cycles;
pub(super) mod gpus;
pub(super) mod lanes;
pub(super) mod launches;
pub(super) mod layer_sets;
pub(super) mod loops;
pub(super) mod lost_work;
pub(super) mod marks;
pub(super) mod name_index;
pub(super) mod name_kinds;
pub(super) mod options;
pub(super) mod phases;
pub(super) mod primary;
pub(super) mod queues;
pub(super) mod rank_sets;
pub(super) mod stalls;
pub(super) mod start_up;
pub(super) mod steps;
pub(super) mod syncs;
pub(super) mod tails;
pub(super) mod waits;
