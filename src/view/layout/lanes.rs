//! Lanes: backgrounds, spans and runs (L1–L8), what must never vanish (L6), labels.

use super::ctx::Ctx;
use super::place::{Layers, Place};
use super::runs::{MIN_PRIORITY_WIDTH, OWN_WIDTH, Run, Runs};
use super::{collectives, counters, instants, labels, not_recorded, style, tails, waits};
use crate::analysis::{LayerClass, LayerId};
use crate::model::{LaneKind, SpanId};
use crate::view::draw::{Item, Mark, MarkKind, SectionKind};
use crate::view::entry::LegendEntry;
use crate::view::geom::Rect;
use crate::view::rows::{Busy, NodeKind, Row, RowKind};
use crate::view::theme::Swatch;

/// Space between a row's edges and its bars, points.
pub(super) const BAR_INSET: f32 = 1.0;

/// The same in the row of a collapsed group, points: a strip, less loud than a lane.
const SUMMARY_INSET: f32 = 3.0;

/// The same of a row: half of it in dense rows.
fn inset(row: &Row) -> f32 {
    if row.height < DENSE {
        BAR_INSET / 2.0
    } else {
        BAR_INSET
    }
}

/// Lower rows have no room for texts and tails, points.
const DENSE: f32 = 10.0;

/// Rows that scroll together.
pub(super) struct Strip<'a> {
    pub rows: &'a [Row],
    /// Index of the first of `rows` among all.
    pub first: usize,
    pub area: Rect,
    /// Picture y of rows at y 0.
    pub dy: f32,
    pub pinned: bool,
}

pub(super) fn strip(ctx: &mut Ctx<'_>, strip: &Strip<'_>) {
    let mut out = Layers::default();
    backgrounds(ctx, strip, &mut out);
    if ctx.input.options.exposed_columns {
        waits::columns(ctx, strip.rows, strip.area, strip.dy, &mut out.back);
    }
    for (i, row) in strip.rows.iter().enumerate() {
        let place = Place {
            row: u32::try_from(strip.first + i).unwrap_or(u32::MAX),
            pinned: strip.pinned,
            bar: Rect::new(
                ctx.x0,
                row.y + strip.dy + inset(row),
                ctx.x1(),
                row.y + strip.dy + row.height - inset(row),
            ),
            gpu: false,
            recorder: false,
            loops: false,
            no_gpu: false,
        };
        match row.kind {
            RowKind::Header => {}
            RowKind::Summary => {
                let mut place = place;
                place.bar.y0 += SUMMARY_INSET - BAR_INSET;
                place.bar.y1 -= SUMMARY_INSET - BAR_INSET;
                summary(ctx, row, place, &mut out);
            }
            RowKind::Lane { leaf, sub } => lane_row(ctx, (leaf, sub), place, &mut out),
            RowKind::Counter(i) => counters::row(ctx, i, place, &mut out),
            RowKind::Instants(i) => instants::row(ctx, i, place, &mut out),
        }
    }
    let texts = labels::choose(ctx, std::mem::take(&mut out.labels), &mut out.written);
    let kind = if strip.pinned {
        SectionKind::Pinned
    } else {
        SectionKind::Lanes
    };
    let mut items = out.back;
    items.append(&mut out.tails);
    items.append(&mut out.spans);
    items.append(&mut out.priority);
    items.extend(labels::plates(&out.written, &out.strips));
    items.append(&mut out.caps);
    items.extend(texts);
    items.append(&mut out.texts);
    let clip = Rect::new(ctx.x0, strip.area.y0, ctx.x1(), strip.area.y1);
    ctx.section(kind, clip, items);
}

fn backgrounds(ctx: &Ctx<'_>, strip: &Strip<'_>, out: &mut Layers) {
    let theme = ctx.input.theme;
    let mut open: Option<(Rect, u32)> = None;
    for row in strip.rows {
        let rect = Rect::new(
            ctx.x0,
            row.y + strip.dy,
            ctx.x1(),
            row.y + strip.dy + row.height,
        );
        let node = row.node.0;
        match (&mut open, row.kind) {
            (_, RowKind::Header) => continue,
            (Some((r, n)), _) if *n == node => r.y1 = rect.y1,
            _ => {
                push_background(&mut out.back, open.take(), theme.lane);
                open = Some((rect, node));
            }
        }
    }
    push_background(&mut out.back, open, theme.lane);
}

