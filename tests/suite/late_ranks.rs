//! Late ranks, from the collectives: what ranks waited, who came last, and how it is drawn; on real files and on made ones.

use crate::common;
use crate::common::look;
use crate::common::timeline;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{Differences, scratch, shared};
use look::{HEADER, Look};
use serde_json::{Value, json};
use stallscope::analysis::{
    Analysis, Collectives, Found, GoOn, IssueKind, JobMissing, JobVerdict, KindOf, LatePattern,
    NoArgs, Options, Rules,
};
use stallscope::export::report::{ReportOptions, report};
use stallscope::import::{OpenOptions, Progress, SharedArgs, open};
use stallscope::model::SpanId;
use stallscope::time::TimeRange;
use stallscope::view::{Item, SectionKind, Swatch, Theme};
use timeline::Scene;

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

fn analyse(paths: &[PathBuf]) -> Analysis {
    let loaded = open(paths, &OpenOptions::default(), &Progress::new()).unwrap();
    let trace = Arc::new(loaded.trace);
    let args = SharedArgs::new(trace.clone());
    let read = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        args.each(spans, go_on, found);
    };
    Analysis::with_args(
        trace,
        &Rules::builtin(),
        &Options::default(),
        &read,
        &|_| true,
    )
    .unwrap()
}

fn only_run(analysis: &Analysis) -> &Collectives {
    assert_eq!(analysis.collectives().len(), 1);
    &analysis.collectives()[0]
}

/// Per rank, ascending: how often it came last alone, and what it waited.
fn last_and_waited(run: &Collectives) -> Vec<(usize, i64)> {
    let mut out = vec![(0, 0); run.ranks.len()];
    for (matched, arrival) in run.matching.matched.iter().zip(&run.arrivals.of) {
        for (i, member) in matched.places().zip(run.matching.of(matched)) {
            let own = &mut out[member.rank as usize];
            own.1 += run.arrivals.waits[i];
            own.0 += usize::from(arrival.late == 1 && run.arrivals.is_late(i));
        }
    }
    out
}

/// What a made rank does in a step, ns.
#[derive(Clone, Copy)]
pub struct Step {
    pub wait: i64,
    pub compute: i64,
}

