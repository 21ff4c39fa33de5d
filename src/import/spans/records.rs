//! The stream of a table cut into stretches of whole records, which are read in parallel.
//!
//! ```text
//! text      1,"a⏎b",2⏎ 3,"x⏎ 5,6⏎ 7,8⏎ …          a quoted cell may go over lines; the one of line 3 is never closed
//! records   [---------][-----------------…          and would take the rest of the file with it
//! parts     [---------][-----][----------…          so its line is set aside, and reading goes on behind it
//! ```
//!
//! A record may be [`LONGEST`] bytes long: who finds no closing quote up to there takes it for forgotten. After
//! [`MOST_OPEN`] of those each line is a record, so that no input is looked at again and again. A line without end is
//! passed over.

use crate::import::bytes::stages::Spares;

/// Bytes of a record.
const LONGEST: usize = if cfg!(fuzzing) { 2 << 10 } else { 1 << 20 };

/// Quotes that are not closed, until quoted cells may no longer go over lines.
const MOST_OPEN: usize = 64;

/// What a stretch of the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Whole records.
    Records,
    /// Lines that are a record each; quotes may be open at their ends.
    Lines,
    /// The first [`LONGEST`] bytes of a line whose rest is passed over.
    Overlong,
}

/// Consecutive records.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub kind: Kind,
    /// Offset of the first byte in the text.
    pub offset: u64,
    /// Line breaks before it.
    pub line: u64,
    pub bytes: Vec<u8>,
}

/// The records of a text that comes in blocks.
pub(super) struct Records {
    delimiter: u8,
    /// What was read and not given out yet begins at `from`.
    text: Vec<u8>,
    from: usize,
    /// Place of that in the whole text.
    offset: u64,
    line: u64,
    /// Quotes that were not closed.
    open: usize,
    /// Inside of a line that is too long.
    skipping: bool,
    ended: bool,
}

impl Records {
    /// Of what follows a header of `bytes` bytes and `lines` line breaks; of it `text` was read.
    pub fn new(delimiter: u8, (bytes, lines): (u64, u64), text: Vec<u8>) -> Self {
        Self {
            delimiter,
            text,
            from: 0,
            offset: bytes,
            line: lines,
            open: 0,
            skipping: false,
            ended: false,
        }
    }

    /// Bytes of the text that were given out or passed over.
    pub fn bytes(&self) -> u64 {
        self.offset
    }

    /// The next stretch; `None` at the end.
    pub fn next(
        &mut self,
        buffers: &Spares<Vec<u8>>,
        mut block: impl FnMut() -> Option<Vec<u8>>,
    ) -> Option<Part> {
        loop {
            if self.skipping {
                self.skip();
            }
            let waiting = self.text.len() - self.from;
            let found = if self.skipping { None } else { self.end() };
            let last = || (self.ended && waiting > 0).then_some((Kind::Records, waiting));
            if let Some((kind, len)) = found.or_else(last) {
                return Some(self.give(kind, len, buffers));
            }
            if self.ended {
                return None;
            }
            match block() {
                Some(bytes) => {
                    self.text.drain(..self.from);
                    self.from = 0;
                    self.text.extend_from_slice(&bytes);
                    buffers.give(bytes);
                }
                None => self.ended = true,
            }
        }
    }

    fn give(&mut self, kind: Kind, len: usize, buffers: &Spares<Vec<u8>>) -> Part {
        let mut bytes = buffers.take();
        bytes.clear();
        bytes.extend_from_slice(&self.text[self.from..self.from + len]);
        let part = Part {
            kind,
            offset: self.offset,
            line: self.line,
            bytes,
        };
        self.pass(len);
        self.skipping = kind == Kind::Overlong;
        part
    }

    /// Leaves bytes behind.
    fn pass(&mut self, len: usize) {
        let passed = &self.text[self.from..self.from + len];
        self.line += memchr::memchr_iter(b'\n', passed).count() as u64;
        self.offset += len as u64;
        self.from += len;
    }

