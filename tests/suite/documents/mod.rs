//! The JSON that the program prints is what `stallscope schema` says, field by field.

mod validate;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use rayon::prelude::*;
use serde_json::Value;
use stallscope::analysis::IssueKind;
use stallscope::import::TRACERS;
use stallscope::schema::Document;

use crate::common::{repository, shared};
use validate::{Outcome, properties, validate};

fn bundled() -> Vec<PathBuf> {
    let names = [
        "torch_0_workers.json.gz",
        "torch_4_workers.json.gz",
        "torch_real_rank1.json.gz",
        "nsight_2_workers.sqlite",
        "dftracer_2_workers",
    ];
    names.map(|n| repository("sample_traces").join(n)).to_vec()
}

/// What lies in folders of the shared data and may be a trace.
fn entries(folders: &[&str]) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for folder in folders.iter().filter_map(|f| shared(f)) {
        let all = std::fs::read_dir(folder).unwrap();
        out.extend(all.map(|e| e.unwrap().path()));
    }
    out.retain(|p| {
        let end = p.extension().and_then(|e| e.to_str()).unwrap_or("");
        !["md", "tsv", "py"].contains(&end)
    });
    out.sort();
    out
}

/// What a command prints, where it prints JSON.
fn printed(args: &[&str]) -> Option<Value> {
    let out = Command::new(env!("CARGO_BIN_EXE_stallscope"))
        .args(args)
        .output()
        .unwrap();
    let answered = matches!(out.status.code(), Some(0 | 4));
    answered.then(|| serde_json::from_slice(&out.stdout).unwrap())
}

/// Documents against the schema that allows no other fields; how many there were, and the fields that none of them has.
fn check(
    document: Document,
    printed: impl IntoIterator<Item = (String, Value)>,
) -> (usize, BTreeSet<String>) {
    let strict = document.schema(true);
    let (mut n, mut seen, mut wrong) = (0, BTreeSet::new(), Vec::new());
    for (of, value) in printed {
        n += 1;
        let mut outcome = Outcome::default();
        validate(&strict, &value, &mut outcome);
        wrong.extend(outcome.wrong.iter().map(|w| format!("{of} {w}")));
        seen.append(&mut outcome.seen);
    }
    wrong.truncate(60);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut all = BTreeSet::new();
    properties(&strict, "", &mut all);
    (n, &all - &seen)
}

fn each(paths: &[PathBuf], args: &[&str]) -> Vec<(String, Value)> {
    let one = |path: &PathBuf| {
        let text = path.to_str().unwrap();
        let mut all = vec![args[0], text];
        all.extend(&args[1..]);
        Some((format!("{text} {}", args.join(" ")), printed(&all)?))
    };
    paths.par_iter().filter_map(one).collect()
}

/// Every field is in some document, but those that need what no trace at hand has.
fn assert_seen(unseen: &BTreeSet<String>, but: &[&str]) {
    let unseen: Vec<&String> = unseen
        .iter()
        .filter(|u| !but.iter().any(|b| u.ends_with(b)))
        .collect();
    assert!(unseen.is_empty(), "in no document: {unseen:#?}");
}

/// The values that a field is said to have one of.
fn values(document: Document, path: &str) -> BTreeSet<String> {
    let fields = document.fields();
    let field = fields.iter().find(|f| f.path == path);
    field.unwrap().values.iter().cloned().collect()
}

#[test]
fn texts_that_are_one_of_a_few_are_all_named() {
    let kinds = |of_job: bool| -> BTreeSet<String> {
        let all = IssueKind::ALL.iter();
        let own = all.filter(|k| k.compares_ranks() == of_job);
        own.map(|k| k.key().to_owned()).collect()
    };
    let of_rank = kinds(false);
    assert_eq!(values(Document::Report, "ranks.*.verdict.verdict"), of_rank);
    assert_eq!(values(Document::Ranks, "ranks[].verdict"), of_rank);
    let all = &of_rank | &kinds(true);
    assert_eq!(values(Document::Report, "job.verdict"), all);
    let tracers = TRACERS.iter().map(|t| t.key.to_owned()).collect();
    assert_eq!(values(Document::Report, "sources[].tracer"), tracers);
    // Programs must take others, too: they may come.
    let schema = Document::Report.schema(false);
    let known = &schema["properties"]["sources"]["items"]["properties"]["tracer"]["anyOf"];
    assert_eq!(known[1]["type"], "string");
    assert!(
        known[0]["enum"]
            .as_array()
            .unwrap()
            .contains(&"nsight".into())
    );
}

#[test]
fn reports_of_the_samples_are_as_the_schema_says() {
    let (n, _) = check(Document::Report, each(&bundled(), &["report", "--json"]));
    assert_eq!(n, bundled().len());
}

