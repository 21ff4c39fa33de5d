//! Files of a run to one timeline: units, clocks, processes and their roles, lanes, spans, counters.

use std::collections::BTreeMap;

use super::hashes::Hashes;
use super::info::FileInfo;
use super::times::is_time;
use crate::import::contract::error::{ErrorKind, LoadError};
use crate::import::contract::importer::Context;
use crate::import::dftracer::read::chunk::{Chunk, Samples, Total};
use crate::import::dftracer::read::kind::Generation;
use crate::import::dftracer::read::lanes::LaneKey;
use crate::import::dftracer::read::meta::Meta;
use crate::import::dftracer::read::number::Ticks;
use crate::model::{
    ArgsRef, CatId, Clock, Counter, Device, Lane, LaneId, LaneKind, NameId, Process, ProcessId,
    Role, Source, SourceId, SpanRow, Stream,
};

/// Adds all files to the model.
///
/// # Errors
/// When there are more spans than can be numbered.
pub(crate) fn merge(files: &mut [FileInfo], ctx: &mut Context<'_>) -> Result<(), LoadError> {
    let hashes = Hashes::of(files, ctx.progress);
    ctx.progress.check(&files[0].data.path)?;
    reserve(files, ctx)?;
    hashes.declare_all(ctx.builder, ctx.progress);
    for file in files.iter_mut() {
        ctx.progress.check(&file.data.path)?;
        let mut merge = Merge {
            source: SourceId::default(),
            rank: file.rank,
            zero: if file.is_relative() {
                0
            } else {
                file.first.unwrap_or(0)
            },
            unit: file.unit,
            processes: BTreeMap::new(),
            lanes: BTreeMap::new(),
            devices: BTreeMap::new(),
            hashes: &hashes,
            names: Given::take(&mut file.meta),
        };
        merge.source = ctx.builder.add_source(source(file, merge.zero));
        hashes.declare(file, merge.source, ctx.builder);
        merge.file(file, ctx)?;
        crate::import::dftracer::notices::file(file, merge.source, &hashes, ctx);
    }
    ctx.progress.check(&files[0].data.path)?;
    crate::import::dftracer::notices::run(files, ctx);
    Ok(())
}

fn reserve(files: &[FileInfo], ctx: &mut Context<'_>) -> Result<(), LoadError> {
    let spans: usize = files
        .iter()
        .flat_map(|f| &f.data.chunks)
        .map(|c| c.start.len())
        .sum();
    if ctx.builder.span_count().saturating_add(spans) >= u32::MAX as usize {
        return Err(LoadError::new(
            ErrorKind::TooLarge,
            &files[0].data.path,
            "These files hold more than 4,294,967,294 spans.",
            "Open fewer files of the run.",
        ));
    }
    ctx.builder.reserve(spans);
    Ok(())
}

fn source(file: &FileInfo, zero: i64) -> Source {
    let version = file.meta.start.as_ref().and_then(|s| s.version.as_deref());
    let who = if matches!(file.generation, Some(Generation::G1 | Generation::G2)) {
        "DLIO profiler"
    } else {
        "DFTracer"
    };
    // The recording helper writes the same lines, and names itself.
    let producer = match version {
        Some(version) if version.starts_with("stallscope.record") => version.to_owned(),
        Some(version) => format!("{who} {version}"),
        None => who.to_owned(),
    };
    Source {
        producer,
        clock: if file.is_relative() {
            Clock::Unknown
        } else {
            Clock::Unix { zero }
        },
        rank: file.rank,
        quantum_ns: file.unit,
        args: file.data.args.clone(),
        ..Source::new(file.data.path.clone(), &crate::import::dftracer::TRACER)
    }
}

