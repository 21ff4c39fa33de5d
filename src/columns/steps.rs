//! Columns of steps.

use super::Get::{Count, Flag, Text, Time};
use super::Output::{Json, Panel};
use super::{Column, number};
use crate::analysis::{Analysis, LayerId, Step, StepRow};

const PHASE: &str = "Time in this phase, exclusive, CPU clock";

/// Steps of a training loop, in the order of CSV. Text and window leave out phases that no step has.
pub const STEP: &[Column<StepRow>] = columns! { StepRow:
    "rank" "Rank" "Distributed rank": Count(|a, s| number(a, s.rank)), not_in(Json);
    "step" "Step" "Number or name": Text(|a, s| Some(step(a, s).label.as_str().into())), text("step"), not_in(Panel);
    "short" "Step" "Number or name": Text(|a, s| Some(step(a, s).short().into())), only_in(Panel);
    "first" "First" "First of a loader's run: its wait is start-up": Flag(|_, s| s.first), not_in(Panel);
    "start" "Start" "When it began": Time(|_, s| Some(s.range.start)), not_in(Panel);
    "time" "Time" "Length of the step": Time(|_, s| Some(s.time())), text("time");
    "wait" "Wait" "The loop waits for its batch": Time(|_, s| s.wait), text("wait");
    "wait_exposed" "Exposed" "Of it the GPU had nothing to do": Time(|_, s| s.wait_exposed), text("exposed");
    "wait_hidden" "Hidden" "Of it the GPU was still working": Time(|_, s| s.wait_hidden), text("hidden");
    "wait_unrecorded" "Not recorded" "Of it there is no GPU data":
        Time(|_, s| s.wait_unrecorded), not_in(Panel);
    "wait_hidden_by_earlier" "Hidden by earlier" "Of the wait, covered by GPU work launched before the step began":
        Time(|_, s| s.wait_hidden_by_earlier), not_in(Panel);
    "fetch" "Fetch" PHASE: Time(|_, s| s.phase(LayerId::FETCH)), within("phases"), not_in(Panel);
    "h2d" "H2D" PHASE: Time(|_, s| s.phase(LayerId::H2D)), within("phases"), text("H2D");
    "forward" "Forward" PHASE: Time(|_, s| s.phase(LayerId::FORWARD)), within("phases"), text("forward");
    "backward" "Backward" PHASE: Time(|_, s| s.phase(LayerId::BACKWARD)), within("phases"), text("backward");
    "optimizer" "Optimizer" PHASE: Time(|_, s| s.phase(LayerId::OPTIMIZER)), within("phases"), text("optimizer");
    "compute" "Compute" PHASE: Time(|_, s| s.phase(LayerId::COMPUTE)), within("phases"), text("compute");
    "comm" "Communication" PHASE: Time(|_, s| s.phase(LayerId::COMM)), within("phases"), text("comm");
    "checkpoint" "Checkpoint" PHASE: Time(|_, s| s.phase(LayerId::CHECKPOINT)), within("phases"), text("checkpoint");
    "eval" "Evaluation" PHASE: Time(|_, s| s.phase(LayerId::EVAL)), within("phases"), text("evaluation");
    "gc" "Garbage collection" PHASE: Time(|_, s| s.phase(LayerId::GC)), within("phases"), text("GC");
    "compile" "Compilation" PHASE: Time(|_, s| s.phase(LayerId::COMPILE)), within("phases"), text("compile");
    "log" "Logging" PHASE: Time(|_, s| s.phase(LayerId::LOG)), within("phases"), text("log");
    "loader" "Loader set-up" PHASE: Time(|_, s| s.phase(LayerId::LOADER)), within("phases"), text("loader");
    "other" "Other" "Time in no phase": Time(|_, s| Some(s.other)), within("phases"), text("other");
    "in_sync" "In sync" "The loop was blocked in calls that wait for the GPU": Time(|_, s| s.in_sync), text("in sync");
    "gpu_busy" "GPU busy" "The GPU worked during the step": Time(|_, s| s.gpu_busy), text("GPU busy");
    "gpu_idle" "GPU idle" "The GPU had nothing to do during the step": Time(|_, s| s.gpu_idle);
    "n_ops" "Operations" "GPU operations that it launched": Count(|_, s| s.n_ops);
    "launched" "Launched" "GPU time of the work that the step launched": Time(|_, s| s.launched);
    "first_kernel" "First kernel" "Start of its first kernel after its own start": Time(|_, s| s.first_kernel);
    "gpu_lag" "GPU lag" "End of its last GPU work after its own end": Time(|_, s| s.gpu_lag), text("GPU lag");
};

/// Whether a column is of a phase in which none of some steps was.
#[must_use]
pub fn is_empty_phase<'a>(
    column: &Column<StepRow>,
    analysis: &Analysis,
    rows: impl IntoIterator<Item = &'a StepRow>,
) -> bool {
    const ALWAYS: [&str; 4] = ["forward", "backward", "optimizer", "other"];
    let phase = column.within.is_some() && !ALWAYS.contains(&column.key);
    let mut rows = rows.into_iter();
    phase && !rows.any(|row| column.time(analysis, row).is_some_and(|ns| ns > 0))
}

fn step<'a>(analysis: &'a Analysis, row: &StepRow) -> &'a Step {
    &analysis.ranks()[row.rank].steps[row.step]
}
