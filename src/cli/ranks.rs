//! `stallscope ranks`: many ranks one after the other; who is late, how often, how much, why.

use std::io::Write;
use std::path::Path;

use super::args::Ranks as Args;
use super::messages::warn;
#[cfg(feature = "png")]
use super::ranks_png;
use super::style::{Style, Tone};
use super::table::{Table, bytes, ms, percent, printable, sentence};
use super::{CliError, EXIT_INCONCLUSIVE, EXIT_UNREADABLE, analyse, load};
use crate::analysis::{Across, LateCause, LateRank, counted};
use crate::export;
use crate::export::ranks::missing_ranks;
use crate::ranks::{self, How, Ranks, RunOfRanks, Told, Watch};
use crate::time::{about_ns, format_count};

#[cfg(feature = "parquet")]
mod out;
#[cfg(feature = "parquet")]
mod parts;

/// Hosts, steps and notices that are listed.
const LISTED: usize = 5;

/// Runs the command.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<u8, CliError> {
    #[cfg(not(feature = "png"))]
    if args.png.is_some() {
        return Err(CliError::Usage(super::NO_PICTURES.to_owned()));
    }
    #[cfg(feature = "png")]
    ranks_png::spare(args, args.paths.iter().chain(&args.rules))?;
    #[cfg(not(feature = "parquet"))]
    if args.out.is_some() {
        return Err(CliError::Usage(super::NO_PARQUET.to_owned()));
    }
    load::spare_stdout(&args.paths)?;
    let (rules, _wrong) = analyse::rules(args.rules.as_deref())?;
    let mut how = match args.memory {
        Some(memory) => How::with_memory(rules, memory),
        None => How::new(rules),
    };
    if let Some(jobs) = args.jobs {
        how.jobs = usize::from(jobs);
    }
    let name = args.run.clone().unwrap_or_else(|| name_of(&args.paths[0]));
    let watch = Watch::new();
    #[cfg(feature = "parquet")]
    let tables = match &args.out {
        Some(folder) => Some(out::Out::begin(
            args,
            folder,
            &name,
            &how.rules,
            &watch.progress,
        )?),
        None => None,
    };
    #[cfg(feature = "parquet")]
    let onlooker = tables.as_ref().map(|t| t as &dyn ranks::Onlooker);
    #[cfg(not(feature = "parquet"))]
    let onlooker = None;
    let line = || {
        let (done, total) = watch.files();
        let of = format!(
            "{} of {} files",
            format_count(done as u64),
            format_count(total as u64)
        );
        format!("{of}, {}", bytes(watch.progress.done()))
    };
    let open = || ranks::open_before(onlooker, &args.paths, &name, &how, &watch);
    let opened = load::watched(&line, open);
    #[cfg(feature = "parquet")]
    if let Some(failure) = tables.as_ref().and_then(out::Out::failure) {
        return Err(failure);
    }
    let all = opened?;
    for unread in &all.unread {
        warn(&format!("{}: {}", unread.file.display(), unread.why));
    }
    #[cfg(feature = "parquet")]
    if let Some(tables) = tables {
        load::working("Writing tables", || tables.finish(&all))?;
    }
    if args.json {
        let json = export::ranks::ranks(&all);
        let text = serde_json::to_string_pretty(&json).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        out.write_all(text(&all).as_bytes())?;
    }
    #[cfg(feature = "png")]
    ranks_png::draw(args, &all)?;
    let untold = all.runs.iter().any(RunOfRanks::untold);
    Ok(match (all.unread.is_empty(), untold) {
        (false, _) => EXIT_UNREADABLE,
        (true, true) => EXIT_INCONCLUSIVE,
        (true, false) => 0,
    })
}

/// The last part of a path.
fn name_of(path: &Path) -> String {
    let full = std::fs::canonicalize(path).unwrap_or_else(|_gone| path.to_owned());
    let name = full.file_name().unwrap_or(full.as_os_str());
    name.to_string_lossy().into_owned()
}

