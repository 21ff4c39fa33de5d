//! Waits and loading of whole runs against the timers of the training scripts and against independent programs.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use serde_json::Value;
use stallscope::analysis::{Analysis, IssueKind, Missing, Options, Rules};
use stallscope::import::{OpenOptions, Progress, open};

use crate::common;

use common::Differences;

static RULES: LazyLock<Rules> = LazyLock::new(Rules::builtin);

fn analyse(path: &Path) -> Analysis {
    let loaded = open(
        &[path.to_path_buf()],
        &OpenOptions::default(),
        &Progress::new(),
    );
    let trace = loaded
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        .trace;
    Analysis::new(Arc::new(trace), &RULES, &Options::default(), &|_| true).unwrap()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// How much longer than the script's own timer the recorded waits may be, in percent. Plain files are written from the
/// loop itself, which shows.
fn tolerance(run: &str) -> f64 {
    if run.ends_with("-plain") { 5.0 } else { 1.0 }
}

#[test]
fn waits_of_dftracer_runs_equal_the_scripts_timers() {
    let (Some(runs), Some(folder)) = (
        common::shared("traces/dftracer/RUNS.json"),
        common::shared("traces/dftracer"),
    ) else {
        return;
    };
    let mut diffs = Differences::default();
    let (mut timed, mut seen) = (0, 0);
    for (run, expected) in json(&runs).as_object().unwrap() {
        let layers = &expected["layers"];
        let (fetch, item) = (&layers["fetch.iter"], &layers["item"]);
        if fetch.is_null() && item.is_null() {
            continue;
        }
        seen += 1;
        let analysis = analyse(&folder.join(run));
        let window = analysis.trace().extent();
        let name = |what: &str| format!("{run}: {what}");
        if !fetch.is_null() && analysis.ranks().len() == 1 {
            let f = analysis.loop_figures(0, window).unwrap();
            diffs.compare(&name("wait"), fetch["union_ns"].as_i64(), f.wait);
            diffs.compare(&name("unrecorded"), f.wait, f.wait_unrecorded);
        }
        if !item.is_null() && analysis.ranks().len() == 1 {
            let w = analysis.workers(0, window);
            diffs.compare(
                &name("loading"),
                item["sum_ns"].as_i64().unwrap(),
                w.load_sum,
            );
            diffs.compare(
                &name("any loading"),
                item["union_ns"].as_i64().unwrap(),
                w.any_load,
            );
        }
        let verdict = analysis.verdict(0, window);
        diffs.compare(
            &name("no GPU"),
            true,
            verdict.missing.contains(&Missing::NoGpu),
        );
        let bound = verdict
            .issues
            .iter()
            .any(|i| i.kind == IssueKind::InputBound);
        diffs.compare(&name("input-bound without a GPU"), false, bound);
        let timer = expected["truth"]["own_fetch_timer_ns"].as_f64();
        if let (Some(timer), false) = (timer, fetch.is_null()) {
            timed += 1;
            let wait = analysis.loop_figures(0, window).unwrap().wait.unwrap();
            let over = (wait as f64 / timer - 1.0) * 100.0;
            if !(0.0..=tolerance(run)).contains(&over) {
                diffs.add(
                    &name("wait by the timer"),
                    "0 to +1 %",
                    &format!("{over:+.2} %"),
                );
            }
            diffs.compare(&name("steps"), 48, analysis.ranks()[0].steps.len());
            let workers: u32 = run.split('w').nth(1).unwrap()[..1].parse().unwrap();
            let rates = analysis.rates(0, window).unwrap();
            diffs.compare(&name("workers"), workers, rates.workers);
            let waits = rates.costs.step(workers, None) - rates.costs.compute;
            let text = format!("{:.1} ms of wait per step", waits / 1e6);
            if waits < 0.0 || !waits.is_finite() {
                diffs.add(&name("what-if"), "a wait", &text);
            }
        }
    }
    assert!(
        timed >= 9 && seen > timed,
        "{timed} of {seen} runs with timers"
    );
    diffs.assert_none();
}

/// What the notes say: hidden or not, a loop that waits this much is flagged on the CPU's clock, and only there.
#[test]
fn starved_runs_are_input_wait() {
    let Some(folder) = common::shared("traces/dftracer/runs") else {
        return;
    };
    for (run, low, high) in [
        ("w0", 0.55, 0.67),
        ("w1", 0.33, 0.45),
        ("w2-nosync", 0.45, 0.60),
        ("w0-nosync", 0.70, 0.85),
    ] {
        let analysis = analyse(&folder.join(run));
        let verdict = analysis.verdict(0, analysis.trace().extent());
        let issue = &verdict.issues[0];
        assert_eq!(issue.kind, IssueKind::InputWait, "{run}");
        assert!(
            issue.share > low && issue.share < high,
            "{run}: {}",
            issue.share
        );
        assert_eq!(issue.gpu_clock, Some(false));
        assert!(
            issue.text.verdict.contains("CPU clock"),
            "{}",
            issue.text.verdict
        );
    }
}

#[test]
fn waits_of_nsight_databases_equal_the_simulation() {
    let Some(folder) = common::shared("nsight/db") else {
        return;
    };
    let mut diffs = Differences::default();
    let mut compared = 0;
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "sqlite"));
    files.sort();
    for file in files {
        let expected = json(&file.with_extension("json"));
        let analysis = analyse(&file);
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let trace = analysis.trace();
        let loops: Vec<(usize, &str)> = analysis
            .ranks()
            .iter()
            .enumerate()
            .filter_map(|(r, rank)| {
                let process = trace.lane(rank.loop_lane?).process?;
                Some((r, trace.process(process).pid.as_str()))
            })
            .collect();
        for waits in expected["batch_wait"].as_array().into_iter().flatten() {
            let pid = waits["pid"].to_string();
            let Some((r, _)) = loops.iter().find(|l| l.1 == pid) else {
                diffs.add(
                    &format!("{name}: process {pid}"),
                    "a loop",
                    &format!("{loops:?}"),
                );
                continue;
            };
            compared += 1;
            let f = analysis.loop_figures(*r, trace.extent()).unwrap();
            let want = |key: &str| waits[key].as_i64();
            diffs.compare(&format!("{name} {pid}: wait"), want("union_ns"), f.wait);
            if waits["devices"].as_array().unwrap().len() > 1 {
                // There it is the union of several GPUs; a rank is judged by its own.
                continue;
            }
            let open = f.wait_unrecorded.map(|ns| ns + f.wait_exposed.unwrap_or(0));
            diffs.compare(
                &format!("{name} {pid}: not covered"),
                want("unoverlapped_own_any_ns"),
                open,
            );
        }
    }
    assert!(compared >= 9, "only {compared} loops");
    diffs.assert_none();
}

