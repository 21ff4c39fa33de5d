//! Counters: the area up to the value that holds, and over it the range between least and greatest per pixel.

use super::ctx::Ctx;
use super::place::{Layers, Place, target};
use crate::model::Counter;
use crate::view::draw::{Item, Target};
use crate::view::geom::Rect;
use crate::view::lod::{Columns, Extremes};

/// The lane of one counter: index in [`crate::model::Trace::counters`].
pub(super) fn row(ctx: &mut Ctx<'_>, index: u32, place: Place, out: &mut Layers) {
    let input = ctx.input;
    let Some(counter) = input.trace.counters().get(index as usize) else {
        return;
    };
    let columns = columns(ctx, index, counter);
    let all = columns
        .iter()
        .fold(None, |all, c| Extremes::join(all, Some(c.values)));
    let Some(all) = all else {
        return;
    };
    let scale = Scale::new(all, place.bar);
    let theme = input.theme;
    let line = theme.counter();
    let px = ctx.pixel();
    let x = |i: usize| (ctx.x0 + i as f32 * px).min(ctx.x1());
    let mut lines = Vec::with_capacity(columns.len());
    for column in &columns {
        let (x0, x1) = (x(column.first), x(column.end));
        let (top, bottom) = (
            scale.y(column.values.greatest),
            scale.y(column.values.least),
        );
        // A line is a pixel thick, and inside the lane also at its ends.
        let top = top.min(place.bar.y1 - px);
        let bottom = bottom.max(top + px);
        out.spans.push(Item::Rect {
            rect: Rect::new(x0, bottom, x1, place.bar.y1),
            fill: line.percent(30),
        });
        lines.push(Item::Rect {
            rect: Rect::new(x0, top, x1, bottom),
            fill: line,
        });
    }
    out.spans.append(&mut lines);
    target(ctx, place.bar, place.bar, Target::Counter(index));
}

/// Per physical pixel of the canvas.
fn columns(ctx: &Ctx<'_>, index: u32, counter: &Counter) -> Vec<Columns> {
    let view = ctx.input.viewport;
    let px = ctx.pixel();
    // What holds last, holds to the end of what is recorded, not beyond.
    let recorded = ctx.input.trace.extent().end;
    let last = counter.times.last().map_or(recorded, |&t| recorded.max(t));
    let n = (view.width() / px).ceil() as usize;
    let edges: Vec<i64> = (0..=n)
        .map(|i| view.time_from_x(i as f32 * px))
        .take_while(|&t| t <= last)
        .collect();
    let tree = ctx.input.rows.tree().lod().counter(index);
    tree.columns(counter, &edges)
}

/// From values to heights.
struct Scale {
    bar: Rect,
    base: f64,
    range: f64,
}

impl Scale {
    /// What is never negative stands on zero, unless most of the height would be spent on what never changes.
    fn new(all: Extremes, bar: Rect) -> Self {
        let Extremes { least, greatest } = all;
        let (base, top) = if least >= 0.0 && (least <= greatest * 0.5 || least >= greatest) {
            (0.0, greatest)
        } else {
            (least, greatest)
        };
        Self {
            bar,
            base,
            range: top - base,
        }
    }

    fn y(&self, value: f64) -> f32 {
        let share = if self.range > 0.0 {
            ((value - self.base) / self.range).clamp(0.0, 1.0)
        } else {
            0.0
        };
        self.bar.y1 - self.bar.height() * share as f32
    }
}
