//! What the small tables say about the recording: versions, clock, names of processes, threads and GPUs, diagnostics,
//! GPU counters.

use std::collections::BTreeMap;

use rusqlite::types::ValueRef;
use rustc_hash::FxHashMap;

use super::Export;
use crate::import::contract::error::LoadError;
use crate::import::contract::importer::UNIX_FROM;
use crate::import::contract::report::{Loss, Lost, NoticeKind};
use crate::import::nsight::read::scan::Reader;
use crate::import::nsight::read::small::{each_row, integer, is_junk, text};
use crate::import::nsight::read::unread::{Small, Trouble};
use crate::import::nsight::tally::Reason;
use crate::model::{Clock, Counter, CounterId};

/// Diagnostics that are shown in full.
const SHOWN_DIAGNOSTICS: usize = 3;

/// Versions and options of the export, by the names of both generations, and of the recording.
const META: [Small; 3] = [
    meta("EXPORT_META_DATA", WITHOUT_EXPORT),
    meta("META_DATA_EXPORT", WITHOUT_EXPORT),
    meta(
        "META_DATA_CAPTURE",
        "how CUDA graphs were traced is not known",
    ),
];

const WITHOUT_EXPORT: &str = "the versions are not known, nor whether the export shifted all times, so that they are related to no other clock";

const fn meta(table: &'static str, without: &'static str) -> Small {
    Small {
        table,
        columns: &["name", "value"],
        required: 2,
        without,
    }
}

const SESSION_START: Small = Small {
    table: "TARGET_INFO_SESSION_START_TIME",
    columns: &["utcEpochNs"],
    required: 1,
    without: "when the recording began is not known, so that its times are related to no other clock",
};

pub(crate) const CUDA_DEVICES: Small = Small {
    table: "TARGET_INFO_CUDA_DEVICE",
    columns: &["gpuId", "cudaId", "pid"],
    required: 3,
    without: "which GPU a process means by a device number is not known, so that work on different GPUs may be shown and counted as that of one",
};

const PROCESSES: Small = Small {
    table: "PROCESSES",
    columns: &["globalPid", "name"],
    required: 2,
    without: "names of processes are missing",
};

const THREAD_NAMES: Small = Small {
    table: "ThreadNames",
    columns: &["nameId", "globalTid", "priority"],
    required: 2,
    without: "names of threads are missing, by which loader workers and the autograd thread are recognised",
};

/// GPUs, by both names of the table. Their numbers are in one of several columns.
const GPUS: [Small; 2] = [gpus("TARGET_INFO_CUDA_GPU"), gpus("TARGET_INFO_GPU")];

const fn gpus(table: &'static str) -> Small {
    Small {
        table,
        columns: &["name", "id", "deviceId", "cuDevice"],
        required: 1,
        without: "names of GPUs are missing",
    }
}

const DIAGNOSTICS: Small = Small {
    table: "DIAGNOSTIC_EVENT",
    columns: &["text"],
    required: 1,
    without: "whether the recorder lost events is not known",
};

const METRIC_NAMES: Small = Small {
    table: "TARGET_INFO_GPU_METRICS",
    columns: &["typeId", "metricId", "metricName"],
    required: 3,
    without: "names of GPU counters are missing",
};

const METRICS: Small = Small {
    table: "GPU_METRICS",
    columns: &["timestamp", "typeId", "metricId", "value"],
    required: 4,
    without: "samples of GPU counters are missing",
};

/// What the version tables say.
#[derive(Default)]
pub(crate) struct Meta {
    /// `2025.5.2.266`.
    pub product: Option<String>,
    /// `3.24.0`.
    pub schema: Option<String>,
    /// ns that the exporter added to every time; none where that is not known.
    pub shift: Option<i64>,
    /// Unix time of the session's start, ns.
    pub session_start: Option<i64>,
    /// `Graph` or `Node`.
    pub graph_mode: Option<String>,
}

impl Meta {
    /// Reads the tables of either generation.
    pub fn read(reader: &Reader<'_>) -> Result<Self, LoadError> {
        let mut meta = Self::default();
        let mut bad_shift = false;
        for table in &META {
            each_row(reader, table, |_, row| {
                let (Some(name), Some(value)) = (text(row, 1), text(row, 2)) else {
                    return Ok(());
                };
                match name.as_str() {
                    "EXPORT_PRODUCT_VERSION" => meta.product = Some(value),
                    "EXPORT_SCHEMA_VERSION" => meta.schema = Some(value),
                    "EXPORT_PARAM_TIME_SHIFT" => match value.trim().parse() {
                        Ok(shift) => meta.shift = Some(shift),
                        Err(_not_a_number) => {
                            let why = format!("EXPORT_PARAM_TIME_SHIFT is {value:.40}");
                            reader.unread.add(Trouble::BadValue, table, why);
                            bad_shift = true;
                        }
                    },
                    "CUDA_GRAPH_TRACE_OPTIONS:MODE" => meta.graph_mode = Some(value),
                    _ => {}
                }
                Ok(())
            })?;
        }
        let lost = META[..2].iter().any(|t| reader.unread.has(t.table));
        if !lost && !bad_shift {
            meta.shift.get_or_insert(0);
        }
        each_row(reader, &SESSION_START, |_, row| {
            meta.session_start = meta.session_start.or(integer(row, 1));
            if is_junk(row, 1) {
                let why = "utcEpochNs is no whole number".to_owned();
                reader.unread.add(Trouble::BadValue, &SESSION_START, why);
            }
            Ok(())
        })?;
        Ok(meta)
    }

