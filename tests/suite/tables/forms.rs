//! Parquet files hold what the CSV files hold, and say what they are.

use std::fs::File;

use parquet::basic::{Compression, Encoding};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::run;
use crate::common::{repository, scratch};

/// The cells of CSV, text in quotes without them; an empty cell that is no empty text is null.
fn cells(text: &str) -> Vec<Vec<Option<String>>> {
    let (mut rows, mut row) = (Vec::new(), Vec::new());
    let mut chars = text.chars().peekable();
    let (mut cell, mut quoted, mut inside) = (String::new(), false, false);
    while let Some(c) = chars.next() {
        match c {
            '"' if inside && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => (inside, quoted) = (!inside, true),
            ',' | '\n' if !inside => {
                let null = cell.is_empty() && !quoted;
                row.push((!null).then(|| std::mem::take(&mut cell)));
                quoted = false;
                if c == '\n' {
                    rows.push(std::mem::take(&mut row));
                }
            }
            c => cell.push(c),
        }
    }
    rows
}

#[test]
fn parquet_holds_the_cells_of_csv() {
    let dir = scratch("tables_forms");
    let (csv, parquet) = (dir.join("t.csv"), dir.join("t.parquet"));
    let mut compared = 0;
    for name in ["torch_real_rank1.json.gz", "dftracer_2_workers"] {
        let path = repository("sample_traces").join(name);
        let path = path.to_str().unwrap();
        for table in ["steps", "waits", "kernels", "spans"] {
            let flag = format!("--{table}");
            let export = |file: &std::path::Path, more: &[&str]| {
                let file = file.to_str().unwrap();
                run(&[
                    &["export", path, &flag, "--run", "né,\"w", "-o", file],
                    more,
                ]
                .concat())
            };
            let (code, _, err) = export(&csv, &["--raw"]);
            if code == 4 {
                continue;
            }
            assert_eq!(code, 0, "{err}");
            let (code, _, err) = export(&parquet, &[]);
            assert_eq!(code, 0, "{err}");
            let text = std::fs::read_to_string(&csv).unwrap();
            let mut lines = cells(&text).into_iter();
            let names: Vec<String> = lines.next().unwrap().into_iter().flatten().collect();
            let file = SerializedFileReader::new(File::open(&parquet).unwrap()).unwrap();
            let meta = file.metadata().file_metadata();
            let told = |key: &str| {
                let all = meta.key_value_metadata().unwrap().iter();
                let mut own = all.filter(|kv| kv.key == format!("stallscope.{key}"));
                own.next().unwrap().value.clone().unwrap()
            };
            assert_eq!(told("table"), table);
            assert_eq!(told("schema"), "1");
            assert_eq!(told("version"), env!("CARGO_PKG_VERSION"));
            assert_eq!(told("run"), "né,\"w");
            for row in file.get_row_iter(None).unwrap() {
                let (row, line) = (row.unwrap(), lines.next().unwrap());
                for (((name, field), heading), cell) in row.get_column_iter().zip(&names).zip(line)
                {
                    let value = match field {
                        Field::Null => None,
                        Field::Str(text) => Some(text.clone()),
                        Field::Int(n) => Some(n.to_string()),
                        Field::Long(n) => Some(n.to_string()),
                        Field::Bool(is) => Some(is.to_string()),
                        other => panic!("{name}: {other:?}"),
                    };
                    assert_eq!((name, &value), (heading, &cell));
                    compared += 1;
                }
            }
            assert_eq!(lines.next(), None);
            let group = file.metadata().row_group(0);
            for column in group.columns() {
                assert_eq!(column.compression(), Compression::SNAPPY);
                assert!(column.statistics().is_some(), "{}", column.column_path());
                let text = column.column_type() == parquet::basic::Type::BYTE_ARRAY;
                let dictionary = column
                    .encodings()
                    .any(|e| e == Encoding::RLE_DICTIONARY || e == Encoding::PLAIN_DICTIONARY);
                assert_eq!(dictionary, text, "{}", column.column_path());
            }
        }
    }
    assert!(compared > 50_000, "{compared}");
}
