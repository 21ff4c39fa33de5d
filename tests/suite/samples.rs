//! The bundled samples: each opens cleanly and shows exactly the figures of its description, which come from the
//! simulation that made it or, for the real one, from an independent program.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use stallscope::analysis::{Analysis, NoArgs, Options, Rules};
use stallscope::export::report::{ReportOptions, report};
use stallscope::import::{OpenOptions, Progress, open};

use crate::common;

use common::{Differences, repository};

/// Expected figure in the description, and its path in the report of the sample's rank.
const PATHS: &[(&str, &str)] = &[
    ("steps", "loop/n_steps"),
    ("wait", "loop/wait"),
    ("wait_exposed", "loop/wait_exposed"),
    ("wait_hidden", "loop/wait_hidden"),
    ("wait_unrecorded", "loop/wait_unrecorded"),
    ("gpu_busy", "gpu_primary/busy"),
    ("load", "workers/load_sum"),
    ("load_processes", "workers/n_procs"),
];

/// Path of the trace that a description is about, beside it.
fn trace_of(description: &std::path::Path) -> PathBuf {
    let stem = description.file_stem().unwrap().to_str().unwrap();
    let folder = description.parent().unwrap();
    let mut found = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| {
            let name = p.file_name().unwrap().to_str().unwrap();
            name.split('.').next() == Some(stem)
                && !name.ends_with(".toml")
                && !name.ends_with(".LICENSE")
        });
    let path = found.next().unwrap();
    assert!(found.next().is_none(), "{stem} has one trace");
    path
}

#[test]
fn samples_show_their_figures() {
    let mut descriptions: Vec<PathBuf> = fs::read_dir(repository("sample_traces"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    descriptions.sort();
    assert!(descriptions.len() >= 4, "{descriptions:?}");
    let mut differences = Differences::default();
    for description in descriptions {
        let text = fs::read_to_string(&description).unwrap();
        let table: toml::Table = text.parse().unwrap();
        let name = description.file_stem().unwrap().to_str().unwrap();
        let loaded = open(
            &[trace_of(&description)],
            &OpenOptions::default(),
            &Progress::new(),
        )
        .unwrap();
        let warnings: Vec<String> = loaded.report.warnings().map(ToString::to_string).collect();
        differences.compare(&format!("{name}: warnings"), Vec::<String>::new(), warnings);
        let trace = Arc::new(loaded.trace);
        let rules = Rules::builtin();
        let analysis =
            Analysis::with_args(trace, &rules, &Options::default(), &NoArgs, &|_| true).unwrap();
        let value = report(&analysis, &ReportOptions::default());
        let ranks = value["ranks"].as_object().unwrap();
        assert_eq!(ranks.len(), 1, "{name}");
        let rank = ranks.values().next().unwrap();
        let expected = table["expected"].as_table().unwrap();
        assert!(expected.len() >= 4, "{name} expects too little");
        for (key, want) in expected {
            let (_, path) = PATHS.iter().find(|(k, _)| k == key).unwrap();
            let found = rank
                .pointer(&format!("/{path}"))
                .and_then(serde_json::Value::as_i64);
            differences.compare(&format!("{name}: {key}"), want.as_integer(), found);
        }
    }
    differences.finish();
}
