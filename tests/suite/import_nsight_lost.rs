//! Nsight exports of which something cannot be read: what is unknown because of it is said, and no limit holds.

use crate::support::nsight_help as help;
use crate::support::nsight_tiny as tiny;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use stallscope::analysis::{Analysis, Options, Rules};
use stallscope::import::{ArgsReader, Loaded, NoticeKind};
use stallscope::model::{Clock, LaneKind};

use help::{find, lane, load, noted, scratch, warnings};
use tiny::{PROCESS, Tiny};

/// The tiny export of schema 3.24.0, changed by `change`.
fn changed(name: &str, change: impl FnOnce(&mut Tiny)) -> (PathBuf, Loaded) {
    let path = scratch(name).join("report.sqlite");
    change(&mut Tiny::write(&path, "3.24.0"));
    let loaded = load(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
    (path, loaded)
}

/// Exit code of a check of a limit that the tiny export keeps.
fn check(path: &Path) -> i32 {
    let out = Command::new(env!("CARGO_BIN_EXE_stallscope"))
        .args(["check", "--max-exposed-wait", "90%"])
        .arg(path)
        .output()
        .expect("runs");
    out.status.code().expect("an exit code")
}

/// The text of the only notice of a code.
fn text<'a>(loaded: &'a Loaded, code: &str) -> &'a str {
    let mut found = loaded.report.notices.iter().filter(|n| n.code == code);
    let notice = found.next().unwrap_or_else(|| panic!("no {code}"));
    assert!(found.next().is_none(), "{code} twice");
    &notice.text
}

fn number(db: &rusqlite::Connection, sql: &str) -> usize {
    let number: u32 = db.query_row(sql, [], |row| row.get(0)).expect("a number");
    number as usize
}

/// Overwrites the first page of each table with zeros.
fn zero_roots(path: &Path, tables: &[&str]) {
    let db = rusqlite::Connection::open(path).expect("opens");
    let size = number(&db, "PRAGMA page_size");
    let root = |table: &&str| {
        let sql = format!("SELECT rootpage FROM sqlite_master WHERE name='{table}'");
        number(&db, &sql)
    };
    let roots: Vec<usize> = tables.iter().map(root).collect();
    drop(db);
    let mut bytes = std::fs::read(path).expect("readable");
    for page in roots {
        bytes[(page - 1) * size..][..size].fill(0);
    }
    std::fs::write(path, bytes).expect("writable");
}

/// The bytes of a file, the place of the root of a table of several pages in them, and the size of a page.
fn tree(path: &Path, table: &str) -> (Vec<u8>, usize, usize) {
    let db = rusqlite::Connection::open(path).expect("opens");
    let size = number(&db, "PRAGMA page_size");
    let sql = format!("SELECT rootpage FROM sqlite_master WHERE name='{table}'");
    let root = (number(&db, &sql) - 1) * size;
    let bytes = std::fs::read(path).expect("readable");
    assert_eq!(bytes[root], 5, "a page of pointers to others");
    (bytes, root, size)
}

/// Where the root holds the number (4 bytes) of its page at `index`.
fn child(bytes: &[u8], root: usize, index: usize) -> usize {
    let at = root + 12 + 2 * index;
    root + usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

/// Two ranks that both call their GPU 0, and every small table.
fn two_gpus(t: &mut Tiny) {
    let other = PROCESS + (1 << 24);
    t.kernel("second", 7, 12., 20., 900);
    t.sql(&format!(
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid={other} WHERE correlationId=900;
         CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
         INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 10), (5, 0, 11);
         INSERT INTO TARGET_INFO_GPU VALUES (3, 'Third', 1), (5, 'Fifth', 0);
         CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
         INSERT INTO META_DATA_CAPTURE VALUES ('CUDA_GRAPH_TRACE_OPTIONS:MODE', 'Graph');
         CREATE TABLE DIAGNOSTIC_EVENT (text TEXT NOT NULL);
         INSERT INTO DIAGNOSTIC_EVENT VALUES ('sampling is not supported');
         CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);
         CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, metricId INTEGER, metricName TEXT);
         INSERT INTO TARGET_INFO_GPU_METRICS VALUES (256, 1, 'SMs Active');
         INSERT INTO GPU_METRICS VALUES (1000, 256, 1, 40);
         CREATE TABLE SCHED_EVENTS (start INTEGER);
         INSERT INTO SCHED_EVENTS VALUES (1), (2);"
    ));
}

