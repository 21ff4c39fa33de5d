//! Tables of somebody's own spans and counters: alone, wrong in many ways, and beside a run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;
use stallscope::analysis::{Analysis, Options, Rules};
use stallscope::export::report::{ReportOptions, report};
use stallscope::import::{
    ArgsReader, ErrorKind, LoadError, Loaded, NoticeKind, OpenOptions, Place, Progress, open,
};
use stallscope::model::{Clock, SpanId, Trace};

use crate::common;
use common::{fingerprint, open_with, repository, scratch};

/// Unix time of the tests, seconds.
const UNIX: i64 = 1_789_995_000;

fn write(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = scratch(&format!("spans-{name}")).join("own.csv");
    std::fs::write(&path, bytes).expect("writable");
    path
}

fn load(name: &str, text: impl AsRef<[u8]>) -> Loaded {
    let path = write(name, text);
    open_with(&path, 1).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn refused(name: &str, text: impl AsRef<[u8]>) -> LoadError {
    let path = write(name, text);
    open_with(&path, 1)
        .err()
        .unwrap_or_else(|| panic!("{name} opens"))
}

/// Name, start and length of each span.
fn spans(trace: &Trace) -> Vec<(&str, i64, i64)> {
    let spans = trace.spans();
    let one = |id: SpanId| (trace.span_name(id), spans.start(id), spans.dur(id));
    spans.ids().map(one).collect()
}

/// Machine names, counts and first lines of the notices.
fn notices(loaded: &Loaded) -> Vec<(&str, u64, Vec<u64>)> {
    let line = |place: &Place| match place {
        Place::Line(line) => *line,
        other => panic!("{other} is no line"),
    };
    let all = loaded.report.notices.iter();
    let all = all.map(|n| (n.code, n.count, n.places.iter().map(line).collect()));
    all.collect()
}

#[test]
fn units_stand_in_headings() {
    for (head, row, start, dur, guesses) in [
        ("start_ns,end_ns", "100,350", 100, 250, 0),
        ("start_us,dur_us", "0.1,0.25", 100, 250, 0),
        ("start (ms),end (ms)", "0.0001,0.00035", 100, 250, 0),
        ("begin [s],duration [ns]", "1e-7,250", 100, 250, 0),
        ("Start_S,End_us", "0.0000001,0.35", 100, 250, 0),
        ("start_ns,dur", "100,250", 100, 250, 1),
        ("end,start_ns", "350,100", 100, 250, 1),
        // Beyond what a float can tell.
        (
            "start_ns,end_ns",
            "900719925474099301,900719925474099302",
            900_719_925_474_099_301,
            1,
            0,
        ),
    ] {
        let loaded = load("units", format!("name,{head}\na,{row}\n"));
        let source = &loaded.trace.sources()[0];
        assert_eq!(source.clock, Clock::Unknown, "{head}");
        assert_eq!(source.to_trace_ns, -start, "{head}");
        assert_eq!(spans(&loaded.trace), [("a", 0, dur)], "{head}");
        assert_eq!(loaded.report.warnings().count(), guesses, "{head}");
    }
}

#[test]
fn unix_times_and_dates_are_recognised() {
    for (start, end, unit) in [
        ("1789995000.000000001", "1789995000.5", Some("seconds")),
        (
            "1789995000000.000001",
            "1789995000500",
            Some("milliseconds"),
        ),
        (
            "1789995000000000.001",
            "1789995000500000",
            Some("microseconds"),
        ),
        (
            "1789995000000000001",
            "1789995000500000000",
            Some("nanoseconds"),
        ),
        (
            "2026-09-21T12:50:00.000000001Z",
            "2026-09-21T14:50:00.5+02:00",
            None,
        ),
        (
            "2026/09/21 12:50:00.000000001Z",
            "2026-09-21T12:50:00.5Z",
            None,
        ),
    ] {
        let text = format!("start;end;name\n{start};{end};a\n");
        let loaded = load("unix", text);
        assert_eq!(
            loaded.trace.unix_origin(),
            Some(UNIX * 1_000_000_000 + 1),
            "{start}"
        );
        assert_eq!(spans(&loaded.trace), [("a", 0, 499_999_999)], "{start}");
        let said = loaded
            .report
            .notices
            .iter()
            .find(|n| n.code == "start_unit");
        assert_eq!(said.is_some(), unit.is_some(), "{start}");
        if let (Some(said), Some(unit)) = (said, unit) {
            assert_eq!(said.kind, NoticeKind::Guessed);
            assert!(
                said.text.ends_with(&format!("Unix times in {unit}.")),
                "{}",
                said.text
            );
        }
    }
    let loaded = load(
        "zone",
        "start,dur_ms,name\n2026-09-21 12:50:00,5,a\n2026-09-21 12:50:01Z,5,b\n",
    );
    assert_eq!(notices(&loaded), [("time_zone", 1, vec![2])]);
    assert_eq!(loaded.trace.unix_origin(), Some(UNIX * 1_000_000_000));
}

#[test]
fn what_has_no_unit_is_refused_with_the_remedy() {
    let error = refused("no-unit", "start,end,name\n1.5,2,a\n");
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert!(
        error.cause.contains("`start`") && error.cause.contains("“1.5”"),
        "{error}"
    );
    assert!(error.remedy.contains("`start_ms`"), "{error}");
}

#[test]
fn other_tables_are_refused_with_what_they_lack() {
    for (text, lacks) in [
        ("time,name,value\n1,a,2\n", "`start`"),
        ("name\tend\nb\t2\n", "`start`"),
        ("start_ns,size\n1,2\n", "`end`, `dur`, `value` or `name`"),
    ] {
        let error = refused("lacks", text);
        assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
        assert!(error.cause.contains(lacks), "{error}");
        assert!(error.remedy.contains("`dur`"), "{error}");
    }
    let error = refused("text", "Dear all, hello\n");
    assert_eq!(error.kind, ErrorKind::Unknown, "{error}");
    assert!(error.remedy.contains("CSV"), "{error}");
    assert_eq!(refused("empty", "").kind, ErrorKind::Empty);
}

#[test]
fn cells_are_quoted_as_in_rfc_4180() {
    let text = "# a comment, \"with a quote\n\n\"start_ns\",dur_ns,\"name\"\r\n1,2,\"a, \"\"b\"\"\nc\"\r\n\
                # another\r\n\r\n 5 , 2 , d \r\n9,2,\r\n";
    let loaded = load("quotes", text);
    assert_eq!(
        spans(&loaded.trace),
        [("a, \"b\"\nc", 0, 2), ("d", 4, 2), ("own", 8, 2)]
    );
    assert_eq!(loaded.report.warnings().count(), 0);
    for text in [
        "start_ns;dur_ns;name\n1;2;a,b\n",
        "start_ns\tdur_ns\tname\n1\t2\ta,b\n",
    ] {
        assert_eq!(spans(&load("separators", text).trace), [("a,b", 0, 2)]);
    }
}

#[test]
fn marks_line_ends_and_missing_ends_do_no_harm() {
    for text in [
        "\u{feff}start_ns,dur_ns,name\n1,2,a\n3,4,b\n",
        "start_ns,dur_ns,name\r\n1,2,a\r\n3,4,b\r\n",
        "start_ns,dur_ns,name\r1,2,a\r3,4,b\r",
        "start_ns,dur_ns,name\n1,2,a\n3,4,b",
        "\u{feff}\n#x\nstart_ns,dur_ns,name,\n1,2,a,,,\n\n  \n3,4,b",
    ] {
        let loaded = load("marks", text);
        assert_eq!(spans(&loaded.trace), [("a", 0, 2), ("b", 2, 4)], "{text:?}");
        assert_eq!(loaded.report.warnings().count(), 0, "{text:?}");
    }
    for text in [
        "start_ns,name",
        "start,end,name\n",
        "\u{feff}start_ns,value\r\n# nothing\r\n",
    ] {
        let loaded = load("rows", text);
        assert!(loaded.trace.spans().is_empty());
        assert_eq!(notices(&loaded), [("no_spans", 1, vec![])], "{text:?}");
    }
}

#[test]
fn values_are_samples_and_starts_alone_are_instants() {
    let text = "start_s,name,lane,value (W),end_s\n1,power,gpu0,250.5,\n2,power,gpu0,-1e3,\n1,power,gpu1,7,\n\
                3,restart,,,\n3,flush,disk,4096,4\n";
    let loaded = load("values", text);
    let trace = &loaded.trace;
    assert_eq!(spans(trace), [("flush", 0, 1_000_000_000)]);
    let counters: Vec<_> = (trace.counters().iter())
        .map(|c| {
            (
                c.name.as_str(),
                c.series.as_str(),
                c.times.clone(),
                c.values.clone(),
            )
        })
        .collect();
    let at = |s: i64| (s - 3) * 1_000_000_000;
    assert_eq!(
        counters,
        [
            (
                "gpu0",
                "power (W)",
                vec![at(1), at(2)],
                vec![250.5, -1000.0]
            ),
            ("gpu1", "power (W)", vec![at(1)], vec![7.0]),
        ]
    );
    let instants: Vec<_> = trace
        .instants()
        .iter()
        .map(|i| (trace.name(i.name), i.time))
        .collect();
    assert_eq!(instants, [("restart", at(3))]);
    let file = &loaded.report.files[0];
    let kinds: Vec<_> = file.by_kind.iter().map(|(k, n)| (k.as_str(), *n)).collect();
    assert_eq!(kinds, [("spans", 1), ("samples", 3), ("instants", 1)]);
    assert_eq!(file.events, 5);
    // A power log: nothing but samples, one of them unknown.
    let loaded = load(
        "power",
        "start,name,value\n1789995000,power,250\n1789995001,power,\n",
    );
    assert_eq!(loaded.trace.counters()[0].times.len(), 1);
    assert!(notices(&loaded).contains(&("unknown_value", 1, vec![3])));
}

#[test]
fn wrong_rows_are_counted_with_their_lines() {
    let text = "start_ns,end_ns,name,lane\n\
                1,5,a,x\n\
                soon,5,a,x\n\
                ,5,a,x\n\
                7,6,a,x\n\
                7,8\n\
                7,8,a,x,y\n\
                7,1e99,a,x\n\
                \"7,8,a,x\n\
                1789995000000000000,1789995000000000001,a,x\n\
                later,5,a,x\n\
                9,9,b\n";
    let loaded = load("wrong", text);
    assert_eq!(spans(&loaded.trace), [("a", 0, 4), ("b", 8, 0)]);
    let mut found = notices(&loaded);
    found.sort_by_key(|n| n.2[0]);
    let expected = [
        ("bad_time", 2, vec![3, 11]),
        ("no_start", 1, vec![4]),
        ("end_before_start", 1, vec![5]),
        ("too_few_cells", 1, vec![6]),
        ("too_many_cells", 1, vec![7]),
        ("far_time", 1, vec![8]),
        ("open_quote", 1, vec![9]),
        ("other_clock", 1, vec![10]),
    ];
    assert_eq!(found, expected);
    assert!(
        loaded
            .report
            .notices
            .iter()
            .all(|n| n.kind == NoticeKind::Skipped)
    );
    let bad = loaded
        .report
        .notices
        .iter()
        .find(|n| n.code == "bad_time")
        .expect("said");
    assert_eq!(
        bad.text,
        "2 rows had a start, end or length that is no time and were skipped (first: line 3)."
    );
    assert_eq!(loaded.report.files[0].events, 11);
    let error = refused("all-wrong", "start_ns,name\n\nx,a\ny,b\n");
    assert_eq!(
        (error.kind, error.place),
        (ErrorKind::Corrupt, Some(Place::Line(3)))
    );
}

#[test]
fn lanes_and_processes_are_those_of_the_table() {
    let text = "start_ns,dur_ns,name,lane,process\n1,9,a,,\n1,9,a,disk,\n1,9,a,,server\n1,9,a,disk,server\n5,9,b,disk,\n";
    let trace = load("lanes", text).trace;
    let lanes: Vec<_> = trace
        .lanes()
        .iter()
        .map(|l| (l.key.as_str(), l.name.as_str()))
        .collect();
    assert_eq!(
        lanes,
        [
            ("S.own", "own"),
            ("S.disk", "disk"),
            ("Sserver.own", "server"),
            ("Sserver.disk", "server disk"),
        ]
    );
    assert_eq!(trace.processes().len(), 1);
    assert_eq!(trace.processes()[0].pid, "server");
    // What overlaps lies on rows of its own.
    assert_eq!((trace.lanes()[1].rows, trace.lanes()[1].overlaps), (2, 1));
}

#[test]
fn a_lane_for_each_row_takes_no_more_than_there_is_room_for() {
    let rows = (0..12_000).map(|i| format!("{i},1,a,lane {i},\n{i},,a,lane {i},1\n"));
    let head = std::iter::once("start_ns,dur_ns,name,lane,value\n".to_owned());
    let loaded = load("crowded", head.chain(rows).collect::<String>());
    assert_eq!(loaded.trace.lanes().len(), 10_001);
    assert_eq!(loaded.trace.counters().len(), 10_001);
    assert_eq!(loaded.trace.spans().len(), 12_000);
    assert!(notices(&loaded).contains(&("many_lanes", 1, vec![])));
}

#[test]
fn layers_are_named_in_the_table() {
    let text = "start_ns,dur_ns,name,layer\n1,1,a,io.read\n3,1,a,\n5,1,b,load\n7,1,b,nobody's\n";
    let analysis = analyse(load("layers", text));
    let names: Vec<&str> = (analysis.trace().spans().ids())
        .map(|id| {
            analysis
                .layers()
                .info(analysis.layers().of(id))
                .name
                .as_str()
        })
        .collect();
    assert_eq!(names, ["io.read", "other", "load", "other"]);
}

#[test]
fn args_are_read_from_the_file() {
    let text = "# first\nstart_s,dur_s,name,args.file,Size,value\n#x\n1789995001,2,a,\"b,\nc\",7,\n\
                1789995005,6,d,,,9\n1789995008,9,e,,,\n";
    let expected = [r#"{"file":"b,\nc","Size":"7"}"#, r#"{"value":"9"}"#, "none"];
    let read = |trace: &Trace| -> Vec<String> {
        let mut reader = ArgsReader::new();
        let args = |id| match reader.read(trace, id).expect("there") {
            Some(args) => serde_json::to_string(&args).expect("text"),
            None => "none".to_owned(),
        };
        trace.spans().ids().map(args).collect()
    };
    assert_eq!(read(&load("args", text).trace), expected);
    let gz = gzip(text.as_bytes());
    assert_eq!(read(&load("args-gz", gz).trace), expected);
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    tar.append_data(&mut header, "run/own.csv", text.as_bytes())
        .expect("memory");
    let tar = tar.into_inner().expect("memory");
    assert_eq!(read(&load("args-tar", tar).trace), expected);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut out, bytes).expect("memory");
    out.finish().expect("memory")
}

#[test]
fn damaged_bytes_cost_what_they_hold() {
    let text: String = std::iter::once("start_ns,dur_ns,name\n".to_owned())
        .chain((0..50_000).map(|i| format!("{},5,span {i}\n", i * 10)))
        .collect();
    let whole = gzip(text.as_bytes());
    let cut = load("cut", &whole[..whole.len() / 2]);
    let n = cut.trace.spans().len();
    assert!((10_000..40_000).contains(&n), "{n}");
    assert!(
        cut.report
            .notices
            .iter()
            .any(|n| n.code == "damaged_stream")
    );
    let mut holes = text.into_bytes();
    holes[300_000..310_000].fill(0);
    holes[400_000..400_100].fill(0xff);
    let holes = load("holes", holes);
    let lost: u64 = (holes.report.notices.iter())
        .filter(|n| n.kind == NoticeKind::Skipped)
        .map(|n| n.count)
        .sum();
    assert!((1..10).contains(&lost), "{lost}");
    assert!(holes.trace.spans().len() > 49_000);
    let error = refused("cut-head", &gzip(b"start_ns,dur_ns,name\n1,2,a\n")[..10]);
    assert_eq!(error.kind, ErrorKind::Corrupt, "{error}");
    // Latin-1.
    let loaded = load("latin", b"start_ns,name\n1,caf\xe9\n");
    assert_eq!(notices(&loaded)[0], ("bad_utf8", 1, vec![2]));
}

#[test]
fn large_tables_are_the_same_on_any_number_of_threads() {
    let rows = (0..200_000).map(|i| {
        let name = if i % 1_000 == 0 {
            "\"two\nlines\""
        } else {
            "one"
        };
        format!(
            "{}.{:03},{},{name} {},lane {},{}\n",
            i * 20,
            i % 1_000,
            i % 30,
            i % 77,
            i % 5,
            i
        )
    });
    let text: String = std::iter::once("start_us,dur_us,name,lane,n\n".to_owned())
        .chain(rows)
        .collect();
    assert!(text.len() > 4 << 20);
    let path = write("large", text);
    let one = open_with(&path, 1).expect("opens");
    let several = open_with(&path, 4).expect("opens");
    assert_eq!(one.trace.spans().len(), 200_000);
    assert_eq!(fingerprint(&one.trace), fingerprint(&several.trace));
    assert_eq!(one.report, several.report);
    let progress = Progress::new();
    progress.cancel();
    let error = open(&[path], &OpenOptions::default(), &progress)
        .err()
        .expect("cancelled");
    assert_eq!(error.kind, ErrorKind::Cancelled);
}

#[test]
fn the_programs_own_tables_open() {
    let sample = repository("sample_traces/torch_4_workers.json.gz");
    let run = Command::new(env!("CARGO_BIN_EXE_stallscope"))
        .args(["report", "--csv"])
        .arg(&sample)
        .output()
        .expect("runs");
    let text = String::from_utf8(run.stdout).expect("text");
    let own = load("own", &text);
    let steps: Vec<&str> = text.lines().skip(1).collect();
    assert!(steps.len() > 5);
    assert_eq!(own.trace.spans().len(), steps.len());
    assert_eq!(own.report.warnings().count(), 0);
    let first = spans(&own.trace)[0];
    let cells: Vec<&str> = steps[0].split(',').collect();
    assert_eq!(
        (first.0, first.2.to_string().as_str()),
        (cells[1], cells[4])
    );
    // As the window copies the tables of waits and synchronising calls.
    let waits = "Step\tRank\tStart (ms)\tWait (ms)\tHidden (ms)\n12\t0\t1.000001\t0.5\t\n";
    assert_eq!(spans(&load("waits", waits).trace), [("12", 0, 500_000)]);
    let calls =
        "Call,Rank,Start (ms),In phase,Length (ms)\ncudaDeviceSynchronize,0,1,backward,0.25\n";
    assert_eq!(
        spans(&load("calls", calls).trace),
        [("cudaDeviceSynchronize", 0, 250_000)]
    );
}

fn analyse(loaded: Loaded) -> Analysis {
    let (rules, options) = (Rules::builtin(), Options::default());
    Analysis::new(Arc::new(loaded.trace), &rules, &options, &|_| true).expect("nobody cancels")
}

/// The report of files opened together.
fn figures(paths: &[&Path]) -> Value {
    let paths: Vec<PathBuf> = paths.iter().map(|p| (*p).to_owned()).collect();
    let loaded = open(&paths, &OpenOptions::default(), &Progress::new()).expect("opens");
    let analysis = analyse(loaded);
    let report = report(&analysis, &ReportOptions::default());
    without_spans(serde_json::to_value(report).expect("JSON"))
}

/// Without the numbers of spans, which depend on the order of the files.
fn without_spans(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(key, _)| key != "span");
            kept.map(|(key, value)| (key, without_spans(value)))
                .collect()
        }
        Value::Array(all) => all.into_iter().map(without_spans).collect(),
        other => other,
    }
}

