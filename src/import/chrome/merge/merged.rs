//! Chunks into the model, in file order: their numbers become those of the trace.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::early::Early;
use super::lanes::LaneTable;
use super::links::{Links, SyncKind, SyncRow};
use super::memory::Memory;
use super::pairs::Mark;
use crate::import::chrome::read::category::{Class, is_torch, todays_name};
use crate::import::chrome::read::chunk::{
    Chunk, Extra, Id, LaneClass, LaneKey, MarkEvent, NONE, PhaseCounts, SpanEvent,
};
use crate::import::chrome::read::text::{shortened, unescape};
use crate::import::chrome::tally::{Odd, Tally};
use crate::import::contract::importer::{Context, UNIX_FROM};
use crate::import::contract::progress::Progress;
use crate::model::{
    ArgsRef, CatId, Clock, CopyInfo, Counter, CounterId, NameId, RawSpan, Source, SourceId,
    SpanRow, TraceBuilder,
};
use crate::time::TimeRange;

/// A span at time 0, kept back until it is known whether the file starts there.
struct Held {
    event: SpanEvent,
    key: u32,
    name: NameId,
    cat: CatId,
    class: Class,
    extra: Option<Extra>,
    /// Offset of a begin.
    begin: Option<u64>,
    /// Offset of the event, where it is at time 0.
    offset: u64,
}

/// An instant whose lane may not exist yet.
struct HeldInstant {
    ts: i64,
    key: Option<u32>,
    name: NameId,
    args: ArgsRef,
    /// Offset of the event, where it is at time 0.
    offset: u64,
}

/// What one file has come to so far.
pub(crate) struct Merged {
    /// The file in the trace, once it has given anything.
    pub source: SourceId,
    /// Its lanes.
    pub lanes: LaneTable,
    /// Its links.
    pub links: Links,
    /// Begins and ends.
    pub marks: Vec<Mark>,
    /// Oddities.
    pub tally: Tally,
    /// Elements.
    pub events: u64,
    /// Events by phase.
    pub phases: PhaseCounts,
    /// X spans at times other than 0.
    pub first: Option<i64>,
    /// Latest end of them.
    pub last: i64,
    /// The spans at times other than 0 that start first and last: time and offset.
    pub ends: Option<[(i64, u64); 2]>,
    /// Spans of the trace before those of the file.
    pub first_span: usize,
    /// Documents before the one that is read.
    documents: u64,
    /// Categories of torch.profiler were seen.
    pub torch: bool,
    cats: BTreeMap<Vec<u8>, CatId>,
    counters: BTreeMap<(Id, NameId, Id, u32), CounterId>,
    held: Vec<Held>,
    instants: Vec<HeldInstant>,
    memory: Memory,
    capture: Option<TimeRange>,
    repaired_names: BTreeMap<NameId, ()>,
}

/// Numbers of one chunk as numbers of the trace.
struct Numbers {
    names: Vec<NameId>,
    keys: Vec<u32>,
    texts: Vec<u32>,
    cats: Vec<Option<CatId>>,
    /// Offset of the window.
    at: u64,
}

impl Merged {
    /// Nothing yet, of a file that was added to the trace.
    pub fn new(source: Source, early: Early, builder: &mut TraceBuilder) -> Self {
        Self {
            source: builder.add_source(source),
            lanes: LaneTable::default(),
            links: Links::default(),
            marks: Vec::new(),
            tally: early.tally,
            events: early.events,
            phases: PhaseCounts::default(),
            first: None,
            last: i64::MIN,
            ends: None,
            first_span: builder.so_far().spans().len(),
            documents: 0,
            torch: false,
            cats: BTreeMap::new(),
            counters: BTreeMap::new(),
            held: Vec::new(),
            instants: Vec::new(),
            memory: Memory::default(),
            capture: None,
            repaired_names: BTreeMap::new(),
        }
    }

    /// Says of which document of the file what follows is.
    pub fn document(&mut self, number: u64) {
        if number != self.documents {
            self.documents = number;
            self.lanes.next_document();
        }
    }

