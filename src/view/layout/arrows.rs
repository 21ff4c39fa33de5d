//! Launch arrows (rule D4).

use super::ctx::{Ctx, short_time, text};
use super::lanes::Strip;
use crate::model::SpanId;
use crate::view::draw::{ArrowEnd, Font, Item};
use crate::view::geom::{Point, Rect};
use crate::view::label::MONO_ADVANCE;
use crate::view::rows::{NodeId, RowKind};

/// With more arrows those between the first and the last are faint.
const MAX_STRONG: usize = 8;

/// Arrows between the same rows are at least this far apart at both ends, points, …
const APART: f32 = 3.0;
/// … or this far at one of them: those of one call begin at the same place.
const FAN: f32 = 24.0;

/// One end of an arrow.
struct End {
    at: Point,
    /// Inside a collapsed group.
    collapsed: bool,
    /// Time by which it lies outside the window: before it negative, after it positive, ns.
    outside: i64,
    /// Its lane.
    node: NodeId,
}

/// Arrows of the links of the hovered or selected span.
pub(super) fn arrows(ctx: &mut Ctx<'_>, strip: &Strip<'_>) -> Vec<Item> {
    let Some(links) = ctx.input.links else {
        return Vec::new();
    };
    let theme = ctx.input.theme;
    let mut out = Vec::new();
    let mut edges: [Vec<f32>; 2] = [Vec::new(), Vec::new()];
    let mut lanes: Vec<(bool, NodeId)> = Vec::new();
    let mut last = None;
    // The first and the last one tell the delay; many at full strength would be a solid block.
    let many = links.arrows.len() > MAX_STRONG;
    let mut kept: Vec<(Point, Point)> = Vec::new();
    let mut thinned = 0;
    for (i, link) in links.arrows.iter().enumerate() {
        let (Some(from), Some(to)) = (end(ctx, strip, link.from), end(ctx, strip, link.to)) else {
            // In a lane that is hidden by hand.
            ctx.list.stats.arrows_dropped += 1;
            continue;
        };
        if from.outside != 0 && to.outside != 0 && (from.outside > 0) == (to.outside > 0) {
            continue;
        }
        let between = i > 0 && i + 1 < links.arrows.len();
        if between && crowded(&kept, (from.at, to.at)) {
            thinned += 1;
            continue;
        }
        kept.push((from.at, to.at));
        out.push(Item::Arrow {
            from: from.at,
            to: to.at,
            color: theme.strong,
            halo: theme.canvas,
            end: if to.collapsed {
                ArrowEnd::Dot
            } else {
                ArrowEnd::Head
            },
            faint: many && between,
        });
        for end in [&from, &to] {
            chevron(ctx, end, &mut edges, &mut out);
            if let Some(below) = scrolled_away(strip, end)
                && !lanes.contains(&(below, end.node))
            {
                lanes.push((below, end.node));
            }
        }
        last = Some(to.at);
    }
    names(ctx, strip, &lanes, &mut out);
    let more = links.more as u64 + thinned;
    if more > 0
        && let Some(at) = last
    {
        let words = format!("+{} more", crate::time::format_count(more));
        let width = words.chars().count() as f32 * MONO_ADVANCE + 8.0;
        let x = (at.x + 8.0).min(ctx.x1() - width - 4.0);
        let plate = Rect::new(x, at.y - 8.0, x + width, at.y + 8.0);
        chip(ctx, plate, &mut out);
        out.push(text((x + 4.0, at.y), words, Font::Label, theme.text, width));
    }
    ctx.list.stats.arrows_dropped += more;
    out
}

/// Whether an arrow would run into the last one that is drawn between the same two rows.
fn crowded(kept: &[(Point, Point)], (from, to): (Point, Point)) -> bool {
    let same = |a: f32, b: f32| (a - b).abs() < 0.5;
    let beside = |k: &&(Point, Point)| same(k.0.y, from.y) && same(k.1.y, to.y);
    kept.iter().rev().find(beside).is_some_and(|k| {
        let (a, b) = ((k.0.x - from.x).abs(), (k.1.x - to.x).abs());
        a.min(b) < APART && a.max(b) < FAN
    })
}

