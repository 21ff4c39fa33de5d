//! Memory of devices: PyTorch marks each allocation and says what is allocated then. The totals are counters.

use std::collections::BTreeMap;

use super::lanes::LaneTable;
use super::spaces::Pid;
use crate::import::chrome::read::chunk::MemoryEvent;
use crate::model::{Counter, Measure, SourceId, TraceBuilder};

/// PyTorch's number of the type of device that is no device: the host.
const CPU: i64 = 0;

/// Allocations by process, type of device and its number.
#[derive(Default)]
pub(crate) struct Memory(BTreeMap<(Pid, i64, i64), Vec<MemoryEvent>>);

impl Memory {
    /// Takes an allocation over.
    pub fn add(&mut self, pid: Pid, event: MemoryEvent) {
        let of = self.0.entry((pid, event.kind, event.device)).or_default();
        of.push(event);
    }

    /// Adds a counter of what is allocated on each device, and one of what is reserved where that is ever more than
    /// nothing. Records before 2022 say how much each allocation takes or gives back, but not how much is allocated:
    /// the sum of those is what it grew by since the record began.
    pub fn finish(self, lanes: &mut LaneTable, source: SourceId, builder: &mut TraceBuilder) {
        for ((pid, kind, device), mut events) in self.0 {
            // Events of one time stay in the order of the file.
            events.sort_by_key(|e| e.ts);
            let process = lanes.process(pid, source, builder);
            let name = match kind {
                CPU => "CPU memory".to_owned(),
                _ => format!("GPU memory, GPU {device}"),
            };
            let mut add = |series: &str, measure, values: Vec<f64>| {
                builder.add_counter(Counter {
                    process,
                    source,
                    name: name.clone(),
                    series: series.to_owned(),
                    times: events.iter().map(|e| e.ts).collect(),
                    values,
                    measure,
                });
            };
            let totals = |of: fn(&MemoryEvent) -> Option<i64>| -> Option<Vec<f64>> {
                events.iter().map(|e| Some(of(e)? as f64)).collect()
            };
            match totals(|e| e.allocated) {
                Some(values) => add("allocated", Measure::Allocated, values),
                None => {
                    let mut sum = 0_i64;
                    let grown = events.iter().map(|e| {
                        sum = sum.saturating_add(e.bytes.unwrap_or(0));
                        sum as f64
                    });
                    add("growth", Measure::Growth, grown.collect());
                }
            }
            let reserved = totals(|e| e.reserved);
            if let Some(values) = reserved.filter(|v| v.iter().any(|&v| v > 0.0)) {
                add("reserved", Measure::Reserved, values);
            }
        }
    }
}
