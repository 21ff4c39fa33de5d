//! Who is who in several files: processes, hosts, parents, ranks, GPUs of other programs; small files made here.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stallscope::analysis::{Analysis, OsProcess, Purpose};

use crate::simulated::{MS, US, analysed, codes};
use crate::simulation::model::Rng;

/// Unix time of the files' zero, µs.
const ZERO: i64 = 1_700_000_000_000_000;

/// torch's file of a loop: `steps` of 10 ms from `from` ms on, each with a wait and an operator.
fn torch(
    path: &Path,
    host: Option<&str>,
    rank: Option<u32>,
    pid: i64,
    from: i64,
    steps: i64,
) -> PathBuf {
    let mut events = Vec::new();
    let mut jitter = Rng::new(u64::try_from(pid + from).unwrap());
    for k in 0..steps {
        let at = ZERO + (from + k * 10) * 1_000 + i64::try_from(jitter.below(900)).unwrap();
        let mut span = |cat: &str, name: &str, start: i64, dur: i64| {
            events.push(
                json!({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": pid,
                "ts": at + start, "dur": dur}),
            );
        };
        span("user_annotation", &format!("ProfilerStep#{k}"), 0, 8_900);
        let next = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
        span("user_annotation", next, 10, 2_000);
        span("cpu_op", "aten::addmm", 2_100, 4_000);
    }
    let mut file = json!({"schemaVersion": 1, "baseTimeNanoseconds": 0, "traceEvents": events});
    if let Some(host) = host {
        file["host_name"] = json!(host);
    }
    if let Some(rank) = rank {
        file["distributedInfo"] = json!({"backend": "gloo", "rank": rank, "world_size": 2});
    }
    std::fs::write(path, file.to_string()).unwrap();
    path.to_owned()
}

/// A worker's file of DFTracer, from `from` ms on.
fn worker(folder: &Path, host: &str, pid: i64, parent: i64, from: i64) -> PathBuf {
    let line = |id: i64, name: &str, cat: &str, at: i64, dur: i64, args: Value| {
        json!({"id": id, "name": name, "cat": cat, "pid": pid, "tid": pid, "ph": 1,
            "ts": ZERO + from * 1_000 + at, "dur": dur, "args": args})
        .to_string()
    };
    let own = json!({"hhash": "h"});
    let mut lines = vec![
        json!({"name": "HH", "cat": "dftracer", "type": 1, "pid": pid, "tid": pid, "ph": 4,
            "args": {"hhash": "h", "name": host, "value": "h"}})
        .to_string(),
        line(
            1,
            "start",
            "dftracer",
            0,
            0,
            json!({"hhash": "h", "ppid": parent}),
        ),
    ];
    lines
        .extend((0..6).map(|i| line(2 + i, "item", "data", 1_000 + i * 9_000, 7_000, own.clone())));
    let path = folder.join(format!("trace-{pid:016x}-fork.pfw"));
    std::fs::write(&path, lines.join("\n")).unwrap();
    path
}

fn process<'a>(analysis: &'a Analysis, pid: &str) -> Vec<&'a OsProcess> {
    let all = analysis.identity().processes.iter();
    all.filter(|p| p.pid == pid).collect()
}

#[test]
fn equal_numbers_on_two_hosts_are_two_processes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let paths = [
        torch(&at("a.json"), Some("node01.cluster"), Some(0), 500, 0, 6),
        torch(&at("b.json"), Some("node02"), Some(1), 500, 3, 6),
    ];
    let analysis = analysed(&paths);
    assert_eq!(process(&analysis, "500").len(), 2);
    assert_eq!(analysis.identity().runs.len(), 1);
    let ranks: Vec<u32> = analysis.ranks().iter().map(|r| r.rank).collect();
    assert_eq!(ranks, [0, 1]);
    assert!(codes(&analysis).contains(&"hosts_differ"));
}

/// Each rank in a container of its own: all have one number, and no file names a host. A file without a rank joins one of
/// them, not both.
#[test]
fn different_stated_ranks_are_never_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let paths = [
        torch(&at("a.json"), None, None, 500, 1, 6),
        torch(&at("b.json"), None, Some(0), 500, 0, 6),
        torch(&at("c.json"), None, Some(1), 500, 3, 6),
    ];
    for paths in [&paths[1..], &paths[..]] {
        let analysis = analysed(paths);
        let found = process(&analysis, "500");
        let ranks: Vec<Option<u32>> = found.iter().map(|p| p.rank).collect();
        assert_eq!(ranks, [Some(0), Some(1)]);
        let files: Vec<usize> = found.iter().map(|p| p.recordings.len()).collect();
        assert_eq!(files, [paths.len() - 1, 1]);
        assert_eq!(analysis.identity().runs.len(), 1);
        let ranks: Vec<u32> = analysis.ranks().iter().map(|r| r.rank).collect();
        assert_eq!(ranks, [0, 1]);
    }
}

