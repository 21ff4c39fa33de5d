//! Ranks.

use std::sync::Arc;

use super::steps::whole;
use super::{RANK, RUN, Row, columns, narrow, wide};
use crate::analysis::{Analysis, LateRank, Verdict};
use crate::model::LaneId;

/// A rank. Times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanksRow {
    /// Where it comes from.
    pub origin: Origin,
    /// The rank.
    pub rank: i32,
    /// How many ranks the job has, as stated.
    pub world: Option<i32>,
    /// Name of the host.
    pub host: Option<Arc<str>>,
    /// Number of the process.
    pub pid: Option<i64>,
    /// Number of its primary GPU.
    pub device: Option<i32>,
    /// Name of its primary GPU.
    pub gpu: Option<Arc<str>>,
    /// The tracers.
    pub tracer: Arc<str>,
    /// How its steps were found.
    pub steps_how: Option<&'static str>,
    /// Whole steps.
    pub steps: i32,
    /// Judged cycles.
    pub judged: i32,
    /// Unix time of the start of its trace.
    pub t0_unix: Option<i64>,
    /// Length of its trace.
    pub extent: i64,
    /// Spans.
    pub spans: i64,
    /// GPU operations.
    pub gpu_ops: i64,
    /// Its first issue.
    pub verdict: &'static str,
    /// The time of that.
    pub verdict_value: Option<i64>,
    /// What that is a part of.
    pub verdict_of: Option<i64>,
    /// The loop waits for data.
    pub wait: Option<i64>,
    /// Of it the GPU was idle.
    pub wait_exposed: Option<i64>,
    /// Of it the GPU worked.
    pub wait_hidden: Option<i64>,
    /// Of it unknown.
    pub wait_unrecorded: Option<i64>,
    /// How often it came last to a collective, shared or alone; `None` without matched collectives.
    pub last: Option<i64>,
    /// What it waited in collectives.
    pub waited: Option<i64>,
    /// What it is charged with.
    pub cost: Option<i64>,
}

/// What nobody but the one who opened the files knows of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The name of the run.
    pub run: Arc<str>,
    /// The first of its files, as opened.
    pub file: Arc<str>,
    /// Size on disk of all of them.
    pub bytes: i64,
    /// Digest of the first file.
    pub sha256: Option<Arc<str>>,
    /// How many notices there are.
    pub notices: i32,
    /// Not all of the input was read.
    pub unread: bool,
}

impl RanksRow {
    /// The row of a rank, without its verdict and what other ranks tell of it.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn new(analysis: &Analysis, place: usize, origin: Origin) -> Self {
        let (trace, who) = (analysis.trace(), analysis.identity());
        let rank = &analysis.ranks()[place];
        let process = who.training(rank.rank).map(|p| &who.processes[p]);
        let recordings = process.map_or(&[][..], |p| &who.runs[p.run].recordings);
        let recordings = recordings.iter().map(|&r| &who.recordings[r]);
        let device = rank.gpu.map(|g| trace.device(analysis.gpus()[g].device));
        let alone = analysis.ranks().len() == 1;
        let lanes: Vec<LaneId> = match alone {
            true => trace.lane_ids().collect(),
            false => who.lanes_of(rank.rank).to_vec(),
        };
        let mut tracers: Vec<&str> = lanes
            .iter()
            .map(|&l| trace.source(trace.lane(l).source).tracer.key)
            .collect();
        tracers.sort_unstable();
        tracers.dedup();
        let count = |lane: &LaneId| trace.lane_spans(*lane).len();
        let operation = |s: &crate::model::SpanId| analysis.layers().of(*s).is_operation();
        let operations = |lane: &LaneId| trace.lane_spans(*lane).filter(operation).count();
        let gpu_lanes = lanes.iter().filter(|l| trace.lane(**l).kind.is_gpu());
        let window = whole(trace.extent());
        let loop_ = analysis.loop_figures(place, window);
        let host = process.and_then(|p| p.host.as_deref());
        Self {
            rank: narrow(rank.rank),
            world: recordings.filter_map(|r| r.world).max().map(narrow),
            host: host.map(Into::into),
            pid: process.and_then(|p| p.pid.parse().ok()),
            device: device.and_then(|d| i32::try_from(d.index).ok().filter(|&i| i >= 0)),
            gpu: device.and_then(|d| d.name.as_deref()).map(Into::into),
            tracer: tracers.join("+").into(),
            steps_how: (!rank.steps.is_empty()).then(|| rank.steps_how.key()),
            steps: narrow(rank.steps.len()),
            judged: 0,
            t0_unix: trace
                .unix_origin()
                .map(|origin| origin.saturating_add(trace.extent().start)),
            extent: trace.extent().len(),
            spans: match alone {
                true => wide(trace.counted_spans()),
                false => wide(lanes.iter().map(count).sum::<usize>()),
            },
            gpu_ops: wide(gpu_lanes.map(operations).sum::<usize>()),
            verdict: "",
            verdict_value: None,
            verdict_of: None,
            wait: loop_.as_ref().and_then(|f| f.wait),
            wait_exposed: loop_.as_ref().and_then(|f| f.wait_exposed),
            wait_hidden: loop_.as_ref().and_then(|f| f.wait_hidden),
            wait_unrecorded: loop_.as_ref().and_then(|f| f.wait_unrecorded),
            last: None,
            waited: None,
            cost: None,
            origin,
        }
    }

    /// Adds its verdict on the whole trace, and how often it came late; `None` without matched collectives.
    pub fn judge(&mut self, verdict: &Verdict, late: Option<&LateRank>) {
        let issue = verdict.issues.first();
        self.judged = narrow(verdict.judged.len());
        self.verdict = verdict.kind().key();
        self.verdict_value = issue.map(|i| i.value);
        self.verdict_of = issue.map(|i| i.of_ns);
        self.last = late.map(|l| wide(l.last + l.last_shared));
        self.waited = late.map(|l| l.waited);
        self.cost = late.map(|l| l.cost);
    }
}

