//! `stallscope info`: what is in a trace, and what happened while it was read.
//!
//! Needs no analysis, so that it is quick and small on the largest files.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use serde_json::{Value, json};

use super::CliError;
use super::args::Info;
use super::load::{self, Opened};
use super::notices;
use super::runs;
use super::style::{Style, Tone};
use super::table::{self, Table, printable};
use crate::analysis::{Found, GoOn, Identity, OsProcess, Rules, counted};
use crate::import::{FileReport, SharedArgs};
use crate::model::{Clock, Lane, LaneId, LaneKind, Source, SpanId, Stream, Trace};
use crate::time::{format_count, format_ns};

/// Up to so many files are described in full.
const FILES_IN_FULL: usize = 3;
/// Kinds of events in a line.
const KINDS_PER_LINE: usize = 3;
/// Processes and GPUs listed in the text; `--json` lists all.
const PROCESSES_SHOWN: usize = 200;
/// Lanes listed in the text; `--json` lists all.
const LANES_SHOWN: usize = 40;
/// Categories listed in the text; `--json` lists all.
const CATEGORIES_SHOWN: usize = 30;

/// Runs the command.
pub fn run(args: &Info, out: &mut dyn Write) -> Result<u8, CliError> {
    let opened = load::open(&args.input.paths, &args.input.open)?;
    if args.json {
        let text = serde_json::to_string_pretty(&to_json(&opened)).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        out.write_all(to_text(&opened).as_bytes())?;
    }
    Ok(0)
}

/// Number of spans per category, by category id.
fn spans_by_category(trace: &Trace) -> Vec<u64> {
    let mut counts = vec![0; trace.categories().len()];
    for cat in trace.spans().cats() {
        counts[cat.index()] += 1;
    }
    counts
}

/// The most memory that the process has held so far, where the system says so.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1_024)
}

fn kind_text(kind: LaneKind) -> &'static str {
    match kind {
        LaneKind::Cpu => "CPU thread",
        LaneKind::Gpu => "GPU stream",
        LaneKind::GpuAnnotation => "GPU annotations",
        LaneKind::GpuSync => "GPU waits",
        LaneKind::Overhead => "profiler overhead",
        LaneKind::Async => "async",
        LaneKind::Recorder => "recorder",
    }
}

/// Who is who, by the built-in rules.
fn identity(opened: &Opened) -> Identity {
    let reader = SharedArgs::new(Arc::clone(&opened.trace));
    let args = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        reader.each(spans, go_on, found);
    };
    Identity::new(&opened.trace, &Rules::builtin(), &args, &|| true)
}

/// The role of a lane's thread; lanes of others have none.
fn role(trace: &Trace, who: &Identity, lane: LaneId) -> &'static str {
    match trace.lane(lane).kind {
        LaneKind::Cpu => who.roles()[lane.index()].key(),
        _ => "",
    }
}

/// Lanes of each process, of all its recorders, in one pass: a trace may have very many.
fn lanes_of(trace: &Trace, who: &Identity) -> Vec<u64> {
    let mut all = vec![0; who.processes.len()];
    for process in trace.lane_ids().filter_map(|l| who.process(l)) {
        all[process] += 1;
    }
    all
}

/// The name of a process where a file gives one.
fn process_name<'t>(trace: &'t Trace, process: &OsProcess) -> Option<&'t str> {
    let names = process
        .records
        .iter()
        .map(|&r| trace.process(r).name.as_deref());
    names.flatten().next()
}

/// Streams of each device, in one pass.
fn streams_of(trace: &Trace) -> Vec<Vec<&Stream>> {
    let mut all = vec![Vec::new(); trace.devices().len()];
    for stream in trace.streams() {
        if let Some(of) = all.get_mut(stream.device.index()) {
            of.push(stream);
        }
    }
    all
}

fn spans_of(lane: &Lane) -> u64 {
    u64::from(lane.spans.end - lane.spans.start)
}

// ---- text

