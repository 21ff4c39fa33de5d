//! From trace and view state to a [`DrawList`].
//!
//! ```text
//!  ┌ headers ┬ ruler ───────────────┐ 20
//!  │         ├ steps ───────────────┤ 14
//!  │         ├ band ────────────────┤ 40 per GPU, 18 each above four
//!  │         ├ pinned lanes ────────┤ at most 40 % of the height
//!  │         └ lanes (scroll) ──────┘
//! ```

mod links;

pub use links::Links;

use super::draw::DrawList;
use super::geom::Size;
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
    /// Search hits, ascending; `None` without a search. All other spans fade.
    pub hits: Option<&'a [SpanId]>,
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
            only: None,
        }
    }
}
