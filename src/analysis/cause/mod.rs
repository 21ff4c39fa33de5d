//! Why each wait of a loop happened: from the wait to its batch, the worker that made it, what that worker did meanwhile,
//! the item and the file.
//!
//! ```text
//! loader lanes ─▶ items, reads ─▶ batches ┐
//! waits ─▶ iterators ─▶ who may have served ┴─▶ assignment ─▶ partition of each wait ─▶ totals ─▶ decision
//! ```
//!
//! `parts` what a span is · `segments` stretches of one part · `loader` the lane on which a process loads · `items`, `files` items and files · `batches` where a batch
//! ends · `iterators` which waits go together · `assign` who made which batch, where only one way is admissible · `plan` all
//! of it for one loop · `frames` the loop's Python frames · `partition`, `wait` the cause of a wait · `totals`, `decide` what
//! a loop's waiting comes from. Worked out once; a part that the record does not tell is unknown, and says why.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::batches::Batch;
use self::files::{FileSum, file_sums, slow_files};
use self::frames::Frames;
use self::items::Usual;
use self::loader::{BatchNumber, FileId, Files, Loader, read_args};
use self::parts::{Group, Sayings};
use self::plan::{Child, Children, Known, Plan};
use self::totals::SlowFile;
use self::wait::{Cause, Scene};
use crate::analysis::base::core::Core;
use crate::analysis::base::gpus::Gpu;
use crate::analysis::base::loops::Rank;
use crate::analysis::layers::classify::{ArgSource, GoOn};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::model::{LaneId, Role};
use crate::time::TimeRange;

pub(in crate::analysis) mod assign;
mod batches;
pub(in crate::analysis) mod decide;
mod files;
mod frames;
pub(in crate::analysis) mod items;
mod iterators;
pub(in crate::analysis) mod loader;
pub(in crate::analysis) mod partition;
pub(in crate::analysis) mod parts;
mod plan;
pub(in crate::analysis) mod reason;
mod segments;
pub(in crate::analysis) mod totals;
pub(in crate::analysis) mod wait;

/// A batch that a worker made, with the work in it. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Production {
    /// From its first span to its end.
    pub range: TimeRange,
    /// Recorded work by [`Group`], from reading to other work.
    by: [i64; WORK.len()],
    /// Of it reading slow files for longer than is usual.
    pub slow_reading: i64,
}

/// Groups of work on a batch.
pub(in crate::analysis) const WORK: [Group; 5] = [
    Group::Read,
    Group::Decode,
    Group::Transform,
    Group::Collate,
    Group::Other,
];

impl Production {
    /// Recorded work: every moment once.
    #[must_use]
    pub fn work(&self) -> i64 {
        self.by.iter().sum()
    }

    /// Of it in one group.
    #[must_use]
    pub fn of(&self, group: Group) -> i64 {
        let place = WORK.iter().position(|&g| g == group);
        place.map_or(0, |p| self.by[p])
    }
}

/// A process that makes batches.
#[derive(Clone, Debug)]
pub struct LoaderWorker {
    /// Its number.
    pub pid: String,
    /// The lane on which it loads.
    pub lane: LaneId,
    /// What it made, in time order.
    pub batches: Vec<Production>,
    /// Its collates are recorded.
    pub collates: bool,
}

/// One iterator of a loader.
#[derive(Clone, Debug)]
pub struct IteratorCauses {
    /// Places of its waits among the loop's.
    pub waits: Vec<usize>,
    /// Its workers, in order: places in [`RankCauses::workers`]; `None` for one without a record.
    pub group: Vec<Option<usize>>,
    /// Who made each batch, where it is told: place in the group, and among the worker's batches.
    pub made: Option<Vec<Option<(usize, usize)>>>,
    /// Its workers were started for it; `None` where nothing is asked.
    pub fresh: Option<bool>,
    /// How the order of workers is known.
    pub order: Option<assign::Order>,
    /// Waits before the record began.
    pub offset: Option<usize>,
    /// Items of a batch, where batches are told by counting items.
    pub batch_items: Option<usize>,
    /// What the likeliest assignment contradicts.
    pub violation: Option<assign::Violation>,
    /// Why nothing is said of its waits.
    pub reason: Option<reason::Reason>,
}

