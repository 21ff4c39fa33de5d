//! `stallscope compare`: recordings before and after a change, as text, JSON or CSV.

use std::io::Write;
use std::path::PathBuf;

use super::CliError;
use super::args::{Compare, Percent, Scope};
use super::recordings::{self, Recorded};
use super::style::{Style, Tone};
use super::table::{ms, printable, sentence, shorten};
use crate::analysis::compare::{
    Answer, CompareOptions, Comparison, Effect, KernelRow, Kernels, Presence, RankComparison,
    Reason, StepShare, Wording, compare,
};
use crate::analysis::part_title;
use crate::export::comparison;

/// Kernels of the text.
const KERNELS: usize = 10;
/// Characters of their names.
const NAME: usize = 56;

/// Runs the command.
pub fn run(args: &Compare, out: &mut dyn Write) -> Result<u8, CliError> {
    let [before, after] = sides(args)?;
    let scope = Scope {
        rank: args.rank,
        rules: args.rules.clone(),
        ..Scope::default()
    };
    let read = |side: &[PathBuf]| {
        let all = side.iter().map(|p| Recorded::read(p, &args.open, &scope));
        all.collect::<Result<Vec<_>, CliError>>()
    };
    let own = [read(&before)?, read(&after)?];
    let (sides, alike) = recordings::settle(own, args.steps, &args.open, &scope)?;
    let limit = StepShare {
        num: args.limit.0,
        den: Percent::WHOLE,
    };
    let [b, a] = sides.each_ref().map(|s| recordings::recordings(s));
    let found = compare(&b, &a, &CompareOptions { limit, alike });
    let name = |p: &PathBuf| p.display().to_string();
    let [b, a] = [&before, &after].map(|s| s.iter().map(name).collect::<Vec<String>>());
    if args.json {
        let value = comparison::comparison(&found, &b, &a);
        let text = serde_json::to_string_pretty(&value).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else if args.csv {
        comparison::csv(&found, out)?;
    } else {
        out.write_all(text(&found, &b, &a).as_bytes())?;
    }
    Ok(0)
}

/// The recordings of each side.
fn sides(args: &Compare) -> Result<[Vec<PathBuf>; 2], CliError> {
    match (args.before.as_slice(), args.after.as_slice()) {
        ([before, after], []) => Ok([vec![before.clone()], vec![after.clone()]]),
        (_, []) => Err(CliError::Usage(
            "compare needs two recordings, BEFORE AFTER, or several of each: BEFORE… --after AFTER…"
                .to_owned(),
        )),
        (before, after) => Ok([before.to_vec(), after.to_vec()]),
    }
}

fn text(found: &Comparison, before: &[String], after: &[String]) -> String {
    let mut out = String::new();
    for (side, names) in [("before", before), ("after", after)] {
        for name in names {
            out.push_str(&format!("{side:<7} {}\n", printable(name)));
        }
    }
    out.push('\n');
    let headline = sentence(&printable(&found.headline()));
    out.push_str(&Style::out().paint(Tone::Headline, &headline));
    if found.refused.is_some() {
        return out;
    }
    if let Some(text) = found.between_text() {
        out.push_str(&sentence(text));
    }
    if found.job.is_some() {
        for rank in &found.ranks {
            out.push_str(&sentence(&rank.line()));
        }
    }
    for rank in &found.ranks {
        rank_text(&mut out, found, rank);
    }
    notes(&mut out, found);
    out
}

fn rank_text(out: &mut String, found: &Comparison, rank: &RankComparison) {
    let wording = rank.figures.first().map(|f| found.wording(f));
    let wording = wording.unwrap_or(Wording {
        step: 0,
        limit: found.limit,
    });
    out.push_str(&format!(
        "\nRank {}: medians over {} before and {} after, in ms\n",
        rank.rank,
        rank.judged(0),
        rank.judged(1),
    ));
    let cell = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), ms);
    let mut rows = vec![["", "before", "after", ""].map(str::to_owned)];
    for f in &rank.figures {
        let name = match f.name.strip_prefix("part.") {
            Some(part) => format!("  {}", part_title(part)),
            None => column_title(&f.name).to_owned(),
        };
        rows.push([name, cell(f.before), cell(f.after), wording.answer(f)]);
    }
    out.push_str(&aligned(&rows));
    if let Some(d) = &rank.decomposition {
        let text = d.text();
        let ahead = rank
            .figures
            .iter()
            .any(|f| f.reason == Some(Reason::RunsAhead));
        let chance = match (ahead, text.contains('≈')) {
            (true, _) => " (on the CPU's clock, whose steps end before their GPU work does)",
            (false, true) => " (≈ may be chance)",
            (false, false) => "",
        };
        out.push_str(&sentence(&format!("{text}{chance}.")));
    }
    if let Some(kernels) = &rank.kernels {
        kernels_text(out, rank, kernels, wording);
    }
    for (side, headline) in ["before", "after"].iter().zip(&rank.headlines) {
        if !headline.is_empty() {
            out.push_str(&sentence(&format!("{side}: {}", printable(headline))));
        }
    }
}

