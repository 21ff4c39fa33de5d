//! The overview (W2): the whole trace in a strip, per GPU busy density above and exposed wait below.

use super::runs::{Run, Runs};
use super::waits::LEAST_HEIGHT;
use crate::analysis::{Analysis, Union};
use crate::model::Trace;
use crate::time::TimeRange;
use crate::view::draw::{DrawList, Item, Section, SectionKind, Target};
use crate::view::geom::{Rect, Size};
use crate::view::lod::{Highlights, Lod, Tree};
use crate::view::theme::{Swatch, Theme};
use crate::view::viewport::Viewport;

/// Everything that [`overview`] depends on.
pub struct OverviewInput<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Its figures.
    pub analysis: &'a Analysis,
    /// Levels of detail.
    pub lod: &'a Lod,
    /// Colours.
    pub theme: &'a Theme,
    /// Size of the strip (without the header on its left).
    pub size: Size,
    /// The view that the timeline shows.
    pub view: &'a Viewport,
    /// Search hits.
    pub hits: Option<&'a Highlights>,
}

/// Space above and below the strips, points.
const MARGIN: f32 = 5.0;

/// The overview as a draw list; time is mapped by [`overview_viewport`].
#[must_use]
pub fn overview(input: &OverviewInput<'_>) -> DrawList {
    let map = overview_viewport(input.trace, input.size.width);
    let all = Rect::new(0.0, 0.0, input.size.width, input.size.height);
    let mut items = vec![Item::Rect {
        rect: all,
        fill: input.theme.canvas,
    }];
    strips(input, &map, &mut items);
    hits(input, &map, &mut items);
    window(input, &map, &mut items);
    DrawList {
        size: input.size,
        sections: vec![Section {
            kind: SectionKind::Lanes,
            clip: all,
            items,
        }],
        targets: vec![(all, Target::Overview)],
        ..DrawList::default()
    }
}

/// Maps time on the overview: the whole trace with its gutter.
#[must_use]
pub fn overview_viewport(trace: &Trace, width: f32) -> Viewport {
    Viewport::new(trace.extent(), width)
}

fn strips(input: &OverviewInput<'_>, map: &Viewport, out: &mut Vec<Item>) {
    let bands = super::band::bands(input.analysis.gpus(), input.analysis.ranks());
    let height = (input.size.height - 2.0 * MARGIN) / bands.len() as f32;
    // Thin strips touch; a gap would take more room than what it separates.
    let gap = if height >= 8.0 { 2.0 } else { 0.0 };
    for (i, band) in bands.iter().enumerate() {
        let y0 = MARGIN + i as f32 * height;
        let y1 = y0 + height - gap;
        let middle = y0 + (y1 - y0) * 0.62;
        let width = input.size.width;
        let top = Rect::new(0.0, y0, width, middle - gap / 2.0);
        let low = Rect::new(0.0, middle + gap / 2.0, width, y1);
        if let Some(g) = band.gpu {
            let union = &input.analysis.gpus()[g].busy;
            let fill = input.theme.swatch(Swatch::GpuCompute);
            for run in runs(map, union, input.lod.gpu_busy(g), Runs::new(map)) {
                let height = top.height() * run.height();
                out.push(rect(&run, top.y1 - height, top.y1, fill));
            }
            // As on the band: communication alone is no work, and of a run of many it takes the share that it has.
            let (only, tree) = input.lod.gpu_comm(g);
            let fill = input.theme.swatch(Swatch::GpuComm);
            for run in runs(map, only, tree, Runs::new(map)) {
                let height = (top.height() * run.coverage()).max(LEAST_HEIGHT);
                let height = height.min(top.height());
                out.push(rect(&run, top.y1 - height, top.y1, fill));
            }
        }
        if let Some(r) = band.rank {
            let rank = &input.analysis.ranks()[r];
            let trees = input.lod.rank(r);
            let grey = match rank.gpu {
                Some(_) => input.theme.unrecorded.percent(60),
                None => input.theme.swatch(Swatch::Wait).percent(35),
            };
            for run in runs(
                map,
                &rank.wait_unrecorded,
                &trees.unrecorded,
                Runs::priority(map),
            ) {
                out.push(rect(&run, low.y0, low.y1, grey));
            }
            let wait = input.theme.swatch(Swatch::Wait);
            for run in runs(map, &rank.wait_exposed, &trees.exposed, Runs::priority(map)) {
                let height = (low.height() * run.coverage()).max(LEAST_HEIGHT);
                out.push(rect(&run, low.y1 - height, low.y1, wait));
            }
        }
    }
}

fn runs(map: &Viewport, union: &Union, tree: &Tree, mut runs: Runs) -> Vec<Run> {
    let merge = map.ns_per_px().floor() as i64;
    tree.walk(union, map.range(), merge, &mut |p| runs.push(p));
    runs.finish()
}

fn rect(run: &Run, y0: f32, y1: f32, fill: crate::view::Rgba) -> Item {
    Item::Rect {
        rect: Rect::new(run.x0 as f32, y0, run.x1 as f32, y1),
        fill,
    }
}

fn hits(input: &OverviewInput<'_>, map: &Viewport, out: &mut Vec<Item>) {
    let width = input.size.width.max(0.0) as usize + 1;
    let mut columns = vec![false; width];
    let merge = map.ns_per_px().floor() as i64;
    for row in input.hits.iter().flat_map(|h| h.rows()) {
        let layers = input.analysis.layers();
        row.walk(input.trace, layers, map.range(), merge, &mut |p| {
            let x = map.x_from_time(p.hull.start);
            if let Some(c) = columns.get_mut(x.max(0.0) as usize) {
                *c = true;
            }
        });
    }
    for (x, _) in columns.iter().enumerate().filter(|(_, hit)| **hit) {
        let x = x as f32;
        out.push(Item::Rect {
            rect: Rect::new(x, 1.0, x + 2.0, input.size.height - 1.0),
            fill: input.theme.hit,
        });
    }
}

/// What is outside the view is shaded; the view has a border and two handles.
fn window(input: &OverviewInput<'_>, map: &Viewport, out: &mut Vec<Item>) {
    let (theme, size) = (input.theme, input.size);
    let shown = input.view.range();
    let (x0, x1) = window_edges(map, shown);
    let shade = theme.canvas.percent(62);
    for (a, b) in [(0.0, x0), (x1, size.width)] {
        out.push(Item::Rect {
            rect: Rect::new(a, 0.0, b.max(a), size.height),
            fill: shade,
        });
    }
    out.push(Item::Outline {
        rect: Rect::new(x0, 0.5, x1, size.height - 0.5),
        color: theme.text,
        width: 1.5,
    });
    let middle = size.height / 2.0;
    for x in [x0, x1] {
        out.push(Item::Rect {
            rect: Rect::new(x - 2.0, middle - 7.0, x + 2.0, middle + 7.0),
            fill: theme.text,
        });
    }
}

/// Edges of the box of the view on the overview, at least 4 points apart.
#[must_use]
pub fn window_edges(map: &Viewport, shown: TimeRange) -> (f32, f32) {
    let (x0, x1) = (map.x_clipped(shown.start), map.x_clipped(shown.end));
    let (x0, x1) = (x0.max(1.0), x1.min(map.width() - 1.0));
    let missing = (4.0 - (x1 - x0)).max(0.0) / 2.0;
    (x0 - missing, x1 + missing)
}
