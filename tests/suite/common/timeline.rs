//! A training loop as a trace, made by hand: the loop waits for its worker, launches a step, and the GPU works on after
//! the CPU is done. Every time is known, so tests can ask for geometry to the nanosecond.

use std::sync::{Arc, OnceLock};

use stallscope::analysis::{Analysis, Options, Rules};
use stallscope::import::TRACERS;
use stallscope::model::{
    ArgsRef, CopyInfo, CopyKind, Device, Lane, LaneId, LaneKind, Process, ProcessId, RawSpan, Role,
    Source, SourceId, SpanRow, Stream, Trace, TraceBuilder,
};
use stallscope::view::{Lod, RowState, RowTree, Rows};

/// One millisecond, ns.
pub const MS: i64 = 1_000_000;
/// Length of a step of [`training_loop`], ns.
pub const STEP: i64 = 110 * MS;
/// Kernels per step.
pub const KERNELS: i64 = 120;

/// A trace with everything that a picture needs.
pub struct Scene {
    pub trace: Arc<Trace>,
    pub analysis: Analysis,
    pub rows: Rows,
}

impl Scene {
    pub fn new(builder: TraceBuilder) -> Self {
        Self::of(Arc::new(builder.finish()))
    }

    pub fn of(trace: Arc<Trace>) -> Self {
        static RULES: OnceLock<Rules> = OnceLock::new();
        let rules = RULES.get_or_init(Rules::builtin);
        let analysis = Analysis::new(trace.clone(), rules, &Options::default(), &|_| true)
            .expect("nobody cancels");
        let lod = Arc::new(Lod::build(&trace, &analysis));
        let tree = Arc::new(RowTree::new(&trace, &analysis, lod));
        Self {
            rows: Rows::new(tree, &RowState::default()),
            trace,
            analysis,
        }
    }

    /// The span with a name, the `n`-th by id.
    pub fn span(&self, name: &str, n: usize) -> stallscope::model::SpanId {
        let named = |id: &stallscope::model::SpanId| self.trace.span_name(*id) == name;
        self.trace
            .spans()
            .ids()
            .filter(named)
            .nth(n)
            .unwrap_or_else(|| panic!("there is no {name} {n}"))
    }
}

/// Builds traces by hand.
pub struct Maker {
    pub b: TraceBuilder,
    pub source: SourceId,
}

impl Maker {
    pub fn new() -> Self {
        let mut this = Self {
            b: TraceBuilder::new().keep_times(),
            source: SourceId(0),
        };
        this.file("torch");
        this
    }

    /// What is added from now on is of another file, written by the tracer of a key.
    pub fn file(&mut self, key: &str) {
        let tracer = TRACERS.iter().find(|t| t.key == key);
        self.source = self.b.add_source(Source {
            producer: "by hand".to_owned(),
            ..Source::new("made by hand", tracer.expect("a tracer"))
        });
    }

    pub fn process(&mut self, pid: u32, role: Role, rank: u32) -> ProcessId {
        self.b.add_process(Process {
            source: self.source,
            pid: pid.to_string(),
            name: Some("python".to_owned()),
            space: None,
            host: None,
            rank: Some(rank),
            role: Some(role),
            parent: None,
            sort_index: 0,
        })
    }

    pub fn thread(&mut self, process: ProcessId, tid: u32, name: &str, role: Role) -> LaneId {
        let (pid, rank) = {
            let p = self.b.so_far().process(process);
            (p.pid.clone(), p.rank)
        };
        let mut lane = Lane::new(self.source, LaneKind::Cpu, format!("C{pid}.{tid}"));
        lane.name = name.to_owned();
        lane.process = Some(process);
        lane.thread = Some(tid.to_string());
        lane.role = Some(role);
        lane.rank = rank;
        self.b.add_lane(lane)
    }

    pub fn gpu(&mut self, index: i64, rank: u32, streams: &[i64]) -> Vec<LaneId> {
        let device = self.b.add_device(Device {
            space: None,
            source: self.source,
            index,
            name: None,
            counts: true,
        });
        streams
            .iter()
            .map(|&number| {
                let stream = self.b.add_stream(Stream {
                    device,
                    process: None,
                    context: None,
                    number,
                    ops: None,
                });
                let mut lane = Lane::new(self.source, LaneKind::Gpu, format!("G{index}.{number}"));
                lane.name = format!("stream {number}");
                lane.stream = Some(stream);
                lane.rank = Some(rank);
                self.b.add_lane(lane)
            })
            .collect()
    }

    pub fn span(&mut self, lane: LaneId, cat: &str, name: &str, start: i64, end: i64) -> RawSpan {
        let (name, cat) = (self.b.intern(name), self.b.category(cat, true));
        self.b.add_span(SpanRow {
            lane,
            name,
            cat,
            start,
            dur: end - start,
            args: ArgsRef::NONE,
        })
    }
}

