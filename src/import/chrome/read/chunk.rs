//! The events of one window of the stream, in columns with numbers of their own: what a parsing thread hands over.
//!
//! Nothing here depends on other windows, so that windows can be parsed in any order and on any thread. Texts are
//! ranges of the window; the merge turns them into names.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::category::Class;
use super::key::{ARG_CLASSES, ARG_PLACES, KEYS};
use super::shape::Shape;
use crate::import::chrome::tally::Tally;
use crate::model::{ArgsRef, CopyKind};

/// "None" of the 32-bit numbers here.
pub(crate) const NONE: u32 = u32::MAX;

/// An identifier as written, equal by value: `5`, `5.0`, `"5"` and `0x5` are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Id {
    /// Absent or null.
    #[default]
    Missing,
    /// A whole number.
    Int(i64),
    /// Any other text, by its number among the texts.
    Text(u32),
}

/// What kind of lane a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LaneClass {
    /// (pid, tid).
    Cpu,
    /// (pid, tid) of the profiler's overhead.
    Overhead,
    /// (pid, tid) of the recorder's rows.
    Recorder,
    /// (device, stream).
    Gpu,
    /// (device, stream).
    GpuAnnotation,
    /// (device, stream).
    GpuSync,
    /// (device, stream) of a device that does not count.
    Mtia,
    /// (category, id); the scope is 0 for global ids, else a process.
    Async,
}

/// What tells lanes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LaneKey {
    /// Kind of lane.
    pub class: LaneClass,
    /// pid, device (missing where none is recorded) or category.
    pub a: Id,
    /// tid, stream or id.
    pub b: Id,
    /// The pid of rows of a GPU; the process of async ids that are local to one.
    pub scope: Id,
    /// Documents with threads before that of the row, in the table of the file.
    pub document: u32,
}

/// Distinct byte strings of one window, in order of first appearance.
#[derive(Default)]
pub(crate) struct Texts {
    table: HashTable<u32>,
    entries: Vec<TextEntry>,
}

#[derive(Clone, Copy)]
struct TextEntry {
    hash: u64,
    start: u32,
    len: u32,
}

impl Texts {
    /// The number of the text `w[start..end]`.
    #[inline]
    pub fn intern(&mut self, w: &[u8], start: usize, end: usize) -> u32 {
        let text = &w[start..end];
        let hash = FxBuildHasher.hash_one(text);
        let entries = &self.entries;
        let found = self.table.find(hash, |&i| {
            let e = entries[i as usize];
            e.hash == hash && &w[e.start as usize..(e.start + e.len) as usize] == text
        });
        if let Some(&i) = found {
            return i;
        }
        // Windows are far below 4 GiB, so are their texts.
        let narrow = |n: usize| u32::try_from(n).unwrap_or(NONE);
        let id = narrow(entries.len());
        self.entries.push(TextEntry {
            hash,
            start: narrow(start),
            len: narrow(end - start),
        });
        let entries = &self.entries;
        self.table
            .insert_unique(hash, id, |&i| entries[i as usize].hash);
        id
    }

    /// The texts, as positions in the window.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = std::ops::Range<usize>> + '_ {
        self.entries
            .iter()
            .map(|e| e.start as usize..(e.start + e.len) as usize)
    }

    /// One text.
    fn range(&self, number: u32) -> Option<std::ops::Range<usize>> {
        let e = self.entries.get(number as usize)?;
        Some(e.start as usize..(e.start + e.len) as usize)
    }

    fn clear(&mut self) {
        self.table.clear();
        self.entries.clear();
    }
}

/// Categories of one window with their classes.
#[derive(Default)]
pub(crate) struct Cats {
    texts: Texts,
    classes: Vec<Class>,
    /// The last two categories, by their place in the window: most events repeat one of them.
    recent: [(usize, usize, u32); 2],
}

impl Cats {
    /// The number of the category `w[start..end]`.
    #[inline]
    pub fn intern(&mut self, w: &[u8], start: usize, end: usize) -> u32 {
        let text = &w[start..end];
        for (a, b, id) in self.recent {
            if b - a == text.len() && &w[a..b] == text && b > 0 {
                return id;
            }
        }
        let id = self.texts.intern(w, start, end);
        if id as usize == self.classes.len() {
            self.classes.push(Class::of(text));
        }
        self.recent = [(start, end, id), self.recent[0]];
        id
    }

