//! `ranks --out`: tables of ranks that are opened one by one hold what those of the same files opened alone and together
//! hold, whatever the order; folders of others are left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;

use super::run;
use crate::common::{repository, scratch, shared};
use crate::late_ranks::{Step, job};

const MS: i64 = 1_000_000;
const TABLES: [&str; 7] = [
    "ranks",
    "steps",
    "collectives",
    "arrivals",
    "waits",
    "kernels",
    "notices",
];

/// A row by column; null is absent.
type Cells = BTreeMap<String, String>;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Four ranks of which the third waits for its data.
fn four_ranks(name: &str) -> PathBuf {
    let folder = scratch(name);
    job(
        &folder,
        12,
        &[0, 1, 2, 3],
        |_| 0,
        |r, _| Step {
            wait: if r == 2 { 20 * MS } else { MS / 5 },
            compute: 8 * MS,
        },
    );
    folder
}

/// Writes the tables of some paths; the exit code, and what was said.
fn write(paths: &[&Path], out: &Path, more: &[&str]) -> (i32, String) {
    let mut args = vec!["ranks", "--out", text(out)];
    args.extend(paths.iter().map(|p| text(p)));
    args.extend(more);
    let (code, _, err) = run(&args);
    (code, err)
}

/// All files below a folder, by their paths in it.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut out = BTreeMap::new();
    let mut queue = vec![folder.to_owned()];
    while let Some(next) = queue.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => queue.push(path),
                false => {
                    let name = text(path.strip_prefix(folder).unwrap()).replace('\\', "/");
                    out.insert(name, fs::read(&path).unwrap());
                }
            }
        }
    }
    out
}

/// The rows of a file of Parquet.
fn rows(path: &Path) -> Vec<Cells> {
    let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let cell = |field: &Field| match field {
        Field::Null => None,
        Field::Str(text) => Some(text.clone()),
        Field::Int(n) => Some(n.to_string()),
        Field::Long(n) => Some(n.to_string()),
        Field::Bool(is) => Some(is.to_string()),
        other => panic!("{other:?}"),
    };
    let all = file.get_row_iter(None).unwrap();
    all.map(|row| {
        let row = row.unwrap();
        let cells = row.get_column_iter();
        cells
            .filter_map(|(name, field)| Some((name.clone(), cell(field)?)))
            .collect()
    })
    .collect()
}

/// The rows of a table of a folder, of all runs by the names of their files.
fn table(out: &Path, name: &str) -> Vec<Cells> {
    let all = files(&out.join(name));
    all.keys()
        .flat_map(|f| rows(&out.join(name).join(f)))
        .collect()
}

/// The rows of a table of some paths that are opened together.
fn exported(path: &Path, table: &str) -> Vec<Cells> {
    let file = scratch("tables_folder_exported").join("t.parquet");
    let flag = format!("--{table}");
    let (code, _, err) = run(&["export", text(path), &flag, "--run", "x", "-o", text(&file)]);
    assert!(code == 0 || code == 4, "{err}");
    match code {
        0 => rows(&file),
        _ => Vec::new(),
    }
}

fn number(row: &Cells, column: &str) -> Option<i64> {
    row.get(column).map(|n| n.parse().unwrap())
}

fn sum(rows: &[Cells], column: &str) -> i64 {
    rows.iter().filter_map(|r| number(r, column)).sum()
}

