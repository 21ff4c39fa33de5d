//! Rows of a table into the model: lanes and processes by name, counters, instants.

use rustc_hash::FxHashMap;

use super::args;
use super::rows::{Chunk, Layout, Row, What};
use crate::import::contract::names::file_name;
use crate::model::{
    CatId, Counter, CounterId, Instant, Lane, LaneId, LaneKind, NameId, Process, ProcessId, Source,
    SourceId, SpanRow, TraceBuilder,
};

/// Lanes, and counters, that are told apart: with a lane for each row a table would take many times its own memory.
const MOST: usize = 10_000;

/// The lane and the counter of the rest.
const REST: &str = "(others)";

/// The category of spans whose row names no layer.
const NO_LAYER: &str = "spans";

/// A table in the model.
pub(super) struct Merged {
    pub source: SourceId,
    /// What lanes and spans without a name are called.
    file: String,
    /// The unit of values.
    unit: Option<String>,
    processes: FxHashMap<String, ProcessId>,
    /// By process and lane.
    lanes: FxHashMap<[String; 2], LaneId>,
    /// By process, lane and name.
    counters: FxHashMap<[String; 3], CounterId>,
    pub spans: u64,
    pub samples: u64,
    pub instants: u64,
    /// There are more lanes or counters: the rest share one.
    pub crowded: bool,
}

/// What the texts of one chunk became, by their numbers.
struct Known<'c> {
    texts: &'c [Box<[u8]>],
    names: Vec<Option<NameId>>,
    layers: Vec<Option<CatId>>,
    lanes: FxHashMap<[u32; 2], LaneId>,
    counters: FxHashMap<[u32; 3], CounterId>,
}

impl Known<'_> {
    fn text(&self, number: u32) -> String {
        String::from_utf8_lossy(&self.texts[number as usize]).into_owned()
    }
}

impl Merged {
    /// Adds the file.
    pub fn new(source: Source, layout: &Layout, builder: &mut TraceBuilder) -> Self {
        let name = file_name(&source.path);
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let id = builder.add_source(source);
        args::keep(&layout.header, id, builder);
        Self {
            file: name.to_owned(),
            unit: layout.header.value_unit.clone(),
            source: id,
            processes: FxHashMap::default(),
            lanes: FxHashMap::default(),
            counters: FxHashMap::default(),
            spans: 0,
            samples: 0,
            instants: 0,
            crowded: false,
        }
    }

    /// Takes the rows of the next stretch over.
    pub fn take(&mut self, chunk: &Chunk, builder: &mut TraceBuilder) {
        let texts = chunk.texts.all();
        let mut known = Known {
            texts,
            names: vec![None; texts.len()],
            layers: vec![None; texts.len()],
            lanes: FxHashMap::default(),
            counters: FxHashMap::default(),
        };
        for row in &chunk.rows {
            match row.what {
                What::Sample(value) => {
                    let id = self.counter(row, &mut known, builder);
                    let counter = builder.counter_mut(id);
                    counter.times.push(row.start);
                    counter.values.push(value);
                    self.samples += 1;
                }
                What::Span(dur) => {
                    let span = SpanRow {
                        lane: self.lane(row, &mut known, builder),
                        name: self.name(row.name, &mut known, builder),
                        cat: layer(row.layer, &mut known, builder),
                        start: row.start,
                        dur,
                        args: row.args,
                    };
                    builder.add_span(span);
                    self.spans += 1;
                }
                What::Instant => {
                    let instant = Instant {
                        time: row.start,
                        lane: Some(self.lane(row, &mut known, builder)),
                        source: self.source,
                        name: self.name(row.name, &mut known, builder),
                        args: row.args,
                    };
                    builder.add_instant(instant);
                    self.instants += 1;
                }
            }
        }
    }

    fn name(&self, number: u32, known: &mut Known<'_>, builder: &mut TraceBuilder) -> NameId {
        let id = known.names[number as usize].unwrap_or_else(|| match number {
            0 => builder.intern(&self.file),
            _ => builder.intern(&known.text(number)),
        });
        known.names[number as usize] = Some(id);
        id
    }

