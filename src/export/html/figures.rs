//! The tables of the page: parts of a step and steps, waits with their causes, names, ranks.

use super::HtmlInput;
use super::page::Page;
use super::pictures::{NAMES, WIDTH, of_list};
use super::table::{self, Cell, Head};
use crate::analysis::{
    ColumnSummary, LayerClass, NameTime, Scope, StepRow, WaitRow, WorkerRow, counted, part_title,
};
use crate::columns::{Column, NAME_TIME, RANK, STEP, WAIT, WORKER, is_empty_phase};
use crate::time::{format_count, format_ns};
use crate::view::{StepsInput, steps_picture};

/// Rows of a table that are shown.
const SHOWN: usize = 50;
/// Ranks that are described one by one.
const IN_FULL: usize = 4;

/// `50 of 1,204 shown.`, where not all are.
fn cut(all: usize) -> String {
    match all > SHOWN {
        true => format!(" {SHOWN} of {} shown.", format_count(all as u64)),
        false => String::new(),
    }
}

/// The ranks that are described one by one; says how many are not.
fn in_full(page: &mut Page<'_>, input: &HtmlInput<'_>) -> Vec<usize> {
    let mut ranks = input.ranks();
    if ranks.len() > IN_FULL {
        page.say(&format!(
            "{IN_FULL} of {} shown; a report with --rank N is of one of them.",
            counted(ranks.len() as u64, "rank")
        ));
        ranks.truncate(IN_FULL);
    }
    ranks
}

/// The mean step in parts, all steps as columns, and their table.
pub(super) fn steps(page: &mut Page<'_>, input: &HtmlInput<'_>) {
    page.section("steps", "Steps");
    for rank in in_full(page, input) {
        steps_of(page, input, rank);
    }
    page.raw("</section>\n");
}

fn steps_of(page: &mut Page<'_>, input: &HtmlInput<'_>, rank: usize) {
    let a = input.analysis;
    let (rows, partial) = a.step_rows(rank, input.window);
    if a.ranks().len() > 1 {
        page.element("h3", &format!("Rank {}", a.ranks()[rank].rank));
    }
    if rows.is_empty() {
        return page.say("No steps: there are no ProfilerStep, NVTX or step spans, and no batch waits to derive them from.");
    }
    let n = counted(rows.len() as u64, "step");
    let mut about = format!("{n} ({}).", a.ranks()[rank].steps_how.text());
    if partial > 0 {
        about.push_str(&format!(" {partial} more only partly in the window."));
    }
    page.say(&about);
    if let Some(pace) = a.pace(&a.judged(rank, input.window)) {
        page.say(&pace.text());
    }
    if let Some(parts) = a.step_parts(rank, input.window) {
        let clock = match a.ranks()[rank].gpu {
            Some(_) => "what the GPU did and what kept it idle",
            None => "what the loop's thread was in",
        };
        let caption = format!("The mean judged step by {clock}; the same of all whole steps.");
        of_list(page, &caption, |theme| {
            Some(steps_picture(&StepsInput {
                parts: &parts,
                theme,
                width: WIDTH as f32,
                header_width: NAMES,
            }))
        });
        if let Some(mean) = parts.mean() {
            let row = |(name, ns): (&str, i64)| {
                let name = Cell::Text(part_title(name).to_owned());
                vec![name, Cell::time(Some(ns)), Cell::share(ns, mean)]
            };
            let rows: Vec<Vec<Cell>> = parts.mean_parts().into_iter().map(row).collect();
            let total = row(("mean step", mean));
            let n = counted(parts.judged().count() as u64, "judged step");
            let caption = format!("Parts of the mean step: {n}");
            let heads = [
                Head::text("Part"),
                Head::number("Mean, ms"),
                Head::number("Of the step"),
            ];
            table::plain(page, &caption, &heads, &rows, &[total]);
        }
    }
    let first = "short time wait wait_exposed wait_hidden";
    let mut columns = table::columns(a, STEP, first, &rows);
    columns.retain(|c| !is_empty_phase(c, a, rows.iter().copied()) && c.key != "rank");
    let shown = &rows[..rows.len().min(SHOWN)];
    let cells = |row: &&StepRow| {
        let mut cells = table::cells(a, &columns, *row);
        if let (true, Some(Cell::Text(name))) = (row.first, cells.first_mut()) {
            name.push_str(" (first)");
        }
        cells
    };
    let cells: Vec<Vec<Cell>> = shown.iter().map(cells).collect();
    type Pick = fn(&ColumnSummary) -> Option<i64>;
    let summaries: [(&str, Pick); 3] = [
        ("median", |s| s.median),
        ("p95", |s| s.p95),
        ("max", |s| s.max),
    ];
    let foot = |(name, pick): (&str, Pick)| {
        let of = |c: &&'static Column<StepRow>| {
            let values = rows.iter().filter_map(|row| c.time(a, row));
            Cell::time(pick(&ColumnSummary::of(values)))
        };
        let others = columns[1..].iter().map(of);
        std::iter::once(Cell::Text(name.to_owned()))
            .chain(others)
            .collect()
    };
    let foot: Vec<Vec<Cell>> = summaries.into_iter().map(foot).collect();
    page.raw("<details open=\"\"><summary>All steps as a table</summary>\n");
    let caption = format!(
        "Steps; the last lines are of all of them.{}",
        cut(rows.len())
    );
    table::plain(page, &caption, &table::heads(&columns), &cells, &foot);
    table::meanings(page, &columns);
    page.raw("</details>\n");
}