    /// Takes a chunk over. `w` is the window it was read from, at offset `at` of the stream.
    pub fn take(&mut self, chunk: &mut Chunk, w: &[u8], at: u64, ctx: &mut Context<'_>) {
        self.events += chunk.events;
        ctx.progress.add_events(chunk.events);
        for (sum, n) in self.phases.0.iter_mut().zip(chunk.phases.0) {
            *sum += n;
        }
        self.tally.take(&mut chunk.tally);
        if let Some([first, last]) = chunk.ends {
            let ends = self.ends.get_or_insert([first, last]);
            if first.0 < ends[0].0 {
                ends[0] = first;
            }
            if last.0 > ends[1].0 {
                ends[1] = last;
            }
        }
        let mut numbers = self.numbers(chunk, w, at, ctx.builder);
        self.spans(chunk, w, &mut numbers, ctx.builder);
        for flow in &chunk.flows {
            let mut flow = *flow;
            flow.lane = numbers.keys[flow.lane as usize];
            flow.id = text_id(flow.id, &numbers.texts);
            self.links.flow(flow);
        }
        let mut zeros = chunk.zero_instants.iter().copied();
        for instant in &chunk.instants {
            let at_zero = instant.ts == 0;
            self.instants.push(HeldInstant {
                ts: instant.ts,
                key: numbers.keys.get(instant.lane as usize).copied(),
                name: name_id(instant.name, &numbers.names, ctx.builder),
                args: instant.args,
                offset: if at_zero {
                    zeros.next().unwrap_or_default()
                } else {
                    0
                },
            });
        }
        for meta in &chunk.metas {
            let (pid, tid) = (
                text_id(meta.pid, &numbers.texts),
                text_id(meta.tid, &numbers.texts),
            );
            let text = numbers
                .texts
                .get(meta.text as usize)
                .map_or(String::new(), |&t| self.lanes.text(Id::Text(t)));
            self.lanes.meta(meta.kind, pid, tid, &text, meta.sort);
        }
        self.samples(chunk, &numbers, ctx.builder);
        for event in &chunk.memory {
            let pid = self.lanes.pid(text_id(event.pid, &numbers.texts));
            self.memory.add(pid, *event);
        }
    }

    fn numbers(&mut self, chunk: &Chunk, w: &[u8], at: u64, builder: &mut TraceBuilder) -> Numbers {
        let names = chunk
            .names
            .ranges()
            .map(|range| self.name(range, w, at, builder))
            .collect();
        let texts: Vec<u32> = chunk
            .texts
            .ranges()
            .map(|range| {
                let offset = at + range.start as u64;
                let text = self.kept(unescape(&w[range]).0, offset);
                self.lanes.texts.intern(&text).0
            })
            .collect();
        let cats: Vec<Range<usize>> = chunk.cats.ranges().collect();
        let keys = chunk
            .lanes
            .keys()
            .iter()
            .map(|key| {
                let a = match (key.class, key.a) {
                    (LaneClass::Async, Id::Text(cat)) => {
                        let range = cats[cat as usize].clone();
                        let offset = at + range.start as u64;
                        let text = self.kept(unescape(&w[range]).0, offset);
                        Id::Text(self.lanes.texts.intern(&text).0)
                    }
                    (_, a) => text_id(a, &texts),
                };
                self.lanes.key(LaneKey {
                    class: key.class,
                    a,
                    b: text_id(key.b, &texts),
                    scope: text_id(key.scope, &texts),
                    document: 0,
                })
            })
            .collect();
        Numbers {
            names,
            keys,
            texts,
            cats: vec![None; cats.len()],
            at,
        }
    }

