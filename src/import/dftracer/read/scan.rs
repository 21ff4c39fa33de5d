//! One line of a pfw file to the fields of a record.
//!
//! A hand-written scanner: it checks what it needs (strings, brackets, separators), keeps texts as they stand in the
//! line, and repairs the one defect that recorders wrote, a comma before a closing bracket.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::token::Token;
use crate::import::text::json::text_end;

/// The fields of a record that the timeline needs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Record<'a> {
    pub id: Token<'a>,
    pub name: Token<'a>,
    pub cat: Token<'a>,
    pub pid: Token<'a>,
    pub tid: Token<'a>,
    pub ts: Token<'a>,
    pub dur: Token<'a>,
    pub ph: Token<'a>,
    /// The args object, brackets included.
    pub args: Option<&'a [u8]>,
    /// The value of args.fhash.
    pub fhash: Token<'a>,
    /// A comma before a closing bracket was ignored.
    pub repaired: bool,
}

/// The line is no JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unreadable;

/// Reads a line.
///
/// # Errors
/// When it is no JSON object, even after ignoring commas before closing brackets.
pub(crate) fn scan(line: &[u8]) -> Result<Record<'_>, Unreadable> {
    match usual(line) {
        Some(record) => Ok(record),
        None => general(line),
    }
}

/// The line as recorders write it: keys in their order, no blanks, no escapes, flat args at the end. `None` where
/// anything differs; [`general`] then decides.
fn usual(line: &[u8]) -> Option<Record<'_>> {
    let mut cursor = Cursor { line, at: 0 };
    let id = cursor.after(b"{\"id\":")?.scalar()?;
    let name = cursor.after(b",\"name\":")?.plain_string()?;
    let cat = cursor.after(b",\"cat\":")?.plain_string()?;
    if let Some(cursor) = cursor.after(b",\"type\":") {
        cursor.scalar()?;
    }
    let pid = cursor.after(b",\"pid\":")?.scalar()?;
    let tid = cursor.after(b",\"tid\":")?.scalar()?;
    let ts = cursor.after(b",\"ts\":")?.scalar()?;
    let dur = cursor.after(b",\"dur\":")?.scalar()?;
    let ph = cursor.after(b",\"ph\":")?.scalar()?;
    let mut record = Record {
        id,
        name,
        cat,
        pid,
        tid,
        ts,
        dur,
        ph,
        ..Record::default()
    };
    if cursor.rest() == b"}" {
        return Some(record);
    }
    let args = flat_args(cursor.after(b",\"args\":")?.rest())?;
    record.fhash = file_hash(args)?;
    record.args = Some(args);
    Some(record)
}

/// The args at the end of a line, where they are flat: the only brackets are the first byte and the last two, every
/// quote has its partner and nothing is escaped.
fn flat_args(rest: &[u8]) -> Option<&[u8]> {
    let inside = rest.strip_prefix(b"{")?.strip_suffix(b"}}")?;
    let mut counts = [0_u32; 2];
    for part in inside.chunks(128) {
        // Bytes count in bytes here, so that the loop runs on whole vectors.
        let (mut quotes, mut others) = (0_u8, 0_u8);
        for &b in part {
            quotes += u8::from(b == b'"');
            others |= u8::from(b == b'\\' || b == b'{' || b == b'}' || b == b'[');
        }
        counts[0] += u32::from(quotes);
        counts[1] |= u32::from(others);
    }
    let flat = counts[0].is_multiple_of(2) && counts[1] == 0 && inside.last() != Some(&b',');
    flat.then(|| &rest[..rest.len() - 1])
}

/// The value of `fhash` in flat args; a text like its key can only be the key, as quotes would be escaped elsewhere.
fn file_hash(args: &[u8]) -> Option<Token<'_>> {
    const KEY: &[u8] = b"\"fhash\":";
    /// Key, 16 digits in quotes, bracket.
    const AT_THE_END: usize = KEY.len() + 18 + 1;
    static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(KEY));
    // Recorders of today write it last.
    let last = args.len().checked_sub(AT_THE_END);
    let found = match last.filter(|&at| args[at..].starts_with(KEY)) {
        Some(at) => Some(at),
        None => FINDER.find(args),
    };
    let Some(at) = found else {
        return Some(Token::default());
    };
    let mut cursor = Cursor {
        line: args,
        at: at + KEY.len(),
    };
    cursor.scalar()
}

