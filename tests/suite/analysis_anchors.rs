//! Figures of real torch.profiler traces against those of an independent program.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use rayon::prelude::*;
use serde_json::{Map, Value};
use stallscope::analysis::{Analysis, Options, Rules};
use stallscope::export::report::{ReportOptions, report};
use stallscope::import::{OpenOptions, Progress, open};
use stallscope::model::Trace;

use crate::common;
use crate::common::case;
use crate::common::torch_oracle;

use case::{invariants, same, with_zeros};
use common::Differences;

static RULES: LazyLock<Rules> = LazyLock::new(Rules::builtin);

fn analyse(trace: Trace) -> Analysis {
    let options = Options {
        sync_tol: 0,
        ..Options::default()
    };
    Analysis::new(Arc::new(trace), &RULES, &options, &|_| true).unwrap()
}

struct Compare<'a> {
    file: &'a str,
    found: Vec<(String, String, String)>,
}

impl Compare<'_> {
    fn value(&mut self, path: &str, expected: &Value, got: &Value) {
        if !same(expected, got) {
            self.found.push((
                format!("{}: {path}", self.file),
                expected.to_string(),
                got.to_string(),
            ));
        }
    }

    /// Every expected member; the report may have more.
    fn members(&mut self, path: &str, expected: &Value, got: &Value, skip: &[&str]) {
        let nothing = Map::new();
        let expected = expected.as_object().unwrap_or(&nothing);
        for (key, value) in expected.iter().filter(|(k, _)| !skip.contains(&k.as_str())) {
            self.value(&format!("{path}.{key}"), value, &got[key]);
        }
    }

    fn keys(&mut self, path: &str, expected: &Value, got: &Value) {
        let names = |v: &Value| -> Vec<String> {
            let keys = v.as_object().map(|o| o.keys().cloned().collect());
            let mut keys: Vec<String> = keys.unwrap_or_default();
            keys.sort();
            keys
        };
        self.value(path, &names(expected).into(), &names(got).into());
    }
}

fn compare(file: &str, anchor: &Value, analysis: &Analysis) -> Vec<(String, String, String)> {
    let options = ReportOptions {
        light: true,
        ..ReportOptions::default()
    };
    let got = with_zeros(report(analysis, &options));
    let shift = analysis.trace().sources()[0].to_trace_ns;
    let mut c = Compare {
        file,
        found: Vec::new(),
    };
    for problem in invariants(&got) {
        c.found
            .push((format!("{file}: invariant"), String::new(), problem));
    }
    let whole = got["t1"].as_i64().unwrap() - got["t0"].as_i64().unwrap();
    c.value("spans", &anchor["spans"], &got["n_spans"]);
    c.value("t1_minus_t0", &anchor["t1_minus_t0"], &whole.into());
    let capture = analysis.trace().sources()[0].capture.map(|c| c.len());
    c.value("capture", &anchor["capture"], &capture.into());
    c.value("anomalies", &anchor["anomalies"], &got["anomalies"]);
    c.keys("gpu", &anchor["gpu"], &got["gpu"]);
    for (d, g) in anchor["gpu"].as_object().unwrap() {
        c.members(&format!("gpu.{d}"), g, &got["gpu"][d], &[]);
    }
    // The anchors know no rank numbers: each file is one rank.
    let ranks = got["ranks"].as_object().unwrap();
    c.value("ranks", &1.into(), &ranks.len().into());
    for (r, expected) in anchor["ranks"].as_object().unwrap() {
        let Some(rank) = ranks.values().next() else {
            continue;
        };
        c.value(
            &format!("ranks.{r}.device"),
            &expected["device"],
            &rank["device"],
        );
        c.members(
            &format!("ranks.{r}.loop"),
            &expected["loop"],
            &rank["loop"],
            &[],
        );
        let steps = expected["steps"].as_array().unwrap();
        for (i, step) in steps.iter().enumerate() {
            let mine = &rank["loop"]["steps"][i];
            let path = format!("ranks.{r}.loop.steps.{i}");
            c.members(&path, step, mine, &["start"]);
            let start = step["start"].as_i64().unwrap() + shift;
            c.value(&format!("{path}.start"), &start.into(), &mine["start"]);
        }
    }
    c.members("launch", &anchor["launch"], &got["launch"], &[]);
    c.keys("queue", &anchor["queue_max"], &got["queue"]);
    for (lane, max) in anchor["queue_max"].as_object().unwrap() {
        c.value(
            &format!("queue.{lane}"),
            max,
            &got["queue"][lane]["max_queued"],
        );
    }
    c.keys("overlap", &anchor["overlap"], &got["overlap"]);
    for (pair, expected) in anchor["overlap"].as_object().unwrap() {
        c.members(
            &format!("overlap.{pair}"),
            expected,
            &got["overlap"][pair],
            &[],
        );
    }
    c.found
}

