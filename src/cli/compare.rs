//! `stallscope compare`: two traces side by side, by medians over their steady steps.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::analyse::{self, Analysed};
use super::args::{Compare, Scope};
use super::steady::Steady;
use super::table::{Table, ms, printable};
use super::{CliError, load};
use crate::analysis::{PROFILED_SPEED, counted, percentile};
use crate::columns::{STEP, column};
use crate::model::Role;

/// A change of a time from which it is moderate, and from which it is material, in thousandths.
const TIME_CHANGE: (i64, i64) = (30, 80);
/// The same for a phase's share of the step, in hundredths of a point.
const SHARE_CHANGE: (i64, i64) = (75, 200);

/// One figure in both traces, ns.
struct Row {
    name: String,
    before: Option<i64>,
    after: Option<i64>,
    /// Rated by its share of the step instead of by itself.
    share_of_step: bool,
}

/// Runs the command.
pub fn run(args: &Compare, out: &mut dyn Write) -> Result<u8, CliError> {
    let scope = Scope {
        range: None,
        rank: args.rank,
        rules: args.rules.clone(),
        ..Scope::default()
    };
    let open = |path: &PathBuf| {
        let opened = load::open(std::slice::from_ref(path), &args.open)?;
        analyse::analyse(opened, &scope)
    };
    let (before, after) = (open(&args.before)?, open(&args.after)?);
    let ranks = pairs(&before, &after);
    if args.json {
        let all: Vec<Value> = ranks.iter().map(|r| to_json(&before, &after, *r)).collect();
        let value = json!({
            "schema": 1,
            "before": args.before.display().to_string(),
            "after": args.after.display().to_string(),
            "ranks": all,
            "differences": differences(&before, &after),
        });
        let text = serde_json::to_string_pretty(&value).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        out.write_all(to_text(args, &before, &after, &ranks).as_bytes())?;
    }
    Ok(0)
}

/// Ranks that both have, by number; (index before, index after).
fn pairs(before: &Analysed, after: &Analysed) -> Vec<(usize, usize)> {
    let number = |a: &Analysed, r: usize| a.analysis.ranks()[r].rank;
    let same = |b: usize| {
        let found = after
            .ranks()
            .into_iter()
            .find(|&r| number(after, r) == number(before, b));
        found.map(|r| (b, r))
    };
    let found: Vec<_> = before.ranks().into_iter().filter_map(same).collect();
    // Two single-process traces belong together whatever their numbers are.
    match (
        found.is_empty(),
        before.ranks().as_slice(),
        after.ranks().as_slice(),
    ) {
        (true, [b], [a]) => vec![(*b, *a)],
        _ => found,
    }
}

/// When a figure is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    /// One of the two has GPU events.
    Gpu,
    /// A step has some.
    Some,
}

/// Figures of steps under names of their own, before the phases.
const FIGURES: [(&str, &str, When); 8] = [
    ("time", "step", When::Always),
    ("wait", "wait for data", When::Always),
    ("wait_exposed", "  exposed", When::Gpu),
    ("wait_hidden", "  hidden", When::Gpu),
    ("gpu_busy", "GPU busy", When::Gpu),
    ("gpu_idle", "GPU idle", When::Gpu),
    ("launched", "GPU work launched", When::Gpu),
    ("in_sync", "in synchronising calls", When::Some),
];