    fn lane(&mut self, row: &Row, known: &mut Known<'_>, builder: &mut TraceBuilder) -> LaneId {
        let numbers = [row.process, row.lane];
        if let Some(&id) = known.lanes.get(&numbers) {
            return id;
        }
        let mut key = numbers.map(|n| known.text(n));
        if self.lanes.len() >= MOST && !self.lanes.contains_key(&key) {
            key = [String::new(), REST.to_owned()];
            self.crowded = true;
        }
        let id = match self.lanes.get(&key) {
            Some(&id) => id,
            None => {
                let id = self.new_lane(&key, builder);
                self.lanes.insert(key, id);
                id
            }
        };
        known.lanes.insert(numbers, id);
        id
    }

    fn new_lane(&mut self, [process, name]: &[String; 2], builder: &mut TraceBuilder) -> LaneId {
        let title = match (process.is_empty(), name.is_empty()) {
            (true, true) => self.file.clone(),
            (false, true) => process.clone(),
            (true, false) => name.clone(),
            (false, false) => format!("{process} {name}"),
        };
        let id = self.process(process, builder);
        let thread = if name.is_empty() { &self.file } else { name };
        let key = format!("S{process}.{thread}");
        builder.add_lane(Lane {
            name: title,
            process: id,
            thread: Some(thread.clone()),
            sort_index: i64::try_from(self.lanes.len()).unwrap_or(i64::MAX),
            ..Lane::new(self.source, LaneKind::Cpu, key)
        })
    }

    fn process(&mut self, name: &str, builder: &mut TraceBuilder) -> Option<ProcessId> {
        if name.is_empty() {
            return None;
        }
        let sort_index = i64::try_from(self.processes.len()).unwrap_or(i64::MAX);
        let source = self.source;
        let new = || {
            builder.add_process(Process {
                source,
                pid: name.to_owned(),
                name: None,
                space: None,
                host: None,
                rank: None,
                role: None,
                parent: None,
                sort_index,
            })
        };
        Some(*self.processes.entry(name.to_owned()).or_insert_with(new))
    }

    /// The counter of a row: a track by lane, in which each name is a series; without a lane each name is a track.
    fn counter(
        &mut self,
        row: &Row,
        known: &mut Known<'_>,
        builder: &mut TraceBuilder,
    ) -> CounterId {
        let numbers = [row.process, row.lane, row.name];
        if let Some(&id) = known.counters.get(&numbers) {
            return id;
        }
        let mut key = numbers.map(|n| known.text(n));
        if self.counters.len() >= MOST && !self.counters.contains_key(&key) {
            key = [String::new(), String::new(), REST.to_owned()];
            self.crowded = true;
        }
        let id = match self.counters.get(&key) {
            Some(&id) => id,
            None => {
                let id = self.new_counter(&key, builder);
                self.counters.insert(key, id);
                id
            }
        };
        known.counters.insert(numbers, id);
        id
    }

    fn new_counter(
        &mut self,
        [process, lane, name]: &[String; 3],
        builder: &mut TraceBuilder,
    ) -> CounterId {
        let name = if name.is_empty() { &self.file } else { name };
        let title = match &self.unit {
            Some(unit) => format!("{name} ({unit})"),
            None => name.clone(),
        };
        let (name, series) = if lane.is_empty() {
            (title, String::new())
        } else {
            (lane.clone(), title)
        };
        let process = self.process(process, builder);
        builder.add_counter(Counter {
            process,
            source: self.source,
            name,
            series,
            ..Counter::default()
        })
    }
}

fn layer(number: u32, known: &mut Known<'_>, builder: &mut TraceBuilder) -> CatId {
    let id = known.layers[number as usize].unwrap_or_else(|| match number {
        0 => builder.category(NO_LAYER, true),
        _ => builder.category(&known.text(number), true),
    });
    known.layers[number as usize] = Some(id);
    id
}
