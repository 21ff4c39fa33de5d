//! The draw list: what is to be painted, as typed data with identities, so that hit tests, accessibility, tests and
//! both painters (window, PNG) work on the same facts.

use std::collections::BTreeSet;

use super::entry::LegendEntry;
use super::geom::{Point, Rect, Rgba, Size};
use super::rows::{Busy, NodeId, RowKind, Rows};
use crate::analysis::{Analysis, LayerClass, LayerId};
use crate::model::{SpanId, Trace};

/// Everything to paint, in painting order, and what lies where.
#[derive(Clone, Debug, Default)]
pub struct DrawList {
    /// Size of the whole picture, points.
    pub size: Size,
    /// Groups of items with a common clip rectangle, in painting order.
    pub sections: Vec<Section>,
    /// Spans and merged runs that are drawn, for hit tests, sums and accessibility; by section and row.
    pub marks: Vec<Mark>,
    /// One entry per lane header that shows, top to bottom.
    pub lanes: Vec<LaneNote>,
    /// Where other things can be hit, in painting order (the last one that contains a point wins).
    pub targets: Vec<(Rect, Target)>,
    /// The regions of the picture.
    pub areas: Areas,
    /// What the level of detail did.
    pub stats: Stats,
    /// What a legend of it has to say.
    pub drawn: BTreeSet<LegendEntry>,
}

/// The regions of the picture, points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Areas {
    /// Time ruler, canvas part.
    pub ruler: Rect,
    /// Marks of the user, canvas part; empty without any.
    pub notes: Rect,
    /// Step strip, canvas part.
    pub steps: Rect,
    /// Overlap band, canvas part.
    pub band: Rect,
    /// Pinned lanes, canvas part; empty where none is pinned.
    pub pinned: Rect,
    /// Scrolling lanes, canvas part.
    pub lanes: Rect,
    /// Lane names, left of all of them.
    pub headers: Rect,
    /// Height of all band rows, points; more than `band` is high when it scrolls.
    pub band_content: f32,
    /// Height of all pinned rows, points.
    pub pinned_content: f32,
}

/// Items with a common clip rectangle.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// What it holds.
    pub kind: SectionKind,
    /// Nothing is painted outside.
    pub clip: Rect,
    /// Items in painting order.
    pub items: Vec<Item>,
}

/// What a [`Section`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SectionKind {
    /// Backgrounds and exposed columns.
    #[default]
    Background,
    /// Spans, tails, waits, labels of the scrolling lanes.
    Lanes,
    /// The same of pinned lanes.
    Pinned,
    /// The overlap band.
    Band,
    /// Ruler and step strip.
    Ruler,
    /// Names on the left.
    Headers,
    /// Selection and arrows, above everything.
    Overlay,
    /// Title and legend of an exported picture.
    Caption,
}

/// One thing to paint.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A filled rectangle; edges go to whole pixels.
    Rect {
        /// Where.
        rect: Rect,
        /// Colour.
        fill: Rgba,
    },
    /// The border of a rectangle, drawn inside it.
    Outline {
        /// Where.
        rect: Rect,
        /// Colour.
        color: Rgba,
        /// Width, points.
        width: f32,
    },
    /// 45° lines inside a rectangle, rising to the right; the pattern is fixed to the picture, so that neighbours fit.
    Hatch {
        /// Where.
        rect: Rect,
        /// Colour of the lines.
        color: Rgba,
        /// Line width across, points.
        line: f32,
        /// Distance of the lines across, points.
        pitch: f32,
    },
    /// A row of dots along the lower edge of a rectangle.
    Dots {
        /// Where.
        rect: Rect,
        /// Colour.
        color: Rgba,
    },
    /// A merged run: a rectangle with small gaps along its bottom edge.
    Run {
        /// Where.
        rect: Rect,
        /// Colour.
        fill: Rgba,
        /// Colour of the gaps: of what is behind.
        gaps: Rgba,
    },
    /// A dashed border, drawn inside the rectangle.
    Dashed {
        /// Where.
        rect: Rect,
        /// Colour.
        color: Rgba,
        /// Length of a dash, points.
        on: f32,
        /// Length of a gap, points.
        off: f32,
    },
    /// A left-to-right gradient.
    Fade {
        /// Where.
        rect: Rect,
        /// Colour at the left edge.
        from: Rgba,
        /// Colour at the right edge.
        to: Rgba,
    },
    /// A straight line.
    Line {
        /// From here.
        a: Point,
        /// To here.
        b: Point,
        /// Colour.
        color: Rgba,
        /// Width, points.
        width: f32,
    },
    /// A filled triangle.
    Triangle {
        /// Corners.
        points: [Point; 3],
        /// Colour.
        color: Rgba,
    },
    /// A bezier arrow with a halo, leaving and arriving horizontally.
    Arrow {
        /// From here.
        from: Point,
        /// To here.
        to: Point,
        /// Colour.
        color: Rgba,
        /// Colour of the halo on either side.
        halo: Rgba,
        /// How it ends.
        end: ArrowEnd,
        /// Thin and without halo: one of many.
        faint: bool,
    },
    /// One line of text.
    Text(Text),
}

