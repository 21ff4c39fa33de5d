//! The training loop: fetch, copy, forward, backward, optimizer, and sometimes a look at the loss.
//!
//! The CPU only queues work; the GPU runs it when its streams get there. With several ranks every gradient bucket is
//! reduced by a collective that ends on all GPUs at once.

use std::io;

use super::device::Device;
use super::loader::Loader;
use super::model::{
    Api, COMM_STREAM, COMPUTE_STREAM, Call, CpuSpan, EpochEnd, EpochStart, GpuOp, Job, OpKind, Rng,
    Sink, Span, Step, Thread, What,
};
use super::truth::{RankTruth, StepTruth, Truth};

/// A layer of a block: operator, kernel, relative GPU time, backward node, kernels of the node.
struct Layer(&'static str, &'static str, i64, &'static str, i64);

const GEMM: &str = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas";
const NORM: &str = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)";
const ATTENTION: &str = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t>, false, true, false, false, true, true, false>(pytorch_flash::Flash_fwd_params)";
const POINTWISE: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)";
const ADAM: &str = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4> >";
const REDUCE: &str = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

const BLOCK: [Layer; 10] = [
    Layer("aten::layer_norm", NORM, 14, "NativeLayerNormBackward0", 1),
    Layer("aten::linear", GEMM, 90, "AddmmBackward0", 2),
    Layer(
        "aten::scaled_dot_product_attention",
        ATTENTION,
        110,
        "ScaledDotProductFlashAttentionBackward0",
        2,
    ),
    Layer("aten::linear", GEMM, 35, "AddmmBackward0", 2),
    Layer("aten::add", POINTWISE, 9, "AddBackward0", 1),
    Layer("aten::layer_norm", NORM, 14, "NativeLayerNormBackward0", 1),
    Layer("aten::linear", GEMM, 120, "AddmmBackward0", 2),
    Layer("aten::gelu", POINTWISE, 16, "GeluBackward0", 1),
    Layer("aten::linear", GEMM, 118, "AddmmBackward0", 2),
    Layer("aten::add", POINTWISE, 9, "AddBackward0", 1),
];

/// Kernels of the optimizer per step.
const OPTIMIZER_KERNELS: u32 = 4;
/// Backward nodes per gradient bucket.
const BUCKET: usize = 10;
/// From the return of a launch call to the earliest start of its kernel.
const LAUNCH_LATENCY: i64 = 3_500;

/// One training process.
struct Rank {
    number: u32,
    /// When its main thread is free.
    now: i64,
    rng: Rng,
    gpu: Device,
    loader: Loader,
    correlation: u64,
    sequence: u64,
}

/// A collective that has been launched and waits for the other ranks.
struct Bucket {
    call: usize,
    ready: i64,
    duration: i64,
}

/// A step being built.
struct Draft {
    step: Step,
    buckets: Vec<Bucket>,
    forward_end: i64,
    forward_gpu_end: i64,
    in_sync: i64,
}

/// Simulates `job` into `sink`, until its steps are done or the sink holds `max_bytes`. Returns the truth per rank.
pub fn run(
    job: &Job,
    sink: &mut dyn Sink,
    truth: Truth,
    max_bytes: u64,
) -> io::Result<Vec<RankTruth>> {
    let mut truth = truth;
    let c = &job.config;
    let mut ranks: Vec<Rank> = (0..c.ranks)
        .map(|number| Rank {
            number,
            now: 1_000_000 + i64::from(number) * 37_000,
            rng: Rng::new(c.seed.wrapping_mul(31).wrapping_add(u64::from(number))),
            gpu: Device::new(),
            loader: Loader::new(c, number),
            correlation: 1_000,
            sequence: 100,
        })
        .collect();
    sink.begin(job)?;
    let (mut index, mut epoch) = (0, 0);
    while index < c.steps && sink.bytes() < max_bytes {
        index = run_epoch(job, &mut ranks, sink, &mut truth, epoch, index, max_bytes)?;
        epoch += 1;
    }
    let end = ranks
        .iter()
        .map(|r| r.now.max(r.gpu.hull.map_or(0, |h| h.end)))
        .max()
        .unwrap_or(0)
        + 1_000_000;
    sink.finish(end)?;
    let gpus: Vec<Device> = ranks.into_iter().map(|r| r.gpu).collect();
    truth.finish(job, &gpus, end, sink.bytes())
}

