//! Figures for papers: sizes on paper, text, margins, context, and legends of what is drawn.

use std::process::Command;

use roxmltree::Document;
use stallscope::export::png::{PngOptions, Real, render_png};
use stallscope::export::svg::render_svg;
use stallscope::time::TimeRange;

use crate::common::timeline::{MS, Scene, training_loop};
use crate::common::{repository, scratch};

/// Exit code, stdout, stderr.
fn run(args: &[&str]) -> (Option<i32>, Vec<u8>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    let out = command.args(args).output().expect("runs");
    let err = String::from_utf8(out.stderr).expect("UTF-8");
    (out.status.code(), out.stdout, err)
}

fn sample(name: &str) -> String {
    let path = repository("sample_traces").join(name);
    path.to_str().expect("UTF-8").to_owned()
}

fn svg(scene: &Scene, options: &PngOptions) -> String {
    let drawn = render_svg(&scene.trace, &scene.analysis, &scene.rows, options);
    drawn.expect("draws").svg
}

fn attribute(svg: &str, name: &str) -> String {
    let document = Document::parse(svg).expect("XML");
    let value = document.root_element().attribute(name);
    value.expect("there").to_owned()
}

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).expect("XML");
    let all = document.descendants().filter(|n| n.has_tag_name("text"));
    all.map(|n| n.text().unwrap_or_default().to_owned())
        .collect()
}

/// Width on paper, pixels per metre and pixels across of a PNG.
fn physical(png: &[u8]) -> (u32, Option<u32>) {
    let reader = png::Decoder::new(std::io::Cursor::new(png)).read_info();
    let reader = reader.expect("a PNG");
    let info = reader.info();
    (info.width, info.pixel_dims.map(|d| d.xppu))
}

#[test]
fn a_width_on_paper_is_that_of_the_file() {
    let scene = training_loop(6);
    let real = Real {
        inches: 17.0 / 2.54,
        dpi: 300,
    };
    let options = PngOptions {
        range: Some(TimeRange::new(205 * MS, 565 * MS)),
        width: real.points(),
        text: 7.0 / 72.0 * 96.0,
        real: Some(real),
        ..PngOptions::default()
    };
    let drawn = svg(&scene, &options);
    assert_eq!(attribute(&drawn, "width"), "170mm");
    assert!(attribute(&drawn, "height").ends_with("mm"));
    let png = render_png(&scene.trace, &scene.analysis, &scene.rows, &options).expect("draws");
    assert_eq!(physical(&png.png), (2_008, Some(11_811)));
    // The text of labels is 7 of 72nds of an inch high: 642.5 points across for 170 mm.
    let view: Vec<f64> = attribute(&drawn, "viewBox")
        .split(' ')
        .map(|n| n.parse().expect("a number"))
        .collect();
    let typographic = 11.0 * 170.0 / view[2] / 25.4 * 72.0;
    assert!((typographic - 7.0).abs() < 0.02, "{typographic}");
    // Pixels say nothing of paper.
    let plain = PngOptions::default();
    let png = render_png(&scene.trace, &scene.analysis, &scene.rows, &plain).expect("draws");
    assert_eq!(physical(&png.png), (1_920, None));
}

