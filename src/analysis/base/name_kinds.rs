//! What is known of a span by its name alone, looked up once per distinct name: calls that launch work or record a
//! graph, and the operators by which a loader's iterator is made.

use rustc_hash::FxHashMap;

use crate::analysis::layers::names::without_call;
use crate::model::{NameId, Names};

/// What a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) enum NameKind {
    /// Nothing.
    Other,
    /// A call that launches a kernel; copies and memsets are none.
    KernelLaunch,
    /// A call that launches a graph.
    GraphLaunch,
    /// From here on calls of the thread are recorded into a graph and launch nothing.
    BeginCapture,
    /// The end of that.
    EndCapture,
    /// A call that waits for all work of a device.
    DeviceSync,
    /// `aten::random_`: draws a seed, as the iterator of a `DataLoader` does once when it is made.
    Draw,
    /// `aten::empty`: leads a seed draw.
    Empty,
    /// Another operator that a loader's iterator runs, too.
    Small,
    /// `__next__` of one of PyTorch's `DataLoader` iterators, as the profiler names it.
    LoaderNext,
    /// The same of another iterator.
    OtherNext,
    /// A node of the autograd engine.
    Engine,
}

impl NameKind {
    /// A call that launches kernels, alone or as a graph.
    pub fn launches(self) -> bool {
        matches!(self, Self::KernelLaunch | Self::GraphLaunch)
    }

    /// An operator that may belong to making an iterator: it is no sign that a batch is worked on.
    pub fn may_make_iterator(self) -> bool {
        matches!(self, Self::Draw | Self::Empty | Self::Small)
    }

    /// The loader's own call for the next batch.
    pub fn asks_loader(self) -> bool {
        matches!(self, Self::LoaderNext | Self::OtherNext)
    }

    /// What a name says.
    pub fn of(name: &str) -> Self {
        match name {
            "aten::random_" => Self::Draw,
            "aten::empty" => Self::Empty,
            "aten::item" | "aten::_local_scalar_dense" | "aten::randperm" => Self::Small,
            _ if name.starts_with("autograd::engine") => Self::Engine,
            _ if name.starts_with("enumerate(DataLoader)#")
                || name.starts_with("enumerate(DataPipe)#") =>
            {
                if name.contains("ProcessDataLoaderIter")
                    || name.contains("ProcessingDataLoaderIter")
                {
                    Self::LoaderNext
                } else {
                    Self::OtherNext
                }
            }
            _ if name.contains("StreamBeginCapture") => Self::BeginCapture,
            _ if name.contains("StreamEndCapture") => Self::EndCapture,
            _ if name.contains("DeviceSync") || name.contains("CtxSync") => Self::DeviceSync,
            _ if name.contains("Launch") && !name.contains("HostFunc") => {
                if name.contains("Graph") {
                    Self::GraphLaunch
                } else {
                    Self::KernelLaunch
                }
            }
            _ => Self::Other,
        }
    }
}

/// What is known of all names of a trace.
#[derive(Debug, Default)]
pub(in crate::analysis) struct NameKinds {
    kinds: Vec<NameKind>,
    /// By name: the first that is the same but for what it says of one call. None where all differ.
    shared: Vec<NameId>,
}

impl NameKinds {
    pub fn new(names: &Names) -> Self {
        let mut shared = Vec::new();
        if names.iter().any(|(_, text)| without_call(text) != text) {
            let mut first: FxHashMap<&str, NameId> = FxHashMap::default();
            let one = |(id, text)| *first.entry(without_call(text)).or_insert(id);
            shared = names.iter().map(one).collect();
        }
        Self {
            kinds: names.iter().map(|(_, text)| NameKind::of(text)).collect(),
            shared,
        }
    }

    pub fn of(&self, name: NameId) -> NameKind {
        let kind = self.kinds.get(name.index()).copied();
        kind.unwrap_or(NameKind::Other)
    }

    /// The name that stands for all that are the same but for what they say of one call.
    pub fn shared(&self, name: NameId) -> NameId {
        self.shared.get(name.index()).copied().unwrap_or(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_operator_share_the_first() {
        let mut names = Names::new();
        let texts = [
            "aten::to, op_id = 5",
            "gemm",
            "aten::to",
            "aten::to, seq = 3, op_id = 6, sizes = [[2, 3]]",
        ];
        let ids = texts.map(|text| names.intern(text));
        let kinds = NameKinds::new(&names);
        assert_eq!(
            ids.map(|id| kinds.shared(id)),
            [ids[0], ids[1], ids[0], ids[0]]
        );
        let mut plain = Names::new();
        let id = plain.intern("gemm, or so");
        assert_eq!(NameKinds::new(&plain).shared(id), id);
    }

    #[test]
    fn names_of_calls_and_operators() {
        for (name, kind) in [
            ("cudaLaunchKernel", NameKind::KernelLaunch),
            ("cuLaunchKernelEx", NameKind::KernelLaunch),
            ("cudaGraphLaunch_v10000", NameKind::GraphLaunch),
            ("cudaLaunchHostFunc", NameKind::Other),
            ("cudaMemcpyAsync", NameKind::Other),
            ("cudaStreamBeginCapture", NameKind::BeginCapture),
            ("aten::empty_like", NameKind::Other),
            ("aten::random_", NameKind::Draw),
            (
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                NameKind::LoaderNext,
            ),
        ] {
            assert_eq!(NameKind::of(name), kind, "{name}");
        }
    }
}
