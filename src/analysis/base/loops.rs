//! Ranks, the lane of each training loop, its primary GPU, and its batch waits.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::analysis::base::core::{Core, outermost};
use crate::analysis::base::gpus::{Gpu, unite_all};
use crate::analysis::base::name_kinds::NameKind;
use crate::analysis::base::steps::{Step, StepSource, number_at};
use crate::analysis::base::waits::{self, LoopWaits, WaitKind};
use crate::analysis::identity::{Purpose, thread};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::model::{LaneId, LaneKind, Role, SpanId};
use crate::time::TimeRange;

/// One training process of a distributed job (rank 0 for a single one).
#[derive(Clone, Debug)]
pub struct Rank {
    /// Its number.
    pub rank: u32,
    /// The CPU lane of the training loop, if one was found: the record of its thread that is drawn first.
    pub loop_lane: Option<LaneId>,
    /// All records of that thread, the first one in front.
    pub loop_lanes: Vec<LaneId>,
    /// Its waits one by one, and the runs of its loader.
    pub waits: LoopWaits,
    /// Fetches of other threads of the process.
    pub fetch_elsewhere: Vec<FetchElsewhere>,
    /// Index of its primary GPU in [`crate::analysis::Analysis::gpus`]; `None` without GPU operations.
    pub gpu: Option<usize>,
    /// The loop waits for a batch.
    pub wait: Union,
    /// Of `wait`: the GPU had nothing to do.
    pub wait_exposed: Union,
    /// Of `wait`: the GPU worked meanwhile.
    pub wait_hidden: Union,
    /// Of `wait`: nobody knows what the GPU did.
    pub wait_unrecorded: Union,
    /// Of `wait_unrecorded`: work that was launched and not recorded may have run.
    pub wait_lost: i64,
    /// Steps of the loop, ascending.
    pub steps: Vec<Step>,
    /// How the steps were found.
    pub steps_how: StepSource,
    /// Fetches that start no step: they deliver no batch that is worked on.
    pub dropped_fetches: usize,
    /// Where two recorders have its waits, and their clocks may be apart: the least and the most that `wait_exposed` and
    /// `wait_hidden` can be, ns.
    pub wait_ranges: Option<[[i64; 2]; 2]>,
    /// The spans that mark its steps, whether the steps are taken from them or not.
    pub marks: Vec<SpanId>,
    /// Where the loop itself asks for nothing, but another thread of its process does: at most so much of its steps can
    /// have been a wait beside an idle GPU, ns. `None` without marked steps or a GPU.
    pub wait_bound: Option<i64>,
    /// The last marked step was left out: nothing is done in it, it is what follows the last mark.
    pub leftover_step: bool,
}

impl Rank {
    /// The number of the explicit step that it is in.
    pub(in crate::analysis) fn explicit_step(&self, t: i64) -> Option<i64> {
        (self.steps_how == StepSource::Explicit)
            .then(|| number_at(&self.steps, t))
            .flatten()
    }

    /// Fetches of the loop, each counted once however many recorders have it.
    #[must_use]
    pub fn n_fetch(&self) -> usize {
        self.waits.all.len()
    }
}

/// One wait of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Index in [`crate::analysis::Analysis::ranks`].
    pub rank: usize,
    /// Its place among the waits of its rank.
    pub place: usize,
    /// When.
    pub range: TimeRange,
    /// The outermost span that makes it.
    pub span: SpanId,
    /// What came of it.
    pub kind: WaitKind,
    /// The first batch of a run of the loader: start-up.
    pub first: bool,
    /// Index in the rank's steps, of the step that it lies in.
    pub step: Option<usize>,
    /// Of it exposed, ns; `None` without GPU events.
    pub exposed: Option<i64>,
    /// Of it hidden, ns; `None` without GPU events.
    pub hidden: Option<i64>,
    /// Of it not recorded, ns.
    pub unrecorded: i64,
}

