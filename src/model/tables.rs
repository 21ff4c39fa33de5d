//! The small tables of a trace: sources, processes, devices, streams, lanes, categories.

use std::ops::Range;
use std::path::PathBuf;

use super::ids::{DeviceId, LaneId, NameId, ProcessId, SourceId, StreamId};
use crate::time::TimeRange;

/// What the program needs to know of the tracer that wrote a source, stated by the importer of its files. Everybody
/// else asks for the fact that matters to him, never for the tracer by name.
#[derive(Clone, Debug)]
pub struct TracerFacts {
    /// The name used in rule files and reports, always the same: `torch`. Two sources are of one tracer where their keys
    /// are equal; other facts may differ with the program that wrote them.
    pub key: &'static str,
    /// The name for people: `torch.profiler`.
    pub name: &'static str,
    /// Recording costs the training much time: its figures hold for the profiled speed.
    pub slows_training: bool,
    /// Processes that load data are in the record too, where the user did not leave them out; else only the training
    /// process can be.
    pub sees_workers: bool,
    /// All of its files in one folder are of one run, a file for each process; else each file stands for itself.
    pub folder_is_run: bool,
    /// It records a fetch around the loader's own call, and only where a batch was delivered: what another recorder has of
    /// the same fetch lies inside, and while it records, no fetch means no batch.
    pub encloses_fetches: bool,
    /// Its files are no record of a run: they join the one that they overlap, and say neither where the trace begins nor
    /// where it ends, unless nothing else is opened.
    pub joins_runs: bool,
}

/// The tracer of traces that tests of this module make.
#[cfg(test)]
pub(super) const MADE: TracerFacts = TracerFacts {
    key: "made",
    name: "made by hand",
    slows_training: false,
    sees_workers: true,
    folder_is_run: false,
    encloses_fetches: false,
    joins_runs: false,
};

/// How a source's clock relates to the trace's time axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The source says which Unix time (ns) its own zero is.
    Unix {
        /// Unix time in nanoseconds of the source's own time zero.
        zero: i64,
    },
    /// The source's times have no known relation to any other clock.
    Unknown,
}

/// One opened file (or one member of a container).
#[derive(Clone, Debug)]
pub struct Source {
    /// Where it was read from. Members of an archive are `archive/member`.
    pub path: PathBuf,
    /// Who wrote it.
    pub tracer: &'static TracerFacts,
    /// Format, producer and version as found in the file, for display: `torch.profiler JSON, schema 1`.
    pub producer: String,
    /// The source's own clock.
    pub clock: Clock,
    /// Trace time = source time + this. Set when the trace is finished.
    pub to_trace_ns: i64,
    /// A shift that the user asked for by hand, ns; included in `to_trace_ns`.
    pub shift_ns: i64,
    /// The recorder's own capture window in trace time, where the file states it on the event clock.
    pub capture: Option<TimeRange>,
    /// The host that the file states for all of it.
    pub host: Option<String>,
    /// The rank that the file says it belongs to.
    pub rank: Option<u32>,
    /// How many ranks the job has, where the file states it.
    pub world: Option<u32>,
    /// Times are cut down to whole multiples of this, ns; 0 where they are not.
    pub quantum_ns: i64,
    /// Where args of this source's spans are read from.
    pub args: ArgsOrigin,
    /// The name of the file that this one was cut from, where this program wrote it anew: then args stand in it as people
    /// should see them, whoever recorded them.
    pub from: Option<String>,
    /// The window that was saved of that one, on the source's own clock.
    pub saved: Option<TimeRange>,
}

impl Source {
    /// A file of which nothing else is known yet: no clock, no rank, no args.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, tracer: &'static TracerFacts) -> Self {
        Self {
            path: path.into(),
            tracer,
            producer: String::new(),
            clock: Clock::Unknown,
            to_trace_ns: 0,
            shift_ns: 0,
            capture: None,
            host: None,
            rank: None,
            world: None,
            quantum_ns: 0,
            args: ArgsOrigin::None,
            from: None,
            saved: None,
        }
    }
}

/// Where the `args` of a source's spans live until somebody looks at one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgsOrigin {
    /// No args were recorded, or none are kept.
    None,
    /// JSON text at a byte range of a plain file.
    File,
    /// JSON text at a byte range of the file's inflated content.
    Gzip,
    /// JSON text at a byte range of this buffer (made by importers whose input is not JSON, and by tests).
    Memory(std::sync::Arc<[u8]>),
    /// Rows of tables: the span's reference holds the table (index in this list) and the row.
    Rows(std::sync::Arc<[String]>),
    /// JSON text at a byte range of a member of an archive, which has to be unpacked to be read.
    Archive {
        /// The archive file.
        archive: PathBuf,
        /// The member's path inside it.
        member: String,
    },
}

/// What a process or thread is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Runs a training loop (the default).
    Main,
    /// Loads data for one.
    Worker,
    /// Copies batches into pinned memory.
    Pin,
    /// Runs autograd's backward pass.
    Autograd,
    /// Anything else.
    Other,
}

