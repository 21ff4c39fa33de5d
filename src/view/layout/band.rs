//! The overlap band: GPU busy above, batch wait below, and across both where the wait is exposed.

use super::ctx::{Ctx, short_time, text, text_right};
use super::labels::text_rect;
use super::not_recorded;
use super::place::target;
use super::runs::{Run, Runs};
use super::waits;
use crate::analysis::{Gpu, LayerClass, Rank};
use crate::view::draw::{Font, Item, SectionKind, Target};
use crate::view::entry::LegendEntry;
use crate::view::geom::{Rect, Rgba};
use crate::view::label::{MIN_LABEL_WIDTH, PADDING, capacity};
use crate::view::theme::Swatch;

/// Height of a GPU's band, points.
const TALL: f32 = 40.0;
/// Height with more than [`MANY`] bands, points.
const LOW: f32 = 18.0;
/// Beyond this number bands are low.
const MANY: usize = 4;
/// Height of what a label covers, points.
const LABEL: f32 = 13.0;
/// Space between the edges of a band and its bars, points.
const INSET: f32 = 1.5;

/// What one band shows: a GPU and the rank that waits for it, or a rank without a GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Band {
    pub gpu: Option<usize>,
    pub rank: Option<usize>,
}

/// The bands of a trace. A trace without GPU and without rank has one too: it says why it is empty.
pub(super) fn bands(gpus: &[Gpu], ranks: &[Rank]) -> Vec<Band> {
    let mut out: Vec<Band> = (0..gpus.len())
        .map(|g| Band {
            gpu: Some(g),
            rank: ranks.iter().position(|r| r.gpu == Some(g)),
        })
        .collect();
    for (i, rank) in ranks.iter().enumerate() {
        let shown = out.iter().any(|b| b.rank == Some(i));
        if !shown && (rank.gpu.is_none() || !rank.wait.is_empty()) {
            out.push(Band {
                gpu: rank.gpu,
                rank: Some(i),
            });
        }
    }
    if out.is_empty() {
        out.push(Band {
            gpu: None,
            rank: None,
        });
    }
    out
}

/// Number of bands of a trace, and the height of each, points.
pub(super) fn measures(gpus: &[Gpu], ranks: &[Rank]) -> (usize, f32) {
    let n = bands(gpus, ranks).len();
    (n, if n > MANY { LOW } else { TALL })
}

/// Bands into `area` (canvas part), headers left of it.
pub(super) fn band(ctx: &mut Ctx<'_>, area: Rect) {
    let bands = bands(ctx.input.analysis.gpus(), ctx.input.analysis.ranks());
    let low = bands.len() > MANY;
    let height = if low { LOW } else { TALL };
    let mut y = area.y0 - ctx.input.scroll.band;
    let mut items = Vec::new();
    let mut heads = Vec::new();
    for band in bands {
        let rect = Rect::new(area.x0, y, area.x1, y + height);
        y += height;
        if rect.y1 <= area.y0 || rect.y0 >= area.y1 {
            continue;
        }
        target(
            ctx,
            Rect { x0: 0.0, ..rect },
            Rect { x0: 0.0, ..area },
            Target::Band(band.gpu),
        );
        one(ctx, band, rect, low, &mut items);
        header(ctx, band, rect, low, &mut heads);
    }
    ctx.section(SectionKind::Band, area, items);
    let clip = Rect::new(0.0, area.y0, ctx.x0, area.y1);
    ctx.section(SectionKind::Headers, clip, heads);
}

fn one(ctx: &mut Ctx<'_>, band: Band, rect: Rect, low: bool, out: &mut Vec<Item>) {
    let theme = ctx.input.theme;
    out.push(Item::Rect {
        rect: Rect::new(rect.x0, rect.y0 + 0.5, rect.x1, rect.y1 - 0.5),
        fill: theme.lane,
    });
    let middle = if low {
        (rect.y0 + rect.y1) / 2.0 + 1.0
    } else {
        (rect.y0 + rect.y1) / 2.0
    };
    let top = Rect::new(rect.x0, rect.y0 + INSET, rect.x1, middle - INSET / 2.0);
    let bottom = Rect::new(rect.x0, middle + INSET / 2.0, rect.x1, rect.y1 - INSET);
    let labels = match band.gpu {
        Some(gpu) => busy(ctx, gpu, top, low, out),
        None => {
            missing(ctx, band, top, low, out);
            Vec::new()
        }
    };
    let exposed = match band.rank {
        Some(rank) => wait(ctx, rank, (top, bottom), low, out),
        None => Vec::new(),
    };
    for label in labels {
        label.write(&exposed, out);
    }
}

