//! Broken JSON: what is lost, what is repaired, and what is said about it.

use proptest::prelude::*;

use super::*;
use crate::import::contract::error::ErrorKind;
use crate::import::contract::report::Place;

const A: &str = r#"{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":5}"#;
const B: &str = r#"{"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":10,"dur":5}"#;

/// Reads `A`, something odd and `B` in a list; both must survive.
fn between(odd: &str) -> (Trace, ImportReport) {
    let (t, report) = open_list(&format!("{A},{odd},{B}"));
    let found = names(&t);
    assert!(
        found.contains(&"a") && found.contains(&"b"),
        "{odd}: {found:?}"
    );
    (t, report)
}

#[test]
fn an_event_that_cannot_be_read_is_skipped_alone() {
    for odd in [
        r#"{"ph":"X","name":"x","ts":"#,
        r#"{"ph":"X" "name" 5}"#,
        r#"{"ph":"X","cat":"kernel","name":"x","ts":3,"dur":1,"args":{"k":tr ue}}"#,
        r#"{{{{"#,
        r#"{"ph":"X",5}"#,
    ] {
        let (t, report) = between(odd);
        assert_eq!(t.spans().len(), 2, "{odd}");
        assert_eq!(count(&report, "broken_event"), 1, "{odd}");
        let place = report.notices.iter().find(|n| n.code == "broken_event");
        let at = 1 + A.len() as u64 + 1;
        assert_eq!(place.expect("noted").places, [Place::Byte(at)], "{odd}");
    }
}

#[test]
fn what_can_be_read_all_the_same_is_repaired_and_counted() {
    for (odd, code, name) in [
        (
            r#"{"ph":"X","name":"x","pid":1,"tid":1,"ts":20,"dur":1,}"#,
            "extra_comma",
            "x",
        ),
        (
            r#",{"ph":"X","name":"x","pid":1,"tid":1,"ts":20,"dur":1}"#,
            "extra_comma",
            "x",
        ),
        (
            r#"{"ph":"X","name":"x","pid":1,tid": 0,"ts":20,"dur":1}"#,
            "missing_quote",
            "x",
        ),
        (
            r#"{"ph":"X","name":"x","pid":1,"tid":1 "ts":20,"dur":1}"#,
            "missing_comma",
            "x",
        ),
        (
            r#"{"ph":"X","name":"x","pid":1,"tid":1,"ts":20,"dur":1} {}"#,
            "missing_comma",
            "x",
        ),
        (
            r#"{"ph":"X","args":{"odd":"one " quote"},"name":"x","pid":1,"tid":1,"ts":20,"dur":1}"#,
            "unescaped_quote",
            "x",
        ),
        (
            r#"{"ph":"X","name":"say "x", twice","pid":1,"tid":1,"ts":20,"dur":1}"#,
            "unescaped_quote",
            "say \"x\", twice",
        ),
        (
            "{\"ph\":\"X\",\"name\":\"x\ny\",\"pid\":1,\"tid\":1,\"ts\":20,\"dur\":1}",
            "control_character",
            "x\ny",
        ),
        (
            r#"{"ph":"X","name":"C:\code\_x","pid":1,"tid":1,"ts":20,"dur":1}"#,
            "bad_escape",
            r"C:\code\_x",
        ),
        (
            r#"{"ph":"X","name":"x","pid":0x1f,"tid":1,"ts":20,"dur":1}"#,
            "bare_word",
            "x",
        ),
        (
            r#"{"ph":"X","cat":"kernel","name":"x","pid":0,"tid":7,"ts":20,"dur":1,"args":{"a":inf,"b":-nan}}"#,
            "bare_word",
            "x",
        ),
        (
            r#"{"ph":"X","name":"x","pid":1,"tid":1,"ts":20,"dur":-1}"#,
            "negative_dur",
            "x",
        ),
    ] {
        let (t, report) = between(odd);
        assert_eq!(t.spans().len(), 3, "{odd}");
        span(&t, name);
        assert!(count(&report, code) > 0, "{odd}: {:?}", report.notices);
        assert_eq!(count(&report, "broken_event"), 0, "{odd}");
        assert_eq!(warnings(&report), [code], "{odd}");
    }
    let bad = b"[{\"ph\":\"X\",\"name\":\"\xff\",\"ts\":1,\"dur\":1}]";
    let (t, report) = read_named("x", bad).expect("readable");
    assert_eq!(names(&t), ["\u{fffd}"]);
    assert_eq!(count(&report, "bad_utf8"), 1);
}

