//! Writes a job as `nsys export --type sqlite` does: schema 3.24.0 (Nsight Systems 2025.5), all processes in one file.
//!
//! Loader processes are in it with NVTX ranges and reads, as when nsys follows forks. Ranges are registered strings
//! (`textId`) except `batch_wait`, which is plain text: real files mix both.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ToSql, params};

use super::model::{
    Api, BatchLoad, Call, EpochEnd, EpochStart, GpuOp, Job, OpKind, READ_BYTES, Sink, Span, Step,
    Thread, What,
};

/// Session-relative time of the job's zero.
const OFFSET: i64 = 2_000_000_000;
/// Virtual machine 1 on hardware 0, as in local captures.
const HOST: i64 = 1 << 48;
/// Rows that wait in memory before they are written.
const WAITING: usize = 8_192;
const NO_ID: i64 = 0xFFFF_FFFF;

/// Tables in the layout of schema 3.24.0.
const TABLES: &str = "
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT,
  totalMemory INTEGER, smCount INTEGER, cuDevice INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL,
  callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
  globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,
  launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL,
  gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL,
  blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
  localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL,
  sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER, qmdBulkReleaseDone INTEGER,
  qmdPreexitDone INTEGER, qmdLastCtaDone INTEGER, graphId INTEGER, clusterX INTEGER, clusterY INTEGER,
  clusterZ INTEGER, clusterSchedulingPolicy INTEGER, maxPotentialClusterSize INTEGER, maxActiveClusters INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
  globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER,
  dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER,
  migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER, copyCount INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
  globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, deprecatedSyncType INTEGER, syncType INTEGER NOT NULL,
  eventId INTEGER NOT NULL, eventSyncId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
  category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
  domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER,
  int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);
CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
  nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL,
  argumentsId INTEGER NOT NULL);
";

const RUNTIME: &str = "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?1,?2,0,?3,?4,?5,0,NULL)";
const KERNEL: &str = "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?1,?2,?3,1,0,?4,?5,?6,?7,?7,?7,1,0,64,216,1,1,\
     256,1,1,0,0,0,250871808,?5,32768,NULL,0,0,0,0,0,0,0,0,0,0,0)";
const MEMCPY: &str = "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?1,?2,?3,1,0,?4,?5,?6,?7,?8,NULL,?9,?10,NULL,\
     NULL,NULL,NULL,NULL,NULL,NULL,1)";
const MEMSET: &str =
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?1,?2,?3,1,0,?4,?5,?6,0,?7,NULL,2)";
const SYNC: &str =
    "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (?1,?2,?3,1,0,?4,?5,?6,NULL,3,?7,?7)";
const RANGE: &str = "INSERT INTO NVTX_EVENTS (start,end,eventType,globalTid,textId,domainId) VALUES (?1,?2,59,?3,?4,0)";
const WAIT: &str = "INSERT INTO NVTX_EVENTS (start,end,eventType,text,globalTid,domainId) VALUES \
     (?1,?2,59,'batch_wait',?3,0)";
const OSRT: &str = "INSERT INTO OSRT_API VALUES (?1,?2,27,?3,?4,?5,0,0,0)";

/// Rows of one statement that wait to be written.
struct Waiting {
    sql: &'static str,
    rows: Vec<Vec<i64>>,
}

/// Writes an Nsight Systems export.
pub struct Nsight {
    path: PathBuf,
    db: Option<Connection>,
    job: Option<Job>,
    strings: HashMap<String, i64>,
    waiting: Vec<Waiting>,
    threads: Vec<(i64, &'static str)>,
    written: u64,
}

fn failed(error: rusqlite::Error) -> io::Error {
    io::Error::other(error)
}

fn thread(pid: u32, tid: u32) -> i64 {
    process(pid) | i64::from(tid)
}

fn process(pid: u32) -> i64 {
    HOST | i64::from(pid) << 24
}

impl Nsight {
    /// Will write to `path`, over what is there.
    pub fn new(path: &Path) -> Self {
        let statements = [RUNTIME, KERNEL, MEMCPY, MEMSET, SYNC, RANGE, WAIT, OSRT];
        Self {
            path: path.to_owned(),
            db: None,
            job: None,
            strings: HashMap::new(),
            waiting: statements
                .into_iter()
                .map(|sql| Waiting {
                    sql,
                    rows: Vec::new(),
                })
                .collect(),
            threads: Vec::new(),
            written: 0,
        }
    }

    fn db(&self) -> io::Result<&Connection> {
        self.db
            .as_ref()
            .ok_or_else(|| io::Error::other("the job has not begun"))
    }

    fn string(&mut self, text: &str) -> io::Result<i64> {
        if let Some(&id) = self.strings.get(text) {
            return Ok(id);
        }
        // Ids are sparse in real files.
        let id = 3 * i64::try_from(self.strings.len()).unwrap_or(0) + 1;
        self.insert("INSERT INTO StringIds VALUES (?1, ?2)", params![id, text])?;
        self.strings.insert(text.to_owned(), id);
        Ok(id)
    }

