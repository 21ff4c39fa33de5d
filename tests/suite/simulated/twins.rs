//! One run by two recorders: the waits are those that the loop had, whatever is opened in whatever order, and the clocks are
//! as far apart as they were made.

use stallscope::analysis::{Analysis, WaitKind};
use stallscope::export::report::{ReportOptions, report};
use stallscope::time::TimeRange;

use super::clocks::holds;
use super::{AGREE, MS, SECOND, Written, Wrong, analysed, codes, each, pick, small, write};
use crate::simulation::clock::Clock;
use crate::simulation::model::{Every, Job, Rng, Span};
use crate::simulation::pair::Clocks;

/// A pair whose every property comes from the seed.
fn random(seed: u64) -> Written {
    let (job, clocks) = random_job(seed);
    write(job, &clocks)
}

fn random_job(seed: u64) -> (Job, Clocks) {
    let mut rng = Rng::new(seed.wrapping_mul(0x9e37));
    let mut job = small(seed);
    let c = &mut job.config;
    c.workers = pick(&mut rng, &[1, 2, 3]);
    c.prefetch = pick(&mut rng, &[1, 2]);
    c.epoch_steps = 9 + rng.below(7);
    c.steps = c.epoch_steps * pick(&mut rng, &[1, 2, 3]);
    c.item = pick(&mut rng, &[3 * MS, 6 * MS, 14 * MS]);
    c.twists.slow_item = Some(Every { n: 5, ns: 11 * MS });
    c.twists.noise = 200;
    c.twists.lag1 = 300;
    c.twists.persistent = rng.below(10) < 3;
    c.twists.make = i64::from(c.workers) * pick(&mut rng, &[2, 5, 9]) * MS;
    let recorder = Clock {
        offset: pick(&mut rng, &[0, 40 * MS, -40 * MS, -3 * SECOND, 7 * MS + 123]),
        drift_ppb: pick(&mut rng, &[0, 50_000, -50_000]),
    };
    (job, Clocks { recorder, ..AGREE })
}

/// Kind and place of each wait, in the job's time.
fn waits(analysis: &Analysis) -> Vec<(Span, bool, bool)> {
    let zero = analysis.trace().unix_origin().unwrap() - super::BEGUN;
    let at = |w: &stallscope::analysis::LoopWait| {
        let span = Span::new(w.range.start + zero, w.range.end + zero);
        (span, w.kind != WaitKind::Batch, w.first)
    };
    analysis.ranks()[0].waits.all.iter().map(at).collect()
}

#[test]
fn two_hundred_pairs_have_their_waits_and_clocks() {
    each(1..201, |seed, wrong| {
        let run = random(seed);
        let both = run.analysed();
        wrong.equal("runs", 1, both.identity().runs.len());
        holds(&run, &both, wrong);
        as_they_were(&run, &both, wrong);
        by_torch_alone(&run, &both, wrong);
        if seed % 8 == 0 {
            in_other_order(&run, &both, wrong);
        }
    });
}

/// The waits of both recorders together are those that the loop had.
fn as_they_were(run: &Written, both: &Analysis, wrong: &mut Wrong) {
    let truth = &run.ranks[0].waits;
    let found = waits(both);
    let kinds = |all: &[(Span, bool, bool)]| -> Vec<_> { all.iter().map(|w| (w.1, w.2)).collect() };
    let want: Vec<_> = truth.iter().map(|w| (w.end, w.first)).collect();
    wrong.equal("ends and first waits", want, kinds(&found));
    let clock = run.sources[1].clock;
    let widths = both.identity().clocks().iter().filter_map(|c| c.interval);
    let width: i64 = widths.map(|[low, high]| high - low).max().unwrap_or(0);
    let length = truth.last().map_or(0, |w| w.at.end) / MS;
    // A clock that drifts is placed by one number.
    let tolerance = width + 3_000 + clock.drift_ppb.abs() * length / 1_000;
    for ((found, ..), want) in found.iter().zip(truth) {
        let off = (found.start - want.at.start)
            .abs()
            .max((found.end - want.at.end).abs());
        wrong.unless(off <= tolerance, || {
            format!(
                "wait at {}: off by {off}, {tolerance} allowed",
                want.at.start
            )
        });
    }
    let who = both.identity();
    let workers = who.processes.iter().filter(|p| p.of == Some(0)).count();
    let c = &run.job.config;
    let epochs = if c.twists.persistent {
        1
    } else {
        c.steps.div_ceil(c.epoch_steps)
    };
    wrong.equal(
        "workers",
        usize::try_from(epochs).unwrap() * c.workers as usize,
        workers,
    );
    let rank = &both.ranks()[0];
    wrong.equal("records of the loop", 2, rank.loop_lanes.len());
    let twice = codes(both).contains(&"clock_contradiction");
    wrong.unless(!twice, || "the clocks contradict each other".to_owned());
}

