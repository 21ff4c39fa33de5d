//! What was recorded of a rank at all: a figure of something that no span of the record shows is unknown, not zero.

use super::Analysis;
use super::layers::LayerId;

/// Layers that occur on the CPU lanes of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    layers: Vec<bool>,
}

impl Recorded {
    /// Whether spans of a layer were recorded, anywhere in the trace.
    #[must_use]
    pub fn layer(&self, layer: LayerId) -> bool {
        self.layers.get(layer.index()).copied().unwrap_or(false)
    }

    /// Whether waits for data were.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.layer(LayerId::FETCH)
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
        Recorded { layers }
    }
}
