//! Hand-written pfw files of every generation, their defects, and bytes that nobody wrote.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use stallscope::analysis::{Identity, NoArgs, Purpose, Rules};
use stallscope::import::{
    ArgsReader, ErrorKind, ImportReport, Loaded, NoticeKind, OpenOptions, Place, Progress, open,
};
use stallscope::model::{Clock, LaneKind, Role, SpanId, Trace};

/// A fresh folder below the target folder.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("pfw")
        .join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("writable target folder");
    path
}

fn load(path: &Path) -> Loaded {
    open(
        &[path.to_owned()],
        &OpenOptions::default(),
        &Progress::new(),
    )
    .expect("opens")
}

fn one(name: &str, text: &str) -> Loaded {
    let path = folder(name).join("unknown");
    std::fs::write(&path, text).expect("writable");
    load(&path)
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

/// (name, start, duration) in stored order.
fn spans(trace: &Trace) -> Vec<(&str, i64, i64)> {
    let spans = trace.spans();
    spans
        .ids()
        .map(|i| (trace.span_name(i), spans.start(i), spans.dur(i)))
        .collect()
}

fn codes(report: &ImportReport) -> Vec<&'static str> {
    let mut codes: Vec<_> = report.notices.iter().map(|n| n.code).collect();
    codes.sort_unstable();
    codes
}

fn fact<'a>(loaded: &'a Loaded, name: &str) -> Option<&'a str> {
    let facts = &loaded.report.files[0].facts;
    Some(&facts.iter().find(|f| f.0 == name)?.1)
}

#[test]
fn g1_has_blanks_fractions_and_ranks_as_pids() {
    let loaded = one(
        "g1",
        "[\n{\"name\": \"Trainer.train_step\", \"cat\": \"trainer\", \"pid\": 2, \"tid\": 42217, \"ts\": 1679514253626630.2, \"dur\": 21825.790405273438, \"ph\": \"X\"}\n\
         {\"name\": \"Trainer.train_step\", \"cat\": \"trainer\", \"pid\": 2, \"tid\": 42217, \"ts\": 1679514253648456.0, \"dur\": 1.0005, \"ph\": \"X\"}\n",
    );
    let trace = &loaded.trace;
    assert_eq!(fact(&loaded, "generation"), Some("G1"));
    assert_eq!(
        spans(trace),
        [
            ("Trainer.train_step", 0, 21_825_790),
            ("Trainer.train_step", 21_825_800, 1_001),
        ]
    );
    assert_eq!(trace.unix_origin(), Some(1_679_514_253_626_630_200));
    assert_eq!(trace.processes()[0].rank, Some(2));
    assert_eq!(codes(&loaded.report), ["no_args"]);
}

#[test]
fn g2_times_count_from_the_start_of_the_process() {
    let line = |ts: u32| {
        format!(
            "{{\"name\":\"pread64\",\"cat\":\"POSIX\",\"pid\":30751,\"tid\":5,\"ts\":{ts},\"dur\":6,\"ph\":\"X\",\"args\":\
             {{\"hostname\":\"nodea\",\"core_affinity\": [0],\"ret\":\"653\",\"fd\":112,}}}}\n"
        )
    };
    let loaded = one("g2", &format!("[\n{}{}", line(7_526_761), line(7_526_770)));
    let trace = &loaded.trace;
    assert_eq!(fact(&loaded, "generation"), Some("G2"));
    assert_eq!(
        spans(trace),
        [("pread64", 0, 6_000), ("pread64", 9_000, 6_000)]
    );
    assert_eq!(trace.sources()[0].clock, Clock::Unknown);
    assert_eq!(trace.processes()[0].host.as_deref(), Some("nodea"));
    assert_eq!(codes(&loaded.report), ["clock", "comma_before_bracket"]);
    let repaired = loaded
        .report
        .notices
        .iter()
        .find(|n| n.code == "comma_before_bracket");
    assert_eq!(
        repaired.expect("noted").places,
        [Place::Line(2), Place::Line(3)]
    );
    // Args are lenient too.
    let args = ArgsReader::new()
        .read(trace, SpanId(0))
        .expect("readable")
        .expect("args");
    assert_eq!(args["ret"], "653");
    assert_eq!(args["core_affinity"][0], 0);
}

