//! Writes a job as torch.profiler does: one Chrome-trace JSON per rank, plain or gzip, with the fields of a Kineto file.
//!
//! Loader processes are not in it: the profiler records its own process only.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::clock::{Clock, Host};
use super::model::{
    BatchLoad, COMM_STREAM, COMPUTE_STREAM, Call, CpuSpan, EpochEnd, EpochStart, GpuOp, Job,
    OpKind, Sink, Span, Step, Thread, What,
};

/// Relative time of the job's zero in the file; real files begin at a large, arbitrary number too.
const OFFSET: i64 = 5_000_000_000_000;
/// Text is collected up to this many bytes before it is written.
const CHUNK: usize = 1 << 20;

/// Nanoseconds as Kineto prints them: microseconds with three decimals.
struct Us(i64);

impl fmt::Display for Us {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 + OFFSET;
        write!(f, "{}.{:03}", ns / 1_000, ns % 1_000)
    }
}

struct Length(i64);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

/// What to record.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// `ProfilerStep#N` spans, as with a profiler schedule.
    pub steps: bool,
    /// Python frames, as with `with_stack=True`.
    pub stack: bool,
}

/// One rank's file.
struct RankFile {
    out: Box<dyn Write>,
    text: Vec<u8>,
    written: u64,
    pid: u32,
    device: u32,
    ids: u64,
    frames: u64,
    /// End of the previous profiler step.
    step_from: i64,
    /// Where it was recorded; then it says more.
    host: Option<String>,
    clock: Clock,
    world: u32,
    collectives: u64,
}

/// Writes torch.profiler traces.
pub struct Torch {
    base: PathBuf,
    options: Options,
    workers: bool,
    persistent: bool,
    /// Who asks for batches.
    fetches: Thread,
    files: Vec<RankFile>,
    closed_bytes: u64,
    /// By rank; empty: not told.
    hosts: Vec<Host>,
}

impl Torch {
    /// Will write to `path`, or to `path` with `_rank<N>` in its name where there are several ranks.
    pub fn new(path: &Path, options: Options) -> Self {
        Self {
            base: path.to_owned(),
            options,
            workers: false,
            persistent: false,
            fetches: Thread::Main,
            files: Vec::new(),
            closed_bytes: 0,
            hosts: Vec::new(),
        }
    }

    /// Will write what ranks do on their hosts, in more detail: draws of the loader's seed, groups of collectives.
    pub fn on(mut self, hosts: Vec<Host>) -> Self {
        self.hosts = hosts;
        self
    }
}

/// The file of a rank.
pub fn rank_path(path: &Path, rank: u32, ranks: u32) -> PathBuf {
    if ranks == 1 {
        return path.to_owned();
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, rest) = name.split_once('.').unwrap_or((&name, "json"));
    path.with_file_name(format!("{stem}_rank{rank}.{rest}"))
}

impl Sink for Torch {
    fn begin(&mut self, job: &Job) -> io::Result<()> {
        let ranks = job.config.ranks;
        self.workers = job.config.workers > 0;
        self.persistent = job.config.twists.persistent;
        if job.config.twists.prefetch_thread {
            self.fetches = Thread::Prefetch;
        }
        for rank in 0..ranks {
            let path = rank_path(&self.base, rank, ranks);
            let file = BufWriter::new(File::create(&path)?);
            let out: Box<dyn Write> = if path.extension().is_some_and(|e| e == "gz") {
                Box::new(GzEncoder::new(file, Compression::new(6)))
            } else {
                Box::new(file)
            };
            let mut file = RankFile {
                out,
                text: Vec::with_capacity(CHUNK + (CHUNK >> 2)),
                written: 0,
                pid: job.pid(rank),
                device: rank,
                ids: 0,
                frames: 0,
                step_from: 0,
                host: self.hosts.get(rank as usize).map(|h| h.name.clone()),
                clock: self
                    .hosts
                    .get(rank as usize)
                    .map(|h| h.clock)
                    .unwrap_or_default(),
                world: ranks,
                collectives: 0,
            };
            file.header(job, self.options)?;
            self.files.push(file);
        }
        Ok(())
    }

