//! Arithmetic on times: sets of intervals and what is counted and measured on them. Knows no trace.

pub(super) mod bag;
pub(super) mod drift;
pub(super) mod intervals;
pub(super) mod overlap;
pub(super) mod stats;
pub(super) mod watch;