fn run_epoch(
    job: &Job,
    ranks: &mut [Rank],
    sink: &mut dyn Sink,
    truth: &mut Truth,
    epoch: u32,
    first: u64,
    max_bytes: u64,
) -> io::Result<u64> {
    let c = &job.config;
    let begun: Vec<i64> = ranks.iter().map(|r| r.now).collect();
    for r in ranks.iter_mut() {
        r.now += 250_000;
        r.loader.start_epoch(r.now);
        let (rank, at) = (r.number, r.now);
        sink.epoch_start(&EpochStart { rank, epoch, at })?;
    }
    let mut index = first;
    let mut in_epoch = 0;
    while in_epoch < c.epoch_steps && index < c.steps && sink.bytes() < max_bytes {
        let mut drafts: Vec<Draft> = ranks
            .iter_mut()
            .map(|r| first_half(r, job, epoch, index, in_epoch))
            .collect();
        if c.ranks > 1 {
            reduce_gradients(ranks, &mut drafts);
        }
        for (r, draft) in ranks.iter_mut().zip(drafts) {
            let (step, known) = second_half(r, job, draft);
            truth.step(&step, &r.gpu, known)?;
            sink.step(&step)?;
            r.gpu.settle(r.now);
        }
        index += 1;
        in_epoch += 1;
    }
    for (r, begun) in ranks.iter_mut().zip(begun) {
        let whole = in_epoch == c.epoch_steps;
        let end = finish_epoch(r, begun, whole && sink.keeps_exhausted());
        if let Some(exhausted) = end.exhausted {
            truth.exhausted(r.number, exhausted, &r.gpu);
        }
        sink.epoch_end(&end)?;
        r.gpu.settle(r.now);
    }
    Ok(index)
}

