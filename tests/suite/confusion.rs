//! Every labelled case against its verdict, as one table: small simulated loops, cases after public reports, real runs with a
//! log of what happened.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::Value;
use stallscope::analysis::IssueKind;

use crate::common::shared;
use crate::simulated::analysed;

/// A case with the verdicts that are right, and those that would be confident and wrong.
struct Labelled {
    name: String,
    paths: Vec<PathBuf>,
    right: Vec<String>,
    forbidden: Vec<String>,
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Cases with a list of labels beside them.
fn listed() -> Option<Vec<Labelled>> {
    let labels = shared("analysis/verdict_cases/LABELS.tsv")?;
    let folder = labels.parent()?.to_path_buf();
    let text = std::fs::read_to_string(&labels).unwrap();
    let row = |row: &str| {
        let parts: Vec<&str> = row.split('\t').collect();
        Labelled {
            name: parts[0].to_owned(),
            paths: parts[1]
                .split_whitespace()
                .map(|f| folder.join(f))
                .collect(),
            right: words(parts[2]),
            forbidden: words(parts[3]),
        }
    };
    Some(text.lines().map(row).collect())
}

/// Labels of the cases after public reports that hold a loop, by what is told of each beside it.
const REPORTED: &[(&str, &str, &str)] = &[
    (
        "01a_graph_replay_unrecorded.json",
        "INCONCLUSIVE",
        "INPUT_BOUND COMPUTE_BOUND",
    ),
    (
        "01b_hip_graph_replay_unrecorded.json",
        "INCONCLUSIVE",
        "INPUT_BOUND COMPUTE_BOUND",
    ),
    (
        "01c_graph_replay_recorded.json",
        "INPUT_BOUND",
        "COMPUTE_BOUND",
    ),
    (
        "01d_lost_kernel_records.json",
        "INCONCLUSIVE",
        "INPUT_BOUND COMPUTE_BOUND",
    ),
    (
        "02a_kernel_end_overflow.json",
        "INPUT_BOUND INCONCLUSIVE",
        "COMPUTE_BOUND",
    ),
    (
        "02b_kernel_end_overflow_last.json",
        "INPUT_BOUND",
        "COMPUTE_BOUND",
    ),
    (
        "04a_merged_ranks_text_pid.json",
        "INPUT_BOUND",
        "COMPUTE_BOUND",
    ),
    (
        "04b_merged_ranks_offset_pid.json",
        "INPUT_BOUND",
        "COMPUTE_BOUND",
    ),
    ("04d_fused_ranks.json", "INPUT_BOUND", "COMPUTE_BOUND"),
    ("05a_kernel_ts0_dur0.json", "INPUT_BOUND", "COMPUTE_BOUND"),
    (
        "05b_kernel_negative_dur.json",
        "INPUT_BOUND",
        "COMPUTE_BOUND",
    ),
    (
        "05c_kernel_dur_wrapped.json",
        "INPUT_BOUND",
        "COMPUTE_BOUND",
    ),
    (
        "06a_wait_names_with_blanks.json",
        "INPUT_BOUND",
        "COMPUTE_BOUND",
    ),
    (
        "06b_wait_names_reversed.json",
        "INPUT_BOUND",
        "COMPUTE_BOUND",
    ),
    ("06d_wait_names_known.json", "INPUT_BOUND", "COMPUTE_BOUND"),
    (
        "07a_second_rank_without_kernels.sqlite",
        "INPUT_BOUND",
        "COMPUTE_BOUND",
    ),
    (
        "07b_both_ranks_with_kernels.sqlite",
        "INPUT_BOUND",
        "COMPUTE_BOUND",
    ),
    (
        "07c_graph_launches_without_rows.sqlite",
        "INCONCLUSIVE",
        "INPUT_BOUND COMPUTE_BOUND",
    ),
    (
        "09_ray_timeline.json",
        "INCONCLUSIVE",
        "INPUT_WAIT INPUT_OK",
    ),
    ("11a_no_cat.json", "INCONCLUSIVE", "INPUT_WAIT INPUT_OK"),
    (
        "11b_no_cat_args.json",
        "INCONCLUSIVE",
        "INPUT_WAIT INPUT_OK",
    ),
];

fn reported() -> Option<Vec<Labelled>> {
    let folder = shared("cases/public")?;
    let one = |&(file, right, forbidden): &(&str, &str, &str)| Labelled {
        name: file.split('.').next().unwrap().to_owned(),
        paths: vec![folder.join(file)],
        right: words(right),
        forbidden: words(forbidden),
    };
    Some(REPORTED.iter().map(one).collect())
}

/// Real runs, judged by their own log: of the loop's time, what most of it beside the computing was.
fn logged() -> Option<Vec<Labelled>> {
    let folder = shared("traces/pairs")?;
    let mut runs: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.join("TRUTH.json").exists())
        .collect();
    runs.sort();
    let mut all: Vec<Labelled> = runs.iter().map(|run| by_log(run)).collect();
    for run in ["w2_collate", "w4_slow_worker"] {
        let run = folder.join("synthetic").join(run);
        all.push(Labelled {
            name: format!("{} + GPU", run.file_name().unwrap().to_string_lossy()),
            paths: vec![run.join("torch.json.gz"), run.join("dft")],
            right: words("INPUT_BOUND"),
            forbidden: words("COMPUTE_BOUND LAUNCH_BOUND STARTUP_BOUND"),
        });
    }
    Some(all)
}