/// torch alone has the same waits, but for what lies around its own part of them; nothing of the GPU changes beside DFTracer.
fn by_torch_alone(run: &Written, both: &Analysis, wrong: &mut Wrong) {
    let alone = analysed(&run.torch());
    let truth = &run.ranks[0].waits;
    let found = waits(&alone);
    let want: Vec<Span> = truth.iter().map(|w| w.inner).collect();
    wrong.equal("torch's waits", want, found.iter().map(|w| w.0).collect());
    // Workers that live on leave no sign of a restart in torch's file.
    if !run.job.config.twists.persistent {
        let want: Vec<_> = truth.iter().map(|w| (w.end, w.first)).collect();
        wrong.equal(
            "torch's ends",
            want,
            found.iter().map(|w| (w.1, w.2)).collect(),
        );
    }
    // In the time of torch's own spans: beside DFTracer the record ends with the last of both.
    let window = alone.trace().extent();
    let from = alone.trace().unix_origin().unwrap() - both.trace().unix_origin().unwrap();
    let gpu = |a: &Analysis, from: i64| {
        let gpu = &a.gpus()[0];
        let of = [&gpu.busy, &gpu.idle, &gpu.not_recorded];
        of.map(|u| u.measure_in(TimeRange::new(window.start + from, window.end + from)))
    };
    wrong.equal("the GPU's time", gpu(&alone, 0), gpu(both, from));
    wrong.equal("busy", run.ranks[0].gpu_busy, both.gpus()[0].busy.measure());
    let steps = |a: &Analysis| -> Vec<_> {
        let rows = a.step_rows(0, a.trace().extent()).0.into_iter();
        rows.map(|s| (s.launched, s.n_ops, s.gpu_lag, s.in_sync))
            .collect()
    };
    wrong.equal("steps", steps(&alone), steps(both));
}

fn in_other_order(run: &Written, both: &Analysis, wrong: &mut Wrong) {
    let mut paths = run.paths();
    paths.reverse();
    let turned = analysed(&paths);
    let told = |a: &Analysis| {
        let mut all = report(a, &ReportOptions::default());
        ["ranks", "gpu", "job"].map(|part| {
            // Numbers of spans follow the order of the files, and so do keys that several files have.
            without(&all[part].take().to_string(), "\"span\":").replace("~2", "")
        })
    };
    for (want, got) in told(both).iter().zip(&told(&turned)) {
        let same = want
            .bytes()
            .zip(got.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        let around = |t: &str| t[same.saturating_sub(90)..t.len().min(same + 40)].to_owned();
        wrong.unless(want == got, || {
            format!("{} in other order: {}", around(want), around(got))
        });
    }
}

/// A text without the numbers after a key.
fn without(text: &str, key: &str) -> String {
    let mut parts = text.split(key);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    out
}

#[test]
fn files_of_two_runs_are_never_one_run() {
    each(1..101, |seed, wrong| {
        let one = random(10_000 + seed);
        let (mut job, _) = random_job(20_000 + seed);
        job.unix_origin += 37 * MS;
        let other = write(job, &AGREE);
        let mut paths = [one.paths()[0].clone(), other.paths()[1].clone()];
        if seed % 2 == 0 {
            paths.reverse();
        }
        let mixed = analysed(&paths);
        wrong.equal("runs", 2, mixed.identity().runs.len());
        wrong.unless(codes(&mixed).contains(&"same_pid_other_loop"), || {
            format!("nothing is said: {:?}", codes(&mixed))
        });
        let crossed = mixed.ranks().iter().any(|r| r.loop_lanes.len() > 1);
        wrong.unless(!crossed, || "a loop of both files".to_owned());
    });
}