    fn epoch_start(&mut self, start: &EpochStart) -> io::Result<()> {
        let file = &mut self.files[start.rank as usize];
        if file.host.is_none() || (self.persistent && start.epoch > 0) {
            return Ok(());
        }
        let at = |from: i64, to: i64| Span::new(start.asked + from, start.asked + to);
        let thread = self.fetches;
        file.operator("aten::empty", thread, at(20_000, 22_000), 0)?;
        file.operator("aten::random_", thread, at(23_000, 25_000), 0)?;
        file.operator("aten::item", thread, at(26_000, 30_000), 0)?;
        file.operator("aten::_local_scalar_dense", thread, at(27_000, 29_000), 0)
    }

    fn step(&mut self, step: &Step) -> io::Result<()> {
        let options = self.options;
        let file = &mut self.files[step.rank as usize];
        file.step(step, options)?;
        file.flush(CHUNK)
    }

    fn epoch_end(&mut self, end: &EpochEnd) -> io::Result<()> {
        let (workers, fetches) = (self.workers, self.fetches);
        let file = &mut self.files[end.rank as usize];
        if let Some(at) = end.exhausted {
            file.fetch(at, workers, fetches)?;
        }
        file.annotation("checkpoint", Thread::Main, end.checkpoint)?;
        for call in &end.calls {
            file.call(call)?;
        }
        Ok(())
    }

    fn finish(&mut self, end: i64) -> io::Result<()> {
        for file in &mut self.files {
            file.footer(end)?;
            file.flush(0)?;
            file.out.flush()?;
            self.closed_bytes += file.written;
        }
        // Dropping a gzip encoder writes its trailer.
        self.files.clear();
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.closed_bytes
            + self
                .files
                .iter()
                .map(|f| f.written + f.text.len() as u64)
                .sum::<u64>()
    }

    fn keeps_exhausted(&self) -> bool {
        true
    }
}

impl RankFile {
    fn flush(&mut self, above: usize) -> io::Result<()> {
        if self.text.len() > above {
            self.out.write_all(&self.text)?;
            self.written += self.text.len() as u64;
            self.text.clear();
        }
        Ok(())
    }

    fn tid(&self, thread: Thread) -> u32 {
        match thread {
            Thread::Main => self.pid,
            Thread::Autograd => self.pid + 77,
            Thread::Prefetch => self.pid + 91,
        }
    }

