//! What was repaired, skipped or left open while the tables were read: counted per reason and table, with first rows.
//! At the end each reason becomes one notice that names its tables.

use std::collections::BTreeMap;

use crate::import::contract::report::{Fact, ImportReport, Loss, NoticeKind, Place};
use crate::import::contract::tally;
use crate::model::SourceId;
use crate::time::format_count;

/// A reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// A page of the file is broken.
    Damaged,
    /// SQLite could not read the table.
    TableUnreadable,
    /// The table lacks a column without which its rows mean nothing.
    ColumnMissing,
    /// Start or end is no number.
    BadTime,
    /// A time beyond the range of times.
    FarTime,
    /// Another value is no number.
    BadValue,
    /// The end lies before the start.
    NegativeDuration,
    /// A name id without a text.
    UnknownName,
    /// A text that is not UTF-8.
    BadText,
    /// A range without an end.
    OpenRange,
    /// A GPU operation that names no process, taken for one of the only process that calls CUDA.
    NoProcess,
    /// The same where several processes call CUDA, or none.
    UnknownProcess,
    /// A row that names no thread, taken for one of the only process.
    NoThread,
    /// The same where there may be several processes.
    UnknownThread,
    /// A GPU row that names no GPU, taken for one of that of its context or of the only one.
    NoDevice,
    /// The same where there may be several GPUs.
    UnknownDevice,
    /// A GPU row that names no stream.
    NoStream,
    /// A GPU row that names no context.
    NoContext,
    /// A row without the id that relates calls and GPU work.
    NoCorrelation,
    /// An NVTX row without a type.
    NoType,
    /// NVTX rows of a table without texts.
    NoText,
    /// Copies without their size.
    NoBytes,
    /// Copies without their direction.
    NoCopyKind,
    /// A graph row without times.
    NoTime,
    /// A range without a text.
    Nameless,
    /// A range that ends on another thread.
    CrossThread,
    /// A GPU operation whose API call is not in the file.
    NoLaunch,
    /// Rows of API backtraces, which repeat a call.
    Backtrace,
    /// API rows of another class.
    OtherClass,
    /// API calls that returned an error.
    FailedCall,
    /// Two calls with one id in a process.
    RepeatedCall,
    /// Synchronisations that name no stream.
    SyncWithoutStream,
    /// Synchronisations that name another device than the operations of their context.
    SyncDevice,
    /// Copies of a kind without a name.
    UnknownCopyKind,
    /// NVTX rows of a type that is not drawn.
    OtherNvtx,
}

impl Reason {
    fn fact(self) -> Fact {
        use NoticeKind::{Damaged, Guessed, Info, NotRecorded, Repaired, Skipped};
        let kind = match self {
            Self::UnknownProcess | Self::UnknownThread | Self::UnknownDevice => {
                return NotRecorded.losing(Loss::Unplaced);
            }
            Self::Damaged => Damaged,
            Self::TableUnreadable
            | Self::ColumnMissing
            | Self::BadTime
            | Self::FarTime
            | Self::NoType => Skipped,
            Self::BadValue
            | Self::NegativeDuration
            | Self::UnknownName
            | Self::BadText
            | Self::OpenRange => Repaired,
            Self::NoProcess | Self::NoThread | Self::NoDevice => Guessed,
            Self::NoTime
            | Self::NoStream
            | Self::NoContext
            | Self::NoCorrelation
            | Self::NoText
            | Self::NoBytes
            | Self::NoCopyKind => NotRecorded,
            Self::Nameless
            | Self::CrossThread
            | Self::NoLaunch
            | Self::Backtrace
            | Self::OtherClass
            | Self::FailedCall
            | Self::RepeatedCall
            | Self::SyncWithoutStream
            // A context has one device, so that nothing is guessed.
            | Self::SyncDevice
            | Self::UnknownCopyKind
            | Self::OtherNvtx => Info,
        };
        kind.into()
    }

