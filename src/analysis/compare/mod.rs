//! Before and after: what may be said of two recordings, and how it is worked out.
//!
//! ```text
//! trace ── analysis ── sample (judged cycles, parts, kernels) ──┐
//! trace ── analysis ── sample ──────────────────────────────────┴─ unlike things ── figures ── answers
//! ```
//!
//! A side is one recording or more. Steps depend on their neighbours and recordings differ among themselves, so that a
//! difference of two medians says little: figures carry an interval, and an answer that may be "cannot be told".

mod comparison;
mod decomposition;
mod differences;
mod figure;
mod kernels;
mod sample;
mod statistics;
mod student;
mod texts;
mod unlike;

pub use comparison::{
    AlignedBy, CompareOptions, Comparison, RankComparison, StepShare, TypicalStep, compare,
};
pub use decomposition::{Decomposition, PartChange, PartClock};
pub use figure::{Answer, Direction, Figure, Reason, single};
pub use kernels::{KernelRow, Kernels, Presence};
pub use sample::{COLUMNS, Recording, Sample, SampleKernel, SampleRow};
pub use statistics::Between;
pub use texts::{Wording, decimals, signed};
pub use unlike::{Alike, Effect, Told, Unlike, UnlikeWhat};
