//! Lines to columns: what a stretch of a pfw file holds, with names, lanes and hashes numbered on their own, so that
//! stretches are read in parallel.

use std::collections::{BTreeMap, BTreeSet};

use super::kind::{Generation, Kind, Kinds};
use super::lanes::{LaneKey, Lanes};
use super::meta::Meta;
use super::number::Ticks;
use super::scan::{MOST_LOST, Record, before_record, between, for_each_member, scan, scan_first};
use super::token::Token;
use crate::import::contract::report::Place;
use crate::import::contract::tally::Tally;
use crate::import::dftracer::tally::Odd;
use crate::import::text::decimal;
use crate::model::{ArgsRef, NameId, Names};

/// Totals of one (category, name) over an interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Total {
    pub cat: u16,
    pub name: NameId,
    pub lane: u32,
    pub at: Ticks,
    pub calls: i64,
    pub time: Ticks,
}

/// Samples of one series.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples {
    pub times: Vec<Ticks>,
    pub values: Vec<f64>,
}

/// What a stretch of lines holds.
#[derive(Default)]
pub(crate) struct Chunk {
    pub start: Vec<i64>,
    pub dur: Vec<i64>,
    pub name: Vec<NameId>,
    pub cat: Vec<u16>,
    pub lane: Vec<u32>,
    pub args: Vec<ArgsRef>,
    /// (row, fraction of start, fraction of duration) where ticks are no integers.
    pub fractions: Vec<(u32, i64, i64)>,
    pub names: Names,
    pub cats: Names,
    /// Records whose category has no number.
    pub more_cats: u64,
    pub lanes: Lanes,
    pub totals: Vec<Total>,
    pub counters: BTreeMap<(String, String), Samples>,
    pub meta: Meta,
    /// Hashes of files that events use.
    pub file_hashes: Names,
    pub kinds: Kinds,
    /// Complete records other than the recorder's own start and end.
    pub events: u64,
    /// Those with args.
    pub events_with_args: u64,
    /// Children that fork calls of the parent returned.
    pub forked: BTreeSet<String>,
    /// Copies of fork calls in the child.
    pub fork_copies: u64,
    pub with_id: u64,
    pub metadata_with_id: u64,
    pub generation: Option<Generation>,
    /// Newlines passed, and a last line without one.
    pub lines: u64,
    /// What was odd, with lines from 1 inside the chunk.
    pub tally: Tally<Odd>,
    /// The first line that is no record opens an object and ends there: records go over several lines.
    pub tall: bool,
    /// The last line that holds something else beside its records ends with it.
    pub torn_end: bool,
    /// Bytes of lines that hold no record.
    pub unreadable_bytes: u64,
    /// Bytes beside the records of a line.
    pub torn_bytes: u64,
    last_hash: Vec<u8>,
    last_cat: Option<(Vec<u8>, u16)>,
    recent: [Option<(Vec<u8>, NameId)>; RECENT],
}

/// Names that are remembered besides the table.
const RECENT: usize = 32;

impl Chunk {
    /// Makes room for spans.
    pub fn reserve(&mut self, spans: usize) {
        self.start.reserve(spans);
        self.dur.reserve(spans);
        self.name.reserve(spans);
        self.cat.reserve(spans);
        self.lane.reserve(spans);
        self.args.reserve(spans);
    }

    /// Gives unused room back, where it is worth a copy.
    pub fn shrink(&mut self) {
        if self.start.capacity() < self.start.len() + self.start.len() / 4 {
            return;
        }
        self.start.shrink_to_fit();
        self.dur.shrink_to_fit();
        self.name.shrink_to_fit();
        self.cat.shrink_to_fit();
        self.lane.shrink_to_fit();
        self.args.shrink_to_fit();
    }