/// What the loop waited for, and why.
pub(super) fn waits(page: &mut Page<'_>, input: &HtmlInput<'_>) {
    let a = input.analysis;
    page.section("waits", "Waiting for data");
    for rank in in_full(page, input) {
        if a.ranks().len() > 1 {
            page.element("h3", &format!("Rank {}", a.ranks()[rank].rank));
        }
        waits_of(page, input, rank);
        workers(page, input, rank);
    }
    page.raw("</section>\n");
}

fn waits_of(page: &mut Page<'_>, input: &HtmlInput<'_>, rank: usize) {
    let (a, r) = (input.analysis, &input.analysis.ranks()[rank]);
    if r.loop_lane.is_none() {
        return page.say("No training loop was found.");
    }
    if r.wait.is_empty() {
        let most = r.fetch_elsewhere.iter().map(|f| f.n).max();
        return match most {
            Some(n) => page.say(&format!(
                "The loop's own waiting is not named: another thread fetched {n} batches."
            )),
            None => page.say("No batch waits were recognised."),
        };
    }
    let mut rows = a.wait_rows(Some(rank));
    rows.retain(|w| w.wait.range.overlaps(input.window));
    let total = r.wait.measure_in(input.window);
    let exposed = match r.gpu {
        Some(_) => format!(
            "{} of it exposed: the GPU had nothing to do",
            format_ns(r.wait_exposed.measure_in(input.window))
        ),
        None => "how much of it the GPU had nothing to do is not known".to_owned(),
    };
    page.say(&format!(
        "{} in {}; {exposed}.",
        format_ns(total),
        counted(r.wait.parts_in(input.window).len() as u64, "wait")
    ));
    if let Some(waiting) = a.why_waited(rank, input.window) {
        page.say(&a.waiting_text(rank, &waiting));
        page.say(&a.advice(rank, input.window, &waiting));
        let t = &waiting.totals;
        let row = |&(group, ns): &(crate::analysis::Group, i64)| {
            let judged = t.by_group_judged.iter().find(|g| g.0 == group);
            let judged = judged.map_or(0, |g| g.1);
            vec![
                Cell::Text(group.word().to_owned()),
                Cell::time(Some(ns)),
                Cell::time(Some(judged)),
                Cell::share(judged, t.judged),
            ]
        };
        let groups: Vec<Vec<Cell>> = t.by_group.iter().map(row).collect();
        if !groups.is_empty() {
            let heads = [
                Head::text("Spent on"),
                Head::number("All, ms"),
                Head::number("Judged, ms"),
                Head::number("Of judged"),
            ];
            let caption = "What the waiting was spent on";
            table::plain(page, caption, &heads, &groups, &[]);
        }
    }
    rows.sort_by_key(|w| {
        let cost = w.wait.exposed.unwrap_or(w.wait.range.len());
        (std::cmp::Reverse(cost), w.wait.range.start)
    });
    let all = rows.len();
    rows.truncate(SHOWN);
    let rows: Vec<&WaitRow> = rows.iter().collect();
    let mut columns = table::columns(a, WAIT, "", &rows);
    columns.retain(|c| c.key != "rank");
    let caption = format!("The longest waits.{}", cut(all));
    table::rows(page, a, &caption, &columns, &rows);
}

