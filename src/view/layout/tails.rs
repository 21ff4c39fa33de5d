//! The second claim (rule D3): when the GPU work that a CPU span launched really ended.

use super::ctx::{Ctx, short_time, text};
use super::place::{Layers, Place, target};
use crate::time::TimeRange;
use crate::view::draw::{Font, Item, Target};
use crate::view::entry::LegendEntry;
use crate::view::geom::{Point, Rect};
use crate::view::label;
use crate::view::theme::{Swatch, Theme};

/// Narrower tails are left out, points.
const MIN_WIDTH: f64 = 4.0;
/// Height of a tail, points.
const HEIGHT: f32 = 8.0;
/// Tails of one row that start closer than this to the last one drawn are left out, points.
const MIN_DISTANCE: f64 = 8.0;

/// The tails of one sub-row.
pub(super) fn row(ctx: &mut Ctx<'_>, at: (u32, u16), place: Place, out: &mut Layers) {
    let input = ctx.input;
    let lod = input.rows.tree().lod().clone();
    let Some(tails) = lod.tails(at.0, at.1) else {
        return;
    };
    let spans = input.trace.spans();
    let row = &lod.leaf(at.0).rows[usize::from(at.1)];
    let least = MIN_WIDTH * input.viewport.ns_per_px();
    let mut last_start = f64::NEG_INFINITY;
    let mut last_end = f32::NEG_INFINITY;
    let mut drawn: Vec<(usize, Rect)> = Vec::new();
    for &i in tails.in_window(input.trace, input.analysis, ctx.window) {
        let i = i as usize;
        let tail = input.analysis.tails()[i];
        if (tail.lag as f64) < least {
            continue;
        }
        let range = TimeRange::new(spans.end(tail.span), spans.end(tail.last_op));
        if !range.overlaps(ctx.window) {
            continue;
        }
        let (x0, x1) = (ctx.x(range.start), ctx.x(range.end));
        // Not where it is cut by the window: there all of them would begin at the same place.
        let start = input.viewport.x_from_time(range.start);
        if start - last_start < MIN_DISTANCE {
            ctx.list.stats.tails_dropped += 1;
            continue;
        }
        last_start = start;
        let y = (place.bar.y0 + place.bar.y1) / 2.0;
        let rect = Rect::new(x0, y - HEIGHT / 2.0, x1, y + HEIGHT / 2.0);
        let covered = row
            .after(input.trace, range.start.saturating_sub(1))
            .is_some_and(|id| spans.start(id) < range.end);
        // Bodies on top of each other would be a block: the later one goes on where the earlier one ends.
        draw(ctx, rect, last_end, out);
        let wall = if covered {
            over(ctx, rect, place.bar, out);
            // Low enough to leave labels alone.
            Rect::new(x1 - 1.5, place.bar.y1 - 4.0, x1, place.bar.y1)
        } else {
            Rect::new(x1 - 1.5, rect.y0 - 4.0, x1, rect.y1 + 4.0)
        };
        cap(ctx, wall, out);
        let clip = Rect {
            y0: place.bar.y0,
            y1: place.bar.y1,
            x0: ctx.x0,
            x1: ctx.x1(),
        };
        target(ctx, rect, clip, Target::Tail(i));
        drawn.push((i, rect));
        last_end = last_end.max(x1);
    }
    captions(ctx, &drawn, row, out);
}

/// `taken`: up to here a tail of the same row is drawn.
fn draw(ctx: &Ctx<'_>, rect: Rect, taken: f32, out: &mut Layers) {
    let theme = ctx.input.theme;
    let color = theme.swatch(Swatch::Cpu);
    let line = line_color(theme);
    let rest = Rect {
        x0: rect.x0.max(taken),
        ..rect
    };
    if rest.is_empty() {
        return;
    }
    ctx.drew(LegendEntry::Tail);
    out.tails.push(Item::Rect {
        rect: rest,
        fill: color.percent(35),
    });
    out.tails.push(Item::Dashed {
        rect: rest,
        color: line,
        on: 4.0,
        off: 3.0,
    });
    // The end cap is an arrow against a wall.
    let (x, y) = (rect.x1, (rect.y0 + rect.y1) / 2.0);
    if rect.width() >= 10.0 {
        out.tails.push(Item::Triangle {
            points: [
                Point::new(x - 7.0, y - 4.0),
                Point::new(x - 7.0, y + 4.0),
                Point::new(x - 2.0, y),
            ],
            color: line,
        });
    }
}

