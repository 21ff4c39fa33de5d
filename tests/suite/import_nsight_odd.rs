//! Nsight exports of several ranks, and tables in forms that nsys does not write: what is known is used, the rest named.

use crate::support::nsight_help as help;
use crate::support::nsight_tiny as tiny;

use std::sync::Arc;

use stallscope::analysis::{Analysis, Identity, NoArgs, Options, Rules};
use stallscope::import::{ArgsReader, Loaded, OpenOptions, Place, Progress};

use help::{find, lane, load, noted, scratch, warnings};
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
    let who = Identity::new(trace, &Rules::builtin(), &NoArgs, &|| true);
    let ranks: Vec<_> = who
        .processes
        .iter()
        .map(|p| (p.pid.as_str(), p.rank))
        .collect();
    assert_eq!(ranks, [("10", Some(0)), ("11", Some(1))]);
    // Each GPU is one rank's, by its copies.
    let rank = |key: &str| {
        let wanted = lane(trace, key);
        let mut lanes = trace.lane_ids();
        who.rank(lanes.find(|&l| std::ptr::eq(trace.lane(l), wanted))?)
    };
    assert_eq!((rank("G?.0.1.7"), rank("G?.1.1.7")), (Some(0), Some(1)));
    assert_eq!(trace.launches().len(), 2, "of the copies");
}

#[test]
fn tables_that_cannot_be_read_by_row_number_are_named() {
    let odd = [
        (
            "view",
            "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO kernels;
             CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM kernels;",
            "it is a view, not a table",
        ),
        (
            "without_rowid",
            "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;
             CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER PRIMARY KEY, end INTEGER) WITHOUT ROWID;
             INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2);",
            "its rows have no numbers",
        ),
    ];
    for (name, sql, why) in odd {
        let loaded = changed(name, |t| t.sql(sql));
        assert_eq!(warnings(&loaded), ["table_unreadable", "no_kernels"]);
        let text: Vec<String> = loaded.report.warnings().map(ToString::to_string).collect();
        let expected = format!(
            "skipped: A table could not be read and was left out (CUPTI_ACTIVITY_KIND_KERNEL: {why})."
        );
        assert_eq!(text[0], expected);
        assert!(text[1].contains("could not be read"), "{}", text[1]);
        // The copy is there.
        assert_eq!(loaded.trace.launches().len(), 1);
    }
}

#[test]
fn a_view_is_not_asked_for_args_either() {
    let loaded = changed("strings_view", |t| {
        t.sql(
            "ALTER TABLE StringIds RENAME TO strings;
             CREATE VIEW StringIds AS SELECT * FROM strings;",
        );
    });
    let trace = &loaded.trace;
    let call = trace.launches()[0].from;
    let args = ArgsReader::new().read(trace, call);
    let args = args.expect("readable").expect("args");
    assert!(args["nameId"].is_i64(), "{}", args["nameId"]);
}

#[test]
fn names_of_tables_and_columns_are_matched_without_regard_to_case() {
    let loaded = changed("small_letters", |t| {
        t.sql(
            "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO k;
             ALTER TABLE k RENAME TO cupti_activity_kind_kernel;
             ALTER TABLE cupti_activity_kind_kernel RENAME COLUMN correlationId TO CORRELATIONID;
             ALTER TABLE StringIds RENAME TO s;
             ALTER TABLE s RENAME TO STRINGIDS;",
        );
    });
    assert_eq!(warnings(&loaded), Vec::<&str>::new());
    assert_eq!(loaded.trace.launches().len(), 6);
    find(&loaded.trace, "K1");
}

#[test]
fn the_place_of_damage_is_a_row_or_none() {
    let path = scratch("damaged_root").join("report.sqlite");
    let t = Tiny::write(&path, "3.24.0");
    let page: i64 =
        t.db.query_row(
            "SELECT rootpage FROM sqlite_master WHERE name='CUPTI_ACTIVITY_KIND_RUNTIME'",
            [],
            |row| row.get(0),
        )
        .expect("there");
    let size: i64 =
        t.db.query_row("PRAGMA page_size", [], |row| row.get(0))
            .expect("a number");
    drop(t);
    let mut bytes = std::fs::read(&path).expect("readable");
    let from = usize::try_from((page - 1) * size).expect("small");
    bytes[from..from + 16].fill(0xff);
    std::fs::write(&path, bytes).expect("writable");
    let loaded = load(&path).expect("opens");
    assert!(noted(&loaded, "damaged_table") > 0);
    let mut texts = loaded.report.warnings().map(|n| n.text.as_str());
    let unread = "The CUDA API calls of this export could not be read";
    assert!(texts.any(|t| t.starts_with(unread)));
    let places = loaded.report.notices.iter().flat_map(|n| &n.places);
    for place in places {
        assert!(matches!(place, Place::Row(1..)), "{place}");
    }
}

