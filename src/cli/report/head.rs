//! The beginning and the end of the report: title, waits, ranks; notices.

use std::path::Path;

use super::super::analyse::Analysed;
use super::super::notices;
use super::super::rows;
use super::super::style::{Style, Tone};
use super::super::table::{Table, ms, percent, printable, sentence};
use super::{heading, of_rank, say};
use crate::analysis::{JobVerdict, Verdict, counted};
use crate::columns::{Output, RANK, shown};
use crate::model::LaneId;
use crate::time::{format_count, format_ns};

/// What was opened, in a few words: file names, or the folder that holds all of them.
fn opened(a: &Analysed) -> String {
    let paths: Vec<&Path> = a
        .analysis
        .trace()
        .sources()
        .iter()
        .map(|s| s.path.as_path())
        .collect();
    let name = |p: &Path| printable(&p.file_name().unwrap_or(p.as_os_str()).to_string_lossy());
    let parent = paths
        .first()
        .and_then(|p| p.parent())
        .filter(|p| p.file_name().is_some());
    match parent {
        Some(folder) if paths.len() > 1 && paths.iter().all(|p| p.parent() == Some(folder)) => {
            format!("{} ({} files)", name(folder), paths.len())
        }
        _ => {
            let names: Vec<String> = paths.iter().take(3).map(|p| name(p)).collect();
            match paths.len() {
                n if n > 3 => format!(
                    "{} and {}",
                    names.join(", "),
                    counted(n as u64 - 3, "more file")
                ),
                _ => names.join(", "),
            }
        }
    }
}

/// What is reported on.
pub fn title(out: &mut String, a: &Analysed) {
    let trace = a.analysis.trace();
    out.push_str(&format!(
        "{}: {} in {}\n",
        opened(a),
        counted(trace.counted_spans(), "span"),
        format_ns(trace.extent().len()),
    ));
    if a.chosen {
        let start = trace.extent().start;
        out.push_str(&format!(
            "Only {} to {} ({})\n",
            format_ns(a.window.start - start),
            format_ns(a.window.end - start),
            format_ns(a.window.len()),
        ));
    }
}

/// Which recorders have the thread of a loop, and how far their clocks are apart.
fn recorders(out: &mut String, a: &Analysed, rank: usize) {
    let (trace, who) = (a.analysis.trace(), a.analysis.identity());
    let lanes = &a.analysis.ranks()[rank].loop_lanes;
    if lanes.len() < 2 {
        return;
    }
    let of = |l: LaneId| trace.source(trace.lane(l).source);
    let names: Vec<&str> = lanes.iter().map(|&l| of(l).tracer.name).collect();
    let recordings: Vec<usize> = lanes
        .iter()
        .map(|&l| who.recording(trace.lane(l).source))
        .collect();
    let mut clocks = who.clocks().iter();
    let clock =
        clocks.find(|c| recordings.contains(&c.recording) && recordings.contains(&c.reference));
    let clocks = clock.map_or(String::new(), |c| {
        format!("; clocks apart by {} ({})", c.apart(), c.told_by())
    });
    say(
        out,
        &format!("Recorded by {}{clocks}.", names.join(" and ")),
    );
}

/// Waits that are no step's: for the loader to start, and for its end.
fn start_up(out: &mut String, a: &Analysed, rank: usize) {
    let waits = &a.analysis.ranks()[rank].waits;
    let start = waits.start_up();
    if start.runs < 2 && start.end == 0 {
        return;
    }
    let mut parts = vec![format!("first waits {}", format_ns(start.first))];
    if start.make_outside > 0 {
        parts.push(format!(
            "making iterators {}",
            format_ns(start.make_outside)
        ));
    }
    if start.end > 0 {
        parts.push(format!("at its end {}", format_ns(start.end)));
    }
    say(
        out,
        &format!(
            "The loader started {} in the whole trace: {}; all other waits {}.",
            if start.runs == 1 {
                "once".to_owned()
            } else {
                format!("{} times", start.runs)
            },
            parts.join(", "),
            format_ns(waits.steady()),
        ),
    );
}

