//! The order in which an analysis is computed, with progress and cancellation.

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::Analysis;
use super::base::core::{Core, find_gpus, lanes_of_gpus, repeated, source_extents};
use super::base::cycles::{self, Cycles};
use super::base::gpus::{self, Gpu, GpuSets};
use super::base::lanes::LaneIndex;
use super::base::launches::Launches;
use super::base::layer_sets::LayerSets;
use super::base::loops::{self, Rank, Wait};
use super::base::lost_work;
use super::base::name_kinds::NameKinds;
use super::base::options::Options;
use super::base::phases::Phases;
use super::base::primary::{self, Primary};
use super::base::queues::Queue;
use super::base::rank_sets::{self, IdleByPhase, RankSets};
use super::base::stalls::{self, Stalls};
use super::base::steps;
use super::base::syncs::{CallStarts, SyncBase};
use super::base::tails;
use super::cause::{self, RankCauses};
use super::collectives::ranks as collectives;
use super::figures::insight;
use super::figures::recorded;
use super::figures::step_table;
use super::figures::unknown_work;
use super::identity::Identity;
use super::layers::classify::{self, ArgSource, NoArgs};
use super::layers::ids::LayerId;
use super::layers::rules::Rules;
use super::store::Store;
use super::sums::watch::{Cancelled, OnProgress, Watch};
use crate::model::{LaneId, Trace};
use crate::time::TimeRange;

impl Analysis {
    /// Analyses a trace. Rules that ask for args other than copy kinds see none; see [`Self::with_args`].
    ///
    /// # Errors
    /// When `progress` returned `false`.
    pub fn new(
        trace: Arc<Trace>,
        rules: &Rules,
        options: &Options,
        progress: OnProgress<'_>,
    ) -> Result<Self, Cancelled> {
        Self::with_args(trace, rules, options, &NoArgs, progress)
    }

    /// Analyses a trace; `args` answers rules that ask for args of spans.
    ///
    /// # Errors
    /// When `progress` returned `false`.
    pub fn with_args(
        trace: Arc<Trace>,
        rules: &Rules,
        options: &Options,
        args: &dyn ArgSource,
        progress: OnProgress<'_>,
    ) -> Result<Self, Cancelled> {
        Self::without_causes(trace, rules, options, args, progress)?.with_causes(args, progress)
    }

    /// As [`Self::with_args`], but for the causes of waits. Most of what is shown does not depend on them, and working them
    /// out reads the args of all that workers did.
    ///
    /// # Errors
    /// When `progress` returned `false`.
    pub fn without_causes(
        trace: Arc<Trace>,
        rules: &Rules,
        options: &Options,
        args: &dyn ArgSource,
        progress: OnProgress<'_>,
    ) -> Result<Self, Cancelled> {
        Self::build(trace, rules, options, args, None, progress)
    }

    /// The same analysis with the causes of waits.
    ///
    /// # Errors
    /// When `progress` returned `false`.
    pub fn with_causes(
        &self,
        args: &dyn ArgSource,
        progress: OnProgress<'_>,
    ) -> Result<Self, Cancelled> {
        let watch = Watch::new(progress);
        let go_on = || !watch.stopped();
        let causes = cause::find(&self.core, &self.ranks, &self.gpus, args, &go_on);
        watch.check()?;
        Ok(Self {
            base: Arc::clone(&self.base),
            causes,
            causes_known: true,
        })
    }

    /// Analyses a trace whose spans' layers are given by span id; the rules are asked where `layers` says `None`.
    ///
    /// # Errors
    /// When `progress` returned `false`.
    pub fn with_layers(
        trace: Arc<Trace>,
        layers: &[Option<LayerId>],
        rules: &Rules,
        options: &Options,
        args: &dyn ArgSource,
        progress: OnProgress<'_>,
    ) -> Result<Self, Cancelled> {
        let mut layers = layers.to_vec();
        layers.resize(trace.spans().len(), None);
        Self::build(trace, rules, options, args, Some(&layers), progress)?
            .with_causes(args, progress)
    }

