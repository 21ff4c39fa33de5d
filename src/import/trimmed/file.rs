//! One file: its header, its lines, its report.

use std::path::Path;

use serde_json::Value;

use super::event::Line;
use super::header::{Header, Placed};
use crate::import::bytes::input::{Blocks, Input};
use crate::import::bytes::stages::Spares;
use crate::import::contract::error::{ErrorKind, LoadError};
use crate::import::contract::importer::Context;
use crate::import::contract::progress::Phase;
use crate::import::contract::report::{FileReport, Loss, Lost, NoticeKind, Place};
use crate::import::contract::tally::{Tally, reasons};
use crate::model::{
    ArgsRef, CatId, Clock, Instant, RawSpan, Source, SourceId, SpanRow, SyncScope, TIME_LIMIT,
    TraceBuilder,
};
use crate::time::format_ns;

/// A line longer than this is none that was written here.
const LONGEST_LINE: usize = if cfg!(any(test, fuzzing)) {
    256 << 10
} else {
    256 << 20
};

reasons! {
    /// Why an event is not shown.
    enum Odd {
        Broken: Skipped, "bad_event", "line|lines|held no whole event";
        Lane: Skipped, "bad_lane", "event|events|named a lane, a counter or a source that is not there";
        Time: Skipped, "bad_time", "event|events|had no time, or one beyond 73 years";
        Link: Skipped, "bad_link", "link|links|led to what is not there";
        Overlong: Skipped, "long_line", "line|lines|had more than 256 MiB";
    }
}

/// The text by lines.
struct Lines<'p> {
    blocks: Blocks<'p>,
    buffers: Spares<Vec<u8>>,
    text: Vec<u8>,
    /// Where the next line begins in it, and the byte of the stream that it begins with.
    next: usize,
    at: u64,
    /// Lines that were given up.
    overlong: u64,
}

impl Lines<'_> {
    /// The next line without its end, and the offset of its first byte.
    fn next(&mut self) -> Option<(u64, &[u8])> {
        let mut looked = self.next;
        let end = loop {
            if let Some(found) = memchr::memchr(b'\n', &self.text[looked..]) {
                break looked + found;
            }
            looked = self.text.len();
            let Some(block) = self.blocks.next(&self.buffers) else {
                break self.text.len();
            };
            self.text.drain(..self.next);
            (looked, self.next) = (looked - self.next, 0);
            if looked > LONGEST_LINE {
                // Its rest is read as lines of their own, which are none.
                self.overlong += 1;
                self.text.clear();
                self.at += looked as u64;
                looked = 0;
            }
            self.text.extend_from_slice(&block.bytes);
            self.buffers.give(block.bytes);
        };
        if self.next == self.text.len() {
            return None;
        }
        let (start, at) = (self.next, self.at);
        self.next = (end + 1).min(self.text.len());
        self.at += (self.next - start) as u64;
        self.text.get(start..end).map(|line| (at, line))
    }
}

/// Reads one file into the builder and the report.
///
/// # Errors
/// When its header is not what the program writes, and after a cancel.
pub(super) fn import(input: Input, ctx: &mut Context<'_>) -> Result<(), LoadError> {
    ctx.progress.set_phase(Phase::Reading);
    let (path, disk_bytes) = (input.path.clone(), input.disk_bytes);
    let (gaps, progress) = (input.gaps.clone(), ctx.progress);
    let args = input.args.clone();
    let mut lines = Lines {
        blocks: input.blocks(progress),
        buffers: Spares::new(),
        text: Vec::new(),
        next: 0,
        at: 0,
        overlong: 0,
    };
    let header = lines.next().map(|(_, line)| line).unwrap_or_default();
    let header = head(header).map_err(|why| no_header(&path, &why))?;
    progress.check(&path)?;
    let placed = header.place(&path, &args, ctx);
    let mut events = Events {
        placed,
        raw: Vec::new(),
        links: Vec::new(),
        firsts: Vec::new(),
        tally: Tally::default(),
        read: 0,
        closed: false,
    };
    events.firsts = vec![None; events.placed.sources.len()];
    while let Some((at, line)) = lines.next() {
        events.line(at, line, ctx.builder);
    }
    progress.check(&path)?;
    progress.add_events(events.read);
    let overlong = lines.overlong;
    events.tally.add_many(Odd::Overlong, overlong, None);
    events.link(ctx.builder);
    events.keep_distances(ctx.builder);
    let damage = lines.blocks.damage().cloned();
    let source = events.placed.sources.first().copied();
    let report = &mut *ctx.report;
    gaps.with(|gaps| gaps.report(source, report));
    if let Some(damage) = &damage {
        let shown = format!("{} events", crate::time::format_count(events.read));
        let (kind, code, text) = damage.notice("damaged_stream", &shown);
        report.note_whole(kind, code, source, 1, &[damage.place()], text);
    } else if !events.closed {
        let fact = NoticeKind::Damaged.losing(Loss::Cut(Lost::default()));
        let place = Some(Place::Byte(lines.at));
        report.note(fact, "cut_off", source, place, || {
            "The file ends early: what was behind this place is lost.".to_owned()
        });
    }
    for (odd, count) in events.tally.counts() {
        let (kind, code, text) = odd.texts();
        let fact = kind.losing(Loss::Part(Lost::events(count.n)));
        count.note(report, source, fact, code, text);
    }
    events.tell(&path, (disk_bytes, lines.at), ctx);
    Ok(())
}