/// Numbers of the ranks: those of recorded training processes; 0 without any.
pub(in crate::analysis) fn rank_numbers(core: &Core) -> Vec<u32> {
    let training = core.identity.processes.iter();
    let training = training.filter(|p| p.purpose == Purpose::Training && p.recorded);
    let mut ranks: Vec<u32> = training.filter_map(|p| p.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    if ranks.is_empty() {
        ranks.push(0);
    }
    ranks
}

fn is_loop_candidate(core: &Core, lane: LaneId) -> bool {
    let kind = core.trace.lane(lane).kind;
    core.role(lane) == Role::Main && kind == LaneKind::Cpu
}

/// A thread of a training process, with all its records: the one that tells most first.
struct Thread {
    number: u64,
    lanes: Vec<LaneId>,
    evidence: Evidence,
}

/// What speaks for a thread being the loop: for each kind the most that one of its records has, never their sum, as two
/// recorders do not make two loops.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Evidence {
    steps: u64,
    fetches: u64,
    launches: u64,
    phases: u64,
}

impl Evidence {
    fn of(core: &Core, lane: LaneId) -> Self {
        let index = core.index(lane);
        let has = |layer: LayerId| index.layers.contains(&layer);
        let count = |want: &dyn Fn(LayerId) -> bool| core.started(lane, ALL, want).count;
        let fetches = if has(LayerId::FETCH) {
            outermost(&core.spans_of(lane, LayerId::FETCH)).len() as u64
        } else {
            0
        };
        Self {
            steps: count(&|l| l == LayerId::STEP),
            fetches,
            launches: kernel_launches(core, lane),
            phases: count(&|l| l.is_phase() && l != LayerId::FETCH) - engine_spans(core, lane),
        }
    }

    fn most(self, other: Self) -> Self {
        Self {
            steps: self.steps.max(other.steps),
            fetches: self.fetches.max(other.fetches),
            launches: self.launches.max(other.launches),
            phases: self.phases.max(other.phases),
        }
    }

    /// Which evidence is there, in the order in which it counts: at least a quarter of the most that any thread has.
    fn present(self, most: Self) -> [bool; 4] {
        let there = |n: u64, most: u64| n > 0 && 4 * n >= most;
        [
            there(self.steps, most.steps),
            there(self.launches, most.launches),
            there(self.phases, most.phases),
            there(self.fetches, most.fetches),
        ]
    }
}

const ALL: TimeRange = TimeRange {
    start: i64::MIN,
    end: i64::MAX,
};

/// The threads of a rank's training process that may be its loop.
fn threads(core: &Core, rank: u32) -> Vec<Thread> {
    let mut by_thread: BTreeMap<String, Vec<(Evidence, LaneId)>> = BTreeMap::new();
    // Spans of which nobody recorded the thread.
    let mut unknown: Vec<(Evidence, LaneId)> = Vec::new();
    let lanes = core.threads_of(rank).into_iter();
    for lane in lanes.filter(|&l| is_loop_candidate(core, l)) {
        let record = (Evidence::of(core, lane), lane);
        if core.trace.lane(lane).key.ends_with(".?") {
            unknown.push(record);
        } else {
            let thread = thread(&core.trace, lane);
            by_thread.entry(thread).or_default().push(record);
        }
    }
    if by_thread.len() == 1 {
        // They are those of the only thread that there is.
        for records in by_thread.values_mut() {
            records.append(&mut unknown);
        }
    }
    by_thread.extend(
        unknown
            .into_iter()
            .map(|r| (core.trace.lane(r.1).key.clone(), vec![r])),
    );
    let thread = |(number, mut records): (String, Vec<(Evidence, LaneId)>)| {
        // First the record that has the launches, else the one that writes each ask for a batch, answered or not.
        records.sort_by_key(|&(e, l)| (Reverse(e.launches), delivers(core, l), l));
        Thread {
            number: number.parse().unwrap_or(u64::MAX),
            evidence: records.iter().fold(Evidence::default(), |m, r| m.most(r.0)),
            lanes: records.into_iter().map(|r| r.1).collect(),
        }
    };
    by_thread.into_iter().map(thread).collect()
}

