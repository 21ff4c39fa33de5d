//! A window to test with, a small trace whose figures are known by hand, and gestures.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use egui::{Key, Modifiers, PointerButton, Pos2, Vec2};
use egui_kittest::{Harness, TestRenderer};
use stallscope::app::{Action, App, Document, Request, Store, Tab};
use stallscope::export::raster::Raster;
use stallscope::time::TimeRange;

/// Longest that a test waits for a thread.
const PATIENCE: Duration = Duration::from_secs(60);

pub const MS: i64 = 1_000_000;

/// Draws on the CPU with the exporter's rasteriser.
#[derive(Default)]
struct Soft(Raster);

impl TestRenderer for Soft {
    fn handle_delta(&mut self, delta: &mut egui::TexturesDelta) {
        self.0.apply(delta);
    }

    fn render(
        &mut self,
        ctx: &egui::Context,
        output: &egui::FullOutput,
    ) -> Result<image::RgbaImage, String> {
        let scale = output.pixels_per_point;
        let size = ctx.content_rect().size() * scale;
        let size = [size.x.round() as usize, size.y.round() as usize];
        let primitives = ctx.tessellate(output.shapes.clone(), scale);
        let picture = self
            .0
            .render(&primitives, size, scale, egui::Color32::BLACK);
        let (width, height) = (picture.width as u32, picture.height as u32);
        image::RgbaImage::from_raw(width, height, picture.rgba).ok_or_else(|| "size".to_owned())
    }
}

pub type Window = Harness<'static, App>;

/// A window with nothing open, that remembers nothing.
pub fn window() -> Window {
    sized(1_400.0, 900.0, Store::none())
}

pub fn sized(width: f32, height: f32, store: Store) -> Window {
    let mut app = App::new(store);
    app.state.settings.reduce_motion = true;
    let mut window = Harness::builder()
        .with_size(Vec2::new(width, height))
        .with_theme(egui::Theme::Dark)
        .renderer(Soft::default())
        .build_ui_state(|ui, app: &mut App| app.show(ui), app);
    window.run_steps(2);
    window
}

/// Steps until something holds.
pub fn until(window: &mut Window, what: &str, mut holds: impl FnMut(&mut App) -> bool) {
    let begun = Instant::now();
    loop {
        window.step();
        if holds(window.state_mut()) {
            window.run_steps(2);
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "waited for {what}");
        std::thread::sleep(Duration::from_millis(4));
    }
}

/// Steps until no thread works for the window.
pub fn settle(window: &mut Window) {
    window.run_steps(3);
    until(window, "threads", |app| {
        app.state.picker.is_none() && !app.is_busy()
    });
    window.run_steps(2);
}

pub fn request(path: &Path) -> Request {
    Request {
        paths: vec![path.to_owned()],
        ..Request::default()
    }
}

pub fn act(window: &mut Window, action: Action) {
    let ctx = window.ctx.clone();
    window.state_mut().apply(&ctx, action);
    settle(window);
}

/// Opens a trace and waits until it shows.
pub fn open(window: &mut Window, path: &Path) {
    let ctx = window.ctx.clone();
    window.state_mut().open(&ctx, request(path));
    until(window, "opening", |app| app.state.loading.is_none());
    settle(window);
}

/// A window that shows a trace.
pub fn showing(path: &Path) -> Window {
    let mut window = window();
    open(&mut window, path);
    assert!(window.state().state.doc.is_some(), "{}", path.display());
    window
}

pub fn doc(window: &Window) -> &Document {
    window.state().state.doc.as_ref().expect("a trace is open")
}

/// Steps of the small trace.
pub const STEPS: i64 = 3;

