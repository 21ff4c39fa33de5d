//! The first line of a table: which column is what, and in which unit.

use super::cells::reader;
use super::records::{Record, record};
use super::time::Unit;

/// What separates cells, by how often it does.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// Headings by what their column holds; the first one that is there counts. The last ones of `DUR` and `NAME` are those
/// of tables that the program writes itself.
const START: &[&str] = &["start", "begin"];
const END: &[&str] = &["end"];
const DUR: &[&str] = &["dur", "duration", "length", "time", "wait"];
const NAME: &[&str] = &["name", "call", "step"];
const LANE: &[&str] = &["lane"];
const PROCESS: &[&str] = &["process"];
const LAYER: &[&str] = &["layer"];
const VALUE: &[&str] = &["value"];
/// Of tables that lack a start these say that they were meant as one of spans or samples.
const ALSO: &[&str] = &["timestamp", "ts"];

/// Bytes of a heading beyond which a text is no table.
const LONGEST: usize = 200;

/// A column of times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TimeColumn {
    pub at: usize,
    /// As it is written.
    pub title: String,
    pub unit: Option<Unit>,
}

/// What the columns of a table hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub delimiter: u8,
    /// Number of columns.
    pub width: usize,
    /// Cells that a row must have, empty ones included: up to the last one of time, value and name.
    pub least: usize,
    pub start: TimeColumn,
    pub end: Option<TimeColumn>,
    pub dur: Option<TimeColumn>,
    pub name: Option<usize>,
    pub lane: Option<usize>,
    pub process: Option<usize>,
    pub layer: Option<usize>,
    pub value: Option<usize>,
    /// The unit of values: `W`.
    pub value_unit: Option<String>,
    /// All other columns, by the names of the args that they hold.
    pub args: Vec<(usize, String)>,
    /// Bytes up to the end of the header's line, and line breaks in them.
    pub bytes: usize,
    pub lines: u64,
}

/// Why a text is no table of spans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoTable {
    /// It has columns of one, but not those that it needs: what is missing.
    Lacks(&'static str),
    /// It looks like something else.
    Other,
}

impl Header {
    /// The header at the beginning of a text, which is all of it if `whole`.
    ///
    /// # Errors
    /// When there is none.
    pub fn of(text: &[u8], whole: bool) -> Result<Self, NoTable> {
        let mut at = if text.starts_with(b"\xef\xbb\xbf") {
            3
        } else {
            0
        };
        // Blank lines and comments may precede it.
        while let Some(line) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let len = memchr::memchr2(b'\n', b'\r', line).unwrap_or(line.len());
            if line[0] != b'#' && !line[..len].trim_ascii().is_empty() {
                break;
            }
            at += (len + 1).min(line.len());
        }
        let mut found = Err(NoTable::Other);
        for delimiter in DELIMITERS {
            let rest = &text[at..];
            let len = match record(rest, delimiter, whole) {
                Record::Ends(len) => len,
                Record::Cut if whole => rest.len(),
                Record::Cut | Record::Open => continue,
            };
            let cells = cells(&rest[..len], delimiter);
            match Columns::of(&cells).header(delimiter) {
                Ok(header) => {
                    let bytes = at + len;
                    let lines = memchr::memchr_iter(b'\n', &text[..bytes]).count() as u64;
                    return Ok(Self {
                        bytes,
                        lines,
                        ..header
                    });
                }
                Err(why) if found == Err(NoTable::Other) => found = Err(why),
                Err(_) => {}
            }
        }
        found
    }

    /// What separates the cells, in words.
    pub fn delimiter_name(&self) -> &'static str {
        match self.delimiter {
            b',' => "comma",
            b';' => "semicolon",
            _ => "tab",
        }
    }
}

/// The cells of one record, without blanks around them.
fn cells(bytes: &[u8], delimiter: u8) -> Vec<String> {
    let mut reader = reader(bytes, delimiter);
    let mut record = csv::ByteRecord::new();
    // Reading from memory does not fail.
    let _there = reader.read_byte_record(&mut record);
    let text = |cell: &[u8]| String::from_utf8_lossy(cell).trim().to_owned();
    record.iter().map(text).collect()
}