/// `steps` steps of 110 ms. In each: the loop forwards from 0.3 ms (3 ms), goes backward from 3.5 ms (5 ms), then
/// waits from 8.9 ms to the end; the GPU works from 1 ms to 71 ms; the worker loads all the time.
pub fn training_loop(steps: i64) -> Scene {
    let mut m = Maker::new();
    let main = m.process(839, Role::Main, 0);
    let streams = m.gpu(0, 0, &[7, 16]);
    let python = m.thread(main, 839, "thread 839 (python)", Role::Main);
    let pin = m.thread(main, 861, "thread 861 (pin_memory)", Role::Pin);
    let quiet: Vec<LaneId> = (0..6)
        .map(|i| m.thread(main, 900 + i, &format!("thread {}", 900 + i), Role::Other))
        .collect();
    m.file("dftracer");
    let worker = m.process(853, Role::Worker, 0);
    m.b.process_mut(worker).parent = Some("839".to_owned());
    let loader = m.thread(worker, 853, "thread 853", Role::Worker);
    for lane in quiet {
        m.span(lane, "cpu_op", "aten::empty", 0, 2_000);
    }
    for i in 0..steps {
        step(&mut m, i, (python, pin, loader), &streams);
    }
    Scene::new(m.b)
}

const OPS: [&str; 6] = [
    "void cudnn::ops::nchwToNhwcKernel<__half, float, true>(cudnn::ops::nchw2nhwc_params_t<float>)",
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)",
    "void at::native::reduce_kernel<512, 1, at::native::MeanOps<float, float>>(float*)",
    "ampere_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn",
    "void at::native::(anonymous namespace)::softmax_warp_forward<float, 10, true>(float*)",
];

fn step(m: &mut Maker, i: i64, (python, pin, loader): (LaneId, LaneId, LaneId), gpu: &[LaneId]) {
    let t = i * STEP;
    m.span(
        python,
        "user_annotation",
        &format!("ProfilerStep#{i}"),
        t,
        t + STEP,
    );
    let copy_call = m.span(
        python,
        "cuda_runtime",
        "cudaMemcpyAsync",
        t + 100_000,
        t + 130_000,
    );
    let copy = m.span(
        gpu[1],
        "gpu_memcpy",
        "Memcpy HtoD (Pinned -> Device)",
        t + 200_000,
        t + 900_000,
    );
    m.b.link_launch(copy_call, copy);
    m.b.set_copy(
        copy,
        CopyInfo {
            bytes: Some(3 << 20),
            kind: Some(CopyKind::HostToDevice),
            raw_kind: None,
        },
    );
    m.span(
        python,
        "user_annotation",
        "forward",
        t + 300_000,
        t + 3_300_000,
    );
    m.span(
        python,
        "user_annotation",
        "backward",
        t + 3_500_000,
        t + 8_500_000,
    );
    let mut at = t + MS;
    // Kernel lengths follow a fixed pattern; together they take 70 ms.
    let weights: Vec<i64> = (0..KERNELS)
        .map(|k| 2 + (k * k + 3 * k) % 23 + k % 3)
        .collect();
    let sum: i64 = weights.iter().sum();
    for (k, w) in (0..KERNELS).zip(&weights) {
        let end = if k + 1 == KERNELS {
            t + 71 * MS
        } else {
            at + 70 * MS * w / sum
        };
        let call = if k < 40 {
            t + 350_000 + k * 70_000
        } else {
            t + 3_550_000 + (k - 40) * 60_000
        };
        let op = m.span(
            python,
            "cpu_op",
            "aten::conv2d",
            call - 15_000,
            call + 30_000,
        );
        let _ = op;
        let launch = m.span(
            python,
            "cuda_runtime",
            "cudaLaunchKernel",
            call,
            call + 8_000,
        );
        let name = OPS[usize::try_from(k).unwrap_or(0) % OPS.len()];
        let kernel = m.span(gpu[0], "kernel", name, at, end);
        m.b.link_launch(launch, kernel);
        at = end;
    }
    let name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
    m.span(python, "user_annotation", name, t + 8_900_000, t + STEP);
    m.span(pin, "cpu_op", "aten::pin_memory", t + 98 * MS, t + 103 * MS);
    for half in 0..2 {
        let s = t + half * 55 * MS;
        m.span(
            loader,
            "data_loader",
            "item",
            s + MS / 2,
            s + 54 * MS + MS / 2,
        );
        for r in 0..6 {
            let at = s + MS + r * 4 * MS;
            m.span(loader, "POSIX", "read", at, at + 1_600_000);
        }
    }
}
