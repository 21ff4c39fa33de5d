//! Ranks that were opened one by one, as JSON.

use serde_json::{Value, json};

use super::report::job::job;
use crate::analysis::{Across, HostRow, LateCause, WorstStep};
use crate::ranks::{Ranks, RunOfRanks};

/// Missing ranks that are listed; of more, their number alone.
const LISTED: u32 = 65_536;

/// The first run, with the others beside it.
#[must_use]
pub fn ranks(all: &Ranks) -> Value {
    let mut runs = all.runs.iter().map(run);
    let mut out = runs.next().unwrap_or(Value::Null);
    let others: Vec<Value> = runs.collect();
    let notices = all.notices.iter();
    let notices = notices
        .map(|n| json!({"code": n.code, "ranks": n.ranks, "count": n.count, "text": n.text}));
    let unread = all.unread.iter();
    let unread = unread.map(|u| json!({"file": u.file.to_string_lossy(), "why": u.why}));
    if let Value::Object(out) = &mut out {
        out.insert("schema".to_owned(), 1.into());
        out.insert("other_runs".to_owned(), others.into());
        out.insert("notices".to_owned(), notices.collect());
        out.insert("unread".to_owned(), unread.collect());
    }
    out
}

/// Numbers of ranks that the job has and nobody recorded; `None` where they are too many to list.
#[must_use]
pub fn missing_ranks(across: &Across) -> Option<Vec<u32>> {
    let recorded = &across.run.numbers;
    let world = across.job.world;
    let missing = world.saturating_sub(u32::try_from(recorded.len()).unwrap_or(u32::MAX));
    let absent = |r: &u32| recorded.binary_search(r).is_err();
    (missing <= LISTED).then(|| (0..world).filter(absent).collect())
}

fn run(run: &RunOfRanks) -> Value {
    let across = &run.across;
    let cause = |place: usize| {
        let why = across.why.iter().find(|w| w.0 == place)?;
        why.1.cause.map(LateCause::key)
    };
    let rows = across.rows.iter().zip(&run.files).enumerate();
    let rows = rows.map(|(place, (row, files))| {
        let verdict = across.verdict(place);
        let first = verdict.issues.first();
        let late = across
            .job
            .late
            .get(place)
            .filter(|_| across.job.matched > 0);
        let file = files.paths.first().map(|p| p.to_string_lossy());
        json!({
            "rank": row.rank,
            "host": row.host,
            "file": file,
            "files": files.paths.len(),
            "verdict": verdict.kind().key(),
            "value": first.map(|i| i.value),
            "of": first.map(|i| i.of_ns),
            "last": late.map(|l| l.last + l.last_shared),
            "waited": late.map(|l| l.waited),
            "cost": late.map(|l| l.cost),
            "cost_judged": late.map(|l| l.cost_judged),
            "late_steps": late.map(|l| l.late_steps),
            "cause": cause(place),
            "steps": row.steps.len(),
            "judged": verdict.judged.len(),
            "wait": row.waits.map(|w| w.all),
            "wait_exposed": row.waits.and_then(|w| w.exposed),
            "notices": files.told.len(),
            "unread": files.incomplete,
        })
    });
    json!({
        "run": run.name,
        "world": across.job.world,
        "recorded": across.rows.len(),
        "ranks_missing": missing_ranks(across),
        "job": job(&across.run, &across.job),
        "ranks": rows.collect::<Value>(),
        "hosts": across.hosts().iter().map(host).collect::<Value>(),
        "worst_steps": across.worst.iter().map(|w| worst(across, w)).collect::<Value>(),
    })
}

fn host(h: &HostRow) -> Value {
    json!({
        "host": h.host, "ranks": h.ranks, "exposed": h.exposed, "wait": h.wait, "judged": h.judged,
        "exposed_steps": h.exposed_steps, "wait_steps": h.wait_steps,
    })
}

fn worst(across: &Across, w: &WorstStep) -> Value {
    json!({
        "number": w.number, "time": w.time, "median": w.median,
        "late_rank": w.late.map(|place| across.rows[place].rank),
        "cause": w.cause.map(LateCause::key),
    })
}
