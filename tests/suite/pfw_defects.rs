//! Pfw files as they come out of other hands: commas between records, marks, padding, several records on a line,
//! numbers in other forms, wrong times, unknown units.

use crate::common;

use std::io::Write as _;
use std::path::PathBuf;

use stallscope::import::{ArgsReader, Loaded, NoticeKind, Place};

fn write(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = common::scratch(&format!("pfw_defects_{name}")).join("unknown");
    std::fs::write(&path, bytes).expect("writable");
    path
}

fn load(name: &str, bytes: impl AsRef<[u8]>) -> Loaded {
    common::open_with(&write(name, bytes), 2).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// What is said, as the user reads it.
fn said(loaded: &Loaded) -> Vec<String> {
    loaded
        .report
        .notices
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn spans(loaded: &Loaded) -> Vec<(&str, i64, i64)> {
    let spans = loaded.trace.spans();
    let ids = spans.ids();
    ids.map(|i| (loaded.trace.span_name(i), spans.start(i), spans.dur(i)))
        .collect()
}

fn record(name: &str, ts: &str) -> String {
    format!(
        "{{\"id\":1,\"name\":\"{name}\",\"cat\":\"POSIX\",\"pid\":7,\"tid\":7,\"ts\":{ts},\"dur\":5,\"ph\":1,\
         \"args\":{{\"hhash\":\"a\",\"of\":\"{name}\"}}}}"
    )
}

fn three() -> [String; 3] {
    [("a", 0), ("b", 10), ("c", 20)]
        .map(|(name, at)| record(name, &(1_795_965_000_000_000_u64 + at).to_string()))
}

const WHOLE: [(&str, i64, i64); 3] = [("a", 0, 5_000), ("b", 10_000, 5_000), ("c", 20_000, 5_000)];

/// All three spans are there, and their args are their own.
fn check_whole(name: &str, loaded: &Loaded) {
    assert_eq!(spans(loaded), WHOLE, "{name}");
    let mut reader = ArgsReader::new();
    for span in loaded.trace.spans().ids() {
        let args = reader
            .read(&loaded.trace, span)
            .expect("readable")
            .expect("args");
        assert_eq!(args["of"], loaded.trace.span_name(span), "{name}");
    }
}

#[test]
fn commas_at_line_ends_are_accepted() {
    let lines = three();
    for (name, text) in [
        ("brackets", format!("[\n{}\n]\n", lines.join(",\n"))),
        ("last", format!("[\n{},\n]", lines.join(",\n"))),
        ("leading", format!("[\n{}\n]\n", lines.join("\n,"))),
        ("bare", format!("{},\n", lines.join(",\n"))),
        ("blanks", format!("{}\r\n", lines.join(" , \r\n"))),
    ] {
        let loaded = load(name, &text);
        check_whole(name, &loaded);
        assert!(said(&loaded).is_empty(), "{name} {:?}", said(&loaded));
        // With letters for phases, too.
        let letters = text.replace("\"ph\":1", "\"ph\":\"X\"");
        check_whole(name, &load(name, letters));
    }
}

#[test]
fn records_that_share_a_line_are_told_apart() {
    let lines = three();
    for (name, text) in [
        ("array", format!("[{}]", lines.join(","))),
        ("close", lines.concat()),
        ("apart", format!("{}\n", lines.join("  "))),
    ] {
        let loaded = load(name, text);
        check_whole(name, &loaded);
        let expected = "repaired: Several records stand on one line: they were read one by one. [first: line 1]";
        assert_eq!(said(&loaded), [expected], "{name}");
    }
    // A defect costs one of them.
    let torn = format!("[{},{{\"id\":,{},\n{}]\n", lines[0], lines[1], lines[2]);
    let loaded = load("torn", torn);
    check_whole("torn", &loaded);
    let skipped = "skipped: Lines hold something that is no JSON object beside their records: it was skipped (7 bytes). [first: line 1]";
    assert!(
        said(&loaded).iter().any(|t| t == skipped),
        "{:?}",
        said(&loaded)
    );
    // Where the file ends inside one, it says so.
    let whole = format!("[{}]", lines.join(","));
    let loaded = load("cut", &whole[..whole.len() - 30]);
    assert_eq!(spans(&loaded), WHOLE[..2]);
    assert!(loaded.report.has("truncated"), "{:?}", said(&loaded));
}

#[test]
fn a_mark_and_zero_bytes_cost_no_record() {
    let [a, b, c] = three();
    let loaded = load("mark", format!("\u{feff}{a}\n{b}\n{c}\n"));
    check_whole("mark", &loaded);
    assert!(said(&loaded).is_empty());
    check_whole(
        "mark and bracket",
        &load("bracket", format!("\u{feff}[\n{a}\n{b}\n{c}\n]")),
    );

    let zeros = "\0".repeat(4_096);
    for (name, text, line) in [
        ("front", format!("{zeros}{a}\n{b}\n{c}\n"), 1),
        ("middle", format!("{a}\n{zeros}{b}\n{c}\n"), 2),
        ("behind", format!("{a}\n{b}{zeros}\r\n{c}\n"), 2),
        ("end", format!("{a}\n{b}\n{c}\n{zeros}"), 4),
    ] {
        let loaded = load(name, text);
        check_whole(name, &loaded);
        let expected = format!(
            "repaired: Zero bytes stand between records; they were passed over. (4,096×) [first: line {line}]"
        );
        assert_eq!(said(&loaded), [expected], "{name}");
    }
}

#[test]
fn every_scalar_may_be_a_text_or_a_fraction() {
    let line = |phase: &str, number: &str| {
        format!(
            "{{\"id\":{number},\"name\":\"fork\",\"cat\":\"POSIX\",\"pid\":{number},\"tid\":{number},\
             \"ts\":1795965000000000.0,\"dur\":\"5.0\",\"ph\":{phase},\"args\":{{\"hhash\":\"a\",\"ret\":{number},\
             \"level\":{number}}}}}\n"
        )
    };
    for phase in ["1", "\"1\"", "1.0", "\"1.0\"", "1e0"] {
        let loaded = load(
            "scalars",
            ["7", "\"7\"", "7.0", "\"7.0\""]
                .map(|n| line(phase, n))
                .concat(),
        );
        assert_eq!(spans(&loaded), [("fork", 0, 5_000); 4], "{phase}");
        // All of them are of one thread, and forked one child.
        assert_eq!(loaded.trace.lanes().len(), 1, "{phase}");
        let lost = loaded.report.notices.iter().find(|n| n.code == "processes");
        assert!(
            lost.is_none_or(|n| n.text.contains("It forked 1.")),
            "{phase} {lost:?}"
        );
        let facts = &loaded.report.files[0].facts;
        assert!(
            facts.contains(&("generation".to_owned(), "G6".to_owned())),
            "{phase} {facts:?}"
        );
    }
}

#[test]
fn a_wrong_time_does_not_stretch_the_axis() {
    let [a, b, c] = three();
    for wrong in ["0", "-5", "12.5", "0.0"] {
        let odd = record("odd", wrong);
        let loaded = load("time", format!("{a}\n{b}\n{odd}\n{c}\n"));
        check_whole(wrong, &loaded);
        let place = a.len() + b.len() + 2 + odd.find("{\"hhash").expect("args");
        let notice = loaded.report.warnings().next().expect("one");
        assert_eq!(
            (notice.kind, notice.code, notice.count),
            (NoticeKind::Skipped, "zero_time", 1)
        );
        assert_eq!(notice.places, [Place::Byte(place as u64)], "{wrong}");
    }
    // Where times count from 0 it is one of them.
    let loaded = load(
        "relative",
        ["0", "5", "70000000"]
            .map(|ts| record("a", ts) + "\n")
            .concat(),
    );
    assert_eq!(loaded.trace.spans().len(), 3);
    assert!(!loaded.report.has("zero_time"));
}

#[test]
fn units_are_known_in_any_case_and_unknown_ones_are_told() {
    let unit = |name: &str| {
        format!(
            "{{\"name\":\"CM\",\"cat\":\"dftracer\",\"pid\":7,\"tid\":7,\"ph\":4,\"args\":{{\"name\":\"time_metric\",\
             \"value\":\"{name}\"}}}}\n"
        )
    };
    let ends = |name: &str, ts: &str| {
        let loaded = load("unit", unit(name) + &record("a", ts) + "\n");
        let dur = spans(&loaded)[0].2;
        let told = said(&loaded).into_iter().find(|t| t.starts_with("guessed"));
        (dur, told)
    };
    let us = "1795965000000000";
    assert_eq!(ends("ns", "1795965000000000000"), (5, None));
    assert_eq!(ends("Us", us), (5_000, None));
    assert_eq!(ends("ms", "1795965000000"), (5_000_000, None));
    assert_eq!(ends("sec", "1795965000"), (5_000_000_000, None));
    let unknown = "guessed: The unit of time, “FORTNIGHT”, is not known: times are taken as µs.";
    assert_eq!(ends("FORTNIGHT", us), (5_000, Some(unknown.to_owned())));
    let loaded = load("units", unit("US") + &unit("NS") + &record("a", us) + "\n");
    let two = "guessed: The file states several units of time (“NS” too): the first known one was taken, µs.";
    assert!(
        said(&loaded).iter().any(|t| t == two),
        "{:?}",
        said(&loaded)
    );
}

#[test]
fn what_cannot_be_read_says_what_it_is() {
    let tall = three()
        .map(|r| r.replace(',', ",\n").replace('{', "{\n"))
        .join("\n");
    let error = common::open_with(&write("tall", tall), 1)
        .err()
        .expect("refused");
    assert!(error.cause.contains("go over several lines"), "{error}");
    assert!(
        error.remedy.contains("jq -c") && error.place == Some(Place::Line(1)),
        "{error}"
    );

    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    };
    let path = write("twice", gzip(&gzip(three().join("\n").as_bytes())));
    let error = common::open_with(&path, 1).err().expect("refused");
    assert!(error.cause.contains("compressed twice"), "{error}");
    let command = error.command.expect("a command");
    assert!(
        command.starts_with("gzip -dc ") && command.ends_with("/once-unknown"),
        "{command}"
    );
}

#[test]
fn a_line_that_is_too_long_has_a_place() {
    let [a, b, c] = three();
    let long = b.replace(
        "\"hhash\"",
        &format!("\"x\":\"{}\",\"hhash\"", "A".repeat(65 << 20)),
    );
    let loaded = load("long", format!("{a}\n{long}\n{c}\n"));
    assert_eq!(spans(&loaded), [WHOLE[0], WHOLE[2]]);
    let notice = loaded.report.warnings().next().expect("one");
    assert_eq!(notice.code, "overlong_line");
    assert_eq!(notice.places, [Place::Byte(a.len() as u64 + 1)]);
}

#[test]
fn a_list_on_one_line_may_be_as_long_as_it_likes() {
    let long = |i: u64| {
        record("a", &(1_795_965_000_000_000 + i * 10).to_string()).replace(
            "\"hhash\"",
            &format!("\"x\":\"{}\",\"n\":{i},\"hhash\"", "},{".repeat(4 << 10)),
        )
    };
    let mut lines: Vec<String> = (0..6_000).map(long).collect();
    // One of them is no record.
    lines[40] = lines[40].replace("\"cat\"", "\"cat");
    let text = format!("[{}]\n{}\n", lines.join(","), record("odd", "x"));
    assert!(text.len() > 70 << 20);
    let loaded = load("one line", text);
    assert_eq!(loaded.trace.spans().len(), 5_999);
    assert_eq!(
        said(&loaded),
        [
            "skipped: Lines hold something that is no JSON object beside their records: it was skipped (12,418 bytes with about 1 event). [first: line 1]",
            "skipped: Records have no readable ts or dur and were skipped. [first: line 2]",
            "repaired: Several records stand on one line: they were read one by one. [first: line 1]",
        ]
    );
    let mut reader = ArgsReader::new();
    for span in loaded.trace.spans().ids().step_by(700) {
        let args = reader.read(&loaded.trace, span).expect("readable");
        let at = args.expect("args")["n"].as_i64().expect("a number") * 10_000;
        assert_eq!(loaded.trace.spans().start(span), at);
    }
}