#[test]
fn files_with_relative_clocks_open_alone() {
    let dir = folder("g2-run");
    let line = "{\"name\":\"a\",\"cat\":\"c\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":6,\"ph\":\"X\",\"args\":{}}\n";
    for i in 0..3 {
        std::fs::write(
            dir.join(format!(".trace-{i}-of-3.pfw")),
            // Equal files would be copies of one.
            format!("[\n{line}{}", line.replace("{}", &format!("{{\"i\":{i}}}"))),
        )
        .expect("writable");
    }
    let loaded = load(&dir);
    assert_eq!(loaded.trace.sources().len(), 1);
    let left_out: Vec<_> = loaded
        .report
        .notices
        .iter()
        .filter(|n| n.code == "clock_unrelated")
        .collect();
    assert_eq!(left_out.len(), 2);
    assert!(
        left_out[0].text.contains(".trace-1-of-3.pfw"),
        "{}",
        left_out[0].text
    );
    // Put in place by hand they open together.
    let paths: Vec<_> = (0..3)
        .map(|i| dir.join(format!(".trace-{i}-of-3.pfw")))
        .collect();
    let options = OpenOptions {
        shifts: vec![(1, 1_000), (2, -7)],
        ..OpenOptions::default()
    };
    let loaded = open(&paths, &options, &Progress::new()).expect("opens");
    assert_eq!(loaded.trace.spans().starts(), [0, 0, 1_000, 1_000, -7, -7]);
    assert_eq!(loaded.trace.sources()[1].shift_ns, 1_000);
    assert_eq!(loaded.trace.sources()[2].rank, Some(2));
    assert!(loaded.report.has("shifted"));
}

#[test]
fn g3_is_all_text_and_may_split_a_record() {
    let loaded = one(
        "g3",
        "[\n  {\"id\":\"0\",\"name\":\"open\",\"cat\":\"POSIX\",\"pid\":\"13\",\"tid\":\"26\",\"ts\":\"1698080323775554\",\"dur\":\"141\",\"ph\":\"X\",\"args\":{\"hostname\":\"n\",\"ret\":18,\"fname\":\"/p/a\nb\"}}\n\
         {\"id\":\"1\",\"name\":\"close\",\"cat\":\"POSIX\",\"pid\":13,\"tid\":\"26\",\"ts\":\"1698080323778895\",\"dur\":\"92\",\"ph\":\"X\",\"args\":{}}\n",
    );
    assert_eq!(fact(&loaded, "generation"), Some("G3"));
    assert_eq!(
        spans(&loaded.trace),
        [("open", 0, 141_000), ("close", 3_341_000, 92_000)]
    );
    // The same value as text and as number is the same thread.
    assert_eq!(loaded.trace.lanes().len(), 1);
    assert_eq!(loaded.trace.lanes()[0].key, "C13.26");
    assert_eq!(codes(&loaded.report), ["split_record"]);
    let args = ArgsReader::new()
        .read(&loaded.trace, SpanId(0))
        .expect("readable")
        .expect("args");
    assert_eq!(args["fname"], "/p/a\nb");
}