/// A label of the upper row. It is written after the exposed parts, which lie across both rows.
struct Label {
    rect: Rect,
    fill: Rgba,
    text: Item,
}

impl Label {
    /// `marks`: what may lie where it is written, from left to right.
    fn write(self, marks: &[Rect], out: &mut Vec<Item>) {
        let first = marks.partition_point(|m| m.x1 <= self.rect.x0);
        let rest = &marks[first..];
        if rest.first().is_some_and(|m| m.x0 < self.rect.x1) {
            let (rect, fill) = (self.rect, self.fill);
            out.push(Item::Rect { rect, fill });
        }
        out.push(self.text);
    }
}

fn missing(ctx: &Ctx<'_>, band: Band, top: Rect, low: bool, out: &mut Vec<Item>) {
    let ranks = ctx.input.analysis.ranks();
    let waits = band.rank.is_some_and(|r| !ranks[r].wait.is_empty());
    let words = if waits {
        "No GPU events in this trace: how much of the wait was hidden cannot be told."
    } else {
        "No GPU events and no batch waits in this trace."
    };
    if !low {
        let y = (top.y0 + top.y1) / 2.0;
        let width = top.width() - 2.0 * PADDING;
        let color = ctx.input.theme.weak;
        out.push(text(
            (top.x0 + PADDING, y),
            words,
            Font::Small,
            color,
            width,
        ));
    }
}

fn busy(ctx: &Ctx<'_>, gpu: usize, bar: Rect, low: bool, out: &mut Vec<Item>) -> Vec<Label> {
    let theme = ctx.input.theme;
    let info = &ctx.input.analysis.gpus()[gpu];
    let tree = ctx.input.rows.tree().lod().gpu_busy(gpu);
    let mut runs = Runs::new(ctx.input.viewport);
    tree.walk(&info.busy, ctx.window, ctx.merge_ns, &mut |p| runs.push(p));
    let runs = runs.finish();
    let works = [Swatch::GpuCompute, Swatch::GpuCopy];
    let opacity = works.map(|s| ctx.legend_opacity(s)).into_iter().max();
    let opacity = opacity.unwrap_or(100);
    let look = super::style::style(theme, LayerClass::GpuCompute, opacity);
    for run in &runs {
        ctx.drew(LegendEntry::Role(Swatch::GpuCompute));
        let rect = bar_of(ctx, run, bar);
        out.push(Item::Rect {
            rect,
            fill: look.fill,
        });
    }
    communication(ctx, gpu, bar, out);
    not_recorded::on_band(ctx, info, bar, out);
    let mut labels = Vec::new();
    if low {
        return labels;
    }
    let y = (bar.y0 + bar.y1) / 2.0;
    let (left, scale) = (f64::from(ctx.x0), 1.0 / f64::from(ctx.pixel()));
    let pixel = |x: f64| ((x + left) * scale).round();
    for block in blocks(&runs, &pixel) {
        let (x0, x1) = (
            ctx.clip_x(block.solid.0).max(ctx.x0),
            ctx.clip_x(block.solid.1).min(ctx.x1()),
        );
        let time = short_time(block.run.busy);
        let words = [format!("GPU busy {time}"), time];
        let room = capacity(x1 - x0);
        let fits = words.iter().find(|w| w.chars().count() <= room);
        if let Some(words) = fits
            && x1 - x0 >= MIN_LABEL_WIDTH
        {
            let (fill, color) = match block.run.height() >= 0.75 {
                true => (look.fill.over(theme.lane), look.label),
                // Over low bars a label lies on the background.
                false => (theme.lane, theme.text),
            };
            let color = theme.readable(fill, color);
            let at = (x0 + PADDING, y);
            let around = Rect::new(x0, y - LABEL / 2.0, x1, y + LABEL / 2.0);
            labels.push(Label {
                rect: text_rect(at.0, words, around),
                fill,
                text: text(at, words.clone(), Font::Label, color, x1 - x0),
            });
        }
    }
    labels
}

