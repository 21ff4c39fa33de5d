//! Damaged, disguised and empty files: what is said of them is what is the matter with them.

use crate::common;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use stallscope::import::{ErrorKind, LoadError, Loaded, OpenOptions};

fn folder(name: &str) -> PathBuf {
    common::scratch(&format!("broken_{name}"))
}

fn write(path: PathBuf, bytes: impl AsRef<[u8]>) -> PathBuf {
    std::fs::write(&path, bytes).expect("writable");
    path
}

fn load(path: &Path) -> Result<Loaded, LoadError> {
    common::open_with(path, OpenOptions::default().threads)
}

/// What is said of a file that opens, as text.
fn said(loaded: &Loaded) -> Vec<String> {
    loaded.report.warnings().map(ToString::to_string).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// A list of events whose text does not compress away.
fn events(count: u32) -> String {
    let event = |i: u32| {
        let odd = i.wrapping_mul(2_654_435_761);
        format!(r#"{{"ph":"X","name":"n{odd:x}","pid":1,"tid":1,"ts":{i},"dur":1}}"#)
    };
    let all: Vec<String> = (1..=count).map(event).collect();
    format!("[{}]", all.join(","))
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder
            .append_data(&mut header, name, *bytes)
            .expect("memory");
    }
    builder.into_inner().expect("memory")
}

#[test]
fn compressed_files_say_what_is_wrong_with_them() {
    let dir = folder("gzip");
    let text = events(20_000);
    let whole = gzip(text.as_bytes());
    let name = |what: &str| dir.join(format!("{what}.json.gz"));
    let all = "20,000 events before";
    let end = format!("byte {}", stallscope::time::format_count(text.len() as u64));

    let mut wrong = whole.clone();
    let last = wrong.len() - 8;
    wrong[last] ^= 1;
    let loaded = load(&write(name("checksum"), wrong)).expect("opens");
    assert_eq!(loaded.trace.spans().len(), 20_000);
    let texts = said(&loaded);
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(
        texts[0].starts_with("damaged: The content does not match its checksum"),
        "{texts:?}"
    );
    assert!(
        texts[0].contains(all) && texts[0].contains(&end),
        "{texts:?}"
    );

    let more = [whole.as_slice(), b"this is not gzip"].concat();
    let loaded = load(&write(name("trailing"), more)).expect("opens");
    let expected = format!(
        "skipped: Something that is no gzip data follows {end} of its text: it was not read. Showing the {all} it."
    );
    assert_eq!(said(&loaded), [expected]);

    let loaded = load(&write(name("cut"), &whole[..whole.len() / 2])).expect("opens");
    let texts = said(&loaded);
    let early = "damaged: The file ends early, inside its compressed data. Showing the";
    assert!(
        texts[0].starts_with(early) && texts[0].contains("of its text"),
        "{texts:?}"
    );

    // A block of no known type in the middle: what lies before it is shown but for the last few kilobytes.
    let broken = 400_000;
    let (first, rest) = text.as_bytes().split_at(broken);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(first).expect("memory");
    encoder.flush().expect("memory");
    let place = encoder.get_ref().len();
    encoder.write_all(rest).expect("memory");
    let mut bytes = encoder.finish().expect("memory");
    bytes[place] = 0xff;
    let loaded = load(&write(name("corrupt"), &bytes)).expect("opens");
    let texts = said(&loaded);
    assert!(
        texts[0].starts_with("damaged: The compressed data is damaged behind byte "),
        "{texts:?}"
    );
    let read = loaded.report.files[0].inflated_bytes;
    assert!(
        (broken as u64 - (32 << 10)..=broken as u64).contains(&read),
        "{read}"
    );
}

#[test]
fn a_file_that_is_damaged_before_its_first_event_is_refused_for_that() {
    let dir = folder("early");
    // Events may follow: the damage lies behind what is looked at first.
    let text = format!(
        r#"{{"a": "{}", "traceEvents": {}}}"#,
        "x".repeat(300_000),
        events(10)
    );
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder
        .write_all(&text.as_bytes()[..200_000])
        .expect("memory");
    encoder.flush().expect("memory");
    let place = encoder.get_ref().len();
    encoder
        .write_all(&text.as_bytes()[200_000..])
        .expect("memory");
    let mut bytes = encoder.finish().expect("memory");
    bytes[place] = 0xff;
    let path = write(dir.join("a.json.gz"), &bytes);
    let error = load(&path).err().expect("refused");
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert!(
        error
            .cause
            .starts_with("The compressed data is damaged behind byte "),
        "{error}"
    );
    // In a folder it is named, alone and beside a trace.
    let error = load(&dir).err().expect("refused");
    assert_eq!((error.kind, &error.path), (ErrorKind::Corrupt, &path));
    write(dir.join("b.json"), events(3));
    let loaded = load(&dir).expect("opens");
    let notices = loaded.report.warnings().map(|n| (n.code, n.path.clone()));
    assert_eq!(notices.collect::<Vec<_>>(), [("file_refused", Some(path))]);
}

#[test]
fn blanks_and_zeros_in_front_are_passed_over_and_alone_are_named() {
    let dir = folder("blanks");
    let blanks = " ".repeat(3 << 20);
    let path = write(dir.join("a.json"), format!("{blanks}\n{}", events(3)));
    let loaded = load(&path).expect("opens");
    assert_eq!(loaded.trace.spans().len(), 3);
    assert_eq!(said(&loaded), Vec::<String>::new());
    let line = r#"{"id":1,"name":"read","cat":"POSIX","pid":7,"tid":7,"ts":1795965000000000,"dur":5,"ph":1,"args":{}}"#;
    let path = write(
        dir.join("a.pfw"),
        format!("{}\n{line}\n", "\n".repeat(100_000)),
    );
    assert_eq!(load(&path).expect("opens").trace.spans().len(), 1);
    for (name, bytes, cause) in [
        (
            "blank",
            blanks.into_bytes(),
            "The file holds nothing but blanks.",
        ),
        (
            "zero",
            vec![0; 200_000],
            "The file holds nothing but zero bytes",
        ),
    ] {
        let error = load(&write(dir.join(name), bytes)).err().expect("refused");
        assert_eq!(error.kind, ErrorKind::Empty);
        assert!(error.cause.starts_with(cause), "{error}");
    }
}

#[test]
fn archives_are_checked_to_their_end_and_say_what_is_wrong_in_words() {
    let dir = folder("archives");
    let text = events(2_000);
    let whole = tar(&[("a.json", text.as_bytes())]);
    let mut packed = gzip(&whole);
    let last = packed.len() - 8;
    packed[last] ^= 1;
    let loaded = load(&write(dir.join("checksum.tar.gz"), &packed)).expect("opens");
    assert_eq!(loaded.trace.spans().len(), 2_000);
    let expected = "damaged: The archive does not match its gzip checksum: some of what is in it may be wrong.";
    assert_eq!(said(&loaded), [expected]);

    // A second header with bytes that are no number: they are not shown.
    let two = tar(&[("a.json", text.as_bytes()), ("b.json", b"[]")]);
    let header = whole.len() - 1024;
    let mut bytes = two;
    bytes[header + 148..header + 156].copy_from_slice(b"\x1b[2J\xff\xff\xff\xff");
    let loaded = load(&write(dir.join("header.tar"), &bytes)).expect("opens");
    let expected = "damaged: The archive is damaged (the header of a member is broken): what lies before that is read.";
    assert_eq!(said(&loaded), [expected]);

    // A size beyond the end of the file.
    let cut = write(dir.join("cut.tar"), &whole[..60_000]);
    let loaded = load(&cut).expect("opens");
    assert_eq!(loaded.report.files[0].bytes, 60_000 - 512);
    let cut = write(dir.join("cut.tar.gz"), gzip(&whole[..60_000]));
    let loaded = load(&cut).expect("opens");
    assert_eq!(loaded.report.files[0].bytes, 60_000 - 512);

    let error = load(&write(
        dir.join("cut.zip"),
        b"PK\x03\x04 and nothing that follows",
    ))
    .err();
    let cause = "The zip archive cannot be read: its directory, which stands at its end, is missing or broken.";
    assert_eq!(error.expect("refused").cause, cause);
}

#[test]
fn zip_members_that_cannot_be_unpacked_are_named_with_the_reason() {
    let dir = folder("zip");
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    let options = options.compression_method(zip::CompressionMethod::Stored);
    writer.start_file("run/t.json", options).expect("memory");
    writer.write_all(events(5).as_bytes()).expect("memory");
    let whole = writer.finish().expect("memory").into_inner();
    // Flags and method stand at bytes 6 and 8 of the member's header, and at 8 and 10 of the directory's.
    let directory = memchr::memmem::rfind(&whole, b"PK\x01\x02").expect("there");
    for (name, place, value, why) in [
        ("encrypted", (6, 8), 1, "it is encrypted"),
        (
            "zstd",
            (8, 10),
            93,
            "its compression (zstd) is not supported",
        ),
        (
            "odd",
            (8, 10),
            77,
            "its compression (an unknown one) is not supported",
        ),
    ] {
        let mut bytes = whole.clone();
        bytes[place.0] = value;
        bytes[directory + place.1] = value;
        let error = load(&write(dir.join(format!("{name}.zip")), &bytes))
            .err()
            .expect("refused");
        let cause = format!("No trace in this archive can be read: run/t.json: {why}.");
        assert_eq!((error.kind, error.cause), (ErrorKind::NothingInside, cause));
    }
}

/// Names and times of all spans, and everything that was said, whatever the number of threads.
fn read_of(path: &Path) -> (Vec<(String, i64)>, Vec<String>) {
    let read = |threads| {
        let loaded = common::open_with(path, threads).expect("opens");
        let spans = loaded.trace.spans();
        let found = spans
            .ids()
            .map(|i| (loaded.trace.span_name(i).to_owned(), spans.start(i)));
        (found.collect(), said(&loaded))
    };
    let one = read(1);
    for threads in [2, 5] {
        assert_eq!(read(threads), one);
    }
    one
}

#[test]
fn a_damaged_member_of_gzip_data_costs_no_event_of_another_one() {
    let dir = folder("members");
    let lines: Vec<String> = (0..60_000_u64)
        .map(|i| {
            let (odd, ts) = (i * 2_654_435_761 % 1_000_003, 1_795_965_822_000_000 + i);
            format!(
                "{{\"id\":{i},\"name\":\"n{odd:x}\",\"cat\":\"c\",\"pid\":1,\"tid\":1,\"ts\":{ts},\"dur\":1,\"ph\":1,\
                 \"args\":{{\"i\":{i}}}}}\n"
            )
        })
        .collect();
    let lines = lines.concat();
    // No list of a recorder that writes lines.
    let list = lines
        .replace("\"ph\":1", "\"ph\":\"X\"")
        .replace("}}\n", "}},\n");
    let list = format!("[{}{{}}]", list.replace("{\"id\"", "{\"number\""));
    for (name, text) in [("a.json.gz", list), ("a.pfw.gz", lines)] {
        // Members end where buffers were full, in the middle of events.
        let parts: Vec<&[u8]> = text.as_bytes().chunks(300_000).collect();
        let whole: Vec<Vec<u8>> = parts.iter().map(|p| gzip(p)).collect();
        let all = read_of(&write(dir.join(name), whole.concat()));
        assert_eq!((all.0.len(), all.1.as_slice()), (60_000, &[][..]), "{name}");

        let mut damaged = whole.clone();
        for hit in [2, 4] {
            // Its end was lost, and is not missed before data that is no text comes out.
            let keep = damaged[hit].len() / 2;
            damaged[hit].truncate(keep);
        }
        let path = write(dir.join(name), damaged.concat());
        let (spans, texts) = read_of(&path);
        let bytes: usize = damaged[2].len() + damaged[4].len();
        let expected = format!(
            "damaged: Parts of the compressed data are damaged ({} bytes of the file in all): what can be read of them \
             and all that follows is shown, the rest of them is lost. Places are those of the text. (2×) [first: byte ",
            stallscope::time::format_count(bytes as u64)
        );
        assert!(
            texts.iter().any(|t| t.starts_with(&expected)),
            "{name} {texts:?}"
        );
        // All of the others, and at least a quarter of the damaged ones.
        let lost = 60_000 - spans.len();
        let per_member = 60_000 * 300_000 / text.len();
        assert!(lost < 2 * per_member * 3 / 4, "{name}: {lost} lost");
        assert_eq!(spans.last().map(|s| &s.0), all.0.last().map(|s| &s.0));

        // Args behind the damage are those of their spans, in archives too.
        let bytes = damaged.concat();
        let packed = tar(&[(name, &bytes)]);
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(name, options).expect("memory");
        zip.write_all(&bytes).expect("memory");
        let zip = zip.finish().expect("memory").into_inner();
        for path in [
            path,
            write(dir.join("a.tar.gz"), gzip(&packed)),
            write(dir.join("a.tar"), packed),
            write(dir.join("a.zip"), zip),
        ] {
            let loaded = load(&path).expect("opens");
            assert_eq!(loaded.trace.spans().len(), spans.len(), "{name}");
            let trace = &loaded.trace;
            let mut reader = stallscope::import::ArgsReader::new();
            for span in trace.spans().ids().skip(7).step_by(spans.len() / 9) {
                let args = reader.read(trace, span).expect("readable").expect("args");
                let number = args["i"].as_u64().expect("a number");
                let odd = number * 2_654_435_761 % 1_000_003;
                assert_eq!(trace.span_name(span), format!("n{odd:x}"));
            }
        }
    }
}

const X: &str = r#"{"ph":"X","cat":"cpu_op","name":"a\\ [\"b\"}]","pid":1,"tid":"m","ts":9.5,"dur":1,"args":{"d":[[1],{}],"e":{}}}"#;

#[test]
fn a_piece_from_anywhere_in_a_trace_opens_and_says_what_is_missing() {
    let dir = folder("pieces");
    let text = format!(
        r#"{{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"GPU {{0}}"}}],"INFO":[],"traceEvents":[{X},{X},{X}],"displayTimeUnit":"ms"}}"#
    );
    let events: Vec<usize> = text.match_indices(X).map(|(at, _)| at).collect();
    let list = events[0] - 1;
    for from in (1..=events[2]).filter(|&from| from != list) {
        let loaded = load(&write(dir.join("piece.json"), &text[from..]));
        let loaded = loaded.unwrap_or_else(|e| panic!("from {from}: {e}"));
        let left: Vec<&usize> = events.iter().filter(|&&e| e >= from).collect();
        assert_eq!(loaded.trace.spans().len(), left.len(), "from {from}");
        let expected = match left[0] - from {
            0 => "damaged: The file begins in the middle of a trace: what came before its first event is missing.".to_owned(),
            skipped => format!(
                "damaged: The file begins in the middle of a trace: what came before it is missing, and its first \
                 {skipped} bytes, up to the first whole event, were skipped."
            ),
        };
        let told = said(&loaded);
        assert_eq!(told[0], expected, "from {from}");
        assert!(
            told[1..].iter().all(|t| t.starts_with("not recorded")),
            "from {from}: {told:?}"
        );
    }
}

#[test]
fn pieces_of_a_real_trace_hold_all_their_whole_events() {
    let name =
        "traces/torch/AMD-AGI-TraceLens__h100_google_owlv2-large-patch14-ensemble__1016001.json.gz";
    let Some(path) = common::shared(name) else {
        return;
    };
    let mut text = Vec::new();
    let file = std::fs::File::open(path).expect("there");
    std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(file), &mut text)
        .expect("whole");
    let begin = b"    {\n      \"ph\"";
    let starts: Vec<usize> = memchr::memmem::find_iter(&text, begin)
        .map(|at| at + 4)
        .collect();
    let dir = folder("real_pieces");
    let mut from = 1;
    for i in 0..100 {
        from = (from * 48_271 + 11 * i) % (text.len() - 60_000);
        let to = from + 60_000;
        let loaded = load(&write(dir.join("piece.json"), &text[from..to]));
        let loaded = loaded.unwrap_or_else(|e| panic!("from {from}: {e}"));
        let inside: Vec<usize> = starts
            .iter()
            .copied()
            .filter(|s| (from..to).contains(s))
            .collect();
        let notices = &loaded.report.notices;
        let head = notices.iter().find(|n| n.code == "no_head").expect("told");
        let first = stallscope::import::Place::Byte((inside[0] - from) as u64);
        assert_eq!(head.places, [first], "from {from}");
        // The last one is cut off.
        assert_eq!(
            loaded.report.files[0].events,
            inside.len() as u64 - 1,
            "from {from}"
        );
    }
}

