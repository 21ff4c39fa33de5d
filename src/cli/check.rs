//! `stallscope check`: limits on figures, for scripts. A figure that was not measured is never within a limit.

use std::collections::BTreeMap;
use std::io::Write;

use super::analyse::{self, Analysed};
use super::args::{Check, Overlap, Percent};
use super::losses::Losses;
use super::steady::Steady;
use super::style::{Style, Tone};
use super::table::{Table, percent, printable, sentence};
use super::{CliError, EXIT_BROKEN, EXIT_INCONCLUSIVE, EXIT_UNREADABLE, load};
use crate::analysis::{
    ClockRelation, IdleClass, IssueKind, JobMissing, JobVerdict, Union, Verdict, counted,
};
use crate::model::{DeviceId, StreamId};
use crate::time::{about_ns, format_ns};

/// What became of one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Yes.
    Holds,
    /// No.
    Broken,
    /// Nobody knows.
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
pub struct Line {
    /// The figure.
    pub what: String,
    /// The limit in words.
    pub limit: String,
    /// The figure's value in words.
    pub measured: String,
    /// What became of it.
    pub outcome: Outcome,
    /// What it rests on.
    pub note: String,
}

/// Runs the command.
pub fn run(args: &Check, out: &mut dyn Write) -> Result<u8, CliError> {
    if !args.limits_figures() {
        return Err(CliError::Usage(
            "check needs a limit: --max-exposed-wait 5%, --max-stall 5%, --max-step-time 120ms, --max-late-rank 10%, \
             --min-judged 50%, --expect COMPUTE_BOUND, --min-overlap 7:16=50% or --against BEFORE."
                .to_owned(),
        ));
    }
    let opened = load::open(&args.input.paths, &args.input.open)?;
    // Only verdicts follow from them.
    let causes = !args.expect.is_empty() || args.max_late_rank.is_some();
    let a = analyse::analyse_as(opened, &args.scope, causes)?;
    let mut lines = judge(&a, args);
    doubt(&mut lines, a.losses, a.wrong_rules);
    conclude(&lines, &[], a.losses.unread, out)
}

/// Prints what became of the limits, and sentences below; the exit code follows from the worst.
pub fn conclude(
    lines: &[Line],
    below: &[String],
    unread: bool,
    out: &mut dyn Write,
) -> Result<u8, CliError> {
    let mut t = Table::new(&["limit on", "limit", "measured", "<", "<"]);
    for l in lines {
        t.row(vec![
            l.what.clone(),
            l.limit.clone(),
            l.measured.clone(),
            l.outcome.text().to_owned(),
            l.note.clone(),
        ]);
    }
    let any = |o: Outcome| lines.iter().any(|l| l.outcome == o);
    let code = if unread {
        EXIT_UNREADABLE
    } else if any(Outcome::Broken) {
        EXIT_BROKEN
    } else if any(Outcome::Inconclusive) {
        EXIT_INCONCLUSIVE
    } else {
        0
    };
    let style = Style::out();
    let table = t.render();
    // The first line is the headings.
    let outcomes = std::iter::once(None).chain(lines.iter().map(|l| Some(l.outcome)));
    let rows = table.split_inclusive('\n').zip(outcomes);
    let rows = rows.map(|(row, outcome)| match outcome {
        Some(Outcome::Broken) => style.paint(Tone::Exceeded, row),
        Some(Outcome::Inconclusive) => style.paint(Tone::Loss, row),
        Some(Outcome::Holds) | None => row.to_owned(),
    });
    let below = below.iter().map(|text| sentence(&printable(text)));
    let text: String = rows.chain(below).collect();
    super::written(code, out.write_all(text.as_bytes()))
}