/// The causes of a loop's waits.
#[derive(Debug, Default)]
pub struct RankCauses {
    /// By wait of the loop.
    pub waits: Vec<Cause>,
    /// In the order of their first waits.
    pub iterators: Vec<IteratorCauses>,
    /// Processes that make batches, by number.
    pub workers: Vec<LoaderWorker>,
    pub(in crate::analysis) ranges: Vec<TimeRange>,
    /// Names of the files of the whole trace.
    names: Arc<[String]>,
    /// What was read of those that its workers read, by file.
    files: Vec<(FileId, FileSum)>,
    pub(in crate::analysis) slow_files: Vec<SlowFile>,
    /// Waits during a checkpoint, or for a batch made during one.
    pub(in crate::analysis) in_checkpoint: totals::Places,
    /// Bytes that were copied to the GPU after each wait, where recorded.
    pub(in crate::analysis) copied: Vec<Option<i64>>,
}

impl RankCauses {
    /// The name of a file.
    #[must_use]
    pub fn file(&self, id: FileId) -> &str {
        self.names.get(id.0 as usize).map_or("", String::as_str)
    }

    /// What was read of a file.
    pub(in crate::analysis) fn read_of(&self, id: FileId) -> Option<FileSum> {
        let place = self.files.binary_search_by_key(&id, |(file, _)| *file);
        place.ok().map(|p| self.files[p].1)
    }

    /// When a wait was.
    ///
    /// # Panics
    /// If there is no such wait.
    #[must_use]
    pub fn range(&self, wait: usize) -> TimeRange {
        self.ranges[wait]
    }

    /// The workers at one place of the groups of iterators that are told, by number.
    fn workers_at(&self, place: usize) -> Vec<&LoaderWorker> {
        let told = self.iterators.iter().filter(|i| i.made.is_some());
        let at = told.filter_map(|i| *i.group.get(place)?);
        let places: std::collections::BTreeSet<usize> = at.collect();
        places.into_iter().map(|p| &self.workers[p]).collect()
    }
}

/// The causes of the waits of all loops, by rank.
pub(in crate::analysis) fn find(
    core: &Core,
    ranks: &[Rank],
    gpus: &[Gpu],
    args: &dyn ArgSource,
    go_on: &GoOn<'_>,
) -> Vec<RankCauses> {
    let mut said = Sayings::default();
    let mut files = Files::default();
    // Who loads for whom, with the lane on which each does.
    let mut loaders: Vec<(Loader, bool)> = Vec::new();
    let mut of_process: FxHashMap<usize, usize> = FxHashMap::default();
    let mut children: Vec<Children> = Vec::with_capacity(ranks.len());
    for rank in ranks {
        let process = core.identity.training(rank.rank);
        let run = process.map(|p| core.identity.processes[p].run);
        let waits = |r: &&Rank| !r.waits.all.is_empty();
        let same = |r: &&Rank| {
            let other = core.identity.training(r.rank);
            other.map(|p| core.identity.processes[p].run) == run
        };
        let loops = ranks.iter().filter(waits).filter(same).count();
        if rank.waits.all.is_empty() {
            children.push(Children::default());
            continue;
        }
        let orphans = run.map_or_else(Vec::new, |run| {
            plan::orphans(core, run, |p| {
                add_loader(core, p, true, &mut said, &mut loaders, &mut of_process)
            })
        });
        let found = Children::of(core, rank, &orphans, loops);
        for child in found.all.iter().filter_map(|c| c.process) {
            add_loader(core, child, true, &mut said, &mut loaders, &mut of_process);
        }
        if let Some(process) = process {
            add_loader(
                core,
                process,
                false,
                &mut said,
                &mut loaders,
                &mut of_process,
            );
        }
        children.push(found);
    }
    read_args(core, args, go_on, &mut loaders, &mut files);
    for (loader, _) in &mut loaders {
        loader.finish();
    }
    let told = told(core, ranks, args, go_on);
    let mut out = Vec::with_capacity(ranks.len());
    let copied = copied(core, ranks);
    let names: Arc<[String]> = files.names.clone().into();
    let of_ranks = ranks.iter().zip(&told).zip(&copied);
    for (((rank, told), copied), children) in of_ranks.zip(children) {
        if rank.waits.all.is_empty() || !go_on() {
            out.push(RankCauses::default());
            continue;
        }
        let stage = Stage {
            core,
            rank,
            gpu: rank.gpu.map(|g| &gpus[g]),
            loaders: &loaders,
            of_process: &of_process,
            files: &files,
            names: &names,
            copied,
        };
        out.push(stage.causes(told, children));
    }
    out
}

