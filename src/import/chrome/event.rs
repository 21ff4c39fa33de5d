//! One event object: its keys in any order, every scalar as number or text. Knows syntax, not meaning.

use super::args::{self, RawExtra};
use super::category::Class;
use super::chunk::{Chunk, NONE};
use super::number;
use super::scan::{Fail, Scan, byte, is_json_token, repaired_end, skip_object, skip_value};
use super::scan::{skip_ws, string_end, token_end};
use super::tally::Odd;

/// A scalar as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scalar<'w> {
    /// Absent or null.
    #[default]
    Missing,
    /// A whole number, however written.
    Int(i64),
    /// Anything else: the bytes between the quotes, or the token.
    Text(&'w [u8]),
}

/// A time as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Time {
    /// Absent or null.
    #[default]
    Missing,
    /// No number, or out of range.
    Bad,
    /// Nanoseconds.
    Ns(i64),
}

/// Which key an async id stood at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum IdScope {
    /// `id`, or `id2.global`.
    #[default]
    Global,
    /// `id2.local`: means something inside its process only.
    Process,
}

/// A range of the window.
pub(super) type Range = (usize, usize);

/// An event as written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event<'w> {
    /// Phase; empty where missing.
    pub ph: &'w [u8],
    /// Name between its quotes.
    pub name: Option<Range>,
    /// Category number in the chunk, or [`NONE`].
    pub cat: u32,
    /// Process.
    pub pid: Scalar<'w>,
    /// Thread.
    pub tid: Scalar<'w>,
    /// Start.
    pub ts: Time,
    /// Duration.
    pub dur: Time,
    /// Where the args are.
    pub args: Option<Range>,
    /// What was read of them, and for which class.
    pub extra: Option<(Class, RawExtra<'w>)>,
    /// Id of flows and async events.
    pub id: Scalar<'w>,
    /// Where that id counts.
    pub id_scope: IdScope,
    /// `s` of instants: `g`, `p`, `t`; 0 where missing.
    pub scope: u8,
    /// Has `bind_id`.
    pub bind: bool,
    /// `sort_index` outside the args, as rocprof writes it.
    pub sort_index: Option<i64>,
    /// Number of keys.
    pub keys: u32,
}

impl Event<'_> {
    const fn empty() -> Self {
        Self {
            ph: b"",
            name: None,
            cat: NONE,
            pid: Scalar::Missing,
            tid: Scalar::Missing,
            ts: Time::Missing,
            dur: Time::Missing,
            args: None,
            extra: None,
            id: Scalar::Missing,
            id_scope: IdScope::Global,
            scope: 0,
            bind: false,
            sort_index: None,
            keys: 0,
        }
    }
}

/// Reads events of one window into a chunk.
pub(super) struct Parser<'w, 'c> {
    /// The window.
    pub w: &'w [u8],
    /// Offset of the window in the stream.
    pub at: u64,
    /// Checks the syntax of everything instead of matching braces.
    pub careful: bool,
    /// Where categories, oddities and finished events go.
    pub chunk: &'c mut Chunk,
}

/// The keys that events have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Ph,
    Name,
    Cat,
    Pid,
    Tid,
    Ts,
    Dur,
    Args,
    Id,
    Id2,
    Scope,
    Bind,
    SortIndex,
    Other,
}

impl Key {
    #[inline]
    fn of(key: &[u8]) -> Self {
        match key {
            b"ph" => Self::Ph,
            b"name" => Self::Name,
            b"cat" => Self::Cat,
            b"pid" => Self::Pid,
            b"tid" => Self::Tid,
            b"ts" => Self::Ts,
            b"dur" => Self::Dur,
            b"args" => Self::Args,
            b"id" => Self::Id,
            b"id2" => Self::Id2,
            b"s" => Self::Scope,
            b"bind_id" => Self::Bind,
            b"sort_index" => Self::SortIndex,
            _ => Self::Other,
        }
    }
}

/// True for keys that begin an event; others are too common elsewhere.
pub(super) fn is_event_key(key: &[u8]) -> bool {
    Key::of(key) != Key::Other || matches!(key, b"bp" | b"tts" | b"tdur" | b"sf")
}

