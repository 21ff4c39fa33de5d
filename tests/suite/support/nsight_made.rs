//! Simulated Nsight exports for tests and benchmarks: any size, the same bytes for the same parameters, with their exact
//! figures. The simulation is that of `examples/make_trace.rs`.

use std::io;
use std::path::Path;

use crate::simulation::model::{Config, Job, Sink, Twists};
use crate::simulation::nsight::Nsight;
use crate::simulation::run::run;
use crate::simulation::truth::{RankTruth, Truth};

/// What [`write`] simulates.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub seed: u64,
    pub steps: u64,
    /// Rounded to whole blocks of the network, of 25 kernels each.
    pub kernels_per_step: u32,
    pub workers: u32,
    /// Milliseconds to load a sample; a batch has one.
    pub item_ms: i64,
    pub gpus: u32,
}

/// Writes one export and returns its exact figures, one entry per GPU.
pub fn write(path: &Path, p: &Params) -> io::Result<Vec<RankTruth>> {
    let ms = 1_000_000;
    let job = Job {
        config: Config {
            seed: p.seed,
            ranks: p.gpus.max(1),
            workers: p.workers,
            prefetch: 2,
            batch: 1,
            steps: p.steps,
            epoch_steps: p.steps.max(1),
            sync_every: 4,
            blocks: (p.kernels_per_step / 25).max(1),
            gpu: i64::from(p.kernels_per_step) * 60_000,
            item: p.item_ms.max(1) * ms,
            reads: 4,
            handover: ms,
            startup: 5 * ms,
            twists: Twists::default(),
        },
        unix_origin: 1_790_000_000_000_000_000,
        pid: 4_200,
    };
    let mut sink = Nsight::new(path);
    let truth = Truth::new(Box::new(io::sink()), job.config.ranks, sink.tick())?;
    run(&job, &mut sink, truth, u64::MAX)
}
