//! Frame cost of the timeline: 10 million spans on 64 lanes, 40 of them visible, counters and instants, 1,920 points
//! wide.
//!
//! `cargo bench --profile ci --no-default-features --features png --bench view`. Goal: at most 4 ms of processor time
//! for layout, painting into shapes and tessellation of one frame, at every zoom. Median of five batches of 40.

use std::io::Write;
use std::sync::{Arc, OnceLock};
use std::time::Instant as Clock;

#[path = "../tests/suite/common/timeline.rs"]
#[expect(dead_code, reason = "the benchmark makes a scene of its own")]
mod timeline;

use egui::epaint::{ClippedPrimitive, ClippedShape, Primitive};
use egui::{Context, LayerId, Painter, Pos2, RawInput, Vec2};
use stallscope::model::{ArgsRef, Counter, Instant, LaneId, Role};
use stallscope::paint::paint;
use stallscope::time::TimeRange;
use stallscope::view::{
    DrawList, LayoutInput, Lod, Metrics, Options, OverviewInput, RowState, RowTree, Rows, Scroll,
    Size, Theme, Viewport, layout, overview,
};
use timeline::{Maker, Scene};

const SPANS: usize = 10_000_000;
const WIDTH: f32 = 1_920.0;
const HEADER: f32 = 232.0;

/// A cheap, repeatable source of numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33).cast_signed() % n
    }
}

/// 16 streams and 48 threads; spans of 20 to 120 µs in bursts, threads nested three deep, a batch wait per 100 ms.
fn scene() -> &'static Scene {
    static SCENE: OnceLock<Scene> = OnceLock::new();
    SCENE.get_or_init(|| {
        let mut m = Maker::new();
        m.b.reserve(SPANS);
        let main = m.process(1, Role::Main, 0);
        let streams: Vec<i64> = (0..16).collect();
        let gpu = m.gpu(0, 0, &streams);
        let cpu: Vec<LaneId> = (0..48)
            .map(|i| m.thread(main, i + 1, &format!("thread {i}"), Role::Main))
            .collect();
        let mut random = Random(42);
        let per_lane = SPANS / 64;
        let names = [
            "aten::add",
            "aten::conv2d",
            "aten::relu",
            "forward",
            "cudaLaunchKernel",
        ];
        for &lane in &gpu {
            let mut t = 0;
            for i in 0..per_lane {
                t += if i % 1_000 == 0 {
                    20_000_000
                } else {
                    random.below(20_000)
                };
                let len = 20_000 + random.below(100_000);
                m.span(lane, "kernel", "some_kernel", t, t + len);
                t += len;
            }
        }
        for (n, &lane) in cpu.iter().enumerate() {
            let mut t = 0;
            for i in 0..per_lane / 3 {
                if n == 0 && i % 300 == 0 {
                    m.span(
                        lane,
                        "user_annotation",
                        "enumerate(DataLoader)#x.__next__",
                        t,
                        t + 30_000_000,
                    );
                    t += 30_000_000;
                }
                t += random.below(60_000);
                let len = 100_000 + random.below(300_000);
                let name = names[usize::try_from(random.below(4)).unwrap_or(0)];
                m.span(lane, "cpu_op", name, t, t + len);
                m.span(lane, "cpu_op", names[1], t + len / 8, t + len * 7 / 8);
                m.span(lane, "cuda_runtime", names[4], t + len / 4, t + len / 2);
                t += len;
            }
        }
        samples(&mut m, cpu[0], &mut random);
        let scene = Scene::new(m.b);
        let n = scene.trace.spans().len();
        let lod = scene.rows.tree().lod();
        let begin = Clock::now();
        let again = Lod::build(&scene.trace, &scene.analysis);
        let _ = writeln!(
            std::io::stderr(),
            "{n} spans, {} lanes; level of detail {:.2} B per span and {:.1} MB of samples and instants, built in {:.0} ms",
            scene.trace.lanes().len(),
            (lod.heap_bytes() - lod.sample_bytes()) as f64 / n as f64,
            lod.sample_bytes() as f64 / 1e6,
            begin.elapsed().as_secs_f64() * 1e3,
        );
        let begin = Clock::now();
        let tree = RowTree::new(&scene.trace, &scene.analysis, Arc::new(again));
        let _ = writeln!(
            std::io::stderr(),
            "rows of collapsed groups {:.2} B per span, built in {:.0} ms",
            tree.heap_bytes() as f64 / n as f64,
            begin.elapsed().as_secs_f64() * 1e3,
        );
        scene
    })
}

/// Four counters of the GPU with a million samples each, and a million instants on the main thread.
fn samples(m: &mut Maker, main: LaneId, random: &mut Random) {
    const EACH: i64 = 1_000_000;
    for series in ["SMs active", "DRAM read", "DRAM write", "PCIe"] {
        let times: Vec<i64> = (0..EACH).map(|i| i * 15_000).collect();
        let values = (0..EACH).map(|_| random.below(100) as f64).collect();
        m.b.add_counter(Counter {
            source: m.source,
            name: "GPU metrics, GPU 0".to_owned(),
            series: series.to_owned(),
            times,
            values,
            ..Counter::default()
        });
    }
    let name = m.b.intern("[memory]");
    let mut time = 0;
    for _ in 0..EACH {
        time += random.below(30_000);
        m.b.add_instant(Instant {
            time,
            lane: Some(main),
            source: m.source,
            name,
            args: ArgsRef::NONE,
        });
    }
}

/// The height at which 40 lanes show.
fn height(scene: &Scene) -> f32 {
    let rows = scene.rows.rows();
    let mut lanes = 0;
    let mut last = None;
    for row in rows {
        if last != Some(row.node) {
            last = Some(row.node);
            lanes += 1;
        }
        if lanes > 42 {
            return row.y + 76.0;
        }
    }
    scene.rows.height() + 76.0
}

