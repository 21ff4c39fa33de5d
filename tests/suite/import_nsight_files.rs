//! Nsight exports as files: other programs' databases, logs and journals beside them, damage, size, threads.

use crate::support::nsight_help as help;
use crate::support::nsight_made as made;
use crate::support::nsight_oracle as oracle;
use crate::support::nsight_tiny as tiny;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::Value;
use stallscope::import::{ArgsReader, ErrorKind, Loaded, OpenOptions, Progress, open};
use stallscope::model::{LaneKind, SpanId};

use help::{find, lane, load, noted, scratch, warnings};
use oracle::Oracle;
use tiny::{GENERATIONS, Tiny};

#[test]
fn other_programs_databases_are_refused_by_name() {
    let folder = scratch("foreign");
    for (name, sql, word) in [
        ("dlprof", "CREATE TABLE dlprof_ops (id INTEGER)", "DLProf"),
        ("rocprof", "CREATE TABLE rocpd_api (id INTEGER)", "rocprof"),
        (
            "ascend",
            "CREATE TABLE STRING_IDS (id INTEGER, value TEXT)",
            "Ascend",
        ),
        (
            "zindex",
            "CREATE TABLE AccessPoints (id INTEGER); CREATE TABLE LineOffsets (id INTEGER)",
            "DFTracer",
        ),
        (
            "nvprof",
            "CREATE TABLE StringTable (_id_ INTEGER); CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER, cbid INTEGER)",
            "nvprof",
        ),
        (
            "history",
            "CREATE TABLE moz_places (id INTEGER)",
            "moz_places",
        ),
        ("none", "PRAGMA user_version=1", "no tables"),
    ] {
        let path = folder.join(format!("{name}.sqlite"));
        rusqlite::Connection::open(&path)
            .expect("opens")
            .execute_batch(sql)
            .expect("valid");
        let error = load(&path).err().unwrap_or_else(|| panic!("{name} opened"));
        assert_eq!(error.kind, ErrorKind::Unsupported, "{name}");
        assert!(error.cause.contains(word), "{name}: {}", error.cause);
        assert!(!error.remedy.is_empty());
    }
}