fn push_background(out: &mut Vec<Item>, lane: Option<(Rect, u32)>, fill: crate::view::Rgba) {
    if let Some((rect, _)) = lane {
        out.push(Item::Rect { rect, fill });
    }
}

/// A collapsed group: when any of its lanes is busy, what of its waits is exposed, and the selected span.
fn summary(ctx: &mut Ctx<'_>, row: &Row, place: Place, out: &mut Layers) {
    let tree = ctx.input.rows.tree().clone();
    let group = tree.summary(row.node);
    match &group.busy {
        Busy::Never => {}
        Busy::Leaf(leaf) => row_of(ctx, (*leaf, 0), place, out, true),
        Busy::Group(busy) => {
            let kind = tree.node(row.node).kind;
            let place = Place {
                gpu: matches!(kind, NodeKind::Gpu(_)),
                recorder: kind == NodeKind::Recorder,
                loops: !group.waits.is_empty(),
                no_gpu: tree.lod().waits()[group.waits.clone()]
                    .iter()
                    .all(|w| ctx.no_gpu(w.rank)),
                ..place
            };
            let mut runs = Runs::new(ctx.input.viewport);
            let layers = ctx.input.analysis.layers();
            let (trace, window, merge_ns) = (ctx.input.trace, ctx.window, ctx.merge_ns);
            busy.walk(trace, layers, window, merge_ns, &mut |p| runs.push(p));
            for run in runs.finish() {
                let mark = mark(ctx, &run, place, |i| busy.id(i));
                draw(ctx, &mark, &run, place, out, true);
                ctx.list.marks.push(mark);
            }
        }
    }
    waits::summary(ctx, group, place, out);
    // Rule L6: hits and the selected span show where their lanes do not.
    if let Some(row) = ctx.input.hits.and_then(|h| h.group(row.node.0)) {
        let (trace, layers) = (ctx.input.trace, ctx.input.analysis.layers());
        let mut runs = Runs::priority(ctx.input.viewport);
        row.walk(trace, layers, ctx.window, ctx.merge_ns, &mut |p| {
            runs.push(p)
        });
        hits(ctx, runs, |i| row.id(i), place, out);
    }
    if let Some(span) = ctx.input.selected
        && let Some(at) = tree.lod().place(ctx.input.trace, span)
        && tree.holds(row.node, at.0)
    {
        highlight(ctx, at, place, &[span], MarkKind::Selected, out);
    }
}

fn lane_row(ctx: &mut Ctx<'_>, at: (u32, u16), place: Place, out: &mut Layers) {
    let labels = out.labels.len();
    row_of(ctx, at, place, out, false);
    let lod = ctx.input.rows.tree().lod().clone();
    if let Some(row) = lod.collectives(at.0, at.1) {
        collectives::row(ctx, row, place, labels, out);
    }
    if let Some(wait) = lod.waits_at(at.0, at.1) {
        waits::row(ctx, wait, place, out);
    }
    // With their spans faded they would be louder than those.
    let loud = ctx.input.hits.is_none() && ctx.legend_opacity(Swatch::Cpu) == 100;
    if ctx.input.options.tails && loud && place.bar.height() >= DENSE {
        tails::row(ctx, at, place, out);
    }
    chosen(ctx, at, place, out);
}

