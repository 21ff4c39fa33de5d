//! Recorded runs against the log of what really happened: the worker of every wait, what dominated it, what a run's waiting
//! comes from.

use std::collections::BTreeMap;

use serde_json::Value;
use stallscope::analysis::Group;

use super::{analysis, files, loops};
use crate::common::shared;

/// A word of the log as a group of ours.
fn logged(word: &str) -> &str {
    match word {
        "pickle" | "transfer" | "unpickle" | "handover" | "other_batches" | "ipc" => "hand_over",
        "item_other" => "transform",
        "worker_start" => "start",
        "index_wait" => "idle",
        word => word,
    }
}

/// Work that the log does not tell from transforms.
fn ours(group: &str) -> &str {
    match group {
        "other" => "transform",
        group => group,
    }
}

fn group_of(part: &str) -> &'static str {
    let part = stallscope::analysis::Part::ALL
        .into_iter()
        .find(|p| p.key() == part);
    part.map_or(Group::Unknown, |p| p.group()).key()
}

fn most<'a>(of: &BTreeMap<&'a str, i64>) -> &'a str {
    let longest = of.iter().max_by_key(|(_, ns)| **ns);
    longest.map_or("nothing", |(k, _)| k)
}

#[derive(Default, Debug)]
struct Score {
    waits: usize,
    workers: usize,
    long: usize,
    dominant: usize,
    /// Waiting, and of it in the right group, ns.
    waiting: i64,
    right: i64,
    /// What dominated by the log, and here, where they differ.
    confused: Vec<(String, String)>,
}

fn score(truth: &Value, rank: u64, of: &Value, score: &mut Score) {
    let ours_all = of["waits"].as_array().expect("waits");
    let time = |w: &Value, k: &str| w[k].as_i64().expect("ns");
    let waits = truth["waits"].as_array().expect("waits").iter();
    for wait in waits.filter(|w| w["rank"] == rank) {
        let common = |o: &&Value| {
            time(o, "end").min(time(wait, "end")) - time(o, "start").max(time(wait, "start"))
        };
        let own = ours_all.iter().max_by_key(common).expect("a wait");
        let mut real: BTreeMap<&str, i64> = BTreeMap::new();
        for (word, ns) in wait["in_wait_ns"].as_object().expect("parts") {
            *real.entry(logged(word)).or_default() += ns.as_i64().expect("ns");
        }
        let mut got: BTreeMap<&str, i64> = BTreeMap::new();
        for (part, by) in own["cause"]["parts"].as_object().expect("parts") {
            let sum: i64 = by
                .as_object()
                .expect("by")
                .values()
                .filter_map(Value::as_i64)
                .sum();
            *got.entry(ours(group_of(part))).or_default() += sum;
        }
        score.waits += 1;
        score.workers += usize::from(own["cause"]["pid"] == wait["worker_pid"]);
        score.waiting += time(wait, "wait_ns");
        score.right += real
            .iter()
            .map(|(k, ns)| ns.min(got.get(k).unwrap_or(&0)))
            .sum::<i64>();
        if time(wait, "wait_ns") >= 5_000_000 {
            score.long += 1;
            if most(&real) == most(&got) {
                score.dominant += 1;
            } else {
                score
                    .confused
                    .push((most(&real).to_owned(), most(&got).to_owned()));
            }
        }
    }
}

