//! `stallscope check --against`: whether steps became longer than those of recordings before.

use std::io::Write;

use super::CliError;
use super::args::{Check, Percent};
use super::check::{self, Line, Outcome};
use super::recordings::{self, Recorded};
use super::table::printable;
use crate::analysis::compare::{
    CompareOptions, Comparison, Effect, StepShare, UnlikeWhat, Wording, compare, decimals, signed,
};

/// What to do where the programs are unlike.
const OTHER_PROGRAM: &str = "Of unlike programs the limit is not judged: --allow-other-program judges the steps all the same.";

/// Runs the command.
pub fn run(args: &Check, out: &mut dyn Write) -> Result<u8, CliError> {
    let mut lines = Vec::new();
    let mut after = Vec::new();
    for path in &args.input.paths {
        let a = recordings::analysed(path, &args.input.open, &args.scope)?;
        if args.limits_figures() {
            let mut own = check::judge(&a, args);
            check::doubt(&mut own, a.losses, a.wrong_rules);
            if args.input.paths.len() > 1 {
                let name = printable(&path.display().to_string());
                for line in &mut own {
                    line.what = format!("{} ({name})", line.what);
                }
            }
            lines.extend(own);
        }
        after.push(Recorded::of(path, &a));
    }
    let read = |path| Recorded::read(path, &args.input.open, &args.scope);
    let before = args.against.iter().map(|p| read(p));
    let before = before.collect::<Result<Vec<_>, CliError>>()?;
    let sides = [before, after];
    let (sides, alike) = recordings::settle(sides, None, &args.input.open, &args.scope)?;
    let (losses, wrong_rules) = recordings::losses(&sides);
    let [before, after] = sides.each_ref().map(|s| recordings::recordings(s));
    let limit = StepShare {
        num: args.max_slowdown.0,
        den: Percent::WHOLE,
    };
    let options = CompareOptions { limit, alike };
    let found = compare(&before, &after, &options);
    let (own, below) = slowdown(&found, args);
    let mut own = vec![own];
    check::doubt(&mut own, losses, wrong_rules);
    lines.extend(own);
    check::conclude(&lines, &below, losses.unread, out)
}

/// The limit on the steps, and the sentences that it rests on.
fn slowdown(found: &Comparison, args: &Check) -> (Line, Vec<String>) {
    let limit = found.limit;
    let within = found.within(limit, args.allow_other_program);
    let mut below = vec![found.headline()];
    // A job is as slow as its slowest rank: one that nothing is compared with may be that.
    let alone: usize = found.ranks_only.iter().map(Vec::len).sum();
    let within = within.filter(|_| alone == 0);
    for (side, ranks) in ["before", "after"].iter().zip(&found.ranks_only) {
        if !ranks.is_empty() {
            let all: Vec<String> = ranks.iter().map(u32::to_string).collect();
            let all = all.join(", ");
            below.push(format!(
                "Ranks only {side}: {all}. Nothing tells whether they became slower."
            ));
        }
    }
    let effects = |u: &&crate::analysis::compare::Unlike| u.what.effect() == Effect::Part;
    if found.refused.is_none() {
        let unlike = found.unlike.iter().filter(effects);
        below.extend(unlike.map(|u| found.unlike_text(u)));
        if found.is_unlike(UnlikeWhat::Program) && !args.allow_other_program {
            below.push(OTHER_PROGRAM.to_owned());
        }
    }
    let question = found.question();
    let measured = question.and_then(|q| {
        let digits = decimals(q.before?);
        Some(format!("{} ms", signed(q.shift?, digits)))
    });
    // The share of the step, and what it is in ms.
    let of_step = question.and_then(|q| q.before).map(|step| {
        let wording = Wording { step, limit };
        format!(" ({})", wording.limit_in_ms())
    });
    let base = question.map(|q| match &q.between {
        Some(b) => format!("{} and {} recordings", b.before.len(), b.after.len()),
        None => format!("{} and {} steps", q.m, q.n),
    });
    let line = Line {
        what: "slowdown of the steps".to_owned(),
        limit: format!("≤ {} %{}", args.max_slowdown, of_step.unwrap_or_default()),
        measured: measured.unwrap_or_else(|| "-".to_owned()),
        outcome: match within {
            Some(true) => Outcome::Holds,
            Some(false) => Outcome::Broken,
            None => Outcome::Inconclusive,
        },
        note: base.unwrap_or_default(),
    };
    (line, below)
}
