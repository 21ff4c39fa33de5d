//! The longest frame of each kind of use, on a trace of any size: the window must never block longer than 50 ms.
//!
//! `cargo bench --profile ci --bench window`; `STALLSCOPE_BENCH_CHROME` names the trace (a torch.profiler file, for
//! example one that `examples/make_trace.rs` wrote). Drives the real window without a display: a frame is everything
//! that the UI thread does, with tessellation, but not the upload to the graphics card. Times are those of its processor.

#![expect(clippy::print_stdout, reason = "figures are what the run is for")]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use egui::{Event, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2, Vec2, pos2, vec2};
use egui_kittest::Harness;
use stallscope::app::{Action, App, Command, Request, Store, tabs};

/// Longest that opening may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// Processor time of this thread, so that other programs do not count; where the system does not tell, the clock.
fn cpu_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    // The scheduler brings the figure up to date when the thread offers to yield.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|n| n.parse().ok());
    nanos.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

struct Bench {
    window: Harness<'static, App>,
    frames: Vec<Duration>,
}

fn main() {
    let path = std::env::var_os("STALLSCOPE_BENCH_CHROME").map_or_else(sample, PathBuf::from);
    let mut bench = Bench::new();
    bench.open(&path);
    println!(
        "{:<34} {:>7} {:>10} {:>10}",
        "use", "frames", "median ms", "longest ms"
    );
    bench.measure("still", |b| b.idle(20));
    bench.measure("pointer over the lanes", Bench::hover);
    bench.measure("zoom in and out at the pointer", Bench::zoom);
    bench.measure("drag-select, figures live", Bench::drag);
    for tab in tabs() {
        bench.measure(tab.title, |b| {
            b.act(Action::ShowTab(tab));
            b.settle();
            b.idle(5);
        });
        bench.measure("  its table copied", |b| {
            b.act(Action::CopyTable);
            b.settle();
        });
    }
    bench.measure("next exposed wait, 20 times", |b| {
        for _ in 0..20 {
            b.act(Action::Do(Command::NextWait));
            b.settle();
        }
    });
    bench.measure("search “gemm”", |b| b.search("gemm"));
    bench.measure("search “dur>1ms”", |b| b.search("dur>1ms"));
    bench.measure("search cleared", |b| b.search(""));
    bench.measure("all lanes open, whole trace", |b| {
        b.act(Action::Do(Command::ExpandAll));
        b.act(Action::Do(Command::Fit));
        b.settle();
        b.idle(10);
    });
    bench.measure("filter of lanes", |b| {
        b.act(Action::FilterLanes("stream".to_owned()));
        b.idle(5);
        b.act(Action::FilterLanes(String::new()));
        b.idle(5);
    });
    bench.measure("export dialog with its preview", |b| {
        b.act(Action::Do(Command::ExportPng));
        b.idle(30);
        b.act(Action::CloseDialog);
    });
    bench.measure("trace closed for another", |b| b.open_again(&path));
}

/// A bundled sample: small, but it shows that the benchmark runs.
fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sample_traces/torch_4_workers.json.gz")
}

impl Bench {
    fn new() -> Self {
        let mut app = App::new(Store::none());
        app.state.settings.reduce_motion = true;
        let window = Harness::builder()
            .with_size(Vec2::new(1_920.0, 1_080.0))
            .build_ui_state(|ui, app: &mut App| app.show(ui), app);
        Self {
            window,
            frames: Vec::new(),
        }
    }

    /// One frame and its triangles.
    fn frame(&mut self) {
        let begun = cpu_time();
        self.window.step();
        let output = self.window.output();
        let triangles = self
            .window
            .ctx
            .tessellate(output.shapes.clone(), output.pixels_per_point);
        self.frames.push(cpu_time().saturating_sub(begun));
        std::hint::black_box(triangles);
    }

