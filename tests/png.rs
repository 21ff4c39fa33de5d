//! Exported pictures: bytes, sizes, names, and what can be seen in them.
#![cfg(feature = "png")]

mod common;
#[path = "common/timeline.rs"]
#[expect(dead_code, reason = "each test file uses a part")]
mod timeline;

use stallscope::export::png::{Lanes, PngOptions, render_png};
use stallscope::time::TimeRange;
use timeline::{MS, Scene, training_loop};

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
            dark,
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
            dark: true,
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
        for (part, dark) in [("", false), ("_zoom", true)] {
            let all = scene.trace.extent();
            let middle = all.start + all.len() / 2;
            let o = PngOptions {
                range: (!part.is_empty()).then(|| TimeRange::new(middle, middle + all.len() / 40)),
                width: 1_500,
                dark,
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