/// Finds the lane on which a process loads, once. Returns whether there is one.
fn add_loader(
    core: &Core,
    process: usize,
    with_ids: bool,
    said: &mut Sayings,
    loaders: &mut Vec<(Loader, bool)>,
    of_process: &mut FxHashMap<usize, usize>,
) -> bool {
    if of_process.contains_key(&process) {
        return true;
    }
    let Some(loader) = Loader::find(core, process, said) else {
        return false;
    };
    of_process.insert(process, loaders.len());
    loaders.push((loader, with_ids));
    true
}

/// What the recorder of a wait says of the batch that it got.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    /// Its place among those that its iterator delivered, from 1.
    count: Option<i64>,
    /// The number that the worker gave it. Where batches are handed out in another order, or a worker has none left, it
    /// is not one less than the count.
    number: Option<BatchNumber>,
}

/// By rank and wait: what its recorder says of the batch.
fn told(core: &Core, ranks: &[Rank], args: &dyn ArgSource, go_on: &GoOn<'_>) -> Vec<Vec<Told>> {
    let blank = ranks
        .iter()
        .map(|r| vec![Told::default(); r.waits.all.len()]);
    let mut out: Vec<Vec<Told>> = blank.collect();
    let mut wanted = Vec::new();
    let mut of_lane: FxHashMap<LaneId, usize> = FxHashMap::default();
    for (r, rank) in ranks.iter().enumerate() {
        for &lane in &rank.loop_lanes {
            let source = core.trace.source(core.trace.lane(lane).source);
            if source.tracer.encloses_fetches {
                of_lane.insert(lane, r);
                let fetches = core.spans_of(lane, LayerId::FETCH);
                wanted.extend(fetches.into_iter().map(|(span, _)| span));
            }
        }
    }
    if wanted.is_empty() {
        return out;
    }
    // The last of a wait counts.
    let mut found = Vec::new();
    args.each(&wanted, go_on, &mut |span, arg| {
        let told = Told {
            count: arg("count").and_then(|c| loader::whole(&c)),
            number: BatchNumber::of(arg),
        };
        found.push((core.range(span).start, span, told));
        true
    });
    found.retain(|(_, _, t)| t.count.is_some() || t.number.is_some());
    found.sort_unstable_by_key(|&(start, span, _)| (start, span));
    for (start, span, told) in found {
        let Some(&rank) = of_lane.get(&core.trace.spans().lane(span)) else {
            continue;
        };
        let waits = &ranks[rank].waits.all;
        let next = waits.partition_point(|w| w.range.start <= start);
        if let Some(place) = next.checked_sub(1).filter(|&w| start < waits[w].range.end) {
            out[rank][place] = told;
        }
    }
    out
}

/// By rank and wait: bytes of the copies to the GPU that were launched between its end and the next one.
fn copied(core: &Core, ranks: &[Rank]) -> Vec<Vec<Option<i64>>> {
    use crate::model::CopyKind::HostToDevice;
    let blank = ranks.iter().map(|r| vec![None; r.waits.all.len()]);
    let mut out: Vec<Vec<Option<i64>>> = blank.collect();
    let with_gpu = ranks.iter().enumerate().filter(|(_, r)| r.gpu.is_some());
    let lanes = with_gpu.flat_map(|(i, r)| r.loop_lanes.iter().map(move |&l| (l, i)));
    let of_lane: FxHashMap<LaneId, usize> = lanes.collect();
    let trace = &core.trace;
    let copies = trace.copies().iter();
    for (span, copy) in copies.filter(|(_, c)| c.kind == Some(HostToDevice)) {
        let Some((call, bytes)) = trace.launch_of(*span).zip(copy.bytes) else {
            continue;
        };
        let Some(&rank) = of_lane.get(&trace.spans().lane(call)) else {
            continue;
        };
        let start = trace.spans().start(call);
        let waits = &ranks[rank].waits.all;
        let next = waits.partition_point(|w| w.range.end <= start);
        if let Some(place) = next.checked_sub(1) {
            let sum: &mut Option<i64> = &mut out[rank][place];
            *sum = Some(sum.unwrap_or(0).saturating_add(bytes));
        }
    }
    out
}

/// One rank on its way.
struct Stage<'a> {
    core: &'a Core,
    rank: &'a Rank,
    gpu: Option<&'a Gpu>,
    loaders: &'a [(Loader, bool)],
    of_process: &'a FxHashMap<usize, usize>,
    files: &'a Files,
    names: &'a Arc<[String]>,
    /// By wait: see [`copied`].
    copied: &'a [Option<i64>],
}

