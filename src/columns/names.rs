//! Columns of CPU spans by name.

use super::Column;
use super::Get::{Count, Text, Time};
use super::Output::Text as Report;
use crate::analysis::NameRow;

/// CPU spans by name against the GPU work that they launched.
pub const NAME: &[Column<NameRow>] = columns! { NameRow:
    "name" "Span" "Name of the CPU span": Text(|a, n| Some(a.trace().name(n.name).into())), text("span");
    "layer" "Layer" "What it is for":
        Text(|a, n| Some(a.layers().info(n.layer).name.as_str().into())), text("layer"), only_in(Report);
    "count" "Calls" "Spans of this name": Count(|_, n| Some(n.count)), text("calls");
    "cpu_time" "CPU time" "Sum of their lengths": Time(|_, n| Some(n.cpu_time)), text("CPU time");
    "gpu_launched" "GPU launched" "Sum of the GPU work that they launched":
        Time(|_, n| Some(n.gpu_launched)), text("GPU launched");
    "gpu_during" "GPU during" "GPU busy while they ran, whoever launched it":
        Time(|_, n| Some(n.gpu_during)), text("GPU during");
    "median_lag" "Tail median" "End of the last launched work after the span's end":
        Time(|_, n| n.median_lag), text("lag median");
    "max_lag" "Tail max" "The largest of them": Time(|_, n| n.max_lag), text("lag max");
    "with_gpu" "With GPU" "Spans that launched something": Count(|_, n| Some(n.with_gpu));
    "charged_to" "Charged to" "The synchronising call in which its GPU work ends, for the longest span":
        Text(|a, n| Some(a.trace().span_name(n.charged_to?).into()));
};
