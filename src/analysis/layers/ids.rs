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
    /// Phases of the loop but `fetch`, and CPU detail: ops, python.
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

macro_rules! vocabulary {
    ($($id:ident = $n:literal, $name:literal, $title:literal, $class:ident;)*) => {
        impl LayerId {
            $(#[doc = concat!("`", $name, "`.")] pub const $id: Self = Self($n);)*
        }
        /// (name, title, class) of the layers that every analysis knows, by id.
        const KNOWN: &[(&str, &str, LayerClass)] = &[$(($name, $title, LayerClass::$class),)*];
    };
}

vocabulary! {
    FETCH = 0, "fetch", "Batch wait", Wait;
    H2D = 1, "h2d", "Copy to GPU", Cpu;
    FORWARD = 2, "forward", "Forward", Cpu;
    BACKWARD = 3, "backward", "Backward", Cpu;
    OPTIMIZER = 4, "optimizer", "Optimizer", Cpu;
    COMPUTE = 5, "compute", "Compute", Cpu;
    COMM = 6, "comm", "Communication", Cpu;
    CHECKPOINT = 7, "checkpoint", "Checkpoint", Cpu;
    EVAL = 8, "eval", "Evaluation", Cpu;
    GC = 9, "gc", "Garbage collection", Cpu;
    COMPILE = 10, "compile", "Compilation", Cpu;
    LOG = 11, "log", "Logging", Cpu;
    LOADER = 12, "loader", "Loader set-up", Cpu;
    APP = 13, "app", "Program", Container;
    TRAIN = 14, "train", "Training", Container;
    EPOCH = 15, "epoch", "Epoch", Container;
    STEP = 16, "step", "Step", Container;
    BODY = 17, "body", "Loop body", Container;
    LOAD = 18, "load", "Loading work", Load;
    TRANSFORM = 19, "transform", "Transform", Load;
    PIN = 20, "pin", "Pinning", Load;
    IO_READ = 21, "io.read", "Reads", Io;
    IO_WRITE = 22, "io.write", "Writes", Io;
    IO_META = 23, "io.meta", "File metadata", Io;
    IO_OTHER = 24, "io.other", "Other I/O", Io;
    OP = 25, "op", "CPU op", Cpu;
    PYTHON = 26, "python", "Python", Cpu;
    LAUNCH = 27, "launch", "Launch call", Api;
    CUDA_API = 28, "cuda_api", "CUDA API", Api;
    SYNC = 29, "sync", "Synchronisation", Sync;
    SYNCOP = 30, "syncop", "Op that waits", Sync;
    RECOMPUTE = 31, "recompute", "Recomputation", Cpu;
    OVERHEAD = 32, "overhead", "Profiler overhead", Api;
    ANNOTATION = 33, "annotation", "Annotation", Api;
    OS_BLOCK = 34, "os.block", "Blocked in the OS", Api;
    OTHER = 35, "other", "Other", Api;
    GPU_COMPUTE = 36, "gpu.compute", "GPU compute", GpuCompute;
    GPU_COMM = 37, "gpu.comm", "GPU communication", GpuComm;
    GPU_H2D = 38, "gpu.h2d", "GPU copy to device", GpuCopy;
    GPU_D2H = 39, "gpu.d2h", "GPU copy to host", GpuCopy;
    GPU_D2D = 40, "gpu.d2d", "GPU copy on device", GpuCopy;
    GPU_P2P = 41, "gpu.p2p", "GPU copy between devices", GpuCopy;
    GPU_MEMSET = 42, "gpu.memset", "GPU memset", GpuCopy;
    GPU_ANNOTATION = 43, "gpu.annotation", "GPU annotation", GpuMark;
    GPU_SYNC = 44, "gpu.sync", "GPU synchronisation", GpuMark;
    RECORDER = 45, "recorder", "Recorder", Api;
}

impl LayerId {
    /// The phases of a training loop, in the order of their ids.
    pub const PHASES: std::ops::Range<u16> = Self::FETCH.0..Self::APP.0;
    /// Phases in which the loop does not train: their time is named, and the first that fits takes it, in this order.
    pub const STALLS: [Self; 6] = [
        Self::GC,
        Self::COMPILE,
        Self::CHECKPOINT,
        Self::LOG,
        Self::LOADER,
        Self::EVAL,
    ];
    /// Forward, backward, optimizer, compute: the loop computes, on the CPU clock.
    pub const COMPUTE_PHASES: [Self; 4] = [
        Self::FORWARD,
        Self::BACKWARD,
        Self::OPTIMIZER,
        Self::COMPUTE,
    ];

    /// True for what a loop's thread can be in: the closed list of phases.
    #[must_use]
    pub fn is_phase(self) -> bool {
        self.0 < Self::APP.0
    }

    /// True for GPU work: what makes a GPU busy.
    #[must_use]
    pub fn is_operation(self) -> bool {
        Self::GPU_COMPUTE.0 <= self.0 && self.0 <= Self::GPU_MEMSET.0
    }

    /// Whether GPU time is looked for behind a CPU span of this layer: phases, annotations, steps.
    #[must_use]
    pub fn has_gpu_side(self) -> bool {
        self.is_phase() || self == Self::ANNOTATION || self == Self::STEP
    }

    /// The position in tables by layer.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
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
    pub(in crate::analysis) infos: Vec<LayerInfo>,
    pub(in crate::analysis) of: Vec<LayerId>,
}

/// The built-in layers, by id.
pub(in crate::analysis) fn known() -> Vec<LayerInfo> {
    KNOWN
        .iter()
        .map(|&(name, title, class)| LayerInfo {
            name: name.to_owned(),
            title: title.to_owned(),
            class,
        })
        .collect()
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
        &self.infos[id.index()]
    }
    /// The layer of a span.
    #[must_use]
    #[inline]
    pub fn of(&self, span: SpanId) -> LayerId {
        self.of[span.index()]
    }
    /// The layers of all spans, by span id.
    #[must_use]
    pub fn column(&self) -> &[LayerId] {
        &self.of
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_places_in_the_vocabulary() {
        let infos = known();
        assert_eq!(infos[LayerId::FETCH.index()].name, "fetch");
        assert_eq!(infos[LayerId::EVAL.index()].name, "eval");
        assert_eq!(infos[LayerId::OTHER.index()].name, "other");
        assert_eq!(infos[LayerId::RECORDER.index()].name, "recorder");
        for (i, info) in infos.iter().enumerate() {
            let id = LayerId(u16::try_from(i).expect("few"));
            let gpu = info.name.starts_with("gpu.") && info.class != LayerClass::GpuMark;
            assert_eq!(id.is_operation(), gpu, "{}", info.name);
        }
    }
}
