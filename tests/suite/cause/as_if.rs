//! What would be if the cause of waiting were gone, against runs in which it is.

use super::made::{self, Run};
use super::{analysis, cases};
use crate::common::shared;
use stallscope::analysis::{Analysis, AsIf, LoopCause, Otherwise};

fn only(analysis: &Analysis) -> AsIf {
    let found = analysis.as_if(0, analysis.trace().extent());
    assert_eq!(found.len(), 1, "{found:?}");
    found[0]
}

/// The whole run as it was.
fn measured(analysis: &Analysis) -> i64 {
    let played = analysis.with_prefetch(0, analysis.trace().extent(), 1);
    played.expect("told").measured_time
}

fn open(name: &str, run: &Run) -> Analysis {
    let (folder, _) = made::run(name, run);
    analysis(&[folder]).expect("opens")
}

fn near(got: i64, want: i64, what: &str) {
    assert!(
        100 * (got - want).abs() <= 3 * want,
        "{what}: {got}, not {want}"
    );
}

#[test]
fn a_slow_worker_like_the_others() {
    let run = Run {
        workers: 4,
        batches: 32,
        body: 3_000,
        slow_worker: Some(2),
        ..Run::default()
    };
    let slow = only(&open("as_if_slow_worker", &run));
    assert_eq!(slow.what, Otherwise::LikeOthers { worker: 2 });
    let even = Run {
        slow_worker: None,
        ..run
    };
    near(
        slow.time,
        measured(&open("as_if_even", &even)),
        "like the others",
    );
}

#[test]
fn a_longer_queue() {
    let run = Run {
        workers: 4,
        batches: 40,
        body: 4_000,
        prefetch: 1,
        slow: vec![(9, 0), (9, 1), (20, 1), (31, 2)],
        ..Run::default()
    };
    let short = open("as_if_short", &run);
    let long = open("as_if_long", &Run { prefetch: 4, ..run });
    let played = short
        .with_prefetch(0, short.trace().extent(), 4)
        .expect("told");
    near(played.time, measured(&long), "prefetch 4");
    assert!(played.time < played.measured_time);
}

/// Two recordings with the same data and another queue: one tells the waits of the other. What the loop does between two
/// waits is that of the first one: on two busy cores it took longer in the second, and with it the whole loop.
#[test]
fn a_recorded_run_with_a_longer_queue() {
    let Some(short) = shared("traces/pairs/w4_prefetch1/dft") else {
        return;
    };
    let Some(long) = shared("traces/pairs/w4_prefetch4/dft") else {
        return;
    };
    let (short, long) = (
        analysis(&[short]).expect("opens"),
        analysis(&[long]).expect("opens"),
    );
    let played = short
        .with_prefetch(0, short.trace().extent(), 4)
        .expect("told");
    let same = short
        .with_prefetch(0, short.trace().extent(), 1)
        .expect("told");
    assert_eq!(
        (same.time, same.wait),
        (same.measured_time, same.measured_wait)
    );
    let real = long
        .with_prefetch(0, long.trace().extent(), 4)
        .expect("told");
    near(played.wait, real.measured_wait, "waits with prefetch 4");
    let off = 100 * (played.time - real.measured_time).abs();
    assert!(off <= 8 * real.measured_time, "{played:?} {real:?}");
}

/// No number of workers is recommended where another cause holds, and nothing without workers is faster than with them
/// where the loader cannot keep up.
#[test]
fn predictions_are_bounded_by_what_was_measured() {
    let Some(cases) = cases() else {
        return;
    };
    let mut seen = 0;
    for (name, inputs, _) in &cases {
        let Some(analysis) = analysis(inputs) else {
            continue;
        };
        for rank in 0..analysis.ranks().len() {
            let extent = analysis.trace().extent();
            let Some(rates) = analysis.rates(rank, extent) else {
                continue;
            };
            let costs = rates.costs;
            let none = costs.step(0, None);
            assert!(
                none + costs.hidden_in_loop >= costs.compute + costs.load - 1.0,
                "{name}"
            );
            let starved = f64::from(rates.workers) * costs.compute < costs.load;
            if rates.collates && starved && rates.workers > 0 && costs.handover < costs.load {
                assert!(none >= costs.step(rates.workers, None), "{name}: {costs:?}");
            }
            let cause = analysis.why_waited(rank, extent).map(|w| w.cause);
            if cause.is_some_and(LoopCause::is_not_cured_by_workers) {
                assert_eq!(rates.recommended_workers, None, "{name}");
                assert!(rates.recommended_reason.is_some(), "{name}");
            }
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}