/// How an arrow ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrowEnd {
    /// A head: the target is drawn.
    Head,
    /// A dot: the target is inside a collapsed group.
    Dot,
}

/// The four points of an arrow's bezier: it leaves and arrives horizontally.
#[must_use]
pub fn arrow_curve(from: Point, to: Point) -> [Point; 4] {
    let reach = ((to.x - from.x).abs() * 0.5).clamp(12.0, 120.0);
    let (out, back) = (from.x + reach, to.x - reach);
    [from, Point::new(out, from.y), Point::new(back, to.y), to]
}

/// One line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Left end (or right end, or middle, by `align`) of the line; y of its middle.
    pub at: Point,
    /// The text.
    pub text: String,
    /// Typeface.
    pub font: Font,
    /// Colour.
    pub color: Rgba,
    /// Which point of the line `at` is.
    pub align: Align,
    /// Wider text is cut with an ellipsis, points.
    pub max_width: f32,
}

/// Typefaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Font {
    /// Monospace 11: span labels.
    Label,
    /// Proportional 11: secondary texts.
    Small,
    /// Proportional 12.5: names.
    Body,
    /// Proportional 12.5, emphasised: group names.
    Strong,
    /// Proportional 16: title of an exported picture.
    Title,
}

/// Horizontal alignment of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// `at` is the left end.
    Left,
    /// `at` is the middle.
    Center,
    /// `at` is the right end.
    Right,
}

/// A span or a merged run of spans on the canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Where it is drawn, clipped to the canvas ± 2 points.
    pub rect: Rect,
    /// Index in [`super::Rows::rows`] (or in [`super::Rows::pinned`] where `pinned`).
    pub row: u32,
    /// On a pinned lane.
    pub pinned: bool,
    /// Which kind of item it is; items of one kind and row do not overlap.
    pub kind: MarkKind,
    /// First span.
    pub first: SpanId,
    /// Number of spans.
    pub count: u32,
    /// Busy time inside the window, ns.
    pub busy: i64,
    /// Layer with the most time.
    pub layer: LayerId,
    /// Drawing class of that layer.
    pub class: LayerClass,
}

impl Mark {
    /// The span with the greatest duration, of equals the first one. Searches the rows of the lane: for tooltips, not
    /// for every mark of a frame.
    #[must_use]
    pub fn longest(&self, trace: &Trace, analysis: &Analysis, rows: &Rows) -> SpanId {
        if self.count == 1 || self.kind != MarkKind::Plain {
            return self.first;
        }
        let strip = if self.pinned {
            rows.pinned()
        } else {
            rows.rows()
        };
        let row = strip.get(self.row as usize);
        let (tree, lod, layers) = (rows.tree(), rows.tree().lod(), analysis.layers());
        if let Some(row) = row.filter(|r| r.kind == RowKind::Summary)
            && let Busy::Group(busy) = &tree.summary(row.node).busy
        {
            let first = busy.find(trace, self.first);
            let longest = first.map(|i| busy.longest(trace, layers, i, self.count));
            return longest.unwrap_or(self.first);
        }
        let place = lod.place(trace, self.first);
        let longest = place.and_then(|(leaf, sub)| {
            let row = &lod.leaf(leaf).rows[usize::from(sub)];
            let first = row.find(self.first)?;
            Some(row.longest(trace, layers, first, self.count))
        });
        longest.unwrap_or(self.first)
    }
}