impl Rank {
    /// A launch call at `at`, and the operation that it launches on `stream`.
    fn launch(
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
    fn synchronize(&mut self, out: &mut Vec<Call>, at: i64) -> Span {
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

/// Nanoseconds of GPU time per unit of [`Layer`] weight.
fn kernel_scale(job: &Job) -> i64 {
    let forward: i64 = BLOCK.iter().map(|l| l.2).sum();
    // Backward kernels take as long as the forward one each: twice the work where a node has two.
    let backward: i64 = BLOCK.iter().map(|l| l.2 * l.4).sum();
    job.config.gpu / (i64::from(job.config.blocks) * (forward + backward)).max(1)
}

/// Fetch, copy, forward, backward.
fn first_half(r: &mut Rank, job: &Job, epoch: u32, index: u64, in_epoch: u64) -> Draft {
    let begin = r.now;
    let (wait, load) = r.loader.fetch(begin + 3_000);
    let mut draft = Draft {
        step: Step {
            rank: r.number,
            epoch,
            index,
            in_epoch,
            at: Span::new(begin, begin),
            wait,
            load,
            spans: Vec::new(),
            calls: Vec::new(),
        },
        buckets: Vec::new(),
        forward_end: 0,
        forward_gpu_end: 0,
        in_sync: 0,
    };
    r.now = wait.end + 12_000;
    transfer(r, &mut draft);
    let nodes = forward(r, job, &mut draft);
    backward(r, job, &mut draft, &nodes);
    draft
}

fn transfer(r: &mut Rank, d: &mut Draft) {
    let begin = r.now;
    let copy = r.rng.around(1_300_000, 100);
    let stream = Device::copy_stream();
    let call = r.launch(
        &mut d.step.calls,
        Thread::Main,
        begin + 24_000,
        (OpKind::HostToDevice, "", stream, copy, 28_311_552),
    );
    r.now = call.end + 20_000;
    let op = Span::new(begin + 9_000, call.end + 6_000);
    span(d, What::Transfer, Thread::Main, Span::new(begin, r.now));
    span(d, What::Op("aten::copy_"), Thread::Main, op);
}

fn span(d: &mut Draft, what: What, thread: Thread, at: Span) {
    d.step.spans.push(CpuSpan {
        what,
        thread,
        at,
        sequence: 0,
    });
}

/// Returns the layers that ran with their sequence numbers, for the way back.
fn forward(r: &mut Rank, job: &Job, d: &mut Draft) -> Vec<(u64, &'static Layer)> {
    let scale = kernel_scale(job);
    let begin = r.now + 15_000;
    let place = d.step.spans.len();
    let mut t = begin + 9_000;
    let mut layers = Vec::new();
    for _block in 0..job.config.blocks {
        for layer in &BLOCK {
            let duration = r.rng.around(layer.2 * scale, 60);
            let call = r.launch(
                &mut d.step.calls,
                Thread::Main,
                t + 12_000,
                (OpKind::Kernel, layer.1, COMPUTE_STREAM, duration, 0),
            );
            let at = Span::new(t, call.end + r.rng.around(14_000, 400));
            r.sequence += 1;
            d.step.spans.push(CpuSpan {
                what: What::Op(layer.0),
                thread: Thread::Main,
                at,
                sequence: r.sequence,
            });
            layers.push((r.sequence, layer));
            t = at.end + r.rng.around(4_000, 400);
        }
    }
    r.now = t + 12_000;
    let at = Span::new(begin, r.now);
    d.step.spans.insert(
        place,
        CpuSpan {
            what: What::Forward,
            thread: Thread::Main,
            at,
            sequence: 0,
        },
    );
    d.forward_end = at.end;
    d.forward_gpu_end = last_end(&d.step.calls);
    layers
}

fn last_end(calls: &[Call]) -> i64 {
    calls
        .iter()
        .filter_map(|c| c.op)
        .map(|op| op.at.end)
        .max()
        .unwrap_or(0)
}

fn backward(r: &mut Rank, job: &Job, d: &mut Draft, layers: &[(u64, &'static Layer)]) {
    let scale = kernel_scale(job);
    let begin = r.now + 10_000;
    let place = d.step.spans.len();
    let mut t = begin + 30_000;
    for (i, (sequence, layer)) in layers.iter().rev().enumerate() {
        let start = t;
        t += 8_000;
        for _kernel in 0..layer.4 {
            let duration = r.rng.around(layer.2 * scale, 60);
            let call = r.launch(
                &mut d.step.calls,
                Thread::Autograd,
                t,
                (OpKind::Kernel, layer.1, COMPUTE_STREAM, duration, 0),
            );
            t = call.end + r.rng.around(16_000, 400);
        }
        d.step.spans.push(CpuSpan {
            what: What::Node(layer.3),
            thread: Thread::Autograd,
            at: Span::new(start, t),
            sequence: *sequence,
        });
        t += r.rng.around(2_000, 400);
        if job.config.ranks > 1 && (i + 1).is_multiple_of(BUCKET) {
            t = launch_bucket(r, d, t);
        }
    }
    r.now = t + 25_000;
    let at = Span::new(begin, r.now);
    d.step.spans.insert(
        place,
        CpuSpan {
            what: What::Backward,
            thread: Thread::Main,
            at,
            sequence: 0,
        },
    );
}

/// Launches the collective of one bucket; when it runs is decided by all ranks together.
fn launch_bucket(r: &mut Rank, d: &mut Draft, begin: i64) -> i64 {
    let call = Span::new(begin + 20_000, begin + 20_000 + r.rng.around(9_000, 200));
    r.correlation += 1;
    d.step.calls.push(Call {
        api: Api::LaunchKernel,
        thread: Thread::Autograd,
        at: call,
        correlation: r.correlation,
        op: None,
    });
    let end = call.end + 12_000;
    span(d, What::AllReduce, Thread::Autograd, Span::new(begin, end));
    d.buckets.push(Bucket {
        call: d.step.calls.len() - 1,
        // The gradients of the bucket have to be there.
        ready: (call.end + LAUNCH_LATENCY).max(r.gpu.idle_from()),
        duration: r.rng.around(4_200_000, 300),
    });
    end
}

/// Runs the collectives of a step: each starts on a GPU when that GPU is ready and ends on all at once.
fn reduce_gradients(ranks: &mut [Rank], drafts: &mut [Draft]) {
    let buckets = drafts.iter().map(|d| d.buckets.len()).min().unwrap_or(0);
    for b in 0..buckets {
        let starts: Vec<i64> = ranks
            .iter()
            .zip(drafts.iter())
            .map(|(r, d)| r.gpu.earliest(COMM_STREAM, d.buckets[b].ready))
            .collect();
        let duration = drafts[0].buckets[b].duration;
        let end = starts.iter().max().map_or(0, |last| last + duration);
        for ((r, d), start) in ranks.iter_mut().zip(drafts.iter_mut()).zip(starts) {
            let at = Span::new(start, end);
            r.gpu.run(COMM_STREAM, at);
            let op = GpuOp {
                kind: OpKind::Collective,
                name: REDUCE,
                stream: COMM_STREAM,
                at,
                bytes: 0,
            };
            let call = d.buckets[b].call;
            d.step.calls[call].op = Some(op);
        }
    }
    for r in ranks {
        r.gpu.compute_waits_for_comm();
    }
}

/// Optimizer, the look at the loss, the end of the step.
fn second_half(r: &mut Rank, job: &Job, mut d: Draft) -> (Step, StepTruth) {
    let begin = r.now;
    let place = d.step.spans.len();
    let mut t = begin + 20_000;
    for _kernel in 0..OPTIMIZER_KERNELS {
        let duration = r.rng.around(260_000, 60);
        let call = r.launch(
            &mut d.step.calls,
            Thread::Main,
            t + 15_000,
            (OpKind::Kernel, ADAM, COMPUTE_STREAM, duration, 0),
        );
        let at = Span::new(t, call.end + 18_000);
        span(&mut d, What::Op("aten::_fused_adamw_"), Thread::Main, at);
        t = at.end + 6_000;
    }
    d.step.spans.insert(
        place,
        CpuSpan {
            what: What::Optimizer,
            thread: Thread::Main,
            at: Span::new(begin, t),
            sequence: 0,
        },
    );
    let call = r.launch(
        &mut d.step.calls,
        Thread::Main,
        t + 14_000,
        (OpKind::Memset, "", COMPUTE_STREAM, 2_200, 4_194_304),
    );
    let zero = Span::new(t + 4_000, call.end + 15_000);
    span(&mut d, What::ZeroGrad, Thread::Main, zero);
    r.now = zero.end + 5_000;
    let every = job.config.sync_every;
    if every > 0 && (d.step.index + 1).is_multiple_of(every) {
        read_loss(r, &mut d);
    }
    r.now += r.rng.around(30_000, 300);
    d.step.at.end = r.now;
    let known = StepTruth {
        gpu_busy: r.gpu.busy_in(d.step.at),
        forward_lag: d.forward_gpu_end - d.forward_end,
        gpu_lag: last_end(&d.step.calls) - d.step.at.end,
        in_sync: d.in_sync,
    };
    (d.step, known)
}

fn read_loss(r: &mut Rank, d: &mut Draft) {
    let begin = r.now;
    let copy = r.launch(
        &mut d.step.calls,
        Thread::Main,
        begin + 9_000,
        (OpKind::DeviceToHost, "", Device::copy_stream(), 1_500, 4),
    );
    let sync = r.synchronize(&mut d.step.calls, copy.end + 1_000);
    d.in_sync = sync.len();
    r.now = sync.end + 4_000;
    span(d, What::ReadLoss, Thread::Main, Span::new(begin, r.now));
    span(
        d,
        What::Op("aten::_local_scalar_dense"),
        Thread::Main,
        Span::new(begin + 3_000, sync.end + 2_000),
    );
}

fn finish_epoch(r: &mut Rank, begun: i64, exhausted: bool) -> EpochEnd {
    let exhausted = exhausted.then(|| r.loader.exhaust(r.now + 3_000));
    if let Some(e) = exhausted {
        r.now = e.end;
    }
    let begin = r.now + 200_000;
    let mut calls = Vec::new();
    let copy = r.launch(
        &mut calls,
        Thread::Main,
        begin + 60_000,
        (
            OpKind::DeviceToHost,
            "",
            Device::copy_stream(),
            2_100_000,
            52_428_800,
        ),
    );
    let sync = r.synchronize(&mut calls, copy.end + 1_000);
    let checkpoint = Span::new(begin, sync.end + r.rng.around(9_000_000, 100));
    r.now = checkpoint.end + 100_000;
    EpochEnd {
        rank: r.number,
        at: Span::new(begun, r.now),
        exhausted,
        checkpoint,
        calls,
    }
}