/// Costs and waits add up in all three tables that tell them; of each collective one member did not wait.
fn assert_adds_up(out: &Path) {
    let (ranks, own) = (table(out, "ranks"), table(out, "collectives"));
    let arrivals = table(out, "arrivals");
    assert_eq!(sum(&own, "cost"), sum(&arrivals, "cost"));
    assert_eq!(sum(&own, "cost"), sum(&ranks, "cost"));
    assert_eq!(sum(&own, "wait"), sum(&arrivals, "waited"));
    assert_eq!(sum(&own, "wait"), sum(&ranks, "waited"));
    let mut members: BTreeMap<(&str, &str), Vec<&Cells>> = BTreeMap::new();
    let mut keys = BTreeSet::new();
    for row in &own {
        assert!(
            keys.insert((&row["run"], &row["rank"], &row["key"])),
            "{row:?}"
        );
        if row.contains_key("wait") {
            members
                .entry((&row["run"], &row["key"]))
                .or_default()
                .push(row);
        }
    }
    assert_eq!(members.len(), arrivals.len());
    for row in &arrivals {
        let own = &members[&(row["run"].as_str(), row["key"].as_str())];
        assert_eq!(own.len().to_string(), row["recorded"]);
        assert!(own.iter().any(|m| m["wait"] == "0"), "{row:?}");
        let late: Vec<_> = own.iter().filter(|m| m["late"] == "true").collect();
        assert_eq!(late.len().to_string(), row["late_ranks"]);
        let one = (late.len() == 1 && own.len() > 1).then(|| &late[0]["rank"]);
        assert_eq!(row.get("late_rank"), one, "{row:?}");
        if let Some(late) = late.first() {
            assert_eq!(row.get("step"), late.get("step"), "{row:?}");
        }
        let durs = || own.iter().map(|m| number(m, "dur").unwrap());
        assert_eq!(number(row, "min_dur"), durs().min());
        assert_eq!(number(row, "max_dur"), durs().max());
    }
}

#[test]
fn rows_are_those_of_each_file_alone_and_matched_as_together() {
    let dlrm = shared("traces/torch").map(|dir| {
        let folder = scratch("tables_folder_dlrm");
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if name.contains("dlrm_kineto_worker") {
                fs::copy(&path, folder.join(name)).unwrap();
            }
        }
        folder
    });
    for folder in [Some(four_ranks("tables_folder_four")), dlrm]
        .into_iter()
        .flatten()
    {
        let out = scratch("tables_folder_out").join("new/tables");
        let (code, err) = write(
            &[&folder],
            &out,
            &["--run", "x", "--spans", "all", "--hash"],
        );
        assert_eq!(code, 0, "{err}");
        assert_adds_up(&out);
        let ranks = table(&out, "ranks");
        let (_, json, _) = run(&["ranks", text(&folder), "--json"]);
        let json: Value = serde_json::from_str(&json).unwrap();
        let told = json["ranks"].as_array().unwrap();
        assert_eq!(ranks.len(), told.len());
        for (row, told) in ranks.iter().zip(told) {
            for (column, key) in [
                ("rank", "rank"),
                ("verdict_value", "value"),
                ("verdict_of", "of"),
                ("last", "last"),
                ("waited", "waited"),
                ("cost", "cost"),
                ("steps", "steps"),
                ("judged", "judged"),
                ("wait", "wait"),
                ("wait_exposed", "wait_exposed"),
                ("notices", "notices"),
            ] {
                assert_eq!(
                    number(row, column),
                    told[key].as_i64(),
                    "{column} of {row:?}"
                );
            }
            assert_eq!(row["verdict"], told["verdict"]);
            assert_eq!(row["file"], told["file"]);
            assert_eq!(row["sha256"].len(), 64);
            let (file, own) = (Path::new(&row["file"]), &row["rank"]);
            let bytes = fs::metadata(file).unwrap().len();
            assert_eq!(row["bytes"], bytes.to_string());
            // What no other rank tells is as of the file alone.
            for name in ["steps", "waits", "kernels", "spans"] {
                let mut alone = exported(file, name);
                for row in &mut alone {
                    row.insert("rank".to_owned(), own.clone());
                }
                let mut found = table(&out, name);
                found.retain(|r| r["rank"] == *own);
                assert_eq!(found.len(), alone.len(), "{name}");
                assert!(found == alone, "{name} of rank {own}");
            }
        }
        let cells = |rows: Vec<Cells>| {
            let cell = |mut row: Cells| {
                // Starts count from the start of all of the files there.
                for column in ["start", "launch"] {
                    row.remove(column);
                }
                row
            };
            rows.into_iter().map(cell).collect::<Vec<_>>()
        };
        let (one_by_one, together) = (
            cells(table(&out, "collectives")),
            cells(exported(&folder, "collectives")),
        );
        assert!(one_by_one.len() > 30);
        assert!(one_by_one == together);
        let index: Value =
            serde_json::from_slice(&fs::read(out.join("_stallscope.json")).unwrap()).unwrap();
        assert_eq!(
            (&index["schema"], &index["runs"]["x"]["complete"]),
            (&1.into(), &true.into())
        );
        for name in TABLES.iter().chain(&["spans"]) {
            assert_eq!(
                index["runs"]["x"]["rows"][name],
                table(&out, name).len(),
                "{name}"
            );
        }
    }
}

