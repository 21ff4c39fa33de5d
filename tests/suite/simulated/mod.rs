//! Simulated runs against what the simulation knows of itself: clocks, waits, loops, late ranks, stalls.
//!
//! Every run comes from a seed; what fails names it. `examples/make_trace.rs` writes the same runs.

mod clocks;
mod ranks;
mod stalls;
mod twins;

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use rayon::prelude::*;
use stallscope::analysis::{Analysis, Found, GoOn, Options, Rules, placed};
use stallscope::import::{OpenOptions, Progress, SharedArgs, open};
use stallscope::model::SpanId;
use tempfile::TempDir;

use crate::simulation::clock::Clock;
use crate::simulation::model::{Config, Job, Late, Rng, Sink, Twists};
use crate::simulation::pair::{Clocks, Pair, Source};
use crate::simulation::run::run;
use crate::simulation::torch;
use crate::simulation::truth::{RankTruth, Truth};

pub const US: i64 = 1_000;
pub const MS: i64 = 1_000_000;
pub const SECOND: i64 = 1_000_000_000;

static RULES: LazyLock<Rules> = LazyLock::new(Rules::builtin);

/// A run that was written, and what is known of it.
pub struct Written {
    pub job: Job,
    pub ranks: Vec<RankTruth>,
    /// torch's files by rank, then DFTracer's folders by host.
    pub sources: Vec<Source>,
    /// Holds the files.
    _folder: TempDir,
}

impl Written {
    pub fn paths(&self) -> Vec<PathBuf> {
        self.sources.iter().map(|s| s.path.clone()).collect()
    }

    /// torch's files.
    pub fn torch(&self) -> Vec<PathBuf> {
        let ranks = self.job.config.ranks as usize;
        self.paths().into_iter().take(ranks).collect()
    }

    pub fn analysed(&self) -> Analysis {
        analysed(&self.paths())
    }
}

/// Where the job began, Unix time.
pub const BEGUN: i64 = 1_790_000_000_000_000_000;

/// A small job: a loop of one rank with some loader processes, whose GPU has little to do.
pub fn small(seed: u64) -> Job {
    Job {
        config: Config {
            seed,
            ranks: 1,
            workers: 2,
            prefetch: 2,
            batch: 1,
            steps: 24,
            epoch_steps: 24,
            sync_every: 1,
            blocks: 0,
            gpu: 4 * MS,
            item: 6 * MS,
            reads: 1,
            handover: MS,
            startup: 4 * MS,
            twists: Twists {
                make: 12 * MS,
                recorders: Some([45 * US, 80 * US]),
                ..Twists::default()
            },
        },
        unix_origin: BEGUN,
        pid: 4_200,
    }
}

/// One host, and clocks that agree.
pub const AGREE: Clocks = Clocks {
    hosts: 1,
    recorder: Clock {
        offset: 0,
        drift_ppb: 0,
    },
    host: Clock {
        offset: 0,
        drift_ppb: 0,
    },
};

/// Writes what both recorders have of a job.
pub fn write(job: Job, clocks: &Clocks) -> Written {
    let folder = tempfile::tempdir().unwrap();
    let mut pair = Pair::new(&folder.path().join("run"), clocks, &job, true);
    let sources = pair.sources().to_vec();
    let truth = Truth::new(Box::new(std::io::sink()), job.config.ranks, pair.tick()).unwrap();
    let ranks = run(&job, &mut pair, truth, u64::MAX).unwrap();
    Written {
        job,
        ranks,
        sources,
        _folder: folder,
    }
}

/// Writes torch's files of a job of so many ranks, one of which is late.
pub fn many_ranks(folder: &Path, seed: u64, ranks: u32, late: Late) {
    let mut job = small(seed);
    let c = &mut job.config;
    (c.ranks, c.blocks, c.steps, c.epoch_steps) = (ranks, 1, 12, 12);
    c.item = 2 * MS;
    (c.twists.late, c.twists.recorders) = (Some(late), None);
    let options = torch::Options {
        steps: true,
        stack: false,
    };
    let mut torch = torch::Torch::new(&folder.join("run.json"), options);
    let truth = Truth::new(Box::new(std::io::sink()), ranks, torch.tick()).unwrap();
    run(&job, &mut torch, truth, u64::MAX).unwrap();
}

/// Opens and analyses paths as the program does.
pub fn analysed(paths: &[PathBuf]) -> Analysis {
    let loaded = open(paths, &OpenOptions::default(), &Progress::new()).unwrap();
    let trace = Arc::new(loaded.trace);
    let unplaced = SharedArgs::new(Arc::clone(&trace));
    let args = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        unplaced.each(spans, go_on, found);
    };
    let trace = placed(trace, &RULES, &args, &|| true);
    let reader = SharedArgs::new(Arc::clone(&trace));
    let args = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        reader.each(spans, go_on, found);
    };
    Analysis::with_args(trace, &RULES, &Options::default(), &args, &|_| true).unwrap()
}

/// One of some values.
pub fn pick<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    all[usize::try_from(rng.below(all.len() as u64)).unwrap()]
}

/// What is wrong with the runs of some seeds; fails with all of it.
pub fn each(seeds: std::ops::Range<u64>, wrong: impl Fn(u64, &mut Wrong) + Sync) {
    let of = |seed: u64| {
        let mut found = Wrong::default();
        wrong(seed, &mut found);
        found
            .0
            .into_iter()
            .take(4)
            .map(move |text| format!("seed {seed}: {text}"))
    };
    let all: Vec<String> = seeds.into_par_iter().flat_map_iter(of).collect();
    let shown = all.len().min(60);
    assert!(
        all.is_empty(),
        "{} wrong\n{}",
        all.len(),
        all[..shown].join("\n")
    );
}

/// What is wrong.
#[derive(Default)]
pub struct Wrong(Vec<String>);

impl Wrong {
    pub fn unless(&mut self, holds: bool, text: impl FnOnce() -> String) {
        if !holds {
            self.0.push(text());
        }
    }

    pub fn equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, want: T, got: T) {
        self.unless(want == got, || {
            format!("{what}: {want:?} expected, {got:?} found")
        });
    }
}

/// Codes of the notices of an analysis.
pub fn codes(analysis: &Analysis) -> Vec<&'static str> {
    analysis.notices().iter().map(|n| n.code).collect()
}

#[test]
fn equal_seeds_write_equal_bytes_and_others_do_not() {
    let bytes = |seed: u64| {
        let run = write(small(seed), &AGREE);
        std::fs::read(&run.sources[0].path).unwrap()
    };
    assert_eq!(bytes(3), bytes(3));
    assert_ne!(bytes(3), bytes(4));
}

#[test]
fn noise_keeps_as_much_from_step_to_step_as_it_is_told() {
    use crate::simulation::speed::Speed;
    for (noise, lag1) in [(50, 0), (50, 600), (20, -400), (100, 900)] {
        let mut speed = Speed::new(7, noise, lag1);
        let all: Vec<f64> = (0..40_000)
            .map(|_| (speed.next() - Speed::USUAL) as f64)
            .collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let off = |k: usize| -> f64 {
            let pairs = all.iter().zip(&all[k..]);
            pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / all.len() as f64
        };
        let (deviation, kept) = (off(0).sqrt(), off(1) / off(0));
        assert!(
            (deviation / noise as f64 - 1.0).abs() < 0.1,
            "{noise} {lag1}: {deviation}"
        );
        assert!(
            (kept - lag1 as f64 / 1_000.0).abs() < 0.05,
            "{noise} {lag1}: {kept}"
        );
    }
}
