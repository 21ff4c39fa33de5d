//! The block `compare` of a report: what a later recording can be compared with, once the trace itself is gone.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize, Serializer};

use crate::analysis::compare::{COLUMNS, Recording, Sample, SampleKernel, SampleRow};
use crate::analysis::{CPU_PARTS, GPU_PARTS, StepClass};
use crate::time::TimeRange;

/// A recording as it is saved. Times in ns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Baseline<Ranks = Vec<SavedRank>> {
    origin: Option<i64>,
    extent: [i64; 2],
    spans: u64,
    runs: usize,
    /// Not all of the input was read.
    incomplete: bool,
    recorder: Vec<String>,
    hardware: Vec<String>,
    workers: usize,
    ranks: Ranks,
}

/// A rank of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedRank<Cycles = Vec<SavedCycle>> {
    rank: u32,
    steps_how: Option<String>,
    steps: usize,
    left_out: usize,
    gpu: bool,
    waits: Vec<String>,
    verdict: String,
    headline: String,
    cycles: Cycles,
    kernels: Vec<SavedKernel>,
}

/// A judged cycle of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedCycle {
    step: String,
    index: usize,
    number: Option<i64>,
    start: i64,
    time: i64,
    figures: BTreeMap<String, Option<i64>>,
    gpu_lag: Option<i64>,
    /// Those of nothing are left out.
    gpu_parts: Option<BTreeMap<String, i64>>,
    cpu_parts: BTreeMap<String, i64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedKernel {
    name: String,
    count: u64,
    time: i64,
}

/// A report, as far as it is read here.
#[derive(Deserialize)]
struct Saved {
    compare: Option<Baseline>,
}

/// Why a report is no baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// It cannot be understood.
    #[error("it is not a report: {0}")]
    Json(#[from] serde_json::Error),
    /// It holds nothing to compare with.
    #[error(
        "it is a report without the block `compare`: save one of the whole recording with this version"
    )]
    Missing,
}

fn parts<const N: usize>(names: &[&str; N], values: &[i64; N]) -> BTreeMap<String, i64> {
    let all = names.iter().zip(values).filter(|(_, ns)| **ns != 0);
    all.map(|(name, ns)| ((*name).to_owned(), *ns)).collect()
}

fn values<const N: usize>(names: &[&str; N], parts: &BTreeMap<String, i64>) -> [i64; N] {
    names.map(|name| parts.get(name).copied().unwrap_or(0))
}

/// A list that is made while it is written.
struct Each<F>(F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq((self.0)())
    }
}

impl Baseline {
    /// Of a recording, to be written; of one rank only, if there is one.
    pub fn saved(recording: &Recording, incomplete: bool, only: Option<u32>) -> impl Serialize {
        let ranks = move || {
            let ranks = recording.ranks.iter();
            let ranks = ranks.filter(move |r| only.is_none_or(|only| only == r.rank));
            ranks.map(SavedRank::of)
        };
        Baseline {
            origin: recording.origin,
            extent: [recording.extent.start, recording.extent.end],
            spans: recording.spans,
            runs: recording.runs,
            incomplete,
            recorder: recording.recorder.clone(),
            hardware: recording.hardware.clone(),
            workers: recording.workers,
            ranks: Each(ranks),
        }
    }

    /// Reads a saved report.
    ///
    /// # Errors
    /// For what is no report, and for one without a baseline.
    pub fn read(from: impl io::Read) -> Result<Self, BaselineError> {
        let saved: Saved = serde_json::from_reader(from)?;
        saved.compare.ok_or(BaselineError::Missing)
    }

    /// Not all of the input was read when it was saved.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// The recording, as far as it was saved: steps of its own definition, kernels over all of them.
    #[must_use]
    pub fn into_recording(self) -> Recording {
        Recording {
            origin: self.origin,
            extent: TimeRange::new(self.extent[0], self.extent[1].max(self.extent[0])),
            spans: self.spans,
            runs: self.runs,
            recorder: self.recorder,
            hardware: self.hardware,
            workers: self.workers,
            ranks: self.ranks.into_iter().map(SavedRank::into_sample).collect(),
        }
    }
}

impl SavedRank {
    fn of(sample: &Sample) -> SavedRank<impl Serialize> {
        let cycle = |row: &SampleRow| SavedCycle {
            step: row.label.clone(),
            index: row.step,
            number: row.number,
            start: row.start,
            time: row.time,
            figures: COLUMNS
                .iter()
                .zip(row.columns)
                .map(|(name, ns)| ((*name).to_owned(), ns))
                .collect(),
            gpu_lag: row.gpu_lag,
            gpu_parts: row.gpu_parts.as_ref().map(|p| parts(&GPU_PARTS, p)),
            cpu_parts: parts(&CPU_PARTS, &row.cpu_parts),
        };
        let kernel = |k: &SampleKernel| SavedKernel {
            name: k.name.clone(),
            count: k.count,
            time: k.time,
        };
        SavedRank {
            rank: sample.rank,
            steps_how: sample.steps_how.map(|c| c.key().to_owned()),
            steps: sample.steps,
            left_out: sample.left_out,
            gpu: sample.gpu,
            waits: sample.waits.iter().cloned().collect(),
            verdict: sample.verdict.clone(),
            headline: sample.headline.clone(),
            cycles: Each(move || sample.rows.iter().map(cycle)),
            kernels: sample.kernels.iter().map(kernel).collect(),
        }
    }

    fn into_sample(self) -> Sample {
        let steps_how = self.steps_how.as_deref().and_then(StepClass::named);
        let row = |c: SavedCycle| SampleRow {
            step: c.index,
            label: c.step,
            number: c.number,
            start: c.start,
            time: c.time,
            columns: COLUMNS.map(|name| c.figures.get(name).copied().flatten()),
            gpu_lag: c.gpu_lag,
            gpu_parts: c.gpu_parts.as_ref().map(|p| values(&GPU_PARTS, p)),
            cpu_parts: values(&CPU_PARTS, &c.cpu_parts),
        };
        let kernel = |k: SavedKernel| SampleKernel {
            name: k.name,
            count: k.count,
            time: k.time,
            by_cycle: Vec::new(),
        };
        let mut kernels: Vec<SampleKernel> = self.kernels.into_iter().map(kernel).collect();
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        Sample {
            rank: self.rank,
            place: 0,
            steps_how,
            can: steps_how.into_iter().collect(),
            steps: self.steps,
            left_out: self.left_out,
            rows: self.cycles.into_iter().map(row).collect(),
            gpu: self.gpu,
            waits: self.waits.into_iter().collect(),
            kernels,
            kernels_by_cycle: false,
            verdict: self.verdict,
            headline: self.headline,
        }
    }
}
