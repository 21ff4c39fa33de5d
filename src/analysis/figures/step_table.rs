//! One row per step, and the columns' sums, medians, 95th percentiles and maxima.

use rayon::prelude::*;

use crate::analysis::Analysis;
use crate::analysis::base::core::{CallCursor, Core};
use crate::analysis::base::gpus::Gpu;
use crate::analysis::base::launches::Launched;
use crate::analysis::base::loops::Rank;
use crate::analysis::base::rank_sets::RankSets;
use crate::analysis::base::tails::{Threads, own_lanes};
use crate::analysis::figures::recorded::Recorded;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::percentile_sorted;
use crate::analysis::sums::watch::Watch;
use crate::model::LaneId;
use crate::time::TimeRange;

/// Phases of a loop.
const PHASES: usize = (LayerId::PHASES.end - LayerId::PHASES.start) as usize;

/// Figures of one step. Times in ns; `None` is not recorded, which is not zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRow {
    /// Index in [`Analysis::ranks`].
    pub rank: usize,
    /// Index in the rank's steps.
    pub step: usize,
    /// When.
    pub range: TimeRange,
    /// First of a loader's run.
    pub first: bool,
    /// The loop waits for data.
    pub wait: Option<i64>,
    /// Of it the GPU was idle.
    pub wait_exposed: Option<i64>,
    /// Of it the GPU worked.
    pub wait_hidden: Option<i64>,
    /// Of it unknown.
    pub wait_unrecorded: Option<i64>,
    /// Of the wait covered by operations launched before the step began.
    pub wait_hidden_by_earlier: Option<i64>,
    /// Exclusive time by phase, in the order of layer ids.
    phases: [Option<i64>; PHASES],
    /// Time in no phase: what is left of the step.
    pub other: i64,
    /// Blocked in synchronising calls.
    pub in_sync: Option<i64>,
    /// The GPU worked during the step.
    pub gpu_busy: Option<i64>,
    /// The GPU was idle during the step.
    pub gpu_idle: Option<i64>,
    /// Operations that the step launched.
    pub n_ops: Option<u64>,
    /// Sum of their durations.
    pub launched: Option<i64>,
    /// First kernel launched in the step: its start after the start of the step.
    pub first_kernel: Option<i64>,
    /// End of the last operation launched in the step after the end of the step.
    pub gpu_lag: Option<i64>,
}

impl StepRow {
    /// Length of the step, ns.
    #[must_use]
    pub fn time(&self) -> i64 {
        self.range.len()
    }

    /// Time in a phase, ns; `None` where no span of that phase was recorded anywhere of the rank.
    #[must_use]
    pub fn phase(&self, layer: LayerId) -> Option<i64> {
        self.phases.get(layer.index()).copied().flatten()
    }
}

/// Sum, median, 95th percentile and maximum of one column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnSummary {
    /// Sum, ns; unknown where no value is known.
    pub sum: Option<i64>,
    /// Median, ns.
    pub median: Option<i64>,
    /// 95th percentile, ns.
    pub p95: Option<i64>,
    /// Maximum, ns.
    pub max: Option<i64>,
}

impl ColumnSummary {
    /// Of some values.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = i64>) -> Self {
        let mut values: Vec<i64> = values.into_iter().collect();
        values.sort_unstable();
        Self {
            sum: (!values.is_empty()).then(|| values.iter().sum()),
            median: percentile_sorted(&values, 50),
            p95: percentile_sorted(&values, 95),
            max: values.last().copied(),
        }
    }
}

/// What rows of a rank are made from.
struct Scene<'a> {
    core: &'a Core,
    index: usize,
    rank: &'a Rank,
    sets: &'a RankSets,
    recorded: &'a Recorded,
    gpu: Option<(usize, &'a Gpu)>,
    /// Lanes of its process that launch something.
    tracks: Vec<LaneId>,
}