/// A made job: every rank waits for data, computes, and meets the others in an all-reduce that takes 3 ms once all are
/// there. A file per rank, its times shifted by `shift`.
pub fn job(
    folder: &Path,
    steps: usize,
    numbers: &[u32],
    shift: impl Fn(u32) -> i64,
    step: impl Fn(u32, usize) -> Step,
) -> Vec<PathBuf> {
    let world = numbers.iter().max().map_or(1, |m| m + 1);
    let mut events: Vec<Vec<Value>> = vec![Vec::new(); numbers.len()];
    let mut begin = 0;
    for k in 0..steps {
        let arrives = |&r: &u32| begin + step(r, k).wait + step(r, k).compute + 40 * US;
        let end = (0..world).map(|r| arrives(&r)).max().unwrap() + 3 * MS;
        for (events, &r) in events.iter_mut().zip(numbers) {
            let own = step(r, k);
            let pid = 100 + r;
            let mut push =
                |cat: &str, name: &str, place: (u32, i64), (s, e): (i64, i64), args: Value| {
                    let micro = |ns: i64| ns as f64 / 1_000.0;
                    events.push(json!({
                        "ph": "X", "cat": cat, "name": name, "pid": place.0, "tid": place.1,
                        "ts": micro(s + shift(r)) + 1_000_000.0, "dur": micro(e - s), "args": args,
                    }));
                };
            let cpu = (pid, i64::from(pid));
            let gpu = (r, 7);
            let next = end + 50 * US;
            push(
                "user_annotation",
                &format!("ProfilerStep#{k}"),
                cpu,
                (begin, next),
                json!({}),
            );
            let fetched = begin + own.wait;
            if own.wait > 0 {
                let name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
                push("user_annotation", name, cpu, (begin, fetched), json!({}));
            }
            let call = |n: usize| json!({"correlation": 10 * k + n, "External id": 10 * k + n});
            let launch = |n: i64| (fetched + (10 + 10 * n) * US, fetched + (15 + 10 * n) * US);
            push("cuda_runtime", "cudaLaunchKernel", cpu, launch(0), call(1));
            push("cuda_runtime", "cudaLaunchKernel", cpu, launch(1), call(2));
            push(
                "cuda_runtime",
                "cudaStreamSynchronize",
                cpu,
                (fetched + 30 * US, end),
                call(3),
            );
            let run = |n: usize| json!({"correlation": 10 * k + n, "device": r, "stream": 7});
            let start = fetched + 40 * US;
            let arrive = start + own.compute;
            push("kernel", "gemm", gpu, (start, arrive), run(1));
            let mut told = run(2);
            let members: Vec<u32> = (0..world).collect();
            told["Collective name"] = "allreduce".into();
            told["In msg nelems"] = 1000.into();
            told["dtype"] = "Float".into();
            told["Group size"] = world.into();
            told["Process Group Name"] = "0".into();
            told["Process Group Ranks"] = format!("{members:?}").into();
            push(
                "kernel",
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                gpu,
                (arrive, end),
                told,
            );
        }
        begin = end + 50 * US;
    }
    let files = events.into_iter().zip(numbers);
    let write = |(events, r): (Vec<Value>, &u32)| {
        let path = folder.join(format!("rank{r}.json"));
        let file = json!({
            "schemaVersion": 1,
            "baseTimeNanoseconds": 1_700_000_000_000_000_000_i64,
            "distributedInfo": {"backend": "nccl", "rank": r, "world_size": world},
            "traceEvents": events,
        });
        std::fs::write(&path, file.to_string()).unwrap();
        path
    };
    files.map(write).collect()
}

fn input_straggler(name: &str, numbers: &[u32], shift: impl Fn(u32) -> i64) -> Vec<PathBuf> {
    job(&scratch(name), 24, numbers, shift, |r, _| Step {
        wait: if r == 2 { 20 * MS } else { 200 * US },
        compute: 8 * MS,
    })
}

#[test]
fn eight_ranks_of_a_recommendation_model_wait_as_counted() {
    let files = [
        (0, 545),
        (1, 556),
        (2, 554),
        (3, 557),
        (4, 547),
        (5, 549),
        (6, 553),
        (7, 553),
    ];
    let name = |(rank, stamp): (u32, u32)| {
        shared(&format!(
            "traces/torch/facebookresearch-param__dlrm_kineto_worker{rank}_step_12.1694128201{stamp}.pt.trace.json"
        ))
    };
    let Some(paths) = files.into_iter().map(name).collect::<Option<Vec<_>>>() else {
        return;
    };
    let analysis = analyse(&paths);
    let run = only_run(&analysis);
    assert_eq!(
        (
            run.world,
            run.matching.matched.len(),
            run.matching.unmatched
        ),
        (8, 8, 0)
    );
    let waited = [5581, 11119, 3275, 9557, 6370, 6034, 3341, 1529];
    let last = [0, 0, 0, 0, 1, 2, 0, 5];
    let expected: Vec<_> = last.into_iter().zip(waited.map(|us| us * US)).collect();
    assert_eq!(last_and_waited(run), expected);
    // The ranks leave together.
    let ends = run.ends.unwrap();
    assert!(ends.spread <= 5 * US && !ends.disagree(), "{ends:?}");
    // Who is late is told, and not why.
    let job = whole(&analysis);
    assert_eq!(job.kind, IssueKind::Straggler);
    assert_eq!(
        job.text.verdict,
        "Rank 7 holds up the job most (76.3 % of what late ranks cost): the other 7 ranks wait 3.05 ms of each 7.1 ms \
         step for it (43.0 %); why cannot be told (HOST: 23 % of it)."
    );
}

