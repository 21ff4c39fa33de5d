//! Drawings as SVG: well-formed, whole in themselves, the same texts and spans as the PNG.

use roxmltree::{Document, Node};
use stallscope::export::png::{PngOptions, render_png};
use stallscope::export::svg::render_svg;
use stallscope::time::TimeRange;
use stallscope::view::Theme;

use crate::common::timeline::{MS, Maker, Scene, training_loop};

fn svg(scene: &Scene, options: &PngOptions) -> String {
    render_svg(&scene.trace, &scene.analysis, &scene.rows, options)
        .expect("draws")
        .svg
}

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).expect("XML");
    let all = document.descendants().filter(|n| n.has_tag_name("text"));
    all.map(|n| n.text().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_drawing_is_whole_in_itself_and_has_what_the_picture_has() {
    let scene = training_loop(6);
    for theme in Theme::ALL {
        let options = PngOptions {
            range: Some(TimeRange::new(205 * MS, 565 * MS)),
            width: 1_400,
            title: Some("a < b & c".to_owned()),
            theme,
            ..PngOptions::default()
        };
        let text = svg(&scene, &options);
        assert_eq!(text, svg(&training_loop(6), &options), "not the same twice");
        let document = Document::parse(&text).expect("XML");
        let root = document.root_element();
        let png = render_png(&scene.trace, &scene.analysis, &scene.rows, &options).expect("draws");
        assert_eq!(root.attribute("width"), Some("1400"));
        let height: f32 = root.attribute("height").unwrap().parse().unwrap();
        assert_eq!(height.ceil() as u32, png.layout.height);
        let child = |name: &str| root.children().find(|n| n.has_tag_name(name));
        assert_eq!(child("title").and_then(|n| n.text()), Some("a < b & c"));
        let about = child("desc").and_then(|n| n.text()).unwrap();
        assert!(about.starts_with("205.000 ms – 565.000 ms · 360.000 ms · exposed wait "));
        // Nothing that runs, nothing from elsewhere; what is referred to is there.
        for node in document.descendants().filter(Node::is_element) {
            assert!(!["script", "style", "image", "a", "use"].contains(&node.tag_name().name()));
            for attribute in node.attributes() {
                let value = attribute.value();
                assert!(!value.contains("http"), "{value}");
                if let Some(id) = value.strip_prefix("url(#") {
                    let id = id.trim_end_matches(')');
                    let there = document
                        .descendants()
                        .any(|n| n.attribute("id") == Some(id));
                    assert!(there, "{value}");
                }
            }
        }
        let words = texts(&text);
        for expected in ["main thread", "stream 7", "Overlap · GPU 0"] {
            assert!(words.iter().any(|w| w == expected), "{expected}: {words:?}");
        }
        let tips: Vec<&str> = document
            .descendants()
            .filter(|n| n.has_tag_name("title") && n.parent() != Some(root))
            .filter_map(|n| n.text())
            .collect();
        assert!(tips.iter().any(|t| t.ends_with(" ms")), "{tips:?}");
    }
}

#[test]
fn names_from_files_cannot_break_a_drawing() {
    let mut m = Maker::new();
    let process = m.process(1, stallscope::model::Role::Main, 0);
    let lane = m.thread(process, 1, "<main> \"&\u{1}", stallscope::model::Role::Main);
    let name = "a<b>&\"c\u{0}\u{7}\n\u{ffff}]]>数据";
    m.span(lane, "cpu_op", name, 0, 100 * MS);
    m.span(lane, "cpu_op", &"x".repeat(10_000), 100 * MS, 200 * MS);
    let scene = Scene::new(m.b);
    let text = svg(&scene, &PngOptions::default());
    let document = Document::parse(&text).expect("XML");
    let tips: Vec<&str> = document
        .descendants()
        .filter(|n| n.has_tag_name("title"))
        .filter_map(|n| n.text())
        .collect();
    assert!(tips.contains(&"a<b>&\"c ]]>数据 · 100.000 ms"), "{tips:?}");
    assert!(tips.iter().all(|t| t.chars().count() < 500));
    assert!(text.len() < 100_000, "{}", text.len());
}

#[test]
fn lanes_are_chosen_by_name_and_the_title_is_what_the_user_says() {
    let sample = crate::common::repository("sample_traces/torch_4_workers.json.gz");
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_stallscope"));
        let mut all = vec!["svg", "-o", "-", "--range", "100ms..200ms"];
        all.push(sample.to_str().expect("a path"));
        all.extend(args);
        let out = command.args(&all).output().expect("the program runs");
        let text = String::from_utf8(out.stdout).expect("text");
        (
            out.status.code(),
            text,
            String::from_utf8_lossy(&out.stderr).into_owned(),
        )
    };
    let (code, text, err) = run(&[
        "--only-lanes",
        "STREAM 7",
        "--only-lanes",
        "recorder",
        "--title",
        "Figure 1",
    ]);
    assert_eq!(code, Some(0), "{err}");
    let shown = texts(&text);
    for there in ["stream 7", "GPU 0", "Figure 1"] {
        assert!(shown.iter().any(|t| t == there), "{there} in {shown:?}");
    }
    for gone in ["main thread", "torch_4_workers.json.gz"] {
        assert!(!shown.iter().any(|t| t == gone), "{gone} in {shown:?}");
    }
    let (_, text, _) = run(&["--title", ""]);
    let shown = texts(&text);
    let line = shown
        .iter()
        .find(|t| t.contains("torch_4_workers") || t.contains("100.000 ms – "));
    assert_eq!(line, None);
    let (code, _, err) = run(&["--only-lanes", "no such lane"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("no lane has such a name"), "{err}");
}
