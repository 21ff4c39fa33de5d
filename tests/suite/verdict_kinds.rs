//! Verdicts of small loops made here: what each kind needs, what it must not become, what a step takes.

use std::sync::Arc;

use serde_json::{Value, json};
use stallscope::analysis::{
    Analysis, Basis, IdleClass, IssueKind, Missing, Options, Pattern, Place, Rules, Severity,
    Verdict, Whole,
};

use crate::common;
use crate::common::case;

use case::Case;

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

/// A loop on one thread and a GPU with one stream, built span by span.
#[derive(Default)]
struct Sim {
    spans: Vec<Value>,
    links: Vec<Value>,
    /// The thread's clock.
    now: i64,
    /// When the GPU has done all that was launched.
    gpu: i64,
    steps: i64,
}

impl Sim {
    fn span(&mut self, lane: &str, layer: &str, name: &str, start: i64, end: i64) -> String {
        let id = format!("s{}", self.spans.len());
        self.spans.push(json!([id, lane, layer, name, start, end]));
        id
    }

    /// The thread is in a range.
    fn range(&mut self, layer: &str, name: &str, length: i64) {
        self.span("C", layer, name, self.now, self.now + length);
        self.now += length;
    }

    /// Launches kernels one after the other; a call takes 5 µs.
    fn kernels(&mut self, n: usize, length: i64) {
        for _ in 0..n {
            let call = self.span(
                "C",
                "launch",
                "cudaLaunchKernel",
                self.now,
                self.now + 5 * US,
            );
            self.now += 5 * US;
            let start = self.gpu.max(self.now);
            let kernel = self.span("G", "gpu.compute", "kernel", start, start + length);
            self.gpu = start + length;
            self.links.push(json!(["launch", call, kernel]));
        }
    }

    /// The thread waits for the GPU.
    fn sync(&mut self) {
        let end = self.gpu.max(self.now) + 2 * US;
        self.span("C", "sync", "cudaDeviceSynchronize", self.now, end);
        self.now = end;
    }

    /// A marked step around what `body` does.
    fn step(&mut self, body: impl FnOnce(&mut Self)) {
        let start = self.now;
        body(self);
        let name = format!("step {}", self.steps);
        self.span("C", "step", &name, start, self.now);
        self.steps += 1;
    }

    fn case(self) -> Value {
        json!({
            "lanes": [
                {"id": "C", "kind": "cpu", "pid": 1},
                {"id": "G", "kind": "gpu", "device": 0, "stream": 7}
            ],
            "spans": self.spans,
            "links": self.links,
        })
    }

    fn analyse(self) -> Analysis {
        Case::parse(&self.case()).analyse().analysis
    }

    fn verdict(self) -> (Analysis, Verdict) {
        let analysis = self.analyse();
        let verdict = analysis.verdict(0, analysis.trace().extent());
        let account = verdict.judged.account;
        assert_eq!(
            account.total(),
            analysis.trace().extent().len(),
            "{account:?}"
        );
        (analysis, verdict)
    }
}

/// A step that reads, works 4 ms on the GPU and blocks.
fn plain(sim: &mut Sim, wait: i64) {
    sim.range("fetch", "next", wait);
    sim.kernels(10, 400 * US);
    sim.sync();
}

fn ledger_adds_up(analysis: &Analysis, verdict: &Verdict) {
    let sum: i64 = IdleClass::ALL.iter().map(|&c| verdict.ledger.get(c)).sum();
    let reach = &verdict.judged.reach;
    assert_eq!(sum, analysis.gpus()[0].idle.intersect(reach).measure());
}

