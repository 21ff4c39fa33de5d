//! Overlap analysis: who the GPU waited for, exactly, from a [`Trace`].
//!
//! Owns intervals, layer rules, every figure and the verdicts. Knows no file format and no pixel, does no input or
//! output, and is deterministic: equal traces and options give equal figures.

use std::sync::Arc;

use crate::model::{DeviceId, LaneId, Role, SpanId, Trace};
use crate::time::TimeRange;

mod intervals;
mod layers;

pub use intervals::Union;
pub use layers::{LayerClass, LayerId, LayerInfo, Layers};

/// Everything that is computed once per trace. Windowed figures are derived from it in O(log n) per array.
pub struct Analysis {
    trace: Arc<Trace>,
    layers: Layers,
    roles: Vec<Role>,
    autograd: Vec<bool>,
    gpus: Vec<Gpu>,
    ranks: Vec<Rank>,
    waits: Vec<Wait>,
    tails: Vec<Tail>,
}

/// One GPU that has operations.
#[derive(Clone, Debug)]
pub struct Gpu {
    /// The device.
    pub device: DeviceId,
    /// Its key in reports: the number in the file, made unique where sources share numbers.
    pub key: String,
    /// Any operation runs (kernels, copies, memsets).
    pub busy: Union,
    /// Inside the record and not busy.
    pub idle: Union,
    /// Where the record tells whether the GPU worked; outside it the GPU is "not recorded", not idle.
    pub record: TimeRange,
}

/// One training process of a distributed job (rank 0 for a single one).
#[derive(Clone, Debug)]
pub struct Rank {
    /// Its number.
    pub rank: u32,
    /// The CPU lane of the training loop, if one was found.
    pub loop_lane: Option<LaneId>,
    /// Index of its primary GPU in [`Analysis::gpus`]; `None` without GPU operations.
    pub gpu: Option<usize>,
    /// The loop waits for a batch.
    pub wait: Union,
    /// Of `wait`: the GPU had nothing to do.
    pub wait_exposed: Union,
    /// Of `wait`: the GPU worked meanwhile.
    pub wait_hidden: Union,
    /// Of `wait`: nobody knows what the GPU did.
    pub wait_unrecorded: Union,
    /// Steps of the loop, ascending, disjoint.
    pub steps: Vec<Step>,
}

/// One iteration of a training loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// `[start, end)`.
    pub range: TimeRange,
    /// Number or name, for display.
    pub label: String,
    /// First of a loader's run: its wait is start-up.
    pub first: bool,
}

/// One batch wait: a maximal interval in which the loop waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Index in [`Analysis::ranks`].
    pub rank: usize,
    /// When.
    pub range: TimeRange,
    /// The outermost span that makes it.
    pub span: SpanId,
    /// Index in the rank's steps, of the step that it lies in.
    pub step: Option<usize>,
    /// Of it exposed, ns.
    pub exposed: i64,
    /// Of it hidden, ns.
    pub hidden: i64,
    /// Of it not recorded, ns.
    pub unrecorded: i64,
}

/// A CPU span whose GPU work ends after it, by more than max(100 µs, 5 % of the span), outermost of those with the
/// same last operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The CPU span.
    pub span: SpanId,
    /// The operation that ends last.
    pub last_op: SpanId,
    /// End of that operation minus end of the span, ns.
    pub lag: i64,
}

impl Analysis {
    /// The trace.
    #[must_use]
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }
    /// Layers of all spans.
    #[must_use]
    pub fn layers(&self) -> &Layers {
        &self.layers
    }
    /// The role of a lane.
    #[must_use]
    pub fn role(&self, lane: LaneId) -> Role {
        self.roles[lane.index()]
    }
    /// Whether an autograd engine runs on a lane.
    #[must_use]
    pub fn is_autograd(&self, lane: LaneId) -> bool {
        self.autograd[lane.index()]
    }
    /// GPUs with operations, by device number.
    #[must_use]
    pub fn gpus(&self) -> &[Gpu] {
        &self.gpus
    }
    /// Ranks, ascending.
    #[must_use]
    pub fn ranks(&self) -> &[Rank] {
        &self.ranks
    }
    /// All batch waits, by start.
    #[must_use]
    pub fn waits(&self) -> &[Wait] {
        &self.waits
    }
    /// CPU spans that end before their GPU work, by span id.
    #[must_use]
    pub fn tails(&self) -> &[Tail] {
        &self.tails
    }
}
