//! Which operations are collectives in which every rank waits for every other, by name; and the size of their elements.

/// A kind of collective in which no rank can leave before all have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CollectiveKind {
    /// Each rank has a part for each other one.
    AllToAll,
    /// Sums, of which each rank gets a part.
    ReduceScatter,
    /// Each rank gets the parts of all.
    AllGather,
    /// Each rank gets the sum.
    AllReduce,
}

impl CollectiveKind {
    /// The name in sentences and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AllToAll => "all-to-all",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllGather => "all-gather",
            Self::AllReduce => "all-reduce",
        }
    }

    /// The kind of a collective's or a kernel's name, in any spelling.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let plain: String = name.chars().filter(|&c| c != '_' && c != '-').collect();
        let plain = plain.to_ascii_lowercase();
        let all = [
            ("alltoall", Self::AllToAll),
            ("reducescatter", Self::ReduceScatter),
            ("allgather", Self::AllGather),
            ("allreduce", Self::AllReduce),
        ];
        let found = all.into_iter().find(|(word, _)| plain.contains(word));
        found.map(|(_, kind)| kind)
    }
}

/// Why an operation of communication is not compared between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NotCompared {
    /// Two ranks exchange something; the others do not take part.
    SendReceive,
    /// Some ranks need not wait (broadcast, reduce, gather, scatter), or nobody knows what it is.
    OneSided,
    /// A group of one rank.
    Alone,
    /// An all-to-all in which some rank has nothing to exchange, and need not wait.
    EmptySplit,
}

impl NotCompared {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::SendReceive => "send/recv",
            Self::OneSided => "one-sided or unknown",
            Self::Alone => "group of one",
            Self::EmptySplit => "empty split",
        }
    }

    /// The reason for a name without a [`CollectiveKind`].
    pub(in crate::analysis) fn of(name: &str) -> Self {
        let plain = name.to_ascii_lowercase();
        match plain.contains("send") || plain.contains("recv") {
            true => Self::SendReceive,
            false => Self::OneSided,
        }
    }
}

/// Whether a kernel's name is of a library whose collectives end on all ranks together: NCCL, RCCL, the one- and two-shot
/// all-reduces.
pub(in crate::analysis) fn ends_together(kernel: &str) -> bool {
    let plain = kernel.to_ascii_lowercase();
    !plain.contains("nvshmem")
        && ["nccl", "rccl", "oneshot", "one_shot", "twoshot", "two_shot"]
            .iter()
            .any(|word| plain.contains(word))
}

/// Whether a name is that of a run of a back end that communicates on the CPU.
pub(in crate::analysis) fn is_cpu_backend(name: &str) -> bool {
    ["gloo:", "mpi:", "ucc:"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Bytes per element of a tensor's type, as recorders name it.
pub(in crate::analysis) fn element_size(dtype: &str) -> Option<i64> {
    let size = match dtype.to_ascii_lowercase().as_str() {
        "float" | "float32" | "int" | "int32" => 4,
        "bfloat16" | "half" | "float16" | "short" | "int16" => 2,
        "long" | "long int" | "int64" | "double" | "float64" => 8,
        "int8" | "uint8" | "byte" | "char" | "bool" => 1,
        other if other.starts_with("float8") => 1,
        _ => return None,
    };
    Some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_in_any_spelling() {
        for (name, kind) in [
            (
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                CollectiveKind::AllReduce,
            ),
            (
                "ncclKernel_AllGather_RING_LL_Sum_int8_t",
                CollectiveKind::AllGather,
            ),
            ("_reduce_scatter_base", CollectiveKind::ReduceScatter),
            ("all_to_allv", CollectiveKind::AllToAll),
            ("gloo:all_reduce", CollectiveKind::AllReduce),
            ("two_shot_all_reduce_kernel", CollectiveKind::AllReduce),
        ] {
            assert_eq!(CollectiveKind::of(name), Some(kind), "{name}");
        }
        assert_eq!(CollectiveKind::of("ncclDevKernel_Broadcast_RING_LL"), None);
        assert_eq!(CollectiveKind::of("ncclDevKernel_SendRecv"), None);
    }

    #[test]
    fn what_is_left_out_has_a_reason() {
        assert_eq!(
            NotCompared::of("ncclDevKernel_SendRecv"),
            NotCompared::SendReceive
        );
        assert_eq!(
            NotCompared::of("ncclDevKernel_Reduce_Sum"),
            NotCompared::OneSided
        );
        assert!(ends_together("ncclDevKernel_AllReduce"));
        assert!(!ends_together("nvshmem_all_reduce"));
        assert!(!ends_together("cross_device_reduce_1stage"));
        assert_eq!(element_size("BFloat16"), Some(2));
        assert_eq!(element_size("Float8_e4m3fn"), Some(1));
        assert_eq!(element_size("QInt8"), None);
    }
}
