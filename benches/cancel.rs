//! How long a cancel takes to be obeyed, by phase: opens and analyses each given path, cancels at moments spread over
//! the whole, and prints the longest time from the cancel to the return.
//!
//! ```text
//! cargo bench --no-default-features --profile ci --bench cancel -- trace.json run_folder report.sqlite
//! ```
//!
//! Without paths it measures the sample traces, which are too small to say much. `STALLSCOPE_BENCH_MOMENTS` is the
//! number of moments (40).

#![expect(clippy::print_stdout, reason = "the figures are what the run is for")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use stallscope::analysis::{Analysis, Options, Rules};
use stallscope::import::{OpenOptions, Phase, Progress, open};

const PHASES: [Phase; 5] = [
    Phase::Looking,
    Phase::Reading,
    Phase::Linking,
    Phase::Sorting,
    Phase::Analysing,
];

/// Opens and analyses; false when it was cancelled.
fn run(path: &Path, rules: &Rules, progress: &Progress) -> bool {
    let options = OpenOptions::default();
    let Ok(loaded) = open(&[path.to_owned()], &options, progress) else {
        return false;
    };
    progress.set_phase(Phase::Analysing);
    let trace = Arc::new(loaded.trace);
    let on = |_: u32| !progress.is_cancelled();
    Analysis::new(trace, rules, &Options::default(), &on).is_ok()
}

/// The time of a whole run, and the share of each phase in it.
fn whole(path: &Path, rules: &Rules) -> (Duration, [Duration; 5]) {
    let progress = Progress::new();
    let done = AtomicBool::new(false);
    let mut shares = [Duration::ZERO; 5];
    let began = Instant::now();
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut shares = [Duration::ZERO; 5];
            let mut last = Instant::now();
            while !done.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
                let now = Instant::now();
                shares[progress.phase() as usize] += now - last;
                last = now;
            }
            shares
        });
        assert!(run(path, rules, &progress), "{} opens", path.display());
        done.store(true, Ordering::Relaxed);
        shares = watch.join().expect("no panic");
    });
    (began.elapsed(), shares)
}

/// Cancels after `delay`: the phase in which that was, and how long it took. None when the run was over by then.
fn cancelled(path: &Path, rules: &Rules, delay: Duration) -> Option<(Phase, Duration)> {
    let progress = Progress::new();
    std::thread::scope(|scope| {
        let work = scope.spawn(|| (run(path, rules, &progress), Instant::now()));
        std::thread::sleep(delay);
        let phase = progress.phase();
        let at = Instant::now();
        progress.cancel();
        let (finished, end) = work.join().expect("no panic");
        (!finished).then(|| (phase, end.saturating_duration_since(at)))
    })
}

fn measure(path: &Path, rules: &Rules, moments: u32) {
    let (total, shares) = whole(path, rules);
    println!("{}: {total:.2?} in all", path.display());
    let mut worst = [(0_u32, Duration::ZERO, 0); 5];
    for i in 0..moments {
        if let Some((phase, took)) = cancelled(path, rules, total * i / moments) {
            let slot = &mut worst[phase as usize];
            slot.0 += 1;
            if took > slot.1 {
                (slot.1, slot.2) = (took, 100 * i / moments);
            }
        }
    }
    for (phase, (share, (times, longest, at))) in PHASES.iter().zip(shares.iter().zip(worst)) {
        println!(
            "  {:30} {share:>10.1?}   {times:3} cancels, longest {longest:>10.1?} at {at:3} % of the whole",
            phase.label()
        );
    }
}

fn main() {
    let given = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let mut paths: Vec<PathBuf> = given.map(PathBuf::from).collect();
    if paths.is_empty() {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample_traces");
        paths = [
            "torch_4_workers.json.gz",
            "dftracer_2_workers",
            "nsight_2_workers.sqlite",
        ]
        .map(|name| samples.join(name))
        .to_vec();
    }
    let moments = std::env::var("STALLSCOPE_BENCH_MOMENTS").ok();
    let moments = moments.and_then(|n| n.parse().ok()).unwrap_or(40);
    let rules = Rules::builtin();
    for path in &paths {
        measure(path, &rules, moments);
    }
}
