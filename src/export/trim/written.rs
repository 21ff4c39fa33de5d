//! A trace written anew from the model: complete events of the Chrome format, one a line, with what that format has no word
//! for beside them.
//!
//! Processes and threads keep their numbers where those are numbers and unique; GPUs are processes of their own, as
//! torch.profiler has it. Each span says its number, counting from 0, and its lane; a GPU operation the number of the
//! span that launched it: what a damaged file lost does not move the links of the rest.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::Original;
use super::header::header;
use super::numbers::Numbers;
use crate::analysis::Analysis;
use crate::model::{ArgsRef, CopyInfo, CopyKind, Cut, LaneKind, SpanId, SyncScope, Trace};
use crate::time::TimeRange;

/// The text of a cut.
///
/// # Errors
/// When args cannot be read again.
pub(super) fn write<O: Original>(
    analysis: &Analysis,
    cut: &Cut,
    original: &mut O,
) -> Result<Vec<u8>, O::Error> {
    let trace = analysis.trace();
    let spans: Vec<SpanId> = cut.spans().collect();
    let numbers = Numbers::new(analysis, cut, &spans);
    // Times count from the earliest zero of its sources: that is what it was when a window is cut from a window again.
    let zeros = numbers.sources.iter().map(|&id| trace.source(id));
    let offset = zeros.map(|s| s.to_trace_ns).min().unwrap_or(0);
    let mut lines = Lines {
        trace,
        numbers: &numbers,
        names: Shown::new(trace, &numbers),
        offset,
        out: Vec::new(),
        first: true,
    };
    let header = header(trace, cut, &numbers, offset);
    lines.out.extend_from_slice(b"{\"stallscope\":");
    lines.out.extend_from_slice(header.to_string().as_bytes());
    lines.out.extend_from_slice(b",\n\"traceEvents\":[\n");
    lines.metadata();
    let args = args(trace, &spans, original)?;
    for (number, &span) in spans.iter().enumerate() {
        lines.span(cut, &spans, number, args.get(&span));
    }
    lines.flows(&spans);
    for instant in trace.instants() {
        if cut.has(instant.source) && cut.holds(instant.time) {
            lines.instant(*instant);
        }
    }
    for i in 0..numbers.counters.len() {
        lines.samples(cut, i);
    }
    lines.out.extend_from_slice(b"\n]}\n");
    Ok(lines.out)
}

/// The args of the spans that have some, read in the order in which they lie in their files.
fn args<O: Original>(
    trace: &Trace,
    spans: &[SpanId],
    original: &mut O,
) -> Result<FxHashMap<SpanId, String>, O::Error> {
    let columns = trace.spans();
    let mut order: Vec<SpanId> = spans.to_vec();
    order.retain(|&s| columns.args(s) != ArgsRef::NONE);
    order.sort_unstable_by_key(|&s| (trace.lane(columns.lane(s)).source, columns.args(s).0, s));
    let mut found = FxHashMap::default();
    for span in order {
        if let Some(args) = original.args(span)? {
            found.insert(span, Value::Object(args).to_string());
        }
    }
    Ok(found)
}

/// Under which process and thread other viewers see each lane.
struct Shown {
    /// By place in the lists of [`Numbers`].
    processes: Vec<u64>,
    devices: Vec<u64>,
    sources: Vec<u64>,
    lanes: Vec<(u64, u64)>,
}

impl Shown {
    fn new(trace: &Trace, numbers: &Numbers) -> Self {
        let mut taken = BTreeSet::new();
        let mut number = |wanted: Option<u64>, from: u64| {
            let free = wanted.filter(|n| !taken.contains(n));
            let number = free.unwrap_or_else(|| {
                let after = taken.range(from..).next_back().map_or(from, |n| n + 1);
                after.max(from)
            });
            taken.insert(number);
            number
        };
        const OWN: u64 = 1 << 31;
        let small = |text: &str| text.parse::<u32>().ok().map(u64::from).filter(|&n| n < OWN);
        let processes: Vec<u64> = numbers
            .processes
            .iter()
            .map(|&p| number(small(&trace.process(p).pid), OWN))
            .collect();
        let devices: Vec<u64> = numbers.devices.iter().map(|_| number(None, OWN)).collect();
        let sources: Vec<u64> = numbers.sources.iter().map(|_| number(None, OWN)).collect();
        let mut threads: BTreeSet<(u64, u64)> = BTreeSet::new();
        let mut lanes = Vec::new();
        for &id in &numbers.lanes {
            let lane = trace.lane(id);
            let device = trace.lane_device(id).and_then(|d| numbers.device(d));
            let process = lane.process.and_then(|p| numbers.process(p));
            let source = numbers.sources.iter().position(|&s| s == lane.source);
            let pid = match (device, process) {
                (Some(d), _) => devices[d],
                (None, Some(p)) => processes[p],
                (None, None) => source.map_or(0, |s| sources[s]),
            };
            let stream = lane.stream.map(|s| trace.stream(s).number);
            let stream = stream
                .and_then(|n| u64::try_from(n).ok())
                .filter(|&n| n < OWN);
            let wanted = match lane.kind {
                LaneKind::Gpu => stream,
                _ => lane.thread.as_deref().and_then(small),
            };
            let mut tid = wanted.unwrap_or(OWN);
            if threads.contains(&(pid, tid)) {
                let last = threads.range((pid, OWN)..=(pid, u64::MAX)).next_back();
                tid = last.map_or(OWN, |&(_, n)| n + 1);
            }
            threads.insert((pid, tid));
            lanes.push((pid, tid));
        }
        Self {
            processes,
            devices,
            sources,
            lanes,
        }
    }
}

