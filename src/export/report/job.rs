//! The verdict of a job in JSON: what its ranks make of each other.

use serde_json::{Value, json};

use super::{Object, share, verdict};
use crate::analysis::{
    Analysis, Collectives, JobMissing, JobVerdict, KindOf, LateCause, LateRank, Lateness, ratio,
};

/// The job; `null` where there are several runs, each of which has its own.
pub(super) fn only(analysis: &Analysis, jobs: &[JobVerdict]) -> Value {
    match jobs {
        [one] => job(&analysis.collectives()[one.run], one),
        _ => Value::Null,
    }
}

/// The verdict of one run.
pub(in crate::export) fn job(run: &Collectives, job: &JobVerdict) -> Value {
    let number = |rank: usize| run.number(rank);
    let late = job.lateness.as_ref();
    let texts = job.missing.iter();
    let texts: Object = texts
        .map(|&m: &JobMissing| {
            let text = job.missing_text(run, m);
            (m.key().to_owned(), text.into())
        })
        .collect();
    let left_out = run.left_out.iter();
    let left_out: Object = left_out
        .map(|(why, n)| (why.key().to_owned(), (*n).into()))
        .collect();
    let mut out = Object::new();
    let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
    put("verdict", job.kind.key().into());
    put(
        "kind_of",
        match job.kind_of {
            KindOf::Job => "job".into(),
            KindOf::AllRanks => "all ranks".into(),
            KindOf::Rank(rank) => number(rank).into(),
        },
    );
    put("issues", job.issues.iter().map(verdict::issue).collect());
    put("world", job.world.into());
    put("recorded", job.ranks.len().into());
    put("score", share(job.score()));
    put("pattern", late.map(|l| l.pattern.key()).into());
    put(
        "cause",
        late.and_then(|l| l.cause).map(LateCause::key).into(),
    );
    put("culprit", late.and_then(|l| l.culprit).map(number).into());
    put("cost", late.map(|l| l.cost).into());
    put("per_step", late.map(Lateness::per_step).into());
    put("median_rank", late.map(|l| number(l.median)).into());
    put("coverage", late.map_or(Value::Null, coverage));
    let steps = late.map_or(0, |l| l.judged);
    put(
        "late",
        job.late
            .iter()
            .map(|l| late_rank(number(l.rank), l, steps))
            .collect(),
    );
    put(
        "collectives",
        match job.ranks.len() {
            0 | 1 => Value::Null,
            _ => json!({
                "matched": job.matched, "together": job.together, "left_out": left_out,
                "unmatched": run.matching.unmatched,
                "groups": run.groups.iter().map(|g| g.label()).collect::<Vec<_>>(),
                "ends_apart": job.ends.map(|e| e.spread),
            }),
        },
    );
    put(
        "missing",
        job.missing
            .iter()
            .map(|m| m.key())
            .collect::<Vec<_>>()
            .into(),
    );
    put("missing_texts", texts.into());
    put("headline", job.text.verdict.as_str().into());
    put("evidence_text", job.text.why.as_str().into());
    put("cure", job.text.next.as_str().into());
    out.into()
}

fn coverage(late: &Lateness) -> Value {
    let causes = late.coverage.iter();
    let causes: Object = causes
        .map(|(cause, x)| (cause.key().to_owned(), share(Some(*x))))
        .collect();
    causes.into()
}

fn late_rank(number: u32, l: &LateRank, steps: usize) -> Value {
    let steps = i64::try_from(steps).unwrap_or(i64::MAX);
    let judged = ratio(l.cost_judged, steps).map(|_| l.cost_judged / steps);
    json!({
        "rank": number, "last": l.last, "last_shared": l.last_shared, "waited": l.waited,
        "cost": l.cost, "cost_judged": l.cost_judged, "per_step": judged, "late_steps": l.late_steps,
    })
}