/// A name, two numbers and what is said of them, which may be longer than a line.
fn aligned(rows: &[[String; 4]]) -> String {
    let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
    let [name, before, after] = [0, 1, 2].map(width);
    let mut out = String::new();
    for [a, b, c, said] in rows {
        let line = format!("  {a:name$}  {b:>before$}  {c:>after$}  {said}");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The words for a column of steps.
fn column_title(name: &str) -> &str {
    match name {
        "wait" => "wait for data",
        "wait_exposed" => "  exposed",
        "wait_hidden" => "  hidden",
        "gpu_busy" => "GPU busy",
        "gpu_idle" => "GPU idle",
        "launched" => "GPU work launched",
        "in_sync" => "in synchronising calls",
        other => other,
    }
}

fn kernels_text(out: &mut String, rank: &RankComparison, kernels: &Kernels, wording: Wording) {
    if !kernels.one_program() || kernels.rows.is_empty() {
        return;
    }
    out.push_str("\nKernels by name, ms per step (concurrent ones count each)\n");
    let per_step = |row: &KernelRow, side: usize| {
        let steps = rank.steps[side].max(1) as i128;
        let mean = (2 * i128::from(row.time[side]) + steps).div_euclid(2 * steps);
        match row.count[side] {
            0 => "-".to_owned(),
            _ => ms(i64::try_from(mean).unwrap_or(i64::MAX)),
        }
    };
    let mut rows = vec![["", "before", "after", ""].map(str::to_owned)];
    for row in kernels.rows.iter().take(KERNELS) {
        let said = match (row.state, &row.figure) {
            (Presence::New, _) => "new".to_owned(),
            (Presence::Gone, _) => "gone".to_owned(),
            (Presence::Both, Some(f)) => wording.answer(f),
            (Presence::Both, None) => String::new(),
        };
        let name = shorten(&printable(&row.name), NAME);
        rows.push([name, per_step(row, 0), per_step(row, 1), said]);
    }
    out.push_str(&aligned(&rows));
    let more = kernels.rows.len().saturating_sub(KERNELS);
    let surely = |r: &&KernelRow| r.answer().is_some_and(Answer::is_change);
    let changed = kernels.rows.iter().skip(KERNELS).filter(surely).count();
    if more > 0 {
        out.push_str(&sentence(&format!(
            "{more} more in --json, {changed} of them changed."
        )));
    }
}

fn notes(out: &mut String, found: &Comparison) {
    let mut say = |text: &str| {
        out.push('\n');
        out.push_str(&sentence(&format!("Note: {}", printable(text))));
    };
    if let Some(text) = found.steps_text() {
        say(&text);
    }
    for unlike in found
        .unlike
        .iter()
        .filter(|u| u.what.effect() != Effect::Refuse)
    {
        say(&found.unlike_text(unlike));
    }
    for (side, ranks) in ["before", "after"].iter().zip(&found.ranks_only) {
        if !ranks.is_empty() {
            let all: Vec<String> = ranks.iter().map(u32::to_string).collect();
            say(&format!("Ranks only {side}: {}.", all.join(", ")));
        }
    }
}
