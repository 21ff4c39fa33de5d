//! What is said of odd values: each by its own reason, with the place where it stands.

use super::*;
use crate::import::contract::report::Place;

const A: &str =
    r#"{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1700000000000000,"dur":5}"#;

/// The only warning, as text.
fn only(report: &ImportReport) -> String {
    let told = report.warnings();
    let told = told.filter(|n| n.kind != NoticeKind::NotRecorded);
    let told: Vec<_> = told.map(ToString::to_string).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    told[0].clone()
}

#[test]
fn numbers_that_are_no_times_are_told_from_what_is_no_number() {
    let at = A.len() + 2;
    for (times, text) in [
        (
            r#""ts":5,"dur":9e15"#,
            "had a time or a duration beyond 73 years",
        ),
        (
            r#""ts":99999999999999999999,"dur":1"#,
            "had a time or a duration beyond 73 years",
        ),
        (
            r#""ts":5,"dur":1e400"#,
            "had a time or a duration beyond 73 years",
        ),
        (r#""ts":5,"dur":"long""#, "had a duration that is no number"),
        (r#""ts":"late","dur":1"#, "had no valid start (ts)"),
    ] {
        let odd = format!(r#"{{"ph":"X","cat":"c","name":"x","pid":1,"tid":1,{times}}}"#);
        let (t, report) = open_list(&format!("{A},{odd}"));
        assert_eq!(t.spans().len(), 1);
        let expected = format!("skipped: 1 event {text} and was skipped (byte {at}).");
        assert_eq!(only(&report), expected);
    }
}

#[test]
fn digits_below_a_nanosecond_are_rounded_and_counted() {
    let b = |ts: &str, dur: &str| {
        format!(r#"{{"ph":"X","cat":"c","name":"b","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}"#)
    };
    for (ts, dur, start, length, times) in [
        ("1700000000000100.0004", "1", 100_000, 1_000, 1),
        ("1700000000000100.0005", "2.0015", 100_001, 2_002, 2),
        ("1700000000000100.00049999999999999", "1", 100_000, 1_000, 1),
        ("1700000000000100.000500", "\"1e-4\"", 100_001, 0, 2),
        ("1700000000000100.001000", "1.0e1", 100_001, 10_000, 0),
    ] {
        let (t, report) = open_list(&format!("{A},{}", b(ts, dur)));
        let id = span(&t, "b");
        let found = (t.spans().start(id), t.spans().dur(id));
        assert_eq!(found, (start, length), "{ts} {dur}");
        assert_eq!(count(&report, "rounded_time"), times, "{ts} {dur}");
        assert_eq!(warnings(&report), Vec::<&str>::new());
    }
}

#[test]
fn numbers_of_gpus_are_read_whole_or_not_at_all() {
    let kernel = |device: &str, stream: &str| {
        format!(
            r#"{{"ph":"X","cat":"kernel","name":"k","pid":3,"tid":4,"ts":9,"dur":1,"args":{{"device":{device},"stream":{stream}}}}}"#
        )
    };
    for (device, stream, lane, odd) in [
        ("1e2", "1E+1", "G100.10", 0),
        ("\"0x64\"", "\"stream 7 \"", "G100.7", 0),
        ("5e-4", "7", "G?.7", 1),
        ("\"1e2\"", "1.5", "G?.4", 2),
        ("[1]", "null", "G?.4", 1),
    ] {
        let (t, report) = open_list(&kernel(device, stream));
        assert_eq!(t.lanes()[0].key, lane, "{device} {stream}");
        assert_eq!(count(&report, "gpu_number"), odd, "{device} {stream}");
    }
}

#[test]
fn events_far_from_all_others_are_told_with_their_place() {
    let at =
        |ts: i64| format!(r#"{{"ph":"X","cat":"c","name":"b","pid":1,"tid":1,"ts":{ts},"dur":5}}"#);
    let told = |times: &[i64]| {
        let events: Vec<String> = times.iter().map(|&ts| at(ts)).collect();
        let (t, report) = open_list(&events.join(","));
        // Nothing is set aside.
        assert_eq!(t.spans().len(), times.len());
        let found = report.notices.iter().find(|n| n.code == "far_events");
        found.map(|n| (n.to_string(), n.count, n.places.clone()))
    };
    let far = 1_712_195_495_519_689;
    let (text, count, places) = told(&[100, 200, far, 300]).expect("told");
    let place = 1 + at(100).len() + at(200).len() + 2;
    assert_eq!((count, places), (1, vec![Place::Byte(place as u64)]));
    assert_eq!(
        text,
        format!(
            "guessed: 1 event lies 54 years after all others (byte {place}): hardly a time of the same clock. The time \
             axis reaches over both: look at the range of the others alone, or open a copy of the file without what is \
             far."
        )
    );
    let (text, count, _) = told(&[7, far, far + 10, far + 20, 5, far + 30]).expect("told");
    assert_eq!(count, 2);
    let start =
        "guessed: 2 events lie 54 years before all others (the one at the end of them: byte 2";
    assert!(text.starts_with(start), "{text}");
    // Days without anything are only worth a word; not so where the file itself is long.
    let minute = 60_000_000;
    let (text, ..) = told(&[1, minute, 1440 * minute]).expect("told");
    assert!(
        text.starts_with("info: 1 event lies 23 hours after"),
        "{text}"
    );
    assert!(told(&[1, minute, 50 * minute]).is_none());
    let spread: Vec<i64> = (1..20).map(|i| i * i * 60 * minute).collect();
    assert!(told(&spread).is_none());
}

#[test]
fn events_at_time_zero_have_a_place() {
    let zero = [
        r#"{"ph":"X","cat":"c","name":"x","pid":1,"tid":1,"ts":0,"dur":1}"#,
        r#"{"ph":"B","cat":"c","name":"y","pid":1,"tid":1,"ts":0}"#,
        r#"{"ph":"i","name":"z","pid":1,"tid":1,"ts":0}"#,
    ];
    let text = format!("{A},{},{},{}", zero[0], zero[1], zero[2]);
    let (_, report) = open_list(&text);
    let notice = report
        .notices
        .iter()
        .find(|n| n.code == "zero_time")
        .expect("noted");
    let places = zero.map(|event| {
        let at = text.find(event).expect("there") + 1;
        Place::Byte(at as u64)
    });
    assert_eq!(notice.places, places);
}

#[test]
fn bytes_between_events_that_are_no_blanks_are_counted() {
    let b = A.replace("\"a\"", "\"b\"");
    let text = format!("[{A},\0\0{b}\u{1},\n {A}\n]");
    let (t, report) = open(&text);
    assert_eq!(t.spans().len(), 3);
    let first = A.len() + 2;
    let second = first + 2 + b.len();
    let expected = format!(
        "repaired: Bytes between elements are zeros or other control characters, not blanks; they were passed over. \
         (3×) [first: byte {first}, byte {}, byte {second}]",
        first + 1
    );
    assert_eq!(only(&report), expected);
    // Wherever the text is cut into blocks.
    for cut in 1..text.len() {
        let (_, report) = read_cut(text.as_bytes(), &[cut]).expect("readable");
        assert_eq!(count(&report, "padding"), 3, "cut at {cut}");
    }
}

#[test]
fn half_characters_and_bad_bytes_are_told_apart() {
    let named = |name: &str| A.replace("\"a\"", &format!("\"{name}\""));
    let (_, report) = open_list(&named(r"x\ud800y"));
    assert!(
        only(&report)
            .starts_with(r"repaired: Names hold escapes of half a character (\ud800 to \udfff)")
    );
    let (_, report) = open_list(&named(r"x\ufffdy"));
    assert_eq!(warnings(&report), Vec::<&str>::new());
}

#[test]
fn base_times_and_ranks_that_cannot_be_used_are_named() {
    let relative = A.replace("1700000000000000", "17");
    for (header, code) in [
        (r#""baseTimeNanoseconds":"soon""#, Some("bad_base_time")),
        (r#""baseTimeNanoseconds":1.5e999"#, Some("bad_base_time")),
        (r#""baseTimeNanoseconds":null"#, None),
        (r#""baseTimeNanoseconds":1700000000000000000"#, None),
        (r#""distributedInfo":{"rank":-1}"#, Some("bad_rank")),
        (r#""distributedInfo":{"rank":"first"}"#, Some("bad_rank")),
        (r#""distributedInfo":[nan]"#, Some("bad_rank")),
        (r#""distributedInfo":{"backend":"nccl"}"#, None),
        (r#""distributedInfo":{"rank":3}"#, None),
    ] {
        let (_, report) = open(&format!(r#"{{{header},"traceEvents":[{relative}]}}"#));
        let told = ["bad_base_time", "bad_rank"].map(|c| count(&report, c));
        let expected = ["bad_base_time", "bad_rank"].map(|c| u64::from(code == Some(c)));
        assert_eq!(told, expected, "{header}");
    }
}

#[test]
fn an_event_list_that_is_none_is_named_for_what_it_is() {
    for (value, what) in [
        ("null", "null"),
        ("{}", "an object"),
        ("\"x\"", "a text"),
        ("17", "a single value"),
    ] {
        let error = read(&format!(r#"{{"traceEvents":{value}}}"#))
            .err()
            .expect("refused");
        let cause = format!("This JSON object is no trace: its traceEvents is {what}, not a list.");
        assert_eq!(error.cause, cause);
    }
    // Keys that would act on a terminal are shown without that.
    let error = read("{\"\u{1b}[2J\0\":1}").err().expect("refused");
    assert!(!error.cause.contains(char::is_control), "{}", error.cause);
}
