//! What is known of spans, steps and waits, in words: tooltips, inspector and tables say the same.

use super::document::Document;
use crate::analysis::{Analysis, LayerId, Step, SyncFigures, Wait, counted};
use crate::columns::ByPhase;
use crate::model::{CopyKind, SpanId};
use crate::time::{about_ns, format_ns};

/// The step that a span starts in, and which share of it the span takes.
#[must_use]
pub fn step_of(doc: &Document, span: SpanId) -> Option<(&Step, f64)> {
    let number = doc.analysis.lane_rank(doc.trace.spans().lane(span));
    let ranks = doc.analysis.ranks();
    let rank = ranks
        .iter()
        .find(|r| Some(r.rank) == number)
        .or(ranks.first())?;
    let range = doc.trace.spans().range(span);
    let i = rank
        .steps
        .partition_point(|s| s.range.start <= range.start)
        .checked_sub(1)?;
    let step = &rank.steps[i];
    let inside = step.range.clip(range).len();
    step.range
        .contains(range.start)
        .then(|| (step, inside as f64 / step.range.len().max(1) as f64))
}

/// How a wait divides into exposed, hidden and not recorded time.
#[must_use]
pub fn parts_text(wait: &Wait) -> String {
    let (Some(exposed), Some(hidden)) = (wait.exposed, wait.hidden) else {
        return "No GPU events: what was hidden cannot be told".to_owned();
    };
    let mut parts = vec![
        format!("{} exposed", format_ns(exposed)),
        format!("{} hidden", format_ns(hidden)),
    ];
    if wait.unrecorded > 0 {
        parts.push(format!("{} not recorded", format_ns(wait.unrecorded)));
    }
    parts.join(" · ")
}

/// Why a wait happened, as (what, value): who made its batch, what it was spent on, the item and the file, what is not
/// told and why.
#[must_use]
pub fn cause_lines(analysis: &Analysis, wait: usize) -> Vec<(&'static str, String)> {
    let Some(cause) = analysis.cause(wait) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    if let Some(batch) = cause.batch {
        let late = match cause.late {
            Some(true) => ", not ready when the wait began",
            Some(false) => ", ready before the wait",
            None => "",
        };
        out.push(("Batch", format!("{batch}{late}")));
    }
    out.extend(cause.made_by().map(|by| ("Made by", by)));
    let spent: Vec<String> = cause.spent().iter().map(|s| s.text(about_ns)).collect();
    out.push(("Spent on", spent.join(", ")));
    if let Some(item) = &cause.item {
        let (own, usual) = (about_ns(item.range.len()), about_ns(item.median));
        out.push(("Item", format!("{own}, usual {usual}")));
        let causes = analysis.causes(analysis.waits()[wait].rank);
        if let Some((file, read)) = item.files.first() {
            let rate = match (read.mb_s(), item.mb_s_median) {
                (Some(rate), Some(usual)) => format!(" at {rate:.1} MB/s, usual {usual:.1}"),
                (Some(rate), None) => format!(" at {rate:.1} MB/s"),
                (None, _) => String::new(),
            };
            let name = causes.file(*file);
            out.push(("File", format!("{name}: {}{rate}", about_ns(read.ns))));
        }
    }
    if let Some(ahead) = cause.ahead.filter(|a| a.ready > 0) {
        let (n, saving) = (
            counted(ahead.ready as u64, "later batch"),
            about_ns(ahead.saving),
        );
        out.push((
            "Ready",
            format!("{n}: in_order=False could have saved {saving} at most"),
        ));
    }
    if let Some(reason) = cause.reason {
        out.push(("Not told", reason.text().to_owned()));
    }
    out
}

/// Whom an operation of communication waited for, or how long others waited for it; `None` where neither is known.
#[must_use]
pub fn attendance_line(analysis: &Analysis, op: SpanId) -> Option<String> {
    let a = analysis.attendance(op)?;
    let who = match a.last {
        Some(rank) => format!("rank {rank}"),
        None => format!("{} ranks", a.late_ranks),
    };
    Some(if a.cost == 0 {
        format!("all {} ranks arrived together", a.ranks)
    } else if !a.late {
        format!("waited {} for {who}, which came last", format_ns(a.wait))
    } else if a.late_ranks == 1 {
        format!(
            "arrived last: the others waited {} (median)",
            format_ns(a.cost)
        )
    } else {
        format!(
            "one of {who} that arrived last: the others waited {} (median)",
            format_ns(a.cost)
        )
    })
}

/// Direction of a copy in words.
#[must_use]
pub fn copy_text(kind: CopyKind) -> &'static str {
    match kind {
        CopyKind::HostToDevice => "host to device",
        CopyKind::DeviceToHost => "device to host",
        CopyKind::DeviceToDevice => "within the device",
        CopyKind::PeerToPeer => "device to device",
        CopyKind::HostToHost => "within the host",
        CopyKind::Managed => "unified memory",
        CopyKind::Other(_) => "copy",
    }
}

/// A phase by the name of its layer.
#[must_use]
pub fn phase(analysis: &Analysis, id: Option<LayerId>) -> &str {
    id.map_or("no phase", |l| &analysis.layers().info(l).name)
}

/// `forward 27 ms, backward 40 ms`.
#[must_use]
pub fn by_phase(analysis: &Analysis, parts: &ByPhase) -> String {
    let part =
        |&(p, ns): &(Option<LayerId>, i64)| format!("{} {}", phase(analysis, p), format_ns(ns));
    let parts: Vec<String> = parts.iter().map(part).collect();
    parts.join(", ")
}

/// Whose GPU work a synchronising call waited for: `waits for GPU work queued by: forward 70 %, backward 30 %`.
#[must_use]
pub fn queued_by(analysis: &Analysis, row: &SyncFigures) -> String {
    let mut parts: Vec<(Option<LayerId>, i64)> = row.absorbed_by_phase.clone();
    parts.retain(|p| p.1 > 0);
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    let whole: i64 = parts.iter().map(|p| p.1).sum();
    if whole == 0 {
        return "waits for no GPU work".to_owned();
    }
    let parts: Vec<String> = parts
        .iter()
        .map(|&(p, ns)| {
            let share = ns as f64 / whole as f64 * 100.0;
            format!("{} {share:.0} %", phase(analysis, p))
        })
        .collect();
    format!("waits for GPU work queued by: {}", parts.join(", "))
}
