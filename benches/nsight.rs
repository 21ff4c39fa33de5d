//! Reading an Nsight export: rows per second of the importer beside a bare SELECT of the same columns, on one and on
//! two threads. `STALLSCOPE_BENCH_KERNELS` sets the number of kernel rows (default one million).
//!
//! ```text
//! cargo bench --no-default-features --profile ci --bench nsight
//! ```

#![expect(clippy::print_stdout, reason = "ratios are what the run is for")]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use divan::counter::ItemsCount;
use stallscope::import::{OpenOptions, Progress, open};

#[path = "support/rounds.rs"]
mod rounds;
use rounds::{best_of, ratio};
#[path = "../tests/suite/support/nsight_made.rs"]
mod made;
#[path = "../examples/support/mod.rs"]
#[expect(dead_code, reason = "the simulation can write other formats too")]
mod simulation;

const KERNELS: &str = "SELECT rowid,start,end,deviceId,contextId,streamId,correlationId,globalPid,demangledName \
     FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid BETWEEN ?1 AND ?2";
const CALLS: &str = "SELECT rowid,start,end,globalTid,correlationId,nameId,eventClass,returnValue \
     FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid BETWEEN ?1 AND ?2";

/// The export, made once and kept in the target folder.
fn export() -> &'static (PathBuf, u64) {
    static EXPORT: OnceLock<(PathBuf, u64)> = OnceLock::new();
    EXPORT.get_or_init(|| {
        let wanted: u64 = std::env::var("STALLSCOPE_BENCH_KERNELS")
            .ok()
            .and_then(|n| n.parse().ok())
            .unwrap_or(1_000_000);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = folder.join(format!("bench_{wanted}.sqlite"));
        if !path.exists() {
            let params = made::Params {
                seed: 42,
                steps: (wanted / 504).max(1),
                kernels_per_step: 500,
                workers: 4,
                item_ms: 20,
                gpus: 1,
            };
            made::write(&path, &params).expect("the export can be written");
        }
        let db = rusqlite::Connection::open(&path).expect("opens");
        let rows = ["KERNEL", "RUNTIME"]
            .iter()
            .map(|t| count(&db, &format!("CUPTI_ACTIVITY_KIND_{t}")))
            .sum();
        (path, rows)
    })
}

fn count(db: &rusqlite::Connection, table: &str) -> u64 {
    let sql = format!("SELECT count(*) FROM {table}");
    let n: i64 = db.query_row(&sql, [], |r| r.get(0)).expect("counts");
    n.unsigned_abs()
}

fn all_rows() -> u64 {
    let db = rusqlite::Connection::open(&export().0).expect("opens");
    [
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "CUPTI_ACTIVITY_KIND_MEMSET",
        "NVTX_EVENTS",
        "OSRT_API",
    ]
    .iter()
    .map(|t| count(&db, t))
    .sum::<u64>()
        + export().1
}

/// Reads all integers of a part of a table and adds them up.
fn read(path: &Path, sql: &str, part: usize, of: usize) -> i64 {
    let flags =
        rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = rusqlite::Connection::open_with_flags(path, flags).expect("opens");
    let table = sql.split_whitespace().nth(3).expect("a table");
    let n = i64::try_from(count(&db, table)).expect("fits");
    let (part, of) = (
        i64::try_from(part).expect("fits"),
        i64::try_from(of).expect("fits"),
    );
    let mut statement = db.prepare(sql).expect("valid");
    let columns = statement.column_count();
    let mut rows = statement
        .query([n * part / of + 1, n * (part + 1) / of])
        .expect("runs");
    let mut sum = 0_i64;
    while let Some(row) = rows.next().expect("readable") {
        for i in 0..columns {
            if let rusqlite::types::ValueRef::Integer(x) = row.get_ref(i).expect("there") {
                sum = sum.wrapping_add(x);
            }
        }
    }
    sum
}

/// Reads the two large tables with nothing done to their values: what SQLite itself costs.
fn select(threads: usize) -> i64 {
    let (path, _) = export();
    std::thread::scope(|scope| {
        let work: Vec<_> = (0..threads)
            .map(|part| {
                scope.spawn(move || {
                    read(path, KERNELS, part, threads)
                        .wrapping_add(read(path, CALLS, part, threads))
                })
            })
            .collect();
        work.into_iter()
            .map(|w| w.join().expect("runs"))
            .fold(0, i64::wrapping_add)
    })
}

/// The whole import: all tables, joins, sorting.
fn open_with(threads: usize) -> u64 {
    let options = OpenOptions {
        threads,
        ..OpenOptions::default()
    };
    let path = std::slice::from_ref(&export().0);
    let loaded = open(path, &options, &Progress::new()).expect("readable");
    loaded.trace.counted_spans()
}

#[divan::bench(args = [1, 2], sample_count = 5, sample_size = 1)]
fn bare_select(bencher: divan::Bencher<'_, '_>, threads: usize) {
    bencher
        .counter(ItemsCount::new(export().1))
        .bench(|| select(threads));
}

#[divan::bench(args = [1, 2], sample_count = 5, sample_size = 1)]
fn import(bencher: divan::Bencher<'_, '_>, threads: usize) {
    bencher
        .counter(ItemsCount::new(all_rows()))
        .bench(|| open_with(threads));
}

fn main() {
    let [one, two] = best_of(
        5,
        (all_rows() as f64 / 1e6, "M rows"),
        [
            ("open, 1 thread", Box::new(|| _ = open_with(1))),
            ("open, 2 threads", Box::new(|| _ = open_with(2))),
        ],
    );
    ratio("1 thread / 2 threads", one, two);
    let [select] = best_of(
        5,
        (export().1 as f64 / 1e6, "M rows"),
        [(
            "bare SELECT of the large tables",
            Box::new(|| _ = select(1)),
        )],
    );
    ratio(
        "open / bare SELECT, per row",
        one / all_rows() as f64,
        select / export().1 as f64,
    );
    divan::main();
}