/// The header, in the line `{"stallscope":{…},`.
fn head(line: &[u8]) -> Result<Header, String> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let value = line.strip_prefix(b"{\"stallscope\":");
    let value = value.and_then(|v| v.strip_suffix(b","));
    let value = value.ok_or_else(|| "does not end".to_owned())?;
    let header: Header =
        serde_json::from_slice(value).map_err(|e| format!("cannot be read ({e})"))?;
    match header.wrong() {
        Some(why) => Err(why.to_owned()),
        None => Ok(header),
    }
}

fn no_header(path: &Path, why: &str) -> LoadError {
    LoadError::new(
        ErrorKind::Corrupt,
        path,
        format!("The file is a window of a trace that Stallscope saved, but its first line {why}."),
        "Save it again from the original trace.",
    )
}

/// What a span says of another one, by the number of that.
enum Link {
    /// It was launched by it.
    Call(RawSpan, u64),
    /// It has this backward operator.
    Backward(RawSpan, u64),
}

/// What was read of the list.
struct Events {
    placed: Placed,
    /// Numbers of spans, as the file states them: lines may be missing.
    raw: Vec<(u64, RawSpan)>,
    links: Vec<Link>,
    /// The earliest span of each source that counts, else of all: not counting, start.
    firsts: Vec<Option<(bool, i64)>>,
    tally: Tally<Odd>,
    read: u64,
    closed: bool,
}