/// Spans and runs of one sub-row.
fn row_of(ctx: &mut Ctx<'_>, at: (u32, u16), mut place: Place, out: &mut Layers, summary: bool) {
    let input = ctx.input;
    let lod = input.rows.tree().lod().clone();
    let leaf = lod.leaf(at.0);
    let Some(row) = leaf.rows.get(usize::from(at.1)) else {
        return;
    };
    let kind = input.trace.lane(leaf.lane).kind;
    place.gpu = kind == LaneKind::Gpu;
    if place.gpu && !summary {
        not_recorded::on_lane(ctx, leaf.lane, place.bar, &mut out.back);
    }
    place.recorder = kind == LaneKind::Recorder;
    let mut ranks = input.analysis.ranks().iter();
    let rank = ranks.find(|r| r.loop_lane == Some(leaf.lane));
    place.loops = rank.is_some();
    place.no_gpu = rank.is_some_and(|r| r.gpu.is_none());
    if let Some(rank) = rank {
        waits::note_hidden(ctx, rank);
    }
    let mut runs = Runs::new(input.viewport);
    let layers = input.analysis.layers();
    row.walk(input.trace, layers, ctx.window, ctx.merge_ns, &mut |p| {
        runs.push(p);
    });
    for run in runs.finish() {
        let mark = mark(ctx, &run, place, |i| row.id(i));
        draw(ctx, &mark, &run, place, out, summary);
        ctx.list.marks.push(mark);
    }
}

/// A run as a mark with its final rectangle.
fn mark(ctx: &Ctx<'_>, run: &Run, place: Place, id: impl Fn(u32) -> SpanId) -> Mark {
    let height = place.bar.height() * run.height();
    Mark {
        rect: Rect::new(
            ctx.clip_x(run.x0),
            place.bar.y1 - height,
            ctx.clip_x(run.x1),
            place.bar.y1,
        ),
        row: place.row,
        pinned: place.pinned,
        kind: MarkKind::Plain,
        first: id(run.first),
        count: run.count,
        busy: run.busy,
        layer: run.layer,
        class: ctx.class(run.layer),
    }
}

fn draw(ctx: &mut Ctx<'_>, mark: &Mark, run: &Run, place: Place, out: &mut Layers, summary: bool) {
    let theme = ctx.input.theme;
    let mut look = match mark.class {
        LayerClass::Wait if !place.loops => {
            ctx.drew(LegendEntry::OtherWait);
            style::wait_elsewhere(theme, ctx.opacity(mark.class, place.gpu))
        }
        LayerClass::Wait if place.no_gpu => {
            style::wait_unknown(theme, ctx.opacity(mark.class, place.gpu))
        }
        class => {
            let class = match place.recorder {
                true => LayerClass::Container,
                false => class,
            };
            if class != LayerClass::Wait {
                ctx.drew(LegendEntry::Role(Swatch::of(class)));
            }
            ctx.style(class, place.gpu && !place.recorder)
        }
    };
    // Faded or not, no tail shines through.
    look.fill = look.fill.over(theme.lane);
    if summary {
        // A hint of what is inside, less loud than what shows for itself.
        look.fill = look.fill.percent(65).over(theme.lane);
        look.border = None;
        look.edge = None;
    }
    if run.count > 1 {
        ctx.list.stats.merged_runs += 1;
        ctx.list.stats.merged_spans += u64::from(run.count);
        let (rect, fill) = (mark.rect, look.fill);
        // Lower or narrower, there would be more gaps than run.
        out.spans
            .push(if rect.width() >= 4.0 && rect.height() >= 8.0 {
                Item::Run {
                    rect,
                    fill,
                    gaps: theme.lane,
                }
            } else {
                Item::Rect { rect, fill }
            });
        return;
    }
    ctx.list.stats.single_spans += 1;
    if mark.layer == LayerId::OTHER && !summary {
        // Nobody knows what it is for: equal names have equal hues.
        let tone = theme.of_name(ctx.input.trace.span_name(mark.first));
        let opacity = ctx.opacity(mark.class, place.gpu);
        look.fill = tone.percent(opacity).over(theme.lane);
        look.border = (!theme.dark).then(|| theme.outline(tone).percent(opacity));
        look.edge = Some(tone.shade(60).percent(opacity));
        look.label = theme.readable(look.fill, theme.text);
    } else if ctx.input.options.color_by_name {
        look.fill = style::vary(look.fill, ctx.input.trace.spans().name(mark.first));
    }
    span(ctx, mark, &look, out);
    if ctx.is_namesake(mark.first) && mark.rect.width() >= OWN_WIDTH as f32 {
        out.spans.push(Item::Outline {
            rect: mark.rect,
            color: theme.strong,
            width: ctx.pixel(),
        });
    }
    let wide = run.x1 - run.x0 >= f64::from(crate::view::label::MIN_LABEL_WIDTH);
    let high = place.bar.height() >= labels::LABEL_HEIGHT;
    if wide && high && !summary && ctx.input.options.labels && !labelled_elsewhere(ctx, mark) {
        out.labels.push(labels::Candidate {
            rect: mark.rect,
            span: mark.first,
            class: mark.class,
            color: look.label,
            fill: look.fill.over(theme.lane),
        });
    }
}

