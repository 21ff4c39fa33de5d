//! Ranks of a distributed job against each other: means over common steps, and who holds the others up.

use std::collections::BTreeSet;

use crate::analysis::Analysis;
use crate::analysis::base::options::{Options, Severity, Strategy};
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
    /// Who holds the others up.
    pub straggler: Option<Straggler>,
}

/// What makes a rank late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StragglerKind {
    /// It waits for input.
    Input,
    /// Its copies to the device take longer.
    H2d,
    /// Its forward pass takes longer.
    Compute,
    /// Nothing measured explains it.
    Unattributed,
}

impl StragglerKind {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Input => "INPUT_STRAGGLER",
            Self::H2d => "H2D_STRAGGLER",
            Self::Compute => "COMPUTE_STRAGGLER",
            Self::Unattributed => "STRAGGLER",
        }
    }
}

/// A rank that the others wait for. Indices are those of the given ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Straggler {
    /// Why.
    pub kind: StragglerKind,
    /// The late rank: the one that is least in the phase in which ranks meet.
    pub culprit: usize,
    /// The rank in the middle, that waits.
    pub victim: usize,
    /// The time that the victim is longer in that phase, by its step time.
    pub score: f64,
    /// Part of that time which each measured cause explains, 0 to 1.
    pub coverage: Vec<(StragglerKind, f64)>,
    /// Warning or critical.
    pub severity: Severity,
}

/// `TraceML`'s rule: the culprit arrives last at the meeting point, so it waits least there.
#[must_use]
pub fn straggler(ranks: &[RankMeans], fsdp: bool, options: &Options) -> Option<Straggler> {
    let visible = |r: &RankMeans| {
        if fsdp {
            Some(r.forward? + r.backward?)
        } else {
            r.backward
        }
    };
    let mut able: Vec<(f64, usize)> = ranks
        .iter()
        .enumerate()
        .filter(|(_, r)| r.wait.is_some() && r.time.is_some_and(|t| t > 0.0))
        .filter_map(|(i, r)| Some((visible(r).filter(|&v| v > 0.0)?, i)))
        .collect();
    if able.len() < 2 {
        return None;
    }
    able.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (low, culprit) = able[0];
    let (high, victim) = able[able.len() / 2];
    let cost = high - low;
    let score = cost / ranks[victim].time?;
    if culprit == victim || score < options.straggler_warn {
        return None;
    }
    let (c, v) = (&ranks[culprit], &ranks[victim]);
    let mut causes = vec![
        (StragglerKind::Input, c.wait, v.wait),
        (StragglerKind::H2d, c.h2d, v.h2d),
    ];
    if !fsdp {
        causes.push((StragglerKind::Compute, c.forward, v.forward));
    }
    let coverage: Vec<(StragglerKind, f64)> = causes
        .into_iter()
        .filter_map(|(kind, a, b)| {
            let share = if cost > 0.0 {
                (a? - b?).max(0.0) / cost
            } else {
                0.0
            };
            Some((kind, share.min(1.0)))
        })
        .collect();
    let mut best = (StragglerKind::Unattributed, f64::MIN);
    for &(kind, share) in &coverage {
        if share > best.1 {
            best = (kind, share);
        }
    }
    Some(Straggler {
        kind: if best.1 >= options.cause_cov {
            best.0
        } else {
            StragglerKind::Unattributed
        },
        culprit,
        victim,
        score,
        coverage,
        severity: if score >= options.straggler_crit {
            Severity::Critical
        } else {
            Severity::Warning
        },
    })
}

#[expect(clippy::cast_precision_loss, reason = "a mean is no time of an event")]
fn mean(sum: i64, n: usize) -> f64 {
    sum as f64 / n as f64
}

impl Analysis {
    /// Whether ranks meet in forward and backward (FSDP) instead of backward alone.
    #[must_use]
    pub fn meets_in_forward(&self) -> bool {
        match self.options.strategy {
            Strategy::Ddp => false,
            Strategy::Fsdp => true,
            Strategy::Auto => {
                let names = self.core.trace.names();
                names.find("FullyShardedDataParallel.forward").is_some()
            }
        }
    }

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
            straggler: straggler(&means, self.meets_in_forward(), &self.options),
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
