//! The first claim (rules D1, D2): which part of a batch wait the GPU spent idle, which it hid, which nobody recorded.

use std::borrow::Cow;

use super::ctx::{Ctx, short_time, text};
use super::labels::{LABEL_HEIGHT, Written, text_rect, visible};
use super::place::{Layers, Place, target};
use super::runs::{Run, Runs};
use super::style::{style, wait_unknown};
use crate::analysis::{LayerClass, Rank, Union};
use crate::model::SpanId;
use crate::time::{TimeRange, Unit};
use crate::view::draw::{Font, Item, Mark, MarkKind, Target};
use crate::view::entry::LegendEntry;
use crate::view::geom::{Rect, Rgba};
use crate::view::label::{MIN_CHARS, MIN_LABEL_WIDTH, MONO_ADVANCE, PADDING, capacity, shorten};
use crate::view::lod::{Tree, WaitRow};
use crate::view::rows::{NodeKind, RowKind, Summary};
use crate::view::theme::Swatch;

/// From this width an exposed part is hatched, points.
const HATCH_FROM: f32 = 5.0;
/// Share of a run from which it is hatched as a single part is.
pub(super) const HATCH_SHARE: f32 = 0.5;
/// Least height of a run of exposed parts, points.
pub(super) const LEAST_HEIGHT: f32 = 3.0;
/// Columns narrower than this are left out, and closer ones join, points.
const COLUMN: f64 = 3.0;

/// Exposed and unrecorded parts of the waits of one row of a loop lane, and their labels.
pub(super) fn row(ctx: &mut Ctx<'_>, wait: &WaitRow, place: Place, out: &mut Layers) {
    let gpu = !ctx.no_gpu(wait.rank);
    if gpu {
        let parts = (&wait.unrecorded, &wait.unrecorded_tree);
        let look = (place.bar, ctx.wait_opacity());
        grey(ctx, parts, ctx.window, look, &mut out.priority);
    }
    let parts = (&wait.exposed, &wait.exposed_tree);
    exposed_marks(ctx, parts, std::slice::from_ref(wait), place, out);
    in_focus(ctx, wait, place.bar, out);
    let spans = ctx.input.trace.spans();
    let a = wait
        .spans
        .partition_point(|&id| spans.end(id) <= ctx.window.start);
    let b = wait
        .spans
        .partition_point(|&id| spans.start(id) < ctx.window.end);
    let least = f64::from(MIN_LABEL_WIDTH) * ctx.input.viewport.ns_per_px();
    for i in a..b {
        let (id, inner) = (wait.spans[i], wait.inner[i]);
        let range = spans.range(id);
        if range.clip(ctx.window).len() as f64 >= least && place.bar.height() >= LABEL_HEIGHT {
            let parts = Parts {
                exposed: &wait.exposed,
                unrecorded: &wait.unrecorded,
                gpu,
            };
            let name = inner.then(|| ctx.input.trace.span_name(id));
            let written = label(ctx, range, (&parts, name), place.bar, &mut out.texts);
            out.written.extend(written);
        }
    }
}

/// Notes for the legend whether the GPU hid something of the waits of a rank, or whether that is unknown.
pub(super) fn note_hidden(ctx: &Ctx<'_>, rank: &Rank) {
    if rank.gpu.is_none() {
        if rank.wait.measure_in(ctx.window) > 0 {
            ctx.drew(LegendEntry::UnknownWait);
        }
        return;
    }
    let [all, exposed, unrecorded] = [&rank.wait, &rank.wait_exposed, &rank.wait_unrecorded]
        .map(|part| part.measure_in(ctx.window));
    if all > exposed.saturating_add(unrecorded) {
        ctx.drew(LegendEntry::Hidden);
    }
}

