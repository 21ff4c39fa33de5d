//! Layers: what each span is for the analysis and for its colour.

use crate::model::SpanId;

/// A layer's place in [`Layers::infos`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LayerId(pub u16);

/// How a layer is drawn and which totals it enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LayerClass {
    /// `fetch`: the loop waits for a batch.
    Wait,
    /// `gpu.compute`.
    GpuCompute,
    /// `gpu.comm`.
    GpuComm,
    /// `gpu.h2d`, `gpu.d2h`, `gpu.d2d`, `gpu.p2p`, `gpu.memset`.
    GpuCopy,
    /// `gpu.annotation`, `gpu.sync`: never busy.
    GpuMark,
    /// `forward`, `backward`, `optimizer`, `compute`, `comm`, `checkpoint`, `eval`, `h2d` and CPU detail: ops, python.
    Cpu,
    /// `app`, `train`, `epoch`, `step`, `body`: containers.
    Container,
    /// `load`, `transform`, `pin`: loading work.
    Load,
    /// `io.read`, `io.write`, `io.meta`, `io.other`.
    Io,
    /// `launch`, `cuda_api`, `overhead`, `annotation`, `os.block` and everything else.
    Api,
    /// `sync`, `syncop`: calls that wait for the GPU.
    Sync,
}

/// A layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerInfo {
    /// Its name in rule files and reports: `gpu.compute`, `fetch`.
    pub name: String,
    /// Its name in the window: `GPU compute`, `Batch wait`.
    pub title: String,
    /// How it is drawn.
    pub class: LayerClass,
}

/// The layer of every span. Two bytes per span.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    pub(super) infos: Vec<LayerInfo>,
    pub(super) of: Vec<LayerId>,
}

impl Layers {
    /// All layers that occur or are known.
    #[must_use]
    pub fn infos(&self) -> &[LayerInfo] {
        &self.infos
    }
    /// A layer.
    #[must_use]
    pub fn info(&self, id: LayerId) -> &LayerInfo {
        &self.infos[usize::from(id.0)]
    }
    /// The layer of a span.
    #[must_use]
    pub fn of(&self, span: SpanId) -> LayerId {
        self.of[span.index()]
    }
    /// The drawing class of a span.
    #[must_use]
    pub fn class_of(&self, span: SpanId) -> LayerClass {
        self.info(self.of(span)).class
    }
    /// The layer of a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<LayerId> {
        let i = self.infos.iter().position(|l| l.name == name)?;
        Some(LayerId(u16::try_from(i).ok()?))
    }
}
