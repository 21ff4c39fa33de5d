//! Before and after as a picture: the lanes of both sides twice on one time axis that begins with the typical step of each,
//! the mean step of both as bars of parts, and all steps as two strips. A pure function, for the window and for files.
//!
//! ```text
//!  headline, files
//!  ├ ruler ──── 0 = the start of the step on each side ────┤
//!  │ stream 7   before ▆▆▆ ▆▆▆▆                            │
//!  │            after   ▆▆▆▆ ▆▆▆▆▆                         │
//!  │ parts      before │ compute  │ wait │                 │
//!  │                    ╲          ╲      ╲  ▲ 1.0 ms      │
//!  │            after  │ compute     │ wait │              │
//!  │ steps      before ▂▂▃▂▂▂▂▂                            │
//!  │            after  ▃▃▃▃▄▃▃▃                            │
//! ```

mod bars;
mod columns;
mod lanes;
pub(in crate::view) mod parts;

use std::sync::Arc;

use super::draw::{Align, DrawList, Font, Item, Mark, Section, SectionKind, Text};
use super::geom::{Point, Rect, Rgba, Size};
use super::layout::{self, LayoutInput, Metrics, Options, RULER, Scroll};
use super::rows::{RowState, RowTree, Rows};
use super::theme::Theme;
use super::viewport::Viewport;
use crate::analysis::Analysis;
use crate::analysis::compare::{
    Comparison, PartClock, RankComparison, Recording, Sample, SampleRow,
};
use crate::model::Trace;
use crate::time::TimeRange;

/// One side: a recording that is open.
#[derive(Clone, Copy)]
pub struct CompareSide<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Its figures.
    pub analysis: &'a Analysis,
    /// Its lanes.
    pub tree: &'a Arc<RowTree>,
    /// What is compared of it.
    pub recording: &'a Recording,
    /// How it is called.
    pub name: &'a str,
}

/// Everything that [`comparison`] depends on.
pub struct CompareInput<'a> {
    /// Before and after.
    pub sides: [CompareSide<'a>; 2],
    /// What may be said of them.
    pub found: &'a Comparison,
    /// Index in [`Comparison::ranks`].
    pub rank: usize,
    /// Places of the steps to show among the judged ones of each side; `None` = the typical one.
    pub steps: [Option<usize>; 2],
    /// What shows of the steps: ns behind their starts, and how many; `None` = all of both.
    pub window: Option<[i64; 2]>,
    /// Colours.
    pub theme: &'a Theme,
    /// Width of the picture, points.
    pub width: f32,
    /// Width of the names on the left, points.
    pub header_width: f32,
    /// Physical pixels per point.
    pub pixels_per_point: f32,
}

/// A comparison, drawn.
#[derive(Clone, Debug, Default)]
pub struct ComparePicture {
    /// What is painted.
    pub list: DrawList,
    /// Spans and runs of them, each with its side.
    pub spans: Vec<(usize, Mark)>,
    /// Columns of steps: where, of which side, place among its judged steps.
    pub steps: Vec<(Rect, usize, usize)>,
    /// Time from the start of each step that both reach, ns.
    pub reach: i64,
}

/// Space between the regions, points.
const GAP: f32 = 12.0;
/// Height of the two lines above the ruler, points.
const HEAD: f32 = 50.0;
/// The words for the sides.
const SIDES: [&str; 2] = ["before", "after"];