/// Waits whose chain is drawn, at full strength over the faded ones.
fn in_focus(ctx: &Ctx<'_>, wait: &WaitRow, bar: Rect, out: &mut Layers) {
    let theme = ctx.input.theme;
    for frame in ctx.input.links.iter().flat_map(|l| &l.frames) {
        let own = wait.spans.binary_search(&frame.span).is_ok();
        if frame.all_rows || !own || !frame.range.overlaps(ctx.window) {
            continue;
        }
        let (x0, x1) = (ctx.x(frame.range.start), ctx.x(frame.range.end));
        let gpu = !ctx.no_gpu(wait.rank);
        let look = match gpu {
            true => style(theme, LayerClass::Wait, 100),
            false => wait_unknown(theme, 100),
        };
        let rect = Rect { x0, x1, ..bar };
        let fill = look.fill.over(theme.lane);
        out.priority.push(Item::Rect { rect, fill });
        if !gpu {
            continue;
        }
        let within = frame.range.clip(ctx.window);
        let parts = (&wait.unrecorded, &wait.unrecorded_tree);
        grey(ctx, parts, within, (bar, 100), &mut out.priority);
        for run in runs_in(ctx, &wait.exposed, &wait.exposed_tree, within) {
            let hatched = run.coverage() >= HATCH_SHARE;
            let rect = exposed_rect(ctx, &run, bar);
            exposed(ctx, rect, (hatched, 100), &mut out.priority);
        }
    }
}

/// What of a collapsed group's batch waits is exposed.
pub(super) fn summary(ctx: &mut Ctx<'_>, group: &Summary, place: Place, out: &mut Layers) {
    let lod = ctx.input.rows.tree().lod().clone();
    let parts = (&group.exposed, &group.exposed_tree);
    exposed_marks(ctx, parts, &lod.waits()[group.waits.clone()], place, out);
}

/// Exposed parts with their marks; `waits` are the rows that they are of, outermost first.
fn exposed_marks(
    ctx: &mut Ctx<'_>,
    (union, tree): (&Union, &Tree),
    waits: &[WaitRow],
    place: Place,
    out: &mut Layers,
) {
    for run in exposed_runs(ctx, union, tree) {
        let Some(first) = span_at(ctx, waits, run.hull.start) else {
            continue;
        };
        let rect = exposed_rect(ctx, &run, place.bar);
        let look = (run.coverage() >= HATCH_SHARE, ctx.wait_opacity());
        exposed(ctx, rect, look, &mut out.priority);
        ctx.list.marks.push(Mark {
            rect,
            row: place.row,
            pinned: place.pinned,
            kind: MarkKind::Exposed,
            first,
            count: run.count,
            busy: run.busy,
            layer: ctx.input.analysis.layers().of(first),
            class: LayerClass::Wait,
        });
    }
}

/// The outermost wait span that an exposed part at `t` belongs to.
fn span_at(ctx: &Ctx<'_>, waits: &[WaitRow], t: i64) -> Option<SpanId> {
    let spans = ctx.input.trace.spans();
    waits.iter().find_map(|wait| {
        let i = wait.spans.partition_point(|&id| spans.start(id) <= t);
        let span = *wait.spans.get(i.checked_sub(1)?)?;
        (t < spans.end(span)).then_some(span)
    })
}

/// Whether a mark is a wait that [`row`] labels itself.
pub(super) fn has_label(ctx: &Ctx<'_>, mark: &Mark) -> bool {
    let rows = ctx.input.rows;
    let rows = if mark.pinned {
        rows.pinned()
    } else {
        rows.rows()
    };
    let kind = rows.get(mark.row as usize).map(|r| r.kind);
    let Some(RowKind::Lane { leaf, sub }) = kind.filter(|_| mark.class == LayerClass::Wait) else {
        return false;
    };
    let waits = ctx.input.rows.tree().lod().waits_at(leaf, sub);
    waits.is_some_and(|w| w.spans.binary_search(&mark.first).is_ok())
}

/// Exposed parts in the window, narrow neighbours joined among themselves only.
pub(super) fn exposed_runs(ctx: &Ctx<'_>, union: &Union, tree: &Tree) -> Vec<Run> {
    runs_in(ctx, union, tree, ctx.window)
}

fn runs_in(ctx: &Ctx<'_>, union: &Union, tree: &Tree, window: TimeRange) -> Vec<Run> {
    let mut runs = Runs::priority(ctx.input.viewport);
    tree.walk(union, window, ctx.merge_ns, &mut |p| runs.push(p));
    runs.finish()
}