    /// Major number of the schema.
    pub fn major(&self) -> Option<u32> {
        self.schema.as_deref()?.split('.').next()?.parse().ok()
    }

    /// `Nsight Systems 2025.5.2.266, schema 3.24.0`.
    pub fn producer(&self) -> String {
        let mut out = "Nsight Systems".to_owned();
        if let Some(product) = &self.product {
            out.push(' ');
            out.push_str(product);
        }
        if let Some(schema) = &self.schema {
            out.push_str(", schema ");
            out.push_str(schema);
        }
        out
    }

    /// The clock of the file's times, of which `first` is the earliest. Times count from the start of the session,
    /// unless the exporter shifted them or made Unix times of them.
    pub fn clock(&self, first: Option<i64>) -> Clock {
        if first.is_some_and(|t| t >= UNIX_FROM) {
            return Clock::Unix { zero: 0 };
        }
        match (self.session_start, self.shift) {
            (Some(start), Some(shift)) if start > 0 => Clock::Unix {
                zero: start.saturating_sub(shift),
            },
            _ => Clock::Unknown,
        }
    }
}

/// (pid, device number in the process) → physical GPU.
pub(crate) fn physical_gpus(reader: &Reader<'_>) -> Result<FxHashMap<(i64, i64), i64>, LoadError> {
    let mut map = FxHashMap::default();
    each_row(reader, &CUDA_DEVICES, |number, row| {
        if let (Some(gpu), Some(device), Some(pid)) =
            (integer(row, 1), integer(row, 2), integer(row, 3))
        {
            map.insert((pid, device), gpu);
        } else if (1..=3).any(|column| is_junk(row, column)) {
            let why = format!("row {number} holds something else than numbers");
            reader.unread.add(Trouble::BadValue, &CUDA_DEVICES, why);
        }
        Ok(())
    })?;
    Ok(map)
}

/// All processes that the file lists, with their names.
pub(crate) fn process_names(reader: &Reader<'_>) -> Result<Vec<(i64, String)>, LoadError> {
    let mut names = Vec::new();
    each_row(reader, &PROCESSES, |_, row| {
        if let (Some(process), Some(name)) = (integer(row, 1), text(row, 2)) {
            names.push((process, name));
        }
        Ok(())
    })?;
    Ok(names)
}

/// CUDA's number of the GPU of a machine that has only one.
pub(crate) fn only_gpu(reader: &Reader<'_>) -> Result<Option<i64>, LoadError> {
    let mut only = None;
    for table in &GPUS {
        let mut numbers = Vec::new();
        each_row(reader, table, |_, row| {
            numbers.push(integer(row, 4).unwrap_or(0));
            Ok(())
        })?;
        if numbers.len() > 1 || reader.unread.has(table.table) {
            return Ok(None);
        }
        only = numbers.pop().or(only);
    }
    Ok(only)
}