impl Events {
    fn line(&mut self, at: u64, line: &[u8], builder: &mut TraceBuilder) {
        let text = line.trim_ascii();
        let text = text.strip_suffix(b",").unwrap_or(text);
        match text {
            b"" | b"\"traceEvents\":[" => return,
            b"]}" => {
                self.closed = true;
                return;
            }
            _ => {}
        }
        self.read += 1;
        let Ok(event) = serde_json::from_slice::<Line<'_>>(text) else {
            self.tally.add(Odd::Broken, || Place::Byte(at));
            return;
        };
        let done = match &*event.ph {
            "X" => self.span((at, line), &event, builder),
            "i" => self.instant(&event, builder),
            "C" => self.sample(&event, builder),
            // Names and arrows for other readers.
            _ => Ok(()),
        };
        if let Err(odd) = done {
            self.tally.add(odd, || Place::Byte(at));
        }
    }

    fn span(
        &mut self,
        (at, line): (u64, &[u8]),
        event: &Line<'_>,
        builder: &mut TraceBuilder,
    ) -> Result<(), Odd> {
        let lane = event.lane.and_then(|l| self.placed.lanes.get(l)).copied();
        let lane = lane.ok_or(Odd::Lane)?;
        let (start, dur) = (time(event.start())?, time(event.len())?);
        let args = event.args.map_or(ArgsRef::NONE, |args| {
            let place = args.get().as_ptr() as usize - line.as_ptr() as usize;
            ArgsRef::text(at + place as u64, args.get().len())
        });
        let cat: CatId = builder.category(&event.cat, !event.about);
        let name = builder.intern(&event.name);
        let span = builder.add_span(SpanRow {
            lane,
            name,
            cat,
            start,
            dur,
            args,
        });
        let source = builder.so_far().lane(lane).source;
        let place = self.placed.sources.iter().position(|&s| s == source);
        if let Some(first) = place.and_then(|p| self.firsts.get_mut(p)) {
            let this = (event.about, start);
            *first = Some(first.map_or(this, |f| f.min(this)));
        }
        if let Some(copy) = event.copied() {
            builder.set_copy(span, copy);
        }
        if event.open {
            builder.mark_unfinished(span);
        }
        if let Some(sync) = &event.sync {
            let scope = self.scope(sync).ok_or(Odd::Link);
            match scope {
                Ok(scope) => builder.set_sync_scope(span, scope),
                Err(odd) => self.tally.add(odd, || Place::Byte(at)),
            }
        }
        self.raw.extend(event.n.map(|number| (number, span)));
        let call = event.call.map(|call| Link::Call(span, call));
        let backward = event.backward.iter();
        let backward = backward.map(|&to| Link::Backward(span, to));
        self.links.extend(call.into_iter().chain(backward));
        Ok(())
    }

    fn scope(&self, sync: &[Value]) -> Option<SyncScope> {
        let place = usize::try_from(sync.get(1)?.as_u64()?).ok()?;
        let stream = || self.placed.streams.get(place).copied();
        match sync.first()?.as_str()? {
            "device" => Some(SyncScope::Device(*self.placed.devices.get(place)?)),
            "stream" => Some(SyncScope::Stream(stream()?)),
            "event" => Some(SyncScope::Event {
                stream: stream()?,
                record_at: time(sync.get(2)?.as_i64()).ok()?,
            }),
            _ => None,
        }
    }

    fn instant(&mut self, event: &Line<'_>, builder: &mut TraceBuilder) -> Result<(), Odd> {
        let time = time(event.start())?;
        let lane = match event.lane {
            Some(lane) => Some(*self.placed.lanes.get(lane).ok_or(Odd::Lane)?),
            None => None,
        };
        let source: SourceId = match (lane, event.source) {
            (Some(lane), _) => builder.so_far().lane(lane).source,
            (None, Some(source)) => *self.placed.sources.get(source).ok_or(Odd::Lane)?,
            (None, None) => return Err(Odd::Lane),
        };
        let name = builder.intern(&event.name);
        builder.add_instant(Instant {
            time,
            lane,
            source,
            name,
            args: ArgsRef::NONE,
        });
        Ok(())
    }

    fn sample(&mut self, event: &Line<'_>, builder: &mut TraceBuilder) -> Result<(), Odd> {
        let time = time(event.start())?;
        let counter = event.counter.and_then(|c| self.placed.counters.get(c));
        let counter = *counter.ok_or(Odd::Lane)?;
        let value = event.sample().ok_or(Odd::Broken)?;
        let counter = builder.counter_mut(counter);
        counter.times.push(time);
        counter.values.push(value);
        Ok(())
    }

    /// Links spans by their numbers.
    fn link(&mut self, builder: &mut TraceBuilder) {
        // In order as they were written.
        self.raw.sort_by_key(|&(number, _)| number);
        for link in std::mem::take(&mut self.links) {
            let span = |number: u64| {
                let place = self.raw.binary_search_by_key(&number, |r| r.0).ok()?;
                self.raw.get(place).map(|r| r.1)
            };
            match link {
                Link::Call(to, call) => match span(call) {
                    Some(from) => builder.link_launch(from, to),
                    None => self.tally.add_many(Odd::Link, 1, None),
                },
                Link::Backward(from, backward) => match span(backward) {
                    Some(to) => builder.link_fwdbwd(from, to),
                    None => self.tally.add_many(Odd::Link, 1, None),
                },
            }
        }
    }

    /// Keeps the sources without a clock as far from the others as they were: they would begin where the trace begins.
    fn keep_distances(&self, builder: &mut TraceBuilder) {
        let begins = |wanted: &dyn Fn(&Source) -> bool| {
            let all = self.placed.sources.iter().zip(&self.firsts);
            let wanted = all.filter(|&(&s, _)| wanted(builder.so_far().source(s)));
            wanted.filter_map(|(_, first)| Some((*first)?.1)).min()
        };
        // As clocks are aligned: by those that are known, and by what joins a run only where nothing else is there.
        let known = |s: &Source| matches!(s.clock, Clock::Unix { .. });
        let begin = begins(&|s| known(s) && !s.tracer.joins_runs)
            .or_else(|| begins(&known))
            .or_else(|| begins(&|_| true));
        let Some(begin) = begin else {
            return;
        };
        for (&source, first) in self.placed.sources.iter().zip(&self.firsts) {
            let of = builder.source_mut(source);
            if of.clock == Clock::Unknown {
                of.shift_ns = first.map_or(0, |f| f.1).saturating_sub(begin);
            }
        }
    }

    fn tell(&self, path: &Path, (disk, text): (u64, u64), ctx: &mut Context<'_>) {
        let window = self.placed.window;
        for (i, (&source, from)) in self
            .placed
            .sources
            .iter()
            .zip(&self.placed.from)
            .enumerate()
        {
            let whole = i == 0;
            let facts = [
                ("cut from", from.clone()),
                ("window", format_ns(window.len())),
            ];
            ctx.report.files.push(FileReport {
                path: path.to_owned(),
                source: Some(source),
                format: format!("window of {from}, saved by Stallscope"),
                bytes: if whole { disk } else { 0 },
                inflated_bytes: if whole { text } else { 0 },
                events: if whole { self.read } else { 0 },
                facts: facts.map(|(k, v)| (k.to_owned(), v)).to_vec(),
                ..FileReport::default()
            });
        }
    }
}

fn time(ns: Option<i64>) -> Result<i64, Odd> {
    ns.filter(|ns| ns.abs() <= TIME_LIMIT).ok_or(Odd::Time)
}
