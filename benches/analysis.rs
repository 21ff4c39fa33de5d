//! The analysis of ten million spans: two training processes with two GPUs, 24 lanes, three million launches.
//!
//! `cargo bench --profile ci --no-default-features --bench analysis`. Prints CPU time and memory of one analysis first;
//! `STALLSCOPE_BENCH_SPANS` makes the trace smaller.

use std::hint::black_box;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use divan::Bencher;
use stallscope::analysis::{Analysis, Options, Rules, Scope};
use stallscope::import::TRACERS;
use stallscope::model::{
    ArgsRef, CatId, Device, Lane, LaneId, LaneKind, NameId, Process, RawSpan, Role, Source,
    SourceId, SpanRow, Stream, Trace, TraceBuilder,
};
use stallscope::time::TimeRange;

/// Spans per launch, about: an op, its call, its kernel, and a share of everything else.
const PER_LAUNCH: f64 = 10.0 / 3.0;
/// Launches per step.
const LAUNCHES: u64 = 1_000;

struct Made {
    b: TraceBuilder,
    source: SourceId,
    seed: u64,
    cats: [CatId; 5],
}

struct Lanes {
    main: LaneId,
    engine: LaneId,
    workers: Vec<LaneId>,
    streams: Vec<LaneId>,
}

impl Made {
    fn random(&mut self, below: u64) -> i64 {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.seed >> 33) % below) as i64
    }

    fn span(&mut self, lane: LaneId, name: NameId, cat: CatId, start: i64, dur: i64) -> RawSpan {
        self.b.add_span(SpanRow {
            lane,
            name,
            cat,
            start,
            dur,
            args: ArgsRef::NONE,
        })
    }

    fn process(&mut self, rank: u32) -> Lanes {
        let source = self.source;
        let pid = 100 + rank;
        let process = |b: &mut TraceBuilder, pid: u32, role: Role| {
            b.add_process(Process {
                source,
                pid: pid.to_string(),
                name: None,
                space: None,
                host: None,
                rank: Some(rank),
                role: Some(role),
                parent: None,
                sort_index: 0,
            })
        };
        let lane = |b: &mut TraceBuilder, process, key: String| {
            let mut lane = Lane::new(source, LaneKind::Cpu, key);
            lane.process = Some(process);
            lane.rank = Some(rank);
            b.add_lane(lane)
        };
        let own = process(&mut self.b, pid, Role::Main);
        let main = lane(&mut self.b, own, format!("C{pid}.1"));
        let engine = lane(&mut self.b, own, format!("C{pid}.2"));
        let workers = (0..6)
            .map(|w| {
                let p = process(&mut self.b, 200 + rank * 10 + w, Role::Worker);
                lane(&mut self.b, p, format!("C{}.1", 200 + rank * 10 + w))
            })
            .collect();
        let device = self.b.add_device(Device {
            space: None,
            source,
            index: i64::from(rank),
            name: None,
            counts: true,
        });
        let streams = (0..4)
            .map(|s| {
                let stream = self.b.add_stream(Stream {
                    device,
                    process: Some(own),
                    context: None,
                    number: s,
                    ops: None,
                });
                let mut lane = Lane::new(source, LaneKind::Gpu, format!("G{rank}.{s}"));
                lane.stream = Some(stream);
                lane.rank = Some(rank);
                self.b.add_lane(lane)
            })
            .collect();
        Lanes {
            main,
            engine,
            workers,
            streams,
        }
    }

    /// Steps of one process: wait, forward with ops and launches, backward on the engine's thread, a sync.
    fn steps(&mut self, p: &Lanes, steps: u64) {
        let names: Vec<NameId> = (0..400)
            .map(|i| self.b.intern(&format!("aten::op_{i}")))
            .collect();
        let kernels: Vec<NameId> = (0..400)
            .map(|i| self.b.intern(&format!("kernel_{i}")))
            .collect();
        let fetch = self
            .b
            .intern("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
        let [forward, backward, item, read] =
            ["forward", "backward", "load_item", "read"].map(|n| self.b.intern(n));
        let node = self
            .b
            .intern("autograd::engine::evaluate_function: AddmmBackward0");
        let nccl = self.b.intern("ncclDevKernel_AllReduce");
        let copy = self.b.intern("Memcpy HtoD (Pinned -> Device)");
        let [launch, sync] =
            ["cudaLaunchKernel", "cudaStreamSynchronize"].map(|n| self.b.intern(n));
        let [note, op, api, kernel, memcpy] = self.cats;
        let (mut now, mut gpu) = (0_i64, [0_i64; 4]);
        let mut loaded = vec![0_i64; p.workers.len()];
        for step in 0..steps {
            let number = self.b.intern(&format!("ProfilerStep#{step}"));
            let begin = now;
            let wait = 100_000 + self.random(4_000_000);
            self.span(p.main, fetch, note, now, wait);
            now += wait;
            for half in [0, 1] {
                let start = now;
                let lane = if half == 0 { p.main } else { p.engine };
                for i in 0..LAUNCHES / 2 {
                    let length = 6_000 + self.random(3_000);
                    let name = if half == 1 && i % 4 == 0 {
                        node
                    } else {
                        names[i as usize % 400]
                    };
                    self.span(lane, name, op, now, length);
                    let call = self.span(lane, launch, api, now + 1_000, 4_000);
                    let s = if i % 50 == 7 {
                        1
                    } else if i % 100 == 3 {
                        2
                    } else if i % 11 == 0 {
                        3
                    } else {
                        0
                    };
                    let from = gpu[s].max(now + 3_000) + self.random(500);
                    let busy = 2_000 + self.random(9_000);
                    let (name, cat) = match s {
                        1 => (nccl, kernel),
                        2 => (copy, memcpy),
                        _ => (kernels[i as usize * 7 % 400], kernel),
                    };
                    let op = self.span(p.streams[s], name, cat, from, busy);
                    self.b.link_launch(call, op);
                    gpu[s] = from + busy;
                    now += length + 200;
                }
                let name = if half == 0 { forward } else { backward };
                self.span(p.main, name, note, start, now - start);
            }
            let done = gpu[0].max(now) + 2_000;
            self.span(p.main, sync, api, now, done - now);
            now = done + 10_000;
            self.span(p.main, number, note, begin, now - begin);
            for (w, lane) in p.workers.iter().enumerate() {
                for _ in 0..18 {
                    let length = 200_000 + self.random(200_000);
                    self.span(*lane, item, note, loaded[w], length);
                    for r in 0..2 {
                        self.span(*lane, read, note, loaded[w] + r * 90_000, 50_000);
                    }
                    loaded[w] += length + 5_000;
                }
                loaded[w] = loaded[w].max(now - 6_000_000);
            }
        }
    }
}

