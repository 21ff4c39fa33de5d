//! Ranks of a distributed job against each other: means over the steps that all have.

use std::collections::BTreeSet;

use crate::analysis::Analysis;
use crate::analysis::figures::step_table::StepRow;
use crate::analysis::layers::ids::LayerId;
use crate::time::TimeRange;

/// Means of one rank over the steps that all ranks have, ns. `None` = not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankMeans {
    /// Index in [`Analysis::ranks`].
    pub rank: usize,
    /// Step time.
    pub time: Option<f64>,
    /// Waiting for data.
    pub wait: Option<f64>,
    /// Of it exposed.
    pub wait_exposed: Option<f64>,
    /// Host-to-device phase.
    pub h2d: Option<f64>,
    /// Forward phase.
    pub forward: Option<f64>,
    /// Backward phase.
    pub backward: Option<f64>,
    /// Optimizer phase.
    pub optimizer: Option<f64>,
    /// The rest of the step.
    pub other: Option<f64>,
    /// Communication not covered by compute, on the rank's GPU.
    pub exposed_comm: Option<f64>,
}

/// Means of all ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankTable {
    /// Steps that all ranks have, matched by number.
    pub common_steps: usize,
    /// By index in [`Analysis::ranks`].
    pub rows: Vec<RankMeans>,
    /// The rank whose step time is closest to the median.
    pub median: Option<usize>,
}

#[expect(clippy::cast_precision_loss, reason = "a mean is no time of an event")]
fn mean(sum: i64, n: usize) -> f64 {
    sum as f64 / n as f64
}

impl Analysis {
    /// Ranks against each other over the whole steps of a window.
    #[must_use]
    pub fn rank_table(&self, window: TimeRange) -> RankTable {
        let number = |rank: usize, row: &StepRow| self.ranks[rank].steps[row.step].number;
        let rows: Vec<Vec<&StepRow>> = (0..self.ranks.len())
            .map(|r| self.step_rows(r, window).0)
            .collect();
        let mut common: Option<BTreeSet<i64>> = None;
        for (r, rows) in rows.iter().enumerate() {
            let mine: BTreeSet<i64> = rows.iter().filter_map(|row| number(r, row)).collect();
            common = Some(match common {
                Some(c) => c.intersection(&mine).copied().collect(),
                None => mine,
            });
        }
        let common = common.unwrap_or_default();
        let means: Vec<RankMeans> = rows
            .iter()
            .enumerate()
            .map(|(r, rows)| {
                let shared = rows
                    .iter()
                    .filter(|row| number(r, row).is_some_and(|n| common.contains(&n)));
                self.rank_means(r, &shared.copied().collect::<Vec<_>>())
            })
            .collect();
        RankTable {
            common_steps: common.len(),
            median: closest_to_median(&means),
            rows: means,
        }
    }

    fn rank_means(&self, r: usize, rows: &[&StepRow]) -> RankMeans {
        let (rank, sets) = (&self.ranks[r], &self.rank_sets[r]);
        let n = rows.len();
        if n == 0 {
            return RankMeans {
                rank: r,
                ..RankMeans::default()
            };
        }
        let of = |value: &dyn Fn(&StepRow) -> i64| mean(rows.iter().map(|row| value(row)).sum(), n);
        // What one step's record tells, that of all of them does.
        let known = |value: fn(&StepRow) -> Option<i64>| {
            let all: Option<i64> = rows.iter().map(|row| value(row)).sum();
            all.map(|sum| mean(sum, n))
        };
        let named = |row: &StepRow, layer: LayerId| row.phase(layer).unwrap_or(0);
        let phase = |layer: LayerId| {
            let known = sets.phases.contains_key(&layer);
            known.then(|| of(&|row| named(row, layer)))
        };
        let comm = rank.gpu.map(|g| &self.gpu_sets[g].comm_only);
        let (h2d, forward) = (phase(LayerId::H2D), phase(LayerId::FORWARD));
        let (backward, optimizer) = (phase(LayerId::BACKWARD), phase(LayerId::OPTIMIZER));
        RankMeans {
            rank: r,
            time: Some(of(&StepRow::time)),
            wait: known(|row| row.wait),
            wait_exposed: known(|row| row.wait_exposed),
            h2d,
            forward,
            backward,
            optimizer,
            other: Some(of(&|row| {
                let shown = [
                    LayerId::FETCH,
                    LayerId::H2D,
                    LayerId::FORWARD,
                    LayerId::BACKWARD,
                    LayerId::OPTIMIZER,
                ];
                row.time() - shown.iter().map(|&l| named(row, l)).sum::<i64>()
            })),
            exposed_comm: comm.map(|c| of(&|row| c.measure_in(row.range))),
        }
    }
}

/// One real rank: the one whose step time is closest to the median of all.
fn closest_to_median(rows: &[RankMeans]) -> Option<usize> {
    let mut times: Vec<f64> = rows.iter().filter_map(|r| r.time).collect();
    if times.is_empty() {
        return None;
    }
    times.sort_by(f64::total_cmp);
    let (low, high) = (times[(times.len() - 1) / 2], times[times.len() / 2]);
    let median = f64::midpoint(low, high);
    let far = |i: &usize| rows[*i].time.map_or(f64::INFINITY, |t| (t - median).abs());
    (0..rows.len()).min_by(|a, b| far(a).total_cmp(&far(b)))
}