/// Time with nothing but communication, in its own colour: it is no work of the GPU.
fn communication(ctx: &Ctx<'_>, gpu: usize, bar: Rect, out: &mut Vec<Item>) {
    let (only, tree) = ctx.input.rows.tree().lod().gpu_comm(gpu);
    let mut runs = Runs::new(ctx.input.viewport);
    tree.walk(only, ctx.window, ctx.merge_ns, &mut |p| runs.push(p));
    let opacity = ctx.legend_opacity(Swatch::GpuComm);
    let look = super::style::style(ctx.input.theme, LayerClass::GpuComm, opacity);
    let fill = look.fill.over(ctx.input.theme.lane);
    for run in runs.finish() {
        // Of a run of many it is the share that they take, below what else runs there.
        let height = (bar.height() * run.coverage()).max(waits::LEAST_HEIGHT);
        let rect = Rect::new(
            ctx.clip_x(run.x0),
            bar.y1 - height.min(bar.height()),
            ctx.clip_x(run.x1),
            bar.y1,
        );
        ctx.drew(LegendEntry::Role(Swatch::GpuComm));
        out.push(Item::Rect { rect, fill });
    }
}

/// Runs that share a label.
struct Block {
    run: Run,
    /// The longest stretch without a gap: a label lies there, not across a line of background.
    solid: (f64, f64),
    /// The stretch that the last run belongs to.
    last: (f64, f64),
}

impl Block {
    fn new(run: Run) -> Self {
        let all = (run.x0, run.x1);
        Self {
            run,
            solid: all,
            last: all,
        }
    }

    /// `pixel`: the physical pixel at which an edge is drawn.
    fn absorb(&mut self, run: &Run, pixel: &impl Fn(f64) -> f64) {
        if pixel(run.x0) <= pixel(self.last.1) {
            self.last.1 = self.last.1.max(run.x1);
        } else {
            self.last = (run.x0, run.x1);
        }
        if self.last.1 - self.last.0 > self.solid.1 - self.solid.0 {
            self.solid = self.last;
        }
        self.run.absorb(run);
    }
}

/// Runs closer than two points, taken together for one label; dense ones only, since the label lies on them.
fn blocks(runs: &[Run], pixel: &impl Fn(f64) -> f64) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::new();
    for run in runs {
        match out.last_mut() {
            Some(last)
                if run.x0 - last.run.x1 < 2.0
                    && (run.height() >= 0.75) == (last.run.height() >= 0.75) =>
            {
                last.absorb(run, pixel);
            }
            _ => out.push(Block::new(*run)),
        }
    }
    out
}

fn bar_of(ctx: &Ctx<'_>, run: &Run, bar: Rect) -> Rect {
    Rect::new(
        ctx.clip_x(run.x0),
        bar.y1 - bar.height() * run.height(),
        ctx.clip_x(run.x1),
        bar.y1,
    )
}

