//! Writes simulated training traces of any size, with their exact figures beside them.
//!
//! ```text
//! cargo run --release --example make_trace -- torch w0.json.gz --workers 0 --steps 12
//! cargo run --release --example make_trace -- torch big.json --size 1GB
//! cargo run --release --example make_trace -- dftracer run/ --workers 4 --steps 40 --epochs 2
//! cargo run --release --example make_trace -- nsight report.sqlite --workers 4 --gpus 2
//! cargo run --release --example make_trace -- pair run/ --clock-offset 40 --drift 50000 --epochs 2 --checkpoint 8:200
//! cargo run --release --example make_trace -- pair job/ --gpus 4 --hosts 2 --host-offset -3000 --late-rank 2:input:20
//! ```
//!
//! The same options and seed give the same job in every format, and the same bytes on every machine. `pair` writes what
//! torch.profiler and DFTracer record of one run at once, each with a clock of its own.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};

mod support;

use support::clock::Clock;
use support::dftracer::Dftracer;
use support::model::{Config, Every, Job, Late, LateIn, Sink, Twists};
use support::nsight::Nsight;
use support::pair::{Clocks, Pair};
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
    #[command(flatten)]
    twists: TwistArgs,
    #[command(flatten)]
    clocks: ClockArgs,
}

/// What is made to happen.
#[derive(clap::Args)]
struct TwistArgs {
    /// A rank is late in every step: rank, phase (input, copy, forward, backward, host), milliseconds: 2:input:20.
    #[arg(long, value_parser = parse_late, value_name = "R:PHASE:MS")]
    late_rank: Option<Late>,
    /// Forward and backward are launched as CUDA graphs whose kernels are not recorded.
    #[arg(long)]
    unrecorded_graphs: bool,
    /// A thread of the loop's process fetches the batches.
    #[arg(long)]
    prefetch_thread: bool,
    /// The loop writes a checkpoint every N steps, which takes so many milliseconds.
    #[arg(long, value_parser = parse_every, value_name = "N:MS")]
    checkpoint: Option<Every>,
    /// Python collects garbage every N steps, which takes so many milliseconds.
    #[arg(long, value_parser = parse_every, value_name = "N:MS")]
    gc: Option<Every>,
    /// Starting the workers of an epoch takes so many milliseconds, half of it in making the iterator.
    #[arg(long, value_parser = parse_ms, value_name = "MS", conflicts_with = "persistent_workers")]
    restart_workers: Option<i64>,
    /// The workers live on from epoch to epoch.
    #[arg(long)]
    persistent_workers: bool,
    /// Worker W takes so many milliseconds longer for each sample.
    #[arg(long, value_parser = parse_of, value_name = "W:MS")]
    slow_worker: Option<(u64, i64)>,
    /// Files of the data set, read in order again and again; by default each sample has its own, with --slow-file 16.
    #[arg(long)]
    files: Option<u64>,
    /// Reading file N takes so many milliseconds longer.
    #[arg(long, value_parser = parse_of, value_name = "N:MS")]
    slow_file: Option<(u64, i64)>,
    /// Every Nth sample takes so many milliseconds longer to prepare.
    #[arg(long, value_parser = parse_every, value_name = "N:MS")]
    slow_item: Option<Every>,
    /// Collating a batch takes so many milliseconds longer.
    #[arg(long, value_parser = parse_ms, value_name = "MS", default_value = "0")]
    collate: i64,
    /// Standard deviation of the GPU's speed from step to step, in thousandths.
    #[arg(long, default_value_t = 0)]
    noise: i64,
    /// How much of a step's deviation the next one keeps, in thousandths.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    lag1: i64,
}

/// pair: how the clocks are set.
#[derive(clap::Args)]
struct ClockArgs {
    /// pair: hosts that the ranks are on, 1 or 2; each has a folder of DFTracer's.
    #[arg(long, default_value_t = 1)]
    hosts: u32,
    /// pair: milliseconds that DFTracer's clock is ahead of torch's.
    #[arg(long, value_parser = parse_ms, value_name = "MS", default_value = "0", allow_negative_numbers = true)]
    clock_offset: i64,
    /// pair: how much faster DFTracer's clock runs, in parts in a billion.
    #[arg(
        long,
        value_name = "PPB",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    drift: i64,
    /// pair: milliseconds that the clocks of the second host are ahead.
    #[arg(long, value_parser = parse_ms, value_name = "MS", default_value = "0", allow_negative_numbers = true)]
    host_offset: i64,
    /// pair: how much faster they run, in parts in a billion.
    #[arg(
        long,
        value_name = "PPB",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    host_drift: i64,
    /// pair: microseconds that recorders take before and after each request for a batch, at most.
    #[arg(long, value_name = "US", default_value_t = 60)]
    jitter: i64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// torch.profiler JSON.
    Torch,
    /// A DFTracer run folder.
    Dftracer,
    /// An Nsight Systems SQLite export; its --size is that of the values, the file is about twice as large.
    Nsight,
    /// What torch.profiler and DFTracer record of one run, in a folder.
    Pair,
}

