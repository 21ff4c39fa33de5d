//! Which events of a file stay.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use serde_json::Value;

use super::flows::{Flow, Flows, Place};
use crate::import::chrome::read::category::Class;
use crate::import::chrome::read::event::{Event, IdScope};
use crate::import::chrome::read::parser::{Parser, Scalar, Time};
use crate::import::chrome::read::text::{shortened, unescape};
use crate::import::text::lenient;
use crate::model::{Cut, SourceId, Trace};

/// Events of one file, and which of them stay.
pub(super) struct Sieve<'a> {
    cut: &'a Cut,
    /// Trace time = time in the file + this.
    shift: i64,
    /// Starts, lengths and names of the spans that stay.
    wanted: FxHashSet<u64>,
    /// Number of spans that stay in the model, and in the text.
    expected: u64,
    found: u64,
    /// Events that stay or may.
    entries: Vec<Entry>,
    /// Events that were seen.
    seen: u64,
    /// Correlations of spans that stay, and rows of synchronisation that stay with one of them.
    correlations: FxHashSet<i64>,
    syncs: Vec<(i64, usize)>,
    /// Names of processes and threads: place, whether of the thread alone, entry.
    names: Vec<(Place, bool, usize)>,
    /// Places of what stays.
    places: FxHashSet<Place>,
    processes: FxHashSet<u64>,
    /// The last sample before the window of each series: its time and entry.
    samples: FxHashMap<u64, (i64, usize)>,
    flows: Flows,
}

struct Entry {
    /// Its place in the file.
    at: u64,
    text: Vec<u8>,
    stays: bool,
}

impl<'a> Sieve<'a> {
    pub fn new(trace: &Trace, source: SourceId, cut: &'a Cut) -> Self {
        let (spans, shift) = (trace.spans(), trace.source(source).to_trace_ns);
        let of_source = |&span: &_| trace.lane(spans.lane(span)).source == source;
        let mut wanted = FxHashSet::default();
        let mut expected = 0;
        for span in cut.spans().filter(of_source) {
            if trace.category(spans.cat(span)).name == RECORDER {
                continue;
            }
            expected += 1;
            let start = spans.start(span).saturating_sub(shift);
            wanted.insert(hash(&(start, spans.dur(span), trace.span_name(span))));
        }
        Self {
            cut,
            shift,
            wanted,
            expected,
            found: 0,
            entries: Vec::new(),
            seen: 0,
            correlations: FxHashSet::default(),
            syncs: Vec::new(),
            names: Vec::new(),
            places: FxHashSet::default(),
            processes: FxHashSet::default(),
            samples: FxHashMap::default(),
            flows: Flows::new(trace, source, cut),
        }
    }

    /// Looks at an event; none where the file cannot be taken apart event by event.
    pub fn take(
        &mut self,
        parser: &Parser<'_, '_>,
        (start, end): (usize, usize),
        event: &Event<'_>,
    ) -> Option<()> {
        let w = parser.w;
        let text = &w[start..end];
        let place = (id(event.pid), id(event.tid));
        let &[phase] = event.ph else {
            return Some(());
        };
        let raw_name = event.name.map_or(&b""[..], |(a, b)| &w[a..b]);
        if phase == b'M' {
            let entry = self.add(text, false);
            let of_thread = raw_name.starts_with(b"thread_");
            self.names.push((place, of_thread, entry));
            return Some(());
        }
        let Time::Ns(ts) = event.ts else {
            // The importer leaves it out as well.
            return Some(());
        };
        let class = parser.chunk.cats.class(event.cat);
        match phase {
            b'X' => self.span(
                text,
                (class, category(parser, event)),
                ts,
                place,
                raw_name,
                event,
            ),
            b'B' | b'E' | b'b' | b'e' | b'n' | b'S' | b'T' | b'p' | b'F' => return None,
            b's' | b't' | b'f' => {
                let key = hash(&(
                    category(parser, event),
                    raw_name,
                    id(event.id),
                    (event.id_scope == IdScope::Process).then_some(place.0),
                ));
                if self.flows.may_stay(key, ts) {
                    let entry = self.add(text, false);
                    self.flows.add(Flow {
                        key,
                        phase,
                        forward: class == Class::ForwardBackward,
                        ts,
                        place,
                        entry,
                    });
                }
            }
            _ => {
                let args = event.args.map(|(a, b)| &w[a..b]);
                let series = match phase {
                    b'C' => Some(hash(&(place.0, raw_name, id(event.id), keys(args)))),
                    _ if raw_name == b"[memory]" => Some(hash(&(place.0, device(args)))),
                    _ => None,
                };
                self.moment(text, ts, place, series);
            }
        }
        Some(())
    }