/// What holds for a part may not hold for the whole: a limit holds only where everything was read as it was meant.
pub fn doubt(lines: &mut [Line], losses: Losses, wrong_rules: usize) {
    let mut why = Vec::new();
    if losses.unread || losses.incomplete {
        why.push("not all of the input was read");
    }
    if wrong_rules > 0 {
        why.push("not all rules could be used");
    }
    if why.is_empty() {
        return;
    }
    // Why it is open says more than what it rests on.
    let but = format!("holds for what was read, but {}", why.join(" and "));
    for line in lines.iter_mut().filter(|l| l.outcome == Outcome::Holds) {
        line.outcome = Outcome::Inconclusive;
        line.note.clone_from(&but);
    }
}

/// Judges the limits on figures of one recording.
pub fn judge(a: &Analysed, args: &Check) -> Vec<Line> {
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
            lines.extend(exposed_wait(a, rank, &|what| name(what, rank), limit));
        }
        if let Some(limit) = args.max_step_time {
            lines.push(step_time(a, rank, name("step time", rank), limit));
        }
        if let Some(limit) = args.max_stall {
            lines.push(stall(a, rank, name("stalls", rank), limit));
        }
        if let Some(limit) = args.min_judged {
            lines.push(judged_share(
                a,
                rank,
                name("judged share of the record", rank),
                limit,
            ));
        }
    }
    if !args.expect.is_empty() || args.max_late_rank.is_some() {
        let jobs = a.analysis.jobs(a.window);
        if let Some(limit) = args.max_late_rank {
            let late = |job| late_rank(a, job, of_run(a, "late ranks", job), limit);
            lines.extend(jobs.iter().map(late));
        }
        if !args.expect.is_empty() {
            lines.extend(expected(a, &jobs, &args.expect));
        }
    }
    if let Some(limit) = args.max_clock_error {
        lines.extend(clock_errors(a, limit));
    }
    for limit in &args.min_overlap {
        lines.extend(overlap(a, limit));
    }
    lines
}

/// How exactly the clocks of the files of one run are known against each other.
fn clock_errors(a: &Analysed, limit: i64) -> Vec<Line> {
    let who = a.analysis.identity();
    let text = format!("≤ {}", format_ns(limit));
    let name = |r: usize| printable(&who.recordings[r].name());
    let one = |c: &ClockRelation| {
        let what = format!(
            "clock of {} against {}",
            name(c.recording),
            name(c.reference)
        );
        let Some([low, high]) = c.interval else {
            return unknown(what, text.clone(), &c.apart());
        };
        // Half of an odd width is the larger half.
        let error = high.saturating_sub(low).saturating_add(1) / 2;
        Line {
            what,
            limit: text.clone(),
            measured: format_ns(error),
            outcome: match error <= limit {
                true => Outcome::Holds,
                false => Outcome::Broken,
            },
            note: format!("{} ({})", c.apart(), c.told_by()),
        }
    };
    let clocks = who.clocks();
    if clocks.is_empty() {
        let what = "clocks".to_owned();
        return vec![Line {
            what,
            limit: text.clone(),
            measured: format_ns(0),
            outcome: Outcome::Holds,
            note: "no two files of one run: one clock".to_owned(),
        }];
    }
    clocks.iter().map(one).collect()
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

/// Why exposed waits of a rank cannot be told at all.
fn no_exposure(a: &Analysed, rank: usize) -> Option<&'static str> {
    let r = &a.analysis.ranks()[rank];
    if r.gpu.is_none() {
        Some("no GPU events: nobody can tell when the GPU was idle")
    } else if r.wait.is_empty() && r.wait_bound.is_none() {
        Some("the loop's own waiting is not named: name it with --rules")
    } else {
        None
    }
}