fn delivers(core: &Core, lane: LaneId) -> bool {
    let trace = &core.trace;
    trace
        .source(trace.lane(lane).source)
        .tracer
        .encloses_fetches
}

/// The thread of a rank's training loop, and the other threads with fetches: what they wait for is not the loop's wait.
///
/// Evidence in this order: explicit steps, launches of kernels, phases, fetches, each where it is present; then by their
/// numbers; then the thread with most spans where there is no evidence at all. How long anything took never decides.
fn choose(core: &Core, rank: u32, chosen: &[LaneId]) -> Option<(Thread, Vec<FetchElsewhere>)> {
    let mut threads = threads(core, rank);
    let most = threads
        .iter()
        .fold(Evidence::default(), |m, t| m.most(t.evidence));
    let nothing = most == Evidence::default();
    let key = |t: &Thread| {
        let spans = t.lanes.iter().map(|&l| core.columns(l).len()).max();
        (
            t.evidence.present(most),
            t.evidence,
            spans.filter(|_| nothing),
            Reverse(t.number),
            Reverse(t.lanes.first().copied()),
        )
    };
    let by_hand = threads
        .iter()
        .position(|t| t.lanes.iter().any(|l| chosen.contains(l)));
    let best = || (0..threads.len()).max_by_key(|&i| key(&threads[i]));
    let mut chosen = threads.swap_remove(by_hand.or_else(best)?);
    // A record whose clock is not known against the first one's adds nothing that could be compared.
    let recording = |l: LaneId| core.identity.recording(core.trace.lane(l).source);
    if let Some(&first) = chosen.lanes.first() {
        let known = |&l: &LaneId| core.identity.comparable(recording(first), recording(l));
        chosen.lanes.retain(known);
    }
    let mut elsewhere: Vec<FetchElsewhere> = threads
        .iter()
        .filter_map(|t| t.lanes.iter().find_map(|&l| FetchElsewhere::on(core, l)))
        .collect();
    elsewhere.sort_by_key(|f| f.lane);
    Some((chosen, elsewhere))
}

/// Fetches of another thread of the training process than the loop's: a prefetch thread, say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchElsewhere {
    /// The thread's lane.
    pub lane: LaneId,
    /// Its outermost fetches.
    pub n: usize,
    /// The sum of them, ns.
    pub time: i64,
}

impl FetchElsewhere {
    fn on(core: &Core, lane: LaneId) -> Option<Self> {
        if !core.index(lane).layers.contains(&LayerId::FETCH) {
            return None;
        }
        let fetches = outermost(&core.spans_of(lane, LayerId::FETCH));
        Some(Self {
            lane,
            n: fetches.len(),
            time: fetches.iter().map(|f| f.1.len()).sum(),
        })
    }
}

/// Calls on a lane that launch kernels or graphs: copies and memsets count for nothing.
fn kernel_launches(core: &Core, lane: LaneId) -> u64 {
    if !core.index(lane).layers.contains(&LayerId::LAUNCH) {
        return 0;
    }
    let columns = core.columns(lane);
    let calls = (0..columns.len()).filter(|&i| columns.of[i] == LayerId::LAUNCH);
    calls
        .filter(|&i| core.name_kind(columns.id(i)).launches())
        .count() as u64
}

fn engine_spans(core: &Core, lane: LaneId) -> u64 {
    if !core.index(lane).layers.iter().any(|l| l.is_phase()) {
        return 0;
    }
    let columns = core.columns(lane);
    let is_phase = |l: LayerId| l.is_phase() && l != LayerId::FETCH;
    let phases = (0..columns.len()).filter(|&i| is_phase(columns.of[i]));
    phases
        .filter(|&i| core.name_kind(columns.id(i)) == NameKind::Engine)
        .count() as u64
}