fn to_text(opened: &Opened) -> String {
    let trace = &opened.trace;
    let mut out = String::new();
    let files = &opened.report.files;
    if files.len() <= FILES_IN_FULL {
        for file in files {
            file_text(&mut out, trace, file);
        }
    } else {
        files_table(&mut out, files);
    }
    out.push_str("\nTrace\n");
    let extent = trace.extent();
    line(&mut out, "extent", &extent.to_string());
    if let Some(origin) = trace.unix_origin() {
        line(&mut out, "zero is", &table::utc(origin));
    }
    let spans = trace.spans().len() as u64;
    let n_counted = trace.counted_spans();
    let other = spans - n_counted.min(spans);
    let note = match other {
        0 => String::new(),
        n => format!(" and {} of the recorder itself", format_count(n)),
    };
    line(
        &mut out,
        "spans",
        &format!("{}{note}", format_count(n_counted)),
    );
    line(&mut out, "names", &format_count(trace.names().len() as u64));
    line(
        &mut out,
        "links",
        &format!(
            "{} from calls to GPU operations, {} from forward to backward",
            format_count(trace.launches().len() as u64),
            format_count(trace.fwdbwd().len() as u64),
        ),
    );
    let samples: usize = trace.counters().iter().map(|c| c.times.len()).sum();
    line(
        &mut out,
        "also",
        &format!(
            "{}, {} of {}",
            counted(trace.instants().len() as u64, "instant"),
            counted(samples as u64, "sample"),
            counted(trace.counters().len() as u64, "counter"),
        ),
    );
    let who = identity(opened);
    runs::list(&mut out, trace, &who);
    processes_text(&mut out, trace, &who);
    clocks_text(&mut out, &who);
    devices_text(&mut out, trace);
    lanes_text(&mut out, trace, &who);
    categories_text(&mut out, trace);
    cost_text(&mut out, opened);
    notices_text(&mut out, opened);
    out
}

fn line(out: &mut String, key: &str, value: &str) {
    out.push_str(&format!("  {key:<9} {value}\n"));
}

fn clock_text(source: &Source) -> String {
    let mut text = match source.clock {
        Clock::Unix { zero } => format!("Unix time; the file's zero is {}", table::utc(zero)),
        Clock::Unknown => "its own; no relation to other clocks is known".to_owned(),
    };
    if source.shift_ns != 0 {
        text.push_str(&format!(
            "; shifted by {} by hand",
            format_ns(source.shift_ns)
        ));
    }
    text
}

fn file_text(out: &mut String, trace: &Trace, file: &FileReport) {
    out.push_str(&format!(
        "{}\n",
        printable(&file.path.display().to_string())
    ));
    line(out, "format", &file.format);
    let inflated = match file.inflated_bytes {
        n if n == file.bytes || n == 0 => String::new(),
        n => format!(", {} inflated", table::bytes(n)),
    };
    line(
        out,
        "size",
        &format!("{}{inflated}", table::bytes(file.bytes)),
    );
    if let Some(id) = file.source {
        let source = trace.source(id);
        line(out, "producer", &printable(&source.producer));
        line(out, "clock", &clock_text(source));
        let told = file.facts.iter().any(|(key, _value)| key == "rank");
        if let Some(rank) = source.rank.filter(|_r| !told) {
            line(out, "rank", &rank.to_string());
        }
        if let Some(capture) = source.capture {
            line(out, "window", &capture.to_string());
        }
    }
    for (key, value) in &file.facts {
        line(
            out,
            &printable(key),
            &table::shorten(&printable(value), 110),
        );
    }
    line(out, "events", &format_count(file.events));
    let kinds: Vec<String> = file
        .by_kind
        .iter()
        .map(|(kind, n)| format!("{} {}", printable(kind), format_count(*n)))
        .collect();
    for some in kinds.chunks(KINDS_PER_LINE) {
        line(out, "", &some.join(", "));
    }
}