#[test]
fn g4_has_integer_hashes_above_i64() {
    let loaded = one(
        "g4",
        "[\n{\"id\":1,\"name\":\"HH\",\"cat\":\"dftracer\",\"pid\":7,\"tid\":7,\"ph\":\"M\",\"args\":{\"hhash\":17868160079272185648,\"name\":\"nodea\",\"value\":17868160079272185648}}\n\
         {\"id\":2,\"name\":\"start\",\"cat\":\"dftracer\",\"pid\":7,\"tid\":7,\"ts\":1744611912981173,\"dur\":0,\"ph\":\"X\",\"args\":{\"hhash\":17868160079272185648,\"version\":100008,\"ppid\":3}}\n\
         {\"id\":3,\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":7,\"tid\":7,\"ts\":1744611912981180,\"dur\":5,\"ph\":\"X\",\"args\":{\"hhash\":17868160079272185648,\"fhash\":12046336058336786775,\"ret\":-1}}\n\
         {\"id\":4,\"name\":\"FH\",\"cat\":\"dftracer\",\"pid\":7,\"tid\":7,\"ph\":\"M\",\"args\":{\"name\":\"/data/x\",\"value\":12046336058336786775}}\n\
         {\"id\":5,\"name\":\"fork\",\"cat\":\"POSIX\",\"pid\":7,\"tid\":7,\"ts\":1744611912981190,\"dur\":5,\"ph\":\"X\",\"args\":{\"ret\":9}}\n\
         {\"id\":5,\"name\":\"fork\",\"cat\":\"POSIX\",\"pid\":7,\"tid\":9,\"ts\":1744611912981190,\"dur\":8,\"ph\":\"X\",\"args\":{\"ret\":0}}\n]",
    );
    let trace = &loaded.trace;
    assert_eq!(fact(&loaded, "generation"), Some("G4"));
    assert_eq!(fact(&loaded, "version"), Some("100008"));
    assert_eq!(trace.processes()[0].host.as_deref(), Some("nodea"));
    // The start record is no work; a lane that begins with a fork's copy is a forked worker.
    assert_eq!((trace.spans().len(), trace.counted_spans()), (4, 3));
    assert_eq!(trace.lanes()[0].role, None);
    assert_eq!(trace.lanes()[1].role, Some(Role::Worker));
    let args = ArgsReader::new()
        .read(trace, SpanId(1))
        .expect("readable")
        .expect("args");
    assert_eq!(args["fname"], "/data/x");
    assert_eq!(args["host"], "nodea");
    assert_eq!(codes(&loaded.report), ["fork_copies", "no_end"]);
}

const MAIN: &str = concat!(
    "{\"name\":\"SH\",\"cat\":\"dftracer\",\"type\":1,\"pid\":10,\"tid\":10,\"ph\":4,\"args\":{\"name\":\"train.py\",\"value\":\"aa\"}}\n",
    "{\"name\":\"FH\",\"cat\":\"dftracer\",\"type\":1,\"pid\":10,\"tid\":10,\"ph\":4,\"args\":{\"name\":\"/data/1\",\"value\":\"f1\"}}\n",
    "{\"id\":1,\"name\":\"start\",\"cat\":\"dftracer\",\"type\":1,\"pid\":10,\"tid\":10,\"ts\":1795965000000000000,\"dur\":0,\"ph\":1,\"args\":{\"ppid\":1,\"cmd_hash\":\"cc\",\"exec_hash\":\"aa\",\"version\":20003}}\n",
    "{\"id\":2,\"name\":\"fork\",\"cat\":\"POSIX\",\"type\":3,\"pid\":10,\"tid\":10,\"ts\":1795965000000000100,\"dur\":50,\"ph\":1,\"args\":{\"ret\":11}}\n",
    "{\"id\":3,\"name\":\"fetch.iter\",\"cat\":\"dataloader\",\"type\":6,\"pid\":10,\"tid\":10,\"ts\":1795965000000000200,\"dur\":1000,\"ph\":1,\"args\":{\"step\":1}}\n",
    // The unit may come late.
    "{\"name\":\"CM\",\"cat\":\"dftracer\",\"type\":1,\"pid\":10,\"tid\":10,\"ph\":4,\"args\":{\"name\":\"time_metric\",\"value\":\"NS\"}}\n",
    "{\"id\":4,\"name\":\"end\",\"cat\":\"dftracer\",\"type\":1,\"pid\":10,\"tid\":10,\"ts\":1795965000000009000,\"dur\":0,\"ph\":1,\"args\":{\"num_events\":3}}\n",
);

