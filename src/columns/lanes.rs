//! Columns of lanes.

use super::Column;
use super::Get::{Count, Time};
use crate::analysis::LaneFigures;

/// Lanes in a window.
pub const LANE: &[Column<LaneFigures>] = columns! { LaneFigures:
    "busy" "Busy" "Any span of the lane runs": Time(|_, l| Some(l.busy));
    "started" "Started" "Spans that start in the window": Count(|_, l| Some(l.started));
    "touching" "Touching" "Spans that touch the window": Count(|_, l| Some(l.touching));
};