#[test]
fn ranks_that_begin_at_another_step_have_one_key_too() {
    let folder = four_ranks("tables_folder_uneven");
    // Rank 1 lost what it did before its fourth step: its collectives are counted from another one on.
    let path = folder.join("rank1.json");
    let mut json: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let events = json["traceEvents"].as_array_mut().unwrap();
    let step = |e: &&Value| {
        e["name"]
            .as_str()
            .is_some_and(|n| n.starts_with("ProfilerStep#"))
    };
    let mut starts: Vec<f64> = events
        .iter()
        .filter(step)
        .map(|e| e["ts"].as_f64().unwrap())
        .collect();
    starts.sort_by(f64::total_cmp);
    events.retain(|e| e["ts"].as_f64().is_none_or(|ts| ts >= starts[3]));
    fs::write(&path, json.to_string()).unwrap();
    let out = scratch("tables_folder_uneven_out");
    let (code, err) = write(&[&folder], &out, &["--run", "x"]);
    assert_eq!(code, 0, "{err}");
    assert_adds_up(&out);
    let (own, together) = (table(&out, "collectives"), exported(&folder, "collectives"));
    let keys = |rows: &[Cells]| {
        rows.iter()
            .map(|r| (r["rank"].clone(), r["key"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&own), keys(&together));
    assert!(own.iter().any(|r| r["key"].contains("/step ")));
}

#[test]
fn neither_order_nor_threads_change_a_byte() {
    let folder = four_ranks("tables_folder_order");
    let file = |r: u32| folder.join(format!("rank{r}.json"));
    let order = [file(2), file(0), file(3), file(1)];
    let order: Vec<&Path> = order.iter().map(PathBuf::as_path).collect();
    let dir = scratch("tables_folder_order_out");
    let (first, second) = (dir.join("a"), dir.join("b"));
    let (code, err) = write(&[&folder], &first, &["--run", "x", "--jobs", "1"]);
    assert_eq!(code, 0, "{err}");
    let (code, err) = write(&order, &second, &["--run", "x", "--jobs", "8"]);
    assert_eq!(code, 0, "{err}");
    let (first, second) = (files(&first), files(&second));
    assert_eq!(first.len(), TABLES.len() + 1);
    assert!(first == second);
}

#[test]
fn runs_lie_beside_each_other_and_are_replaced_only_where_asked_for() {
    let folder = four_ranks("tables_folder_runs");
    let out = scratch("tables_folder_runs_out").join("t");
    assert_eq!(write(&[&folder], &out, &["--run", "before"]).0, 0);
    assert_eq!(
        write(&[&folder], &out, &["--run", "after", "--spans", "gpu"]).0,
        0
    );
    let both = files(&out);
    assert_eq!(both.len(), 2 * TABLES.len() + 2);
    let spans = table(&out, "spans");
    assert!(!spans.is_empty() && spans.iter().all(|r| r["layer"].starts_with("gpu")));
    let (code, err) = write(&[&folder], &out, &["--run", "after"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("--replace"), "{err}");
    assert!(files(&out) == both);
    // Nothing of the old one stays, also of tables that are not written again.
    let (code, err) = write(
        &[&folder.join("rank0.json")],
        &out,
        &["--run", "after", "--replace"],
    );
    assert_eq!(code, 0, "{err}");
    let ranks = table(&out, "ranks");
    assert_eq!(ranks.iter().filter(|r| r["run"] == "after").count(), 1);
    assert_eq!(ranks.len(), 5);
    assert!(!out.join("spans/after.00000.parquet").exists());
    assert_eq!(
        files(&out)["steps/before.00000.parquet"],
        both["steps/before.00000.parquet"]
    );
    let index: Value = serde_json::from_slice(&files(&out)["_stallscope.json"]).unwrap();
    let runs = index["runs"].as_object().unwrap();
    assert_eq!(runs.len(), 2);
    assert!(runs["after"]["rows"].get("spans").is_none());
}

#[test]
fn folders_of_others_are_left_alone() {
    let folder = four_ranks("tables_folder_foreign");
    let other = scratch("tables_folder_foreign_out");
    fs::write(other.join("notes.txt"), "mine").unwrap();
    let before = files(&other);
    for out in [&other, &folder, &other.join("notes.txt")] {
        let (code, err) = write(&[&folder], out, &[]);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("No tables are written"), "{err}");
    }
    assert!(files(&other) == before);
    // Tables of another schema.
    fs::write(
        other.join("_stallscope.json"),
        "{\"schema\": 2, \"runs\": {}}",
    )
    .unwrap();
    let (code, err) = write(&[&folder], &other, &[]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("schema 2"), "{err}");
    assert_eq!(files(&other).len(), 2);
    // No such layer: nothing was begun.
    let new = other.join("new");
    let (code, err) = write(&[&folder], &new, &["--spans", "gpus"]);
    assert_eq!(code, 2, "{err}");
    assert!(!new.exists());
    // Nothing to read: nothing is left.
    let (code, _) = write(&[&other.join("gone.json")], &new, &[]);
    assert_eq!(code, 1);
    assert!(!new.exists());
}

#[test]
fn what_was_not_read_is_in_the_notices_and_odd_names_do_no_harm() {
    let folder = four_ranks("tables_folder_unread");
    let bad = folder.join("rank9.json");
    fs::write(&bad, "{\"traceEvents\": [").unwrap();
    let out = scratch("tables_folder_unread_out").join("t");
    let long = "é".repeat(5_000);
    let odd = ["a\"b\n/../c", long.as_str(), "_hidden"];
    for name in odd {
        let (code, err) = write(&[&folder], &out, &["--run", name]);
        assert_eq!(code, 1, "{err}");
    }
    let notices = table(&out, "notices");
    let unread: Vec<&Cells> = notices.iter().filter(|n| n["code"] == "unread").collect();
    assert_eq!(unread.len(), odd.len());
    for row in unread {
        assert!(row["file"].ends_with("rank9.json") && row["level"] == "error");
        assert!(!row.contains_key("rank"));
    }
    let found: BTreeSet<String> = table(&out, "ranks")
        .into_iter()
        .map(|r| r["run"].clone())
        .collect();
    assert_eq!(found, BTreeSet::from(odd.map(str::to_owned)));
    let index: Value = serde_json::from_slice(&files(&out)["_stallscope.json"]).unwrap();
    for name in odd {
        assert_eq!(index["runs"][name]["complete"], false, "{name}");
    }
}

#[test]
fn an_end_at_any_moment_leaves_nothing_that_is_half() {
    let samples = repository("sample_traces");
    let paths = [
        "torch_0_workers.json.gz",
        "torch_4_workers.json.gz",
        "nsight_2_workers.sqlite",
    ];
    let paths: Vec<PathBuf> = paths.iter().map(|p| samples.join(p)).collect();
    let out = scratch("tables_folder_killed").join("t");
    for wait in [1, 20, 60, 120, 250] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_stallscope"));
        command
            .arg("ranks")
            .args(&paths)
            .args(["--run", "x", "--replace", "--out"])
            .arg(&out);
        command
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        let _ = child.kill();
        child.wait().unwrap();
        // Either it was done, or there is no index.
        if out.join("_stallscope.json").exists() {
            let index: Value = serde_json::from_slice(&files(&out)["_stallscope.json"]).unwrap();
            for name in TABLES {
                let rows = index["runs"]["x"]["rows"].get(name);
                assert!(rows.is_none_or(|n| *n == table(&out, name).len()), "{name}");
            }
        }
    }
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let (code, err) = write(&paths, &out, &["--run", "x", "--replace"]);
    assert!(code == 0 || code == 4, "{err}");
    let all = files(&out);
    let index: Value = serde_json::from_slice(&all["_stallscope.json"]).unwrap();
    let runs = index["runs"].as_object().unwrap().len();
    assert_eq!(all.len(), runs * TABLES.len() + 1);
}