fn text(all: &Ranks) -> String {
    let mut out = String::new();
    for run in &all.runs {
        if !out.is_empty() {
            out.push('\n');
        }
        of_run(&mut out, run, &all.told);
    }
    // What is told of no rank stands beside the verdict.
    let of_ranks: Vec<_> = all.notices.iter().filter(|n| n.ranks > 0).collect();
    if !of_ranks.is_empty() {
        out.push_str("\nNotices\n");
    }
    for notice in of_ranks {
        let ranks = counted(notice.ranks as u64, "rank");
        let text = first_line(&notice.text);
        out.push_str(&sentence(&format!("{}, {ranks}: {text}", notice.code)));
    }
    out
}

fn of_run(out: &mut String, run: &RunOfRanks, told: &[Told]) {
    let across = &run.across;
    let recorded = across.rows.len();
    let size: u64 = run.files.iter().map(|f| f.bytes).sum();
    let files: usize = run.files.iter().map(|f| f.paths.len()).sum();
    out.push_str(&format!(
        "{}: {} of {} ranks, {} in {}\n",
        first_line(&run.name),
        format_count(recorded as u64),
        format_count(u64::from(across.job.world)),
        bytes(size),
        counted(files as u64, "file"),
    ));
    if let Some(missing) = missing_ranks(across).filter(|m| !m.is_empty()) {
        out.push_str(&sentence(&format!("Not recorded: {}.", ranges(&missing))));
    }
    out.push_str("\nVerdict\n");
    let said = &across.job.text;
    let headline = sentence(&printable(&said.verdict));
    out.push_str(&Style::out().paint(Tone::Headline, &headline));
    for text in [&said.why, &said.next] {
        if !text.is_empty() {
            out.push_str(&sentence(&printable(text)));
        }
    }
    for what in &across.job.missing {
        let text = across.job.missing_text(&across.run, *what);
        if !said.why.contains(&text) {
            out.push_str(&sentence(&format!("Note: {}", printable(&text))));
        }
    }
    // It explains why `report` says something else.
    for note in told {
        out.push_str(&sentence(&format!("Note: {}", printable(&note.text))));
    }
    late(out, across);
    hosts(out, across);
    worst(out, across);
}

/// `0–3, 7`.
fn ranges(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &n in numbers {
        match runs.last_mut() {
            Some(last) if last.1 + 1 == n => last.1 = n,
            _ => runs.push((n, n)),
        }
    }
    let named = runs.iter().take(2 * LISTED).map(|&(a, b)| match b - a {
        0 => a.to_string(),
        1 => format!("{a}, {b}"),
        _ => format!("{a}–{b}"),
    });
    let named: Vec<String> = named.collect();
    let rest = runs
        .iter()
        .skip(2 * LISTED)
        .map(|(a, b)| u64::from(b - a) + 1);
    match rest.sum::<u64>() {
        0 => named.join(", "),
        n => format!("{} and {} more", named.join(", "), format_count(n)),
    }
}