fn workers(page: &mut Page<'_>, input: &HtmlInput<'_>, rank: usize) {
    let a = input.analysis;
    let figures = a.workers(rank, input.window);
    let rows: Vec<&WorkerRow> = figures.rows.iter().take(SHOWN).collect();
    if rows.is_empty() {
        return;
    }
    let mut columns = table::columns(a, WORKER, "", &rows);
    columns.retain(|c| c.key != "rank");
    let caption = format!("Loading work by process.{}", cut(figures.rows.len()));
    table::rows(page, a, &caption, &columns, &rows);
}

/// What takes the time on the GPUs, and elsewhere.
pub(super) fn names(page: &mut Page<'_>, input: &HtmlInput<'_>) {
    use LayerClass::{GpuComm, GpuCompute, GpuCopy, GpuMark};
    let a = input.analysis;
    let all = a.names(input.window, input.rank.map_or(Scope::All, Scope::Rank));
    if all.is_empty() {
        return;
    }
    page.section("names", "What takes the time");
    let class = |n: &NameTime| a.layers().info(n.layer).class;
    let is_gpu = |n: &&NameTime| matches!(class(n), GpuCompute | GpuComm | GpuCopy);
    let is_cpu = |n: &&NameTime| !matches!(class(n), GpuCompute | GpuComm | GpuCopy | GpuMark);
    let gpu: Vec<&NameTime> = all.iter().filter(is_gpu).collect();
    let cpu: Vec<&NameTime> = all.iter().filter(is_cpu).collect();
    let lists = [
        ("Operations of the GPUs", gpu, " open=\"\""),
        ("Names of the CPU's lanes", cpu, ""),
    ];
    for (title, rows, open) in lists {
        if rows.is_empty() {
            continue;
        }
        page.raw(&format!("<details{open}>"));
        page.element("summary", title);
        let shown = &rows[..rows.len().min(SHOWN)];
        let mut columns = table::columns(a, NAME_TIME, "name title self share count", shown);
        columns.retain(|c| c.key != "longest");
        let caption = format!("{title} by name, most own time first.{}", cut(rows.len()));
        table::rows(page, a, &caption, &columns, shown);
        page.raw("</details>\n");
    }
    page.raw("</section>\n");
}

/// Ranks beside each other, and who was late.
pub(super) fn ranks(page: &mut Page<'_>, input: &HtmlInput<'_>) {
    let a = input.analysis;
    if a.ranks().len() < 2 || input.rank.is_some() {
        return;
    }
    page.section("ranks", "Ranks");
    let means = a.rank_table(input.window);
    let all: Vec<_> = means.rows.iter().collect();
    let shown = &all[..all.len().min(SHOWN)];
    let columns = table::columns(a, RANK, "", shown);
    let n = counted(means.common_steps as u64, "step");
    let caption = format!(
        "Means over {n} that all of them have.{}",
        cut(means.rows.len())
    );
    table::rows(page, a, &caption, &columns, shown);
    for job in a.jobs(input.window) {
        let mut late: Vec<_> = job.late.iter().filter(|l| l.last > 0).collect();
        late.sort_by_key(|l| (std::cmp::Reverse(l.cost), l.rank));
        let row = |l: &&crate::analysis::LateRank| {
            vec![
                Cell::count(a.ranks()[l.rank].rank.into()),
                Cell::count(l.last as u64),
                Cell::time(Some(l.cost)),
                Cell::time(Some(l.waited)),
                Cell::count(l.late_steps as u64),
            ]
        };
        let rows: Vec<Vec<Cell>> = late.iter().take(SHOWN).map(row).collect();
        if rows.is_empty() {
            continue;
        }
        let heads = [
            Head::number("Rank"),
            Head::number("Came last"),
            Head::number("Cost to others, ms"),
            Head::number("Waited for others, ms"),
            Head::number("Late steps"),
        ];
        let matched = counted(job.matched as u64, "matched collective");
        let caption = format!("Late ranks: {matched}.{}", cut(late.len()));
        table::plain(page, &caption, &heads, &rows, &[]);
    }
    page.raw("</section>\n");
}