#[test]
fn waiting_and_transfer_are_all_of_each_collective() {
    let analysis = analyse(&input_straggler("late_ranks_parts", &[0, 1, 2, 3], |_| 0));
    let run = only_run(&analysis);
    assert_eq!(run.matching.matched.len(), 24);
    let spans = analysis.trace().spans();
    let mut differences = Differences::default();
    for (place, own) in run.of.iter().enumerate() {
        let all: i64 = own.iter().map(|c| spans.dur(c.op)).sum();
        let waited = run.waiting[place].measure();
        differences.compare(
            &format!("transfer of rank {place}"),
            24 * 3 * MS,
            all - waited,
        );
        let wait = if place == 2 { 0 } else { 24 * 19_800 * US };
        differences.compare(&format!("wait of rank {place}"), wait, waited);
    }
    differences.assert_none();
    let charged: i64 = run.arrivals.of.iter().map(|a| a.cost).sum();
    assert_eq!(charged, 24 * 19_800 * US);
}

#[test]
fn clocks_of_ranks_do_not_matter() {
    let plain = analyse(&input_straggler("late_ranks_plain", &[0, 1, 2, 3], |_| 0));
    let shifted = analyse(&input_straggler("late_ranks_shifted", &[0, 1, 2, 3], |r| {
        i64::from(r) * 1_234_567
    }));
    let (a, b) = (only_run(&plain), only_run(&shifted));
    assert_eq!(a.arrivals.waits, b.arrivals.waits);
    assert_eq!(a.arrivals.of, b.arrivals.of);
    assert_eq!(last_and_waited(b), last_and_waited(a));
    assert!(!b.ends.unwrap().disagree());
}

#[test]
fn a_rank_that_was_not_opened_is_told() {
    let analysis = analyse(&input_straggler("late_ranks_absent", &[0, 1, 3], |_| 0));
    let run = only_run(&analysis);
    assert_eq!((run.world, &run.matching.absent[..]), (4, &[2][..]));
    assert_eq!(run.matching.matched.len(), 24);
}

#[test]
fn without_args_collectives_are_matched_by_kernel_name_and_order() {
    let paths = input_straggler("late_ranks_no_args", &[0, 1, 2, 3], |_| 0);
    let loaded = open(&paths, &OpenOptions::default(), &Progress::new()).unwrap();
    let trace = Arc::new(loaded.trace);
    let rules = Rules::builtin();
    let analysis =
        Analysis::with_args(trace, &rules, &Options::default(), &NoArgs, &|_| true).unwrap();
    let run = only_run(&analysis);
    assert_eq!(run.groups.len(), 1);
    assert_eq!(run.groups[0].label(), "all");
    assert_eq!(run.matching.matched.len(), 24);
}

#[test]
fn time_with_communication_alone_is_told_apart() {
    let analysis = analyse(&input_straggler("late_ranks_alone", &[0, 2], |_| 0));
    let mut text = String::new();
    for g in 0..analysis.gpus().len() {
        let only = analysis.only_communication(g);
        let busy = analysis.gpus()[g].busy.measure();
        let _ = write!(text, "{}/{} ", only.measure() / MS, busy / MS);
        assert!(!only.contains(only.parts()[0].start - 1));
        assert!(
            analysis.gpus()[g]
                .busy
                .measure_in(TimeRange::new(i64::MIN / 2, i64::MAX / 2))
                == busy
        );
    }
    // 22.8 ms of 30.8 ms a step wait for rank 2 and transfer; on rank 2 it is the transfer alone.
    assert_eq!(text.trim(), "547/739 72/264");
}

fn whole(analysis: &Analysis) -> JobVerdict {
    let mut jobs = analysis.jobs(analysis.trace().extent());
    assert_eq!(jobs.len(), 1);
    jobs.remove(0)
}