fn rows(before: &Analysed, after: &Analysed, (b, a): (usize, usize)) -> Vec<Row> {
    let both = [(before, b), (after, a)];
    let steady = both.map(|(a, rank)| (a, Steady::of(a, rank)));
    let gpu = both
        .iter()
        .any(|(a, rank)| a.analysis.ranks()[*rank].gpu.is_some());
    let figures = FIGURES.map(|(key, name, when)| (column(STEP, key), name.to_owned(), when));
    let phases = STEP.iter().filter(|c| c.within.is_some()).map(|c| {
        let when = if c.key == "other" {
            When::Always
        } else {
            When::Some
        };
        (c, format!("phase {}", c.key), when)
    });
    let mut rows = Vec::new();
    for (column, name, when) in figures.into_iter().chain(phases) {
        let values = |(a, s): &(&Analysed, Steady<'_>)| -> Vec<i64> {
            s.rows
                .iter()
                .filter_map(|row| column.time(&a.analysis, row))
                .collect()
        };
        let [mut b, mut a] = [&steady[0], &steady[1]].map(values);
        let is = match when {
            When::Always => true,
            When::Gpu => gpu,
            When::Some => b.iter().chain(&a).any(|&ns| ns > 0),
        };
        if is {
            rows.push(Row {
                name,
                before: percentile(&mut b, 50),
                after: percentile(&mut a, 50),
                share_of_step: column.within.is_some(),
            });
        }
    }
    rows
}

/// How large a change is: of a time by itself, of a phase by its share of the step.
fn rating(row: &Row, steps: (Option<i64>, Option<i64>)) -> &'static str {
    let (Some(b), Some(a)) = (row.before, row.after) else {
        return "";
    };
    let (change, limits) = if row.share_of_step {
        let (Some(sb), Some(sa)) = steps else {
            return "";
        };
        let share = |x: i64, s: i64| {
            if s > 0 {
                i128::from(x) * 10_000 / i128::from(s)
            } else {
                0
            }
        };
        (share(a, sa) - share(b, sb), SHARE_CHANGE)
    } else if b == 0 {
        return if a == 0 { "" } else { "new" };
    } else {
        (
            (i128::from(a) - i128::from(b)) * 1_000 / i128::from(b),
            TIME_CHANGE,
        )
    };
    match change.unsigned_abs() {
        c if c >= u128::from(limits.1.unsigned_abs()) => "material",
        c if c >= u128::from(limits.0.unsigned_abs()) => "moderate",
        _ => "",
    }
}

fn relative(row: &Row) -> String {
    match (row.before, row.after) {
        (Some(b), Some(a)) if b > 0 => {
            let permille = (i128::from(a) - i128::from(b)) * 1_000 / i128::from(b);
            let sign = if permille < 0 { '-' } else { '+' };
            let size = permille.unsigned_abs();
            format!("{sign}{}.{} %", size / 10, size % 10)
        }
        _ => "-".to_owned(),
    }
}

fn to_text(
    args: &Compare,
    before: &Analysed,
    after: &Analysed,
    ranks: &[(usize, usize)],
) -> String {
    let mut out = format!(
        "before  {}\nafter   {}\n",
        printable(&args.before.display().to_string()),
        printable(&args.after.display().to_string()),
    );
    if ranks.is_empty() {
        out.push_str("\nThe two have no rank in common: nothing to compare.\n");
    }
    for &pair in ranks {
        let (sb, sa) = (Steady::of(before, pair.0), Steady::of(after, pair.1));
        out.push_str(&format!(
            "\nRank {}: medians over {} and {}, in ms\n",
            before.analysis.ranks()[pair.0].rank,
            counted(sb.rows.len() as u64, "step"),
            counted(sa.rows.len() as u64, "step"),
        ));
        let rows = rows(before, after, pair);
        let steps = (rows[0].before, rows[0].after);
        let cell = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), ms);
        let mut t = Table::new(&["", "before", "after", "change", "relative", "<"]);
        for row in &rows {
            let change = row.before.zip(row.after).map(|(b, a)| a - b);
            t.row(vec![
                row.name.clone(),
                cell(row.before),
                cell(row.after),
                cell(change),
                relative(row),
                rating(row, steps).to_owned(),
            ]);
        }
        out.push_str(&t.render());
        for (name, a, r) in [("before", before, pair.0), ("after", after, pair.1)] {
            let verdict = a.analysis.verdict(r, a.window);
            if let Some(first) = verdict.issues.first() {
                out.push_str(&format!("  {name:<7} {}\n", printable(&first.text.verdict)));
            }
        }
    }
    for text in differences(before, after) {
        out.push_str(&format!("\nNote: {text}\n"));
    }
    out
}

