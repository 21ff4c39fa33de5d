//! The layer table: where the time went, by kind of work.

use std::sync::atomic::AtomicBool;

use super::super::analyse::Analysed;
use super::super::rows;
use super::{heading, say};
use crate::analysis::Scope;
use crate::columns::{LAYER, Output, shown};

/// Wall time, sum over processes, busiest process, spans and their lengths, by layer.
pub fn layers(out: &mut String, a: &Analysed) {
    let scope = a.rank.map_or(Scope::All, Scope::Rank);
    let mut selection = a.analysis.selection(a.window, scope);
    let never = AtomicBool::new(false);
    if let Some(percentiles) = a.analysis.percentiles(a.window, scope, &never) {
        selection.add(&percentiles);
    }
    let mut rows: Vec<_> = selection.rows.iter().filter(|r| r.touching > 0).collect();
    if rows.is_empty() {
        return;
    }
    rows.sort_by_key(|r| (std::cmp::Reverse(r.wall), r.layer));
    heading(out, "Layers");
    let has_gpu = !a.analysis.gpus().is_empty();
    let columns = shown(LAYER, Output::Text, "layer wall share sum busiest exposed");
    let count = columns.iter().position(|c| c.key == "count");
    let t = rows::table(&a.analysis, &columns, rows, |row, cells| {
        if let Some(i) = count.filter(|_| row.reaches_past) {
            cells[i].push('*');
        }
    });
    out.push_str(&t.render());
    say(
        out,
        "wall: any process is in it. sum: how much work was done. busiest: the process that is in it longest.",
    );
    if has_gpu && a.ranks().len() > 1 {
        say(
            out,
            "while GPU idle: time of it while the GPU of its own rank was idle, summed over ranks: it can exceed the wall time.",
        );
        say(out, "Layers nest and overlap: do not add them up.");
    } else if has_gpu {
        say(
            out,
            "while GPU idle: of the wall time, while the GPU was idle. Layers nest and overlap: do not add them up.",
        );
    } else {
        say(out, "Layers nest and overlap: do not add them up.");
    }
    if selection.rows.iter().any(|r| r.reaches_past) {
        say(
            out,
            "* one of them ends after the window; mean, p95 and max are of whole spans.",
        );
    }
}