#[test]
fn the_wait_before_a_marked_step_belongs_to_its_cycle() {
    let mut sim = Sim::default();
    for _ in 0..25 {
        sim.range("fetch", "next", 6 * MS);
        sim.step(|s| {
            s.kernels(10, 400 * US);
            s.sync();
        });
    }
    let (analysis, verdict) = sim.verdict();
    ledger_adds_up(&analysis, &verdict);
    let issue = &verdict.issues[0];
    assert_eq!(
        (issue.kind, issue.of),
        (IssueKind::InputBound, Whole::Judged)
    );
    assert_eq!(issue.severity, Severity::Critical);
    assert_eq!(issue.value, 24 * 6 * MS);
    assert_eq!(issue.details.pattern, Some(Pattern::EveryStep));
    assert_eq!(verdict.judged.len(), 24);
    // The step table keeps the steps as they were marked.
    let rows = analysis.step_rows(0, analysis.trace().extent()).0;
    assert!(rows.iter().all(|r| r.wait == Some(0)));
    let text = &issue.text;
    assert!(
        text.verdict.starts_with("Input-bound: in ")
            && text.verdict.contains("of the judged steps (24 of 25; ")
            && text.verdict.contains(" of the record)"),
        "{}",
        text.verdict
    );
    assert!(text.next.contains("can be won"), "{}", text.next);
}

/// Thirty steps with something before each tenth of them.
fn every_tenth(layer: &str, name: &str) -> Sim {
    let mut sim = Sim::default();
    for k in 0..31 {
        sim.step(|s| {
            plain(s, 100 * US);
            if k % 10 == 5 {
                s.range(layer, name, 100 * MS);
            }
        });
    }
    sim
}

#[test]
fn a_checkpoint_is_a_stall_and_without_its_name_a_pause() {
    let (analysis, named) = every_tenth("checkpoint", "save_checkpoint").verdict();
    ledger_adds_up(&analysis, &named);
    let issue = &named.issues[0];
    assert_eq!(
        (issue.kind, issue.of),
        (IssueKind::CheckpointStall, Whole::Loop)
    );
    assert_eq!(
        (issue.value, issue.severity),
        (300 * MS, Severity::Critical)
    );
    assert_eq!(issue.details.occurrences, Some(3));
    assert_eq!(issue.details.pattern, Some(Pattern::Burst));
    let burst = issue.details.burst.as_ref().unwrap();
    assert_eq!((burst.k, burst.period), (3, Some(10)));
    assert!(
        issue.text.verdict.contains("3 checkpoints, 100 ms each"),
        "{}",
        issue.text.verdict
    );
    let (analysis, unnamed) = every_tenth("annotation", "something").verdict();
    ledger_adds_up(&analysis, &unnamed);
    let issue = &unnamed.issues[0];
    assert_eq!(issue.kind, IssueKind::HostStall);
    assert!(
        issue.value >= 300 * MS && issue.value < 301 * MS,
        "{}",
        issue.value
    );
    assert_eq!(issue.details.names[0].name.as_deref(), Some("something"));
    // A name that looks like a wait is asked about, never taken for one.
    let (_, suspect) = every_tenth("annotation", "stage_in_batch").verdict();
    let issue = &suspect.issues[0];
    assert_eq!(issue.kind, IssueKind::UnnamedWait);
    assert!(
        issue.text.next.contains("name = 'stage_in_batch'"),
        "{}",
        issue.text.next
    );
}

#[test]
fn evaluation_between_the_steps_is_no_wait_of_training() {
    let mut sim = Sim::default();
    for k in 0..30 {
        sim.step(|s| plain(s, 100 * US));
        if k == 14 {
            let start = sim.now;
            for _ in 0..5 {
                sim.range("fetch", "next", 40 * MS);
                sim.kernels(1, MS);
                sim.sync();
            }
            sim.span("C", "eval", "validation", start, sim.now);
        }
    }
    let (analysis, verdict) = sim.verdict();
    ledger_adds_up(&analysis, &verdict);
    let account = verdict.judged.account;
    assert!(account.between > account.judged, "{account:?}");
    assert!(verdict.little);
    // Its own waits are waits between the steps; what else is idle in it is evaluation.
    let issue = &verdict.issues[0];
    assert_eq!((issue.kind, issue.of), (IssueKind::InputBound, Whole::Loop));
    assert_eq!(issue.details.place, Some(Place::BetweenSteps));
    assert_eq!(verdict.ledger.get(IdleClass::InputBetween), 200 * MS);
    assert!(verdict.ledger.get(IdleClass::Input) < 3 * MS);
}

