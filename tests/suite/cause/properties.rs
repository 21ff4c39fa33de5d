//! What holds of every wait, and what must not change however the files of a run are changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use stallscope::analysis::{Analysis, Cause, Found, GoOn, Level, Options, Rules};
use stallscope::export::report::{ReportOptions, report};
use stallscope::import::{OpenOptions, Progress, SharedArgs, open};
use stallscope::model::SpanId;

use super::made::{self, Run, changed, file_of};
use super::{analysis, cases, loops};
use crate::common::{Differences, scratch, shared};

/// The only loop of a folder.
fn only(folder: &Path) -> Value {
    let analysis = analysis(&[folder.to_owned()]).expect("opens");
    let mut all = loops(&analysis).into_values();
    all.next().expect("a loop")
}

fn causes(loop_: &Value) -> Vec<&Value> {
    let waits = loop_["waits"].as_array().expect("waits");
    waits.iter().map(|w| &w["cause"]).collect()
}

/// Own and earlier time of each part.
fn parts(cause: &Value) -> BTreeMap<&str, i64> {
    let all = cause["parts"].as_object().expect("parts").iter();
    let sum = |v: &Value| {
        v.as_object()
            .expect("a part")
            .values()
            .filter_map(Value::as_i64)
            .sum()
    };
    all.map(|(part, v)| (part.as_str(), sum(v))).collect()
}

fn is_unknown(cause: &Value) -> bool {
    cause["kind"] == "unknown" && cause["pid"].is_null() && cause["reason"].is_string()
}

/// Runs of all kinds.
fn runs() -> Vec<(&'static str, Run)> {
    let of = |change: &dyn Fn(&mut Run)| {
        let mut run = Run::default();
        change(&mut run);
        run
    };
    vec![
        ("plain", Run::default()),
        ("slow_item", of(&|r| r.slow = vec![(5, 1)])),
        ("one_worker", of(&|r| r.workers = 1)),
        (
            "slow_worker",
            of(&|r| {
                (r.workers, r.batches, r.body, r.slow_worker) = (4, 24, 3_000, Some(2));
            }),
        ),
        ("prefetch_1", of(&|r| (r.prefetch, r.body) = (1, 30_000))),
        ("epochs", of(&|r| (r.epochs, r.batches) = (3, 6))),
        (
            "persistent",
            of(&|r| (r.epochs, r.batches, r.persistent) = (3, 8, true)),
        ),
    ]
}

#[test]
fn made_runs_are_told_as_they_were() {
    let mut diffs = Differences::default();
    for (name, run) in runs() {
        let (folder, truth) = made::run(&format!("cause_told_{name}"), &run);
        let found = only(&folder);
        let waits = found["waits"].as_array().expect("waits");
        assert_eq!(waits.len(), truth.len(), "{name}");
        for (wait, truth) in waits.iter().zip(&truth) {
            let cause = &wait["cause"];
            let at = format!("{name}: epoch {} batch {}", truth.iterator, truth.batch);
            diffs.compare(&at, Some(truth.start), wait["start"].as_i64());
            diffs.compare(&at, Some(truth.end), wait["end"].as_i64());
            diffs.compare(&at, Some(truth.pid), cause["pid"].as_i64());
            diffs.compare(&at, Some(truth.batch as u64), cause["batch"].as_u64());
            diffs.compare(&at, Some(truth.iterator as u64), cause["iterator"].as_u64());
            diffs.compare(&at, truth.parts.clone(), parts(cause));
        }
    }
    diffs.assert_none();
}

#[test]
fn what_is_planted_is_named() {
    let cause = |name: &str, run: &Run| {
        let (folder, _) = made::run(&format!("cause_named_{name}"), run);
        only(&folder)
    };
    let mut run = Run {
        slow: vec![(5, 1)],
        body: 2_000,
        ..Run::default()
    };
    let slow = cause("item", &run);
    let blamed: Vec<&Value> = causes(&slow)
        .into_iter()
        .filter(|c| c["kind"] == "slow_file")
        .collect();
    assert_eq!(blamed.len(), 1, "{blamed:?}");
    assert_eq!(blamed[0]["batch"], 5);
    assert_eq!(blamed[0]["item"]["files"][0]["file"], "file 5 1");
    run = Run {
        workers: 4,
        batches: 24,
        body: 3_000,
        slow_worker: Some(2),
        ..Run::default()
    };
    let slow = cause("worker", &run);
    assert_eq!(slow["cause"]["cause"], "slow_worker");
    assert_eq!(slow["cause"]["slow_worker"], 2);
    let advice = slow["cause"]["advice"].as_str().expect("advice");
    assert!(advice.starts_with("Worker 2 takes"), "{advice}");
}

