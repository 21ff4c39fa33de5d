//! `stallscope report --by name`: which names take the time, by layer.

use std::io::Write;

use super::super::CliError;
use super::super::analyse::Analysed;
use super::super::args::Report;
use super::super::by::Key;
use super::super::rows;
use super::super::table::{ms, printable};
use super::{head, heading, say};
use crate::analysis::{LayerId, NameTime, Scope, counted};
use crate::columns::{NAME_TIME, Output, Value, shown};
use crate::export;

/// Names of a layer that are listed as text, unless another number was asked for.
const LISTED: usize = 20;

/// The rows of one layer, most own time first.
struct Group<'a> {
    layer: LayerId,
    rows: Vec<&'a NameTime>,
    /// Rows that are not listed.
    left_out: usize,
}

/// Prints the table.
pub fn run(a: &Analysed, args: &Report, by: Key, out: &mut dyn Write) -> Result<u8, CliError> {
    let Key::Name = by;
    let mut names = names(a);
    if let Some(layer) = &args.by.layer {
        let wanted = layers(a, &names, layer)?;
        names.retain(|n| wanted.contains(&n.layer));
    }
    let as_text = !args.json && !args.csv;
    let most = args
        .by
        .top
        .map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    let most = most.unwrap_or(if as_text { LISTED } else { usize::MAX });
    let groups = grouped(&names, most);
    if as_text {
        let mut text = String::new();
        head::title(&mut text, a);
        tables(&mut text, a, &groups);
        out.write_all(text.as_bytes())?;
        return Ok(0);
    }
    let listed = groups.iter().flat_map(|g| &g.rows).copied();
    if args.csv {
        let columns = shown(NAME_TIME, Output::Csv, "layer name");
        export::rows::csv(out, &a.analysis, &columns, listed)?;
        return Ok(0);
    }
    let left_out = groups.iter().map(|g| g.left_out).sum();
    let value = export::names::names(&a.analysis, a.window, a.number(), listed, left_out);
    let text = serde_json::to_string_pretty(&value).map_err(std::io::Error::from)?;
    writeln!(out, "{text}")?;
    Ok(0)
}

/// The layers of a name: itself, or those that it begins.
fn layers(a: &Analysed, names: &[NameTime], wanted: &str) -> Result<Vec<LayerId>, CliError> {
    let infos = a.analysis.layers().infos();
    let fits = |name: &str| {
        let rest = name.strip_prefix(wanted);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let found: Vec<LayerId> = (0..)
        .map(LayerId)
        .zip(infos)
        .filter(|(_, info)| fits(&info.name))
        .map(|(id, _)| id)
        .collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let mut there: Vec<&str> = names
        .iter()
        .map(|n| infos[n.layer.index()].name.as_str())
        .collect();
    there.sort_unstable();
    there.dedup();
    Err(CliError::Usage(format!(
        "There is no layer `{}`; here are: {}.",
        printable(wanted),
        match there.is_empty() {
            true => "none".to_owned(),
            false => printable(&there.join(", ")),
        }
    )))
}

/// By layer, most own time first; of each the first `most` names.
fn grouped(names: &[NameTime], most: usize) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in names {
        let at = groups.iter().position(|g| g.layer == row.layer);
        let at = at.unwrap_or_else(|| {
            groups.push(Group {
                layer: row.layer,
                rows: Vec::new(),
                left_out: 0,
            });
            groups.len() - 1
        });
        let group = &mut groups[at];
        if group.rows.len() < most {
            group.rows.push(row);
        } else {
            group.left_out += 1;
        }
    }
    let own = |g: &Group<'_>| g.rows.first().map(|r| r.layer_own);
    groups.sort_by_key(|g| (std::cmp::Reverse(own(g)), g.layer));
    groups
}

/// The table as a part of the report.
pub fn part(out: &mut String, a: &Analysed) {
    tables(out, a, &grouped(&names(a), LISTED));
}

fn names(a: &Analysed) -> Vec<NameTime> {
    let scope = a.rank.map_or(Scope::All, Scope::Rank);
    a.analysis.names(a.window, scope)
}

fn tables(out: &mut String, a: &Analysed, groups: &[Group<'_>]) {
    if groups.is_empty() {
        say(out, "No span is there.");
        return;
    }
    for group in groups {
        let info = a.analysis.layers().info(group.layer);
        let names = (group.rows.len() + group.left_out) as u64;
        let own = group.rows.first().map_or(0, |r| r.layer_own);
        let title = printable(&info.title);
        let key = printable(&info.name);
        let head = format!(
            "{title} ({key}): {}, {} ms",
            counted(names, "name"),
            ms(own)
        );
        heading(out, &head);
        let mut columns = shown(NAME_TIME, Output::Text, "");
        // A column in which nothing is known says nothing.
        columns.retain(|c| {
            let unknown = |r: &&NameTime| c.value(&a.analysis, r) == Value::Time(None);
            !group.rows.iter().all(unknown)
        });
        let t = rows::table(&a.analysis, &columns, group.rows.iter().copied(), |_, _| {});
        out.push_str(&t.render());
        if group.left_out > 0 {
            let more = counted(group.left_out as u64, "more name");
            say(out, &format!("and {more}; --by name --top N lists more"));
        }
    }
    out.push('\n');
    let notes = [
        "self: total without direct children, which are spans of the same lane inside. It adds up over the names of a lane.",
        "total: inside the range, summed over lanes; spans in each other count each. mean, p95 and max are of whole spans.",
    ];
    for note in notes {
        say(out, note);
    }
    let idle = |r: &&NameTime| r.gpu_idle.is_some();
    if groups.iter().flat_map(|g| &g.rows).any(idle) {
        let note = "GPU idle: of the total, while the GPU of the rank had nothing to do.";
        say(out, note);
    }
}