#[test]
fn a_loader_that_starts_again_is_no_steady_wait() {
    let mut sim = Sim::default();
    for k in 0..40 {
        sim.step(|s| {
            if k > 0 && k % 10 == 0 {
                // The exhausted iterator, then the first batch of the next one.
                s.range("fetch", "next", 50 * MS);
                s.now += 100 * US;
                plain(s, 250 * MS);
            } else {
                plain(s, 100 * US);
            }
        });
    }
    let (analysis, verdict) = sim.verdict();
    ledger_adds_up(&analysis, &verdict);
    assert_eq!(analysis.cycles(0).restarts.len(), 3);
    assert_eq!(verdict.left_out.len(), 4);
    let issue = &verdict.issues[0];
    assert_eq!(issue.kind, IssueKind::StartupBound);
    // All of the restart: also what lies between the two fetches.
    assert_eq!(issue.value, 3 * (300 * MS + 100 * US));
    assert_eq!(issue.details.occurrences, Some(3));
    assert!(!issue.text.next.contains("persistent_workers"));
    // Two loaders that take turns in each step look alike and are none.
    let mut sim = Sim::default();
    for _ in 0..30 {
        sim.step(|s| {
            s.range("fetch", "next", 100 * US);
            plain(s, 100 * US);
        });
    }
    let (analysis, verdict) = sim.verdict();
    assert!(analysis.cycles(0).restarts.is_empty());
    assert_eq!(verdict.judged.len(), 29);
}

#[test]
fn few_gaps_are_a_pause_and_many_are_slow_launches() {
    let mut sim = Sim::default();
    for _ in 0..25 {
        sim.step(|s| {
            plain(s, 100 * US);
            s.now += 15 * MS;
        });
    }
    let (analysis, verdict) = sim.verdict();
    ledger_adds_up(&analysis, &verdict);
    let issue = &verdict.issues[0];
    assert_eq!(
        (issue.kind, issue.severity),
        (IssueKind::HostStall, Severity::Critical)
    );
    assert_eq!(issue.details.names[0].name, None);
    assert!(
        verdict
            .issues
            .iter()
            .all(|i| i.kind != IssueKind::LaunchBound)
    );
    let mut sim = Sim::default();
    for _ in 0..25 {
        sim.step(|s| {
            s.range("fetch", "next", 100 * US);
            for _ in 0..40 {
                s.kernels(1, 2 * US);
                s.now += 20 * US;
            }
        });
    }
    let (analysis, verdict) = sim.verdict();
    ledger_adds_up(&analysis, &verdict);
    let issue = &verdict.issues[0];
    assert_eq!(
        (issue.kind, issue.of),
        (IssueKind::LaunchBound, Whole::Judged)
    );
    assert_eq!(issue.details.gaps_per_step, Some(39.958_333));
    assert!(
        verdict
            .issues
            .iter()
            .all(|i| i.kind != IssueKind::HostStall)
    );
}

#[test]
fn a_loop_that_blocks_often_is_told_by_its_calls() {
    let mut sim = Sim::default();
    for _ in 0..25 {
        sim.step(|s| {
            s.range("fetch", "next", 10 * US);
            for _ in 0..5 {
                s.kernels(2, 200 * US);
                s.sync();
                s.now += 300 * US;
            }
        });
    }
    let (analysis, verdict) = sim.verdict();
    ledger_adds_up(&analysis, &verdict);
    let issue = &verdict.issues[0];
    assert_eq!(issue.kind, IssueKind::SyncBound);
    // Nothing follows the last one.
    assert_eq!(issue.details.gaps_per_step, Some(4.958_333));
    assert!(issue.details.gain_at_most.unwrap() <= issue.value);
    let text = &issue.text.verdict;
    assert!(
        text.contains("blocks 5.0 times a step (cudaDeviceSynchronize)"),
        "{text}"
    );
    assert!(!text.contains("of the time"), "{text}");
}

/// A loop without marks but those of its optimizer.
fn optimizer_only(gap: impl Fn(i64) -> i64) -> Verdict {
    let mut sim = Sim::default();
    for k in 0..30 {
        sim.range("fetch", "none", 0);
        sim.now += gap(k);
        sim.kernels(10, 400 * US);
        sim.sync();
        sim.range("optimizer", "Optimizer.step#SGD.step", 20 * US);
    }
    sim.verdict().1
}

