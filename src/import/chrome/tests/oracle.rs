//! The scanner against serde_json on well-formed texts, however they are laid out and wherever they are cut.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::*;
use crate::import::text::decimal;

/// An event as serde_json reads it, numbers as their text.
#[derive(Deserialize)]
struct Event<'t> {
    ph: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    cat: String,
    #[serde(borrow)]
    pid: &'t RawValue,
    #[serde(borrow)]
    tid: &'t RawValue,
    #[serde(borrow)]
    ts: Option<&'t RawValue>,
    #[serde(borrow)]
    dur: Option<&'t RawValue>,
}

#[derive(Deserialize)]
struct Document<'t> {
    #[serde(borrow, rename = "traceEvents")]
    events: Vec<Event<'t>>,
}

fn plain(raw: &RawValue) -> String {
    let text = raw.get().trim_matches('"');
    decimal::integer(text.as_bytes()).map_or_else(|| text.to_owned(), |i| i.to_string())
}

/// The X spans of a text by serde_json, as [`spans`] gives them.
fn by_serde(text: &str) -> Vec<(String, i64, i64, String, String)> {
    let document: Document<'_> = serde_json::from_str(text).expect("well formed");
    let time = |raw: &RawValue| {
        let time = decimal::us_to_ns(raw.get().trim_matches('"').as_bytes());
        time.map(|time| time.ns)
    };
    let mut all: Vec<_> = document
        .events
        .iter()
        .filter(|e| e.ph == "X")
        .map(|e| {
            (
                format!("C{}.{}", plain(e.pid), plain(e.tid)),
                time(e.ts.expect("given")).expect("a time"),
                time(e.dur.expect("given")).expect("a time"),
                e.name.clone(),
                e.cat.clone(),
            )
        })
        .collect();
    all.sort();
    all
}

/// A value of `args`.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i32>().prop_map(|i| i.to_string()),
        any::<f32>()
            .prop_filter("JSON has no infinities", |f| f.is_finite())
            .prop_map(|f| format!("{f:e}")),
        text().prop_map(|t| serde_json::to_string(&t).expect("a text")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4)
                .prop_map(|v| format!("[{}]", v.join(", "))),
            proptest::collection::vec((text(), inner), 0..4).prop_map(|v| {
                let pairs: Vec<String> = v
                    .iter()
                    .map(|(k, v)| format!("{}:{v}", serde_json::to_string(k).expect("a text")))
                    .collect();
                format!("{{{}}}", pairs.join(","))
            }),
        ]
    })
}

/// Texts with what is hard: quotes, braces, backslashes, other scripts.
fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![
            Just("\""),
            Just("\\"),
            Just("{"),
            Just("}"),
            Just("[{\"ph\":\"X\"},"),
            Just("é"),
            Just("\n"),
            Just("aten::add"),
            Just(" "),
            Just("😀"),
            Just(","),
        ],
        0..6,
    )
    .prop_map(|parts| parts.concat())
}

fn event() -> impl Strategy<Value = Vec<(String, String)>> {
    let quoted = |t: String| serde_json::to_string(&t).expect("a text");
    let phase = prop_oneof![5 => Just("X"), 1 => Just("i"), 1 => Just("M"), 1 => Just("s")];
    let ts = prop_oneof![
        (1_u64..5_000_000).prop_map(|n| n.to_string()),
        (1_u64..5_000_000, 0_u32..1000).prop_map(|(n, f)| format!("{n}.{f:03}")),
        (1_u64..5_000).prop_map(|n| format!("{n}e3")),
        (1_u64..5_000, 0_u64..1_000_000).prop_map(|(n, f)| format!("\"{n}.{f}\"")),
    ];
    let dur = prop_oneof![
        (0_u64..5_000_000).prop_map(|n| n.to_string()),
        (0_u64..5_000, 0_u32..1000).prop_map(|(n, f)| format!("{n}.{f:03}")),
    ];
    let thread = prop_oneof![
        (0_u32..4).prop_map(|n| n.to_string()),
        (0_u32..4).prop_map(|n| format!("\"{n}\"")),
        Just("\"python\"".to_owned()),
        Just("-7".to_owned()),
    ];
    let cat = prop_oneof![
        Just("cpu_op"),
        Just("user_annotation"),
        Just("a,b"),
        Just("")
    ];
    (
        phase,
        text(),
        cat,
        (thread.clone(), thread),
        ts,
        dur,
        json(),
        any::<u64>(),
    )
        .prop_map(move |(ph, name, cat, (pid, tid), ts, dur, args, order)| {
            let mut keys = vec![
                ("ph".to_owned(), quoted(ph.to_owned())),
                ("name".to_owned(), quoted(name)),
                ("cat".to_owned(), quoted(cat.to_owned())),
                ("pid".to_owned(), pid),
                ("tid".to_owned(), tid),
                ("ts".to_owned(), ts),
                ("dur".to_owned(), dur),
                ("args".to_owned(), args.clone()),
                ("unknown \"key\"".to_owned(), args),
            ];
            // Any order, most often the usual one.
            if order % 3 == 0 {
                let n = keys.len();
                let mut seed = order;
                for i in (1..n).rev() {
                    keys.swap(i, usize::try_from(seed).unwrap_or(0) % (i + 1));
                    seed = seed.rotate_left(7) ^ 0x9e37;
                }
            }
            keys
        })
}

/// Lays events out in one of several ways.
fn lay_out(events: &[Vec<(String, String)>], style: u8) -> String {
    let (line, colon, comma) = match style % 4 {
        0 => ("", ":", ","),
        1 => ("\n    ", ": ", ","),
        2 => ("\r\n\t", " : ", " ,"),
        _ => (" ", ": ", ","),
    };
    let mut text = format!("{{{line}\"schemaVersion\"{colon}1{comma}\"traceEvents\"{colon}[");
    for (i, event) in events.iter().enumerate() {
        text.push_str(if i > 0 { comma } else { "" });
        let _ = write!(text, "{line}{{");
        for (j, (key, value)) in event.iter().enumerate() {
            text.push_str(if j > 0 { comma } else { "" });
            let key = serde_json::to_string(key).expect("a text");
            let _ = write!(text, "{line}{key}{colon}{value}");
        }
        let _ = write!(text, "{line}}}");
    }
    let _ = write!(
        text,
        "{line}]{comma}{line}\"traceName\"{colon}\"x\"{line}}}{line}"
    );
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn well_formed_texts_read_as_serde_json_reads_them(
        events in proptest::collection::vec(event(), 0..20),
        style in 0_u8..4,
        cuts in proptest::collection::vec(0_usize..10_000, 0..5),
    ) {
        let text = lay_out(&events, style);
        let mut cuts: Vec<usize> = cuts.iter().map(|c| c % (text.len() + 1)).collect();
        cuts.sort_unstable();
        let (t, report) = read_cut(text.as_bytes(), &cuts).expect("well formed");
        prop_assert_eq!(warnings(&report), Vec::<&str>::new());
        prop_assert_eq!(report.files[0].events, events.len() as u64);
        prop_assert_eq!(spans(&t), by_serde(&text));
        // Args are where they are said to be.
        for id in t.spans().ids() {
            // An event whose args are null has none.
            let Some((offset, len)) = t.spans().args(id).as_text() else {
                continue;
            };
            let start = usize::try_from(offset).expect("small");
            let args = &text[start..start + len.expect("short")];
            prop_assert!(serde_json::from_str::<serde_json::Value>(args).is_ok(), "{}", args);
        }
    }
}
