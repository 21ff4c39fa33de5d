//! Which rows of the tables of a trace go into a window, and their numbers there.

use std::collections::BTreeSet;

use crate::analysis::Analysis;
use crate::model::{Cut, DeviceId, LaneId, ProcessId, SourceId, SpanId, StreamId};

/// Which rows of the tables are written, in the order of the trace.
pub(super) struct Numbers {
    pub sources: Vec<SourceId>,
    pub processes: Vec<ProcessId>,
    pub devices: Vec<DeviceId>,
    pub streams: Vec<StreamId>,
    pub lanes: Vec<LaneId>,
    pub counters: Vec<usize>,
    /// By process the rank that the analysis gave it, where there are several: they are numbered by first times, which a
    /// window does not have.
    pub ranks: Vec<Option<u32>>,
}

impl Numbers {
    pub fn new(analysis: &Analysis, cut: &Cut, spans: &[SpanId]) -> Self {
        let trace = analysis.trace();
        let columns = trace.spans();
        let mut used: BTreeSet<LaneId> = spans.iter().map(|&s| columns.lane(s)).collect();
        let instants = trace.instants().iter();
        let inside = instants.filter(|i| cut.has(i.source) && cut.holds(i.time));
        used.extend(inside.filter_map(|i| i.lane));
        let streams: Vec<StreamId> = (0_u32..)
            .map(StreamId)
            .zip(trace.streams())
            .filter(|(_, s)| cut.has(trace.device(s.device).source))
            .map(|(id, _)| id)
            .collect();
        let mut ranks = vec![None; trace.processes().len()];
        for lane in trace.lane_ids().filter(|_| analysis.ranks().len() > 1) {
            if let Some(process) = trace.lane(lane).process {
                ranks[process.index()] = ranks[process.index()].or(analysis.lane_rank(lane));
            }
        }
        Self {
            ranks,
            sources: (0_u32..)
                .map(SourceId)
                .take(trace.sources().len())
                .filter(|&id| cut.has(id))
                .collect(),
            processes: (0_u32..)
                .map(ProcessId)
                .zip(trace.processes())
                .filter(|(_, p)| cut.has(p.source))
                .map(|(id, _)| id)
                .collect(),
            devices: (0_u32..)
                .map(DeviceId)
                .zip(trace.devices())
                .filter(|(_, d)| cut.has(d.source))
                .map(|(id, _)| id)
                .collect(),
            streams,
            lanes: used.into_iter().collect(),
            counters: (0..trace.counters().len())
                .filter(|&i| cut.has(trace.counters()[i].source))
                .collect(),
        }
    }

    pub fn process(&self, id: ProcessId) -> Option<usize> {
        self.processes.binary_search(&id).ok()
    }

    pub fn device(&self, id: DeviceId) -> Option<usize> {
        self.devices.binary_search(&id).ok()
    }

    pub fn stream(&self, id: StreamId) -> Option<usize> {
        self.streams.binary_search(&id).ok()
    }

    pub fn lane(&self, id: LaneId) -> Option<usize> {
        self.lanes.binary_search(&id).ok()
    }
}
