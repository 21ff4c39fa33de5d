//! `docs/tables.md` is made here from what the program says of its tables.

use std::fmt::Write as _;
use std::fs;

use stallscope::tables::{SCHEMA, TableInfo};

use crate::common::repository;

const HEAD: &str = "# Tables

Rows for other programs: DuckDB, Spark, Polars, pandas, a spreadsheet. This page is made by `tests/suite/tables/docs.rs` from the program's
own description of the tables, which `stallscope schema tables` prints as JSON.

```sh
stallscope export trace.json.gz --steps -o steps.parquet            # also --waits, --kernels, --collectives, --spans
stallscope export trace.json.gz --spans --layers gpu,fetch --range 1s..2s -o spans.csv
duckdb -c \"SELECT step, cycle / 1e6 AS ms, wait_exposed / 1e6 AS exposed FROM 'steps.parquet' WHERE judged ORDER BY 2 DESC LIMIT 5\"
```

`-o -` writes CSV to stdout. `--range` takes whole rows that touch it; kernels are those of the judged steps inside it. `--rank N`,
`--rules FILE` and `--loop LANE` are as for `report`; `--run NAME` names the run in the first column, which is the name of the file
otherwise. The exit code is 4, and nothing is written, where nothing of the kind was recorded. Ready questions in SQL, and how to ask
them, are in [sql](sql/runs.md).

`stallscope ranks run/ --out tables` writes all tables of a whole job, opened rank by rank, which a job of any size is: see
[Folders](#folders).

## Form

- **Types**: STRING (UTF-8), I32, I64, BOOL: engines read others differently. A `?` marks what may be null: not told, which is never zero.
  Times are whole nanoseconds; integers above 2^53 survive.
- **Parquet**: row groups of 65,536 rows or more, a rank is never split; Snappy, dictionaries for texts, minimum and maximum of each column,
  data pages of version 1. The metadata of the file say `stallscope.schema`, `stallscope.table`, `stallscope.version`, `stallscope.run`.
- **CSV**: RFC 4180 with a line of names and LF; null is an empty cell, an empty text `\"\"`, truth is `true` or `false`. Text that begins like
  a formula (`=`, `+`, `-`, `@`, tab, CR) gets a `'` in front, as spreadsheets would run it; `--raw` leaves it as it is.
- **Order**: ranks ascending; of a rank by `step`, `start` or `name`. Equal input gives equal bytes.
- `start` counts from the start of the rank's trace: `ranks.t0_unix` + `start` is Unix time, where that is known.

## Folders

```sh
stallscope ranks run1/ --run before --out tables
stallscope ranks run2/ --run after --out tables --spans gpu,fetch --hash     # beside it; --replace: instead of a run of that name
```

`tables/steps/before.00000.parquet`, `tables/ranks/before.00000.parquet` and so on: a folder for each table, a file for each run, one more behind
every 256 MB. A table without rows has its file too, so that queries find it. `run` is a column, so files may be moved and put together. Spans
are written only with `--spans LAYERS` (or `all`), digests only with `--hash`. The files are called like the run; where that is no plain name, a
mark tells them from others.

`tables/_stallscope.json` names the runs that are there: `schema`, `version`, and of each run `ranks`, `files`, `rows` by table and `complete`,
which is false where a file or a part of one could not be read. It comes last: files are made in `tables/.stallscope-tmp` and moved when all are
whole. Whatever ends the program in between, no run is named that is not there whole; the next call takes away what was begun. A folder
that holds anything else is left alone (exit code 2), and so is a run of the same name without `--replace`, which also takes away what was
told apart then as `before#2`. Neither the order of the paths nor `--jobs` changes a byte.

Rows wait on disk until all ranks are judged, so memory is that of `ranks` ([ranks.md](ranks.md)).

**Promise** within schema 1: a column keeps its name, type, unit and meaning; new columns may be null and stand at the end; tables and
values of texts may be added. Anything else is another schema.

## Columns
";

fn page() -> String {
    let mut out = HEAD.to_owned();
    for table in TableInfo::all() {
        write!(
            out,
            "\n### {}\n\n{}.\n\n| Column | Type | Unit | Meaning |\n|---|---|---|---|\n",
            table.name, table.about
        )
        .unwrap();
        for c in &table.columns {
            let null = if c.nullable { "?" } else { "" };
            writeln!(
                out,
                "| `{}` | {}{null} | {} | {} |",
                c.name,
                c.kind.key(),
                c.unit.key(),
                c.meaning
            )
            .unwrap();
        }
    }
    out
}

#[test]
fn the_page_about_tables_is_what_the_program_says() {
    let path = repository("docs/tables.md");
    let wanted = page();
    if std::env::var_os("STALLSCOPE_WRITE_DOCS").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    let found = fs::read_to_string(&path)
        .unwrap_or_default()
        .replace('\r', "");
    assert!(wanted.contains(&format!("within schema {SCHEMA}:")));
    assert!(
        wanted == found,
        "docs/tables.md is not up to date: STALLSCOPE_WRITE_DOCS=1 cargo test --test suite tables::docs writes it"
    );
}