impl Stage<'_> {
    fn loader(&self, process: usize) -> Option<&Loader> {
        Some(&self.loaders[*self.of_process.get(&process)?].0)
    }

    fn causes(&self, told: &[Told], children: Children) -> RankCauses {
        let all = children.all.iter().enumerate();
        let loading = all.filter_map(|(w, c): (usize, &Child)| {
            let loader = self.loader(c.process?)?;
            loader.makes_batches().then_some((w, loader))
        });
        let loading: FxHashMap<usize, &Loader> = loading.collect();
        let apart = self.apart(&loading);
        let known = Known {
            core: self.core,
            rank: self.rank,
            told,
            loaders: &loading,
            tolerance: 2 * self.quantum(&loading) + apart.unwrap_or(0),
        };
        let mut plan = Plan::new(&known, children);
        if apart.is_none() {
            plan.refuse(reason::Reason::ClockUnknown);
        }
        let mut workers: Vec<usize> = plan.batches.keys().copied().collect();
        workers.sort_unstable();
        let process = self.core.identity.training(self.rank.rank);
        let own = process.and_then(|p| self.loader(p));
        let of: Vec<&Loader> = match workers.is_empty() {
            true => own.into_iter().collect(),
            false => workers.iter().map(|w| loading[w]).collect(),
        };
        let usual = Usual::of(&of, self.files);
        let mut slow: FxHashMap<LaneId, Vec<usize>> = FxHashMap::default();
        let mut longer: FxHashMap<LaneId, Vec<(i64, i64)>> = FxHashMap::default();
        for visit in usual.slow_visits() {
            let (loader, item) = (of[visit.of.0], visit.of.1);
            slow.entry(loader.lane).or_default().push(item);
            let by = (loader.item(item).start, visit.read.ns - usual.visit);
            longer.entry(loader.lane).or_default().push(by);
        }
        let scene = Scene {
            rank: self.rank,
            gpu: self.gpu,
            plan: &plan,
            loaders: &loading,
            own,
            own_pid: process
                .map_or_else(String::new, |p| self.core.identity.processes[p].pid.clone()),
            single: &self.single(),
            usual: &usual,
            files: self.files,
            slow: &slow,
            pins: &self.pins(),
            apart: apart.unwrap_or(0),
        };
        let waits = scene.causes(&mut Frames::new(self.core, &self.rank.loop_lanes));
        let ranges: Vec<TimeRange> = self.rank.waits.all.iter().map(|w| w.range).collect();
        RankCauses {
            in_checkpoint: self.in_checkpoint(&ranges, &waits),
            copied: self.copied.to_vec(),
            slow_files: slow_files(&usual),
            files: file_sums(&usual),
            names: Arc::clone(self.names),
            iterators: iterators(&plan, &workers),
            workers: workers
                .iter()
                .map(|w| {
                    let slow = longer.get(&loading[w].lane).map_or(&[][..], Vec::as_slice);
                    let batches = &plan.batches[w].all;
                    worker(&plan.children.all[*w], loading[w], batches, slow)
                })
                .collect(),
            waits,
            ranges,
        }
    }

    /// The widest quantum of the recorders of the loop and its workers, ns.
    fn quantum(&self, loading: &FxHashMap<usize, &Loader>) -> i64 {
        let trace = &self.core.trace;
        let workers = loading.values().map(|l| &l.lane);
        let lanes = self.rank.loop_lanes.iter().chain(workers);
        let quantum = |&l: &LaneId| trace.source(trace.lane(l).source).quantum_ns;
        lanes.map(quantum).max().unwrap_or(0)
    }

    /// As much as the clocks of the loop's recording and its workers' may be apart where none has both, ns. `None` where
    /// that is not known.
    fn apart(&self, loading: &FxHashMap<usize, &Loader>) -> Option<i64> {
        let (core, who) = (self.core, &self.core.identity);
        let source = |l: LaneId| core.trace.lane(l).source;
        let loops = || self.rank.loop_lanes.iter().map(|&l| source(l));
        let workers = || loading.values().map(|l| source(l.lane));
        let own: FxHashSet<usize> = loops().map(|s| who.recording(s)).collect();
        let others: FxHashSet<usize> = workers().map(|s| who.recording(s)).collect();
        // Against the reference of a run: nothing for itself, else what its clock may be off. Of one machine it is the same
        // clock, where nothing contradicts.
        let off = |recording: usize| {
            let Some(clock) = who.clocks().iter().find(|c| c.recording == recording) else {
                return Some(0);
            };
            let width = clock.interval.map(|[low, high]| (high - low).max(0));
            let one_clock = clock.related && clock.contradiction.is_none();
            width.or(one_clock.then_some(0))
        };
        let of_loop = own
            .iter()
            .map(|&r| off(r))
            .min_by_key(|o| o.unwrap_or(i64::MAX));
        let apart = others.iter().filter(|r| !own.contains(r)).map(|&r| {
            let both = off(r)?.checked_add(of_loop.flatten()?)?;
            Some(both)
        });
        let apart: Option<Vec<i64>> = apart.collect();
        Some(apart?.into_iter().max().unwrap_or(0))
    }

    /// By wait: the name of its iterator says that it has no workers.
    fn single(&self) -> Vec<bool> {
        let (core, waits) = (self.core, &self.rank.waits.all);
        let mut out = vec![false; waits.len()];
        for &lane in &self.rank.loop_lanes {
            for (span, range) in core.spans_of(lane, LayerId::FETCH) {
                let name = core.trace.names().get(core.trace.spans().name(span));
                let next = waits.partition_point(|w| w.range.start <= range.start);
                if let Some(wait) = next.checked_sub(1)
                    && range.start < waits[wait].range.end
                {
                    out[wait] |= name.contains("_SingleProcess");
                }
            }
        }
        out
    }

    /// Pinning on threads that do nothing else.
    fn pins(&self) -> Union {
        let lanes = self.core.rank_lanes(self.rank.rank);
        let lanes = lanes.filter(|&l| self.core.role(l) == Role::Pin);
        let spans = lanes.flat_map(|l| self.core.spans_of(l, LayerId::PIN));
        Union::new(spans.map(|(_, r)| r).collect())
    }

    fn in_checkpoint(&self, ranges: &[TimeRange], waits: &[Cause]) -> totals::Places {
        let lanes = self.core.rank_lanes(self.rank.rank);
        let of = |l: LaneId| self.core.spans_of(l, LayerId::CHECKPOINT);
        let spans = Union::new(lanes.flat_map(of).map(|(_, r)| r).collect());
        let half = |range: TimeRange| 2 * spans.measure_in(range) >= range.len();
        let all = ranges.iter().zip(waits).enumerate();
        let during = all.filter(|(_, (range, cause))| {
            cause
                .made
                .is_some_and(|made| half(**range) || (half(made) && !made.is_empty()))
        });
        during.map(|(i, _)| i).collect()
    }
}

