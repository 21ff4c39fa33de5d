//! GPUs in the report: busy, idle and why, launches and queues, streams.

use std::collections::BTreeSet;

use super::super::analyse::Analysed;
use super::super::rows;
use super::super::table::{Table, ms, percent, printable, us, were};
use super::{heading, say};
use crate::analysis::{GapCause, QUEUE_FULL, STREAMS_PAIRED, counted};
use crate::columns::{Output, QUEUE, STREAM_PAIR, shown};
use crate::model::DeviceId;
use crate::time::format_count;

/// GPUs shown in full; more of them get a line each.
const IN_FULL: usize = 2;
/// Streams and pairs listed.
const LISTED: usize = 12;

fn wanted(a: &Analysed) -> Vec<usize> {
    match a.rank.map(|r| a.analysis.ranks()[r].gpu) {
        Some(gpu) => gpu.into_iter().collect(),
        None => (0..a.analysis.gpus().len()).collect(),
    }
}

/// What each GPU did.
pub fn gpus(out: &mut String, a: &Analysed) {
    let gpus = wanted(a);
    if gpus.is_empty() {
        heading(out, "GPU");
        say(
            out,
            "No GPU activity was recorded, so nobody can tell when a GPU was idle.",
        );
        return;
    }
    if gpus.len() > IN_FULL {
        overview(out, a, &gpus);
    }
    for &gpu in gpus
        .iter()
        .take(if gpus.len() > IN_FULL { 0 } else { IN_FULL })
    {
        one(out, a, gpu);
    }
}

fn name_of(a: &Analysed, gpu: usize) -> String {
    let g = &a.analysis.gpus()[gpu];
    let device = a.analysis.trace().device(g.device);
    match device.name.as_deref() {
        Some(name) if !name.is_empty() => format!("GPU {} ({})", g.key, printable(name)),
        _ => format!("GPU {}", g.key),
    }
}

fn overview(out: &mut String, a: &Analysed, gpus: &[usize]) {
    heading(out, "GPUs, in ms");
    let mut t = Table::new(&[
        "GPU",
        "busy",
        "busy %",
        "compute",
        "comm only",
        "copies only",
        "idle",
        "not recorded",
        "operations",
    ]);
    for &gpu in gpus {
        let f = a.analysis.gpu_figures(gpu, a.window);
        t.row(vec![
            a.analysis.gpus()[gpu].key.clone(),
            ms(f.busy),
            percent(f.busy, a.window.len()),
            ms(f.partition.compute),
            ms(f.partition.comm),
            ms(f.partition.memcpy),
            ms(f.idle),
            ms(f.edge + f.not_recorded),
            format_count(f.n_ops),
        ]);
    }
    out.push_str(&t.render());
}

fn one(out: &mut String, a: &Analysed, gpu: usize) {
    let f = a.analysis.gpu_figures(gpu, a.window);
    heading(out, &name_of(a, gpu));
    let mut t = Table::new(&["", "ms", "of time", "<"]);
    let mut row = |name: &str, ns: i64, note: String| {
        t.row(vec![
            name.to_owned(),
            ms(ns),
            percent(ns, a.window.len()),
            note,
        ]);
    };
    let mut operations = counted(f.n_ops, "operation");
    if let Some(most) = f.busy_share_at_most().filter(|_| f.not_recorded > 0) {
        operations.push_str(&format!(
            "; at most {:.1} % with what was not recorded",
            100.0 * most
        ));
    }
    row("busy", f.busy, operations);
    let p = &f.partition;
    for (name, ns) in [
        ("  compute", p.compute),
        ("  communication alone", p.comm),
        ("  copies alone", p.memcpy),
        ("  memsets alone", p.memset),
    ] {
        if ns > 0 {
            row(name, ns, String::new());
        }
    }
    row("idle", f.idle, String::new());
    for (cause, ns) in GapCause::ALL.into_iter().zip(f.by_cause) {
        if ns > 0 {
            let (name, note) = cause_text(cause);
            row(name, ns, note.to_owned());
        }
    }
    if f.not_recorded > 0 {
        row("work not recorded", f.not_recorded, lost_text(a, gpu));
    }
    if f.edge > 0 {
        row(
            "not recorded",
            f.edge,
            "before the first and after the last thing that the record can tell".to_owned(),
        );
    }
    out.push_str(&t.render());
    overlaps(out, a, gpu);
    phases(out, a, gpu);
}