#[test]
fn steps_from_optimizer_marks_are_at_most_a_warning_and_only_where_they_are_even() {
    let even = optimizer_only(|_| 6 * MS);
    assert_eq!(even.issues[0].kind, IssueKind::HostStall);
    assert_eq!(even.issues[0].severity, Severity::Warning);
    assert!(
        even.coverage.contains("inferred from 30 optimizer marks"),
        "{}",
        even.coverage
    );
    let uneven = optimizer_only(|k| [0, 30 * MS, 90 * MS][k as usize % 3]);
    assert_eq!(uneven.kind(), IssueKind::Inconclusive);
    assert!(uneven.missing.contains(&Missing::StepsIrregular));
}

#[test]
fn a_record_without_steps_is_described_and_not_judged() {
    let mut sim = Sim::default();
    for _ in 0..5 {
        sim.now += 3 * MS;
        sim.kernels(3, MS);
        sim.sync();
    }
    let (_, verdict) = sim.verdict();
    assert_eq!(verdict.kind(), IssueKind::Inconclusive);
    let text = &verdict.issues[0].text;
    assert_eq!(
        text.verdict,
        "No steps are marked: these are figures of the whole record."
    );
    assert!(
        text.why
            .starts_with("The largest part of the GPU's idle time: "),
        "{}",
        text.why
    );
}

#[test]
fn the_pace_is_what_a_step_takes_on_the_gpu() {
    let pace = |sim: Sim| {
        let analysis = sim.analyse();
        let judged = analysis.judged(0, analysis.trace().extent());
        analysis.pace(&judged).unwrap()
    };
    // Blocks in each step: 100 µs of waiting, 5 µs until the first kernel, 4 ms of work, 2 µs until the call returns.
    let mut sim = Sim::default();
    for _ in 0..12 {
        sim.step(|s| plain(s, 100 * US));
    }
    let blocking = pace(sim);
    assert_eq!(blocking.basis, Basis::Median);
    assert_eq!(blocking.per_step(), 4 * MS + 107 * US);
    assert_eq!(blocking.instead_of_median(), None);
    // Runs ahead in steps of 150 µs and drains at the end, or never: the GPU takes 4 ms a step.
    for drains in [true, false] {
        let mut sim = Sim::default();
        for k in 0..12 {
            sim.step(|s| {
                s.range("fetch", "next", 100 * US);
                s.kernels(10, 400 * US);
                if drains && k == 11 {
                    s.sync();
                }
            });
        }
        let ahead = pace(sim);
        assert_eq!(ahead.basis, Basis::Drained);
        // The call that drains returns 2 µs after the work of eleven steps.
        let after = if drains { 2 * US / 11 + 1 } else { 0 };
        assert_eq!(ahead.per_step(), 4 * MS + after, "drains: {drains}");
        assert_eq!(ahead.median, 150 * US);
        assert_eq!(
            ahead.instead_of_median(),
            Some("the loop runs ahead of the GPU")
        );
    }
}

/// The same model with and without workers: the steps of the one that runs ahead tell nothing on the CPU's clock.
#[test]
fn the_bundled_loops_take_the_same_gpu_work() {
    for (name, step, median) in [
        ("torch_0_workers.json.gz", 353_783_813, 353_783_813),
        ("torch_4_workers.json.gz", 78_300_000, 2_120_000),
    ] {
        let path = common::repository("sample_traces").join(name);
        let trace = common::open_with(&path, 1).unwrap().trace;
        let (rules, options) = (Rules::builtin(), Options::default());
        let analysis = Analysis::new(Arc::new(trace), &rules, &options, &|_| true).unwrap();
        let judged = analysis.judged(0, analysis.trace().extent());
        let pace = analysis.pace(&judged).unwrap();
        let near = |got: i64, want: i64| (got - want).abs() < MS / 10;
        assert!(
            near(pace.per_step(), step) && near(pace.median, median),
            "{name}: {pace:?}"
        );
        assert!((pace.compute - 78.3e6).abs() < 0.2e6, "{name}: {pace:?}");
        assert_eq!(pace.instead_of_median().is_some(), step != median);
    }
}
