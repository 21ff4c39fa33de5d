//! Records of a table to rows: times in nanoseconds, texts by number, wrong ones counted with their lines.

use csv::ByteRecord;
use rustc_hash::FxHashMap;

use super::cells::{cell, reader};
use super::header::Header;
use super::records::{Kind, Part, Record, line_end, record};
use super::tally::Odd;
use super::time::{Form, is_unix};
use crate::import::contract::report::Place;
use crate::import::contract::tally::Tally;
use crate::import::text::decimal::{NoTime, sample};
use crate::model::ArgsRef;

/// Records that decide how the times of a table are written.
const LOOKED_AT: usize = 64;

/// How the rows of a table are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub header: Header,
    pub start: Form,
    pub end: Form,
    pub dur: Form,
    /// Times count from 1970.
    pub unix: bool,
    /// Times of rows count from here, ns: the first one that is Unix time, else 0.
    pub zero: i64,
}

impl Layout {
    /// From a header and the rows that follow it.
    ///
    /// # Errors
    /// Heading and first cell of the starts, where neither says the unit.
    pub fn new(header: Header, rows: &[u8]) -> Result<Self, (String, String)> {
        let records = reader(rows, header.delimiter).into_byte_records();
        let starts = records.take(LOOKED_AT).flatten();
        let starts = starts.map(|r| cell(&r, header.start.at).to_vec());
        let cells: Vec<Vec<u8>> = starts.filter(|cell| !cell.is_empty()).collect();
        let start = match header.start.unit {
            Some(unit) => Form::Number(unit),
            None => match cells.iter().find_map(|cell| Form::of_cell(cell)) {
                Some(form) => form,
                // A table without rows is one all the same.
                None if cells.is_empty() => Form::Iso,
                None => {
                    let first = String::from_utf8_lossy(&cells[0]).into_owned();
                    return Err((header.start.title, first));
                }
            },
        };
        let times = cells.iter().filter_map(|cell| start.read(cell).ok());
        let (unix, others): (Vec<i64>, Vec<i64>) = times.map(|t| t.ns).partition(|&ns| is_unix(ns));
        let is_unix = !matches!(start, Form::Number(_)) || unix.len() > others.len();
        let end = header.end.as_ref().and_then(|c| c.unit);
        let dur = header.dur.as_ref().and_then(|c| c.unit);
        Ok(Self {
            end: end.map_or(start, Form::Number),
            dur: Form::Number(dur.unwrap_or(start.unit())),
            unix: is_unix,
            zero: unix.first().copied().filter(|_| is_unix).unwrap_or(0),
            start,
            header,
        })
    }

    /// How starts are written: `Unix time in seconds`.
    pub fn times(&self) -> String {
        match self.start {
            Form::Iso => "dates".to_owned(),
            Form::Number(unit) | Form::Unix(unit) if self.unix => {
                format!("Unix time in {}", unit.words())
            }
            Form::Number(unit) | Form::Unix(unit) => unit.words().to_owned(),
        }
    }
}

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What {
    /// A span of a length, ns.
    Span(i64),
    Instant,
    /// A sample of a counter.
    Sample(f64),
}

/// One row. Texts are numbers of [`Chunk::texts`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    pub start: i64,
    pub what: What,
    pub name: u32,
    pub lane: u32,
    pub process: u32,
    pub layer: u32,
    /// The record in the text, where it has args.
    pub args: ArgsRef,
}

/// Distinct texts; number 0 is the empty one.
pub(super) struct Texts {
    all: Vec<Box<[u8]>>,
    numbers: FxHashMap<Box<[u8]>, u32>,
}

impl Default for Texts {
    fn default() -> Self {
        let empty = <Box<[u8]>>::default();
        Self {
            numbers: FxHashMap::from_iter([(empty.clone(), 0)]),
            all: vec![empty],
        }
    }
}

impl Texts {
    fn number(&mut self, text: &[u8]) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        // A stretch has fewer bytes than there are numbers.
        let number = u32::try_from(self.all.len()).unwrap_or(0);
        self.all.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }

    /// All texts, by number.
    pub fn all(&self) -> &[Box<[u8]>] {
        &self.all
    }
}