/// What of a GPU's work is known to be missing.
fn lost_text(a: &Analysed, gpu: usize) -> String {
    let gpu = &a.analysis.gpus()[gpu];
    let mut why = Vec::new();
    if gpu.lost.graph > 0 {
        why.push(format!(
            "{} of {} graph launches",
            gpu.lost.graph, gpu.lost.calls_graph
        ));
    }
    if gpu.lost.kernel > 0 {
        why.push(format!(
            "{} of {} kernel launches",
            gpu.lost.kernel, gpu.lost.calls_kernel
        ));
    }
    let mut text = match why.is_empty() {
        true => String::new(),
        false => format!("{} have no GPU work recorded", why.join(" and ")),
    };
    let overrun = gpu.overruns.ops.len();
    if overrun > 0 {
        text.push_str(if text.is_empty() { "" } else { "; " });
        text.push_str(&counted(overrun as u64, "operation"));
        text.push_str(" ended after the next of the stream began");
    }
    text
}

fn cause_text(cause: GapCause) -> (&'static str, &'static str) {
    match cause {
        GapCause::Host => ("  host", "the CPU had not yet launched the next work"),
        GapCause::Kernel => ("  between kernels", "the usual short gaps"),
        GapCause::Other => (
            "  held",
            "launched but not started: a stream, event, rank or copy engine held it",
        ),
        GapCause::Unknown => (
            "  unknown",
            "no launch call is recorded, or nothing follows",
        ),
    }
}

/// How much of communication and copies compute covers.
fn overlaps(out: &mut String, a: &Analysed, gpu: usize) {
    let f = a.analysis.gpu_figures(gpu, a.window);
    if f.comm > 0 {
        say(
            out,
            &format!(
                "Communication {} ms: {} beside compute, {} ms exposed.",
                ms(f.comm),
                percent(f.comm - f.exposed_comm, f.comm),
                ms(f.exposed_comm),
            ),
        );
    }
    if f.memcpy > 0 {
        say(
            out,
            &format!(
                "Copies {} ms: {} under compute, {} ms not overlapped.",
                ms(f.memcpy),
                percent(f.memcpy_in_compute, f.memcpy),
                ms(f.exposed_memcpy),
            ),
        );
    }
}

/// What the loop was doing while the GPU was idle.
fn phases(out: &mut String, a: &Analysed, gpu: usize) {
    let f = a.analysis.gpu_figures(gpu, a.window);
    let Some(mut by) = f.idle_by_phase.clone().filter(|_p| f.idle > 0) else {
        return;
    };
    by.retain(|(_p, ns)| *ns > 0);
    by.sort_by_key(|(_p, ns)| std::cmp::Reverse(*ns));
    let texts: Vec<String> = by
        .iter()
        .map(|(phase, ns)| {
            let name = phase.map_or("no phase", |l| a.analysis.layers().info(l).name.as_str());
            let name = printable(name);
            format!("{name} {} ms ({})", ms(*ns), percent(*ns, f.idle))
        })
        .collect();
    say(
        out,
        &format!("While it was idle, the loop was in: {}.", texts.join(", ")),
    );
}