    fn build(
        trace: Arc<Trace>,
        rules: &Rules,
        options: &Options,
        args: &dyn ArgSource,
        given: Option<&[Option<LayerId>]>,
        progress: OnProgress<'_>,
    ) -> Result<Self, Cancelled> {
        let watch = Watch::new(progress);
        watch.reached(0)?;
        let identity =
            Identity::with_clocks(&trace, rules, options.clocks, args, &|| !watch.stopped());
        watch.check()?;
        let classified = classify::classify(&trace, rules, identity.roles(), args, given, &watch)?;
        watch.reached(250)?;
        let layers = classified.layers;
        let known = layers.infos().len();
        let ids: Vec<LaneId> = trace.lane_ids().collect();
        let index = |&lane: &LaneId| {
            watch.check()?;
            Ok(LaneIndex::new(&trace, lane, layers.column(), known, &watch))
        };
        let lanes = ids
            .par_iter()
            .map(index)
            .collect::<Result<Vec<_>, Cancelled>>()?;
        watch.reached(450)?;
        let (devices, lane_gpu, places) = find_gpus(&trace, &lanes);
        watch.reached(500)?;
        let launches = Launches::new(&trace, &layers, &lane_gpu, &identity);
        let names = NameKinds::new(trace.names());
        let source_extents = source_extents(&trace, &lanes);
        let repeated = repeated(&trace, &identity, &lanes, &layers);
        let core = Core {
            trace,
            layers,
            identity,
            autograd: classified.autograd,
            lanes,
            lanes_of_gpu: lanes_of_gpus(&lane_gpu, devices.len()),
            lane_gpu,
            devices,
            launches,
            names,
            source_extents,
            repeated,
            places,
        };
        watch.reached(550)?;
        Self::figures(core, rules, options, args, &watch)
    }