/// The exposed waits of the judged steps, and where the loader started again those of the whole loop.
fn exposed_wait(
    a: &Analysed,
    rank: usize,
    what: &dyn Fn(&str) -> String,
    limit: Percent,
) -> Vec<Line> {
    let text = limit_text("≤", limit);
    let steady = Steady::of(a, rank);
    let first = what("exposed wait, judged steps");
    if let Some(why) = no_exposure(a, rank) {
        return vec![unknown(first, text, why)];
    }
    if !steady.judged.enough() {
        return vec![unknown(first, text, "fewer than two whole steps")];
    }
    let r = &a.analysis.ranks()[rank];
    let judged = &steady.judged;
    if let Some(bound) = r.wait_bound {
        let note = "another thread fetches: at most so much can be the loop's own waiting";
        let part = (0, bound, judged.account.judged);
        return vec![share_line(first, text, part, limit, &[note.to_owned()])];
    }
    let once: i64 = judged.left_out().filter_map(|c| c.wait).sum();
    let mut notes = vec![steady.judged()];
    if judged.starts_again() == 0 && once > 0 {
        notes.push(format!(
            "{} more once, at the loader's start",
            about_ns(once)
        ));
    }
    let measure = |of: &Union| {
        (
            of.intersect(&r.wait_exposed),
            of.intersect(&r.wait_unrecorded),
        )
    };
    let judge = |what: String, of: &Union, notes: &[String]| {
        let (exposed, unrecorded) = measure(of);
        share_line(
            what,
            text.clone(),
            (exposed.measure(), unrecorded.measure(), of.measure()),
            limit,
            notes,
        )
    };
    let mut lines = vec![judge(first, &judged.set, &notes)];
    if judged.starts_again() > 0 {
        let starts = counted(judged.starts_again() as u64, "start");
        let note = format!("{starts} of the loader after the first");
        let what = what("exposed wait, loop (with restarts)");
        lines.push(judge(what, &judged.reach, &[note]));
    }
    lines
}

/// A limit on the share of a part that lies between what is known and that with what is not recorded.
fn share_line(
    what: String,
    text: String,
    (part, unrecorded, whole): (i64, i64, i64),
    limit: Percent,
    notes: &[String],
) -> Line {
    let mut notes = notes.to_vec();
    let outcome = if !within(part, whole, limit) {
        Outcome::Broken
    } else if within(part + unrecorded, whole, limit) {
        Outcome::Holds
    } else {
        let text = format!(
            "{} are not recorded and may belong to it",
            format_ns(unrecorded)
        );
        notes.insert(0, text);
        Outcome::Inconclusive
    };
    Line {
        what,
        limit: text,
        measured: percent(part, whole),
        outcome,
        note: notes.join("; "),
    }
}

/// What the loop stands still beside its waits: named stalls and pauses.
fn stall(a: &Analysed, rank: usize, what: String, limit: Percent) -> Line {
    const STALLS: [IdleClass; 7] = [
        IdleClass::Checkpoint,
        IdleClass::Eval,
        IdleClass::Log,
        IdleClass::Gc,
        IdleClass::Compile,
        IdleClass::Loader,
        IdleClass::Pause,
    ];
    let text = limit_text("≤", limit);
    let verdict = a.analysis.verdict(rank, a.window);
    if !verdict.judged.enough() {
        return unknown(what, text, "fewer than two whole steps");
    }
    let whole = verdict.judged.reach.measure();
    let found = STALLS.map(|c| (c, verdict.ledger.get(c)));
    let part: i64 = found.iter().map(|f| f.1).sum();
    let largest = found.iter().max_by_key(|f| f.1).filter(|f| f.1 > 0);
    let mut notes = vec!["of the loop".to_owned()];
    notes.extend(largest.map(|(c, ns)| format!("most of it {}: {}", c.key(), about_ns(*ns))));
    let mut line = share_line(
        what,
        text,
        (part, verdict.ledger.get(IdleClass::Unknown), whole),
        limit,
        &notes,
    );
    if a.analysis.ranks()[rank].gpu.is_none() && line.outcome == Outcome::Holds {
        line.outcome = Outcome::Inconclusive;
        line.note = format!("no GPU events: pauses cannot be told; {}", line.note);
    }
    line
}

/// How much of the record is judged. Little says nothing about the run, only about what can be told of it.
fn judged_share(a: &Analysed, rank: usize, what: String, limit: Percent) -> Line {
    let judged = a.analysis.judged(rank, a.window);
    let account = judged.account;
    let (part, whole) = (account.judged, account.total());
    let enough =
        i128::from(part) * i128::from(Percent::WHOLE) >= i128::from(whole) * i128::from(limit.0);
    Line {
        what,
        limit: limit_text("≥", limit),
        measured: percent(part, whole),
        outcome: match enough && whole > 0 {
            true => Outcome::Holds,
            false => Outcome::Inconclusive,
        },
        note: format!("{} of {} are judged", about_ns(part), about_ns(whole)),
    }
}

