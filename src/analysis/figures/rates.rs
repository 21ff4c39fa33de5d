//! Rates of loading and training, and what another number of workers would do.

use crate::analysis::Analysis;
use crate::analysis::cause::decide::LoopCause;
use crate::analysis::figures::judged::CycleRow;
use crate::analysis::figures::pace::Pace;
use crate::analysis::sums::stats::percentile;
use crate::model::Role;
use crate::time::TimeRange;

/// Beyond one per core, workers count this much (hyper-threads gave 30 %).
const HYPER: f64 = 0.3;
/// Recommended workers = needed × this.
const HEADROOM: f64 = 1.25;
/// Workers that are at a batch for this share of the waiting are at their limit.
const AT_LIMIT: f64 = 0.8;

/// Costs per batch from which everything is predicted. All in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// C: a step that never waits for data.
    pub compute: f64,
    /// L: loading work per batch.
    pub load: f64,
    /// Of it reading.
    pub read: f64,
    /// h: hand-over per batch in a worker.
    pub handover: f64,
    /// Loading work per batch of a worker that is much slower than the others; 0 where none is. Batches are taken in
    /// order, so one in N waits for it.
    pub slow: f64,
    /// h₀: hand-over in the loop itself, without workers.
    pub handover_in_loop: f64,
    /// Loading in the loop itself that the GPU works through, without workers: nothing where each step blocks.
    pub hidden_in_loop: f64,
}

impl Costs {
    /// How many workers `n` count as on `cores` cores.
    #[must_use]
    pub fn effective(n: u32, cores: Option<u32>) -> f64 {
        let n = f64::from(n);
        let Some(cores) = cores.map(f64::from) else {
            return n;
        };
        n.min(cores) + HYPER * (n.min(2.0 * cores) - cores).max(0.0)
    }

    /// Step time with `n` workers, ns: max(C, (L + h) / N), with a slow worker's L where there is one; without workers
    /// C + L + h₀, less what the GPU works through.
    #[must_use]
    pub fn step(&self, n: u32, cores: Option<u32>) -> f64 {
        if n == 0 {
            let loading = self.load + self.handover_in_loop - self.hidden_in_loop;
            return self.compute + loading.max(0.0);
        }
        let load = self.load.max(self.slow);
        self.compute
            .max((load + self.handover) / Self::effective(n, cores))
    }

    /// The same costs with a share of the data in memory, where reading takes `memory` per batch, ns.
    #[must_use]
    pub fn cached(&self, share: f64, memory: f64) -> Self {
        let read = share * memory + (1.0 - share) * self.read;
        Self {
            load: self.load - self.read + read,
            read,
            ..*self
        }
    }

    /// Workers with which loading keeps up: ceil((L + h) / C).
    #[must_use]
    pub fn workers_needed(&self) -> Option<u32> {
        whole((self.load + self.handover) / self.compute)
    }

    /// The same with 25 % headroom.
    #[must_use]
    pub fn workers_recommended(&self) -> Option<u32> {
        whole(HEADROOM * (self.load + self.handover) / self.compute)
    }

    /// Rates with `n` workers and `batch` samples per batch.
    #[must_use]
    pub fn rates(&self, n: u32, batch: f64) -> RateSet {
        let m = f64::from(n.max(1));
        let cost = self.load
            + if n == 0 {
                self.handover_in_loop
            } else {
                self.handover
            };
        let per_second = |ns: f64| (ns > 0.0).then(|| batch * 1e9 / ns);
        let gpu = per_second(self.compute);
        let loader = per_second(cost / m);
        let stall = if n == 0 {
            (cost - self.hidden_in_loop).max(0.0)
        } else {
            (cost / m - self.compute).max(0.0)
        };
        let prep = if n == 0 {
            (stall - self.read).max(0.0)
        } else {
            ((cost - self.read) / m - self.compute).max(0.0)
        };
        RateSet {
            gpu,
            prep: per_second((self.load - self.read) / m),
            fetch: per_second(self.read / m),
            loader,
            stalled: n == 0 || gpu > loader,
            stall,
            prep_stall: prep,
            fetch_stall: stall - prep,
        }
    }
}

fn whole(x: f64) -> Option<u32> {
    let x = x.ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked just before"
    )]
    let n = (x.is_finite() && (0.0..1e9).contains(&x)).then_some(x as u32);
    n
}

