//! Notices of an import as text and JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::table::printable;
use crate::import::{Loss, Notice, NoticeKind};
use crate::model::Trace;
use crate::time::format_count;

/// Notices of one reason that are shown each; of more, the rest is counted.
const EACH: usize = 3;

/// A line of text.
pub struct Line {
    /// What it says.
    pub text: String,
    /// Something of the input did not get into the timeline.
    pub lost: bool,
}

/// Notices as lines of text: of many with the same reason the first ones and a count.
pub fn lines(trace: &Trace, notices: &[&Notice], many: bool) -> Vec<Line> {
    let mut of_reason: BTreeMap<(NoticeKind, &str), usize> = BTreeMap::new();
    for n in notices {
        *of_reason.entry((n.kind, n.code)).or_default() += 1;
    }
    let mut shown: BTreeMap<(NoticeKind, &str), usize> = BTreeMap::new();
    let mut out = Vec::new();
    for n in notices {
        let lost = n.loss != Loss::Nothing;
        let key = (n.kind, n.code);
        let (all, before) = (of_reason[&key], shown.entry(key).or_default());
        *before += 1;
        if *before <= EACH || all <= EACH + 1 {
            let text = to_text(trace, n, many);
            out.push(Line { text, lost });
        } else if *before == EACH + 1 {
            let rest = format_count((all - EACH) as u64);
            let kind = n.kind.label();
            let text = format!("{kind}: the same of {rest} more files; `info --json` lists all");
            out.push(Line { text, lost });
        }
    }
    out
}

/// The name of the file that a notice is about.
pub fn file(trace: &Trace, notice: &Notice) -> Option<String> {
    let of_source = notice.source.map(|s| &trace.source(s).path);
    let path = notice.path.as_ref().or(of_source)?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    Some(printable(&name.to_string_lossy()))
}

/// A line of text; names the file where there are several, or where nothing came of it.
fn to_text(trace: &Trace, notice: &Notice, many: bool) -> String {
    let mut text = printable(&notice.to_string());
    if let Some(path) = &notice.path {
        // Nothing else in the report says where it lies.
        let path = printable(&path.display().to_string());
        text.push_str(&format!("  in {path}"));
    } else if let Some(file) = file(trace, notice).filter(|_f| many) {
        text.push_str(&format!("  in {file}"));
    }
    text
}

/// All of a notice.
pub fn to_json(trace: &Trace, notice: &Notice) -> Value {
    let mut value = json!({
        "kind": notice.kind.label(),
        "code": notice.code,
        "text": notice.text,
        "count": notice.count,
        "places": notice.places.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "file": file(trace, notice),
    });
    // Where somebody can tell how much.
    if let Some(lost) = notice
        .loss
        .lost()
        .filter(|l| l.bytes.or(l.events).is_some())
    {
        value["lost"] = json!({
            "bytes": lost.bytes,
            "events": lost.events,
            "estimated": lost.estimated,
        });
    }
    value
}
