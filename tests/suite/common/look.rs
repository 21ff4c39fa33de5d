//! A layout with what tests change about it.

use std::collections::BTreeMap;

use stallscope::model::SpanId;
use stallscope::time::TimeRange;
use stallscope::view::{
    DrawList, Highlights, LayoutInput, Links, Mark, MarkKind, Metrics, Options, Scroll, Size,
    Swatch, Theme, Viewport, layout,
};

use super::timeline::Scene;

/// Width of the lane names, points.
pub const HEADER: f32 = 200.0;

/// What a test changes about a layout.
pub struct Look<'a> {
    pub view: Viewport,
    pub height: f32,
    pub hovered: Option<SpanId>,
    pub links: Option<&'a Links>,
    pub hits: Option<&'a Highlights>,
    pub selected: Option<SpanId>,
    pub dark: bool,
    pub only: Option<Swatch>,
}

impl Look<'_> {
    pub fn new(scene: &Scene, width: f32) -> Self {
        Self {
            view: Viewport::new(scene.trace.extent(), width),
            height: 4_000.0,
            hovered: None,
            links: None,
            hits: None,
            selected: None,
            dark: true,
            only: None,
        }
    }

    pub fn at(mut self, range: TimeRange) -> Self {
        self.view.zoom_to(range, 0.0);
        self
    }

    pub fn draw(&self, scene: &Scene) -> DrawList {
        layout(&LayoutInput {
            trace: &scene.trace,
            analysis: &scene.analysis,
            rows: &scene.rows,
            viewport: &self.view,
            theme: &match self.dark {
                true => Theme::dark(),
                false => Theme::light(),
            },
            size: Size::new(self.view.width() + HEADER, self.height),
            metrics: Metrics {
                header_width: HEADER,
                pixels_per_point: 1.0,
            },
            scroll: Scroll::default(),
            selection: None,
            selected: self.selected,
            hovered: self.hovered,
            links: self.links,
            hits: self.hits,
            options: Options {
                only: self.only,
                ..Options::default()
            },
        })
    }
}

/// The marks of a kind by row, pinned ones left out.
pub fn by_row(list: &DrawList, kind: MarkKind) -> BTreeMap<u32, Vec<Mark>> {
    let mut out: BTreeMap<u32, Vec<Mark>> = BTreeMap::new();
    for mark in list.marks.iter().filter(|m| m.kind == kind && !m.pinned) {
        out.entry(mark.row).or_default().push(*mark);
    }
    out
}