    fn insert(&self, sql: &str, values: &[&dyn ToSql]) -> io::Result<()> {
        self.db()?.execute(sql, values).map_err(failed)?;
        Ok(())
    }

    fn put(&mut self, sql: &'static str, at: Span, rest: &[i64]) -> io::Result<()> {
        let mut row = vec![at.start + OFFSET, at.end + OFFSET];
        row.extend_from_slice(rest);
        self.written += 8 * row.len() as u64;
        let Some(waiting) = self.waiting.iter_mut().find(|w| w.sql == sql) else {
            return Err(io::Error::other("an unknown statement"));
        };
        waiting.rows.push(row);
        if waiting.rows.len() >= WAITING {
            let rows = std::mem::take(&mut waiting.rows);
            self.write(sql, &rows)?;
        }
        Ok(())
    }

    fn write(&self, sql: &str, rows: &[Vec<i64>]) -> io::Result<()> {
        let mut statement = self.db()?.prepare(sql).map_err(failed)?;
        for row in rows {
            statement
                .execute(rusqlite::params_from_iter(row))
                .map_err(failed)?;
        }
        Ok(())
    }

    fn range(&mut self, name: &str, thread: i64, at: Span) -> io::Result<()> {
        let name = self.string(name)?;
        self.put(RANGE, at, &[thread, name])
    }

    fn thread_of(&mut self, rank: u32, thread_kind: Thread) -> i64 {
        let pid = self.job.as_ref().map_or(0, |j| j.pid(rank));
        match thread_kind {
            Thread::Main => thread(pid, pid),
            Thread::Autograd => thread(pid, pid + 57),
            Thread::Prefetch => thread(pid, pid + 91),
        }
    }

    fn name_thread(&mut self, thread: i64, name: &'static str) {
        if !self.threads.iter().any(|t| t.0 == thread) {
            self.threads.push((thread, name));
        }
    }

    fn load(&mut self, step: &Step) -> io::Result<()> {
        let load: &BatchLoad = &step.load;
        let job = self.job.as_ref();
        let who = match load.worker {
            Some(w) => {
                let pid = job.map_or(0, |j| j.worker_pid(step.rank, step.epoch, w));
                let who = thread(pid, pid);
                self.name_thread(who, "pt_data_worker");
                who
            }
            None => self.thread_of(step.rank, Thread::Main),
        };
        let read = self.string("read")?;
        let bytes = i64::try_from(READ_BYTES).unwrap_or(0);
        for item in &load.items {
            self.range("load_item", who, item.at)?;
            for &at in &item.reads {
                self.put(OSRT, at, &[who, read, bytes])?;
            }
            self.range("augment", who, item.augment)?;
        }
        self.range("collate", who, load.handover)
    }

    fn call(&mut self, rank: u32, call: &Call) -> io::Result<()> {
        let thread = self.thread_of(rank, call.thread);
        let name = match call.api {
            Api::LaunchKernel => "cudaLaunchKernel_v7000",
            Api::MemcpyAsync => "cudaMemcpyAsync_v3020",
            Api::MemsetAsync => "cudaMemsetAsync_v3020",
            Api::StreamSynchronize => "cudaStreamSynchronize_v3020",
            Api::GraphLaunch => "cudaGraphLaunch_v10000",
        };
        let name = self.string(name)?;
        let id = i64::try_from(call.correlation).unwrap_or(0);
        self.put(RUNTIME, call.at, &[thread, id, name])?;
        let process = process(self.job.as_ref().map_or(0, |j| j.pid(rank)));
        if call.api == Api::StreamSynchronize {
            let at = Span::new(call.at.start + 300, call.at.end - 200);
            let stream = i64::from(super::model::COMPUTE_STREAM);
            return self.put(SYNC, at, &[i64::from(rank), stream, id, process, NO_ID]);
        }
        match &call.op {
            Some(op) => self.operation(rank, op, id, process),
            None => Ok(()),
        }
    }

    fn operation(&mut self, rank: u32, op: &GpuOp, id: i64, process: i64) -> io::Result<()> {
        let (device, stream) = (i64::from(rank), i64::from(op.stream));
        let bytes = i64::try_from(op.bytes).unwrap_or(0);
        let head = [device, stream, id, process];
        match op.kind {
            OpKind::Kernel | OpKind::Collective => {
                let name = self.string(op.name)?;
                self.put(KERNEL, op.at, &[device, stream, id, process, name])
            }
            OpKind::HostToDevice => {
                self.put(MEMCPY, op.at, &[&head[..], &[bytes, 1, 1, 2]].concat())
            }
            OpKind::DeviceToHost => {
                self.put(MEMCPY, op.at, &[&head[..], &[bytes, 2, 2, 0]].concat())
            }
            OpKind::Memset => self.put(MEMSET, op.at, &[&head[..], &[bytes]].concat()),
        }
    }