fn files_table(out: &mut String, files: &[FileReport]) {
    let fact = |f: &FileReport, key: &str| {
        let found = f.facts.iter().find(|(k, _v)| k == key);
        found.map_or(String::new(), |(_k, v)| printable(v))
    };
    let mut t = Table::new(&[
        "file", "<format", "size", "inflated", "events", "pid", "<role", "rank",
    ]);
    for f in files {
        let name = f.path.file_name().unwrap_or(f.path.as_os_str());
        t.row(vec![
            table::shorten(&printable(&name.to_string_lossy()), 60),
            table::shorten(&f.format, 50),
            table::bytes(f.bytes),
            table::bytes(f.inflated_bytes),
            format_count(f.events),
            fact(f, "pid"),
            fact(f, "role"),
            fact(f, "rank"),
        ]);
    }
    out.push_str(&format!("{} files\n{}", files.len(), t.render()));
    out.push_str("  For producer, clock and facts of one, ask for it alone, or all with --json.\n");
}

fn processes_text(out: &mut String, trace: &Trace, who: &Identity) {
    let titles = [
        "pid",
        "<name",
        "<role",
        "rank",
        "lanes",
        "spans",
        "<host",
        "<recorded by",
    ];
    let mut t = Table::new(&titles);
    let lanes = lanes_of(trace, who);
    for (p, lanes) in who.processes.iter().zip(&lanes).take(PROCESSES_SHOWN) {
        let mut tracers: Vec<&str> = p
            .recordings
            .iter()
            .map(|&r| who.recordings[r].tracer)
            .collect();
        tracers.dedup();
        t.row(vec![
            printable(&p.pid),
            printable(process_name(trace, p).unwrap_or("")),
            p.purpose.key().to_owned(),
            p.rank.map_or_else(String::new, |rank| rank.to_string()),
            lanes.to_string(),
            format_count(p.spans),
            table::shorten(&printable(p.host.as_deref().unwrap_or("")), 24),
            if p.recorded {
                tracers.join(" + ")
            } else {
                "nothing".to_owned()
            },
        ]);
    }
    section(out, "Processes", &t);
    more(out, who.processes.len(), PROCESSES_SHOWN, "processes");
}

/// How far the clocks of the files of one run are apart.
fn clocks_text(out: &mut String, who: &Identity) {
    let titles = ["<clock of", "<against", "<apart by", "<told by", "<placed"];
    let mut t = Table::new(&titles);
    for clock in who.clocks() {
        let name = |r: usize| table::shorten(&printable(&who.recordings[r].name()), 32);
        t.row(vec![
            name(clock.recording),
            name(clock.reference),
            clock.apart(),
            clock.told_by(),
            match clock.offset {
                0 => "as its clock says".to_owned(),
                offset => format!("moved by {} ({})", format_ns(-offset), clock.how.text()),
            },
        ]);
    }
    section(out, "Clocks", &t);
}

fn section(out: &mut String, title: &str, t: &Table) {
    if !t.is_empty() {
        out.push_str(&format!("\n{title}\n{}", t.render()));
    }
}

fn devices_text(out: &mut String, trace: &Trace) {
    let mut t = Table::new(&["device", "<name", "streams", "operations", "<note"]);
    let all = streams_of(trace);
    for (d, streams) in trace.devices().iter().zip(&all).take(PROCESSES_SHOWN) {
        let n = streams.len();
        let of = |s: &&Stream| s.ops.map_or(0, |l| spans_of(trace.lane(l)));
        let ops: u64 = streams.iter().map(of).sum();
        let note = if d.counts {
            ""
        } else {
            "not counted as GPU work"
        };
        t.row(vec![
            d.index.to_string(),
            printable(d.name.as_deref().unwrap_or("")),
            n.to_string(),
            format_count(ops),
            note.to_owned(),
        ]);
    }
    section(out, "GPUs", &t);
    more(out, all.len(), PROCESSES_SHOWN, "GPUs");
    if t.is_empty() {
        out.push_str("\nGPUs\n  None: no GPU activity was recorded.\n");
    }
}