#[test]
fn out_of_order_loaders_and_foreign_clocks_are_refused() {
    let run = Run {
        workers: 3,
        body: 2_000,
        out_of_order: true,
        slow: vec![(4, 0), (4, 1), (4, 2)],
        ..Run::default()
    };
    let (folder, _) = made::run("cause_out_of_order", &run);
    let found = only(&folder);
    assert!(causes(&found).into_iter().all(is_unknown), "{found}");
    assert_eq!(found["cause"]["cause"], "unknown");
}

/// Moves the times of one file by µs.
fn shifted(from: &Path, name: &str, pid: i64, by: i64) -> PathBuf {
    let to = scratch(name);
    changed(from, &to, |file, line| {
        let start = line.find("\"ts\":").map(|i| i + 5);
        let Some(start) = start.filter(|_| file == file_of(pid)) else {
            return Some(line.to_owned());
        };
        let end = start + line[start..].find(',').expect("more");
        let ts: i64 = line[start..end].parse().expect("a number");
        Some(format!("{}{}{}", &line[..start], ts + by, &line[end..]))
    });
    to
}

#[test]
fn a_shifted_worker_is_refused_and_never_taken_for_another_one() {
    for (name, run) in runs() {
        let (folder, truth) = made::run(&format!("cause_shift_{name}"), &run);
        for by in [-200_000, -50_000, -3_000, 2, 3_000, 50_000, 200_000] {
            let to = shifted(&folder, &format!("cause_shifted_{name}_{by}"), 501, by);
            let found = only(&to);
            for (cause, truth) in causes(&found).into_iter().zip(&truth) {
                let right = cause["pid"] == truth.pid && cause["batch"] == truth.batch;
                assert!(right || is_unknown(cause), "{name} {by}: {cause} {truth:?}");
            }
            let first = causes(&found)[0];
            if by.abs() >= 50_000 {
                assert!(is_unknown(first), "{name} {by}: {first}");
            }
        }
    }
}

#[test]
fn a_lost_file_changes_the_waits_of_its_worker_only() {
    for (name, run) in runs() {
        let (folder, truth) = made::run(&format!("cause_lose_{name}"), &run);
        if run.workers == 1 {
            continue;
        }
        let whole = only(&folder);
        let to = scratch(&format!("cause_lost_{name}"));
        changed(&folder, &to, |file, line| {
            (file != file_of(502)).then(|| line.to_owned())
        });
        let less = only(&to);
        let pairs = causes(&whole).into_iter().zip(causes(&less)).zip(&truth);
        for ((before, after), truth) in pairs {
            if truth.pid == 502 {
                assert_eq!(after["kind"], "unknown", "{name}: {after}");
                assert_eq!(after["pid"], 502, "{name}: it is known whose turn it was");
                assert_eq!(after["reason"], "nothing of this worker was recorded");
            } else {
                assert_eq!(before["pid"], after["pid"], "{name}: {truth:?}");
                assert_eq!(before["parts"], after["parts"], "{name}: {truth:?}");
                assert_eq!(before["made"], after["made"], "{name}: {truth:?}");
            }
        }
    }
}

/// Adds to every process number.
fn renamed(line: &str) -> String {
    let mut out = line.to_owned();
    for key in ["\"pid\":", "\"tid\":", "\"ppid\":", "\"ret\":5"] {
        let keep = usize::from(key.ends_with('5'));
        let parts: Vec<&str> = out.split(key).collect();
        let mut text = parts[0].to_owned();
        for part in &parts[1..] {
            let part = format!("{}{part}", &key[key.len() - keep..]);
            let end = part.find([',', '}']).expect("more");
            let number: i64 = part[..end].parse().expect("a number");
            let number = if (500..600).contains(&number) {
                number + 7_000
            } else {
                number
            };
            text += &format!("{}{number}{}", &key[..key.len() - keep], &part[end..]);
        }
        out = text;
    }
    out
}