#[test]
fn damage_inside_a_tree_costs_the_same_rows_on_any_number_of_threads() {
    let path = scratch("damaged_tree").join("report.sqlite");
    let t = Tiny::write(&path, "3.24.0");
    // Many ranges of row numbers, so that several connections read.
    t.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO StringIds SELECT 1000000 * i, 'text number ' || i FROM n;",
    );
    let query = "SELECT rootpage FROM sqlite_master WHERE name='StringIds'";
    let number = |sql: &str| {
        let number: u32 = t.db.query_row(sql, [], |row| row.get(0)).expect("a number");
        number as usize
    };
    let (page, size) = (number(query), number("PRAGMA page_size"));
    drop(t);
    let whole = std::fs::read(&path).expect("readable");
    let root = (page - 1) * size;
    assert_eq!(whole[root], 5, "a page of pointers to others");
    // The third cell reaches over the end of the page: seen by whoever looks at the page for the first time.
    let mut bytes = whole.clone();
    let last = u16::try_from(size - 4).expect("small").to_be_bytes();
    bytes[root + 16..root + 18].copy_from_slice(&last);
    std::fs::write(&path, bytes).expect("writable");
    let open = |threads: usize| {
        let options = OpenOptions {
            threads,
            ..OpenOptions::default()
        };
        stallscope::import::open(std::slice::from_ref(&path), &options, &Progress::new())
            .expect("opens")
    };
    let one = open(1);
    for threads in [2, 3, 5] {
        let several = open(threads);
        assert_eq!(one.report, several.report, "{threads} threads");
        let names = |l: &Loaded| -> Vec<String> {
            let trace = &l.trace;
            trace
                .spans()
                .ids()
                .map(|s| trace.span_name(s).to_owned())
                .collect()
        };
        assert_eq!(names(&one), names(&several), "{threads} threads");
    }
}

#[test]
fn damage_of_small_tables_is_said_too() {
    let tables = [
        ("META_DATA_CAPTURE", "name TEXT, value TEXT"),
        ("TARGET_INFO_SESSION_START_TIME", "utcEpochNs INTEGER"),
        (
            "TARGET_INFO_CUDA_DEVICE",
            "gpuId INTEGER, cudaId INTEGER, pid INTEGER",
        ),
        ("PROCESSES", "globalPid INTEGER, pid INTEGER, name TEXT"),
        (
            "GPU_METRICS",
            "timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER",
        ),
        ("DIAGNOSTIC_EVENT", "text TEXT"),
    ];
    for (table, columns) in tables {
        let path = scratch(&format!("damaged_{table}")).join("report.sqlite");
        let t = Tiny::write(&path, "3.24.0");
        t.sql(&format!(
            "DROP TABLE IF EXISTS {table}; CREATE TABLE {table} ({columns}); INSERT INTO {table} DEFAULT VALUES;"
        ));
        let number = |sql: &str| -> usize {
            let number = t.db.query_row(sql, [], |row| row.get::<_, u32>(0));
            number.expect("a number") as usize
        };
        let query = format!("SELECT rootpage FROM sqlite_master WHERE name = '{table}'");
        let (page, size) = (number(&query), number("PRAGMA page_size"));
        drop(t);
        let mut bytes = std::fs::read(&path).expect("readable");
        bytes[(page - 1) * size..][..16].fill(0xff);
        std::fs::write(&path, bytes).expect("writable");
        let loaded = load(&path).expect("opens");
        assert_eq!(noted(&loaded, "damaged_table"), 1, "{table}");
        let mut texts = loaded.report.warnings().map(|n| n.text.as_str());
        assert!(texts.any(|t| t.contains(table)), "{table}");
    }
}