#[test]
fn small_tables_that_cannot_be_read_are_losses_each_with_what_is_unknown() {
    let (whole, loaded) = changed("small", two_gpus);
    assert_eq!(warnings(&loaded), Vec::<&str>::new());
    assert_eq!(check(&whole), 0);
    let folder = scratch("small_damaged");
    for (table, unknown) in [
        ("TARGET_INFO_CUDA_DEVICE", "which GPU a process means"),
        ("TARGET_INFO_SESSION_START_TIME", "when the recording began"),
        ("TARGET_INFO_GPU", "names of GPUs"),
        ("PROCESSES", "names of processes"),
        ("ThreadNames", "names of threads"),
        ("META_DATA_EXPORT", "the versions are not known"),
        ("META_DATA_CAPTURE", "how CUDA graphs were traced"),
        ("DIAGNOSTIC_EVENT", "whether the recorder lost events"),
        ("GPU_METRICS", "samples of GPU counters"),
        ("TARGET_INFO_GPU_METRICS", "names of GPU counters"),
    ] {
        let path = folder.join(format!("{table}.sqlite"));
        std::fs::copy(&whole, &path).expect("copied");
        zero_roots(&path, &[table]);
        let loaded = load(&path).expect("opens");
        assert_eq!(warnings(&loaded), ["damaged_table"], "{table}");
        let notice = loaded.report.warnings().next().expect("one");
        assert_eq!((notice.kind, notice.count), (NoticeKind::Damaged, 1));
        for part in [table, unknown, "`nsys export --type sqlite`"] {
            assert!(
                notice.text.contains(part),
                "{part} is missing: {}",
                notice.text
            );
        }
        assert_eq!(check(&path), 4, "{table}");
        let name = match table {
            "ThreadNames" => "thread 10",
            _ => "python",
        };
        assert_eq!(lane(&loaded.trace, "C10.10").name, name);
    }
    let path = folder.join("both.sqlite");
    std::fs::copy(&whole, &path).expect("copied");
    zero_roots(
        &path,
        &["TARGET_INFO_CUDA_DEVICE", "TARGET_INFO_SESSION_START_TIME"],
    );
    let loaded = load(&path).expect("opens");
    assert_eq!(noted(&loaded, "damaged_table"), 2);
    assert_eq!(loaded.trace.devices().len(), 1);
    assert_eq!(loaded.trace.sources()[0].clock, Clock::Unknown);
}

#[test]
fn times_are_related_to_no_clock_where_the_shift_of_the_export_is_unknown() {
    let (path, _) = changed("shift", |_| {});
    zero_roots(&path, &["META_DATA_EXPORT"]);
    let loaded = load(&path).expect("opens");
    assert_eq!(loaded.trace.sources()[0].clock, Clock::Unknown);
    let (path, loaded) = changed("shift_word", |t| {
        t.sql("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_SHIFT', 'later')");
    });
    assert_eq!(loaded.trace.sources()[0].clock, Clock::Unknown);
    assert_eq!(warnings(&loaded), ["bad_facts"]);
    assert!(text(&loaded, "bad_facts").contains("EXPORT_PARAM_TIME_SHIFT is later"));
    assert_eq!(check(&path), 4);
}

#[test]
fn rows_behind_a_damaged_page_of_a_small_table_are_read() {
    let (path, _) = changed("small_tree", |t| {
        t.sql(
            "DELETE FROM PROCESSES;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
             INSERT INTO PROCESSES SELECT iif(i = 1900, $P, -i), i, 'name ' || i FROM n;",
        );
    });
    let (mut bytes, root, size) = tree(&path, "PROCESSES");
    let third = child(&bytes, root, 2);
    let leaf = usize::from(u16::from_be_bytes([bytes[third + 2], bytes[third + 3]]));
    bytes[(leaf - 1) * size..][..size].fill(0);
    std::fs::write(&path, bytes).expect("writable");
    let loaded = load(&path).expect("opens");
    assert_eq!(
        loaded.trace.processes()[0].name.as_deref(),
        Some("name 1900")
    );
    assert_eq!(noted(&loaded, "damaged_table"), 1);
}

