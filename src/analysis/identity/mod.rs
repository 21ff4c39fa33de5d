//! Who is who, decided once: which records are of one process, what each process is for, which sources are of one run,
//! and which rank each training process is.
//!
//! ```text
//!  sources        torch rank 0 (pid 10)   torch rank 1 (pid 11)   DFTracer's folder (pids 10, 11, 20, 21)
//!  processes           10 ◀─────────── same pid, host, time ───────────▶ 10
//!  roles          10 trains ◀─ parent ─ 20 works for it
//!  runs           joined by a process, a parent, or as ranks of one job; nothing else joins them
//!  ranks          as stated, else as stated of the same process elsewhere, else numbered
//! ```
//!
//! `records` finds what was recorded, `same` which records are of one process, `roles` who works for whom, `runs` what
//! was one execution. Times here are Unix time where the source states it, else its own: see [`Recording::placed`].

mod chain;
mod clocks;
mod records;
mod relation;
mod relations;
mod roles;
mod runs;
mod same;
mod settings;
mod witnesses;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use rustc_hash::FxHashMap;

pub use relation::{ClockRelation, Placement};
pub use relations::{Relation, Witness};
pub use settings::ClockSettings;

use crate::analysis::layers::classify::{ArgSource, GoOn};
use crate::analysis::layers::rules::Rules;
use crate::analysis::notices::Notice;
use crate::model::{LaneId, ProcessId, Role, SourceId, Trace};
use crate::time::TimeRange;
use witnesses::Witnesses;

/// What one recorder wrote of one run: a file, or all files of a folder where it writes one for each process.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The file or the folder.
    pub path: PathBuf,
    /// Key of the tracer.
    pub tracer: &'static str,
    /// Its files.
    pub files: Vec<SourceId>,
    /// The host that most of its processes are on, or the file states.
    pub host: Option<String>,
    /// The rank that it states for all its processes.
    pub rank: Option<u32>,
    /// Ranks of the job, where it states them.
    pub world: Option<u32>,
    /// Whether its times can be compared with those of others: it states Unix time, or was put in place by hand.
    pub placed: bool,
    /// From its first span to the end of its last one, those about the recording itself left out; ns, Unix where placed.
    pub extent: Option<TimeRange>,
    /// Index in [`Identity::runs`]; of what joins several runs the first.
    pub run: usize,
}

impl Recording {
    /// The last part of its path.
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// What a process is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// It runs a training loop; of a run in which nothing trains, the busiest process.
    Training,
    /// It works for a training process.
    Worker,
    /// Anything else.
    Other,
}

impl Purpose {
    /// The name in reports: `training`, `worker`, `other`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Worker => "worker",
            Self::Other => "other",
        }
    }
}

/// Why records of several sources are of one process, in the order of reports: equal process numbers always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// They overlap in time at the stated clocks.
    pub time: bool,
    /// Fetches of one lie inside those of the other.
    pub nested: bool,
}

impl Evidence {
    /// The names in reports; none for a process of one source.
    #[must_use]
    pub fn keys(self, sources: usize) -> Vec<&'static str> {
        let all = [("pid", true), ("time", self.time), ("nested", self.nested)];
        let held = all.into_iter().filter(|&(_, holds)| holds && sources > 1);
        held.map(|(key, _)| key).collect()
    }
}

/// One process of the operating system, by however many recorders it was recorded.
#[derive(Clone, Debug)]
pub struct OsProcess {
    /// Host name, where known.
    pub host: Option<String>,
    /// Its number.
    pub pid: String,
    /// Its records in the trace; none where it only stands for a parent that left no file.
    pub records: Vec<ProcessId>,
    /// Indices in [`Identity::recordings`], ascending.
    pub recordings: Vec<usize>,
    /// From its first to its last span, on the clock of its recordings, ns.
    pub range: TimeRange,
    /// Spans of its threads.
    pub spans: u64,
    /// What it is for.
    pub purpose: Purpose,
    /// Its rank, or that of the process it works for.
    pub rank: Option<u32>,
    /// Index in [`Identity::runs`].
    pub run: usize,
    /// Number of its parent, where recorded.
    pub parent: Option<String>,
    /// The training process that it works for: index in [`Identity::processes`].
    pub of: Option<usize>,
    /// Why its records are of one process.
    pub evidence: Evidence,
    /// Whether anything of it was recorded; else its workers tell of it.
    pub recorded: bool,
}

/// All recordings of one execution.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Indices in [`Identity::recordings`], ascending.
    pub recordings: Vec<usize>,
    /// From the first span to the end of the last one, ns; Unix time where it is known.
    pub extent: Option<TimeRange>,
    /// Its ranks, ascending.
    pub ranks: Vec<u32>,
    /// Added to the ranks that its files state: those of several runs are numbered on.
    pub first_rank: u32,
}

/// A process started another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// When the call began, ns of trace time.
    pub at: i64,
    /// Who called: index in [`Identity::processes`].
    pub parent: usize,
    /// The number of the new process.
    pub child: String,
}

