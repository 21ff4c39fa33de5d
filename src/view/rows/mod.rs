//! The rows of the timeline: a fixed tree of groups and lanes, what the user did to it (collapse, pin, hide, filter),
//! and the rows with their heights that result. Knows no time window and no colour.

mod build;
mod extras;
mod flatten;
mod order;
mod state;
mod summary;
mod tree;

pub use extras::instants_out_of_view;
pub use flatten::{Row, RowKind, Rows};
pub use state::RowState;
pub use tree::{Busy, Node, NodeId, NodeKind, RowTree, Summary};

/// Height of a row of spans, points.
pub const ROW_HEIGHT: f32 = 18.0;
/// Height of an open group's header, points: nothing is drawn beside it, so it takes what its name needs.
pub const HEADER_HEIGHT: f32 = 16.0;
/// Height of a collapsed group with its summary, points.
pub const SUMMARY_HEIGHT: f32 = 14.0;
/// Height of the lane of a counter, points.
pub const COUNTER_HEIGHT: f32 = 24.0;
/// Height of a row of instants, points.
pub const INSTANT_HEIGHT: f32 = 12.0;
/// Space above each lane, points.
pub const LANE_GAP: f32 = 3.0;
/// Space above each group, points; none where the header of the group around it is right above.
pub const GROUP_GAP: f32 = 5.0;
/// Heights of a dense row of spans, points: of few lanes and of many.
pub const DENSE_HEIGHTS: [f32; 2] = [8.0, 4.0];
/// From this number of lanes on dense rows are the lower ones.
pub const MANY_LANES: usize = 64;
/// Groups of workers with more members start collapsed.
pub const MAX_OPEN_WORKERS: usize = 8;
/// Groups of more counters start collapsed.
pub const MAX_OPEN_COUNTERS: usize = 4;
/// Python stacks that need more rows start collapsed.
pub const MAX_OPEN_FRAMES: usize = 4;
/// Threads that are busy for a smaller share of the trace are folded into one group.
pub const QUIET_SHARE: f64 = 0.001;
