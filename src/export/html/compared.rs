//! Before and after a change: the sentence, where the step went, figures, kernels, and what is unlike.

use super::page::Page;
use super::table::{self, Cell, Head};
use super::{Before, HtmlInput, pictures};
use crate::analysis::compare::{
    Answer, Effect, KernelRow, Presence, RankComparison, Reason, Wording,
};
use crate::analysis::{counted, part_title};
use crate::time::format_count;

/// Rows of a table that are shown.
const SHOWN: usize = 50;
/// Ranks that are described one by one.
const IN_FULL: usize = 4;

/// The comparison.
pub(super) fn compared(page: &mut Page<'_>, input: &HtmlInput<'_>, before: &Before<'_>) {
    let found = before.found;
    page.section("compared", "Before and after");
    let severity = match found.question().map(|q| q.answer) {
        Some(answer) if answer.is_change() => "warning",
        _ => "",
    };
    page.raw(&format!("<div class=\"verdict {severity}\">\n"));
    let [old, new] = before.names;
    page.element("h3", &format!("Before: {old} · After: {new}"));
    page.element("p class=\"said\"", &found.headline());
    if found.refused.is_some() {
        return page.raw("</div>\n</section>\n");
    }
    page.say(found.between_text().unwrap_or_default());
    if found.job.is_some() {
        page.raw("<ul>\n");
        for rank in &found.ranks {
            page.element("li", &rank.line());
        }
        page.raw("</ul>\n");
    }
    page.raw("</div>\n");
    pictures::comparison(page, input, before);
    for rank in found.ranks.iter().take(IN_FULL) {
        rank_of(page, before, rank);
    }
    if found.ranks.len() > IN_FULL {
        let all = counted(found.ranks.len() as u64, "rank");
        page.say(&format!("{IN_FULL} of {all} shown."));
    }
    let mut notes: Vec<String> = found.steps_text().into_iter().collect();
    let unlike = found.unlike.iter();
    let unlike = unlike.filter(|u| u.what.effect() != Effect::Refuse);
    notes.extend(unlike.map(|u| found.unlike_text(u)));
    for (side, ranks) in ["before", "after"].iter().zip(&found.ranks_only) {
        if !ranks.is_empty() {
            let all: Vec<String> = ranks.iter().map(u32::to_string).collect();
            notes.push(format!("Ranks only {side}: {}.", all.join(", ")));
        }
    }
    for note in notes {
        page.say(&format!("Note: {note}"));
    }
    page.raw("</section>\n");
}

fn rank_of(page: &mut Page<'_>, before: &Before<'_>, rank: &RankComparison) {
    let found = before.found;
    let wording = rank.figures.first().map(|f| found.wording(f));
    let wording = wording.unwrap_or(Wording {
        step: 0,
        limit: found.limit,
    });
    let rows = rank.figures.iter().map(|f| {
        let name = Cell::Text(match f.name.strip_prefix("part.") {
            Some(part) => format!("· {}", part_title(part)),
            None => figure_title(&f.name).to_owned(),
        });
        let said = Cell::Text(wording.answer(f));
        vec![name, Cell::time(f.before), Cell::time(f.after), said]
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let heads = heads("Figure");
    let caption = format!(
        "Rank {}: medians over {} before and {} after; · is a part of the step",
        rank.rank,
        rank.judged(0),
        rank.judged(1)
    );
    if let Some(d) = &rank.decomposition {
        let text = d.text();
        let mut figures = rank.figures.iter();
        let ahead = figures.any(|f| f.reason == Some(Reason::RunsAhead));
        let chance = match (ahead, text.contains('≈')) {
            (true, _) => " (on the CPU's clock, whose steps end before their GPU work does)",
            (false, true) => " (≈ may be chance)",
            (false, false) => "",
        };
        page.say(&format!("{text}{chance}."));
    }
    table::plain(page, &caption, &heads, &rows, &[]);
    kernels(page, rank, wording);
    for (side, headline) in ["before", "after"].iter().zip(&rank.headlines) {
        if !headline.is_empty() {
            page.say(&format!("{side}: {headline}"));
        }
    }
}

fn heads(of: &str) -> [Head<'_>; 4] {
    let said = Head::text("What may be said");
    let [before, after] = ["Before, ms", "After, ms"].map(Head::number);
    [Head::text(of), before, after, said]
}

/// The words for a column of steps.
fn figure_title(name: &str) -> &str {
    match name {
        "wait" => "wait for data",
        "wait_exposed" => "wait, exposed",
        "wait_hidden" => "wait, hidden",
        "gpu_busy" => "GPU busy",
        "gpu_idle" => "GPU idle",
        "launched" => "GPU work launched",
        "in_sync" => "in synchronising calls",
        other => other,
    }
}

fn kernels(page: &mut Page<'_>, rank: &RankComparison, wording: Wording) {
    let Some(kernels) = &rank.kernels else {
        return;
    };
    if !kernels.one_program() || kernels.rows.is_empty() {
        return;
    }
    let per_step = |row: &KernelRow, side: usize| {
        let steps = rank.steps[side].max(1) as i128;
        let mean = (2 * i128::from(row.time[side]) + steps).div_euclid(2 * steps);
        let known = row.count[side] > 0;
        Cell::time(i64::try_from(mean).ok().filter(|_| known))
    };
    let row = |row: &KernelRow| {
        let said = match (row.state, &row.figure) {
            (Presence::New, _) => "new".to_owned(),
            (Presence::Gone, _) => "gone".to_owned(),
            (Presence::Both, Some(f)) => wording.answer(f),
            (Presence::Both, None) => String::new(),
        };
        let name = Cell::Text(row.name.clone());
        vec![name, per_step(row, 0), per_step(row, 1), Cell::Text(said)]
    };
    let rows: Vec<Vec<Cell>> = kernels.rows.iter().take(SHOWN).map(row).collect();
    let surely = |r: &&KernelRow| r.answer().is_some_and(Answer::is_change);
    let changed = kernels.rows.iter().skip(SHOWN).filter(surely).count();
    let cut = match kernels.rows.len() > SHOWN {
        true => format!(
            " {SHOWN} of {} shown; {changed} of the others changed.",
            format_count(kernels.rows.len() as u64)
        ),
        false => String::new(),
    };
    let caption = format!("Kernels by name, per step; concurrent ones count each.{cut}");
    table::plain(page, &caption, &heads("Kernel"), &rows, &[]);
}
