//! Rules that ask for args: read from the files once, in the order in which they lie there, and not beyond a cancel.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use stallscope::analysis::{Analysis, Cancelled, Found, GoOn, Options, Rules};
use stallscope::import::{OpenOptions, Progress, SharedArgs, open};
use stallscope::model::{SpanId, Trace};

use crate::common;
use common::scratch;

/// Records, one after the other on two threads.
const RECORDS: usize = 6_000;

/// A compressed file of lines in which each record has 4 KiB of args: far more than what stays of an inflated stream.
fn compressed(path: PathBuf) -> PathBuf {
    let file = std::fs::File::create(&path).expect("writable");
    let mut out = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    let padding = "x".repeat(4_096);
    let mut line = String::new();
    for i in 0..RECORDS {
        line.clear();
        let (tid, ts) = (1 + i % 2, 1_795_965_000_000_000 + 10 * i);
        writeln!(
            line,
            r#"{{"id":{i},"name":"torch.profiler","cat":"PP","pid":1,"tid":{tid},"ts":{ts},"dur":5,"ph":"X","args":{{"padding":"{padding}","turn":{}}}}}"#,
            i % 3
        )
        .expect("memory");
        out.write_all(line.as_bytes()).expect("writable");
    }
    out.finish().expect("writable");
    path
}

fn load(path: &Path) -> Arc<Trace> {
    let loaded = open(
        &[path.to_owned()],
        &OpenOptions::default(),
        &Progress::new(),
    );
    Arc::new(loaded.expect("opens").trace)
}

fn rules() -> Rules {
    let text = r#"
        [[rule]]
        id = "turn"
        cat = "pp"
        args = { turn = "1" }
        layer = "io.other"
    "#;
    let (rules, problems) = Rules::parse(text, "test");
    assert!(problems.is_empty(), "{problems:?}");
    rules
}

#[test]
fn args_in_compressed_files_are_read_in_one_pass() {
    let path = compressed(scratch("args-pass").join("run.pfw.gz"));
    let trace = load(&path);
    assert_eq!(trace.lanes().len(), 2);
    let reader = SharedArgs::new(Arc::clone(&trace));
    let passes = AtomicU32::new(0);
    let args = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        if !spans.is_empty() {
            passes.fetch_add(1, Ordering::Relaxed);
        }
        let mut before = None;
        reader.each(spans, go_on, &mut |span, text| {
            let place = trace.spans().args(span);
            assert!(
                before.replace(place.0).is_none_or(|b| b < place.0),
                "in order"
            );
            found(span, text)
        });
    };
    let options = Options::default();
    let analysis = Analysis::with_args(Arc::clone(&trace), &rules(), &options, &args, &|_| true);
    let analysis = analysis.expect("nobody cancels");
    assert_eq!(passes.into_inner(), 1);
    let layers = analysis.layers();
    let mut reader = stallscope::import::ArgsReader::new();
    for (i, span) in trace.spans().ids().enumerate() {
        let key = &layers.info(layers.of(span)).name;
        // Even records are on one lane, odd ones on the other: the record's number from its place in the lane.
        let lane = i / (RECORDS / 2);
        let record = 2 * (i % (RECORDS / 2)) + lane;
        let wanted = if record % 3 == 1 { "io.other" } else { "op" };
        assert_eq!(key, wanted, "span {i}");
    }
    let last = SpanId(u32::try_from(RECORDS - 1).expect("small"));
    let args = reader.read(&trace, last).expect("readable").expect("args");
    assert_eq!(args["turn"], (RECORDS - 1) % 3);
}

#[test]
fn a_cancel_is_heard_while_args_are_read() {
    let path = compressed(scratch("args-cancel").join("run.pfw.gz"));
    let trace = load(&path);
    let reader = SharedArgs::new(Arc::clone(&trace));
    let visited = AtomicU32::new(0);
    let args = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        reader.each(spans, go_on, &mut |span, text| {
            visited.fetch_add(1, Ordering::Relaxed);
            found(span, text)
        });
    };
    // The first spans are asked at 100 thousandths, the last ones at 250.
    let go_on = |permille: u32| permille < 125;
    let options = Options::default();
    let analysis = Analysis::with_args(Arc::clone(&trace), &rules(), &options, &args, &go_on);
    assert_eq!(analysis.err(), Some(Cancelled));
    let visited = visited.into_inner() as usize;
    assert!(
        (RECORDS / 8..RECORDS / 4).contains(&visited),
        "{visited} spans"
    );
    // An answer that lies far behind in the stream is not waited for either.
    let asked = AtomicU32::new(0);
    let last = SpanId(u32::try_from(RECORDS - 1).expect("small"));
    let reader = SharedArgs::new(trace);
    let twice = || asked.fetch_add(1, Ordering::Relaxed) < 2;
    reader.each(&[last], &twice, &mut |_, _| panic!("stopped before"));
    assert!(asked.into_inner() <= 4);
}