#[test]
fn reports_of_all_public_traces_are_as_described() {
    let folders = [
        "traces/torch",
        "traces/chrome",
        "traces/dftracer",
        "traces/nsight",
        "traces/pairs",
        "traces/pairs/synthetic",
        "cases/public",
        "nsight/db",
        "analysis/cause_cases",
        "analysis/verdict_cases",
        "analysis/recorders/cases",
    ];
    // A few at a time: all of them together take hundreds of megabytes.
    let (mut n, mut unseen): (usize, Option<BTreeSet<String>>) = (0, None);
    let mut add = |printed: Vec<(String, Value)>| {
        let (more, not_there) = check(Document::Report, printed);
        n += more;
        unseen = Some(match unseen.take() {
            Some(unseen) => &unseen & &not_there,
            None => not_there,
        });
    };
    let some = bundled();
    let paths: Vec<PathBuf> = some.iter().cloned().chain(entries(&folders)).collect();
    for few in paths.chunks(16) {
        add(each(few, &["report", "--json"]));
    }
    add(each(&some, &["report", "--json", "--windows", "50ms"]));
    add(each(
        &some,
        &["report", "--json", "--brief", "--range", "..400ms"],
    ));
    if shared("traces").is_some() {
        assert!(n > 250, "only {n} reports");
        assert_seen(
            &unseen.unwrap(),
            &[
                "/one_sided",
                "/item/index",
                "/windows_error",
                "/parts/*/earlier",
                "/phases/gc",
                "/phases/compile",
                "/phases/log",
                "/phases/loader",
            ],
        );
    }
}

#[test]
fn what_other_commands_print_is_as_described() {
    let mut paths = bundled();
    paths.extend(entries(&[
        "traces/pairs",
        "traces/pairs/synthetic",
        "analysis/cause_cases",
    ]));
    let (n, unseen) = check(Document::Info, each(&paths, &["info", "--json"]));
    assert!(n >= 5);
    assert_seen(
        &unseen,
        &[
            "/lost",
            "/lost/bytes",
            "/lost/events",
            "/lost/estimated",
            "/context",
        ],
    );
    let (_, unseen) = check(
        Document::Names,
        each(&bundled(), &["report", "--by", "name", "--json"]),
    );
    assert_seen(&unseen, &["/rank"]);
    if shared("traces").is_none() {
        return;
    }
    let with_sync = each(&paths, &["whatif", "--json", "--no-sync"]);
    let (_, unseen) = check(Document::Whatif, with_sync);
    assert_seen(&unseen, &[]);
    let (_, unseen) = check(
        Document::Why,
        each(&paths, &["why", "--json", "--top", "50"]),
    );
    assert_seen(
        &unseen,
        &["/slow_files", "/slow_worker", "/earlier", "/item/index"],
    );
}

#[test]
fn ranks_are_as_the_schema_says() {
    let paths = entries(&["traces/pairs"]);
    let ranks: Vec<PathBuf> = paths
        .into_iter()
        .filter(|p| p.ends_with("ranks2"))
        .collect();
    let some: Vec<PathBuf> = bundled().into_iter().take(2).chain(ranks).collect();
    let (n, _) = check(Document::Ranks, each(&some, &["ranks", "--json"]));
    assert_eq!(n, some.len());
}

#[test]
fn comparisons_are_as_described() {
    let all = entries(&["analysis/compare"]);
    if all.is_empty() {
        return;
    }
    let name = |p: &Path| p.to_str().unwrap().to_owned();
    let before = all.iter().filter(|p| name(p).contains("_a.json"));
    let pairs: Vec<[String; 2]> = before
        .map(|p| [name(p), name(p).replace("_a.json", "_b.json")])
        .collect();
    assert!(pairs.len() > 5);
    let some = pairs.iter().take(2).flatten().cloned();
    let several: Vec<String> = some.collect();
    let two = [
        &several[0],
        &several[2],
        "--after",
        &several[1],
        &several[3],
        "--json",
    ];
    let args = [&["compare"], &two[..]].concat();
    let several = printed(&args).map(|v| ("several".to_owned(), v));
    let all = pairs
        .iter()
        .filter_map(|[a, b]| Some((a.clone(), printed(&["compare", a, b, "--json"])?)));
    // What is compared with itself is refused.
    let itself = &pairs[0][0];
    let refused = printed(&["compare", itself, itself, "--json"]).unwrap();
    assert_eq!(refused["refused"], "same_recording");
    let more = several.into_iter().chain([("itself".to_owned(), refused)]);
    let (_, unseen) = check(Document::Compare, all.into_iter().chain(more));
    assert_seen(
        &unseen,
        &[
            "/job",
            "/ranks_only_before",
            "/ranks_only_after",
            "/steps_recomputed",
        ],
    );
}

#[test]
fn the_command_prints_the_schemas() {
    for document in Document::ALL {
        let schema = printed(&["schema", document.key()]).unwrap();
        assert_eq!(schema, document.schema(false));
        if document == Document::Tables {
            let first = &schema[0];
            assert_eq!(
                (&first["table"], &first["column"]),
                (&"ranks".into(), &"run".into())
            );
            assert_eq!(
                (&first["type"], &first["nullable"]),
                (&"STRING".into(), &false.into())
            );
        } else {
            let id = schema["$id"].as_str().unwrap();
            assert!(
                id.starts_with(&format!("stallscope:{}:", document.key())),
                "{id}"
            );
            let version = &schema["properties"]["schema"]["const"];
            assert!(id.ends_with(&format!(":{version}")), "{id}");
        }
    }
    assert_eq!(
        printed(&["schema"]).unwrap(),
        Document::Report.schema(false)
    );
}
