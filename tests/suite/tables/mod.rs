//! Tables for other programs: their rows are the figures of the report, and each form holds the same.

mod collectives;
mod docs;
mod export;
#[cfg(feature = "parquet")]
mod folder;
#[cfg(feature = "parquet")]
mod forms;
mod rows;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use stallscope::analysis::{Analysis, Options, Rules};
use stallscope::import::{self, OpenOptions, Progress, SharedArgs};
use std::sync::Arc;

use crate::common::{repository, shared};

/// Bundled traces of each tracer, and real ones where they are at hand.
pub fn traces() -> Vec<PathBuf> {
    let own = [
        "torch_0_workers.json.gz",
        "torch_4_workers.json.gz",
        "torch_real_rank1.json.gz",
        "nsight_2_workers.sqlite",
        "dftracer_2_workers",
    ];
    let own = own.map(|name| repository("sample_traces").join(name));
    let real = [
        "traces/pairs/synthetic/w2_collate",
        "traces/pairs/ranks2",
        "traces/torch/facebookresearch-HolisticTraceAnalysis__base_base.json.gz",
        "traces/torch/AMD-AGI-TraceLens__ddp_resnet18_no_pool_train_resnet18.json.gz",
        "traces/torch/AMD-AGI-TraceLens__mi300_resnet_act_checkpoint.json.gz",
    ];
    let real = real.into_iter().filter_map(shared);
    own.into_iter().chain(real).collect()
}

/// What `stallscope` says: exit code, stdout, stderr.
pub fn run(args: &[&str]) -> (i32, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_stallscope"))
        .args(args)
        .output()
        .expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (
        out.status.code().expect("it ends"),
        text(out.stdout),
        text(out.stderr),
    )
}

/// A trace and its analysis.
pub fn analysed(path: &Path) -> Analysis {
    let loaded = import::open(
        &[path.to_owned()],
        &OpenOptions::default(),
        &Progress::new(),
    );
    let trace = Arc::new(loaded.expect("it opens").trace);
    let reader = SharedArgs::new(Arc::clone(&trace));
    let args = |spans: &[stallscope::model::SpanId],
                go_on: &stallscope::analysis::GoOn<'_>,
                found: &mut stallscope::analysis::Found<'_>| {
        reader.each(spans, go_on, found);
    };
    Analysis::with_args(
        trace,
        &Rules::builtin(),
        &Options::default(),
        &args,
        &|_| true,
    )
    .expect("nobody cancels")
}

/// `report --json` of a path.
pub fn report(path: &Path) -> Value {
    let (code, out, err) = run(&["report", path.to_str().expect("text"), "--json"]);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).expect("JSON")
}
