//! Figures of a dragged window: one row per layer, and what the GPUs did. Everything from prefix sums; percentiles are
//! a separate, cancellable call.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::analysis::Analysis;
use crate::analysis::base::gpus::unite_all;
use crate::analysis::base::layer_sets::Owner;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::summary;
use crate::model::LaneId;
use crate::time::TimeRange;

/// Whose spans count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Scope {
    /// All ranks, and lanes of none.
    #[default]
    All,
    /// One rank: index in [`Analysis::ranks`].
    Rank(usize),
}

/// One layer in a window. Times in ns; `None` is not known, which is not zero.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerRow {
    /// The layer.
    pub layer: LayerId,
    /// Any process (or GPU) is in it.
    pub wall: i64,
    /// Summed over processes (or GPUs).
    pub sum: i64,
    /// The process (or GPU) that is in it longest.
    pub busiest: i64,
    /// Which.
    pub busiest_owner: Owner,
    /// Spans that start in the window.
    pub count: u64,
    /// Spans that touch the window.
    pub touching: u64,
    /// Sum of the whole durations of those that start in it.
    pub whole: i64,
    /// Sum of what lies in the window of those that touch it.
    pub clipped: i64,
    /// Sum of the whole durations of those that touch it.
    pub whole_touching: i64,
    /// In it while the rank's own GPU was idle, summed over ranks: with several of them it can exceed `wall`. Unknown
    /// without a GPU in scope.
    pub exposed: Option<i64>,
    /// Length of the window.
    pub window: i64,
    /// A span that starts in the window ends after it.
    pub reaches_past: bool,
    /// Of the whole durations of those that start in it, once [`Selection::add`] knows them.
    pub percentiles: Option<Percentiles>,
}

impl LayerRow {
    /// Mean whole duration of the spans that start in the window, ns, rounded half up.
    #[must_use]
    pub fn mean(&self) -> Option<i64> {
        mean(self.whole, self.count)
    }

    /// Mean of what lies in the window, of the spans that touch it, ns, rounded half up.
    #[must_use]
    pub fn mean_inside(&self) -> Option<i64> {
        mean(self.clipped, self.touching)
    }

    /// Mean whole duration of the spans that touch the window, ns, rounded half up.
    #[must_use]
    pub fn mean_whole(&self) -> Option<i64> {
        mean(self.whole_touching, self.touching)
    }
}

fn mean(sum: i64, n: u64) -> Option<i64> {
    let n = i64::try_from(n).ok()?;
    (n > 0).then(|| sum.saturating_add(n / 2).div_euclid(n))
}

/// One GPU in a window. `exposed_wait + busy + idle_other + not_recorded` = window. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuHeadline {
    /// Index in [`Analysis::gpus`].
    pub gpu: usize,
    /// The GPU was idle while the loop in scope waited for a batch; of several ranks on it, while any of them did.
    pub exposed_wait: i64,
    /// The GPU worked.
    pub busy: i64,
    /// The GPU was idle for another reason.
    pub idle_other: i64,
    /// Unknown.
    pub not_recorded: i64,
}

/// Waits of the ranks in scope, summed. `exposed + hidden + not_recorded` = `total`. Times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitParts {
    /// The loops waited.
    pub total: i64,
    /// Of it the GPU was idle.
    pub exposed: i64,
    /// Of it the GPU worked.
    pub hidden: i64,
    /// Of it unknown.
    pub not_recorded: i64,
}

/// A window, as the selection panel shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// The window.
    pub window: TimeRange,
    /// Whose spans count.
    pub scope: Scope,
    /// By layer id, of those that touch the window.
    pub rows: Vec<LayerRow>,
    /// By GPU.
    pub gpus: Vec<GpuHeadline>,
    /// Waits of the loops.
    pub wait: WaitParts,
    /// Whether any of these loops has a wait anywhere in the trace: else `wait` is not zero but unknown.
    pub waits_recorded: bool,
    /// Steps wholly inside.
    pub steps: usize,
    /// Steps partly inside.
    pub partial_steps: usize,
}

impl Selection {
    /// Adds what [`Analysis::percentiles`] found.
    pub fn add(&mut self, percentiles: &BTreeMap<LayerId, Percentiles>) {
        for row in &mut self.rows {
            row.percentiles = percentiles.get(&row.layer).copied();
        }
    }
}

/// Whole durations of the spans of one layer that start in a window, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentiles {
    /// Median.
    pub median: i64,
    /// 95th percentile.
    pub p95: i64,
    /// Longest.
    pub max: i64,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    started: u64,
    open: u64,
    whole: i64,
    /// Of those that are open at the start.
    whole_open: i64,
    /// What lies in the window, as far as it is no whole span that starts in it.
    inside_open: i64,
    /// What of those that start in the window lies behind it.
    behind: i64,
    past: bool,
}