/// Three steps of 100 ms: each waits 40 ms for its batch, then launches one kernel that runs from 45 to 120 ms, into
/// the next step's wait. So of each wait but the first 20 ms are hidden, and the GPU idles 5 ms for another reason.
pub fn tiny(dir: &Path) -> PathBuf {
    let mut events = vec![
        r#"{"ph":"M","name":"process_name","pid":100,"args":{"name":"python"}}"#.to_owned(),
        r#"{"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"PyTorch Profiler","ts":1000000.000,"dur":320000.000}"#.to_owned(),
    ];
    let mut x = |cat: &str, name: &str, pid: u32, tid: u32, ts: i64, dur: i64, args: &str| {
        let ts = 1_000_000 + ts;
        events.push(format!(
            r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":{ts}.000,"dur":{dur}.000,"args":{{{args}}}}}"#
        ));
    };
    for k in 0..STEPS {
        let t = k * 100_000;
        let next = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
        let link = format!(r#""correlation":{},"stream":7,"device":0"#, k + 1);
        let step = format!("ProfilerStep#{k}");
        x("user_annotation", &step, 100, 100, t, 100_000, "");
        x("user_annotation", next, 100, 100, t, 40_000, "");
        x(
            "user_annotation",
            "forward",
            100,
            100,
            t + 40_500,
            5_000,
            "",
        );
        x(
            "cuda_runtime",
            "cudaLaunchKernel",
            100,
            100,
            t + 41_000,
            10,
            &link,
        );
        let detail = format!(r#"{link},"grid":[{k},1,1]"#);
        x("kernel", "gemm_kernel", 0, 7, t + 45_000, 75_000, &detail);
    }
    let text = format!(
        r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#,
        events.join(",\n")
    );
    write(dir, "tiny.json", &text)
}

/// The same loop without its GPU events.
pub fn tiny_without_gpu(dir: &Path) -> PathBuf {
    let full = std::fs::read_to_string(tiny(dir)).expect("written");
    let keep = |line: &&str| !line.contains("kernel") && !line.contains("cuda_runtime");
    let lines: Vec<&str> = full.lines().filter(keep).collect();
    let text = lines.join("\n");
    let text = text.trim_end_matches([',', ']', '}']).to_owned();
    write(dir, "cpu_only.json", &format!("{text}}}}}]}}"))
}

pub fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).expect("written");
    path
}

/// Where a time is on the canvas, at a height of the window.
pub fn at(window: &Window, time: i64, y: f32) -> Pos2 {
    let doc = doc(window);
    let x = doc.canvas[0] + doc.viewport.x_from_time(time) as f32;
    Pos2::new(x, y)
}

/// A height on the ruler.
pub fn ruler(window: &Window) -> f32 {
    doc(window).canvas[1] + 8.0
}

pub fn press(
    window: &Window,
    pos: Pos2,
    button: PointerButton,
    pressed: bool,
    modifiers: Modifiers,
) {
    window.event(egui::Event::PointerButton {
        pos,
        button,
        pressed,
        modifiers,
    });
}

/// Drags with the left button, in small moves as a hand does.
pub fn drag(window: &mut Window, from: Pos2, to: Pos2) {
    window.hover_at(from);
    window.step();
    press(window, from, PointerButton::Primary, true, Modifiers::NONE);
    window.step();
    for i in 1..=8 {
        window.hover_at(from + (to - from) * (i as f32 / 8.0));
        window.step();
    }
    press(window, to, PointerButton::Primary, false, Modifiers::NONE);
    settle(window);
}

pub fn click(window: &mut Window, pos: Pos2) {
    window.hover_at(pos);
    window.step();
    press(window, pos, PointerButton::Primary, true, Modifiers::NONE);
    press(window, pos, PointerButton::Primary, false, Modifiers::NONE);
    window.step();
    // Two clicks within a moment would be a double-click.
    window.run_steps(4);
    settle(window);
}

pub fn key(window: &mut Window, key: Key) {
    window.key_press(key);
    settle(window);
}

pub fn ctrl(window: &mut Window, key: Key) {
    window.key_press_modifiers(Modifiers::COMMAND, key);
    settle(window);
}

/// The tab of a title.
pub fn tab(title: &str) -> Tab {
    let mut tabs = stallscope::app::tabs();
    tabs.find(|t| t.title == title).expect("a tab")
}

/// The title of the open tab.
pub fn open_tab(window: &Window) -> &'static str {
    window.state().panels.open().title
}

/// All figures of the selection.
pub fn selection(window: &mut Window) -> serde_json::Value {
    let app = window.state_mut();
    let doc = app.state.doc.as_ref().expect("a trace is open");
    app.panels.selection_json(doc).expect("figures")
}

/// Figures of the selection: (exposed wait, busy, idle for another cause, not recorded) of the only GPU, and range.
pub fn figures(window: &mut Window) -> ((i64, i64, i64, i64), TimeRange) {
    let figures = selection(window);
    let ns = |of: &serde_json::Value, key: &str| of[key].as_i64().expect(key);
    let range = TimeRange::new(ns(&figures, "start_ns"), ns(&figures, "end_ns"));
    let gpu = figures["gpus"].get(0).expect("a GPU");
    let parts = [
        "exposed_wait_ns",
        "busy_ns",
        "idle_other_ns",
        "not_recorded_ns",
    ];
    let [exposed, busy, other, unknown] = parts.map(|part| ns(gpu, part));
    let sum = exposed + busy + other + unknown;
    assert_eq!(sum, range.len(), "the parts add up");
    ((exposed, busy, other, unknown), range)
}
