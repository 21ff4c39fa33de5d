//! Tables of rows by their columns: headings with their meaning, cells with the exact number beside the rounded one.

use super::page::Page;
use crate::analysis::{Analysis, LayerId, ratio, round6};
use crate::columns::{Column, Output, Unit as Counted, Value, shown};
use crate::time::{Unit, format_count};
use crate::view::format_value;

/// A cell.
pub(super) enum Cell {
    /// Not known, or there is none.
    None,
    /// A number: exact, and as shown.
    Number(String, String),
    /// A text.
    Text(String),
}

impl Cell {
    /// A time in ms.
    pub(super) fn time(ns: Option<i64>) -> Self {
        ns.map_or(Self::None, |ns| {
            Self::Number(ns.to_string(), Unit::Ms.format(ns, 3))
        })
    }

    /// A number of things.
    pub(super) fn count(n: u64) -> Self {
        Self::Number(n.to_string(), format_count(n))
    }

    /// Part of a whole.
    pub(super) fn share(part: i64, whole: i64) -> Self {
        ratio(part, whole).map(round6).map_or(Self::None, |share| {
            Self::Number(share.to_string(), format!("{:.1} %", share * 100.0))
        })
    }
}

/// A heading, and what it means.
pub(super) struct Head<'a> {
    pub title: Cow<'a>,
    pub help: &'a str,
    pub text: bool,
}

type Cow<'a> = std::borrow::Cow<'a, str>;

impl<'a> Head<'a> {
    /// Of numbers.
    pub(super) fn number(title: &'a str) -> Self {
        Self {
            title: title.into(),
            help: "",
            text: false,
        }
    }

    /// Of texts.
    pub(super) fn text(title: &'a str) -> Self {
        Self {
            text: true,
            ..Self::number(title)
        }
    }
}

/// Writes a table: rows, and below them those of the foot.
pub(super) fn plain(
    page: &mut Page<'_>,
    caption: &str,
    heads: &[Head<'_>],
    rows: &[Vec<Cell>],
    foot: &[Vec<Cell>],
) {
    page.raw("<div class=\"table\"><table>\n");
    page.element("caption", caption);
    page.raw("<thead><tr>");
    for head in heads {
        let class = if head.text { "t" } else { "n" };
        page.raw(&format!("<th scope=\"col\" class=\"{class}\""));
        if !head.help.is_empty() {
            page.raw(" title=\"");
            page.text(head.help);
            page.raw("\"");
        }
        page.raw(">");
        page.text(&head.title);
        page.raw("</th>");
    }
    page.raw("</tr></thead>\n<tbody>\n");
    for row in rows {
        line(page, heads, row);
    }
    page.raw("</tbody>\n");
    if !foot.is_empty() {
        page.raw("<tfoot>\n");
        for row in foot {
            line(page, heads, row);
        }
        page.raw("</tfoot>\n");
    }
    page.raw("</table></div>\n");
}

fn line(page: &mut Page<'_>, heads: &[Head<'_>], row: &[Cell]) {
    page.raw("<tr>");
    for (place, (head, cell)) in heads.iter().zip(row).enumerate() {
        let class = if head.text { "t" } else { "n" };
        // What a row is about.
        let (open, close) = match place {
            0 => (format!("<th scope=\"row\" class=\"{class}\">"), "</th>"),
            _ => (format!("<td class=\"{class}\">"), "</td>"),
        };
        page.raw(&open);
        match cell {
            Cell::None => page.raw("–"),
            Cell::Number(exact, shown) => {
                page.raw(&format!("<data value=\"{exact}\">{shown}</data>"));
            }
            Cell::Text(text) => page.text(text),
        }
        page.raw(close);
    }
    page.raw("</tr>\n");
}

/// The columns that the window shows, `first` ones first, but those in which nothing is known of any row.
pub(super) fn columns<R>(
    analysis: &Analysis,
    table: &'static [Column<R>],
    first: &str,
    rows: &[&R],
) -> Vec<&'static Column<R>> {
    let mut columns = shown(table, Output::Panel, first);
    columns.retain(|c| {
        let known = |row: &&R| !matches!(cell(analysis, c.value(analysis, row)), Cell::None);
        rows.iter().any(known)
    });
    columns
}

/// The headings of columns, with the unit of times.
pub(super) fn heads<R>(columns: &[&'static Column<R>]) -> Vec<Head<'static>> {
    let head = |c: &&'static Column<R>| Head {
        title: match (c.unit(), c.is_text()) {
            (Counted::Ns, false) => format!("{}, ms", c.title).into(),
            _ => c.title.into(),
        },
        help: c.help,
        text: c.is_text(),
    };
    columns.iter().map(head).collect()
}

/// The cells of a row.
pub(super) fn cells<R>(analysis: &Analysis, columns: &[&Column<R>], row: &R) -> Vec<Cell> {
    let one = |c: &&Column<R>| cell(analysis, c.value(analysis, row));
    columns.iter().map(one).collect()
}

/// Rows by their columns, and what those mean.
pub(super) fn rows<R>(
    page: &mut Page<'_>,
    analysis: &Analysis,
    caption: &str,
    columns: &[&'static Column<R>],
    rows: &[&R],
) {
    let cells: Vec<Vec<Cell>> = rows.iter().map(|r| cells(analysis, columns, r)).collect();
    plain(page, caption, &heads(columns), &cells, &[]);
    meanings(page, columns);
}

/// What columns mean, folded.
pub(super) fn meanings<R>(page: &mut Page<'_>, columns: &[&'static Column<R>]) {
    page.raw("<details class=\"help\"><summary>What the columns mean</summary><dl>\n");
    for column in columns {
        page.element("dt", column.title);
        page.element("dd", column.help);
    }
    page.raw("</dl></details>\n");
}

fn cell(analysis: &Analysis, value: Value<'_>) -> Cell {
    let decimal = |x: Option<f64>| {
        x.map_or(Cell::None, |x| {
            Cell::Number(round6(x).to_string(), format!("{x:.1}"))
        })
    };
    let phase = |phase: Option<LayerId>| match phase {
        Some(layer) => analysis.layers().info(layer).title.clone(),
        None => "no phase".to_owned(),
    };
    match value {
        Value::Time(ns) => Cell::time(ns),
        Value::Mean(ns) => Cell::time(ns.and_then(crate::export::rows::whole)),
        Value::Count(n) => n.map_or(Cell::None, Cell::count),
        Value::Bytes(n) => n.map_or(Cell::None, |n| {
            Cell::Number(n.to_string(), format_value(n as f64) + "B")
        }),
        Value::Average(x) | Value::Rate(x) => decimal(x),
        Value::Share(part, whole) => Cell::share(part, whole),
        Value::Text(text) => text.map_or(Cell::None, |t| Cell::Text(t.into_owned())),
        Value::Phase(layer) => Cell::Text(phase(layer)),
        Value::Phases(parts) => {
            let part =
                |&(layer, ns): &(_, i64)| format!("{} {}", phase(layer), Unit::Ms.format(ns, 3));
            let parts: Vec<String> = parts.iter().map(part).collect();
            Cell::Text(parts.join(", "))
        }
        Value::Flag(is) => Cell::Text(if is { "yes" } else { "no" }.to_owned()),
    }
}
