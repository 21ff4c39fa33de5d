//! `docs/report.md` is made here from what the program says of its JSON and of its tables.

use std::fmt::Write as _;
use std::fs;

use stallscope::columns::Unit;
use stallscope::schema::{Document, RowKind, row_kinds};

use crate::common;

const HEAD: &str = "# The report

What `stallscope report` says, field by field. This page is made by `tests/suite/report_docs.rs` from the tables that the report itself is
made from; `STALLSCOPE_WRITE_DOCS=1 cargo test --test suite report_docs` writes it anew.

- **Times** are nanoseconds as whole numbers in JSON and CSV, of the trace's clock where they say when. The text report has one unit
  per table, named in its heading; the window names the unit in each cell.
- **Shares** are parts of one, rounded to six decimals in JSON; percent elsewhere.
- **Unknown is not zero**: what was not recorded is `null` in JSON, an empty cell in CSV, `-` or `unknown` in the text report, `–` in
  the window.
- **Promise**, from `schema` 2 on: within a schema no field goes, changes its type, unit or meaning, or becomes `null` where it never was.
  Fields and values of texts may be added. `stallscope schema` prints the same as JSON Schema, `stallscope schema compare` (`names`,
  `ranks`, `whatif`, `why`, `info`) that of other commands, `stallscope schema tables` the columns of [tables](tables.md). Texts that are
  one of a few are enumerations there, beside any other text, which may come.
- `--by name` prints the table *Names* alone: as text by layer, as JSON under `names` (with `window`, `rank` and `left_out`, the number of
  rows that `--top` cut off), as CSV.

## JSON

In a path, `*` stands for every key of an object whose keys are numbers or names, `[]` for every entry of a list. A key with `?` may be
missing; a type with `?` may be `null`.
";

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

fn rows(out: &mut String, kind: &RowKind) {
    let json = kind.json.map_or("", |(_, path)| path).replace('?', "");
    let places = [
        ("JSON", json.as_str()),
        ("text report", kind.text),
        ("tab", kind.tab),
        ("", if kind.csv { "`--csv`" } else { "" }),
    ];
    let places = places.iter().filter(|p| !p.1.is_empty());
    let places: Vec<String> = places
        .map(|(what, place)| match *what {
            "JSON" => format!("JSON `{place}`"),
            "" => (*place).to_owned(),
            what => format!("{what} *{place}*"),
        })
        .collect();
    write!(out, "\n### {}\n\n{}.\n\n", kind.title, places.join(", ")).unwrap();
    out.push_str("| Key | Text report | Window | Unit | Meaning |\n|---|---|---|---|---|\n");
    for c in &kind.columns {
        let key = match (c.json && !json.is_empty(), c.csv && kind.csv) {
            (true, _) => format!("`{}`", c.path().replace('?', "")),
            (false, true) => format!("`{}` (CSV)", c.key),
            (false, false) => String::new(),
        };
        let title = if kind.tab.is_empty() { "" } else { c.title };
        if key.is_empty() && c.text.is_empty() && title.is_empty() {
            continue;
        }
        let unit = unit(c.unit);
        writeln!(
            out,
            "| {key} | {} | {title} | {unit} | {} |",
            c.text, c.help
        )
        .unwrap();
    }
}

fn page() -> String {
    let mut out = HEAD.to_owned();
    out.push_str("\n| Path | Type | Meaning |\n|---|---|---|\n");
    for field in Document::Report.fields() {
        let kind = match field.kind.strip_prefix("= ") {
            Some(path) => {
                format!("as `{}`", path.trim_end_matches('?'))
                    + if path.ends_with('?') { "?" } else { "" }
            }
            None => field.kind.clone(),
        };
        writeln!(out, "| `{}` | {kind} | {} |", field.path, field.meaning).unwrap();
    }
    out.push_str(
        "\n## Rows\n\nWhat has a row each. A key is that of JSON; in CSV the unit follows it (`wait_ns`), and objects are left out.\n",
    );
    for kind in row_kinds() {
        rows(&mut out, &kind);
    }
    out
}

#[test]
fn the_page_about_the_report_is_what_the_tables_say() {
    let path = common::repository("docs/report.md");
    let wanted = page();
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
