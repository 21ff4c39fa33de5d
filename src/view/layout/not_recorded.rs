//! Where a GPU is neither busy nor idle: outside its record, and where work that was launched was not recorded.

use super::ctx::{Ctx, text};
use crate::analysis::Gpu;
use crate::model::{DeviceId, LaneId};
use crate::time::TimeRange;
use crate::view::draw::{Font, Item};
use crate::view::entry::LegendEntry;
use crate::view::geom::Rect;
use crate::view::label::{PADDING, capacity};

/// Narrower parts are not hatched, points.
const HATCH_FROM: f32 = 4.0;

/// On the bar of a GPU's band, in words where there is room.
pub(super) fn on_band(ctx: &Ctx<'_>, gpu: &Gpu, bar: Rect, out: &mut Vec<Item>) {
    for range in ranges(ctx, gpu) {
        let rect = paint(ctx, range, bar, out);
        let (x0, x1) = (rect.x0.max(ctx.x0), rect.x1.min(ctx.x1()));
        if capacity(x1 - x0) >= 12 && bar.height() > 12.0 {
            let y = (bar.y0 + bar.y1) / 2.0;
            let color = ctx.input.theme.weak;
            let at = (x0 + PADDING, y);
            out.push(text(at, "not recorded", Font::Label, color, x1 - x0));
        }
    }
}

/// Behind the operations of a stream.
pub(super) fn on_lane(ctx: &Ctx<'_>, lane: LaneId, bar: Rect, out: &mut Vec<Item>) {
    if let Some(gpu) = ctx.input.trace.lane_device(lane).and_then(|d| of(ctx, d)) {
        for range in ranges(ctx, gpu) {
            paint(ctx, range, bar, out);
        }
    }
}

fn of<'a>(ctx: &Ctx<'a>, device: DeviceId) -> Option<&'a Gpu> {
    let gpus = ctx.input.analysis.gpus();
    gpus.iter().find(|g| g.device == device)
}

fn paint(ctx: &Ctx<'_>, range: TimeRange, bar: Rect, out: &mut Vec<Item>) -> Rect {
    let theme = ctx.input.theme;
    let rect = Rect {
        x0: ctx.x(range.start),
        x1: ctx.x(range.end),
        ..bar
    };
    ctx.drew(LegendEntry::Unrecorded);
    out.push(Item::Rect {
        rect,
        fill: theme.unrecorded.percent(22).over(theme.lane),
    });
    if rect.width() >= HATCH_FROM {
        out.push(Item::Hatch {
            rect,
            color: theme.unrecorded.percent(45),
            line: 1.0,
            pitch: 7.0,
        });
    }
    rect
}

/// The parts in the window. Those closer than a run's width are one: no more than there are places for.
fn ranges(ctx: &Ctx<'_>, gpu: &Gpu) -> Vec<TimeRange> {
    let extent = ctx.input.trace.extent();
    let mut out = vec![
        TimeRange::new(extent.start, gpu.record.start),
        TimeRange::new(gpu.record.end, extent.end),
    ];
    let mut parts = gpu.not_recorded.parts_in(ctx.window);
    while let Some(&first) = parts.first() {
        let mut end = first.end;
        parts = &parts[1..];
        loop {
            let near = end.saturating_add(ctx.merge_ns);
            let n = parts.partition_point(|p| p.start <= near);
            let Some(last) = n.checked_sub(1) else {
                break;
            };
            end = end.max(parts[last].end);
            parts = &parts[n..];
        }
        out.push(TimeRange::new(first.start, end));
    }
    let clipped = out.into_iter().map(|range| range.clip(ctx.window));
    clipped.filter(|range| !range.is_empty()).collect()
}