/// What the loop of a rank waited for, and what the GPU did meanwhile.
pub fn waits(out: &mut String, a: &Analysed, rank: usize) {
    let r = &a.analysis.ranks()[rank];
    heading(out, &format!("Waiting for data{}", of_rank(a, rank)));
    let Some(lane) = r.loop_lane else {
        say(out, "No training loop was found.");
        return;
    };
    let total = r.wait.measure_in(a.window);
    let n = r.wait.parts_in(a.window).len();
    if let Some(other) = r
        .fetch_elsewhere
        .iter()
        .max_by_key(|f| f.n)
        .filter(|_| r.wait.is_empty())
    {
        let lane = printable(&a.analysis.thread_label(other.lane));
        let bound = r.wait_bound.map_or(String::new(), |ns| {
            format!(
                " It waited beside an idle GPU for {} at most.",
                format_ns(ns)
            )
        });
        say(
            out,
            &format!(
                "The loop's own waiting is not named: another thread ({lane}) fetched {} batches.{bound}",
                other.n
            ),
        );
        return;
    }
    if r.wait.is_empty() {
        say(
            out,
            "No batch waits were recognised. Look for: DataLoader __next__, fetch.iter, batch_wait, NVTX ranges around the",
        );
        say(out, "data. Name your own with --rules (docs/rules.md).");
        return;
    }
    let part = |name: &str, ns: i64, note: &str| {
        vec![
            name.to_owned(),
            ms(ns),
            percent(ns, total),
            percent(ns, a.window.len()),
            note.to_owned(),
        ]
    };
    let mut t = Table::new(&["", "ms", "of wait", "of window", "<"]);
    let waits = counted(n as u64, "wait");
    let loop_name = printable(&a.analysis.thread_label(lane));
    t.row(part(
        "waited",
        total,
        &format!("{waits} of the loop on {loop_name}"),
    ));
    if r.gpu.is_none() {
        t.row(vec![
            "  exposed".to_owned(),
            "unknown".to_owned(),
            String::new(),
            String::new(),
            "no GPU events".to_owned(),
        ]);
    } else {
        let exposed = r.wait_exposed.measure_in(a.window);
        t.row(part(
            "  exposed",
            exposed,
            "the GPU had nothing to do: this is what loading costs",
        ));
        t.row(part(
            "  hidden",
            r.wait_hidden.measure_in(a.window),
            "the GPU was still working",
        ));
    }
    let unrecorded = r.wait_unrecorded.measure_in(a.window);
    if unrecorded > 0 {
        t.row(part(
            "  not recorded",
            unrecorded,
            "no GPU data for this time",
        ));
    }
    out.push_str(&t.render());
    recorders(out, a, rank);
    start_up(out, a, rank);
    longest(out, a, rank);
    super::super::why::summary(out, a, rank);
}

/// The waits of many ranks, a line each.
pub fn waits_of_ranks(out: &mut String, a: &Analysed) {
    heading(out, "Waiting for data, in ms");
    let mut t = Table::new(&[
        "rank",
        "waits",
        "waited",
        "of window",
        "exposed",
        "of window",
        "hidden",
        "not recorded",
    ]);
    for rank in a.ranks() {
        let r = &a.analysis.ranks()[rank];
        let waited = r.wait.measure_in(a.window);
        let exposed = r.wait_exposed.measure_in(a.window);
        let known = |text: String| {
            if r.gpu.is_some() {
                text
            } else {
                "unknown".to_owned()
            }
        };
        t.row(vec![
            r.rank.to_string(),
            format_count(r.wait.parts_in(a.window).len() as u64),
            ms(waited),
            percent(waited, a.window.len()),
            known(ms(exposed)),
            known(percent(exposed, a.window.len())),
            known(ms(r.wait_hidden.measure_in(a.window))),
            ms(r.wait_unrecorded.measure_in(a.window)),
        ]);
    }
    out.push_str(&t.render());
    say(
        out,
        "exposed: the GPU had nothing to do. hidden: it was still working. not recorded: no GPU data for this time.",
    );
}

/// The longest exposed waits, so that one knows where to look.
fn longest(out: &mut String, a: &Analysed, rank: usize) {
    const SHOWN: usize = 3;
    let mut waits: Vec<_> = a
        .analysis
        .waits()
        .iter()
        .filter(|w| w.rank == rank && w.range.overlaps(a.window) && w.exposed > Some(0))
        .collect();
    waits.sort_by_key(|w| (std::cmp::Reverse(w.exposed), w.range.start));
    let start = a.analysis.trace().extent().start;
    let places: Vec<String> = waits
        .iter()
        .take(SHOWN)
        .map(|w| {
            let loading = a.analysis.loading_during(rank, w.range);
            let loading = match loading.of {
                0 => String::new(),
                of => format!(" ({} of {of} loaded)", loading.busy),
            };
            format!(
                "{} at {}{loading}",
                format_ns(w.exposed.unwrap_or(0)),
                format_ns(w.range.start - start)
            )
        })
        .collect();
    if waits.len() > 1 {
        wrapped(out, &format!("Most exposed: {}.", places.join(", ")));
    }
}