    /// Reads whole lines; `offset` is the place of `bytes` in the inflated file.
    pub fn read(&mut self, bytes: &[u8], offset: u64) {
        let mut at = 0;
        // Start and end of the line before, when it was unreadable.
        let mut broken: Option<(usize, usize)> = None;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = trim(&rest[..len]);
            if line.len() < len {
                self.padding(&rest[..len], line.len());
            }
            if is_record(line) {
                let start = at + (line.as_ptr() as usize - rest.as_ptr() as usize);
                let end = start + line.len();
                broken = if self.line(line, offset + start as u64) {
                    None
                } else {
                    self.broken(bytes, broken, start, end, offset)
                };
            } else {
                broken = None;
            }
            self.lines += 1;
            at += len + 1;
        }
    }

    /// Counts the line.
    fn odd(&mut self, odd: Odd) {
        self.tally.add(odd, || Place::Line(self.lines + 1));
    }

    /// Counts zero bytes around what a line holds; it is `len` bytes long itself.
    fn padding(&mut self, whole: &[u8], len: usize) {
        // A carriage return is all there is in most files.
        if whole.len() == len + 1 && !matches!(whole, [0, ..] | [.., 0]) {
            return;
        }
        let line = trim(whole);
        let start = line.as_ptr() as usize - whole.as_ptr() as usize;
        for part in [&whole[..start], &whole[start + line.len()..]] {
            let zeros = part.iter().filter(|&&b| b == 0).count() as u64;
            let line = Place::Line(self.lines + 1);
            self.tally.add_many(Odd::Zeros, zeros, Some(line));
        }
    }

    fn line(&mut self, line: &[u8], offset: u64) -> bool {
        let skipped = match line[0] {
            b'{' => 0,
            _ => before_record(line, offset),
        };
        let (line, offset) = (&line[skipped..], offset + skipped as u64);
        if line.is_empty() {
            return true;
        }
        match scan(line) {
            Ok(record) => {
                self.record(&record, line, offset);
                true
            }
            Err(_unreadable) => self.several(line, offset),
        }
    }

    /// Reads records that share a line, or what else is on it; false where there is no record.
    fn several(&mut self, line: &[u8], offset: u64) -> bool {
        let (mut at, mut read, mut lost, mut skipped) = (0, 0, 0, 0);
        // Nothing was read behind the last defect.
        let mut behind = false;
        while at < line.len() && lost < MOST_LOST {
            let rest = &line[at..];
            let mut defect = at;
            match scan_first(rest) {
                // Behind a defect, an object may be a part of another one.
                Ok((record, len)) if lost == 0 || !record.ph.is_missing() => {
                    self.record(&record, rest, offset + at as u64);
                    (read, behind) = (read + 1, false);
                    at += len + between(&rest[len..]);
                    defect = at;
                    if at == line.len() || line[at] == b'{' {
                        continue;
                    }
                }
                _ => at += 1,
            }
            (lost, behind) = (lost + 1, true);
            let rest = &line[at..];
            at += memchr::memmem::find(rest, b"{\"").unwrap_or(rest.len());
            skipped += at - defect;
        }
        if read > 1 {
            self.odd(Odd::Crowded);
        }
        if read > 0 && lost > 0 {
            // After too many defects, the rest of the line.
            self.torn_bytes += (skipped + line.len() - at) as u64;
            self.odd(Odd::Torn);
            self.torn_end = behind;
        }
        read > 0
    }

    /// Counts an unreadable line, or joins it with the unreadable one before: a file name with a raw line break
    /// splits its record. Returns the start of what is still broken.
    fn broken(
        &mut self,
        bytes: &[u8],
        before: Option<(usize, usize)>,
        start: usize,
        end: usize,
        offset: u64,
    ) -> Option<(usize, usize)> {
        if let Some((first, first_end)) = before {
            let whole = &bytes[first..end];
            if let Ok(record) = scan(whole) {
                self.record(&record, whole, offset + first as u64);
                // The line before, which is counted from 1.
                let line = Place::Line(self.lines);
                self.tally.take_back(Odd::Unreadable, line);
                self.unreadable_bytes -= (first_end - first) as u64;
                self.tally.add(Odd::Joined, || line);
                return None;
            }
        }
        self.tall |= self.tally.count(Odd::Unreadable) == 0 && bytes[start..end].ends_with(b"{");
        self.unreadable_bytes += (end - start) as u64;
        self.odd(Odd::Unreadable);
        Some((start, end))
    }

    fn record(&mut self, record: &Record<'_>, line: &[u8], offset: u64) {
        if record.repaired {
            self.odd(Odd::Comma);
        }
        let kind = Kind::of(record.ph);
        if self.generation.is_none() {
            self.generation = Generation::of(record, kind);
        }
        match kind {
            Kind::Complete => self.complete(record, line, offset),
            Kind::Metadata => {
                self.kinds.metadata += 1;
                self.metadata_with_id += u64::from(!record.id.is_missing());
                self.meta.add(record);
            }
            Kind::Aggregated => self.aggregated(record),
            Kind::Counter => self.counter(record),
            Kind::Other => {
                self.kinds.other += 1;
                self.odd(Odd::UnknownPhase);
            }
        }
    }

    fn complete(&mut self, record: &Record<'_>, line: &[u8], offset: u64) {
        self.kinds.complete += 1;
        self.with_id += u64::from(!record.id.is_missing());
        let (Some(start), Some(dur)) = (time(record.ts), time(record.dur)) else {
            self.odd(Odd::NoTime);
            return;
        };
        let cat = self.category(record.cat);
        let own = record.cat.bytes == b"dftracer";
        let lane = self.lane(
            record,
            if record.cat.bytes == b"PP" {
                device(record)
            } else {
                0
            },
        );
        if own {
            self.meta.own_event(record);
        } else {
            self.events += 1;
            self.events_with_args += u64::from(record.args.is_some());
        }
        if record.name.bytes == b"fork" {
            self.fork(record, lane);
        }
        if record.fhash.bytes != self.last_hash && !record.fhash.is_missing() {
            self.last_hash.clear();
            self.last_hash.extend_from_slice(record.fhash.bytes);
            self.file_hashes.intern(&record.fhash.text());
        }
        if start.fraction != 0 || dur.fraction != 0 {
            let row = u32::try_from(self.start.len()).unwrap_or(u32::MAX);
            self.fractions.push((row, start.fraction, dur.fraction));
        }
        let name = self.intern(record.name);
        self.start.push(start.whole);
        self.dur.push(dur.whole);
        self.name.push(name);
        self.cat.push(cat);
        self.lane.push(lane);
        self.args.push(match record.args {
            Some(args) => {
                let inside = args.as_ptr() as usize - line.as_ptr() as usize;
                ArgsRef::text(offset + inside as u64, args.len())
            }
            None => ArgsRef::NONE,
        });
    }

    /// A fork is written by the parent (ret = the child) and once more by the child, copied (ret = 0).
    fn fork(&mut self, record: &Record<'_>, lane: u32) {
        let mut ret = Token::default();
        for_each_member(record.args.unwrap_or(b"{}"), |key, value| {
            if key == b"ret" {
                ret = value;
            }
        });
        match decimal::whole(ret.bytes) {
            Some(0) => {
                self.fork_copies += 1;
                self.lanes.mark_forked(lane);
            }
            Some(child) if child > 0 => {
                self.forked.insert(child.to_string());
            }
            _ => {}
        }
    }

    fn aggregated(&mut self, record: &Record<'_>) {
        self.kinds.aggregated += 1;
        let mut calls = None;
        let (mut sum, mut dur) = (None, None);
        for_each_member(record.args.unwrap_or(b"{}"), |key, value| match key {
            b"dft_cnt" => calls = decimal::whole(value.bytes),
            b"dur_sum" => sum = time(value),
            b"dur" => dur = time(value),
            _ => {}
        });
        let Some(at) = time(record.ts) else {
            self.odd(Odd::NoTime);
            return;
        };
        let total = Total {
            cat: self.category(record.cat),
            name: self.intern(record.name),
            lane: self.lane(record, 0),
            at,
            calls: calls.unwrap_or(0),
            time: sum.or(dur).unwrap_or_default(),
        };
        self.totals.push(total);
    }

    fn counter(&mut self, record: &Record<'_>) {
        self.kinds.counter += 1;
        let Some(at) = time(record.ts) else {
            self.odd(Odd::NoTime);
            return;
        };
        let name = record.name.text().into_owned();
        let mut bad = 0_u64;
        let counters = &mut self.counters;
        for_each_member(record.args.unwrap_or(b"{}"), |key, value| {
            if matches!(key, b"hhash" | b"hostname") {
                return;
            }
            let Some(number) = decimal::sample(value.bytes) else {
                bad += 1;
                return;
            };
            let series = String::from_utf8_lossy(key).into_owned();
            let samples = counters.entry((name.clone(), series)).or_default();
            samples.times.push(at);
            samples.values.push(number);
        });
        for _ in 0..bad {
            self.odd(Odd::Value);
        }
    }

    fn lane(&mut self, record: &Record<'_>, device: i64) -> u32 {
        self.lanes.find(record.pid, record.tid, device, || {
            let mut host = None;
            for_each_member(record.args.unwrap_or(b"{}"), |key, value| {
                if matches!(key, b"hhash" | b"hostname") && !value.is_missing() {
                    host = Some((key == b"hhash", value.text().into_owned()));
                }
            });
            LaneKey {
                pid: record.pid.number_text(),
                tid: record.tid.number_text(),
                device,
                host,
                forked: false,
            }
        })
    }

    fn intern(&mut self, token: Token<'_>) -> NameId {
        // Few names make up most of a file: a look at the last one of the same shape saves hashing it.
        let bytes = token.bytes;
        let shape = bytes.len().wrapping_mul(7) + usize::from(bytes.last().copied().unwrap_or(0));
        let slot = shape % RECENT;
        if let Some((text, id)) = &self.recent[slot]
            && text.as_slice() == bytes
            && !token.escaped
        {
            return *id;
        }
        let id = self.intern_new(token);
        // Names that are repaired are counted each time.
        if !token.escaped && std::str::from_utf8(bytes).is_ok() {
            self.recent[slot] = Some((bytes.to_vec(), id));
        }
        id
    }

    fn intern_new(&mut self, token: Token<'_>) -> NameId {
        if !token.escaped
            && let Ok(text) = std::str::from_utf8(token.bytes)
        {
            return self.names.intern(text);
        }
        if std::str::from_utf8(token.bytes).is_err() {
            self.odd(Odd::Utf8);
        }
        self.names.intern(&token.text())
    }

    fn category(&mut self, token: Token<'_>) -> u16 {
        if let Some((text, id)) = &self.last_cat
            && text.as_slice() == token.bytes
            && !token.escaped
        {
            return *id;
        }
        let id = self.category_of(token);
        if !token.escaped {
            self.last_cat = Some((token.bytes.to_vec(), id));
        }
        id
    }

    fn category_of(&mut self, token: Token<'_>) -> u16 {
        let text = std::str::from_utf8(token.bytes)
            .ok()
            .filter(|_| !token.escaped);
        let id = match text {
            Some(text) => self.limited(text),
            None => self.limited(&token.text()),
        };
        u16::try_from(id.0).unwrap_or(u16::MAX)
    }

    fn limited(&mut self, text: &str) -> NameId {
        match self.cats.find(text) {
            Some(id) => id,
            None if self.cats.len() < MAX_CATS => self.cats.intern(text),
            None => {
                self.more_cats += 1;
                self.cats.intern("(other categories)")
            }
        }
    }
}

/// Categories of one stretch, as many as the numbers hold beside one for the rest.
const MAX_CATS: usize = u16::MAX as usize;

/// A PP row's device: 0 = CPU.
fn device(record: &Record<'_>) -> i64 {
    let mut device = 0;
    for_each_member(record.args.unwrap_or(b"{}"), |key, value| {
        if key == b"device" {
            device = decimal::whole(value.bytes).unwrap_or(0);
        }
    });
    device
}

fn time(token: Token<'_>) -> Option<Ticks> {
    Ticks::parse(token.bytes)
}

fn is_record(line: &[u8]) -> bool {
    !(line.is_empty()
        || line == b"["
        || (line.starts_with(b"]") && line.iter().all(|b| matches!(b, b']' | b','))))
}

/// Without the blanks, zero bytes and commas around it.
fn trim(line: &[u8]) -> &[u8] {
    let start = blanks(line);
    let end = line
        .iter()
        .rposition(|b| !matches!(b, b' ' | b'\t' | b'\r' | 0 | b','))
        .map_or(start, |i| i + 1);
    &line[start..end.max(start)]
}

fn blanks(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .position(|b| !matches!(b, b' ' | b'\t' | b'\r' | 0))
        .unwrap_or(bytes.len())
}
