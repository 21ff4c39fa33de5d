//! Events and names that are very long.

use super::*;
use crate::import::chrome::read::elements::MAX_EVENT;

const A: &str = r#"{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":5}"#;
const B: &str = r#"{"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":10,"dur":5}"#;

#[test]
fn a_long_event_is_looked_at_a_few_times_only() {
    let long = "x".repeat(200_000);
    for event in [
        format!(r#"{{"ph":"X","cat":"c","name":"l","ts":3,"dur":1,"args":{{"a":"{long}"}}}}"#),
        format!(r#"{{"ph":"X","cat":"c","name":"l{long}","ts":3,"dur":1}}"#),
        format!(r#"{{"ph":"X","cat":"c","{long}":1,"name":"l","ts":3,"dur":1}}"#),
        format!(
            r#"{{"ph":"X","cat":"c","name":"l","ts":3,"dur":1,"args":[[{}1]]}}"#,
            r#"{"name":5},"#.repeat(15_000)
        ),
        format!("\"{long}\""),
    ] {
        let text = format!("[{A},{event},{B}]");
        let cuts: Vec<usize> = (1_000..text.len()).step_by(1_000).collect();
        let mut looked_at = 0;
        let (t, _) = read_counted(text.as_bytes(), &cuts, &mut looked_at).expect("readable");
        let found = names(&t);
        assert!(found.contains(&"a") && found.contains(&"b"));
        assert!(looked_at < 5 * text.len(), "{looked_at} of {}", text.len());
    }
}

#[test]
fn an_event_above_the_limit_is_skipped_alone_and_said() {
    let long = "x".repeat(2 * MAX_EVENT);
    let event =
        format!(r#"{{"ph":"X","cat":"c","name":"l","ts":3,"dur":1,"args":{{"a":"{long}"}}}}"#);
    for event in [event, format!("\"{long}\"")] {
        let text = format!("[{A},{event},{B},{A}]");
        let cuts: Vec<usize> = (10_000..text.len()).step_by(10_000).collect();
        let (t, report) = read_cut(text.as_bytes(), &cuts).expect("readable");
        assert_eq!(names(&t), ["a", "a", "b"]);
        let at = A.len() + 2;
        let expected = format!(
            "skipped: 1 event exceeded 64 MiB, the limit for a single one, and was skipped (byte {at})."
        );
        assert_eq!(warnings(&report), ["large_event"]);
        let notice = report.notices.iter().find(|n| n.code == "large_event");
        assert_eq!(notice.expect("told").to_string(), expected);
    }
}

#[test]
fn names_end_where_nobody_reads_on() {
    let long = format!("{}éé", "x".repeat((64 << 10) - 1));
    let named = A.replace("\"a\"", &format!("\"{long}\""));
    let odd = A.replace("\"cpu_op\"", &format!("\"{long}\""));
    let thread = A.replace("\"tid\":1", &format!("\"tid\":\"{long}\""));
    let (t, report) = open_list(&format!("{named},{odd},{thread},{B}"));
    let short = format!("{}…", "x".repeat((64 << 10) - 1));
    assert_eq!(t.spans().len(), 4);
    assert!(names(&t).contains(&short.as_str()));
    assert!(t.lanes().iter().any(|l| l.key == format!("C1.{short}")));
    assert_eq!(count(&report, "long_name"), 3);
    assert_eq!(warnings(&report), ["long_name"]);
}

/// A lane takes a thousand bytes: a million ids would fill the memory with them.
#[test]
fn very_many_async_ids_share_a_lane() {
    let pair = |id: u32| {
        let (from, to) = (10 * id + 1, 10 * id + 16);
        format!(
            r#"{{"ph":"b","cat":"net","id":{id},"name":"get","pid":1,"tid":1,"ts":{from}}},{{"ph":"e","cat":"net","id":{id},"name":"get","pid":1,"tid":1,"ts":{to}}}"#
        )
    };
    let all: Vec<String> = (0..5_000).map(pair).collect();
    let (t, report) = open_list(&all.join(","));
    assert_eq!(t.lanes().len(), 4_097);
    assert_eq!(t.spans().len(), 5_000);
    // Ends find the begins of their own id.
    assert!(t.spans().durs().iter().all(|&d| d == 15_000));
    let last = &t.lanes()[4_096];
    assert_eq!((last.key.as_str(), last.rows), ("Anet.(more ids)", 2));
    assert_eq!(count(&report, "many_async_ids"), 904);
}
