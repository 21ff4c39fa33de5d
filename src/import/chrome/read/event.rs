//! One event object: its keys in any order, every scalar as number or text. Knows syntax, not meaning.

use super::args::{self, RawExtra};
use super::category::Class;
use super::chunk::NONE;
use super::key::{END, Key};
use super::parser::{Parser, Scalar, Time};
use super::scan::{Scan, byte, string_end};

/// Which key an async id stood at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IdScope {
    /// `id`, or `id2.global`.
    #[default]
    Global,
    /// `id2.local`: means something inside its process only.
    Process,
}

/// A range of the window.
pub(crate) type Range = (usize, usize);

/// An event as written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<'w> {
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
    pub extra: Option<(Class, RawExtra)>,
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
    /// An event without any key.
    pub const fn empty() -> Self {
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

impl<'w> Parser<'w, '_> {
    /// Reads the event that opens at `start` into `event`; returns the position behind it.
    pub fn event(&mut self, start: usize, event: &mut Event<'w>) -> Scan {
        *event = Event::empty();
        let (mut before, mut before_value) = (Key::Start, start);
        let mut pos = start + 1;
        loop {
            let (key, value) = match self.chunk.shape.next(before as usize, self.w, pos) {
                Some((END, behind)) => return Ok(behind),
                Some((key, value)) if !self.starts_blank(value) => {
                    (Key::ALL[usize::from(key)], value)
                }
                _ => {
                    let first = before == Key::Start;
                    let found = self.follow(first, before_value, pos)?;
                    if let Some(end) = found.repaired {
                        self.set_text(before, (before_value + 1, end), event);
                    }
                    let key = found.key.map_or(Key::End, Key::of);
                    if found.clean {
                        let shape = &mut self.chunk.shape;
                        shape.learn(before as usize, key as u8, self.w, pos, found.value);
                    }
                    (key, found.value)
                }
            };
            if key == Key::End {
                return Ok(value);
            }
            event.keys += 1;
            pos = self.value(key, value, event)?;
            (before, before_value) = (key, value);
        }
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
            Key::Other | Key::Start | Key::End => self.skip(pos),
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

    fn args(&mut self, pos: usize, event: &mut Event<'w>) -> Scan {
        let class = self.chunk.cats.class(event.cat);
        let end = if class.needs_args() && byte(self.w, pos)? == b'{' {
            let mut extra = RawExtra::default();
            let end = args::read(self, class, pos, &mut extra)?;
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
