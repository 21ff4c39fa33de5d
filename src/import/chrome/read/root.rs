//! The text around the event list: the root object or array, its keys in any order, values of any size.

use super::chunk::Chunk;
use super::elements;
use super::event::Event;
use super::header::{Header, MAX_VALUE, is_wanted};
use super::key::is_event_key;
use super::parser::Parser;
use super::scan::{Fail, Skipper, byte, skip_value, string_end};
use super::text::unescape;
use crate::import::chrome::tally::{Odd, Tally};
use crate::import::text::json::skip_ws;
use crate::import::text::piece::Piece;

/// The mark that some writers put in front.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// How many root keys are remembered, for the message that says what a file is.
const MAX_KEYS: usize = 24;

/// A root key may be this long.
const MAX_KEY: usize = 64 << 10;

/// What the root value is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// Nothing but white space so far.
    #[default]
    Empty,
    /// `{"traceEvents": […]}`.
    Object,
    /// `[…]`.
    Array,
    /// Events, one after the other.
    Lines,
    /// Neither: the middle of a trace, or something else altogether.
    Headless,
}

#[derive(Clone, Copy, Debug, Default)]
enum At {
    /// Before the first byte.
    #[default]
    Start,
    /// Before a key, a comma or the end of the root object.
    Key,
    /// Inside a value that is skipped.
    Skipping(Skipper),
    /// Behind a defect: looking for the event list.
    Lost,
    /// Behind the root value.
    End,
}

/// Reads the root value.
#[derive(Debug, Default)]
pub(crate) struct Root {
    at: At,
    /// What it is.
    pub form: Form,
    /// Values of known keys.
    pub header: Header,
    /// The first root keys, for messages.
    pub keys: Vec<String>,
    /// The beginning of the text, for messages.
    pub head: Vec<u8>,
    /// Oddities.
    pub tally: Tally,
    /// An event list was found.
    pub has_list: bool,
    /// Where the first event of a text without its beginning is.
    pub first_event: Option<u64>,
    /// What `traceEvents` is, where it is no list.
    pub no_list: Option<&'static str>,
    /// Whether the text is a piece of a trace without its beginning.
    pub piece: Piece,
    /// Documents behind the first one.
    pub further: u64,
    /// What the one that is read is.
    here: Form,
    /// What stands behind the end of the trace.
    pub unread: Option<Unread>,
}

/// Text that is not read, since the trace ended before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Where it begins in the stream.
    pub from: u64,
    /// Its length.
    pub bytes: u64,
    /// How many events it seems to hold: how often it says `"ph"`.
    pub events: u64,
}

/// What [`Root::feed`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The window is done with up to here.
    Wait(usize),
    /// The event list begins here, in this state.
    List(usize, elements::State),
}

impl Root {
    /// Reads on at `pos`. `last` says that no more text follows.
    pub fn feed(&mut self, w: &[u8], at: u64, mut pos: usize, last: bool) -> Step {
        if let At::Start = self.at {
            // However many blanks stand in front, they are done with.
            let bom = usize::from(pos == 0 && w.starts_with(BOM)) * BOM.len();
            let text = skip_ws(w, pos + bom);
            if text == w.len() && !last {
                return Step::Wait(text);
            }
        }
        if self.head.is_empty() {
            self.head = w[..w.len().min(512)].to_vec();
        }
        loop {
            let step = match self.at {
                At::Start => self.start(w, at, pos, last),
                At::Key => self.key(w, at, pos),
                At::Skipping(mut skipper) => match skipper.feed(w, pos) {
                    Some(end) => {
                        self.at = At::Key;
                        Ok(Step::Wait(end))
                    }
                    None => {
                        self.at = At::Skipping(skipper);
                        return Step::Wait(w.len());
                    }
                },
                At::Lost => return self.find_list(w),
                At::End => match self.next_document(w, pos) {
                    Some(next) => Ok(Step::Wait(next)),
                    None => return Step::Wait(self.pass_over(w, at, pos, last)),
                },
            };
            match step {
                Ok(Step::Wait(next)) => pos = next,
                Ok(list) => return list,
                Err(Fail::More) => return Step::Wait(pos),
                Err(Fail::Broken(defect)) => {
                    self.tally.add(Odd::Root, at + defect as u64);
                    self.at = if self.has_list { At::End } else { At::Lost };
                    pos = defect;
                }
            }
        }
    }

    /// Where another document begins behind the end of one: at once, or behind what separates them.
    fn next_document(&mut self, w: &[u8], pos: usize) -> Option<usize> {
        let is_between = |b: &&u8| b.is_ascii_whitespace() || matches!(b, b',' | b'\x1e');
        let next = pos + w.get(pos..)?.iter().take_while(is_between).count();
        let begins = matches!(w.get(next), Some(b'{' | b'['));
        if !begins || self.unread.is_some() || !self.has_list {
            return None;
        }
        self.at = At::Start;
        self.further += 1;
        Some(next)
    }

