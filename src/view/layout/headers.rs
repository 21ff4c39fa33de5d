//! Lane names and what stands beside them: busy share or number of spans in the window.

use super::ctx::{Ctx, percent, text, text_right};
use super::lanes::Strip;
use super::place::target;
use crate::analysis::counted;
use crate::time::{TimeRange, format_count};
use crate::view::draw::{Font, Item, LaneNote, SectionKind, Target};
use crate::view::geom::{Point, Rect};
use crate::view::lod::{format_sample, value_at};
use crate::view::rows::{Busy, NodeId, NodeKind, Row, RowKind};

/// Left edge of outermost names, points.
const LEFT: f32 = 10.0;
/// Indentation per level, points.
const INDENT: f32 = 12.0;

/// Narrower names have nothing beside them, points.
const NARROW: f32 = 132.0;
/// Least height of a lane that has a name beside it, points.
const NAME_HEIGHT: f32 = 11.0;

/// Names of the rows of a strip.
pub(super) fn names(ctx: &mut Ctx<'_>, strip: &Strip<'_>) {
    let mut items = Vec::new();
    let clip = Rect::new(0.0, strip.area.y0, ctx.x0, strip.area.y1);
    let mut seen: Option<NodeId> = None;
    for (i, row) in strip.rows.iter().enumerate() {
        if seen == Some(row.node) {
            continue;
        }
        seen = Some(row.node);
        let last = strip.rows[i..]
            .iter()
            .take_while(|r| r.node == row.node)
            .last()
            .unwrap_or(row);
        let rect = Rect::new(
            0.0,
            row.y + strip.dy,
            ctx.x1(),
            last.y + last.height + strip.dy,
        );
        // A lane whose first rows are scrolled away keeps its name in view.
        let first = matches!(row.kind, RowKind::Lane { sub: 1.., .. });
        let y = if first {
            (strip.area.y0 + row.height / 2.0).min(rect.y1 - row.height / 2.0)
        } else {
            rect.y0 + row.height / 2.0
        };
        let shown = rect.clip(Rect {
            x0: 0.0,
            ..strip.area
        });
        let note = note(ctx, row.node, shown);
        // Where names have little room, they come first.
        let words = match ctx.x0 < NARROW {
            true => "",
            false => note.1.as_str(),
        };
        // Dense rows have no room for names: the pointer and readers get them.
        if rect.height() >= NAME_HEIGHT {
            name(ctx, row, y, words, &mut items);
            beside(ctx, words, y, &mut items);
        }
        ctx.list.lanes.push(note.0);
        target(
            ctx,
            Rect { x1: ctx.x0, ..rect },
            clip,
            Target::Header(row.node),
        );
    }
    ctx.section(SectionKind::Headers, clip, items);
}

/// Width of a character of small text on average, points.
const SMALL_ADVANCE: f32 = 5.7;

fn name(ctx: &Ctx<'_>, row: &Row, y: f32, beside: &str, out: &mut Vec<Item>) {
    let theme = ctx.input.theme;
    let tree = ctx.input.rows.tree();
    let node = tree.node(row.node);
    let x = LEFT + f32::from(node.depth) * INDENT;
    let group = node.kind.is_group();
    if group {
        let points = if row.kind == RowKind::Summary {
            [(x, y - 4.0), (x, y + 4.0), (x + 6.0, y)]
        } else {
            [(x - 1.0, y - 2.5), (x + 7.0, y - 2.5), (x + 3.0, y + 3.5)]
        };
        out.push(Item::Triangle {
            points: points.map(|(x, y)| Point::new(x, y)),
            color: theme.text,
        });
    }
    let quiet = matches!(
        node.kind,
        NodeKind::Quiet | NodeKind::Recorder | NodeKind::Marks
    );
    let (font, color) = match (group, quiet) {
        (true, false) => (Font::Strong, theme.text),
        (true, true) => (Font::Strong, theme.weak),
        _ => (Font::Body, theme.text),
    };
    let at = if group { x + 12.0 } else { x + 3.0 };
    let taken = match beside.chars().count() {
        0 => 0.0,
        n => n as f32 * SMALL_ADVANCE + 8.0,
    };
    let room = ctx.x0 - 10.0 - taken - at;
    let title = ctx.input.rows.title(row.node);
    // Collapsed, a GPU is one row of all that it does.
    let merged = matches!(node.kind, NodeKind::Gpu(_))
        && row.kind == RowKind::Summary
        && node.children.len() > 1;
    let title = match merged {
        true => format!("{title} · all streams"),
        false => title.to_owned(),
    };
    out.push(text((at, y), title, font, color, room));
}

fn beside(ctx: &Ctx<'_>, words: &str, y: f32, out: &mut Vec<Item>) {
    if words.is_empty() {
        return;
    }
    let color = ctx.input.theme.weak;
    let width = ctx.x0 * 0.6;
    out.push(text_right(
        (ctx.x0 - 10.0, y),
        words,
        Font::Small,
        color,
        width,
    ));
}