/// The only run of a made job, by what its ranks do in each step.
fn judged(name: &str, numbers: &[u32], step: impl Fn(u32, usize) -> Step) -> JobVerdict {
    whole(&analyse(&job(&scratch(name), 24, numbers, |_| 0, step)))
}

const EACH: i64 = 19_800 * US;

#[test]
fn a_rank_that_waits_for_its_data_holds_up_the_job() {
    let analysis = analyse(&input_straggler("late_ranks_input", &[0, 1, 2, 3], |_| 0));
    let job = whole(&analysis);
    assert_eq!(job.kind, IssueKind::InputStraggler);
    assert_eq!(job.kind_of, KindOf::Job);
    let late = job.lateness.as_ref().unwrap();
    assert_eq!(late.pattern, LatePattern::Persistent);
    assert_eq!(late.culprit.map(|r| analysis.ranks()[r].rank), Some(2));
    // 23 of 24 steps are judged; each waits 20 ms on rank 2 and 0.2 ms elsewhere.
    assert_eq!((late.cost, late.per_step()), (23 * EACH, EACH));
    assert_eq!(late.of_ns, 23 * 31_090 * US);
    let ranks: Vec<_> = job
        .late
        .iter()
        .map(|l| (l.last, l.last_shared, l.waited))
        .collect();
    let waits = (0, 0, 24 * EACH);
    assert_eq!(ranks, [waits, waits, (24, 0, 0), waits]);
    let text = &job.text;
    assert_eq!(
        text.verdict,
        "Rank 2 holds up the job: the other 3 ranks wait 19.8 ms of each 31.1 ms step for it (63.7 %), since it \
         waits for its data."
    );
    assert_eq!(
        text.why,
        "Last at 24 of 24 all-reduces; waiting for data: 20 ms a step, the others 200 µs (explains 100 %)."
    );
    assert_eq!(
        text.next,
        "Look at rank 2's loader, its shard and its host."
    );
    for verdict in &job.ranks {
        let number = analysis.ranks()[verdict.rank].rank;
        if number == 2 {
            assert_eq!(verdict.kind(), IssueKind::InputBound);
            continue;
        }
        let issue = &verdict.issues[0];
        assert_eq!((issue.kind, issue.value), (IssueKind::RankWait, 23 * EACH));
        let begin = format!("Rank {number} waits 19.8 ms a step for rank 2: 63.7 % of ");
        assert!(
            issue.text.verdict.starts_with(&begin),
            "{}",
            issue.text.verdict
        );
        let comm = verdict.comm.unwrap();
        let split = comm.split.unwrap();
        assert_eq!(split.wait + split.transfer_exposed, comm.time);
        assert_eq!(split.transfer_exposed, 23 * 3 * MS);
    }
}

#[test]
fn a_rank_whose_kernels_run_longer_is_told_by_its_compute() {
    let job = judged("late_ranks_compute", &[0, 1, 2, 3], |r, _| Step {
        wait: 200 * US,
        compute: if r == 1 { 18 * MS } else { 8 * MS },
    });
    assert_eq!(job.kind, IssueKind::ComputeStraggler);
    assert!(
        job.text.verdict.contains("Rank 1 holds up the job")
            && job
                .text
                .verdict
                .ends_with("since its kernels run 10 ms longer."),
        "{}",
        job.text.verdict
    );
}

#[test]
fn two_causes_of_which_neither_explains_enough_are_not_one() {
    let job = judged("late_ranks_mixed", &[0, 1, 2, 3], |r, _| match r {
        1 => Step {
            wait: 6_200 * US,
            compute: 14 * MS,
        },
        _ => Step {
            wait: 200 * US,
            compute: 8 * MS,
        },
    });
    assert_eq!(job.kind, IssueKind::Straggler);
    assert!(
        job.text
            .verdict
            .ends_with("; why cannot be told (INPUT: 50 % of it)."),
        "{}",
        job.text.verdict
    );
    assert!(
        job.text
            .why
            .ends_with("more than the others in a step: compute +6 ms, waiting for data +6 ms."),
        "{}",
        job.text.why
    );
}