/// A DFTracer file of one process: who it is, who started it with which command, and its spans, in µs.
struct Traced<'a> {
    pid: u32,
    parent: u32,
    command: &'a str,
    rank: Option<u32>,
    spans: &'a [(&'a str, &'a str, u64, u64)],
}

impl Traced<'_> {
    fn text(&self) -> String {
        let Self { pid, command, .. } = self;
        let who = format!("\"pid\":{pid},\"tid\":{pid}");
        let own = format!("\"cat\":\"dftracer\",{who}");
        let at = |us: u64| 1_700_000_000_000_000 + us;
        let mut out = format!(
            "{{\"id\":1,\"name\":\"SH\",{own},\"ph\":\"M\",\"args\":{{\"name\":\"{command}\",\"value\":\"{command}\"}}}}\n\
             {{\"id\":2,\"name\":\"start\",{own},\"ts\":{},\"dur\":0,\"ph\":\"X\",\"args\":{{\"ppid\":{},\"cmd_hash\":\"{command}\"}}}}\n",
            at(0),
            self.parent
        );
        if let Some(rank) = self.rank {
            out += &format!(
                "{{\"id\":3,\"name\":\"PR\",{own},\"ph\":\"M\",\"args\":{{\"name\":\"rank\",\"value\":\"{rank}\"}}}}\n"
            );
        }
        for (name, cat, start, length) in self.spans {
            out += &format!(
                "{{\"id\":4,\"name\":\"{name}\",\"cat\":\"{cat}\",{who},\"ts\":{},\"dur\":{length},\"ph\":\"X\"}}\n",
                at(*start)
            );
        }
        out
    }
}

/// The launcher was recorded, and so were its children: those train. What they started loads for them, whatever it runs.
#[test]
fn ranks_under_a_recorded_launcher_keep_their_loops() {
    let looping = [
        ("fetch.iter", "dataloader", 1_000, 500),
        ("forward", "compute", 1_500, 800),
        ("fetch.iter", "dataloader", 2_300, 400),
        ("forward", "compute", 2_700, 800),
    ];
    let loading = [("item", "data", 900, 300), ("item", "data", 1_900, 300)];
    let process = |pid, parent, command, rank, spans| Traced {
        pid,
        parent,
        command,
        rank,
        spans,
    };
    let files = [
        process(700, 1, "torchrun", None, &[("open64", "POSIX", 100, 20)]),
        process(701, 700, "train", Some(0), &looping),
        process(702, 700, "train", Some(1), &looping),
        // One rank has a forked worker; each has a helper that runs a command of its own.
        process(720, 702, "train", None, &loading),
        process(711, 701, "decode", None, &loading),
        process(721, 702, "decode", None, &loading),
    ];
    let folder = common::scratch("analysis-launcher");
    for file in &files {
        // The name says that it was forked, which its parent's number overrides.
        let kind = if file.pid == 700 { "app" } else { "fork" };
        let name = format!("trace-{}-{kind}.pfw", file.pid);
        std::fs::write(folder.join(name), file.text()).unwrap();
    }
    let analysis = analyse(&folder);
    let trace = analysis.trace();
    let role = |pid: u32| {
        let key = format!("C{pid}.{pid}");
        let mut lanes = trace.lane_ids();
        let lane = lanes.find(|&l| trace.lane(l).key == key).expect("a lane");
        analysis.role(lane).key()
    };
    let roles = files.iter().map(|f| (f.pid, role(f.pid)));
    assert_eq!(
        roles.collect::<Vec<_>>(),
        [
            (700, "other"),
            (701, "main"),
            (702, "main"),
            (720, "worker"),
            (711, "worker"),
            (721, "worker"),
        ]
    );
    let loops: Vec<_> = analysis
        .ranks()
        .iter()
        .map(|r| (r.rank, r.loop_lane.map(|l| trace.lane(l).key.as_str())))
        .collect();
    assert_eq!(loops, [(0, Some("C701.701")), (1, Some("C702.702"))]);
    assert!(analysis.ranks().iter().all(|r| r.n_fetch() == 2));
}
