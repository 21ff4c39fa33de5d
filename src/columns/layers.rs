//! Columns of layers.

use super::Column;
use super::Get::{Count, Share, Text, Time};
use super::Output::{Json, Panel};
use crate::analysis::{Analysis, LayerClass, LayerRow};

/// Layers in a window.
pub const LAYER: &[Column<LayerRow>] = columns! { LayerRow:
    "layer" "Layer" "What spans are for":
        Text(|a, l| Some(a.layers().info(l.layer).name.as_str().into())), text("layer"), not_in(Panel);
    "title" "Layer" "What spans are for. Click a row for its names":
        Text(|a, l| Some(a.layers().info(l.layer).title.as_str().into())), only_in(Panel);
    "wall" "Wall" "Time in which any process (GPU) is in it": Time(|_, l| Some(l.wall)), text("wall ms");
    "share" "% of selection" "Wall time as a share of the range":
        Share(|_, l| (l.wall, l.window)), text("of time"), not_in(Json);
    "sum" "Sum"
        "Summed over processes (GPUs): how much work was done. Several processes at once count several times":
        Time(|_, l| Some(l.sum)), text("sum ms");
    "busiest" "Busiest process"
        "The process (GPU) that is in it longest: what a synchronous step could have waited for":
        Time(|_, l| Some(l.busiest)), text("busiest ms");
    "count" "Count" "Spans that start in the range": Count(|_, l| Some(l.count)), text("spans");
    "touching" "Touching" "Spans that touch the range": Count(|_, l| Some(l.touching)), not_in(Panel);
    "mean" "Mean" "Mean whole duration of those": Time(|_, l| l.mean()), text("mean µs");
    "median" "Median" "Median of their whole durations": Time(|_, l| Some(l.percentiles?.median)), not_in(Panel);
    "p95" "p95" "95th percentile of their whole durations": Time(|_, l| Some(l.percentiles?.p95)), text("p95 µs");
    "max" "Max" "Longest of them": Time(|_, l| Some(l.percentiles?.max)), text("max µs"), not_in(Panel);
    "exposed" "Exposed" EXPOSED: Time(|_, l| l.exposed), text("exposed ms"), not_in(Panel);
    "exposed_cpu" "Exposed" EXPOSED: Time(|a, l| l.exposed.filter(|_| !is_gpu(a, l))), only_in(Panel);
};

const EXPOSED: &str = "While the GPU of its own rank had nothing to do, summed over ranks";

fn is_gpu(analysis: &Analysis, row: &LayerRow) -> bool {
    use LayerClass::{GpuComm, GpuCompute, GpuCopy, GpuMark};
    let class = analysis.layers().info(row.layer).class;
    matches!(class, GpuCompute | GpuCopy | GpuComm | GpuMark)
}