/// Names in a folder, and the bytes of each file.
fn listing(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut list: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|e| {
            let e = e.expect("an entry");
            let bytes = std::fs::read(e.path()).expect("readable");
            (e.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    list.sort();
    list
}

/// Opens a database and checks that its folder stays as it was, byte for byte.
fn load_untouched(path: &Path) -> Loaded {
    let folder = path.parent().expect("a folder");
    let before = listing(folder);
    let loaded = load(path).expect("opens");
    let span = find(&loaded.trace, "K2");
    assert!(
        ArgsReader::new()
            .read(&loaded.trace, span)
            .expect("readable")
            .is_some()
    );
    assert!(before == listing(folder), "the folder has changed");
    loaded
}

#[test]
fn nothing_is_written_beside_a_database_in_write_ahead_mode() {
    let folder = scratch("wal");
    let original = folder.join("open.sqlite");
    let tiny = Tiny::write(&original, "3.24.0");
    tiny.sql("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; INSERT INTO StringIds VALUES (99999,'in the log')");
    let log = folder.join("open.sqlite-wal");
    for (name, with_log, code, warns) in [
        ("lost", false, "wal_without_log", false),
        ("kept", true, "wal_read", false),
        ("torn", true, "wal_without_log", false),
        ("damaged", true, "wal_unread", true),
    ] {
        let inner = scratch(&format!("wal_{name}"));
        let copy = inner.join("report.sqlite");
        std::fs::copy(&original, &copy).expect("copied");
        if with_log {
            let mut bytes = std::fs::read(&log).expect("read");
            match name {
                // Nothing in it was finished.
                "torn" => bytes.truncate(32 + 24 + 100),
                // The size of its pages.
                "damaged" => bytes[9] ^= 0xff,
                _ => {}
            }
            std::fs::write(inner.join("report.sqlite-wal"), bytes).expect("written");
        }
        let loaded = load_untouched(&copy);
        assert_eq!(noted(&loaded, code), 1, "{name}");
        assert_eq!(!warnings(&loaded).is_empty(), warns, "{name}");
    }
}

/// A row that is in the log alone is in the timeline, what was never finished is not, and args are read from there too.
#[test]
fn rows_in_a_write_ahead_log_are_read() {
    let folder = scratch("wal_rows");
    let original = folder.join("open.sqlite");
    let tiny = Tiny::write(&original, "3.24.0");
    let plain = load(&original).expect("opens");
    let kernels = |loaded: &Loaded| {
        let trace = &loaded.trace;
        let ids = trace.spans().ids();
        let gpu = |s: &SpanId| trace.lane(trace.spans().lane(*s)).kind.is_gpu();
        ids.filter(gpu).count()
    };
    tiny.sql("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;");
    // Many pages, some of them twice.
    for _ in 0..3 {
        tiny.sql(
            "CREATE TEMP TABLE k AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL;
             UPDATE k SET start=start+1000000000, end=end+1000000000;
             INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM k; DROP TABLE k;
             UPDATE StringIds SET value=value;",
        );
    }
    let copies = scratch("wal_rows_copy");
    for end in ["", "-wal"] {
        let name = |stem: &str| format!("{stem}.sqlite{end}");
        std::fs::copy(folder.join(name("open")), copies.join(name("report"))).expect("copied");
    }
    let path = copies.join("report.sqlite");
    let before = listing(&copies);
    let loaded = load(&path).expect("opens");
    assert!(before == listing(&copies), "the folder has changed");
    assert_eq!(noted(&loaded, "wal_read"), 1);
    // What SQLite itself finds, which writes beside the copy.
    let db = rusqlite::Connection::open(&path).expect("opens");
    let sql = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start > 1000000000";
    let added: i64 = db.query_row(sql, [], |r| r.get(0)).expect("a number");
    assert!(added >= 7, "{added} rows");
    let added = usize::try_from(added).expect("a count");
    assert_eq!(kernels(&loaded), kernels(&plain) + added);
}

/// A pipe in place of a file of SQLite's beside the database: whoever opens it waits for ever.
#[cfg(unix)]
#[test]
fn pipes_beside_a_database_keep_nobody_waiting() {
    for (end, code) in [
        ("-wal", "wal_unread"),
        ("-journal", "as_it_stands"),
        ("-shm", ""),
    ] {
        let folder = scratch(&format!("beside{end}"));
        let path = folder.join("report.sqlite");
        drop(Tiny::write(&path, "3.24.0"));
        let pipe = folder.join(format!("report.sqlite{end}"));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        let loaded = load(&path).expect("opens");
        let expected = u64::from(!code.is_empty());
        assert_eq!(noted(&loaded, code), expected, "{end}");
    }
}

#[test]
fn locked_databases_and_stale_journals_are_read_as_they_stand() {
    let folder = scratch("locked");
    let path = folder.join("report.sqlite");
    let tiny = Tiny::write(&path, "3.24.0");
    tiny.sql(
        "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE ThreadNames SET priority=priority",
    );
    let loaded = load(&path).expect("opens");
    assert_eq!(warnings(&loaded), ["locked"]);
    tiny.sql("COMMIT; PRAGMA locking_mode=NORMAL; SELECT 1");
    drop(tiny);
    let inner = scratch("journal");
    let path = inner.join("report.sqlite");
    let tiny = Tiny::write(&path, "3.24.0");
    // A spilled cache writes pages before the commit, and the journal that would undo them.
    tiny.sql(
        "PRAGMA synchronous=FULL; PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN;
         UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridX=1; UPDATE NVTX_EVENTS SET color=1; UPDATE StringIds SET value=value;
         UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET callchainId=1;",
    );
    let stale = scratch("journal_copy");
    for name in ["report.sqlite", "report.sqlite-journal"] {
        std::fs::copy(inner.join(name), stale.join(name)).expect("copied");
    }
    let loaded = load_untouched(&stale.join("report.sqlite"));
    assert_eq!(warnings(&loaded), ["as_it_stands"]);
}

/// An export with 4,000 kernels on stream 7, and the pages of that table's rows, in order.
fn many_kernels(folder: &str) -> (PathBuf, Vec<usize>) {
    let path = scratch(folder).join("report.sqlite");
    let mut tiny = Tiny::write(&path, "3.24.0");
    tiny.sql("BEGIN");
    for i in 0..4_000_i32 {
        tiny.kernel("many", 7, 100. + f64::from(i), 100.5 + f64::from(i), 0);
    }
    tiny.sql("COMMIT");
    drop(tiny);
    let db = rusqlite::Connection::open(&path).expect("opens");
    let page: i64 = db
        .query_row(
            "SELECT rootpage FROM sqlite_master WHERE name='CUPTI_ACTIVITY_KIND_KERNEL'",
            [],
            |r| r.get(0),
        )
        .expect("a page");
    drop(db);
    let bytes = std::fs::read(&path).expect("readable");
    // The root of the table points at its leaves.
    let root = &bytes[usize::try_from(page - 1).expect("small") * 4096..][..4096];
    assert_eq!(root[0], 5, "the root is an inner page");
    let cells = usize::from(u16::from_be_bytes([root[3], root[4]]));
    let page = |at: usize| {
        let number = u32::from_be_bytes(root[at..at + 4].try_into().expect("four bytes"));
        usize::try_from(number).expect("small")
    };
    let mut leaves: Vec<usize> = (0..cells)
        .map(|i| {
            page(usize::from(u16::from_be_bytes([
                root[12 + 2 * i],
                root[13 + 2 * i],
            ])))
        })
        .collect();
    leaves.push(page(8));
    (path, leaves)
}

#[test]
fn one_bad_page_costs_its_rows_and_no_more() {
    let (path, leaves) = many_kernels("bad_page");
    let whole = std::fs::read(&path).expect("readable");
    let (last, middle) = (leaves.len() - 1, leaves.len() / 2);
    for broken in [
        vec![0],
        vec![middle],
        vec![last],
        vec![0, last],
        vec![0, middle, last],
    ] {
        let mut bytes = whole.clone();
        for &leaf in &broken {
            bytes[(leaves[leaf] - 1) * 4096..][..4096].fill(0xFF);
        }
        std::fs::write(&path, bytes).expect("written");
        let loaded = load(&path).expect("opens");
        let places = loaded
            .report
            .notices
            .iter()
            .find(|n| n.code == "damaged_table");
        let count = places.expect("noted").count;
        assert!(
            (1..=broken.len() as u64).contains(&count),
            "{broken:?}: {count} places"
        );
        let rows = lane(&loaded.trace, "G10.0.1.7").spans.len();
        // The search behind a bad page may pass over as many rows again.
        let most = 4_000 - 20 * broken.len();
        assert!(
            (most - 280 * broken.len()..most).contains(&rows),
            "{broken:?}: {rows} rows were kept"
        );
    }
}

#[test]
fn cancelling_ends_the_import() {
    let path = scratch("cancel").join("report.sqlite");
    Tiny::write(&path, "3.24.0");
    let progress = Progress::new();
    progress.cancel();
    let error = open(&[path], &OpenOptions::default(), &progress)
        .err()
        .expect("is cancelled");
    assert_eq!(error.kind, ErrorKind::Cancelled);
}

#[test]
fn progress_ends_at_the_size_of_the_file() {
    let path = scratch("progress").join("report.sqlite");
    Tiny::write(&path, "3.24.0");
    let progress = Progress::new();
    open(
        std::slice::from_ref(&path),
        &OpenOptions::default(),
        &progress,
    )
    .expect("opens");
    let bytes = std::fs::metadata(&path).expect("there").len();
    assert_eq!((progress.done(), progress.total()), (bytes, bytes));
    assert!(progress.events() > 20);
}

/// Figures of a simulated run, which were taken from the simulation and not from the file.
#[test]
fn simulated_exports_agree_with_their_truth() {
    let path = scratch("made").join("report.sqlite");
    for (workers, gpus, item_ms) in [(0, 1, 3), (2, 1, 30), (4, 2, 8)] {
        let params = made::Params {
            seed: 5,
            steps: 6,
            kernels_per_step: 50,
            workers,
            item_ms,
            gpus,
        };
        let truth = made::write(&path, &params).expect("written");
        let loaded = load(&path).expect("opens");
        assert_eq!(warnings(&loaded), Vec::<&str>::new());
        let figures = Oracle::new(&path, &loaded).compute();
        assert_eq!(loaded.trace.devices().len(), truth.len());
        for (rank, truth) in truth.iter().enumerate() {
            let wait = &figures["batch_wait"][rank];
            let got = [
                &wait["total_ns"],
                &wait["unoverlapped_process_any_ns"],
                &figures["devices"][rank]["busy_any_ns"],
            ];
            let want = [truth.wait, truth.wait - truth.hidden, truth.gpu_busy].map(Value::from);
            assert_eq!(got, want.each_ref(), "{params:?}, rank {rank}");
        }
        let pids: Vec<&str> = loaded
            .trace
            .processes()
            .iter()
            .map(|p| p.pid.as_str())
            .collect();
        assert_eq!(pids.len() as u32, gpus + gpus * workers, "{pids:?}");
        let items = figures["nvtx"].get("load_item").expect("items");
        assert_eq!(items["count"], 6 * u64::from(gpus));
        let unlinked = loaded
            .trace
            .lane_ids()
            .filter(|&l| loaded.trace.lane(l).kind == LaneKind::Gpu);
        let unlinked = unlinked.flat_map(|l| loaded.trace.lane_spans(l));
        assert_eq!(
            unlinked
                .filter(|&s| loaded.trace.launch_of(s).is_none())
                .count(),
            0
        );
    }
}

/// Everything in the model that could depend on the order of reading.
fn fingerprint(loaded: &Loaded) -> (Vec<String>, Vec<String>) {
    let t = &loaded.trace;
    let spans = t.spans();
    let mut rows: Vec<String> = t
        .lanes()
        .iter()
        .map(|l| format!("{} {:?}", l.key, l.spans))
        .collect();
    rows.push(format!(
        "{:?}",
        &spans
            .starts()
            .iter()
            .map(|s| s.wrapping_mul(31))
            .fold(7_i64, |a, s| a.wrapping_mul(33) ^ s)
    ));
    rows.extend(spans.ids().step_by(97).map(|s| {
        format!(
            "{} {:?} {:?} {:?}",
            t.span_name(s),
            spans.range(s),
            spans.args(s).as_row(),
            t.launch_of(s)
        )
    }));
    rows.push(format!("{} {}", t.launches().len(), t.names().len()));
    (
        rows,
        loaded
            .report
            .notices
            .iter()
            .map(ToString::to_string)
            .collect(),
    )
}

#[test]
fn the_number_of_threads_changes_nothing_and_a_cancel_is_heard_between_rows() {
    let path = scratch("threads").join("report.sqlite");
    let params = made::Params {
        seed: 9,
        steps: 90,
        kernels_per_step: 900,
        workers: 2,
        item_ms: 10,
        gpus: 1,
    };
    made::write(&path, &params).expect("written");
    let run = |threads, progress: &Progress| {
        let options = OpenOptions {
            threads,
            ..OpenOptions::default()
        };
        open(std::slice::from_ref(&path), &options, progress)
    };
    let one = run(1, &Progress::new()).expect("opens");
    assert!(
        one.report.files[0].by_kind.iter().any(|k| k.1 > 4 * 16_384),
        "several ranges are read"
    );
    for threads in [2, 3] {
        let several = run(threads, &Progress::new()).expect("opens");
        assert!(
            fingerprint(&one) == fingerprint(&several),
            "{threads} threads"
        );
    }
    let all = one.report.files[0].events;
    for threads in [1, 2] {
        // Which of the two comes first is chance, a cancel in the middle of the rows is what is looked for.
        let stopped = (0..100).any(|_| {
            let progress = Progress::new();
            let result = std::thread::scope(|scope| {
                let reading = scope.spawn(|| run(threads, &progress).map(|_| ()));
                while progress.events() == 0 && !reading.is_finished() {
                    std::thread::yield_now();
                }
                progress.cancel();
                reading.join().expect("no panic")
            });
            match result {
                Err(e) => assert_eq!(e.kind, ErrorKind::Cancelled, "{}", e.cause),
                Ok(()) => return false,
            }
            progress.events() < all
        });
        assert!(
            stopped,
            "{threads} threads: no cancel was heard before the last row"
        );
    }
}

/// A small export of each generation, as bytes.
fn small_exports() -> &'static [Vec<u8>] {
    static BYTES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let path = scratch("flip").join("whole.sqlite");
        let bytes = |&generation: &&'static str| {
            let _ = std::fs::remove_file(&path);
            Tiny::write(&path, generation);
            std::fs::read(&path).expect("readable")
        };
        GENERATIONS.iter().map(bytes).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Any bytes anywhere: a message or a trace, never a panic, and an end.
    #[test]
    fn broken_files_never_panic_or_hang(
        seed in 0..7_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut bytes = small_exports()[seed].clone();
        for (at, value) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nsight-flip.sqlite");
        std::fs::write(&path, &bytes).expect("written");
        match load(&path) {
            Ok(loaded) => {
                let mut args = ArgsReader::new();
                for span in loaded.trace.spans().ids().take(5) {
                    let _ = args.read(&loaded.trace, span);
                }
            }
            Err(e) => prop_assert!(!e.cause.is_empty() && !e.remedy.is_empty()),
        }
    }
}
