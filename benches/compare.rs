//! Comparing series of steps: order statistics of all differences, four per figure, without building them.

use divan::counter::ItemsCount;
use stallscope::analysis::compare::single;

fn main() {
    divan::main();
}

/// Step times around 100 ms, without an order.
fn steps(n: usize, seed: u64) -> Vec<i64> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        100_000_000 + i64::try_from(state >> 44).unwrap_or(0)
    };
    (0..n).map(|_| next()).collect()
}

/// A figure with as many steps on each side; a comparison has about 30.
#[divan::bench(args = [1_000, 100_000], sample_count = 10)]
fn figure(bencher: divan::Bencher<'_, '_>, n: usize) {
    let (a, b) = (steps(n, 1), steps(n, 2));
    bencher
        .counter(ItemsCount::new(2 * n))
        .bench(|| single("step", vec![a.clone()], vec![b.clone()], 3_000_000));
}