/// Launch calls and queues.
pub fn launches(out: &mut String, a: &Analysed) {
    let f = a.analysis.launch_figures(a.window);
    if f.calls == 0 && f.ops == 0 {
        return;
    }
    heading(out, "Launches");
    say(
        out,
        &format!(
            "{} launched {} of {}; {} without a launch call in the record.",
            counted(f.calls, "call"),
            format_count(f.pairs),
            counted(f.ops, "operation"),
            format_count(f.ops_without_launch),
        ),
    );
    if f.op_before_launch > 0 {
        say(
            out,
            &format!(
                "{} started before the launch: the clocks of CPU and GPU disagree.",
                counted(f.op_before_launch, "operation")
            ),
        );
    }
    if f.blocking_calls > 0 {
        say(
            out,
            &format!(
                "{} did not return before the launched GPU work had finished: blocking in effect.",
                counted(f.blocking_calls, "launch call")
            ),
        );
    }
    let mut t = Table::new(&["delay, in µs", "median", "p95", "max"]);
    let cell = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), us);
    t.row(vec![
        "return of the call to start".to_owned(),
        cell(f.delay.median),
        cell(f.delay.p95),
        cell(f.delay.max),
    ]);
    t.row(vec![
        "call to end of the work".to_owned(),
        cell(f.total.median),
        cell(f.total.p95),
        cell(f.total.max),
    ]);
    if f.pairs > 0 {
        out.push_str(&t.render());
        say(
            out,
            "Long delays are fine while the GPU is busy: work is queued ahead.",
        );
    }
    queues(out, a);
}

fn shown_devices(a: &Analysed) -> BTreeSet<DeviceId> {
    let gpus = a.analysis.gpus();
    wanted(a).into_iter().map(|g| gpus[g].device).collect()
}

fn queues(out: &mut String, a: &Analysed) {
    let mut queues = a.analysis.queues(a.window);
    let devices = shown_devices(a);
    queues.retain(|q| {
        let device = a.analysis.trace().lane_device(q.lane);
        q.max_in_flight > 0 && device.is_some_and(|d| devices.contains(&d))
    });
    if queues.is_empty() {
        return;
    }
    let columns = shown(QUEUE, Output::Text, "");
    let most = columns.iter().position(|c| c.key == "max_queued");
    let listed = queues.iter().take(LISTED);
    let t = rows::table(&a.analysis, &columns, listed, |queue, cells| {
        if let Some(i) = most.filter(|_| queue.max_queued >= QUEUE_FULL) {
            cells[i].push_str(" (full: the CPU waits in launch calls)");
        }
    });
    out.push_str(&t.render());
    if queues.len() > LISTED {
        say(
            out,
            &format!(
                "and {}; --json lists all",
                counted((queues.len() - LISTED) as u64, "more queue")
            ),
        );
    }
}

/// Streams of the same GPU that worked at once.
pub fn streams(out: &mut String, a: &Analysed) {
    let devices = shown_devices(a);
    let mut found = a.analysis.stream_pairs(a.window);
    found.retain_gpus(a.analysis.trace(), |d| devices.contains(&d));
    let left_out = found.count_left_out();
    let mut pairs = found.pairs;
    pairs.retain(|p| p.min_busy > 0);
    if pairs.is_empty() {
        return;
    }
    pairs.sort_by_key(|p| std::cmp::Reverse((p.both, p.min_busy)));
    heading(out, "Streams that worked at once, in ms");
    let never = pairs.iter().filter(|p| p.both == 0).count();
    pairs.retain(|p| p.both > 0);
    let few = format!(
        "Of a GPU with more than {STREAMS_PAIRED} streams only the busiest {STREAMS_PAIRED} were compared: {} not looked at.",
        were(left_out, "other pair")
    );
    if pairs.is_empty() {
        say(out, "None: no two streams of a GPU were ever busy at once.");
        if left_out > 0 {
            say(out, &few);
        }
        return;
    }
    let columns = shown(STREAM_PAIR, Output::Text, "");
    let listed = pairs.iter().take(LISTED);
    let t = rows::table(&a.analysis, &columns, listed, |_, _| {});
    out.push_str(&t.render());
    if pairs.len() > LISTED {
        say(
            out,
            &format!(
                "and {}; --json lists all",
                counted((pairs.len() - LISTED) as u64, "more pair")
            ),
        );
    }
    if never > 0 {
        say(
            out,
            &format!(
                "Never busy at once: {} of streams.",
                counted(never as u64, "other pair")
            ),
        );
    }
    if left_out > 0 {
        say(out, &few);
    }
}