/// What is said of a run as the log says it.
fn label(causes: &BTreeMap<&String, &Value>) -> String {
    let number = |c: &Value, k: &str| c[k].as_i64().unwrap_or(0);
    if causes.len() > 1 {
        let slow = |c: &&Value| number(c, "production_median");
        let (pid, most) = causes.iter().max_by_key(|c| slow(c.1)).expect("some");
        let least = causes.values().min_by_key(|c| slow(c)).expect("some");
        let loads_slowly = slow(most) > 2 * slow(least)
            && 2 * number(most, "judged") > 3 * number(least, "judged");
        if loads_slowly {
            let rank = causes.keys().position(|p| p == pid).expect("it is one");
            return format!(
                "rank {rank} loads slowly: {}",
                most["group"].as_str().unwrap_or("")
            );
        }
    }
    let cause = causes.values().next().expect("one");
    let word = match cause["cause"].as_str().unwrap_or("") {
        "start" => "start of each epoch",
        "bursts" => "bursts of slow batches",
        "hand_over" => "ipc",
        "in_loop" => "no workers",
        "slow_worker" => "slow worker",
        "slow_files" => "slow files",
        word => word,
    };
    let worker = cause["slow_worker"]
        .as_u64()
        .map_or_else(String::new, |w| format!(" {w}"));
    let names = cause["slow_files"]
        .as_array()
        .map_or_else(String::new, |all| {
            let names = all.iter().filter_map(Value::as_str);
            let names: Vec<&str> = names.filter_map(|n| n.rsplit('/').next()).collect();
            format!(": {}", names.join(", "))
        });
    format!("{word}{worker}{names}")
}

#[test]
fn recorded_runs_are_told_as_their_logs_have_them() {
    let Some(folder) = shared("traces/pairs") else {
        return;
    };
    let mut sum = Score::default();
    let mut runs = 0;
    for run in files(&folder)
        .into_iter()
        .filter(|f| f.join("dft").is_dir())
    {
        let Ok(text) = std::fs::read(run.join("TRUTH.json")) else {
            continue;
        };
        let truth: Value = serde_json::from_slice(&text).expect("JSON");
        let analysis = analysis(&[run.join("dft")]).expect("opens");
        let found = loops(&analysis);
        let mut of_run = Score::default();
        let mut causes = BTreeMap::new();
        for (rank, pid) in truth["main_pid"].as_object().expect("ranks") {
            let own = &found[&pid.to_string()];
            score(&truth, rank.parse().expect("a number"), own, &mut of_run);
            causes.insert(rank, &own["cause"]);
        }
        let name = run.display();
        assert_eq!(of_run.workers, of_run.waits, "{name}: {of_run:?}");
        assert!(
            100 * of_run.right >= 92 * of_run.waiting,
            "{name}: {of_run:?}"
        );
        let said = label(&causes);
        let real = truth["cause"].as_str().expect("a cause");
        assert!(real.starts_with(&said), "{name}: {said}, not {real}");
        sum.waits += of_run.waits;
        sum.workers += of_run.workers;
        sum.long += of_run.long;
        sum.dominant += of_run.dominant;
        sum.waiting += of_run.waiting;
        sum.right += of_run.right;
        sum.confused.extend(of_run.confused);
        runs += 1;
    }
    assert!(runs >= 14 && sum.waits >= 346, "{runs} runs, {sum:?}");
    assert!(100 * sum.dominant >= 99 * sum.long, "{sum:?}");
}

#[test]
fn of_a_late_rank_it_is_said_how_slowly_it_loads() {
    let Some(folder) = shared("traces/pairs/ranks2") else {
        return;
    };
    let found = ["dft", "torch_rank0.json.gz", "torch_rank1.json.gz"];
    let paths: Vec<_> = found.iter().map(|f| folder.join(f)).collect();
    let analysis = analysis(&paths).expect("opens");
    let slow = analysis.loads_slowly(1, &[0, 1]).expect("rank 1 is slow");
    // Medians of the productions that the causes of its waits have.
    assert_eq!(
        (slow.fastest, slow.group.map(Group::key)),
        (0, Some("transform"))
    );
    assert!(slow.own > 2 * slow.least, "{slow:?}");
    assert_eq!(analysis.loads_slowly(0, &[0, 1]), None);
    let text = format!("{:?}", analysis.jobs(analysis.trace().extent()));
    let said = "Rank 1 loads slowly, mostly transforms: a batch takes its workers";
    assert!(text.contains(said), "{text}");
}