    fn header(&mut self, job: &Job, options: Options) -> io::Result<()> {
        let (rank, world) = (self.device, job.config.ranks);
        let host = self.host.as_ref();
        let host = host.map(|h| format!("\n  \"host_name\": \"{h}\","));
        write!(
            self.text,
            r#"{{
  "schemaVersion": 1,
  "deviceProperties": [
    {{
      "id": {rank}, "name": "Simulated GPU", "totalGlobalMem": 84942979072,
      "computeMajor": 9, "computeMinor": 0, "maxThreadsPerBlock": 1024, "warpSize": 32, "numSms": 132
    }}
  ],
  "cupti_version": 26,
  "cuda_runtime_version": 12080,
  "cuda_driver_version": 13000,
  "record_shapes": 1,
  "with_stack": {},
  "distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": {world}}},{}
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": {},
  "traceEvents": ["#,
            u8::from(options.stack),
            host.unwrap_or_default(),
            job.unix_origin - OFFSET,
        )
    }

    /// `},` of the previous event is written by the next one; the header ends with `[`.
    fn event(&mut self, cat: &str, name: &str, pid: u32, tid: u32, at: Span) -> io::Result<()> {
        let comma = if self.ids == 0 { "" } else { "," };
        self.ids += 1;
        let at = self.clock.span(at);
        write!(
            self.text,
            "{comma}\n  {{\n    \"ph\": \"X\", \"cat\": \"{cat}\", \"name\": \"{name}\", \"pid\": {pid}, \"tid\": {tid},\n    \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      ",
            Us(at.start),
            Length(at.len()),
        )
    }

    fn annotation(&mut self, name: &str, thread: Thread, at: Span) -> io::Result<()> {
        let (pid, tid) = (self.pid, self.tid(thread));
        self.event("user_annotation", name, pid, tid, at)?;
        let id = self.ids;
        write!(
            self.text,
            "\"External id\": {id}, \"Record function id\": 0, \"Ev Idx\": {id}\n    }}\n  }}"
        )
    }

    fn operator(&mut self, name: &str, thread: Thread, at: Span, sequence: u64) -> io::Result<()> {
        let (pid, tid) = (self.pid, self.tid(thread));
        self.event("cpu_op", name, pid, tid, at)?;
        let id = self.ids;
        write!(
            self.text,
            "\"External id\": {id}, \"Record function id\": {id}, "
        )?;
        if sequence > 0 {
            let forward = u32::from(thread == Thread::Autograd);
            write!(
                self.text,
                "\"Sequence number\": {sequence}, \"Fwd thread id\": {forward}, "
            )?;
        }
        write!(
            self.text,
            "\"Concrete Inputs\": [\"\", \"\", \"\"], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\"], \"Input Dims\": [[64, 1024, 1024], [4096, 1024], [4096]], \"Ev Idx\": {id}\n    }}\n  }}",
        )
    }

    fn frame(&mut self, name: &str, at: Span, parent: u64) -> io::Result<u64> {
        let pid = self.pid;
        self.event("python_function", name, pid, pid, at)?;
        self.frames += 1;
        let (frame, id) = (self.frames, self.ids);
        let text = &mut self.text;
        match parent {
            0 => write!(text, "\"Python parent id\": null, ")?,
            p => write!(text, "\"Python parent id\": {p}, ")?,
        }
        write!(
            text,
            "\"Python id\": {frame}, \"Ev Idx\": {id}\n    }}\n  }}"
        )?;
        Ok(frame)
    }

    fn flow(&mut self, ph: &str, cat: &str, id: u64, at: (u32, u32, i64)) -> io::Result<()> {
        let (pid, tid, ts) = at;
        let ts = self.clock.at(ts);
        let bind = if ph == "f" { ", \"bp\": \"e\"" } else { "" };
        write!(
            self.text,
            ",\n  {{\n    \"ph\": \"{ph}\", \"id\": {id}, \"pid\": {pid}, \"tid\": {tid}, \"ts\": {},\n    \"cat\": \"{cat}\", \"name\": \"{cat}\"{bind}\n  }}",
            Us(ts),
        )
    }

    fn fetch(&mut self, at: Span, workers: bool, thread: Thread) -> io::Result<()> {
        let name = if workers {
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
        } else {
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        };
        self.annotation(name, thread, at)
    }

    fn step(&mut self, step: &Step, options: Options) -> io::Result<()> {
        if options.steps {
            let begin = if self.step_from == 0 {
                step.at.start
            } else {
                self.step_from
            };
            let name = format!("ProfilerStep#{}", step.index + 3);
            self.annotation(&name, Thread::Main, Span::new(begin, step.at.end))?;
            self.step_from = step.at.end;
        }
        self.fetch(step.inner, step.load.worker.is_some(), step.fetched_by)?;
        if options.stack {
            self.fetch_frames(step.inner)?;
        }
        if step.load.worker.is_none() {
            self.load_ops(&step.load)?;
        }
        for s in &step.spans {
            self.cpu_span(s, options)?;
        }
        for call in &step.calls {
            self.call(call)?;
        }
        self.gpu_annotation("Optimizer.step#AdamW.step", step)
    }

    fn fetch_frames(&mut self, wait: Span) -> io::Result<()> {
        let inner = |by: i64| Span::new(wait.start + by, wait.end - by);
        let mut parent = 0;
        for (i, name) in [
            "torch/utils/data/dataloader.py(734): __next__",
            "torch/utils/data/dataloader.py(1516): _next_data",
            "torch/utils/data/dataloader.py(1479): _get_data",
            "queue.py(154): get",
        ]
        .into_iter()
        .enumerate()
        {
            let by = 300 + 600 * i64::try_from(i).unwrap_or(0);
            parent = self.frame(name, inner(by), parent)?;
        }
        Ok(())
    }

    /// What the profiler sees of loading in the process itself.
    fn load_ops(&mut self, load: &BatchLoad) -> io::Result<()> {
        for item in &load.items {
            self.operator("aten::_to_copy", Thread::Main, item.augment, 0)?;
        }
        self.operator("aten::stack", Thread::Main, load.handover, 0)
    }

    fn cpu_span(&mut self, s: &CpuSpan, options: Options) -> io::Result<()> {
        match s.what {
            What::Transfer => self.annotation("h2d_transfer", s.thread, s.at),
            What::Forward => self.annotation("forward", s.thread, s.at),
            What::Backward => self.annotation("backward", s.thread, s.at),
            What::ZeroGrad => {
                self.annotation("Optimizer.zero_grad#AdamW.zero_grad", s.thread, s.at)
            }
            What::Optimizer => self.annotation("Optimizer.step#AdamW.step", s.thread, s.at),
            What::ReadLoss => self.operator("aten::item", s.thread, s.at, 0),
            What::Checkpoint => self.annotation("checkpoint", s.thread, s.at),
            What::Collect => self.frame("Python GC", s.at, 0).map(|_| ()),
            What::AllReduce => self.annotation("nccl:all_reduce", s.thread, s.at),
            What::Op(name) => {
                self.operator(name, s.thread, s.at, s.sequence)?;
                if s.sequence == 0 {
                    return Ok(());
                }
                if options.stack {
                    let module = self.frame(
                        "torch/nn/modules/module.py(1773): _wrapped_call_impl",
                        s.at,
                        0,
                    )?;
                    self.frame("torch/nn/modules/module.py(1784): _call_impl", s.at, module)?;
                }
                let (pid, tid) = (self.pid, self.tid(s.thread));
                self.flow("s", "fwdbwd", s.sequence, (pid, tid, s.at.start))
            }
            What::Node(name) => {
                let outer = format!("autograd::engine::evaluate_function: {name}");
                self.operator(&outer, s.thread, s.at, s.sequence)?;
                self.operator(
                    name,
                    s.thread,
                    Span::new(s.at.start + 2_000, s.at.end - 500),
                    s.sequence,
                )?;
                let (pid, tid) = (self.pid, self.tid(s.thread));
                self.flow("f", "fwdbwd", s.sequence, (pid, tid, s.at.start))
            }
        }
    }

    fn call(&mut self, call: &Call) -> io::Result<()> {
        let (pid, tid) = (self.pid, self.tid(call.thread));
        self.event("cuda_runtime", call.api.name(), pid, tid, call.at)?;
        let (id, c) = (self.ids, call.correlation);
        write!(
            self.text,
            "\"External id\": {id}, \"cbid\": {}, \"correlation\": {c}\n    }}\n  }}",
            call.api.cbid()
        )?;
        let Some(op) = &call.op else {
            return Ok(());
        };
        self.gpu_op(op, c, id)?;
        self.flow("s", "ac2g", c, (pid, tid, call.at.start))?;
        self.flow("f", "ac2g", c, (self.device, op.stream, op.at.start))
    }

    fn gpu_op(&mut self, op: &GpuOp, c: u64, id: u64) -> io::Result<()> {
        let device = self.device;
        let (cat, name) = match op.kind {
            OpKind::Kernel | OpKind::Collective => ("kernel", op.name),
            OpKind::HostToDevice => ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)"),
            OpKind::DeviceToHost => ("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)"),
            OpKind::Memset => ("gpu_memset", "Memset (Device)"),
        };
        self.event(cat, name, device, op.stream, op.at)?;
        let stream = op.stream;
        if op.kind == OpKind::Collective && self.host.is_some() {
            self.collective()?;
        }
        if cat == "kernel" {
            let grid = 1 + c * 37 % 2_048;
            write!(
                self.text,
                "\"External id\": {id}, \"queued\": 0, \"device\": {device}, \"context\": 1,\n      \"stream\": {stream}, \"correlation\": {c},\n      \"registers per thread\": {},\n      \"shared memory\": {},\n      \"blocks per SM\": {}.{:06},\n      \"grid\": [{grid}, 1, 1],\n      \"block\": [{}, 1, 1],\n      \"est. achieved occupancy %\": {}\n    }}\n  }}",
                16 + 8 * (c % 28),
                1_024 * (c % 48),
                grid / 132,
                grid % 132 * 1_000_000 / 132,
                128 + 128 * (c % 3),
                10 + c % 80,
            )
        } else {
            // Bytes per nanosecond are GB/s.
            let milli = op.bytes * 1_000 / op.at.len().max(1).unsigned_abs();
            write!(
                self.text,
                "\"External id\": {id}, \"device\": {device}, \"context\": 1,\n      \"stream\": {stream}, \"correlation\": {c},\n      \"bytes\": {}, \"memory bandwidth (GB/s)\": {}.{:03}\n    }}\n  }}",
                op.bytes,
                milli / 1_000,
                milli % 1_000,
            )
        }
    }

    /// What a collective says of itself: which one of its group it is, and of how much.
    fn collective(&mut self) -> io::Result<()> {
        self.collectives += 1;
        let (number, world) = (self.collectives, self.world);
        let ranks: Vec<u32> = (0..world).collect();
        write!(
            self.text,
            "\"Collective name\": \"allreduce\", \"In msg nelems\": 6553600, \"Out msg nelems\": 6553600, \"Group size\": {world}, \"dtype\": \"BFloat16\",\n      \"Process Group Name\": \"0\", \"Process Group Description\": \"default_pg\", \"Process Group Ranks\": \"{ranks:?}\", \"Seq\": {number},\n      ",
        )
    }

    /// The copy of the optimizer's annotation on the GPU: it spans the gaps between its kernels.
    fn gpu_annotation(&mut self, name: &str, step: &Step) -> io::Result<()> {
        let Some(optimizer) = step.spans.iter().find(|s| s.what == What::Optimizer) else {
            return Ok(());
        };
        let inside = |c: &&Call| optimizer.at.start <= c.at.start && c.at.start < optimizer.at.end;
        let ops = || step.calls.iter().filter(inside).filter_map(|c| c.op);
        let (Some(first), Some(last)) = (
            ops().map(|o| o.at.start).min(),
            ops().map(|o| o.at.end).max(),
        ) else {
            return Ok(());
        };
        let device = self.device;
        self.event(
            "gpu_user_annotation",
            name,
            device,
            COMPUTE_STREAM,
            Span::new(first - 1, last + 2),
        )?;
        let id = self.ids;
        write!(self.text, "\"External id\": {id}\n    }}\n  }}")
    }

    fn meta(&mut self, name: &str, at: (u32, u32), arg: &str) -> io::Result<()> {
        let (pid, tid) = at;
        write!(
            self.text,
            ",\n  {{\n    \"name\": \"{name}\", \"ph\": \"M\", \"ts\": {}, \"pid\": {pid}, \"tid\": {tid},\n    \"args\": {{\n      {arg}\n    }}\n  }}",
            Us(self.clock.at(0)),
        )
    }

    fn footer(&mut self, end: i64) -> io::Result<()> {
        let (pid, device) = (self.pid, self.device);
        let autograd = self.tid(Thread::Autograd);
        self.meta("process_name", (pid, 0), "\"name\": \"python3\"")?;
        self.meta("process_labels", (pid, 0), "\"labels\": \"CPU\"")?;
        self.meta("process_name", (device, 0), "\"name\": \"python3\"")?;
        self.meta(
            "process_labels",
            (device, 0),
            &format!("\"labels\": \"GPU {device}\""),
        )?;
        for stream in [COMPUTE_STREAM, COMM_STREAM] {
            self.meta(
                "thread_name",
                (device, stream),
                &format!("\"name\": \"stream {stream} \""),
            )?;
        }
        for (tid, name) in [(pid, "pt_main_thread"), (autograd, "pt_autograd_0")] {
            self.meta(
                "thread_name",
                (pid, tid),
                &format!("\"name\": \"thread {tid} ({name})\""),
            )?;
        }
        write!(
            self.text,
            ",\n  {{\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": {}, \"dur\": {},\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n    \"args\": {{\n      \"Op count\": 0\n    }}\n  }},\n  {{\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", \"tid\": \"\", \"ts\": {}\n  }}\n  ],\n  \"traceName\": \"simulated\"\n}}\n",
            Us(self.clock.at(0)),
            Length(self.clock.span(Span::new(0, end)).len()),
            Us(self.clock.at(end + 100)),
        )
    }
}
