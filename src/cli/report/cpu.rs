//! CPU spans against the GPU work that they launched, and calls that waited for the GPU.

use super::super::analyse::Analysed;
use super::super::rows;
use super::super::table::shorten;
use super::{heading, say};
use crate::analysis::counted;
use crate::columns::{NAME, Output, SYNC_NAME, shown};

/// Names listed.
const LISTED: usize = 20;

/// CPU spans by name: their own time, the GPU time they launched, the GPU time that ran during them.
pub fn names(out: &mut String, a: &Analysed) {
    let mut rows = a
        .analysis
        .name_table(a.window, a.rank.map(|r| a.analysis.ranks()[r].rank));
    rows.retain(|r| r.with_gpu > 0);
    if rows.is_empty() {
        return;
    }
    heading(out, "CPU spans and the GPU work that they launched, in ms");
    let columns = shown(NAME, Output::Text, "");
    let listed = rows.iter().take(LISTED);
    let t = rows::table(&a.analysis, &columns, listed, |_, cells| {
        cells[0] = shorten(&cells[0], 48);
    });
    out.push_str(&t.render());
    if rows.len() > LISTED {
        say(
            out,
            &format!(
                "and {}; --json lists every span",
                counted((rows.len() - LISTED) as u64, "more name")
            ),
        );
    }
    say(
        out,
        "lag: end of the span to the end of the last GPU work that it launched. A CPU span is not GPU time.",
    );
}

/// Calls that wait for the GPU, by name.
pub fn syncs(out: &mut String, a: &Analysed) {
    let rows = a.analysis.sync_names(a.window);
    if rows.is_empty() {
        return;
    }
    heading(out, "Calls that wait for the GPU, in ms");
    let columns = shown(SYNC_NAME, Output::Text, "");
    let listed = rows.iter().take(LISTED);
    let t = rows::table(&a.analysis, &columns, listed, |_, cells| {
        cells[0] = shorten(&cells[0], 40);
    });
    out.push_str(&t.render());
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