    /// Passes over the rest of a line.
    fn skip(&mut self) {
        let rest = &self.text[self.from..];
        match line_end(rest, self.ended) {
            Some(len) => {
                self.pass(len);
                self.skipping = false;
            }
            None => {
                // A carriage return at the end may be half of a line end.
                let kept = usize::from(rest.last() == Some(&b'\r') && !self.ended);
                self.pass(rest.len() - kept);
            }
        }
    }

    /// How far the records go that are there as a whole; `None` where more has to be read for it.
    fn end(&mut self) -> Option<(Kind, usize)> {
        let text = &self.text[self.from..];
        if memchr::memchr(b'"', text).is_none() {
            return self.plain_end(Kind::Records);
        }
        if self.open >= MOST_OPEN {
            return self.plain_end(Kind::Lines);
        }
        let mut start = 0;
        while start < text.len() {
            match record(&text[start..], self.delimiter, self.ended) {
                Record::Ends(len) => start += len,
                // The first one of a stretch, so that it is looked at again once more is there.
                _ if start > 0 => break,
                Record::Open if text.len() > LONGEST || self.ended => {
                    self.open += 1;
                    let line = line_end(text, self.ended).unwrap_or(text.len());
                    return Some((Kind::Lines, line));
                }
                Record::Cut if text.len() > LONGEST => return Some((Kind::Overlong, LONGEST)),
                _ => break,
            }
        }
        (start > 0).then_some((Kind::Records, start))
    }

    /// How far whole lines go.
    fn plain_end(&self, kind: Kind) -> Option<(Kind, usize)> {
        let text = &self.text[self.from..];
        // A line feed may follow a carriage return at the end.
        let whole = text.len() - usize::from(text.ends_with(b"\r") && !self.ended);
        let end = memchr::memrchr(b'\n', text).or_else(|| memchr::memrchr(b'\r', &text[..whole]));
        let end = end.map(|at| at + 1);
        match end {
            Some(end) => Some((kind, end)),
            None if text.len() > LONGEST => Some((Kind::Overlong, LONGEST)),
            None => None,
        }
    }
}

/// Length of the first line with its end; `None` where that is not there.
pub(super) fn line_end(text: &[u8], whole: bool) -> Option<usize> {
    let at = memchr::memchr2(b'\n', b'\r', text)?;
    match (text[at], text.get(at + 1)) {
        (b'\r', None) if !whole => None,
        (b'\r', Some(b'\n')) => Some(at + 2),
        _ => Some(at + 1),
    }
}

/// What a text begins with.
pub(super) enum Record {
    /// A record of so many bytes, with its line end.
    Ends(usize),
    /// A record that goes on behind the text, as far as one can see.
    Cut,
    /// A quoted cell that is not closed.
    Open,
}

