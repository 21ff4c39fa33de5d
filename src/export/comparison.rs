//! A comparison as JSON and as CSV.

use std::io;

use serde_json::{Map, Number, Value, json};

use crate::analysis::StepClass;
use crate::analysis::compare::{
    Answer, Between, Comparison, Decomposition, Figure, Kernels, Presence, RankComparison,
    StepShare, Told, TypicalStep, Unlike,
};

/// Version of the paths of a comparison.
pub const SCHEMA: u32 = 2;

/// A comparison; `before` and `after` are what the sides were read from, as the user named it.
#[must_use]
pub fn comparison(c: &Comparison, before: &[String], after: &[String]) -> Value {
    let sides = ["before", "after"].iter().zip(c.steps_recomputed);
    let recomputed = sides.filter(|s| s.1).map(|s| *s.0);
    json!({
        "schema": SCHEMA,
        "before": before,
        "after": after,
        "refused": c.refused.map(|r| r.key()),
        "unlike": c.unlike.iter().map(unlike).collect::<Value>(),
        "steps_how": c.steps_how.map(|s| s.key()),
        "steps_recomputed": recomputed.collect::<Value>(),
        "limit_percent": percent(c.limit),
        "job": c.job.as_ref().map(figure),
        "ranks": c.ranks.iter().map(|r| rank(c, r)).collect::<Value>(),
        "ranks_only_before": c.ranks_only[0],
        "ranks_only_after": c.ranks_only[1],
    })
}

/// A share in percent: whole numbers as such.
#[expect(clippy::cast_precision_loss, reason = "a share")]
fn percent(share: StepShare) -> Number {
    let (num, den) = (u128::from(share.num) * 100, u128::from(share.den.max(1)));
    match u64::try_from(num / den) {
        Ok(whole) if num % den == 0 => whole.into(),
        _ => Number::from_f64(num as f64 / den as f64).unwrap_or_else(|| 0.into()),
    }
}

fn told(value: &Told) -> Value {
    match value {
        Told::Nothing => Value::Null,
        Told::Count(n) => (*n).into(),
        Told::Flag(is) => (*is).into(),
        Told::Share(x) => (*x).into(),
        Told::Text(text) => text.as_str().into(),
        Told::List(all) => all.as_slice().into(),
    }
}

fn unlike(u: &Unlike) -> Value {
    json!({
        "what": u.what.key(), "before": told(&u.before), "after": told(&u.after),
        "effect": u.what.effect().key(),
    })
}

fn between(b: &Between) -> Value {
    json!({
        "before": b.before, "after": b.after, "shift": b.shift, "lo": b.lo, "hi": b.hi,
        "df": b.df, "p": b.p,
    })
}

/// A figure.
#[must_use]
pub fn figure(f: &Figure) -> Value {
    json!({
        "name": f.name, "before": f.before, "after": f.after, "m": f.m, "n": f.n,
        "shift": f.shift, "lo": f.lo, "hi": f.hi,
        "rho": f.rho, "widening": f.widening, "df": f.df,
        "p": f.p, "p_mann_whitney": f.p_mann_whitney, "p_holm": f.p_holm, "alpha": f.alpha,
        "limit": f.limit,
        "answer": f.answer.key(),
        "reason": f.reason.map(|r| r.key()),
        "direction": f.direction.map(|d| d.key()),
        "detectable": f.detectable,
        "steps_needed": f.steps_needed, "recordings_needed": f.recordings_needed,
        "separated": f.separated,
        "range_before": f.range_before, "range_after": f.range_after,
        "between": f.between.as_ref().map(between),
    })
}

fn rank(c: &Comparison, r: &RankComparison) -> Value {
    json!({
        "rank": r.rank,
        "steps": r.steps,
        "left_out": r.left_out,
        "verdicts": r.verdicts,
        "aligned_by": r.aligned_by.key(),
        "typical": r.typical.iter().map(|t| t.as_ref().map(|t| typical(c, t))).collect::<Vec<_>>(),
        "figures": r.figures.iter().map(figure).collect::<Value>(),
        "decomposition": r.decomposition.as_ref().map(decomposition),
        "kernels": r.kernels.as_ref().map(kernels),
    })
}

