//! The layer table: where the time went, by kind of work.

use std::sync::atomic::AtomicBool;

use super::super::analyse::Analysed;
use super::super::table::{Table, ms, percent, printable, us};
use super::{heading, say};
use crate::analysis::{Percentiles, Scope};
use crate::time::format_count;

/// Wall time, sum over processes, busiest process, spans and their lengths, by layer.
pub fn layers(out: &mut String, a: &Analysed) {
    let scope = a.rank.map_or(Scope::All, Scope::Rank);
    let selection = a.analysis.selection(a.window, scope);
    let never = AtomicBool::new(false);
    let percentiles = a
        .analysis
        .percentiles(a.window, scope, &never)
        .unwrap_or_default();
    let mut rows: Vec<_> = selection.rows.iter().filter(|r| r.touching > 0).collect();
    if rows.is_empty() {
        return;
    }
    rows.sort_by_key(|r| (std::cmp::Reverse(r.wall), r.layer));
    heading(out, "Layers");
    let has_gpu = !a.analysis.gpus().is_empty();
    let mut t = Table::new(&[
        "layer",
        "wall ms",
        "of time",
        "sum ms",
        "busiest ms",
        "exposed ms",
        "spans",
        "mean µs",
        "p95 µs",
        "max µs",
    ]);
    for r in rows {
        let of = |f: fn(&Percentiles) -> i64| {
            percentiles
                .get(&r.layer)
                .map_or_else(|| "-".to_owned(), |p| us(f(p)))
        };
        let mark = if r.reaches_past { "*" } else { "" };
        t.row(vec![
            printable(&a.analysis.layers().info(r.layer).name),
            ms(r.wall),
            percent(r.wall, a.window.len()),
            ms(r.sum),
            ms(r.busiest),
            if has_gpu {
                ms(r.exposed)
            } else {
                "-".to_owned()
            },
            format!("{}{mark}", format_count(r.count)),
            r.mean().map_or_else(|| "-".to_owned(), us),
            of(|p| p.p95),
            of(|p| p.max),
        ]);
    }
    out.push_str(&t.render());
    say(
        out,
        "wall: any process is in it. sum: how much work was done. busiest: the process that is in it longest.",
    );
    if has_gpu && a.ranks().len() > 1 {
        say(
            out,
            "exposed: while the GPU of its own rank was idle, summed over ranks: it can exceed the wall time.",
        );
        say(out, "Layers nest and overlap: do not add them up.");
    } else if has_gpu {
        say(
            out,
            "exposed: of the wall time, while the GPU was idle. Layers nest and overlap: do not add them up.",
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
