//! Marks of the user: flags on a strip of the axis, lines through the lanes.

use super::ctx::{Ctx, text};
use crate::view::draw::{Font, Item, SectionKind};
use crate::view::geom::{Point, Rect};
use crate::view::note::Note;

/// Height of the strip, points.
pub(super) const NOTES: f32 = 16.0;
/// Narrower texts are left out, points.
const MIN_TEXT: f32 = 18.0;

/// Marks into `area`, and down to `bottom`.
pub(super) fn notes(ctx: &mut Ctx<'_>, area: Rect, bottom: f32) {
    let theme = ctx.input.theme;
    let back = Item::Rect {
        rect: area,
        fill: theme.panel,
    };
    let (mut items, mut lines) = (vec![back], Vec::new());
    let all = &ctx.input.options.notes;
    let shown: Vec<&Note> = all.iter().filter(|n| n.touches(ctx.window)).collect();
    for (i, note) in shown.iter().enumerate() {
        let (x0, x1) = (ctx.x(note.range.start), ctx.x(note.range.end));
        let color = theme.select;
        if x1 > x0 {
            lines.push(Item::Rect {
                rect: Rect::new(x0, area.y1, x1, bottom),
                fill: color.percent(7),
            });
            items.push(Item::Rect {
                rect: Rect::new(x0, area.y1 - 3.0, x1, area.y1),
                fill: color,
            });
        }
        for (x, time) in [(x0, note.range.start), (x1, note.range.end)] {
            if ctx.window.start <= time && time <= ctx.window.end {
                let line = Rect::new(
                    x - ctx.pixel() / 2.0,
                    area.y0,
                    x + ctx.pixel() / 2.0,
                    bottom,
                );
                lines.push(Item::Rect {
                    rect: line,
                    fill: color.percent(70),
                });
            }
        }
        // A flag where it begins, or where the window cuts it.
        let x = x0.max(ctx.x0);
        let y = area.y0 + 1.5;
        items.push(Item::Triangle {
            points: [(x, y), (x + 7.0, y + 3.5), (x, y + 7.0)].map(|(x, y)| Point::new(x, y)),
            color,
        });
        let next = shown.get(i + 1).map(|n| ctx.x(n.range.start));
        let room = next.map_or(ctx.x1(), |n| n.min(ctx.x1())) - x - 12.0;
        if room >= MIN_TEXT && !note.text.is_empty() {
            let at = (x + 10.0, area.y0 + 7.0);
            items.push(text(at, note.text.clone(), Font::Small, theme.text, room));
        }
    }
    let canvas = Rect::new(ctx.x0, area.y0, ctx.x1(), bottom);
    ctx.section(SectionKind::Overlay, canvas, lines);
    ctx.section(SectionKind::Ruler, area, items);
    let y = (area.y0 + area.y1) / 2.0;
    let head = text((10.0, y), "Marks", Font::Small, theme.weak, 80.0);
    let clip = Rect::new(0.0, area.y0, ctx.x0, area.y1);
    ctx.section(SectionKind::Headers, clip, vec![head]);
}