/// A heading in parts.
struct Column {
    title: String,
    /// In small letters, without its unit.
    base: String,
    /// As it is written: `ms`, `W`.
    unit: Option<String>,
    taken: bool,
}

impl Column {
    fn of(title: &str) -> Self {
        let bracketed = title.strip_suffix(')').map(|t| (t, '('));
        let bracketed = bracketed.or_else(|| title.strip_suffix(']').map(|t| (t, '[')));
        let (base, unit) = match bracketed.and_then(|(t, open)| t.rsplit_once(open)) {
            Some((base, unit)) => (base, Some(unit.trim())),
            None => match title.rsplit_once('_') {
                Some((base, unit)) if Unit::named(&unit.to_lowercase()).is_some() => {
                    (base, Some(unit))
                }
                _ => (title, None),
            },
        };
        Self {
            title: title.to_owned(),
            base: base.trim().to_lowercase(),
            unit: unit.map(str::to_owned),
            taken: false,
        }
    }

    fn time_unit(&self) -> Option<Unit> {
        Unit::named(&self.unit.as_deref()?.to_lowercase())
    }
}

struct Columns(Vec<Column>);

impl Columns {
    fn of(titles: &[String]) -> Self {
        Self(titles.iter().map(|title| Column::of(title)).collect())
    }

    /// Takes the first column of a kind.
    fn take(&mut self, names: &[&str], fits: impl Fn(&Column) -> bool) -> Option<usize> {
        let is = |c: &Column, name: &str| !c.taken && c.base == name && fits(c);
        let found = names
            .iter()
            .find_map(|name| self.0.iter().position(|c| is(c, name)));
        if let Some(at) = found {
            self.0[at].taken = true;
        }
        found
    }

    fn text(&mut self, names: &[&str]) -> Option<usize> {
        self.take(names, |c| c.unit.is_none())
    }

    fn time(&mut self, names: &[&str]) -> Option<TimeColumn> {
        let at = self.take(names, |c| c.unit.is_none() || c.time_unit().is_some())?;
        Some(TimeColumn {
            at,
            title: self.0[at].title.clone(),
            unit: self.0[at].time_unit(),
        })
    }

    fn header(mut self, delimiter: u8) -> Result<Header, NoTable> {
        let width = self.0.len();
        if width < 2 || self.0.iter().any(|c| c.title.len() > LONGEST) {
            return Err(NoTable::Other);
        }
        let start = self.time(START);
        let end = self.time(END);
        // What the program's own tables call a length may be any arg of one that has ends.
        let dur = self.time(if end.is_some() { &DUR[..2] } else { DUR });
        let value = self.take(VALUE, |_| true);
        let name = self.text(NAME);
        let (lane, process, layer) = (self.text(LANE), self.text(PROCESS), self.text(LAYER));
        let has_more = end.is_some() || dur.is_some() || value.is_some() || name.is_some();
        let start = match start {
            Some(start) if has_more => start,
            Some(_) => return Err(NoTable::Lacks("`end`, `dur`, `value` or `name`")),
            None => {
                let others = [lane, process, layer];
                let known = has_more
                    || others.iter().any(Option::is_some)
                    || self.take(ALSO, |_| true).is_some();
                return Err(if known {
                    NoTable::Lacks("`start`")
                } else {
                    NoTable::Other
                });
            }
        };
        let times = [Some(&start), end.as_ref(), dur.as_ref()].map(|c| c.map(|c| c.at));
        let least = times.into_iter().chain([name, value]).flatten().max();
        let value_unit = value.and_then(|at| self.0[at].unit.clone());
        let args = self.0.into_iter().enumerate();
        let args = args.filter(|(_, c)| !c.taken && !c.title.is_empty());
        let args = args.map(|(at, c)| (at, arg_name(&c.title)));
        Ok(Header {
            delimiter,
            width,
            least: least.map_or(0, |at| at + 1),
            start,
            end,
            dur,
            name,
            lane,
            process,
            layer,
            value,
            value_unit,
            args: args.collect(),
            bytes: 0,
            lines: 0,
        })
    }
}

