//! Who called what the GPU is late with or waited for, as JSON.

use serde_json::Value;

use super::rows::object;
use crate::analysis::{Analysis, ArgSource};
use crate::columns::{LAG, Output, SYNC_CALLER, shown};
use crate::time::TimeRange;

/// CPU spans against their GPU work, by caller; of one rank (by its number) or of all.
#[must_use]
pub fn lag(analysis: &Analysis, window: TimeRange, rank: Option<u32>) -> Value {
    let columns = shown(LAG, Output::Json, "");
    let rows = analysis.lag_rows(window, rank);
    let rows = rows.iter().map(|row| object(analysis, &columns, row));
    rows.map(Value::from).collect()
}

/// Synchronising calls by who made them; of one rank (by its number) or of all.
#[must_use]
pub fn syncs(
    analysis: &Analysis,
    window: TimeRange,
    rank: Option<u32>,
    args: &dyn ArgSource,
) -> Value {
    let columns = shown(SYNC_CALLER, Output::Json, "");
    let found = analysis.sync_callers(window, rank, usize::MAX, args);
    let rows = found.rows.iter().map(|row| object(analysis, &columns, row));
    rows.map(Value::from).collect()
}
