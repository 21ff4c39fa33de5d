//! What was repaired, skipped or left open while the tables were read: counted per reason and table, with first rows.
//! At the end each reason becomes one notice that names its tables.

use std::collections::BTreeMap;

use crate::import::contract::report::{Fact, ImportReport, Loss, NoticeKind, Place};
use crate::import::contract::tally::{self, reasons};
use crate::model::SourceId;
use crate::time::format_count;

reasons! {
    /// A reason. Tables and a full stop follow its text.
    pub(super) enum Reason {
        /// A page of the file is broken.
        Damaged: Damaged, "damaged_table", "The file is damaged: rows near some places could not be read";
        /// SQLite could not read the table.
        TableUnreadable: Skipped, "table_unreadable", "A table could not be read and was left out";
        /// The table lacks a column without which its rows mean nothing.
        ColumnMissing: Skipped, "column_missing", "Rows of a table were left out, because a column is missing";
        /// Start or end is no number.
        BadTime: Skipped, "bad_time", "Rows whose start or end is not a number were left out";
        /// A time beyond the range of times.
        FarTime: Skipped, "far_time", "Rows with a time beyond 73 years were left out";
        /// Another value is no number.
        BadValue: Repaired, "bad_value", "Values that are not numbers count as not recorded";
        /// The end lies before the start.
        NegativeDuration: Repaired, "negative_dur", "Rows that end before they start are drawn without a length";
        /// A name id without a text.
        UnknownName: Repaired, "unknown_name", "Names that the file does not explain are shown as ?";
        /// A text that is not UTF-8.
        BadText: Repaired, "bad_text", "Texts that are not UTF-8 were made readable";
        /// A range without an end.
        OpenRange: Repaired, "open_range", "Ranges without an end are drawn to the end of the trace";
        /// A GPU operation that names no process, taken for one of the only process that calls CUDA.
        NoProcess: Guessed, "no_process",
            "GPU rows do not say which process they are of (globalPid); the only one that calls CUDA is taken";
        /// The same where several processes call CUDA, or none.
        UnknownProcess: NotRecorded, "unknown_process",
            "GPU rows do not say which process they are of (globalPid), and the calls are not of exactly one: these rows are joined to no call and count for the rank that works on the same GPU";
        /// A row that names no thread, taken for one of the only process.
        NoThread: Guessed, "no_thread",
            "Rows do not say which thread they are of (globalTid); they are drawn on one lane of the only process";
        /// The same where there may be several processes.
        UnknownThread: NotRecorded, "unknown_thread",
            "Rows do not say which thread they are of (globalTid), and may be of several processes: they are drawn on a lane of no process and belong to no training loop, so that what they say of waits, steps, launches and loader workers is unknown";
        /// A GPU row that names no GPU, taken for one of that of its context or of the only one.
        NoDevice: Guessed, "no_device",
            "GPU rows do not say which GPU they ran on (deviceId); that of their context is taken, or the only one";
        /// The same where there may be several GPUs.
        UnknownDevice: NotRecorded, "unknown_device",
            "GPU rows do not say which GPU they ran on (deviceId), and it may be one of several: they are shown as a GPU of their own, so that no GPU's busy and idle times are right";
        /// A GPU row that names no stream.
        NoStream: NotRecorded, "no_stream",
            "GPU rows do not say their stream (streamId): the streams of a context are drawn as one, and what overlapped what is unknown";
        /// A GPU row that names no context.
        NoContext: NotRecorded, "no_context",
            "GPU rows do not say their context (contextId): streams of one number are drawn as one, whatever their context";
        /// A row without the id that relates calls and GPU work.
        NoCorrelation: NotRecorded, "no_correlation",
            "Rows do not say which call and GPU work belong together (correlationId): launch delays, GPU tails and lags are unknown";
        /// An NVTX row without a type.
        NoType: Skipped, "no_type",
            "NVTX rows do not say what they are (eventType) and were left out: ranges, and with them waits, steps and phases, are missing";
        /// NVTX rows of a table without texts.
        NoText: NotRecorded, "no_text",
            "NVTX rows have no texts of their own (text): those without a registered one are nameless, and no wait, step or phase is recognised in them";
        /// Copies without their size.
        NoBytes: NotRecorded, "no_bytes",
            "Copies do not say how much they moved (bytes): amounts and rates are unknown";
        /// Copies without their direction.
        NoCopyKind: NotRecorded, "no_copy_kind",
            "Copies do not say their direction (copyKind): those to the GPU and from it are not told apart";
        /// A graph row without times.
        NoTime: NotRecorded, "no_time", "CUDA graph launches without times are not drawn";
        /// A range without a text.
        Nameless: Info, "nameless_range", "Ranges without a text";
        /// A range that ends on another thread.
        CrossThread: Info, "cross_thread_range",
            "Ranges that end on another thread are drawn on the thread that started them";
        /// A GPU operation whose API call is not in the file.
        NoLaunch: Info, "no_launch", "GPU operations whose API call is not in the file";
        /// Rows of API backtraces, which repeat a call.
        Backtrace: Info, "backtrace_rows", "Backtrace rows repeat an API call and were left out";
        /// API rows of another class.
        OtherClass: Info, "other_class_rows", "API rows of an unknown class were left out";
        /// API calls that returned an error.
        FailedCall: Info, "failed_calls", "API calls that returned an error";
        /// Two calls with one id in a process.
        RepeatedCall: Info, "repeated_call",
            "API calls that share an id with an outer call; GPU work is linked to the outer one";
        /// Synchronisations that name no stream.
        SyncWithoutStream: Info, "sync_without_stream",
            "Synchronisations with no stream of their own are shown by their API call";
        /// Synchronisations that name another device than the operations of their context; that has one device, so that
        /// nothing is guessed.
        SyncDevice: Info, "sync_device",
            "Synchronisations name another device than the operations of their context; they are shown on the device of those";
        /// Copies of a kind without a name.
        UnknownCopyKind: Info, "unknown_copy_kind", "Copies of an unknown kind";
        /// NVTX rows of a type that is not drawn.
        OtherNvtx: Info, "other_nvtx", "NVTX rows that are not ranges, marks or names were left out";
    }
}

impl Reason {
    fn fact(self) -> Fact {
        match self {
            Self::UnknownProcess | Self::UnknownThread | Self::UnknownDevice => {
                NoticeKind::NotRecorded.losing(Loss::Unplaced)
            }
            _ => self.texts().0.into(),
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::Damaged => " Copy or export the file again: `nsys export --type sqlite`.",
            _ => "",
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
            let (_, code, sentence) = reason.texts();
            let text = format!("{sentence} ({}).{remedy}", list.join(", "));
            // Row numbers mean nothing without their table: those of the first table only.
            let places = &tables[0].1.places;
            report.note_many(reason.fact(), code, Some(source), total, places, || text);
        }
    }
}
