//! How CPU time and memory grow with the size of a run, by doubling one thing after the other: ranks, processes with loops,
//! threads that wait, steps, GPUs, lanes, asynchronous ids, samples of counters, flows, distinct names, overlapping spans,
//! windows of the report. Prints the time of opening, of analysing, of what the window draws from and of the JSON report;
//! the most memory; and the exponents between the half and the largest.
//!
//! ```text
//! cargo bench --no-default-features --features png --bench growth
//! cargo bench --no-default-features --features png --bench growth -- threads 5
//! ```
//!
//! The first argument chooses what grows (all by default), the second how often it doubles (4). An exponent of 1 is
//! linear growth. Times are those of all threads of the process, as the kernel counts them; without `/proc` the wall clock,
//! and no memory.

#![expect(clippy::print_stdout, reason = "the figures are what the run is for")]
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use stallscope::analysis::{Analysis, Found, GoOn, Options, Rules, placed};
use stallscope::export::report::{ReportOptions, listed};
use stallscope::import::{OpenOptions, Progress, SharedArgs, open};
use stallscope::model::SpanId;
use stallscope::view::{Lod, RowTree};

#[path = "support/shapes.rs"]
mod shapes;

/// CPU time of this process so far, s.
fn cpu(began: Instant) -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").ok();
    let ticks = stat.as_deref().and_then(|text| {
        // User and system time stand 12 and 13 fields behind the name, in hundredths of a second.
        let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
        let user: u64 = fields.next()?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        Some((user + system) as f64 / 100.0)
    });
    ticks.unwrap_or_else(|| began.elapsed().as_secs_f64())
}

/// The most memory since [`forget_peak`], kB.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kb = line.and_then(|l| l.split_whitespace().next()?.parse().ok());
    kb.unwrap_or(0.0)
}

fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// What one size takes.
#[derive(Clone, Copy)]
struct Taken {
    /// Opening, analysing, window, report: CPU s.
    cpu: [f64; 4],
    /// kB, beside what the process had before.
    memory: f64,
    events: u64,
}

/// Opens, analyses with the verdict of each run, lays out for the window and writes the report to nowhere.
fn measure(paths: &[PathBuf], windows: Option<u64>) -> Taken {
    let began = Instant::now();
    let rules = Rules::builtin();
    forget_peak();
    let before = peak();
    let mut at = cpu(began);
    let mut lap = || {
        let now = cpu(began);
        now - std::mem::replace(&mut at, now)
    };
    let loaded = open(paths, &OpenOptions::default(), &Progress::new()).unwrap();
    let opened = lap();
    let events = loaded.report.files.iter().map(|f| f.events).sum();
    let trace = Arc::new(loaded.trace);
    let reader = SharedArgs::new(Arc::clone(&trace));
    let args = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        reader.each(spans, go_on, found);
    };
    let trace = placed(trace, &rules, &args, &|| true);
    let reader = SharedArgs::new(Arc::clone(&trace));
    let args = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        reader.each(spans, go_on, found);
    };
    let analysis = Analysis::with_args(
        Arc::clone(&trace),
        &rules,
        &Options::default(),
        &args,
        &|_| true,
    )
    .unwrap();
    drop(analysis.jobs(trace.extent()));
    let analysed = lap();
    let lod = Arc::new(Lod::build(&trace, &analysis));
    drop(RowTree::new(&trace, &analysis, lod));
    let drawn = lap();
    let options = ReportOptions {
        grid: windows.map(|n| trace.extent().len() / n.cast_signed() + 1),
        ..ReportOptions::default()
    };
    serde_json::to_writer(std::io::sink(), &listed(&analysis, &options)).unwrap();
    Taken {
        cpu: [opened, analysed, drawn, lap()],
        memory: peak() - before,
        events,
    }
}

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let chosen = args.first().map(String::as_str);
    let doublings: u32 = args.get(1).and_then(|n| n.parse().ok()).unwrap_or(4);
    for shape in shapes::SHAPES {
        if chosen.is_some_and(|c| c != shape.what) {
            continue;
        }
        println!(
            "{:12}   events  opening  analysing  drawing  report   CPU s      MB  B/event",
            shape.what
        );
        let mut all: Vec<Taken> = Vec::new();
        for i in 0..=doublings {
            let folder = tempfile::tempdir().unwrap();
            let n = shape.least << i;
            let paths = (shape.make)(folder.path(), n);
            // The best of three: what other programs take of the caches is not ours.
            let rounds = (0..3).map(|_| measure(&paths, shape.windows.then_some(n)));
            let best = rounds.reduce(|best, t| Taken {
                cpu: [0, 1, 2, 3].map(|i| best.cpu[i].min(t.cpu[i])),
                memory: best.memory.max(t.memory),
                events: t.events,
            });
            let best = best.unwrap();
            let [o, a, d, r] = best.cpu;
            println!(
                "{n:12} {:8} {o:8.2} {a:10.2} {d:8.2} {r:7.2} {:15.1} {:8.0}",
                best.events,
                best.memory / 1024.0,
                best.memory * 1024.0 / best.events.max(1) as f64
            );
            all.push(best);
        }
        // Between the half and the whole: small sizes hold what every run costs.
        let half = all.len() / 2;
        let (from, to) = (all[half], all[all.len() - 1]);
        let doubled = (all.len() - 1 - half).max(1) as f64;
        let exponent =
            |from: f64, to: f64, least: f64| (to.max(least) / from.max(least)).log2() / doubled;
        let [o, a, d, r] = [0, 1, 2, 3].map(|i| exponent(from.cpu[i], to.cpu[i], 0.03));
        let memory = exponent(from.memory, to.memory, 4_096.0);
        println!(
            "{:12} {:8} {o:8.2} {a:10.2} {d:8.2} {r:7.2} {memory:15.2}\n",
            "exponent", ""
        );
    }
}
