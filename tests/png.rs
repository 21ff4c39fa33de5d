//! Exported pictures: bytes, sizes, names, and what can be seen in them.
#![cfg(feature = "png")]

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