#[test]
fn where_another_rank_is_late_each_time_none_is_named() {
    let job = judged("late_ranks_wandering", &[0, 1, 2, 3], |r, k| Step {
        wait: if k % 4 == r as usize {
            20 * MS
        } else {
            200 * US
        },
        compute: 8 * MS,
    });
    assert_eq!(job.kind, IssueKind::InputImbalance);
    let late = job.lateness.as_ref().unwrap();
    assert_eq!((late.pattern, late.culprit), (LatePattern::Wandering, None));
    assert_eq!(late.cost, 23 * EACH);
    // The first step, in which rank 0 is late, is not judged.
    assert!(
        job.text.verdict.starts_with(
            "Now this, now that rank is late (rank 1 in 6, 2 in 6, 3 in 6, 0 in 5 of 23 steps): the ranks wait 19.8 ms"
        ),
        "{}",
        job.text.verdict
    );
    assert!(job.text.next.ends_with("no single rank is at fault."));
    let charges: i64 = job.late.iter().map(|l| l.cost).sum();
    assert_eq!(charges, 24 * EACH);
}

#[test]
fn ranks_that_arrive_together_are_bound_by_the_transfer() {
    let together = |_: u32, _: usize| Step {
        wait: 200 * US,
        compute: 2 * MS,
    };
    let job = judged("late_ranks_together", &[0, 1, 2, 3], together);
    assert_eq!(
        (job.kind, job.kind_of),
        (IssueKind::CommBound, KindOf::AllRanks)
    );
    assert_eq!((job.matched, job.together), (24, 24));
    assert_eq!(job.score(), Some(0.0));
    let said = &job.ranks[0].issues[0].text.verdict;
    assert!(
        said.starts_with(
            "Communication-bound: the transfer itself takes 56.7 % of the judged steps"
        ) && said.ends_with("the ranks arrive together (within 5 µs in 24 of 24)."),
        "{said}"
    );
    // Of one rank alone nobody knows what is waiting.
    let job = judged("late_ranks_one", &[0, 3], together);
    assert_eq!(job.missing, [JobMissing::Ranks]);
    let job = judged("late_ranks_last", &[3], together);
    let issue = &job.ranks[0].issues[0];
    assert_eq!(issue.kind, IssueKind::CommBound);
    assert!(
        issue.text.verdict.ends_with(
            "not hidden by compute. Transfer or waiting for a late rank? Open the traces of the other 3 ranks."
        ),
        "{}",
        issue.text.verdict
    );
    assert_eq!(job.score(), None);
}

/// The exit code of `check`, and what it says.
fn check(paths: &[PathBuf], more: &[&str]) -> (Option<i32>, String) {
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_stallscope"))
        .arg("check")
        .args(paths)
        .args(more)
        .output()
        .unwrap();
    (
        run.status.code(),
        String::from_utf8_lossy(&run.stdout).into_owned(),
    )
}

#[test]
fn late_ranks_can_be_limited() {
    let all = input_straggler("late_ranks_check", &[0, 1, 2, 3], |_| 0);
    let (code, said) = check(
        &all,
        &["--max-late-rank", "63%", "--expect", "INPUT_STRAGGLER"],
    );
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("63.7 %") && said.contains("Rank 2 holds up the job"),
        "{said}"
    );
    let (code, said) = check(&all, &["--max-late-rank", "64%"]);
    assert_eq!(code, Some(0), "{said}");
    // Without the late rank the others look prompt: below the limit nothing is certain, above it all is.
    let some = input_straggler("late_ranks_check_some", &[0, 1, 3], |_| 0);
    assert_eq!(check(&some, &["--max-late-rank", "5%"]).0, Some(4));
    let others = input_straggler("late_ranks_check_others", &[0, 2], |_| 0);
    assert_eq!(check(&others, &["--max-late-rank", "5%"]).0, Some(3));
    let one = input_straggler("late_ranks_check_one", &[2], |_| 0);
    let (code, said) = check(&one, &["--max-late-rank", "5%"]);
    assert_eq!(code, Some(4));
    assert!(said.contains("one rank was opened"), "{said}");
}