fn typical(c: &Comparison, t: &TypicalStep) -> Value {
    // Derived steps are numbered; explicit ones have the text that states them.
    let step = match (c.steps_how, t.number) {
        (Some(StepClass::Explicit) | None, _) | (_, None) => Value::from(t.label.as_str()),
        (_, Some(number)) => number.into(),
    };
    json!({"step": step, "start": t.start, "time": t.time})
}

fn decomposition(d: &Decomposition) -> Value {
    let parts = d.parts.iter().map(|p| {
        json!({
            "name": p.name, "before": p.before, "after": p.after, "delta": p.delta,
            "answer": p.answer.key(),
        })
    });
    json!({
        "clock": d.clock.key(), "step_before": d.step_before, "step_after": d.step_after,
        "delta": d.delta, "parts": parts.collect::<Value>(),
    })
}

fn kernels(k: &Kernels) -> Value {
    let rows = k.rows.iter().map(|row| {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
        put("name", row.name.as_str().into());
        put("count_before", row.count[0].into());
        put("count_after", row.count[1].into());
        put("time_before", row.time[0].into());
        put("time_after", row.time[1].into());
        put("state", row.state.key().into());
        if let (Presence::Both, Some(f)) = (row.state, &row.figure) {
            put("shift", f.shift.into());
            put("lo", f.lo.into());
            put("hi", f.hi.into());
            put("p", f.p.into());
            put("p_holm", f.p_holm.into());
            put("answer", f.answer.key().into());
        }
        Value::Object(out)
    });
    json!({
        "common_work": k.common_work,
        "names": [k.names(0), k.names(1)],
        "rows": rows.collect::<Value>(),
    })
}

/// Columns of [`csv`].
const HEAD: [&str; 24] = [
    "rank",
    "figure",
    "before_ns",
    "after_ns",
    "m",
    "n",
    "shift_ns",
    "lo_ns",
    "hi_ns",
    "rho",
    "widening",
    "df",
    "p",
    "p_mann_whitney",
    "p_holm",
    "alpha",
    "limit_ns",
    "answer",
    "reason",
    "direction",
    "detectable_ns",
    "steps_needed",
    "recordings_needed",
    "separated",
];

/// A line per figure and rank, that of the job without a rank. What is not known is empty.
///
/// # Errors
/// When `out` cannot be written.
pub fn csv(c: &Comparison, out: &mut dyn io::Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(HEAD)?;
    let job = c.job.iter().map(|f| (None, f));
    let ranks = c.ranks.iter();
    let figures = ranks.flat_map(|r| r.figures.iter().map(|f| (Some(r.rank), f)));
    for (rank, f) in job.chain(figures) {
        csv.write_record(line(rank, f))?;
    }
    csv.flush()
}

fn line(rank: Option<u32>, f: &Figure) -> [String; 24] {
    fn text<T: ToString>(value: Option<T>) -> String {
        value.map_or_else(String::new, |v| v.to_string())
    }
    [
        text(rank),
        f.name.clone(),
        text(f.before),
        text(f.after),
        f.m.to_string(),
        f.n.to_string(),
        text(f.shift),
        text(f.lo),
        text(f.hi),
        text(f.rho),
        text(f.widening),
        text(f.df),
        text(f.p),
        text(f.p_mann_whitney),
        text(f.p_holm),
        f.alpha.to_string(),
        f.limit.to_string(),
        Answer::key(f.answer).to_owned(),
        text(f.reason.map(|r| r.key())),
        text(f.direction.map(|d| d.key())),
        text(f.detectable),
        text(f.steps_needed),
        text(f.recordings_needed),
        text(f.separated),
    ]
}
