//! What must hold of verdicts whatever is recorded: sums that add up, and changes of a record that change nothing, or only
//! what they should.
//!
//! The records are simulated, so that a fresh clone has them; each is changed as text and analysed again.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stallscope::analysis::{Analysis, IdleClass, IssueKind, JobVerdict, Verdict};

use crate::simulated::{AGREE, MS, US, Written, Wrong, analysed, each, small, write};
use crate::simulation::model::{Every, Job, Late, LateIn};

/// Loops with a verdict each.
const LOOPS: u64 = 6;

fn simulated(seed: u64) -> Written {
    let mut job = small(seed);
    let c = &mut job.config;
    (c.blocks, c.gpu, c.item) = (1, 20 * MS, MS);
    match seed % LOOPS {
        0 => c.item = 60 * MS,
        1 => c.sync_every = 0,
        2 => c.twists.checkpoint = Some(Every { n: 6, ns: 150 * MS }),
        3 => c.twists.collect = Some(Every { n: 3, ns: 40 * MS }),
        4 => {
            (c.steps, c.epoch_steps, c.startup) = (36, 9, 120 * MS);
            c.twists.make = 90 * MS;
        }
        _ => (c.blocks, c.item) = (0, 2 * MS),
    }
    write(job, &AGREE)
}

/// A job of three ranks of which one is late.
fn ranks(seed: u64) -> Written {
    let mut job: Job = small(seed);
    let c = &mut job.config;
    (c.ranks, c.blocks, c.steps, c.epoch_steps, c.item) = (3, 1, 12, 12, 2 * MS);
    c.twists.late = Some(Late {
        rank: u32::try_from(seed % 3).unwrap(),
        within: [LateIn::Input, LateIn::Forward][usize::try_from(seed % 2).unwrap()],
        ns: 15 * MS,
    });
    write(job, &AGREE)
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// torch's file with its events changed.
fn changed(path: &Path, change: impl FnOnce(&mut Vec<Value>)) -> Value {
    let mut file = read(path);
    change(file["traceEvents"].as_array_mut().unwrap());
    file
}

/// Analyses files of these contents.
fn of(files: &[Value]) -> Analysis {
    let folder = tempfile::tempdir().unwrap();
    let paths = files.iter().enumerate().map(|(i, file)| {
        let path = folder.path().join(format!("{i}.json"));
        std::fs::write(&path, file.to_string()).unwrap();
        path
    });
    analysed(&paths.collect::<Vec<PathBuf>>())
}

fn only(analysis: &Analysis) -> (JobVerdict, Verdict) {
    let mut job = analysis.jobs(analysis.trace().extent()).remove(0);
    let verdict = job.ranks.remove(0);
    (job, verdict)
}

/// Every figure of a verdict, as text.
fn told(verdict: &Verdict) -> String {
    let mut out = String::new();
    for i in &verdict.issues {
        let _ = writeln!(
            out,
            "{:?} {} of {} {:?}",
            i.kind, i.value, i.of_ns, i.severity
        );
    }
    for &class in IdleClass::ALL {
        let _ = writeln!(out, "{}: {}", class.key(), verdict.ledger.get(class));
    }
    let _ = write!(out, "{:?}", verdict.judged.account);
    out
}

/// The figures of a job that late ranks have, by their numbers.
fn late(job: &JobVerdict, analysis: &Analysis) -> String {
    let number = |rank: usize| analysis.ranks()[rank].rank;
    let mut out = format!("{:?} ", job.kind);
    for l in &job.late {
        let figures = (l.last, l.last_shared, l.waited, l.cost, l.cost_judged);
        let _ = write!(out, "{}: {figures:?} ", number(l.rank));
    }
    let lateness = job.lateness.as_ref();
    let _ = write!(
        out,
        "{:?}",
        lateness.map(|l| (l.culprit.map(number), l.per_step(), l.cause))
    );
    out
}

fn ns(event: &mut Value, key: &str, change: impl FnOnce(i64) -> i64) {
    // The simulation writes microseconds with three decimals, which a float keeps at this size.
    if let Some(us) = event.get(key).and_then(Value::as_f64) {
        let ns = change((us * 1_000.0).round() as i64);
        let text = format!("{}.{:03}", ns / 1_000, ns % 1_000);
        event[key] = serde_json::from_str(&text).unwrap();
    }
}

fn shifted(path: &Path, by: i64) -> Value {
    changed(path, |events| {
        events.iter_mut().for_each(|e| ns(e, "ts", |t| t + by))
    })
}

#[test]
fn parts_add_up() {
    each(0..LOOPS * 2, |seed, wrong| {
        let run = simulated(seed);
        let analysis = analysed(&run.torch());
        let (_, verdict) = only(&analysis);
        let account = verdict.judged.account;
        wrong.equal(
            "the account",
            analysis.trace().extent().len(),
            account.total(),
        );
        let ledger: i64 = IdleClass::ALL.iter().map(|&c| verdict.ledger.get(c)).sum();
        let idle = &analysis.gpus()[0].idle;
        wrong.equal(
            "the ledger",
            idle.intersect(&verdict.judged.reach).measure(),
            ledger,
        );
        let rank = &analysis.ranks()[0];
        let parts = [&rank.wait_exposed, &rank.wait_hidden, &rank.wait_unrecorded];
        let parts: i64 = parts.iter().map(|p| p.measure()).sum();
        wrong.equal("the waits", rank.wait.measure(), parts);
    });
}

#[test]
fn cures_are_those_of_their_kind_and_kinds_have_what_they_need() {
    each(0..LOOPS * 2, |seed, wrong| {
        let analysis = analysed(&simulated(seed).torch());
        let (_, verdict) = only(&analysis);
        for issue in &verdict.issues {
            let text = &issue.text.next;
            let graphs = text.contains("CUDA graphs");
            wrong.unless(!graphs || issue.kind == IssueKind::LaunchBound, || {
                format!("{:?}: {text}", issue.kind)
            });
            let counts = verdict.ledger.gaps;
            let steps = verdict.judged.len();
            match issue.kind {
                IssueKind::LaunchBound => {
                    wrong.unless(counts.launch >= 20 * steps, || {
                        format!("{counts:?} in {steps}")
                    });
                }
                IssueKind::SyncBound => {
                    wrong.unless(2 * counts.sync >= steps, || {
                        format!("{counts:?} in {steps}")
                    });
                }
                _ => {}
            }
        }
    });
}

#[test]
fn time_and_order_change_nothing() {
    each(0..LOOPS, |seed, wrong| {
        let run = simulated(seed);
        let path = &run.torch()[0];
        let (_, verdict) = only(&analysed(std::slice::from_ref(path)));
        let want = told(&verdict);
        let (_, later) = only(&of(&[shifted(path, 3_600_000 * MS + 7)]));
        wrong.equal("an hour later", &want, &told(&later));
        let turned = changed(path, |events| events.reverse());
        let (_, turned) = only(&of(&[turned]));
        wrong.equal("events in other order", &want, &told(&turned));
    });
}

#[test]
fn another_thread_that_fetches_changes_nothing() {
    each(0..LOOPS, |seed, wrong| {
        let run = simulated(seed);
        let path = &run.torch()[0];
        let (_, verdict) = only(&analysed(std::slice::from_ref(path)));
        let feeder = changed(path, |events| {
            let is_fetch = |e: &&Value| {
                let name = e["name"].as_str().unwrap_or("");
                name.starts_with("enumerate(DataLoader)")
            };
            let fetches: Vec<Value> = events.iter().filter(is_fetch).cloned().collect();
            events.extend(fetches.into_iter().map(|mut e| {
                e["tid"] = json!(9_999);
                ns(&mut e, "ts", |t| t + 17 * US);
                ns(&mut e, "dur", |d| d / 2);
                e
            }));
        });
        let analysis = of(&[feeder]);
        let (_, with) = only(&analysis);
        wrong.equal("beside a feeder", &told(&verdict), &told(&with));
        let elsewhere = analysis.ranks()[0].fetch_elsewhere.len();
        wrong.equal("threads that fetch elsewhere", 1, elsewhere);
    });
}

#[test]
fn without_marks_a_verdict_is_kept_or_not_told() {
    let marks = ["ProfilerStep#", "Optimizer.", "epoch"];
    each(0..LOOPS, |seed, wrong| {
        let run = simulated(seed);
        let path = &run.torch()[0];
        let (job, _) = only(&analysed(std::slice::from_ref(path)));
        for n in 1..=marks.len() {
            let unmarked = changed(path, |events| {
                events.retain(|e| {
                    let name = e["name"].as_str().unwrap_or("");
                    !marks[..n].iter().any(|m| name.starts_with(m))
                });
            });
            let (without, _) = only(&of(&[unmarked]));
            contradicts(job.kind, without.kind, wrong);
        }
    });
}

/// Input never becomes compute, nor the reverse.
fn contradicts(before: IssueKind, after: IssueKind, wrong: &mut Wrong) {
    let input = [IssueKind::InputBound, IssueKind::InputWait];
    let full = [IssueKind::ComputeBound, IssueKind::InputOk];
    let turned = (input.contains(&before) && full.contains(&after))
        || (full.contains(&before) && input.contains(&after));
    wrong.unless(!turned, || format!("{before:?} became {after:?}"));
}

#[test]
fn a_checkpoint_of_another_name_is_a_pause_of_the_same_length() {
    each(0..3, |n, wrong| {
        let run = simulated(2 + LOOPS * n);
        let path = &run.torch()[0];
        let (job, verdict) = only(&analysed(std::slice::from_ref(path)));
        wrong.equal("named", IssueKind::CheckpointStall, job.kind);
        let renamed = changed(path, |events| {
            for e in events.iter_mut().filter(|e| e["name"] == "checkpoint") {
                e["name"] = json!("tidy_up");
            }
        });
        let (other, without) = only(&of(&[renamed]));
        wrong.equal("unnamed", IssueKind::HostStall, other.kind);
        let named = verdict.ledger.get(IdleClass::Checkpoint);
        let pause = without.ledger.get(IdleClass::Pause);
        // The rest of the gaps that the checkpoints lie in belongs to the pauses, too.
        let rest = pause - named - verdict.ledger.get(IdleClass::Pause);
        wrong.unless((0..named / 20).contains(&rest), || {
            format!("{named} became {pause}")
        });
        wrong.equal(
            "of a checkpoint",
            0,
            without.ledger.get(IdleClass::Checkpoint),
        );
    });
}

#[test]
fn clocks_and_numbers_of_ranks_change_no_figure() {
    each(0..3, |seed, wrong| {
        let run = ranks(seed);
        let paths = run.torch();
        let analysis = analysed(&paths);
        let job = analysis.jobs(analysis.trace().extent()).remove(0);
        let want = late(&job, &analysis);
        wrong.unless(job.lateness.is_some(), || "nobody is late".to_owned());
        // By an hour: only the collectives tell that it is one job.
        for by in [-40 * MS, 3 * MS + 1, 3_600_000 * MS] {
            let files: Vec<Value> = (0..3)
                .map(|r| {
                    if r == 1 {
                        shifted(&paths[r], by)
                    } else {
                        read(&paths[r])
                    }
                })
                .collect();
            let analysis = of(&files);
            wrong.equal("runs", 1, analysis.identity().runs.len());
            let jobs = analysis.jobs(analysis.trace().extent());
            wrong.equal("shifted", &want, &late(&jobs[0], &analysis));
        }
        let mut other = paths.clone();
        other.reverse();
        let analysis = analysed(&other);
        let jobs = analysis.jobs(analysis.trace().extent());
        wrong.equal("files in other order", &want, &late(&jobs[0], &analysis));
        // Rank r becomes rank 2 - r.
        let renumbered: Vec<Value> = (0_u32..)
            .zip(&paths)
            .map(|(r, path)| {
                let mut file = read(path);
                file["distributedInfo"]["rank"] = json!(2 - r);
                file
            })
            .collect();
        let analysis = of(&renumbered);
        let jobs = analysis.jobs(analysis.trace().extent());
        let culprit = |job: &JobVerdict, a: &Analysis| {
            let late = job
                .lateness
                .as_ref()
                .and_then(|l| Some((l.culprit?, l.per_step())));
            late.map(|(rank, ns)| (a.ranks()[rank].rank, ns))
        };
        let (want, got) = (
            culprit(&job, &analysed(&paths)),
            culprit(&jobs[0], &analysis),
        );
        wrong.equal("renumbered", want.map(|(r, ns)| (2 - r, ns)), got);
    });
}

#[test]
fn ranks_in_one_file_are_those_of_a_file_each() {
    each(0..3, |seed, wrong| {
        let run = ranks(seed);
        let paths = run.torch();
        let apart = analysed(&paths);
        let job = apart.jobs(apart.trace().extent()).remove(0);
        let mut all = Vec::new();
        for (r, path) in (0..).zip(&paths) {
            let mut file = read(path);
            for event in file["traceEvents"].as_array_mut().unwrap() {
                if event["ph"] == "X" {
                    event["args"]["rank"] = json!(r);
                }
                all.push(event.take());
            }
        }
        let mut file = read(&paths[0]);
        file["traceEvents"] = all.into();
        file.as_object_mut()
            .unwrap()
            .shift_remove("distributedInfo");
        let together = of(&[file]);
        let jobs = together.jobs(together.trace().extent());
        wrong.equal("ranks", 3, together.ranks().len());
        wrong.equal("in one file", late(&job, &apart), late(&jobs[0], &together));
    });
}
