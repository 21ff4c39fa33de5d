//! From trace and view state to a [`DrawList`].
//!
//! ```text
//!  ┌ headers ┬ ruler ───────────────┐ 20
//!  │         ├ steps ───────────────┤ 14
//!  │         ├ band ────────────────┤ 40 per GPU, 18 each above four
//!  │         ├ pinned lanes ────────┤ at most 40 % of the height
//!  │         └ lanes (scroll) ──────┘
//! ```

mod arrows;
mod band;
mod caption;
mod collectives;
mod counters;
mod ctx;
mod frames;
mod headers;
mod instants;
mod labels;
mod lanes;
mod legend;
mod links;
mod not_recorded;
mod notes;
mod overlay;
mod overview;
mod place;
mod ruler;
mod runs;
mod style;
mod tails;
mod waits;

pub use caption::{LEGEND, TITLE, legend, legend_height, lines, lines_height, title};
pub use legend::legend_of;
pub use links::{BETWEEN, Frame, Links};
pub use overview::{OverviewInput, overview, overview_viewport, window_edges};
pub use ruler::{RULER, STEPS};

use std::sync::Arc;

use ctx::Ctx;
use lanes::Strip;

use super::draw::{Areas, DrawList, Item, SectionKind};
use super::geom::{Rect, Size};
use super::lod::Highlights;
use super::note::Note;
use super::rows::Rows;
use super::theme::{Swatch, Theme};
use super::viewport::Viewport;
use crate::analysis::Analysis;
use crate::model::{SpanId, Trace};
use crate::time::TimeRange;

/// Most span labels in one picture: text is what a picture costs most.
pub const MAX_LABELS: usize = 1_500;

/// Everything that [`layout`] depends on.
pub struct LayoutInput<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Its figures.
    pub analysis: &'a Analysis,
    /// The rows that show.
    pub rows: &'a Rows,
    /// The visible time. Its width is that of the canvas: `size.width - metrics.header_width`.
    pub viewport: &'a Viewport,
    /// Colours.
    pub theme: &'a Theme,
    /// Size of the whole picture, headers and ruler included.
    pub size: Size,
    /// Sizes that the user can change.
    pub metrics: Metrics,
    /// How far the lanes, the pinned lanes and the band are scrolled, points.
    pub scroll: Scroll,
    /// The selected range.
    pub selection: Option<TimeRange>,
    /// The selected span.
    pub selected: Option<SpanId>,
    /// The span under the pointer.
    pub hovered: Option<SpanId>,
    /// Links of the selected span (or else of the hovered one), see [`Links::of`].
    pub links: Option<&'a Links>,
    /// Search hits; `None` without a search. All other spans fade.
    pub hits: Option<&'a Highlights>,
    /// What to draw.
    pub options: Options,
}

/// How far regions are scrolled, points from their top.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scroll {
    /// The lanes.
    pub lanes: f32,
    /// The pinned lanes.
    pub pinned: f32,
    /// The overlap band.
    pub band: f32,
}

/// Sizes that the user can change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// Width of the lane names, points; 0 leaves them out.
    pub header_width: f32,
    /// Physical pixels per point: what is called one pixel wide is so on the screen.
    pub pixels_per_point: f32,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            header_width: 232.0,
            pixels_per_point: 1.0,
        }
    }
}

/// What to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Tinted columns behind all lanes where wait is exposed (rule D2).
    pub exposed_columns: bool,
    /// GPU tails behind CPU spans (rule D3).
    pub tails: bool,
    /// Span labels.
    pub labels: bool,
    /// Vary the lightness of spans by name, within the layer's hue.
    pub color_by_name: bool,
    /// Time ruler.
    pub ruler: bool,
    /// Step strip.
    pub steps: bool,
    /// Overlap band.
    pub band: bool,
    /// Lanes.
    pub lanes: bool,
    /// Band and pinned lanes take the height they need, as in pictures; else at most 40 % each, and scroll.
    pub whole: bool,
    /// Marks of the user, by start.
    pub notes: Arc<[Note]>,
    /// Only this role keeps its colour, the others fade (a click on the legend).
    pub only: Option<Swatch>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            exposed_columns: true,
            tails: true,
            labels: true,
            color_by_name: false,
            ruler: true,
            steps: true,
            band: true,
            lanes: true,
            whole: false,
            notes: Arc::default(),
            only: None,
        }
    }
}

/// Share of the picture's height that pinned lanes take at most.
const PINNED_SHARE: f32 = 0.4;
/// Share of the picture's height that the overlap band takes at most; more GPUs scroll.
const BAND_SHARE: f32 = 0.4;
/// Space above the lanes, points.
const TOP: f32 = 2.0;

/// Height of the overlap band with all GPUs, points; it scrolls where that is more than 40 % of the picture.
#[must_use]
pub fn band_content_height(analysis: &Analysis) -> f32 {
    let (n, height) = band::measures(analysis.gpus(), analysis.ranks());
    n as f32 * height
}

/// Height that the timeline needs to show all rows without scrolling, points.
#[must_use]
pub fn content_height(analysis: &Analysis, rows: &Rows, notes: &[Note]) -> f32 {
    let marks = if notes.is_empty() { 0.0 } else { notes::NOTES };
    let above = RULER + marks + STEPS + TOP + band_content_height(analysis);
    above + rows.pinned_height() + rows.height()
}

/// Bands that lie within a height (points) as a whole, and all there are.
#[must_use]
pub fn bands_within(analysis: &Analysis, height: f32) -> (usize, usize) {
    let (n, each) = band::measures(analysis.gpus(), analysis.ranks());
    let whole = (height.max(0.0) / each) as usize;
    (whole.min(n), n)
}