#[test]
fn a_host_is_known_by_its_name_up_to_the_first_dot() {
    let folder = tempfile::tempdir().unwrap();
    let loops = torch(
        &folder.path().join("a.json"),
        Some("Node01.cluster"),
        None,
        500,
        0,
        6,
    );
    let loads = worker(folder.path(), "node01", 600, 500, 5);
    let analysis = analysed(&[loops, loads]);
    let found = process(&analysis, "600");
    assert_eq!(found[0].purpose, Purpose::Worker);
    assert_eq!(found[0].rank, Some(0));
    assert_eq!(analysis.identity().runs.len(), 1);
}

#[test]
fn a_worker_whose_parent_left_no_file_tells_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let analysis = analysed(&[worker(folder.path(), "node01", 600, 500, 0)]);
    assert!(codes(&analysis).contains(&"parent_not_opened"));
    let parent = process(&analysis, "500");
    assert!(!parent[0].recorded && parent[0].purpose == Purpose::Training);
    assert_eq!(process(&analysis, "600")[0].purpose, Purpose::Worker);
}

/// A number is used again: the worker of a process that ran an hour later is none of the earlier one.
#[test]
fn a_parent_is_looked_for_at_its_own_time() {
    let folder = tempfile::tempdir().unwrap();
    let loops = torch(
        &folder.path().join("a.json"),
        Some("node01"),
        None,
        500,
        0,
        6,
    );
    let loads = worker(folder.path(), "node01", 600, 500, 3_600_000);
    let analysis = analysed(&[loops, loads]);
    assert_eq!(analysis.identity().runs.len(), 2);
    let of = process(&analysis, "600")[0]
        .of
        .map(|of| &analysis.identity().processes[of]);
    assert!(of.is_none_or(|p| p.range.start > 3_000_000 * MS), "{of:?}");
}

#[test]
fn one_rank_stated_twice_at_other_times_is_two_runs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let paths = [
        torch(&at("a.json"), Some("node01"), Some(0), 500, 0, 6),
        torch(&at("b.json"), Some("node01"), Some(0), 700, 60_000, 6),
    ];
    let analysis = analysed(&paths);
    assert_eq!(analysis.identity().runs.len(), 2);
    assert!(codes(&analysis).contains(&"several_runs"));
    let ranks: Vec<u32> = analysis.ranks().iter().map(|r| r.rank).collect();
    assert_eq!(ranks, [0, 1]);
}

/// XLA writes a process per GPU: its streams hold the operations, its other threads sum them up and are no work of their own.
#[test]
fn gpus_that_xla_writes_as_processes_are_gpus() {
    let mut events = Vec::new();
    let mut meta = |what: &str, pid: i64, tid: i64, name: &str| {
        events
            .push(json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}));
    };
    meta("process_name", 3, 0, "/device:GPU:2");
    meta("thread_name", 3, 14, "Stream #14(MemcpyH2D)");
    meta("thread_name", 3, 15, "Stream #15(Compute)");
    meta("thread_name", 3, 99, "XLA Modules");
    meta("process_name", 701, 0, "/host:CPU");
    meta("thread_name", 701, 1, "python");
    let mut span = |pid: i64, tid: i64, name: &str, start: i64, dur: i64| {
        events.push(
            json!({"ph": "X", "pid": pid, "tid": tid, "name": name, "ts": start, "dur": dur}),
        );
    };
    span(3, 14, "MemcpyH2D", 100, 50);
    span(3, 15, "fusion.1", 140, 60);
    span(3, 15, "all-reduce.7", 260, 40);
    span(3, 99, "jit_step", 100, 200);
    span(701, 1, "train", 0, 400);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("xla.trace.json");
    let file = json!({"displayTimeUnit": "ns", "traceEvents": events});
    std::fs::write(&path, file.to_string()).unwrap();
    let analysis = analysed(&[path]);
    let [gpu] = analysis.gpus() else {
        panic!("{} GPUs", analysis.gpus().len());
    };
    assert_eq!(gpu.key, "2");
    assert_eq!(gpu.busy.measure(), 140 * US);
    let keys: Vec<&str> = analysis
        .trace()
        .lanes()
        .iter()
        .map(|l| l.key.as_str())
        .collect();
    assert!(
        keys.contains(&"G2.14") && keys.contains(&"G2.15"),
        "{keys:?}"
    );
    let layers = analysis.layers();
    let layer = |name: &str| {
        let trace = analysis.trace();
        let span = trace
            .spans()
            .ids()
            .find(|&s| trace.span_name(s) == name)
            .unwrap();
        layers.info(layers.of(span)).name.to_string()
    };
    assert_eq!(layer("MemcpyH2D"), "gpu.h2d");
    assert_eq!(layer("fusion.1"), "gpu.compute");
    assert_eq!(layer("all-reduce.7"), "gpu.comm");
}