/// Which kind of item a [`Mark`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MarkKind {
    /// Spans and merged runs.
    Plain,
    /// Exposed part of a batch wait (`busy` is exposed time).
    Exposed,
    /// A search hit.
    Hit,
    /// An operation linked to the hovered or selected span.
    Linked,
    /// The selected span.
    Selected,
}

/// A lane header that shows.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneNote {
    /// Its node in the tree.
    pub node: NodeId,
    /// Where lane and header are, clipped to what shows.
    pub rect: Rect,
    /// For screen readers: "stream 7, GPU 0, busy 64 %, 2 961 spans".
    pub text: String,
    /// Busy share of the visible part of the trace.
    pub busy: f64,
    /// Spans in the window; lanes only.
    pub spans: Option<u64>,
}

/// Something besides a span that can be hit.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The time ruler.
    Ruler,
    /// A step: (index in [`crate::analysis::Analysis::ranks`], index of its steps).
    Step(usize, usize),
    /// The band of a GPU: index in [`crate::analysis::Analysis::gpus`]; `None` for a rank without one.
    Band(Option<usize>),
    /// A batch wait on the band or on the loop lane: index in [`crate::analysis::Analysis::waits`].
    Wait(usize),
    /// The header of a node: clicking toggles a group.
    Header(NodeId),
    /// A GPU tail: index in [`crate::analysis::Analysis::tails`].
    Tail(usize),
    /// The lane of a counter: index in [`Trace::counters`].
    Counter(u32),
    /// Instants that are drawn as one.
    Instants {
        /// Index in [`super::Lod::instants`].
        row: u32,
        /// Position of the first one in that row.
        first: u32,
        /// How many.
        count: u32,
    },
    /// A part of the overview outside all handles.
    Overview,
}

/// What lies under a point.
#[derive(Clone, Debug, PartialEq)]
pub enum Hit {
    /// A span or a run: index in [`DrawList::marks`].
    Mark(usize),
    /// Something else.
    Target(Target),
    /// Empty canvas of a row (index in [`super::Rows::rows`]; pinned or not is told by the area).
    Empty,
    /// Outside of everything.
    Nothing,
}

/// What the level of detail did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Runs of more than one span.
    pub merged_runs: u64,
    /// Spans inside those.
    pub merged_spans: u64,
    /// Spans with a rectangle of their own.
    pub single_spans: u64,
    /// Labels that fitted but were left out because of [`super::MAX_LABELS`].
    pub labels_dropped: u64,
    /// Tails that were left out because one that starts within 8 points is drawn.
    pub tails_dropped: u64,
    /// Arrows that were left out because of the limit of 50 per span.
    pub arrows_dropped: u64,
}

impl DrawList {
    /// What lies under a point of the picture: priority marks before plain ones, marks before other targets.
    #[must_use]
    pub fn hit(&self, at: Point) -> Hit {
        let in_lanes = self.areas.lanes.contains(at);
        let in_pinned = self.areas.pinned.contains(at);
        let mut best: Option<usize> = None;
        if in_lanes || in_pinned {
            for (i, m) in self.marks.iter().enumerate() {
                let better = m.pinned == in_pinned
                    && m.rect.contains(at)
                    && best.is_none_or(|b| self.marks[b].kind <= m.kind);
                if better {
                    best = Some(i);
                }
            }
        }
        if let Some(i) = best {
            return Hit::Mark(i);
        }
        let target = self.targets.iter().rev().find(|(r, _)| r.contains(at));
        match target {
            Some((_, t)) => Hit::Target(t.clone()),
            None if in_lanes || in_pinned => Hit::Empty,
            None => Hit::Nothing,
        }
    }

    /// The marks of a row, in drawing order.
    pub fn marks_of(&self, row: usize, kind: MarkKind) -> impl Iterator<Item = &Mark> {
        self.marks
            .iter()
            .filter(move |m| m.row as usize == row && !m.pinned && m.kind == kind)
    }

    /// All texts, for tests and accessibility.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.sections
            .iter()
            .flat_map(|s| &s.items)
            .filter_map(|i| match i {
                Item::Text(t) => Some(t),
                _ => None,
            })
    }
}