/// The regions of a picture.
#[must_use]
pub fn areas(input: &LayoutInput<'_>) -> Areas {
    let (size, x0) = (input.size, input.metrics.header_width);
    let options = &input.options;
    let take = |on: bool, height: f32| if on { height } else { 0.0 };
    let ruler = take(options.ruler, RULER);
    let notes = ruler + take(options.ruler && !options.notes.is_empty(), notes::NOTES);
    let steps = notes + take(options.steps, STEPS);
    let content = band_content_height(input.analysis);
    let most = |share: f32| match options.whole {
        true => f32::INFINITY,
        false => size.height * share,
    };
    // Without lanes the band may take everything.
    let most_band = if options.lanes {
        most(BAND_SHARE)
    } else {
        size.height
    };
    let gap = take(options.band && steps > 0.0, TOP);
    let band = steps + gap + take(options.band, content.min(most_band));
    let pinned_content = input.rows.pinned_height();
    let pins = take(options.lanes, pinned_content.min(most(PINNED_SHARE)));
    let pinned = band + pins;
    let across = |y0: f32, y1: f32| Rect::new(x0, y0, size.width, y1.max(y0));
    Areas {
        ruler: across(0.0, ruler),
        notes: across(ruler, notes),
        steps: across(notes, steps),
        band: across(steps + gap, band),
        pinned: across(band, pinned),
        lanes: across(pinned, if options.lanes { size.height } else { pinned }),
        headers: Rect::new(0.0, 0.0, x0, size.height),
        band_content: content,
        pinned_content,
    }
}

/// The rows alone, at the places that they name themselves: no ruler, band, names. What is outside `area` is cut.
pub(in crate::view) fn lanes_alone(input: &LayoutInput<'_>, area: Rect) -> DrawList {
    let mut ctx = Ctx::new(input);
    let strip = Strip {
        rows: input.rows.rows(),
        first: 0,
        area,
        dy: 0.0,
        pinned: false,
    };
    lanes::strip(&mut ctx, &strip);
    ctx.list
}

/// The time ruler alone.
pub(in crate::view) fn ruler_alone(input: &LayoutInput<'_>, area: Rect) -> DrawList {
    let mut ctx = Ctx::new(input);
    ruler::ruler(&mut ctx, area);
    ctx.list
}

/// Lays the timeline out.
#[must_use]
pub fn layout(input: &LayoutInput<'_>) -> DrawList {
    let mut ctx = Ctx::new(input);
    let areas = areas(input);
    ctx.list.areas = areas;
    let theme = input.theme;
    let all = Rect::new(0.0, 0.0, input.size.width, input.size.height);
    let back = vec![
        Item::Rect {
            rect: all,
            fill: theme.canvas,
        },
        Item::Rect {
            rect: areas.headers,
            fill: theme.panel,
        },
    ];
    ctx.section(SectionKind::Background, all, back);
    let rows = input.rows;
    let strips = [
        (areas.pinned, rows.pinned(), input.scroll.pinned, true),
        (areas.lanes, rows.rows(), input.scroll.lanes, false),
    ];
    let mut arrows = Vec::new();
    for (area, all_rows, scroll, pinned) in strips {
        let height = area.height();
        if height <= 0.0 {
            continue;
        }
        let range = if pinned {
            rows.pinned_visible(scroll, scroll + height)
        } else {
            rows.visible(scroll, scroll + height)
        };
        let strip = Strip {
            first: range.start,
            rows: &all_rows[range],
            area,
            dy: area.y0 - scroll,
            pinned,
        };
        if !pinned {
            // First, since labels keep clear of what stands beside arrows.
            arrows = arrows::arrows(&mut ctx, &strip);
        }
        lanes::strip(&mut ctx, &strip);
        frames::frames(&mut ctx, &strip);
        headers::names(&mut ctx, &strip);
    }
    if options_band(input) {
        band::band(&mut ctx, areas.band);
    }
    if input.options.ruler {
        ruler::ruler(&mut ctx, areas.ruler);
    }
    if input.options.steps {
        ruler::steps(&mut ctx, areas.steps);
    }
    rules(&mut ctx, all);
    if !areas.notes.is_empty() {
        notes::notes(&mut ctx, areas.notes, areas.lanes.y1.max(areas.band.y1));
    }
    overlay::selection(&mut ctx);
    ctx.section(SectionKind::Overlay, areas.lanes, arrows);
    ctx.list.drawn = ctx.drawn.take();
    ctx.list
}

fn options_band(input: &LayoutInput<'_>) -> bool {
    input.options.band && input.size.height > 0.0
}

/// Lines between the regions.
fn rules(ctx: &mut Ctx<'_>, all: Rect) {
    let areas = ctx.list.areas;
    let color = ctx.input.theme.line;
    let px = ctx.pixel();
    let mut items = Vec::new();
    if ctx.x0 > 0.0 {
        items.push(Item::Rect {
            rect: Rect::new(ctx.x0 - px, 0.0, ctx.x0, all.y1),
            fill: color,
        });
    }
    let mut across = |y: f32| {
        items.push(Item::Rect {
            rect: Rect::new(0.0, y, all.x1, y + px),
            fill: color,
        });
    };
    if !areas.pinned.is_empty() {
        across(areas.pinned.y0);
    }
    if !areas.lanes.is_empty() {
        across(areas.lanes.y0);
    }
    ctx.section(SectionKind::Overlay, all, items);
}
