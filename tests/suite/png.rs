//! Exported pictures: bytes, sizes, names, and what can be seen in them.
#![cfg(feature = "png")]

use crate::common;
use crate::common::timeline;

use crate::common::raster;

use stallscope::export::png::{
    Lanes, MAX_PIXELS, PngError, PngOptions, about, picture_size, render_png, suggested_name,
};
use stallscope::model::Role;
use stallscope::time::TimeRange;
use stallscope::view::{RowState, Rows, Theme};
use timeline::{MS, Maker, Scene, training_loop};

/// Writes a picture where `STALLSCOPE_PICTURES` says, to be looked at.
fn keep(name: &str, png: &[u8]) {
    if let Some(dir) = std::env::var_os("STALLSCOPE_PICTURES") {
        std::fs::write(std::path::Path::new(&dir).join(name), png).expect("the folder exists");
    }
}

fn options(from_ms: i64, to_ms: i64) -> PngOptions {
    PngOptions {
        range: Some(TimeRange::new(from_ms * MS, to_ms * MS)),
        width: 1_400,
        title: Some("training loop".to_owned()),
        ..PngOptions::default()
    }
}

#[test]
fn equal_options_give_equal_bytes() {
    let scene = training_loop(12);
    for dark in [false, true] {
        let o = PngOptions {
            theme: Theme::of_system(dark),
            ..options(205, 565)
        };
        let draw = |s: &Scene| {
            render_png(&s.trace, &s.analysis, &s.rows, &o)
                .expect("draws")
                .png
        };
        let a = draw(&scene);
        assert!(a == draw(&scene), "the second picture differs");
        assert!(
            a == draw(&training_loop(12)),
            "another build of the same trace differs"
        );
        keep(
            if dark {
                "loop_dark.png"
            } else {
                "loop_light.png"
            },
            &a,
        );
    }
    for (name, lanes, from, to) in [
        ("loop_all.png", Lanes::All, 0, 1320),
        ("loop_band.png", Lanes::Band, 200, 450),
        ("loop_zoom.png", Lanes::AsShown, 218, 230),
    ] {
        let o = PngOptions {
            lanes,
            theme: Theme::dark(),
            ..options(from, to)
        };
        let p = render_png(&scene.trace, &scene.analysis, &scene.rows, &o).expect("draws");
        keep(name, &p.png);
    }
}

/// Real traces, looked at by eye where `STALLSCOPE_PICTURES` says; here only that a picture comes out.
#[test]
fn real_traces_have_pictures() {
    for (name, file) in [
        (
            "owl",
            "AMD-AGI-TraceLens__h100_google_owlv2-large-patch14-ensemble__1016001.json.gz",
        ),
        (
            "resnet0",
            "pytorch-kineto__resnet50_num_workers_0_worker0.pt.trace.json.gz",
        ),
        (
            "resnet4",
            "pytorch-kineto__resnet50_num_workers_4_worker0.pt.trace.json.gz",
        ),
        (
            "ddp",
            "AMD-AGI-TraceLens__ddp_resnet18_no_pool_train_resnet18.json.gz",
        ),
        (
            "own",
            "own-torch-2.13__tb_sched_gz_w4__rank0.1795966215401930510.pt.trace.json.gz",
        ),
    ] {
        let Some(path) = common::shared(&format!("traces/torch/{file}")) else {
            return;
        };
        let loaded = stallscope::import::open(
            &[path],
            &stallscope::import::OpenOptions::default(),
            &stallscope::import::Progress::default(),
        )
        .expect("opens");
        let scene = Scene::of(std::sync::Arc::new(loaded.trace));
        if name == "owl" {
            let step = scene.span("ProfilerStep#6", 0);
            let said = about(&scene.analysis, scene.trace.spans().range(step));
            assert_eq!(
                said[1..],
                [
                    "1,211.182 ms",
                    "exposed wait 619.045 ms (51.1 %)",
                    "batch wait 619.045 ms",
                    "GPU busy 566.759 ms (46.8 %)"
                ]
            );
        }
        for (part, dark) in [("", false), ("_zoom", true)] {
            let all = scene.trace.extent();
            let middle = all.start + all.len() / 2;
            let o = PngOptions {
                range: (!part.is_empty()).then(|| TimeRange::new(middle, middle + all.len() / 40)),
                width: 1_500,
                theme: Theme::of_system(dark),
                title: Some(file.to_owned()),
                ..PngOptions::default()
            };
            let picture =
                render_png(&scene.trace, &scene.analysis, &scene.rows, &o).expect("draws");
            assert!(picture.layout.lanes_shown > 0);
            keep(&format!("{name}{part}.png"), &picture.png);
        }
    }
}