/// Who is who in a trace.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Training processes first, then by rank, first time, process number.
    pub processes: Vec<OsProcess>,
    /// By first time.
    pub runs: Vec<Run>,
    /// In the order of the sources.
    pub recordings: Vec<Recording>,
    /// Calls that started processes, by time.
    pub forks: Vec<Fork>,
    /// What had to be guessed, and what was not opened.
    pub notices: Vec<Notice>,
    of_lane: Vec<Option<usize>>,
    of_source: Vec<usize>,
    lane_ranks: Vec<Option<u32>>,
    of_rank: BTreeMap<u32, Vec<LaneId>>,
    of_record: FxHashMap<ProcessId, usize>,
    of_process: Vec<Vec<LaneId>>,
    training: BTreeMap<u32, usize>,
    workers: Vec<usize>,
    shared_pids: BTreeSet<String>,
    roles: Vec<Role>,
    clocks: Vec<ClockRelation>,
}

impl Identity {
    /// Decides it for a trace. `args` answers which process a `fork` returned, and what collectives say of themselves.
    #[must_use]
    pub fn new(trace: &Trace, rules: &Rules, args: &dyn ArgSource, go_on: &GoOn<'_>) -> Self {
        Self::with_clocks(trace, rules, ClockSettings::default(), args, go_on)
    }

    /// The same, by what is assumed of clocks.
    #[must_use]
    pub fn with_clocks(
        trace: &Trace,
        rules: &Rules,
        settings: ClockSettings,
        args: &dyn ArgSource,
        go_on: &GoOn<'_>,
    ) -> Self {
        let mut found = records::find(trace, rules);
        let mut notices = Vec::new();
        let max_drift = settings.max_drift;
        let mut processes = same::merge(trace, rules, &mut found, max_drift, &mut notices);
        let forks = records::forks(trace, &found.of_lane, args, go_on);
        roles::decide(&mut processes, &found.recordings, &forks, &mut notices);
        let (recordings, of_source) = (&found.recordings, &found.of_source);
        let witnesses = Witnesses::find(trace, recordings, of_source, args, go_on);
        let one_job =
            |a: usize, b: usize| relations::one_job(&witnesses.common(trace, a, b), settings);
        let runs = runs::decide(
            &mut processes,
            &mut found.recordings,
            &one_job,
            &mut notices,
        );
        let mut this = Self::put_together(trace, rules, found, processes, runs, forks, notices);
        clocks::relate(trace, rules, &mut this, &witnesses, settings);
        this
    }

    fn put_together(
        trace: &Trace,
        rules: &Rules,
        found: records::Found,
        processes: Vec<records::Known>,
        runs: Vec<Run>,
        forks: Vec<Fork>,
        notices: Vec<Notice>,
    ) -> Self {
        let mut order: Vec<usize> = (0..processes.len()).collect();
        order.sort_by_key(|&i| {
            let p = &processes[i].process;
            let rank = (p.purpose == Purpose::Training).then_some(p.rank);
            let number = records::number(&p.pid);
            (rank.is_none(), rank, p.range.start, number, p.pid.clone())
        });
        let mut place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        let mut this = Self {
            runs,
            forks,
            notices,
            of_lane: found.of_lane.iter().map(|p| Some(place[(*p)?])).collect(),
            of_source: found.of_source,
            recordings: found.recordings,
            ..Self::default()
        };
        for fork in &mut this.forks {
            fork.parent = place[fork.parent];
        }
        let mut by_place: Vec<Option<OsProcess>> = vec![None; order.len()];
        for (known, &at) in processes.into_iter().zip(&place) {
            let mut process = known.process;
            process.of = process.of.map(|of| place[of]);
            by_place[at] = Some(process);
        }
        this.processes = by_place.into_iter().flatten().collect();
        let records = this.processes.iter().enumerate();
        let records = records.flat_map(|(i, p)| p.records.iter().map(move |&r| (r, i)));
        this.of_record = records.collect();
        this.of_process = vec![Vec::new(); this.processes.len()];
        for (lane, process) in trace.lane_ids().zip(&this.of_lane) {
            if let Some(process) = process {
                this.of_process[*process].push(lane);
            }
        }
        let mut pids = BTreeSet::new();
        let again = trace.processes().iter().filter(|p| !pids.insert(&p.pid));
        this.shared_pids = again.map(|p| p.pid.clone()).collect();
        this.workers = vec![0; this.processes.len()];
        for (i, p) in this.processes.iter().enumerate() {
            if let (Purpose::Training, Some(rank)) = (p.purpose, p.rank) {
                this.training.entry(rank).or_insert(i);
            }
            if let (Purpose::Worker, Some(of)) = (p.purpose, p.of) {
                this.workers[of] += 1;
            }
        }
        this.lane_ranks = runs::lane_ranks(trace, &this);
        for (lane, rank) in trace.lane_ids().zip(&this.lane_ranks) {
            if let Some(rank) = rank {
                this.of_rank.entry(*rank).or_default().push(lane);
            }
        }
        this.roles = roles::of_lanes(trace, rules, &this);
        this
    }

