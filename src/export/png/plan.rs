//! What a picture of the timeline is made of, decided before drawing.

use super::{Lanes, PictureSize, PngError, PngOptions, Sheet, about};
use crate::analysis::Analysis;
use crate::model::Trace;
use crate::time::TimeRange;
use crate::view::{
    DrawList, LayoutInput, LegendEntry, Links, Metrics, Options, Point, Rgba, RowState, Rows,
    Scroll, Size, TITLE, Theme, Viewport, areas, bands_within, layout, legend, legend_height,
    legend_of, lines, lines_height, title,
};

/// Width of the lane names, points, …
const NAMES: f32 = 232.0;
/// … and the share of the picture that they take at most.
const MOST_NAMES: f32 = 0.32;

/// Everything that is decided before drawing.
pub struct Plan {
    theme: Theme,
    sheet: Sheet,
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
        let sheet = png.sheet();
        sheet.check()?;
        let width = sheet.inner_width();
        let range = with_context(png.range.unwrap_or(trace.extent()), png.context, trace);
        if range.is_empty() {
            return Err(PngError::EmptyRange);
        }
        let rows = match png.lanes {
            Lanes::All | Lanes::Dense => Rows::new(
                rows.tree().clone(),
                &RowState {
                    expand_all: true,
                    dense: png.lanes == Lanes::Dense,
                    ..RowState::default()
                },
            ),
            _ => rows.clone(),
        };
        let mut this = Self {
            theme: png.theme.clone(),
            sheet,
            range,
            options: Options {
                ruler: png.ruler,
                steps: png.ruler,
                band: png.band,
                lanes: png.lanes != Lanes::Band,
                whole: true,
                notes: png.notes.clone(),
                ..Options::default()
            },
            header_width: match png.lane_names {
                true => NAMES.min(width * MOST_NAMES),
                false => 0.0,
            },
            height: 0.0,
            width,
            title: png.title.clone(),
            legend: png.legend.then(|| legend_of(trace, analysis)),
            links: (!png.waits.is_empty()).then(|| Links::of_waits(analysis, &png.waits)),
            said: png.waits.iter().flat_map(|&w| said(analysis, w)).collect(),
            size: PictureSize {
                width: sheet.pixels(Size::default())[0],
                height: 0,
                lanes_shown: 0,
                lanes_total: 0,
                bands_shown: 0,
                bands_total: 0,
            },
            rows,
        };
        this.fit(trace, analysis);
        if png.legend_used && this.legend.is_some() {
            this.explain_only_what_is_drawn(trace, analysis);
        }
        if this.height < 1.0 {
            return Err(PngError::Nothing);
        }
        Ok(this)
    }

    /// Keeps of the legend what is drawn.
    fn explain_only_what_is_drawn(&mut self, trace: &Trace, analysis: &Analysis) {
        let view = self.viewport(trace);
        let drawn = layout(&self.input(trace, analysis, &view)).drawn;
        if let Some(legend) = &mut self.legend {
            legend.retain(|entry| drawn.contains(entry));
        }
        self.legend = self.legend.take().filter(|l| !l.is_empty());
        self.fit(trace, analysis);
    }

    /// Chooses the height: all lanes, or as many whole ones as fit.
    fn fit(&mut self, trace: &Trace, analysis: &Analysis) {
        let around = self.above() + self.below();
        let most = self.sheet.most_height() - around;
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
        [_, self.size.height] = self.sheet.pixels(self.inner());
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
                pixels_per_point: self.sheet.pixels_per_point(),
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

    /// Size of what is laid out, margins not counted, points.
    fn inner(&self) -> Size {
        Size::new(self.width, self.height + self.above() + self.below())
    }

    /// How large the picture is.
    pub fn sheet(&self) -> &Sheet {
        &self.sheet
    }

    /// Size of the picture, in the points that it is laid out in.
    pub fn points(&self) -> Size {
        self.sheet.outer(self.inner())
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

    /// What to paint, each with where it is, points.
    pub fn lists(&self, trace: &Trace, analysis: &Analysis) -> Vec<(Point, DrawList)> {
        let mut out = Vec::new();
        let origin = self.sheet.origin();
        let below = |y: f32| Point::new(origin.x, origin.y + y);
        if let Some(name) = &self.title {
            let about = about(analysis, self.range);
            out.push((below(0.0), title(&self.theme, self.width, name, &about)));
        }
        if !self.said.is_empty() {
            let list = lines(&self.theme, &self.said, self.width);
            out.push((below(self.title_height()), list));
        }
        let view = self.viewport(trace);
        let timeline = layout(&self.input(trace, analysis, &view));
        out.push((below(self.above()), timeline));
        if let Some(entries) = &self.legend {
            let y = self.above() + self.height;
            out.push((below(y), legend(&self.theme, entries, self.width)));
        }
        out
    }
}

/// A range with so many percent of it more on both sides, as far as the trace goes.
fn with_context(range: TimeRange, percent: u32, trace: &Trace) -> TimeRange {
    let more = i128::from(range.len()) * i128::from(percent) / 100;
    let more = i64::try_from(more).unwrap_or(i64::MAX);
    let wide = TimeRange::new(
        range.start.saturating_sub(more),
        range.end.saturating_add(more),
    );
    match percent {
        0 => range,
        _ => wide.clip(trace.extent()),
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
