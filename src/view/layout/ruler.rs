//! Time ruler and step strip.

use super::ctx::{Ctx, short_time, text, text_right};
use super::place::target;
use crate::time::format_ns;
use crate::view::draw::{Font, Item, SectionKind, Target};
use crate::view::geom::{Point, Rect};
use crate::view::ticks::ticks;

/// Height of the ruler, points.
pub const RULER: f32 = 20.0;
/// Height of the step strip, points.
pub const STEPS: f32 = 14.0;
/// Width of a character of the ruler's labels at most, on average, points.
const LABEL_ADVANCE: f32 = 6.2;
/// Narrower steps are not told apart, points.
const STEP_WIDTH: f64 = 3.0;

pub(super) fn ruler(ctx: &mut Ctx<'_>, area: Rect) {
    let theme = ctx.input.theme;
    let view = ctx.input.viewport;
    let ticks = ticks(view);
    let mut items = vec![Item::Rect {
        rect: area,
        fill: theme.panel,
    }];
    let line = |x: f32, from: f32| Item::Line {
        a: Point::new(x, area.y1 - from),
        b: Point::new(x, area.y1),
        color: theme.weak,
        width: ctx.pixel(),
    };
    for t in ticks.minors(view) {
        items.push(line(ctx.x(view.origin() + t), 4.0));
    }
    for (t, label) in &ticks.labels {
        let x = ctx.x(view.origin() + t);
        items.push(line(x, 11.0));
        let y = area.y0 + 8.5;
        // Half a number would be another number.
        let width = label.chars().count() as f32 * LABEL_ADVANCE;
        if x + 4.0 + width > ctx.x1() {
            continue;
        }
        items.push(text(
            (x + 4.0, y),
            label.clone(),
            Font::Small,
            theme.weak,
            88.0,
        ));
    }
    ctx.section(SectionKind::Ruler, area, items);
    target(ctx, area, area, Target::Ruler);
    let ns = ticks.offset(view);
    let sign = if ns < 0 { "−" } else { "+" };
    let offset = format!("{sign} {}", format_ns(ns.saturating_abs()));
    let head = text(
        (10.0, area.y0 + 9.0),
        offset,
        Font::Small,
        theme.weak,
        ctx.x0 - 14.0,
    );
    let clip = Rect::new(0.0, area.y0, ctx.x0, area.y1);
    ctx.section(SectionKind::Headers, clip, vec![head]);
}

pub(super) fn steps(ctx: &mut Ctx<'_>, area: Rect) {
    let theme = ctx.input.theme;
    let ranks = ctx.input.analysis.ranks();
    let mut items = vec![Item::Rect {
        rect: area,
        fill: theme.panel,
    }];
    let mut note = String::new();
    // Ranks run in step; the first one that has steps stands for all.
    if let Some((rank, info)) = ranks.iter().enumerate().find(|(_, r)| !r.steps.is_empty()) {
        if ranks.len() > 1 {
            note = format!("rank {}", info.rank);
        }
        let a = info
            .steps
            .partition_point(|s| s.range.end <= ctx.window.start);
        let b = info
            .steps
            .partition_point(|s| s.range.start < ctx.window.end);
        let shown = b.saturating_sub(a);
        let width = f64::from(ctx.input.viewport.width());
        if shown as f64 * STEP_WIDTH > width {
            merged(ctx, (rank, a..b), area, &mut items);
        } else {
            for i in a..b {
                step(ctx, (rank, i), area, &mut items);
            }
        }
    }
    ctx.section(SectionKind::Ruler, area, items);
    let y = (area.y0 + area.y1) / 2.0;
    let mut head = vec![text((10.0, y), "Steps", Font::Small, theme.weak, 80.0)];
    if !note.is_empty() {
        head.push(text_right(
            (ctx.x0 - 10.0, y),
            note,
            Font::Small,
            theme.weak,
            80.0,
        ));
    }
    let clip = Rect::new(0.0, area.y0, ctx.x0, area.y1);
    ctx.section(SectionKind::Headers, clip, head);
}

fn step(ctx: &mut Ctx<'_>, (rank, i): (usize, usize), area: Rect, out: &mut Vec<Item>) {
    let theme = ctx.input.theme;
    let step = &ctx.input.analysis.ranks()[rank].steps[i];
    let (x0, x1) = (ctx.x(step.range.start), ctx.x(step.range.end));
    let rect = Rect::new(x0, area.y0, x1, area.y1);
    out.push(Item::Rect {
        rect,
        fill: theme.steps[i % 2],
    });
    out.push(Item::Rect {
        rect: Rect::new(x0, area.y0, x0 + ctx.pixel(), area.y1),
        fill: theme.weak.percent(70),
    });
    let (left, right) = (x0.max(ctx.x0), x1.min(ctx.x1()));
    let room = right - left - 8.0;
    if room >= 16.0 {
        let name = match step.number {
            Some(n) => format!("step {n}"),
            None => step.label.clone(),
        };
        let full = format!("{name}  {}", short_time(step.range.len()));
        let guess = 5.6;
        let words = if full.chars().count() as f32 * guess <= room {
            full
        } else if name.chars().count() as f32 * guess <= room {
            name
        } else {
            step.number.map_or_else(String::new, |n| n.to_string())
        };
        if words.chars().count() as f32 * guess <= room {
            let y = (area.y0 + area.y1) / 2.0;
            out.push(text(
                (left + 4.0, y),
                words,
                Font::Small,
                theme.text,
                room + 4.0,
            ));
        }
    }
    target(ctx, rect, area, Target::Step(rank, i));
}

fn merged(
    ctx: &mut Ctx<'_>,
    (rank, shown): (usize, std::ops::Range<usize>),
    area: Rect,
    out: &mut Vec<Item>,
) {
    let theme = ctx.input.theme;
    let steps = &ctx.input.analysis.ranks()[rank].steps[shown.clone()];
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return;
    };
    let (x0, x1) = (ctx.x(first.range.start), ctx.x(last.range.end));
    out.push(Item::Rect {
        rect: Rect::new(x0, area.y0, x1, area.y1),
        fill: theme.steps[0],
    });
    let words = format!("{} steps", crate::time::format_count(steps.len() as u64));
    let y = (area.y0 + area.y1) / 2.0;
    let left = x0.max(ctx.x0);
    out.push(text(
        (left + 4.0, y),
        words,
        Font::Small,
        theme.text,
        x1 - left,
    ));
}
