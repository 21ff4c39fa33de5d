//! What was recorded of a rank at all: a figure of something that no span of the record shows is unknown, not zero.

use super::layers::LayerId;
use super::{Analysis, StepRow};

/// Whether a rank has a GPU with operations, and its loop waits for data; the layers that occur on its CPU lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    gpu: bool,
    waits: bool,
    layers: Vec<bool>,
}

/// The figures of a step that the record tells; `None` is unknown. Times in ns, each as in [`StepRow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names and meanings are those of StepRow")]
pub struct KnownStep {
    pub wait: Option<i64>,
    pub wait_exposed: Option<i64>,
    pub wait_hidden: Option<i64>,
    pub wait_unrecorded: Option<i64>,
    pub wait_hidden_by_earlier: Option<i64>,
    pub in_sync: Option<i64>,
    pub gpu_busy: Option<i64>,
    pub gpu_idle: Option<i64>,
    pub n_ops: Option<u64>,
    pub launched: Option<i64>,
}

impl Recorded {
    /// Whether GPU operations were recorded.
    #[must_use]
    pub fn gpu(&self) -> bool {
        self.gpu
    }

    /// Whether both waits for data and GPU operations were: only then the exposed part of a wait is known.
    #[must_use]
    pub fn exposure(&self) -> bool {
        self.gpu && self.waits
    }

    /// What is known of a step.
    #[must_use]
    pub fn step(&self, row: &StepRow) -> KnownStep {
        let of_waits = |ns: i64| self.waits.then_some(ns);
        let of_both = |ns: i64| self.exposure().then_some(ns);
        let of_gpu = |ns: i64| self.gpu.then_some(ns);
        KnownStep {
            wait: of_waits(row.wait),
            wait_exposed: of_both(row.wait_exposed),
            wait_hidden: of_both(row.wait_hidden),
            wait_unrecorded: of_waits(row.wait_unrecorded),
            wait_hidden_by_earlier: of_both(row.wait_hidden_by_earlier),
            in_sync: self.syncs().then_some(row.in_sync),
            gpu_busy: of_gpu(row.gpu_busy),
            gpu_idle: of_gpu(row.gpu_idle),
            n_ops: self.gpu.then_some(row.n_ops),
            launched: of_gpu(row.launched),
        }
    }

    /// Time of a step in a phase, ns; `None` where no span of that phase was recorded.
    #[must_use]
    pub fn phase(&self, row: &StepRow, phase: LayerId) -> Option<i64> {
        self.layer(phase).then(|| row.phase(phase))
    }

    /// Whether spans of a layer were recorded, anywhere in the trace.
    #[must_use]
    pub fn layer(&self, layer: LayerId) -> bool {
        self.layers.get(layer.index()).copied().unwrap_or(false)
    }

    /// Whether waits of the loop for data were.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// Whether calls of the CUDA API were: only then no synchronising call means that there was none.
    #[must_use]
    pub fn syncs(&self) -> bool {
        [LayerId::SYNC, LayerId::LAUNCH, LayerId::CUDA_API]
            .iter()
            .any(|&l| self.layer(l))
    }
}

impl Analysis {
    /// What was recorded of a rank.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn recorded(&self, rank: usize) -> Recorded {
        let number = self.ranks[rank].rank;
        let mut layers = vec![false; self.core.layers.infos().len()];
        let own = self
            .core
            .cpu_lanes()
            .filter(|&l| self.core.rank(l) == number);
        for lane in own {
            for layer in &self.core.index(lane).layers {
                layers[layer.index()] = true;
            }
        }
        Recorded {
            gpu: self.ranks[rank].gpu.is_some(),
            waits: self.ranks[rank].n_fetch > 0,
            layers,
        }
    }
}