    /// A text as long as it may be.
    fn kept<'t>(&mut self, text: Cow<'t, str>, offset: u64) -> Cow<'t, str> {
        match shortened(&text) {
            Some(short) => {
                self.tally.add(Odd::LongText, offset);
                Cow::Owned(short)
            }
            None => text,
        }
    }

    fn name(
        &mut self,
        range: Range<usize>,
        w: &[u8],
        at: u64,
        builder: &mut TraceBuilder,
    ) -> NameId {
        let offset = at + range.start as u64;
        let (text, repairs) = unescape(&w[range]);
        let text = self.kept(text, offset);
        let id = builder.intern(&text);
        if repairs.any() && self.repaired_names.insert(id, ()).is_none() {
            for (yes, odd) in [
                (repairs.escape, Odd::Escape),
                (repairs.utf8, Odd::Utf8),
                (repairs.surrogate, Odd::Surrogate),
                (repairs.control, Odd::Control),
            ] {
                if yes {
                    self.tally.add(odd, offset);
                }
            }
        }
        id
    }

    fn spans(
        &mut self,
        chunk: &Chunk,
        w: &[u8],
        numbers: &mut Numbers,
        builder: &mut TraceBuilder,
    ) {
        let mut marks = chunk.marks.iter().peekable();
        let mut zeros = chunk.zero_spans.iter().copied();
        for (i, event) in chunk.spans.iter().enumerate() {
            // Ends that stand before this span, then its own mark if it is a begin.
            let mut begin = None;
            while let Some(mark) = marks.next_if(|m| m.span == NONE || m.span as usize <= i) {
                if mark.span as usize == i {
                    begin = Some(mark.offset);
                    break;
                }
                self.end(mark, chunk, w, numbers, builder);
            }
            let cat = match numbers.cats.get(event.cat as usize) {
                Some(&Some(cat)) => cat,
                _ => self.cat(event.cat, chunk, w, numbers, builder),
            };
            let key = numbers.keys[event.lane as usize];
            if event.ts != 0
                && event.extra == NONE
                && begin.is_none()
                && let Some(lane) = self.lanes.existing(key)
                && let Some(&name) = numbers.names.get(event.name as usize)
                && chunk.cats.class(event.cat) != Class::Recorder
            {
                self.note_time(event);
                builder.add_span(SpanRow {
                    lane,
                    name,
                    cat,
                    start: event.ts,
                    dur: event.dur,
                    args: event.args,
                });
                continue;
            }
            let class = chunk.cats.class(event.cat);
            let mut extra = chunk.extras.get(event.extra as usize).copied();
            if let Some(extra) = &mut extra
                && extra.process != Id::Missing
            {
                extra.process = text_id(extra.process, &numbers.texts);
            }
            let held = Held {
                event: *event,
                key,
                name: name_id(event.name, &numbers.names, builder),
                cat,
                class,
                extra,
                begin,
                offset: if event.ts == 0 {
                    zeros.next().unwrap_or_default()
                } else {
                    0
                },
            };
            if event.ts == 0 {
                self.held.push(held);
            } else {
                self.note_time(event);
                self.add(&held, builder);
            }
        }
        for mark in marks {
            self.end(mark, chunk, w, numbers, builder);
        }
    }

    #[inline]
    fn note_time(&mut self, event: &SpanEvent) {
        self.first = Some(self.first.map_or(event.ts, |f| f.min(event.ts)));
        self.last = self.last.max(event.ts.saturating_add(event.dur));
    }

    fn end(
        &mut self,
        mark: &MarkEvent,
        chunk: &Chunk,
        w: &[u8],
        numbers: &mut Numbers,
        builder: &mut TraceBuilder,
    ) {
        let cat = self.cat(mark.cat, chunk, w, numbers, builder);
        self.marks.push(Mark {
            lane: numbers.keys[mark.lane as usize],
            ts: mark.ts,
            offset: mark.offset,
            name: numbers.names.get(mark.name as usize).map_or(NONE, |n| n.0),
            cat,
            span: NONE,
        });
    }

    /// The category of the trace for one of a chunk; named by the first span that has it.
    fn cat(
        &mut self,
        cat: u32,
        chunk: &Chunk,
        w: &[u8],
        numbers: &mut Numbers,
        builder: &mut TraceBuilder,
    ) -> CatId {
        if let Some(&Some(cat)) = numbers.cats.get(cat as usize) {
            return cat;
        }
        let range = chunk.cats.range(cat);
        let offset = numbers.at + range.as_ref().map_or(0, |r| r.start as u64);
        let text = range.map_or(&b""[..], |r| &w[r]);
        let id = self.category(text, offset, chunk.cats.class(cat), builder);
        if let Some(slot) = numbers.cats.get_mut(cat as usize) {
            *slot = Some(id);
        }
        id
    }

    fn category(
        &mut self,
        text: &[u8],
        offset: u64,
        class: Class,
        builder: &mut TraceBuilder,
    ) -> CatId {
        if let Some(&cat) = self.cats.get(text) {
            return cat;
        }
        // Other programs than torch.profiler give spans no category.
        let counts = class != Class::Recorder;
        let raw = unescape(text).0;
        if let Some(short) = shortened(&raw) {
            self.tally.add(Odd::LongText, offset);
            return builder.category(&short, counts);
        }
        let name = todays_name(raw);
        self.torch |= is_torch(&name);
        let cat = builder.category(&name, counts);
        self.cats.insert(text.to_owned(), cat);
        cat
    }

    fn add(&mut self, held: &Held, builder: &mut TraceBuilder) {
        let event = &held.event;
        let lane = match self.lanes.existing(held.key) {
            Some(lane) => lane,
            None => self.lanes.lane(held.key, self.source, builder),
        };
        let raw = builder.add_span(SpanRow {
            lane,
            name: held.name,
            cat: held.cat,
            start: event.ts,
            dur: event.dur,
            args: event.args,
        });
        if let Some(offset) = held.begin {
            self.marks.push(Mark {
                lane: held.key,
                ts: event.ts,
                offset,
                name: held.name.0,
                cat: held.cat,
                span: raw.0,
            });
        }
        if let Some(extra) = held.extra {
            self.link(raw, held, extra, builder);
        } else if held.class == Class::Recorder {
            let name = builder.so_far().name(held.name);
            if name.starts_with("PyTorch Profiler") {
                let range = TimeRange::new(event.ts, event.ts.saturating_add(event.dur));
                self.capture = Some(self.capture.map_or(range, |c| TimeRange {
                    start: c.start.min(range.start),
                    end: c.end.max(range.end),
                }));
            }
        }
    }

    fn link(&mut self, raw: RawSpan, held: &Held, extra: Extra, builder: &mut TraceBuilder) {
        if let Some(rank) = extra.rank {
            let lane = builder.so_far().spans().lane(crate::model::SpanId(raw.0));
            self.links.ranks.entry(lane).or_insert(rank);
        }
        match held.class {
            Class::Api => match extra.correlation {
                Some(c) => self.links.calls.push((c, raw)),
                None => self.links.calls_without.push(raw),
            },
            Class::Kernel | Class::Memcpy | Class::Memset => {
                if extra.process != Id::Missing {
                    self.links.named.push((raw, self.lanes.pid(extra.process)));
                }
                match extra.correlation {
                    Some(c) => self.links.operations.push((c, raw)),
                    None => self.links.operations_without.push(raw),
                }
                if held.class != Class::Kernel {
                    let info = CopyInfo {
                        bytes: extra.bytes,
                        kind: extra.copy.filter(|_| held.class == Class::Memcpy),
                        raw_kind: None,
                    };
                    builder.set_copy(raw, info);
                }
            }
            Class::GpuSync => {
                let trace = builder.so_far();
                let lane = trace.spans().lane(crate::model::SpanId(raw.0));
                if let Some(kind) = SyncKind::of(trace.name(held.name)) {
                    self.links.syncs.push(SyncRow { kind, extra, lane });
                }
            }
            _ => {}
        }
    }

    fn samples(&mut self, chunk: &Chunk, numbers: &Numbers, builder: &mut TraceBuilder) {
        for sample in &chunk.samples {
            let pid = text_id(sample.pid, &numbers.texts);
            let id = text_id(sample.id, &numbers.texts);
            let series = numbers.texts[sample.series as usize];
            let name = name_id(sample.name, &numbers.names, builder);
            let counter = match self.counters.get(&(pid, name, id, series)) {
                Some(&counter) => counter,
                None => {
                    let process = self
                        .lanes
                        .process(self.lanes.pid(pid), self.source, builder);
                    let mut track = builder.so_far().name(name).to_owned();
                    if id != Id::Missing {
                        track = format!("{track} [{}]", self.lanes.text(id));
                    }
                    let counter = builder.add_counter(Counter {
                        process,
                        source: self.source,
                        name: track,
                        series: self.lanes.text(Id::Text(series)),
                        ..Counter::default()
                    });
                    self.counters.insert((pid, name, id, series), counter);
                    counter
                }
            };
            let counter = builder.counter_mut(counter);
            counter.times.push(sample.ts);
            counter.values.push(sample.value);
        }
    }

    /// Decides about spans at time 0, adds instants, closes begins.
    pub fn complete(&mut self, builder: &mut TraceBuilder, progress: &Progress) {
        let zero_is_far = self.zero_is_far();
        for held in std::mem::take(&mut self.held) {
            if zero_is_far {
                self.tally.add(Odd::ZeroTime, held.offset);
            } else {
                self.add(&held, builder);
            }
        }
        for instant in std::mem::take(&mut self.instants) {
            if zero_is_far && instant.ts == 0 {
                self.tally.add(Odd::ZeroTime, instant.offset);
                continue;
            }
            let lane = instant
                .key
                .map(|key| self.lanes.lane(key, self.source, builder));
            builder.add_instant(crate::model::Instant {
                time: instant.ts,
                lane,
                source: self.source,
                name: instant.name,
                args: instant.args,
            });
        }
        std::mem::take(&mut self.memory).finish(&mut self.lanes, self.source, builder);
        let marks = std::mem::take(&mut self.marks);
        super::pairs::close(marks, builder, &mut self.tally, progress);
        if let Some(capture) = self.capture {
            builder.set_capture(self.source, capture);
        }
    }

    /// True where all times but 0 lie so far from 0 that a span there was not recorded at its time.
    fn zero_is_far(&self) -> bool {
        const MINUTE: i64 = 60_000_000_000;
        self.first.is_some_and(|first| {
            let length = self.last.saturating_sub(first);
            first > MINUTE && first / 10 > length
        })
    }

    /// How the file's clock relates to Unix time, and whether that contradicts its base time.
    pub fn clock(&self, base: Option<i64>) -> (Clock, bool) {
        let absolute = self.first.is_some_and(|first| first >= UNIX_FROM);
        match (base, absolute) {
            (Some(zero), false) => (Clock::Unix { zero }, false),
            (base, true) => (Clock::Unix { zero: 0 }, base.is_some_and(|b| b != 0)),
            (None, false) => (Clock::Unknown, false),
        }
    }
}

fn text_id(id: Id, texts: &[u32]) -> Id {
    match id {
        Id::Text(t) => Id::Text(texts[t as usize]),
        other => other,
    }
}

fn name_id(name: u32, names: &[NameId], builder: &mut TraceBuilder) -> NameId {
    match names.get(name as usize) {
        Some(&id) => id,
        None => builder.intern(""),
    }
}
