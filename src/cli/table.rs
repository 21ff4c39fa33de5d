//! Text tables and number formats for terminals and pipes. Knows no trace.

use std::fmt::Write as _;

use crate::analysis::counted;
use crate::time::Unit;
pub use crate::time::format_bytes as bytes;

/// Characters of a line of a table, if its columns of text can be made that narrow.
const WIDEST: usize = 140;
/// Characters that a column of text keeps.
const NARROWEST: usize = 16;

/// A table with aligned columns: the first column left, the others right unless told otherwise.
pub struct Table {
    head: Vec<String>,
    left: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column heads. A head that begins with `<` makes its column left-aligned.
    pub fn new(heads: &[impl AsRef<str>]) -> Self {
        let left = heads
            .iter()
            .enumerate()
            .map(|(i, h)| i == 0 || h.as_ref().starts_with('<'))
            .collect();
        let head = heads
            .iter()
            .map(|h| h.as_ref().trim_start_matches('<').to_owned())
            .collect();
        Self {
            head,
            left,
            rows: Vec::new(),
        }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Takes from the widest columns of text what makes lines too long; numbers stay whole.
    fn narrow(&self, widths: &mut [usize]) {
        let total = |w: &[usize]| 1 + w.iter().map(|w| w + 2).sum::<usize>();
        while total(widths) > WIDEST {
            let texts = (0..widths.len()).filter(|&i| self.left[i]);
            let Some(i) = texts.max_by_key(|&i| widths[i]) else {
                return;
            };
            if widths[i] <= NARROWEST.max(self.head[i].chars().count()) {
                return;
            }
            widths[i] -= 1;
        }
    }

    /// The table, each line indented by two blanks. Columns of text are shortened where it would be wider than a
    /// terminal.
    pub fn render(&self) -> String {
        let columns = self.head.len();
        let cell = |row: &[String], i: usize| row.get(i).map_or("", String::as_str).to_owned();
        let width = |i: usize| {
            let rows = self.rows.iter().map(|r| cell(r, i).chars().count());
            rows.chain([self.head[i].chars().count()])
                .max()
                .unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..columns).map(width).collect();
        self.narrow(&mut widths);
        let mut out = String::new();
        for row in std::iter::once(&self.head).chain(&self.rows) {
            let mut line = String::from(" ");
            for (i, w) in widths.iter().enumerate() {
                let text = shorten(&cell(row, i), *w);
                let pad = " ".repeat(w.saturating_sub(text.chars().count()));
                if self.left[i] {
                    let _ = write!(line, " {text}{pad} ");
                } else {
                    let _ = write!(line, " {pad}{text} ");
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

/// Milliseconds with three decimals and no unit: a column has one unit.
pub fn ms(ns: i64) -> String {
    Unit::Ms.format(ns, 3)
}

/// Microseconds with one decimal and no unit.
pub fn us(ns: i64) -> String {
    Unit::Us.format(ns, 1)
}

/// `part` of `whole` in percent with one decimal, computed in integers; `-` where there is no whole.
pub fn percent(part: i64, whole: i64) -> String {
    if whole <= 0 {
        return "-".to_owned();
    }
    let whole = i128::from(whole);
    let permille = (i128::from(part) * 2_000 + whole).div_euclid(2 * whole);
    format!("{}.{} %", permille / 10, permille % 10)
}

/// `1 step was`, `12 steps were`.
pub fn were(n: u64, what: &str) -> String {
    let verb = if n == 1 { "was" } else { "were" };
    format!("{} {verb}", counted(n, what))
}

/// Shortens the middle of a text to `max` characters.
pub fn shorten(text: &str, max: usize) -> String {
    let n = text.chars().count();
    if n <= max {
        return text.to_owned();
    }
    let head = (max - 1) * 2 / 3;
    let tail = max - 1 - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(n - tail).collect();
    format!("{start}…{end}")
}

/// Characters of a line of prose.
const LINE: usize = 118;

/// A sentence as indented lines that fit a terminal; what follows the first is indented further.
pub fn sentence(text: &str) -> String {
    let mut out = String::new();
    let mut line = String::from(" ");
    for word in text.split_whitespace() {
        let long = line.chars().count() + 1 + word.chars().count() > LINE;
        if long && !line.trim().is_empty() {
            out.push_str(&line);
            out.push('\n');
            line = String::from("   ");
        }
        line.push(' ');
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
    out
}

/// Text that is safe on a terminal: control characters are shown as escapes.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Unix time in nanoseconds as UTC: `2026-11-29 20:01:33.250000001 UTC`.
pub fn utc(unix_ns: i64) -> String {
    let second = unix_ns.div_euclid(1_000_000_000);
    let ns = unix_ns.rem_euclid(1_000_000_000);
    let (day, in_day) = (second.div_euclid(86_400), second.rem_euclid(86_400));
    // Days since 0000-03-01, by eras of 400 years.
    let z = day + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let dom = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    let (h, m, s) = (in_day / 3_600, in_day / 60 % 60, in_day % 60);
    format!("{year:04}-{month:02}-{dom:02} {h:02}:{m:02}:{s:02}.{ns:09} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut t = Table::new(&["name", "<kind", "ms"]);
        t.row(vec!["a".to_owned(), "x".to_owned(), "1,000.000".to_owned()]);
        t.row(vec![
            "längér".to_owned(),
            "yy".to_owned(),
            "2.000".to_owned(),
        ]);
        assert_eq!(
            t.render(),
            "  name    kind         ms\n  a       x     1,000.000\n  längér  yy        2.000\n"
        );
    }

    #[test]
    fn numbers_print_exactly() {
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!(percent(1, 2_000), "0.1 %");
        assert_eq!(percent(5, 0), "-");
        assert_eq!(percent(i64::MAX, i64::MAX), "100.0 %");
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(2_708_985), "2.7 MB");
        assert_eq!(bytes(1_073_700_000), "1.1 GB");
        assert_eq!(utc(0), "1970-01-01 00:00:00.000000000 UTC");
        assert_eq!(
            utc(1_709_210_096_000_000_007),
            "2024-02-29 12:34:56.000000007 UTC"
        );
        assert_eq!(utc(-1), "1969-12-31 23:59:59.999999999 UTC");
    }

    #[test]
    fn wide_tables_shorten_texts_and_never_numbers() {
        let mut t = Table::new(&["name", "<note", "ms"]);
        let (name, note) = ("n".repeat(40), "o".repeat(200));
        t.row(vec![name.clone(), note, "123,456,789.000".to_owned()]);
        let text = t.render();
        assert!(text.lines().all(|l| l.chars().count() <= WIDEST), "{text}");
        assert!(text.contains(&name) && text.contains("123,456,789.000") && text.contains('…'));
        let heads = ["12345"; 40];
        let mut t = Table::new(&heads);
        t.row(heads.map(str::to_owned).to_vec());
        assert!(!t.render().contains('…'));
    }

    #[test]
    fn sentences_wrap_between_words() {
        assert_eq!(sentence("a b"), "  a b\n");
        let text = sentence(&"word ".repeat(60));
        assert!(text.lines().count() == 3 && text.lines().all(|l| l.chars().count() <= LINE));
        assert_eq!(text.split_whitespace().count(), 60);
        let long = "x".repeat(300);
        assert_eq!(sentence(&long), format!("  {long}\n"));
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!(counted(1, "span"), "1 span");
        assert_eq!(counted(0, "span"), "0 spans");
        assert_eq!(counted(1_203, "process"), "1,203 processes");
        assert_eq!(were(1, "pair"), "1 pair was");
        assert_eq!(were(2, "pair"), "2 pairs were");
    }

    #[test]
    fn long_and_odd_texts_fit() {
        assert_eq!(shorten("abcdefghij", 7), "abcd…ij");
        assert_eq!(shorten("short", 7), "short");
        assert_eq!(printable("a\nb\u{1b}[31m"), "a\\nb\\u{1b}[31m");
    }
}
