//! Span labels: the widest first, shortened stepwise.

use super::ctx::{Ctx, short_time, text};
use crate::analysis::LayerClass;
use crate::model::{CopyKind, SpanId};
use crate::view::draw::{Font, Item};
use crate::view::geom::{Rect, Rgba};
use crate::view::label::{MIN_LABEL_WIDTH, MONO_ADVANCE, PADDING, capacity, with_duration};

use super::MAX_LABELS;

/// From this height a label fits into a span, points: the strip of a collapsed group is lower.
pub(super) const LABEL_HEIGHT: f32 = 10.0;

/// A span that has room for a label.
pub(super) struct Candidate {
    pub rect: Rect,
    pub span: SpanId,
    pub class: LayerClass,
    /// Wanted colour of the text.
    pub color: Rgba,
    /// What it is written on.
    pub fill: Rgba,
}

/// Where text is written, and on which opaque fill.
pub(super) struct Written {
    pub rect: Rect,
    pub fill: Rgba,
    /// The span has dots along its lower edge.
    pub dots: bool,
}

/// Height of what keeps marks along the lower edge of a span out of its label, points.
const PLATE: f32 = 4.5;

/// Keeps the dots of sync calls and the lines of tails (`strips`, top to bottom) out of labels.
pub(super) fn plates(written: &[Written], strips: &[Rect]) -> Vec<Item> {
    let under = |w: &&Written| {
        let first = strips.partition_point(|s| s.y1 <= w.rect.y0);
        let row = strips[first..].iter().take_while(|s| s.y0 < w.rect.y1);
        w.dots || row.into_iter().any(|s| !s.clip(w.rect).is_empty())
    };
    let plate = |w: &Written| Item::Rect {
        rect: Rect {
            y0: w.rect.y1 - PLATE,
            y1: w.rect.y1 - 1.0,
            ..w.rect
        },
        fill: w.fill,
    };
    written.iter().filter(under).map(plate).collect()
}

/// The texts of the widest [`MAX_LABELS`] candidates; the rest is counted.
pub(super) fn choose(
    ctx: &mut Ctx<'_>,
    mut candidates: Vec<Candidate>,
    written: &mut Vec<Written>,
) -> Vec<Item> {
    if candidates.len() > MAX_LABELS {
        candidates.sort_by(|a, b| b.rect.width().total_cmp(&a.rect.width()));
        ctx.list.stats.labels_dropped += (candidates.len() - MAX_LABELS) as u64;
        candidates.truncate(MAX_LABELS);
    }
    let texts = candidates.iter().filter_map(|c| label(ctx, c, written));
    texts.collect()
}

fn label(ctx: &Ctx<'_>, c: &Candidate, written: &mut Vec<Written>) -> Option<Item> {
    let rect = visible(ctx, c.rect);
    if rect.width() < MIN_LABEL_WIDTH {
        return None;
    }
    let input = ctx.input;
    let name = input.trace.span_name(c.span);
    let arrow = match c.class {
        LayerClass::GpuCopy => direction(input.trace.copy(c.span).and_then(|i| i.kind)),
        _ => "",
    };
    let room = capacity(rect.width());
    let time = short_time(input.trace.spans().dur(c.span));
    let words = if arrow.is_empty() {
        with_duration(name, &time, room)?
    } else {
        with_duration(arrow, &time, room)?
    };
    let at = (rect.x0 + PADDING, (rect.y0 + rect.y1) / 2.0);
    written.push(Written {
        rect: text_rect(at.0, &words, rect),
        fill: c.fill,
        dots: c.class == LayerClass::Sync,
    });
    let color = input.theme.readable(c.fill, c.color);
    Some(text(at, words, Font::Label, color, rect.width()))
}

/// What a label that starts at `x` covers of a bar.
pub(super) fn text_rect(x: f32, words: &str, bar: Rect) -> Rect {
    let width = words.chars().count() as f32 * MONO_ADVANCE;
    Rect {
        x0: x - 1.0,
        x1: (x + width + 1.0).min(bar.x1 - 1.0),
        ..bar
    }
}

/// What shows of a rectangle on the canvas: labels start at the visible start.
pub(super) fn visible(ctx: &Ctx<'_>, rect: Rect) -> Rect {
    beside_chips(
        ctx,
        Rect {
            x0: rect.x0.max(ctx.x0),
            x1: rect.x1.min(ctx.x1()),
            ..rect
        },
    )
}

/// The wider part of a rectangle left or right of each chip in it.
pub(super) fn beside_chips(ctx: &Ctx<'_>, mut rect: Rect) -> Rect {
    for chip in &ctx.chips {
        if chip.clip(rect).is_empty() {
            continue;
        }
        if chip.x0 - rect.x0 > rect.x1 - chip.x1 {
            rect.x1 = chip.x0;
        } else {
            rect.x0 = chip.x1;
        }
    }
    rect
}

fn direction(kind: Option<CopyKind>) -> &'static str {
    match kind {
        Some(CopyKind::HostToDevice) => "H→D",
        Some(CopyKind::DeviceToHost) => "D→H",
        Some(CopyKind::DeviceToDevice) => "D→D",
        Some(CopyKind::PeerToPeer) => "P→P",
        Some(CopyKind::HostToHost) => "H→H",
        _ => "",
    }
}