    /// Everything that comes after layers and launches.
    fn figures(
        mut core: Core,
        rules: &Rules,
        options: &Options,
        args: &dyn ArgSource,
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        let numbers = loops::rank_numbers(&core);
        let primaries = primary::primaries(&core, &numbers);
        let mut notices = core.identity.notices.clone();
        primary::note_missing(&core, &numbers, &primaries, &mut notices);
        let keys = primary::keys(&core.trace, &core.devices, &numbers, &primaries);
        let (gpus, gpu_sets) = build_gpus(&core, &numbers, &primaries, keys, options, watch);
        watch.reached(700)?;
        let mut ranks = build_ranks(
            &core,
            (rules, args),
            (&numbers, &primaries),
            &gpus,
            options,
            watch,
        )?;
        let several = ranks.len() > 1;
        let cycles = cycles_of(&core, &mut ranks);
        notices.extend(unknown_work::notices(&core, &gpus, &ranks));
        let waits = loops::waits(&ranks);
        let waits_of = by_rank(&waits, ranks.len());
        watch.reached(750)?;
        let is_cpu = |l: LaneId| !core.trace.lane(l).kind.is_gpu();
        let phases = by_lane(&core, watch, is_cpu, Phases::new);
        let is_ops = |l: LaneId| core.lane_gpu[l.index()].is_some();
        let (call_starts, queues) = rayon::join(
            || by_lane(&core, watch, is_ops, CallStarts::new),
            || by_lane(&core, watch, is_ops, Queue::new),
        );
        watch.reached(800)?;
        let base = SyncBase {
            core: &core,
            gpus: &gpus,
            phases: &phases,
            calls: &call_starts,
            tolerance: options.sync_tol,
        };
        let rank_sets: Vec<RankSets> = ranks
            .par_iter()
            .map(|r| rank_sets::build(&base, r, several))
            .collect();
        let stalls: Vec<Stalls> = ranks
            .par_iter()
            .map(|r| stalls::stalls(&core, r, r.gpu.map(|g| (&gpus[g], &gpu_sets[g]))))
            .collect();
        watch.reached(850)?;
        let recorded: Vec<_> = ranks.iter().map(|r| recorded::recorded(&core, r)).collect();
        let step_rows = ranks.iter().enumerate().zip(&rank_sets).zip(&recorded);
        let step_rows = step_rows
            .map(|((r, s), k)| step_table::rows(&core, r, s, k, &gpus, watch))
            .collect();
        let of_gpu = first_ranks(&ranks, gpus.len());
        let idle_by_phase = idle_by_phase(&gpus, &ranks, &of_gpu, &rank_sets);
        watch.reached(900)?;
        let (sets, tails) = rayon::join(
            || LayerSets::new(&core, &ranks, &gpus, &gpu_sets, watch),
            || tails::tails(&core, options.lag_flag, watch),
        );
        let by_itself = |(r, s)| insight::loads_by_itself(&core, r, s);
        let loads_by_itself = ranks.iter().zip(&rank_sets).map(by_itself).collect();
        let step = |rank: usize, t: i64| ranks[rank].explicit_step(t);
        let asked = (args, options.together);
        let collectives = collectives::of_runs(&core, &ranks, asked, &step, watch)?;
        for index in &mut core.lanes {
            index.keep(|layer| layer == LayerId::FETCH);
        }
        watch.reached(1000)?;
        let causes = ranks.iter().map(|_| RankCauses::default()).collect();
        let causes_known = ranks.iter().all(|r| r.waits.all.is_empty());
        let base = Store {
            core,
            rules: rules.clone(),
            options: options.clone(),
            gpus,
            gpu_sets,
            idle_by_phase,
            phases,
            call_starts,
            queues,
            ranks,
            notices,
            of_gpu,
            primaries,
            cycles,
            rank_sets,
            stalls,
            recorded,
            loads_by_itself,
            step_rows,
            sets,
            waits,
            waits_of,
            tails,
            collectives,
            names: OnceLock::new(),
        };
        Ok(Self {
            base: Arc::new(base),
            causes,
            causes_known,
        })
    }
}

/// Idle time of each GPU by phase of the rank that works on it, or of the only one.
fn idle_by_phase(
    gpus: &[Gpu],
    ranks: &[Rank],
    of_gpu: &[Option<usize>],
    sets: &[RankSets],
) -> Vec<Option<IdleByPhase>> {
    let of = |(g, gpu): (usize, &Gpu)| {
        let rank = of_gpu[g].or((ranks.len() < 2).then_some(0))?;
        ranks.get(rank)?.loop_lane?;
        Some(IdleByPhase::new(gpu, rank, &sets[rank]))
    };
    gpus.iter().enumerate().map(of).collect()
}

/// The GPUs, with what is not known of their work.
fn build_gpus(
    core: &Core,
    numbers: &[u32],
    primaries: &[Primary],
    keys: Vec<String>,
    options: &Options,
    watch: &Watch<'_>,
) -> (Vec<Gpu>, Vec<GpuSets>) {
    // The threads of the processes that work on each GPU, and the time that files have of it or of them.
    let mut owners = vec![Vec::new(); core.devices.len()];
    // What a single file has is all that there is; beside others a window may reach beyond it.
    let whole = TimeRange {
        start: i64::MIN,
        end: i64::MAX,
    };
    let records = core.trace.sources().iter();
    let alone = records.filter(|s| !s.tracer.joins_runs).count() == 1;
    let of_device = |&d| match alone {
        true => whole,
        false => core.source_extents[core.trace.device(d).source.index()],
    };
    let mut extents: Vec<TimeRange> = core.devices.iter().map(of_device).collect();
    for (&number, primary) in numbers.iter().zip(primaries) {
        if let Some((gpu, _)) = *primary {
            let threads = core.threads_of(number);
            for &lane in &threads {
                let own = core.source_extents[core.trace.lane(lane).source.index()];
                let all = &mut extents[gpu];
                *all = TimeRange::new(all.start.min(own.start), all.end.max(own.end));
            }
            owners[gpu].push(threads);
        }
    }
    keys.into_par_iter()
        .enumerate()
        .map(|(g, key)| {
            let owners: Vec<&[LaneId]> = owners[g].iter().map(Vec::as_slice).collect();
            let lost = lost_work::find(core, g, &owners);
            gpus::build(core, (g, key), extents[g], lost, options.kernel_gap, watch)
        })
        .unzip()
}