    fn code(self) -> &'static str {
        match self {
            Self::Damaged => "damaged_table",
            Self::TableUnreadable => "table_unreadable",
            Self::ColumnMissing => "column_missing",
            Self::BadTime => "bad_time",
            Self::FarTime => "far_time",
            Self::BadValue => "bad_value",
            Self::NegativeDuration => "negative_dur",
            Self::UnknownName => "unknown_name",
            Self::BadText => "bad_text",
            Self::OpenRange => "open_range",
            Self::NoProcess => "no_process",
            Self::UnknownProcess => "unknown_process",
            Self::NoThread => "no_thread",
            Self::UnknownThread => "unknown_thread",
            Self::NoDevice => "no_device",
            Self::UnknownDevice => "unknown_device",
            Self::NoStream => "no_stream",
            Self::NoContext => "no_context",
            Self::NoCorrelation => "no_correlation",
            Self::NoType => "no_type",
            Self::NoText => "no_text",
            Self::NoBytes => "no_bytes",
            Self::NoCopyKind => "no_copy_kind",
            Self::NoTime => "no_time",
            Self::Nameless => "nameless_range",
            Self::CrossThread => "cross_thread_range",
            Self::NoLaunch => "no_launch",
            Self::Backtrace => "backtrace_rows",
            Self::OtherClass => "other_class_rows",
            Self::FailedCall => "failed_calls",
            Self::RepeatedCall => "repeated_call",
            Self::SyncWithoutStream => "sync_without_stream",
            Self::SyncDevice => "sync_device",
            Self::UnknownCopyKind => "unknown_copy_kind",
            Self::OtherNvtx => "other_nvtx",
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::Damaged => " Copy or export the file again: `nsys export --type sqlite`.",
            _ => "",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Damaged => "The file is damaged: rows near some places could not be read",
            Self::TableUnreadable => "A table could not be read and was left out",
            Self::ColumnMissing => "Rows of a table were left out, because a column is missing",
            Self::BadTime => "Rows whose start or end is not a number were left out",
            Self::FarTime => "Rows with a time beyond 73 years were left out",
            Self::BadValue => "Values that are not numbers count as not recorded",
            Self::NegativeDuration => "Rows that end before they start are drawn without a length",
            Self::UnknownName => "Names that the file does not explain are shown as ?",
            Self::BadText => "Texts that are not UTF-8 were made readable",
            Self::OpenRange => "Ranges without an end are drawn to the end of the trace",
            Self::NoProcess => {
                "GPU rows do not say which process they are of (globalPid); the only one that calls CUDA is taken"
            }
            Self::UnknownProcess => {
                "GPU rows do not say which process they are of (globalPid), and the calls are not of exactly one: these rows are joined to no call and count for the rank that works on the same GPU"
            }
            Self::NoThread => {
                "Rows do not say which thread they are of (globalTid); they are drawn on one lane of the only process"
            }
            Self::UnknownThread => {
                "Rows do not say which thread they are of (globalTid), and may be of several processes: they are drawn on a lane of no process and belong to no training loop, so that what they say of waits, steps, launches and loader workers is unknown"
            }
            Self::NoDevice => {
                "GPU rows do not say which GPU they ran on (deviceId); that of their context is taken, or the only one"
            }
            Self::UnknownDevice => {
                "GPU rows do not say which GPU they ran on (deviceId), and it may be one of several: they are shown as a GPU of their own, so that no GPU's busy and idle times are right"
            }
            Self::NoStream => {
                "GPU rows do not say their stream (streamId): the streams of a context are drawn as one, and what overlapped what is unknown"
            }
            Self::NoContext => {
                "GPU rows do not say their context (contextId): streams of one number are drawn as one, whatever their context"
            }
            Self::NoCorrelation => {
                "Rows do not say which call and GPU work belong together (correlationId): launch delays, GPU tails and lags are unknown"
            }
            Self::NoType => {
                "NVTX rows do not say what they are (eventType) and were left out: ranges, and with them waits, steps and phases, are missing"
            }
            Self::NoText => {
                "NVTX rows have no texts of their own (text): those without a registered one are nameless, and no wait, step or phase is recognised in them"
            }
            Self::NoBytes => {
                "Copies do not say how much they moved (bytes): amounts and rates are unknown"
            }
            Self::NoCopyKind => {
                "Copies do not say their direction (copyKind): those to the GPU and from it are not told apart"
            }
            Self::NoTime => "CUDA graph launches without times are not drawn",
            Self::Nameless => "Ranges without a text",
            Self::CrossThread => {
                "Ranges that end on another thread are drawn on the thread that started them"
            }
            Self::NoLaunch => "GPU operations whose API call is not in the file",
            Self::Backtrace => "Backtrace rows repeat an API call and were left out",
            Self::OtherClass => "API rows of an unknown class were left out",
            Self::FailedCall => "API calls that returned an error",
            Self::RepeatedCall => {
                "API calls that share an id with an outer call; GPU work is linked to the outer one"
            }
            Self::SyncWithoutStream => {
                "Synchronisations with no stream of their own are shown by their API call"
            }
            Self::SyncDevice => {
                "Synchronisations name another device than the operations of their context; they are shown on the device of those"
            }
            Self::UnknownCopyKind => "Copies of an unknown kind",
            Self::OtherNvtx => "NVTX rows that are not ranges, marks or names were left out",
        }
    }
}

/// Counts per reason and table.
#[derive(Default)]
pub(super) struct Tally {
    counts: tally::Tally<(Reason, &'static str)>,
    /// Words on why, of some.
    details: BTreeMap<(Reason, &'static str), String>,
}

impl Tally {
    /// One more row.
    pub fn row(&mut self, reason: Reason, table: &'static str, rowid: i64) {
        self.counts.add((reason, table), || Place::Row(rowid));
    }

    /// `n` more without places.
    pub fn many(&mut self, reason: Reason, table: &'static str, n: u64) {
        self.counts.add_many((reason, table), n, None);
    }

    /// A whole table, with a word on why.
    pub fn table(&mut self, reason: Reason, table: &'static str, detail: String) {
        self.rows_of(reason, table, 1, detail);
    }

    /// `n` rows of a table, with a word on why.
    pub fn rows_of(&mut self, reason: Reason, table: &'static str, n: u64, detail: String) {
        self.counts.add_many((reason, table), n, None);
        self.details.entry((reason, table)).or_insert(detail);
    }

    /// Turns the counts into notices.
    pub fn report(self, report: &mut ImportReport, source: SourceId) {
        for tables in self.counts.counts().chunk_by(|a, b| a.0.0 == b.0.0) {
            let reason = tables[0].0.0;
            let total = tables.iter().map(|(_, c)| c.n).sum();
            let several = tables.len() > 1;
            let list: Vec<String> = tables
                .iter()
                .map(|(key, c)| match (self.details.get(key), several) {
                    (Some(detail), _) => format!("{}: {detail}", key.1),
                    (None, true) => format!("{} {}", key.1, format_count(c.n)),
                    (None, false) => key.1.to_owned(),
                })
                .collect();
            let remedy = reason.remedy();
            let text = format!("{} ({}).{remedy}", reason.sentence(), list.join(", "));
            // Row numbers mean nothing without their table: those of the first table only.
            let places = &tables[0].1.places;
            report.note_many(
                reason.fact(),
                reason.code(),
                Some(source),
                total,
                places,
                || text,
            );
        }
    }
}
