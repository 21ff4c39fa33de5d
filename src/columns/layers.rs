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
    "count" "Starting" "Spans that start in the range": Count(|_, l| Some(l.count)), text("spans"), not_in(Panel);
    "touching" "Spans" "Spans that touch the range: also those that begin before it or end after it":
        Count(|_, l| Some(l.touching));
    "mean_inside" "Mean in range" "Mean of what lies in the range, of those that touch it, clipped like Wall":
        Time(|_, l| l.mean_inside());
    "mean_whole" "Mean whole" "Mean whole duration of those that touch the range": Time(|_, l| l.mean_whole());
    "mean" "Mean" "Mean whole duration of those that start in the range": Time(|_, l| l.mean()), text("mean µs"), not_in(Panel);
    "median" "Median" "Median whole duration of those that start in the range": Time(|_, l| Some(l.percentiles?.median)), not_in(Panel);
    "p95" "p95 of starting" "95th percentile of the whole durations of those that start in the range": Time(|_, l| Some(l.percentiles?.p95)), text("p95 µs");
    "max" "Max" "Longest of them": Time(|_, l| Some(l.percentiles?.max)), text("max µs"), not_in(Panel);
    "exposed" "While GPU idle" IDLE: Time(|_, l| l.exposed), text("while GPU idle ms"), not_in(Panel);
    "exposed_cpu" "While GPU idle" IDLE: Time(|a, l| l.exposed.filter(|_| !is_gpu(a, l))), only_in(Panel);
};

const IDLE: &str = "Time of it while the GPU of its own rank had nothing to do, summed over ranks; of a wait it is the exposed part";

fn is_gpu(analysis: &Analysis, row: &LayerRow) -> bool {
    use LayerClass::{GpuComm, GpuCompute, GpuCopy, GpuMark};
    let class = analysis.layers().info(row.layer).class;
    matches!(class, GpuCompute | GpuCopy | GpuComm | GpuMark)
}
