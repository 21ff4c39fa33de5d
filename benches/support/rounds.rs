//! Best times of things that are compared with each other: measured in turn, several rounds of all, so that a slow moment
//! of the machine strikes none of them alone.

use std::time::Instant;

/// What is measured, and its name.
pub type Candidate<'a> = (&'a str, Box<dyn FnMut() + 'a>);

/// Runs all candidates `rounds` times and prints the best time of each, with its rate: `amount` per second. Returns the
/// best times in their order, s.
pub fn best_of<const N: usize>(
    rounds: u32,
    (amount, unit): (f64, &str),
    mut candidates: [Candidate<'_>; N],
) -> [f64; N] {
    let mut best = [f64::MAX; N];
    for _ in 0..rounds {
        for ((_, run), best) in candidates.iter_mut().zip(&mut best) {
            let began = Instant::now();
            run();
            *best = began.elapsed().as_secs_f64().min(*best);
        }
    }
    println!("wall clock, best of {rounds}");
    for ((what, _), time) in candidates.iter().zip(best) {
        let (ms, rate) = (time * 1e3, amount / time);
        println!("  {what:34} {ms:9.1} ms {rate:7.3} {unit}/s");
    }
    best
}

/// Prints how many times as long `a` takes as `b`.
pub fn ratio(what: &str, a: f64, b: f64) {
    println!("  {what:34} {:9.2}", a / b);
}
