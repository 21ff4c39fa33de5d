//! What the JSON report says of why a loop waited: of each wait, and all in all.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Object;
use crate::analysis::{
    Analysis, Blame, ByGroup, Cause, FileRead, IteratorCauses, LoopCause, RankCauses, Totals,
    Waiting,
};
use crate::time::TimeRange;

/// The cause of a wait of a rank.
pub(super) fn of_wait(causes: &RankCauses, cause: &Cause) -> Value {
    json!({
        "level": cause.level.map(|l| l.key()),
        "iterator": cause.iterator,
        "batch": cause.batch,
        "first": cause.is_first(),
        "order": cause.order.map(|o| o.key()),
        "worker": cause.worker,
        "pid": cause.pid.as_deref().map(pid),
        "made": cause.made.map(pair),
        "late": cause.late,
        "parts": parts(cause),
        "exposed": by_gpu(cause, |s| s.exposed),
        "hidden": by_gpu(cause, |s| s.hidden),
        "dominant": cause.dominant.key(),
        "kind": cause.kind.key(),
        "item": cause.item.as_ref().map(|item| blame(causes, item)),
        "ahead": cause.ahead.map(|a| {
            json!({"ready": a.ready, "first": a.first, "saving": a.saving})
        }),
        "arrivals": cause.arrivals,
        "reason": cause.reason.map(|r| r.text()),
    })
}

fn pair(range: TimeRange) -> [i64; 2] {
    [range.start, range.end]
}

/// A process number; the word that a file has in its place.
fn pid(text: &str) -> Value {
    text.parse::<u64>()
        .map_or_else(|_| text.into(), Value::from)
}

fn parts(cause: &Cause) -> Value {
    let all = cause.parts.all.iter();
    let one = |own: i64, earlier: i64| {
        let both = [("own", own), ("earlier", earlier)].into_iter();
        let both = both.filter(|(_, ns)| *ns > 0);
        let both: Object = both.map(|(k, ns)| (k.to_owned(), ns.into())).collect();
        Value::from(both)
    };
    let parts: Object = all
        .map(|(part, s)| (part.key().to_owned(), one(s.own, s.earlier)))
        .collect();
    parts.into()
}

fn by_gpu(cause: &Cause, of: impl Fn(&crate::analysis::Share) -> i64) -> Value {
    if !cause.parts.gpu_known {
        return Value::Null;
    }
    let all = cause.parts.all.iter();
    let all: Object = all
        .map(|(part, share)| (part.key().to_owned(), of(share).into()))
        .collect();
    all.into()
}

fn blame(causes: &RankCauses, item: &Blame) -> Value {
    let file = |(file, read): &(crate::analysis::FileId, FileRead)| {
        json!({
            "file": causes.file(*file), "ns": read.ns, "bytes": read.bytes, "calls": read.calls,
            "mb_s": read.mb_s(),
        })
    };
    json!({
        "start": item.range.start, "end": item.range.end, "index": item.index, "in_wait": item.in_wait,
        "median": item.median, "reading": item.reading,
        "files": item.files.iter().map(file).collect::<Value>(),
        "mb_s_median": item.mb_s_median,
    })
}

/// The cause of a loop's waiting in a window.
pub(super) fn of_loop(analysis: &Analysis, rank: usize, window: TimeRange) -> Value {
    let causes = analysis.causes(rank);
    let waiting = analysis.why_waited(rank, window);
    let totals = match &waiting {
        Some(waiting) => waiting.totals.clone(),
        None => Totals::of(causes, Some(window)),
    };
    let t = &totals;
    let cause = waiting.as_ref().map(|w| w.cause);
    let advice = waiting.as_ref().map(|w| analysis.advice(rank, window, w));
    let slow_worker = t
        .slow_worker
        .filter(|_| cause == Some(LoopCause::SlowWorker));
    let slow_files = (cause == Some(LoopCause::SlowFiles)).then(|| {
        let mut names: Vec<&str> = t.slow_files.iter().map(|f| causes.file(f.file)).collect();
        names.sort_unstable();
        names
    });
    let iterators = causes.iterators.iter();
    json!({
        "cause": cause.map(LoopCause::key),
        "group": waiting.as_ref().and_then(|w| w.group).map(|g| g.key()),
        "advice": advice,
        "slow_worker": slow_worker.map(|w| w.place),
        "slow_files": slow_files,
        "loop_ns": t.loop_ns, "waits": t.waits, "first": t.first, "later": t.later,
        "judged": t.judged, "n_judged": t.n_judged, "end": t.end,
        "by_group": by_group(&t.by_group),
        "by_group_later": by_group(&t.by_group_later),
        "by_group_judged": by_group(&t.by_group_judged),
        "by_group_first": by_group(&t.by_group_first),
        "by_worker": by_worker(t),
        "by_kind": by_kind(t),
        "by_file": t.by_file.iter().map(|f| json!({
            "file": causes.file(f.file), "in_waits": f.in_waits, "ns": f.read.ns,
            "bytes": f.read.bytes, "visits": f.visits, "mb_s": f.read.mb_s(),
        })).collect::<Value>(),
        "workers": t.workers.iter().map(|w| json!({
            "place": w.place, "pids": w.pids.iter().map(|p| pid(p)).collect::<Value>(),
            "batches": w.batches, "production": w.production, "busy": w.busy,
        })).collect::<Value>(),
        "production_median": t.production_median,
        "handover_median": t.handover_median,
        "batch_bytes": waiting.as_ref().and_then(|w: &Waiting| w.batch_bytes),
        "slow_file_waits": t.slow_file_waits, "burst_waits": t.burst_waits,
        "checkpoint_waits": t.checkpoint_waits, "restart": t.restart,
        "head_of_line_max": t.head_of_line_max,
        "iterators": iterators.map(|i| iterator(causes, i)).collect::<Value>(),
    })
}

fn by_group(of: &ByGroup) -> Value {
    let all = of.iter();
    let all: Object = all
        .map(|(g, ns)| (g.key().to_owned(), (*ns).into()))
        .collect();
    all.into()
}

/// Kinds of waits by their names: two may have the same.
fn by_kind(t: &Totals) -> Value {
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for (kind, ns) in &t.by_kind {
        *sums.entry(kind.key()).or_default() += ns;
    }
    let all = sums.into_iter();
    let all: Object = all.map(|(k, ns)| (k.to_owned(), ns.into())).collect();
    all.into()
}

/// By place in the group; `unknown` where it is not told.
fn by_worker(t: &Totals) -> Value {
    let key = |w: &Option<usize>| w.map_or_else(|| "unknown".to_owned(), |w| w.to_string());
    let all = t.by_worker.iter();
    let all: Object = all.map(|(w, ns)| (key(w), (*ns).into())).collect();
    all.into()
}

fn iterator(causes: &RankCauses, i: &IteratorCauses) -> Value {
    json!({
        "first_wait": i.waits.first().map(|&w| causes.range(w).start),
        "n": i.waits.len(), "workers": i.group.len(), "fresh": i.fresh,
        "order": i.order.map(|o| o.key()), "offset": i.offset, "batch_items": i.batch_items,
        "assigned": i.made.is_some(),
        "violation": i.violation.map(|v| json!({"batch": v.batch, "rule": v.rule.key(), "by": v.by})),
        "reason": i.reason.map(|r| r.text()),
    })
}
