//! Instants: a tick each, with a head; where they are dense, a strip with their number.

use super::ctx::{Ctx, text};
use super::place::{Layers, Place, target};
use crate::time::format_count;
use crate::view::draw::{Font, Item, Target};
use crate::view::geom::Rect;

/// Instants closer than this are one strip, points.
const JOIN: f64 = 6.0;
/// Strips are cut after this length, so that their numbers follow the density, points.
const CELL: f64 = 96.0;
/// Average width of a digit of small text, points.
const DIGIT: f32 = 6.4;

/// A row of instants: index in [`crate::view::Lod::instants`].
pub(super) fn row(ctx: &mut Ctx<'_>, index: u32, place: Place, out: &mut Layers) {
    let input = ctx.input;
    let lod = input.rows.tree().lod().clone();
    let Some(row) = lod.instants().get(index as usize) else {
        return;
    };
    let trace = input.trace;
    let ns = |points: f64| (points * input.viewport.ns_per_px()).ceil() as i64;
    let (join, cell) = (ns(JOIN), ns(CELL));
    let end = row.before(trace, 0, ctx.window.end);
    let mut i = row.before(trace, 0, ctx.window.start);
    while i < end {
        let first = row.get(trace, i).time;
        let mut last = first;
        let mut next = i;
        // Leaps over what lies within the joining distance of the last one found.
        while next < end && row.get(trace, next).time.saturating_sub(last) < join {
            let reach = last.saturating_add(join).min(first.saturating_add(cell));
            let more = row.before(trace, next, reach).min(end - next);
            if more == 0 {
                break;
            }
            next += more;
            last = row.get(trace, next - 1).time;
        }
        let next = next.max(i + 1);
        let count = u32::try_from(next - i).unwrap_or(u32::MAX);
        let x = (ctx.x(first), ctx.x(last));
        let rect = draw(ctx, x, count, place.bar, out);
        let position = u32::try_from(i).unwrap_or(u32::MAX);
        let what = Target::Instants {
            row: index,
            first: position,
            count,
        };
        target(ctx, rect, place.bar, what);
        i = next;
    }
}

/// Draws one tick or strip; returns where it can be hit.
fn draw(ctx: &Ctx<'_>, (x0, x1): (f32, f32), count: u32, bar: Rect, out: &mut Layers) -> Rect {
    let theme = ctx.input.theme;
    let color = theme.counter();
    let px = ctx.pixel();
    let hit = Rect::new(x0 - 3.0, bar.y0, x1 + 3.0, bar.y1);
    if count == 1 || x1 - x0 < px {
        // The head is made of lines: it stays sharp and costs no shape of its own.
        for (half, y) in [(2.5, 0.0), (1.5, 1.0)] {
            out.spans.push(Item::Rect {
                rect: Rect::new(
                    x0 + 0.5 - half,
                    bar.y0 + y,
                    x0 + 0.5 + half,
                    bar.y0 + y + 1.0,
                ),
                fill: color,
            });
        }
        out.spans.push(Item::Rect {
            rect: Rect::new(x0, bar.y0 + 2.0, x0 + px, bar.y1),
            fill: color,
        });
        return hit;
    }
    let strip = Rect::new(x0, bar.y0 + 1.0, x1 + px, bar.y1 - 1.0);
    out.spans.push(Item::Rect {
        rect: strip,
        fill: color.percent(25),
    });
    for x in [x0, x1] {
        out.spans.push(Item::Rect {
            rect: Rect::new(x, bar.y0, x + px, bar.y1),
            fill: color,
        });
    }
    let words = format_count(u64::from(count));
    let left = x0.max(ctx.x0);
    let room = x1.min(ctx.x1()) - left - 8.0;
    if words.chars().count() as f32 * DIGIT <= room {
        let at = (left + 4.0, (bar.y0 + bar.y1) / 2.0);
        out.texts
            .push(text(at, words, Font::Small, theme.weak, room + 4.0));
    }
    hit
}
