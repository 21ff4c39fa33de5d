//! Memory of devices in the report.

use super::super::analyse::Analysed;
use super::super::rows;
use super::{heading, say};
use crate::analysis::DeviceMemory;
use crate::columns::{DEVICE_MEMORY, Output, Value, shown};

/// The most that was allocated and reserved on each device.
pub fn memory(out: &mut String, a: &Analysed) {
    let found = a.analysis.device_memory(a.window, a.number());
    if found.is_empty() {
        return;
    }
    heading(out, "Memory");
    let mut columns = shown(DEVICE_MEMORY, Output::Text, "");
    // A column in which nothing is known says nothing.
    columns.retain(|c| {
        let unknown = |m: &DeviceMemory| {
            let value = c.value(&a.analysis, m);
            matches!(
                value,
                Value::Bytes(None) | Value::Count(None) | Value::Time(None)
            )
        };
        !found.iter().all(unknown)
    });
    out.push_str(&rows::table(&a.analysis, &columns, &found, |_, _| {}).render());
    if found.iter().any(|m| m.growth.is_some()) {
        let note = "growth: since the record began. How much was allocated then is not recorded.";
        say(out, note);
    }
}
