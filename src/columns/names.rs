//! Columns of CPU spans against the GPU.

use super::Column;
use super::Get::{Count, Flag, Text, Time};
use super::Output::{Json, Panel};
use crate::analysis::{LagRow, SpanFigures, without_call};

/// CPU spans by name and caller against the GPU work that they launched.
pub const LAG: &[Column<LagRow>] = columns! { LagRow:
    "name" "Span" "Name of the CPU spans, below what they lie in":
        Text(|a, n| Some(without_call(a.trace().name(n.name)).into())), text("span");
    "layer" "Layer" "What they are for":
        Text(|a, n| Some(a.layers().info(n.layer).name.as_str().into())), text("layer"), not_in(Panel);
    "kind" "Kind" "What they are as callers: range, module, python, op": Text(|_, n| Some(n.kind.key().into())), only_in(Json);
    "depth" "Depth" "How many of the rows before lie around it": Count(|_, n| Some(n.depth.into())), only_in(Json);
    "count" "Calls" "Spans of this name": Count(|_, n| Some(n.count)), text("calls");
    "cpu_time" "CPU time" "Sum of their lengths": Time(|_, n| Some(n.cpu_time)), text("CPU time");
    "gpu_launched" "GPU launched" "Sum of the GPU work that they launched":
        Time(|_, n| Some(n.gpu_launched)), text("GPU launched");
    "gpu_during" "GPU during" "GPU busy while they ran, whoever launched it":
        Time(|_, n| Some(n.gpu_during)), text("GPU during");
    "median_lag" "Tail median" "End of the last launched work after the span's end":
        Time(|_, n| n.median_lag), text("lag median");
    "max_lag" "Tail max" "The largest of them": Time(|_, n| n.max_lag), text("lag max");
    "cut" "Cut" "Of them those that reach out of what was recorded: their lag is not known": Count(|_, n| Some(n.cut)), only_in(Json);
    "with_gpu" "With GPU" "Spans that launched something": Count(|_, n| Some(n.with_gpu));
    "charged_to" "Charged to" "The synchronising call in which its GPU work ends, for the longest span":
        Text(|a, n| Some(a.trace().span_name(n.charged_to?).into()));
};

/// One CPU span against the GPU work that it launched.
pub const SPAN: &[Column<SpanFigures>] = columns! { SpanFigures:
    "dur" "Length" "Length of the span": Time(|_, s| Some(s.dur));
    "n_ops" "Operations" "GPU operations that it launched": Count(|_, s| Some(s.n_ops));
    "launched_sum" "GPU launched" "Sum of their durations": Time(|_, s| Some(s.launched_sum));
    "launched_union" "GPU covered" "Time in which any of them runs": Time(|_, s| Some(s.launched_union));
    "gpu_first" "GPU from" "Earliest start of them": Time(|_, s| s.gpu_first);
    "gpu_last" "GPU to" "Latest end of them": Time(|_, s| s.gpu_last);
    "cut" "Cut" "It reaches out of what was recorded: what it launched there is in none of these": Flag(|_, s| s.cut);
    "lag" "Tail" "Latest end of them after the end of the span": Time(|_, s| s.lag);
    "start_lag" "Start lag" "Earliest start of them after the start of the span": Time(|_, s| s.start_lag);
    "executed_during" "GPU during" "GPU busy during the span, whoever launched it": Time(|_, s| Some(s.executed_during));
    "own_during" "Own during" "Of it with operations of the span": Time(|_, s| Some(s.own_during));
    "foreign_during" "Foreign during" "Of it with other work": Time(|_, s| Some(s.foreign_during));
    "own_after" "Own after" "Operations of the span run after its end": Time(|_, s| Some(s.own_after));
    "ends_before_gpu" "Ends before GPU" "The span ends before its GPU work": Flag(|_, s| s.ends_before_gpu());
};
