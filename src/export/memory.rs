//! Memory of devices as JSON.

use serde_json::Value;

use super::rows::object;
use crate::analysis::Analysis;
use crate::columns::{DEVICE_MEMORY, Output, shown};
use crate::time::TimeRange;

/// The memory of each device in a window; of one rank (by its number) or of all.
#[must_use]
pub fn memory(analysis: &Analysis, window: TimeRange, rank: Option<u32>) -> Value {
    let columns = shown(DEVICE_MEMORY, Output::Json, "");
    let rows = analysis.device_memory(window, rank);
    let rows = rows.iter().map(|row| object(analysis, &columns, row));
    rows.map(Value::from).collect()
}
