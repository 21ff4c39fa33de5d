//! What the JSON report says of a loop beside its steps: records of its thread, waits, runs of the loader, start-up.

use serde_json::{Value, json};

use super::Object;
use crate::analysis::{Analysis, LoaderRun, LoopWait, Rank, WaitKind};

/// Adds the figures of the whole trace.
pub(super) fn add(analysis: &Analysis, r: usize, out: &mut Object) {
    let rank = &analysis.ranks()[r];
    let waits = &rank.waits;
    let start_up = waits.start_up();
    let ends = waits.all.len() - waits.batches().count();
    let first_steps = analysis.marks_of_first_waits(rank);
    let added = json!({
        "lanes": lanes(analysis, rank),
        "n_waits": waits.batches().count(),
        "n_ends": ends,
        "end_wait": start_up.end,
        "steady_wait": waits.steady(),
        "wait_by_recorder": by_recorder(analysis, rank),
        "wait_bound": rank.wait_bound,
        "wait_lost": rank.wait_lost,
        "wait_exposed_range": rank.wait_ranges.map(|r| r[0]),
        "wait_hidden_range": rank.wait_ranges.map(|r| r[1]),
        "startup": {
            "runs": start_up.runs, "first": start_up.first, "make_outside": start_up.make_outside,
            "end": start_up.end, "total": start_up.total(),
        },
        "explicit_steps": rank.marks.len(),
        "leftover_steps": u8::from(rank.leftover_step),
        "first_steps": first_steps,
        "fetch_elsewhere": elsewhere(analysis, rank),
        "runs": waits.runs.iter().map(run).collect::<Value>(),
    });
    if let Value::Object(added) = added {
        out.extend(added);
    }
}

/// Each wait of the whole trace.
pub(super) fn waits(analysis: &Analysis, r: usize) -> impl Iterator<Item = Value> {
    let causes = analysis.causes(r);
    let all = analysis.ranks()[r].waits.all.iter().zip(&causes.waits);
    all.map(|(w, cause)| wait(w, super::cause::of_wait(causes, cause)))
}

/// The loop's lanes; where several recorders have its thread, with the recorder of each.
fn lanes(analysis: &Analysis, rank: &Rank) -> Value {
    let trace = analysis.trace();
    let several = rank.loop_lanes.len() > 1;
    let key = |&l: &crate::model::LaneId| {
        let lane = trace.lane(l);
        // As its own file has it: keys that several files have are numbered in the trace.
        let key = lane.key.split('~').next().unwrap_or_default();
        match several {
            true => format!("{}:{key}", trace.source(lane.source).tracer.key),
            false => key.to_owned(),
        }
    };
    rank.loop_lanes.iter().map(key).collect()
}

fn by_recorder(analysis: &Analysis, rank: &Rank) -> Value {
    let trace = analysis.trace();
    let mut out = Object::new();
    for (&lane, &ns) in rank.loop_lanes.iter().zip(&rank.waits.by_record) {
        let key = trace.source(trace.lane(lane).source).tracer.key;
        let before = out.get(key).and_then(Value::as_i64).unwrap_or(0);
        out.insert(key.to_owned(), (before + ns).into());
    }
    out.into()
}

fn elsewhere(analysis: &Analysis, rank: &Rank) -> Value {
    if rank.fetch_elsewhere.is_empty() {
        return Value::Null;
    }
    let key = |l| analysis.trace().lane(l).key.as_str();
    let all = rank.fetch_elsewhere.iter();
    all.map(|f| json!({"lane": key(f.lane), "n": f.n, "time": f.time}))
        .collect()
}

fn run(run: &LoaderRun) -> Value {
    json!({
        "first": run.first, "n": run.n, "how": run.how,
        "workers_started": run.workers_started,
        "make": run.make, "make_how": run.make_how.map(|h| h.text()),
    })
}

fn wait(wait: &LoopWait, cause: Value) -> Value {
    let (kind, how) = match wait.kind {
        WaitKind::Batch => ("batch", None),
        WaitKind::End(how) => ("end", Some(how.text())),
    };
    json!({
        "start": wait.range.start, "end": wait.range.end, "kind": kind, "end_how": how,
        "run": wait.run, "first": wait.first,
        "before": wait.before, "inside": wait.inside, "after": wait.after,
        "recorders": wait.records, "cause": cause,
    })
}