impl Analysis {
    pub(in crate::analysis) fn in_scope(&self, lane: LaneId, scope: Scope) -> bool {
        match scope {
            Scope::All => true,
            Scope::Rank(r) => self.sets.lane_rank[lane.index()] == Some(r),
        }
    }

    /// Figures of a window: some hundreds of O(log n) look-ups.
    #[must_use]
    pub fn selection(&self, window: TimeRange, scope: Scope) -> Selection {
        let window = TimeRange::new(window.start, window.end);
        let ranks: Vec<usize> = match scope {
            Scope::All => (0..self.ranks.len()).collect(),
            Scope::Rank(r) => vec![r],
        };
        let mut wait = WaitParts::default();
        let (mut steps, mut partial_steps) = (0, 0);
        for &r in &ranks {
            let rank = &self.ranks[r];
            wait.total += rank.wait.measure_in(window);
            wait.exposed += rank.wait_exposed.measure_in(window);
            wait.hidden += rank.wait_hidden.measure_in(window);
            wait.not_recorded += rank.wait_unrecorded.measure_in(window);
            let (whole, partial) = count_steps(&rank.steps, window);
            steps += whole;
            partial_steps += partial;
        }
        let gpus = self.headline(window, scope);
        Selection {
            window,
            scope,
            rows: self.layer_rows(window, scope, !gpus.is_empty()),
            gpus,
            wait,
            waits_recorded: ranks.iter().any(|&r| self.ranks[r].n_fetch() > 0),
            steps,
            partial_steps,
        }
    }

    fn headline(&self, window: TimeRange, scope: Scope) -> Vec<GpuHeadline> {
        let exposed_on = |gpu: usize| match scope {
            Scope::Rank(r) => self.ranks[r].wait_exposed.measure_in(window),
            Scope::All => {
                let own: Vec<&Union> = self
                    .ranks
                    .iter()
                    .filter(|r| r.gpu == Some(gpu))
                    .map(|r| &r.wait_exposed)
                    .collect();
                match own[..] {
                    [] => 0,
                    [one] => one.measure_in(window),
                    // Ranks that share a GPU may wait at once.
                    _ => unite_all(
                        own.iter()
                            .map(|u| u.clip(window))
                            .collect::<Vec<_>>()
                            .iter(),
                    )
                    .measure(),
                }
            }
        };
        let gpus = self.gpus.iter().enumerate().filter(|&(g, _)| match scope {
            Scope::All => true,
            Scope::Rank(r) => self.ranks[r].gpu == Some(g),
        });
        gpus.map(|(g, gpu)| {
            let exposed = exposed_on(g);
            GpuHeadline {
                gpu: g,
                exposed_wait: exposed,
                busy: gpu.busy.measure_in(window),
                idle_other: gpu.idle.measure_in(window) - exposed,
                not_recorded: window.len() - gpu.record.clip(window).len()
                    + gpu.not_recorded.measure_in(window),
            }
        })
        .collect()
    }

    fn layer_rows(&self, window: TimeRange, scope: Scope, gpu: bool) -> Vec<LayerRow> {
        let sets = &self.sets;
        let (layers, ranks): (Vec<LayerId>, Vec<usize>) = match scope {
            Scope::All => (
                sets.all.keys().copied().collect(),
                (0..self.ranks.len()).collect(),
            ),
            Scope::Rank(r) => (sets.ranks[r].keys().copied().collect(), vec![r]),
        };
        let counts = self.layer_counts(window, scope);
        let owners = self.sets.owners.iter().filter(|o| match scope {
            Scope::All => true,
            Scope::Rank(r) => o.rank == Some(r),
        });
        let mut by: BTreeMap<LayerId, (i64, i64, Owner)> = BTreeMap::new();
        for owned in owners {
            for (&layer, union) in &owned.sets {
                let time = union.measure_in(window);
                let slot = by.entry(layer).or_insert((0, -1, owned.owner));
                slot.0 += time;
                if time > slot.1 {
                    (slot.1, slot.2) = (time, owned.owner);
                }
            }
        }
        let row = |&layer: &LayerId| {
            let c = counts[layer.index()];
            let &(sum, busiest, busiest_owner) = by.get(&layer)?;
            if c.started == 0 && c.open == 0 {
                return None;
            }
            let time = match scope {
                Scope::All => sets.all[&layer].measure_in(window),
                Scope::Rank(r) => sets.ranks[r][&layer].union.measure_in(window),
            };
            let exposed = ranks.iter().filter_map(|&r| {
                let (union, overlap) = sets.ranks[r].get(&layer)?.exposed.as_ref()?;
                let idle = &self.gpus[self.ranks[r].gpu?].idle;
                Some(overlap.measure_in(union, idle, window))
            });
            Some(LayerRow {
                layer,
                wall: time,
                sum,
                busiest,
                busiest_owner,
                count: c.started,
                touching: c.started + c.open,
                whole: c.whole,
                clipped: c.whole.saturating_add(c.inside_open - c.behind),
                whole_touching: c.whole.saturating_add(c.whole_open),
                exposed: gpu.then(|| exposed.sum()),
                window: window.len(),
                reaches_past: c.past,
                percentiles: None,
            })
        };
        layers.iter().filter_map(row).collect()
    }

