//! CPU spans against the GPU work that they launched, and calls that waited for the GPU.

use super::super::analyse::Analysed;
use super::super::rows;
use super::super::table::{printable, shorten};
use super::{heading, say};
use crate::analysis::{SyncCallers, counted};
use crate::columns::{LAG, Output, SYNC_CALLER, SYNC_NAME, shown};

/// Rows listed.
const LISTED: usize = 24;
/// Rows listed in one row, and how many rows may lie around a listed one.
const INSIDE: usize = 4;
const DEEPEST: u16 = 2;
/// Characters of a name.
const NAME: usize = 60;

/// The rows to list of a tree whose rows are given as depths, each followed by those that lie in it.
fn listed(depths: &[u16]) -> Vec<usize> {
    let mut out = Vec::new();
    // By depth: rows listed in the last row of the depth before.
    let mut counts = [0; DEEPEST as usize + 1];
    let mut hidden_below = None;
    for (i, &depth) in depths.iter().enumerate() {
        if hidden_below.is_some_and(|d| depth > d) || depth > DEEPEST {
            continue;
        }
        let at = usize::from(depth);
        counts[at] += 1;
        counts[at + 1..].fill(0);
        let fits = depth == 0 || counts[at] <= INSIDE;
        hidden_below = (!fits).then_some(depth);
        if fits && out.len() < LISTED {
            out.push(i);
        }
    }
    out
}

fn indented(depth: u16, name: &str, room: usize) -> String {
    let blanks = "  ".repeat(usize::from(depth));
    let room = room.saturating_sub(blanks.len());
    format!("{blanks}{}", shorten(name, room))
}

/// Characters of callers that share a row.
const CALLERS: usize = 84;

fn more(out: &mut String, rows: usize) {
    if rows > 0 {
        let more = counted(rows as u64, "more row");
        say(out, &format!("and {more}; --json lists all"));
    }
}

/// CPU spans by name and caller: their own time, the GPU time they launched, the GPU time that ran during them.
pub fn lag(out: &mut String, a: &Analysed) {
    let mut rows = a.analysis.lag_rows(a.window, a.number());
    rows.retain(|r| r.with_gpu > 0);
    if rows.is_empty() {
        return;
    }
    heading(out, "CPU spans and the GPU work that they launched, in ms");
    let columns = shown(LAG, Output::Text, "");
    let depths: Vec<u16> = rows.iter().map(|r| r.depth).collect();
    let places = listed(&depths);
    let some = places.iter().map(|&i| &rows[i]);
    let t = rows::table(&a.analysis, &columns, some, |row, cells| {
        cells[0] = indented(row.depth, &cells[0], NAME);
    });
    out.push_str(&t.render());
    more(out, rows.len() - places.len());
    say(
        out,
        "lag: end of the span to the end of the last GPU work that it launched. A CPU span is not GPU time.",
    );
}

/// Who made the calls that wait for the GPU.
fn callers(out: &mut String, a: &Analysed, found: &SyncCallers) {
    // Calls that nothing lies around say no more than their names do.
    let calls = found.calls.iter();
    let mut callers =
        calls.map(|(row, c)| found.rows[*row].caller() != a.analysis.trace().span_name(c.span));
    if !callers.any(|known| known) {
        return;
    }
    out.push('\n');
    let columns = shown(SYNC_CALLER, Output::Text, "");
    let depths: Vec<u16> = found.rows.iter().map(|r| r.depth).collect();
    let places = listed(&depths);
    let some = places.iter().map(|&i| &found.rows[i]);
    let t = rows::table(&a.analysis, &columns, some, |row, cells| {
        let room = CALLERS.saturating_sub(2 * usize::from(row.depth));
        cells[0] = indented(row.depth, &printable(&row.short(room)), usize::MAX);
    });
    out.push_str(&t.render());
    more(out, found.rows.len() - places.len());
}

/// Calls that wait for the GPU, by name.
pub fn syncs(out: &mut String, a: &Analysed) {
    let found = a
        .analysis
        .sync_callers(a.window, a.number(), usize::MAX, &a.args());
    let calls = found.calls.iter().map(|(_, call)| call);
    let rows = a.analysis.sync_names(calls);
    if rows.is_empty() {
        return;
    }
    heading(out, "Calls that wait for the GPU, in ms");
    let columns = shown(SYNC_NAME, Output::Text, "");
    let t = rows::table(
        &a.analysis,
        &columns,
        rows.iter().take(LISTED),
        |_, cells| {
            cells[0] = shorten(&cells[0], 40);
        },
    );
    out.push_str(&t.render());
    callers(out, a, &found);
    say(
        out,
        "absorbed: GPU time of earlier work that ran inside the call. bubble: the GPU idle after it, because nothing was queued.",
    );
    let unknown: u64 = rows.iter().map(|r| r.unknown_scope).sum();
    if unknown > 0 {
        say(
            out,
            &format!(
                "Of {} the record does not say what was waited for: everything of the process counts.",
                counted(unknown, "call")
            ),
        );
    }
}