    /// Counts what stands behind the end, and returns the place up to which it was counted.
    fn pass_over(&mut self, w: &[u8], at: u64, pos: usize, last: bool) -> usize {
        const KEY: &[u8] = b"\"ph\"";
        let pos = match self.unread {
            Some(_) => pos,
            None => skip_ws(w, pos),
        };
        // A key may lie across two windows: it is counted where it begins.
        let kept = if last { 0 } else { KEY.len() - 1 };
        let end = w.len().saturating_sub(kept).max(pos);
        if pos < w.len() {
            let unread = self.unread.get_or_insert(Unread {
                from: at + pos as u64,
                bytes: 0,
                events: 0,
            });
            unread.bytes += (end - pos) as u64;
            unread.events += memchr::memmem::find_iter(&w[pos..], KEY).count() as u64;
        }
        end
    }

    /// True where nothing more is expected.
    pub fn is_complete(&self) -> bool {
        match self.at {
            At::End => true,
            // Whether a root object was around the list is not known.
            At::Key => self.here == Form::Headless,
            _ => false,
        }
    }

    /// Whether the file holds events one after the other, without a list around them: nothing of it is missing then.
    pub fn are_lines(&mut self, without_comma: u64, events: u64) -> bool {
        let lines = self.form == Form::Headless
            && self.first_event == Some(0)
            && events > 1
            && without_comma + 1 >= events;
        if lines {
            self.form = Form::Lines;
        }
        lines
    }

    /// True where the text ends inside the root object, which could be read up to there.
    pub fn is_cut(&self) -> bool {
        matches!(self.at, At::Key | At::Skipping(_)) && self.here == Form::Object
    }

    /// Goes on behind the event list.
    pub fn after_list(&mut self) {
        self.at = match self.here {
            Form::Object | Form::Headless => At::Key,
            _ => At::End,
        };
    }

    fn start(&mut self, w: &[u8], at: u64, pos: usize, last: bool) -> Result<Step, Fail> {
        let bom = usize::from(pos == 0 && w.starts_with(BOM)) * BOM.len();
        let pos = skip_ws(w, pos + bom);
        match byte(w, pos)? {
            b'[' if self.piece != Piece::Yes => {
                self.is(Form::Array);
                self.has_list = true;
                Ok(Step::List(pos + 1, elements::State::First))
            }
            b'{' => match is_bare_event(w, at, pos) {
                Err(Fail::More) if !last && w.len() - pos < MAX_VALUE => Err(Fail::More),
                Ok(true) => {
                    self.first_event = Some(at + pos as u64);
                    Ok(self.headless(pos, elements::State::First))
                }
                _ if self.piece == Piece::Yes => Ok(self.headless(pos, elements::State::Lost)),
                _ => {
                    self.is(Form::Object);
                    self.at = At::Key;
                    Ok(Step::Wait(pos + 1))
                }
            },
            _ => Ok(self.headless(pos, elements::State::Lost)),
        }
    }

    fn headless(&mut self, pos: usize, state: elements::State) -> Step {
        self.is(Form::Headless);
        self.has_list = true;
        Step::List(pos, state)
    }

    /// The file is what its first document is.
    fn is(&mut self, form: Form) {
        self.here = form;
        if self.further == 0 {
            self.form = form;
        }
    }

    fn key(&mut self, w: &[u8], at: u64, pos: usize) -> Result<Step, Fail> {
        let pos = skip_ws(w, pos);
        match byte(w, pos)? {
            b',' => return Ok(Step::Wait(pos + 1)),
            b'}' => {
                self.at = At::End;
                return Ok(Step::Wait(pos + 1));
            }
            b'"' => {}
            _ => return Err(Fail::Broken(pos)),
        }
        let end = match string_end(w, pos) {
            Err(Fail::More) if w.len() - pos > MAX_KEY => return Err(Fail::Broken(pos)),
            other => other?,
        };
        let colon = skip_ws(w, end + 1);
        if byte(w, colon)? != b':' {
            return Err(Fail::Broken(colon));
        }
        let value = skip_ws(w, colon + 1);
        let first = byte(w, value)?;
        let key = unescape(&w[pos + 1..end]).0;
        if key == "traceEvents" && first == b'[' {
            self.remember(&key);
            self.has_list = true;
            return Ok(Step::List(value + 1, elements::State::First));
        }
        if key == "traceEvents" {
            self.no_list = Some(match first {
                b'{' => "an object",
                b'"' => "a text",
                b'n' => "null",
                _ => "a single value",
            });
        }
        if is_wanted(&key) {
            let mut odd = Tally::default();
            let end = skip_value(w, value, at, &mut odd);
            // A value that the window cuts off is read again, or skipped.
            if end != Err(Fail::More) {
                self.tally.take(&mut odd);
            }
            match end {
                Ok(behind) => {
                    self.remember(&key);
                    if self.further == 0 {
                        self.header.set(&key, &w[value..behind]);
                    }
                    return Ok(Step::Wait(behind));
                }
                Err(Fail::More) if w.len() - value < MAX_VALUE => return Err(Fail::More),
                Err(Fail::More) => {}
                Err(broken) => return Err(broken),
            }
        }
        self.remember(&key);
        self.at = At::Skipping(Skipper::default());
        Ok(Step::Wait(value))
    }