#[test]
fn names_of_processes_and_the_order_of_lines_do_not_matter() {
    for (name, run) in runs() {
        let (folder, _) = made::run(&format!("cause_same_{name}"), &run);
        let before = only(&folder);
        let to = scratch(&format!("cause_renamed_{name}"));
        changed(&folder, &to, |_, line| Some(renamed(line)));
        let mut after = only(&to);
        // Lines from the last to the first.
        let turned = scratch(&format!("cause_turned_{name}"));
        for file in super::files(&folder) {
            let text = std::fs::read_to_string(&file).expect("readable");
            let lines: Vec<&str> = text.lines().rev().collect();
            let to = turned.join(file.file_name().expect("a name"));
            std::fs::write(to, lines.join("\n")).expect("written");
        }
        let reversed = only(&turned);
        assert_eq!(before["waits"], reversed["waits"], "{name}");
        assert_eq!(before["cause"], reversed["cause"], "{name}");
        let waits = after["waits"].as_array_mut().expect("waits").iter_mut();
        for (wait, before) in waits.zip(before["waits"].as_array().expect("waits")) {
            let pid = wait["cause"]["pid"].as_i64().expect("told");
            wait["cause"]["pid"] = (pid - 7_000).into();
            assert_eq!(wait, before, "{name}");
        }
    }
}

/// The parts of every wait of every file add up to it, and so does what the GPU did meanwhile.
#[test]
fn parts_add_up_to_waits() {
    let Some(cases) = cases() else {
        return;
    };
    let mut waits = 0;
    for (name, inputs, _) in &cases {
        let Some(analysis) = analysis(inputs) else {
            continue;
        };
        for rank in 0..analysis.ranks().len() {
            let causes = &analysis.causes(rank).waits;
            for (cause, wait) in causes.iter().zip(analysis.rank_waits(rank)) {
                let sum = |f: &dyn Fn(&stallscope::analysis::Share) -> i64| {
                    cause.parts.all.iter().map(|(_, s)| f(s)).sum::<i64>()
                };
                assert_eq!(sum(&|s| s.total()), wait.range.len(), "{name} {wait:?}");
                let gpu = cause.parts.gpu_known;
                assert_eq!(
                    gpu.then(|| sum(&|s| s.exposed)),
                    wait.exposed,
                    "{name} {wait:?}"
                );
                assert_eq!(
                    gpu.then(|| sum(&|s| s.hidden)),
                    wait.hidden,
                    "{name} {wait:?}"
                );
                waits += 1;
            }
            numbered(&analysis.causes(rank).iterators, causes);
        }
        let torch = |p: &PathBuf| p.to_string_lossy().ends_with(".json.gz");
        if inputs.iter().all(torch) {
            for rank in 0..analysis.ranks().len() {
                alone(&analysis.causes(rank).waits);
            }
        }
    }
    assert!(waits > 1_900, "only {waits} waits");
}

/// Batches of an iterator are 0, 1, 2 …
fn numbered(iterators: &[stallscope::analysis::IteratorCauses], causes: &[Cause]) {
    for (i, iterator) in iterators.iter().enumerate() {
        for (k, &wait) in iterator.waits.iter().enumerate() {
            assert_eq!(
                (causes[wait].iterator, causes[wait].batch),
                (Some(i), Some(k))
            );
        }
    }
}

/// The loop's own record names no worker, item or file.
fn alone(causes: &[Cause]) {
    for cause in causes {
        assert!(
            !matches!(cause.level, Some(Level::L1 | Level::L2)),
            "{cause:?}"
        );
        assert!(cause.worker.is_none() && cause.item.is_none(), "{cause:?}");
    }
}

/// The made cases of the reference: told waits as their truth has them, the others refused.
#[test]
fn cases_of_the_reference_are_told_or_refused() {
    let Some(folder) = shared("analysis/cause_cases") else {
        return;
    };
    let (mut told, mut refused) = (0, 0);
    for case in super::files(&folder)
        .into_iter()
        .filter(|f| f.join("TRUTH.json").is_file())
    {
        let text = std::fs::read(case.join("TRUTH.json")).expect("readable");
        let truth: Value = serde_json::from_slice(&text).expect("JSON");
        let found = only(&case);
        for wait in truth["waits"].as_array().expect("waits") {
            let all = found["waits"].as_array().expect("waits");
            let own = all
                .iter()
                .find(|w| w["start"] == wait[0])
                .expect("the wait");
            let cause = &own["cause"];
            assert_eq!(own["end"], wait[1], "{}", case.display());
            if cause["reason"].is_string() {
                refused += 1;
                assert!(cause["pid"].is_null() || cause["pid"] == wait[4], "{cause}");
                continue;
            }
            told += 1;
            assert_ne!(truth["must"], "unknown", "{}: {cause}", case.display());
            assert_eq!(cause["pid"], wait[4], "{}: {cause}", case.display());
            let want: BTreeMap<&str, i64> = wait[5]
                .as_object()
                .expect("parts")
                .iter()
                .map(|(k, v)| (k.as_str(), v.as_i64().expect("ns")))
                .collect();
            assert_eq!(parts(cause), want, "{}: {cause}", case.display());
        }
    }
    assert!(told > 150 && refused > 25, "{told} told, {refused} refused");
}