impl Role {
    /// The name used in rule files: `main`, `worker`, `pin`, `autograd`, `other`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Worker => "worker",
            Self::Pin => "pin",
            Self::Autograd => "autograd",
            Self::Other => "other",
        }
    }
}

/// An operating-system process of one source. GPUs are not processes, even where a file uses the pid field for them.
#[derive(Clone, Debug)]
pub struct Process {
    /// The file it was seen in.
    pub source: SourceId,
    /// The number or word that the file uses.
    pub pid: String,
    /// Display name where the file gives one.
    pub name: Option<String>,
    /// Which of several files that were put together to one it comes from, where that can be told: process numbers are
    /// unique in each of them only.
    pub space: Option<String>,
    /// Host name or hash where the file gives one.
    pub host: Option<String>,
    /// Distributed rank where the file states it.
    pub rank: Option<u32>,
    /// Role where the file itself decides it (a worker's parent, say); else rules decide.
    pub role: Option<Role>,
    /// Parent's pid where the file says it.
    pub parent: Option<String>,
    /// Display order hint of the file.
    pub sort_index: i64,
}

/// A GPU as one source numbers it.
#[derive(Clone, Debug)]
pub struct Device {
    /// The file it was seen in.
    pub source: SourceId,
    /// The number in the file (a local ordinal where ranks see one GPU each); negative where none was recorded.
    pub index: i64,
    /// As [`Process::space`].
    pub space: Option<String>,
    /// Product name where known.
    pub name: Option<String>,
    /// Whether its rows count as GPU work. MTIA's do not: their busy time has no definition yet.
    pub counts: bool,
}

/// A queue of GPU work.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The GPU.
    pub device: DeviceId,
    /// The process that owns it, where the file knows.
    pub process: Option<ProcessId>,
    /// CUDA context, where the file knows.
    pub context: Option<i64>,
    /// Stream number in the file.
    pub number: i64,
    /// Lane of operations (kernels, copies, memsets), if it has any.
    pub ops: Option<LaneId>,
}

/// What a lane holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LaneKind {
    /// Spans of a CPU thread, API calls included.
    Cpu,
    /// Operations of a GPU stream.
    Gpu,
    /// Copies of CPU annotations on a GPU stream: they span gaps and are never work.
    GpuAnnotation,
    /// Synchronisation as seen by the GPU: never work.
    GpuSync,
    /// The profiler's own overhead.
    Overhead,
    /// Async spans (b/e), one lane per category and id; spans of unknown threads.
    Async,
    /// Rows about the recording itself (the profiler's window, iteration marks).
    Recorder,
}

impl LaneKind {
    /// Its name in keys that are kept: stays what it is whatever the variant is called.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Cpu => "Cpu",
            Self::Gpu => "Gpu",
            Self::GpuAnnotation => "GpuAnnotation",
            Self::GpuSync => "GpuSync",
            Self::Overhead => "Overhead",
            Self::Async => "Async",
            Self::Recorder => "Recorder",
        }
    }

    /// True for the lanes that belong to a GPU stream.
    #[must_use]
    pub fn is_gpu(self) -> bool {
        matches!(self, Self::Gpu | Self::GpuAnnotation | Self::GpuSync)
    }
}

/// One lane of the timeline.
#[derive(Clone, Debug)]
pub struct Lane {
    /// The file it was seen in.
    pub source: SourceId,
    /// What it holds.
    pub kind: LaneKind,
    /// Id in reports: `C<pid>.<tid>`, `G<device>.<stream>`, `G<pid>.<device>.<context>.<stream>`.
    pub key: String,
    /// Display name (thread name, `stream 7`).
    pub name: String,
    /// The process, for lanes of one.
    pub process: Option<ProcessId>,
    /// The stream, for lanes of one.
    pub stream: Option<StreamId>,
    /// Thread number or word, for CPU lanes.
    pub thread: Option<String>,
    /// Distributed rank where the file states it of the lane; else that of its process or source.
    pub rank: Option<u32>,
    /// Role where the file decides it; else rules do.
    pub role: Option<Role>,
    /// Whether an autograd engine runs here, where the file says so; else the analysis finds out.
    pub autograd: Option<bool>,
    /// Display order hint of the file.
    pub sort_index: i64,
    /// The lane's spans: a contiguous range of span ids. Set when the trace is finished.
    pub spans: Range<u32>,
    /// Sub-rows that its spans need. Set when the trace is finished.
    pub rows: u16,
    /// Spans that start inside another one and end after it. Set when the trace is finished.
    pub overlaps: u64,
}

impl Lane {
    /// A lane without spans; the remaining fields have their defaults.
    #[must_use]
    pub fn new(source: SourceId, kind: LaneKind, key: impl Into<String>) -> Self {
        let key = key.into();
        Self {
            source,
            kind,
            name: key.clone(),
            key,
            process: None,
            stream: None,
            thread: None,
            rank: None,
            role: None,
            autograd: None,
            sort_index: 0,
            spans: 0..0,
            rows: 0,
            overlaps: 0,
        }
    }
}