const WORKER: &str = concat!(
    "{\"id\":1,\"name\":\"start\",\"cat\":\"dftracer\",\"type\":1,\"pid\":11,\"tid\":11,\"ts\":1795965000000000150,\"dur\":0,\"ph\":1,\"args\":{\"ppid\":10,\"cmd_hash\":\"cc\"}}\n",
    "{\"id\":2,\"name\":\"read\",\"cat\":\"POSIX\",\"type\":3,\"pid\":11,\"tid\":11,\"ts\":1795965000000000300,\"dur\":20,\"ph\":1,\"args\":{\"fhash\":\"f1\",\"ret\":4}}\n",
    "{\"id\":3,\"name\":\"item\",\"cat\":\"data\",\"type\":6,\"pid\":11,\"tid\":11,\"ts\":1795965000000000250,\"dur\":600,\"ph\":1,\"args\":{}}\n",
    "{\"id\":4,\"name\":\"end\",\"cat\":\"dftracer\",\"type\":1,\"pid\":11,\"tid\":11,\"ts\":1795965000000008000,\"dur\":0,\"ph\":1,\"args\":{\"num_events\":3,\"cfg\":{\"time_metric\":\"NS\"}}}\n",
);

fn g6_run(name: &str) -> PathBuf {
    let dir = folder(name);
    std::fs::write(dir.join("t-app.pfw"), MAIN).expect("writable");
    // Three gzip members, one of them ending inside a line.
    let (a, rest) = WORKER.split_at(200);
    let (b, c) = rest.split_at(90);
    let members = [a, b, c].map(|t| gzip(t.as_bytes())).concat();
    std::fs::write(dir.join("t-fork.pfw.gz"), members).expect("writable");
    dir
}

#[test]
fn g6_files_of_a_run_share_clock_roles_and_hashes() {
    let dir = g6_run("g6");
    std::fs::write(dir.join("truth.json"), "{\"device_busy\": []}").expect("writable");
    std::fs::write(dir.join("stderr.txt"), "warning\n").expect("writable");
    std::fs::write(dir.join("x-app.pfw.gz"), "").expect("writable");
    std::fs::write(dir.join("t.zindex"), "SQLite format 3\0").expect("writable");
    let loaded = load(&dir);
    let trace = &loaded.trace;
    assert_eq!(
        spans(trace),
        [
            ("start", 0, 0),
            ("fork", 100, 50),
            ("fetch.iter", 200, 1_000),
            ("end", 9_000, 0),
            ("start", 150, 0),
            ("item", 250, 600),
            ("read", 300, 20),
            ("end", 8_000, 0),
        ]
        .map(|(n, s, d)| (n, s - 100, d))
    );
    assert_eq!(trace.unix_origin(), Some(1_795_965_000_000_000_100));
    let who = Identity::new(trace, &Rules::builtin(), &NoArgs, &|| true);
    let roles: Vec<_> = who
        .processes
        .iter()
        .map(|p| (p.pid.as_str(), p.purpose, p.of))
        .collect();
    let expected = [
        ("10", Purpose::Training, None),
        ("11", Purpose::Worker, Some(0)),
    ];
    assert_eq!(roles, expected);
    assert_eq!(trace.processes()[0].name.as_deref(), Some("train.py"));
    assert_eq!(codes(&loaded.report), ["empty_file", "other_files"]);
    assert_eq!(trace.counted_spans(), 4);
    let mut reader = ArgsReader::new();
    // The worker's file does not say the name; backwards works too.
    for (span, key, value) in [(6, "fname", "/data/1"), (2, "step", "1"), (4, "ppid", "10")] {
        let args = reader
            .read(trace, SpanId(span))
            .expect("readable")
            .expect("args");
        let found = args[key]
            .as_str()
            .map_or_else(|| args[key].to_string(), str::to_owned);
        assert_eq!(found, value);
    }
}

