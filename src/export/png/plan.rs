//! What a picture of the timeline is made of, decided before drawing.

use super::{Lanes, MAX_PIXELS, PictureSize, PngError, PngOptions, SCALES, WIDTHS, about, pixels};
use crate::analysis::Analysis;
use crate::model::Trace;
use crate::time::TimeRange;
use crate::view::{
    DrawList, LayoutInput, LegendEntry, Links, Metrics, Options, Rgba, RowState, Rows, Scroll,
    Size, TITLE, Theme, Viewport, areas, bands_within, layout, legend, legend_height, legend_of,
    lines, lines_height, title,
};

/// Everything that is decided before drawing.
pub struct Plan {
    theme: Theme,
    scale: f32,
    rows: Rows,
    range: TimeRange,
    options: Options,
    header_width: f32,
    /// Height of the timeline, title and legend not counted, points.
    height: f32,
    width: f32,
    title: Option<String>,
    legend: Option<Vec<LegendEntry>>,
    /// The chains below waits.
    links: Option<Links>,
    /// What is said of those waits.
    said: Vec<String>,
    size: PictureSize,
}

impl Plan {
    pub fn new(
        trace: &Trace,
        analysis: &Analysis,
        rows: &Rows,
        png: &PngOptions,
    ) -> Result<Self, PngError> {
        if !WIDTHS.contains(&png.width) {
            return Err(PngError::Width(png.width));
        }
        if !SCALES.contains(&png.scale) {
            return Err(PngError::Scale(png.scale));
        }
        let width = pixels(png.width as f32, png.scale);
        if width > MAX_PIXELS {
            return Err(PngError::TooWide(width));
        }
        let range = png.range.unwrap_or(trace.extent());
        if range.is_empty() {
            return Err(PngError::EmptyRange);
        }
        let rows = match png.lanes {
            Lanes::All => Rows::new(
                rows.tree().clone(),
                &RowState {
                    expand_all: true,
                    ..RowState::default()
                },
            ),
            _ => rows.clone(),
        };
        let mut this = Self {
            theme: png.theme.clone(),
            scale: png.scale,
            range,
            options: Options {
                ruler: png.ruler,
                steps: png.ruler,
                band: png.band,
                lanes: png.lanes != Lanes::Band,
                whole: true,
                ..Options::default()
            },
            header_width: if png.lane_names { 232.0 } else { 0.0 },
            height: 0.0,
            width: png.width as f32,
            title: png.title.clone(),
            legend: png.legend.then(|| legend_of(trace, analysis)),
            links: (!png.waits.is_empty()).then(|| Links::of_waits(analysis, &png.waits)),
            said: png.waits.iter().flat_map(|&w| said(analysis, w)).collect(),
            size: PictureSize {
                width,
                height: 0,
                lanes_shown: 0,
                lanes_total: 0,
                bands_shown: 0,
                bands_total: 0,
            },
            rows,
        };
        this.fit(trace, analysis);
        if this.height < 1.0 {
            return Err(PngError::Nothing);
        }
        Ok(this)
    }

    /// Chooses the height: all lanes, or as many whole ones as fit.
    fn fit(&mut self, trace: &Trace, analysis: &Analysis) {
        let around = self.above() + self.below();
        let most = (MAX_PIXELS as f32 / self.scale).floor() - around;
        self.height = most;
        let view = self.viewport(trace);
        let areas = areas(&self.input(trace, analysis, &view));
        let top = areas.lanes.y0;
        self.height = top.min(most);
        if self.options.band {
            let room = self.height - areas.band.y0;
            (self.size.bands_shown, self.size.bands_total) = bands_within(analysis, room);
        }
        if self.options.lanes {
            let margin = 4.0;
            let rows = self.rows.rows();
            let pins = self.rows.pinned().iter();
            let pins = pins.filter(|r| self.rows.starts_lane(r));
            let above = top - self.rows.pinned_height();
            self.size.lanes_total = self.rows.lane_count() + pins.clone().count();
            let fits = rows
                .iter()
                .rev()
                .find(|r| top + r.y + r.height + margin <= most);
            if let Some(last) = fits {
                self.height = top + last.y + last.height + margin;
            }
            let end = self.height - top;
            self.size.lanes_shown = rows
                .iter()
                .filter(|r| self.rows.starts_lane(r))
                .filter(|r| r.y + r.height <= end)
                .count();
            self.size.lanes_shown += pins.filter(|r| above + r.y + r.height <= most).count();
        }
        self.size.height = pixels(self.height + around, self.scale).min(MAX_PIXELS);
    }

    fn above(&self) -> f32 {
        self.title_height() + lines_height(&self.said, self.width)
    }

    fn title_height(&self) -> f32 {
        if self.title.is_some() { TITLE } else { 0.0 }
    }

    fn below(&self) -> f32 {
        let entries = self.legend.as_ref();
        entries.map_or(0.0, |e| legend_height(e, self.width))
    }

    fn viewport(&self, trace: &Trace) -> Viewport {
        let mut view = Viewport::new(trace.extent(), self.width - self.header_width);
        view.zoom_to(self.range, 0.0);
        view
    }

    fn input<'a>(
        &'a self,
        trace: &'a Trace,
        analysis: &'a Analysis,
        viewport: &'a Viewport,
    ) -> LayoutInput<'a> {
        LayoutInput {
            trace,
            analysis,
            rows: &self.rows,
            viewport,
            theme: &self.theme,
            size: Size::new(self.width, self.height),
            metrics: Metrics {
                header_width: self.header_width,
                pixels_per_point: self.scale,
            },
            scroll: Scroll::default(),
            selection: None,
            selected: None,
            hovered: None,
            links: self.links.as_ref(),
            hits: None,
            options: self.options.clone(),
        }
    }

    /// What was laid out.
    pub fn layout(&self) -> PictureSize {
        self.size
    }

    /// Size of the picture, points.
    pub fn points(&self) -> Size {
        Size::new(self.width, self.height + self.above() + self.below())
    }

    /// What is behind everything.
    pub fn background(&self) -> Rgba {
        self.theme.panel
    }

    /// The name that the title begins with; empty without a title.
    pub fn title(&self) -> &str {
        self.title.as_deref().unwrap_or("")
    }

    /// What the title line says about the range.
    pub fn about(&self, analysis: &Analysis) -> String {
        about(analysis, self.range).join(" · ")
    }

    /// What to paint, each with its distance from the top, points.
    pub fn lists(&self, trace: &Trace, analysis: &Analysis) -> Vec<(f32, DrawList)> {
        let mut out = Vec::new();
        if let Some(name) = &self.title {
            let about = about(analysis, self.range);
            out.push((0.0, title(&self.theme, self.width, name, &about)));
        }
        if !self.said.is_empty() {
            let list = lines(&self.theme, &self.said, self.width);
            out.push((self.title_height(), list));
        }
        let view = self.viewport(trace);
        let timeline = layout(&self.input(trace, analysis, &view));
        out.push((self.above(), timeline));
        if let Some(entries) = &self.legend {
            let y = self.above() + self.height;
            out.push((y, legend(&self.theme, entries, self.width)));
        }
        out
    }
}

/// What is said of a wait: what it was spent on; and the item, the file, or why that cannot be told.
fn said(analysis: &Analysis, wait: usize) -> Vec<String> {
    let Some(text) = analysis.wait_text(wait) else {
        return Vec::new();
    };
    let more = text.more.join("; ");
    let all = [text.said, more].into_iter();
    all.filter(|line| !line.is_empty()).collect()
}