fn draw(scene: &Scene, zoom: f64) -> DrawList {
    draw_rows(scene, &scene.rows, zoom)
}

fn draw_rows(scene: &Scene, rows: &Rows, zoom: f64) -> DrawList {
    let all = scene.trace.extent();
    let mut view = Viewport::new(all, WIDTH - HEADER);
    let len = (all.len() as f64 / zoom) as i64;
    let start = all.start + all.len() / 3;
    if zoom > 1.0 {
        view.zoom_to(TimeRange::new(start, start + len), 0.0);
    }
    layout(&LayoutInput {
        trace: &scene.trace,
        analysis: &scene.analysis,
        rows,
        viewport: &view,
        theme: &Theme::dark(),
        size: Size::new(WIDTH, height(scene)),
        metrics: Metrics {
            header_width: HEADER,
            pixels_per_point: 1.0,
        },
        scroll: Scroll::default(),
        selection: None,
        selected: None,
        hovered: None,
        links: None,
        hits: None,
        options: Options::default(),
    })
}

/// Processor time of this thread, ns. Other work on the machine does not count, unlike in wall time.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next().and_then(|n| n.parse().ok());
    first.unwrap_or(0)
}

/// Paints one frame as the window does.
fn shapes(context: &Context, list: &DrawList) -> Vec<ClippedShape> {
    let size = Vec2::new(list.size.width, list.size.height);
    let screen = egui::Rect::from_min_size(Pos2::ZERO, size);
    let input = RawInput {
        screen_rect: Some(screen),
        max_texture_side: Some(4_096),
        ..RawInput::default()
    };
    let mut output = context.run_ui(input, |ui| {
        let painter = Painter::new(ui.ctx().clone(), LayerId::background(), screen);
        paint(list, &painter, Pos2::ZERO);
    });
    output.textures_delta.clear();
    std::mem::take(&mut output.shapes)
}

fn vertices(primitives: &[ClippedPrimitive]) -> usize {
    let of = |p: &ClippedPrimitive| match &p.primitive {
        Primitive::Mesh(mesh) => mesh.vertices.len(),
        Primitive::Callback(_) => 0,
    };
    primitives.iter().map(of).sum()
}

fn main() {
    let scene = scene();
    let context = Context::default();
    for zoom in [
        1.0,
        3.0,
        10.0,
        20.0,
        30.0,
        100.0,
        1_000.0,
        10_000.0,
        1_000_000.0,
    ] {
        let list = draw(scene, zoom);
        // The first frames fill the font atlas and the store of laid out texts.
        for _ in 0..3 {
            let _ = shapes(&context, &list);
        }
        let painted = shapes(&context, &list);
        let done = context.tessellate(painted.clone(), 1.0);
        let _ = writeln!(
            std::io::stderr(),
            "zoom {zoom}: {} marks, {} texts, {} shapes, {} vertices in {} meshes",
            list.marks.len(),
            list.texts().count(),
            painted.len(),
            vertices(&done),
            done.len(),
        );
        let stages = [
            report("layout", || {
                std::hint::black_box(draw(scene, zoom));
            }),
            report("paint", || {
                std::hint::black_box(shapes(&context, &list));
            }),
            report("tessellate", || {
                std::hint::black_box(context.tessellate(painted.clone(), 1.0));
            }),
        ];
        let sum: f64 = stages.iter().sum();
        let _ = writeln!(std::io::stderr(), "  together   {sum:.2} ms");
    }
    collapsed(scene);
    let view = Viewport::new(scene.trace.extent(), 1_000.0);
    let lod = scene.rows.tree().lod();
    report("overview", || {
        std::hint::black_box(overview(&OverviewInput {
            trace: &scene.trace,
            analysis: &scene.analysis,
            lod,
            theme: &Theme::dark(),
            size: Size::new(WIDTH - HEADER, 46.0),
            view: &view,
            hits: None,
        }));
    });
}

/// All groups collapsed, and what a hover over their widest run asks for.
fn collapsed(scene: &Scene) {
    let tree = scene.rows.tree();
    let mut state = RowState::default();
    for id in tree.ids() {
        state.set_collapsed(tree, id, true);
    }
    let rows = Rows::new(tree.clone(), &state);
    for zoom in [1.0, 30.0, 1_000.0] {
        let list = draw_rows(scene, &rows, zoom);
        let marks = list.marks.len();
        let _ = writeln!(std::io::stderr(), "collapsed, zoom {zoom}: {marks} marks");
        report("layout", || {
            std::hint::black_box(draw_rows(scene, &rows, zoom));
        });
    }
    for rows in [&scene.rows, &rows] {
        let list = draw_rows(scene, rows, 1.0);
        if let Some(mark) = list.marks.iter().max_by_key(|m| m.count) {
            let _ = writeln!(std::io::stderr(), "longest of {} spans", mark.count);
            report("longest", || {
                std::hint::black_box(mark.longest(&scene.trace, &scene.analysis, rows));
            });
        }
    }
}

/// The clock above moves in scheduler ticks of some milliseconds: batches make it precise.
fn report(what: &str, mut run: impl FnMut()) -> f64 {
    const BATCH: u32 = 40;
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let begin = cpu_ns();
            (0..BATCH).for_each(|_| run());
            (cpu_ns() - begin) as f64 / 1e6 / f64::from(BATCH)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let _ = writeln!(
        std::io::stderr(),
        "  {what:<10} {:.2} ms median, {:.2} least, {:.2} most (processor time)",
        times[2],
        times[0],
        times[4]
    );
    times[2]
}