#[test]
fn a_main_process_alone_misses_its_workers() {
    let loaded = one("main-alone", MAIN);
    let notice = loaded
        .report
        .notices
        .iter()
        .find(|n| n.code == "processes")
        .expect("noted");
    assert_eq!(notice.kind, NoticeKind::NotRecorded);
    assert!(
        notice
            .text
            .starts_with("Only 1 process found. Traces of DataLoader workers are missing")
    );
    // A launcher is no parent of workers.
    let dir = folder("launcher");
    std::fs::write(dir.join("a.pfw"), MAIN).expect("writable");
    std::fs::write(
        dir.join("b.pfw"),
        WORKER.replace("\"cmd_hash\":\"cc\"", "\"cmd_hash\":\"dd\""),
    )
    .expect("writable");
    let loaded = load(&dir);
    assert!(loaded.trace.processes().iter().all(|p| p.role.is_none()));
}

#[test]
fn aggregated_records_are_totals_without_the_parents() {
    let row = |tid: u32, args: &str| {
        format!(
            "{{\"name\":\"item\",\"cat\":\"data\",\"type\":6,\"ts\":1795965466000000,\"ph\":3,\"pid\":11,\"tid\":{tid},\"args\":{{{args}}}}}\n"
        )
    };
    let start = "{\"id\":1,\"name\":\"start\",\"cat\":\"dftracer\",\"type\":1,\"pid\":11,\"tid\":11,\"ts\":1795965466860372,\"dur\":0,\"ph\":1,\"args\":{\"ppid\":10}}\n";
    let text = [
        start,
        &row(11, "\"dur_sum\":70,\"dft_cnt\":3"),
        &row(11, "\"dur\":5,\"dft_cnt\":1"),
        &row(10, "\"dur\":9,\"dft_cnt\":2"),
    ]
    .concat();
    let loaded = one("aggregated", &text);
    let counters = loaded.trace.counters();
    let values: Vec<_> = counters
        .iter()
        .map(|c| (c.name.as_str(), c.values.as_slice()))
        .collect();
    assert_eq!(
        values,
        [
            ("data · item", [4.0].as_slice()),
            ("data · item", [0.075].as_slice())
        ]
    );
    assert!(loaded.report.has("aggregated") && loaded.report.has("repeated_totals"));
}

#[test]
fn counters_are_series() {
    let line = |ts: u64, idle: &str| {
        format!(
            "{{\"name\":\"cpu\",\"cat\":\"sys\",\"type\":7,\"ts\":{ts},\"ph\":2,\"pid\":0,\"tid\":0,\"args\":{{\"hhash\":\"68\",\"idle_pct\":{idle},\"user_pct\":\"1.5\"}}}}\n"
        )
    };
    let text = [
        line(1_795_968_442_559_890, "8.25"),
        line(1_795_968_443_559_890, "nan"),
    ]
    .concat();
    let loaded = one("counters", &text);
    let counters = loaded.trace.counters();
    assert_eq!(counters.len(), 2);
    assert_eq!(
        (counters[0].series.as_str(), counters[0].values.as_slice()),
        ("idle_pct", [8.25].as_slice())
    );
    assert_eq!(counters[1].times, [0, 1_000_000_000]);
    assert_eq!(codes(&loaded.report), ["bad_counter_value", "no_spans"]);
}

