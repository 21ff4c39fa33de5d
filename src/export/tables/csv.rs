//! Rows as CSV (RFC 4180): a line of names, then a line per row; null is an empty cell.

use std::io::{self, Write};
use std::marker::PhantomData;

use crate::tables::{Row, Value};

/// Writes rows of one table.
pub struct CsvWriter<R, W> {
    out: W,
    raw: bool,
    line: String,
    rows: PhantomData<R>,
}

impl<R: Row, W: Write> CsvWriter<R, W> {
    /// Begins with the line of names. Spreadsheets take text that begins like a formula for one and run it: it gets a `'`
    /// in front, unless it shall stay `raw`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(mut out: W, raw: bool) -> io::Result<Self> {
        let names: Vec<&str> = R::COLUMNS.iter().map(|c| c.name).collect();
        writeln!(out, "{}", names.join(","))?;
        Ok(Self {
            out,
            raw,
            line: String::new(),
            rows: PhantomData,
        })
    }

    /// Writes some rows.
    ///
    /// # Errors
    /// Those of the output.
    pub fn add(&mut self, rows: &[R]) -> io::Result<()> {
        for row in rows {
            self.line.clear();
            for (i, column) in R::COLUMNS.iter().enumerate() {
                if i > 0 {
                    self.line.push(',');
                }
                match column.value(row) {
                    Value::Null => {}
                    Value::Text(text) => push_text(&mut self.line, text, self.raw),
                    Value::I32(n) => self.line.push_str(&n.to_string()),
                    Value::I64(n) => self.line.push_str(&n.to_string()),
                    Value::Bool(is) => self.line.push_str(if is { "true" } else { "false" }),
                }
            }
            self.line.push('\n');
            self.out.write_all(self.line.as_bytes())?;
        }
        Ok(())
    }

    /// It is whole.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// A text cell. An empty text is in quotes: an empty cell is null.
fn push_text(line: &mut String, text: &str, raw: bool) {
    let formula = !raw && text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let quoted = text.is_empty() || text.contains([',', '"', '\n', '\r']);
    if quoted {
        line.push('"');
    }
    if formula {
        line.push('\'');
    }
    if quoted {
        line.push_str(&text.replace('"', "\"\""));
        line.push('"');
    } else {
        line.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::NoticesRow;

    #[test]
    fn cells_are_quoted_and_no_formula_runs() {
        let row = |text: &str| NoticesRow {
            run: "r".into(),
            rank: None,
            file: None,
            level: "info",
            code: "c".into(),
            count: -1,
            text: text.into(),
        };
        let cell = |text: &str, raw: bool| {
            let mut csv = CsvWriter::new(Vec::new(), raw).expect("memory");
            csv.add(&[row(text)]).expect("memory");
            let all = String::from_utf8(csv.finish().expect("memory")).expect("text");
            let (names, line) = all.split_once('\n').expect("two lines");
            assert_eq!(names, "run,rank,file,level,code,count,text");
            let cell = line
                .strip_prefix("r,,,info,c,-1,")
                .expect("nulls are empty");
            cell.strip_suffix('\n').expect("LF").to_owned()
        };
        for (text, safe, raw) in [
            ("plain", "plain", "plain"),
            ("", "\"\"", "\"\""),
            ("a,b", "\"a,b\"", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\"", "\"say \"\"x\"\"\""),
            ("two\nlines", "\"two\nlines\"", "\"two\nlines\""),
            ("=1+1", "'=1+1", "=1+1"),
            ("-x", "'-x", "-x"),
            ("+x", "'+x", "+x"),
            ("@sum(a,b)", "\"'@sum(a,b)\"", "\"@sum(a,b)\""),
            ("\t=1", "'\t=1", "\t=1"),
            ("\r=1", "\"'\r=1\"", "\"\r=1\""),
            ("a=1", "a=1", "a=1"),
        ] {
            assert_eq!(cell(text, false), safe, "{text:?}");
            assert_eq!(cell(text, true), raw, "{text:?} raw");
        }
    }
}