/// The ground of a text beside an arrow: the lane's, and no label below it.
fn chip(ctx: &mut Ctx<'_>, rect: Rect, out: &mut Vec<Item>) {
    out.push(Item::Rect {
        rect,
        fill: ctx.input.theme.lane,
    });
    ctx.chips.push(rect);
}

fn end(ctx: &Ctx<'_>, strip: &Strip<'_>, span: SpanId) -> Option<End> {
    let input = ctx.input;
    let row = input.rows.of_span(input.trace, span)?;
    let row = &input.rows.rows()[row];
    let start = input.trace.spans().start(span);
    let outside = if start < ctx.window.start {
        start - ctx.window.start
    } else {
        (start - ctx.window.end).max(0)
    };
    Some(End {
        at: Point::new(
            ctx.x(start).clamp(ctx.x0, ctx.x1()),
            row.y + strip.dy + row.height / 2.0,
        ),
        collapsed: row.kind == RowKind::Summary,
        outside,
        node: row.node,
    })
}

/// Whether an end lies above (`false`) or below (`true`) of what is scrolled into view.
fn scrolled_away(strip: &Strip<'_>, end: &End) -> Option<bool> {
    let (top, bottom) = (strip.area.y0, strip.area.y1);
    (end.at.y < top || end.at.y >= bottom).then_some(end.at.y >= bottom)
}

/// At the upper and lower edge of the canvas: the lanes that arrows lead to there.
fn names(ctx: &mut Ctx<'_>, strip: &Strip<'_>, lanes: &[(bool, NodeId)], out: &mut Vec<Item>) {
    let theme = ctx.input.theme;
    let rows = ctx.input.rows;
    for below in [false, true] {
        let mut titles: Vec<&str> = Vec::new();
        for &(_, node) in lanes.iter().filter(|(b, _)| *b == below) {
            titles.push(rows.title(node));
        }
        let Some(first) = titles.first() else {
            continue;
        };
        let words = match titles.len() {
            1 => (*first).to_owned(),
            n => format!("{first} and {} more", n - 1),
        };
        let width = words.chars().count() as f32 * MONO_ADVANCE + 24.0;
        let (y, tip) = if below {
            (strip.area.y1 - 9.0, 1.0)
        } else {
            (strip.area.y0 + 9.0, -1.0)
        };
        let x = ctx.x0;
        chip(ctx, Rect::new(x, y - 8.0, x + width, y + 8.0), out);
        out.push(Item::Triangle {
            points: [
                Point::new(x + 9.0, y + tip * 3.0),
                Point::new(x + 5.0, y - tip * 3.0),
                Point::new(x + 13.0, y - tip * 3.0),
            ],
            color: theme.strong,
        });
        out.push(text((x + 18.0, y), words, Font::Label, theme.text, width));
    }
}

/// At the edge of the canvas: how far away the other end is. One per row and side.
fn chevron(ctx: &mut Ctx<'_>, end: &End, edges: &mut [Vec<f32>; 2], out: &mut Vec<Item>) {
    if end.outside == 0 {
        return;
    }
    let right = end.outside > 0;
    let rows = &mut edges[usize::from(right)];
    if rows.contains(&end.at.y) {
        return;
    }
    rows.push(end.at.y);
    let theme = ctx.input.theme;
    let words = short_time(end.outside.saturating_abs());
    let width = words.chars().count() as f32 * MONO_ADVANCE;
    let (edge, sign) = if right {
        (ctx.x1(), -1.0)
    } else {
        (ctx.x0, 1.0)
    };
    let tip = edge + sign * 2.0;
    let base = edge + sign * 8.0;
    let x = if right {
        base - 4.0 - width
    } else {
        base + 4.0
    };
    let y = end.at.y;
    let plate = if right {
        Rect::new(x - 3.0, y - 8.0, edge, y + 8.0)
    } else {
        Rect::new(edge, y - 8.0, x + width + 3.0, y + 8.0)
    };
    chip(ctx, plate, out);
    out.push(Item::Triangle {
        points: [
            Point::new(tip, y),
            Point::new(base, y - 4.0),
            Point::new(base, y + 4.0),
        ],
        color: theme.strong,
    });
    out.push(text((x, y), words, Font::Label, theme.text, width + 4.0));
}