fn lanes_text(out: &mut String, trace: &Trace, who: &Identity) {
    let mut t = Table::new(&["lane", "<name", "<kind", "<role", "spans", "rows"]);
    let mut lanes: Vec<LaneId> = trace.lane_ids().collect();
    lanes.sort_by_key(|&l| std::cmp::Reverse(spans_of(trace.lane(l))));
    for &id in lanes.iter().take(LANES_SHOWN) {
        let lane = trace.lane(id);
        t.row(vec![
            printable(&lane.key),
            table::shorten(&printable(&lane.name), 40),
            kind_text(lane.kind).to_owned(),
            role(trace, who, id).to_owned(),
            format_count(spans_of(lane)),
            lane.rows.to_string(),
        ]);
    }
    section(out, "Lanes, fullest first", &t);
    more(out, lanes.len(), LANES_SHOWN, "lanes");
}

fn more(out: &mut String, total: usize, shown: usize, what: &str) {
    if total > shown {
        out.push_str(&format!(
            "  and {} more {what}; --json lists all\n",
            total - shown
        ));
    }
}

fn categories_text(out: &mut String, trace: &Trace) {
    let counts = spans_by_category(trace);
    let mut rows: Vec<(u64, &str, bool)> = trace
        .categories()
        .iter()
        .zip(counts)
        .filter(|(_c, n)| *n > 0)
        .map(|(c, n)| (n, c.name.as_str(), c.counts))
        .collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let mut t = Table::new(&["category", "spans", "<note"]);
    for (n, name, counts) in rows.iter().take(CATEGORIES_SHOWN) {
        let name = if name.is_empty() { "(none)" } else { name };
        let note = if *counts { "" } else { "does not count" };
        t.row(vec![
            table::shorten(&printable(name), 60),
            format_count(*n),
            note.to_owned(),
        ]);
    }
    section(out, "Spans by category", &t);
    more(out, rows.len(), CATEGORIES_SHOWN, "categories");
}

fn cost_text(out: &mut String, opened: &Opened) {
    out.push_str("\nCost\n");
    let (heap, spans) = (
        opened.trace.heap_bytes() as u64,
        opened.trace.spans().len() as u64,
    );
    let each = heap
        .checked_div(spans)
        .map_or(String::new(), |b| format!(", {} per span", table::bytes(b)));
    line(out, "timeline", &format!("{}{each}", table::bytes(heap)));
    if let Some(peak) = peak_bytes() {
        line(out, "peak", &table::bytes(peak));
    }
    let read: u64 = opened
        .report
        .files
        .iter()
        .map(|f| f.inflated_bytes.max(f.bytes))
        .sum();
    let events: u64 = opened.report.files.iter().map(|f| f.events).sum();
    let per_second = |n: u64| (n as f64 / opened.seconds.max(1e-6)) as u64;
    line(
        out,
        "time",
        &format!(
            "{:.3} s: {} and {} events per second",
            opened.seconds,
            table::bytes(per_second(read)),
            format_count(per_second(events)),
        ),
    );
}

fn notices_text(out: &mut String, opened: &Opened) {
    out.push_str("\nImport report\n");
    if opened.report.notices.is_empty() {
        out.push_str("  Everything was read; nothing was repaired, skipped or guessed.\n");
    }
    let many = opened.report.files.len() > 1;
    let all: Vec<_> = opened.report.notices.iter().collect();
    for line in notices::lines(&opened.trace, &all, many) {
        let text = table::sentence(&line.text);
        out.push_str(&match line.lost {
            true => Style::out().paint(Tone::Loss, &text),
            false => text,
        });
    }
}

// ---- JSON

