//! A few seconds of what the fuzz targets do: every seed, and changed seeds, through the same functions. The changes are
//! random but the same on every run.
//!
//! With `STALLSCOPE_FUZZ_SEEDS` set to a folder the seeds are also written there, a folder per target: the corpora that the
//! real fuzzer begins with.

use std::path::{Path, PathBuf};

#[cfg(feature = "png")]
#[path = "../../fuzz/support/draw.rs"]
mod draw;
#[path = "../../fuzz/support/entry.rs"]
pub mod entry;
#[path = "../../fuzz/support/mutate.rs"]
mod mutate;
#[path = "../../fuzz/support/seeds.rs"]
mod seeds;
#[path = "../../fuzz/support/words.rs"]
mod words;

use mutate::Random;

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("fuzz")
        .join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    folder
}

fn run(target: &str, folder: &Path, data: &[u8]) {
    match target {
        "chrome" => entry::chrome(folder, data),
        "pfw" => entry::pfw(folder, data),
        "nsight" => entry::nsight(folder, data),
        "spans" => entry::spans(folder, data),
        "container" => entry::container(folder, data),
        "rules" => entry::rules(data),
        #[cfg(feature = "png")]
        "view" => draw::view(folder, data),
        "words" => words::words(folder, data, seeds::SMALL),
        "session" => words::session(folder, data, seeds::SMALL),
        other => panic!("no fuzz target {other}"),
    }
}

/// The number of changed seeds; `STALLSCOPE_FUZZ_RUNS` gives another one.
fn smoke(target: &str, runs: usize) {
    let wanted = std::env::var("STALLSCOPE_FUZZ_RUNS").ok();
    let runs = wanted.and_then(|n| n.parse().ok()).unwrap_or(runs);
    let folder = scratch(target);
    let seeds = seeds::of(target, &folder);
    if let Some(corpora) = std::env::var_os("STALLSCOPE_FUZZ_SEEDS") {
        let corpus = PathBuf::from(corpora).join(target);
        std::fs::create_dir_all(&corpus).expect("a writable folder");
        for (i, seed) in seeds.iter().enumerate() {
            std::fs::write(corpus.join(format!("seed-{i:02}")), seed).expect("a writable folder");
        }
    }
    for seed in &seeds {
        run(target, &folder, seed);
    }
    for i in 0..runs {
        let mut random = Random::new(i as u64 + 1);
        let mut data = seeds[random.below(seeds.len())].clone();
        let other = &seeds[random.below(seeds.len())];
        mutate::mutate(&mut data, other, &mut random, 64 << 10);
        let result = std::panic::catch_unwind(|| run(target, &folder, &data));
        if result.is_err() {
            let path = folder.join(format!("failed-{i}"));
            std::fs::write(&path, &data).expect("the target folder is writable");
            panic!("{target}, change {i}: see {}", path.display());
        }
    }
}

#[test]
fn changed_chrome_traces_do_no_harm() {
    smoke("chrome", 250);
}

#[test]
fn changed_runs_of_lines_do_no_harm() {
    smoke("pfw", 250);
}

#[test]
fn changed_databases_do_no_harm() {
    smoke("nsight", 500);
}

#[test]
fn changed_tables_do_no_harm() {
    smoke("spans", 400);
}

#[test]
fn changed_archives_do_no_harm() {
    smoke("container", 200);
}

#[test]
fn changed_rules_do_no_harm() {
    smoke("rules", 60);
}

#[cfg(feature = "png")]
#[test]
fn changed_views_do_no_harm() {
    smoke("view", 40);
}

#[test]
fn changed_command_lines_do_no_harm() {
    smoke("words", 120);
}

#[test]
fn changed_sessions_do_no_harm() {
    smoke("session", 120);
}