/// Returns where exposed parts are drawn, from left to right.
fn wait(
    ctx: &mut Ctx<'_>,
    rank: usize,
    (top, bottom): (Rect, Rect),
    low: bool,
    out: &mut Vec<Item>,
) -> Vec<Rect> {
    let theme = ctx.input.theme;
    let info = &ctx.input.analysis.ranks()[rank];
    waits::note_hidden(ctx, info);
    let lod = ctx.input.rows.tree().lod().clone();
    let trees = lod.rank(rank);
    let opacity = ctx.legend_opacity(Swatch::Wait);
    let look = match info.gpu {
        Some(_) => super::style::style(theme, LayerClass::Wait, opacity),
        None => super::style::wait_unknown(theme, opacity),
    };
    let mut runs = Runs::priority(ctx.input.viewport);
    trees
        .wait
        .walk(&info.wait, ctx.window, ctx.merge_ns, &mut |p| runs.push(p));
    for run in runs.finish() {
        let rect = Rect {
            x0: ctx.clip_x(run.x0),
            x1: ctx.clip_x(run.x1),
            ..bottom
        };
        out.push(Item::Rect {
            rect,
            fill: look.fill,
        });
        if let Some(color) = look.border
            && rect.width() >= 3.0
        {
            out.push(Item::Outline {
                rect,
                color,
                width: ctx.pixel(),
            });
        }
    }
    if info.gpu.is_some() {
        let parts = (&info.wait_unrecorded, &trees.unrecorded);
        waits::grey(ctx, parts, ctx.window, (bottom, opacity), out);
    }
    let mut marks = Vec::new();
    for run in waits::exposed_runs(ctx, &info.wait_exposed, &trees.exposed) {
        let both = Rect {
            y0: top.y0,
            ..bottom
        };
        let rect = waits::exposed_rect(ctx, &run, both);
        marks.push(rect);
        let look = (run.coverage() >= waits::HATCH_SHARE, opacity);
        waits::exposed(ctx, rect, look, out);
    }
    let clip = Rect::new(ctx.x0, top.y0, ctx.x1(), bottom.y1);
    waits::targets(ctx, rank, bottom, clip);
    if low {
        return marks;
    }
    let least = f64::from(MIN_LABEL_WIDTH) * ctx.input.viewport.ns_per_px();
    for part in info.wait.parts_in(ctx.window) {
        if part.clip(ctx.window).len() as f64 >= least {
            let parts = waits::Parts {
                exposed: &info.wait_exposed,
                unrecorded: &info.wait_unrecorded,
                gpu: info.gpu.is_some(),
            };
            waits::label(ctx, *part, (&parts, None), bottom, out);
        }
    }
    marks
}

fn header(ctx: &Ctx<'_>, band: Band, rect: Rect, low: bool, out: &mut Vec<Item>) {
    let theme = ctx.input.theme;
    let analysis = ctx.input.analysis;
    let several = analysis.ranks().len() > 1;
    let name = match (band.gpu, band.rank) {
        (Some(g), Some(r)) if several => {
            format!(
                "Rank {} · GPU {}",
                analysis.ranks()[r].rank,
                gpu_name(ctx, g)
            )
        }
        (Some(g), _) => format!("Overlap · GPU {}", gpu_name(ctx, g)),
        (None, Some(r)) if several => format!("Rank {} · no GPU", analysis.ranks()[r].rank),
        (None, _) => "Overlap".to_owned(),
    };
    let (words, strong) = exposed_text(ctx, band);
    let color = if strong { theme.warning } else { theme.weak };
    let width = ctx.x0 - 20.0;
    if low {
        let y = (rect.y0 + rect.y1) / 2.0;
        out.push(text((10.0, y), name, Font::Small, theme.text, width * 0.55));
        let share = words.trim_start_matches("wait ").to_owned();
        out.push(text_right(
            (ctx.x0 - 10.0, y),
            share,
            Font::Small,
            color,
            width * 0.45,
        ));
        return;
    }
    out.push(text(
        (10.0, rect.y0 + 12.0),
        name,
        Font::Strong,
        theme.text,
        width,
    ));
    out.push(text(
        (10.0, rect.y0 + 29.0),
        words,
        Font::Small,
        color,
        width,
    ));
}

fn gpu_name(ctx: &Ctx<'_>, gpu: usize) -> String {
    ctx.input.analysis.gpus()[gpu].key.clone()
}

/// A share with the digits that toolbar and verdict print.
fn share_text(part: i64, whole: i64) -> String {
    crate::analysis::percent(part as f64 / whole.max(1) as f64)
}

/// Share of the visible part of the trace in which the wait was exposed, and whether to warn.
fn exposed_text(ctx: &Ctx<'_>, band: Band) -> (String, bool) {
    let Some(rank) = band.rank else {
        return (String::new(), false);
    };
    let info = &ctx.input.analysis.ranks()[rank];
    let window = ctx.window.clip(ctx.input.trace.extent());
    let wait = info.wait.measure_in(window);
    let exposed = info.wait_exposed.measure_in(window);
    let unknown = info.wait_unrecorded.measure_in(window);
    if wait == 0 {
        return ("no batch wait here".to_owned(), false);
    }
    if unknown == wait {
        let share = share_text(wait, window.len());
        return (format!("wait {share}, exposed: unknown"), false);
    }
    let share = share_text(exposed, window.len());
    let costly = ctx.input.rows.tree().lod().rank(rank).costly;
    (format!("exposed wait {share}"), costly && exposed > 0)
}
