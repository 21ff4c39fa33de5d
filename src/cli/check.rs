//! `stallscope check`: limits on figures, for scripts. A figure that was not measured is never within a limit.

use std::collections::BTreeMap;
use std::io::Write;

use super::analyse::{self, Analysed};
use super::args::{Check, Overlap, Percent};
use super::steady::Steady;
use super::table::{Table, percent};
use super::{CliError, EXIT_BROKEN, EXIT_INCONCLUSIVE, EXIT_UNREADABLE, load};
use crate::model::{DeviceId, StreamId};
use crate::time::format_ns;

/// What became of one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Holds,
    Broken,
    Inconclusive,
}

impl Outcome {
    fn text(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Broken => "DOES NOT HOLD",
            Self::Inconclusive => "cannot be told",
        }
    }
}

/// One limit on one rank or pair of streams.
struct Line {
    what: String,
    limit: String,
    measured: String,
    outcome: Outcome,
    note: String,
}

/// Runs the command.
pub fn run(args: &Check, out: &mut dyn Write) -> Result<u8, CliError> {
    if args.max_exposed_wait.is_none()
        && args.max_step_time.is_none()
        && args.min_overlap.is_empty()
    {
        return Err(CliError::Usage(
            "check needs a limit: --max-exposed-wait 5%, --max-step-time 120ms or --min-overlap 7:16=50%.".to_owned(),
        ));
    }
    let opened = load::open(&args.input.paths, &args.input.open)?;
    let a = analyse::analyse(opened, &args.scope)?;
    let mut lines = judge(&a, args);
    doubt(&mut lines, &a);
    let mut t = Table::new(&["limit on", "limit", "measured", "<", "<"]);
    for l in &lines {
        t.row(vec![
            l.what.clone(),
            l.limit.clone(),
            l.measured.clone(),
            l.outcome.text().to_owned(),
            l.note.clone(),
        ]);
    }
    let any = |o: Outcome| lines.iter().any(|l| l.outcome == o);
    let code = if a.losses.unread {
        EXIT_UNREADABLE
    } else if any(Outcome::Broken) {
        EXIT_BROKEN
    } else if any(Outcome::Inconclusive) {
        EXIT_INCONCLUSIVE
    } else {
        0
    };
    super::written(code, out.write_all(t.render().as_bytes()))
}

/// What holds for a part may not hold for the whole: a limit holds only where everything was read as it was meant.
fn doubt(lines: &mut [Line], a: &Analysed) {
    let mut why = Vec::new();
    if a.losses.unread || a.losses.incomplete {
        why.push("not all of the input was read");
    }
    if a.wrong_rules > 0 {
        why.push("not all rules could be used");
    }
    if why.is_empty() {
        return;
    }
    let but = format!("holds for what was read, but {}", why.join(" and "));
    for line in lines.iter_mut().filter(|l| l.outcome == Outcome::Holds) {
        line.outcome = Outcome::Inconclusive;
        line.note = format!("{but}; {}", line.note);
    }
}

fn judge(a: &Analysed, args: &Check) -> Vec<Line> {
    let mut lines = Vec::new();
    let ranks = a.ranks();
    let name = |what: &str, rank: usize| {
        if ranks.len() > 1 {
            format!("{what}, rank {}", a.analysis.ranks()[rank].rank)
        } else {
            what.to_owned()
        }
    };
    if ranks.is_empty() {
        lines.push(Line {
            what: "training loop".to_owned(),
            limit: String::new(),
            measured: "-".to_owned(),
            outcome: Outcome::Inconclusive,
            note: "no training loop was found".to_owned(),
        });
    }
    for &rank in &ranks {
        if let Some(limit) = args.max_exposed_wait {
            lines.push(exposed_wait(a, rank, name("exposed wait", rank), limit));
        }
        if let Some(limit) = args.max_step_time {
            lines.push(step_time(a, rank, name("median step", rank), limit));
        }
    }
    for limit in &args.min_overlap {
        lines.extend(overlap(a, limit));
    }
    lines
}

fn limit_text(sign: &str, limit: Percent) -> String {
    format!("{sign} {limit} %")
}

/// part / whole ≤ limit, in integers.
fn within(part: i64, whole: i64, limit: Percent) -> bool {
    i128::from(part) * i128::from(Percent::WHOLE) <= i128::from(whole) * i128::from(limit.0)
}

fn unknown(what: String, limit: String, note: &str) -> Line {
    Line {
        what,
        limit,
        measured: "-".to_owned(),
        outcome: Outcome::Inconclusive,
        note: note.to_owned(),
    }
}

