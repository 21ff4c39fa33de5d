//! A training loop of twelve events at round milliseconds, small enough to check by hand, in the layout of every
//! generation of the format.
//!
//! ```text
//! CPU  batch_wait  0-10   13-26   30-35   50-60
//!      forward    10-12   27-30           60-62
//!      h2d        26-27
//!      backward   35-37
//!      sync (API) 37-50
//! GPU  stream 7   K1 12-20   K2 29-41   K3 41-50   K4 61-65
//!      stream 16  copy 27-29 (4 MB)
//!      stream 20  nccl 45-55
//! ```
//!
//! Waits: 38 ms. With every GPU row counting as busy 21 of them are not overlapped (10 + 6 + 0 + 5), without
//! communication 26. Busy 12-20, 27-55, 61-65 = 40 of 53 ms.

use std::path::Path;

use rusqlite::Connection;

/// Layouts, by the schema version that introduced them; `none` has no version table.
pub const GENERATIONS: [&str; 7] = [
    "none", "2.9.1", "3.4.0", "3.16.1", "3.24.0", "3.25.0", "3.28.1",
];

/// Global ids of process 10.
pub const PROCESS: i64 = (1 << 48) | (10 << 24);
pub const MAIN: i64 = PROCESS | 10;

fn at_least(generation: &str, other: &str) -> bool {
    let place = |g| {
        GENERATIONS
            .iter()
            .position(|x| *x == g)
            .expect("a generation")
    };
    place(generation) >= place(other)
}

fn tables(g: &str) -> String {
    let since = |v: &str, text: &str| {
        if at_least(g, v) {
            text.to_owned()
        } else {
            String::new()
        }
    };
    let green = since("3.16.1", "greenContextId INTEGER, ");
    let device = format!(
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, {green}\
         streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
    );
    let mut sql = format!(
        "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
         CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
         CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
           eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,
           returnValue INTEGER NOT NULL, callchainId INTEGER);
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({device} demangledName INTEGER NOT NULL,
           shortName INTEGER NOT NULL, {}gridX INTEGER {});
         CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY ({device} bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL,
           srcKind INTEGER, dstKind INTEGER);
         CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION ({device} {}syncType INTEGER NOT NULL,
           eventId INTEGER NOT NULL{});
         CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
           category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, {}
           domainId INTEGER{});",
        since("2.9.1", "mangledName INTEGER, "),
        since("3.25.0", ", tensorSizeMinusOneElements TEXT NOT NULL DEFAULT '[]'"),
        since("3.24.0", "deprecatedSyncType INTEGER, "),
        since("3.24.0", ", eventSyncId INTEGER"),
        since("2.9.1", "textId INTEGER, "),
        since("3.28.1", ", eventId INTEGER NOT NULL PRIMARY KEY"),
    );
    let gpu = if at_least(g, "2.9.1") {
        "CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, cuDevice INTEGER);
         INSERT INTO TARGET_INFO_GPU VALUES (0, 'Test GPU', 0);"
    } else {
        "CREATE TABLE TARGET_INFO_CUDA_GPU (name TEXT NOT NULL, deviceId INTEGER NOT NULL);
         INSERT INTO TARGET_INFO_CUDA_GPU VALUES ('Test GPU', 0);"
    };
    sql.push_str(gpu);
    if at_least(g, "2.9.1") {
        let meta = if g == "2.9.1" {
            "EXPORT_META_DATA"
        } else {
            "META_DATA_EXPORT"
        };
        sql.push_str(&format!(
            "CREATE TABLE {meta} (name TEXT NOT NULL, value TEXT);
             INSERT INTO {meta} VALUES ('EXPORT_PRODUCT_VERSION', '2025.5.2.266'), ('EXPORT_SCHEMA_VERSION', '{g}');
             CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
             INSERT INTO PROCESSES VALUES ({PROCESS}, 10, 'python'), ({}, 99, 'idle');
             CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
             INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1750000000123456789, '', '');",
            PROCESS + (89 << 24),
        ));
    }
    sql
}

/// Fills rows in; times in milliseconds.
pub struct Tiny {
    pub db: Connection,
    generation: &'static str,
    strings: Vec<String>,
}

fn ns(ms: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "small round numbers")]
    let ns = (ms * 1e6).round() as i64;
    ns
}