/// Rates per second and the split of the stall per step (ns).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSet {
    /// G: what the GPU could take.
    pub gpu: Option<f64>,
    /// P: what preparation could give, if it were a stage of its own.
    pub prep: Option<f64>,
    /// F: what reading could give, if it were a stage of its own.
    pub fetch: Option<f64>,
    /// R: what the loader gives; decides.
    pub loader: Option<f64>,
    /// G > R.
    pub stalled: bool,
    /// Modelled wait per step.
    pub stall: f64,
    /// Of it due to preparation.
    pub prep_stall: f64,
    /// Of it due to reading.
    pub fetch_stall: f64,
}

/// What was measured for rates and predictions in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Costs per batch.
    pub costs: Costs,
    /// What the steps took, from which C comes.
    pub pace: Pace,
    /// The loop loads by itself, without spans for it: its waits stand in for the loading.
    pub load_from_waits: bool,
    /// Workers that loaded at the same time.
    pub workers: u32,
    /// Batches loaded.
    pub batches: f64,
    /// Samples per batch; 1 where unknown: then rates are in batches.
    pub batch: f64,
    /// Whether `batch` is known.
    pub samples_known: bool,
    /// Whether h was measured, on worker lanes while the loop waited. Without it predictions are a best case.
    pub handover_known: bool,
    /// Rates as measured.
    pub rates: RateSet,
    /// Workers with which loading keeps up.
    pub needed_workers: Option<u32>,
    /// With 25 % headroom, where more workers are the cure.
    pub recommended_workers: Option<u32>,
    /// Why no number is recommended.
    pub recommended_reason: Option<String>,
    /// What the waiting comes from, where it can be told.
    pub cause: Option<LoopCause>,
    /// Mean share of the judged waiting in which a worker is at a batch.
    pub busy: Option<f64>,
    /// Putting items together is in the record; else it counts as hand-over.
    pub collates: bool,
    /// For whole jobs.
    pub job: Job,
    /// A torch trace: profiled speed is not training speed.
    pub profiled: bool,
}

/// A job's fixed parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Job {
    /// Steps.
    pub steps: usize,
    /// Runs of the loader.
    pub epochs: usize,
    /// Wait at the start of each, ns.
    pub startup: f64,
    /// What is neither C nor waits of steps nor start-up, ns.
    pub rest: f64,
    /// Length, ns.
    pub time: i64,
}

/// A prediction for one number of workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WhatIf {
    /// Workers.
    pub workers: u32,
    /// Step time, ns.
    pub step: f64,
    /// Wait per step, ns.
    pub wait: f64,
    /// Job time, ns.
    pub job: f64,
    /// The measured job's, ns.
    pub measured_job: i64,
    /// Rates.
    pub rates: RateSet,
    /// The hand-over cost for this number of workers is unknown and taken as nothing.
    pub best_case: bool,
}

impl Rates {
    /// How many workers to use on `cores` cores, or why another number is no cure.
    ///
    /// # Errors
    /// The reason, as a clause.
    pub fn recommended(&self, cores: Option<u32>) -> Result<Option<u32>, String> {
        if let Some(cause) = self.cause.filter(|c| c.is_not_cured_by_workers()) {
            return Err(format!("more workers do not cure {}", cause.words()));
        }
        let spare = self.costs.workers_recommended();
        match cores {
            Some(k) if self.workers >= k && self.busy.is_some_and(|b| b >= AT_LIMIT) => {
                Err(format!("{} workers already fill {k} cores", self.workers))
            }
            Some(k) => Ok(spare.map(|n| n.min(k))),
            None => Ok(spare),
        }
    }

    /// How far the model's step for what was measured lies from the measured one: +0.05 = 5 % above.
    #[must_use]
    pub fn off(&self) -> Option<f64> {
        let model = self.costs.step(self.workers, None);
        (self.pace.step > 0.0).then(|| model / self.pace.step - 1.0)
    }

    /// What was measured, in the form of a prediction.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a length of a job")]
    pub fn measured(&self) -> WhatIf {
        WhatIf {
            workers: self.workers,
            step: self.pace.step,
            wait: self.pace.wait,
            job: self.job.time as f64,
            measured_job: self.job.time,
            rates: self.rates,
            best_case: false,
        }
    }

    /// What `workers` on `cores` cores would do with a share of the data cached.
    #[must_use]
    pub fn what_if(&self, workers: u32, cores: Option<u32>, cached: f64) -> WhatIf {
        let costs = self.costs.cached(cached.clamp(0.0, 1.0), 0.0);
        let step = costs.step(workers, cores);
        #[expect(clippy::cast_precision_loss, reason = "counts of steps")]
        let (steps, epochs) = (self.job.steps as f64, self.job.epochs as f64);
        WhatIf {
            workers,
            step,
            wait: step - costs.compute,
            job: steps * step + epochs * self.job.startup + self.job.rest,
            measured_job: self.job.time,
            rates: costs.rates(workers, self.batch),
            best_case: if workers == 0 {
                self.workers > 0
            } else {
                !self.handover_known
            },
        }
    }
}