/// State of one picture.
struct Scene<'a> {
    input: &'a CompareInput<'a>,
    rank: &'a RankComparison,
    samples: [&'a Sample; 2],
    /// The step that is shown of each side.
    shown: [&'a SampleRow; 2],
    /// Time from the start of each step that the picture reaches, ns.
    range: i64,
    list: DrawList,
    spans: Vec<(usize, Mark)>,
    steps: Vec<(Rect, usize, usize)>,
    /// What is drawn so far ends here, points.
    y: f32,
}

/// The picture; `None` where a side has no step. Its height is that of what there is to show.
#[must_use]
pub fn comparison(input: &CompareInput<'_>) -> Option<ComparePicture> {
    let rank = input.found.ranks.get(input.rank)?;
    let numbers = [rank.rank, rank.rank_after];
    let sample = |side: usize| {
        let ranks = &input.sides[side].recording.ranks;
        ranks.iter().find(|r| r.rank == numbers[side])
    };
    let samples = [sample(0)?, sample(1)?];
    let shown = |side: usize| {
        let rows = &samples[side].rows;
        let typical = || {
            let step = rank.typical[side].as_ref()?.step;
            rows.iter().position(|r| r.step == step)
        };
        rows.get(input.steps[side].or_else(typical)?)
    };
    let shown = [shown(0)?, shown(1)?];
    let reach = |row: &SampleRow| row.time.saturating_add(row.gpu_lag.unwrap_or(0).max(0));
    let mut scene = Scene {
        input,
        rank,
        samples,
        shown,
        range: shown.map(reach).into_iter().max().unwrap_or(0).max(1),
        list: DrawList::default(),
        spans: Vec::new(),
        steps: Vec::new(),
        y: 0.0,
    };
    scene.head();
    scene.ruler();
    lanes::draw(&mut scene);
    bars::draw(&mut scene);
    columns::draw(&mut scene);
    scene.legend();
    let (width, height) = (input.width, scene.y);
    let mut list = scene.list;
    list.size = Size::new(width, height);
    let all = Rect::new(0.0, 0.0, width, height);
    let x0 = input.header_width;
    let back = Section {
        kind: SectionKind::Background,
        clip: all,
        items: vec![
            filled(all, input.theme.canvas),
            filled(Rect::new(0.0, 0.0, x0, height), input.theme.panel),
            filled(Rect::new(0.0, 0.0, width, HEAD), input.theme.panel),
        ],
    };
    list.sections.insert(0, back);
    let px = scene.input.pixels_per_point.max(0.1).recip();
    let edge = filled(Rect::new(x0 - px, HEAD, x0, height), input.theme.line);
    list.sections.push(Section {
        kind: SectionKind::Overlay,
        clip: all,
        items: vec![edge],
    });
    Some(ComparePicture {
        list,
        spans: scene.spans,
        steps: scene.steps,
        reach: scene.range,
    })
}

pub(in crate::view) fn filled(rect: Rect, fill: Rgba) -> Item {
    Item::Rect { rect, fill }
}

/// A line of text.
pub(in crate::view) fn words(
    at: (f32, f32),
    text: impl Into<String>,
    (font, color): (Font, Rgba),
    (align, max_width): (Align, f32),
) -> Item {
    Item::Text(Text {
        at: Point::new(at.0, at.1),
        text: text.into(),
        font,
        color,
        align,
        max_width,
    })
}

impl Scene<'_> {
    fn x0(&self) -> f32 {
        self.input.header_width
    }

    fn x1(&self) -> f32 {
        self.input.width
    }

    /// On which clock steps are parted.
    fn clock(&self) -> PartClock {
        match &self.rank.decomposition {
            Some(d) => d.clock,
            None => PartClock::Cpu,
        }
    }

    /// Across the canvas, from the end of what is drawn so far.
    fn below(&self, height: f32) -> Rect {
        Rect::new(self.x0(), self.y, self.x1(), self.y + height)
    }

    fn section(&mut self, kind: SectionKind, clip: Rect, items: Vec<Item>) {
        if !items.is_empty() && !clip.is_empty() {
            self.list.sections.push(Section { kind, clip, items });
        }
    }

    /// A name left of the canvas, and the side at its right end.
    fn name(&mut self, y: f32, title: &str, side: Option<usize>) {
        let theme = self.input.theme;
        let x0 = self.x0();
        let mut items = Vec::new();
        if !title.is_empty() {
            let style = (Font::Body, theme.text);
            items.push(words((10.0, y), title, style, (Align::Left, x0 - 70.0)));
        }
        if let Some(side) = side {
            let style = (Font::Small, theme.weak);
            let place = (Align::Right, 60.0);
            items.push(words((x0 - 8.0, y), SIDES[side], style, place));
        }
        let clip = Rect::new(0.0, y - 12.0, x0, y + 12.0);
        self.section(SectionKind::Headers, clip, items);
    }

    /// What may be said, and of what.
    fn head(&mut self) {
        let (theme, found) = (self.input.theme, self.input.found);
        let width = self.input.width;
        let step = |side: usize| {
            let row = self.shown[side];
            let typical = self.rank.typical[side].as_ref().map(|t| t.step) == Some(row.step);
            let kind = if typical { "typical step" } else { "step" };
            let name = self.input.sides[side].name;
            let steps = self.rank.judged(side);
            format!(
                "{} {name}, {kind} {} ({steps} judged)",
                SIDES[side], row.label
            )
        };
        let mut about = format!("{} · {}", step(0), step(1));
        if found.ranks.len() > 1 {
            about = format!("rank {} · {about}", self.rank.rank);
        }
        let title = (Font::Title, theme.text);
        let line = (Font::Small, theme.weak);
        let place = (Align::Left, width - 20.0);
        let items = vec![
            words((10.0, 17.0), found.headline(), title, place),
            words((10.0, 38.0), about, line, place),
        ];
        let clip = Rect::new(0.0, 0.0, width, HEAD);
        self.section(SectionKind::Caption, clip, items);
        self.y = HEAD;
    }

    /// What the colours of the parts mean.
    fn legend(&mut self) {
        let Some(d) = &self.rank.decomposition else {
            return;
        };
        let names = d.parts.iter().map(|p| p.name);
        let sides = (self.x0() + 10.0, self.x1() - 10.0);
        let (items, end) = parts::legend(self.input.theme, names, sides, self.y);
        let clip = Rect::new(0.0, self.y, self.x1(), end);
        self.section(SectionKind::Caption, clip, items);
        self.y = end;
    }

    /// The time axis of both sides.
    fn ruler(&mut self) {
        let view = self.viewport(0);
        let side = self.input.sides[0];
        let rows = Rows::new(Arc::clone(side.tree), &RowState::default());
        let area = self.below(RULER);
        let size = Size::new(self.x1(), area.y1);
        let input = self.layout_input(0, &rows, &view, size);
        let list = layout::ruler_alone(&input, area);
        // What its times count from is said in other words.
        let own = list.sections.into_iter();
        let own = own.filter(|s| s.kind != SectionKind::Headers);
        self.list.sections.extend(own);
        let style = (Font::Small, self.input.theme.weak);
        let place = (Align::Left, self.x0() - 14.0);
        let y = area.y0 + 9.0;
        let head = words((10.0, y), "from the start of each step", style, place);
        let clip = Rect::new(0.0, area.y0, self.x0(), area.y1);
        self.section(SectionKind::Headers, clip, vec![head]);
        self.y += RULER + 4.0;
    }

    /// The time of a side's step on the canvas.
    fn viewport(&self, side: usize) -> Viewport {
        let start = self.shown[side].start;
        let from = |ns: i64, len: i64| {
            let begin = start.saturating_add(ns);
            TimeRange::new(begin, begin.saturating_add(len.max(1)))
        };
        let mut view = Viewport::new(from(0, self.range), self.x1() - self.x0());
        let [at, len] = self.input.window.unwrap_or([0, self.range]);
        view.zoom_to(from(at, len), 0.0);
        view
    }

    fn layout_input<'b>(
        &'b self,
        side: usize,
        rows: &'b Rows,
        viewport: &'b Viewport,
        size: Size,
    ) -> LayoutInput<'b> {
        let CompareSide {
            trace, analysis, ..
        } = self.input.sides[side];
        LayoutInput {
            trace,
            analysis,
            rows,
            viewport,
            theme: self.input.theme,
            size,
            metrics: Metrics {
                header_width: self.x0(),
                pixels_per_point: self.input.pixels_per_point,
            },
            scroll: Scroll::default(),
            selection: None,
            selected: None,
            hovered: None,
            links: None,
            hits: None,
            options: Options {
                whole: true,
                // They would run through the lanes of the other side.
                exposed_columns: false,
                ..Options::default()
            },
        }
    }
}