impl Row for RanksRow {
    const TABLE: &'static str = "ranks";
    const ABOUT: &'static str = "A rank; told by run, rank";
    const COLUMNS: &'static [super::Column<Self>] = columns! {
        "run" Plain RUN => Text(|r| &r.origin.run);
        "rank" Plain RANK => I32(|r| r.rank);
        "world" Number "Ranks of the job, as its files state" => I32Or(|r| r.world);
        "host" Plain "Name of the host" => TextOr(|r| r.host.as_deref());
        "pid" Plain "Number of the process" => I64Or(|r| r.pid);
        "device" Plain "Number of its primary GPU" => I32Or(|r| r.device);
        "gpu" Plain "Name of its primary GPU" => TextOr(|r| r.gpu.as_deref());
        "file" Plain "Path of its file as opened, of several the first" => Text(|r| &r.origin.file);
        "bytes" Bytes "Size on disk of all its files" => I64(|r| r.origin.bytes);
        "sha256" Plain "Digest of that file in hexadecimal digits, where asked for" => TextOr(|r| r.origin.sha256.as_deref());
        "tracer" Plain "Its tracers, joined by +" => Text(|r| &r.tracer);
        "steps_how" Plain "How its steps were found" => TextOr(|r| r.steps_how);
        "steps" Number "Whole steps" => I32(|r| r.steps);
        "judged" Number "Judged steps" => I32(|r| r.judged);
        "t0_unix" UnixNs "When its trace starts" => I64Or(|r| r.t0_unix);
        "extent" Ns "Length of its trace" => I64(|r| r.extent);
        "spans" Number "Spans" => I64(|r| r.spans);
        "gpu_ops" Number "GPU operations of all its devices" => I64(|r| r.gpu_ops);
        "verdict" Plain "The first thing that bounds its steps" => Text(|r| r.verdict);
        "verdict_value" Ns "The time of that" => I64Or(|r| r.verdict_value);
        "verdict_of" Ns "The time that it is a part of" => I64Or(|r| r.verdict_of);
        "wait" Ns "The loop waits for data, whole trace" => I64Or(|r| r.wait);
        "wait_exposed" Ns "Of it the GPU had nothing to do" => I64Or(|r| r.wait_exposed);
        "wait_hidden" Ns "Of it the GPU was still working" => I64Or(|r| r.wait_hidden);
        "wait_unrecorded" Ns "Of it there is no GPU data" => I64Or(|r| r.wait_unrecorded);
        "last" Number "How often it came last to a collective, alone or with others; null without matched ones" => I64Or(|r| r.last);
        "waited" Ns "What it waited for other ranks in collectives, summed" => I64Or(|r| r.waited);
        "cost" Ns "What it is charged with for coming last, summed" => I64Or(|r| r.cost);
        "notices" Number "Reasons for notices about its files" => I32(|r| r.origin.notices);
        "unread" Plain "Not all of the input was read" => Bool(|r| r.origin.unread);
    };
}