#[test]
fn text_margins_and_context_do_what_they_say() {
    let scene = training_loop(6);
    let plain = PngOptions {
        range: Some(TimeRange::new(205 * MS, 565 * MS)),
        width: 1_400,
        title: Some("t".to_owned()),
        ..PngOptions::default()
    };
    let (small, large) = (
        svg(&scene, &plain),
        PngOptions {
            text: 22.0,
            ..plain.clone()
        },
    );
    let large = svg(&scene, &large);
    assert_eq!(attribute(&large, "width"), "1400");
    assert_eq!(attribute(&large, "viewBox").split(' ').nth(2), Some("700"));
    let height = |svg: &str| attribute(svg, "height").parse::<f32>().expect("a number");
    assert!(height(&large) > 1.7 * height(&small));
    let margin = PngOptions {
        margin: 20.0,
        ..plain.clone()
    };
    let with = svg(&scene, &margin);
    assert_eq!(attribute(&with, "width"), "1400");
    assert!(with.contains(r#"translate(20 20)"#));
    assert!(height(&with) >= height(&small) + 39.0);
    let range = |context: u32| {
        let options = PngOptions {
            context,
            ..plain.clone()
        };
        let drawn = svg(&scene, &options);
        let document = Document::parse(&drawn).expect("XML");
        let about = document.descendants().find(|n| n.has_tag_name("desc"));
        about.and_then(|n| n.text()).unwrap_or_default().to_owned()
    };
    assert!(range(0).starts_with("205.000 ms – 565.000 ms · 360.000 ms"));
    assert!(range(10).starts_with("169.000 ms – 601.000 ms · 432.000 ms"));
    assert!(range(1_000).starts_with("0 ns – "), "no more than there is");
}

#[test]
fn a_legend_of_what_is_drawn_says_nothing_else() {
    let scene = training_loop(6);
    let entries = |range: (i64, i64), used: bool| {
        let options = PngOptions {
            range: Some(TimeRange::new(range.0, range.1)),
            legend_used: used,
            title: None,
            lane_names: false,
            ruler: false,
            ..PngOptions::default()
        };
        let drawn = svg(&scene, &options);
        let last = drawn.rfind("<g transform").expect("the legend");
        texts(&format!("<svg>{}", &drawn[last..]))
    };
    let extent = scene.trace.extent();
    let all = entries((extent.start, extent.end), false);
    let whole = entries((extent.start, extent.end), true);
    assert!(whole.iter().all(|e| all.contains(e)), "{whole:?} {all:?}");
    assert!(whole.iter().any(|e| e == "exposed wait"), "{whole:?}");
    // In a stretch without a wait there is none in the legend.
    let waits = scene.analysis.waits();
    let (a, b) = (waits[1].range.end, waits[2].range.start);
    let middle = TimeRange::new(a + (b - a) / 3, b - (b - a) / 3);
    let part = entries((middle.start, middle.end), true);
    assert!(part.len() < all.len(), "{part:?} {all:?}");
    assert!(part.iter().all(|e| !e.contains("wait")), "{part:?}");
    assert!(!part.is_empty());
}

#[test]
fn lanes_are_chosen_by_their_keys_too() {
    let file = sample("torch_4_workers.json.gz");
    let lanes = |only: &[&str]| {
        let mut args = vec!["svg", &file, "-o", "-", "--legend", "none"];
        for key in only {
            args.extend(["--only-lanes", key]);
        }
        let (code, out, err) = run(&args);
        assert_eq!(code, Some(0), "{err}");
        texts(&String::from_utf8(out).expect("UTF-8"))
    };
    let (code, out, _) = run(&["report", &file, "--json"]);
    assert_eq!(code, Some(0));
    let report: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
    let keys = report["lanes"].as_object().expect("lanes").keys();
    let gpu = keys
        .into_iter()
        .find(|k| k.starts_with('G'))
        .expect("a stream");
    let words = lanes(&[gpu]);
    assert!(words.iter().any(|w| w.starts_with("stream ")), "{words:?}");
    assert!(!words.iter().any(|w| w == "main thread"), "{words:?}");
    let (code, _, err) = run(&["svg", &file, "-o", "-", "--only-lanes", "G9.9"]);
    assert_eq!(code, Some(2), "{err}");
}

#[test]
fn sizes_that_cannot_be_are_refused_before_anything_is_opened() {
    let wrong = [
        ["--width", "300"],
        ["--width", "3cm"],
        ["--width", "12parsec"],
        ["--font-size", "200"],
        ["--context", "10"],
        ["--margin", "-1"],
        ["--legend", "some"],
        ["--rank", "1"],
    ];
    for args in wrong {
        let (code, _, err) = run(&[&["png", "nowhere.json", "-o", "a.png"], &args[..]].concat());
        assert_eq!(code, Some(2), "{args:?}: {err}");
        assert!(!err.contains("nowhere.json"), "{err}");
    }
    let room = [
        "png",
        "nowhere.json",
        "-o",
        "a.png",
        "--width",
        "9cm",
        "--font-size",
        "20",
    ];
    let (code, _, err) = run(&room);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("make it wider"), "{err}");
}

#[test]
fn what_changed_is_drawn_as_an_svg_too() {
    let (before, after) = (
        sample("torch_0_workers.json.gz"),
        sample("torch_4_workers.json.gz"),
    );
    let file = scratch("figures").join("change.svg");
    let path = file.to_str().expect("UTF-8");
    let args = [
        "svg", &after, "--before", &before, "-o", path, "--width", "17cm",
    ];
    let (code, _, err) = run(&args);
    assert_eq!(code, Some(0), "{err}");
    let text = std::fs::read_to_string(&file).expect("written");
    assert_eq!(attribute(&text, "width"), "170mm");
    let words = texts(&text);
    for side in ["before", "after"] {
        assert!(words.iter().any(|w| w == side), "{words:?}");
    }
    let (code, _, err) = run(&[&args[..], &["--rank", "77"]].concat());
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("Compared are: 0."), "{err}");
}
