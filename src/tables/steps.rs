//! Steps of a loop.

use std::sync::Arc;

use super::{RANK, RUN, Row, Whose, columns, narrow};
use crate::analysis::{Analysis, CPU_PARTS, GPU_PARTS, StepRow};
use crate::columns::{STEP, column};
use crate::time::TimeRange;

/// A whole step of a rank. Times in ns.
#[derive(Clone, Debug, PartialEq)]
pub struct StepsRow {
    /// The name of the run.
    pub run: Arc<str>,
    /// The rank.
    pub rank: i32,
    /// Its place among the steps of the rank.
    pub step: i32,
    /// The number that its marker states.
    pub number: Option<i64>,
    /// The step is judged.
    pub judged: bool,
    /// When it began, from the start of the trace.
    pub start: i64,
    /// Its length.
    pub time: i64,
    /// Figures of its cycle.
    pub cycle: StepRow,
    /// Parts of the cycle on the clock of the GPU.
    pub parts: Option<[i64; GPU_PARTS.len()]>,
    /// Parts of the cycle on the clock of the loop's thread.
    pub phases: [i64; CPU_PARTS.len()],
}

/// The steps of a rank that touch a window, by place.
///
/// # Panics
/// If there is no such rank.
#[must_use]
pub fn steps(analysis: &Analysis, whose: &Whose, window: TimeRange) -> Vec<StepsRow> {
    let rank = &analysis.ranks()[whose.rank];
    let extent = analysis.trace().extent();
    let judged = analysis.judged(whose.rank, whole(extent));
    let judged: Vec<usize> = judged.rows().map(|c| c.step).collect();
    let parts = analysis.gpu_parts(whose.rank);
    let cycles = analysis.cycle_rows(whose.rank).into_iter();
    let rows = cycles.filter(|c| rank.steps[c.step].range.touches(window));
    rows.map(|cycle| {
        let step = &rank.steps[cycle.step];
        StepsRow {
            run: Arc::clone(&whose.run),
            rank: narrow(rank.rank),
            step: narrow(cycle.step),
            number: step.number,
            judged: judged.binary_search(&cycle.step).is_ok(),
            start: step.range.start - extent.start,
            time: step.range.len(),
            parts: parts.as_ref().map(|p| p.of(cycle.range)),
            phases: analysis.cpu_parts(whose.rank, cycle.range),
            cycle,
        }
    })
    .collect()
}

/// Nothing lies inside an empty window, not even what has no length.
pub(super) fn whole(extent: TimeRange) -> TimeRange {
    let end = extent.end.max(extent.start.saturating_add(1));
    TimeRange { end, ..extent }
}

fn part<const I: usize>(row: &StepsRow) -> Option<i64> {
    row.parts.map(|p| p[I])
}

fn phase<const I: usize>(row: &StepsRow) -> i64 {
    row.phases[I]
}

const fn of_cycle(key: &str) -> &'static str {
    column(STEP, key).help
}

const CPU: &str = "Of the cycle in this phase of the loop, exclusive, CPU clock";