fn by_log(run: &Path) -> Labelled {
    let truth: Value =
        serde_json::from_slice(&std::fs::read(run.join("TRUTH.json")).unwrap()).unwrap();
    let ns = |v: &Value| v.as_i64().unwrap_or(0);
    let sum = |v: &Value| {
        v.as_object()
            .into_iter()
            .flatten()
            .map(|(_, v)| ns(v))
            .sum::<i64>()
    };
    let ranks = truth["loop_ns"].as_object().unwrap().len();
    let starts: Vec<i64> = truth["waits"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|w| w["first_of_epoch"] == true)
        .map(|w| ns(&w["wait_ns"]))
        .collect();
    // A single start is no habit.
    let again = match starts.len() > ranks {
        true => starts.iter().skip(ranks).sum::<i64>(),
        false => 0,
    };
    let parts = [
        ("INPUT_WAIT", ns(&truth["later_waits_ns"])),
        ("STARTUP_BOUND", again),
        (
            "CHECKPOINT_STALL",
            ns(&truth["loop_parts_ns"]["checkpoint"]),
        ),
    ];
    let whole = sum(&truth["loop_ns"]);
    let most = parts.iter().map(|p| p.1).max().unwrap();
    let mut right: Vec<String> = parts
        .iter()
        .filter(|p| p.1 > 0 && 5 * p.1 >= 4 * most && 12 * p.1 >= whole)
        .map(|p| p.0.to_owned())
        .collect();
    if ranks > 1 {
        right = words("INPUT_STRAGGLER");
    }
    let mut torch: Vec<PathBuf> = std::fs::read_dir(run)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.to_string_lossy().ends_with(".json.gz"))
        .collect();
    torch.sort();
    torch.push(run.join("dft"));
    Labelled {
        name: run.file_name().unwrap().to_string_lossy().into_owned(),
        paths: torch,
        right,
        forbidden: words("INPUT_BOUND COMPUTE_BOUND INPUT_OK HOST_STALL LAUNCH_BOUND"),
    }
}

/// Right and wrong verdicts by what was expected. The table is printed by `--no-capture`.
#[test]
fn verdicts_are_right_in_nineteen_of_twenty_cases_and_never_confidently_wrong() {
    let (Some(listed), Some(reported), Some(logged)) = (listed(), reported(), logged()) else {
        return;
    };
    let cases: Vec<Labelled> = listed.into_iter().chain(reported).chain(logged).collect();
    assert!(cases.len() >= 72, "only {} cases", cases.len());
    let judge = |case: &Labelled| -> IssueKind {
        let analysis = analysed(&case.paths);
        analysis.jobs(analysis.trace().extent())[0].kind
    };
    let found: Vec<IssueKind> = cases.par_iter().map(judge).collect();
    let mut table: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    let (mut right, mut forbidden) = (0, Vec::new());
    for (case, kind) in cases.iter().zip(&found) {
        let kind = kind.key();
        let is_right = case.right.iter().any(|k| k == kind);
        right += usize::from(is_right);
        let wanted = match is_right {
            true => kind,
            false => case.right.first().map_or("-", String::as_str),
        };
        table.entry((wanted, kind)).or_default().push(&case.name);
        if case.forbidden.iter().any(|k| k == kind) {
            forbidden.push(format!("{}: {kind}", case.name));
        }
    }
    let mut text = format!("{:20} {:20} cases\n", "right", "found");
    for ((want, got), names) in &table {
        let mark = if want == got { "" } else { "<- " };
        let _ = writeln!(
            text,
            "{want:20} {got:20} {:3}  {mark}{}",
            names.len(),
            names.join(" ")
        );
    }
    let _ = writeln!(text, "{right} of {} right", cases.len());
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
    assert!(
        forbidden.is_empty(),
        "confidently wrong: {forbidden:?}\n{text}"
    );
    assert!(100 * right >= 95 * cases.len(), "{text}");
}
