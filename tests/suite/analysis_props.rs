//! What must hold on every trace, and a recount of the figures with sets of single nanoseconds.

use std::collections::BTreeMap;
use std::io::Write;

use rayon::prelude::*;
use stallscope::analysis::{Bag, LayerId, Scope, Union};
use stallscope::export::report::{ReportOptions, report};
use stallscope::time::TimeRange;

use crate::common::case;
use crate::support::random_case;
use crate::support::recount;

use case::{invariants, with_zeros};
use random_case::{Random, make};
use recount::{LOW, Recount, Ticks};

/// Random traces, unless `STALLSCOPE_PROPS` says otherwise.
const TRACES: u64 = 10_000;
/// The first seed, unless `STALLSCOPE_SEED` says otherwise.
const SEED: u64 = 20_260;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(default)
}

fn examine(seed: u64) -> Vec<String> {
    let case = make(seed);
    let built = case.analyse();
    let options = ReportOptions {
        window: case.window,
        grid: case.grid,
        ..ReportOptions::default()
    };
    let report = with_zeros(report(&built.analysis, &options));
    let (a, b) = (
        report["window"][0].as_i64().unwrap(),
        report["window"][1].as_i64().unwrap(),
    );
    let window = TimeRange::new(a, b);
    let mut recount = Recount {
        case: &case,
        report: &report,
        window: Ticks::of([window]),
        bad: invariants(&report),
    };
    recount.gpu(0);
    recount.gpu(1);
    recount.streams();
    recount.windows();
    recount.selection(&built.analysis, window);
    let bad = recount.bad.into_iter();
    bad.map(|b| format!("seed {seed}: {b}")).collect()
}

#[test]
fn figures_of_random_traces_hold_and_equal_a_recount() {
    let (n, seed) = (
        setting("STALLSCOPE_PROPS", TRACES),
        setting("STALLSCOPE_SEED", SEED),
    );
    let _ = writeln!(std::io::stderr(), "{n} random traces from seed {seed}");
    let bad: Vec<String> = (seed..seed + n)
        .into_par_iter()
        .flat_map_iter(examine)
        .collect();
    assert!(
        bad.is_empty(),
        "{} differences, the first:\n{}",
        bad.len(),
        bad[..bad.len().min(40)].join("\n")
    );
}

/// A window's figures add up over any cut of it, whatever was cut.
#[test]
fn figures_add_up_over_disjoint_windows() {
    for seed in 1..400 {
        let analysis = make(seed).analyse().analysis;
        let whole = analysis.trace().extent();
        let mut rng = Random(seed);
        let cut = rng.within(whole.start, whole.end.max(whole.start + 1));
        let parts = [
            TimeRange::new(whole.start, cut),
            TimeRange {
                start: cut,
                end: whole.end,
            },
        ];
        let of = |w: TimeRange| {
            let s = analysis.selection(w, Scope::Rank(0));
            let rows = s.rows.iter().map(|r| {
                let count = i64::try_from(r.count).unwrap();
                (
                    r.layer,
                    [r.wall, r.sum, r.exposed.unwrap_or(0), r.whole, count],
                )
            });
            rows.collect::<BTreeMap<LayerId, [i64; 5]>>()
        };
        let mut sum: BTreeMap<LayerId, [i64; 5]> = BTreeMap::new();
        for (layer, row) in parts.into_iter().flat_map(of) {
            let slot = sum.entry(layer).or_default();
            for (s, x) in slot.iter_mut().zip(row) {
                *s += x;
            }
        }
        assert_eq!(sum, of(whole), "seed {seed}, cut at {cut}");
    }
}

fn ranges(rng: &mut Random) -> Vec<TimeRange> {
    let n = rng.within(0, 9);
    (0..n)
        .map(|_| {
            let start = rng.within(0, 60);
            TimeRange::new(start, start + rng.pick(&[0, 1, 2, 5, 9]))
        })
        .collect()
}

#[test]
fn interval_algebra_equals_sets_of_nanoseconds() {
    let seed = setting("STALLSCOPE_SEED", SEED);
    let _ = writeln!(std::io::stderr(), "intervals from seed {seed}");
    let mut rng = Random(seed);
    for round in 0..20_000 {
        let (x, y) = (ranges(&mut rng), ranges(&mut rng));
        let a = rng.within(0, 60);
        let w = TimeRange::new(a, a + rng.within(0, 30));
        let (u, v) = (Union::new(x.clone()), Union::new(y.clone()));
        let (tx, ty, tw) = (Ticks::of(x.clone()), Ticks::of(y.clone()), Ticks::of([w]));
        let ticks = |u: &Union| {
            let apart = u.parts().windows(2).all(|p| p[0].end < p[1].start);
            assert!(
                apart && u.parts().iter().all(|p| !p.is_empty()),
                "round {round}: {u:?}"
            );
            Ticks::of(u.parts().iter().copied())
        };
        let checks = [
            (ticks(&u), tx.clone()),
            (ticks(&u.intersect(&v)), tx.and(&ty)),
            (ticks(&u.subtract(&v)), tx.minus(&ty)),
            (ticks(&u.unite(&v)), tx.or(&ty)),
            (ticks(&u.clip(w)), tx.and(&tw)),
        ];
        for (i, (got, want)) in checks.into_iter().enumerate() {
            assert!(
                got == want,
                "round {round}, operation {i}: {x:?} {y:?} {w:?}"
            );
        }
        assert_eq!(u.measure(), tx.len());
        assert_eq!(
            u.measure_in(w),
            tx.and(&tw).len(),
            "round {round}: {x:?} {w:?}"
        );
        assert_eq!(u.measure_common(&v, w), tx.and(&ty).and(&tw).len());
        assert_eq!(u.contains(a), tx.0[usize::try_from(a - LOW).unwrap()]);
        let bag = Bag::new(x.clone());
        let clipped: i64 = x.iter().map(|r| r.clip(w).len()).sum();
        assert_eq!(bag.clipped_sum(w), clipped, "round {round}: {x:?} {w:?}");
        let depth = |t: i64| x.iter().filter(|r| r.contains(t)).count() as u64;
        assert_eq!(
            bag.max_depth(),
            (0..80).map(depth).max().unwrap(),
            "round {round}: {x:?}"
        );
        // A finer grid never lowers the summed busiest process.
        let procs: Vec<Union> = (0..3).map(|_| Union::new(ranges(&mut rng))).collect();
        let busiest = |grid: i64| -> i64 {
            let at = (0..72 / grid).map(|i| TimeRange::new(i * grid, (i + 1) * grid));
            at.map(|w| procs.iter().map(|p| p.measure_in(w)).max().unwrap())
                .sum()
        };
        let grids = [busiest(72), busiest(36), busiest(12), busiest(4)];
        assert!(grids.is_sorted(), "round {round}: {grids:?}");
        assert!(grids[3] <= procs.iter().map(Union::measure).sum());
    }
    // Very different sizes: the intersection searches instead of merging.
    let many = Union::new((0..500).map(|i| TimeRange::new(i, i + i % 2)).collect());
    let few = Union::new(vec![TimeRange::new(3, 40), TimeRange::new(90, 91)]);
    let both = many.intersect(&few);
    assert_eq!(both, few.intersect(&many));
    let common = few.parts().iter().map(|p| many.measure_in(*p)).sum::<i64>();
    assert_eq!(both.measure(), common);
}
