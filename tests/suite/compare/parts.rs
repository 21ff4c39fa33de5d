//! What must hold of the parts of steps, and of names of kernels, in every trace.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use stallscope::analysis::compare::{Alike, CompareOptions, Recording, UnlikeWhat, compare};
use stallscope::analysis::{LayerId, norm_kernel};

use super::{compared, of_trace, one};
use crate::common;

/// Parts of every judged cycle add up to it, and those of the GPU that works to its busy time.
fn parts_add_up(recording: &Recording, path: &Path) -> usize {
    let mut steps = 0;
    for rank in &recording.ranks {
        for row in &rank.rows {
            assert_eq!(row.cpu_parts.iter().sum::<i64>(), row.time, "{path:?}");
            assert!(row.cpu_parts.iter().all(|ns| *ns >= 0), "{path:?} {row:?}");
            let Some(parts) = row.gpu_parts else {
                continue;
            };
            assert_eq!(parts.iter().sum::<i64>(), row.time, "{path:?}");
            assert!(parts.iter().all(|ns| *ns >= 0), "{path:?} {row:?}");
            let busy: i64 = parts[..5].iter().sum();
            let idle: i64 = parts[6..].iter().sum();
            assert_eq!((Some(busy), Some(idle)), (row.columns[3], row.columns[4]));
            steps += 1;
        }
    }
    steps
}

/// Changes of parts add up to that of the step.
fn changes_add_up(before: &Recording, after: &Recording) -> usize {
    let found = compared(std::slice::from_ref(before), std::slice::from_ref(after));
    let told = found.ranks.iter().filter_map(|r| r.decomposition.as_ref());
    told.map(|d| {
        assert_eq!(d.parts.iter().map(|p| p.delta).sum::<i64>(), d.delta);
        // Each is rounded by itself.
        assert!((d.step_after - d.step_before - d.delta).abs() <= 1, "{d:?}");
    })
    .count()
}

#[test]
fn parts_of_the_samples_add_up() {
    let sample = |name: &str| common::repository("sample_traces").join(name);
    let paths = ["torch_0_workers.json.gz", "torch_4_workers.json.gz"].map(sample);
    let [a, b] = paths.each_ref().map(|p| one(p));
    assert!(parts_add_up(&a, &paths[0]) > 10 && parts_add_up(&b, &paths[1]) > 10);
    let found = compared(&[a], &[b]);
    let d = found.ranks[0].decomposition.as_ref().unwrap();
    assert_eq!(d.parts.iter().map(|p| p.delta).sum::<i64>(), d.delta);
    // A loop that waits for data against one that does not.
    let wait = d.parts.iter().find(|p| p.name == "wait_exposed").unwrap();
    assert!(
        wait.delta < 0 && 10 * wait.delta.abs() > 8 * d.delta.abs(),
        "{d:?}"
    );
}

/// All public torch traces: parts, changes from each to the next, names of kernels.
#[test]
fn every_trace_is_parted_exactly() {
    let Some(index) = common::index() else {
        return;
    };
    let root = common::shared("traces").unwrap();
    let files = index
        .iter()
        .filter(|l| l.kind == "torch" && l.file.starts_with("torch/"));
    let files: Vec<PathBuf> = files.map(|l| root.join(&l.file)).collect();
    let told: Vec<(Recording, BTreeSet<String>, usize)> = files
        .par_iter()
        .filter_map(|path| Some((path, common::open_with(path, 1).ok()?)))
        .map(|(path, loaded)| {
            let analysis = of_trace(loaded.trace, None);
            let recording = Recording::of(&analysis, &[]);
            let steps = parts_add_up(&recording, path);
            let (trace, layers) = (analysis.trace(), analysis.layers());
            let kernel = |l| matches!(l, LayerId::GPU_COMPUTE | LayerId::GPU_COMM);
            let spans = trace.spans().ids().filter(|&s| kernel(layers.of(s)));
            let names = spans.map(|s| trace.span_name(s).to_owned()).collect();
            (recording, names, steps)
        })
        .collect();
    let steps: usize = told.iter().map(|t| t.2).sum();
    let pairs = told.windows(2).map(|w| changes_add_up(&w[0].0, &w[1].0));
    let pairs: usize = pairs.sum();
    assert!(steps >= 80 && pairs >= 30, "{steps} steps, {pairs} pairs");
    let names: BTreeSet<&String> = told.iter().flat_map(|t| &t.1).collect();
    let short: BTreeSet<_> = names.iter().map(|n| norm_kernel(n).into_owned()).collect();
    for name in &short {
        assert_eq!(&norm_kernel(name), name);
    }
    assert_eq!((names.len(), short.len()), (899, 846));
}

/// A recording against itself, whatever its file is called and however it is packed.
#[test]
fn the_same_recording_is_refused() {
    let path = common::repository("sample_traces").join("torch_0_workers.json.gz");
    let dir = common::scratch("compare_same");
    let plain = dir.join("other name.json");
    let packed = std::fs::read(&path).unwrap();
    let text = inflate(&packed);
    std::fs::write(&plain, text).unwrap();
    let (a, b) = ([one(&path)], [one(&plain)]);
    let options = CompareOptions {
        alike: Alike::of(&a, &b, None),
        ..CompareOptions::default()
    };
    let found = compare(&a, &b, &options);
    assert_eq!(found.refused, Some(UnlikeWhat::SameRecording));
    assert!(found.ranks.is_empty() && found.question().is_none());
    assert_eq!(found.within(options.limit, true), None);
}

fn inflate(packed: &[u8]) -> Vec<u8> {
    use std::io::Read;
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(packed)
        .read_to_end(&mut out)
        .unwrap();
    out
}
