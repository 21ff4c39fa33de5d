//! Pictures of why a wait happened: the same chain, numbers and refusals as `stallscope why`.

use std::path::Path;
use std::process::Command;

use stallscope::analysis::ChainPart;
use stallscope::export::png::PngOptions;
use stallscope::export::svg::render_svg;
use stallscope::view::{Links, Lod, RowState, RowTree, Rows};

use super::made::{self, Run};
use crate::common::{repository, scratch};

const SAMPLE: &str = "sample_traces/dftracer_2_workers";

/// Exit code, stdout, stderr.
fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    let out = command.args(args).output().expect("runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (out.status.code(), text(out.stdout), text(out.stderr))
}

/// The texts of a drawing, line by line.
fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).expect("XML");
    let all = document.descendants().filter(|n| n.has_tag_name("text"));
    all.map(|n| n.text().unwrap_or_default().to_owned())
        .collect()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_picture_of_a_wait_says_what_why_says_and_frames_the_chain() {
    let sample = repository(SAMPLE);
    let path = sample.to_str().expect("UTF-8");
    let analysis = super::analysis(std::slice::from_ref(&sample)).expect("opens");
    let whole = |i: &usize| analysis.chain(*i).len() == 3;
    let wait = (0..analysis.waits().len()).find(whole).expect("a chain");
    let number = analysis.waits()[wait].place.to_string();
    let (code, why, err) = run(&["why", path, "--wait", &number]);
    assert_eq!(code, Some(0), "{err}");
    let (code, svg, err) = run(&["svg", path, "-o", "-", "--wait", &number]);
    assert_eq!(code, Some(0), "{err}");
    let said = words(&texts(&svg).join(" "));
    let text = analysis.wait_text(wait).expect("its text");
    assert!(words(&why).contains(&words(&text.said)), "{why}");
    assert!(said.contains(&words(&text.said)), "{said}");
    for more in &text.more {
        assert!(said.contains(&words(more)), "{more}\n{said}");
    }
    // The chain: the wait and its batch have frames, the arrows lead from one to the next.
    let links = Links::of_waits(&analysis, &[wait]);
    let chain = analysis.chain(wait);
    assert_eq!(links.frames.len(), 2);
    assert_eq!(links.frames[0].range, analysis.waits()[wait].range);
    let batch = chain.iter().find(|l| l.what == ChainPart::Batch);
    assert_eq!(Some(links.frames[1].range), batch.map(|b| b.range));
    let ends: Vec<_> = links.arrows.iter().map(|l| l.to).collect();
    assert!(ends.iter().all(|to| links.ops.contains(to)));
    // The time is that of the chain with a margin.
    let about = svg.split("<desc>").nth(1).expect("what it is about");
    let (code, all, _) = run(&["svg", path, "-o", "-"]);
    assert_eq!(code, Some(0));
    assert!(!all.contains(&about[..20]), "{}", &about[..20]);
    // All else is fainter than without a wait.
    let draw = |waits: Vec<usize>| {
        let lod = std::sync::Arc::new(Lod::build(analysis.trace(), &analysis));
        let tree = std::sync::Arc::new(RowTree::new(analysis.trace(), &analysis, lod));
        let options = PngOptions {
            waits,
            ..PngOptions::default()
        };
        let rows = Rows::new(tree, &RowState::default());
        let drawn = render_svg(analysis.trace(), &analysis, &rows, &options);
        drawn.expect("draws").svg
    };
    let frame = r#"stroke-width="2""#;
    assert!(!draw(Vec::new()).contains(frame));
    assert!(draw(vec![wait]).contains(frame));
    assert!(draw(vec![usize::MAX]).contains("<svg"), "no such wait");
}

#[test]
fn the_png_of_a_wait_is_written_and_steps_draw_all_their_waits() {
    let sample = repository(SAMPLE);
    let path = sample.to_str().expect("UTF-8");
    let dir = scratch("cause_pictures");
    let file = dir.join("wait.png");
    let file = file.to_str().expect("UTF-8");
    let (code, _, err) = run(&["png", path, "-o", file, "--wait", "1"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(std::fs::read(file).is_ok_and(|b| b.starts_with(b"\x89PNG")));
    let (code, why, err) = run(&["why", path, "--step", "2"]);
    assert_eq!(code, Some(0), "{err}");
    let (code, svg, err) = run(&["svg", path, "-o", "-", "--step", "2"]);
    assert_eq!(code, Some(0), "{err}");
    let said = words(&texts(&svg).join(" "));
    for line in why.lines().filter(|l| l.trim_start().starts_with("wait ")) {
        let begin = line.trim().split(':').next().expect("a beginning");
        assert!(said.contains(begin), "{begin} in {said}");
    }
}

#[test]
fn what_why_refuses_a_picture_refuses_too() {
    let sample = repository(SAMPLE);
    let path = sample.to_str().expect("UTF-8");
    for asked in [["--wait", "100000"], ["--step", "none"]] {
        let (code, _, why) = run(&["why", path, asked[0], asked[1]]);
        assert_eq!(code, Some(2));
        let (code, out, err) = run(&["svg", path, "-o", "-", asked[0], asked[1]]);
        assert_eq!((code, out.as_str(), &err), (Some(2), "", &why));
    }
    // The workers are not recorded: the picture says so, and so does the exit code.
    let torch = repository("sample_traces/torch_4_workers.json.gz");
    let torch = torch.to_str().expect("UTF-8");
    let (code, _, err) = run(&["why", torch, "--wait", "3"]);
    assert_eq!(code, Some(4), "{err}");
    let (code, svg, err) = run(&["svg", torch, "-o", "-", "--wait", "3"]);
    assert_eq!(code, Some(4), "{err}");
    let said = texts(&svg).join(" ");
    assert!(said.contains("cannot be told: "), "{said}");
    // A rank is that of a wait.
    let (code, _, err) = run(&["svg", path, "-o", "-", "--rank", "0"]);
    assert_eq!(code, Some(2), "{err}");
}

#[test]
fn a_chain_in_lanes_that_are_not_shown_is_told() {
    let run_of = Run {
        workers: 4,
        batches: 12,
        ..Run::default()
    };
    let (folder, _) = made::run("pictures_lanes", &run_of);
    let path: &Path = &folder;
    let path = path.to_str().expect("UTF-8");
    let (code, _, err) = run(&["svg", path, "-o", "-", "--wait", "5"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(!err.contains("not shown"), "{err}");
    let (code, _, err) = run(&["svg", path, "-o", "-", "--wait", "5", "--lanes", "band"]);
    assert_eq!(code, Some(0), "{err}");
    let unseen = "of the chain in lanes or at times that are not shown";
    assert!(err.contains(unseen), "{err}");
    // Of another time nothing is framed.
    let (code, _, err) = run(&["svg", path, "-o", "-", "--wait", "5", "--range", "0ms..1ms"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains(unseen), "{err}");
}