#[test]
fn a_trace_that_ends_before_its_first_event_is_told_from_other_json() {
    let dir = folder("ends");
    let text = format!(r#"{{"schemaVersion":1,"traceEvents":[{X}"#);
    let list = text.find('[').expect("there");
    for (from, to) in [
        (0, 2),
        (0, 12),
        (0, 25),
        (0, list + 1),
        (0, list + 2),
        (0, text.len() - 1),
        (list, list + 1),
        (list, list + 40),
    ] {
        let cut = &text[from..to];
        let error = load(&write(dir.join("cut.json"), cut))
            .err()
            .expect("refused");
        let place = match (from, to) {
            (0, 2 | 12) => "before any event list (traceEvents)",
            (0, 25) => "behind the key schemaVersion and before any event list (traceEvents)",
            _ => "before its first whole event",
        };
        let cause = format!("The file ends early, {place}: nothing of it can be shown.");
        assert_eq!(
            (error.kind, error.cause),
            (ErrorKind::Corrupt, cause),
            "{cut}"
        );
        assert_eq!(
            error.place,
            Some(stallscope::import::Place::Byte(cut.len() as u64)),
            "{cut}"
        );
        assert!(error.remedy.starts_with("Copy the file again"), "{cut}");
    }
    for text in [text.replace('"', "'"), format!("[{}]", X.replace('"', "'"))] {
        let error = load(&write(dir.join("single.json"), &text))
            .err()
            .expect("refused");
        let cause =
            "This is no valid JSON: its keys stand between single quotes, as Python prints a dict.";
        assert_eq!(error.cause, cause);
    }
    let error = load(&write(dir.join("tail.json"), &X[1..]))
        .err()
        .expect("refused");
    assert!(error.cause.contains("no whole event"), "{error}");
}