#[test]
fn torch_rows_of_a_device_are_on_a_gpu_lane() {
    let line = |device: u32| {
        format!(
            "{{\"id\":1,\"name\":\"aten::mm\",\"cat\":\"PP\",\"type\":6,\"pid\":1,\"tid\":1,\"ts\":1795965466860372,\"dur\":4,\"ph\":1,\"args\":{{\"device\":{device}}}}}\n"
        )
    };
    let loaded = one("pp", &(line(0) + &line(1)));
    let kinds: Vec<_> = loaded
        .trace
        .lanes()
        .iter()
        .map(|l| (l.kind, l.key.as_str()))
        .collect();
    assert_eq!(kinds, [(LaneKind::Cpu, "C1.1"), (LaneKind::Gpu, "G0.0")]);
    assert_eq!(
        loaded
            .trace
            .category(loaded.trace.spans().cat(SpanId(1)))
            .name,
        "PP"
    );
}

#[test]
fn what_cannot_be_used_is_counted_with_its_lines() {
    let good = "{\"id\":1,\"name\":\"a\",\"cat\":\"c\",\"pid\":1,\"tid\":1,\"ts\":1795965466860372,\"dur\":4,\"ph\":1}\n";
    let text = [
        good,
        "no JSON\n",
        "\n",
        "{\"name\":\"a\",\"cat\":\"c\",\"pid\":1,\"tid\":1,\"ts\":\"100a\",\"dur\":4,\"ph\":1}\n",
        "{\"name\":\"a\",\"cat\":\"c\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":4,\"ph\":9}\n",
        good,
        "{\"id\":2,\"na",
    ]
    .concat();
    let loaded = one("defects", &text);
    assert_eq!(loaded.trace.spans().len(), 2);
    let noted = |code: &str| {
        let n = loaded
            .report
            .notices
            .iter()
            .find(|n| n.code == code)
            .expect(code);
        (n.count, n.places.clone())
    };
    assert_eq!(
        noted("unreadable_lines"),
        (2, vec![Place::Line(2), Place::Line(7)])
    );
    assert_eq!(noted("no_time"), (1, vec![Place::Line(4)]));
    assert_eq!(noted("unknown_phase"), (1, vec![Place::Line(5)]));
    assert!(loaded.report.has("truncated"));
}

#[test]
fn records_over_block_borders_are_whole() {
    // Two and a half blocks of 4 MiB, with lines that do not divide them.
    let mut text = String::from("[\n");
    let mut expected = 0;
    while text.len() < 10 << 20 {
        let pad = "x".repeat(expected % 97);
        text.push_str(&format!(
            "{{\"id\":{expected},\"name\":\"n{}\",\"cat\":\"c\",\"type\":6,\"pid\":1,\"tid\":1,\"ts\":{},\"dur\":1,\"ph\":1,\"args\":{{\"p\":\"{pad}\",\"i\":{expected}}}}}\n",
            expected % 7,
            1_795_965_466_860_372_usize + expected * 2,
        ));
        expected += 1;
    }
    let dir = folder("blocks");
    for (name, bytes) in [
        ("plain", text.clone().into_bytes()),
        ("packed", gzip(text.as_bytes())),
    ] {
        std::fs::write(dir.join(name), bytes).expect("writable");
        let loaded = load(&dir.join(name));
        let trace = &loaded.trace;
        assert_eq!(trace.spans().len(), expected);
        assert_eq!(codes(&loaded.report), Vec::<&str>::new());
        let mut reader = ArgsReader::new();
        for i in (0..expected)
            .step_by(expected / 50)
            .chain([expected - 1, 0, expected / 2])
        {
            let span = SpanId(u32::try_from(i).expect("small"));
            assert_eq!(trace.spans().start(span), 2_000 * i as i64);
            assert_eq!(trace.span_name(span), format!("n{}", i % 7));
            let args = reader.read(trace, span).expect("readable").expect("args");
            assert_eq!(args["i"], i);
        }
    }
}