#[test]
fn each_of_several_runs_has_its_own_job() {
    let early = input_straggler("late_ranks_early", &[0, 2], |_| 0);
    let late = job(
        &scratch("late_ranks_later"),
        24,
        &[0, 1],
        |_| 3_600_000 * MS,
        |_, _| Step {
            wait: 200 * US,
            compute: 2 * MS,
        },
    );
    let analysis = analyse(&[early, late].concat());
    let json = report(&analysis, &ReportOptions::default());
    assert_eq!(json["job"], Value::Null);
    let kinds: Vec<&Value> = (0..2).map(|i| &json["runs"][i]["job"]["verdict"]).collect();
    assert_eq!(kinds, ["INPUT_STRAGGLER", "COMM_BOUND"]);
}

#[test]
fn waiting_is_drawn_apart_from_transfer_and_the_last_rank_is_marked() {
    let analysis = analyse(&input_straggler("late_ranks_drawn", &[0, 2], |_| 0));
    let scene = Scene::of(analysis.trace().clone());
    let start = scene.trace.extent().start;
    // The second step: rank 0 arrives after 8.24 ms, rank 2 after 28.04 ms, all leave after 31.04 ms.
    let step = start + 31_090 * US;
    let list = Look::new(&scene, 1_000.0)
        .at(TimeRange::new(step, step + 31_090 * US))
        .draw(&scene);
    let theme = Theme::dark();
    let full = theme.swatch(Swatch::GpuComm);
    let pale = full.percent(25).over(theme.lane);
    let items: Vec<&Item> = list.sections.iter().flat_map(|s| &s.items).collect();
    let ms = |x: f32| f64::from(x - HEADER) * 31.09 / 1_000.0;
    let waits = items.iter().filter_map(|i| match i {
        Item::Rect { rect, fill } if *fill == pale => Some((ms(rect.x0), ms(rect.x1))),
        _ => None,
    });
    let waits: Vec<(f64, f64)> = waits.collect();
    assert_eq!(waits.len(), 1, "{waits:?}");
    assert!(
        (waits[0].0 - 8.24).abs() < 0.05 && (waits[0].1 - 28.04).abs() < 0.05,
        "{waits:?}"
    );
    // The last rank has a wedge at its start, and the waiting one a line there.
    let wedges = items.iter().filter_map(|i| match i {
        Item::Triangle { points, color } if *color == theme.strong => Some(ms(points[0].x)),
        _ => None,
    });
    let wedges: Vec<f64> = wedges.collect();
    assert_eq!(wedges.len(), 1);
    assert!((wedges[0] - 28.04).abs() < 0.05, "{wedges:?}");
    // The band shows communication alone in its own colour, over the busy time.
    let band = list.sections.iter().filter(|s| s.kind == SectionKind::Band);
    let comm = band.flat_map(|s| &s.items).filter_map(|i| match i {
        Item::Rect { rect, fill } if *fill == full.over(theme.lane) => {
            Some((ms(rect.x0), ms(rect.x1)))
        }
        _ => None,
    });
    let comm: Vec<(f64, f64)> = comm.collect();
    assert_eq!(comm.len(), 2, "{comm:?}");
    assert!(
        (comm[0].0 - 8.24).abs() < 0.05 && (comm[0].1 - 31.04).abs() < 0.05,
        "{comm:?}"
    );
    assert!((comm[1].0 - 28.04).abs() < 0.05, "{comm:?}");
}