/// One file on its way into the model.
struct Merge<'a> {
    source: SourceId,
    rank: Option<u32>,
    /// Subtracted from all times.
    zero: i64,
    unit: i64,
    processes: BTreeMap<String, ProcessId>,
    lanes: BTreeMap<(String, String, i64), LaneId>,
    devices: BTreeMap<i64, crate::model::StreamId>,
    hashes: &'a Hashes,
    names: Given,
}

/// Names that the file gives, the first one that says something.
struct Given {
    /// (pid, tid) → name.
    threads: BTreeMap<(String, String), String>,
    /// pid → name.
    processes: BTreeMap<String, String>,
}

impl Given {
    fn take(meta: &mut Meta) -> Self {
        let mut given = Self {
            threads: BTreeMap::new(),
            processes: BTreeMap::new(),
        };
        for (pid, tid, name) in std::mem::take(&mut meta.threads) {
            if name != tid {
                given.threads.entry((pid, tid)).or_insert(name);
            }
        }
        for (pid, name) in std::mem::take(&mut meta.processes) {
            given.processes.entry(pid).or_insert(name);
        }
        given
    }

    fn thread(&self, key: &LaneKey) -> String {
        let named = self.threads.get(&(key.pid.clone(), key.tid.clone()));
        match named {
            Some(name) if !name.is_empty() => name.clone(),
            _ if key.tid.is_empty() => format!("process {}", key.pid),
            _ if key.tid == key.pid => format!("main thread {}", key.tid),
            _ => format!("thread {}", key.tid),
        }
    }
}