impl Analysis {
    /// Costs, rates and the parts of the job in a window. `None` without steps in the window, or where nothing says what
    /// loading costs: neither spans of it, nor waits of a loop that loads by itself.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "rates are no times of events")]
    pub fn rates(&self, rank: usize, window: TimeRange) -> Option<Rates> {
        let judged = self.judged(rank, window);
        let rows = &judged.cycles;
        let steady: Vec<&CycleRow> = judged.rows().collect();
        let pace = self.pace(&judged)?;
        let loading = self.loading(rank, window, &steady, rows.len())?;
        if loading.batches <= 0.0 || loading.load <= 0.0 {
            return None;
        }
        let load = loading.load;
        let workers = self.workers_at_once(rank);
        let handover = loading.handover;
        let mut waits: Vec<i64> = steady.iter().map(|s| s.wait.unwrap_or(0)).collect();
        let wait = percentile(&mut waits, 50)? as f64;
        let alone = workers == 0;
        let costs = Costs {
            compute: pace.compute,
            load,
            read: loading.read,
            handover: handover.unwrap_or(0.0),
            slow: loading.slow.filter(|_| !alone).unwrap_or(0.0),
            handover_in_loop: match alone {
                true if loading.from_waits => 0.0,
                true => (wait - load).max(0.0),
                // What is in the hand-over of a worker the loop has to do as well.
                false if !loading.collates => handover.unwrap_or(0.0),
                false => 0.0,
            },
            hidden_in_loop: if alone { pace.hidden } else { 0.0 },
        };
        let batch = self.options.samples_per_step.map_or(1.0, f64::from);
        let firsts: Vec<&CycleRow> = judged.left_out().collect();
        // What the GPU worked through costs nothing.
        let costly = |s: &CycleRow| (s.wait.unwrap_or(0) - s.wait_hidden.unwrap_or(0)) as f64;
        let startup: f64 = firsts
            .iter()
            .map(|s| (costly(s) - pace.wait).max(0.0))
            .sum();
        let waiting = self.why_waited(rank, window);
        let mut rates = Rates {
            costs,
            pace,
            load_from_waits: loading.from_waits,
            workers,
            batches: loading.batches,
            batch,
            samples_known: self.options.samples_per_step.is_some(),
            handover_known: handover.is_some(),
            rates: costs.rates(workers, batch),
            needed_workers: costs.workers_needed(),
            recommended_workers: None,
            recommended_reason: None,
            cause: waiting.as_ref().map(|w| w.cause),
            busy: waiting.and_then(|w| w.totals.workers_busy()),
            collates: loading.collates,
            job: Job {
                steps: rows.len(),
                epochs: firsts.len(),
                startup: startup / firsts.len().max(1) as f64,
                rest: window.len() as f64
                    - rows.len() as f64 * (pace.compute + pace.wait)
                    - startup,
                time: window.len(),
            },
            profiled: (self.core.trace.sources().iter()).any(|s| s.tracer.slows_training),
        };
        match rates.recommended(None) {
            Ok(workers) => rates.recommended_workers = workers,
            Err(reason) => rates.recommended_reason = Some(reason),
        }
        Some(rates)
    }

