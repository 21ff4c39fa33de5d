//! Columns of pairs of streams.

use super::Column;
use super::Get::{Share, Text, Time};
use super::Output::{Panel, Text as Report};
use crate::analysis::{Analysis, StreamPair};
use crate::model::StreamId;

/// Two streams of one GPU.
pub const STREAM_PAIR: &[Column<StreamPair>] = columns! { StreamPair:
    "streams" "Streams" "The two streams": Text(|a, p| Some(names(a, p).into())), text("streams"), only_in(Report);
    "gpu" "GPU" "Device number": Text(|a, p| Some(gpu(a, p).into())), only_in(Panel);
    "first" "First" "One stream": Text(|a, p| Some(name(a, p.first).into())), only_in(Panel);
    "second" "Second" "The other stream": Text(|a, p| Some(name(a, p.second).into())), only_in(Panel);
    "both" "Both busy" "Both had work at the same time": Time(|_, p| Some(p.both)), text("both");
    "min_busy" "Less busy" "Busy time of the one that is less busy": Time(|_, p| Some(p.min_busy));
    "ratio" "Overlap" "Both busy as a share of the less busy one":
        Share(|_, p| (p.both, p.min_busy)), text("of the shorter");
    "kernel_kernel" "Kernel, kernel" "Kernels on both": Time(|_, p| Some(p.kernel_kernel)), text("kernels");
    "copy_kernel" "Copy, kernel" "The first copies under kernels of the second": Time(|_, p| Some(p.copy_kernel));
    "kernel_copy" "Kernel, copy" "Kernels of the first over copies of the second": Time(|_, p| Some(p.kernel_copy));
    "copies" "Copies, kernels" "One of them copies under kernels of the other":
        Time(|_, p| Some(p.copy_kernel + p.kernel_copy)), text("copies/kernels"), only_in(Report);
    "comm_kernel" "Comm, kernel" "Communication of the first under kernels of the second":
        Time(|_, p| Some(p.comm_kernel));
    "kernel_comm" "Kernel, comm" "Kernels of the first over communication of the second":
        Time(|_, p| Some(p.kernel_comm));
    "comm" "Comm, kernels" "Communication of one of them under kernels of the other":
        Time(|_, p| Some(p.comm_kernel + p.kernel_comm)), text("comm/kernels"), only_in(Report);
};

fn names(analysis: &Analysis, pair: &StreamPair) -> String {
    let name = |s| analysis.stream_label(s);
    format!("{} and {}", name(pair.first), name(pair.second))
}

fn gpu(analysis: &Analysis, pair: &StreamPair) -> String {
    let trace = analysis.trace();
    trace
        .device(trace.stream(pair.first).device)
        .index
        .to_string()
}

fn name(analysis: &Analysis, stream: StreamId) -> String {
    format!("stream {}", analysis.trace().stream(stream).number)
}
