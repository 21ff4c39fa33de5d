//! Span labels: the widest first, shortened stepwise.

use super::ctx::{Ctx, short_time, text};
use crate::analysis::LayerClass;
use crate::model::{CopyKind, SpanId};
use crate::view::draw::{Font, Item};
use crate::view::geom::{Rect, Rgba};
use crate::view::label::{MIN_LABEL_WIDTH, PADDING, capacity, with_duration};

use super::MAX_LABELS;

/// A span that has room for a label.
pub(super) struct Candidate {
    pub rect: Rect,
    pub span: SpanId,
    pub class: LayerClass,
    pub color: Rgba,
}

/// The texts of the widest [`MAX_LABELS`] candidates; the rest is counted.
pub(super) fn choose(ctx: &mut Ctx<'_>, mut candidates: Vec<Candidate>) -> Vec<Item> {
    if candidates.len() > MAX_LABELS {
        candidates.sort_by(|a, b| b.rect.width().total_cmp(&a.rect.width()));
        ctx.list.stats.labels_dropped += (candidates.len() - MAX_LABELS) as u64;
        candidates.truncate(MAX_LABELS);
    }
    candidates.iter().filter_map(|c| label(ctx, c)).collect()
}

fn label(ctx: &Ctx<'_>, c: &Candidate) -> Option<Item> {
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
    Some(text(at, words, Font::Label, c.color, rect.width()))
}

/// What shows of a rectangle on the canvas: labels start at the visible start.
pub(super) fn visible(ctx: &Ctx<'_>, rect: Rect) -> Rect {
    Rect {
        x0: rect.x0.max(ctx.x0),
        x1: rect.x1.min(ctx.x1()),
        ..rect
    }
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