/// What a screen reader says about a lane, and what stands right of its name.
fn note(ctx: &Ctx<'_>, node: NodeId, rect: Rect) -> (LaneNote, String) {
    let input = ctx.input;
    let tree = input.rows.tree();
    let window = ctx.window.clip(input.trace.extent());
    let n = tree.node(node);
    match n.kind {
        NodeKind::Counter(i) => return counter_note(ctx, (node, i), rect),
        NodeKind::Instants(i) => return instants_note(ctx, (node, i), rect),
        _ => {}
    }
    let (busy, spans) = figures(ctx, node, window);
    let count = spans.map_or_else(String::new, format_count);
    let share = percent(busy, window.len());
    let beside = match n.kind {
        NodeKind::Gpu(_) => format!("busy {share}"),
        NodeKind::Leaf(_) if n.note == "loading" => format!("busy {share}"),
        NodeKind::Leaf(_) if n.note.is_empty() || n.note == "loop" => {
            if n.note.is_empty() {
                count.clone()
            } else {
                n.note.clone()
            }
        }
        NodeKind::Leaf(_) => format!("{} · {count}", n.note),
        NodeKind::Quiet => "< 0.1 % each".to_owned(),
        NodeKind::Process(_) => n.note.clone(),
        _ => String::new(),
    };
    let path = path(ctx, node);
    let text = match n.kind {
        NodeKind::Counters => path,
        _ if n.kind.is_group() => {
            let lanes = counted(tree.summary(node).lanes as u64, "lane");
            format!("{path}, busy {share}, {lanes}")
        }
        _ => {
            let spans = spans.map_or_else(String::new, |n| format!(", {}", counted(n, "span")));
            format!("{path}, busy {share}{spans}")
        }
    };
    let note = LaneNote {
        node,
        rect,
        text,
        busy: if window.is_empty() {
            0.0
        } else {
            busy as f64 / window.len() as f64
        },
        spans,
    };
    (note, beside)
}

/// From the node outwards, for screen readers.
fn path(ctx: &Ctx<'_>, node: NodeId) -> String {
    let mut path = ctx.input.rows.tree().path(node);
    if let Some(own) = path.last_mut() {
        *own = ctx.input.rows.title(node);
    }
    path.reverse();
    path.join(", ")
}

/// The value at the right edge of the window.
fn counter_note(ctx: &Ctx<'_>, (node, i): (NodeId, u32), rect: Rect) -> (LaneNote, String) {
    let counter = &ctx.input.trace.counters()[i as usize];
    let last = value_at(counter, ctx.window.end.saturating_sub(1));
    let words = last.map_or_else(
        || "no value yet".to_owned(),
        |value| format_sample(counter, value),
    );
    let note = LaneNote {
        node,
        rect,
        text: format!("{}, {words}", path(ctx, node)),
        busy: 0.0,
        spans: None,
    };
    (note, words)
}

/// How many instants show.
fn instants_note(ctx: &Ctx<'_>, (node, i): (NodeId, u32), rect: Rect) -> (LaneNote, String) {
    let trace = ctx.input.trace;
    let lod = ctx.input.rows.tree().lod();
    let row = &lod.instants()[i as usize];
    let first = row.before(trace, 0, ctx.window.start);
    let count = format_count(row.before(trace, first, ctx.window.end) as u64);
    let note = LaneNote {
        node,
        rect,
        text: format!("{}, {count} instants", path(ctx, node)),
        busy: 0.0,
        spans: None,
    };
    (note, count)
}

/// Busy time of a node in the window, ns: of a GPU that of its operations, of another group the time at which any of
/// its lanes is busy. And, of a lane, the number of spans.
fn figures(ctx: &Ctx<'_>, node: NodeId, window: TimeRange) -> (i64, Option<u64>) {
    let (trace, analysis) = (ctx.input.trace, ctx.input.analysis);
    let tree = ctx.input.rows.tree();
    let layers = analysis.layers();
    match tree.node(node).kind {
        NodeKind::Leaf(leaf) => {
            let leaf = tree.lod().leaf(leaf);
            let mut spans = 0_u64;
            for row in &leaf.rows {
                row.walk(trace, layers, window, i64::MAX, &mut |p| {
                    spans += u64::from(p.count);
                });
            }
            return (leaf.busy_in(trace, layers, window), Some(spans));
        }
        NodeKind::Gpu(device) => {
            if let Some(gpu) = analysis.gpus().iter().find(|g| g.device == device) {
                return (gpu.busy.measure_in(window), None);
            }
        }
        _ => {}
    }
    let busy = match &tree.summary(node).busy {
        Busy::Never => 0,
        Busy::Leaf(leaf) => tree.lod().leaf(*leaf).busy_in(trace, layers, window),
        Busy::Group(row) => row.busy_in(trace, layers, window),
    };
    (busy, None)
}
