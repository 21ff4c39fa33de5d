//! What a step takes, with and without waiting for data: the pace of a loop, and the measured side of the what-if model.
//!
//! ```text
//! CPU   ├1┤├2┤├3┤├4┤                                  steps that only launch: they say nothing about what a step takes
//! GPU     ├── 1 ──┼── 2 ──┼── 3 ──┼── 4 ──┤
//! pace            ├──── drained: of 2 to 4 ────┤ / 3  from the end of the work launched before to the end of their own
//! ```

use std::collections::BTreeSet;

use crate::analysis::Analysis;
use crate::analysis::base::steps::StepSource;
use crate::analysis::figures::judged::{CycleRow, Judged};
use crate::analysis::sums::stats::percentile;
use crate::model::SpanId;
use crate::time::TimeRange;

/// Steps whose median and mean differ by more than one part in so many are uneven.
const EVEN: i64 = 10;

/// How the time of a step without waits was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The median: every step blocks on the GPU (or, without GPU events, the steps are alike).
    Median,
    /// The mean over whole runs of steps, from the end of the GPU work launched before them to the end of their own:
    /// the loop runs ahead of the GPU, so that no single step shows what a step costs.
    Drained,
    /// The mean on the CPU's clock: uneven steps without GPU events.
    CpuMean,
}

impl Basis {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Drained => "mean, GPU drained",
            Self::CpuMean => "mean, CPU clock",
        }
    }
}

/// What steps take, ns per step. Waits are those that cost time: exposed ones, or all without GPU events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// How it was measured.
    pub basis: Basis,
    /// C: a step that never waits for data.
    pub compute: f64,
    /// Mean step.
    pub step: f64,
    /// Mean wait that costs time.
    pub wait: f64,
    /// Mean wait that the GPU worked through.
    pub hidden: f64,
    /// Median of the steps on the CPU's clock, ns.
    pub median: i64,
    /// Steps measured.
    pub steps: usize,
}

impl Pace {
    /// The time of a step, ns: the median where every step shows it, else the mean.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a mean of times, rounded to the nanosecond"
    )]
    pub fn per_step(&self) -> i64 {
        match self.basis {
            Basis::Median => self.median,
            Basis::Drained | Basis::CpuMean => self.step.round() as i64,
        }
    }

    /// The loop runs ahead of the GPU: its steps end before their work does.
    #[must_use]
    pub fn runs_ahead(&self) -> bool {
        self.basis == Basis::Drained
    }

    /// Why the median of the CPU's steps is not the time of a step, where both differ by more than a half.
    #[must_use]
    pub fn instead_of_median(&self) -> Option<&'static str> {
        let (pace, median) = (i128::from(self.per_step()), i128::from(self.median));
        if 2 * (pace - median).abs() <= pace.min(median) {
            return None;
        }
        Some(match self.basis {
            Basis::Drained => "the loop runs ahead of the GPU",
            Basis::Median | Basis::CpuMean => "the steps are uneven",
        })
    }
}

/// A wait that costs time, as far as the record can tell.
fn lost(row: &CycleRow, by_gpu: bool) -> i64 {
    let wait = if by_gpu { row.wait_exposed } else { row.wait };
    wait.unwrap_or(0)
}

#[expect(clippy::cast_precision_loss, reason = "a mean is no time of an event")]
fn mean(sum: i64, n: usize) -> f64 {
    sum as f64 / n.max(1) as f64
}

impl Analysis {
    /// What the judged steps of a rank take. `None` without any.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a median becomes a rate")]
    pub fn pace(&self, judged: &Judged) -> Option<Pace> {
        let rank = judged.rank;
        let rows: Vec<&CycleRow> = judged.rows().collect();
        let by_gpu = self.ranks[rank].gpu.is_some();
        let n = rows.len();
        let sum = |f: &dyn Fn(&CycleRow) -> i64| rows.iter().map(|r| f(r)).sum::<i64>();
        let time = sum(&CycleRow::time);
        let waited = sum(&|r| lost(r, by_gpu));
        let mut worked: Vec<i64> = rows.iter().map(|r| r.time() - lost(r, by_gpu)).collect();
        let median = percentile(&mut worked, 50)?;
        let mut times: Vec<i64> = rows.iter().map(|r| r.time()).collect();
        // Times of a damaged file may lie decades apart.
        let alike = || {
            let worked = i128::from(time) - i128::from(waited);
            let even = i128::from(median) * i128::from(as_i64(n));
            (worked - even).abs() * i128::from(EVEN) <= worked
        };
        // Where steps come from fetches, the last one may end before its synchronising call.
        let steps = &self.ranks[rank].steps;
        let derived = self.ranks[rank].steps_how != StepSource::Explicit;
        let blocks = |r: &&CycleRow| {
            derived && r.step + 1 == steps.len()
                || self.step_synchronises(rank, r.step) == Some(true)
        };
        let basis = match by_gpu {
            true if rows.iter().all(blocks) => Basis::Median,
            true => Basis::Drained,
            false if alike() => Basis::Median,
            false => Basis::CpuMean,
        };
        let (time, waited) = match basis {
            Basis::Drained => self.drained(rank, &rows),
            Basis::Median | Basis::CpuMean => (time, waited),
        };
        Some(Pace {
            basis,
            compute: match basis {
                Basis::Median => median as f64,
                Basis::Drained | Basis::CpuMean => mean(time - waited, n),
            },
            step: mean(time, n),
            wait: mean(waited, n),
            hidden: mean(sum(&|r| r.wait_hidden.unwrap_or(0)), n),
            median: percentile(&mut times, 50).unwrap_or(0),
            steps: n,
        })
    }

    /// (time, exposed wait) of runs of neighbouring steps, ns: each from the end of what the step before launched, to
    /// the end of what its last step launched.
    fn drained(&self, rank: usize, rows: &[&CycleRow]) -> (i64, i64) {
        let (all, exposed) = (&self.step_rows[rank], &self.ranks[rank].wait_exposed);
        // How far steps reach that launched what ends at a time that is not believed is not known.
        let overruns = self.ranks[rank]
            .gpu
            .map_or(&[][..], |g| &self.gpus[g].overruns.ops);
        let launched_in = |op: &SpanId| {
            let call = self.core.trace.launch_of(*op)?;
            let start = self.core.range(call).start;
            all.partition_point(|row| row.range.start <= start)
                .checked_sub(1)
        };
        let doubted: BTreeSet<usize> = overruns.iter().filter_map(launched_in).collect();
        let ahead = |step: usize| {
            let row = &all[step];
            let lag = row.gpu_lag.filter(|_| !doubted.contains(&step));
            row.range.end + lag.unwrap_or(0).max(0)
        };
        // The latest of those before each step.
        let latest: Vec<i64> = std::iter::once(i64::MIN)
            .chain((0..all.len()).scan(i64::MIN, |latest, step| {
                *latest = ahead(step).max(*latest);
                Some(*latest)
            }))
            .collect();
        let mut sum = (0, 0);
        for run in rows.chunk_by(|a, b| a.step + 1 == b.step && a.range.end == b.range.start) {
            let Some(first) = run.first() else {
                continue;
            };
            let start = latest[first.step].max(first.range.start);
            let end = run.iter().map(|r| ahead(r.step)).fold(start, i64::max);
            let run = TimeRange::new(start, end);
            sum.0 += run.len();
            sum.1 += exposed.measure_in(run);
        }
        sum
    }
}

fn as_i64(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