/// What a stretch of records holds.
#[derive(Default)]
pub(super) struct Chunk {
    pub texts: Texts,
    pub rows: Vec<Row>,
    /// Records, the wrong ones included.
    pub records: u64,
    pub tally: Tally<Odd>,
}

impl Chunk {
    /// Reads a stretch.
    pub fn of(part: &Part, layout: &Layout) -> Self {
        let mut chunk = Self::default();
        match part.kind {
            Kind::Records => chunk.stretch(&part.bytes, part.offset, part.line, layout),
            Kind::Lines => chunk.lines(part, layout),
            Kind::Overlong => {
                chunk.records += 1;
                chunk
                    .tally
                    .add(Odd::Overlong, || Place::Line(part.line + 1));
            }
        }
        chunk
    }

    /// Lines that are a record each.
    fn lines(&mut self, part: &Part, layout: &Layout) {
        let delimiter = layout.header.delimiter;
        let (mut at, mut line) = (0, part.line);
        while at < part.bytes.len() {
            let rest = &part.bytes[at..];
            let len = line_end(rest, true).unwrap_or(rest.len());
            match record(&rest[..len], delimiter, true) {
                Record::Open => {
                    self.records += 1;
                    self.tally.add(Odd::OpenQuote, || Place::Line(line + 1));
                }
                _ => self.stretch(&rest[..len], part.offset + at as u64, line, layout),
            }
            line += u64::from(rest[..len].contains(&b'\n'));
            at += len;
        }
    }

    /// Whole records: `offset` bytes and `line` line breaks are before them.
    fn stretch(&mut self, bytes: &[u8], offset: u64, line: u64, layout: &Layout) {
        let mut reader = reader(bytes, layout.header.delimiter);
        let mut record = ByteRecord::new();
        loop {
            let (from, before) = (reader.position().byte(), reader.position().line() - 1);
            // Reading from memory does not fail.
            if !reader.read_byte_record(&mut record).unwrap_or(false) {
                return;
            }
            if record.len() == 1 && cell(&record, 0).is_empty() {
                continue;
            }
            let from = usize::try_from(from).unwrap_or(usize::MAX);
            let line = || {
                let blank = lines_before(bytes.get(from..).unwrap_or_default());
                Place::Line(line + before + blank + 1)
            };
            let to = usize::try_from(reader.position().byte()).unwrap_or(usize::MAX);
            let args = ArgsRef::text(offset + from as u64, to - from);
            self.records += 1;
            match self.row(&record, args, layout, &line) {
                Ok(row) => self.rows.push(row),
                Err(odd) => self.tally.add(odd, line),
            }
        }
    }

    fn row(
        &mut self,
        record: &ByteRecord,
        args: ArgsRef,
        layout: &Layout,
        line: &dyn Fn() -> Place,
    ) -> Result<Row, Odd> {
        let header = &layout.header;
        if (header.width..record.len()).any(|i| !cell(record, i).is_empty()) {
            return Err(Odd::TooMany);
        }
        if record.len() < header.least {
            return Err(Odd::TooFew);
        }
        let cell = |at: Option<usize>| at.map_or(&[][..], |at| cell(record, at));
        let mut time = |form: Form, cell: &[u8]| {
            let time = form.read(cell).map_err(|why| match why {
                NoTime::NoNumber => Odd::Time,
                NoTime::Far => Odd::Far,
            })?;
            if time.rounded {
                self.tally.add(Odd::Rounded, line);
            }
            if time.no_zone {
                self.tally.add(Odd::NoZone, line);
            }
            Ok(time.ns)
        };
        let moment = |ns: i64| match is_unix(ns) == layout.unix {
            true => Ok(ns),
            false => Err(Odd::OtherClock),
        };
        let start = cell(Some(header.start.at));
        if start.is_empty() {
            return Err(Odd::NoStart);
        }
        let start = moment(time(layout.start, start)?)?;
        let end = cell(header.end.as_ref().map(|c| c.at));
        let dur = cell(header.dur.as_ref().map(|c| c.at));
        let value = cell(header.value);
        let what = if !end.is_empty() {
            What::Span(moment(time(layout.end, end)?)? - start)
        } else if !dur.is_empty() {
            What::Span(time(layout.dur, dur)?)
        } else if !value.is_empty() {
            What::Sample(sample(value).ok_or(Odd::Value)?)
        } else if header.value.is_some() && header.end.is_none() && header.dur.is_none() {
            return Err(Odd::NoValue);
        } else {
            What::Instant
        };
        if matches!(what, What::Span(ns) if ns < 0) {
            return Err(Odd::EndBeforeStart);
        }
        let texts = [header.name, header.lane, header.process, header.layer].map(cell);
        if texts.iter().any(|text| std::str::from_utf8(text).is_err()) {
            self.tally.add(Odd::NotUtf8, line);
        }
        let has_args = header
            .args
            .iter()
            .any(|(at, _)| !cell(Some(*at)).is_empty());
        let has_args = has_args || !value.is_empty() && !matches!(what, What::Sample(_));
        let [name, lane, process, layer] = texts.map(|text| self.texts.number(text));
        Ok(Row {
            start: start - layout.zero,
            what,
            name,
            lane,
            process,
            layer,
            args: if has_args { args } else { ArgsRef::NONE },
        })
    }
}

