//! `docs/report.md` is made here: rows from the tables of columns, the rest of the JSON report from the list below,
//! which the reports of the samples must not go beyond.

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;

use serde_json::Value;
use stallscope::analysis::{Analysis, NoArgs, Options, Rules};
use stallscope::columns::{self, Column, Output, Unit};
use stallscope::export::report::{ReportOptions, report};
use stallscope::import::{OpenOptions, Progress, open};

use crate::common;
use paths::PATHS;

mod paths;

const HEAD: &str = "# The report

What `stallscope report` says, field by field. This page is made by `tests/suite/report_docs.rs` from the tables that the report itself is
made from; `STALLSCOPE_WRITE_DOCS=1 cargo test --test suite report_docs` writes it anew.

- **Times** are nanoseconds as whole numbers in JSON and CSV, of the trace's clock where they say when. The text report has one unit
  per table, named in its heading; the window names the unit in each cell.
- **Shares** are parts of one, rounded to six decimals in JSON; percent elsewhere.
- **Unknown is not zero**: what was not recorded is `null` in JSON, an empty cell in CSV, `-` or `unknown` in the text report, `–` in
  the window.
- Keys stay as they are within a `schema`; new ones may be added.
- `--by name` prints the table *Names* alone: as text by layer, as JSON under `names` (with `window`, `rank` and `left_out`, the number of
  rows that `--top` cut off), as CSV.

## JSON

In a path, `*` stands for every entry of a list or of an object whose keys are numbers or names.
";

/// Where the rows of a kind are shown.
struct Kind {
    title: &'static str,
    /// Their path in JSON.
    json: &'static str,
    csv: bool,
    /// Section of the text report, or another command.
    text: &'static str,
    tab: &'static str,
}

/// The page, and the paths of rows in JSON.
#[derive(Default)]
struct Page {
    text: String,
    paths: Vec<String>,
}

impl Page {
    fn rows<R>(&mut self, table: &'static [Column<R>], kind: &Kind) {
        let places = [
            ("JSON", kind.json.to_owned()),
            ("text report", kind.text.to_owned()),
            ("tab", kind.tab.to_owned()),
            ("", if kind.csv { "`--csv`" } else { "" }.to_owned()),
        ];
        let places = places.iter().filter(|p| !p.1.is_empty());
        let places: Vec<String> = places
            .map(|(what, place)| match *what {
                "JSON" => format!("JSON `{place}`"),
                "" => place.clone(),
                what => format!("{what} *{place}*"),
            })
            .collect();
        let out = &mut self.text;
        write!(out, "\n### {}\n\n{}.\n\n", kind.title, places.join(", ")).unwrap();
        out.push_str("| Key | Text report | Window | Unit | Meaning |\n|---|---|---|---|---|\n");
        for c in table {
            let json = !kind.json.is_empty() && c.is_in(Output::Json);
            let csv = kind.csv && c.is_in(Output::Csv);
            let object = c
                .within
                .map_or(String::new(), |object| format!("{object}."));
            // Several times in one cell.
            let parts = if c.is_text() && c.unit() == Unit::Ns {
                ".*"
            } else {
                ""
            };
            let key = match (json, csv) {
                (true, _) => format!("`{object}{}{parts}`", c.key),
                (false, true) => format!("`{}` (CSV)", c.key),
                (false, false) => String::new(),
            };
            let text = if c.is_in(Output::Text) { c.text } else { "" };
            let title = if c.is_in(Output::Panel) && !kind.tab.is_empty() {
                c.title
            } else {
                ""
            };
            if key.is_empty() && text.is_empty() && title.is_empty() {
                continue;
            }
            let unit = unit(c.unit());
            writeln!(out, "| {key} | {text} | {title} | {unit} | {} |", c.help).unwrap();
            if json {
                let path = format!("{}.{object}{}{parts}", kind.json, c.key);
                self.paths.push(path);
            }
        }
    }
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "ns",
        Unit::Count => "count",
        Unit::Bytes => "bytes",
        Unit::Share => "share",
        Unit::PerSecond => "1/s",
        Unit::Text => "text",
        Unit::Flag => "flag",
    }
}