    /// The class of a category; [`NONE`] has none.
    #[inline]
    pub fn class(&self, cat: u32) -> Class {
        self.classes
            .get(cat as usize)
            .copied()
            .unwrap_or(Class::None)
    }

    /// The categories, as positions in the window.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = std::ops::Range<usize>> + '_ {
        self.texts.ranges()
    }

    /// One category; none for [`NONE`].
    pub fn range(&self, number: u32) -> Option<std::ops::Range<usize>> {
        self.texts.range(number)
    }
}

/// Lanes of one window.
#[derive(Default)]
pub(crate) struct Lanes {
    table: HashTable<u32>,
    keys: Vec<LaneKey>,
    /// The last few lanes: neighbouring events mostly lie on one of them.
    recent: [Option<(LaneKey, u32)>; 4],
    oldest: usize,
}

impl Lanes {
    /// The number of a lane.
    #[inline]
    pub fn intern(&mut self, key: LaneKey) -> u32 {
        for (known, id) in self.recent.iter().flatten() {
            if *known == key {
                return *id;
            }
        }
        let hash = FxBuildHasher.hash_one(key);
        let keys = &self.keys;
        let id = match self.table.find(hash, |&i| keys[i as usize] == key) {
            Some(&i) => i,
            None => {
                let id = u32::try_from(keys.len()).unwrap_or(NONE);
                self.keys.push(key);
                let keys = &self.keys;
                self.table
                    .insert_unique(hash, id, |&i| FxBuildHasher.hash_one(keys[i as usize]));
                id
            }
        };
        self.recent[self.oldest] = Some((key, id));
        self.oldest = (self.oldest + 1) % self.recent.len();
        id
    }

    /// The keys, by number.
    pub fn keys(&self) -> &[LaneKey] {
        &self.keys
    }
}

/// A span: an X event, or the begin of one that ends elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpanEvent {
    /// ns.
    pub ts: i64,
    /// ns; 0 for begins.
    pub dur: i64,
    /// Args in the stream.
    pub args: ArgsRef,
    /// Name, or [`NONE`].
    pub name: u32,
    /// Lane.
    pub lane: u32,
    /// Category, or [`NONE`].
    pub cat: u32,
    /// In [`Chunk::extras`], or [`NONE`].
    pub extra: u32,
}

/// What was read from the args of a GPU row or API call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extra {
    /// Correlation id.
    pub correlation: Option<i64>,
    /// Bytes of a copy or memset.
    pub bytes: Option<i64>,
    /// Direction of a copy.
    pub copy: Option<CopyKind>,
    /// Stream of the event that was waited for.
    pub wait_on_stream: Option<i64>,
    /// Correlation of the call that recorded it.
    pub record_correlation: Option<i64>,
    /// The rank that it states.
    pub rank: Option<i64>,
    /// The pid of an operation, where it is not the number of its GPU.
    pub process: Id,
}

/// A begin or an end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkEvent {
    /// ns.
    pub ts: i64,
    /// Byte offset in the stream: the order in the file.
    pub offset: u64,
    /// Lane.
    pub lane: u32,
    /// Name of an end, or [`NONE`].
    pub name: u32,
    /// Category, or [`NONE`].
    pub cat: u32,
    /// In [`Chunk::spans`] for begins; [`NONE`] for ends.
    pub span: u32,
}

/// A moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InstantEvent {
    /// ns.
    pub ts: i64,
    /// Args in the stream.
    pub args: ArgsRef,
    /// Name, or [`NONE`].
    pub name: u32,
    /// Lane; [`NONE`] for global ones.
    pub lane: u32,
}

/// One end of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowEvent {
    /// ns.
    pub ts: i64,
    /// Which flow.
    pub id: Id,
    /// The thread, as a [`LaneClass::Cpu`] key even where it means a GPU stream.
    pub lane: u32,
    /// Where the flow starts, rather than ends.
    pub start: bool,
    /// Forward to backward, rather than launch to GPU.
    pub fwdbwd: bool,
}

/// A sample of one counter series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleEvent {
    /// ns.
    pub ts: i64,
    /// Value.
    pub value: f64,
    /// Process.
    pub pid: Id,
    /// Distinguishes tracks of one name.
    pub id: Id,
    /// Track.
    pub name: u32,
    /// Series, among [`Chunk::texts`].
    pub series: u32,
}

