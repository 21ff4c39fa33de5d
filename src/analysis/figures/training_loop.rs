//! Figures of a rank's loop, and of single lanes, in a window.

use crate::analysis::Analysis;
use crate::analysis::base::lanes::is_leaf;
use crate::analysis::base::loops::Rank;
use crate::analysis::figures::gpu::split_by_phase;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::ratio;
use crate::model::LaneId;
use crate::time::TimeRange;

/// The loop of a rank in a window. Times in ns; `None` is not recorded, which is not zero.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopFigures {
    /// Its lane.
    pub lane: LaneId,
    /// Outermost fetch spans of the whole trace.
    pub n_fetch: usize,
    /// The loop waits for data.
    pub wait: Option<i64>,
    /// Of it the GPU was idle.
    pub wait_exposed: Option<i64>,
    /// Of it the GPU worked.
    pub wait_hidden: Option<i64>,
    /// Of it unknown.
    pub wait_unrecorded: Option<i64>,
    /// Blocked in synchronising calls.
    pub in_sync: Option<i64>,
    /// Exclusive time by innermost phase, `None` = other; adds up to the window.
    pub phases: Vec<(Option<LayerId>, i64)>,
    /// Union of forward, backward, optimizer, compute / window: on the CPU clock.
    pub compute_share: Option<f64>,
}

/// One lane in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneFigures {
    /// Union of its spans, ns; without GPU annotations and syncs.
    pub busy: i64,
    /// Spans that start in the window.
    pub started: u64,
    /// Spans that touch the window.
    pub touching: u64,
}

impl Analysis {
    /// The loop of a rank in a window. `None` without a loop lane.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn loop_figures(&self, rank: usize, window: TimeRange) -> Option<LoopFigures> {
        let (r, sets) = (&self.ranks[rank], &self.rank_sets[rank]);
        let lane = r.loop_lane?;
        let recorded = &self.recorded[rank];
        let known = |is: bool, union: &Union| is.then(|| union.measure_in(window));
        Some(LoopFigures {
            lane,
            n_fetch: r.n_fetch(),
            wait: known(recorded.waits(), &r.wait),
            wait_exposed: known(recorded.exposure(), &r.wait_exposed),
            wait_hidden: known(recorded.exposure(), &r.wait_hidden),
            wait_unrecorded: known(recorded.waits(), &r.wait_unrecorded),
            in_sync: known(recorded.syncs(), &sets.sync),
            phases: split_by_phase(
                sets.phases.iter().map(|(l, u)| (*l, u.measure_in(window))),
                window.len(),
            ),
            compute_share: ratio(sets.compute.measure_in(window), window.len()),
        })
    }

    /// Busy time and counts of a lane in a window.
    #[must_use]
    pub fn lane_figures(&self, lane: LaneId, window: TimeRange) -> LaneFigures {
        let index = self.core.index(lane);
        let columns = self.core.columns(lane);
        let started = self.core.started(lane, window, is_leaf).count;
        let mut open = 0;
        if !window.is_empty() {
            index.open_at(&columns, window.start, |i| {
                open += u64::from(is_leaf(columns.of[i]))
            });
        }
        LaneFigures {
            busy: index.busy_in(&columns, window),
            started,
            touching: started + open,
        }
    }

    /// Names of the spans that mark steps in which a run of the loader begins.
    #[must_use]
    pub fn marks_of_first_waits(&self, rank: &Rank) -> Vec<&str> {
        let firsts: Vec<TimeRange> = rank.waits.firsts().map(|w| w.range).collect();
        let holds = |mark: TimeRange| {
            let next = firsts.partition_point(|w| w.end <= mark.start);
            firsts.get(next).is_some_and(|w| w.start < mark.end)
        };
        let marks = rank.marks.iter().filter(|&&m| holds(self.core.range(m)));
        marks.map(|&m| self.core.trace.span_name(m)).collect()
    }

    /// The innermost phase of a lane at an instant.
    #[must_use]
    pub fn phase_at(&self, lane: LaneId, t: i64) -> Option<LayerId> {
        self.phases[lane.index()].at(t)
    }
}
