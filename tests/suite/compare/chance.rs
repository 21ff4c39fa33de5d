//! Programs that did not change, simulated: how often a comparison says that they did; and how often it sees a change.
//!
//! Steps of four parts, each an autoregressive series: compute of 60 ms that varies by 12 %, an exposed wait of 20 ms by
//! 50 %, a CPU that is late by 10 ms by 25 %, and 10 ms that never vary.

use stallscope::analysis::StepClass;
use stallscope::analysis::compare::{
    Answer, Comparison, Figure, Reason, Recording, Sample, SampleRow, StepShare, single,
};
use stallscope::time::TimeRange;

use super::compared;

/// Numbers that look random, the same ones each time.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Between 0 and 1.
    fn even(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normal, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let (a, b) = (self.even().max(1e-12), self.even());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// A series of positive times with a mean, a relative spread and a correlation of neighbours.
    pub fn series(&mut self, n: usize, mean: f64, spread: f64, lag1: f64) -> Vec<i64> {
        let mut state = self.normal();
        let fresh = (1.0 - lag1 * lag1).sqrt();
        let mut next = || {
            let now = state;
            state = lag1 * state + fresh * self.normal();
            (mean * (1.0 + spread * now)).max(0.0) as i64
        };
        (0..n).map(|_| next()).collect()
    }
}

/// A recording of `n` judged steps of that program; its compute times `slower`.
pub fn recording(chance: &mut Chance, n: usize, lag1: f64, slower: f64) -> Recording {
    let compute = chance.series(n, 60e6 * slower, 0.12, lag1);
    let wait = chance.series(n, 20e6, 0.50, lag1);
    let host = chance.series(n, 10e6, 0.25, lag1);
    let mut rank = Sample {
        steps_how: Some(StepClass::Explicit),
        can: vec![StepClass::Explicit],
        steps: n,
        gpu: true,
        kernels_by_cycle: true,
        ..Sample::default()
    };
    let mut start = 0;
    for k in 0..n {
        let mut parts = [0; 18];
        (parts[0], parts[2], parts[11], parts[14]) = (compute[k], 10_000_000, wait[k], host[k]);
        let time: i64 = parts.iter().sum();
        let (busy, idle) = (parts[0] + parts[2], parts[11] + parts[14]);
        let told = [wait[k], wait[k], 0, busy, idle, busy, 0];
        rank.rows.push(SampleRow {
            step: k,
            label: k.to_string(),
            number: Some(k as i64),
            start,
            time,
            columns: told.map(Some),
            gpu_parts: Some(parts),
            ..SampleRow::default()
        });
        start += time;
    }
    Recording {
        extent: TimeRange::new(0, start),
        spans: n as u64,
        runs: 1,
        ranks: vec![rank],
        ..Recording::default()
    }
}

/// How often of `pairs`, in percent: step changed, any figure changed, check fails, a change of compute by 35 % is found.
fn rates(pairs: usize, n: usize, lag1: f64) -> [f64; 4] {
    let mut counts = [0_usize; 4];
    for seed in 0..pairs {
        let chance = &mut Chance::new(1 + seed as u64);
        let side = |chance: &mut Chance, slower| [recording(chance, n, lag1, slower)];
        let (a, b, c) = (side(chance, 1.0), side(chance, 1.0), side(chance, 1.35));
        let changed = |f: &Figure| matches!(f.answer, Answer::Changed | Answer::ChangedSmall);
        let found: Comparison = compared(&a, &b);
        let figures = &found.ranks[0].figures;
        counts[0] += usize::from(changed(&figures[0]));
        counts[1] += usize::from(figures.iter().any(changed));
        counts[2] += usize::from(found.within(StepShare::default(), false) == Some(false));
        let slower = compared(&a, &c);
        counts[3] += usize::from(changed(&slower.ranks[0].figures[0]));
    }
    counts.map(|c| 100.0 * c as f64 / pairs as f64)
}

/// 500 pairs for each setting: how often steps that did not change are said to have, and how often those that did.
#[test]
fn what_did_not_change_is_rarely_said_to_have() {
    for n in [20, 30] {
        for lag1 in [0.0, 0.3, 0.6] {
            let rates = rates(500, n, lag1);
            let [step, any, check, found] = rates;
            let most = if n < 30 { 6.0 } else { 5.0 };
            let rare = step <= 5.0 && any <= most && check <= 2.5;
            assert!(rare, "{n} steps, lag-1 {lag1}: {rates:?}");
            // It would be no art to say nothing at all.
            assert!(found >= 30.0, "{n} steps, lag-1 {lag1}: {rates:?}");
        }
    }
}

#[test]
fn cut_steps_never_make_a_change_of_what_could_not_be_told() {
    let chance = &mut Chance::new(7);
    let full = recording(chance, 30, 0.0, 1.0);
    let slow = recording(chance, 30, 0.0, 1.8);
    let cut = |of: &Recording, n: usize| {
        let mut of = of.clone();
        of.ranks[0].rows.truncate(n);
        of
    };
    let answer = |n: usize| {
        let found = compared(&[cut(&full, n)], &[cut(&slow, n)]);
        let step = &found.ranks[0].figures[0];
        (step.answer, step.reason)
    };
    assert_eq!(answer(30), (Answer::Changed, None));
    assert_eq!(answer(19), (Answer::Hint, None));
    for n in 1..6 {
        assert_eq!(
            answer(n),
            (Answer::CannotTell, Some(Reason::FewSteps)),
            "{n}"
        );
    }
    assert_eq!(answer(0), (Answer::CannotTell, Some(Reason::NotRecorded)));
}

#[test]
fn swapped_sides_give_the_opposite_answer() {
    let mut directions = [0; 2];
    for seed in 0..200 {
        let chance = &mut Chance::new(1_000 + seed);
        let more = 1.0 + 0.1 * (seed % 5) as f64;
        let a = vec![chance.series(24, 100e6, 0.05, 0.2)];
        let b = vec![chance.series(27, 100e6 * more, 0.05, 0.2)];
        let there = single("step", a.clone(), b.clone(), 3_000_000);
        let back = single("step", b, a, 3_000_000);
        assert_eq!(there.answer, back.answer, "{seed}");
        assert!((there.shift.unwrap() + back.shift.unwrap()).abs() <= 1);
        if let (Some(x), Some(y)) = (there.direction, back.direction) {
            assert_ne!(x, y);
            directions[usize::from(x == stallscope::analysis::compare::Direction::More)] += 1;
        }
        // What check says agrees with the interval.
        match there.within(3_000_000) {
            Some(false) => assert!(there.lo.unwrap() > 0),
            Some(true) => assert!(there.hi.unwrap() <= 3_000_000),
            None => {}
        }
    }
    assert!(directions[1] > 50, "{directions:?}");
}

#[test]
fn a_constant_change_is_exact() {
    let before: Vec<i64> = (0..20).map(|k| 100_000_000 + 1_000 * (k % 7)).collect();
    let after: Vec<i64> = before.iter().map(|t| t + 10_000_000).collect();
    let f = single("step", vec![before.clone()], vec![after], 3_000_000);
    assert_eq!((f.shift, f.answer), (Some(10_000_000), Answer::Changed));
    assert_eq!(f.within(3_000_000), Some(false));
    // The interval is a little wider than the change.
    assert_eq!(
        (f.within(10_000_001), f.within(10_100_000)),
        (None, Some(true))
    );
    let few = single(
        "step",
        vec![before[..19].to_vec()],
        vec![before[..19].to_vec()],
        3,
    );
    assert_eq!(few.within(i64::MAX), None);
}