/// Values of the anchors that later definitions changed, and why.
const CHANGED: [(&str, &str); 5] = [
    (
        "AMD-AGI-TraceLens__capture_traces_capture_trace_rank_0~2.json.gz: gpu.2.idle_by_phase",
        "its range `compile` is a phase now",
    ),
    (
        "AMD-AGI-TraceLens__capture_traces_capture_trace_rank_0~2.json.gz: ranks.0.loop.phases",
        "its range `compile` is a phase now",
    ),
    (
        "facebookresearch-HolisticTraceAnalysis__mtia_inference_trace_mtia_inference_rank_0.json.gz: ranks.0.loop.lane",
        "the loop is chosen by evidence, never by how long its spans are",
    ),
    (
        "facebookresearch-HolisticTraceAnalysis__with_gpu_user_annotation_step_based_trace_2543932.json.gz: ranks.0.loop.",
        "its steps come from the marks of the optimizer",
    ),
    (
        "AMD-AGI-TraceLens__ddp_resnet18_no_pool_train_resnet18.json.gz: ranks.0.loop.",
        "its steps come from the marks of the optimizer",
    ),
];
/// What changes with where steps come from.
const OF_STEPS: [&str; 3] = ["steps_how", "n_steps", "agg"];

fn run(load: impl Fn(&Path) -> Trace + Sync) {
    let (Some(anchors), Some(folder)) = (
        common::shared("analysis/real_anchors.json"),
        common::shared("traces/torch"),
    ) else {
        return;
    };
    let anchors: Value = serde_json::from_slice(&std::fs::read(anchors).unwrap()).unwrap();
    let files: Vec<(&String, &Value)> = anchors["files"].as_object().unwrap().iter().collect();
    assert!(files.len() >= 70, "only {} files", files.len());
    let found: Vec<_> = files
        .par_iter()
        .flat_map_iter(|(file, anchor)| {
            let analysis = analyse(load(&folder.join(file)));
            compare(file, anchor, &analysis)
        })
        .collect();
    let mut diffs = Differences::default();
    let changed = |what: &str| {
        let rest = CHANGED
            .iter()
            .find_map(|(path, _why)| what.strip_prefix(path));
        rest.is_some_and(|r| r.is_empty() || OF_STEPS.contains(&r))
    };
    for (what, expected, got) in found.into_iter().filter(|f| !changed(&f.0)) {
        let short = |s: &str| s.chars().take(300).collect::<String>();
        diffs.add(&what, &short(&expected), &short(&got));
    }
    diffs.assert_none();
}

#[test]
fn analysis_anchors_by_the_oracle_reader() {
    run(|path| torch_oracle::load(path, &RULES));
}

#[test]
fn analysis_anchors_by_the_importer() {
    run(|path| {
        let options = OpenOptions::default();
        let loaded = open(&[path.to_path_buf()], &options, &Progress::new());
        loaded
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
            .trace
    });
}