/// The ranks that cost the others most.
fn late(out: &mut String, across: &Across) {
    if across.rows.len() < 2 {
        return;
    }
    out.push_str("\nLate ranks, in ms\n");
    let job = &across.job;
    if job.matched == 0 {
        out.push_str(&sentence(
            "Who is late cannot be told: no collectives of the ranks could be matched.",
        ));
        return;
    }
    let pattern = job
        .lateness
        .as_ref()
        .map(|l| format!(", {}", l.pattern.key()));
    let together = match job.together {
        0 => String::new(),
        n => format!("; to {} of them all came together", format_count(n as u64)),
    };
    out.push_str(&sentence(&format!(
        "{} matched{together}{}.",
        counted(job.matched as u64, "collective"),
        pattern.unwrap_or_default()
    )));
    if across.why.is_empty() {
        out.push_str(&sentence("Nobody was charged in the judged steps."));
        return;
    }
    let mut t = Table::new(&[
        "rank",
        "<host",
        "last",
        "shared",
        "cost",
        "each",
        "late steps",
        "waited",
        "<why",
        "<verdict of the rank",
    ]);
    for (place, why) in &across.why {
        let row = &across.rows[*place];
        let l = &job.late[*place];
        let host = row.host.as_deref().unwrap_or("-");
        let why = why.cause.map_or("cannot be told", LateCause::key);
        t.row(vec![
            row.rank.to_string(),
            first_line(host),
            l.last.to_string(),
            l.last_shared.to_string(),
            ms(l.cost),
            each(l),
            l.late_steps.to_string(),
            ms(l.waited),
            why.to_owned(),
            across.verdict(*place).kind().key().to_owned(),
        ]);
    }
    out.push_str(&t.render());
    out.push_str(&sentence(
        "last: collectives to which it came last alone. cost: what the others waited for it there. each: of one of those. waited: what it waited itself.",
    ));
}

/// What one lateness of a rank costs; a dash for none.
fn each(l: &LateRank) -> String {
    let n = i64::try_from(l.last + l.last_shared).unwrap_or(i64::MAX);
    match n {
        0 => "-".to_owned(),
        n => ms(l.cost / n),
    }
}

/// The hosts whose GPUs wait most for data.
fn hosts(out: &mut String, across: &Across) {
    let hosts = across.hosts();
    let known = hosts.iter().filter(|h| h.wait.is_some());
    let known: Vec<_> = known.collect();
    if known.is_empty() {
        return;
    }
    out.push_str("\nWaiting for data by host, in ms a judged step\n");
    let mut t = Table::new(&["host", "ranks", "exposed", "waited"]);
    let mean = |ns: Option<i64>| ns.map_or_else(|| "unknown".to_owned(), ms);
    for h in known.iter().take(LISTED) {
        t.row(vec![
            h.host
                .as_deref()
                .map_or_else(|| "not recorded".to_owned(), first_line),
            h.ranks.to_string(),
            mean(h.mean_exposed()),
            mean(h.mean_wait()),
        ]);
    }
    out.push_str(&t.render());
    more(out, known.len(), "host");
}

fn more(out: &mut String, all: usize, what: &str) {
    if all > LISTED {
        let rest = counted((all - LISTED) as u64, &format!("more {what}"));
        out.push_str(&sentence(&format!("{rest}: see --json.")));
    }
}

/// The steps that took longest.
fn worst(out: &mut String, across: &Across) {
    let Some(first) = across.worst.first() else {
        return;
    };
    out.push_str("\nLongest steps, in ms\n");
    let mut t = Table::new(&["step", "longest", "above the median", "late rank", "<why"]);
    for w in &across.worst {
        let why = match (w.late, w.cause) {
            (None, _) => "-",
            (Some(_), None) => "cannot be told",
            (Some(_), Some(cause)) => cause.key(),
        };
        t.row(vec![
            w.number.to_string(),
            ms(w.time),
            percent(w.time - w.median, w.median),
            w.late
                .map_or("-".to_owned(), |p| across.rows[p].rank.to_string()),
            why.to_owned(),
        ]);
    }
    out.push_str(&t.render());
    let by = match across.columns.stated {
        true => "",
        false => {
            " The ranks do not all number their steps: they are counted from the first one of each."
        }
    };
    let median = about_ns(first.median);
    out.push_str(&sentence(&format!(
        "Each on the rank where it took longest; the median of all steps is {median}.{by}"
    )));
}

/// Texts from files may hold anything: what of them goes into a line.
fn first_line(text: &str) -> String {
    printable(text.lines().next().unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_ranks_are_told_as_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 5, 8, 9]), "0–2, 5, 8, 9");
        let odd: Vec<u32> = (0..60).map(|i| 2 * i).collect();
        assert!(ranges(&odd).ends_with("18 and 50 more"));
    }
}