/// The first record of a text. As in the `csv` crate quotes count where a cell begins with them only, and comments end
/// with a line feed.
pub(super) fn record(text: &[u8], delimiter: u8, whole: bool) -> Record {
    let ends = |from: usize| {
        let len = line_end(&text[from..], whole);
        len.map_or(Record::Cut, |len| Record::Ends(from + len))
    };
    if text.first() == Some(&b'#') {
        let end = memchr::memchr(b'\n', text);
        return end.map_or(Record::Cut, |at| Record::Ends(at + 1));
    }
    let mut at = 0;
    loop {
        if text.get(at) == Some(&b'"') {
            // A doubled quote ends one part of the cell and begins the next.
            match memchr::memchr(b'"', &text[at + 1..]) {
                Some(len) => at += len + 2,
                None => return Record::Open,
            }
            if text.get(at) == Some(&b'"') {
                continue;
            }
        }
        match memchr::memchr3(delimiter, b'\n', b'\r', &text[at..]) {
            Some(len) if text[at + len] == delimiter => at += len + 1,
            Some(len) => return ends(at + len),
            None => return Record::Cut,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a text in blocks of some bytes.
    fn parts(text: &[u8], block: usize) -> Vec<Part> {
        let mut blocks = text.chunks(block);
        let buffers = Spares::new();
        let mut records = Records::new(b',', (0, 0), Vec::new());
        let mut parts = Vec::new();
        while let Some(part) = records.next(&buffers, || blocks.next().map(<[u8]>::to_vec)) {
            let at = usize::try_from(part.offset).expect("small");
            assert_eq!(part.bytes, text[at..at + part.bytes.len()]);
            let lines = text[..at].iter().filter(|b| **b == b'\n').count();
            assert_eq!(part.line, lines as u64);
            parts.push(part);
        }
        assert_eq!(records.bytes(), text.len() as u64);
        parts
    }

    fn records(text: &str) -> Vec<(Kind, String)> {
        let part = |p: Part| (p.kind, String::from_utf8(p.bytes).expect("text"));
        parts(text.as_bytes(), 1).into_iter().map(part).collect()
    }

    #[test]
    fn records_go_over_lines_in_quotes_only() {
        let text = "1,\"a\nb\",2\r\n# it's \"open\n3,x\"y,4\n\"\"\"\n\",5\r6,\"a\"b\n7";
        let expected = [
            "1,\"a\nb\",2\r\n",
            "# it's \"open\n",
            "3,x\"y,4\n",
            "\"\"\"\n\",5\r",
            "6,\"a\"b\n",
            "7",
        ];
        let got = records(text);
        let texts: Vec<&str> = got.iter().map(|r| r.1.as_str()).collect();
        assert_eq!(texts, expected);
        assert!(got.iter().all(|r| r.0 == Kind::Records));
    }

    #[test]
    fn the_same_whatever_the_blocks() {
        let text = b"1,2\n\"a\r\nb\",\"\"\r\n,\n\n#\"\n\"x\"\"\ny\",\"z\n\"\n8";
        for block in 1..=text.len() {
            let parts = parts(text, block);
            let whole: Vec<u8> = parts.iter().flat_map(|p| p.bytes.clone()).collect();
            assert_eq!(whole, text);
            for part in parts {
                assert_eq!(part.kind, Kind::Records);
                let mut at = 0;
                while let Record::Ends(len) = record(&part.bytes[at..], b',', true) {
                    at += len;
                }
                assert!(at == part.bytes.len() || &part.bytes[at..] == b"8");
            }
        }
    }

    #[test]
    fn a_quote_that_is_not_closed_costs_its_line() {
        let (lines, all) = (Kind::Lines, Kind::Records);
        let expected = [
            (all, "1,2\n"),
            (lines, "3,\"x\n"),
            (all, "5,6\n"),
            (all, "7,8"),
        ];
        let expected = expected.map(|(kind, text)| (kind, text.to_owned()));
        assert_eq!(records("1,2\n3,\"x\n5,6\n7,8"), expected);
        let text = format!("1,\"x\n{}", "2,3\n".repeat(LONGEST / 2));
        let parts = parts(text.as_bytes(), 1 << 16);
        assert_eq!(
            (parts[0].kind, parts[0].bytes.as_slice()),
            (lines, &b"1,\"x\n"[..])
        );
        assert!(parts[1..].iter().all(|p| p.kind == all));
    }

    #[test]
    fn quotes_that_are_never_closed_are_looked_at_a_few_times() {
        // In each line the first quote closes the one of the line before, and the second opens another.
        let line = b"a\"b,\"c\n";
        let text = line.repeat((4 << 20) / line.len());
        let parts = parts(&text, 1 << 20);
        assert!(parts.iter().all(|p| p.kind == Kind::Lines));
        assert!(parts.len() <= MOST_OPEN + 5, "{} parts", parts.len());
    }

    #[test]
    fn a_line_without_end_is_passed_over() {
        for text in ["1,2\n", "1,\"2\"\n"] {
            let long = b"x".repeat(3 * LONGEST);
            let text = [text.as_bytes(), &long, b"\r\n3,4\n"].concat();
            let parts = parts(&text, 1 << 16);
            let kinds: Vec<Kind> = parts.iter().map(|p| p.kind).collect();
            assert_eq!(kinds, [Kind::Records, Kind::Overlong, Kind::Records]);
            assert_eq!(parts[1].bytes.len(), LONGEST);
            assert_eq!(parts[2].bytes, b"3,4\n");
        }
    }
}