#[test]
fn a_table_whose_last_row_comes_before_its_first_is_damaged_not_empty() {
    let (path, _) = changed("swapped", |t| {
        t.sql(
            "CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
             INSERT INTO OSRT_API SELECT 1000 * i, 1000 * i + 500, $T, 3 FROM n;",
        );
    });
    let (mut bytes, root, _) = tree(&path, "OSRT_API");
    let first = child(&bytes, root, 0);
    // The last page is named in the header of the root.
    for i in 0..4 {
        bytes.swap(first + i, root + 8 + i);
    }
    std::fs::write(&path, bytes).expect("writable");
    let loaded = load(&path).expect("opens");
    assert!(text(&loaded, "damaged_table").contains("(OSRT_API)"));
    assert_eq!(check(&path), 4);
}

#[test]
fn small_tables_in_another_form_are_told_and_missing_ones_were_not_recorded() {
    for (name, sql, why) in [
        (
            "view",
            "ALTER TABLE PROCESSES RENAME TO p; CREATE VIEW PROCESSES AS SELECT * FROM p;",
            "PROCESSES (it is a view, not a table): names of processes",
        ),
        (
            "column",
            "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER);
             INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0);",
            "TARGET_INFO_CUDA_DEVICE (no column pid): which GPU",
        ),
    ] {
        let (path, loaded) = changed(name, |t| t.sql(sql));
        assert_eq!(warnings(&loaded), ["facts_unreadable"], "{name}");
        let text = text(&loaded, "facts_unreadable");
        assert!(text.contains(why), "{text}");
        assert_eq!(check(&path), 4);
    }
    let (path, loaded) = changed("numbers", |t| {
        t.sql("UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs='today'");
    });
    assert_eq!(warnings(&loaded), ["bad_facts"]);
    assert_eq!(check(&path), 4);
    let (path, loaded) = changed("dropped", |t| {
        t.sql("DROP TABLE PROCESSES; DROP TABLE ThreadNames; DROP TABLE TARGET_INFO_GPU; DROP TABLE META_DATA_EXPORT;
               CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER)");
    });
    assert_eq!(warnings(&loaded), Vec::<&str>::new());
    assert_eq!(check(&path), 0);
}

#[test]
fn damage_to_tables_that_are_only_counted_is_told_and_costs_no_figure() {
    let (path, loaded) = changed("counted", two_gpus);
    assert!(text(&loaded, "not_drawn").contains("SCHED_EVENTS 2"));
    zero_roots(&path, &["SCHED_EVENTS"]);
    let loaded = load(&path).expect("opens");
    assert_eq!(warnings(&loaded), ["damaged_not_drawn"]);
    assert!(text(&loaded, "damaged_not_drawn").contains("SCHED_EVENTS"));
    assert_eq!(check(&path), 0);
}

#[test]
fn damaged_strings_are_told_in_the_args_of_a_row() {
    let (path, loaded) = changed("strings", |_| {});
    zero_roots(&path, &["StringIds"]);
    let mut args = ArgsReader::new();
    let kernel = args
        .read(&loaded.trace, find(&loaded.trace, "K2"))
        .expect("readable")
        .expect("args");
    let name = kernel["demangledName"].as_str().expect("a text");
    assert!(name.contains("its text could not be read"), "{name}");
}

/// A worker process beside the training process: it loads, and calls the operating system.
fn worker(t: &mut Tiny) {
    let thread = (PROCESS + (1 << 24)) | 11;
    let name = t.string("pt_data_worker");
    t.range("load_item", 1., 9.);
    t.sql(&format!(
        "UPDATE NVTX_EVENTS SET globalTid={thread} WHERE start=1000000;
         CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);
         INSERT INTO OSRT_API VALUES (1000000, 2000000, {thread}, {name});
         INSERT INTO ThreadNames VALUES ({name}, 20, {thread});"
    ));
}

