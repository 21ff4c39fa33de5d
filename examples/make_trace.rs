//! Writes simulated training traces of any size, with their exact figures beside them.
//!
//! ```text
//! cargo run --release --example make_trace -- torch w0.json.gz --workers 0 --steps 12
//! cargo run --release --example make_trace -- torch big.json --size 1GB
//! cargo run --release --example make_trace -- dftracer run/ --workers 4 --steps 40 --epochs 2
//! cargo run --release --example make_trace -- nsight report.sqlite --workers 4 --gpus 2
//! ```
//!
//! The same options and seed give the same job in every format, and the same bytes on every machine.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};

mod support;

use support::dftracer::Dftracer;
use support::model::{Config, Job, Sink};
use support::nsight::Nsight;
use support::torch::{Options, Torch};
use support::truth::Truth;

/// Simulates a training loop and writes it as a tracer would.
#[derive(Parser)]
struct Args {
    /// What to write.
    format: Format,
    /// File (torch: `.json` or `.json.gz`; nsight: `.sqlite`) or folder (dftracer) to write. `OUT.truth.json` is written beside it.
    out: PathBuf,
    /// Stop when this much trace text is written: 250MB, 1GB (instead of --steps).
    #[arg(long, value_parser = parse_size, conflicts_with = "steps")]
    size: Option<u64>,
    /// Steps in all epochs together.
    #[arg(long, default_value_t = 24)]
    steps: u64,
    /// Epochs that the steps are split into; with --size an epoch has 400 steps.
    #[arg(long, default_value_t = 1)]
    epochs: u64,
    /// Loader processes; with 0 the loop loads its own batches.
    #[arg(long, default_value_t = 4)]
    workers: u32,
    /// Batches that a loader process may be ahead.
    #[arg(long, default_value_t = 2)]
    prefetch: u32,
    /// Samples per batch.
    #[arg(long, default_value_t = 2)]
    batch: u32,
    /// Milliseconds to load a sample.
    #[arg(long, default_value_t = 74)]
    item_ms: i64,
    /// Milliseconds of GPU time of forward and backward together.
    #[arg(long, default_value_t = 76)]
    gpu_ms: i64,
    /// Reads per sample.
    #[arg(long, default_value_t = 8)]
    reads: u32,
    /// The loop reads the loss every so many steps; 0 = never.
    #[arg(long, default_value_t = 1)]
    sync_every: u64,
    /// Blocks of the network: 25 kernels per step each.
    #[arg(long, default_value_t = 2)]
    blocks: u32,
    /// Training processes with one GPU each.
    #[arg(long, default_value_t = 1)]
    gpus: u32,
    /// Seed of all random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// torch: leave out the ProfilerStep spans.
    #[arg(long)]
    no_profiler_steps: bool,
    /// torch: with Python frames.
    #[arg(long)]
    stack: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// torch.profiler JSON.
    Torch,
    /// A DFTracer run folder.
    Dftracer,
    /// An Nsight Systems SQLite export; its --size is that of the values, the file is about twice as large.
    Nsight,
}

fn parse_size(text: &str) -> Result<u64, String> {
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" => 1_000,
        "M" | "MB" => 1_000_000,
        "G" | "GB" => 1_000_000_000,
        _ => return Err(format!("`{text}` is no size: write 250MB or 1GB")),
    };
    let number: u64 = number
        .parse()
        .map_err(|e| format!("`{text}` is no size: {e}"))?;
    number
        .checked_mul(scale)
        .ok_or_else(|| format!("`{text}` is too large"))
}

fn job(args: &Args) -> Job {
    let ms = 1_000_000;
    let (steps, epoch_steps) = match args.size {
        Some(_) => (u64::MAX, 400),
        None => (args.steps, args.steps.div_ceil(args.epochs.max(1)).max(1)),
    };
    Job {
        config: Config {
            seed: args.seed,
            ranks: args.gpus.max(1),
            workers: args.workers,
            prefetch: args.prefetch.max(1),
            batch: args.batch.max(1),
            steps,
            epoch_steps,
            sync_every: args.sync_every,
            blocks: args.blocks.max(1),
            gpu: args.gpu_ms.max(0) * ms,
            item: args.item_ms.max(1) * ms,
            reads: args.reads,
            handover: 9 * ms,
            startup: 70 * ms,
        },
        unix_origin: 1_790_000_000_000_000_000,
        pid: 4_200,
    }
}

fn truth_path(out: &Path) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(".truth.json");
    out.with_file_name(name)
}

fn main() -> io::Result<()> {
    let args = Args::parse();
    let job = job(&args);
    let mut sink: Box<dyn Sink> = match args.format {
        Format::Torch => {
            let options = Options {
                steps: !args.no_profiler_steps,
                stack: args.stack,
            };
            Box::new(Torch::new(&args.out, options))
        }
        Format::Dftracer => Box::new(Dftracer::new(&args.out)),
        Format::Nsight => Box::new(Nsight::new(&args.out)),
    };
    let out = BufWriter::new(File::create(truth_path(&args.out))?);
    let truth = Truth::new(Box::new(out), job.config.ranks, sink.tick())?;
    support::run::run(&job, sink.as_mut(), truth, args.size.unwrap_or(u64::MAX))?;
    Ok(())
}