fn make(spans: u64) -> Trace {
    let mut b = TraceBuilder::new();
    let source = b.add_source(Source::new("made", TRACERS[0]));
    let cats = [
        "user_annotation",
        "cpu_op",
        "cuda_runtime",
        "kernel",
        "gpu_memcpy",
    ];
    let cats = cats.map(|c| b.category(c, true));
    let mut made = Made {
        b,
        source,
        seed: 1,
        cats,
    };
    let steps = ((spans as f64 / PER_LAUNCH) as u64 / LAUNCHES / 2).max(1);
    for rank in 0..2 {
        let p = made.process(rank);
        made.steps(&p, steps);
    }
    made.b.finish()
}

static TRACE: LazyLock<Arc<Trace>> = LazyLock::new(|| {
    let n = std::env::var("STALLSCOPE_BENCH_SPANS")
        .ok()
        .and_then(|v| v.parse().ok());
    Arc::new(make(n.unwrap_or(10_000_000)))
});
static RULES: LazyLock<Rules> = LazyLock::new(Rules::builtin);
static ANALYSIS: LazyLock<Analysis> = LazyLock::new(analyse);

fn analyse() -> Analysis {
    Analysis::new(TRACE.clone(), &RULES, &Options::default(), &|_| true).expect("nobody cancels")
}