impl Export<'_> {
    /// Names of what was active, once everything is in.
    pub(crate) fn names(&mut self) -> Result<(), LoadError> {
        let reader = self.reader;
        for (process, name) in process_names(&reader)? {
            self.lanes.name_process(process, &name, self.builder);
        }
        let mut best: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        each_row(&reader, &THREAD_NAMES, |_, row| {
            if let (Some(name), Some(thread)) = (integer(row, 1), integer(row, 2)) {
                let priority = integer(row, 3).unwrap_or(0);
                let slot = best.entry(thread).or_insert((priority, name));
                if priority > slot.0 {
                    *slot = (priority, name);
                }
            }
            Ok(())
        })?;
        for (thread, (_, name)) in best {
            if let Some(name) = self.strings.text(name) {
                self.loader_threads |= name.starts_with("pt_");
                self.lanes.name_thread(thread, &name, self.builder);
                // Files of 2021 have no names of processes; their first threads carry them.
                self.lanes.name_by_thread(thread, &name, self.builder);
            }
        }
        // A name that the program gave by NVTX says more than the operating system's.
        for (thread, name) in std::mem::take(&mut self.given_names) {
            let name = self.builder.so_far().name(name).to_owned();
            self.lanes.name_thread(thread, &name, self.builder);
        }
        self.gpu_names()
    }

    fn gpu_names(&mut self) -> Result<(), LoadError> {
        let reader = self.reader;
        // By number of the GPU, and by CUDA's number for files that do not relate the two.
        let mut by_id: BTreeMap<i64, String> = BTreeMap::new();
        let mut by_cuda: BTreeMap<i64, String> = BTreeMap::new();
        for table in &GPUS {
            each_row(&reader, table, |_, row| {
                if let (Some(name), Some(id)) = (text(row, 1), integer(row, 2).or(integer(row, 3)))
                {
                    if let Some(cuda) = integer(row, 4) {
                        by_cuda.insert(cuda, name.clone());
                    }
                    by_id.insert(id, name);
                }
                Ok(())
            })?;
        }
        let related = reader.db.has("TARGET_INFO_CUDA_DEVICE");
        let devices: Vec<_> = self.lanes.devices().iter().map(|(&i, &d)| (i, d)).collect();
        for (index, device) in devices {
            let name = match (related, by_cuda.get(&index)) {
                (false, Some(name)) => Some(name),
                _ => by_id.get(&index),
            };
            if let Some(name) = name {
                self.facts.push((format!("GPU {index}"), name.clone()));
                self.builder.device_mut(device).name = Some(name.clone());
            }
        }
        Ok(())
    }

    /// What the recorder itself had to say.
    pub(crate) fn diagnostics(&mut self) -> Result<(), LoadError> {
        let reader = self.reader;
        let mut texts: BTreeMap<String, u64> = BTreeMap::new();
        let mut lost: BTreeMap<String, u64> = BTreeMap::new();
        each_row(&reader, &DIAGNOSTICS, |_, row| {
            if let Some(text) = text(row, 1) {
                let low = text.to_ascii_lowercase();
                let is_loss = ["lost", "dropped", "discarded", "overflow", "not collected"]
                    .iter()
                    .any(|w| low.contains(w));
                let list = if is_loss { &mut lost } else { &mut texts };
                *list.entry(text).or_default() += 1;
            }
            Ok(())
        })?;
        for (kind, code, intro, list) in [
            (
                NoticeKind::NotRecorded.losing(Loss::Part(Lost::default())),
                "lost_events",
                "The recorder lost data",
                lost,
            ),
            (
                NoticeKind::Info.into(),
                "diagnostics",
                "The recorder says",
                texts,
            ),
        ] {
            let total = list.values().sum();
            let mut shown: Vec<&str> = list
                .keys()
                .take(SHOWN_DIAGNOSTICS)
                .map(|t| t.trim())
                .collect();
            let more = format!(
                "and {} other texts",
                list.len().saturating_sub(SHOWN_DIAGNOSTICS)
            );
            if list.len() > SHOWN_DIAGNOSTICS {
                shown.push(&more);
            }
            let text = format!("{intro}: {}", shown.join(" · "));
            self.note(kind, code, total, text);
        }
        Ok(())
    }

    /// Samples of GPU counters become counter tracks.
    pub(crate) fn gpu_metrics(&mut self) -> Result<(), LoadError> {
        let reader = self.reader;
        let mut names: FxHashMap<(i64, i64), String> = FxHashMap::default();
        each_row(&reader, &METRIC_NAMES, |_, row| {
            if let (Some(kind), Some(metric), Some(name)) =
                (integer(row, 1), integer(row, 2), text(row, 3))
            {
                names.insert((kind, metric), name);
            }
            Ok(())
        })?;
        let mut counters: FxHashMap<(i64, i64), CounterId> = FxHashMap::default();
        let mut rows = 0;
        each_row(&reader, &METRICS, |_, row| {
            let (Some(time), Some(kind), Some(metric)) =
                (integer(row, 1), integer(row, 2), integer(row, 3))
            else {
                self.tally.many(Reason::BadValue, METRICS.table, 1);
                return Ok(());
            };
            #[expect(
                clippy::cast_precision_loss,
                reason = "counter samples are drawn, never summed as time"
            )]
            let value = match row.get_ref(4)? {
                ValueRef::Integer(n) => n as f64,
                ValueRef::Real(x) => x,
                ValueRef::Null => return Ok(()),
                ValueRef::Text(_) | ValueRef::Blob(_) => {
                    self.tally.many(Reason::BadValue, METRICS.table, 1);
                    return Ok(());
                }
            };
            rows += 1;
            let id = *counters.entry((kind, metric)).or_insert_with(|| {
                let series = names.get(&(kind, metric)).cloned();
                self.builder.add_counter(Counter {
                    source: self.source,
                    // The low byte of the type is the GPU.
                    name: format!("GPU metrics, GPU {}", kind & 0xFF),
                    series: series.unwrap_or_else(|| format!("metric {metric}")),
                    ..Counter::default()
                })
            });
            let counter = self.builder.counter_mut(id);
            counter.times.push(time);
            counter.values.push(value);
            Ok(())
        })?;
        if rows > 0 {
            self.read_rows.insert("GPU_METRICS", rows);
        }
        Ok(())
    }
}