    fn remember(&mut self, key: &str) {
        if self.keys.len() < MAX_KEYS {
            // Whatever is not text must not act on a terminal.
            let shown = key.chars().take(60);
            let shown = shown.map(|c| if c.is_control() { '\u{fffd}' } else { c });
            self.keys.push(shown.collect());
        }
    }

    /// Looks for `"traceEvents": [` without regard to what is around it.
    fn find_list(&mut self, w: &[u8]) -> Step {
        const KEY: &[u8] = b"\"traceEvents\"";
        for found in memchr::memmem::find_iter(w, KEY) {
            let colon = skip_ws(w, found + KEY.len());
            let value = skip_ws(w, colon + 1);
            match (w.get(colon), w.get(value)) {
                (Some(b':'), Some(b'[')) => {
                    self.has_list = true;
                    return Step::List(value + 1, elements::State::First);
                }
                (None, _) | (Some(b':'), None) => return Step::Wait(found),
                _ => {}
            }
        }
        Step::Wait(w.len().saturating_sub(KEY.len()))
    }
}

/// What stands behind the mark and the blanks in front.
pub(crate) fn text_of(w: &[u8]) -> &[u8] {
    let bom = usize::from(w.starts_with(BOM)) * BOM.len();
    &w[skip_ws(w, bom)..]
}

/// True where the object at `pos` is an event itself: a list without its bracket.
fn is_bare_event(w: &[u8], at: u64, pos: usize) -> Result<bool, Fail> {
    let key = skip_ws(w, pos + 1);
    if byte(w, key)? != b'"' {
        return Ok(false);
    }
    let end = string_end(w, key)?;
    if !is_event_key(&w[key + 1..end]) {
        return Ok(false);
    }
    let mut scratch = Chunk::default();
    let mut parser = Parser {
        w,
        at,
        careful: false,
        chunk: &mut scratch,
    };
    let mut event = Event::empty();
    parser.event(pos, &mut event).map(|_| !event.ph.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_found_behind_any_keys() {
        let text = br#" {"a":{"traceEvents":[1]},"schemaVersion": 1 ,"x":"]","traceEvents" : [{}]"#;
        let mut root = Root::default();
        let list = Step::List(text.len() - 3, elements::State::First);
        assert_eq!(root.feed(text, 0, 0, false), list);
        assert_eq!(root.keys, ["a", "schemaVersion", "x", "traceEvents"]);
        // The same, a byte at a time.
        let mut root = Root::default();
        let mut window = Vec::new();
        let mut done = 0;
        let mut found = None;
        for (i, &b) in text.iter().enumerate() {
            window.push(b);
            match root.feed(&window, done as u64, 0, false) {
                Step::Wait(n) => {
                    window.drain(..n);
                    done += n;
                }
                Step::List(n, _) => {
                    found = Some(done + n);
                    assert_eq!(i, text.len() - 4);
                    break;
                }
            }
        }
        assert_eq!(found, Some(text.len() - 3));
        assert_eq!(root.header.schema(), Some("1"));
    }

    #[test]
    fn what_is_odd_in_the_header_counts_once() {
        let text = br#"{"schemaVersion": [0x1, nan], "traceEvents": ["#;
        for cut in 0..text.len() {
            let mut root = Root::default();
            let Step::Wait(done) = root.feed(&text[..cut], 0, 0, false) else {
                panic!("no list before {cut}");
            };
            let step = root.feed(&text[done..], done as u64, 0, true);
            assert_eq!(step, Step::List(text.len() - done, elements::State::First));
            assert_eq!(root.tally.count(Odd::BareWord), 2, "cut at {cut}");
        }
    }

    #[test]
    fn a_broken_header_does_not_lose_the_list() {
        let text = br#"{"INFO":["a" "b"] , "x" y, "traceEvents": [ "#;
        let mut root = Root::default();
        let step = root.feed(text, 0, 0, true);
        assert_eq!(step, Step::List(text.len() - 1, elements::State::First));
        assert_eq!(root.tally.count(Odd::Root), 1);
    }
}
