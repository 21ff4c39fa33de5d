//! CPU spans against the GPU work that they launched, and calls that waited for the GPU.

use std::collections::BTreeMap;

use super::super::analyse::Analysed;
use super::super::table::{Table, ms, printable, shorten};
use super::{heading, ms_or_dash, say};
use crate::analysis::{LayerId, counted};
use crate::model::NameId;
use crate::time::format_count;

/// Names listed.
const LISTED: usize = 20;

/// CPU spans by name: their own time, the GPU time they launched, the GPU time that ran during them.
pub fn names(out: &mut String, a: &Analysed) {
    let mut rows = a
        .analysis
        .name_table(a.window, a.rank.map(|r| a.analysis.ranks()[r].rank));
    // Steps have a table of their own, and usually a name each.
    rows.retain(|r| r.with_gpu > 0 && r.layer != LayerId::STEP);
    if rows.is_empty() {
        return;
    }
    heading(out, "CPU spans and the GPU work that they launched, in ms");
    let mut t = Table::new(&[
        "span",
        "<layer",
        "calls",
        "CPU time",
        "GPU launched",
        "GPU during",
        "lag median",
        "lag max",
    ]);
    for r in rows.iter().take(LISTED) {
        t.row(vec![
            shorten(&printable(a.analysis.trace().name(r.name)), 48),
            printable(&a.analysis.layers().info(r.layer).name),
            format_count(r.count),
            ms(r.cpu_time),
            ms(r.gpu_launched),
            ms(r.gpu_during),
            ms_or_dash(r.median_lag),
            ms_or_dash(r.max_lag),
        ]);
    }
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

/// What is summed over the synchronising calls of one name.
#[derive(Default)]
struct SyncSum {
    calls: u64,
    time: i64,
    absorbed: i64,
    by_phase: BTreeMap<Option<LayerId>, i64>,
    bubble: i64,
    unknown_scope: u64,
}

/// Calls that wait for the GPU, by name.
pub fn syncs(out: &mut String, a: &Analysed) {
    let calls = a.analysis.sync_calls(a.window);
    if calls.is_empty() {
        return;
    }
    let spans = a.analysis.trace().spans();
    let mut by_name: BTreeMap<NameId, SyncSum> = BTreeMap::new();
    for call in calls {
        let f = a.analysis.sync(call);
        let sum = by_name.entry(spans.name(call)).or_default();
        sum.calls += 1;
        sum.time += spans.dur(call);
        sum.absorbed += f.absorbed;
        sum.bubble += f.bubble.unwrap_or(0);
        sum.unknown_scope += u64::from(!f.known_scope);
        for (phase, ns) in f.absorbed_by_phase {
            *sum.by_phase.entry(phase).or_default() += ns;
        }
    }
    let mut rows: Vec<(NameId, SyncSum)> = by_name.into_iter().collect();
    rows.sort_by_key(|(name, s)| (std::cmp::Reverse(s.time), *name));
    heading(out, "Calls that wait for the GPU, in ms");
    let mut t = Table::new(&[
        "call",
        "calls",
        "time",
        "absorbed",
        "bubble after",
        "<launched in",
    ]);
    for (name, s) in rows.iter().take(LISTED) {
        t.row(vec![
            shorten(&printable(a.analysis.trace().name(*name)), 40),
            format_count(s.calls),
            ms(s.time),
            ms(s.absorbed),
            ms(s.bubble),
            phases(a, s),
        ]);
    }
    out.push_str(&t.render());
    say(
        out,
        "absorbed: GPU time of earlier work that ran inside the call. bubble: the GPU idle after it, because nothing was queued.",
    );
    let unknown: u64 = rows.iter().map(|(_n, s)| s.unknown_scope).sum();
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

fn phases(a: &Analysed, s: &SyncSum) -> String {
    let mut by: Vec<(&Option<LayerId>, &i64)> =
        s.by_phase.iter().filter(|(_p, ns)| **ns > 0).collect();
    by.sort_by_key(|(_p, ns)| std::cmp::Reverse(**ns));
    let text = |(phase, ns): &(&Option<LayerId>, &i64)| {
        let name = phase.map_or("no phase", |l| a.analysis.layers().info(l).name.as_str());
        format!("{} {}", printable(name), ms(**ns))
    };
    by.iter().take(4).map(text).collect::<Vec<_>>().join(", ")
}