/// Where an exposed part is drawn: all of the bar. A run of many covers of its height the share that is exposed, lest
/// gaps of microseconds between kernels look like one long wait.
pub(super) fn exposed_rect(ctx: &Ctx<'_>, run: &Run, bar: Rect) -> Rect {
    let height = (bar.height() * run.coverage()).max(LEAST_HEIGHT);
    Rect::new(
        ctx.clip_x(run.x0),
        bar.y1 - height.min(bar.height()),
        ctx.clip_x(run.x1),
        bar.y1,
    )
}

/// One exposed part: solid, and hatched where it is most of its time and there is room for it; with its opacity, percent.
pub(super) fn exposed(
    ctx: &Ctx<'_>,
    rect: Rect,
    (hatched, opacity): (bool, u32),
    out: &mut Vec<Item>,
) {
    let theme = ctx.input.theme;
    let full = theme.swatch(Swatch::Wait);
    let fill = full.percent(opacity).over(theme.lane);
    ctx.drew(LegendEntry::Exposed);
    out.push(Item::Rect { rect, fill });
    if hatched && rect.width() >= HATCH_FROM {
        out.push(Item::Hatch {
            rect,
            color: theme.hatch().percent(opacity),
            line: 2.0,
            pitch: 6.0,
        });
        out.push(Item::Outline {
            rect,
            color: match theme.dark {
                true => fill,
                false => full.shade(72).percent(opacity),
            },
            width: ctx.pixel(),
        });
    }
}

/// Parts of a wait of which nobody knows what the GPU did.
pub(super) fn grey(
    ctx: &Ctx<'_>,
    (union, tree): (&Union, &Tree),
    window: TimeRange,
    (bar, opacity): (Rect, u32),
    out: &mut Vec<Item>,
) {
    let theme = ctx.input.theme;
    for run in runs_in(ctx, union, tree, window) {
        let rect = Rect {
            x0: ctx.clip_x(run.x0),
            x1: ctx.clip_x(run.x1),
            ..bar
        };
        let fill = unrecorded(ctx, opacity);
        ctx.drew(LegendEntry::Unrecorded);
        out.push(Item::Rect { rect, fill });
        if rect.width() >= 3.0 {
            out.push(Item::Outline {
                rect,
                color: theme.unrecorded.percent(opacity),
                width: ctx.pixel(),
            });
        }
    }
}

/// The fill of waits of which nobody knows what the GPU did.
fn unrecorded(ctx: &Ctx<'_>, opacity: u32) -> Rgba {
    let theme = ctx.input.theme;
    theme
        .unrecorded
        .percent(45)
        .percent(opacity)
        .over(theme.lane)
}

/// The unions that a wait's label is made of.
pub(super) struct Parts<'a> {
    pub exposed: &'a Union,
    pub unrecorded: &'a Union,
    /// The rank's GPU is known.
    pub gpu: bool,
}