/// Writes events.
struct Lines<'a> {
    trace: &'a Trace,
    numbers: &'a Numbers,
    names: Shown,
    offset: i64,
    out: Vec<u8>,
    first: bool,
}

impl Lines<'_> {
    fn line(&mut self, text: &str) {
        if !std::mem::take(&mut self.first) {
            self.out.extend_from_slice(b",\n");
        }
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Microseconds with three decimals: nanoseconds, exactly.
    fn time(&self, ns: i64) -> String {
        micros(ns.saturating_sub(self.offset))
    }

    fn meta(&mut self, name: &str, pid: u64, tid: Option<u64>, args: &Value) {
        let tid = tid.map_or(String::new(), |tid| format!(",\"tid\":{tid}"));
        self.line(&format!(
            "{{\"ph\":\"M\",\"name\":\"{name}\",\"pid\":{pid}{tid},\"args\":{args}}}"
        ));
    }

    fn metadata(&mut self) {
        let (trace, numbers) = (self.trace, self.numbers);
        let used: BTreeSet<u64> = self.names.lanes.iter().map(|l| l.0).collect();
        for (i, &id) in numbers.processes.iter().enumerate() {
            let (process, pid) = (trace.process(id), self.names.processes[i]);
            if used.contains(&pid) {
                let name = process.name.clone().unwrap_or_else(|| process.pid.clone());
                self.meta("process_name", pid, None, &json!({ "name": name }));
                let sort = json!({ "sort_index": process.sort_index });
                self.meta("process_sort_index", pid, None, &sort);
            }
        }
        for (i, &id) in numbers.devices.iter().enumerate() {
            let (device, pid) = (trace.device(id), self.names.devices[i]);
            if used.contains(&pid) {
                let product = device
                    .name
                    .as_ref()
                    .map_or(String::new(), |n| format!(" ({n})"));
                let name = format!("GPU {}{product}", device.index);
                self.meta("process_name", pid, None, &json!({ "name": name }));
            }
        }
        for (i, &id) in numbers.sources.iter().enumerate() {
            let pid = self.names.sources[i];
            if used.contains(&pid) {
                let name = trace.source(id).tracer.name;
                self.meta("process_name", pid, None, &json!({ "name": name }));
            }
        }
        for (i, &id) in numbers.lanes.iter().enumerate() {
            let (lane, (pid, tid)) = (trace.lane(id), self.names.lanes[i]);
            self.meta("thread_name", pid, Some(tid), &json!({ "name": lane.name }));
            let sort = json!({ "sort_index": lane.sort_index });
            self.meta("thread_sort_index", pid, Some(tid), &sort);
        }
    }

    fn span(&mut self, cut: &Cut, spans: &[SpanId], number: usize, args: Option<&String>) {
        let (trace, columns, span) = (self.trace, self.trace.spans(), spans[number]);
        let category = trace.category(columns.cat(span));
        let Some(lane) = self.numbers.lane(columns.lane(span)) else {
            return;
        };
        let (pid, tid) = self.names.lanes[lane];
        let mut range = columns.range(span);
        if !category.counts && trace.lane(columns.lane(span)).kind == LaneKind::Recorder {
            // What the recorder says of itself holds for what is left of its record.
            range = range.clip(cut.window());
        }
        let mut extra = String::new();
        if !category.counts {
            extra += ",\"about\":true";
        }
        let place = |span: SpanId| spans.binary_search(&span).ok();
        if let Some(call) = trace.launch_of(span).and_then(place) {
            extra += &format!(",\"call\":{call}");
        }
        let backward = trace.fwdbwd();
        let from = backward.partition_point(|l| l.from < span);
        let of_span = backward[from..].iter().take_while(|l| l.from == span);
        let of_span: Vec<usize> = of_span.filter_map(|l| place(l.to)).collect();
        if !of_span.is_empty() {
            extra += &format!(",\"backward\":{}", json!(of_span));
        }
        if let Some(copy) = trace.copy(span) {
            extra += &format!(",\"copy\":{}", copy_value(copy));
        }
        if let Some(scope) = trace.sync_scope(span) {
            extra += &format!(",\"sync\":{}", self.scope(scope));
        }
        if trace.is_unfinished(span) {
            extra += ",\"open\":true";
        }
        let args = args.map_or(String::new(), |args| format!(",\"args\":{args}"));
        self.line(&format!(
            "{{\"ph\":\"X\",\"n\":{number},\"lane\":{lane},\"pid\":{pid},\"tid\":{tid},\"ts\":{},\"dur\":{},\"name\":{},\"cat\":{}{extra}{args}}}",
            self.time(range.start),
            micros(range.len()),
            text(trace.span_name(span)),
            text(&category.name),
        ));
    }

    fn scope(&self, scope: SyncScope) -> Value {
        match scope {
            SyncScope::Device(device) => json!(["device", self.numbers.device(device)]),
            SyncScope::Stream(stream) => json!(["stream", self.numbers.stream(stream)]),
            SyncScope::Event { stream, record_at } => json!([
                "event",
                self.numbers.stream(stream),
                record_at.saturating_sub(self.offset)
            ]),
        }
    }

    /// Launches as other viewers draw them; the importer has them by their numbers.
    fn flows(&mut self, spans: &[SpanId]) {
        let columns = self.trace.spans();
        let mut id = 0_u64;
        for &span in spans {
            let Some(call) = self.trace.launch_of(span) else {
                continue;
            };
            for (phase, span, more) in [("s", call, ""), ("f", span, ",\"bp\":\"e\"")] {
                let Some(lane) = self.numbers.lane(columns.lane(span)) else {
                    continue;
                };
                let (pid, tid) = self.names.lanes[lane];
                let ts = self.time(columns.start(span));
                self.line(&format!(
                    "{{\"ph\":\"{phase}\",\"id\":{id},\"pid\":{pid},\"tid\":{tid},\"ts\":{ts},\"name\":\"launch\",\"cat\":\"ac2g\"{more}}}"
                ));
            }
            id += 1;
        }
    }

    fn instant(&mut self, instant: crate::model::Instant) {
        let lane = instant.lane.and_then(|lane| self.numbers.lane(lane));
        let sources = &self.numbers.sources;
        let source = sources
            .iter()
            .position(|&s| s == instant.source)
            .unwrap_or(0);
        let (pid, tid) = lane.map_or((self.names.sources[source], 0), |l| self.names.lanes[l]);
        let place = match lane {
            Some(lane) => format!("\"s\":\"t\",\"lane\":{lane}"),
            None => format!("\"s\":\"g\",\"source\":{source}"),
        };
        self.line(&format!(
            "{{\"ph\":\"i\",{place},\"pid\":{pid},\"tid\":{tid},\"ts\":{},\"name\":{}}}",
            self.time(instant.time),
            text(self.trace.name(instant.name)),
        ));
    }

    /// Samples inside, and the last one before.
    fn samples(&mut self, cut: &Cut, number: usize) {
        let counter = &self.trace.counters()[self.numbers.counters[number]];
        let window: TimeRange = cut.window();
        let from = counter.times.partition_point(|&t| t < window.start);
        let until = counter.times.partition_point(|&t| t < window.end);
        let process = counter.process.and_then(|p| self.numbers.process(p));
        let pid = process.map_or(0, |p| self.names.processes[p]);
        let series = if counter.series.is_empty() {
            "value"
        } else {
            &counter.series
        };
        for i in from.saturating_sub(1)..until {
            self.line(&format!(
                "{{\"ph\":\"C\",\"counter\":{number},\"pid\":{pid},\"ts\":{},\"name\":{},\"args\":{{{}:{}}}}}",
                self.time(counter.times[i]),
                text(&counter.name),
                text(series),
                json!(counter.values[i]),
            ));
        }
    }
}

fn micros(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:03}", ns / 1000, ns % 1000)
}

fn text(text: &str) -> String {
    Value::from(text).to_string()
}

fn copy_value(copy: CopyInfo) -> Value {
    let kind = copy.kind.map(|kind| match kind {
        CopyKind::HostToDevice => json!("h2d"),
        CopyKind::DeviceToHost => json!("d2h"),
        CopyKind::DeviceToDevice => json!("d2d"),
        CopyKind::PeerToPeer => json!("p2p"),
        CopyKind::HostToHost => json!("h2h"),
        CopyKind::Managed => json!("managed"),
        CopyKind::Other(n) => json!(n),
    });
    json!([copy.bytes, kind, copy.raw_kind])
}
