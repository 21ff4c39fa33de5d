//! What holds a loop up beside its waits is named, and what nobody recorded is never called idle.

use stallscope::analysis::{IdleClass, IssueKind, JobVerdict, Missing};

use super::{AGREE, MS, Written, analysed, each, small, write};
use crate::simulation::model::{Every, Job, Twists};

fn twisted(seed: u64, change: impl FnOnce(&mut Job)) -> Written {
    let mut job = small(seed);
    let c = &mut job.config;
    (c.blocks, c.gpu, c.item) = (1, 20 * MS, MS);
    change(&mut job);
    write(job, &AGREE)
}

fn verdict(run: &Written) -> JobVerdict {
    let analysis = run.analysed();
    let mut jobs = analysis.jobs(analysis.trace().extent());
    jobs.remove(0)
}

fn with(change: impl FnOnce(&mut Twists)) -> impl FnOnce(&mut Job) {
    |job| change(&mut job.config.twists)
}

#[test]
fn a_checkpoint_every_few_steps_is_one() {
    each(1..4, |seed, wrong| {
        let every = Every { n: 6, ns: 150 * MS };
        let run = twisted(seed, with(|t| t.checkpoint = Some(every)));
        let job = verdict(&run);
        wrong.equal("verdict", IssueKind::CheckpointStall, job.kind);
        // Three of four lie between the first judged step and the last one; a tenth of each is chance.
        let found = job.ranks[0].ledger.get(IdleClass::Checkpoint);
        let fits = (3 * 9 * every.ns / 10..=4 * 12 * every.ns / 10).contains(&found);
        wrong.unless(fits, || format!("{found} of checkpoints"));
    });
}

#[test]
fn a_garbage_collection_is_one() {
    each(1..4, |seed, wrong| {
        let every = Every { n: 3, ns: 40 * MS };
        let run = twisted(seed, with(|t| t.collect = Some(every)));
        let job = verdict(&run);
        wrong.equal("verdict", IssueKind::GcStall, job.kind);
        let found = job.ranks[0].ledger.get(IdleClass::Gc);
        // The copy of the batch runs at its beginning.
        let fits = (8 * (every.ns - 3 * MS)..=8 * every.ns).contains(&found);
        wrong.unless(fits, || format!("{found} of collections"));
    });
}

#[test]
fn a_loader_that_starts_again_is_one() {
    each(1..4, |seed, wrong| {
        let run = twisted(seed, |job| {
            let c = &mut job.config;
            (c.steps, c.epoch_steps, c.startup) = (36, 9, 120 * MS);
            c.twists.make = 90 * MS;
        });
        for paths in [run.paths(), run.torch()] {
            let analysis = analysed(&paths);
            let job = analysis.jobs(analysis.trace().extent()).remove(0);
            wrong.equal("verdict", IssueKind::StartupBound, job.kind);
            let runs = analysis.ranks()[0].waits.runs.len();
            wrong.equal("runs of the loader", 4, runs);
        }
    });
}

/// The batches are late because of the workers, with whom nothing else is wrong.
#[test]
fn slow_workers_are_waits() {
    each(1..4, |seed, wrong| {
        let run = twisted(seed, |job| job.config.item = 60 * MS);
        wrong.equal("verdict", IssueKind::InputBound, verdict(&run).kind);
    });
}

#[test]
fn a_thread_that_fetches_is_not_the_loop() {
    each(1..9, |seed, wrong| {
        let run = twisted(seed, |job| {
            job.config.item = if seed % 2 == 0 { MS } else { 50 * MS };
            job.config.twists.prefetch_thread = true;
        });
        for paths in [run.paths(), run.torch()] {
            let analysis = analysed(&paths);
            let rank = &analysis.ranks()[0];
            let lanes = rank.loop_lanes.iter();
            let threads: Vec<_> = lanes
                .filter_map(|&l| analysis.trace().lane(l).thread.clone())
                .collect();
            let main = threads.iter().all(|t| t == "4200");
            wrong.unless(main && !threads.is_empty(), || {
                format!("the loop is {threads:?}")
            });
            wrong.equal("waits of the loop", 0, rank.wait.measure());
            let elsewhere: Vec<usize> = rank.fetch_elsewhere.iter().map(|f| f.n).collect();
            let want = usize::try_from(run.ranks[0].elsewhere).unwrap();
            wrong.unless(
                elsewhere.iter().all(|&n| n == want || n == want + 1) && !elsewhere.is_empty(),
                || format!("fetched elsewhere: {elsewhere:?}, not {want}"),
            );
            let job = analysis.jobs(analysis.trace().extent()).remove(0);
            let input = [
                IssueKind::InputBound,
                IssueKind::InputWait,
                IssueKind::StartupBound,
            ];
            wrong.unless(!input.contains(&job.kind), || {
                format!("verdict {:?}", job.kind)
            });
        }
    });
}

/// Kinds that say that the GPU had nothing to do.
const IDLE: [IssueKind; 12] = [
    IssueKind::InputBound,
    IssueKind::InputWait,
    IssueKind::StartupBound,
    IssueKind::CheckpointStall,
    IssueKind::EvalStall,
    IssueKind::LogStall,
    IssueKind::GcStall,
    IssueKind::HostStall,
    IssueKind::UnnamedWait,
    IssueKind::SyncBound,
    IssueKind::LaunchBound,
    IssueKind::DependencyBound,
];

#[test]
fn graphs_without_their_kernels_are_never_idle_time() {
    each(1..21, |seed, wrong| {
        let run = twisted(seed, |job| {
            let c = &mut job.config;
            c.item = [2, 15, 40][usize::try_from(seed % 3).unwrap()] * MS;
            c.gpu = [10, 60][usize::try_from(seed % 2).unwrap()] * MS;
            // A loop that blocks proves when the work was done; one that does not proves nothing.
            c.sync_every = seed % 4 / 2;
            c.twists.unrecorded_graphs = true;
        });
        for paths in [run.paths(), run.torch()] {
            let analysis = analysed(&paths);
            let truth = &run.ranks[0];
            let rank = &analysis.ranks()[0];
            let gpu = &analysis.gpus()[0];
            let (busy, lost) = (gpu.busy.measure(), gpu.not_recorded.measure());
            let fits = busy <= truth.gpu_busy && truth.gpu_busy <= busy + lost;
            wrong.unless(fits, || {
                format!("busy {} not in {busy} to {}", truth.gpu_busy, busy + lost)
            });
            let job = analysis.jobs(analysis.trace().extent()).remove(0);
            let told = job.ranks[0].missing.contains(&Missing::UnrecordedLaunches);
            // A loop that blocks behind each graph proves when the graph was done.
            let proven = run.job.config.sync_every == 1;
            let idle = IDLE.contains(&job.kind);
            wrong.unless(!idle || proven, || {
                format!("{:?} although work was lost", job.kind)
            });
            wrong.unless(job.kind != IssueKind::Inconclusive || told, || {
                "inconclusive, and not why".to_owned()
            });
            if job.kind == IssueKind::InputBound {
                let claimed = job.ranks[0].issues[0].value;
                let exposed = truth.wait - truth.hidden;
                wrong.unless(claimed <= exposed, || {
                    format!("{claimed} claimed of {exposed}")
                });
            }
            let wait = rank.wait_exposed.measure();
            let exposed = truth.wait - truth.hidden;
            wrong.unless(wait <= exposed + MS, || {
                format!("exposed {wait}, {exposed} in truth")
            });
        }
    });
}
