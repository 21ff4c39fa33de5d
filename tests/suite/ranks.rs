//! Ranks that are opened one by one: what is said of them is what is said of them opened together, whatever the order and
//! however many at once; what cannot be read is told.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::Value;

use crate::common::program::run;
use crate::common::{scratch, shared};
use crate::late_ranks::{Step, job};
use crate::simulation::model::{Late, LateIn};

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The ranks below some paths; with the exit code.
fn ranks(paths: &[&Path], more: &[&str]) -> (i32, Value) {
    let mut args = vec!["ranks", "--json"];
    args.extend(paths.iter().map(|p| text(p)));
    args.extend(more);
    let (code, out, err) = run(&args);
    let json = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
    (code, json)
}

/// The same ranks opened together.
fn together(paths: &[&Path]) -> Value {
    let mut args = vec!["report", "--json", "--brief"];
    args.extend(paths.iter().map(|p| text(p)));
    let (code, out, err) = run(&args);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

/// Places count from the start of the trace that a span is in: those of a rank alone differ.
fn without_places(mut job: Value) -> Value {
    let issues = job["issues"].as_array_mut().unwrap();
    for issue in issues {
        issue["evidence"]["places"].take();
    }
    job
}

/// What is said one by one is what is said together, of the job and of each rank.
fn assert_same(one_by_one: &Value, together: &Value) {
    let job = |v: &Value| without_places(v["job"].clone());
    assert_eq!(job(one_by_one), job(together));
    let all = one_by_one["ranks"].as_array().unwrap();
    assert_eq!(all.len(), together["ranks"].as_object().unwrap().len());
    for rank in all {
        let other = &together["ranks"][rank["rank"].to_string()];
        let issue = &other["verdict"]["issues"][0];
        assert_eq!(rank["verdict"], issue["kind"], "{rank}");
        assert_eq!(rank["value"], issue["value"], "{rank}");
        assert_eq!(rank["of"], issue["of_ns"], "{rank}");
        assert_eq!(rank["judged"], other["verdict"]["n_judged"], "{rank}");
    }
}

fn late_by_input(name: &str, numbers: &[u32]) -> PathBuf {
    let folder = scratch(name);
    job(
        &folder,
        24,
        numbers,
        |_| 0,
        |r, _| Step {
            wait: if r == 2 { 20 * MS } else { 200 * US },
            compute: 8 * MS,
        },
    );
    folder
}

#[test]
fn eight_real_ranks_are_told_as_together() {
    let files = [
        (0, 545),
        (1, 556),
        (2, 554),
        (3, 557),
        (4, 547),
        (5, 549),
        (6, 553),
        (7, 553),
    ];
    let name = |(rank, stamp): (u32, u32)| {
        shared(&format!(
            "traces/torch/facebookresearch-param__dlrm_kineto_worker{rank}_step_12.1694128201{stamp}.pt.trace.json"
        ))
    };
    let Some(paths) = files.into_iter().map(name).collect::<Option<Vec<_>>>() else {
        return;
    };
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let (code, one_by_one) = ranks(&paths, &[]);
    assert_eq!(code, 0);
    assert_same(&one_by_one, &together(&paths));
    let waited = [5581, 11119, 3275, 9557, 6370, 6034, 3341, 1529];
    let last = [0, 0, 0, 0, 1, 2, 0, 5];
    for (rank, (waited, last)) in waited.into_iter().zip(last).enumerate() {
        let row = &one_by_one["ranks"][rank];
        assert_eq!(
            (row["waited"].as_i64(), row["last"].as_i64()),
            (Some(waited * US), Some(last))
        );
    }
}

#[test]
fn neither_order_nor_threads_change_anything() {
    let folder = late_by_input("ranks_order", &[0, 1, 2, 3]);
    let (code, first) = ranks(&[&folder], &["--jobs", "1", "--run", "x"]);
    assert_eq!(code, 0);
    assert_same(&first, &together(&[&folder]));
    let file = |r: u32| folder.join(format!("rank{r}.json"));
    let order = [file(3), file(1), file(0), file(2)];
    let order: Vec<&Path> = order.iter().map(PathBuf::as_path).collect();
    let (_, again) = ranks(&order, &["--jobs", "8", "--run", "x"]);
    assert_eq!(again, first);
    assert_eq!(first["job"]["verdict"], "INPUT_STRAGGLER");
    assert_eq!(first["ranks"][2]["cause"], "INPUT");
    // Figures add up: of hosts, of ranks.
    let sum = |key: &str| -> i64 {
        let all = first["ranks"].as_array().unwrap();
        all.iter().map(|r| r[key].as_i64().unwrap()).sum()
    };
    assert_eq!(sum("cost"), 24 * 19_800 * US);
    let host = &first["hosts"][0];
    assert_eq!(host["ranks"], 4);
    assert_eq!(host["wait_steps"], host["judged"]);
    assert_eq!(first["worst_steps"].as_array().map(Vec::len), Some(0));
}

#[test]
fn the_text_names_who_how_often_how_much_and_why() {
    let folder = late_by_input("ranks_text", &[0, 1, 2, 3]);
    let (code, out, err) = run(&["ranks", text(&folder)]);
    assert_eq!((code, err.as_str()), (0, ""));
    for part in [
        "ranks_text: 4 of 4 ranks",
        "Rank 2 holds up the job: the other 3 ranks wait 19.8 ms",
        "24 collectives matched, persistent.",
        "INPUT  INPUT_BOUND",
        "475.200  19.800",
    ] {
        assert!(out.contains(part), "`{part}` is missing in:\n{out}");
    }
}

#[test]
fn a_rank_that_is_not_there_and_a_file_that_cannot_be_read_are_told() {
    let folder = late_by_input("ranks_bad", &[0, 1, 3]);
    let (code, absent) = ranks(&[&folder], &[]);
    assert_eq!(code, 0);
    assert_eq!(absent["ranks_missing"], serde_json::json!([2]));
    assert_eq!(absent["job"]["missing"][0], "RANKS");
    let bad = folder.join("rank2.json");
    fs::write(&bad, "{\"schemaVersion\": 1, \"traceEvents\": [").unwrap();
    let (code, out, err) = run(&["ranks", "--json", text(&folder)]);
    let found: Value = serde_json::from_str(&out).unwrap();
    let unread = found["unread"].as_array().unwrap();
    let named = unread.len() == 1 && unread[0]["file"].as_str().unwrap().ends_with("rank2.json");
    // Either it holds nothing and is named, or it is a rank of which nothing is known.
    assert!(named, "{unread:?}");
    assert_eq!(code, 1);
    assert!(err.contains("rank2.json"), "{err}");
    assert_eq!(found["recorded"], 3);
}

#[test]
fn a_rank_without_spans_hides_nothing_of_the_others() {
    let folder = late_by_input("ranks_spanless", &[0, 1, 2, 3]);
    fs::write(folder.join("rank4.json"), "{\"traceEvents\": []}").unwrap();
    let (code, found) = ranks(&[&folder], &[]);
    assert_eq!((code, &found["recorded"]), (1, &4.into()));
    assert_eq!(found["job"]["culprit"], 2);
    let unread = found["unread"].as_array().unwrap();
    assert_eq!(unread.len(), 1, "{unread:?}");
    assert!(unread[0]["why"].as_str().unwrap().contains("no spans"));
}

#[test]
fn files_of_a_folder_that_should_be_traces_are_named() {
    let folder = late_by_input("ranks_beside", &[0, 1, 2, 3]);
    fs::write(folder.join("settings.json"), "{\"lr\": 1}").unwrap();
    fs::write(folder.join("notes.txt"), "nothing").unwrap();
    let (code, found) = ranks(&[&folder], &[]);
    assert_eq!((code, &found["unread"]), (0, &serde_json::json!([])));
    let lost = folder.join("more");
    fs::create_dir(&lost).unwrap();
    let names = ["rank4.json", "rank5.json.gz", "rank6.json", "rank7.json"];
    fs::write(lost.join(names[0]), "").unwrap();
    fs::write(lost.join(names[1]), [0x93, 0xfe, 0x01, 0xc7, 0x80, 0xff]).unwrap();
    fs::write(lost.join(names[2]), "out of memory\n").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(lost.join("gone"), lost.join(names[3])).unwrap();
    #[cfg(not(unix))]
    fs::write(lost.join(names[3]), "").unwrap();
    let (code, found) = ranks(&[&folder], &[]);
    assert_eq!((code, &found["recorded"]), (1, &4.into()));
    let unread = found["unread"].as_array().unwrap();
    assert_eq!(unread.len(), names.len(), "{unread:?}");
    for (unread, name) in unread.iter().zip(names) {
        assert!(unread["file"].as_str().unwrap().ends_with(name), "{unread}");
        assert_ne!(unread["why"], "");
    }
}

#[test]
fn no_picture_goes_between_what_is_printed() {
    let folder = late_by_input("ranks_stdout", &[0, 1]);
    let (code, out, err) = run(&["ranks", text(&folder), "--png", "-"]);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
}

#[test]
fn what_needs_more_than_may_be_used_is_left_out() {
    let folder = late_by_input("ranks_memory", &[0, 1, 2, 3]);
    let (code, out, err) = run(&["ranks", text(&folder), "--memory", "10KB"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("of --memory"), "{err}");
    // What it needs and what it may take can be told apart.
    assert!(err.contains("the 9 KiB of --memory"), "{err}");
    let (code, _, err) = run(&["ranks", text(&folder), "--memory", "10"]);
    assert_eq!(code, 2);
    assert!(err.contains("no size"), "{err}");
}

#[test]
fn ranks_without_collectives_cannot_be_told() {
    let folder = late_by_input("ranks_untold", &[0, 1]);
    for r in [0, 1] {
        let path = folder.join(format!("rank{r}.json"));
        let plain = fs::read_to_string(&path)
            .unwrap()
            .replace("ncclDevKernel_AllReduce", "gemm");
        let plain = plain.replace("Collective name", "Other name");
        fs::write(path, plain).unwrap();
    }
    let (code, out, _) = run(&["ranks", text(&folder)]);
    assert_eq!(code, 4);
    assert!(out.contains("Who is late cannot be told"), "{out}");
    // Nor is it drawn as if nobody was.
    let picture = folder.join("late.png");
    let (code, _, err) = run(&["ranks", text(&folder), "--png", text(&picture)]);
    assert_eq!(code, if cfg!(feature = "png") { 4 } else { 2 }, "{err}");
    assert!(!picture.exists());
    // One rank has nobody to be late for.
    let (code, out, _) = run(&["ranks", text(&folder.join("rank0.json"))]);
    assert_eq!(code, 0, "{out}");
    assert!(!out.contains("cannot be told: no collectives"), "{out}");
}

/// Four ranks an hour later, other processes; another rank is late.
fn an_hour_later(name: &str) -> PathBuf {
    let second = scratch(name);
    job(
        &second,
        24,
        &[0, 1, 2, 3],
        |_| 3_600_000 * MS,
        |r, _| Step {
            wait: 200 * US,
            compute: if r == 1 { 18 * MS } else { 8 * MS },
        },
    );
    for r in 0..4 {
        let path = second.join(format!("rank{r}.json"));
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace(
            &format!("\"pid\":{}", 100 + r),
            &format!("\"pid\":{}", 500 + r),
        );
        fs::write(path, text).unwrap();
    }
    second
}

#[test]
fn the_same_rank_at_another_time_is_another_run() {
    let first = late_by_input("ranks_first", &[0, 1, 2, 3]);
    let second = an_hour_later("ranks_second");
    let (code, both) = ranks(&[&second, &first], &["--run", "x"]);
    assert_eq!(code, 0);
    assert_eq!(both["run"], "x");
    assert_eq!(both["job"]["verdict"], "INPUT_STRAGGLER");
    let other = &both["other_runs"][0];
    assert_eq!(
        (&other["run"], &other["job"]["culprit"]),
        (&"x#2".into(), &1.into())
    );
    assert_eq!(other["job"]["verdict"], "COMPUTE_STRAGGLER");
    assert_eq!(both["notices"][0]["code"], "SECOND_RUN");
}

#[test]
fn ranks_of_other_times_are_another_run_as_in_a_report() {
    let folder = scratch("ranks_years");
    let year = 365 * 24 * 3_600_000 * MS;
    job(
        &folder,
        6,
        &[0, 1, 2, 3],
        |r| if r < 2 { 0 } else { year },
        |r, _| Step {
            wait: if r % 2 == 1 { 20 * MS } else { 200 * US },
            compute: 8 * MS,
        },
    );
    let (code, found) = ranks(&[&folder], &["--run", "x"]);
    assert_eq!(code, 0, "{found}");
    assert_eq!(found["recorded"], 2);
    let other = &found["other_runs"][0];
    assert_eq!(
        (&other["run"], &other["recorded"]),
        (&"x#2".into(), &2.into())
    );
    let report = together(&[&folder]);
    assert_eq!(report["runs"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["runs"][0]["job"]["culprit"], found["job"]["culprit"]);
    let culprits = [&found["job"]["culprit"], &other["job"]["culprit"]];
    assert_eq!(culprits, [1, 3]);
    let second = found["notices"].as_array().unwrap().iter();
    let mut second = second.filter(|n| n["code"] == "SECOND_RUN");
    assert_eq!(second.next().unwrap()["ranks"], 2);
}

#[test]
fn a_rank_that_lost_its_first_file_is_of_the_second_run() {
    let first = late_by_input("ranks_lost_first", &[0, 1, 2, 3]);
    let second = an_hour_later("ranks_lost_second");
    fs::remove_file(first.join("rank1.json")).unwrap();
    let (code, both) = ranks(&[&first, &second], &["--run", "x"]);
    assert_eq!(code, 0);
    assert_eq!(both["recorded"], 3);
    assert_eq!(both["ranks_missing"], serde_json::json!([1]));
    assert_eq!(both["job"]["culprit"], 2);
    let other = &both["other_runs"][0];
    assert_eq!(
        (&other["run"], &other["recorded"]),
        (&"x#2".into(), &4.into())
    );
    assert_eq!(other["job"]["culprit"], 1);
    assert_eq!(both["notices"][0]["code"], "SECOND_RUN");
    assert_eq!(both["notices"][0]["ranks"], 4);
}

#[test]
fn a_rank_in_two_files_is_one_rank() {
    let folder = late_by_input("ranks_split", &[0, 1, 2, 3]);
    let (_, whole) = ranks(&[&folder], &["--run", "x"]);
    // The GPU of rank 1 in a file of its own.
    let path = folder.join("rank1.json");
    let mut cpu: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let all = cpu["traceEvents"].as_array().unwrap().clone();
    let (gpu, rest): (Vec<Value>, Vec<Value>) = all.into_iter().partition(|e| e["cat"] == "kernel");
    let mut other = cpu.clone();
    cpu["traceEvents"] = rest.into();
    other["traceEvents"] = gpu.into();
    fs::write(&path, cpu.to_string()).unwrap();
    fs::write(folder.join("rank1_gpu.json"), other.to_string()).unwrap();
    let (code, split) = ranks(&[&folder], &["--run", "x"]);
    assert_eq!(code, 0, "{split}");
    assert_eq!(split["recorded"], 4);
    assert_eq!(split["ranks"][1]["files"], 2);
    for key in ["last", "waited", "cost"] {
        assert_eq!(split["ranks"][1][key], whole["ranks"][1][key], "{key}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn any_job_is_told_one_by_one_as_together(
        numbers in prop::collection::btree_set(0..6_u32, 2..5),
        waits in prop::collection::vec(0..12_i64, 64),
        computes in prop::collection::vec(4..12_i64, 64),
        steps in 3..26_usize,
    ) {
        let folder = scratch("ranks_any");
        let numbers: Vec<u32> = numbers.into_iter().collect();
        job(&folder, steps, &numbers, |_| 0, |r, k| {
            let i = (7 * r as usize + 3 * k) % 64;
            Step { wait: waits[i] * MS, compute: computes[i] * MS }
        });
        let (_, one_by_one) = ranks(&[&folder], &[]);
        assert_same(&one_by_one, &together(&[&folder]));
    }
}

#[test]
fn the_planted_rank_and_its_cause_are_found_among_many() {
    let phases = [
        (LateIn::Input, "INPUT"),
        (LateIn::Copy, "H2D"),
        (LateIn::Forward, "COMPUTE"),
        (LateIn::Backward, "COMPUTE"),
        (LateIn::Host, "HOST"),
    ];
    for (seed, (within, cause)) in (1_u32..).zip(phases) {
        let folder = scratch(&format!("ranks_planted_{cause}_{seed}"));
        let late = Late {
            rank: 3 * seed,
            within,
            ns: 15 * MS,
        };
        crate::simulated::many_ranks(&folder, u64::from(seed), 17, late);
        let (code, found) = ranks(&[&folder], &[]);
        assert_eq!(code, 0);
        assert_eq!(found["recorded"], 17);
        assert_eq!(
            found["job"]["culprit"], late.rank,
            "{cause}: {}",
            found["job"]
        );
        assert_eq!(found["job"]["cause"], cause, "{}", found["job"]);
    }
}