    fn measure(&mut self, what: &str, run: impl FnOnce(&mut Self)) {
        self.frames.clear();
        run(self);
        self.frames.sort();
        let ms = |d: Option<&Duration>| d.map_or(0.0, |d| d.as_secs_f64() * 1e3);
        println!(
            "{what:<34} {:>7} {:>10.2} {:>10.2}",
            self.frames.len(),
            ms(self.frames.get(self.frames.len() / 2)),
            ms(self.frames.last())
        );
    }

    fn idle(&mut self, frames: usize) {
        for _ in 0..frames {
            self.frame();
        }
    }

    fn act(&mut self, action: Action) {
        let begun = cpu_time();
        let ctx = self.window.ctx.clone();
        self.window.state_mut().apply(&ctx, action);
        // An action runs at the end of a frame.
        self.frames.push(cpu_time().saturating_sub(begun));
    }

    /// Frames until no thread works for the window.
    fn settle(&mut self) {
        let begun = Instant::now();
        self.idle(3);
        while begun.elapsed() < PATIENCE {
            let app = self.window.state_mut();
            if !app.is_busy() && app.state.loading.is_none() {
                return;
            }
            self.frame();
            // A display shows sixty frames a second; the threads need the rest of the time.
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn open(&mut self, path: &Path) {
        self.frames.clear();
        let begun = Instant::now();
        self.open_again(path);
        let longest = self.frames.iter().max().copied().unwrap_or_default();
        let Some(doc) = &self.window.state().state.doc else {
            println!("{} cannot be opened", path.display());
            std::process::exit(1);
        };
        println!(
            "{}: {} spans, {} lanes, opened in {:.2} s, longest frame meanwhile {:.2} ms",
            path.display(),
            doc.trace.spans().len(),
            doc.trace.lanes().len(),
            begun.elapsed().as_secs_f64(),
            longest.as_secs_f64() * 1e3
        );
    }

    fn open_again(&mut self, path: &Path) {
        let request = Request {
            paths: vec![path.to_owned()],
            ..Request::default()
        };
        self.act(Action::Open(request));
        self.settle();
    }

    fn search(&mut self, text: &str) {
        self.act(Action::SearchFor(text.to_owned()));
        self.settle();
        self.idle(5);
    }

    /// A point of the canvas, as shares of its width and height.
    fn at(&self, x: f32, y: f32) -> Pos2 {
        let [x0, y0, x1, y1] = self
            .window
            .state()
            .state
            .doc
            .as_ref()
            .map_or([0.0; 4], |d| d.canvas);
        pos2(x0 + (x1 - x0) * x, y0 + (y1 - y0) * y)
    }

    fn hover(&mut self) {
        for i in 0..60 {
            let share = i as f32 / 60.0;
            let at = self.at(share, 0.2 + 0.6 * share);
            self.window.hover_at(at);
            self.frame();
        }
    }

    fn zoom(&mut self) {
        let at = self.at(0.4, 0.5);
        self.window.hover_at(at);
        for i in 0..120 {
            let up = if i < 60 { 60.0 } else { -60.0 };
            self.window.event(Event::MouseWheel {
                unit: MouseWheelUnit::Point,
                delta: vec2(0.0, up),
                phase: egui::TouchPhase::Move,
                source: egui::MouseWheelSource::Wheel,
                modifiers: Modifiers::COMMAND,
            });
            self.frame();
        }
        self.settle();
    }

    fn drag(&mut self) {
        let button = |pos, pressed| Event::PointerButton {
            pos,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        self.window.key_press(Key::Home);
        let selection = tabs().find(|t| t.title == "Selection");
        self.act(Action::ShowTab(selection.expect("a tab")));
        self.settle();
        let from = self.at(0.2, 0.5);
        self.window.hover_at(from);
        self.frame();
        self.window.event(button(from, true));
        self.frame();
        for i in 0..60 {
            let to = self.at(0.2 + 0.6 * i as f32 / 60.0, 0.5);
            self.window.hover_at(to);
            self.frame();
        }
        let to = self.at(0.8, 0.5);
        self.window.event(button(to, false));
        self.settle();
    }
}