#[test]
fn a_cut_member_keeps_its_whole_lines() {
    let packed = gzip(MAIN.as_bytes());
    let path = folder("cut").join("cut.pfw.gz");
    let mut opened = 0;
    for cut in (0..packed.len()).step_by(5) {
        std::fs::write(&path, &packed[..cut]).expect("writable");
        match open(
            std::slice::from_ref(&path),
            &OpenOptions::default(),
            &Progress::new(),
        ) {
            Ok(loaded) => {
                assert!(loaded.report.has("truncated"), "{cut}");
                opened += 1;
            }
            Err(e) => assert!(
                matches!(
                    e.kind,
                    ErrorKind::Corrupt
                        | ErrorKind::Empty
                        | ErrorKind::Unknown
                        | ErrorKind::Unsupported
                ),
                "{cut}: {e}"
            ),
        }
    }
    assert!(opened > 10, "only {opened} opened");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whole_lines_before_a_cut_survive(cut in 0..MAIN.len()) {
        let path = folder("any-cut").join("cut.pfw");
        std::fs::write(&path, &MAIN.as_bytes()[..cut]).expect("writable");
        let whole = MAIN.as_bytes()[..cut].iter().filter(|&&b| b == b'\n').count();
        let spans = MAIN.lines().take(whole).filter(|l| l.contains("\"ph\":1")).count();
        // A line whose break alone is cut away is whole too.
        let last = MAIN.lines().nth(whole).unwrap_or("");
        let complete = usize::from(MAIN.as_bytes()[..cut].ends_with(last.as_bytes()) && last.contains("\"ph\":1"));
        if let Ok(loaded) = open(&[path], &OpenOptions::default(), &Progress::new()) {
            prop_assert_eq!(loaded.trace.spans().len(), spans + complete);
        } else {
            prop_assert_eq!(spans, 0);
        }
    }

    #[test]
    fn any_bytes_are_survived(flips in proptest::collection::vec((0..MAIN.len(), any::<u8>()), 1..40)) {
        let mut bytes = MAIN.as_bytes().to_vec();
        for (at, byte) in flips {
            bytes[at] = byte;
        }
        let path = folder("any-flip").join("flip.pfw");
        for content in [bytes.clone(), gzip(&bytes)] {
            std::fs::write(&path, content).expect("writable");
            if let Ok(loaded) = open(std::slice::from_ref(&path), &OpenOptions::default(), &Progress::new()) {
                let mut reader = ArgsReader::new();
                for span in loaded.trace.spans().ids() {
                    let _ = reader.read(&loaded.trace, span);
                }
            }
        }
    }
}

#[test]
fn times_beyond_all_times_are_skipped_with_their_places() {
    let line = |name: &str, ts: &str, dur: &str| {
        format!(
            "{{\"id\":1,\"name\":\"{name}\",\"cat\":\"POSIX\",\"pid\":7,\"tid\":7,\"ts\":{ts},\"dur\":{dur},\"ph\":1,\
             \"args\":{{\"hhash\":\"a\"}}}}\n"
        )
    };
    let counter = "{\"id\":2,\"name\":\"cpu\",\"cat\":\"sys\",\"pid\":7,\"tid\":7,\"ts\":9000000000000000,\"ph\":2,\
                   \"args\":{\"user\":1.5}}\n";
    let first = line("read", "1795965000000000", "5");
    let far = line("late", "9000000000000000", "5");
    let early = line("early", "-9000000000000000", "5");
    let long = line("long", "1795965000000010", "9000000000000000");
    let last = line("write", "1795965000000020", "5");
    let loaded = one("far", &format!("{first}{far}{early}{long}{counter}{last}"));
    let expected = [("read", 0, 5_000), ("write", 20_000, 5_000)];
    assert_eq!(spans(&loaded.trace), expected);
    assert_eq!(codes(&loaded.report), ["far_time"]);
    let notice = loaded.report.warnings().next().expect("one");
    let args =
        |at: usize, text: &str| Place::Byte((at + text.find("{\"hhash").expect("there")) as u64);
    let places = [
        args(first.len(), &far),
        args(first.len() + far.len(), &early),
        args(first.len() + far.len() + early.len(), &long),
    ];
    assert_eq!(
        (notice.count, notice.places.as_slice()),
        (4, places.as_slice())
    );
}