/// "wait 101 ms · 39 exposed", in the widest part that is not hatched, else on a plate over the hatch. Returns where
/// it is written, without a plate of its own.
pub(super) fn label(
    ctx: &Ctx<'_>,
    wait: TimeRange,
    (parts, name): (&Parts<'_>, Option<&str>),
    bar: Rect,
    out: &mut Vec<Item>,
) -> Option<Written> {
    let theme = ctx.input.theme;
    let opacity = ctx.legend_opacity(Swatch::Wait);
    let shown = wait.clip(ctx.window);
    let texts = |room: usize| match name {
        // A wait inside a wait says what it is; how long is told above.
        Some(name) => shorten(name, room).map(Cow::into_owned),
        None => texts(wait, parts)
            .into_iter()
            .find(|t| t.chars().count() <= room),
    };
    let y = (bar.y0 + bar.y1) / 2.0;
    let free = widest_free(shown, parts.exposed);
    let (x0, x1) = clear(ctx, free, bar);
    let room = capacity(x1 - x0);
    let look = match parts.gpu {
        true => style(theme, LayerClass::Wait, opacity),
        false => wait_unknown(theme, opacity),
    };
    let plain = look.fill.over(theme.lane);
    if let Some(t) = texts(room) {
        let mostly = parts.unrecorded.measure_in(free) * 2 >= free.len();
        let fill = match parts.gpu && mostly {
            true => unrecorded(ctx, opacity),
            false => plain,
        };
        let rect = text_rect(x0 + PADDING, &t, Rect { x0, x1, ..bar });
        let color = theme.readable(fill, theme.text.percent(opacity));
        out.push(text((x0 + PADDING, y), t, Font::Label, color, x1 - x0));
        let dots = false;
        return Some(Written { rect, fill, dots });
    }
    let (x0, x1) = clear(ctx, shown, bar);
    let room = capacity(x1 - x0 - 4.0);
    let t = texts(room)?;
    let width = t.chars().count() as f32 * MONO_ADVANCE + 2.0 * PADDING;
    let plate = Rect::new(x0 + 2.0, bar.y0 + 1.0, x0 + 2.0 + width, bar.y1 - 1.0);
    // The plate has the colour of what most of it lies on.
    let time = |x: f32| ctx.input.viewport.time_from_x(x - ctx.x0);
    let beneath = TimeRange::new(time(plate.x0), time(plate.x1)).clip(shown);
    let mostly = parts.exposed.measure_in(beneath) * 2 >= beneath.len();
    let (fill, color): (Rgba, Rgba) = if mostly {
        let full = theme.swatch(Swatch::Wait);
        (
            full.percent(opacity).over(theme.lane),
            theme.label(Swatch::Wait),
        )
    } else {
        (plain, theme.text.percent(opacity))
    };
    let color = theme.readable(fill, color);
    out.push(Item::Rect { rect: plate, fill });
    out.push(text(
        (x0 + 2.0 + PADDING, y),
        t,
        Font::Label,
        color,
        x1 - x0,
    ));
    None
}

/// Where a label of a stretch can be.
fn clear(ctx: &Ctx<'_>, range: TimeRange, bar: Rect) -> (f32, f32) {
    let (x0, x1) = (ctx.x(range.start), ctx.x(range.end));
    let rect = visible(ctx, Rect { x0, x1, ..bar });
    (rect.x0, rect.x1)
}

/// Texts of a wait from the most telling to the shortest.
fn texts(wait: TimeRange, parts: &Parts<'_>) -> Vec<String> {
    let exposed = parts.exposed.measure_in(wait);
    let unrecorded = parts.unrecorded.measure_in(wait);
    let time = short_time(wait.len());
    if !parts.gpu {
        let unknown = "(GPU unknown)";
        return vec![
            format!("batch wait {time} {unknown}"),
            format!("batch wait {unknown}"),
            format!("batch wait {time}"),
            format!("wait {time}"),
            time,
            "wait".to_owned(),
        ];
    }
    let what = if exposed == wait.len() {
        "all exposed".to_owned()
    } else if unrecorded == wait.len() {
        "not recorded".to_owned()
    } else if exposed > 0 {
        format!("{} exposed", same_unit(exposed, wait.len()))
    } else if unrecorded > 0 {
        format!("{} not recorded", same_unit(unrecorded, wait.len()))
    } else {
        "hidden".to_owned()
    };
    let mut all = vec![
        format!("wait {time} · {what}"),
        format!("wait {time}"),
        time,
    ];
    if exposed == 0 && unrecorded == 0 {
        all.insert(1, "wait · hidden".to_owned());
    }
    all.push("wait".to_owned());
    debug_assert!(all.iter().all(|t| t.chars().count() >= MIN_CHARS));
    all
}

/// `part` in the unit of `whole`, without its symbol; with its own unit where that would be 0.
fn same_unit(part: i64, whole: i64) -> String {
    let unit = Unit::for_length(whole);
    let decimals = match part / unit.ns().max(1) {
        10.. => 0,
        1.. => 1,
        _ => 2,
    };
    let text = unit.format(part, if unit == Unit::Ns { 0 } else { decimals });
    if text.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        text
    } else {
        short_time(part)
    }
}

