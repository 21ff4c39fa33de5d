//! From rows to the timeline.

pub(crate) mod calls;
pub(crate) mod cpu;
pub(crate) mod gpu;
pub(crate) mod info;
pub(crate) mod known;
pub(crate) mod lanes;
pub(crate) mod nvtx;
pub(crate) mod ranks;
pub(crate) mod sync;