/// Line breaks of comments and blank lines at the beginning of a text.
fn lines_before(text: &[u8]) -> u64 {
    let (mut at, mut lines) = (0, 0);
    while let Some(&first) = text.get(at) {
        if !matches!(first, b'#' | b'\n' | b'\r') {
            break;
        }
        let rest = &text[at..];
        let end = match first {
            b'#' => memchr::memchr(b'\n', rest),
            _ => Some(0),
        };
        let len = end.map_or(rest.len(), |end| end + 1);
        lines += u64::from(rest[..len].ends_with(b"\n"));
        at += len;
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chunk(text: &str) -> Chunk {
        let bytes = text.as_bytes();
        let header = Header::of(bytes, true).expect("a table");
        let (at, line) = (header.bytes, header.lines);
        let layout = Layout::new(header, &bytes[at..]).expect("times");
        let part = Part {
            kind: Kind::Records,
            offset: at as u64,
            line,
            bytes: bytes[at..].to_vec(),
        };
        Chunk::of(&part, &layout)
    }

    /// Every reason with its first lines, in the order of those.
    fn odd_lines(chunk: &Chunk) -> Vec<(Odd, u64)> {
        let line = |place: &Place| match place {
            Place::Line(line) => *line,
            other => panic!("{other} is no line"),
        };
        let counts = chunk.tally.counts().iter();
        let mut all: Vec<_> = counts
            .flat_map(|(odd, count)| count.places.iter().map(move |p| (*odd, line(p))))
            .collect();
        all.sort_by_key(|(_, line)| *line);
        all
    }

    fn spans(text: &str) -> Vec<(i64, What)> {
        let chunk = chunk(text);
        assert_eq!(chunk.records, chunk.rows.len() as u64, "{:?}", chunk.tally);
        chunk.rows.iter().map(|r| (r.start, r.what)).collect()
    }

    #[test]
    fn cells_make_spans_samples_and_instants() {
        let text =
            "start_us,end_us,dur_ms,value,name\n1,3,,,a\n1.5,,2,,b\n4,,,0.5,c\n5,,,,d\n6,6,9,7,e\n";
        let expected = [
            (1_000, What::Span(2_000)),
            (1_500, What::Span(2_000_000)),
            (4_000, What::Sample(0.5)),
            (5_000, What::Instant),
            (6_000, What::Span(0)),
        ];
        assert_eq!(spans(text), expected);
        assert_eq!(
            spans("start_s,name\n-1,a\n"),
            [(-1_000_000_000, What::Instant)]
        );
        // Lengths without a unit have that of the starts, or seconds beside dates.
        assert_eq!(
            spans("start_ms,dur,name\n1,2,a\n")[0].1,
            What::Span(2_000_000)
        );
        let dates = "start,dur,name\n2026-01-01 00:00:00Z,0.25,a\n";
        assert_eq!(spans(dates)[0].1, What::Span(250_000_000));
    }

    #[test]
    fn wrong_rows_are_counted_with_their_lines() {
        let rows = [
            ("1,2,a", None),
            ("# 1,2", None),
            ("\"x\ny\",2,a", Some((Odd::Time, 4))),
            (",2,a", Some((Odd::NoStart, 6))),
            ("", None),
            ("5,4,a", Some((Odd::EndBeforeStart, 8))),
            ("5,6", Some((Odd::TooFew, 9))),
            ("5,6,a,,", None),
            ("5,6,a,,b", Some((Odd::TooMany, 11))),
            ("1e99,6,a", Some((Odd::Far, 12))),
            ("1772368496000000000,6,a", Some((Odd::OtherClock, 13))),
            ("1,2", Some((Odd::TooFew, 14))),
        ];
        let text: Vec<&str> = rows.iter().map(|r| r.0).collect();
        let chunk = chunk(&format!("start_ns,end_ns,name\n{}", text.join("\n")));
        let expected: Vec<(Odd, u64)> = rows.iter().filter_map(|r| r.1).collect();
        assert_eq!(odd_lines(&chunk), expected);
        assert_eq!((chunk.rows.len(), chunk.records), (2, 10));
    }

    #[test]
    fn samples_may_be_unknown_or_wrong() {
        let chunk = chunk("start_s,value\n1,2\n2,\n3,high\n4,inf\n");
        assert_eq!(chunk.rows.len(), 1);
        let odd = [(Odd::NoValue, 3), (Odd::Value, 4), (Odd::Value, 5)];
        assert_eq!(odd_lines(&chunk), odd);
    }

    #[test]
    fn lines_with_open_quotes_are_counted_alone() {
        let header = Header::of(b"start_ns,name\n", true).expect("a table");
        let layout = Layout::new(header, b"").expect("times");
        let part = Part {
            kind: Kind::Lines,
            offset: 0,
            line: 7,
            bytes: b"1,\"a\n2,\"b\"\n#\"\n3,c\"\n4,\"".to_vec(),
        };
        let chunk = Chunk::of(&part, &layout);
        assert_eq!(
            odd_lines(&chunk),
            [(Odd::OpenQuote, 8), (Odd::OpenQuote, 12)]
        );
        assert_eq!(
            chunk.rows.iter().map(|r| r.start).collect::<Vec<_>>(),
            [2, 3]
        );
    }

    #[test]
    fn args_refer_to_their_record() {
        let text =
            "start_ns,dur_ns,name,file,value\n#x\n1,2,a,\"b,\n\",\n3,4,d,,\n5,6,e,,7\n8,,f,,9\n";
        let chunk = chunk(text);
        let args = chunk.rows.iter().map(|r| r.args.as_text());
        let args = args.map(|a| {
            a.map(|(at, len)| {
                let at = usize::try_from(at).expect("small");
                &text[at..at + len.expect("a length")]
            })
        });
        let expected = [
            Some("#x\n1,2,a,\"b,\n\",\n"),
            None,
            Some("5,6,e,,7\n"),
            None,
        ];
        assert_eq!(args.collect::<Vec<_>>(), expected);
    }

    proptest! {
        /// What is cut into records here is one to the reader as well.
        #[test]
        fn records_end_where_the_reader_ends_them(text in "[,\"\n\r#ab]{0,40}") {
            let (bytes, mut at, mut own) = (text.as_bytes(), 0, Vec::new());
            while at < bytes.len() {
                let len = match record(&bytes[at..], b',', true) {
                    Record::Ends(len) => len,
                    Record::Cut | Record::Open => bytes.len() - at,
                };
                let mut records = reader(&bytes[at..at + len], b',').into_byte_records();
                own.extend(records.by_ref().flatten());
                at += len;
            }
            let all: Vec<ByteRecord> = reader(bytes, b',').into_byte_records().flatten().collect();
            // A comment without an end is a record to the reader, with one empty cell.
            let cells = |r: &ByteRecord| r.iter().any(|cell| !cell.is_empty()) || r.len() > 1;
            own.retain(cells);
            prop_assert_eq!(own, all.into_iter().filter(cells).collect::<Vec<_>>());
        }
    }
}