impl<'w> Parser<'w, '_> {
    fn odd(&mut self, odd: Odd, pos: usize) {
        self.chunk.tally.add(odd, self.at + pos as u64);
    }

    /// The event that opens at `start`, and the position behind it.
    pub fn event(&mut self, start: usize) -> Result<(usize, Event<'w>), Fail> {
        let w = self.w;
        let mut event = Event::empty();
        let mut pos = start + 1;
        let mut after_comma = false;
        loop {
            pos = skip_ws(w, pos);
            let (key, value) = match byte(w, pos)? {
                b'"' => {
                    let end = string_end(w, pos)?;
                    (&w[pos + 1..end], skip_ws(w, end + 1))
                }
                b'}' => {
                    if after_comma {
                        self.odd(Odd::Comma, pos);
                    }
                    return Ok((pos + 1, event));
                }
                b',' => {
                    self.odd(Odd::Comma, pos);
                    pos += 1;
                    continue;
                }
                b if b.is_ascii_alphabetic() || b == b'_' => self.bare_key(pos)?,
                _ => return Err(Fail::Broken(pos)),
            };
            if byte(w, value)? != b':' {
                return Err(Fail::Broken(value));
            }
            let value = skip_ws(w, value + 1);
            let key = Key::of(key);
            event.keys += 1;
            let end = self.value(key, value, &mut event)?;
            (pos, after_comma) = self.after_value(key, value, end, &mut event)?;
        }
    }

    /// A key whose opening quote is missing, and the position of the colon.
    #[cold]
    fn bare_key(&mut self, pos: usize) -> Result<(&'w [u8], usize), Fail> {
        let w = self.w;
        let mut end = pos;
        while matches!(byte(w, end)?, b'_' | b' ' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z') {
            end += 1;
        }
        let quoted = usize::from(w[end] == b'"');
        self.odd(Odd::KeyQuote, pos);
        Ok((w[pos..end].trim_ascii_end(), skip_ws(w, end + quoted)))
    }

    /// What follows a value: the next key, the end, or a text that was cut short by a quote inside it.
    #[inline]
    fn after_value(
        &mut self,
        key: Key,
        value: usize,
        end: usize,
        event: &mut Event<'w>,
    ) -> Result<(usize, bool), Fail> {
        let w = self.w;
        let pos = skip_ws(w, end);
        match byte(w, pos)? {
            b',' => Ok((pos + 1, true)),
            b'}' => Ok((pos, false)),
            _ => self.after_odd_value(key, value, pos, event),
        }
    }

    #[cold]
    fn after_odd_value(
        &mut self,
        key: Key,
        value: usize,
        pos: usize,
        event: &mut Event<'w>,
    ) -> Result<(usize, bool), Fail> {
        let w = self.w;
        if w[value] == b'"' {
            let end = repaired_end(w, value)?;
            self.odd(Odd::Quote, value);
            self.set_text(key, (value + 1, end), event);
            let pos = skip_ws(w, end + 1);
            return match byte(w, pos)? {
                b',' => Ok((pos + 1, true)),
                b'}' => Ok((pos, false)),
                _ => Err(Fail::Broken(pos)),
            };
        }
        if w[pos] == b'"' {
            self.odd(Odd::NoComma, pos);
            return Ok((pos, false));
        }
        Err(Fail::Broken(pos))
    }

    #[inline]
    fn value(&mut self, key: Key, pos: usize, event: &mut Event<'w>) -> Scan {
        let w = self.w;
        match key {
            Key::Ph | Key::Name | Key::Cat | Key::Scope => {
                if byte(w, pos)? == b'"' {
                    let end = string_end(w, pos)?;
                    self.set_text(key, (pos + 1, end), event);
                    Ok(end + 1)
                } else {
                    let end = self.skip(pos)?;
                    let null = &w[pos..end] == b"null";
                    self.set_text(key, if null { (pos, pos) } else { (pos, end) }, event);
                    Ok(end)
                }
            }
            Key::Ts => self.time(pos, &mut event.ts),
            Key::Dur => self.time(pos, &mut event.dur),
            Key::Pid => self.scalar(pos, &mut event.pid),
            Key::Tid => self.scalar(pos, &mut event.tid),
            Key::Id => {
                event.id_scope = IdScope::Global;
                self.scalar(pos, &mut event.id)
            }
            Key::Args => self.args(pos, event),
            Key::Id2 => self.id2(pos, event),
            Key::Bind => {
                event.bind = true;
                self.skip(pos)
            }
            Key::SortIndex => {
                let mut value = Scalar::Missing;
                let end = self.scalar(pos, &mut value)?;
                if let Scalar::Int(i) = value {
                    event.sort_index = Some(i);
                }
                Ok(end)
            }
            Key::Other => self.skip(pos),
        }
    }

    #[inline]
    fn set_text(&mut self, key: Key, (start, end): Range, event: &mut Event<'w>) {
        match key {
            Key::Ph => event.ph = &self.w[start..end],
            Key::Name => event.name = Some((start, end)),
            Key::Cat => event.cat = self.chunk.cats.intern(self.w, start, end),
            Key::Scope => event.scope = self.w[start..end].first().copied().unwrap_or(0),
            _ => {}
        }
    }

    /// Behind a value that is not needed.
    #[inline]
    pub fn skip(&mut self, pos: usize) -> Scan {
        let w = self.w;
        match byte(w, pos)? {
            b'"' => Ok(string_end(w, pos)? + 1),
            b'{' => skip_object(w, pos, self.at, self.careful, &mut self.chunk.tally),
            b'[' => skip_value(w, pos, self.at, &mut self.chunk.tally),
            _ => self.token(pos),
        }
    }

    /// Behind a scalar without quotes.
    fn token(&mut self, pos: usize) -> Scan {
        let end = token_end(self.w, pos)?;
        if !is_json_token(&self.w[pos..end]) {
            self.odd(Odd::BareWord, pos);
        }
        Ok(end)
    }

    /// A time in µs: number or text.
    #[inline]
    fn time(&mut self, pos: usize, time: &mut Time) -> Scan {
        let w = self.w;
        // Up to 15 digits and a fraction of three, as Kineto writes them.
        let mut whole = 0_u64;
        let mut i = pos;
        while let Some(d @ b'0'..=b'9') = w.get(i) {
            whole = whole.wrapping_mul(10).wrapping_add(u64::from(d - b'0'));
            i += 1;
        }
        if i > pos && i - pos <= 15 {
            match w.get(i) {
                Some(b',' | b'}' | b'\n' | b' ') => {
                    *time = Time::Ns((whole * 1000).cast_signed());
                    return Ok(i);
                }
                Some(b'.') => {
                    if let Some(&[a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', end]) =
                        w.get(i + 1..i + 5)
                        && matches!(end, b',' | b'}' | b'\n' | b' ')
                    {
                        let ns = u64::from(a - b'0') * 100
                            + u64::from(b - b'0') * 10
                            + u64::from(c - b'0');
                        *time = Time::Ns((whole * 1000 + ns).cast_signed());
                        return Ok(i + 4);
                    }
                }
                _ => {}
            }
        }
        self.odd_time(pos, time)
    }

    fn odd_time(&mut self, pos: usize, time: &mut Time) -> Scan {
        let w = self.w;
        let (text, end) = match byte(w, pos)? {
            b'"' => {
                let end = string_end(w, pos)?;
                (&w[pos + 1..end], end + 1)
            }
            b'{' | b'[' => {
                *time = Time::Bad;
                return self.skip(pos);
            }
            _ => {
                let end = self.token(pos)?;
                (&w[pos..end], end)
            }
        };
        *time = match number::us_to_ns(text) {
            Some(ns) => Time::Ns(ns),
            None if text == b"null" => Time::Missing,
            None => Time::Bad,
        };
        Ok(end)
    }

    /// An identifier: number or text.
    #[inline]
    pub fn scalar(&mut self, pos: usize, scalar: &mut Scalar<'w>) -> Scan {
        let w = self.w;
        let mut value = 0_i64;
        let mut i = pos;
        while let Some(d @ b'0'..=b'9') = w.get(i) {
            value = value.wrapping_mul(10).wrapping_add(i64::from(d - b'0'));
            i += 1;
        }
        if i > pos && i - pos <= 18 && matches!(w.get(i), Some(b',' | b'}' | b'\n' | b' ')) {
            *scalar = Scalar::Int(value);
            return Ok(i);
        }
        self.odd_scalar(pos, scalar)
    }

    fn odd_scalar(&mut self, pos: usize, scalar: &mut Scalar<'w>) -> Scan {
        let w = self.w;
        let (text, end) = match byte(w, pos)? {
            b'"' => {
                let end = string_end(w, pos)?;
                (&w[pos + 1..end], end + 1)
            }
            b'{' | b'[' => {
                let end = self.skip(pos)?;
                (&w[pos..end], end)
            }
            _ => {
                let end = self.token(pos)?;
                (&w[pos..end], end)
            }
        };
        *scalar = to_scalar(text, w[pos] == b'"');
        Ok(end)
    }

    fn args(&mut self, pos: usize, event: &mut Event<'w>) -> Scan {
        let class = self.chunk.cats.class(event.cat);
        let end = if class.needs_args() && byte(self.w, pos)? == b'{' {
            let mut extra = RawExtra::default();
            let end = args::read(self, pos, &mut extra)?;
            event.extra = Some((class, extra));
            end
        } else {
            self.skip(pos)?
        };
        event.args = (&self.w[pos..end] != b"null").then_some((pos, end));
        Ok(end)
    }

    fn id2(&mut self, pos: usize, event: &mut Event<'w>) -> Scan {
        if byte(self.w, pos)? != b'{' {
            return self.skip(pos);
        }
        args::each(self, pos, |parser, key, value| {
            let scope = match key {
                b"global" => IdScope::Global,
                b"local" => IdScope::Process,
                _ => return parser.skip(value),
            };
            event.id_scope = scope;
            parser.scalar(value, &mut event.id)
        })
    }
}

/// A scalar from its text, `quoted` or not.
pub(super) fn to_scalar(text: &[u8], quoted: bool) -> Scalar<'_> {
    match number::integer(text) {
        Some(i) => Scalar::Int(i),
        None if text == b"null" && !quoted => Scalar::Missing,
        None => Scalar::Text(text),
    }
}
