//! What is fuzzed: bytes go in, whatever opens must keep the timeline's invariants, and nothing may panic.
//!
//! The fuzz targets and `tests/suite/fuzz_smoke.rs` run the same functions. Knows no mutation.

use std::cmp::Reverse;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use stallscope::analysis::{Analysis, LaneGroup, Options, Rules};
use stallscope::export::report::{ReportOptions, report};
use stallscope::import::{ArgsReader, Loaded, OpenOptions, Progress, open};
use stallscope::model::{Role, SpanId, Trace};

/// Separates the files of a run in one input.
pub const NEXT_FILE: &[u8] = b"\n=== next file ===\n";

static RULES: LazyLock<Rules> = LazyLock::new(Rules::builtin);

/// A JSON trace.
pub fn chrome(folder: &Path, data: &[u8]) {
    one_file(folder, "trace.json", data);
}

/// A database.
pub fn nsight(folder: &Path, data: &[u8]) {
    one_file(folder, "trace.sqlite", data);
}

/// A table of spans.
pub fn spans(folder: &Path, data: &[u8]) {
    one_file(folder, "own.csv", data);
}

/// An archive or a compressed file.
pub fn container(folder: &Path, data: &[u8]) {
    one_file(folder, "trace.bin", data);
}

/// A run of one or several files of lines.
pub fn pfw(folder: &Path, data: &[u8]) {
    let mut rest = data;
    let mut parts = Vec::new();
    while let Some(at) = rest.windows(NEXT_FILE.len()).position(|w| w == NEXT_FILE) {
        parts.push(&rest[..at]);
        rest = &rest[at + NEXT_FILE.len()..];
    }
    parts.push(rest);
    let mut paths = Vec::new();
    for (i, part) in parts.iter().take(4).enumerate() {
        let path = folder.join(format!("trace-{i}.pfw"));
        std::fs::write(&path, part).expect("a writable folder");
        paths.push(path);
    }
    paths_open(&paths, data);
}

/// A rule file, and what its rules make of a few spans.
pub fn rules(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (rules, problems) = Rules::parse(&text, "fuzz.toml");
    let lines = text.lines().count();
    for problem in problems {
        assert!(
            (1..=lines.max(1)).contains(&problem.line),
            "line {} of {lines}: {problem}",
            problem.line
        );
    }
    for tracer in ["torch", "nsight", "dftracer"] {
        for (gpu, role) in [(false, Role::Worker), (true, Role::Main)] {
            let group = LaneGroup { tracer, gpu, role };
            for (cat, name) in [
                ("cpu_op", "aten::linear"),
                ("", ""),
                ("kernel", "void f<1>(int)"),
            ] {
                let _ = rules.classify(group, cat, name, &|_| Some(name.to_owned()));
            }
        }
    }
    let _ = rules.role_of("thread 1", Some("python"), None);
}

fn one_file(folder: &Path, name: &str, data: &[u8]) {
    let path = folder.join(name);
    std::fs::write(&path, data).expect("a writable folder");
    paths_open(&[path], data);
}

fn paths_open(paths: &[PathBuf], data: &[u8]) {
    let mut hash = DefaultHasher::new();
    data.hash(&mut hash);
    let choice = hash.finish();
    let with = |threads| {
        let options = OpenOptions {
            threads,
            ..OpenOptions::default()
        };
        open(paths, &options, &Progress::new())
    };
    let one = with(1);
    if let Ok(loaded) = &one {
        check(&loaded.trace);
    }
    // One input in eight is read on several threads too: it must come to the same.
    if choice.is_multiple_of(8) {
        match (&one, with(3)) {
            (Ok(a), Ok(b)) => same(a, &b),
            (Err(a), Err(b)) => assert_eq!(*a, b),
            (a, b) => panic!("one thread: {:?}, three: {:?}", a.is_ok(), b.is_ok()),
        }
    }
    if let Ok(loaded) = one
        && choice.is_multiple_of(4)
    {
        analyse(loaded);
    }
}