/// Ranks against each other, where there are several.
pub fn ranks(out: &mut String, a: &Analysed) {
    let all = a.analysis.ranks();
    if all.len() < 2 || a.rank.is_some() {
        return;
    }
    let means = a.analysis.rank_table(a.window);
    heading(out, "Ranks");
    say(
        out,
        &format!(
            "Means over {} that all of them have, in ms.",
            counted(means.common_steps as u64, "step")
        ),
    );
    let columns = shown(RANK, Output::Text, "");
    let t = rows::table(&a.analysis, &columns, &means.rows, |row, cells| {
        let median = means.median == Some(row.rank);
        let mark = if median { " (median)" } else { "" };
        cells[0] = format!("{}{mark}", all[row.rank].rank);
    });
    out.push_str(&t.render());
}

/// What was repaired, skipped, guessed or not recorded.
pub fn notices_list(out: &mut String, a: &Analysed, style: Style) {
    let trace = a.analysis.trace();
    if a.report.notices.is_empty() && a.analysis.notices().is_empty() {
        return;
    }
    heading(out, "Notices");
    for notice in a.analysis.notices() {
        say(
            out,
            &printable(&format!("{}: {}", notice.certainty.label(), notice.text)),
        );
    }
    let many = trace.sources().len() > 1;
    let all: Vec<_> = a.report.notices.iter().collect();
    for line in notices::lines(trace, &all, many) {
        let text = sentence(&line.text);
        out.push_str(&match line.lost {
            true => style.paint(Tone::Loss, &text),
            false => text,
        });
    }
}

/// What bounds the job and, in a line each, its ranks; one rank alone in full.
pub fn verdicts(out: &mut String, a: &Analysed, style: Style) {
    let jobs = a.analysis.jobs(a.window);
    for job in &jobs {
        if job.ranks.len() > 1 && a.rank.is_none() {
            of_job(out, a, job, jobs.len() > 1, style);
            continue;
        }
        let shown = a.ranks();
        for verdict in job.ranks.iter().filter(|v| shown.contains(&v.rank)) {
            in_full(out, a, verdict, style);
        }
    }
}

/// What bounds the training, why, and what next.
fn in_short(out: &mut String, said: [&str; 3], style: Style) {
    let mut headline = String::new();
    wrapped(&mut headline, said[0]);
    out.push_str(&style.paint(Tone::Headline, &headline));
    for text in said[1..].iter().filter(|t| !t.is_empty()) {
        wrapped(out, text);
    }
}

/// The job first, then a line for each rank.
fn of_job(out: &mut String, a: &Analysed, job: &JobVerdict, several: bool, style: Style) {
    let title = match several {
        true => format!("Verdict of run {}", a.analysis.collectives()[job.run].run),
        false => "Verdict".to_owned(),
    };
    heading(out, &title);
    let said = [
        job.text.verdict.as_str(),
        job.text.why.as_str(),
        job.text.next.as_str(),
    ];
    in_short(out, said, style);
    for what in &job.missing {
        let text = job.missing_text(&a.analysis.collectives()[job.run], *what);
        if !said[1].contains(&text) {
            wrapped(out, &format!("Note: {text}"));
        }
    }
    for verdict in &job.ranks {
        if let Some(first) = verdict.issues.first() {
            let rank = format!("Rank {}", a.analysis.ranks()[verdict.rank].rank);
            let text = &first.text.verdict;
            match text.starts_with(&format!("{rank} ")) {
                true => wrapped(out, text),
                false => wrapped(out, &format!("{rank}: {text}")),
            }
        }
    }
    missing(out, a, &job.ranks, &said);
}

fn in_full(out: &mut String, a: &Analysed, verdict: &Verdict, style: Style) {
    heading(out, &format!("Verdict{}", of_rank(a, verdict.rank)));
    let Some(first) = verdict.issues.first() else {
        return;
    };
    let said = [
        first.text.verdict.as_str(),
        &first.text.why,
        &first.text.next,
    ];
    in_short(out, said, style);
    if !verdict.coverage.is_empty() {
        wrapped(out, &verdict.coverage);
    }
    for issue in &verdict.issues[1..] {
        wrapped(
            out,
            &format!("Also ({}): {}", issue.severity.key(), issue.text.verdict),
        );
    }
    missing(out, a, std::slice::from_ref(verdict), &said);
}

/// What was not recorded.
fn missing(out: &mut String, a: &Analysed, verdicts: &[Verdict], said: &[&str]) {
    for text in a.analysis.missing_texts(verdicts, said) {
        wrapped(out, &text);
    }
}

/// Text in lines of at most 110 characters, indented.
fn wrapped(out: &mut String, text: &str) {
    const WIDTH: usize = 110;
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(&format!("  {}\n", printable(&line)));
            // What follows belongs to the same sentence.
            line = String::from("  ");
        } else if !line.trim().is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.trim().is_empty() {
        out.push_str(&format!("  {}\n", printable(&line)));
    }
}