#[test]
fn ranges_without_a_thread_belong_to_the_only_process_or_to_none() {
    let drop = "ALTER TABLE NVTX_EVENTS DROP COLUMN globalTid";
    let (path, loaded) = changed("one_process", |t| t.sql(drop));
    assert_eq!(warnings(&loaded), ["no_thread"]);
    assert_eq!(noted(&loaded, "no_thread"), 9);
    assert!(text(&loaded, "no_thread").contains("(NVTX_EVENTS)"));
    let ranges = lane(&loaded.trace, "C10.?");
    assert_eq!(
        (ranges.kind, ranges.name.as_str(), ranges.spans.len()),
        (LaneKind::Cpu, "thread not recorded", 9)
    );
    assert_eq!(check(&path), 0);

    let (path, loaded) = changed("two_processes", |t| {
        worker(t);
        t.sql(drop);
    });
    assert_eq!(warnings(&loaded), ["unknown_thread"]);
    assert_eq!(noted(&loaded, "unknown_thread"), 10);
    let ranges = lane(&loaded.trace, "C?.?");
    assert_eq!(
        (ranges.process, ranges.kind, ranges.name.as_str()),
        (None, LaneKind::Async, "process and thread not recorded")
    );
    assert_eq!(loaded.trace.processes().len(), 2, "nobody is made up");
    assert_eq!(check(&path), 4);
    let trace = Arc::new(loaded.trace);
    let (rules, options) = (Rules::builtin(), Options::default());
    let analysis = Analysis::new(trace, &rules, &options, &|_| true).expect("not cancelled");
    assert!(!analysis.loads_by_itself(0), "the worker may be the loader");
    assert_eq!(analysis.ranks()[0].wait.measure(), 0);

    // Another process of the same name: the ranges may be of that one.
    let (_, loaded) = changed("same_name", |t| {
        t.sql(drop);
        t.sql("INSERT INTO PROCESSES SELECT globalPid + 16777216, 11, name FROM PROCESSES WHERE pid=10");
    });
    assert_eq!(warnings(&loaded), ["unknown_thread"]);
}

#[test]
fn calls_without_a_thread_are_joined_where_there_is_only_one_process() {
    let drop = "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME DROP COLUMN globalTid";
    let (_, loaded) = changed("calls", |t| t.sql(drop));
    assert_eq!(warnings(&loaded), ["no_thread"]);
    assert_eq!(loaded.trace.launches().len(), 6);
    assert_eq!(lane(&loaded.trace, "C10.?").spans.len(), 7);
    let (path, loaded) = changed("calls_of_two", |t| {
        worker(t);
        t.sql(drop);
    });
    assert_eq!(warnings(&loaded), ["unknown_thread"]);
    assert_eq!(loaded.trace.launches().len(), 0);
    assert_eq!(lane(&loaded.trace, "C?.?").spans.len(), 7);
    assert_eq!(check(&path), 4);
}

#[test]
fn operations_without_a_gpu_are_of_their_contexts_gpu_the_only_one_or_an_unknown_one() {
    let drop = "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN deviceId";
    let gpus = |loaded: &Loaded| -> Vec<(i64, Option<String>)> {
        let devices = loaded.trace.devices().iter();
        devices.map(|d| (d.index, d.name.clone())).collect()
    };
    let other = "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start,end,deviceId,contextId,streamId,correlationId,globalPid,
                 bytes,copyKind) VALUES (27000000,29000000,1,2,7,0,$P,1,1);";
    for (name, sql, gpu) in [
        // By the copy.
        ("context", other, 0),
        (
            "only",
            "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET deviceId=2, contextId=9",
            2,
        ),
        // By the list of GPUs.
        ("listed", "DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY", 0),
        (
            "related",
            "DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY; INSERT INTO TARGET_INFO_GPU VALUES (1, 'Other', 1);
             CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
             INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 4, 10);",
            1,
        ),
    ] {
        let (path, loaded) = changed(name, |t| {
            t.sql(sql);
            t.sql(drop);
        });
        assert_eq!(warnings(&loaded), ["no_device"], "{name}");
        assert_eq!(noted(&loaded, "no_device"), 5, "{name}");
        let kernel = loaded
            .trace
            .spans()
            .lane(find(&loaded.trace, "K1"));
        let device = loaded.trace.lane_device(kernel).expect("a GPU");
        assert_eq!(loaded.trace.device(device).index, gpu, "{name}");
        assert_eq!(check(&path), 0, "{name}");
    }
    // What one process uses says nothing of another one.
    let (_, loaded) = changed("other-process", |t| {
        two_gpus(t);
        t.sql("DELETE FROM TARGET_INFO_CUDA_DEVICE");
        t.sql(drop);
    });
    assert_eq!(noted(&loaded, "no_device"), 5);
    assert_eq!(noted(&loaded, "unknown_device"), 1);
    let (path, loaded) = changed("unknown", |t| {
        t.sql("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET contextId=9");
        t.sql(other);
        t.sql(drop);
    });
    assert_eq!(warnings(&loaded), ["unknown_device"]);
    assert_eq!(noted(&loaded, "unknown_device"), 5);
    let unknown = gpus(&loaded).into_iter().find(|g| g.0 == -1);
    assert_eq!(unknown, Some((-1, Some("number not recorded".to_owned()))));
    let kernels = lane(&loaded.trace, "G10.?.1.7");
    assert_eq!(kernels.name, "stream 7, GPU not recorded");
    assert_eq!(check(&path), 4);
}

