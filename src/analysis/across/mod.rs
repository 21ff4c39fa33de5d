//! Ranks that are never open together: each is reduced to a row while its trace is open, and the rows are judged beside each
//! other.
//!
//! ```text
//! trace of rank 0 ─▶ Analysis ─▶ RankRow ─┐
//! trace of rank 1 ─▶ Analysis ─▶ RankRow ─┼─▶ Across: who is late, how often, how much, why
//! …                                       ┘
//! ```
//!
//! What is judged is judged by the same functions as of ranks that are opened together: `collectives` matches, `verdict`
//! charges and words. `row` says what is kept of a rank, `packed` how the largest part of it is, `pass` judges, `steps`
//! puts steps of ranks beside each other.

pub(super) mod packed;
pub(super) mod pass;
pub(super) mod row;
pub(super) mod steps;