    /// The most worker processes that load at the same time: those of a later epoch replace earlier ones.
    fn workers_at_once(&self, rank: usize) -> u32 {
        let loaders = self.rank_sets[rank].loaders.iter();
        let workers = loaders.filter(|l| {
            l.lanes
                .iter()
                .any(|&lane| self.core.role(lane) == Role::Worker)
        });
        let bag = crate::analysis::sums::bag::Bag::new(workers.filter_map(|w| w.load.hull()));
        u32::try_from(bag.max_depth()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::figures::pace::Basis;

    /// The table of the DFTracer note, three runs averaged: workers; loading, waited, compute, job, other, in s.
    const TABLE: [(u32, f64, f64, f64, f64, f64); 4] = [
        (0, 23.0, 24.5, 12.2, 37.5, 0.87),
        (1, 22.8, 14.4, 12.3, 27.7, 1.06),
        (2, 23.9, 1.4, 12.7, 15.2, 1.07),
        (4, 24.8, 0.5, 12.6, 14.3, 1.14),
    ];
    const STEPS: f64 = 160.0;
    const STARTUP: f64 = 0.237;

    fn ns(seconds: f64) -> f64 {
        seconds / STEPS * 1e9
    }

    /// Costs of one row, with the hand-over that the rows with 1 and 0 workers show.
    fn costs(row: usize) -> Costs {
        let (_, load, _, compute, ..) = TABLE[row];
        Costs {
            compute: ns(compute),
            load: ns(load),
            read: ns([3.6, 3.4, 3.4, 3.3][row]),
            handover: ns(TABLE[1].2 + TABLE[1].3 - TABLE[1].1),
            slow: 0.0,
            handover_in_loop: ns(TABLE[0].2 - TABLE[0].1),
            hidden_in_loop: 0.0,
        }
    }

    #[test]
    fn predictions_from_the_one_worker_run_meet_the_measured_steps() {
        let from = costs(1);
        for ((n, _, wait, compute, ..), want) in TABLE.into_iter().zip([-0.3, 1.8, -2.0, -2.5]) {
            // One start-up wait per epoch, of two, when there are workers.
            let startup = if n == 0 { 0.0 } else { ns(2.0 * STARTUP) };
            let off = ((from.step(n, None) + startup) / ns(wait + compute) - 1.0) * 100.0;
            assert!(
                (off - want).abs() < 0.05,
                "{n} workers: {off:.2} % instead of {want} %"
            );
        }
        assert_eq!(from.workers_needed(), Some(3));
        assert_eq!(from.workers_recommended(), Some(3));
    }

    #[test]
    fn without_hand_over_the_prediction_is_a_best_case() {
        let costs = Costs {
            compute: 78.5e6,
            load: 150e6,
            ..Costs::default()
        };
        for ((n, _, wait, compute, ..), want) in TABLE.into_iter().zip([-0.4, -10.1, -10.9, -4.1]) {
            let off = (costs.step(n, None) / ns(wait + compute) - 1.0) * 100.0;
            assert!(
                (off - want).abs() < 0.05,
                "{n} workers: {off:.2} % instead of {want} %"
            );
        }
    }

    #[test]
    fn rates_and_the_stall_split_are_those_of_the_note() {
        let loader = [13.1, 12.0, 23.0, 44.6];
        let prep = [16.5, 16.5, 31.2, 59.5];
        let fetch = [88.9, 94.1, 188.2, 387.9];
        let stalls = [(153.1, 130.6), (90.0, 68.8), (7.5, 0.0), (0.0, 0.0)];
        for (i, (n, ..)) in TABLE.into_iter().enumerate() {
            let r = costs(i).rates(n, 2.0);
            let near = |x: Option<f64>, want: f64| (x.expect("a rate") - want).abs() < 0.06;
            assert!(near(r.loader, loader[i]), "{n}: {r:?}");
            assert!(near(r.prep, prep[i]), "{n}: {r:?}");
            assert!(near(r.fetch, fetch[i]), "{n}: {r:?}");
            assert!(near(Some(r.stall / 1e6), stalls[i].0), "{n}: {r:?}");
            assert!(near(Some(r.prep_stall / 1e6), stalls[i].1), "{n}: {r:?}");
            assert_eq!(r.stalled, n < 4);
        }
    }

    #[test]
    fn a_job_is_steps_start_ups_and_the_rest() {
        let rates = Rates {
            costs: costs(1),
            pace: Pace {
                basis: Basis::Median,
                compute: costs(1).compute,
                step: ns(TABLE[1].2 + TABLE[1].3),
                wait: ns(TABLE[1].2),
                hidden: 0.0,
                median: 0,
                steps: 160,
            },
            load_from_waits: false,
            workers: 1,
            batches: STEPS,
            batch: 2.0,
            samples_known: true,
            handover_known: true,
            rates: costs(1).rates(1, 2.0),
            needed_workers: None,
            recommended_workers: None,
            recommended_reason: None,
            cause: None,
            busy: None,
            collates: true,
            job: Job {
                steps: 160,
                epochs: 2,
                startup: STARTUP * 1e9,
                rest: 1.07e9,
                time: 0,
            },
            profiled: false,
        };
        let two = rates.what_if(2, None, 0.0);
        let off = (two.job / 15.2e9 - 1.0) * 100.0;
        assert!((off - -2.0).abs() < 0.3, "{off:.2} %");
        assert!(!two.best_case && rates.what_if(0, None, 0.0).best_case);
        // Everything cached: nothing is read.
        assert!((rates.what_if(1, None, 1.0).rates.stall - two.rates.stall).abs() > 1.0);
        assert_eq!(rates.what_if(1, None, 1.0).rates.fetch, None);
    }

    #[test]
    fn workers_beyond_the_cores_count_little() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(Costs::effective(4, None), 4.0));
        assert!(close(Costs::effective(4, Some(8)), 4.0));
        assert!(close(Costs::effective(12, Some(8)), 9.2));
        assert!(close(Costs::effective(64, Some(8)), 10.4));
    }
}