/// CPU seconds of this process so far, on Linux.
fn cpu() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks: f64 = fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

fn windows() -> Vec<TimeRange> {
    let all = TRACE.extent();
    let at = |permille: i64| all.start + all.len() / 1000 * permille;
    (0..50)
        .map(|i| TimeRange::new(at(i * 9), at(i * 9 + 40 + i * 10)))
        .collect()
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn whole_analysis() -> Analysis {
    analyse()
}

/// One query of a dragged window: all rows, all GPUs, waits, steps.
#[divan::bench(sample_count = 20)]
fn dragged_window(bencher: Bencher<'_, '_>) {
    let windows = windows();
    let mut i = 0;
    bencher.bench_local(|| {
        i = (i + 1) % windows.len();
        black_box(ANALYSIS.selection(windows[i], Scope::All))
    });
}

#[divan::bench(sample_count = 20)]
fn dragged_window_gpu(bencher: Bencher<'_, '_>) {
    let windows = windows();
    let mut i = 0;
    bencher.bench_local(|| {
        i = (i + 1) % windows.len();
        black_box((
            ANALYSIS.gpu_figures(0, windows[i]),
            ANALYSIS.loop_figures(0, windows[i]),
        ))
    });
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn percentiles_of_everything() {
    let cancel = AtomicBool::new(false);
    black_box(ANALYSIS.percentiles(TRACE.extent(), Scope::All, &cancel));
}

/// Which names take the time in windows of all sizes; the index is made before.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn names_of_a_window(bencher: Bencher<'_, '_>) {
    let windows = windows();
    black_box(ANALYSIS.names(TRACE.extent(), Scope::All));
    let mut i = 0;
    bencher.bench_local(|| {
        i = (i + 7) % windows.len();
        black_box(ANALYSIS.names(windows[i], Scope::All))
    });
}

/// The same of all spans: the longest that it takes.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn names_of_everything(bencher: Bencher<'_, '_>) {
    black_box(ANALYSIS.names(TRACE.extent(), Scope::All));
    bencher.bench_local(|| black_box(ANALYSIS.names(TRACE.extent(), Scope::All)));
}

/// CPU spans against their GPU work by caller, of all spans.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn lag_of_everything() {
    black_box(ANALYSIS.lag_rows(TRACE.extent(), None));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn verdicts() {
    black_box(ANALYSIS.jobs(TRACE.extent()));
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn stream_pairs() {
    black_box(ANALYSIS.stream_pairs(TRACE.extent()));
}

fn main() {
    let trace = &*TRACE;
    LazyLock::force(&RULES);
    let (before, start) = (cpu(), Instant::now());
    let analysis = &*ANALYSIS;
    let (wall, after) = (start.elapsed(), cpu());
    let m = analysis.memory();
    let mut out = std::io::stderr();
    let used = before
        .zip(after)
        .map_or("?".to_owned(), |(a, b)| format!("{:.2}", b - a));
    let _ = writeln!(
        out,
        "{} spans, {} lanes, {} links: {used} s CPU, {:.2} s wall",
        trace.spans().len(),
        trace.lanes().len(),
        m.links,
        wall.as_secs_f64()
    );
    let each = |bytes: usize, n: usize| bytes as f64 / n.max(1) as f64;
    let _ = writeln!(
        out,
        "{} union intervals of {:.1} B; {:.1} B per link; {:.1} MB of layers, {:.1} MB of the rest; {:.1} MB in all",
        m.intervals,
        each(m.unions, m.intervals),
        each(m.link_bytes, m.links),
        m.layers as f64 / 1e6,
        m.other as f64 / 1e6,
        m.total() as f64 / 1e6
    );
    divan::main();
}
