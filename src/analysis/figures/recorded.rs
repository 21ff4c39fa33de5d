//! What was recorded of a rank at all: a figure of something that no span of the record shows is unknown, not zero.

use crate::analysis::base::core::Core;
use crate::analysis::base::loops::Rank;
use crate::analysis::layers::ids::LayerId;

/// Whether a rank has a GPU with operations, and its loop waits for data; the layers that occur on its CPU lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::analysis) struct Recorded {
    gpu: bool,
    waits: bool,
    layers: Vec<bool>,
}

impl Recorded {
    /// Whether both waits for data and GPU operations were: only then the exposed part of a wait is known.
    pub fn exposure(&self) -> bool {
        self.gpu && self.waits
    }

    /// Whether spans of a layer were recorded, anywhere in the trace.
    pub fn layer(&self, layer: LayerId) -> bool {
        self.layers.get(layer.index()).copied().unwrap_or(false)
    }

    /// Whether waits of the loop for data were.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// Whether calls of the CUDA API were: only then no synchronising call means that there was none.
    pub fn syncs(&self) -> bool {
        [LayerId::SYNC, LayerId::LAUNCH, LayerId::CUDA_API]
            .iter()
            .any(|&l| self.layer(l))
    }
}

/// What was recorded of a rank.
pub(in crate::analysis) fn recorded(core: &Core, rank: &Rank) -> Recorded {
    let mut layers = vec![false; core.layers.infos().len()];
    for lane in core.rank_lanes(rank.rank) {
        for layer in &core.index(lane).layers {
            layers[layer.index()] = true;
        }
    }
    Recorded {
        gpu: rank.gpu.is_some(),
        waits: rank.n_fetch() > 0,
        layers,
    }
}
