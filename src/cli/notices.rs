//! Notices of an import as text and JSON.

use serde_json::{Value, json};

use super::analyse::Analysed;
use super::table::printable;
use crate::import::Notice;
use crate::model::Trace;

/// The name of the file that a notice is about.
pub fn file(trace: &Trace, notice: &Notice) -> Option<String> {
    let of_source = notice.source.map(|s| &trace.source(s).path);
    let path = notice.path.as_ref().or(of_source)?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    Some(printable(&name.to_string_lossy()))
}

/// A line of text; names the file where there are several.
pub fn to_text(trace: &Trace, notice: &Notice, many: bool) -> String {
    let mut text = printable(&notice.to_string());
    if let Some(file) = file(trace, notice).filter(|_f| many) {
        text.push_str(&format!("  in {file}"));
    }
    text
}

/// All of a notice.
pub fn to_json(trace: &Trace, notice: &Notice) -> Value {
    json!({
        "kind": notice.kind.label(),
        "code": notice.code,
        "text": notice.text,
        "count": notice.count,
        "places": notice.places.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "file": file(trace, notice),
    })
}

/// What the analysis has to say about the record itself, in the same form.
pub fn of_analysis(a: &Analysed) -> Vec<Value> {
    let mut out = Vec::new();
    let mut add = |code: &str, kind: &str, count: u64, text: &str| {
        if count > 0 {
            out.push(json!({"kind": kind, "code": code, "text": text, "count": count, "places": [], "file": null}));
        }
    };
    let launch = a.analysis.launch_figures(a.window);
    add(
        "UNLINKED",
        "not recorded",
        launch.ops_without_launch,
        "GPU operations have no launch call.",
    );
    add(
        "CLOCK",
        "info",
        launch.op_before_launch,
        "GPU operations start before their launch.",
    );
    let partial: usize = a
        .ranks()
        .iter()
        .map(|&r| a.analysis.step_rows(r, a.window).1)
        .sum();
    add(
        "PARTIAL",
        "info",
        partial as u64,
        "Steps are only partly in the window.",
    );
    out
}