/// The ranks with their steps. Rules and args find the numbers of steps.
fn build_ranks(
    core: &Core,
    (rules, args): (&Rules, &dyn ArgSource),
    (numbers, primaries): (&[u32], &[Primary]),
    gpus: &[Gpu],
    options: &Options,
    watch: &Watch<'_>,
) -> Result<Vec<Rank>, Cancelled> {
    let births = loops::births(core);
    let mut ranks = Vec::with_capacity(numbers.len());
    for (&number, primary) in numbers.iter().zip(primaries) {
        let gpu = primary.map(|(gpu, _)| gpu);
        watch.check()?;
        let own = core.identity.training(number).and_then(|p| births.get(&p));
        let own = own.map_or(&[][..], Vec::as_slice);
        let mut rank = loops::build_rank(core, number, gpu, gpus, own, &options.loop_lanes);
        if rank.loop_lane.is_some() {
            let of = steps::Loop {
                lanes: &rank.loop_lanes,
                waits: &rank.waits,
                on_gpu: rank.gpu.is_some(),
                wanted: options.steps,
            };
            let found = steps::find(core, rules, args, of, watch)?;
            rank.steps = found.steps;
            rank.steps_how = found.how;
            rank.dropped_fetches = found.dropped;
            rank.marks = found.marks;
            rank.leftover_step = found.leftover;
            rank.wait_bound = loops::wait_bound(core, &rank, gpus);
            rank.wait_ranges = loops::wait_ranges(core, &rank, gpus);
        }
        ranks.push(rank);
    }
    Ok(ranks)
}

/// What is judged of each rank; tells the steps in which the loader started.
fn cycles_of(core: &Core, ranks: &mut [Rank]) -> Vec<Cycles> {
    let records = cycles::records(core, ranks);
    let all: Vec<Cycles> = ranks
        .par_iter()
        .zip(records)
        .map(|(rank, record)| cycles::cycles(core, rank, record))
        .collect();
    for (rank, cycles) in ranks.iter_mut().zip(&all) {
        for (step, cycle) in rank.steps.iter_mut().zip(&cycles.all) {
            step.first = cycle.first;
        }
    }
    all
}

/// Places of the waits of each rank.
fn by_rank(waits: &[Wait], ranks: usize) -> Vec<Vec<usize>> {
    let mut of = vec![Vec::new(); ranks];
    for (i, wait) in waits.iter().enumerate() {
        of[wait.rank].push(i);
    }
    of
}

/// By GPU: the first rank that works on it.
fn first_ranks(ranks: &[Rank], gpus: usize) -> Vec<Option<usize>> {
    let mut of = vec![None; gpus];
    for (r, rank) in ranks.iter().enumerate().rev() {
        if let Some(gpu) = rank.gpu {
            of[gpu] = Some(r);
        }
    }
    of
}

fn by_lane<T: Default + Send>(
    core: &Core,
    watch: &Watch<'_>,
    want: impl Fn(LaneId) -> bool + Sync,
    make: impl Fn(&Core, LaneId) -> T + Sync,
) -> Vec<T> {
    let lanes: Vec<LaneId> = core.trace.lane_ids().collect();
    let one = |&lane: &LaneId| {
        if want(lane) && !watch.stopped() {
            make(core, lane)
        } else {
            T::default()
        }
    };
    lanes.par_iter().map(one).collect()
}