fn exposed_wait(a: &Analysed, rank: usize, what: String, limit: Percent) -> Line {
    let r = &a.analysis.ranks()[rank];
    let text = limit_text("≤", limit);
    let steady = Steady::of(a, rank);
    if r.gpu.is_none() {
        return unknown(
            what,
            text,
            "no GPU events: nobody can tell when the GPU was idle",
        );
    }
    if r.n_fetch() == 0 {
        return unknown(
            what,
            text,
            "no batch waits were recognised: name yours with --rules",
        );
    }
    if steady.rows.len() < 2 {
        return unknown(what, text, "fewer than two whole steps");
    }
    let time = steady.time();
    let exposed = steady.sum(|s| s.wait_exposed);
    let unrecorded = steady.sum(|s| s.wait_unrecorded);
    let (outcome, note) = if !within(exposed, time, limit) {
        (Outcome::Broken, String::new())
    } else if within(exposed + unrecorded, time, limit) {
        (Outcome::Holds, String::new())
    } else {
        let note = format!(
            "{} of waits are not recorded and may be exposed",
            format_ns(unrecorded)
        );
        (Outcome::Inconclusive, note)
    };
    let steps = steady.judged();
    Line {
        what,
        limit: text,
        measured: percent(exposed, time),
        outcome,
        note: if note.is_empty() {
            steps
        } else {
            format!("{note}; {steps}")
        },
    }
}

fn step_time(a: &Analysed, rank: usize, what: String, limit: i64) -> Line {
    let text = format!("≤ {}", format_ns(limit));
    let steady = Steady::of(a, rank);
    let median = steady
        .median(|row| Some(row.time()))
        .filter(|_m| steady.rows.len() >= 2);
    let Some(median) = median else {
        return unknown(what, text, "fewer than two whole steps");
    };
    Line {
        what,
        limit: text,
        measured: format_ns(median),
        outcome: if median <= limit {
            Outcome::Holds
        } else {
            Outcome::Broken
        },
        note: steady.judged(),
    }
}

fn overlap(a: &Analysed, limit: &Overlap) -> Vec<Line> {
    let trace = a.analysis.trace();
    let (first, second) = limit.streams;
    let what = format!("overlap of streams {first} and {second}");
    let text = limit_text("≥", limit.least);
    let own_device = a
        .rank
        .and_then(|r| a.analysis.ranks()[r].gpu)
        .map(|g| a.analysis.gpus()[g].device);
    let numbered = |number: i64| {
        let all = (0_u32..).map(StreamId).zip(trace.streams());
        all.filter(move |(_, s)| {
            let asked = a.rank.is_none() || own_device == Some(s.device);
            s.number == number && asked && trace.device(s.device).counts
        })
    };
    // A device may have a number twice: in two contexts.
    let mut partners: BTreeMap<DeviceId, Vec<StreamId>> = BTreeMap::new();
    for (id, stream) in numbered(second) {
        partners.entry(stream.device).or_default().push(id);
    }
    let mut ids: Vec<(StreamId, StreamId)> = numbered(first)
        .flat_map(|(id, s)| {
            partners
                .get(&s.device)
                .into_iter()
                .flatten()
                .map(move |&p| (id, p))
        })
        .filter(|(x, y)| x != y)
        .map(|(x, y)| (x.min(y), x.max(y)))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    let pairs: Vec<_> = ids
        .into_iter()
        .map(|(x, y)| a.analysis.stream_pair(x, y, a.window))
        .collect();
    if pairs.is_empty() {
        return vec![unknown(what, text, "no GPU has both streams")];
    }
    let many = pairs.len() > 1;
    let line = |p: &crate::analysis::StreamPair| {
        let what = if many {
            format!(
                "{what} ({}, {})",
                a.analysis.stream_key(p.first),
                a.analysis.stream_key(p.second)
            )
        } else {
            what.clone()
        };
        if p.min_busy == 0 {
            return unknown(what, text.clone(), "one of them did nothing in the window");
        }
        let enough = i128::from(p.both) * i128::from(Percent::WHOLE)
            >= i128::from(p.min_busy) * i128::from(limit.least.0);
        Line {
            what,
            limit: text.clone(),
            measured: percent(p.both, p.min_busy),
            outcome: if enough {
                Outcome::Holds
            } else {
                Outcome::Broken
            },
            note: format!("{} of {}", format_ns(p.both), format_ns(p.min_busy)),
        }
    };
    pairs.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_compared_exactly() {
        let percent = |text: &str| text.parse::<Percent>().expect("a share");
        assert!(within(5, 100, percent("5%")));
        assert!(!within(5_000_001, 100_000_000, percent("5%")));
        assert!(within(328_649, 1_000_000, percent("32.8649%")));
        assert!(!within(328_650, 1_000_000, percent("32.8649%")));
        assert!(within(0, 0, percent("0%")));
        assert!(within(i64::MAX, i64::MAX, percent("100%")));
        assert_eq!(limit_text("≤", percent("5%")), "≤ 5 %");
        assert_eq!(limit_text("≤", percent("12.50%")), "≤ 12.5 %");
        assert_eq!(limit_text("≥", percent("0.05%")), "≥ 0.05 %");
    }
}