impl Row for StepsRow {
    const TABLE: &'static str = "steps";
    const ABOUT: &'static str = "A whole step of a rank; told by run, rank, step";
    const COLUMNS: &'static [super::Column<Self>] = columns! {
        "run" Plain RUN => Text(|r| &r.run);
        "rank" Plain RANK => I32(|r| r.rank);
        "step" Plain "Position in the rank, from 0, without holes" => I32(|r| r.step);
        "number" Plain "The number that its marker states" => I64Or(|r| r.number);
        "first" Plain "First of a loader's run: its wait is start-up" => Bool(|r| r.cycle.first);
        "judged" Plain "It counts in verdicts: whole, and the loader did not start in it" => Bool(|r| r.judged);
        "start" Ns "When it began, from the start of the rank's trace" => I64(|r| r.start);
        "time" Ns "Length of the step" => I64(|r| r.time);
        "cycle" Ns "Length of its cycle: the step and the ordinary hole before it; all that follows is of the cycle" =>
            I64(|r| r.cycle.time());
        "wait" Ns of_cycle("wait") => I64Or(|r| r.cycle.wait);
        "wait_exposed" Ns of_cycle("wait_exposed") => I64Or(|r| r.cycle.wait_exposed);
        "wait_hidden" Ns of_cycle("wait_hidden") => I64Or(|r| r.cycle.wait_hidden);
        "wait_unrecorded" Ns of_cycle("wait_unrecorded") => I64Or(|r| r.cycle.wait_unrecorded);
        "wait_hidden_by_earlier" Ns of_cycle("wait_hidden_by_earlier") => I64Or(|r| r.cycle.wait_hidden_by_earlier);
        "in_sync" Ns of_cycle("in_sync") => I64Or(|r| r.cycle.in_sync);
        "gpu_busy" Ns of_cycle("gpu_busy") => I64Or(|r| r.cycle.gpu_busy);
        "gpu_idle" Ns of_cycle("gpu_idle") => I64Or(|r| r.cycle.gpu_idle);
        "launched" Ns of_cycle("launched") => I64Or(|r| r.cycle.launched);
        "n_ops" Number of_cycle("n_ops") => I64Or(|r| r.cycle.n_ops.map(super::wide));
        "first_kernel" Ns of_cycle("first_kernel") => I64Or(|r| r.cycle.first_kernel);
        "gpu_lag" Ns of_cycle("gpu_lag") => I64Or(|r| r.cycle.gpu_lag);
        "part_compute" Ns "Of the cycle on the GPU's clock: it computed" => I64Or(part::<0>);
        "part_comm" Ns "It did nothing but communicate" => I64Or(part::<1>);
        "part_h2d" Ns "It did nothing but copy from the host" => I64Or(part::<2>);
        "part_copy" Ns "It did nothing but copy otherwise" => I64Or(part::<3>);
        "part_memset" Ns "It did nothing but set memory" => I64Or(part::<4>);
        "part_unrecorded" Ns "It is not known what it did" => I64Or(part::<5>);
        "part_gc" Ns "It was idle during garbage collection" => I64Or(part::<6>);
        "part_compile" Ns "It was idle during compilation" => I64Or(part::<7>);
        "part_checkpoint" Ns "It was idle during a checkpoint" => I64Or(part::<8>);
        "part_log" Ns "It was idle during logging" => I64Or(part::<9>);
        "part_loader" Ns "It was idle while a loader was made" => I64Or(part::<10>);
        "part_wait_exposed" Ns "It was idle while the loop waited for data" => I64Or(part::<11>);
        "part_eval" Ns "It was idle during evaluation" => I64Or(part::<12>);
        "part_sync" Ns "It was idle after a synchronising call" => I64Or(part::<13>);
        "part_host" Ns "It was idle because the CPU launched late" => I64Or(part::<14>);
        "part_dependency" Ns "It was idle because its next work waited for other work" => I64Or(part::<15>);
        "part_short" Ns "Short gaps between kernels" => I64Or(part::<16>);
        "part_unknown" Ns "It was idle, and it is not known why" => I64Or(part::<17>);
        "phase_fetch" Ns CPU => I64(phase::<0>);
        "phase_h2d" Ns CPU => I64(phase::<1>);
        "phase_forward" Ns CPU => I64(phase::<2>);
        "phase_backward" Ns CPU => I64(phase::<3>);
        "phase_optimizer" Ns CPU => I64(phase::<4>);
        "phase_compute" Ns CPU => I64(phase::<5>);
        "phase_comm" Ns CPU => I64(phase::<6>);
        "phase_checkpoint" Ns CPU => I64(phase::<7>);
        "phase_eval" Ns CPU => I64(phase::<8>);
        "phase_gc" Ns CPU => I64(phase::<9>);
        "phase_compile" Ns CPU => I64(phase::<10>);
        "phase_log" Ns CPU => I64(phase::<11>);
        "phase_loader" Ns CPU => I64(phase::<12>);
        "phase_other" Ns "Of the cycle in no phase" => I64(phase::<13>);
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_phases_are_those_of_the_analysis() {
        let named = |prefix: &str| {
            let names = StepsRow::COLUMNS.iter().map(|c| c.name);
            names.filter_map(|n| n.strip_prefix(prefix)).collect()
        };
        let parts: Vec<&str> = named("part_");
        let own = GPU_PARTS.map(|p| p.strip_prefix("idle_").unwrap_or(p));
        assert_eq!(parts, own);
        let phases: Vec<&str> = named("phase_");
        assert_eq!(phases, CPU_PARTS);
    }
}
