//! What is known of a file of a run once all of it was read.

use std::collections::BTreeSet;

use super::times::{Times, is_time};
use crate::import::contract::importer::UNIX_FROM;
use crate::import::contract::tally::Count;
use crate::import::dftracer::read::chunk::Chunk;
use crate::import::dftracer::read::file::FileData;
use crate::import::dftracer::read::kind::Generation;
use crate::import::dftracer::read::meta::Meta;
use crate::model::ArgsRef;

/// What is known of a file once all of it was read.
pub(crate) struct FileInfo {
    pub data: FileData,
    pub meta: Meta,
    pub generation: Option<Generation>,
    /// ns per tick.
    pub unit: i64,
    /// Whether the file states it.
    pub unit_stated: bool,
    /// Earliest start, ns.
    pub first: Option<i64>,
    pub rank: Option<u32>,
    /// Aggregated rows that repeat the parent's.
    pub repeated_totals: u64,
    /// Records whose times are beyond all times.
    pub far: Count,
    /// Times below this one are not those of the recording, ns.
    pub since: i64,
    /// Records at such times.
    pub early: Count,
}

impl FileInfo {
    pub fn new(mut data: FileData) -> Self {
        let mut meta = Meta::default();
        for chunk in &mut data.chunks {
            meta.absorb(std::mem::take(&mut chunk.meta));
        }
        let stated = meta.unit();
        let times_in = |unit| {
            let chunks = data.chunks.iter();
            chunks.fold(Times::default(), |all, chunk| all.with_chunk(chunk, unit))
        };
        // Files that end before they state it: microseconds, unless no time fits the axis then.
        let mut unit = stated.unwrap_or(1_000);
        let mut times = times_in(unit);
        if stated.is_none() && times.is_empty() {
            let ns = times_in(1);
            if !ns.is_empty() {
                (unit, times) = (1, ns);
            }
        }
        let (first, since) = times.begin();
        let rank = rank_of(&meta);
        Self {
            generation: data.chunks.iter().find_map(|c| c.generation),
            unit,
            unit_stated: stated.is_some(),
            first,
            rank,
            meta,
            data,
            repeated_totals: 0,
            far: Count::default(),
            since,
            early: Count::default(),
        }
    }

    /// True for times that count from the start of the process (DLIO profiler of 2023).
    pub fn is_relative(&self) -> bool {
        self.generation == Some(Generation::G2) && self.first.is_some_and(|t| t < UNIX_FROM)
    }

    /// True where the times do not look like those of a recording, though the generation writes Unix time.
    pub fn is_implausible(&self) -> bool {
        !self.is_relative() && self.first.is_some_and(|t| t < UNIX_FROM)
    }

    /// True for times on the axis of the file.
    pub fn has(&self, ns: i64) -> bool {
        is_time(ns) && ns >= self.since
    }

    /// Counts a record whose start or duration is no time of the file.
    pub fn set_aside(&mut self, start: i64, args: ArgsRef) {
        if is_time(start) && start < self.since {
            self.early.add_args(args);
        } else {
            self.far.add_args(args);
        }
    }

    pub fn sum(&self, f: impl Fn(&Chunk) -> u64) -> u64 {
        self.data.chunks.iter().map(f).sum()
    }
}

fn rank_of(meta: &Meta) -> Option<u32> {
    let rank = meta.facts.iter().find(|(_, key, _)| key == "rank")?;
    rank.2.parse().ok()
}

/// Pids that have a file or a lane in the run.
pub(crate) fn known_pids(files: &[FileInfo]) -> BTreeSet<&str> {
    let mut known = BTreeSet::new();
    for file in files {
        known.extend(file.meta.start.as_ref().map(|s| s.pid.as_str()));
        for lane in file.data.chunks.iter().flat_map(|c| c.lanes.iter()) {
            known.insert(lane.pid.as_str());
            known.insert(lane.tid.as_str());
        }
    }
    known
}