impl Merge<'_> {
    fn file(&mut self, file: &mut FileInfo, ctx: &mut Context<'_>) -> Result<(), LoadError> {
        if let Some(start) = &file.meta.start {
            let mut lanes = file.data.chunks.iter().flat_map(|c| c.lanes.iter());
            let own = lanes.find(|l| l.pid == start.pid && l.host.is_some());
            let host = own.and_then(|l| l.host.clone());
            self.process(&start.pid, host.as_ref(), file, ctx);
        }
        let mut totals = BTreeMap::new();
        let mut samples: BTreeMap<(String, String), Samples> = BTreeMap::new();
        for mut chunk in std::mem::take(&mut file.data.chunks) {
            ctx.progress.check(&file.data.path)?;
            self.spans(&mut chunk, file, ctx);
            self.collect_totals(&chunk, file, &mut totals);
            for (key, more) in std::mem::take(&mut chunk.counters) {
                let all = samples.entry(key).or_default();
                all.times.extend(more.times);
                all.values.extend(more.values);
            }
            // What the notices need stays; the columns are in the model now.
            file.data.chunks.push(chunk);
        }
        for ((name, series), samples) in samples {
            let (times, values) = self.samples(&samples, file);
            ctx.builder.add_counter(Counter {
                process: None,
                source: self.source,
                name,
                series,
                times,
                values,
                ..Counter::default()
            });
        }
        self.add_totals(totals, file, ctx);
        Ok(())
    }

    /// The samples at times that can be drawn.
    fn samples(&self, samples: &Samples, file: &mut FileInfo) -> (Vec<i64>, Vec<f64>) {
        let (mut times, mut values) = (Vec::new(), Vec::new());
        for (time, &value) in samples.times.iter().zip(&samples.values) {
            match self.time(*time, file) {
                Some(time) => {
                    times.push(time);
                    values.push(value);
                }
                None => file.set_aside(time.to_ns(self.unit), ArgsRef::NONE),
            }
        }
        (times, values)
    }

    /// A time on the axis of the source, if it is one.
    fn time(&self, ticks: Ticks, file: &FileInfo) -> Option<i64> {
        let ns = ticks.to_ns(self.unit);
        file.has(ns).then(|| ns.saturating_sub(self.zero))
    }

    fn spans(&mut self, chunk: &mut Chunk, file: &mut FileInfo, ctx: &mut Context<'_>) {
        let names: Vec<NameId> = chunk
            .names
            .iter()
            .map(|(_, t)| ctx.builder.intern(t))
            .collect();
        let cats: Vec<CatId> = chunk
            .cats
            .iter()
            .map(|(_, text)| category(text, ctx))
            .collect();
        ctx.builder
            .count_anomaly("many_categories", chunk.more_cats);
        let keys: Vec<LaneKey> = chunk.lanes.iter().cloned().collect();
        let mut lanes: Vec<Option<LaneId>> = vec![None; keys.len()];
        let (starts, durs) = (
            std::mem::take(&mut chunk.start),
            std::mem::take(&mut chunk.dur),
        );
        let mut fractions = std::mem::take(&mut chunk.fractions).into_iter().peekable();
        for (row, (&start, &dur)) in starts.iter().zip(&durs).enumerate() {
            let fraction = fractions
                .next_if(|f| f.0 as usize == row)
                .unwrap_or_default();
            let start = Ticks {
                whole: start,
                fraction: fraction.1,
            };
            let dur = Ticks {
                whole: dur,
                fraction: fraction.2,
            };
            let (start, dur) = (start.to_ns(self.unit), dur.to_ns(self.unit));
            if !file.has(start) || !is_time(dur) {
                file.set_aside(start, chunk.args[row]);
                continue;
            }
            let at = chunk.lane[row] as usize;
            let lane = match lanes[at] {
                Some(lane) => lane,
                None => *lanes[at].insert(self.lane(&keys[at], file, ctx)),
            };
            ctx.builder.add_span(SpanRow {
                lane,
                name: names[chunk.name[row].index()],
                cat: cats[usize::from(chunk.cat[row])],
                start: start.saturating_sub(self.zero),
                dur,
                args: chunk.args[row],
            });
        }
        chunk.name = Vec::new();
        chunk.cat = Vec::new();
        chunk.lane = Vec::new();
        chunk.args = Vec::new();
    }

    fn process(
        &mut self,
        pid: &str,
        host: Option<&(bool, String)>,
        file: &FileInfo,
        ctx: &mut Context<'_>,
    ) -> ProcessId {
        if let Some(&id) = self.processes.get(pid) {
            return id;
        }
        let start = file.meta.start.as_ref().filter(|s| s.pid == pid);
        let declared = file.meta.hosts.first().map(str::to_owned);
        let host = match host {
            Some((true, hash)) => self.hashes.host(file, hash).or(declared),
            Some((false, name)) => Some(name.clone()),
            None => declared,
        };
        let named = self.names.processes.get(pid).cloned();
        let program = start.and_then(|s| s.executable.as_deref());
        let name = named.or_else(|| self.hashes.string(file, program?));
        let id = ctx.builder.add_process(Process {
            source: self.source,
            pid: pid.to_owned(),
            name,
            space: None,
            host,
            rank: self.rank_of(pid, file),
            role: None,
            parent: start.and_then(|s| s.ppid.clone()),
            sort_index: 0,
        });
        self.processes.insert(pid.to_owned(), id);
        id
    }

    /// In the oldest files the pid is the rank.
    fn rank_of(&self, pid: &str, file: &FileInfo) -> Option<u32> {
        let of_pid = || {
            let oldest = file.generation == Some(Generation::G1);
            oldest.then(|| pid.parse().ok())?
        };
        self.rank.or_else(of_pid)
    }

    fn lane(&mut self, key: &LaneKey, file: &FileInfo, ctx: &mut Context<'_>) -> LaneId {
        let id = (key.pid.clone(), key.tid.clone(), key.device);
        if let Some(&lane) = self.lanes.get(&id) {
            return lane;
        }
        let process = self.process(&key.pid, key.host.as_ref(), file, ctx);
        let mut lane = if key.device == 0 {
            let mut lane = Lane::new(
                self.source,
                LaneKind::Cpu,
                format!("C{}.{}", key.pid, key.tid),
            );
            lane.name = self.names.thread(key);
            lane.thread = (!key.tid.is_empty()).then(|| key.tid.clone());
            // Forked loader processes of old recorders keep the parent's pid and have a thread number of their own.
            lane.role = (key.forked && key.tid != key.pid).then_some(Role::Worker);
            lane
        } else {
            let stream = self.stream(key.device, process, ctx);
            let mut lane = Lane::new(self.source, LaneKind::Gpu, format!("G{}.0", key.device - 1));
            lane.name = format!("torch.profiler rows of device {}", key.device);
            lane.stream = Some(stream);
            lane
        };
        lane.process = Some(process);
        lane.rank = self.rank_of(&key.pid, file);
        let lane = ctx.builder.add_lane(lane);
        self.lanes.insert(id, lane);
        lane
    }

    fn stream(
        &mut self,
        device: i64,
        process: ProcessId,
        ctx: &mut Context<'_>,
    ) -> crate::model::StreamId {
        let source = self.source;
        *self.devices.entry(device).or_insert_with(|| {
            let device = ctx.builder.add_device(Device {
                space: None,
                source,
                index: device.saturating_sub(1),
                name: None,
                counts: true,
            });
            ctx.builder.add_stream(Stream {
                device,
                process: Some(process),
                context: None,
                number: 0,
                ops: None,
            })
        })
    }

    /// Sums per (process, category, name) and interval. A worker's file repeats what its parent had pending when it
    /// forked, under the parent's thread number: those rows are the parent's, and counted there.
    fn collect_totals(&self, chunk: &Chunk, file: &mut FileInfo, totals: &mut Totals) {
        let parent = file.meta.start.as_ref().and_then(|s| s.ppid.clone());
        let lanes: Vec<&LaneKey> = chunk.lanes.iter().collect();
        for total in &chunk.totals {
            let Total { cat, name, .. } = *total;
            let lane = lanes[total.lane as usize];
            if parent.as_deref() == Some(lane.tid.as_str()) && lane.pid != lane.tid {
                file.repeated_totals += 1;
                continue;
            }
            let key = (
                lane.pid.clone(),
                chunk.cats.get(NameId(u32::from(cat))).to_owned(),
                chunk.names.get(name).to_owned(),
            );
            let Some(time) = self.time(total.at, file) else {
                file.set_aside(total.at.to_ns(self.unit), ArgsRef::NONE);
                continue;
            };
            let slot = totals.entry(key).or_default();
            let at = slot.entry(time).or_default();
            at.0 = at.0.saturating_add(total.calls);
            at.1 = at.1.saturating_add(total.time.to_ns(self.unit));
        }
    }

    fn add_totals(&mut self, totals: Totals, file: &FileInfo, ctx: &mut Context<'_>) {
        for ((pid, cat, name), samples) in totals {
            let process = self.process(&pid, None, file, ctx);
            let title = if cat.is_empty() {
                name
            } else {
                format!("{cat} · {name}")
            };
            for series in [CALLS, TIME] {
                ctx.builder.add_counter(Counter {
                    process: Some(process),
                    source: self.source,
                    name: title.clone(),
                    series: series.to_owned(),
                    times: samples.keys().copied().collect(),
                    values: samples
                        .values()
                        .map(|&(calls, ns)| {
                            if series == CALLS {
                                calls as f64
                            } else {
                                ns as f64 / 1e6
                            }
                        })
                        .collect(),
                    ..Counter::default()
                });
            }
        }
    }
}

/// (pid, category, name) → start of the interval → (calls, ns).
type Totals = BTreeMap<(String, String, String), BTreeMap<i64, (i64, i64)>>;

/// Series of aggregated records.
const CALLS: &str = "calls per interval";
const TIME: &str = "ms per interval";

/// Spans without a category and the recorder's own do not count.
fn category(text: &str, ctx: &mut Context<'_>) -> CatId {
    ctx.builder
        .category(text, !text.is_empty() && text != "dftracer")
}