/// `slow`: for each item with slow visits its start, and by how much they took longer than is usual, by start.
fn worker(child: &Child, loader: &Loader, batches: &[Batch], slow: &[(i64, i64)]) -> LoaderWorker {
    let slow_in = |range: TimeRange| {
        let from = slow.partition_point(|s| s.0 < range.start);
        let own = slow[from..].iter().take_while(|s| s.0 < range.end);
        own.map(|s| s.1).sum()
    };
    let productions = batches.iter().map(|b| {
        let mut by = [0; WORK.len()];
        for segment in loader.segments_in(b.range) {
            let group = segment.part.group();
            if let Some(place) = WORK.iter().position(|&g| g == group) {
                by[place] += segment.range.clip(b.range).len();
            }
        }
        Production {
            range: b.range,
            by,
            slow_reading: slow_in(b.range),
        }
    });
    LoaderWorker {
        pid: child.pid.clone(),
        lane: loader.lane,
        batches: productions.collect(),
        collates: !loader.collates.is_empty(),
    }
}

fn iterators(plan: &Plan, workers: &[usize]) -> Vec<IteratorCauses> {
    let place = |w: &usize| workers.binary_search(w).ok();
    let of = |pass: &plan::Pass| {
        let assigned = &pass.assigned;
        let made = assigned.made.as_ref();
        let at = |w: usize| assigned.group.iter().position(|&g| g == w);
        IteratorCauses {
            waits: pass.iterator.waits.clone(),
            group: assigned.group.iter().map(place).collect(),
            made: made.map(|all| {
                let one = |m: &Option<assign::Made>| {
                    let m = (*m)?;
                    Some((at(m.worker)?, m.batch))
                };
                all.iter().map(one).collect()
            }),
            fresh: (assigned.reason != Some(reason::Reason::SeveralLoops))
                .then_some(assigned.fresh),
            order: assigned.order,
            offset: assigned.offset,
            batch_items: pass.items,
            violation: assigned.violation,
            reason: assigned.reason,
        }
    };
    plan.passes.iter().map(of).collect()
}
