//! Counters: the area up to the value that holds, and over it the range between least and greatest per pixel. Of memory
//! also what is reserved, as a line, and where most is allocated.

use super::ctx::{Ctx, text};
use super::place::{Layers, Place, target};
use crate::model::{Counter, Measure};
use crate::view::draw::{Font, Item, Target};
use crate::view::geom::Rect;
use crate::view::lod::{Columns, Extremes, format_sample};

/// Average width of a character of small text, points.
const DIGIT: f32 = 6.4;

/// The lane of one counter: index in [`crate::model::Trace::counters`].
pub(super) fn row(ctx: &mut Ctx<'_>, index: u32, place: Place, out: &mut Layers) {
    let input = ctx.input;
    let Some(counter) = input.trace.counters().get(index as usize) else {
        return;
    };
    let columns = columns(ctx, index, counter);
    let Some(all) = extremes(&columns) else {
        return;
    };
    let reserved = reserved(ctx, counter);
    let both = Extremes::join(Some(all), extremes(&reserved));
    let scale = Scale::new(both.unwrap_or(all), place.bar);
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
    for column in &reserved {
        let top = scale.y(column.values.greatest).min(place.bar.y1 - px);
        let bottom = scale.y(column.values.least).max(top + px);
        out.spans.push(Item::Rect {
            rect: Rect::new(x(column.first), top, x(column.end), bottom),
            fill: theme.weak.percent(70),
        });
    }
    if counter.measure.is_bytes() {
        peak(ctx, counter, &columns, place.bar, out);
    }
    target(ctx, place.bar, place.bar, Target::Counter(index));
}

/// Least and greatest values of all columns.
fn extremes(columns: &[Columns]) -> Option<Extremes> {
    let values = columns.iter().map(|c| Some(c.values));
    values.fold(None, Extremes::join)
}

/// What is reserved on the device whose allocated memory a counter has.
fn reserved(ctx: &Ctx<'_>, counter: &Counter) -> Vec<Columns> {
    let trace = ctx.input.trace;
    let beside = match counter.measure {
        Measure::Allocated => trace.reserved_beside(counter),
        _ => None,
    };
    let place = beside.and_then(|i| u32::try_from(i).ok());
    place.map_or_else(Vec::new, |i| columns(ctx, i, &trace.counters()[i as usize]))
}

/// A mark at the first of the greatest values in view, and that value where there is room.
fn peak(ctx: &Ctx<'_>, counter: &Counter, columns: &[Columns], bar: Rect, out: &mut Layers) {
    let greatest = |c: &Columns| c.values.greatest;
    let more = |best: Columns, c: Columns| {
        if greatest(&c) > greatest(&best) {
            c
        } else {
            best
        }
    };
    let Some(most) = columns.iter().copied().reduce(more) else {
        return;
    };
    let (px, theme) = (ctx.pixel(), ctx.input.theme);
    let x = (ctx.x0 + most.first as f32 * px).min(ctx.x1() - px);
    for (half, y) in [(3.5, 0.0), (2.5, 1.0), (1.5, 2.0)] {
        let (left, right) = (x + px / 2.0 - half, x + px / 2.0 + half);
        out.priority.push(Item::Rect {
            rect: Rect::new(left, bar.y0 + y, right, bar.y0 + y + 1.0),
            fill: theme.text,
        });
    }
    let words = format!("peak {}", format_sample(counter, greatest(&most)));
    let width = words.chars().count() as f32 * DIGIT;
    let beside = [x + 7.0, x - 7.0 - width];
    let fits = |left: &f32| *left >= ctx.x0 && left + width <= ctx.x1();
    if let Some(left) = beside.into_iter().find(fits) {
        // The value is read over the curve, too.
        out.priority.push(Item::Rect {
            rect: Rect::new(left - 2.0, bar.y0 + 4.0, left + width, bar.y1 - 2.0),
            fill: theme.lane.percent(80),
        });
        let at = (left, (bar.y0 + bar.y1) / 2.0);
        out.texts
            .push(text(at, words, Font::Small, theme.text, width + 8.0));
    }
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