    /// The process of a lane: index in [`Self::processes`]. Records of one process by several recorders have the same.
    #[must_use]
    pub fn process(&self, lane: LaneId) -> Option<usize> {
        self.of_lane[lane.index()]
    }

    /// The recording of a source: index in [`Self::recordings`].
    #[must_use]
    pub fn recording(&self, source: SourceId) -> usize {
        self.of_source[source.index()]
    }

    /// The rank that a lane belongs to; that of GPU lanes is of the process whose calls launched most of their work.
    #[must_use]
    pub fn rank(&self, lane: LaneId) -> Option<u32> {
        self.lane_ranks[lane.index()]
    }

    /// The process of a record: index in [`Self::processes`]; none of records without threads.
    #[must_use]
    pub fn of_record(&self, record: ProcessId) -> Option<usize> {
        self.of_record.get(&record).copied()
    }

    /// The rank of what a source says of one of its processes, or of all.
    #[must_use]
    pub fn rank_of(&self, source: SourceId, record: Option<ProcessId>) -> Option<u32> {
        let process = record.and_then(|r| self.of_record(r));
        let own = process.and_then(|p| self.processes[p].rank);
        let run = &self.runs[self.recordings[self.recording(source)].run];
        let only = || <[u32; 1]>::try_from(&run.ranks[..]).ok().map(|[rank]| rank);
        own.or(self.recordings[self.recording(source)].rank)
            .or_else(only)
    }

    /// The lanes of a rank, ascending.
    #[must_use]
    pub fn lanes_of(&self, rank: u32) -> &[LaneId] {
        self.of_rank.get(&rank).map_or(&[], Vec::as_slice)
    }

    /// The role of every lane: what the file says of the thread, then the role rules, then what its process is for.
    #[must_use]
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// The training process of a rank: index in [`Self::processes`].
    #[must_use]
    pub fn training(&self, rank: u32) -> Option<usize> {
        self.training.get(&rank).copied()
    }

    /// Whether several processes have a number.
    #[must_use]
    pub fn shares_pid(&self, pid: &str) -> bool {
        self.shared_pids.contains(pid)
    }

    /// Number of processes that work for one.
    #[must_use]
    pub fn workers(&self, process: usize) -> usize {
        self.workers[process]
    }

    /// Lanes of threads of a process, of all recorders, ascending.
    #[must_use]
    pub fn lanes(&self, process: usize) -> &[LaneId] {
        &self.of_process[process]
    }

    /// Records of threads of one process, of all recorders, by thread: lanes of an equal number are of one thread.
    #[must_use]
    pub fn threads(&self, trace: &Trace, process: usize) -> BTreeMap<String, Vec<LaneId>> {
        let mut threads: BTreeMap<String, Vec<LaneId>> = BTreeMap::new();
        for &lane in self.lanes(process) {
            threads.entry(thread(trace, lane)).or_default().push(lane);
        }
        threads
    }
}

/// The number of a lane's thread, as all recorders of its process count it; the lane's key where none is known.
#[must_use]
pub fn thread(trace: &Trace, lane: LaneId) -> String {
    let lane = trace.lane(lane);
    lane.thread.clone().unwrap_or_else(|| lane.key.clone())
}

/// The trace with every recording where the relations of the clocks put it: the same one where nothing has to be moved.
#[must_use]
pub fn placed(
    trace: Arc<Trace>,
    rules: &Rules,
    args: &dyn ArgSource,
    go_on: &GoOn<'_>,
) -> Arc<Trace> {
    placed_with(trace, rules, ClockSettings::default(), args, go_on)
}

/// The same, by what is assumed of clocks.
#[must_use]
pub fn placed_with(
    trace: Arc<Trace>,
    rules: &Rules,
    settings: ClockSettings,
    args: &dyn ArgSource,
    go_on: &GoOn<'_>,
) -> Arc<Trace> {
    if trace.sources().len() < 2 {
        return trace;
    }
    let who = Identity::with_clocks(&trace, rules, settings, args, go_on);
    let mut by = vec![0; trace.sources().len()];
    for clock in who.clocks().iter().filter(|c| c.offset != 0) {
        for file in &who.recordings[clock.recording].files {
            by[file.index()] = clock.offset.saturating_neg();
        }
    }
    if by.iter().all(|&b| b == 0) {
        return trace;
    }
    Arc::new(trace.moved(&by))
}

/// Whether collectives that two ranks count alike leave no doubt that they are of one job, however far their clocks are
/// apart. Pairs of when one ran, on the clock of each, by time.
pub(in crate::analysis) fn of_one_job(
    pairs: Vec<(TimeRange, TimeRange)>,
    settings: ClockSettings,
) -> bool {
    let common = witnesses::Common {
        pairs,
        counted: true,
    };
    relations::one_job(&common, settings)
}
