//! Writes the bundled sample traces that are simulated, each with a description and its exact figures.
//!
//! ```text
//! cargo run --release --example make_samples -- sample_traces
//! ```
//!
//! The same bytes come out on every machine. The one real sample is not made here; see its description.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[expect(dead_code, reason = "samples use a part of the simulation")]
mod support;

use support::dftracer::Dftracer;
use support::model::{Config, Job, Sink, Twists};
use support::nsight::Nsight;
use support::torch::{Options, Torch};
use support::truth::{RankTruth, Truth};

const MS: i64 = 1_000_000;

/// A sample to be made.
struct Sample {
    /// File or folder name.
    name: &'static str,
    title: &'static str,
    line: &'static str,
    workers: u32,
    sync_every: u64,
    epochs: u64,
    steps: u64,
}

const SAMPLES: &[Sample] = &[
    Sample {
        name: "torch_0_workers.json.gz",
        title: "torch.profiler, 0 workers",
        line: "The loop loads its own batches: the GPU waits for every one of them.",
        workers: 0,
        sync_every: 1,
        epochs: 1,
        steps: 12,
    },
    Sample {
        name: "torch_4_workers.json.gz",
        title: "torch.profiler, 4 workers",
        line: "The loop still waits, but the GPU works meanwhile: loading is hidden.",
        workers: 4,
        sync_every: 0,
        epochs: 1,
        steps: 24,
    },
    Sample {
        name: "dftracer_2_workers",
        title: "DFTracer run, 2 workers",
        line: "Loader processes and their reads, without GPU events.",
        workers: 2,
        sync_every: 1,
        epochs: 2,
        steps: 24,
    },
    Sample {
        name: "nsight_2_workers.sqlite",
        title: "Nsight export, 2 workers",
        line: "Loop, loader processes and GPU in one file: two workers load too slowly, the GPU runs dry.",
        workers: 2,
        sync_every: 4,
        epochs: 1,
        steps: 12,
    },
];

fn job(sample: &Sample) -> Job {
    Job {
        config: Config {
            seed: 7,
            ranks: 1,
            workers: sample.workers,
            prefetch: 2,
            batch: 2,
            steps: sample.steps,
            epoch_steps: sample.steps / sample.epochs,
            sync_every: sample.sync_every,
            blocks: 2,
            gpu: 76 * MS,
            item: 130 * MS,
            reads: 8,
            handover: 9 * MS,
            startup: 70 * MS,
            twists: Twists::default(),
        },
        unix_origin: 1_790_000_000_000_000_000,
        pid: 4_200,
    }
}

fn sink(path: &Path) -> Box<dyn Sink> {
    if path.extension().is_some_and(|e| e == "gz") {
        let options = Options {
            steps: true,
            stack: false,
        };
        Box::new(Torch::new(path, options))
    } else if path.extension().is_some_and(|e| e == "sqlite") {
        Box::new(Nsight::new(path))
    } else {
        Box::new(Dftracer::new(path))
    }
}

/// The figures that the program has to show, by what the format records.
fn expected(sample: &Sample, truth: &RankTruth) -> String {
    let exposed = truth.wait - truth.hidden;
    let mut lines = vec![
        format!("steps = {}", truth.steps),
        format!("wait = {}", truth.wait),
    ];
    if sample.name.starts_with("dftracer") {
        // Without GPU events nobody can tell what the GPU did.
        lines.push(format!("wait_unrecorded = {}", truth.wait));
        lines.push(format!("load = {}", truth.load));
        lines.push(format!(
            "load_processes = {}",
            u64::from(sample.workers) * sample.epochs
        ));
    } else if sample.name.starts_with("nsight") {
        // The file does not state its window: the record is what lies between the first operation and the last.
        let outside = truth.before_first_op + truth.after_last_op;
        lines.push(format!("wait_exposed = {}", exposed - outside));
        lines.push(format!("wait_hidden = {}", truth.hidden));
        lines.push(format!("wait_unrecorded = {outside}"));
        lines.push(format!("gpu_busy = {}", truth.gpu_busy));
        lines.push(format!("load = {}", truth.load));
    } else {
        // The profiler states its window, which begins before the first wait: all of it is recorded.
        lines.push(format!("wait_exposed = {exposed}"));
        lines.push(format!("wait_hidden = {}", truth.hidden));
        lines.push("wait_unrecorded = 0".to_owned());
        lines.push(format!("gpu_busy = {}", truth.gpu_busy));
    }
    lines.join("\n")
}

fn describe(sample: &Sample, truth: &RankTruth) -> String {
    format!(
        "title = \"{}\"\nline = \"{}\"\norigin = \"simulated by examples/make_samples.rs\"\nlicence = \"MIT\"\n\n# Exact figures of the simulation, in ns.\n[expected]\n{}\n",
        sample.title,
        sample.line,
        expected(sample, truth),
    )
}

fn main() -> io::Result<()> {
    let folder = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("sample_traces"), PathBuf::from);
    fs::create_dir_all(&folder)?;
    for sample in SAMPLES {
        let path = folder.join(sample.name);
        let job = job(sample);
        let mut sink = sink(&path);
        let truth = Truth::new(Box::new(io::sink()), 1, sink.tick())?;
        let ranks = support::run::run(&job, sink.as_mut(), truth, u64::MAX)?;
        let stem = sample.name.split('.').next().unwrap_or(sample.name);
        fs::write(
            folder.join(format!("{stem}.toml")),
            describe(sample, &ranks[0]),
        )?;
    }
    Ok(())
}
