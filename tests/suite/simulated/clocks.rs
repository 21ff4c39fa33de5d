//! The true distance of two clocks lies inside what is told of them: two recorders of one process, ranks on two hosts.

use stallscope::analysis::{Analysis, Placement};

use super::{AGREE, MS, SECOND, Written, Wrong, analysed, codes, each, pick, small, write};
use crate::simulation::clock::Clock;
use crate::simulation::model::Rng;
use crate::simulation::pair::Clocks;

/// How far a clock is ahead of another one that says `t`, ns since the job began; exact but for the rounding of the clocks.
fn ahead(clock: Clock, of: Clock, t: i64) -> i64 {
    let billion = 1_000_000_000_i128;
    let since = i128::from(t - of.offset) * billion / (billion + i128::from(of.drift_ppb));
    let faster = since * i128::from(clock.drift_ppb - of.drift_ppb) / billion;
    clock.offset - of.offset + i64::try_from(faster).unwrap()
}

/// The true distance is possible at every instant that a relation tells, and so are faster and slower clocks.
pub fn holds(run: &Written, analysis: &Analysis, wrong: &mut Wrong) {
    let who = analysis.identity();
    let clock = |r: usize| {
        let name = who.recordings[r].name();
        let own = run
            .sources
            .iter()
            .find(|s| s.path.file_name().unwrap().to_string_lossy() == name);
        own.unwrap().clock
    };
    wrong.equal("clocks", run.sources.len() - 1, who.clocks().len());
    for c in who.clocks() {
        let (own, reference) = (clock(c.recording), clock(c.reference));
        let names = (
            who.recordings[c.recording].name(),
            who.recordings[c.reference].name(),
        );
        wrong.unless(c.contradiction.is_none(), || {
            format!("{names:?} contradict each other")
        });
        wrong.unless(c.interval.is_some(), || {
            format!("nothing relates {names:?}")
        });
        for &(t, interval) in &c.at {
            let want = ahead(own, reference, t - run.job.unix_origin);
            let inside = interval.is_some_and(|[low, high]| low - 1 <= want && want <= high + 1);
            wrong.unless(inside, || {
                format!("{names:?} at {t}: {want} not in {interval:?}")
            });
        }
        let drift = own.drift_ppb - reference.drift_ppb;
        let fits = c
            .drift
            .is_none_or(|[low, high]| low - 1 <= drift && drift <= high + 1);
        wrong.unless(fits, || {
            format!("{names:?}: drift {drift} not in {:?}", c.drift)
        });
        if let (Some([low, high]), true) = (c.interval, c.how == Placement::Middle) {
            wrong.unless((low..=high).contains(&c.offset), || {
                "moved too far".to_owned()
            });
        }
    }
}

/// Four ranks on two hosts, with collectives.
fn hosts(seed: u64) -> Written {
    let mut rng = Rng::new(seed.wrapping_mul(0x517c));
    let mut job = small(seed);
    let c = &mut job.config;
    c.ranks = pick(&mut rng, &[2, 4]);
    c.blocks = 1;
    c.steps = 9 + rng.below(5);
    c.epoch_steps = c.steps;
    c.workers = 1;
    let host = Clock {
        offset: pick(&mut rng, &[0, 7 * MS, -40 * MS, 3 * SECOND]),
        drift_ppb: pick(&mut rng, &[0, 50_000, -50_000]),
    };
    let recorder = Clock {
        offset: pick(&mut rng, &[0, 0, 11 * MS]),
        drift_ppb: 0,
    };
    let clocks = Clocks {
        hosts: 2,
        recorder,
        host,
    };
    write(job, &clocks)
}

#[test]
fn ranks_on_two_hosts_are_related_by_their_collectives() {
    each(1..25, |seed, wrong| {
        let mut run = hosts(seed);
        // Files of torch alone: only what the ranks do together relates them.
        run.sources.truncate(run.job.config.ranks as usize);
        let analysis = run.analysed();
        wrong.equal("runs", 1, analysis.identity().runs.len());
        holds(&run, &analysis, wrong);
        let found = analysis.ranks().len();
        wrong.equal("ranks", run.job.config.ranks as usize, found);
        let told = codes(&analysis).contains(&"hosts_differ");
        wrong.unless(told, || {
            format!("hosts are not told: {:?}", codes(&analysis))
        });
    });
}

#[test]
fn two_recorders_on_two_hosts_are_one_run() {
    each(101..109, |seed, wrong| {
        let run = hosts(seed);
        let analysis = run.analysed();
        wrong.equal("runs", 1, analysis.identity().runs.len());
        wrong.equal(
            "ranks",
            run.job.config.ranks as usize,
            analysis.ranks().len(),
        );
        for (rank, truth) in analysis.ranks().iter().zip(&run.ranks) {
            wrong.equal("waits", truth.waits.len(), rank.waits.all.len());
            let ends = |w: &stallscope::analysis::LoopWait| !w.is_batch();
            let want = truth.waits.iter().filter(|w| w.end).count();
            wrong.equal(
                "ends",
                want,
                rank.waits.all.iter().filter(|w| ends(w)).count(),
            );
        }
    });
}

/// Two ranks of a run with collectives, on one host.
fn two_ranks(seed: u64, later: i64) -> Written {
    let mut job = small(seed);
    job.unix_origin += later;
    let c = &mut job.config;
    (c.ranks, c.blocks, c.steps, c.epoch_steps) = (2, 1, 12, 12);
    c.twists.noise = 100;
    write(job, &AGREE)
}

#[test]
fn ranks_of_two_runs_are_no_job() {
    each(1..5, |seed, wrong| {
        let one = two_ranks(seed, 0);
        for later in [0, 7 * MS, 3_600 * SECOND] {
            let other = two_ranks(1_000 + seed, later);
            let analysis = analysed(&[one.torch()[0].clone(), other.torch()[1].clone()]);
            let jobs = analysis.jobs(analysis.trace().extent());
            let late = jobs.iter().any(|j| j.lateness.is_some() || j.matched > 0);
            wrong.unless(!late, || {
                format!("late ranks of two runs: {:?}", jobs[0].kind)
            });
            // At one time they may be of one job, and their clocks say that they are not.
            let told = match later > SECOND {
                true => analysis.identity().runs.len() == 2,
                false => {
                    let codes = codes(&analysis);
                    codes.contains(&"clock_contradiction") || codes.contains(&"collectives_apart")
                }
            };
            wrong.unless(told, || format!("{later} later: {:?}", codes(&analysis)));
        }
    });
}