/// How long a loop without fetches can have waited unseen beside an idle GPU: it asks once per batch, so in each step no
/// longer than the longest stretch that no span of its thread covers.
pub(in crate::analysis) fn wait_bound(core: &Core, rank: &Rank, gpus: &[Gpu]) -> Option<i64> {
    let idle = &gpus[rank.gpu?].idle;
    let asks_elsewhere = rank.waits.all.is_empty() && !rank.fetch_elsewhere.is_empty();
    if !asks_elsewhere {
        return None;
    }
    let (first, last) = (rank.marks.first()?, rank.marks.last()?);
    let whole = TimeRange::new(core.range(*first).start, core.range(*last).end);
    const CONTAINERS: [LayerId; 4] = [LayerId::STEP, LayerId::EPOCH, LayerId::TRAIN, LayerId::APP];
    let unions = rank.loop_lanes.iter().flat_map(|&l| {
        let index = core.index(l);
        let own = index.layers.iter().zip(&index.unions);
        own.filter(|(l, _)| !CONTAINERS.contains(l))
            .map(|(_, u)| &**u)
    });
    let free = Union::single(whole).subtract(&unite_all(unions));
    let longest = |&step: &SpanId| {
        let step = core.range(step);
        let parts = free.parts_in(step).iter().map(|p| p.clip(step));
        let longest = parts.max_by_key(|p| (p.len(), Reverse(p.start)));
        longest.map_or(0, |p| idle.measure_in(p))
    };
    Some(rank.marks.iter().map(longest).sum())
}

/// The least and the most that the exposed and the hidden part of the waits can be, with the clocks of their recorders as
/// far apart as they may be: at both ends of what is possible, and as they are placed.
pub(in crate::analysis) fn wait_ranges(
    core: &Core,
    rank: &Rank,
    gpus: &[Gpu],
) -> Option<[[i64; 2]; 2]> {
    let gpu = &gpus[rank.gpu?];
    let who = &core.identity;
    let recording = |l: &LaneId| who.recording(core.trace.lane(*l).source);
    let clocks = who.clocks().iter();
    let mut clocks = clocks.filter(|c| rank.loop_lanes.iter().any(|l| recording(l) == c.recording));
    let clock = clocks.find(|c| rank.loop_lanes.iter().any(|l| recording(l) == c.reference))?;
    let (first, last) = (rank.waits.all.first()?, rank.waits.all.last()?);
    let middle = i64::midpoint(first.range.start, last.range.end);
    let [low, high] = clock.slack(middle, core.trace.unix_origin())?;
    let waits = |moves: bool| {
        let lanes = rank.loop_lanes.iter();
        let own = lanes.filter(move |l| (recording(l) == clock.recording) == moves);
        own.flat_map(|&l| outermost(&core.spans_of(l, LayerId::FETCH)))
            .map(|(_, range)| range)
            .collect::<Vec<_>>()
    };
    let (fixed, moving) = (waits(false), waits(true));
    let mut found: Option<[[i64; 2]; 2]> = None;
    let placed = (low <= 0 && 0 <= high).then_some(0);
    for by in [Some(low), Some(high), placed].into_iter().flatten() {
        let mut all = fixed.clone();
        // A recording that lies early by so much belongs later.
        all.extend(moving.iter().map(|w| TimeRange {
            start: w.start.saturating_sub(by),
            end: w.end.saturating_sub(by),
        }));
        let wait = Union::new(all);
        let parts = [&gpu.idle, &gpu.busy].map(|u| wait.intersect(u).measure());
        let [exposed, hidden] = found.unwrap_or(parts.map(|p| [p; 2]));
        found = Some([
            [exposed[0].min(parts[0]), exposed[1].max(parts[0])],
            [hidden[0].min(parts[1]), hidden[1].max(parts[1])],
        ]);
    }
    found
}