/// Milliseconds with decimals, in nanoseconds.
fn parse_ms(text: &str) -> Result<i64, String> {
    let ms: f64 = text
        .parse()
        .map_err(|e| format!("`{text}` are no milliseconds: {e}"))?;
    Ok((ms * 1e6).round() as i64)
}

fn parse_of(text: &str) -> Result<(u64, i64), String> {
    let (n, ms) = text
        .split_once(':')
        .ok_or_else(|| format!("`{text}`: write a number and milliseconds, 3:20"))?;
    let n = n.parse().map_err(|e| format!("`{n}` is no number: {e}"))?;
    Ok((n, parse_ms(ms)?))
}

fn parse_every(text: &str) -> Result<Every, String> {
    let (n, ns) = parse_of(text)?;
    Ok(Every { n, ns })
}

fn parse_late(text: &str) -> Result<Late, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let [rank, phase, ms] = parts[..] else {
        return Err(format!(
            "`{text}`: write rank, phase, milliseconds, 2:input:20"
        ));
    };
    let within = match phase {
        "input" => LateIn::Input,
        "copy" => LateIn::Copy,
        "forward" => LateIn::Forward,
        "backward" => LateIn::Backward,
        "host" => LateIn::Host,
        _ => {
            return Err(format!(
                "`{phase}` is no phase: input, copy, forward, backward, host"
            ));
        }
    };
    Ok(Late {
        rank: rank
            .parse()
            .map_err(|e| format!("`{rank}` is no rank: {e}"))?,
        within,
        ns: parse_ms(ms)?,
    })
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
            startup: args.twists.restart_workers.map_or(70 * ms, |ns| ns / 2),
            twists: twists(args),
        },
        unix_origin: 1_790_000_000_000_000_000,
        pid: 4_200,
    }
}

fn twists(args: &Args) -> Twists {
    let t = &args.twists;
    let pair = matches!(args.format, Format::Pair);
    let workers = i64::from(args.workers);
    Twists {
        late: t.late_rank,
        unrecorded_graphs: t.unrecorded_graphs,
        prefetch_thread: t.prefetch_thread,
        checkpoint: t.checkpoint,
        collect: t.gc,
        persistent: t.persistent_workers,
        make: match t.restart_workers {
            Some(ns) => ns / 2,
            // A fork takes milliseconds.
            None if pair => workers * 6_000_000,
            None => 0,
        },
        slow_worker: t
            .slow_worker
            .map(|(w, ns)| (u32::try_from(w).unwrap_or(u32::MAX), ns)),
        files: t.files.or(t.slow_file.map(|_| 16)),
        slow_file: t.slow_file,
        slow_item: t.slow_item,
        collate: t.collate,
        noise: t.noise,
        lag1: t.lag1,
        recorders: pair.then_some([args.clocks.jitter * 1_000; 2]),
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
    let mut sources = Vec::new();
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
        Format::Pair => {
            let c = &args.clocks;
            let clocks = Clocks {
                hosts: c.hosts,
                recorder: Clock {
                    offset: c.clock_offset,
                    drift_ppb: c.drift,
                },
                host: Clock {
                    offset: c.host_offset,
                    drift_ppb: c.host_drift,
                },
            };
            let pair = Pair::new(&args.out, &clocks, &job, !args.no_profiler_steps);
            sources = pair.sources().to_vec();
            Box::new(pair)
        }
    };
    let out = BufWriter::new(File::create(truth_path(&args.out))?);
    let truth = Truth::new(Box::new(out), job.config.ranks, sink.tick())?.of_sources(&sources);
    support::run::run(&job, sink.as_mut(), truth, args.size.unwrap_or(u64::MAX))?;
    Ok(())
}
