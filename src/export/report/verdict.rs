//! The verdict of a rank in JSON.

use serde_json::{Value, json};

use super::{Object, share};
use crate::analysis::{
    Analysis, Evidence, IdleClass, Issue, LeftOut, Missing, Pace, Verdict, ratio,
};

pub(super) fn verdict(analysis: &Analysis, v: &Verdict) -> Value {
    let texts = v.missing.iter();
    let texts: Object = texts
        .map(|m: &Missing| (m.key().to_owned(), analysis.missing_text(v.rank, *m).into()))
        .collect();
    let account = v.judged.account;
    let ledger = IdleClass::ALL.iter();
    let ledger: Object = ledger
        .map(|c| (c.key().to_owned(), v.ledger.get(*c).into()))
        .collect();
    let first = v.issues.first();
    json!({
        "verdict": v.kind().key(),
        "headline": first.map(|i| &i.text.verdict),
        "evidence_text": first.map(|i| &i.text.why),
        "cure": first.map(|i| &i.text.next),
        "issues": v.issues.iter().map(issue).collect::<Value>(),
        "missing": v.missing.iter().map(|m| m.key()).collect::<Vec<_>>(),
        "missing_texts": texts,
        "account": {
            "judged": account.judged, "first": account.first, "partial": account.partial,
            "between": account.between, "outside": account.outside,
        },
        "judged_share": share(ratio(account.judged, account.total())),
        "coverage": {"low": v.little, "longest": account.longest().0.key()},
        "ledger": ledger,
        "steps": v.judged.cycles.len(),
        "n_judged": v.judged.len(),
        "partial_steps": v.judged.partial_steps,
        "judged": v.coverage,
        "left_out": v.left_out.iter().map(left_out).collect::<Value>(),
    })
}

/// Communication of a rank: what of it is waiting for a late rank is not known of one alone.
pub(super) fn communication(v: &Verdict) -> Value {
    v.comm.map_or(Value::Null, |c| {
        let split = c.split.as_ref();
        json!({
            "time": c.time, "exposed": c.exposed,
            "wait": split.map(|s| s.wait),
            "wait_exposed": split.map(|s| s.wait_exposed),
            "transfer_exposed": split.map(|s| s.transfer_exposed),
            "unmatched": split.map(|s| s.unmatched),
        })
    })
}

/// What a step takes.
pub(super) fn pace(pace: Option<Pace>) -> Value {
    pace.map_or(Value::Null, |p| {
        json!({
            "step": p.per_step(), "basis": p.basis.key(), "runs_ahead": p.runs_ahead(),
            "median": p.median, "steps": p.steps,
        })
    })
}

pub(super) fn issue(i: &Issue) -> Value {
    let d = &i.details;
    let mut out = Object::new();
    let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
    put("kind", i.kind.key().into());
    put("value", i.value.into());
    put("share", i.share.into());
    put("of", i.of.key().into());
    put("of_ns", i.of_ns.into());
    put("severity", i.severity.key().into());
    if let Some(gpu) = i.gpu_clock {
        put("clock", if gpu { "gpu" } else { "cpu" }.into());
    }
    if let Some(pattern) = d.pattern {
        put("pattern", pattern.key().into());
    }
    if let Some(b) = &d.burst {
        let burst =
            json!({"k": b.k, "n": b.n, "share": b.share, "steps": b.steps, "period": b.period});
        put("burst", burst);
    }
    if !d.names.is_empty() {
        let names = d.names.iter();
        let names = names.map(|n| json!({"name": n.name, "ns": n.ns, "n": n.n}));
        put("names", names.collect());
    }
    if let Some(place) = d.place {
        put("where", place.key().into());
    }
    if !d.by_loader.is_empty() {
        let by = d
            .by_loader
            .iter()
            .map(|(name, ns)| (name.clone(), (*ns).into()));
        put("by_loader", by.collect::<Object>().into());
    }
    if let Some(gain) = d.gain_at_most {
        put("gain_at_most", gain.into());
    }
    put(
        "text",
        json!({"verdict": i.text.verdict, "why": i.text.why, "next": i.text.next}),
    );
    let mut evidence = Object::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            evidence.insert(key.to_owned(), value);
        }
    };
    put("occurrences", d.occurrences.map(Into::into));
    put("gaps_per_step", d.gaps_per_step.map(Into::into));
    put("kernel_median", d.kernel_median.map(Into::into));
    put("suspicious", d.suspicious.map(Into::into));
    put("places", Some(i.evidence.iter().map(place).collect()));
    out.insert("evidence".to_owned(), evidence.into());
    out.into()
}

fn place(e: &Evidence) -> Value {
    json!({"span": e.span.0, "start": e.range.start, "end": e.range.end, "value": e.value})
}

fn left_out(l: &LeftOut) -> Value {
    json!({
        "step": l.label, "reason": l.reason, "wait": l.wait, "wait_exposed": l.exposed,
        "longest": l.place.map(|p| json!({"span": p.span.0, "start": p.range.start, "end": p.range.end})),
    })
}