/// When the workers of each training process were started, ascending, by the process: the call that forked one, else its
/// first event.
pub(in crate::analysis) fn births(core: &Core) -> BTreeMap<usize, Vec<i64>> {
    let who = &core.identity;
    let mut first: BTreeMap<usize, i64> = BTreeMap::new();
    for lane in core.cpu_lanes() {
        let start = core.columns(lane).starts.first();
        if let (Some(process), Some(&start)) = (who.process(lane), start) {
            let born = first.entry(process).or_insert(start);
            *born = start.min(*born);
        }
    }
    let calls = who.forks.iter();
    let forked: BTreeMap<(usize, &str), i64> = calls
        .map(|f| ((f.parent, f.child.as_str()), f.at))
        .collect();
    let mut births: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
    for (i, process) in who.processes.iter().enumerate() {
        let Some(of) = process.of.filter(|_| process.purpose == Purpose::Worker) else {
            continue;
        };
        let born = forked.get(&(of, process.pid.as_str())).or(first.get(&i));
        if let Some(&born) = born {
            births.entry(of).or_default().push(born);
        }
    }
    for times in births.values_mut() {
        times.sort_unstable();
    }
    births
}

/// A rank without its steps.
pub(in crate::analysis) fn build_rank(
    core: &Core,
    rank: u32,
    gpu: Option<usize>,
    gpus: &[Gpu],
    births: &[i64],
    chosen: &[LaneId],
) -> Rank {
    let (loop_lanes, fetch_elsewhere) = match choose(core, rank, chosen) {
        Some((thread, elsewhere)) => (thread.lanes, elsewhere),
        None => (Vec::new(), Vec::new()),
    };
    let waits = waits::find(core, &loop_lanes, births);
    let wait = Union::new(waits.all.iter().map(|w| w.range).collect());
    let lost = gpu.map_or(0, |g| gpus[g].not_recorded.intersect(&wait).measure());
    let (exposed, hidden, unrecorded) = match gpu.map(|g| &gpus[g]) {
        Some(g) => (
            wait.intersect(&g.idle),
            wait.intersect(&g.busy),
            wait.subtract(&Union::single(g.record))
                .unite(&wait.intersect(&g.not_recorded)),
        ),
        None => (Union::empty(), Union::empty(), wait.clone()),
    };
    Rank {
        rank,
        loop_lane: loop_lanes.first().copied(),
        loop_lanes,
        waits,
        fetch_elsewhere,
        gpu,
        wait,
        wait_exposed: exposed,
        wait_hidden: hidden,
        wait_unrecorded: unrecorded,
        wait_lost: lost,
        steps: Vec::new(),
        steps_how: StepSource::Fetches,
        dropped_fetches: 0,
        wait_ranges: None,
        marks: Vec::new(),
        wait_bound: None,
        leftover_step: false,
    }
}

/// All waits of all ranks, by start.
pub(in crate::analysis) fn waits(ranks: &[Rank]) -> Vec<Wait> {
    let of_rank = |(r, rank): (usize, &Rank)| {
        let waits = rank.waits.all.iter().enumerate();
        let wait = move |(i, w): (usize, &waits::LoopWait)| {
            let steps = &rank.steps;
            let k = steps.partition_point(|s| s.range.start <= w.range.start);
            Wait {
                rank: r,
                place: i,
                range: w.range,
                span: w.span,
                kind: w.kind,
                first: w.first,
                step: k
                    .checked_sub(1)
                    .filter(|&k| steps[k].range.contains(w.range.start)),
                exposed: rank.gpu.map(|_| rank.wait_exposed.measure_in(w.range)),
                hidden: rank.gpu.map(|_| rank.wait_hidden.measure_in(w.range)),
                unrecorded: rank.wait_unrecorded.measure_in(w.range),
            }
        };
        waits.map(wait).collect::<Vec<_>>()
    };
    let mut waits: Vec<Wait> = ranks
        .par_iter()
        .enumerate()
        .flat_map_iter(of_rank)
        .collect();
    waits.sort_by_key(|w| (w.range, w.rank));
    waits
}