fn to_json(opened: &Opened) -> Value {
    let trace = &opened.trace;
    let who = identity(opened);
    let extent = trace.extent();
    let categories: Vec<Value> = trace
        .categories()
        .iter()
        .zip(spans_by_category(trace))
        .map(|(c, n)| json!({"name": c.name, "spans": n, "counts": c.counts}))
        .collect();
    let samples: usize = trace.counters().iter().map(|c| c.times.len()).sum();
    json!({
        "schema": 1,
        "files": opened.report.files.iter().map(|f| file_json(trace, f)).collect::<Vec<_>>(),
        "extent": [extent.start, extent.end],
        "unix_origin": trace.unix_origin(),
        "spans": trace.spans().len(),
        "counted_spans": trace.counted_spans(),
        "names": trace.names().len(),
        "launches": trace.launches().len(),
        "fwdbwd": trace.fwdbwd().len(),
        "instants": trace.instants().len(),
        "counters": trace.counters().len(),
        "counter_samples": samples,
        "processes": processes_json(trace, &who),
        "devices": devices_json(trace),
        "lanes": trace.lane_ids().map(|l| lane_json(trace, &who, l)).collect::<Vec<_>>(),
        "categories": categories,
        "anomalies": trace.anomalies().iter().map(|(k, n)| ((*k).to_owned(), *n)).collect::<BTreeMap<_, _>>(),
        "notices": opened.report.notices.iter().map(|n| notices::to_json(&opened.trace, n)).collect::<Vec<_>>(),
        "timeline_bytes": trace.heap_bytes(),
        "peak_bytes": peak_bytes(),
        "read_seconds": opened.seconds,
    })
}

fn file_json(trace: &Trace, file: &FileReport) -> Value {
    let source = file.source.map(|id| trace.source(id));
    let zero = match source.map(|s| s.clock) {
        Some(Clock::Unix { zero }) => Some(zero),
        _ => None,
    };
    json!({
        "path": file.path.display().to_string(),
        "format": file.format,
        "bytes": file.bytes,
        "inflated_bytes": file.inflated_bytes,
        "events": file.events,
        "by_kind": file.by_kind.iter().map(|(k, n)| (k.clone(), Value::from(*n))).collect::<serde_json::Map<_, _>>(),
        "facts": file.facts,
        "tracer": source.map(|s| s.tracer.key),
        "producer": source.map(|s| s.producer.clone()),
        "unix_zero": zero,
        "to_trace_ns": source.map(|s| s.to_trace_ns),
        "shift_ns": source.map(|s| s.shift_ns),
        "rank": source.and_then(|s| s.rank),
        "capture": source.and_then(|s| s.capture).map(|c| [c.start, c.end]),
    })
}

fn processes_json(trace: &Trace, who: &Identity) -> Vec<Value> {
    let one = |p: &OsProcess| {
        json!({
            "pid": p.pid, "name": process_name(trace, p), "host": p.host, "rank": p.rank,
            "role": p.purpose.key(), "parent": p.parent,
        })
    };
    who.processes.iter().map(one).collect()
}

fn devices_json(trace: &Trace) -> Vec<Value> {
    trace
        .devices()
        .iter()
        .zip(streams_of(trace))
        .map(|(d, streams)| {
            let streams: Vec<Value> = streams
                .iter()
                .map(|s| {
                    let ops = s.ops.map_or(0, |l| spans_of(trace.lane(l)));
                    json!({"stream": s.number, "context": s.context, "operations": ops})
                })
                .collect();
            json!({"device": d.index, "name": d.name, "counts": d.counts, "streams": streams})
        })
        .collect()
}

fn lane_json(trace: &Trace, who: &Identity, id: LaneId) -> Value {
    let lane = trace.lane(id);
    json!({
        "lane": lane.key,
        "name": lane.name,
        "kind": kind_text(lane.kind),
        "pid": lane.process.map(|p| trace.process(p).pid.clone()),
        "thread": lane.thread,
        "rank": who.rank(id),
        "role": role(trace, who, id),
        "spans": spans_of(lane),
        "rows": lane.rows,
    })
}
