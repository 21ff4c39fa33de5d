//! What a simulated training job did: the vocabulary shared by the simulation and the writers.
//!
//! All times are nanoseconds since the job began; [`Job::unix_origin`] says when that was. Knows no file format.

use std::io;

/// A half-open interval in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub start: i64,
    pub end: i64,
}

impl Span {
    pub fn new(start: i64, end: i64) -> Self {
        debug_assert!(start <= end, "{start} <= {end}");
        Self { start, end }
    }

    pub fn len(self) -> i64 {
        self.end - self.start
    }
}

/// What is simulated. Times in nanoseconds.
#[derive(Clone, Debug)]
pub struct Config {
    pub seed: u64,
    /// Training processes, one GPU each; two or more reduce their gradients with NCCL.
    pub ranks: u32,
    /// Loader processes per rank; with none the loop loads its own batches.
    pub workers: u32,
    /// Batches that a worker may be ahead.
    pub prefetch: u32,
    /// Samples per batch.
    pub batch: u32,
    /// Steps in all epochs together.
    pub steps: u64,
    /// Steps of one epoch.
    pub epoch_steps: u64,
    /// The loop reads the loss, and so waits for the GPU, every so many steps; 0 = never.
    pub sync_every: u64,
    /// Transformer blocks of the network: ten kernels forward and fifteen backward each.
    pub blocks: u32,
    /// GPU time of the forward and backward kernels of one step.
    pub gpu: i64,
    /// Time to load one sample.
    pub item: i64,
    /// Reads per sample; they take a sixth of its time.
    pub reads: u32,
    /// Collating a batch and handing it over.
    pub handover: i64,
    /// From the start of an epoch to the workers' first sample.
    pub startup: i64,
    /// How the job differs from a plain one.
    pub twists: Twists,
}

/// Something that happens every so many steps, batches or samples, and how long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Every {
    pub n: u64,
    pub ns: i64,
}

impl Every {
    /// Whether it happens after the one with this number, from 0.
    pub fn hits(self, index: u64) -> bool {
        (index + 1).is_multiple_of(self.n.max(1))
    }
}

/// In what a rank is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateIn {
    /// It waits longer for its batch.
    Input,
    /// The copy of its batch to the GPU takes longer.
    Copy,
    /// Its kernels run longer, forward or backward.
    Forward,
    Backward,
    /// Its loop does something that nobody recorded, before the forward pass.
    Host,
}

/// A rank that keeps the others waiting in every step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    pub rank: u32,
    pub within: LateIn,
    /// Per step.
    pub ns: i64,
}

/// What is made to happen in a job; by default nothing. Times in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Twists {
    pub late: Option<Late>,
    /// Forward and backward are a graph launch each, whose kernels the profiler does not record.
    pub unrecorded_graphs: bool,
    /// A thread of the loop's process fetches the batches; the loop takes them from it unseen.
    pub prefetch_thread: bool,
    /// The loop writes a checkpoint every so many steps.
    pub checkpoint: Option<Every>,
    /// Python collects its garbage every so many steps.
    pub collect: Option<Every>,
    /// The loader's workers live on from epoch to epoch.
    pub persistent: bool,
    /// Making the loader's iterator takes so much longer.
    pub make: i64,
    /// One worker takes so much longer for each sample.
    pub slow_worker: Option<(u32, i64)>,
    /// Files of the data set, which is read again and again; none: each sample has its own.
    pub files: Option<u64>,
    /// Reading one file takes so much longer.
    pub slow_file: Option<(u64, i64)>,
    /// Some samples take longer to prepare.
    pub slow_item: Option<Every>,
    /// Collating a batch takes so much longer.
    pub collate: i64,
    /// Standard deviation of the GPU's speed from step to step, in thousandths.
    pub noise: i64,
    /// How much of a step's deviation the next one keeps, in thousandths.
    pub lag1: i64,
    /// The batch of an epoch is asked for before its iterator is made, and recorders take time of their own around each
    /// request: up to so much before and after it.
    pub recorders: Option<[i64; 2]>,
}

/// The parts of a job that are known before it runs.
#[derive(Clone, Debug)]
pub struct Job {
    pub config: Config,
    /// Unix time (ns) of the job's time zero.
    pub unix_origin: i64,
    /// Process id of the first rank; rank r has `pid + r`.
    pub pid: u32,
}

impl Job {
    /// Process id of a rank; its main thread has the same number.
    pub fn pid(&self, rank: u32) -> u32 {
        self.pid + rank
    }

    /// Process id of a loader process. PyTorch starts new ones in every epoch.
    pub fn worker_pid(&self, rank: u32, epoch: u32, worker: u32) -> u32 {
        let c = &self.config;
        let epoch = if c.twists.persistent { 0 } else { epoch };
        self.pid + 1_000 + (epoch * c.ranks + rank) * c.workers.max(1) + worker
    }
}

/// Where a call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread {
    Main,
    Autograd,
    /// Fetches batches where the loop does not.
    Prefetch,
}

/// What a CPU span of the loop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The batch is queued for its copy to the GPU.
    Transfer,
    /// The model and the loss.
    Forward,
    /// `loss.backward()`, which blocks while the autograd thread launches.
    Backward,
    ZeroGrad,
    Optimizer,
    /// The loop reads the loss: `loss.item()`.
    ReadLoss,
    /// An operator.
    Op(&'static str),
    /// A backward node of the autograd engine.
    Node(&'static str),
    /// A collective as called.
    AllReduce,
    /// The weights are written to disk.
    Checkpoint,
    /// Python collects its garbage.
    Collect,
}

/// A CPU span of the loop.
#[derive(Clone, Copy, Debug)]
pub struct CpuSpan {
    pub what: What,
    pub thread: Thread,
    pub at: Span,
    /// Joins a forward operator and its backward node; 0 = none.
    pub sequence: u64,
}

/// A call of the CUDA runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    LaunchKernel,
    MemcpyAsync,
    MemsetAsync,
    StreamSynchronize,
    GraphLaunch,
}

