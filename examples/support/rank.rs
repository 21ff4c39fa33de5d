//! One training process: its thread's clock, its GPU, its loader.

use super::device::Device;
use super::loader::Loader;
use super::model::{Api, Call, GpuOp, Job, Late, LateIn, OpKind, Rng, Span, Thread, Twists};
use super::speed::Speed;

/// From the return of a launch call to the earliest start of its kernel.
pub const LAUNCH_LATENCY: i64 = 3_500;

/// One training process.
pub struct Rank {
    pub number: u32,
    /// When its main thread is free.
    pub now: i64,
    pub rng: Rng,
    pub gpu: Device,
    pub loader: Loader,
    pub correlation: u64,
    pub sequence: u64,
    pub speed: Speed,
    /// Time that recorders take.
    pub recorders: Rng,
    /// When the loop asked for the iterator of an epoch whose first batch it has not asked for yet.
    pub asked: Option<i64>,
    /// When the thread that fetches is free.
    pub prefetch_free: i64,
    /// When the loop took its last two batches from that thread.
    pub taken: [i64; 2],
}

impl Rank {
    pub fn new(job: &Job, number: u32) -> Self {
        let c = &job.config;
        let seed = c.seed.wrapping_mul(31).wrapping_add(u64::from(number));
        Self {
            number,
            now: 1_000_000 + i64::from(number) * 37_000,
            rng: Rng::new(seed),
            gpu: Device::new(),
            loader: Loader::new(c, number),
            correlation: 1_000,
            sequence: 100,
            speed: Speed::new(seed, c.twists.noise, c.twists.lag1),
            recorders: Rng::new(seed ^ 0x9b97_f4a7),
            asked: None,
            prefetch_free: 0,
            taken: [0; 2],
        }
    }

    /// By how much it is late in something.
    pub fn late(&self, twists: &Twists, within: LateIn) -> i64 {
        let own = |l: &Late| l.rank == self.number && l.within == within;
        twists.late.filter(own).map_or(0, |l| l.ns)
    }
}

impl Rank {
    /// A launch call at `at`, and the operation that it launches on `stream`.
    pub fn launch(
        &mut self,
        out: &mut Vec<Call>,
        thread: Thread,
        at: i64,
        op: (OpKind, &'static str, u32, i64, u64),
    ) -> Span {
        let (kind, name, stream, duration, bytes) = op;
        let api = match kind {
            OpKind::Kernel | OpKind::Collective => Api::LaunchKernel,
            OpKind::Memset => Api::MemsetAsync,
            OpKind::HostToDevice | OpKind::DeviceToHost => Api::MemcpyAsync,
        };
        let room = self.gpu.queue_has_room(at);
        let call = Span::new(at, room + self.rng.around(5_200, 300));
        let latency = self.rng.around(LAUNCH_LATENCY, 250);
        let start = self.gpu.earliest(stream, call.end + latency);
        let run = Span::new(start, start + duration);
        self.gpu.run(stream, run);
        self.correlation += 1;
        let op = Some(GpuOp {
            kind,
            name,
            stream,
            at: run,
            bytes,
        });
        out.push(Call {
            api,
            thread,
            at: call,
            correlation: self.correlation,
            op,
        });
        call
    }

    /// A call that returns when everything queued so far has run.
    pub fn synchronize(&mut self, out: &mut Vec<Call>, at: i64) -> Span {
        let call = Span::new(
            at,
            (at + 4_000).max(self.gpu.idle_from() + self.rng.around(7_000, 200)),
        );
        self.correlation += 1;
        out.push(Call {
            api: Api::StreamSynchronize,
            thread: Thread::Main,
            at: call,
            correlation: self.correlation,
            op: None,
        });
        call
    }
}