/// What late ranks cost a job.
fn late_rank(a: &Analysed, job: &JobVerdict, what: String, limit: Percent) -> Line {
    let text = limit_text("≤", limit);
    if let Some(why) = job.no_score() {
        return unknown(what, text, why);
    }
    let (cost, whole) = job.lateness.as_ref().map_or((0, 1), |l| (l.cost, l.of_ns));
    let holds = within(cost, whole, limit);
    let missing = job.missing.contains(&JobMissing::Ranks);
    let mut notes = match job.lateness {
        Some(_) => vec!["of the judged steps".to_owned()],
        None => vec!["the ranks arrive together".to_owned()],
    };
    if let Some(issue) = job.issues.first() {
        notes.push(issue.text.verdict.clone());
    }
    if missing {
        notes.push(job.missing_text(&a.analysis.collectives()[job.run], JobMissing::Ranks));
    }
    Line {
        what,
        limit: text,
        measured: percent(cost, whole),
        outcome: match (holds, missing) {
            (false, _) => Outcome::Broken,
            (true, true) => Outcome::Inconclusive,
            (true, false) => Outcome::Holds,
        },
        note: notes.join("; "),
    }
}

/// Whether the verdict of each job, or of the rank that was chosen, is one of those expected.
fn expected(a: &Analysed, jobs: &[JobVerdict], kinds: &[IssueKind]) -> Vec<Line> {
    let line = |what: String, kind: IssueKind, note: &str| {
        let text: Vec<&str> = kinds.iter().map(|k| k.key()).collect();
        let outcome = if kinds.contains(&kind) {
            Outcome::Holds
        } else if kind == IssueKind::Inconclusive {
            Outcome::Inconclusive
        } else {
            Outcome::Broken
        };
        Line {
            what,
            limit: text.join(" or "),
            measured: kind.key().to_owned(),
            outcome,
            note: note.to_owned(),
        }
    };
    if let Some(rank) = a.rank {
        let mut all = jobs.iter().flat_map(|j| &j.ranks);
        let own = all.find(|v| v.rank == rank);
        let kind = own.map_or(IssueKind::Inconclusive, Verdict::kind);
        let headline = own.and_then(|v| v.issues.first());
        let note = headline.map_or("", |i| i.text.verdict.as_str());
        return vec![line("verdict".to_owned(), kind, note)];
    }
    let of_job = |job: &JobVerdict| line(of_run(a, "verdict", job), job.kind, &job.text.verdict);
    jobs.iter().map(of_job).collect()
}

/// A figure of a job, with its run where there are several.
fn of_run(a: &Analysed, what: &str, job: &JobVerdict) -> String {
    let runs = a.analysis.collectives();
    match runs.len() {
        0 | 1 => what.to_owned(),
        _ => format!("{what}, run {}", runs[job.run].run),
    }
}

fn step_time(a: &Analysed, rank: usize, what: String, limit: i64) -> Line {
    let text = format!("≤ {}", format_ns(limit));
    let steady = Steady::of(a, rank);
    let Some(pace) = steady.pace.filter(|_p| steady.judged.enough()) else {
        return unknown(what, text, "fewer than two whole steps");
    };
    let mut note = format!("{}; {}", pace.basis.key(), steady.judged());
    if let Some(why) = pace.instead_of_median() {
        note = format!("{why} (CPU median {}); {note}", about_ns(pace.median));
    }
    Line {
        what,
        limit: text,
        measured: format_ns(pace.per_step()),
        outcome: match pace.per_step() <= limit {
            true => Outcome::Holds,
            false => Outcome::Broken,
        },
        note,
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
                a.analysis.stream_label(p.first),
                a.analysis.stream_label(p.second)
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