fn page() -> Page {
    let mut page = Page::default();
    let kind = |title, json, text, tab| Kind {
        title,
        json,
        csv: false,
        text,
        tab,
    };
    let mut rows = Page::default();
    let steps = kind("Steps", "ranks.*.loop.steps.*", "Steps", "Steps");
    rows.rows(columns::STEP, &Kind { csv: true, ..steps });
    rows.rows(columns::LAYER, &kind("Layers", "", "Layers", "Selection"));
    rows.rows(
        columns::DEVICE_MEMORY,
        &kind("Memory of devices", "memory.*", "Memory", ""),
    );
    let names = kind("Names", "names.*", "stallscope report --by name", "Names");
    rows.rows(columns::NAME_TIME, &Kind { csv: true, ..names });
    rows.rows(columns::WAIT, &kind("Waits for a batch", "", "", "Waits"));
    rows.rows(
        columns::WORKER,
        &kind(
            "Loading work",
            "ranks.*.workers.procs.*",
            "Loading work",
            "Workers",
        ),
    );
    rows.rows(columns::SPAN, &kind("CPU spans", "annotations.*", "", ""));
    rows.rows(
        columns::LAG,
        &kind(
            "CPU spans by name and caller",
            "lag.*",
            "CPU spans and the GPU work that they launched",
            "CPU/GPU lag",
        ),
    );
    rows.rows(
        columns::SYNC,
        &kind("Calls that wait for the GPU", "syncs.*", "", ""),
    );
    rows.rows(
        columns::SYNC_CALLER,
        &kind(
            "Their callers",
            "sync_callers.*",
            "Calls that wait for the GPU",
            "",
        ),
    );
    rows.rows(
        columns::SYNC_LINE,
        &kind("Callers and their calls", "", "", "Syncs"),
    );
    rows.rows(
        columns::SYNC_NAME,
        &kind("The same by name", "", "Calls that wait for the GPU", ""),
    );
    rows.rows(
        columns::STREAM_PAIR,
        &kind(
            "Pairs of streams",
            "overlap.*",
            "Streams that worked at once",
            "Streams",
        ),
    );
    rows.rows(columns::QUEUE, &kind("Queues", "queue.*", "Launches", ""));
    rows.rows(columns::LANE, &kind("Lanes", "lanes.*", "", ""));
    rows.rows(
        columns::RANK,
        &kind("Ranks", "rank_table.ranks.*", "Ranks", ""),
    );
    rows.rows(
        columns::WHAT_IF,
        &kind(
            "Predictions",
            "ranks.*.whatif.*",
            "stallscope whatif",
            "What-if",
        ),
    );
    page.text.push_str(HEAD);
    page.text
        .push_str("\n| Path | Unit | Meaning |\n|---|---|---|\n");
    let paths = PATHS.lines().filter(|line| !line.is_empty());
    for line in paths.clone().filter(|line| line.contains('|')) {
        let (path, meaning) = line.split_once(" | ").unwrap();
        writeln!(page.text, "| `{path}` | {meaning} |").unwrap();
    }
    page.text.push_str(
        "\n## Rows\n\nWhat has a row each. A key is that of JSON; in CSV the unit follows it (`wait_ns`), and objects are left out.\n",
    );
    page.text.push_str(&rows.text);
    page.paths = rows.paths;
    page.paths
        .extend(paths.map(|line| line.split(" | ").next().unwrap().to_owned()));
    page
}

#[test]
fn the_page_about_the_report_is_what_the_tables_say() {
    let path = common::repository("docs/report.md");
    let wanted = page().text;
    if std::env::var_os("STALLSCOPE_WRITE_DOCS").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    let found = fs::read_to_string(&path)
        .unwrap_or_default()
        .replace('\r', "");
    let lines = wanted.lines().zip(found.lines());
    let differs = lines.enumerate().find(|(_, (a, b))| a != b);
    assert!(
        wanted == found,
        "docs/report.md is not up to date ({differs:?}): STALLSCOPE_WRITE_DOCS=1 cargo test --test suite report_docs writes it"
    );
}

/// Calls `found` with the path of every value that holds no others.
fn leaves(value: &Value, path: &mut Vec<String>, found: &mut dyn FnMut(&[String])) {
    let inside: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), v)).collect(),
        Value::Array(list) if list.iter().any(Value::is_object) => {
            list.iter().map(|v| ("*".to_owned(), v)).collect()
        }
        // What is absent may have had parts.
        Value::Null => return,
        Value::Array(list) if list.is_empty() => return,
        _ => return found(path),
    };
    for (key, value) in inside {
        path.push(key);
        leaves(value, path, found);
        path.pop();
    }
}

fn fits(path: &[String], pattern: &str) -> bool {
    let mut rest = path.iter();
    for part in pattern.split('.') {
        match (part, rest.next()) {
            ("**", _) => return true,
            ("*", Some(_)) => {}
            (part, Some(key)) if part == key => {}
            _ => return false,
        }
    }
    rest.next().is_none()
}

#[test]
fn all_that_reports_of_the_samples_hold_is_on_the_page() {
    let paths = page().paths;
    let mut missing = std::collections::BTreeSet::new();
    for sample in [
        "torch_4_workers.json.gz",
        "torch_0_workers.json.gz",
        "torch_real_rank1.json.gz",
        "nsight_2_workers.sqlite",
        "dftracer_2_workers",
    ] {
        let file = common::repository("sample_traces").join(sample);
        let loaded = open(&[file], &OpenOptions::default(), &Progress::new()).unwrap();
        let trace = Arc::new(loaded.trace);
        let (rules, options) = (Rules::builtin(), Options::default());
        let analysis = Analysis::with_args(trace, &rules, &options, &NoArgs, &|_| true).unwrap();
        let options = ReportOptions {
            grid: Some(1_000_000_000),
            ..ReportOptions::default()
        };
        leaves(&report(&analysis, &options), &mut Vec::new(), &mut |path| {
            if !paths.iter().any(|p| fits(path, p)) {
                missing.insert(path.join("."));
            }
        });
    }
    assert!(missing.is_empty(), "not on the page: {missing:#?}");
}
