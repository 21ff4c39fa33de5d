//! Columns of the memory of devices.

use super::Column;
use super::Get::{Bytes, Count, Text, Time};
use super::Output::{Json, Text as Report};
use crate::analysis::DeviceMemory;

/// The memory of devices in a range.
pub const DEVICE_MEMORY: &[Column<DeviceMemory>] = columns! { DeviceMemory:
    "device" "Device" "GPU or CPU": Text(|_, m| Some(m.device.as_str().into())), text("device");
    "rank" "Rank" "Distributed rank of the process that allocated it": Count(|_, m| m.rank.map(u64::from)), text("rank");
    "peak_allocated" "Peak allocated" "The most that tensors took at any time":
        Bytes(|_, m| Some(m.allocated?.0)), text("peak allocated");
    "peak_at" "At" "When that was reached first": Time(|_, m| Some(m.allocated.or(m.growth)?.1)), only_in(Json);
    "peak_reserved" "Peak reserved" "The most that the allocator had taken from the device":
        Bytes(|_, m| Some(m.reserved?.0)), text("peak reserved");
    "peak_growth" "Peak growth"
        "The most that was allocated more than when the record began, where it does not say how much that was":
        Bytes(|_, m| Some(m.growth?.0)), text("peak growth");
    "changes" "Changes" "Allocations and releases": Count(|_, m| Some(m.changes)), text("changes");
    "at" "At" "When the peak was reached first, from the start of the trace":
        Time(|a, m| Some(m.allocated.or(m.growth)?.1 - a.trace().extent().start)), text("at ms"), only_in(Report);
};