impl Api {
    pub fn name(self) -> &'static str {
        match self {
            Self::LaunchKernel => "cudaLaunchKernel",
            Self::MemcpyAsync => "cudaMemcpyAsync",
            Self::MemsetAsync => "cudaMemsetAsync",
            Self::StreamSynchronize => "cudaStreamSynchronize",
            Self::GraphLaunch => "cudaGraphLaunch",
        }
    }

    /// CUPTI's callback id.
    pub fn cbid(self) -> u32 {
        match self {
            Self::LaunchKernel => 211,
            Self::MemcpyAsync => 41,
            Self::MemsetAsync => 51,
            Self::StreamSynchronize => 131,
            Self::GraphLaunch => 311,
        }
    }
}

/// What a GPU operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    Kernel,
    Collective,
    HostToDevice,
    DeviceToHost,
    Memset,
}

/// Stream of kernels and of copies.
pub const COMPUTE_STREAM: u32 = 7;
/// Stream of collectives.
pub const COMM_STREAM: u32 = 20;

/// A GPU operation.
#[derive(Clone, Copy, Debug)]
pub struct GpuOp {
    pub kind: OpKind,
    /// Kernel name, mangling undone; empty for copies and sets.
    pub name: &'static str,
    pub stream: u32,
    pub at: Span,
    /// Bytes of copies and sets.
    pub bytes: u64,
}

/// A call and the operation that it launched.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub api: Api,
    pub thread: Thread,
    pub at: Span,
    /// Unique per process.
    pub correlation: u64,
    pub op: Option<GpuOp>,
}

/// One sample being loaded.
#[derive(Clone, Debug)]
pub struct Item {
    pub at: Span,
    /// Number of the sample's file.
    pub file: u64,
    /// Reads of that file inside `at`, ascending, each of [`READ_BYTES`].
    pub reads: Vec<Span>,
    /// Random crops and flips, the end of `at`.
    pub augment: Span,
}

/// Bytes of one read.
pub const READ_BYTES: u64 = 249_856;

/// One batch being loaded.
#[derive(Clone, Debug)]
pub struct BatchLoad {
    /// `None`: by the loop itself.
    pub worker: Option<u32>,
    pub items: Vec<Item>,
    /// Collating and handing over, after the last item.
    pub handover: Span,
}

/// One iteration of the loop.
#[derive(Clone, Debug)]
pub struct Step {
    pub rank: u32,
    pub epoch: u32,
    /// Number in the whole job.
    pub index: u64,
    /// Number in its epoch.
    pub in_epoch: u64,
    /// From the request of the batch to the end of the loop body.
    pub at: Span,
    /// The loop waits for the batch, with what recorders take of it.
    pub wait: Span,
    /// The loader's own part of the wait.
    pub inner: Span,
    /// Who asks for the batch.
    pub fetched_by: Thread,
    /// How that batch was loaded.
    pub load: BatchLoad,
    /// By start; a parent before its children.
    pub spans: Vec<CpuSpan>,
    /// By start, per thread.
    pub calls: Vec<Call>,
}

/// The beginning of an epoch: its loader processes start.
#[derive(Clone, Copy, Debug)]
pub struct EpochStart {
    pub rank: u32,
    pub epoch: u32,
    /// When the loop asked for an iterator.
    pub asked: i64,
    /// When there was one.
    pub at: i64,
}

/// The end of an epoch.
#[derive(Clone, Debug)]
pub struct EpochEnd {
    pub rank: u32,
    /// From the start of the epoch.
    pub at: Span,
    /// The last request for a batch, which ends the iteration; `None` where the job was cut short.
    pub exhausted: Option<Span>,
    /// The weights are written to disk.
    pub checkpoint: Span,
    /// Calls of the checkpoint.
    pub calls: Vec<Call>,
}

/// Writes a job down in some format. Methods are called in time order per rank.
pub trait Sink {
    /// Once, first.
    fn begin(&mut self, job: &Job) -> io::Result<()>;
    fn epoch_start(&mut self, start: &EpochStart) -> io::Result<()>;
    fn step(&mut self, step: &Step) -> io::Result<()>;
    fn epoch_end(&mut self, end: &EpochEnd) -> io::Result<()>;
    /// Once, last; `end` is when the recording stops.
    fn finish(&mut self, end: i64) -> io::Result<()>;
    /// Bytes of trace text or database so far.
    fn bytes(&self) -> u64;
    /// Whether the format records the request that ends an epoch.
    fn keeps_exhausted(&self) -> bool;
    /// Ticks of the format's clock, ns: starts and ends are rounded down to them.
    fn tick(&self) -> i64 {
        1
    }
}

/// Random numbers: SplitMix64, the same on every machine.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// `value`, give or take `permille` thousandths.
    pub fn around(&mut self, value: i64, permille: i64) -> i64 {
        let spread = value * permille / 1_000;
        let offset = self.below(spread.max(0).unsigned_abs() * 2 + 1);
        value - spread + i64::try_from(offset).unwrap_or(0)
    }
}
