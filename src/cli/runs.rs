//! Several runs that were opened together: which there are, and how to look at one.

use std::collections::BTreeSet;
use std::path::Path;

use super::table::{self, Table, printable, sentence};
use crate::analysis::{Identity, Recording, Run, counted};
use crate::model::Trace;
use crate::time::{format_count, format_ns};

/// Runs that are listed; of more the rest is counted.
const SHOWN: usize = 50;
/// Sources of a run that are named.
const NAMED: usize = 3;

/// Lists the runs, if there are several, and says how to open one of them.
pub fn list(out: &mut String, trace: &Trace, who: &Identity) {
    if who.runs.len() < 2 {
        return;
    }
    out.push_str(&sentence(&format!(
        "{} runs that share no process were opened together. Each has its own figures: open one of them.",
        who.runs.len()
    )));
    let mut t = Table::new(&["run", "<ranks", "<begins", "length", "<sources"]);
    for (i, run) in who.runs.iter().enumerate().take(SHOWN) {
        let placed = run.recordings.iter().all(|&r| who.recordings[r].placed);
        let begins = run
            .extent
            .filter(|_| placed && trace.unix_origin().is_some());
        t.row(vec![
            (i + 1).to_string(),
            ranks(run),
            begins.map_or_else(String::new, |e| table::utc(e.start)),
            run.extent.map_or_else(String::new, |e| format_ns(e.len())),
            sources(who, run),
        ]);
    }
    out.push_str(&format!("\nRuns\n{}", t.render()));
    if who.runs.len() > SHOWN {
        let more = format_count((who.runs.len() - SHOWN) as u64);
        out.push_str(&format!("  and {more} more runs; --json lists all\n"));
    }
    out.push('\n');
    let open = |run: &Run| paths(trace, who, run).join(" ");
    out.push_str(&sentence(&format!(
        "To look at the first one: stallscope report {}",
        open(&who.runs[0])
    )));
    out.push_str(&sentence("To compare two of them: stallscope compare A B"));
}

fn ranks(run: &Run) -> String {
    match run.ranks[..] {
        [] => "none".to_owned(),
        [one] => one.to_string(),
        [first, .., last] => format!("{first} to {last}"),
    }
}

fn sources(who: &Identity, run: &Run) -> String {
    let names: Vec<String> = run
        .recordings
        .iter()
        .take(NAMED)
        .map(|&r| printable(&who.recordings[r].name()))
        .collect();
    match run.recordings.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!(
            "{} and {}",
            names.join(", "),
            counted(more as u64, "more source")
        ),
    }
}

/// What to name on the command line to open a run: its folders where nothing else lies in them, else its files.
fn paths(trace: &Trace, who: &Identity, run: &Run) -> Vec<String> {
    let file = |r: &Recording| trace.source(r.files[0]).path.clone();
    let of = |r: &Recording| match r.files.len() {
        1 => file(r),
        _ => r.path.clone(),
    };
    let all: BTreeSet<_> = run
        .recordings
        .iter()
        .map(|&r| of(&who.recordings[r]))
        .collect();
    let quoted = |p: &Path| {
        let text = printable(&p.display().to_string());
        if text.contains([' ', '\'', '"']) {
            format!("{text:?}")
        } else {
            text
        }
    };
    let shown = all.iter().take(NAMED).map(|p| quoted(p));
    let more = (all.len() > NAMED).then(|| "…".to_owned());
    shown.chain(more).collect()
}