    /// The small tables: who was there, on which machine.
    fn close(&mut self) -> io::Result<()> {
        for i in 0..self.waiting.len() {
            let rows = std::mem::take(&mut self.waiting[i].rows);
            self.write(self.waiting[i].sql, &rows)?;
        }
        for (thread, name) in std::mem::take(&mut self.threads) {
            let id = self.string(name)?;
            self.insert(
                "INSERT INTO ThreadNames VALUES (?1, 20, ?2)",
                params![id, thread],
            )?;
            if thread & 0xFF_FFFF == (thread >> 24) & 0xFF_FFFF {
                let (process, pid) = (thread & !0xFF_FFFF, thread & 0xFF_FFFF);
                self.insert(
                    "INSERT INTO PROCESSES VALUES (?1, ?2, 'python')",
                    params![process, pid],
                )?;
            }
        }
        let Some(job) = self.job.clone() else {
            return Ok(());
        };
        for rank in 0..job.config.ranks {
            self.insert(
                "INSERT INTO TARGET_INFO_GPU VALUES (?1, ?2, 'NVIDIA A100-SXM4-80GB', ?3, 85899345920, 108, ?2)",
                params![HOST, rank, format!("0000:{rank:02x}:00.0")],
            )?;
            self.insert(
                "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?1, ?1, ?2)",
                params![rank, job.pid(rank)],
            )?;
        }
        self.insert(
            "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?1, '', '')",
            params![job.unix_origin - OFFSET],
        )?;
        for (name, value) in [
            ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
            ("EXPORT_PRODUCT_VERSION", "2025.5.2.266"),
            ("EXPORT_SCHEMA_VERSION", "3.24.0"),
            ("EXPORT_PARAM_TIME_NORMALIZE", "false"),
            ("EXPORT_PARAM_TIME_SHIFT", "0"),
            ("GENERATOR", "make_trace (simulated, not a capture)"),
        ] {
            self.insert(
                "INSERT INTO META_DATA_EXPORT VALUES (?1, ?2)",
                params![name, value],
            )?;
        }
        self.db()?.execute_batch("COMMIT").map_err(failed)
    }
}

impl Sink for Nsight {
    fn begin(&mut self, job: &Job) -> io::Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let db = Connection::open(&self.path).map_err(failed)?;
        db.execute_batch(
            "PRAGMA page_size=4096; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;",
        )
        .map_err(failed)?;
        db.execute_batch(TABLES).map_err(failed)?;
        self.db = Some(db);
        self.job = Some(job.clone());
        for rank in 0..job.config.ranks {
            let (main, autograd) = (
                self.thread_of(rank, Thread::Main),
                self.thread_of(rank, Thread::Autograd),
            );
            self.name_thread(main, "python");
            self.name_thread(autograd, "pt_autograd_0");
        }
        Ok(())
    }

    fn epoch_start(&mut self, _start: &EpochStart) -> io::Result<()> {
        Ok(())
    }

    fn step(&mut self, step: &Step) -> io::Result<()> {
        self.load(step)?;
        let main = self.thread_of(step.rank, Thread::Main);
        self.range(&format!("step {}", step.index), main, step.at)?;
        let asks = self.thread_of(step.rank, step.fetched_by);
        self.put(WAIT, step.wait, &[asks])?;
        for span in &step.spans {
            let thread = self.thread_of(step.rank, span.thread);
            match span.what {
                What::Transfer => self.range("h2d", thread, span.at)?,
                What::Forward => self.range("forward", thread, span.at)?,
                What::Backward => self.range("backward", thread, span.at)?,
                What::ZeroGrad => self.range("zero_grad", thread, span.at)?,
                What::Optimizer => self.range("optimizer", thread, span.at)?,
                What::ReadLoss => self.range("aten::item", thread, span.at)?,
                What::Checkpoint => self.range("checkpoint", thread, span.at)?,
                What::Collect => self.range("gc", thread, span.at)?,
                What::AllReduce => self.range("nccl:all_reduce", thread, span.at)?,
                What::Op(name) => self.range(name, thread, span.at)?,
                What::Node(name) => {
                    let name = format!("autograd::engine::evaluate_function: {name}");
                    self.range(&name, thread, span.at)?;
                }
            }
        }
        for call in &step.calls {
            self.call(step.rank, call)?;
        }
        Ok(())
    }

    fn epoch_end(&mut self, end: &EpochEnd) -> io::Result<()> {
        let main = self.thread_of(end.rank, Thread::Main);
        self.range("epoch", main, end.at)?;
        if let Some(at) = end.exhausted {
            self.put(WAIT, at, &[main])?;
        }
        self.range("checkpoint", main, end.checkpoint)?;
        for call in &end.calls {
            self.call(end.rank, call)?;
        }
        Ok(())
    }

    fn finish(&mut self, _end: i64) -> io::Result<()> {
        self.close()
    }

    fn bytes(&self) -> u64 {
        self.written
    }

    fn keeps_exhausted(&self) -> bool {
        true
    }
}