/// A category of spans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Category {
    /// The name in the file, or today's name for a historic one (`Operator` → `cpu_op`).
    pub name: String,
    /// Whether its spans count: they define the trace's extent and its number of spans.
    /// Those of category `Trace` do not, nor those that a recorder writes about itself.
    pub counts: bool,
}

/// What a counter measures, where its file says that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// Anything.
    #[default]
    Anything,
    /// Bytes of a device that are allocated.
    Allocated,
    /// Bytes of it that the allocator has reserved.
    Reserved,
    /// Bytes that are allocated more than when the record began.
    Growth,
}

impl Measure {
    /// Whether its values are bytes.
    #[must_use]
    pub fn is_bytes(self) -> bool {
        self != Self::Anything
    }
}

/// One or several series of samples over time.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    /// The process, where the file says it.
    pub process: Option<ProcessId>,
    /// The file.
    pub source: SourceId,
    /// Track name.
    pub name: String,
    /// Series name inside the track; empty for a single one.
    pub series: String,
    /// Sample times, ns, ascending once the trace is finished.
    pub times: Vec<i64>,
    /// Sample values, same length.
    pub values: Vec<f64>,
    /// What they are.
    pub measure: Measure,
}

/// A moment without duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instant {
    /// Time, ns.
    pub time: i64,
    /// Lane it is on; `None` for global ones.
    pub lane: Option<LaneId>,
    /// The source.
    pub source: SourceId,
    /// Name.
    pub name: NameId,
    /// Its args.
    pub args: ArgsRef,
}

/// Where one span's args are: meaning depends on the source's [`ArgsOrigin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ArgsRef(pub u64);

/// Bits of an [`ArgsRef`] that hold a text's length.
const LEN_BITS: u32 = 24;

impl ArgsRef {
    /// No args.
    pub const NONE: Self = Self(0);

    /// A text range. Lengths above 16 MiB are stored as "to be found by parsing from the offset" (all ones).
    /// Offsets above 1 TiB are not representable and become [`Self::NONE`].
    #[must_use]
    pub fn text(offset: u64, len: usize) -> Self {
        let max = (1_u64 << LEN_BITS) - 1;
        if len == 0 || offset >= 1 << (64 - LEN_BITS) {
            return Self::NONE;
        }
        Self(offset << LEN_BITS | (len as u64).min(max))
    }

    /// The text range, if there is one; a length of `None` has to be found by parsing.
    #[must_use]
    pub fn as_text(self) -> Option<(u64, Option<usize>)> {
        let max = (1_u64 << LEN_BITS) - 1;
        let len = self.0 & max;
        (self != Self::NONE).then_some((
            self.0 >> LEN_BITS,
            (len != max).then_some(usize::try_from(len).unwrap_or(0)),
        ))
    }

    /// A database row: `table` indexes the source's table list.
    #[must_use]
    pub fn row(table: u8, rowid: i64) -> Self {
        Self((u64::from(table) + 1) << 56 | (rowid.cast_unsigned() & ((1 << 56) - 1)))
    }

    /// The database row, if there is one.
    #[must_use]
    pub fn as_row(self) -> Option<(u8, i64)> {
        let table = u8::try_from(self.0 >> 56).unwrap_or(0).checked_sub(1)?;
        // Sign-extend the 56-bit row number.
        let rowid = ((self.0 << 8).cast_signed()) >> 8;
        Some((table, rowid))
    }
}

/// Direction of a copy between host and devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CopyKind {
    /// Host to device.
    HostToDevice,
    /// Device to host.
    DeviceToHost,
    /// Within a device.
    DeviceToDevice,
    /// Between devices.
    PeerToPeer,
    /// Within the host.
    HostToHost,
    /// Unified-memory migration, any direction.
    Managed,
    /// Another number of the recorder, kept as it is.
    Other(u16),
}

/// Bytes and direction of a copy or memset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyInfo {
    /// Bytes moved, where recorded.
    pub bytes: Option<i64>,
    /// Direction; `None` for memsets.
    pub kind: Option<CopyKind>,
    /// The recorder's own number for the kind (Nsight `copyKind`), for rules on `args.copyKind`.
    pub raw_kind: Option<i64>,
}

/// What a blocking call waited for, where the file says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncScope {
    /// Everything on one device.
    Device(DeviceId),
    /// Everything queued on one stream.
    Stream(StreamId),
    /// What was queued on a stream when an event was recorded.
    Event {
        /// The stream.
        stream: StreamId,
        /// Start of the record call, ns.
        record_at: i64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn args_references_round_trip() {
        assert_eq!(ArgsRef::text(0, 2).as_text(), Some((0, Some(2))));
        let far = ArgsRef::text((1 << 40) - 1, 70_000);
        assert_eq!(far.as_text(), Some(((1 << 40) - 1, Some(70_000))));
        assert_eq!(ArgsRef::text(5, 1 << 30).as_text(), Some((5, None)));
        assert_eq!(ArgsRef::text(1 << 40, 5), ArgsRef::NONE);
        assert_eq!(ArgsRef::NONE.as_row(), None);
        for row in [0, 1, 77_000_000_000, -1, -5_000] {
            assert_eq!(ArgsRef::row(3, row).as_row(), Some((3, row)));
        }
    }
}