/// Any JSON object on a line.
fn general(line: &[u8]) -> Result<Record<'_>, Unreadable> {
    let (record, end) = scan_first(line)?;
    let mut rest = line[end..].iter();
    if rest.all(|b| matches!(b, b' ' | b'\t' | b'\r' | 0 | b',' | b']')) {
        Ok(record)
    } else {
        Err(Unreadable)
    }
}

/// The object at the beginning of a text, and its length, whatever follows.
///
/// # Errors
/// When there is none.
pub(crate) fn scan_first(line: &[u8]) -> Result<(Record<'_>, usize), Unreadable> {
    let mut cursor = Cursor { line, at: 0 };
    let mut record = Record::default();
    cursor.expect(b'{')?;
    let mut repaired = false;
    cursor.members(&mut repaired, |cursor, key, repaired| {
        // The length decides first: most keys differ there.
        match key {
            b"id" => record.id = cursor.value(repaired)?,
            b"name" => record.name = cursor.value(repaired)?,
            b"cat" => record.cat = cursor.value(repaired)?,
            b"pid" => record.pid = cursor.value(repaired)?,
            b"tid" => record.tid = cursor.value(repaired)?,
            b"ts" => record.ts = cursor.value(repaired)?,
            b"dur" => record.dur = cursor.value(repaired)?,
            b"ph" => record.ph = cursor.value(repaired)?,
            b"args" if cursor.peek() == Some(b'{') => {
                let start = cursor.at;
                cursor.at += 1;
                cursor.members(repaired, |cursor, key, repaired| {
                    let value = cursor.value(repaired)?;
                    if key == b"fhash" {
                        record.fhash = value;
                    }
                    Ok(())
                })?;
                record.args = Some(&line[start..cursor.at]);
            }
            _ => {
                cursor.value(repaired)?;
            }
        }
        Ok(())
    })?;
    record.repaired = repaired;
    Ok((record, cursor.at))
}

/// What may stand before the first record of a line: the mark of UTF-8 where the file begins, a bracket, a comma.
pub(crate) fn before_record(line: &[u8], offset: u64) -> usize {
    let mark: &[u8] = if offset == 0 { b"\xef\xbb\xbf" } else { b"" };
    let start = line.strip_prefix(mark).map_or(0, |_| mark.len());
    start + between(&line[start..])
}

/// Where the last whole record ends in the beginning of a line; 0 where there is none.
pub(crate) fn end_of_records(line: &[u8], offset: u64) -> usize {
    let mut at = before_record(line, offset);
    let (mut end, mut lost) = (0, 0);
    while at < line.len() && lost < MOST_LOST {
        match scan_first(&line[at..]) {
            Ok((record, len)) if !record.ph.is_missing() => {
                end = at + len;
                at = end + between(&line[end..]);
            }
            _ => {
                lost += 1;
                at += 1;
                let rest = &line[at..];
                at += memchr::memmem::find(rest, b"{\"").unwrap_or(rest.len());
            }
        }
    }
    end
}

/// What may stand between records.
pub(crate) fn between(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .position(|b| !matches!(b, b' ' | b'\t' | b'\r' | 0 | b',' | b'[' | b']'))
        .unwrap_or(bytes.len())
}

/// Defects of one line behind which more records are looked for.
pub(crate) const MOST_LOST: u32 = 16;

/// The members of an args object that [`scan`] has passed; stops quietly where it cannot go on.
pub(crate) fn for_each_member<'a>(object: &'a [u8], mut f: impl FnMut(&'a [u8], Token<'a>)) {
    let mut cursor = Cursor {
        line: object,
        at: 1,
    };
    let result = cursor.members(&mut false, |cursor, key, repaired| {
        let value = cursor.value(repaired)?;
        f(key, value);
        Ok(())
    });
    // It was scanned before; members in front of a defect have been handed over.
    let _ = result;
}

struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    #[inline]
    fn rest(&self) -> &'a [u8] {
        &self.line[self.at..]
    }

    /// Passes exactly these bytes.
    #[inline(always)]
    fn after<const N: usize>(&mut self, bytes: &[u8; N]) -> Option<&mut Self> {
        // An array of known length is compared in registers.
        if self.line.get(self.at..)?.first_chunk::<N>()? != bytes {
            return None;
        }
        self.at += N;
        Some(self)
    }

    /// A number, or a text without escapes.
    #[inline(always)]
    fn scalar(&mut self) -> Option<Token<'a>> {
        let rest = self.rest();
        let len = rest.iter().position(|b| !b.is_ascii_digit())?;
        match rest[len] {
            b',' | b'}' if len > 0 => {
                self.at += len;
                Some(Token {
                    bytes: &rest[..len],
                    quoted: false,
                    escaped: false,
                })
            }
            b'"' if len == 0 => self.plain_string(),
            _ => self.bare().ok(),
        }
    }

    /// A text without escapes.
    #[inline(always)]
    fn plain_string(&mut self) -> Option<Token<'a>> {
        let rest = self.rest().strip_prefix(b"\"")?;
        let len = rest.iter().position(|&b| b == b'"' || b == b'\\')?;
        if rest[len] != b'"' {
            return None;
        }
        self.at += len + 2;
        Some(Token {
            bytes: &rest[..len],
            quoted: true,
            escaped: false,
        })
    }

    #[inline]
    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Result<(), Unreadable> {
        self.blanks();
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(Unreadable)
        }
    }

    /// Members of an object, from behind its opening bracket to behind its closing one.
    #[inline]
    fn members(
        &mut self,
        repaired: &mut bool,
        mut member: impl FnMut(&mut Self, &'a [u8], &mut bool) -> Result<(), Unreadable>,
    ) -> Result<(), Unreadable> {
        self.blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.blanks();
            match self.peek() {
                Some(b'"') => {}
                // Behind a comma.
                Some(b'}') => {
                    *repaired = true;
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Unreadable),
            }
            let key = self.string()?;
            self.expect(b':')?;
            self.blanks();
            member(self, key.bytes, repaired)?;
            self.blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Unreadable),
            }
        }
    }

    /// A string at its opening quote.
    #[inline]
    fn string(&mut self) -> Result<Token<'a>, Unreadable> {
        let start = self.at + 1;
        let (end, escaped) = text_end(self.line, start).ok_or(Unreadable)?;
        self.at = end + 1;
        Ok(Token {
            bytes: &self.line[start..end],
            quoted: true,
            escaped,
        })
    }

    /// Any value; containers are passed over.
    #[inline]
    fn value(&mut self, repaired: &mut bool) -> Result<Token<'a>, Unreadable> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'{' | b'[') => {
                self.container(repaired)?;
                Ok(Token::default())
            }
            _ => self.bare(),
        }
    }

    /// A number, or a word such as null.
    #[inline]
    fn bare(&mut self) -> Result<Token<'a>, Unreadable> {
        let rest = &self.line[self.at.min(self.line.len())..];
        let len = rest
            .iter()
            .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+')))
            .unwrap_or(rest.len());
        if len == 0 {
            return Err(Unreadable);
        }
        self.at += len;
        Ok(Token {
            bytes: &rest[..len],
            quoted: false,
            escaped: false,
        })
    }

    /// A list or object inside a value, of any depth without recursion.
    fn container(&mut self, repaired: &mut bool) -> Result<(), Unreadable> {
        let mut open: Vec<u8> = Vec::new();
        let mut comma = false;
        loop {
            self.blanks();
            let byte = self.peek().ok_or(Unreadable)?;
            match byte {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => {
                    open.push(byte);
                    self.at += 1;
                }
                b'}' | b']' => {
                    // `{` and `}`, `[` and `]` are two apart in ASCII.
                    if open.pop() != Some(byte - 2) {
                        return Err(Unreadable);
                    }
                    *repaired |= comma;
                    self.at += 1;
                }
                b',' | b':' => self.at += 1,
                _ => {
                    self.bare()?;
                }
            }
            comma = byte == b',';
            if open.is_empty() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_whatever_their_order_and_spacing() {
        let line = br#"{ "ts" : 5, "args": {"a": [1, {"fhash": 3}], "fhash":"ab"} ,"x":null, "name":"a\"b","ph":1}, "#;
        let r = scan(line).expect("readable");
        assert_eq!(r.ts.bytes, b"5");
        assert_eq!(r.fhash.bytes, b"ab");
        assert_eq!(
            r.args,
            Some(&br#"{"a": [1, {"fhash": 3}], "fhash":"ab"}"#[..])
        );
        assert!(r.name.escaped && !r.repaired && r.cat.is_missing());
        assert_eq!(
            r.ph,
            Token {
                bytes: b"1",
                quoted: false,
                escaped: false
            }
        );
    }

    #[test]
    fn the_usual_form_is_read_as_the_general_one() {
        for line in [
            r#"{"id":2,"name":"open64","cat":"POSIX","type":3,"pid":6,"tid":6,"ts":17,"dur":7,"ph":1,"args":{"hhash":"68","flags":524288,"fhash":"64f6"}}"#,
            r#"{"id":"2","name":"open","cat":"POSIX","pid":"6","tid":"7","ts":"17","dur":"7","ph":"X","args":{"fname":"/p/x"}}"#,
            r#"{"id":12,"name":"opendir","cat":"POSIX","pid":1,"tid":1,"ts":1,"dur":3,"ph":"X","args":{"fhash":12046336058336786775,"level":4}}"#,
            r#"{"id":1,"name":"a","cat":"c","pid":1,"tid":1,"ts":1,"dur":3,"ph":1}"#,
            r#"{"id":1,"name":"a","cat":"c","pid":1,"tid":1,"ts":1.5,"dur":3e2,"ph":1,"args":{}}"#,
        ] {
            let usual = usual(line.as_bytes()).expect("usual");
            let general = general(line.as_bytes()).expect("readable");
            assert_eq!(format!("{usual:?}"), format!("{general:?}"), "{line}");
        }
        for line in [
            r#"{"id":1,"name":"a","cat":"c","pid":1,"tid":1,"ts":1,"dur":3,"ph":1,"args":{"a":1,}}"#,
            r#"{"id":1,"name":"a","cat":"c","pid":1,"tid":1,"ts":1,"dur":3,"ph":1,"args":{"a":"x}}"#,
            r#"{"id":1,"name":"a\"","cat":"c","pid":1,"tid":1,"ts":1,"dur":3,"ph":1,"args":{}}"#,
            r#"{"id":1,"name":"a","cat":"c","pid":1,"tid":1,"ts":1,"dur":3,"ph":1,"args":{"a":"{"}}"#,
            r#"{"id":1,"name":"a","cat":"c","pid":1,"tid":1,"ts":1,"dur":3,"ph":1,"args":{"a":[1]}}"#,
        ] {
            assert!(usual(line.as_bytes()).is_none(), "{line}");
        }
    }

    #[test]
    fn a_comma_before_a_bracket_is_repaired() {
        for line in [
            r#"{"args":{"step":1,}}"#,
            r#"{"args":{},}"#,
            r#"{"args":{"a":[1,]}}"#,
            r#"{"x":{"a":1,}}"#,
        ] {
            assert!(scan(line.as_bytes()).expect("readable").repaired, "{line}");
        }
        assert!(!scan(b"{}").expect("readable").repaired);
    }

    #[test]
    fn broken_lines_are_refused() {
        for line in [
            "",
            "{",
            "}",
            "[]",
            "5",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1",
            "{\"a\":1}x",
            "{\"a\" 1}",
            "{\"a\":\"x}",
            "{\"a\":[1}",
            "{\"a\":1 \"b\":2}",
            "{,}",
            "{\"a\":\"\\",
            "{\"args\":{\"a\":1}",
            "{\"a\":1}{\"a\":1}",
        ] {
            assert_eq!(scan(line.as_bytes()).err(), Some(Unreadable), "{line}");
        }
    }
}