fn cap(ctx: &Ctx<'_>, wall: Rect, out: &mut Layers) {
    let theme = ctx.input.theme;
    out.caps.push(Item::Rect {
        rect: Rect::new(wall.x0 - 1.0, wall.y0, wall.x1 + 1.0, wall.y1),
        fill: theme.lane.percent(70),
    });
    out.caps.push(Item::Rect {
        rect: wall,
        fill: line_color(theme),
    });
}

/// Where other spans lie over a tail, a thin line along their lower edge leads on to its end.
fn over(ctx: &Ctx<'_>, rect: Rect, bar: Rect, out: &mut Layers) {
    let theme = ctx.input.theme;
    let color = line_color(theme);
    let strip = Rect::new(rect.x0, bar.y1 - 3.0, rect.x1, bar.y1 - 1.0);
    out.strips.push(strip);
    out.priority.push(Item::Rect {
        rect: strip,
        fill: theme.lane.percent(60),
    });
    out.priority.push(Item::Dashed {
        rect: strip,
        color,
        on: 4.0,
        off: 3.0,
    });
}

/// A tail for the legend.
pub(super) fn sample(theme: &Theme, rect: Rect, out: &mut Vec<Item>) {
    let middle = (rect.y0 + rect.y1) / 2.0;
    let color = line_color(theme);
    let body = Rect::new(rect.x0, middle - 4.0, rect.x1, middle + 4.0);
    out.push(Item::Rect {
        rect: body,
        fill: theme.swatch(Swatch::Cpu).percent(35),
    });
    out.push(Item::Dashed {
        rect: body,
        color,
        on: 4.0,
        off: 3.0,
    });
    out.push(Item::Rect {
        rect: Rect::new(rect.x1 - 1.5, rect.y0, rect.x1, rect.y1),
        fill: color,
    });
}

fn line_color(theme: &Theme) -> crate::view::Rgba {
    let color = theme.swatch(Swatch::Cpu);
    if theme.dark { color.tint(45) } else { color }
}

/// "forward → GPU +21 ms" right of each tail where nothing else is: no span, no other tail, no other label.
fn captions(
    ctx: &Ctx<'_>,
    drawn: &[(usize, Rect)],
    row: &crate::view::lod::SubRow,
    out: &mut Layers,
) {
    let mut reach = f32::NEG_INFINITY;
    let mut labelled = f32::NEG_INFINITY;
    for (n, &(tail, rect)) in drawn.iter().enumerate() {
        // Tails begin in order: what covers the place began before and reaches there, or begins further on.
        let later = &drawn[n + 1..];
        let inside = later.iter().take_while(|(_, r)| r.x0 <= rect.x1);
        let across = inside.clone().any(|(_, r)| r.x1 > rect.x1);
        let covered = across || reach > rect.x1 || labelled > rect.x1;
        reach = reach.max(rect.x1);
        if covered {
            continue;
        }
        let next = later.get(inside.count());
        let limit = next.map_or(f32::INFINITY, |(_, r)| r.x0);
        if let Some(width) = caption(ctx, tail, row, (rect, limit), out) {
            labelled = rect.x1 + width;
        }
    }
}

/// The label of one tail; returns how far right of the tail it reaches.
fn caption(
    ctx: &Ctx<'_>,
    tail: usize,
    row: &crate::view::lod::SubRow,
    (rect, limit): (Rect, f32),
    out: &mut Layers,
) -> Option<f32> {
    let input = ctx.input;
    let tail = input.analysis.tails()[tail];
    let spans = input.trace.spans();
    let lag = short_time(tail.lag);
    let name = input.trace.span_name(tail.span);
    let end = spans.end(tail.last_op);
    let next = row.after(input.trace, end.saturating_sub(1));
    let free = next.map_or(ctx.x1(), |id| ctx.x(spans.start(id)));
    let free = free.min(limit);
    // Something that began before and still runs covers the place as well.
    let covered = row
        .at_or_before(input.trace, end.saturating_sub(1))
        .is_some_and(|id| spans.end(id) > end);
    let room = label::capacity(free - rect.x1 - 2.0);
    let extra = " → GPU +".len() - 2 + lag.chars().count();
    if covered || room < extra + label::MIN_CHARS || rect.x1 > ctx.x1() {
        return None;
    }
    let short = label::shorten(name, (room - extra).min(28))?;
    let words = format!("{short} → GPU +{lag}");
    let y = (rect.y0 + rect.y1) / 2.0;
    let width = free - rect.x1 - 5.0;
    let reach = 5.0 + words.chars().count() as f32 * label::MONO_ADVANCE;
    let at = (rect.x1 + 5.0, y);
    out.texts
        .push(text(at, words, Font::Label, input.theme.weak, width));
    Some(reach)
}