/// Numbers of batches tell which worker made one; which of them a wait is for, only the waits before it do.
#[test]
fn a_late_record_with_numbered_batches_is_never_told_wrongly() {
    let mut told = 0;
    for late_by in [0, 1, 3] {
        let run = Run {
            ids: true,
            late_by,
            // The GPU is slow: batches lie ready.
            body: 40_000,
            batches: 16,
            ..Run::default()
        };
        let (folder, truth) = made::run(&format!("cause_numbered_{late_by}"), &run);
        let found = only(&folder);
        let waits = found["waits"].as_array().expect("waits");
        assert_eq!(waits.len(), truth.len() - late_by);
        for (wait, truth) in waits.iter().zip(&truth[late_by..]) {
            let cause = &wait["cause"];
            if is_unknown(cause) {
                continue;
            }
            told += usize::from(late_by == 0);
            assert_eq!(cause["pid"].as_i64(), Some(truth.pid), "{late_by}: {cause}");
            assert_eq!(
                cause["batch"].as_u64(),
                Some(truth.batch as u64),
                "{late_by}: {cause}"
            );
        }
    }
    assert_eq!(told, 16);
}

/// A loader asks for its first batch when all its workers are there: who loads before is of an iterator that nobody saw, where
/// it ended before the first wait; else it may be of one that is used later.
#[test]
fn workers_of_an_epoch_before_the_record_serve_no_later_one() {
    for (prefetch, ends) in [(1, true), (2, true), (3, true), (1, false), (3, false)] {
        let run = Run {
            epochs: 2,
            unseen: 1,
            batches: 10,
            prefetch,
            ends,
            ..Run::default()
        };
        let (folder, truth) = made::run(&format!("cause_unseen_{prefetch}_{ends}"), &run);
        let found = only(&folder);
        let causes = causes(&found);
        let truth: Vec<&made::Truth> = truth.iter().filter(|t| t.iterator == 1).collect();
        assert_eq!(causes.len(), truth.len());
        for (cause, truth) in causes.into_iter().zip(truth) {
            if !ends {
                assert!(is_unknown(cause), "{cause}");
                continue;
            }
            assert_eq!(cause["pid"].as_i64(), Some(truth.pid), "{cause}");
            assert_eq!(parts(cause), truth.parts, "{cause}");
        }
    }
}

/// The window shows the timeline before the causes: what it gets then is what everybody gets at once.
#[test]
fn causes_that_come_later_are_the_same() {
    let (folder, truth) = made::run("cause_later", &Run::default());
    let loaded = open(&[folder], &OpenOptions::default(), &Progress::new()).expect("opens");
    let trace = Arc::new(loaded.trace);
    let reader = SharedArgs::new(Arc::clone(&trace));
    let args = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        reader.each(spans, go_on, found);
    };
    let (rules, options) = (Rules::builtin(), Options::default());
    let build = |early: bool| {
        let trace = Arc::clone(&trace);
        match early {
            true => Analysis::without_causes(trace, &rules, &options, &args, &|_| true),
            false => Analysis::with_args(trace, &rules, &options, &args, &|_| true),
        }
    };
    let early = build(true).expect("not cancelled");
    assert!(!early.causes_known());
    assert_eq!(early.waits().len(), truth.len());
    assert_eq!(early.cause(0), None);
    assert!(early.with_causes(&args, &|_| false).is_err());
    let later = early.with_causes(&args, &|_| true).expect("not cancelled");
    let whole = build(false).expect("not cancelled");
    let options = ReportOptions::default();
    assert!(later.causes_known() && whole.causes_known());
    assert_eq!(report(&later, &options), report(&whole, &options));
}