#[test]
fn nvtx_rows_without_a_type_or_a_start_are_left_out_and_counted() {
    for column in ["eventType", "start"] {
        let (path, loaded) = changed(column, |t| {
            t.sql(&format!("ALTER TABLE NVTX_EVENTS DROP COLUMN {column}"));
        });
        assert_eq!(warnings(&loaded), ["column_missing", "no_nvtx"], "{column}");
        assert_eq!(noted(&loaded, "column_missing"), 9);
        let said = format!("NVTX_EVENTS: no column {column}");
        assert!(text(&loaded, "column_missing").contains(&said));
        assert!(
            text(&loaded, "no_nvtx").starts_with("The NVTX ranges of this export could not be")
        );
        assert_eq!(check(&path), 4);
    }
    let (path, loaded) = changed("some_types", |t| {
        t.sql(
            "CREATE TABLE n AS SELECT * FROM NVTX_EVENTS; DROP TABLE NVTX_EVENTS;
             ALTER TABLE n RENAME TO NVTX_EVENTS;
             UPDATE NVTX_EVENTS SET eventType=NULL WHERE start < 20000000 AND start > 0",
        );
    });
    assert_eq!(warnings(&loaded), ["no_type"]);
    assert_eq!(noted(&loaded, "no_type"), 2);
    assert_eq!(check(&path), 4);
    let (path, loaded) = changed("no_rows", |t| {
        t.sql("DELETE FROM NVTX_EVENTS; ALTER TABLE NVTX_EVENTS DROP COLUMN start");
    });
    assert_eq!(warnings(&loaded), Vec::<&str>::new());
    assert!(text(&loaded, "no_nvtx").starts_with("No NVTX ranges were recorded"));
    assert_eq!(check(&path), 4, "no waits");
}

#[test]
fn each_missing_column_says_what_is_unknown_without_it() {
    let gpu = "CUPTI_ACTIVITY_KIND_";
    for (table, column, code, n, part) in [
        ("KERNEL", "streamId", "no_stream", 5, "(streamId)"),
        ("KERNEL", "contextId", "no_context", 5, "(contextId)"),
        (
            "KERNEL",
            "correlationId",
            "no_correlation",
            5,
            "launch delays",
        ),
        ("KERNEL", "globalPid", "no_process", 5, "(globalPid)"),
        (
            "RUNTIME",
            "correlationId",
            "no_correlation",
            7,
            "launch delays",
        ),
        ("MEMCPY", "streamId", "no_stream", 1, "(streamId)"),
        ("MEMCPY", "bytes", "no_bytes", 1, "amounts and rates"),
        ("MEMCPY", "copyKind", "no_copy_kind", 1, "direction"),
        ("SYNCHRONIZATION", "streamId", "no_stream", 1, "(streamId)"),
        (
            "SYNCHRONIZATION",
            "contextId",
            "no_context",
            1,
            "(contextId)",
        ),
        ("SYNCHRONIZATION", "deviceId", "no_device", 1, "(deviceId)"),
        (
            "SYNCHRONIZATION",
            "globalPid",
            "no_process",
            1,
            "(globalPid)",
        ),
        (
            "SYNCHRONIZATION",
            "correlationId",
            "no_correlation",
            1,
            "(correlationId)",
        ),
        ("NVTX_EVENTS", "text", "no_text", 9, "nameless"),
    ] {
        let name = match table {
            "NVTX_EVENTS" => table.to_owned(),
            _ => format!("{gpu}{table}"),
        };
        let (_, loaded) = changed("column_missing", |t| {
            t.sql(&format!("ALTER TABLE {name} DROP COLUMN {column}"));
        });
        let case = format!("{table}.{column}");
        assert_eq!(warnings(&loaded), [code], "{case}");
        assert_eq!(noted(&loaded, code), n, "{case}");
        let text = text(&loaded, code);
        assert!(
            text.contains(part) && text.contains(&name),
            "{case}: {text}"
        );
    }
}