/// Waits and what stands out are labelled where they are drawn.
fn labelled_elsewhere(ctx: &Ctx<'_>, mark: &Mark) -> bool {
    let hit = ctx.input.hits.is_some_and(|h| h.contains(mark.first));
    let linked = ctx
        .input
        .links
        .is_some_and(|l| l.ops.binary_search(&mark.first).is_ok());
    hit || linked || waits::has_label(ctx, mark)
}

/// One span that has a rectangle of its own.
fn span(ctx: &Ctx<'_>, mark: &Mark, look: &style::Style, out: &mut Layers) {
    let rect = mark.rect;
    let px = ctx.pixel();
    // Two borders of a narrow span would be all of it.
    let wide = rect.width() >= BORDER_FROM;
    // Where the window cuts it, it goes on.
    let trace = ctx.input.trace;
    let fades = trace.is_unfinished(mark.first) && trace.spans().end(mark.first) <= ctx.window.end;
    if fades {
        let end = rect.x1.min(ctx.x1());
        let from = (end - FADE).max(rect.x0);
        out.spans.push(Item::Fade {
            rect: Rect {
                x0: from,
                x1: end,
                ..rect
            },
            from: look.fill,
            to: look.fill.percent(8),
        });
        out.spans.push(Item::Rect {
            rect: Rect { x1: from, ..rect },
            fill: look.fill,
        });
    } else {
        out.spans.push(Item::Rect {
            rect,
            fill: look.fill,
        });
    }
    if mark.class == LayerClass::Sync && rect.width() >= 8.0 {
        out.spans.push(Item::Dots {
            rect,
            color: look.label.percent(60),
        });
    }
    // A border would end what has no end.
    if fades {
        return;
    }
    if let Some(color) = look.border
        && wide
    {
        out.spans.push(Item::Outline {
            rect,
            color,
            width: px,
        });
    } else if let Some(fill) = look.edge
        && rect.width() >= 3.0
    {
        out.spans.push(Item::Rect {
            rect: Rect::new(rect.x1 - px, rect.y0, rect.x1, rect.y1),
            fill,
        });
    }
}

/// From this width a span has a border all around, points.
const BORDER_FROM: f32 = 6.0;
/// Width of the fading end of an unfinished span, points.
const FADE: f32 = 24.0;

/// Rule L6: search hits, linked operations, the selected span and spans of the hovered name.
fn chosen(ctx: &mut Ctx<'_>, at: (u32, u16), place: Place, out: &mut Layers) {
    let input = ctx.input;
    if let Some(row) = input.hits.and_then(|h| h.row(at.0, at.1)) {
        let layers = input.analysis.layers();
        let mut runs = Runs::priority(input.viewport);
        row.walk(input.trace, layers, ctx.window, ctx.merge_ns, &mut |p| {
            runs.push(p);
        });
        hits(ctx, runs, |i| row.id(i), place, out);
    }
    if let Some(links) = input.links {
        highlight(ctx, at, place, &links.ops, MarkKind::Linked, out);
    }
    if let Some(span) = input.selected {
        highlight(ctx, at, place, &[span], MarkKind::Selected, out);
    }
}

