//! Matched collectives: the part in which a rank waits for others stands apart from the transfer, and who came last is
//! marked on all of them.
//!
//! ```text
//! rank 0   ├░░░░ waits ░░░░│▓▓ transfer ▓▓┤      the line: when the last one came
//! rank 1                   ▶▓▓ transfer ▓▓┤      the last one
//! ```

use super::ctx::Ctx;
use super::place::{Layers, Place};
use super::waits::{exposed_rect, exposed_runs};
use crate::analysis::LayerClass;
use crate::view::draw::Item;
use crate::view::entry::LegendEntry;
use crate::view::geom::{Point, Rect, Rgba};
use crate::view::label::MIN_LABEL_WIDTH;
use crate::view::lod::CollectiveRow;
use crate::view::theme::{Swatch, Theme};

/// From this width a part has a border and an operation its arrival marked, points.
const MARKED_FROM: f32 = 6.0;
/// Width of the mark of who came last, points.
const WEDGE: f32 = 6.0;
/// With more collectives in view none of them is wide enough to be marked.
const MOST: usize = 4_096;

/// Waiting parts and arrivals of one row; labels of the row begin at `labels`.
pub(super) fn row(
    ctx: &mut Ctx<'_>,
    row: &CollectiveRow,
    place: Place,
    labels: usize,
    out: &mut Layers,
) {
    let theme = ctx.input.theme;
    let opacity = ctx.opacity(LayerClass::GpuComm, true);
    let (fill, border) = pale(theme, opacity);
    for run in exposed_runs(ctx, &row.waiting, &row.tree) {
        let rect = exposed_rect(ctx, &run, place.bar);
        ctx.drew(LegendEntry::RankWait);
        out.spans.push(Item::Rect { rect, fill });
        if rect.width() >= MARKED_FROM {
            out.spans.push(Item::Outline {
                rect,
                color: border,
                width: ctx.pixel(),
            });
        }
    }
    keep_apart(ctx, row, (labels, fill), out);
    let shown = row.in_window(ctx.input.trace, ctx.window);
    if shown.len() > MOST {
        return;
    }
    let color = theme.strong.percent(opacity);
    for (op, attendance) in shown {
        let range = ctx.input.trace.spans().range(op);
        let (x0, x1) = (ctx.x(range.start), ctx.x(range.end));
        let reaches = x1 - x0 >= MARKED_FROM;
        if !reaches || attendance.cost == 0 {
            continue;
        }
        let at = range.start.saturating_add(attendance.wait);
        let seen = ctx.window.start <= at && at <= ctx.window.end;
        if attendance.late && ctx.window.start <= range.start {
            ctx.drew(LegendEntry::LateRank);
            arrival(x0, place.bar, color, &mut out.caps);
        } else if seen && !attendance.late {
            let x = ctx.x(at);
            let rect = Rect::new(x - 0.75, place.bar.y0, x + 0.75, place.bar.y1);
            out.caps.push(Item::Rect { rect, fill: color });
        }
    }
}

/// A label lies on one of the two parts, in a colour that can be read there.
fn keep_apart(ctx: &Ctx<'_>, row: &CollectiveRow, (first, fill): (usize, Rgba), out: &mut Layers) {
    let theme = ctx.input.theme;
    for label in &mut out.labels[first..] {
        let Some(attendance) = row.get(label.span).filter(|a| a.cost > 0) else {
            continue;
        };
        let wait = attendance.wait;
        if attendance.late {
            label.rect.x0 = (label.rect.x0 + WEDGE + 1.0).min(label.rect.x1);
            continue;
        }
        let start = ctx.input.trace.spans().start(label.span);
        let x = ctx.x(start.saturating_add(wait));
        let x = x.clamp(label.rect.x0, label.rect.x1);
        if label.rect.x1 - x >= (x - label.rect.x0).min(MIN_LABEL_WIDTH * 2.0) {
            label.rect.x0 = x;
        } else {
            label.rect.x1 = x;
            label.fill = fill;
            label.color = theme.readable(fill, theme.text);
        }
    }
}

/// Fill and border of a part in which nothing is transferred yet.
fn pale(theme: &Theme, opacity: u32) -> (Rgba, Rgba) {
    let full = theme.swatch(Swatch::GpuComm);
    let fill = full.percent(25).over(theme.lane);
    (
        fill.percent(opacity).over(theme.lane),
        full.percent(opacity),
    )
}

/// A wedge where somebody came last.
fn arrival(x: f32, bar: Rect, color: Rgba, out: &mut Vec<Item>) {
    let middle = (bar.y0 + bar.y1) / 2.0;
    let half = (bar.height() / 2.0).min(WEDGE - 1.0);
    out.push(Item::Triangle {
        points: [
            Point::new(x, middle - half),
            Point::new(x, middle + half),
            Point::new(x + WEDGE, middle),
        ],
        color,
    });
}

/// One of both for the legend.
pub(super) fn sample(theme: &Theme, rect: Rect, late: bool, out: &mut Vec<Item>) {
    let (fill, color) = pale(theme, 100);
    if late {
        let fill = theme.swatch(Swatch::GpuComm);
        out.push(Item::Rect { rect, fill });
        arrival(rect.x0, rect, theme.strong, out);
        return;
    }
    out.push(Item::Rect { rect, fill });
    let width = 1.0;
    out.push(Item::Outline { rect, color, width });
}
