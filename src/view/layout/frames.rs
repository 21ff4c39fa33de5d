//! Frames around what the chain below a wait leads through.

use super::ctx::Ctx;
use super::lanes::{BAR_INSET, Strip};
use crate::view::draw::{Item, SectionKind};
use crate::view::geom::Rect;
use crate::view::rows::{Row, RowKind};

/// Width of a frame's line, points.
const LINE: f32 = 2.0;

/// The frames in a strip.
pub(super) fn frames(ctx: &mut Ctx<'_>, strip: &Strip<'_>) {
    let input = ctx.input;
    let tree = input.rows.tree();
    let mut out = Vec::new();
    for frame in input.links.iter().flat_map(|l| &l.frames) {
        let Some((leaf, sub)) = tree.lod().place(input.trace, frame.span) else {
            continue;
        };
        if frame.range.end < ctx.window.start || frame.range.start >= ctx.window.end {
            continue;
        }
        let around = |row: &&Row| match row.kind {
            RowKind::Lane { leaf: l, sub: s } => l == leaf && (frame.all_rows || s == sub),
            RowKind::Summary => tree.holds(row.node, leaf),
            RowKind::Header | RowKind::Counter(_) | RowKind::Instants(_) => false,
        };
        let mut rows = strip.rows.iter().filter(around);
        let Some(first) = rows.next() else {
            continue;
        };
        let last = rows.next_back().unwrap_or(first);
        let (x0, x1) = (ctx.x(frame.range.start), ctx.x(frame.range.end));
        let rect = Rect::new(
            x0,
            first.y + strip.dy + BAR_INSET,
            x1.max(x0 + LINE),
            last.y + last.height + strip.dy - BAR_INSET,
        );
        out.push(Item::Outline {
            rect: rect.inset(-LINE / 2.0),
            color: input.theme.strong,
            width: LINE,
        });
    }
    let kind = match strip.pinned {
        true => SectionKind::Pinned,
        false => SectionKind::Lanes,
    };
    let clip = Rect::new(ctx.x0, strip.area.y0, ctx.x1(), strip.area.y1);
    ctx.section(kind, clip, out);
}