/// An allocation on a device, and what is allocated there then. Bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryEvent {
    /// ns.
    pub ts: i64,
    /// Process.
    pub pid: Id,
    /// PyTorch's number of the type of device.
    pub kind: i64,
    /// The device's number.
    pub device: i64,
    /// Taken; negative where it is given back.
    pub bytes: Option<i64>,
    /// All that is allocated.
    pub allocated: Option<i64>,
    /// All that the allocator has reserved.
    pub reserved: Option<i64>,
}

/// What a metadata event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaKind {
    /// Name of a process.
    ProcessName,
    /// Name of a thread.
    ThreadName,
    /// Labels of a process.
    ProcessLabels,
    /// Order of a process.
    ProcessSort,
    /// Order of a thread.
    ThreadSort,
}

/// A metadata event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetaEvent {
    /// What it says.
    pub kind: MetaKind,
    /// Process.
    pub pid: Id,
    /// Thread.
    pub tid: Id,
    /// Name or labels, among [`Chunk::texts`], or [`NONE`].
    pub text: u32,
    /// Order.
    pub sort: i64,
}

/// Everything of one window.
#[derive(Default)]
pub(crate) struct Chunk {
    /// Names, escaped as in the file.
    pub names: Texts,
    /// Texts of identifiers, series and labels, escaped as in the file.
    pub texts: Texts,
    /// Categories.
    pub cats: Cats,
    /// Lanes.
    pub lanes: Lanes,
    /// Spans, in file order.
    pub spans: Vec<SpanEvent>,
    /// Args of some of them.
    pub extras: Vec<Extra>,
    /// The spans that start first and last: time and offset.
    pub ends: Option<[(i64, u64); 2]>,
    /// Offsets of the spans at time 0, in their order.
    pub zero_spans: Vec<u64>,
    /// Offsets of the instants at time 0, in their order.
    pub zero_instants: Vec<u64>,
    /// Begins and ends, in file order.
    pub marks: Vec<MarkEvent>,
    /// Moments.
    pub instants: Vec<InstantEvent>,
    /// Flow ends.
    pub flows: Vec<FlowEvent>,
    /// Counter samples.
    pub samples: Vec<SampleEvent>,
    /// Allocations.
    pub memory: Vec<MemoryEvent>,
    /// Metadata.
    pub metas: Vec<MetaEvent>,
    /// Elements of the list.
    pub events: u64,
    /// Events by phase character.
    pub phases: PhaseCounts,
    /// Oddities.
    pub tally: Tally,
    /// Where the first event stands that was searched for.
    pub found: Option<u64>,
    /// The text ends inside an event.
    pub cut_off: bool,
    /// Layout of the events; kept from window to window.
    pub shape: Shape<KEYS>,
    /// Layout of args, by class and number of the key; kept from window to window.
    pub args_shape: Shape<{ ARG_CLASSES * ARG_PLACES }>,
}

/// Events by phase; phases of several characters or none are in the tally.
#[derive(Clone)]
pub(crate) struct PhaseCounts(pub [u64; 128]);

impl Default for PhaseCounts {
    fn default() -> Self {
        Self([0; 128])
    }
}

impl Chunk {
    /// Notes where the span stands that starts first, and which last.
    #[inline]
    pub fn note_start(&mut self, ts: i64, offset: u64) {
        let [first, last] = self.ends.get_or_insert([(ts, offset); 2]);
        if ts < first.0 {
            *first = (ts, offset);
        }
        if ts > last.0 {
            *last = (ts, offset);
        }
    }

    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.names.clear();
        self.texts.clear();
        self.cats.texts.clear();
        self.cats.classes.clear();
        self.cats.recent = Default::default();
        self.lanes.table.clear();
        self.lanes.keys.clear();
        self.lanes.recent = [None; 4];
        self.spans.clear();
        self.extras.clear();
        self.ends = None;
        self.zero_spans.clear();
        self.zero_instants.clear();
        self.marks.clear();
        self.instants.clear();
        self.flows.clear();
        self.samples.clear();
        self.memory.clear();
        self.metas.clear();
        self.events = 0;
        self.phases = PhaseCounts::default();
        self.tally = Tally::default();
        self.found = None;
        self.cut_off = false;
    }
}
