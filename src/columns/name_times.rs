//! Columns of names and what they take.

use super::Column;
use super::Get::{Count, Share, Text, Time};
use super::Output::{Csv, Json, Panel};
use crate::analysis::{NameTime, without_call};

/// Spans by name that touch a range.
pub const NAME_TIME: &[Column<NameTime>] = columns! { NameTime:
    "name" "Name" "Name of the spans. Click a row to see the longest of them":
        Text(|a, n| Some(without_call(a.trace().name(n.name)).into())), text("name");
    "layer" "Layer" "What they are for":
        Text(|a, n| Some(a.layers().info(n.layer).name.as_str().into())), not_in(Panel);
    "title" "Layer" "What they are for": Text(|a, n| Some(a.layers().info(n.layer).title.as_str().into())), only_in(Panel);
    "self" "Self" "Total without direct children: spans of the same lane that lie in them. Adds up over names":
        Time(|_, n| Some(n.own)), text("self ms");
    "share" "% of layer" "Self time as a share of the self time of all names of the layer in the range":
        Share(|_, n| (n.own, n.layer_own)), text("of layer");
    "total" "Total" "Time of the spans inside the range, summed over lanes. Spans in each other count each":
        Time(|_, n| Some(n.total)), text("total ms");
    "count" "Count" "Spans that touch the range": Count(|_, n| Some(n.count)), text("count");
    "mean" "Mean" "Mean of their whole lengths, also of what lies outside of the range":
        Time(|_, n| n.mean()), text("mean µs");
    "p95" "p95" "95th percentile of their whole lengths": Time(|_, n| Some(n.p95)), text("p95 µs");
    "max" "Max" "Whole length of the longest": Time(|_, n| Some(n.max)), text("max µs");
    "gpu_idle" "While GPU idle" "Of the total, while the GPU of their own rank had nothing to do":
        Time(|_, n| n.gpu_idle), text("GPU idle ms");
    "longest" "Longest at" "When the longest began": Time(|a, n| Some(a.trace().spans().start(n.longest)));
    "longest_span" "Longest" "The longest: its number in the trace": Count(|_, n| Some(n.longest.0.into())), only_in(Json);
    "longest_lane" "Lane" "The lane of the longest":
        Text(|a, n| Some(a.trace().lane(a.trace().spans().lane(n.longest)).key.as_str().into())), only_in(Csv);
};
