//! Columns of queues.

use super::Column;
use super::Get::{Average, Count, Text, Time};
use super::Output::Json;
use crate::analysis::{Analysis, QueueFigures};

/// Operations of a stream that were launched and wait.
pub const QUEUE: &[Column<QueueFigures>] = columns! { QueueFigures:
    "stream" "Stream" "The stream": Text(|a, q| Some(name(a, q).into())), text("queue of"), not_in(Json);
    "max_queued" "Most waiting" "Most operations that were launched and not started, over the whole trace":
        Count(|_, q| Some(q.max_queued)), text("most waiting");
    "max_in_flight" "Most in flight" "Most operations that were launched and not finished, over the whole trace":
        Count(|_, q| Some(q.max_in_flight)), text("most in flight");
    "mean_queued" "Mean waiting" "Mean number of waiting operations": Average(|_, q| q.mean_queued), text("mean waiting");
    "queued_area" "Waited" "Time that operations waited, summed": Time(|_, q| Some(q.queued_area));
};

fn name(analysis: &Analysis, queue: &QueueFigures) -> String {
    let lane = analysis.trace().lane(queue.lane);
    lane.stream
        .map_or_else(|| lane.name.clone(), |s| analysis.stream_label(s))
}
