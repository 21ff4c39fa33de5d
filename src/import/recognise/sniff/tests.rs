//! What files are taken for.

use super::*;
use crate::import::bytes::head::{HEAD, LONG_HEAD};
use crate::import::contract::progress::Progress;

fn content(text: &[u8]) -> Content {
    Content::of(&Head::of_reader(text, &Progress::new()).expect("memory reads"))
}

const SURE: Content = Content::Events { sure: true };

#[test]
fn json_and_lines_are_told_apart() {
    let x = r#"{"name":"a","cat":"c","ph":"X","ts":1,"dur":2}"#;
    assert_eq!(content(format!("[{x},{x}]").as_bytes()), SURE);
    assert_eq!(content(format!("[\n{x},\n{x}\n]").as_bytes()), SURE);
    assert_eq!(
        content(format!("[\n{x}\n{x}\n").as_bytes()),
        Content::Records
    );
    assert_eq!(content(format!("{x}\n{x}\n").as_bytes()), Content::Records);
    assert_eq!(content(format!("{x}\n").as_bytes()), Content::Records);
    assert_eq!(
        content(b"[\n {\"id\":\"0\",\"ph\":\"X\",\"cat\":\"POSIX\"}\n"),
        Content::Records
    );
    assert_eq!(content(format!("[{x}]").as_bytes()), SURE);
    assert_eq!(
        content(format!("{{\"traceEvents\": [{x}]}}").as_bytes()),
        SURE
    );
    assert_eq!(
        content(format!("\u{feff} {{\n\"traceEvents\":[\n{x}").as_bytes()),
        SURE
    );
    assert_eq!(
        content(b"{\"fetch_wait_us\": [1, 2]}"),
        Content::Events { sure: false }
    );
    assert_eq!(content(b"[]"), SURE);
    assert_eq!(content(b"[\n{\"a\":[1,}}]}\n"), SURE);
    // One event is left of a list.
    assert_eq!(content(format!("{x}]}}").as_bytes()), SURE);
    assert_eq!(
        content(format!("me\":\"a\",\"ts\":1}},\n{x}]}}").as_bytes()),
        SURE
    );
    // The first line is cut away or broken.
    assert_eq!(
        content(format!("me\":\"a\",\"ph\":\"X\"}}\n{x}\n{x}\n").as_bytes()),
        Content::Records
    );
}