/// The invariants that `ARCHITECTURE.md` states.
fn check(trace: &Trace) {
    let spans = trace.spans();
    let n = u32::try_from(spans.len()).expect("few");
    let mut next = 0;
    for lane in trace.lanes() {
        assert_eq!(lane.spans.start, next, "lanes follow each other");
        next = lane.spans.end;
        let key = |i: u32| (spans.start(SpanId(i)), Reverse(spans.dur(SpanId(i))));
        let mut ends = vec![i64::MIN; usize::from(lane.rows).max(1)];
        for i in lane.spans.clone() {
            let id = SpanId(i);
            assert!(spans.dur(id) >= 0, "no negative durations");
            assert!(i + 1 >= lane.spans.end || key(i) <= key(i + 1), "order");
            let slot = &mut ends[usize::from(spans.row(id))];
            assert!(
                spans.start(id) >= *slot || spans.row(id) == u16::MAX,
                "a row overlaps"
            );
            *slot = spans.end(id);
            assert!(trace.names().len() > spans.name(id).0 as usize);
            assert!(trace.categories().len() > usize::from(spans.cat(id).0));
        }
    }
    assert_eq!(next, n);
    for link in trace.launches().iter().chain(trace.fwdbwd()) {
        assert!(link.from.0 < n && link.to.0 < n);
    }
    for counter in trace.counters() {
        assert_eq!(counter.times.len(), counter.values.len());
        assert!(counter.times.is_sorted());
    }
    assert!(trace.instants().is_sorted_by_key(|i| i.time));
}

fn same(a: &Loaded, b: &Loaded) {
    let (x, y) = (a.trace.spans(), b.trace.spans());
    assert_eq!(x.starts(), y.starts());
    assert_eq!(x.durs(), y.durs());
    assert_eq!(x.names(), y.names());
    assert_eq!(x.lanes(), y.lanes());
    assert_eq!(x.cats(), y.cats());
    assert_eq!(x.rows(), y.rows());
    let (a_trace, b_trace) = (&a.trace, &b.trace);
    for id in x.ids() {
        assert_eq!(a_trace.span_name(id), b_trace.span_name(id));
        assert_eq!(x.args(id), y.args(id), "args of {id:?}");
        let rest = |t: &Trace| format!("{:?} {}", t.sync_scope(id), t.is_unfinished(id));
        assert_eq!(rest(a_trace), rest(b_trace), "{id:?}");
    }
    assert_eq!(a_trace.launches(), b_trace.launches());
    assert_eq!(a_trace.launch_calls(), b_trace.launch_calls());
    assert_eq!(a_trace.fwdbwd(), b_trace.fwdbwd());
    assert_eq!(a_trace.copies(), b_trace.copies());
    assert_eq!(a_trace.instants(), b_trace.instants());
    assert_eq!(a_trace.anomalies(), b_trace.anomalies());
    // As text, in which values that are no numbers equal each other.
    assert_eq!(tables(a_trace), tables(b_trace));
    assert_eq!(a.report, b.report);
}

fn tables(trace: &Trace) -> [String; 7] {
    [
        format!("{:?}", trace.sources()),
        format!("{:?}", trace.processes()),
        format!("{:?}", trace.devices()),
        format!("{:?}", trace.streams()),
        format!("{:?}", trace.lanes()),
        format!("{:?}", trace.categories()),
        format!("{:?}", trace.counters()),
    ]
}

fn analyse(loaded: Loaded) {
    let mut args = ArgsReader::new();
    let trace = Arc::new(loaded.trace);
    for span in trace.spans().ids().step_by(trace.spans().len() / 4 + 1) {
        // Args that cannot be read are said to the user; they may not panic.
        let _ = args.read(&trace, span);
    }
    let analysis = Analysis::new(trace, &RULES, &Options::default(), &|_| true);
    let analysis = analysis.expect("nobody cancels");
    let _ = report(&analysis, &ReportOptions::default());
}