    fn add(&mut self, text: &[u8], stays: bool) -> usize {
        self.seen += 1;
        self.entries.push(Entry {
            at: self.seen,
            text: text.to_vec(),
            stays,
        });
        self.entries.len() - 1
    }

    fn span(
        &mut self,
        text: &[u8],
        (class, category): (Class, &[u8]),
        ts: i64,
        place: Place,
        raw_name: &[u8],
        event: &Event<'_>,
    ) {
        let dur = match event.dur {
            Time::Ns(dur) if class != Class::Recorder => dur.max(0),
            // The recorder's own row is written anew; what has no length is left out by the importer as well.
            _ => return,
        };
        let name = unescape(raw_name).0;
        let name = shortened(&name).map_or(name, Cow::Owned);
        let correlation = event.extra.and_then(|(_, raw)| raw.extra.correlation);
        if !self.wanted.contains(&hash(&(ts, dur, &*name))) {
            if let (Class::GpuSync, Some(correlation)) = (class, correlation) {
                let entry = self.add(text, false);
                self.syncs.push((correlation, entry));
            }
            return;
        }
        self.found += 1;
        self.add(text, true);
        self.stays(place);
        self.correlations.extend(correlation);
        let is_op =
            category.eq_ignore_ascii_case(b"cpu_op") || category.eq_ignore_ascii_case(b"operator");
        self.flows.span(place, (ts, ts.saturating_add(dur)), is_op);
    }

    /// An instant, or a sample of a series: of that the last one before the window stays, too.
    fn moment(&mut self, text: &[u8], ts: i64, place: Place, series: Option<u64>) {
        let time = ts.saturating_add(self.shift);
        if self.cut.holds(time) {
            self.add(text, true);
            self.stays(place);
            return;
        }
        let Some(series) = series.filter(|_| time < self.cut.window().start) else {
            return;
        };
        let before = self.samples.get(&series).copied();
        if before.is_some_and(|(at, _)| at > time) {
            return;
        }
        let entry = match before {
            // It takes the room of the one that it replaces: there may be many before the window.
            Some((_, entry)) => {
                self.seen += 1;
                self.entries[entry].at = self.seen;
                text.clone_into(&mut self.entries[entry].text);
                entry
            }
            None => self.add(text, true),
        };
        self.samples.insert(series, (time, entry));
        self.stays(place);
    }

    fn stays(&mut self, place: Place) {
        self.places.insert(place);
        self.processes.insert(place.0);
    }

    /// The texts of what stays; none where spans of the model were not found in the file.
    pub fn finish(mut self) -> Option<Vec<Vec<u8>>> {
        if self.found < self.expected {
            return None;
        }
        for &(correlation, entry) in &self.syncs {
            self.entries[entry].stays = self.correlations.contains(&correlation);
        }
        for &(place, of_thread, entry) in &self.names {
            self.entries[entry].stays = match of_thread {
                true => self.places.contains(&place),
                false => self.processes.contains(&place.0),
            };
        }
        for entry in self.flows.kept() {
            self.entries[entry].stays = true;
        }
        self.entries.retain(|e| e.stays);
        self.entries.sort_by_key(|e| e.at);
        Some(self.entries.into_iter().map(|e| e.text).collect())
    }
}

/// The category of the recorder's own rows.
const RECORDER: &str = "Trace";

/// One number for anything.
fn hash(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// An id, equal where its text is.
fn id(scalar: Scalar<'_>) -> u64 {
    match scalar {
        Scalar::Missing => 0,
        Scalar::Int(i) => hash(&i.to_string().as_bytes()),
        Scalar::Text(text) => hash(&text),
    }
}

fn category<'w>(parser: &Parser<'w, '_>, event: &Event<'_>) -> &'w [u8] {
    let range = parser.chunk.cats.range(event.cat);
    range
        .and_then(|range| parser.w.get(range))
        .unwrap_or_default()
}

/// The series that a sample is of.
fn keys(args: Option<&[u8]>) -> Vec<String> {
    let args = args.and_then(lenient::args).unwrap_or_default();
    args.keys().cloned().collect()
}

/// The device that an allocation is on.
fn device(args: Option<&[u8]>) -> [Option<Value>; 2] {
    let args = args.and_then(lenient::args).unwrap_or_default();
    ["Device Type", "Device Id"].map(|key| args.get(key).cloned())
}
