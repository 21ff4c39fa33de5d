//! What a category (`cat`) means in traces of torch.profiler, by whatever name it had over the years.

use std::borrow::Cow;

/// The part that events of a category play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// Spans of CPU threads whose args are not needed: operators, annotations, Python frames, anything unknown.
    Plain,
    /// Calls of a GPU runtime or driver: their correlation is needed.
    Api,
    /// A kernel.
    Kernel,
    /// A copy on the GPU.
    Memcpy,
    /// A memset on the GPU.
    Memset,
    /// A copy of a CPU annotation on a GPU stream.
    GpuAnnotation,
    /// Synchronisation as seen by the GPU.
    GpuSync,
    /// Work of an MTIA device.
    Mtia,
    /// The recorder's own rows.
    Recorder,
    /// The profiler's overhead.
    Overhead,
    /// Flows from forward to backward ops.
    ForwardBackward,
    /// Flows from launch calls to GPU operations.
    LaunchFlow,
    /// No category at all.
    None,
}

impl Class {
    /// The class of a category name as found.
    pub fn of(cat: &[u8]) -> Self {
        if cat.is_empty() {
            return Self::None;
        }
        if cat == b"Trace" {
            return Self::Recorder;
        }
        let lower = cat.to_ascii_lowercase();
        match lower.as_slice() {
            b"kernel" | b"concurrent_kernel" => Self::Kernel,
            b"gpu_memcpy" | b"memcpy" => Self::Memcpy,
            b"gpu_memset" | b"memset" => Self::Memset,
            b"gpu_user_annotation" => Self::GpuAnnotation,
            b"cuda_sync" | b"cuda_event" | b"xpu_sync" => Self::GpuSync,
            b"mtia_ccp_events" => Self::Mtia,
            b"overhead" => Self::Overhead,
            b"fwdbwd" => Self::ForwardBackward,
            b"ac2g" | b"async" | b"async_cpu_to_gpu" | b"async_gpu" => Self::LaunchFlow,
            _ if contains(&lower, b"runtime") || contains(&lower, b"driver") => Self::Api,
            _ => Self::Plain,
        }
    }

    /// True for rows of a GPU stream.
    pub fn is_gpu(self) -> bool {
        self.is_operation() || matches!(self, Self::GpuAnnotation | Self::GpuSync | Self::Mtia)
    }

    /// True for GPU work.
    pub fn is_operation(self) -> bool {
        matches!(self, Self::Kernel | Self::Memcpy | Self::Memset)
    }

    /// True where the args have to be read during import.
    pub fn needs_args(self) -> bool {
        self == Self::Api || self.is_gpu()
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// Today's name of a category.
pub(crate) fn todays_name(cat: Cow<'_, str>) -> Cow<'_, str> {
    const HISTORIC: [(&str, &str); 5] = [
        ("operator", "cpu_op"),
        ("runtime", "cuda_runtime"),
        ("kernel", "kernel"),
        ("memcpy", "gpu_memcpy"),
        ("memset", "gpu_memset"),
    ];
    HISTORIC
        .iter()
        .find(|(old, _)| cat.eq_ignore_ascii_case(old))
        .map_or(cat, |(_, new)| Cow::Borrowed(*new))
}

/// Categories that only torch.profiler writes.
pub(crate) fn is_torch(cat: &str) -> bool {
    matches!(
        cat,
        "cpu_op" | "cuda_runtime" | "cuda_driver" | "kernel" | "gpu_memcpy" | "python_function"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_of_all_years_have_their_class() {
        assert_eq!(Class::of(b"Kernel"), Class::Kernel);
        assert_eq!(Class::of(b"Runtime"), Class::Api);
        assert_eq!(Class::of(b"xpu_runtime"), Class::Api);
        assert_eq!(Class::of(b"Trace"), Class::Recorder);
        assert_eq!(Class::of(b"trace"), Class::Plain);
        assert_eq!(Class::of(b""), Class::None);
        assert!(Class::of(b"Memset").is_operation());
        assert!(!Class::of(b"gpu_user_annotation").is_operation());
        assert_eq!(todays_name("Operator".into()), "cpu_op");
        assert_eq!(todays_name("FEE".into()), "FEE");
    }
}
