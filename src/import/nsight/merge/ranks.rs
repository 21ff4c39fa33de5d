//! Which process is which rank. No table says it, so it is guessed from what the processes do: those that work on a
//! GPU are ranks, by GPU and pid; a process without GPU work belongs to the rank whose pid precedes its own, since
//! loader workers are forked from it.

use std::collections::BTreeMap;

use crate::import::contract::report::{ImportReport, NoticeKind};
use crate::model::{ProcessId, SourceId, StreamId, TraceBuilder};

/// Numbers the ranks of a source, where more than one of its processes works on a GPU.
pub(crate) fn assign(builder: &mut TraceBuilder, source: SourceId, report: &mut ImportReport) {
    let ranks = rank_of_processes(builder, source);
    let Some(count) = ranks.values().max().map(|&r| r + 1) else {
        return;
    };
    let of_source = |id: &ProcessId| builder.so_far().process(*id).source == source;
    let all: Vec<ProcessId> = (0..builder.so_far().processes().len())
        .filter_map(|i| u32::try_from(i).ok().map(ProcessId))
        .filter(of_source)
        .collect();
    for id in all {
        let rank = ranks
            .get(&id)
            .copied()
            .unwrap_or_else(|| rank_of_parent(builder, id, &ranks));
        builder.process_mut(id).rank = rank;
    }
    for i in 0..builder.so_far().lanes().len() {
        let lane = &builder.so_far().lanes()[i];
        if lane.source != source {
            continue;
        }
        let of_stream = lane.stream.map(|s| builder.so_far().stream(s).process);
        let process = lane.process.or(of_stream.flatten());
        let rank = match (process, lane.stream) {
            (Some(process), _) => Some(builder.so_far().process(process).rank),
            (None, Some(stream)) => rank_of_device(builder, stream, &ranks),
            (None, None) => None,
        };
        if let (Some(rank), Ok(i)) = (rank, u32::try_from(i)) {
            builder.lane_mut(crate::model::LaneId(i)).rank = rank;
        }
    }
    report.note(
        NoticeKind::Info,
        "ranks_by_gpu",
        Some(source),
        None,
        || {
            format!(
                "{count} processes work on GPUs: they are taken as ranks, numbered by GPU and pid; processes without \
                 GPU work belong to the rank whose pid precedes theirs."
            )
        },
    );
}

/// Ranks of the processes that own streams with operations; empty for one process or none.
fn rank_of_processes(builder: &TraceBuilder, source: SourceId) -> BTreeMap<ProcessId, u32> {
    let trace = builder.so_far();
    let mut lowest: BTreeMap<ProcessId, i64> = BTreeMap::new();
    for stream in trace.streams() {
        let device = trace.device(stream.device);
        if let (Some(process), Some(_)) = (stream.process, stream.ops)
            && device.source == source
        {
            let slot = lowest.entry(process).or_insert(device.index);
            *slot = device.index.min(*slot);
        }
    }
    if lowest.len() < 2 {
        return BTreeMap::new();
    }
    let mut order: Vec<(i64, i64, ProcessId)> = lowest
        .into_iter()
        .map(|(process, device)| (device, pid(builder, process), process))
        .collect();
    order.sort_unstable();
    (0..)
        .zip(order)
        .map(|(rank, (.., id))| (id, rank))
        .collect()
}

/// The rank of the process that works on the GPU of a stream, where it is the only one.
fn rank_of_device(
    builder: &TraceBuilder,
    stream: StreamId,
    ranks: &BTreeMap<ProcessId, u32>,
) -> Option<u32> {
    let trace = builder.so_far();
    let device = trace.stream(stream).device;
    let streams = trace.streams().iter();
    let mut found = streams
        .filter(|s| s.device == device && s.ops.is_some())
        .filter_map(|s| ranks.get(&s.process?).copied());
    let first = found.next()?;
    found.all(|rank| rank == first).then_some(first)
}

fn rank_of_parent(
    builder: &TraceBuilder,
    process: ProcessId,
    ranks: &BTreeMap<ProcessId, u32>,
) -> u32 {
    let own = pid(builder, process);
    ranks
        .iter()
        .filter(|(id, _)| pid(builder, **id) <= own)
        .max_by_key(|(id, _)| pid(builder, **id))
        .map_or(0, |(_, &rank)| rank)
}

fn pid(builder: &TraceBuilder, process: ProcessId) -> i64 {
    let text = &builder.so_far().process(process).pid;
    text.parse().unwrap_or(i64::MAX)
}
