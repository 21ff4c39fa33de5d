//! The timeline as data: which time is where, which lanes show, what is drawn. Everything here is a pure function of
//! trace, figures and view state; it knows neither egui nor files.
//!
//! [`layout`] turns a [`LayoutInput`] into a [`DrawList`]; window, PNG export and tests use the same list.

mod compare;
mod dense;
mod draw;
mod entry;
mod geom;
mod history;
pub mod label;
mod layout;
mod lod;
mod note;
mod ranks;
mod rows;
mod steps;
mod theme;
pub mod ticks;
mod viewport;

pub use compare::{CompareInput, ComparePicture, CompareSide, comparison as compare_picture};
pub use dense::{DensePart, dense_part};
pub use draw::{
    Align, Areas, ArrowEnd, DrawList, Font, Hit, Item, LaneNote, Mark, MarkKind, Section,
    SectionKind, Stats, Target, Text, arrow_curve,
};
pub use entry::LegendEntry;
pub use geom::{Point, Rect, Rgba, Size};
pub use history::{GESTURE_MS, History, MAX_ENTRIES};
pub use layout::{
    BETWEEN, Frame, LEGEND, LayoutInput, Links, MAX_LABELS, Metrics, Options, OverviewInput, RULER,
    STEPS, Scroll, TITLE, areas, band_content_height, bands_within, content_height, layout, legend,
    legend_height, legend_of, lines, lines_height, overview, overview_viewport, title,
    window_edges,
};
pub use lod::{
    CollectiveRow, Columns, CounterTree, Extremes, GroupRow, Highlights, InstantRow, Intervals,
    Leaf, Lod, Part, Piece, RankTrees, SpanList, SpanTree, SubRow, TailRow, Tree, WaitRow,
    format_sample, format_value, value_at,
};
pub use note::Note;
pub use ranks::{
    MOST_CELLS, ROW_HEIGHTS, RankOrder, RanksInput, RanksPicture, fitting_row_height, ranks_picture,
};
pub use rows::{
    Busy, COUNTER_HEIGHT, DENSE_HEIGHTS, GROUP_GAP, HEADER_HEIGHT, INSTANT_HEIGHT, LANE_GAP,
    MAX_OPEN_COUNTERS, MAX_OPEN_FRAMES, MAX_OPEN_WORKERS, Node, NodeId, NodeKind, QUIET_SHARE,
    ROW_HEIGHT, Row, RowKind, RowState, RowTree, Rows, SUMMARY_HEIGHT, Summary,
    instants_out_of_view,
};
pub use steps::{StepsInput, steps as steps_picture};
pub use theme::{READABLE, Swatch, Theme, contrast};
pub use viewport::{GUTTER, MIN_WINDOW_NS, Viewport, Window};