#[test]
fn what_is_no_usable_event_is_skipped_and_counted() {
    for (odd, code) in [
        ("5", "not_an_object"),
        ("[1,2]", "not_an_object"),
        (r#""text""#, "not_an_object"),
        (r#"{"name":"x"}"#, "no_phase"),
        (r#"{"ph":"XXX","ts":1}"#, "unknown_phase"),
        (r#"{"ph":"~","ts":1}"#, "unknown_phase"),
        (r#"{"ph":"X","ts":"100a","dur":1}"#, "bad_ts"),
        (r#"{"ph":"X","ts":null,"dur":1}"#, "bad_ts"),
        (r#"{"ph":"X","ts":[1],"dur":1}"#, "bad_ts"),
        (r#"{"ph":"X","ts":1e400,"dur":1}"#, "far_time"),
        (r#"{"ph":"X","ts":1,"dur":"x"}"#, "bad_dur"),
        (r#"{"ph":"X","ts":1,"tdur":4}"#, "x_without_dur"),
        (r#"{"ph":"E","ts":1}"#, "e_without_b"),
    ] {
        let (t, report) = between(odd);
        assert_eq!(t.spans().len(), 2, "{odd}");
        assert_eq!(warnings(&report), [code], "{odd}");
        assert_eq!(count(&report, code), 1, "{odd}");
        assert_eq!(report.files[0].events, 3, "{odd}");
    }
    let (_, report) = between("{}");
    assert_eq!(
        (count(&report, "empty_event"), warnings(&report).len()),
        (1, 0)
    );
    let (_, report) = between(r#"{"ph":"P","ts":1}"#);
    assert_eq!(
        (count(&report, "not_drawn"), warnings(&report).len()),
        (1, 0)
    );
}

#[test]
fn ends_and_heads_that_are_missing_are_said() {
    for text in [
        format!("[{A},{B}"),
        format!("[{A},{B},"),
        format!("{{\"traceEvents\":[{A},{B}"),
        format!("{{\"traceEvents\":[{A},{B}]"),
    ] {
        let (t, report) = open(&text);
        assert_eq!(names(&t), ["a", "b"]);
        assert_eq!(warnings(&report), ["not_closed"], "{text}");
    }
    for text in [format!("\"X\",\"ts\":4}},{A},{B}]"), format!("{A},{B}]}}")] {
        let (t, report) = open(&text);
        assert_eq!(names(&t), ["a", "b"], "{text}");
        assert_eq!(count(&report, "no_head"), 1, "{text}");
    }
    let (t, report) = open(&format!("{A}\n{B}"));
    assert_eq!(names(&t), ["a", "b"]);
    assert_eq!(
        warnings(&report),
        Vec::<&str>::new(),
        "events in lines are whole"
    );
    let (t, report) = open(&format!("[{A},{B},]"));
    assert_eq!(
        (names(&t).len(), warnings(&report)),
        (2, vec!["extra_comma"])
    );
    let (t, report) = open(&format!("[{A},{B}] and more"));
    assert_eq!(
        (names(&t).len(), warnings(&report)),
        (2, vec!["text_after_end"])
    );
    // The keys behind a broken last event are still read.
    let (t, _) = open(&format!(
        r#"{{"traceEvents":[{A},{{"ph":"X","n ],"baseTimeNanoseconds":1700000000000000000}}"#
    ));
    assert_eq!(t.unix_origin(), Some(1_700_000_000_000_001_000));
}

#[test]
fn what_is_shown_and_what_is_not_is_said_in_numbers() {
    let said = |text: &str| {
        let (_, report) = open(text);
        let notices = report
            .warnings()
            .filter(|n| n.kind != NoticeKind::NotRecorded);
        notices.map(ToString::to_string).collect::<Vec<_>>()
    };
    let cut = format!("[{A},{B},{A}");
    let expected = format!(
        "damaged: The file ends early. Showing the 3 events before byte {}.",
        cut.len()
    );
    assert_eq!(said(&cut), [expected]);
    // A bracket in place of a comma closes the list; what follows is another one.
    assert_eq!(said(&format!("[{A}]{B},{B}]")), Vec::<String>::new());
    let (t, report) = open(&format!(
        "{{\"traceEvents\":[{A}]{B},{}]}}",
        vec![B; 20_000].join(",\n")
    ));
    assert_eq!(names(&t).len(), 20_002);
    assert_eq!(count(&report, "documents"), 2);
    // Documents one after the other, with and without something between them.
    for between in ["", "\n", ", \n", "\x1e"] {
        let text = format!("[{A}]{between}{{\"traceEvents\":[{B}]}}{between}[{A},{B}]");
        let (t, report) = open(&text);
        assert_eq!(names(&t).len(), 4, "{text}");
        assert_eq!(count(&report, "documents"), 3, "{text}");
    }
    let without = r#"{"ph":"X","name":"x","ts":1}"#;
    assert_eq!(
        said(&format!("[{A},{without},{without}]")),
        [format!(
            "skipped: 2 events had no duration and were skipped (first: byte {}).",
            A.len() + 2
        )]
    );
}

#[test]
fn lists_in_the_list_are_read_too() {
    let c = A.replace("\"a\"", "\"c\"");
    for (text, told) in [
        (format!("[[{A}],[{B}],{c}]"), vec!["nested_list"]),
        (format!("[{A},[{B},{c}]]"), vec!["nested_list"]),
        (format!("[{A},[{B}, [ {c} ] ] ]"), vec!["nested_list"]),
        (
            format!("{{\"traceEvents\":[{A},[{B}],{c}],\"schemaVersion\":1}}"),
            vec!["nested_list"],
        ),
        (
            format!("{{\"traceEvents\":[{A},{c},[{B}]],\"schemaVersion\":1}}"),
            vec!["nested_list"],
        ),
        // What is not closed, or closed too early.
        (
            format!("{{\"traceEvents\":[{A},[{B},{c}],\"schemaVersion\":1}}"),
            vec!["nested_list"],
        ),
        (format!("[{A},[{B},{c}]"), vec!["not_closed", "nested_list"]),
        (format!("[{A}],{B},{c}]"), vec!["early_bracket"]),
        (
            format!("[{A} [{B},{c},]]"),
            vec!["extra_comma", "missing_comma", "nested_list"],
        ),
    ] {
        for cut in 0..text.len() {
            let (t, report) = read_cut(text.as_bytes(), &[cut]).expect("readable");
            assert_eq!(names(&t), ["a", "c", "b"], "{text}");
            assert_eq!(warnings(&report), told, "{text}, cut at {cut}");
        }
    }
}

#[test]
fn the_last_of_two_equal_keys_wins() {
    let (t, _) = open_list(
        r#"{"ph":"B","ph":"X","name":"x","name":"y","ts":1,"ts":2,"dur":1,"args":{"stream":3},"cat":"a","cat":"kernel","pid":0,"args":{"stream":4}}"#,
    );
    let kernel = (
        "G?.4".to_owned(),
        2_000,
        1_000,
        "y".to_owned(),
        "kernel".to_owned(),
    );
    assert_eq!(spans(&t), [kernel]);
}

#[test]
fn files_that_are_no_traces_are_refused_with_a_reason() {
    for (text, kind, word) in [
        ("", ErrorKind::Empty, "empty"),
        ("[[1,2],[3,4]]", ErrorKind::Unsupported, "memory timeline"),
        ("[1,2,3]", ErrorKind::Unsupported, "no events"),
        (
            r#"{"rocprofiler-sdk-tool":[{}]}"#,
            ErrorKind::Unsupported,
            "rocprofiler",
        ),
        (
            r#"{"schema":"1","nodes":[]}"#,
            ErrorKind::Unsupported,
            "execution trace",
        ),
        (r#"{"added_tokens":[]}"#, ErrorKind::Unknown, "tokenizer"),
        (
            r#"{"fetch":[1],"compute":[2]}"#,
            ErrorKind::Unknown,
            "fetch, compute",
        ),
        (
            r#"{"traceEvents":{"a":1}}"#,
            ErrorKind::Unknown,
            "traceEvents",
        ),
        ("V1206 torch] {\"a\": 1}\n", ErrorKind::Unsupported, "log"),
        ("hello", ErrorKind::Unknown, "neither"),
        ("x\u{1}\u{2}\u{0}{", ErrorKind::Unknown, "binary"),
        ("[{{{{ ]", ErrorKind::Corrupt, "event"),
    ] {
        let error = read(text).map(|_| ()).expect_err(text);
        assert_eq!(error.kind, kind, "{text}: {error}");
        assert!(error.cause.contains(word), "{text}: {error}");
        assert!(!error.remedy.is_empty(), "{text}");
    }
    let (t, report) = open(r#"{"traceEvents":[]}"#);
    assert_eq!((t.spans().len(), count(&report, "no_spans")), (0, 1));
}

#[test]
fn a_cut_anywhere_keeps_every_whole_event() {
    let events: Vec<String> = (0..12)
        .map(|i| {
            format!(
                "  {{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op{i} \\\"q\\\"\", \"pid\": 7, \"tid\": 7,\n    \"ts\": {}.500, \"dur\": 3,\n    \"args\": {{\"External id\": {i}, \"Input Dims\": [[1, 2], []], \"s\": \"}}{{\"}}\n  }}",
                i * 10 + 1
            )
        })
        .collect();
    let head = "{\n\"schemaVersion\": 1,\n\"traceEvents\": [\n";
    let text = format!("{head}{}\n]}}", events.join(",\n"));
    let mut ends = Vec::new();
    let mut at = head.len();
    for event in &events {
        at += event.len();
        ends.push(at);
        at += 2;
    }
    for cut in 0..text.len() {
        let whole = ends.iter().filter(|&&e| e <= cut).count();
        match read_cut(&text.as_bytes()[..cut], &[]) {
            Ok((t, _)) => assert_eq!(t.spans().len(), whole, "cut at {cut}"),
            Err(_) => assert_eq!(whole, 0, "cut at {cut}"),
        }
    }
}

#[test]
fn a_damaged_stream_opens_up_to_the_damage() {
    use std::io::Write as _;
    let events: Vec<String> = (1..2_000)
        .map(|i| {
            format!(
                r#"{{"ph":"X","cat":"c","name":"n{}","ts":{i},"dur":1}}"#,
                i * 7 % 1_000
            )
        })
        .collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    write!(gzip, "[{}]", events.join(",")).expect("memory");
    let bytes = gzip.finish().expect("memory");
    let cut = bytes[..bytes.len() / 2].to_vec();
    let mut builder = TraceBuilder::new();
    let mut report = ImportReport::default();
    let progress = Progress::new();
    let mut ctx = Context {
        builder: &mut builder,
        report: &mut report,
        progress: &progress,
        refused: &mut Vec::new(),
    };
    let size = cut.len() as u64;
    let reader = Box::new(Cursor::new(cut));
    let input = Input::from_reader("x.gz".into(), size, true, ArgsOrigin::Gzip, reader);
    import(input, &mut ctx).expect("the first half is whole");
    assert!(builder.so_far().spans().len() > 500);
    assert_eq!(count(&report, "damaged_stream"), 1);
}

#[test]
fn texts_made_to_be_slow_are_read_in_time() {
    for piece in [
        r#"{"ph":"#,
        r#"[{"ph":"X","args":{"a":"#,
        r#",{"name":"x" "#,
        r#"{"ph":"X","name":""x"#,
        "[",
        "{",
        "\"",
        ",",
        r#"{"ph":"X","ts":1,"dur":1,"args":{"a":"" "}},"#,
    ] {
        let text = format!("[{A},{}", piece.repeat(600_000 / piece.len()));
        let began = std::time::Instant::now();
        let _ = read_cut(text.as_bytes(), &[100_000, 200_000, 400_000]);
        let seconds = began.elapsed().as_secs();
        // Quadratic work would take hours.
        assert!(seconds < 120, "{piece}: {seconds} s");
    }
}

#[test]
fn a_cancelled_import_stops_at_once() {
    struct Endless(usize);
    impl std::io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let event = format!(",{A}");
            for byte in buffer.iter_mut() {
                *byte = if self.0 == 0 {
                    b'['
                } else {
                    event.as_bytes()[(self.0 - 1) % event.len()]
                };
                self.0 += 1;
            }
            Ok(buffer.len())
        }
    }
    for threads in [1, 3] {
        let mut builder = TraceBuilder::new();
        let mut report = ImportReport::default();
        let progress = Progress::new();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().expect("threads");
        let reader = Box::new(Endless(0));
        let input = Input::from_reader("x".into(), 0, false, ArgsOrigin::None, reader);
        let mut ctx = Context {
            builder: &mut builder,
            report: &mut report,
            progress: &progress,
            refused: &mut Vec::new(),
        };
        let stop = std::sync::Mutex::new(None);
        let result = std::thread::scope(|scope| {
            std::thread::Builder::new()
                .name("cancel".to_owned())
                .spawn_scoped(scope, || {
                    while progress.events() == 0 {
                        std::thread::yield_now();
                    }
                    progress.cancel();
                    *stop.lock().expect("not poisoned") = Some(std::time::Instant::now());
                })
                .expect("a thread");
            pool.install(|| import(input, &mut ctx))
        });
        assert_eq!(result.expect_err("cancelled").kind, ErrorKind::Cancelled);
        let since = stop
            .lock()
            .expect("not poisoned")
            .expect("cancelled")
            .elapsed();
        // `benches/cancel.rs` measures how fast; here it must only end, long before an endless input does.
        assert!(since.as_secs() < 60, "{since:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived(
        bytes in proptest::collection::vec(
            prop_oneof![
                Just(b'{'), Just(b'}'), Just(b'['), Just(b']'), Just(b'"'), Just(b','), Just(b':'),
                Just(b'\\'), Just(b' '), Just(b'X'), Just(b'1'), any::<u8>(),
            ],
            0..400,
        ),
        cut in 0_usize..400,
    ) {
        let cuts = [cut.min(bytes.len())];
        let _ = read_cut(&bytes, &cuts);
        let _ = read_cut(&[b"[", bytes.as_slice()].concat(), &cuts);
        let _ = read_cut(&[b"[", A.as_bytes(), b",", bytes.as_slice(), b",", B.as_bytes()].concat(), &cuts);
    }

    #[test]
    fn a_damaged_byte_loses_little(at in 0_usize..2_000, byte in any::<u8>()) {
        let events: Vec<String> = (0..20)
            .map(|i| format!(r#"{{"ph":"X","cat":"c","name":"n{i}","pid":1,"tid":1,"ts":{i},"dur":1,"args":{{"k":"v"}}}}"#))
            .collect();
        let mut text = format!("[{}]", events.join(", ")).into_bytes();
        let at = 2 + at % (text.len() - 4);
        // A `]` between two events ends the list as JSON says; what follows it is then counted as text after the end.
        prop_assume!(byte != b']');
        text[at] = byte;
        let (t, report) = read_cut(&text, &[]).expect("most of it is whole");
        prop_assert!(t.spans().len() >= 18, "{} left: {}", t.spans().len(), String::from_utf8_lossy(&text));
        // A changed letter may make another event of it, or another name; anything else is said.
        prop_assert!(report.files[0].events == 20 || report.warnings().next().is_some());
    }
}
