//! Late ranks, from the collectives: what ranks waited, who came last, and how it is drawn; on real files and on made ones.

use crate::common;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{Differences, scratch, shared};
use serde_json::{Value, json};
use stallscope::analysis::{Analysis, Collectives, Found, GoOn, NoArgs, Options, Rules};
use stallscope::import::{OpenOptions, Progress, SharedArgs, open};
use stallscope::model::SpanId;
use stallscope::time::TimeRange;

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
struct Step {
    wait: i64,
    compute: i64,
}

/// A made job: every rank waits for data, computes, and meets the others in an all-reduce that takes 3 ms once all are
/// there. A file per rank, its times shifted by `shift`.
fn job(
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
