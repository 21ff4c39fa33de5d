//! A rank that is made late is named, with what it costs the others in each step and with the phase that it is late in.

use stallscope::analysis::{IssueKind, LateCause, LatePattern};

use super::{AGREE, MS, US, each, small, write};
use crate::simulation::model::{Late, LateIn};

const PHASES: [(LateIn, LateCause); 5] = [
    (LateIn::Input, LateCause::Input),
    (LateIn::Copy, LateCause::H2d),
    (LateIn::Forward, LateCause::Compute),
    (LateIn::Backward, LateCause::Compute),
    (LateIn::Host, LateCause::Host),
];

#[test]
fn the_late_rank_its_cost_and_its_phase_are_named() {
    each(1..16, |seed, wrong| {
        let mut job = small(seed);
        let (within, cause) = PHASES[usize::try_from(seed % 5).unwrap()];
        let late = Late {
            rank: u32::try_from(seed % 3).unwrap(),
            within,
            ns: (12 + i64::try_from(seed % 4).unwrap() * 5) * MS,
        };
        let c = &mut job.config;
        (c.ranks, c.blocks, c.workers, c.steps, c.epoch_steps) = (3, 1, 2, 12, 12);
        c.item = 2 * MS;
        c.twists.late = Some(late);
        let mut run = write(job, &AGREE);
        run.sources.truncate(3);
        let analysis = run.analysed();
        let jobs = analysis.jobs(analysis.trace().extent());
        let job = &jobs[0];
        wrong.equal("jobs", 1, jobs.len());
        let Some(found) = &job.lateness else {
            wrong.unless(false, || format!("nobody is late: {:?}", job.missing));
            return;
        };
        wrong.equal("pattern", LatePattern::Persistent, found.pattern);
        wrong.equal("rank", Some(late.rank as usize), found.culprit);
        let truth = &run.ranks[late.rank as usize];
        let steps = i64::try_from(truth.steps).unwrap();
        let want = truth.late_by / steps;
        let off = (found.per_step() - want).abs();
        // The first step is not judged, and steps differ by a little.
        wrong.unless(off < want / 20 + 400 * US, || {
            format!(
                "{} per step told, {want} meant ({within:?})",
                found.per_step()
            )
        });
        wrong.equal("cause", Some(cause), found.cause);
        let kind = job.kind.key();
        let of_cause = kind.ends_with("STRAGGLER") && kind != IssueKind::Straggler.key();
        wrong.unless(of_cause, || format!("verdict {kind} for {within:?}"));
    });
}

#[test]
fn nobody_is_named_where_nobody_is_late() {
    each(1..7, |seed, wrong| {
        let mut job = small(seed);
        let c = &mut job.config;
        (c.ranks, c.blocks, c.steps, c.epoch_steps) = (3, 1, 12, 12);
        c.item = MS;
        let mut run = write(job, &AGREE);
        run.sources.truncate(3);
        let analysis = run.analysed();
        let jobs = analysis.jobs(analysis.trace().extent());
        let kind = jobs[0].kind.key();
        let named = kind.ends_with("STRAGGLER") || kind.ends_with("IMBALANCE");
        wrong.unless(!named, || kind.to_owned());
    });
}
