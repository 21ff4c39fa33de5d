//! Nsight exports of several ranks, and tables in forms that nsys does not write: what is known is used, the rest named.

#[path = "support/nsight_help.rs"]
mod help;
#[path = "support/nsight_tiny.rs"]
mod tiny;

use std::sync::Arc;

use stallscope::analysis::{Analysis, Options, Rules};
use stallscope::import::Loaded;

use help::{lane, load, scratch, warnings};
use tiny::Tiny;

const MS: i64 = 1_000_000;

/// The tiny export of schema 3.24.0, changed by `change`.
fn changed(name: &str, change: impl FnOnce(&mut Tiny)) -> Loaded {
    let path = scratch(name).join("report.sqlite");
    change(&mut Tiny::write(&path, "3.24.0"));
    load(&path).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Two processes with a GPU each: the second one runs the same loop under pid 11 on device 1.
fn two_ranks(t: &mut Tiny) {
    for (table, device, process) in [
        ("KERNEL", true, "globalPid"),
        ("MEMCPY", true, "globalPid"),
        ("SYNCHRONIZATION", true, "globalPid"),
        ("RUNTIME", false, "globalTid"),
    ] {
        let table = format!("CUPTI_ACTIVITY_KIND_{table}");
        t.sql(&copy_rows(&table, device, process));
    }
    t.sql(&copy_rows("NVTX_EVENTS", false, "globalTid"));
}

/// Copies all rows of a table to the process with the next pid, and to device 1.
fn copy_rows(table: &str, device: bool, process: &str) -> String {
    let device = if device { "deviceId=1," } else { "" };
    format!(
        "CREATE TEMP TABLE copied AS SELECT * FROM {table};
         UPDATE copied SET {device} {process}={process}+{};
         INSERT INTO {table} SELECT * FROM copied;
         DROP TABLE copied;",
        (1 << 24) + i64::from(process == "globalTid")
    )
}

#[test]
fn ranks_have_the_gpus_that_their_streams_work_on_without_any_call() {
    let waits = |loaded: Loaded| {
        let (rules, options) = (Rules::builtin(), Options::default());
        let trace = Arc::new(loaded.trace);
        let analysis = Analysis::new(trace, &rules, &options, &|_| true).expect("not cancelled");
        let ranks = analysis.ranks().iter();
        let exposed = ranks.map(|r| (r.rank, r.gpu, r.wait.measure(), r.wait_exposed.measure()));
        exposed.collect::<Vec<_>>()
    };
    let expected = [
        (0, Some(0), 38 * MS, 11 * MS),
        (1, Some(1), 38 * MS, 11 * MS),
    ];
    let loaded = changed("two_ranks", two_ranks);
    assert_eq!(waits(loaded), expected);
    let loaded = changed("two_ranks_no_runtime", |t| {
        two_ranks(t);
        t.sql("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME");
    });
    assert_eq!(warnings(&loaded), ["no_runtime"]);
    assert_eq!(waits(loaded), expected);
}

#[test]
fn operations_of_unknown_processes_are_no_rank_of_their_own() {
    let loaded = changed("two_ranks_no_process", |t| {
        two_ranks(t);
        t.sql("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid=NULL");
    });
    let trace = &loaded.trace;
    let ranks: Vec<_> = trace
        .processes()
        .iter()
        .map(|p| (p.pid.as_str(), p.rank))
        .collect();
    assert_eq!(ranks, [("10", 0), ("11", 1)]);
    // Each GPU is one rank's, by its copies.
    assert_eq!(lane(trace, "G?.0.1.7").rank, 0);
    assert_eq!(lane(trace, "G?.1.1.7").rank, 1);
    assert_eq!(trace.launches().len(), 2, "of the copies");
}