/// The longest stretch of `shown` without exposed parts.
fn widest_free(shown: TimeRange, exposed: &Union) -> TimeRange {
    let mut best = TimeRange::new(shown.start, shown.start);
    let mut at = shown.start;
    for part in exposed.parts_in(shown) {
        let gap = TimeRange::new(at, part.start);
        if gap.len() > best.len() {
            best = gap;
        }
        at = part.end;
    }
    let rest = TimeRange::new(at, shown.end);
    if rest.len() > best.len() { rest } else { best }
}

/// Tinted columns behind the lanes of each rank (rule D2).
pub(super) fn columns(
    ctx: &Ctx<'_>,
    rows: &[crate::view::Row],
    area: Rect,
    dy: f32,
    out: &mut Vec<Item>,
) {
    let ranks = ctx.input.analysis.ranks();
    let lod = ctx.input.rows.tree().lod();
    for (i, rank) in ranks.iter().enumerate() {
        let Some((y0, y1)) = extent_of(ctx, rank.rank, ranks.len(), rows, area, dy) else {
            continue;
        };
        let opacity = ctx.wait_opacity();
        let fill = ctx
            .input
            .theme
            .swatch(Swatch::Wait)
            .percent(9)
            .percent(opacity);
        let runs = exposed_runs(ctx, &rank.wait_exposed, &lod.rank(i).exposed);
        for (x0, x1) in joined(&runs) {
            let rect = Rect::new(ctx.clip_x(x0), y0, ctx.clip_x(x1), y1);
            out.push(Item::Rect { rect, fill });
        }
    }
}

/// Neighbours closer than 3 points joined, then those of at least 3 points.
fn joined(runs: &[Run]) -> Vec<(f64, f64)> {
    let mut out: Vec<(f64, f64)> = Vec::new();
    // Where the GPU mostly works there is no column.
    for run in runs.iter().filter(|r| r.coverage() >= HATCH_SHARE) {
        match out.last_mut() {
            Some(last) if run.x0 - last.1 < COLUMN => last.1 = last.1.max(run.x1),
            _ => out.push((run.x0, run.x1)),
        }
    }
    out.retain(|(a, b)| b - a >= COLUMN);
    out
}

/// The height that a rank's lanes take: everything for a single rank.
fn extent_of(
    ctx: &Ctx<'_>,
    rank: u32,
    ranks: usize,
    rows: &[crate::view::Row],
    area: Rect,
    dy: f32,
) -> Option<(f32, f32)> {
    if ranks == 1 {
        return Some((area.y0, area.y1));
    }
    let tree = ctx.input.rows.tree();
    let of = |row: &&crate::view::Row| {
        let mut at = row.node;
        while let Some(parent) = tree.node(at).parent {
            at = parent;
        }
        tree.node(at).kind == NodeKind::Rank(rank)
    };
    let mut own = rows.iter().filter(of);
    let first = own.next()?;
    let last = own.next_back().unwrap_or(first);
    Some((first.y + dy, last.y + last.height + dy))
}

/// Makes the waits of a rank reachable: one target per wait that is at least a point wide.
pub(super) fn targets(ctx: &mut Ctx<'_>, rank: usize, bar: Rect, clip: Rect) {
    let waits = ctx.input.analysis.waits();
    let own = ctx.input.rows.tree().lod().waits_of(rank);
    // Waits are sorted by start; of one rank they do not overlap, so that ends ascend as well.
    let begin = own.partition_point(|&i| waits[i as usize].range.end <= ctx.window.start);
    let end = own.partition_point(|&i| waits[i as usize].range.start < ctx.window.end);
    let shown: Vec<usize> = own[begin..end.max(begin)]
        .iter()
        .map(|&i| i as usize)
        .collect();
    let px = ctx.input.viewport.ns_per_px();
    let mut edge = f32::NEG_INFINITY;
    for i in shown {
        let wait = &waits[i];
        if (wait.range.len() as f64) < px {
            continue;
        }
        let rect = Rect {
            x0: ctx.x(wait.range.start),
            x1: ctx.x(wait.range.end),
            ..bar
        };
        if rect.x0 >= edge {
            edge = rect.x1;
            target(ctx, rect, clip, Target::Wait(i));
        }
    }
}