/// Pixels of a PNG: width, height, brightness of each pixel as grey photocopies show it.
fn grey(png: &[u8]) -> (usize, usize, Vec<f64>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png))
        .read_info()
        .expect("a PNG");
    let mut rgb = vec![0; reader.output_buffer_size().expect("small")];
    let info = reader.next_frame(&mut rgb).expect("one frame");
    assert_eq!(info.color_type, png::ColorType::Rgb);
    let grey = rgb
        .chunks_exact(3)
        .map(|p| 0.299 * f64::from(p[0]) + 0.587 * f64::from(p[1]) + 0.114 * f64::from(p[2]))
        .collect();
    (info.width as usize, info.height as usize, grey)
}

/// Standard deviation of the brightness in a rectangle.
fn texture(
    (width, _, grey): &(usize, usize, Vec<f64>),
    x: (usize, usize),
    y: (usize, usize),
) -> f64 {
    let mut values = Vec::new();
    for row in y.0..y.1 {
        values.extend_from_slice(&grey[row * width + x.0..row * width + x.1]);
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
    variance.sqrt()
}

#[test]
fn exposed_wait_is_told_apart_without_colour() {
    let scene = training_loop(4);
    for dark in [false, true] {
        let o = PngOptions {
            theme: Theme::of_system(dark),
            width: 1_332,
            lanes: Lanes::Band,
            title: None,
            legend: false,
            ..options(110, 220)
        };
        let picture = render_png(&scene.trace, &scene.analysis, &scene.rows, &o).expect("draws");
        let grey = grey(&picture.png);
        // 10 points per millisecond right of the names. The GPU works from 1 to 71 ms, the loop waits from 8.9 ms.
        let x = |ms: usize| 232 + ms * 10;
        let (top, bottom) = ((40, 52), (62, 72));
        let busy = texture(&grey, (x(20), x(60)), top);
        let hidden = texture(&grey, (x(40), x(60)), bottom);
        let exposed_top = texture(&grey, (x(75), x(105)), top);
        let exposed_bottom = texture(&grey, (x(75), x(105)), bottom);
        for (name, flat) in [("busy", busy), ("hidden", hidden)] {
            assert!(flat < 1.0, "{name} is not plain: {flat:.1}, dark {dark}");
        }
        for hatched in [exposed_top, exposed_bottom] {
            assert!(
                hatched > 15.0,
                "the hatch does not show: {hatched:.1}, dark {dark}"
            );
        }
    }
}

#[test]
fn pictures_have_the_size_that_was_asked_for() {
    let scene = training_loop(2);
    let full = PngOptions {
        width: 640,
        scale: 1.5,
        ..options(0, 220)
    };
    let size = picture_size(&scene.trace, &scene.analysis, &scene.rows, &full).expect("a size");
    let picture = render_png(&scene.trace, &scene.analysis, &scene.rows, &full).expect("draws");
    assert_eq!(size, picture.layout);
    let (width, height, _) = grey(&picture.png);
    assert_eq!((width, height), (960, size.height as usize));
    assert_eq!(size.lanes_shown, size.lanes_total);
    assert_eq!(size.notice(), None);
    let mut heights = vec![size.height];
    for leave_out in 0..4 {
        let o = PngOptions {
            ruler: leave_out < 1,
            legend: leave_out < 2,
            title: (leave_out < 3).then(String::new),
            band: false,
            ..full.clone()
        };
        let size = picture_size(&scene.trace, &scene.analysis, &scene.rows, &o).expect("a size");
        heights.push(size.height);
    }
    assert!(heights.is_sorted_by(|a, b| a > b), "{heights:?}");
    let band = PngOptions {
        lanes: Lanes::Band,
        ..full
    };
    let size = picture_size(&scene.trace, &scene.analysis, &scene.rows, &band).expect("a size");
    assert_eq!((size.lanes_shown, size.lanes_total), (0, 0));
}

#[test]
fn what_does_not_fit_is_counted() {
    let mut m = Maker::new();
    let process = m.process(1, Role::Main, 0);
    for i in 0..1_000 {
        let lane = m.thread(process, i + 1, &format!("thread {i}"), Role::Main);
        m.span(lane, "cpu_op", "aten::add", 0, MS);
    }
    let scene = Scene::new(m.b);
    let o = PngOptions {
        width: 640,
        scale: 2.0,
        lanes: Lanes::All,
        ..options(0, 1)
    };
    let size = picture_size(&scene.trace, &scene.analysis, &scene.rows, &o).expect("a size");
    assert!(size.height <= MAX_PIXELS);
    assert_eq!(size.lanes_total, 1_000);
    // 8192 points, less what is around, at 21 points per lane.
    assert!(
        (370..=390).contains(&size.lanes_shown),
        "{}",
        size.lanes_shown
    );
    let said = size.notice().expect("not all fit");
    assert_eq!(said, format!("{} of 1000 lanes fit", size.lanes_shown));
}

#[test]
fn bands_that_do_not_fit_are_counted() {
    let mut m = Maker::new();
    // Nothing says which GPU a rank uses: both have a row.
    for rank in 0..600 {
        let process = m.process(rank + 1, Role::Main, rank);
        let lane = m.thread(process, rank + 1, "main", Role::Main);
        m.span(lane, "cpu_op", "aten::add", 0, MS);
        let streams = m.gpu(i64::from(rank), rank, &[7]);
        m.span(streams[0], "kernel", "k", 0, MS);
    }
    let scene = Scene::new(m.b);
    for lanes in [Lanes::Band, Lanes::AsShown] {
        let o = PngOptions {
            width: 640,
            lanes,
            ..options(0, 1)
        };
        let size = picture_size(&scene.trace, &scene.analysis, &scene.rows, &o).expect("a size");
        assert!(size.height <= MAX_PIXELS);
        // 16,384 points, less what is around, at 18 points per row.
        assert_eq!(size.bands_total, 1_200);
        assert!(
            (890..=910).contains(&size.bands_shown),
            "{}",
            size.bands_shown
        );
        let said = size.notice().expect("not all fit");
        let band = format!("{} of 1200 rows of the band fit", size.bands_shown);
        assert!(said.starts_with(&band), "{said}");
        assert_eq!(said.contains("lanes fit"), lanes == Lanes::AsShown);
    }
}

#[test]
fn impossible_options_say_why() {
    let scene = training_loop(1);
    let draw = |o: &PngOptions| render_png(&scene.trace, &scene.analysis, &scene.rows, o);
    let with = |change: &dyn Fn(&mut PngOptions)| {
        let mut o = options(0, 10);
        change(&mut o);
        draw(&o).expect_err("impossible").to_string()
    };
    assert_eq!(
        with(&|o| o.width = 319),
        "a width of 319 is not possible: choose 320 to 16384"
    );
    assert!(with(&|o| o.scale = f32::NAN).starts_with("a scale of NaN"));
    assert!(with(&|o| (o.width, o.scale) = (9_000, 2.0)).starts_with("18000 pixels"));
    assert_eq!(
        with(&|o| o.range = Some(TimeRange::new(5, 5))),
        "the range is empty"
    );
    let nothing = draw(&PngOptions {
        ruler: false,
        band: false,
        lanes: Lanes::Band,
        ..options(0, 10)
    });
    assert!(matches!(nothing, Err(PngError::Nothing)));
}

#[test]
fn file_names_say_what_is_inside() {
    let range = TimeRange::new(205 * MS, 565 * MS + 400_000);
    for (trace, name) in [
        ("trace.json.gz", "trace_0.205s-0.565s.png"),
        (
            "/runs/unet3d.pt.trace.json",
            "unet3d.pt.trace_0.205s-0.565s.png",
        ),
        ("report.sqlite", "report_0.205s-0.565s.png"),
        ("", "trace_0.205s-0.565s.png"),
    ] {
        assert_eq!(suggested_name(trace, range), name);
    }
    let late = TimeRange::new(1_234_567 * MS, 1_234_568 * MS);
    assert_eq!(suggested_name("a", late), "a_1234.567s-1234.568s.png");
}

#[test]
fn the_window_can_be_drawn_by_the_same_rasteriser() {
    let mut harness = egui_kittest::Harness::builder()
        .with_size(egui::Vec2::new(300.0, 80.0))
        .renderer(raster::CpuRenderer::default())
        .build_ui(|ui| {
            ui.label("Exposed wait");
            ui.add(egui::Button::new("Open trace…"));
        });
    harness.run();
    let a = harness.render().expect("draws");
    assert_eq!((a.width(), a.height()), (300, 80));
    let inks: std::collections::BTreeSet<[u8; 4]> = a.pixels().map(|p| p.0).collect();
    assert!(inks.len() > 20, "only {} colours: no text", inks.len());
    assert!(a.pixels().all(|p| p.0[3] == 255), "holes in the picture");
}

/// Paints a draw list as the window does.
fn painted(list: &stallscope::view::DrawList) -> image::RgbaImage {
    let size = egui::Vec2::new(list.size.width, list.size.height);
    let list = list.clone();
    let mut harness = egui_kittest::Harness::builder()
        .with_size(size)
        .renderer(raster::CpuRenderer::default())
        .build_ui(move |ui| {
            let painter = ui.ctx().layer_painter(egui::LayerId::background());
            stallscope::paint::paint(&list, &painter, egui::Pos2::ZERO);
        });
    harness.run();
    harness.render().expect("draws")
}

#[test]
fn selection_arrows_and_hits_are_painted() {
    use stallscope::view::{
        Highlights, LayoutInput, Links, Metrics, Options, OverviewInput, Scroll, Size, Viewport,
        layout, overview,
    };
    let scene = training_loop(6);
    let span = scene.span("backward", 2);
    let links = Links::of(&scene.trace, &scene.analysis, span);
    let reads: Vec<_> = (0..9).map(|n| scene.span("read", 20 + n)).collect();
    let lod = scene.rows.tree().lod();
    let hits = Highlights::new(&scene.trace, &scene.analysis, lod, reads);
    for dark in [false, true] {
        let theme = Theme::of_system(dark);
        let mut view = Viewport::new(scene.trace.extent(), 1_168.0);
        view.zoom_to(TimeRange::new(205 * MS, 345 * MS), 0.0);
        let plain = LayoutInput {
            trace: &scene.trace,
            analysis: &scene.analysis,
            rows: &scene.rows,
            viewport: &view,
            theme: &theme,
            size: Size::new(1_400.0, 430.0),
            metrics: Metrics::default(),
            scroll: Scroll::default(),
            selection: None,
            selected: None,
            hovered: None,
            links: None,
            hits: None,
            options: Options::default(),
        };
        let base = painted(&layout(&plain));
        let chosen = LayoutInput {
            selection: Some(TimeRange::new(240 * MS, 310 * MS)),
            selected: Some(span),
            links: Some(&links),
            ..plain
        };
        let marked = painted(&layout(&chosen));
        let searched = painted(&layout(&LayoutInput {
            selection: None,
            selected: None,
            links: None,
            hits: Some(&hits),
            ..chosen
        }));
        let strip = painted(&overview(&OverviewInput {
            trace: &scene.trace,
            analysis: &scene.analysis,
            lod,
            theme: &theme,
            size: Size::new(1_168.0, 46.0),
            view: &view,
            hits: Some(&hits),
        }));
        let differing = |a: &image::RgbaImage| {
            let pairs = a.pixels().zip(base.pixels());
            pairs.filter(|(p, q)| p != q).count()
        };
        assert!(differing(&marked) > 50_000, "{}", differing(&marked));
        assert!(differing(&searched) > 20_000, "{}", differing(&searched));
        let mark = theme.hit.0;
        assert!(strip.pixels().filter(|p| p.0 == mark).count() >= 9 * 40);
        if let Some(dir) = std::env::var_os("STALLSCOPE_PICTURES") {
            let dir = std::path::Path::new(&dir);
            for (name, image) in [
                ("marked", &marked),
                ("searched", &searched),
                ("strip", &strip),
            ] {
                let name = format!("{name}_{}.png", if dark { "dark" } else { "light" });
                image.save(dir.join(name)).expect("writes");
            }
        }
    }
}

#[test]
fn many_gpus_have_low_bands() {
    let mut m = Maker::new();
    for rank in 0..8_u32 {
        let main = m.process(100 + rank, Role::Main, rank);
        let lane = m.thread(main, 100 + rank, "python", Role::Main);
        let gpu = m.gpu(i64::from(rank), rank, &[7, 20]);
        for i in 0..12_i64 {
            let t = i * 100 * MS + i64::from(rank) * MS;
            let wait = (20 + 5 * i64::from(rank)) * MS;
            m.span(
                lane,
                "user_annotation",
                "enumerate(DataLoader)#x.__next__",
                t,
                t + wait,
            );
            m.span(
                lane,
                "user_annotation",
                "forward",
                t + wait,
                t + wait + 10 * MS,
            );
            m.span(
                lane,
                "user_annotation",
                "backward",
                t + wait + 10 * MS,
                t + 99 * MS,
            );
            let call = m.span(
                lane,
                "cuda_runtime",
                "cudaLaunchKernel",
                t + wait,
                t + wait + MS,
            );
            let op = m.span(gpu[0], "kernel", "sm90_gemm", t + wait + MS, t + 97 * MS);
            m.b.link_launch(call, op);
            m.span(
                gpu[1],
                "kernel",
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                t + 60 * MS,
                t + 90 * MS,
            );
        }
    }
    let scene = Scene::new(m.b);
    let o = PngOptions {
        theme: Theme::dark(),
        ..options(0, 1_200)
    };
    let picture = render_png(&scene.trace, &scene.analysis, &scene.rows, &o).expect("draws");
    keep("ranks.png", &picture.png);
    let band = PngOptions {
        lanes: Lanes::Band,
        ..o
    };
    let size = picture_size(&scene.trace, &scene.analysis, &scene.rows, &band).expect("a size");
    // Title, ruler, steps, eight low bands, legend.
    assert_eq!(size.height, 30 + 34 + 2 + 8 * 18 + 26);
}

/// How often a column of pixels turns into the fill of kernels from something else.
fn kernels_down(image: &image::RgbaImage, x: u32) -> usize {
    let kernel = |y: u32| image.get_pixel(x, y).0[..3] == [0x00, 0x9E, 0x73];
    (1..image.height())
        .filter(|&y| kernel(y) && !kernel(y - 1))
        .count()
}

#[test]
fn bands_and_pinned_lanes_of_a_picture_are_whole() {
    let mut m = Maker::new();
    for gpu in 0..4 {
        for stream in m.gpu(gpu, 0, &[1, 2, 3, 4]) {
            m.span(stream, "kernel", "kernel", 0, 100 * MS);
        }
    }
    let mut scene = Scene::new(m.b);
    let tree = scene.rows.tree().clone();
    let mut state = RowState::default();
    for id in tree.ids() {
        state.set_collapsed(&tree, id, true);
    }
    for pinned in [false, true] {
        let lanes = tree.ids().filter(|&id| !tree.node(id).kind.is_group());
        for id in lanes.filter(|_| pinned) {
            state.toggle_pin(&tree, id);
        }
        scene.rows = Rows::new(tree.clone(), &state);
        let o = options(0, 100);
        let picture = render_png(&scene.trace, &scene.analysis, &scene.rows, &o).expect("draws");
        let shown = picture.layout;
        let lanes = if pinned { 4 + 16 } else { 4 };
        assert_eq!((shown.lanes_shown, shown.lanes_total), (lanes, lanes));
        let image = image::load_from_memory(&picture.png)
            .expect("a picture")
            .to_rgba8();
        // Four bands, and each pinned lane; collapsed groups are paler.
        let at = kernels_down(&image, 1_000);
        assert_eq!(at, if pinned { 4 + 16 } else { 4 });
        // Below the last lane follows the legend.
        let last = scene.rows.rows().last().expect("it has rows");
        let top = 30.0 + 20.0 + 14.0 + 2.0 + 4.0 * 40.0 + scene.rows.pinned_height();
        let height = top + last.y + last.height + 4.0 + 26.0;
        assert_eq!(shown.height, height.ceil() as u32);
        keep(&format!("whole_{pinned}.png"), &picture.png);
    }
}

#[test]
fn pinned_lanes_that_do_not_fit_are_counted() {
    let mut m = Maker::new();
    let process = m.process(1, Role::Main, 0);
    for i in 0..1_000 {
        let lane = m.thread(process, 10 + i, &format!("thread {i}"), Role::Main);
        m.span(lane, "cpu_op", "aten::add", 0, 100 * MS);
    }
    let mut scene = Scene::new(m.b);
    let tree = scene.rows.tree().clone();
    let mut state = RowState::default();
    for id in tree.ids().filter(|&id| !tree.node(id).kind.is_group()) {
        state.toggle_pin(&tree, id);
    }
    scene.rows = Rows::new(tree, &state);
    let size = picture_size(&scene.trace, &scene.analysis, &scene.rows, &options(0, 100));
    let size = size.expect("it can be drawn");
    assert_eq!(size.height, MAX_PIXELS);
    assert_eq!(size.lanes_total, 2_000);
    assert!(
        (770..=790).contains(&size.lanes_shown),
        "{}",
        size.lanes_shown
    );
}