#[test]
fn a_table_beside_a_run_changes_none_of_its_figures() {
    let sample = repository("sample_traces/torch_4_workers.json.gz");
    let alone = open_with(&sample, 1).expect("opens").trace;
    let origin = alone.unix_origin().expect("Unix time");
    let end = origin + alone.extent().end;
    // From long before the run to long after it, in the layers that count most.
    let text = format!(
        "start_ns,end_ns,name,lane,process,value,layer\n\
         {},{},rebuild,array,,,other\n\
         {origin},{},read,disk0,,,io.read\n\
         {},,power,,,250,\n\
         {origin},{end},fetch,main,server,,fetch\n\
         {origin},{end},step,main,server,,step\n",
        origin - 3_600_000_000_000,
        end + 3_600_000_000_000,
        origin + 1_000,
        origin + 500,
    );
    let table = write("beside", text);
    let before = figures(&[&sample]);
    for paths in [[&sample, &table], [&table, &sample]] {
        let paths = paths.map(PathBuf::as_path);
        let after = figures(&paths);
        for key in [
            "window",
            "t0",
            "t1",
            "ranks",
            "rank_table",
            "gpu",
            "overlap",
            "queue",
            "launch",
        ] {
            assert!(before[key] == after[key], "{key}");
        }
    }
    let paths = [sample, table];
    let loaded = open(&paths, &OpenOptions::default(), &Progress::new()).expect("opens");
    let trace = &loaded.trace;
    assert_eq!(trace.unix_origin(), Some(origin));
    assert_eq!(trace.extent(), alone.extent());
    let read = spans(trace)
        .into_iter()
        .find(|s| s.0 == "read")
        .expect("drawn");
    assert_eq!((read.1, read.2), (0, 1_000));
    assert_eq!(trace.counters().last().expect("power").times, [500]);
}