#[test]
fn lines_of_torch_events_are_no_records_of_dftracer() {
    let line = |cat: &str| {
        format!(r#"{{"ph":"X","cat":"{cat}","name":"k","pid":0,"tid":7,"ts":1,"dur":2}}"#)
    };
    for cat in ["kernel", "cuda_runtime", "user_annotation"] {
        let text = format!("{}\n{}\n", line("x"), line(cat));
        assert_eq!(content(text.as_bytes()), SURE, "{cat}");
    }
    let own = r#"{"id":1,"name":"a","cat":"kernel","ts":1,"dur":2,"ph":"X","args":{"hhash":"1"}}"#;
    assert_eq!(
        content(format!("{own}\n{own}\n").as_bytes()),
        Content::Records
    );
}

#[test]
fn profiles_of_samples_are_named() {
    let speedscope = br#"{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[],"shared":{}}"#;
    assert_eq!(content(speedscope), Content::Trap(Trap::Speedscope));
    let firefox =
        br#"{"meta":{"interval":1,"preprocessedProfileVersion":46},"libs":[],"threads":[]}"#;
    assert_eq!(content(firefox), Content::Trap(Trap::FirefoxProfile));
}

#[test]
fn commas_between_records_do_not_hide_whose_they_are() {
    let six = r#"{"id":1,"name":"a","cat":"c","ts":1,"dur":2,"ph":1}"#;
    let text = six.replace(":1}", ":\"1\"}");
    let own = r#"{"id":"1","name":"start","cat":"dftracer","ts":1,"dur":0,"ph":"X"}"#;
    let x = r#"{"name":"a","cat":"c","ph":"X","ts":1,"dur":2}"#;
    for record in [six, &text, own] {
        for list in [
            format!("[\n{record},\n{record}\n]\n"),
            format!("[{record},{record}]"),
            format!("[\n{record}\n,{record}\n]"),
            format!("{record},\n{record},\n"),
            format!(",{record}\n,{record}\n"),
            format!("[{x},{record}]"),
        ] {
            assert_eq!(content(list.as_bytes()), Content::Records, "{list}");
        }
    }
    // A phase inside args is none, and over several lines only a number decides.
    let inside = x.replace("\"ts\"", "\"args\":{\"ph\":1},\"ts\"");
    let tall = own.replace(',', ",\n");
    // Others record such calls, too.
    let other = x.replace("\"c\"", "\"POSIX\"");
    let begin = own.replace("\"X\"", "\"B\"");
    for list in [
        format!("[\n{other},\n{other}\n]"),
        format!("[\n{begin},\n{begin}\n]"),
        format!("[{inside},\n{inside}]"),
        format!("[{tall},{tall}]"),
        format!("[{x},{}", "{\"ph\""),
    ] {
        assert_eq!(content(list.as_bytes()), SURE, "{list}");
    }
    let tall = six.replace(',', ",\n");
    assert_eq!(
        content(format!("[{tall},{tall}]").as_bytes()),
        Content::Records
    );
}

#[test]
fn traps_are_named() {
    let trap = |text: &[u8]| match content(text) {
        Content::Trap(t) => t,
        other => panic!("{other:?}"),
    };
    assert_eq!(trap(b""), Trap::Empty);
    assert_eq!(trap(b"\n \n"), Trap::Blank);
    assert_eq!(
        trap(b"NVIDIA Tegra Profiler Report 2025@5@1@121-255136380782v0.\n"),
        Trap::NsightReport(Some("2025.5.1".to_owned()))
    );
    assert_eq!(
        trap(b"NVIDIA Tegra Profiler Report 1.\n"),
        Trap::NsightReport(None)
    );
    assert_eq!(
        trap(b"NVIDIA Tegra Profiler Report "),
        Trap::NsightReport(None)
    );
    assert_eq!(
        trap(b"version https://git-lfs.github.com/spec/v1\n"),
        Trap::LfsPointer
    );
    assert_eq!(trap(b"[[-1, 1, 5, 7]]"), Trap::MemoryTimeline);
    assert_eq!(trap(b"[1, 2]"), Trap::OtherJson);
    assert_eq!(
        trap(b"{\"Type\":79}\n{\"Type\":80}\n"),
        Trap::NsightJsonLines
    );
    assert_eq!(trap(b"{\"a\":79}\n{\"a\":80}\n"), Trap::JsonLines);
    assert_eq!(trap(b"V1 log] {}\n\t\"ph\": \"B\"\n"), Trap::TextLog);
    assert_eq!(trap(b"hello\nyou"), Trap::OtherText("hello".to_owned()));
    assert_eq!(
        trap(b"\x0a\xe1\x5a\x12\x0e/host:metadata\"\x92\x03\x08\x02\x12"),
        Trap::XPlane
    );
    assert_eq!(trap(&[7, 1, 2, 3, 250, 0, 0, 9]), Trap::Unknown);
    let text = "The file ends early, inside its compressed data: no byte can be read.";
    assert_eq!(trap(&[0x1f, 0x8b, 8, 0, 0]), Trap::Damaged(text.to_owned()));
    assert_eq!(trap(&[0; 20]), Trap::Zeros);
    assert_eq!(
        trap(b"\x1b[2Jx"),
        Trap::OtherText("\u{fffd}[2Jx".to_owned())
    );
    assert!(matches!(trap(b"PAR1...."), Trap::NsightExport("Parquet")));
}

#[test]
fn text_in_wide_units_is_named() {
    let text = r#"{"schemaVersion": 1}"#;
    let utf16: Vec<u16> = text.encode_utf16().collect();
    let le16: Vec<u8> = utf16.iter().flat_map(|u| u.to_le_bytes()).collect();
    let be16: Vec<u8> = utf16.iter().flat_map(|u| u.to_be_bytes()).collect();
    let le32: Vec<u8> = text
        .chars()
        .flat_map(|c| u32::from(c).to_le_bytes())
        .collect();
    let be32: Vec<u8> = text
        .chars()
        .flat_map(|c| u32::from(c).to_be_bytes())
        .collect();
    for (bytes, mark, name) in [
        (&le16, &b"\xff\xfe"[..], "UTF-16"),
        (&be16, b"\xfe\xff", "UTF-16"),
        (&le32, b"\xff\xfe\0\0", "UTF-32"),
        (&be32, b"\0\0\xfe\xff", "UTF-32"),
    ] {
        let expected = Content::Trap(Trap::Wide(name));
        assert_eq!(content(bytes), expected, "{name}");
        assert_eq!(content(&[mark, bytes].concat()), expected, "{name}, marked");
    }
}

#[test]
fn many_blanks_and_long_records_are_read_past() {
    let x = r#"{"name":"a","cat":"c","ph":"X","ts":1,"dur":2}"#;
    let blanks = " \n\0".repeat(HEAD);
    assert_eq!(content(format!("{blanks}[{x},{x}]").as_bytes()), SURE);
    assert_eq!(
        content(format!("{blanks}{x}\n{x}\n").as_bytes()),
        Content::Records
    );
    assert_eq!(content(blanks.as_bytes()), Content::Trap(Trap::Zeros));
    let blanks = " ".repeat(3 * HEAD + 5);
    assert_eq!(content(blanks.as_bytes()), Content::Trap(Trap::Blank));
    let args = "x".repeat(2 * HEAD);
    let long = format!(r#"{{"id":1,"name":"a","ph":"X","ts":1,"dur":2,"args":{{"a":"{args}"}}}}"#);
    assert_eq!(
        content(format!("{long}\n{x}\n").as_bytes()),
        Content::Records
    );
    assert_eq!(
        content(format!("[\n{long}\n{x}\n").as_bytes()),
        Content::Records
    );
    assert_eq!(content(format!("[{long},\n{x}]").as_bytes()), SURE);
    // Where it never ends, its own signs decide.
    let args = "x".repeat(LONG_HEAD);
    let endless = format!(r#"{{"name":"HH","cat":"dftracer","ph":4,"args":{{"a":"{args}"}}}}"#);
    assert_eq!(content(endless.as_bytes()), Content::Records);
    assert_eq!(content(format!("[{endless}").as_bytes()), Content::Records);
}

#[test]
fn any_bytes_are_survived() {
    for len in 0..600 {
        let bytes: Vec<u8> = (0..len).map(|i: u32| (i * 31 % 251) as u8).collect();
        let _ = content(&bytes);
        let _ = content(&[b"[{\"", bytes.as_slice()].concat());
    }
}

#[test]
fn logs_with_events_inside_are_no_slices_of_a_trace() {
    let x = r#"{"ph":"X","name":"a","ts":1,"dur":1}"#;
    for log in [
        format!("2024-01-01 12:00:00 INFO wrote {x}\nbla\n"),
        format!("2024-01-01 12:00:00 INFO wrote [{x}, {x}]\nbla\n"),
        format!("1733487013.5 [{x}, {x}]\n1733487014.1 done\n"),
        format!("\" Maps of the alphabet\nlet a = [{x}, \"ph\"]\n"),
    ] {
        assert_eq!(
            content(log.as_bytes()),
            Content::Trap(Trap::TextLog),
            "{log}"
        );
    }
    // Times at which events are cut.
    for slice in [format!("5,\"dur\":1}},{x}"), format!("\",\"dur\":1}},{x}")] {
        assert_eq!(content(slice.as_bytes()), SURE, "{slice}");
    }
}