/// `args.foo` is `foo`.
fn arg_name(title: &str) -> String {
    let inner = title.strip_prefix("args.").filter(|rest| !rest.is_empty());
    inner.unwrap_or(title).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Header {
        Header::of(text.as_bytes(), true).expect("a table")
    }

    #[test]
    fn columns_come_in_any_order_with_their_units() {
        let h = header(
            "# mine\n\nargs.file,Name,dur (ms),START_us,Size,lane,layer,process,value [W]\n1,2",
        );
        assert_eq!((h.delimiter, h.width), (b',', 9));
        assert_eq!((h.start.at, h.start.unit), (3, Some(Unit::Us)));
        assert_eq!(h.start.title, "START_us");
        let dur = h.dur.expect("a length");
        assert_eq!((dur.at, dur.unit), (2, Some(Unit::Ms)));
        assert_eq!(
            (h.name, h.lane, h.layer, h.process),
            (Some(1), Some(5), Some(6), Some(7))
        );
        assert_eq!((h.value, h.value_unit.as_deref()), (Some(8), Some("W")));
        assert_eq!(h.args, [(0, "file".to_owned()), (4, "Size".to_owned())]);
        assert_eq!((h.bytes, h.lines), (75, 3));
    }

    #[test]
    fn units_stand_behind_headings_in_three_ways() {
        for (title, unit) in [
            ("start_ns", Some(Unit::Ns)),
            ("start_us", Some(Unit::Us)),
            ("start (µs)", Some(Unit::Us)),
            ("Start [ms]", Some(Unit::Ms)),
            ("begin(s)", Some(Unit::S)),
            ("\" start_s \"", Some(Unit::S)),
            ("start", None),
        ] {
            let h = header(&format!("{title},name\n"));
            assert_eq!(h.start.unit, unit, "{title}");
        }
        let lacks = Header::of(b"start (W),name\n", true);
        assert_eq!(lacks, Err(NoTable::Lacks("`start`")));
    }

    #[test]
    fn separators_are_recognised() {
        assert_eq!(header("start;dur;\"a,b\"\n").delimiter, b';');
        assert_eq!(header("start\tdur, or not\tname\n").delimiter, b'\t');
        assert_eq!(header("\u{feff}start,end\r\n").bytes, 14);
        assert_eq!(header("start,end").bytes, 9);
    }

    #[test]
    fn the_programs_own_tables_open() {
        let h = header("rank,step,first,start_ns,time_ns,wait_ns\n");
        assert_eq!(
            (h.name, h.dur.map(|d| d.title)),
            (Some(1), Some("time_ns".to_owned()))
        );
        let h = header("Step\tRank\tStart (ms)\tWait (ms)\tHidden (ms)\n");
        assert_eq!((h.name, h.dur.map(|d| d.at)), (Some(0), Some(3)));
        let h = header("Call\tRank\tStart (ms)\tIn phase\tLength (ms)\n");
        assert_eq!((h.name, h.dur.map(|d| d.at)), (Some(0), Some(4)));
        let h = header("start_ns,end_ns,name,wait_ns\n");
        assert_eq!((h.dur, h.args), (None, vec![(3, "wait_ns".to_owned())]));
    }

    #[test]
    fn what_is_no_table_of_spans_is_told_apart() {
        let of = |text: &str| Header::of(text.as_bytes(), true);
        let no_start = Err(NoTable::Lacks("`start`"));
        assert_eq!(of("time,value\n1,2\n"), no_start);
        assert_eq!(of("name;end\n"), no_start);
        assert_eq!(of("timestamp,power\n"), no_start);
        let no_more = Err(NoTable::Lacks("`end`, `dur`, `value` or `name`"));
        assert_eq!(of("start_ns,size\n"), no_more);
        for text in [
            "",
            "\n",
            "# only\n",
            "start",
            "Dear name, hello\n",
            "a,b\n",
            "\"start,name\n",
        ] {
            assert_eq!(of(text), Err(NoTable::Other), "{text}");
        }
        // The line goes on behind what was read.
        assert_eq!(Header::of(b"start,name", false), Err(NoTable::Other));
    }
}