impl Tiny {
    /// An export without rows.
    pub fn empty(path: &Path, generation: &'static str) -> Self {
        let _ = std::fs::remove_file(path);
        let db = Connection::open(path).expect("a new file");
        db.execute_batch("PRAGMA synchronous=OFF").expect("works");
        db.execute_batch(&tables(generation)).expect("valid tables");
        Self {
            db,
            generation,
            strings: Vec::new(),
        }
    }

    /// The whole loop.
    pub fn write(path: &Path, generation: &'static str) -> Self {
        let mut t = Self::empty(path, generation);
        for (s, e) in [(0., 10.), (13., 26.), (30., 35.), (50., 60.)] {
            t.range("batch_wait", s, e);
        }
        for (s, e) in [(10., 12.), (27., 30.), (60., 62.)] {
            t.range("forward", s, e);
        }
        t.range("h2d", 26., 27.);
        t.range("backward", 35., 37.);
        t.launch(("K1", 7), (10., 11.), (12., 20.), 1);
        t.call("cudaMemcpyAsync_v3020", 26., 26.5, 2);
        t.sql("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start,end,deviceId,contextId,streamId,correlationId,globalPid,
               bytes,copyKind,srcKind,dstKind) VALUES (27000000,29000000,0,1,16,2,$P,4000000,1,1,2)");
        t.launch(("K2", 7), (28., 29.), (29., 41.), 3);
        t.launch(("K3", 7), (36., 36.5), (41., 50.), 4);
        t.launch(
            ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20),
            (36.5, 37.),
            (45., 55.),
            5,
        );
        t.call("cudaStreamSynchronize_v3020", 37., 50., 6);
        t.sql("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start,end,deviceId,contextId,streamId,correlationId,
               globalPid,syncType,eventId) VALUES (37000000,50000000,0,1,7,6,$P,3,4294967295)");
        t.launch(("K4", 7), (60., 61.), (61., 65.), 7);
        let name = t.string("python");
        t.sql(&format!("INSERT INTO ThreadNames VALUES ({name}, 20, $T)"));
        t
    }

    /// Runs a statement; `$P` is the process, `$T` its main thread.
    pub fn sql(&self, sql: &str) {
        let sql = sql
            .replace("$P", &PROCESS.to_string())
            .replace("$T", &MAIN.to_string());
        self.db
            .execute_batch(&sql)
            .unwrap_or_else(|e| panic!("{sql}: {e}"));
    }

    pub fn string(&mut self, text: &str) -> i64 {
        let id = self
            .strings
            .iter()
            .position(|s| s == text)
            .unwrap_or_else(|| {
                let id = self.strings.len();
                self.strings.push(text.to_owned());
                self.db
                    .execute(
                        "INSERT INTO StringIds VALUES (?1, ?2)",
                        rusqlite::params![7 * i64::try_from(id).expect("few") + 3, text],
                    )
                    .expect("a new string");
                id
            });
        7 * i64::try_from(id).expect("few") + 3
    }

    /// A push/pop range on the main thread; registered where the layout has registered strings.
    pub fn range(&mut self, name: &str, start: f64, end: f64) {
        let (s, e) = (ns(start), ns(end));
        if at_least(self.generation, "2.9.1") && name != "batch_wait" {
            let id = self.string(name);
            self.sql(&format!(
                "INSERT INTO NVTX_EVENTS (start,end,eventType,globalTid,textId,domainId) VALUES ({s},{e},59,$T,{id},0)"
            ));
        } else {
            self.sql(&format!(
                "INSERT INTO NVTX_EVENTS (start,end,eventType,globalTid,text,domainId) VALUES ({s},{e},59,$T,'{name}',0)"
            ));
        }
    }

    pub fn call(&mut self, name: &str, start: f64, end: f64, id: i64) {
        let (s, e, name) = (ns(start), ns(end), self.string(name));
        self.sql(&format!(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({s},{e},0,$T,{id},{name},0,NULL)"
        ));
    }

    pub fn kernel(&mut self, name: &str, stream: i64, start: f64, end: f64, id: i64) {
        let (s, e, name) = (ns(start), ns(end), self.string(name));
        self.sql(&format!(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start,end,deviceId,contextId,streamId,correlationId,globalPid,
             demangledName,shortName) VALUES ({s},{e},0,1,{stream},{id},$P,{name},{name})"
        ));
    }

    pub fn launch(
        &mut self,
        (name, stream): (&str, i64),
        call: (f64, f64),
        op: (f64, f64),
        id: i64,
    ) {
        self.call("cudaLaunchKernel_v7000", call.0, call.1, id);
        self.kernel(name, stream, op.0, op.1, id);
    }
}