/// The search hits of a row.
fn hits(ctx: &mut Ctx<'_>, runs: Runs, id: impl Fn(u32) -> SpanId, place: Place, out: &mut Layers) {
    for run in runs.finish() {
        let mut mark = mark(ctx, &run, place, &id);
        mark.kind = MarkKind::Hit;
        mark.rect.y0 = place.bar.y0;
        draw_chosen(ctx, &mark, out);
        ctx.list.marks.push(mark);
    }
}

/// Draws those of `ids` (ascending) that lie in a row, at full strength and at least 2 points wide.
fn highlight(
    ctx: &mut Ctx<'_>,
    at: (u32, u16),
    place: Place,
    ids: &[SpanId],
    kind: MarkKind,
    out: &mut Layers,
) {
    let input = ctx.input;
    let lod = input.rows.tree().lod().clone();
    let leaf = lod.leaf(at.0);
    let row = &leaf.rows[usize::from(at.1)];
    let spans = &input.trace.lane(leaf.lane).spans;
    let a = ids.partition_point(|id| id.0 < spans.start);
    let b = ids.partition_point(|id| id.0 < spans.end);
    let starts_before = |id: &SpanId| input.trace.spans().start(*id) < ctx.window.end;
    let mut marks: Vec<Mark> = Vec::new();
    for &id in ids[a..b].iter().take_while(|id| starts_before(id)) {
        let range = input.trace.spans().range(id);
        if range.end < ctx.window.start || row.find(id).is_none() {
            continue;
        }
        let (x0, x1) = (ctx.x(range.start), ctx.x(range.end));
        let busy = range.clip(ctx.window).len();
        let narrow = f64::from(x1 - x0) < OWN_WIDTH;
        if let Some(last) = marks.last_mut()
            && narrow
            && x0 < last.rect.x1 + 1.0
            && f64::from(last.rect.width()) < OWN_WIDTH * 2.0
        {
            last.rect.x1 = last.rect.x1.max(x1);
            last.count += 1;
            last.busy += busy;
            continue;
        }
        let floor = marks.last().map_or(f32::NEG_INFINITY, |m| m.rect.x1);
        let x0 = x0.max(floor);
        let layer = input.analysis.layers().of(id);
        marks.push(Mark {
            rect: Rect::new(
                x0,
                place.bar.y0,
                x1.max(x0 + MIN_PRIORITY_WIDTH as f32),
                place.bar.y1,
            ),
            row: place.row,
            pinned: place.pinned,
            kind,
            first: id,
            count: 1,
            busy,
            layer,
            class: ctx.class(layer),
        });
    }
    for mark in marks {
        draw_chosen(ctx, &mark, out);
        ctx.list.marks.push(mark);
    }
}

fn draw_chosen(ctx: &Ctx<'_>, mark: &Mark, out: &mut Layers) {
    let theme = ctx.input.theme;
    let look = style::style(theme, mark.class, 100);
    if mark.kind == MarkKind::Selected {
        out.priority.push(Item::Outline {
            rect: mark.rect.inset(-1.0),
            color: theme.strong,
            width: 2.0,
        });
        return;
    }
    out.priority.push(Item::Rect {
        rect: mark.rect,
        fill: look.fill.over(theme.lane),
    });
    if f64::from(mark.rect.width()) >= OWN_WIDTH {
        let color = if mark.kind == MarkKind::Linked {
            theme.strong
        } else {
            look.border.or(look.edge).unwrap_or(look.fill)
        };
        out.priority.push(Item::Outline {
            rect: mark.rect,
            color,
            width: ctx.pixel(),
        });
    }
    let roomy = mark.rect.width() >= crate::view::label::MIN_LABEL_WIDTH
        && mark.rect.height() >= labels::LABEL_HEIGHT;
    if roomy && mark.count == 1 {
        out.labels.push(labels::Candidate {
            rect: mark.rect,
            span: mark.first,
            class: mark.class,
            color: look.label,
            fill: look.fill.over(theme.lane),
        });
    }
}
