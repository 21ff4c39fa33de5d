//! The network of a simulated job, forward and backward, as graphs too.

use super::model::{
    Api, COMPUTE_STREAM, Call, CpuSpan, Job, LateIn, OpKind, Span, Step, Thread, What,
};
use super::rank::{LAUNCH_LATENCY, Rank};
use super::speed::Speed;

/// A layer of a block: operator, kernel, relative GPU time, backward node, kernels of the node.
pub struct Layer(&'static str, &'static str, i64, &'static str, i64);

const GEMM: &str = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas";
const NORM: &str = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)";
const ATTENTION: &str = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t>, false, true, false, false, true, true, false>(pytorch_flash::Flash_fwd_params)";
const POINTWISE: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)";
pub const ADAM: &str = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4> >";
pub const REDUCE: &str =
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

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

/// Backward nodes per gradient bucket.
const BUCKET: usize = 10;

/// A collective that has been launched and waits for the other ranks.
pub struct Bucket {
    pub call: usize,
    pub ready: i64,
    pub duration: i64,
}

/// A step being built.
pub struct Draft {
    pub step: Step,
    /// What its kernels take, in thousandths of the usual.
    pub speed: i64,
    pub buckets: Vec<Bucket>,
    pub forward_end: i64,
    pub forward_gpu_end: i64,
    pub in_sync: i64,
}

/// Nanoseconds of GPU time per unit of [`Layer`] weight.
fn kernel_scale(job: &Job) -> i64 {
    let forward: i64 = BLOCK.iter().map(|l| l.2).sum();
    // Backward kernels take as long as the forward one each: twice the work where a node has two.
    let backward: i64 = BLOCK.iter().map(|l| l.2 * l.4).sum();
    job.config.gpu / (i64::from(job.config.blocks) * (forward + backward)).max(1)
}

pub fn span(d: &mut Draft, what: What, thread: Thread, at: Span) {
    d.step.spans.push(CpuSpan {
        what,
        thread,
        at,
        sequence: 0,
    });
}

/// Returns the layers that ran with their sequence numbers, for the way back.
pub fn forward(r: &mut Rank, job: &Job, d: &mut Draft) -> Vec<(u64, &'static Layer)> {
    let scale = kernel_scale(job) * d.speed / Speed::USUAL;
    let begin = r.now + 15_000;
    let place = d.step.spans.len();
    let mut t = begin + 9_000;
    let mut layers = Vec::new();
    let late = r.late(&job.config.twists, LateIn::Forward);
    t = longer(r, d, Thread::Main, t, late);
    let graphs = job.config.twists.unrecorded_graphs;
    if graphs {
        let kernels: Vec<i64> = BLOCK.iter().map(|l| l.2 * scale).collect();
        t = graph(r, d, t, &kernels, job.config.blocks);
    }
    for _block in 0..if graphs { 0 } else { job.config.blocks } {
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

pub fn last_end(calls: &[Call]) -> i64 {
    calls
        .iter()
        .filter_map(|c| c.op)
        .map(|op| op.at.end)
        .max()
        .unwrap_or(0)
}

pub fn backward(r: &mut Rank, job: &Job, d: &mut Draft, layers: &[(u64, &'static Layer)]) {
    let scale = kernel_scale(job) * d.speed / Speed::USUAL;
    let begin = r.now + 10_000;
    let place = d.step.spans.len();
    let mut t = begin + 30_000;
    let late = r.late(&job.config.twists, LateIn::Backward);
    t = longer(r, d, Thread::Autograd, t, late);
    if job.config.twists.unrecorded_graphs {
        let kernels: Vec<i64> = BLOCK.iter().rev().map(|l| l.2 * l.4 * scale).collect();
        t = graph(r, d, t, &kernels, job.config.blocks);
    }
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

/// One more kernel, where a rank's kernels run longer.
fn longer(r: &mut Rank, d: &mut Draft, thread: Thread, t: i64, ns: i64) -> i64 {
    if ns == 0 {
        return t;
    }
    let kernel = (OpKind::Kernel, GEMM, COMPUTE_STREAM, ns, 0);
    r.launch(&mut d.step.calls, thread, t, kernel).end + 5_000
}

/// Launches a graph of kernels that the profiler does not record; `kernels` run `blocks` times.
pub fn graph(r: &mut Rank, d: &mut Draft, t: i64, kernels: &[i64], blocks: u32) -> i64 {
    let call = Span::new(t, t + r.rng.around(40_000, 300));
    r.correlation += 1;
    for _block in 0..blocks {
        for kernel in kernels {
            let ready = call.end + r.rng.around(LAUNCH_LATENCY, 250);
            let start = r.gpu.earliest(COMPUTE_STREAM, ready);
            let end = start + r.rng.around(*kernel, 60);
            r.gpu.run(COMPUTE_STREAM, Span::new(start, end));
        }
    }
    d.step.calls.push(Call {
        api: Api::GraphLaunch,
        thread: Thread::Main,
        at: call,
        correlation: r.correlation,
        op: None,
    });
    call.end + 20_000
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