    fn layer_counts(&self, window: TimeRange, scope: Scope) -> Vec<Counts> {
        let mut counts = vec![Counts::default(); self.core.layers.infos().len()];
        if window.is_empty() {
            return counts;
        }
        for lane in self
            .core
            .trace
            .lane_ids()
            .filter(|&l| self.in_scope(l, scope))
        {
            let columns = self.core.columns(lane);
            let index = self.core.index(lane);
            let counted = |layer: LayerId| !self.core.is_repeated(lane, layer);
            let started = index.layers.iter().zip(index.started(&columns, window));
            for (layer, s) in started.filter(|(l, _)| counted(**l)) {
                counts[layer.index()].started += s.count;
                counts[layer.index()].whole += s.whole;
            }
            index.open_at(&columns, window.start, |i| {
                if counted(columns.of[i]) {
                    let c = &mut counts[columns.of[i].index()];
                    c.open += 1;
                    c.whole_open = c.whole_open.saturating_add(columns.durs[i]);
                    c.inside_open += columns.range(i).clip(window).len();
                }
            });
            index.open_at(&columns, window.end, |i| {
                let c = &mut counts[columns.of[i].index()];
                if columns.starts[i] >= window.start {
                    c.past = true;
                    if counted(columns.of[i]) {
                        c.behind += columns.range(i).end - window.end;
                    }
                }
            });
        }
        counts
    }

    /// Median, 95th percentile and maximum of the whole durations of spans that start in a window, by layer. Costs
    /// what starts in the window: not for the thread that draws. `None` once `cancel` is set.
    #[must_use]
    pub fn percentiles(
        &self,
        window: TimeRange,
        scope: Scope,
        cancel: &AtomicBool,
    ) -> Option<BTreeMap<LayerId, Percentiles>> {
        /// Spans between two looks at `cancel`.
        const STRIDE: usize = 1 << 16;
        let lanes: Vec<LaneId> = self
            .core
            .trace
            .lane_ids()
            .filter(|&l| self.in_scope(l, scope))
            .collect();
        let gather = |&lane: &LaneId| {
            let columns = self.core.columns(lane);
            let (a, b) = columns.start_range(window);
            let index = self.core.index(lane);
            let room = |s: crate::analysis::base::lanes::Started| {
                Vec::with_capacity(usize::try_from(s.count).unwrap_or(0))
            };
            let started = index.started(&columns, window).into_iter();
            let mut durations: Vec<Vec<i64>> = started.map(room).collect();
            for chunk in (a..b).step_by(STRIDE) {
                if cancel.load(Ordering::Relaxed) {
                    return None;
                }
                for i in chunk..b.min(chunk + STRIDE) {
                    durations[index.slot(columns.of[i])].push(columns.durs[i]);
                }
            }
            let found = index.layers.iter().copied().zip(durations);
            let counted = found.filter(|(layer, _)| !self.core.is_repeated(lane, *layer));
            Some(counted.collect())
        };
        let parts: Vec<BTreeMap<LayerId, Vec<i64>>> =
            lanes.par_iter().map(gather).collect::<Option<_>>()?;
        let mut by: BTreeMap<LayerId, Vec<i64>> = BTreeMap::new();
        for (layer, mut values) in parts.into_iter().flatten() {
            by.entry(layer).or_default().append(&mut values);
        }
        let by: Vec<(LayerId, Vec<i64>)> = by.into_iter().collect();
        let summarise = |(layer, mut values): (LayerId, Vec<i64>)| {
            if cancel.load(Ordering::Relaxed) {
                return None;
            }
            let row =
                summary(&mut values).map(|[median, p95, max]| Percentiles { median, p95, max });
            Some((layer, row))
        };
        let rows: Vec<(LayerId, Option<Percentiles>)> =
            by.into_par_iter().map(summarise).collect::<Option<_>>()?;
        Some(
            rows.into_iter()
                .filter_map(|(l, r)| Some((l, r?)))
                .collect(),
        )
    }
}

/// Steps wholly and partly inside a window. Starts ascend, so only the neighbours of the edges can be cut.
fn count_steps(steps: &[crate::analysis::base::steps::Step], window: TimeRange) -> (usize, usize) {
    let mut counts = (0, 0);
    for step in steps {
        if step.range.start >= window.end {
            break;
        }
        if window.covers(step.range) {
            counts.0 += 1;
        } else if step.range.end > window.start {
            counts.1 += 1;
        }
    }
    counts
}