impl<'a> Scene<'a> {
    /// `None` without a loop.
    fn new(
        core: &'a Core,
        (index, rank): (usize, &'a Rank),
        sets: &'a RankSets,
        recorded: &'a Recorded,
        gpus: &'a [Gpu],
    ) -> Option<Self> {
        let lanes = own_lanes(core, rank.loop_lane?, Threads::Process);
        let launching = lanes.into_iter().filter(|&l| core.launches.count(l) > 0);
        Some(Self {
            tracks: launching.collect(),
            core,
            index,
            rank,
            sets,
            recorded,
            gpu: rank.gpu.map(|g| (g, &gpus[g])),
        })
    }

    /// The figures of a step, or of its cycle.
    fn row(&self, step: usize, range: TimeRange) -> StepRow {
        let (core, rank, gpu) = (self.core, self.rank, self.gpu);
        let known = |is: bool, union: &Union| is.then(|| union.measure_in(range));
        let (waits, exposure) = (self.recorded.waits(), self.recorded.exposure());
        let mut phases = [None; PHASES];
        for id in LayerId::PHASES
            .map(LayerId)
            .filter(|&l| self.recorded.layer(l))
        {
            let union = self.sets.phases.get(&id);
            phases[id.index()] = Some(union.map_or(0, |u| u.measure_in(range)));
        }
        let named: i64 = phases.iter().flatten().sum();
        let mine = gpu.map(|(g, _)| launched_on(core, &self.tracks, range, g));
        let cut = rank.loop_lane.is_some_and(|lane| core.is_cut(lane, range));
        let earlier = |(g, _)| hidden_by_earlier(core, g, rank, range);
        StepRow {
            rank: self.index,
            step,
            range,
            first: rank.steps[step].first,
            wait: known(waits, &rank.wait),
            wait_exposed: known(exposure, &rank.wait_exposed),
            wait_hidden: known(exposure, &rank.wait_hidden),
            wait_unrecorded: known(waits, &rank.wait_unrecorded),
            wait_hidden_by_earlier: gpu.filter(|_| exposure).map(earlier),
            phases,
            other: range.len() - named,
            in_sync: known(self.recorded.syncs(), &self.sets.sync),
            gpu_busy: gpu.map(|(_, g)| g.busy.measure_in(range)),
            gpu_idle: gpu.map(|(_, g)| g.idle.measure_in(range)),
            n_ops: mine.as_ref().map(|l| l.n_ops),
            launched: mine.as_ref().map(|l| l.sum),
            first_kernel: mine
                .as_ref()
                .and_then(|l| l.first_kernel)
                .map(|k| k - range.start),
            gpu_lag: mine
                .as_ref()
                .and_then(|l| l.last)
                .filter(|_| !cut)
                .map(|l| l - range.end),
        }
    }
}

/// Rows of all steps of a rank.
pub(in crate::analysis) fn rows(
    core: &Core,
    rank: (usize, &Rank),
    sets: &RankSets,
    recorded: &Recorded,
    gpus: &[Gpu],
    watch: &Watch<'_>,
) -> Vec<StepRow> {
    let Some(scene) = Scene::new(core, rank, sets, recorded, gpus) else {
        return Vec::new();
    };
    let steps = rank.1.steps.par_iter().enumerate();
    let steps = steps.filter(|_| !watch.stopped());
    steps.map(|(i, s)| scene.row(i, s.range)).collect()
}

/// What calls of some lanes that start in a range launched on a GPU.
pub(in crate::analysis) fn launched_on(
    core: &Core,
    lanes: &[LaneId],
    range: TimeRange,
    gpu: usize,
) -> Launched {
    let mut sum = Launched::NOTHING;
    for &lane in lanes {
        for track in core
            .launches
            .groups_of(lane)
            .iter()
            .filter(|t| t.gpu == gpu)
        {
            let links = core.launches.within(&core.trace, track, range);
            sum.add(&core.launches.sum(&core.trace, &core.layers, links));
        }
    }
    sum
}

/// Of the waits in a step: covered by operations whose launch call started before the step.
fn hidden_by_earlier(core: &Core, gpu: usize, rank: &Rank, step: TimeRange) -> i64 {
    let spans = core.trace.spans();
    let mut covered: Vec<TimeRange> = Vec::new();
    for wait in rank.wait_hidden.parts_in(step) {
        let wait = wait.clip(step);
        for lane in core.gpu_lanes(gpu) {
            let columns = core.columns(lane);
            let mut running = Vec::new();
            core.index(lane)
                .open_at(&columns, wait.start, |i| running.push(i));
            let (a, b) = columns.start_range(wait);
            running.extend(a..b);
            let Some(&first) = running.first() else {
                continue;
            };
            let mut calls = CallCursor::new(core, columns.id(first));
            for i in running {
                let early = columns.of[i].is_operation()
                    && calls
                        .call(columns.id(i))
                        .is_some_and(|c| spans.start(c) < step.start);
                if early {
                    covered.push(columns.range(i).clip(wait));
                }
            }
        }
    }
    Union::new(covered).measure()
}

impl Analysis {
    /// The cycles of a rank, a row each with the figures that a step has: over the cycle, not over the step alone.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn cycle_rows(&self, rank: usize) -> Vec<StepRow> {
        let (sets, recorded) = (&self.rank_sets[rank], &self.recorded[rank]);
        let own = (rank, &self.ranks[rank]);
        let Some(scene) = Scene::new(&self.core, own, sets, recorded, &self.gpus) else {
            return Vec::new();
        };
        let cycles = self.cycles[rank].all.par_iter().enumerate();
        cycles.map(|(i, c)| scene.row(i, c.range)).collect()
    }

    /// The place of the step of a rank that lies at an instant.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn step_at(&self, rank: usize, t: i64) -> Option<usize> {
        let steps = &self.ranks[rank].steps;
        let i = steps
            .partition_point(|s| s.range.start <= t)
            .checked_sub(1)?;
        steps[i].range.contains(t).then_some(i)
    }

    /// Rows of the steps of a rank that lie wholly inside a window, and the number that lie partly inside.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn step_rows(&self, rank: usize, window: TimeRange) -> (Vec<&StepRow>, usize) {
        let rows = &self.step_rows[rank];
        let whole: Vec<&StepRow> = rows.iter().filter(|r| window.covers(r.range)).collect();
        let touched = rows
            .iter()
            .filter(|r| r.range.start < window.end && r.range.end > window.start)
            .count();
        let partial = touched.saturating_sub(whole.len());
        (whole, partial)
    }
}