/// What makes the comparison less than fair.
fn differences(before: &Analysed, after: &Analysed) -> Vec<String> {
    let mut out = Vec::new();
    let tracers = |a: &Analysed| {
        let mut keys: Vec<&str> = a
            .analysis
            .trace()
            .sources()
            .iter()
            .map(|s| s.tracer.key)
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys.join(" and ")
    };
    let (b, a) = (tracers(before), tracers(after));
    if b != a {
        out.push(format!(
            "recorded by different tracers: {b} before, {a} after."
        ));
    }
    let gpu = |a: &Analysed| !a.analysis.gpus().is_empty();
    if gpu(before) != gpu(after) {
        let which = if gpu(before) {
            "the first"
        } else {
            "the second"
        };
        out.push(format!(
            "only {which} has GPU events: their waits are measured on different clocks."
        ));
    }
    let mut count = |what: &str, b: usize, a: usize| {
        if b != a {
            out.push(format!("{what}: {b} before, {a} after."));
        }
    };
    let workers = |a: &Analysed| {
        let lanes = a.analysis.trace().lane_ids();
        lanes
            .filter(|l| a.analysis.role(*l) == Role::Worker)
            .count()
    };
    count("recorded worker lanes", workers(before), workers(after));
    count(
        "ranks",
        before.analysis.ranks().len(),
        after.analysis.ranks().len(),
    );
    count(
        "GPUs",
        before.analysis.gpus().len(),
        after.analysis.gpus().len(),
    );
    let steps = |a: &Analysed| {
        a.ranks()
            .first()
            .map_or(0, |&r| Steady::of(a, r).rows.len())
    };
    count("steady steps", steps(before), steps(after));
    let slowed = |a: &Analysed| {
        let mut sources = a.analysis.trace().sources().iter();
        sources.any(|s| s.tracer.slows_training)
    };
    if slowed(before) || slowed(after) {
        out.push(PROFILED_SPEED.to_owned());
    }
    out
}

fn to_json(before: &Analysed, after: &Analysed, pair: (usize, usize)) -> Value {
    let rows = rows(before, after, pair);
    let steps = (rows[0].before, rows[0].after);
    let figures: Vec<Value> = rows
        .iter()
        .map(|r| {
            json!({
                "name": r.name.trim(),
                "before": r.before,
                "after": r.after,
                "change": r.before.zip(r.after).map(|(b, a)| a - b),
                "rating": match rating(r, steps) { "" => Value::Null, text => text.into() },
            })
        })
        .collect();
    let verdict = |a: &Analysed, r: usize| a.analysis.verdict(r, a.window).kind().key();
    json!({
        "rank": before.analysis.ranks()[pair.0].rank,
        "steps": [Steady::of(before, pair.0).rows.len(), Steady::of(after, pair.1).rows.len()],
        "medians": figures,
        "verdicts": [verdict(before, pair.0), verdict(after, pair.1)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(before: i64, after: i64, share_of_step: bool) -> Row {
        Row {
            name: String::new(),
            before: Some(before),
            after: Some(after),
            share_of_step,
        }
    }

    #[test]
    fn changes_are_rated_by_size() {
        let steps = (Some(1_000), Some(1_000));
        assert_eq!(rating(&row(1_000, 1_029, false), steps), "");
        assert_eq!(rating(&row(1_000, 970, false), steps), "moderate");
        assert_eq!(rating(&row(1_000, 1_080, false), steps), "material");
        assert_eq!(rating(&row(0, 5, false), steps), "new");
        assert_eq!(rating(&row(100, 107, true), steps), "");
        assert_eq!(rating(&row(100, 108, true), steps), "moderate");
        assert_eq!(rating(&row(100, 120, true), steps), "material");
        assert_eq!(relative(&row(200, 100, false)), "-50.0 %");
        assert_eq!(relative(&row(0, 100, false)), "-");
    }
}
