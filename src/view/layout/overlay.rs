//! The selected range, above everything.

use super::ctx::{Ctx, short_time};
use crate::view::draw::{Align, Font, Item, SectionKind, Text};
use crate::view::geom::{Point, Rect};

/// Tint, edges and length of the selection.
pub(super) fn selection(ctx: &mut Ctx<'_>) {
    let Some(range) = ctx.input.selection else {
        return;
    };
    if !range.overlaps(ctx.window) && !ctx.window.contains(range.start) {
        return;
    }
    let theme = ctx.input.theme;
    let areas = ctx.list.areas;
    let (top, bottom) = (areas.ruler.y0, areas.lanes.y1.max(areas.band.y1));
    let (x0, x1) = (ctx.x(range.start), ctx.x(range.end));
    let mut items = vec![Item::Rect {
        rect: Rect::new(x0, areas.ruler.y1, x1, bottom),
        fill: theme.select.percent(if theme.dark { 13 } else { 10 }),
    }];
    items.push(Item::Rect {
        rect: Rect::new(x0, top, x1, areas.ruler.y1),
        fill: theme.select.percent(28),
    });
    for (x, time) in [(x0, range.start), (x1, range.end)] {
        if ctx.window.start <= time && time <= ctx.window.end {
            items.push(Item::Rect {
                rect: Rect::new(x - 0.75, top, x + 0.75, bottom),
                fill: theme.select,
            });
        }
    }
    let words = short_time(range.len());
    let width = words.chars().count() as f32 * 7.0 + 12.0;
    let (left, right) = (x0.max(ctx.x0), x1.min(ctx.x1()));
    let middle = f32::midpoint(left, right).clamp(
        ctx.x0 + width / 2.0,
        (ctx.x1() - width / 2.0).max(ctx.x0 + width / 2.0),
    );
    let y = bottom - 13.0;
    items.push(Item::Rect {
        rect: Rect::new(middle - width / 2.0, y - 9.0, middle + width / 2.0, y + 9.0),
        fill: theme.select,
    });
    items.push(Item::Text(Text {
        at: Point::new(middle, y),
        text: words,
        font: Font::Body,
        color: theme.on_select,
        align: Align::Center,
        max_width: width,
    }));
    let clip = Rect::new(ctx.x0, top, ctx.x1(), bottom);
    ctx.section(SectionKind::Overlay, clip, items);
}
